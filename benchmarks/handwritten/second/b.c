// Parsers, file formats, text and network code. One exit point per function where possible.

int nextChar(void);
void pushBack(int ch);
void emitToken(int kind, int value);
void reportError(int code, int line);
int readByte(int offset);
int readWord(int offset);
void writeByte(int value);
int isAlpha(int ch);
int isDigit(int ch);
int lookupSymbol(int hash);
void growBuffer(int by);
int sendPacket(int type, int length, int flags, int seq);
void closeSession(int id);
unsigned int hashMix(unsigned int a, unsigned int b);

int hexDigitValue(int ch)
{
    int result = -1;

    switch (ch | 0x20)
    {
        case 'a':
            result = 10;
            break;
        case 'b':
            result = 11;
            break;
        case 'c':
            result = 12;
            break;
        case 'd':
            result = 13;
            break;
        case 'e':
            result = 14;
            break;
        case 'f':
            result = 15;
            break;
        default:
            if (isDigit(ch))
            {
                result = ch - '0';
            }
            break;
    }

    return result;
}

int unescapeChar(char escaped, int *error)
{
    int value = escaped;

    *error = 0;
    switch (escaped)
    {
        case 'n':
            value = '\n';
            break;
        case 't':
            value = '\t';
            break;
        case 'r':
            value = '\r';
            break;
        case '0':
            value = 0;
            break;
        case '\\':
        case '"':
        case '\'':
            break;
        default:
            *error = 1;
            break;
    }
    return value;
}

void lexOperator(int ch, int line)
{
    int following = nextChar();

    switch (ch)
    {
        case '=':
            if (following == '=')
            {
                emitToken(256, 0);
                return;
            }
            break;
        case '<':
            if (following == '<')
            {
                emitToken(257, 0);
                return;
            }
            else if (following == '=')
            {
                emitToken(258, 0);
                return;
            }
            break;
        case '!':
            if (following == '=')
            {
                emitToken(259, 0);
                return;
            }
            break;
        case '@':
        case '`':
            reportError(12, line);
            break;
    }
    pushBack(following);
    emitToken(ch, 0);
}

int utf8SequenceLength(unsigned char lead)
{
    int length;

    switch (lead >> 4)
    {
        case 0xC:
        case 0xD:
            length = 2;
            break;
        case 0xE:
            length = 3;
            break;
        case 0xF:
            length = (lead & 0x08) ? 0 : 4;
            break;
        case 0x8:
        case 0x9:
        case 0xA:
        case 0xB:
            length = 0;
            break;
        default:
            length = 1;
            break;
    }
    return length;
}

int bitmapRowStride(int width, int bitsPerPixel)
{
    int bits = 0;

    if (width <= 0)
    {
        return 0;
    }

    switch (bitsPerPixel)
    {
        case 1:
            bits = width;
            break;
        case 4:
            bits = width * 4;
            break;
        case 8:
            bits = width * 8;
            break;
        case 16:
            bits = width * 16;
            break;
        case 24:
        case 32:
            bits = width * bitsPerPixel;
            break;
    }
    return (bits + 31) / 32 * 4;
}

int operatorPrecedence(int op, int isUnary)
{
    int precedence = 0;

    switch (op)
    {
        case '*':
        case '/':
        case '%':
            precedence = isUnary ? 14 : 12;
            break;
        case '+':
        case '-':
            precedence = 11;
            if (isUnary)
            {
                precedence = 14;
            }
            break;
        case '&':
            precedence = isUnary ? 14 : 7;
            break;
        case '|':
            precedence = 5;
            break;
        case '?':
            precedence = 2;
            break;
    }

    return precedence;
}

int parseJpegMarker(int offset, int *width, int *height)
{
    int marker = readByte(offset + 1);
    int next = offset + 2;

    if (readByte(offset) != 0xFF)
    {
        return -1;
    }

    switch (marker)
    {
        case 0xD8:
        case 0x01:
            // no payload
            break;
        case 0xD9:
            next = 0;
            break;
        case 0xC0:
        case 0xC2:
            *height = readWord(offset + 5);
            *width = readWord(offset + 7);
            next += readWord(offset + 2);
            break;
        default:
            next += readWord(offset + 2);
            break;
    }

    return next;
}

