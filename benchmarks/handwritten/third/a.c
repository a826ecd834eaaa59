int read_reg(int addr);
void write_reg(int addr, int val);
void udelay(unsigned int usec);
void log_event(int code, int arg);
int spi_xfer(int dev, const unsigned char *tx, unsigned char *rx, int len);
void irq_mask(int line);
void irq_unmask(int line);
int adc_sample(int channel);
void led_set(int led, int on);
int queue_push(int q, int value);
int queue_empty(int q);
void timer_start(int id, unsigned int ms);
void timer_stop(int id);
int flash_erase(unsigned long addr, unsigned long len);
int flash_program(unsigned long addr, const unsigned char *data, int len);
int uart_putc(int ch);
void reset_cpu(void);
long get_ticks(void);
int motor_set(int id, int dir, int duty);
void set_power_mode(int mode);
int crc_ok(const unsigned char *buf, int len);

int baud_to_divisor(int baud)
{
	switch (baud) {
	case 9600:
		return 104;
	case 19200:
		return 52;
	case 38400:
		return 26;
	case 57600:
		return 17;
	case 115200:
		return 8;
	default:
		return -1;
	}
}

int gpio_set_mode(int pin, int mode)
{
	int shift = (pin & 15) * 2;
	int val = read_reg(0x4000 + (pin >> 4) * 0x400);

	val &= ~(3 << shift);
	switch (mode) {
	case 0:
		break;
	case 1:
		val |= 1 << shift;
		break;
	case 2:
		val |= 2 << shift;
		break;
	case 3:
		val |= 3 << shift;
		break;
	default:
		return -22;
	}
	write_reg(0x4000 + (pin >> 4) * 0x400, val);
	return 0;
}

void handle_irq(int line)
{
	irq_mask(line);
	switch (line) {
	case 4:
		uart_putc(read_reg(0x20));
		break;
	case 7:
		queue_push(1, adc_sample(0));
		queue_push(1, adc_sample(1));
		break;
	case 9:
	case 10:
		timer_stop(line - 9);
		break;
	default:
		log_event(100, line);
		break;
	}
	irq_unmask(line);
}

int i2c_wait(int status, int *retries)
{
	switch (status & 0xf8) {
	case 0x08:
	case 0x10:
	case 0x18:
	case 0x28:
		return 0;
	case 0x20:
	case 0x30:
		if (*retries > 0) {
			(*retries)--;
			udelay(50);
			return -11;
		}
		return -6;
	case 0x38:
		return -16;
	}
	return -5;
}

unsigned int adc_scale(unsigned int raw, int range)
{
	unsigned int mv;

	switch (range) {
	case 0:
		mv = raw * 1250 / 4096;
		break;
	case 1:
		mv = raw * 2500 / 4096;
		break;
	case 2:
		mv = raw * 5000 / 4096;
		break;
	default:
		mv = 0;
	}
	return mv;
}

int battery_level(int state)
{
	int mv = adc_sample(3) * 2;
	int level = 0;

	switch (state) {
	case 0:
		level = (mv - 3300) / 9;
		break;
	case 1:
		level = (mv - 3400) / 8;
		if (level > 99)
			level = 99;
		break;
	case 2:
		return 100;
	}
	if (level < 0)
		level = 0;
	return level;
}

int usb_std_request(int req, int value, unsigned char *buf)
{
	int len = 0;

	switch (req) {
	case 0x00:
		buf[0] = 1;
		buf[1] = 0;
		len = 2;
		break;
	case 0x01:
	case 0x03:
		if (value != 1)
			return -1;
		break;
	case 0x05:
		write_reg(0x80, value & 0x7f);
		break;
	case 0x08:
		buf[0] = read_reg(0x84);
		len = 1;
		break;
	case 0x09:
		if (value > 1)
			return -1;
		write_reg(0x84, value);
		log_event(20, value);
		break;
	case 0x0a:
		buf[0] = 0;
		len = 1;
		break;
	default:
		return -1;
	}
	return len;
}

int bus_width_bits(unsigned char reg)
{
	switch (reg & 3) {
	case 0:
		return 1;
	case 1:
		return 4;
	case 2:
		return 8;
	}
	return 0;
}

void door_step(int *state, int event)
{
	switch (*state) {
	case 0:
		if (event == 1) {
			motor_set(0, 1, 80);
			timer_start(2, 5000);
			*state = 1;
		}
		break;
	case 1:
		if (event == 2) {
			motor_set(0, 0, 0);
			timer_stop(2);
			*state = 2;
		} else if (event == 9) {
			motor_set(0, 0, 0);
			*state = 4;
		}
		break;
	case 2:
		if (event == 1 || event == 5) {
			motor_set(0, -1, 60);
			*state = 3;
		}
		break;
	case 3:
		if (event == 3) {
			motor_set(0, 0, 0);
			*state = 0;
		} else if (event == 4) {
			motor_set(0, 1, 80);
			*state = 1;
		}
		break;
	case 4:
		led_set(1, 1);
		if (event == 7) {
			led_set(1, 0);
			*state = 0;
		}
		break;
	}
}

