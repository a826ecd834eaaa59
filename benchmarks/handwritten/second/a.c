/*
 * Board support and small protocol helpers.
 * Register access goes through the functions below; nothing here
 * touches hardware directly.
 */
extern int reg_read(int addr);
extern void reg_write(int addr, int val);
extern void delay_us(unsigned int us);
extern int adc_sample(int channel);
extern void led_set(int led, int on);
extern void uart_putc(int c);
extern int uart_pending(void);
extern void irq_mask(int line);
extern void irq_unmask(int line);
extern void log_event(int code, int a, int b);
extern void panic(int code);
extern int crc_step(int crc, int byte);
extern int i2c_xfer(int bus, int addr, int reg, int val);
extern long ticks(void);

/* map a baud rate to its divider register value */
int baud_to_divider(int baud)
{
	switch (baud) {
	case 9600:
		return 0x1a0;
	case 19200:
		return 0xd0;
	case 38400:
		return 0x68;
	case 57600:
		return 0x45;
	case 115200:
		return 0x22;
	}
	return -1;
}

void irq_dispatch(int line, int pending)
{
	if (!pending)
		return;

	irq_mask(line);
	switch (line) {
	case 3:
		uart_putc(reg_read(0x40));
		break;
	case 4:
	case 5:
		reg_write(0x80 + line, 1);
		/* fall through */
	case 6:
		log_event(line, pending, 0);
		break;
	case 11:
		if (pending & 0x8000)
			panic(11);
		break;
	default:
		log_event(-1, line, pending);
	}
	irq_unmask(line);
}

int battery_level_to_bars(int mv, int charging)
{
	int bars = 0;

	if (mv < 3000)
		return 0;
	switch ((mv - 3000) / 200) {
	case 0:
		bars = 1;
		break;
	case 1:
	case 2:
		bars = 2;
		break;
	case 3:
	case 4:
		bars = 3;
		break;
	default:
		bars = 4;
		break;
	}
	if (charging && bars < 4)
		bars++;
	return bars;
}

int slip_decode_byte(int c, int *escaped, unsigned char *out)
{
	if (*escaped) {
		*escaped = 0;
		if (c == 0xdc)
			*out = 0xc0;
		else if (c == 0xdd)
			*out = 0xdb;
		else
			return -1;
		return 1;
	}

	switch (c) {
	case 0xc0:
		return 2;	/* end of packet */
	case 0xdb:
		*escaped = 1;
		return 0;
	}
	*out = c;
	return 1;
}

void set_power_mode(int mode)
{
	int ctl = reg_read(0x10);

	switch (mode) {
	case 0:			/* run */
		ctl &= ~0x0f;
		break;
	case 1:			/* idle */
		ctl = (ctl & ~0x0f) | 1;
		break;
	case 2:			/* standby */
		ctl = (ctl & ~0x0f) | 3;
		delay_us(50);
		break;
	case 3:			/* off */
		led_set(0, 0);
		led_set(1, 0);
		ctl |= 0x0f;
		break;
	default:
		return;
	}
	reg_write(0x10, ctl);
}

int modbus_exception(int fc, int addr, int count)
{
	if (count <= 0)
		return 3;

	switch (fc) {
	case 0x01:
	case 0x02:
		if (count > 2000)
			return 3;
		return addr + count > 0x10000 ? 2 : 0;
	case 0x03:
	case 0x04:
		if (count > 125 || addr + count > 0x10000)
			return 3;
		return 0;
	case 0x06:
		return addr > 0xffff;
	case 0x10:
		if (count > 123)
			return 3;
		return 0;
	default:
		return 1;
	}
}

unsigned int pin_mask(unsigned int port, unsigned int pin)
{
	unsigned int m = 1u << (pin & 31);

	switch (port) {
	case 'A':
		return m & 0xffff;
	case 'B':
		return m & 0xff;
	case 'C':
		return m & 0xe000;
	}
	return 0;
}