unsigned int hashTail(unsigned int hash, unsigned char *tail, int remaining)
{
    unsigned int k = 0;

    switch (remaining)
    {
        case 3:
            k ^= tail[2] << 16;
            // fall through
        case 2:
            k ^= tail[1] << 8;
            // fall through
        case 1:
            k ^= tail[0];
            hash = hashMix(hash, k);
    }

    hash ^= hash >> 16;
    return hash;
}

int tcpTransition(int state, int flags)
{
    int next = state;

    if (flags & 0x04)
    {
        closeSession(state);
        return 0;
    }

    switch (state)
    {
        case 0:
            break;
        case 1:
            if (flags & 0x02)
            {
                next = 3;
            }
            break;
        case 2:
            if ((flags & 0x12) == 0x12)
            {
                next = 4;
            }
            else if (flags & 0x02)
            {
                next = 3;
            }
            break;
        case 3:
            next = (flags & 0x10) ? 4 : 3;
            break;
        case 4:
            if (flags & 0x01)
            {
                next = 7;
            }
            break;
    }
    return next;
}

int httpStatusAction(int status, int attempt)
{
    int action = 0;

    switch (status / 100)
    {
        case 2:
            action = 1;
            break;
        case 3:
            if (status == 304)
            {
                action = 1;
            }
            else if (attempt < 5)
            {
                action = 2;
            }
            break;
        case 4:
            action = (status == 408 || status == 429) ? 3 : -1;
            break;
        case 5:
            action = attempt < 3 ? 3 : -1;
            break;
    }
    return action;
}

long readVarInt(unsigned char *data, int *consumed)
{
    long value = 0;
    int size = 1 << (data[0] >> 6);

    switch (size)
    {
        case 1:
            value = data[0] & 0x3F;
            break;
        case 2:
            value = ((data[0] & 0x3F) << 8) | data[1];
            break;
        case 4:
            value = ((data[0] & 0x3F) << 24) | (data[1] << 16) | (data[2] << 8) | data[3];
            break;
        default:
            reportError(31, size);
            *consumed = 0;
            return -1;
    }

    *consumed = size;
    return value;
}

int jsonSkipValue(int ch, int depth)
{
    switch (ch)
    {
        case '{':
        case '[':
        {
            depth = depth + 1;
            if (depth > 64)
            {
                reportError(2, depth);
                depth = -1;
            }
            break;
        }
        case '}':
        case ']':
        {
            depth--;
            break;
        }
        case '"':
        {
            int inner = nextChar();
            if (inner == '\\')
            {
                nextChar();
            }
            break;
        }
    }
    return depth;
}

int archiveEntryKind(char typeFlag, long size, int trailingSlash)
{
    int kind;

    switch (typeFlag)
    {
        case '0':
        case 0:
            kind = trailingSlash ? 2 : 1;
            break;
        case '5':
            kind = 2;
            break;
        case '1':
        case '2':
            kind = 3;
            if (size != 0)
            {
                reportError(44, typeFlag);
            }
            break;
        case 'x':
        case 'g':
            kind = 100;
            break;
        case 'L':
            kind = 101;
            break;
        default:
            kind = -1;
    }
    return kind;
}

int base64Pad(int remainder, int lastBits)
{
    int written = 0;

    switch (remainder)
    {
        case 1:
            writeByte(lastBits << 4 & 0x3F);
            writeByte('=');
            writeByte('=');
            written = 3;
            break;
        case 2:
            writeByte(lastBits << 2 & 0x3F);
            writeByte('=');
            written = 2;
            break;
    }
    return written;
}

int ipProtocolOverhead(int protocol, int options, int isV6)
{
    int total = isV6 ? 40 : 20 + options * 4;

    switch (protocol)
    {
        case 6:
            total += 20;
            break;
        case 17:
            total += 8;
            break;
        case 1:
        case 58:
            total += 4;
            break;
        case 47:
            total += 4;
            if (options > 0)
            {
                total += 4;
            }
            break;
        case 50:
            total = -1;
            break;
    }

    return total;
}

