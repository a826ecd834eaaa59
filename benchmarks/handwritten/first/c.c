int get_event(void);
int get_char(void);
void put_char(int c);
void draw_rect(int x, int y, int size);
void draw_text(int id);
void clear_screen(void);
void open_door(int id);
void close_door(int id);
void ring_bell(void);
int db_begin(void);
int db_commit(int tx);
int db_rollback(int tx);
void cache_drop(int key);
int mem_read(int addr);
void mem_write(int addr, int value);
int mul_div(int a, int b, int c);
int random_int(int max);
void notify(int user, int msg);
int account_balance(int id);
int transfer(int from, int to, int amount);
void set_color(int fg, int bg);
void raise_signal(int sig);
void shutdown_now(void);
int gcd(int a, int b);
int fib(int n);

int door_controller(int state, int event) {
  switch (state) {
    case 0:
      if (event == 1) {
        open_door(0);
        return 1;
      }
      return 0;
    case 1:
      if (event == 2) {
        close_door(0);
        return 0;
      }
      if (event == 3) {
        ring_bell();
        return 2;
      }
      return 1;
    case 2:
      return 2;
    default:
      return -1;
  }
}

int hex_letter_value(char c) {
  switch (c) {
    case 'a': case 'A': return 10;
    case 'b': case 'B': return 11;
    case 'c': case 'C': return 12;
    case 'd': case 'D': return 13;
    case 'e': case 'E': return 14;
    case 'f': case 'F': return 15;
  }
  return -1;
}

void run_menu(void) {
  int choice = get_char();

  switch (choice) {
    case '1':
      clear_screen();
      draw_text(1);
      break;
    case '2':
      draw_text(2);
      break;
    case 'q':
    case 'Q':
      shutdown_now();
      break;
    default:
      ring_bell();
      break;
  }
}

int finish_transaction(int tx, int outcome) {
  int rc;

  switch (outcome) {
    case 0:
      rc = db_commit(tx);
      break;
    case 1:
      rc = db_rollback(tx);
      break;
    case 2:
      db_rollback(tx);
      rc = db_begin();
      break;
    default:
      rc = -1;
      break;
  }

  return rc;
}

int card_points(int rank) {
  switch (rank) {
    case 1:
      return 11;
    case 11:
    case 12:
    case 13:
      return 10;
    default:
      return rank;
  }
}

int shipping_cost(int zone, int weight) {
  int cost = 500;

  switch (zone) {
    case 1:
      cost += weight * 2;
      break;
    case 2:
      cost += weight * 3;
      break;
    case 3:
    case 4:
      cost += weight * 5;
      if (weight > 20)
        cost += 1000;
      break;
    default:
      cost = -1;
  }
  return cost;
}

int chip8_arith(int *v, int x, int y, int op) {
  switch (op & 0xf) {
    case 0x0:
      v[x] = v[y];
      break;
    case 0x1:
      v[x] |= v[y];
      break;
    case 0x2:
      v[x] &= v[y];
      break;
    case 0x3:
      v[x] ^= v[y];
      break;
    case 0x4:
      v[x] += v[y];
      v[15] = v[x] > 255;
      v[x] &= 255;
      break;
    case 0x6:
      v[15] = v[x] & 1;
      v[x] >>= 1;
      break;
    default:
      return 0;
  }
  return 1;
}

void on_signal(int sig) {
  switch (sig) {
    case 1:
      cache_drop(-1);
      break;
    case 2:
    case 15:
      shutdown_now();
      break;
    case 13:
      /* ignore broken pipe */
      break;
    default:
      raise_signal(sig);
  }
}

int sign_of_compare(int a, int b, int mode) {
  int d = a - b;

  switch (mode) {
    case 0:
      return d;
    case 1:
      return -d;
  }
  if (d < 0)
    return -1;
  return d > 0;
}

int withdraw(int account, int kind, int amount) {
  int fee = 0;

  if (amount <= 0)
    return -1;

  switch (kind) {
    case 'A':
      fee = 2;
      break;
    case 'B':
      fee = mul_div(amount, 1, 100);
      break;
    case 'C':
      break;
    default:
      return -2;
  }

  if (account_balance(account) < amount + fee)
    return -3;
  return transfer(account, 0, amount + fee);
}

int utf8_sequence_length(int lead) {
  switch (lead >> 4) {
    case 12:
    case 13:
      return 2;
    case 14:
      return 3;
    case 15:
      return 4;
    case 8:
    case 9:
    case 10:
    case 11:
      return -1;
    default:
      return 1;
  }
}

void ansi_color(int code) {
  switch (code) {
    case 0:
      set_color(7, 0);
      break;
    case 31:
      set_color(1, 0);
      break;
    case 32:
      set_color(2, 0);
      break;
    case 41:
      set_color(7, 1);
      break;
    case 42:
      set_color(7, 2);
      break;
  }
}

int unescape_char(char c) {
  int r;

  switch (c) {
    case 'n':
      r = 10;
      break;
    case 't':
      r = 9;
      break;
    case 'r':
      r = 13;
      break;
    case '0':
      r = 0;
      break;
    default:
      r = c;
      break;
  }
  return r;
}