int motor_step(int phase, int dir)
{
	int coils;

	if (dir < 0)
		phase = 3 - (phase & 3);
	switch (phase & 3) {
	case 0:
		coils = 0x9;
		break;
	case 1:
		coils = 0xa;
		break;
	case 2:
		coils = 0x6;
		break;
	default:
		coils = 0x5;
	}
	reg_write(0x22, coils);
	delay_us(800);
	return (phase + 1) & 3;
}

int sensor_init(int bus, int type)
{
	int rc;

	switch (type) {
	case 0x68:
		rc = i2c_xfer(bus, type, 0x6b, 0);
		if (rc < 0)
			return rc;
		delay_us(1000);
		return i2c_xfer(bus, type, 0x1b, 0x18);
	case 0x76:
	case 0x77:
		rc = i2c_xfer(bus, type, 0xf4, 0x27);
		if (rc)
			log_event(7, type, rc);
		return rc;
	case 0x1e:
		if (i2c_xfer(bus, type, 0, 0x70) < 0 ||
		    i2c_xfer(bus, type, 2, 0) < 0)
			return -5;
		return 0;
	}
	return -19;
}

void blink_error(int code)
{
	led_set(2, 1);
	switch (code) {
	case -3:
		delay_us(300);
		led_set(2, 0);
		delay_us(300);
		led_set(2, 1);
		/* fall through */
	case -2:
		delay_us(200);
		led_set(2, 0);
		delay_us(200);
		led_set(2, 1);
		/* fall through */
	case -1:
		delay_us(100);
		led_set(2, 0);
	}
	log_event(100, code, 0);
}

int usb_setup_request(int bmreq, int breq, int wvalue, int *len)
{
	if ((bmreq & 0x60) != 0) {
		*len = 0;
		return -1;
	}

	switch (breq) {
	case 0:
		*len = 2;
		return reg_read(0x200);
	case 1:
	case 3:
		*len = 0;
		reg_write(0x204, breq == 3);
		return 0;
	case 5:
		if (wvalue > 127)
			return -1;
		reg_write(0x208, wvalue);
		*len = 0;
		return 0;
	case 6:
		*len = (wvalue >> 8) == 1 ? 18 : 9;
		return wvalue & 0xff;
	case 8:
		*len = 1;
		return reg_read(0x20c) & 0xff;
	case 9:
		*len = 0;
		if (wvalue != 0 && wvalue != 1)
			return -1;
		reg_write(0x20c, wvalue);
		return 0;
	}
	return -1;
}

int adc_to_unit(int channel, int raw)
{
	long v = raw;

	switch (channel) {
	default:
		return raw;
	case 0:
		v = v * 3300 / 4096;
		break;
	case 1:
		v = v * 6600 / 4096;
		break;
	case 7:
		v = (v - 760) * 10 / 25 + 25;
		if (v < -40)
			v = -40;
		break;
	}
	return (int)v;
}

int can_filter(int id, int dlc)
{
	int prio = id >> 8;

	switch (prio) {
	case 0:
		return 1;
	case 1:
		return dlc == 8;
	case 3:
		if (dlc < 2)
			return 0;
		return (id & 0xff) != 0x7f;
	case 7:
		log_event(40, id, dlc);
		return 0;
	}
	return dlc > 0 && (id & 1);
}

unsigned char ps2_scancode_flags(unsigned char code, unsigned char flags)
{
	switch (code) {
	case 0x12:
	case 0x59:
		return flags | 1;
	case 0x14:
		return flags | 2;
	case 0x11:
		return flags | 4;
	case 0x58:
		flags ^= 8;
		led_set(5, (flags & 8) != 0);
		return flags;
	case 0xf0:
		return flags | 0x80;
	case 0xe0:
		return flags | 0x40;
	}
	return flags & 0x3f;
}

