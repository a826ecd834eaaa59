int read_byte(void);
int read_word(int hi, int lo);
void log_event(int code);
void report_error(int code, int line);
int send_packet(int type, int len, int flags);
void reset_device(void);
void move_player(int dx, int dy);
void player_jump(void);
void quit_game(int reason);
int peek_token(void);
void next_token(void);
int parse_number(void);
int parse_expr(void);
int parse_operand(void);
void set_led(int which, int on);
int motor_start(int speed);
void motor_stop(void);
int is_admin(int uid);
int lookup_symbol(int name, int scope);
void uart_put(char c);

int days_in_month(int month, int year)
{
    int days;

    switch (month) {
    case 4:
    case 6:
    case 9:
    case 11:
        days = 30;
        break;
    case 2:
        days = 28;
        if ((year % 4 == 0 && year % 100 != 0) || year % 400 == 0)
            days = 29;
        break;
    default:
        days = 31;
        break;
    }
    return days;
}

int calculate(char op, int a, int b, int *err)
{
    *err = 0;
    switch (op) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '/':
        if (b == 0) {
            *err = 1;
            return 0;
        }
        return a / b;
    default:
        *err = 2;
        return 0;
    }
}

int traffic_light_next(int state)
{
    switch (state) {
    case 0: return 1;
    case 1: return 2;
    case 2: return 0;
    }
    return 0;
}

int is_vowel(char c)
{
    switch (c) {
    case 'a': case 'e': case 'i': case 'o': case 'u':
    case 'A': case 'E': case 'I': case 'O': case 'U':
        return 1;
    default:
        return 0;
    }
}

int http_should_retry(int status, int attempt)
{
    if (attempt > 5)
        return 0;

    switch (status / 100) {
    case 2:
    case 3:
        return 0;
    case 4:
        if (status == 408 || status == 429)
            return 1;
        return 0;
    case 5:
        return 1;
    }
    return 0;
}

int map_driver_error(int err)
{
    int code = 0;

    if (err >= 0)
        return err;

    switch (err) {
    case -1:
        code = 13;
        break;
    case -2:
        code = 44;
        break;
    case -5:
        code = 70;
        break;
    case -12:
    case -28:
        code = 71;
        break;
    default:
        report_error(err, 0);
        code = 255;
    }
    return code;
}

void handle_key(int key)
{
    switch (key) {
    case 'w':
        move_player(0, -1);
        break;
    case 's':
        move_player(0, 1);
        break;
    case 'a':
        move_player(-1, 0);
        break;
    case 'd':
        move_player(1, 0);
        break;
    case ' ':
        player_jump();
        break;
    case 27:
        quit_game(0);
        break;
    }
}

long apply_size_suffix(long n, char suffix)
{
    switch (suffix) {
    case 'T':
        n *= 1024;
        /* fall through */
    case 'G':
        n *= 1024;
        /* fall through */
    case 'M':
        n *= 1024;
        /* fall through */
    case 'K':
        n *= 1024;
        break;
    case 0:
        break;
    default:
        return -1;
    }
    return n;
}

int opcode_length(unsigned op)
{
    int len = 1;

    switch (op) {
    case 0xA9:
    case 0xA2:
    case 0xA0:
    case 0x85:
    case 0xD0:
    case 0xF0:
        len = 2;
        break;
    case 0x4C:
    case 0x20:
    case 0xAD:
    case 0x8D:
        len = 3;
        break;
    }
    return len;
}

int alu_execute(int op, int a, int b, int *zero_flag)
{
    int result = 0;

    switch (op & 7) {
    case 0:
        result = a + b;
        break;
    case 1:
        result = a - b;
        break;
    case 2:
        result = a & b;
        break;
    case 3:
        result = a | b;
        break;
    case 4:
        result = a ^ b;
        break;
    case 5:
        result = ~a;
        break;
    case 6:
        result = a << (b & 31);
        break;
    case 7:
        result = a >> (b & 31);
        break;
    }
    *zero_flag = (result == 0);
    return result;
}

int can_delete_post(int role, int uid, int owner)
{
    switch (role) {
    case 3:
        return 1;
    case 2:
        return !is_admin(owner);
    case 1:
        return uid == owner;
    default:
        return 0;
    }
}

int tetris_line_score(int lines, int level)
{
    int points;

    switch (lines) {
    case 1:
        points = 40;
        break;
    case 2:
        points = 100;
        break;
    case 3:
        points = 300;
        break;
    case 4:
        points = 1200;
        break;
    default:
        return 0;
    }
    return points * (level + 1);
}

int roman_value(char c)
{
    switch (c) {
    case 'I': return 1;
    case 'V': return 5;
    case 'X': return 10;
    case 'L': return 50;
    case 'C': return 100;
    case 'D': return 500;
    case 'M': return 1000;
    default: return -1;
    }
}

void direction_to_delta(int dir, int *dx, int *dy)
{
    *dx = 0;
    *dy = 0;
    switch (dir) {
    case 0:
        *dy = -1;
        break;
    case 1:
        *dx = 1;
        break;
    case 2:
        *dy = 1;
        break;
    case 3:
        *dx = -1;
        break;
    }
}

