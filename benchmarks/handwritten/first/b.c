int spi_transfer(int out);
void spi_select(int cs);
void delay_ms(int ms);
int gpio_read(int pin);
void gpio_write(int pin, int value);
int get_mode(void);
int next_char(void);
void unget_char(int c);
void emit(int op, int arg);
void emit_byte(int b);
int alloc_block(long size);
void free_block(int id);
void play_sound(int id);
void add_score(int points);
void spawn_enemy(int kind, int x, int y);
int queue_push(int prio, int job);
void wake_worker(int id);
int check_password(char *pw);
int open_file(char *path, int mode);
void print_usage(void);
int current_user(void);
void audit(int user, int action, int result);
void lcd_cmd(int c);

int flash_command(unsigned cmd, int arg)
{
	int ret = 0;

	spi_select(1);
	switch (cmd) {
	case 0x06:
	case 0x04:
		spi_transfer(cmd);
		break;
	case 0x05:
		spi_transfer(0x05);
		ret = spi_transfer(0);
		break;
	case 0xD8:
		spi_transfer(0xD8);
		spi_transfer(arg >> 16);
		spi_transfer(arg >> 8);
		spi_transfer(arg);
		break;
	case 0xC7:
		spi_transfer(0xC7);
		delay_ms(2000);
		break;
	default:
		ret = -1;
	}
	spi_select(0);
	return ret;
}

int lex_operator(int first)
{
	int c = next_char();

	switch (first) {
	case '<':
		if (c == '=')
			return 260;
		break;
	case '>':
		if (c == '=')
			return 261;
		break;
	case '=':
		if (c == '=')
			return 262;
		break;
	case '!':
		if (c == '=')
			return 263;
		break;
	}
	unget_char(c);
	return first;
}

int operator_precedence(char op)
{
	switch (op) {
	case '*':
	case '/':
	case '%':
		return 3;
	case '+':
	case '-':
		return 2;
	case '<':
	case '>':
		return 1;
	}
	return 0;
}

void count_char(int *counts, char c)
{
	switch (c) {
	case '\n':
		counts[0]++;
		/* fallthrough */
	case ' ':
	case '\t':
		counts[1]++;
		break;
	default:
		counts[2]++;
		break;
	}
}

int sort_compare(int key, int a, int b)
{
	int diff;

	switch (key) {
	case 'a':
		diff = a - b;
		break;
	case 'd':
		diff = b - a;
		break;
	default:
		diff = 0;
		break;
	}
	return diff;
}

void on_pickup(int item, int *health, int *ammo)
{
	switch (item) {
	case 1:
		*health += 25;
		if (*health > 100)
			*health = 100;
		play_sound(4);
		break;
	case 2:
		*ammo += 10;
		play_sound(5);
		break;
	case 3:
		*health = 100;
		*ammo = 50;
		play_sound(6);
		break;
	case 4:
		add_score(500);
		break;
	}
}

int elevator_step(int state, int request)
{
	switch (state) {
	case 0:
		if (request > 0)
			state = 1;
		else if (request < 0)
			state = 2;
		break;
	case 1:
	case 2:
		if (request == 0)
			state = 3;
		break;
	case 3:
		state = 0;
		break;
	}
	return state;
}

long round_to_unit(long value, int unit)
{
	long step;

	if (value < 0)
		return 0;

	switch (unit) {
	case 0:
		step = 1;
		break;
	case 1:
		step = 512;
		break;
	case 2:
		step = 4096;
		break;
	default:
		step = 65536;
		break;
	}
	return (value + step - 1) / step * step;
}

int quarter_of_month(int month)
{
	switch (month) {
	case 1: case 2: case 3:
		return 1;
	case 4: case 5: case 6:
		return 2;
	case 7: case 8: case 9:
		return 3;
	case 10: case 11: case 12:
		return 4;
	}
	return -1;
}

int parse_sign(char *s, int *negative)
{
	int skip = 0;

	*negative = 0;
	switch (*s) {
	case '-':
		*negative = 1;
		/* fall through */
	case '+':
		skip = 1;
		break;
	}
	return skip;
}

int get_option(int opt, int *verbose, int *level)
{
	switch (opt) {
	case 'v':
		*verbose = 1;
		break;
	case 'q':
		*verbose = 0;
		break;
	case 'O':
		*level = 2;
		break;
	case 'h':
		print_usage();
		return 1;
	case '?':
	default:
		print_usage();
		return -1;
	}
	return 0;
}

int modbus_function(int fc, int addr, int *regs, int value)
{
	switch (fc) {
	case 3:
	case 4:
		return regs[addr];
	case 6:
		regs[addr] = value;
		return value;
	case 16:
		regs[addr] = value;
		regs[addr + 1] = 0;
		return 2;
	}
	/* exception reply */
	return fc | 0x80;
}

void spawn_wave(int wave)
{
	int x = wave * 16;

	switch (wave % 4) {
	case 0:
		spawn_enemy(1, x, 0);
		spawn_enemy(1, x + 32, 0);
		break;
	case 1:
		spawn_enemy(2, x, 0);
		break;
	case 2:
		spawn_enemy(1, x, 0);
		spawn_enemy(2, x, 40);
		break;
	case 3:
		spawn_enemy(9, 160, 0);
		play_sound(12);
		break;
	}
}