long tax_for_bracket(long income, int bracket) {
  long tax = 0;

  switch (bracket) {
    case 3:
      tax += (income - 80000) * 40 / 100;
      income = 80000;
      /* fall through */
    case 2:
      tax += (income - 30000) * 25 / 100;
      income = 30000;
      /* fall through */
    case 1:
      tax += income * 10 / 100;
      break;
    case 0:
      break;
  }
  return tax;
}

int bus_read(int addr, int *ram, int *io) {
  switch (addr >> 12) {
    case 0:
    case 1:
      return ram[addr & 0x7ff];
    case 2:
    case 3:
      return io[addr & 7];
    case 4:
      return 0;
    default:
      return mem_read(addr);
  }
}

void bus_write(int addr, int value, int *bank) {
  switch (addr & 0xe000) {
    case 0x0000:
      mem_write(addr & 0x7ff, value);
      break;
    case 0x8000:
      *bank = value & 7;
      break;
    case 0xa000:
      *bank = (*bank & 7) | (value << 3);
      break;
    case 0xc000:
      break;
  }
}

int roll_loot(int monster) {
  int loot = 0;
  int roll = random_int(100);

  switch (monster) {
    case 1:
      if (roll < 10)
        loot = 101;
      break;
    case 2:
      if (roll < 30)
        loot = 102;
      else
        loot = 1;
      break;
    case 7:
      loot = 200 + roll / 20;
      break;
  }
  return loot;
}

unsigned mask_for_width(unsigned bits) {
  switch (bits) {
    case 8:
      return 0xffu;
    case 16:
      return 0xffffu;
    case 24:
      return 0xffffffu;
    case 32:
      return 0xffffffffu;
  }
  return 0;
}

int log_level_from_char(char c, int fallback) {
  switch (c) {
    case 'D':
    case 'd':
      return 0;
    case 'I':
    case 'i':
      return 1;
    case 'W':
    case 'w':
      return 2;
    case 'E':
    case 'e':
      return 3;
    default:
      return fallback;
  }
}

void toggle_setting(int which, int *flags) {
  switch (which) {
    case 1:
      *flags ^= 0x01;
      break;
    case 2:
      *flags ^= 0x02;
      break;
    case 3:
      *flags ^= 0x10;
      break;
    case 4:
      *flags = 0;
  }
  notify(0, *flags);
}

int subscription_months(char plan) {
  int months = 1;

  switch (plan) {
    case 'y':
      months = 12;
      break;
    case 'q':
      months = 3;
      break;
  }
  return months;
}

int brainfuck_step(int op, int *cell, int ptr) {
  switch (op) {
    case '>':
      ptr++;
      break;
    case '<':
      ptr--;
      break;
    case '+':
      cell[ptr]++;
      break;
    case '-':
      cell[ptr]--;
      break;
    case '.':
      put_char(cell[ptr]);
      break;
    case ',':
      cell[ptr] = get_char();
      break;
  }
  return ptr;
}

int poll_once(int *pending) {
  int handled = 1;

  switch (get_event()) {
    case 0:
      handled = 0;
      break;
    case 1:
      *pending = *pending + 1;
      break;
    case 2:
      *pending = 0;
      clear_screen();
      break;
    case -1:
      return -1;
  }
  return handled;
}

void draw_tile(int tile, int x, int y) {
  x *= 8;
  y *= 8;
  switch (tile) {
    case '#':
      set_color(8, 0);
      draw_rect(x, y, 8);
      break;
    case '.':
      draw_rect(x + 3, y + 3, 2);
      break;
    case '@':
      set_color(14, 0);
      draw_rect(x + 1, y + 1, 6);
      break;
    case ' ':
      break;
    default:
      draw_text(tile);
      break;
  }
}

int gcd_step(int a, int b) {
  int r = a % b;

  switch (r) {
    case 0:
      return b;
    case 1:
      return 1;
    default:
      return gcd(b, r);
  }
}

int fib_base_cases(int n) {
  if (n < 0)
    return -1;

  switch (n) {
    case 0:
    case 1:
      return n;
    default:
      return fib(n - 1) + fib(n - 2);
  }
}

char rotate_left_char(char facing) {
  switch (facing) {
    case 'N':
      return 'W';
    case 'W':
      return 'S';
    case 'S':
      return 'E';
    case 'E':
      return 'N';
  }
  return facing;
}

int mix_tail(char *key, int len, int hash) {
  switch (len & 3) {
    case 3:
      hash ^= key[2] << 16;
      /* fall through */
    case 2:
      hash ^= key[1] << 8;
      /* fall through */
    case 1:
      hash ^= key[0];
      hash *= 0x5bd1e995;
  }
  hash ^= hash >> 13;
  return hash;
}

int invoice_transition(int status, int action, int user) {
  int next = -1;

  switch (action) {
    case 1:
      if (status == 0)
        next = 1;
      break;
    case 2:
      if (status == 1 && user != 0) {
        next = 2;
        notify(user, 40);
      }
      break;
    case 3:
      if (status != 2)
        next = 9;
      break;
    case 4:
      next = status;
      break;
  }
  if (next < 0)
    notify(user, -1);
  return next;
}

int tri_state(int v) {
  switch (v) {
    case -1:
      return 2;
    case 0:
      return 0;
    case 1:
      return 1;
  }
  return 3;
}
