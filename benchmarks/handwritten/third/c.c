extern int next_char(int stream);
extern void unread_char(int stream, int c);
extern void emit_byte(int b);
extern void emit_char(char c);
extern void emit_number(long n);
extern int  lookup_symbol(const char *name, int len);
extern void parse_error(int line, int code);
extern int  is_digit(int c);
extern int  is_space(int c);
extern int  is_alpha(int c);
extern void push_value(long v);
extern long pop_value(void);
extern unsigned char mem_read(unsigned short addr);
extern void mem_write(unsigned short addr, unsigned char v);
extern void set_flag(int flag, int on);
extern int  get_flag(int flag);
extern int  parse_expr(int prec);
extern void cpu_halt(int reason);
extern int  hash_bytes(const char *p, int n, int seed);
extern void advance_token(void);

int escape_char(int c) {
    switch (c) {
        case 'n': return '\n';
        case 't': return '\t';
        case 'r': return '\r';
        case '0': return '\0';
        case 'b': return '\b';
        case 'f': return '\f';
        default:  return c;
    }
}

int op_precedence(int op) {
    switch (op) {
        case '*':
        case '/':
        case '%':
            return 10;
        case '+':
        case '-':
            return 9;
        case '<':
        case '>':
            return 7;
        case '&':
            return 5;
        case '^':
            return 4;
        case '|':
            return 3;
        case '=':
            return 1;
    }
    return -1;
}

long eval_binary(int op, long lhs, long rhs, int *err) {
    long res = 0;
    *err = 0;
    switch (op) {
        case '+':
            res = lhs + rhs;
            break;
        case '-':
            res = lhs - rhs;
            break;
        case '*':
            res = lhs * rhs;
            break;
        case '/':
            if (rhs == 0) {
                *err = 1;
            } else {
                res = lhs / rhs;
            }
            break;
        case '%':
            if (rhs == 0) {
                *err = 1;
                return 0;
            }
            res = lhs % rhs;
            break;
        default:
            *err = 2;
            break;
    }
    return res;
}

int hex_digit(char c) {
    switch (c) {
        case 'a': case 'A':
            return 10;
        case 'b': case 'B':
            return 11;
        case 'c': case 'C':
            return 12;
        case 'd': case 'D':
            return 13;
        case 'e': case 'E':
            return 14;
        case 'f': case 'F':
            return 15;
        default:
            return is_digit(c) ? c - '0' : -1;
    }
}

int lex_operator(int stream, int c) {
    int next = next_char(stream);
    switch (c) {
        case '=':
            if (next == '=') return 300;
            break;
        case '!':
            if (next == '=') return 301;
            break;
        case '<':
            if (next == '=') return 302;
            if (next == '<') return 304;
            break;
        case '>':
            if (next == '=') return 303;
            if (next == '>') return 305;
            break;
        case '&':
            if (next == '&') return 306;
            break;
        case '|':
            if (next == '|') return 307;
            break;
    }
    unread_char(stream, next);
    return c;
}

int count_lines(const char *text, int len, int *columns) {
    int lines = 1, col = 0, widest = 0;
    for (int i = 0; i < len; i++) {
        switch (text[i]) {
            case '\n':
                lines++;
                if (col > widest) widest = col;
                col = 0;
                break;
            case '\r':
                break;
            case '\t':
                col = (col + 8) & ~7;
                break;
            default:
                col++;
        }
    }
    *columns = col > widest ? col : widest;
    return lines;
}

void emit_escaped(char c) {
    switch (c) {
        case '<':
            emit_char('&');
            emit_char('l');
            emit_char('t');
            emit_char(';');
            break;
        case '>':
            emit_char('&');
            emit_char('g');
            emit_char('t');
            emit_char(';');
            break;
        case '&':
            emit_char('&');
            emit_char('a');
            emit_char('m');
            emit_char('p');
            emit_char(';');
            break;
        default:
            emit_char(c);
            break;
    }
}

int exec_stack_op(int opcode, long operand) {
    long a, b;
    switch (opcode) {
        case 0:
            return 1;
        case 1:
            push_value(operand);
            break;
        case 2:
            b = pop_value();
            a = pop_value();
            push_value(a + b);
            break;
        case 3:
            b = pop_value();
            a = pop_value();
            push_value(a - b);
            break;
        case 4:
            b = pop_value();
            a = pop_value();
            push_value(a * b);
            break;
        case 5:
            a = pop_value();
            push_value(a);
            push_value(a);
            break;
        case 6:
            pop_value();
            break;
        case 7:
            b = pop_value();
            a = pop_value();
            push_value(b);
            push_value(a);
            break;
        case 8:
            emit_number(pop_value());
            break;
        default:
            cpu_halt(opcode);
            return -1;
    }
    return 0;
}

int utf8_length(unsigned char lead) {
    if (lead < 0x80) return 1;
    switch (lead >> 4) {
        case 0xC:
        case 0xD:
            return 2;
        case 0xE:
            return 3;
        case 0xF:
            return lead < 0xF8 ? 4 : 0;
        default:
            return 0;
    }
}