int regexQuantifier(int ch, int *minimum, int *maximum)
{
    int consumed = 1;

    switch (ch)
    {
        default:
            consumed = 0;
            *minimum = 1;
            *maximum = 1;
            break;
        case '*':
            *minimum = 0;
            *maximum = -1;
            break;
        case '+':
            *minimum = 1;
            *maximum = -1;
            break;
        case '?':
            *minimum = 0;
            *maximum = 1;
            break;
    }
    return consumed;
}

int dnsRecordLength(int type, int rdLength)
{
    int valid = 0;

    switch (type)
    {
        case 1:
            valid = rdLength == 4;
            break;
        case 28:
            valid = rdLength == 16;
            break;
        case 2:
        case 5:
        case 12:
            valid = rdLength > 0 && rdLength < 256;
            break;
        case 15:
            valid = rdLength >= 3;
            break;
        case 16:
            valid = 1;
            break;
    }
    if (!valid)
    {
        reportError(60, type);
    }
    return valid;
}

void formatSpecifier(int spec, int value)
{
    int base = 10;
    int flags = 0;

    switch (spec)
    {
        case 'x':
            base = 16;
            break;
        case 'X':
            base = 16;
            flags |= 1;
            break;
        case 'o':
            base = 8;
            break;
        case 'd':
        case 'i':
            flags |= 2;
            break;
        case 'c':
            writeByte(value & 0xFF);
            return;
        case '%':
            writeByte('%');
            return;
    }
    emitToken(base, value | flags << 24);
}

int wavSampleBytes(int formatTag, int bits, int channels)
{
    int bytes = 0;

    switch (formatTag)
    {
        case 1:
            if (bits == 8 || bits == 16 || bits == 24)
            {
                bytes = bits / 8 * channels;
            }
            break;
        case 3:
            bytes = 4 * channels;
            break;
        case 6:
        case 7:
            bytes = channels;
            break;
        case 0xFFFE:
            bytes = readWord(38) / 8 * channels;
            break;
    }
    return bytes;
}

int mqttHandle(int header, int packetId, int *pending)
{
    int reply = 0;
    int qos = (header >> 1) & 3;

    switch (header >> 4)
    {
        case 3:
            if (qos == 1)
            {
                reply = sendPacket(4, 2, 0, packetId);
            }
            else if (qos == 2)
            {
                reply = sendPacket(5, 2, 0, packetId);
                *pending += 1;
            }
            break;
        case 6:
            reply = sendPacket(7, 2, 0, packetId);
            *pending -= 1;
            break;
        case 12:
            reply = sendPacket(13, 0, 0, 0);
            break;
        case 14:
            closeSession(packetId);
            break;
        default:
            reply = -1;
            break;
    }
    return reply;
}

int classifyIdentifierStart(int ch, int line)
{
    int kind = 0;

    if (isAlpha(ch) || ch == '_')
    {
        kind = 1;
    }
    else
    {
        switch (ch)
        {
            case '$':
                kind = 2;
                break;
            case '@':
                kind = 3;
                break;
            case '#':
                kind = 4;
                break;
            default:
                reportError(ch, line);
        }
    }
    return kind;
}

int zipMethodSupported(short method, int version, int encrypted)
{
    int supported = 0;

    switch (method)
    {
        case 0:
            supported = 1;
            break;
        case 8:
            supported = version >= 20;
            break;
        case 9:
            supported = version >= 21;
            break;
        case 12:
            supported = version >= 46 && !encrypted;
            break;
        case 14:
            supported = version >= 63 ? 2 : 0;
            break;
    }

    return supported;
}

int diffLineType(char marker, int *added, int *removed)
{
    int isContent = 1;

    switch (marker)
    {
        case '+':
            (*added)++;
            break;
        case '-':
            (*removed)++;
            break;
        case ' ':
            break;
        case '@':
            *added = *removed = 0;
            // fall through
        default:
            isContent = 0;
            break;
    }
    return isContent;
}

