/* games, emulators, and odds and ends */

int rnd(int n);
void play(int sfx);
void spawn(int kind, int x, int y);
int tile_at(int x, int y);
void set_tile(int x, int y, int t);
void msg(int id);
int mem_rd(unsigned a);
void mem_wr(unsigned a, int v);
int roll(int dice, int sides);
void hurt(int who, int hp);
int has_item(int who, int item);
void push_state(int s);
int input_axis(int pad, int axis);
void shake(int amount);
int clampi(int v, int lo, int hi);

int move_player(int key, int *x, int *y) {
  int ox = *x, oy = *y;
  switch (key) {
    case 'h': --*x; break;
    case 'l': ++*x; break;
    case 'k': --*y; break;
    case 'j': ++*y; break;
    default: return 0;
  }
  if (tile_at(*x, *y) == '#') {
    *x = ox;
    *y = oy;
    play(3);
    return 0;
  }
  return 1;
}

int chess_piece_value(int pc, int endgame) {
  int v;
  switch (pc < 0 ? -pc : pc) {
    case 1: v = endgame ? 120 : 100; break;
    case 2: v = 320; break;
    case 3: v = 330; break;
    case 4: v = 500; break;
    case 5: v = 900; break;
    case 6: v = 20000; break;
    default: v = 0;
  }
  return pc < 0 ? -v : v;
}

int alu(int op, int a, int b, int *carry) {
  int r;
  switch (op & 7) {
    case 0: r = a + b; break;
    case 1: r = a + b + *carry; break;
    case 2: case 7: r = a - b; break;
    case 3: r = a - b - *carry; break;
    case 4: r = a & b; *carry = 0; break;
    case 5: r = a ^ b; *carry = 0; break;
    default: r = a | b; *carry = 0;
  }
  if ((op & 7) < 4) *carry = (r & 0x100) != 0;
  if (op == 7) return a;
  return r & 0xff;
}

void monster_drop(int kind, int x, int y) {
  int luck = rnd(100);

  switch (kind) {
    case 'o':
      if (luck < 30) spawn('$', x, y);
      break;
    case 'D':
      spawn('$', x, y);
      if (luck > 90 && !has_item(0, 77))
        spawn(')', x, y);
      shake(4);
      break;
    case 'T': case 'U':
      if (luck < 10) spawn('%', x, y);
      else if (luck < 15) spawn('!', x, y);
  }
}

int tetris_points(int lines, int level, int tspin) {
  int p = 0;
  switch (lines) {
    case 1: p = tspin ? 800 : 40; break;
    case 2: p = tspin ? 1200 : 100; break;
    case 3: p = tspin ? 1600 : 300; break;
    case 4:
      p = 1200;
      play(9);
      break;
  }
  return p * (level + 1);
}

int chip8_arith(unsigned opc, unsigned char *v) {
  int x = (opc >> 8) & 15;
  int y = (opc >> 4) & 15;
  int t;

  switch (opc & 15) {
    case 0: v[x] = v[y]; break;
    case 1: v[x] |= v[y]; break;
    case 2: v[x] &= v[y]; break;
    case 3: v[x] ^= v[y]; break;
    case 4:
      t = v[x] + v[y];
      v[x] = t;
      v[15] = t > 255;
      break;
    case 5:
      t = v[x] >= v[y];
      v[x] -= v[y];
      v[15] = t;
      break;
    case 14:
      t = v[x] >> 7;
      v[x] <<= 1;
      v[15] = t;
      break;
    default:
      return -1;
  }
  return 2;
}

int door_action(int t, int x, int y, int keys) {
  switch (t) {
    case '+':
      set_tile(x, y, '\'');
      play(1);
      return 1;
    case '\'':
      return 2;
    case 'R':
      if (!(keys & 1)) { msg(20); return 0; }
      break;
    case 'G':
      if (!(keys & 2)) { msg(21); return 0; }
      break;
    case 'B':
      if (!(keys & 4) && rnd(20) != 0) { msg(22); return 0; }
      break;
    default:
      return -1;
  }
  set_tile(x, y, '.');
  play(2);
  return 1;
}

int poker_rank_bonus(int combo, int wild) {
  int b = 1;
  switch (combo) {
    case 9: b *= 5;   /* straight flush */
    case 8: b *= 4;   /* four of a kind */
    case 7: b *= 2;
    case 6: b += 3;
    case 5: case 4: b += 1;
      break;
    case 3:
      if (wild == 0) b = 2;
      break;
    case 0: b = 0;
  }
  return wild > 0 ? b / 2 : b;
}