int branch_taken(unsigned char op) {
    switch (op) {
        case 0x10: return !get_flag(7);
        case 0x30: return get_flag(7);
        case 0x50: return !get_flag(6);
        case 0x70: return get_flag(6);
        case 0x90: return !get_flag(0);
        case 0xB0: return get_flag(0);
        case 0xD0: return !get_flag(1);
        case 0xF0: return get_flag(1);
    }
    return 0;
}

unsigned char alu_op(int op, unsigned char acc, unsigned char v) {
    unsigned int r = acc;
    switch (op & 7) {
        case 0:
            r = acc + v;
            set_flag(0, r > 0xFF);
            break;
        case 1:
            r = acc + v + get_flag(0);
            set_flag(0, r > 0xFF);
            break;
        case 2:
        case 3:
            r = acc - v;
            set_flag(0, acc < v);
            break;
        case 4:
            r &= v;
            set_flag(0, 0);
            break;
        case 5:
            r ^= v;
            set_flag(0, 0);
            break;
        case 6:
            r |= v;
            set_flag(0, 0);
            break;
        case 7:
            set_flag(0, acc < v);
            set_flag(1, acc == v);
            return acc;
    }
    r &= 0xFF;
    set_flag(1, r == 0);
    return (unsigned char)r;
}

unsigned short fetch_address(int mode, unsigned short pc, unsigned char x, unsigned char y) {
    unsigned short addr = 0;
    switch (mode) {
        case 0:
            addr = pc;
            break;
        case 1:
            addr = mem_read(pc);
            break;
        case 2:
            addr = (mem_read(pc) + x) & 0xFF;
            break;
        case 3:
            addr = mem_read(pc) | mem_read(pc + 1) << 8;
            break;
        case 4:
            addr = (mem_read(pc) | mem_read(pc + 1) << 8) + x;
            break;
        case 5:
            addr = (mem_read(pc) | mem_read(pc + 1) << 8) + y;
            break;
        default:
            cpu_halt(mode);
    }
    return addr;
}

void io_write(unsigned short port, unsigned char v) {
    switch (port) {
        case 0xFF00:
            mem_write(port, v & 0x30);
            break;
        case 0xFF04:
            mem_write(port, 0);
            break;
        case 0xFF41:
            mem_write(port, (mem_read(port) & 7) | (v & 0xF8));
            break;
        case 0xFF44:
            break;
        case 0xFF46:
            for (int i = 0; i < 160; i++) {
                mem_write(0xFE00 + i, mem_read((v << 8) + i));
            }
            break;
        default:
            mem_write(port, v);
            break;
    }
}

int json_value_kind(int c) {
    switch (c) {
        case '{':
            return 1;
        case '[':
            return 2;
        case '"':
            return 3;
        case 't':
        case 'f':
            return 4;
        case 'n':
            return 5;
        case '-':
            return 6;
        default:
            if (is_digit(c)) {
                return 6;
            }
            return 0;
    }
}

int skip_blank(int stream, int *line) {
    int c;
    for (;;) {
        c = next_char(stream);
        switch (c) {
            case '\n':
                (*line)++;
                continue;
            case ' ':
            case '\t':
            case '\r':
                continue;
            case '#':
                while (c != '\n' && c != -1) {
                    c = next_char(stream);
                }
                (*line)++;
                continue;
            default:
                return c;
        }
    }
}

int token_class(int tok) {
    int cls;
    switch (tok) {
        case 256:
        case 257:
            cls = 1;
            break;
        case 258:
            cls = 2;
            break;
        case 260:
        case 261:
        case 262:
            cls = 3;
            break;
        default:
            cls = 0;
            break;
    }
    return cls;
}

int parse_statement(int tok, int line) {
    int result = 0;
    switch (tok) {
        case ';':
            advance_token();
            break;
        case 270:
        case 271:
            advance_token();
            result = parse_expr(0);
            if (result < 0) {
                parse_error(line, 14);
            }
            break;
        case 272:
            advance_token();
            break;
        case '}':
            parse_error(line, 3);
            return -1;
        case -1:
            return -1;
        default:
            result = parse_expr(0);
            break;
    }
    return result;
}

long scale_suffix(long n, char suffix) {
    switch (suffix) {
        case 'G':
        case 'g':
            n *= 1024;
            /* fall through */
        case 'M':
        case 'm':
            n *= 1024;
            /* fall through */
        case 'K':
        case 'k':
            n *= 1024;
            break;
        case 'b':
            break;
        default:
            return -1;
    }
    return n;
}

unsigned long hash_tail(const unsigned char *p, unsigned long len) {
    unsigned long h = len * 0x9E3779B1UL;
    unsigned long k = 0;
    const unsigned char *tail = p + (len & ~3UL);
    switch (len & 3) {
        case 3:
            k ^= (unsigned long)tail[2] << 16;
            /* fall through */
        case 2:
            k ^= (unsigned long)tail[1] << 8;
            /* fall through */
        case 1:
            k ^= tail[0];
            k *= 0xCC9E2D51UL;
            h ^= k;
    }
    h ^= h >> 16;
    return h;
}