unsigned int readLittleEndian(int offset, int width)
{
    unsigned int value = 0;

    switch (width)
    {
        case 4:
            value = (unsigned int)readByte(offset + 3) << 24;
            // fall through
        case 3:
            value |= readByte(offset + 2) << 16;
            // fall through
        case 2:
            value |= readByte(offset + 1) << 8;
            // fall through
        case 1:
            value |= readByte(offset);
            break;
        default:
            reportError(width, offset);
    }
    return value;
}

int commentState(int state, int ch)
{
    switch (state)
    {
        case 0:
            if (ch == '/')
            {
                state = 1;
            }
            break;
        case 1:
            if (ch == '*')
            {
                state = 2;
            }
            else
            {
                state = (ch == '/') ? 4 : 0;
            }
            break;
        case 2:
            if (ch == '*')
            {
                state = 3;
            }
            break;
        case 3:
            state = ch == '/' ? 0 : (ch == '*' ? 3 : 2);
            break;
        case 4:
            if (ch == '\n')
            {
                state = 0;
            }
    }
    return state;
}

int elfRelocSize(unsigned int type, int addend, unsigned int *patched)
{
    int size = 0;

    switch (type)
    {
        case 1u:
            size = 8;
            break;
        case 2u:
        case 10u:
        case 11u:
            size = 4;
            *patched += 1;
            if (addend < -0x1000 || addend > 0x1000)
            {
                growBuffer(16);
            }
            break;
        case 12u:
        case 13u:
            size = 2;
            break;
        case 0u:
            break;
        default:
            size = lookupSymbol(type) ? 8 : -1;
            break;
    }
    return size;
}

void ansiSequence(int final, int p0, int p1, int *cursor)
{
    int count = p0 ? p0 : 1;

    switch (final)
    {
        case 'A':
            cursor[1] -= count;
            break;
        case 'B':
            cursor[1] += count;
            break;
        case 'C':
            cursor[0] += count;
            break;
        case 'D':
            cursor[0] -= count;
            break;
        case 'H':
        case 'f':
            cursor[1] = count - 1;
            cursor[0] = p1 > 0 ? p1 - 1 : 0;
            break;
    }

    if (cursor[0] < 0)
    {
        cursor[0] = 0;
    }
    if (cursor[1] < 0)
    {
        cursor[1] = 0;
    }
}

int pngFilter(int filter, int left, int above, int corner)
{
    int predicted = 0;

    switch (filter)
    {
        case 0:
            break;
        case 1:
            predicted = left;
            break;
        case 2:
            predicted = above;
            break;
        case 3:
            predicted = (left + above) / 2;
            break;
        case 4:
        {
            int p = left + above - corner;
            if (p < left && p < above)
            {
                predicted = p;
            }
            else
            {
                predicted = left < above ? above : left;
            }
            break;
        }
        default:
            predicted = -1;
    }
    return predicted & 0xFF;
}

int telnetNegotiate(int command, int option)
{
    int accepted = option == 1 || option == 3;
    int reply = 0;

    switch (command)
    {
        case 251:
            reply = accepted ? 253 : 254;
            break;
        case 253:
            reply = accepted ? 251 : 252;
            break;
        case 252:
        case 254:
            return 0;
        case 244:
            closeSession(option);
            return -1;
    }

    if (reply)
    {
        writeByte(255);
        writeByte(reply);
        writeByte(option);
    }
    return reply;
}

int numberSuffix(int ch, int isHex, long value)
{
    int typeCode = 0;

    if (value < 0)
    {
        return -1;
    }
    switch (ch)
    {
        case 'u':
        case 'U':
            typeCode = 1;
            break;
        case 'l':
        case 'L':
            typeCode = 2;
            if (nextChar() == 'u')
            {
                typeCode |= 1;
            }
            break;
        default:
            if (value > 0x7FFFFFFF)
            {
                typeCode = isHex ? 1 : 2;
            }
            pushBack(ch);
            break;
    }
    emitToken(300 + typeCode, (int)value);
    return typeCode;
}
