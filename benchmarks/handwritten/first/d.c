int recv_byte(int timeout);
void send_byte(int b);
void send_ack(void);
void send_nak(int reason);
int crc_update(int crc, int byte);
int adc_read(int channel);
void dac_write(int channel, int value);
int config_get(int key);
int config_set(int key, int value);
void print_int(int n);
void print_line(char *text);
void heap_dump(void);
int eval(int node);
int left_child(int node);
int right_child(int node);
int node_kind(int node);
void timer_start(int id, int ms);
void timer_stop(int id);
void relay(int on);
int clip(int v, int lo, int hi);
int file_seek(int fd, long pos);
long file_size(int fd);
void trap(int vector);
int has_item(int player, int item);
void give_item(int player, int item, int count);

int eval_node(int node)
{
    int a, b;

    a = eval(left_child(node));
    b = eval(right_child(node));
    switch (node_kind(node))
    {
        case 1:
            return a + b;
        case 2:
            return a - b;
        case 3:
            return a * b;
        case 4:
            return a && b;
        case 5:
            return a || b;
    }
    return 0;
}

int protocol_dispatch(int opcode, int arg)
{
    int status = 0;

    switch (opcode)
    {
    case 0x10:
        status = config_get(arg);
        break;
    case 0x11:
        status = config_set(arg, recv_byte(100));
        break;
    case 0x20:
        heap_dump();
        break;
    case 0x7F:
        send_ack();
        return 0;
    default:
        send_nak(opcode);
        return -1;
    }

    send_byte(status);
    return status;
}

int xmodem_block_size(int header)
{
    switch (header)
    {
    case 0x01:
        return 128;
    case 0x02:
        return 1024;
    case 0x04:
        send_ack();
        return 0;
    case 0x18:
        return -1;
    default:
        send_nak(0);
        return -2;
    }
}

long seek_position(int fd, long offset, int whence, long current)
{
    long pos;

    switch (whence)
    {
    case 0:
        pos = offset;
        break;
    case 1:
        pos = current + offset;
        break;
    case 2:
        pos = file_size(fd) + offset;
        break;
    default:
        return -22;
    }

    if (pos < 0)
        return -22;
    if (file_seek(fd, pos) != 0)
        return -5;
    return pos;
}

void thermostat_tick(int state, int temp, int *next)
{
    *next = state;
    switch (state)
    {
    case 0:
        if (temp < 180)
        {
            relay(1);
            timer_start(1, 60000);
            *next = 1;
        }
        break;
    case 1:
        if (temp > 220)
        {
            relay(0);
            timer_stop(1);
            *next = 0;
        }
        break;
    default:
        relay(0);
        *next = 0;
        break;
    }
}

int scale_reading(int channel)
{
    int raw = adc_read(channel);

    switch (channel)
    {
    case 0:
        raw = raw * 3300 / 4096;
        break;
    case 1:
    case 2:
        raw = raw * 5000 / 4096;
        break;
    case 7:
        raw -= 500;
        break;
    }
    return raw;
}

int bracket_match(char open)
{
    switch (open)
    {
    case '(': return ')';
    case '[': return ']';
    case '{': return '}';
    case '<': return '>';
    default:  return 0;
    }
}

int bracket_depth_change(char c, int depth)
{
    switch (c)
    {
    case '(':
    case '[':
    case '{':
        depth++;
        break;
    case ')':
    case ']':
    case '}':
        depth--;
        break;
    }
    return depth;
}

void print_weekday_type(int day)
{
    switch (day)
    {
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
        print_int(1);
        break;
    case 6:
    case 7:
        print_int(2);
        break;
    default:
        print_int(-1);
        break;
    }
}

int exception_vector(int cause)
{
    int vec = 0x40;

    switch (cause)
    {
    case 0:
        vec = 0x08;
        break;
    case 1:
        vec = 0x0c;
        break;
    case 2:
    case 3:
        vec = 0x10;
        break;
    case 8:
        vec = 0x18;
        break;
    }
    trap(vec);
    return vec;
}

int quest_progress(int player, int stage)
{
    switch (stage)
    {
    case 0:
        give_item(player, 11, 1);
        return 1;
    case 1:
        if (!has_item(player, 12))
            return 1;
        give_item(player, 20, 5);
        return 2;
    case 2:
        if (has_item(player, 13) && has_item(player, 14))
            return 3;
        return 2;
    }
    return stage;
}

int digits_for_format(int format)
{
    int width;

    switch (format)
    {
    case 'o':
        width = 11;
        break;
    case 'x':
    case 'X':
        width = 8;
        break;
    case 'b':
        width = 32;
        break;
    default:
        width = 10;
    }
    return width;
}

unsigned convert_endian_field(unsigned value, int size)
{
    switch (size)
    {
    case 1:
        return value & 0xff;
    case 2:
        return ((value & 0xff) << 8) | ((value >> 8) & 0xff);
    case 4:
        return (value << 24) | ((value & 0xff00) << 8)
             | ((value >> 8) & 0xff00) | (value >> 24);
    default:
        return 0;
    }
}

long length_to_mm(long value, int unit)
{
    long mm = value;

    switch (unit)
    {
    case 0:
        break;
    case 1:
        mm = value * 10;
        break;
    case 2:
        mm = value * 1000;
        break;
    case 3:
        mm = value * 254 / 10;
        break;
    case 4:
        mm = value * 3048 / 10;
        break;
    default:
        mm = -1;
        break;
    }
    return mm;
}