int watchdog_reason(void)
{
	int sr = reg_read(0x7c);
	int why;

	switch (sr & 0x7) {
	case 1:
		why = 10;
		break;
	case 2:
		why = 20;
		break;
	case 4:
		why = 30;
		break;
	case 0:
		return 0;
	default:
		why = 99;
	}
	reg_write(0x7c, sr & ~7);
	log_event(why, sr, (int)ticks());
	return why;
}

int xmodem_rx(int c, int *state, int *err)
{
	switch (c) {
	case 0x01:
		*state = 128;
		break;
	case 0x02:
		*state = 1024;
		break;
	case 0x04:
		uart_putc(0x06);
		*state = 0;
		return 1;
	case 0x18:
		if (++*err > 1)
			return -2;
		break;
	default:
		uart_putc(0x15);
		(*err)++;
		if (*err > 10) {
			uart_putc(0x18);
			uart_putc(0x18);
			return -1;
		}
	}
	return 0;
}

void fan_control(int zone, int temp)
{
	int duty = 0;

	switch (zone) {
	case 0:
		if (temp > 80)
			duty = 100;
		else if (temp > 60)
			duty = 60;
		else if (temp > 45)
			duty = 30;
		break;
	case 1:
		if (temp > 70)
			duty = 80;
		break;
	case 2:
		duty = temp > 30 ? (temp - 30) * 2 : 0;
		break;
	default:
		panic(zone);
		return;
	}
	if (duty > 100)
		duty = 100;
	reg_write(0x300 + zone * 4, duty * 255 / 100);
}

int flash_unlock_seq(int step, int key)
{
	switch (step) {
	case 0:
		if (key != 0x45670123)
			break;
		reg_write(0x04, key);
		return 1;
	case 1:
		if (key == 0x45670123)
			return 1;
		if ((unsigned int)key != 0xcdef89ab)
			break;
		reg_write(0x04, key);
		return 2;
	case 2:
		return 2;
	}
	/* any wrong key locks until reset */
	log_event(55, step, key);
	return -1;
}

short rotary_delta(int prev, int cur)
{
	switch ((prev << 2) | cur) {
	case 1:
	case 7:
	case 8:
	case 14:
		return 1;
	case 2:
	case 4:
	case 11:
	case 13:
		return -1;
	case 3:
	case 12:
		log_event(61, prev, cur);
		break;
	}
	return 0;
}

int at_command_class(char first, char second, int len)
{
	if (len == 0)
		return 0;

	switch (first) {
	case '+':
		if (second == 'C')
			return 10;
		if (second == 'I' || second == 'F')
			return 11;
		return 12;
	case '&':
		return 20 + (second == 'W');
	case 'S':
		if (second >= '0' && second <= '9')
			return 30 + second - '0';
		return -1;
	case 'D':
		return len > 1 ? 40 : -1;
	case 'E': case 'Q': case 'V':
		return 50;
	}
	return -1;
}

int pll_configure(int mhz)
{
	int mul, div = 1;

	switch (mhz) {
	case 24:
		mul = 3;
		break;
	case 36:
		mul = 9;
		div = 2;
		break;
	case 48:
		mul = 6;
		break;
	case 72:
		mul = 9;
		reg_write(0x00, 2);	/* two wait states */
		break;
	default:
		return -22;
	}
	reg_write(0x14, (mul - 2) << 18 | (div - 1) << 17);
	delay_us(150);
	if (!(reg_read(0x10) & 0x2000000))
		return -110;
	return mhz;
}

int spi_mode_bits(int mode, int lsb_first)
{
	int bits = 0x300;

	if (lsb_first)
		bits |= 0x80;
	switch (mode) {
	case 3:
		bits |= 1;
		/* fall through */
	case 2:
		bits |= 2;
		break;
	case 1:
		bits |= 1;
		break;
	}
	return bits;
}