int flash_cmd(int cmd, unsigned long addr, const unsigned char *data, int len)
{
	int ret = 0;

	if (addr & 3)
		return -22;

	switch (cmd) {
	case 'E':
		ret = flash_erase(addr, 4096);
		break;
	case 'W':
		ret = flash_program(addr, data, len);
		break;
	case 'V':
		if (!crc_ok(data, len))
			ret = -74;
		break;
	case 'R':
		reset_cpu();
		break;
	default:
		ret = -38;
		break;
	}
	if (ret < 0)
		log_event(cmd, ret);
	return ret;
}

char parity_char(int parity)
{
	switch (parity) {
	case 0:
		return 'N';
	case 1:
		return 'O';
	case 2:
		return 'E';
	default:
		return '?';
	}
}

int errno_from_status(int status)
{
	int err;

	switch (status) {
	case 0:
		err = 0;
		break;
	case -1:
		err = -5;
		break;
	case -2:
		err = -110;
		break;
	case -3:
	case -4:
		err = -71;
		break;
	case -7:
		err = -12;
		break;
	default:
		err = status > 0 ? status : -22;
		break;
	}
	return err;
}

void blink_code(int fault)
{
	int n;
	int i;

	switch (fault) {
	case 1:
		n = 2;
		break;
	case 2:
		n = 3;
		break;
	case 5:
		n = 5;
		break;
	default:
		n = 10;
		break;
	}
	for (i = 0; i < n; i++) {
		led_set(0, 1);
		udelay(200000);
		led_set(0, 0);
		udelay(200000);
	}
}

int frame_rx(unsigned char byte, int *state, unsigned char *buf, int *pos)
{
	switch (*state) {
	case 0:
		if (byte == 0x7e) {
			*pos = 0;
			*state = 1;
		}
		break;
	case 1:
		if (byte == 0x7e) {
			if (*pos == 0)
				break;
			*state = 0;
			return *pos;
		}
		if (byte == 0x7d) {
			*state = 2;
			break;
		}
		if (*pos >= 64) {
			*state = 0;
			return -1;
		}
		buf[(*pos)++] = byte;
		break;
	case 2:
		buf[(*pos)++] = byte ^ 0x20;
		*state = 1;
		break;
	default:
		*state = 0;
		break;
	}
	return 0;
}

int modbus_reply_len(const unsigned char *pdu)
{
	switch (pdu[0]) {
	case 1:
	case 2:
	case 3:
	case 4:
		return pdu[1] + 2;
	case 5:
	case 6:
	case 15:
	case 16:
		return 5;
	case 0x83:
	case 0x84:
		return 2;
	default:
		return 0;
	}
}

void enter_sleep(int depth)
{
	irq_mask(3);
	switch (depth) {
	case 3:
		write_reg(0x48, 0);
		/* fall through */
	case 2:
		timer_stop(0);
		timer_stop(1);
		/* fall through */
	case 1:
		led_set(0, 0);
		break;
	default:
		irq_unmask(3);
		return;
	}
	set_power_mode(depth);
	irq_unmask(3);
}

int can_dlc_to_len(int dlc)
{
	if (dlc <= 8)
		return dlc;

	switch (dlc) {
	case 9:
		return 12;
	case 10:
		return 16;
	case 11:
		return 20;
	case 12:
		return 24;
	case 13:
		return 32;
	case 14:
		return 48;
	}
	return 64;
}

int clock_select(int source, long *rate)
{
	switch (source) {
	case 0:
		*rate = 8000000;
		break;
	case 1:
		*rate = 32768;
		break;
	case 2:
		*rate = 8000000L * (read_reg(0x10) & 0x3f);
		break;
	default:
		return -1;
	}
	write_reg(0x14, source);
	while ((read_reg(0x14) >> 4) != source)
		udelay(1);
	return 0;
}

int sensor_init(int dev, int type)
{
	unsigned char cmd[4];
	unsigned char resp[4];
	int n = 2;

	cmd[0] = 0x80;
	switch (type) {
	case 0x55:
		cmd[1] = 0x27;
		break;
	case 0x58:
		cmd[1] = 0x93;
		cmd[2] = 0x10;
		n = 3;
		break;
	case 0x60:
	case 0x61:
		cmd[1] = 0x01;
		cmd[2] = type & 1;
		cmd[3] = 0xa0;
		n = 4;
		break;
	default:
		log_event(31, type);
		return -19;
	}
	if (spi_xfer(dev, cmd, resp, n) < 0)
		return -5;
	return resp[0] == 0 ? 0 : -5;
}