void cast_spell(int id, int caster, int target) {
  int dmg = 0;
  switch (id) {
    case 1: dmg = roll(2, 4) + 2; break;
    case 2:
      dmg = roll(8, 6);
      if (has_item(target, 12)) dmg /= 2;
      break;
    case 5:
      hurt(caster, -roll(1, 8));
      return;
    case 8: {
      int a = rnd(6), b = rnd(6);
      dmg = a > b ? a * 3 : b * 2;
      if (a == b) hurt(caster, a);
      break;
    }
    default: msg(99); return;
  }
  hurt(target, dmg);
}

unsigned mapper_addr(unsigned a, int bank) {
  switch (a >> 13) {
    case 4: return a - 0x8000 + bank * 0x2000;
    case 5: return a - 0xa000 + (bank + 1) * 0x2000;
    case 6: case 7: return a & 0x3fff;
    case 3: mem_wr(0x6000, bank); return a & 0x1fff;
  }
  return a & 0x7ff;
}

int joystick_to_dir(int pad) {
  int dx = input_axis(pad, 0) / 64;
  int dy = input_axis(pad, 1) / 64;

  switch (dy * 3 + dx) {
    case -4: return 7;
    case -3: return 0;
    case -2: return 1;
    case -1: return 6;
    case 1: return 2;
    case 2: return 5;
    case 3: return 4;
    case 4: return 3;
  }
  return -1;
}

int branch_taken(int cc, int f) {
  int n = f >> 3 & 1, z = f >> 2 & 1, v = f >> 1 & 1, c = f & 1;
  int t;
  switch (cc >> 1) {
    case 0: t = 1; break;
    case 1: t = !c && !z; break;
    case 2: t = !c; break;
    case 3: t = !z; break;
    case 6: t = n == v; break;
    case 7: t = n == v && !z; break;
    default: t = 0;
  }
  return cc & 1 ? !t : t;
}

int ghost_speed(int ghost, int mode, int dots) {
  int s = 75;
  if (mode == 2) return 50;
  switch (ghost) {
    case 0:
      if (dots < 10) s = 85;
      else if (dots < 20) s = 80;
      break;
    case 1: s += dots & 1; break;
    case 3: if (mode == 0) s--; break;
  }
  return s;
}

int z80_cycles(int op, int cond) {
  int c = 4;
  switch (op) {
    case 0x76: return -1;
    case 0x18: c = 12; break;
    case 0x20: case 0x28: case 0x30: case 0x38:
      c = cond ? 12 : 7;
      break;
    case 0x10:
      c += 4;
      if (cond) c += 5;
      break;
    case 0xcd: c = 17; break;
    case 0xc9: c = 10; break;
    case 0xe3: c = 19;
  }
  return c;
}

int weather_next(int w, int season) {
  int r = rnd(10);
  switch (w) {
    case 0:
      if (r < 2) w = 1;
      break;
    case 1:
      if (r < 4) w = 0;
      else if (r > 7) w = season == 3 ? 4 : 2;
      break;
    case 2:
      w = r == 9 ? 3 : r < 5;
      break;
    case 3:
      shake(rnd(3));
      /* storms always calm down to rain */
    default:
      w = 2;
  }
  return w;
}

void menu_select(int item, int *diff, int *snd) {
  play(0);
  switch (item) {
    case 0: push_state(2); break;
    case 1: push_state(5); break;
    case 2: *diff = (*diff + 1) % 3; break;
    case 3: *snd = !*snd; break;
    case -1: push_state(0);
  }
}

int trap_check(int x, int y, int dex, int levit) {
  int t = tile_at(x, y), dc;
  switch (t) {
    case '^': dc = 12; break;
    case '~':
      if (levit) return 0;
      dc = 8;
      break;
    case '_':
      dc = levit ? 5 : 15;
      break;
    default: return 0;
  }
  if (roll(1, 20) + dex >= dc) {
    msg(30);
    return 0;
  }
  hurt(0, dc / 2);
  return t;
}

int sound_chan_write(int reg, int val, int *ch) {
  switch (reg & 3) {
    case 0:
      ch[0] = val >> 6;
      ch[1] = val & 15;
      break;
    case 1:
      ch[2] = val;
      return 0;
    case 2:
      ch[3] = (ch[3] & 0x700) | val;
      break;
    case 3:
      ch[3] = (ch[3] & 0xff) | (val & 7) << 8;
      ch[4] = val >> 3;
      return 1;
  }
  return ch[0] != 0;
}

int card_effect(int card, int hand, int *dir) {
  int draw = 0;
  switch (card) {
    case 10: *dir = -*dir; break;
    case 11: draw = -1; break;
    case 14: draw += 2;
    case 12: draw += 2;
      if (hand == 1) play(7);
      break;
    case 13: break;
    default:
      if (card < 0 || card > 14) return -100;
  }
  return draw;
}