int charger_next_state(int state, int mv, int ma, int temp)
{
	if (temp > 45 || temp < 0)
		return 9;

	switch (state) {
	case 0:
		return mv > 2500 ? 1 : 0;
	case 1:
		if (mv >= 3000)
			return 2;
		return 1;
	case 2:
		if (mv >= 4200) {
			log_event(70, mv, ma);
			return 3;
		}
		return 2;
	case 3:
		if (ma < 50)
			return 4;
		return 3;
	case 4:
		return mv < 4050 ? 2 : 4;
	case 9:
		return 0;
	}
	panic(state);
	return 9;
}

int nmea_checksum_feed(int c, int *sum, int *phase)
{
	switch (c) {
	case '$':
		*sum = 0;
		*phase = 1;
		return 0;
	case '*':
		*phase = 2;
		return 0;
	case '\r':
		break;
	case '\n':
		if (*phase == 2) {
			*phase = 0;
			return 1;
		}
		*phase = 0;
		return -1;
	default:
		if (*phase == 1)
			*sum ^= c;
	}
	return 0;
}

int touch_read_axis(int axis)
{
	int a, b;

	switch (axis) {
	case 'x':
		reg_write(0x50, 0x05);
		a = adc_sample(2);
		b = adc_sample(2);
		break;
	case 'y':
		reg_write(0x50, 0x0a);
		a = adc_sample(3);
		b = adc_sample(3);
		break;
	case 'z':
		reg_write(0x50, 0x06);
		a = adc_sample(2);
		b = adc_sample(3);
		return a - b;
	default:
		return -1;
	}
	reg_write(0x50, 0);
	return (a + b) / 2;
}

long timer_prescale(long period_ns, int *sel)
{
	int k = 0;

	if (period_ns > 1000000)
		k = 3;
	else if (period_ns > 100000)
		k = 2;
	else if (period_ns > 1000)
		k = 1;

	*sel = k;
	switch (k) {
	case 1:
		return period_ns / 8;
	case 2:
		return period_ns / 64;
	case 3:
		return period_ns / 1024;
	}
	return period_ns;
}

void lcd_command(unsigned char cmd, int row, int col)
{
	int addr = 0;

	switch (cmd) {
	case 0x01:
		reg_write(0x60, cmd);
		delay_us(1600);
		return;
	case 0x02:
		reg_write(0x60, cmd);
		delay_us(1600);
		break;
	case 0x80:
		addr = col + (row ? 0x40 : 0);
		if (row > 1)
			addr += 0x14;
		break;
	default:
		reg_write(0x60, cmd);
		delay_us(40);
		return;
	}
	reg_write(0x60, 0x80 | addr);
	delay_us(40);
}

int bootloader_cmd(int cmd, int arg, int *crc)
{
	*crc = crc_step(*crc, cmd);
	switch (cmd) {
	case 0x11:
		return reg_read(arg);
	case 0x21:
		if (arg < 0x8000000)
			return -1;
		log_event(80, arg, *crc);
		return 0;
	case 0x31:
		*crc = crc_step(crc_step(*crc, arg & 0xff), arg >> 8);
		return *crc;
	case 0x43:
	case 0x44:
		irq_mask(cmd - 0x40);
		reg_write(0x10, arg | 2);
		return uart_pending();
	}
	return 0x1f;
}

int relay_interlock(int want, int active[], int manual)
{
	int ok;

	switch (want) {
	case 0:
		ok = !active[1];
		break;
	case 1:
		ok = !active[0];
		break;
	case 2:
		ok = active[0] || active[1];
		break;
	case 3:
		ok = active[2] && !manual;
		break;
	default:
		ok = 0;
	}
	if (!ok) {
		log_event(90, want, manual);
		return -1;
	}
	active[want] = 1;
	return want;
}

unsigned short gray_to_level(unsigned short gray)
{
	switch (gray & 7) {
	case 0: return 0;
	case 1: return 12;
	case 3: return 25;
	case 2: return 37;
	case 6: return 50;
	case 7: return 62;
	case 5: return 75;
	default: return 100;
	}
}