int vm_binary_op(int *stack, int sp, int op)
{
    int rhs, lhs;

    if (sp < 2)
        return -1;
    rhs = stack[sp - 1];
    lhs = stack[sp - 2];

    switch (op) {
    case 10:
        stack[sp - 2] = lhs + rhs;
        break;
    case 11:
        stack[sp - 2] = lhs - rhs;
        break;
    case 12:
        stack[sp - 2] = lhs * rhs;
        break;
    case 13:
        if (rhs == 0)
            return -2;
        stack[sp - 2] = lhs / rhs;
        break;
    default:
        return -3;
    }
    return sp - 1;
}

int parse_primary(void)
{
    int value;

    switch (peek_token()) {
    case '(':
        next_token();
        value = parse_expr();
        next_token();
        return value;
    case '-':
        next_token();
        return -parse_operand();
    case 'n':
        return parse_number();
    default:
        report_error(7, 0);
        return 0;
    }
}

int tcp_on_close(int state)
{
    int next = state;

    switch (state) {
    case 1:     /* LISTEN */
    case 2:     /* SYN_SENT */
        next = 0;
        break;
    case 3:     /* SYN_RCVD */
    case 4:     /* ESTABLISHED */
        send_packet(1, 0, 0);
        next = 5;
        break;
    case 8:     /* CLOSE_WAIT */
        send_packet(1, 0, 0);
        next = 10;
        break;
    }
    log_event(next);
    return next;
}

unsigned padding_for_address(unsigned addr)
{
    unsigned pad = 0;

    switch (addr & 3) {
    case 1:
        pad = 3;
        break;
    case 2:
        pad = 2;
        break;
    case 3:
        pad = 1;
        break;
    }
    return pad;
}

int is_weekend(int wday)
{
    switch (wday) {
    case 0:
    case 6:
        return 1;
    }
    return 0;
}

void write_escaped(char c)
{
    switch (c) {
    case '\n':
        uart_put('\\');
        uart_put('n');
        break;
    case '\t':
        uart_put('\\');
        uart_put('t');
        break;
    case '"':
    case '\\':
        uart_put('\\');
        uart_put(c);
        break;
    default:
        uart_put(c);
        break;
    }
}

int fan_command(int cmd, int arg)
{
    int rc = 0;

    switch (cmd) {
    case 0:
        motor_stop();
        break;
    case 1:
        rc = motor_start(arg);
        break;
    case 2:
        rc = motor_start(255);
        break;
    case 3:
        break;
    default:
        rc = -22;
        break;
    }

    if (rc < 0)
        log_event(rc);
    return rc;
}

long to_seconds(long amount, char unit)
{
    switch (unit) {
    case 's':
        return amount;
    case 'm':
        return amount * 60;
    case 'h':
        return amount * 3600;
    case 'd':
        return amount * 86400;
    case 'w':
        return amount * 604800;
    }
    return -1;
}

int clamp_volume_step(int volume, int button)
{
    switch (button) {
    case 1:
        volume += 5;
        break;
    case 2:
        volume -= 5;
        break;
    case 3:
        volume = 0;
        break;
    }
    if (volume > 100)
        volume = 100;
    if (volume < 0)
        volume = 0;
    return volume;
}

void show_status_leds(int level)
{
    set_led(0, 0);
    set_led(1, 0);
    set_led(2, 0);

    switch (level) {
    case 3:
        set_led(2, 1);
        /* fall through */
    case 2:
        set_led(1, 1);
        /* fall through */
    case 1:
        set_led(0, 1);
    }
}

int read_length_field(void)
{
    int b = read_byte();
    int hi, lo;

    if (b < 0x80)
        return b;

    switch (b & 0x7f) {
    case 1:
        return read_byte();
    case 2:
        hi = read_byte();
        lo = read_byte();
        return read_word(hi, lo);
    default:
        report_error(3, b);
        return -1;
    }
}

int dice_payout(int roll, int bet)
{
    int win = 0;

    switch (roll) {
    case 7:
    case 11:
        win = bet * 2;
        break;
    case 2:
    case 3:
    case 12:
        win = -bet;
        break;
    default:
        break;
    }
    return win;
}

char grade_letter(int score)
{
    if (score < 0 || score > 100)
        return '?';

    switch (score / 10) {
    case 10:
    case 9:
        return 'A';
    case 8:
        return 'B';
    case 7:
        return 'C';
    case 6:
        return 'D';
    default:
        return 'F';
    }
}

void watchdog_event(int event, int *missed)
{
    switch (event) {
    case 0:
        *missed = 0;
        break;
    case 1:
        *missed += 1;
        if (*missed > 3) {
            log_event(99);
            reset_device();
        }
        break;
    case 2:
        reset_device();
        break;
    }
}

int resolve_operand(int kind, int value, int scope)
{
    int r;

    switch (kind) {
    case 1:
        r = value;
        break;
    case 2:
        r = lookup_symbol(value, scope);
        break;
    case 3:
        r = lookup_symbol(value, 0);
        if (r < 0) {
            report_error(21, value);
            r = 0;
        }
        break;
    default:
        r = 0;
    }
    return r;
}

int compare_result(int cmp, int op)
{
    switch (op) {
    case 0: return cmp == 0;
    case 1: return cmp != 0;
    case 2: return cmp < 0;
    case 3: return cmp <= 0;
    case 4: return cmp > 0;
    case 5: return cmp >= 0;
    default: return 0;
    }
}