int mode_is_output(int mode)
{
	switch (mode) {
	case 1:
	case 3:
	case 6:
		return 1;
	default:
		return 0;
	}
}

void fan_control(int zone, int temp)
{
	int duty = 0;

	if (temp < -40 || temp > 150) {
		log_event(40, temp);
		return;
	}
	switch (temp / 10) {
	case 4:
		duty = 20;
		break;
	case 5:
		duty = 40;
		break;
	case 6:
		duty = 65;
		break;
	case 7:
	case 8:
		duty = 90;
		break;
	default:
		if (temp >= 90)
			duty = 100;
		break;
	}
	motor_set(zone, 1, duty);
}

unsigned int read_width(const unsigned char *p, int width)
{
	unsigned int v = 0;

	switch (width) {
	case 4:
		v |= (unsigned int)p[3] << 24;
		v |= (unsigned int)p[2] << 16;
		/* fall through */
	case 2:
		v |= p[1] << 8;
		/* fall through */
	case 1:
		v |= p[0];
		break;
	}
	return v;
}

int button_event(int prev, int cur, long *pressed_at)
{
	long now = get_ticks();

	switch (prev << 1 | cur) {
	case 1:
		*pressed_at = now;
		return 1;
	case 2:
		if (now - *pressed_at > 1000)
			return 3;
		return 2;
	case 3:
		if (now - *pressed_at > 5000)
			return 4;
		break;
	}
	return 0;
}

int drain_commands(const unsigned char *buf, int len)
{
	int i = 0;
	int done = 0;

	while (i < len) {
		switch (buf[i++]) {
		case 0x00:
			continue;
		case 0x01:
			if (i >= len)
				return -1;
			led_set(0, buf[i++]);
			break;
		case 0x02:
			if (i + 1 >= len)
				return -1;
			queue_push(buf[i], buf[i + 1]);
			i += 2;
			break;
		case 0xff:
			return done;
		default:
			log_event(60, buf[i - 1]);
			break;
		}
		done++;
	}
	return done;
}

int vga_color(int level)
{
	int color = 7;

	switch (level) {
	case 0:
	case 1:
	case 2:
		color = 12;
		break;
	case 3:
		color = 4;
		break;
	case 4:
		color = 14;
		break;
	case 7:
		color = 8;
		break;
	}
	return color;
}

int dma_setup(int ch, unsigned long src, int size, int flags)
{
	int ctrl = flags & 0x0f;

	switch (size) {
	case 1:
		break;
	case 2:
		if (src & 1)
			return -14;
		ctrl |= 0x100;
		break;
	case 4:
		if (src & 3)
			return -14;
		ctrl |= 0x200;
		break;
	default:
		return -22;
	}
	write_reg(0x600 + ch * 16, (int)src);
	write_reg(0x604 + ch * 16, ctrl | 1);
	return 0;
}

void poll_task(int id)
{
	switch (id) {
	case 0:
		if (!queue_empty(0))
			uart_putc(read_reg(0x24));
		break;
	case 1:
		queue_push(2, adc_sample(id));
		break;
	}
}

unsigned short gain_code(short db)
{
	unsigned short code = 0x40;

	switch (db) {
	case -12:
		code = 0x10;
		break;
	case -6:
		code = 0x20;
		break;
	case -3:
		code = 0x30;
		break;
	case 0:
		break;
	case 3:
		code = 0x50;
		break;
	case 6:
		code = 0x60;
		break;
	default:
		code = db < 0 ? 0 : 0x7f;
		break;
	}
	return code | 0x8000;
}

long ioctl_timer(int id, unsigned int cmd, long arg)
{
	switch (cmd) {
	case 0x5401:
		if (arg <= 0)
			return -22;
		timer_start(id, (unsigned int)arg);
		return 0;
	case 0x5402:
		timer_stop(id);
		return 0;
	case 0x5403:
		return get_ticks();
	case 0x5410:
		write_reg(0x30 + id * 4, (int)arg);
		break;
	case 0x5411:
		return read_reg(0x30 + id * 4);
	default:
		return -25;
	}
	return 0;
}

int stepper_phase(int step, int half)
{
	int idx = half ? step & 7 : (step & 3) * 2;

	switch (idx) {
	case 0:
		return 0x1;
	case 1:
		return 0x3;
	case 2:
		return 0x2;
	case 3:
		return 0x6;
	case 4:
		return 0x4;
	case 5:
		return 0xc;
	case 6:
		return 0x8;
	default:
		return 0x9;
	}
}