int biome(int h, int wet) {
  int b;
  switch (h / 10) {
    case 0: case 1: case 2: return 0;
    case 3: return 1;
    case 4: case 5: case 6:
      if (wet > 60) b = 4;
      else if (wet > 20 && wet < 40) b = 3;
      else b = 2;
      break;
    case 7: b = wet > 50 ? 6 : 5; break;
    default: b = 7;
  }
  return b + 10 * (wet == 0);
}

int ai_think(int state, int dist, int hp, int seen) {
  switch (state) {
    case 0:
      if (seen) return 1;
      return rnd(50) ? 0 : 3;
    case 1:
      if (hp < 10) return 2;
      if (dist < 2) { hurt(0, roll(1, 6)); return 1; }
      return seen ? 1 : 3;
    case 2:
      return dist > 15 || hp > 30 ? 0 : 2;
    case 3:
      if (seen && hp >= 10) return 1;
  }
  return 0;
}

int stack_op(int op, int *st, int sp) {
  int t;
  switch (op) {
    case '+': st[sp - 2] += st[sp - 1]; return sp - 1;
    case '-': st[sp - 2] -= st[sp - 1]; return sp - 1;
    case '/':
      if (st[sp - 1] == 0) { msg(-1); return -1; }
      st[sp - 2] /= st[sp - 1];
      return sp - 1;
    case ':':
      st[sp] = st[sp - 1];
      return sp + 1;
    case '\\':
      t = st[sp - 1];
      st[sp - 1] = st[sp - 2];
      st[sp - 2] = t;
      break;
    case '!': st[sp - 1] = !st[sp - 1]; break;
  }
  return sp;
}

int xp_needed(int lvl, int cls) {
  int base = 1000 * lvl;
  switch (cls) {
    case 'F': return base * 2;
    case 'W': return base * 5 / 2;
    case 'T': return base * 5 / 4;
  }
  return base + 500;
}

void bomb_blast(int kind, int x, int y) {
  switch (kind) {
    default:
      msg(41);
      break;
    case 3:
      set_tile(x - 1, y - 1, 0);
      set_tile(x + 1, y + 1, 0);
      /* fallthrough */
    case 2:
      set_tile(x, y - 1, 0);
      set_tile(x, y + 1, 0);
      /* fallthrough */
    case 1:
      set_tile(x, y, 0);
      play(rnd(2) + 11);
  }
  shake(kind * 2);
}

int io_port_in(unsigned short port, int keys) {
  switch (port & 0xff) {
    case 0xfe: return ~keys & 0x1f;
    case 0x1f: return keys >> 8;
    case 0xf5: {
      int r = mem_rd(0x5c3a);
      return r & 0x80 ? r : 0xff;
    }
  }
  return 0xff;
}

int combo_step(int step, int btn) {
  int want = 0;
  switch (step) {
    case 0: case 1: want = 'U'; break;
    case 2: case 3: want = 'D'; break;
    case 4: case 6: want = 'L'; break;
    case 5: case 7: want = 'R'; break;
  }
  if (btn == want) return step + 1;
  return btn == 'U' ? 1 : 0;
}

int dungeon_room_cost(int kind, int lvl) {
  int c = 10;
  switch (kind) {
    case 1: c += 5 * lvl; break;
    case 2:
      c *= lvl;
      if (c > 200) c = 200;
      break;
    case 4: c = clampi(lvl * lvl, 15, 80); break;
    case 7: c -= lvl > 5 ? 5 : lvl; break;
    case 8: c <<= 1;
  }
  return c;
}

unsigned char blend_px(unsigned char d, unsigned char s, int mode) {
  int r = d;
  switch (mode) {
    case 1: r = d + s; break;
    case 2: r = d - s; break;
    case 3: r = d * s / 255; break;
    case 4: r = s > d ? s : d; break;
    case 0: r = s;
  }
  if (r < 0) r = 0;
  else if (r > 255) r = 255;
  return r;
}

int fish_bite(int bait, int depth, int hour) {
  if (depth < 1) return 0;
  switch (bait) {
    case 'w':
      return depth < 5 && rnd(4) == 0;
    case 'm':
      if (hour > 18 || hour < 6) return rnd(3) + 1;
      return rnd(8) == 0 ? 2 : 0;
    case 's':
      if (depth > 20) {
        if (rnd(depth) > 18) return 9;
        return 4;
      }
  }
  return 0;
}

int effect_tick(int fx, int *turns, int *hp) {
  if (*turns <= 0) return 0;
  *turns -= 1;
  switch (fx) {
    case 1: *hp -= 1; break;
    case 2: *hp -= *turns; break;
    case 3:
      *hp += 2;
      if (*hp > 99) *hp = 99;
      break;
    case 4:
      if (*turns == 0) { *hp = 0; msg(50); }
  }
  return *hp > 0;
}