int number_base(const char *s, int *skip) {
    *skip = 0;
    if (s[0] != '0') return 10;
    switch (s[1]) {
        case 'x':
        case 'X':
            *skip = 2;
            return 16;
        case 'b':
        case 'B':
            *skip = 2;
            return 2;
        case '\0':
            return 10;
        default:
            *skip = 1;
            return 8;
    }
}

int option_flag(int ch, unsigned int *flags) {
    switch (ch) {
        case 'v':
            *flags |= 0x01;
            break;
        case 'q':
            *flags |= 0x02;
            *flags &= ~0x01u;
            break;
        case 'r':
        case 'R':
            *flags |= 0x04;
            break;
        case 'f':
            *flags |= 0x08;
            break;
        case 'n':
            *flags |= 0x10;
            break;
        case 'h':
        case '?':
            return 1;
        default:
            return -1;
    }
    return 0;
}

int ansi_final(int final, int param, int *row, int *col) {
    if (param == 0) param = 1;
    switch (final) {
        case 'A':
            *row -= param;
            if (*row < 0) *row = 0;
            break;
        case 'B':
            *row += param;
            if (*row > 24) *row = 24;
            break;
        case 'C':
            *col += param;
            if (*col > 79) *col = 79;
            break;
        case 'D':
            *col -= param;
            if (*col < 0) *col = 0;
            break;
        case 'H':
            *row = *col = 0;
            break;
        default:
            return 0;
    }
    return 1;
}

int insn_size(unsigned char opcode) {
    int size = 1;
    switch (opcode) {
        case 0x06:
        case 0x0E:
        case 0x3E:
        case 0x18:
            size = 2;
            break;
        case 0x01:
        case 0xC3:
        case 0xCD:
            size = 3;
            break;
    }
    return size;
}

int roman_value(char c) {
    int v = 0;
    switch (c) {
        case 'I': v = 1; break;
        case 'V': v = 5; break;
        case 'X': v = 10; break;
        case 'L': v = 50; break;
        case 'C': v = 100; break;
        case 'D': v = 500; break;
        case 'M': v = 1000; break;
    }
    return v;
}

int closing_bracket(int open) {
    switch (open) {
        case '(': return ')';
        case '[': return ']';
        case '{': return '}';
        default: return 0;
    }
}

int csv_feed(int state, char c, char *field, int *len) {
    switch (state) {
        case 0:
            if (c == '"') {
                return 2;
            }
            /* fall through */
        case 1:
            if (c == ',' || c == '\n') {
                field[*len] = '\0';
                *len = 0;
                return c == ',' ? 0 : 4;
            }
            field[(*len)++] = c;
            return 1;
        case 2:
            if (c == '"') return 3;
            field[(*len)++] = c;
            return 2;
        case 3:
            if (c == '"') {
                field[(*len)++] = '"';
                return 2;
            }
            if (c == ',') {
                field[*len] = '\0';
                *len = 0;
                return 0;
            }
            return 4;
        default:
            return state;
    }
}

int keyword_id(const char *s, int len) {
    int id = 0;
    if (len < 2 || len > 8) return 0;
    switch (s[0]) {
        case 'i':
            if (s[1] == 'f' && len == 2) id = 1;
            else if (s[1] == 'n' && len == 3) id = 2;
            break;
        case 'e':
            id = len == 4 ? 3 : 0;
            break;
        case 'w':
            if (len == 5 && hash_bytes(s, len, 7) == 0x51) id = 4;
            break;
        case 'r':
            if (len == 6) id = 5;
            break;
        default:
            return lookup_symbol(s, len);
    }
    return id;
}

void encode_varsize(int width, long v) {
    switch (width) {
        case 1:
            emit_byte(v & 0xFF);
            break;
        case 2:
            emit_byte(v & 0xFF);
            emit_byte((v >> 8) & 0xFF);
            break;
        case 4:
            for (int i = 0; i < 4; i++) {
                emit_byte((int)(v >> (i * 8)) & 0xFF);
            }
            break;
    }
}

int word_state(int state, int c) {
    switch (state) {
        case 0:
            if (is_alpha(c)) {
                state = 1;
            } else if (is_digit(c)) {
                state = 2;
            }
            break;
        case 1:
            if (is_space(c)) {
                state = 0;
            } else if (!is_alpha(c) && !is_digit(c)) {
                state = 3;
            }
            break;
        case 2:
            if (!is_digit(c)) {
                state = is_space(c) ? 0 : 3;
            }
            break;
        case 3:
            if (is_space(c)) {
                state = 0;
            }
            break;
    }
    return state;
}

int unary_op(int op, long *v) {
    switch (op) {
        case '-':
            *v = -*v;
            return 1;
        case '~':
            *v = ~*v;
            return 1;
        case '!':
            *v = !*v;
            return 1;
    }
    return 0;
}