int umask_to_perm(char who, int mode)
{
	switch (who) {
	case 'u':
		return (mode >> 6) & 7;
	case 'g':
		return (mode >> 3) & 7;
	case 'o':
		return mode & 7;
	default:
		return 0;
	}
}

int file_open_mode(char *path, char mode)
{
	int flags;

	switch (mode) {
	case 'r':
		flags = 0;
		break;
	case 'w':
		flags = 0x241;
		break;
	case 'a':
		flags = 0x441;
		break;
	default:
		return -22;
	}
	return open_file(path, flags);
}

int schedule_job(int kind, int job)
{
	int rc;

	switch (kind) {
	case 1:
		rc = queue_push(0, job);
		wake_worker(0);
		break;
	case 2:
		rc = queue_push(5, job);
		break;
	case 3:
		rc = queue_push(9, job);
		break;
	default:
		return -1;
	}
	if (rc != 0)
		wake_worker(-1);
	return rc;
}

void compile_unary(char op)
{
	switch (op) {
	case '-':
		emit(17, 0);
		break;
	case '!':
		emit(18, 0);
		break;
	case '~':
		emit(19, -1);
		break;
	case '+':
		break;
	}
}

int usb_descriptor_size(int type)
{
	switch (type) {
	case 0x01:
		return 18;
	case 0x02:
	case 0x04:
		return 9;
	case 0x05:
		return 7;
	case 0x06:
		return 10;
	default:
		return 0;
	}
}

void emit_big_endian(unsigned value, int nbytes)
{
	switch (nbytes) {
	case 4:
		emit_byte((value >> 24) & 0xff);
		/* fall through */
	case 3:
		emit_byte((value >> 16) & 0xff);
		/* fall through */
	case 2:
		emit_byte((value >> 8) & 0xff);
		/* fall through */
	default:
		emit_byte(value & 0xff);
	}
}

int buttons_to_action(void)
{
	int pressed = 0;

	if (gpio_read(4))
		pressed |= 1;
	if (gpio_read(5))
		pressed |= 2;

	switch (pressed) {
	case 1:
		return 10;
	case 2:
		return 20;
	case 3:
		delay_ms(50);
		return 30;
	}
	return 0;
}

int login_result(int code, char *pw)
{
	int ok = 0;

	switch (code) {
	case 0:
		ok = check_password(pw);
		break;
	case 1:
		ok = 1;
		break;
	case -1:
		ok = 0;
		break;
	}
	audit(current_user(), code, ok);
	return ok;
}

int memory_request(int op, long size, int id)
{
	switch (op - 1) {
	case 0:
		if (size <= 0)
			return -1;
		return alloc_block(size);
	case 1:
		free_block(id);
		return 0;
	case 2:
		free_block(id);
		return alloc_block(size);
	default:
		return -38;
	}
}

void lcd_set_cursor(int row, int col)
{
	int addr;

	switch (row) {
	case 0: addr = 0x00; break;
	case 1: addr = 0x40; break;
	case 2: addr = 0x14; break;
	case 3: addr = 0x54; break;
	default: return;
	}
	lcd_cmd(0x80 | (addr + col));
}

int sample_rate_code(long rate)
{
	switch (rate) {
	case 8000:
		return 0;
	case 16000:
		return 1;
	case 22050:
		return 2;
	case 44100:
		return 3;
	case 48000:
		return 4;
	default:
		return -1;
	}
}

int temperature_convert(int value, char from, char to)
{
	if (from == to)
		return value;

	switch (from) {
	case 'C':
		if (to == 'F')
			value = value * 9 / 5 + 32;
		else
			value += 273;
		break;
	case 'F':
		value = (value - 32) * 5 / 9;
		if (to == 'K')
			value += 273;
		break;
	case 'K':
		value -= 273;
		if (to == 'F')
			value = value * 9 / 5 + 32;
		break;
	}
	return value;
}

void power_mode_apply(void)
{
	switch (get_mode()) {
	case 0:
		gpio_write(7, 0);
		break;
	case 1:
		gpio_write(7, 1);
		delay_ms(10);
		gpio_write(8, 0);
		break;
	case 2:
		gpio_write(7, 1);
		gpio_write(8, 1);
		break;
	}
}

int chess_piece_value(char piece)
{
	int v = 0;

	switch (piece) {
	case 'p': case 'P':
		v = 100;
		break;
	case 'n': case 'N':
		v = 320;
		break;
	case 'b': case 'B':
		v = 330;
		break;
	case 'r': case 'R':
		v = 500;
		break;
	case 'q': case 'Q':
		v = 900;
		break;
	}
	return v;
}

int rps_winner(int a, int b)
{
	switch ((a - b + 3) % 3) {
	case 0:
		return 0;
	case 1:
		return 1;
	default:
		return 2;
	}
}

long register_read(int reg, long *regs, long pc)
{
	switch (reg) {
	case 0:
		return 0;
	case 15:
		return pc + 8;
	case 16:
		return regs[16] & 0xff;
	default:
		return regs[reg];
	}
}

int select_baud_divisor(int baud)
{
	int div = 0;

	switch (baud) {
	case 9600:
		div = 104;
		break;
	case 19200:
		div = 52;
		break;
	case 38400:
		div = 26;
		break;
	case 115200:
		div = 8;
		break;
	}
	if (div == 0)
		return -1;
	gpio_write(0x20, div & 0xff);
	gpio_write(0x21, div >> 8);
	return 0;
}