int branch_taken(int cond, int n, int z, int v)
{
    int taken = 0;

    switch (cond >> 1)
    {
    case 0:
        taken = z;
        break;
    case 1:
        taken = n;
        break;
    case 2:
        taken = v;
        break;
    case 3:
        taken = (n == v);
        break;
    case 4:
        taken = !z && n == v;
        break;
    case 7:
        return 1;
    }

    if (cond & 1)
        taken = !taken;
    return taken;
}

void swap_by_mode(int *a, int *b, int mode)
{
    int tmp = *a;

    switch (mode)
    {
    case 0:
        break;
    case 1:
        *a = *b;
        *b = tmp;
        break;
    case 2:
        if (*a > *b)
        {
            *a = *b;
            *b = tmp;
        }
        break;
    }
}

int checksum_byte(int crc, int state, int byte)
{
    switch (state)
    {
    case 0:
        crc = 0xffff;
        break;
    case 1:
    case 2:
    case 3:
        crc = crc_update(crc, byte);
        break;
    case 4:
        crc ^= byte;
        break;
    }
    return crc & 0xffff;
}

int season(int month)
{
    if (month < 1 || month > 12)
        return -1;

    switch (month % 12 / 3)
    {
    case 0:
        return 0;
    case 1:
        return 1;
    case 2:
        return 2;
    }
    return 3;
}

void mix_audio(int mode, int left, int right)
{
    int mono;

    switch (mode)
    {
    case 0:
        mono = (left + right) / 2;
        dac_write(0, mono);
        dac_write(1, mono);
        break;
    case 1:
        dac_write(0, left);
        dac_write(1, right);
        break;
    case 2:
        dac_write(0, right);
        dac_write(1, left);
        break;
    default:
        dac_write(0, 0);
        dac_write(1, 0);
    }
}

int json_value_kind(char *p)
{
    switch (p[0])
    {
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
    }
    if (p[0] >= '0' && p[0] <= '9')
        return 6;
    return 0;
}

int errno_class(int e)
{
    switch (-e)
    {
    case 4:
    case 11:
        return 1;       /* retry */
    case 12:
    case 24:
        return 2;       /* out of resources */
    case 32:
    case 104:
        return 3;       /* peer gone */
    }
    return 0;
}

int tennis_next_score(int points)
{
    switch (points)
    {
    case 0:
        return 15;
    case 15:
        return 30;
    case 30:
        return 40;
    default:
        return points;
    }
}

void debug_command(char cmd, int arg)
{
    switch (cmd)
    {
    case 'p':
        print_int(config_get(arg));
        break;
    case 'h':
        heap_dump();
        break;
    case 't':
        trap(arg);
        return;
    case 'r':
        relay(arg & 1);
        break;
    }
    send_ack();
}

int pwm_duty(int gear, int throttle)
{
    int limit;

    if (throttle < 5)
        return 0;

    switch (gear)
    {
    case -1:
        limit = 30;
        break;
    case 0:
        return 0;
    case 1:
        limit = 50;
        break;
    case 2:
        limit = 80;
        break;
    default:
        limit = 100;
        break;
    }
    return clip(throttle, 0, limit);
}

int combine_flags(int style, int base)
{
    int flags = base;

    switch (style & 0x30)
    {
    case 0x10:
        flags |= 0x100;
        break;
    case 0x20:
        flags &= ~0x100;
        flags |= 0x200;
        break;
    case 0x30:
        flags |= 0x300;
        break;
    }
    if (style & 1)
        flags |= 1;
    return flags;
}

int stack_effect(int op)
{
    switch (op)
    {
    case 0:
    case 9:
        return 0;
    case 1:
    case 2:
        return 1;
    case 3:
    case 4:
    case 5:
    case 6:
        return -1;
    case 7:
        return -2;
    default:
        trap(6);
    }
    return 0;
}

void load_preset(int n, int *params)
{
    params[0] = 0;
    params[1] = 0;
    params[2] = 100;
    switch (n)
    {
    case 1:
        params[0] = 12;
        break;
    case 2:
        params[0] = 24;
        params[1] = -3;
        break;
    case 3:
        params[2] = 50;
        break;
    }
}

int read_frame_byte(int *state, int *len)
{
    int b = recv_byte(10);

    switch (*state)
    {
    case 0:
        if (b == 0x7e)
            *state = 1;
        break;
    case 1:
        *len = b;
        *state = 2;
        break;
    case 2:
        *len -= 1;
        if (*len <= 0)
            *state = 3;
        break;
    case 3:
        *state = 0;
        return 1;
    }
    return 0;
}

int discount_percent(char tier, int years)
{
    int pct = 0;

    switch (tier)
    {
    case 'G':
        pct += 10;
        /* fall through */
    case 'S':
        pct += 5;
        /* fall through */
    case 'B':
        pct += years > 5 ? 3 : 1;
        break;
    default:
        break;
    }
    return pct;
}

void greet(int lang, char *en, char *fr, char *de)
{
    switch (lang)
    {
    case 33:
        print_line(fr);
        break;
    case 49:
        print_line(de);
        break;
    case 1:
    case 44:
    default:
        print_line(en);
    }
}
