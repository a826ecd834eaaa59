int send_packet (int sock, const char *data, int len);
void close_conn (int conn);
int find_session (unsigned int id);
void session_touch (int session, long now);
long current_time (void);
void warn_user (int code);
int check_sum (const unsigned char *pkt, int len);
int account_balance (int account, long *out);
int post_entry (int account, long amount, int kind);
long convert_amount (long cents, int from, int to);
void audit (int account, int action, long amount);
int holiday_p (int year, int month, int day);
void widget_redraw (int widget);
void widget_focus (int widget);
void set_cursor (int shape);
int text_insert (char *buf, int pos, int ch);
int text_delete (char *buf, int pos);
void send_reply (int conn, int code);
int auth_check (int conn, const char *name, const char *pass);
int next_id (void);

int
days_in_month (int month, int year)
{
  switch (month)
    {
    case 4:
    case 6:
    case 9:
    case 11:
      return 30;
    case 2:
      if ((year % 4 == 0 && year % 100 != 0) || year % 400 == 0)
        return 29;
      return 28;
    default:
      return 31;
    }
}

int
http_class (int status)
{
  switch (status / 100)
    {
    case 1:
      return 'i';
    case 2:
      return 's';
    case 3:
      return 'r';
    case 4:
    case 5:
      return 'e';
    }
  return '?';
}

int
conn_step (int conn, int state, int event)
{
  int next = state;

  switch (state)
    {
    case 0:
      if (event == 1)
        next = 1;
      break;
    case 1:
      if (event == 2)
        {
          send_reply (conn, 220);
          next = 2;
        }
      else if (event == 5)
        next = 0;
      break;
    case 2:
      if (event == 3)
        next = 3;
      else if (event == 4 || event == 5)
        {
          send_reply (conn, 221);
          close_conn (conn);
          next = 0;
        }
      break;
    case 3:
      if (event == 5)
        {
          close_conn (conn);
          next = 0;
        }
      break;
    default:
      warn_user (state);
      close_conn (conn);
      return 0;
    }
  return next;
}

long
loan_fee (int plan, long amount)
{
  long fee;

  switch (plan)
    {
    case 'A':
      fee = amount / 100;
      break;
    case 'B':
      fee = amount / 200 + 500;
      break;
    case 'C':
      fee = 2500;
      break;
    default:
      fee = 0;
      break;
    }
  if (fee > 50000)
    fee = 50000;
  return fee;
}

int
transaction (int account, int kind, long amount)
{
  long balance = 0;

  if (amount <= 0)
    return -1;
  if (account_balance (account, &balance) != 0)
    return -2;

  switch (kind)
    {
    case 1:
      balance += amount;
      break;
    case 2:
      if (balance < amount)
        {
          audit (account, 99, amount);
          return -3;
        }
      balance -= amount;
      break;
    case 3:
      balance -= amount + 150;
      break;
    default:
      return -4;
    }
  audit (account, kind, amount);
  return post_entry (account, balance, kind);
}

int
icmp_error_p (unsigned char type)
{
  switch (type)
    {
    case 3:
    case 4:
    case 5:
    case 11:
    case 12:
      return 1;
    default:
      return 0;
    }
}

int
parse_option (const unsigned char *opt, int len, unsigned short *mss, int *wscale)
{
  int i = 0;

  while (i < len)
    {
      int size = 1;

      switch (opt[i])
        {
        case 0:
          return i;
        case 1:
          break;
        case 2:
          *mss = opt[i + 2] << 8 | opt[i + 3];
          size = 4;
          break;
        case 3:
          *wscale = opt[i + 2];
          if (*wscale > 14)
            *wscale = 14;
          size = 3;
          break;
        default:
          size = opt[i + 1];
          if (size < 2)
            return -1;
          break;
        }
      i += size;
    }
  return i;
}

void
mouse_event (int widget, int button, int pressed)
{
  switch (button)
    {
    case 1:
      if (pressed)
        widget_focus (widget);
      widget_redraw (widget);
      break;
    case 2:
      set_cursor (pressed ? 4 : 0);
      break;
    case 3:
      if (!pressed)
        warn_user (7);
      break;
    }
}

int
edit_key (char *buf, int *pos, int len, int key)
{
  switch (key)
    {
    case 0x01:
      *pos = 0;
      break;
    case 0x05:
      *pos = len;
      break;
    case 0x02:
      if (*pos > 0)
        --*pos;
      break;
    case 0x06:
      if (*pos < len)
        ++*pos;
      break;
    case 0x08:
    case 0x7f:
      if (*pos == 0)
        return len;
      --*pos;
      len -= text_delete (buf, *pos);
      break;
    case 0x0b:
      buf[*pos] = 0;
      len = *pos;
      break;
    default:
      if (key < 32)
        {
          warn_user (key);
          return len;
        }
      len += text_insert (buf, *pos, key);
      ++*pos;
      break;
    }
  return len;
}

int
quarter_of (int month)
{
  int q = 0;

  switch (month)
    {
    case 1: case 2: case 3:
      q = 1;
      break;
    case 4: case 5: case 6:
      q = 2;
      break;
    case 7: case 8: case 9:
      q = 3;
      break;
    case 10: case 11: case 12:
      q = 4;
      break;
    }
  return q;
}

long
seconds_per (char unit)
{
  switch (unit)
    {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86400;
    case 'w':
      return 604800;
    default:
      return 0;
    }
}

int
handle_packet (int sock, const unsigned char *pkt, int len)
{
  int session;

  if (len < 6 || !check_sum (pkt, len))
    return -1;

  session = find_session (pkt[2] << 8 | pkt[3]);
  switch (pkt[1])
    {
    case 0x01:
      if (session >= 0)
        return -2;
      session = next_id ();
      break;
    case 0x02:
      if (session < 0)
        return -3;
      session_touch (session, current_time ());
      break;
    case 0x03:
      if (session >= 0)
        close_conn (session);
      return 0;
    case 0x10:
      return send_packet (sock, (const char *) pkt + 4, len - 4);
    default:
      warn_user (pkt[1]);
      return -4;
    }
  return session;
}

int
currency_decimals (int code)
{
  switch (code)
    {
    case 392:
    case 410:
    case 152:
      return 0;
    case 414:
    case 48:
    case 788:
      return 3;
    default:
      return 2;
    }
}

int
month_offset (int month, int leap)
{
  int days = 0;

  switch (month - 1)
    {
    case 11:
      days += 30;
      /* fall through */
    case 10:
      days += 31;
      /* fall through */
    case 9:
      days += 30;
      /* fall through */
    case 8:
      days += 31;
      /* fall through */
    case 7:
      days += 31;
      /* fall through */
    case 6:
      days += 30;
      /* fall through */
    case 5:
      days += 31;
      /* fall through */
    case 4:
      days += 30;
      /* fall through */
    case 3:
      days += 31;
      /* fall through */
    case 2:
      days += 28 + leap;
      /* fall through */
    case 1:
      days += 31;
      break;
    default:
      break;
    }
  return days;
}

const char *
skip_field (const char *p, int type)
{
  switch (type)
    {
    case 0:
      while (*p & 0x80)
        p++;
      return p + 1;
    case 1:
      return p + 8;
    case 2:
      return p + 1 + *p;
    case 5:
      return p + 4;
    default:
      return 0;
    }
}

int
telnet_command (int conn, int cmd, int opt)
{
  char out[3];

  out[0] = (char) 255;
  out[2] = (char) opt;
  switch (cmd)
    {
    case 251:
      out[1] = (char) (opt == 3 ? 253 : 254);
      break;
    case 253:
      out[1] = (char) (opt == 1 || opt == 3 ? 251 : 252);
      break;
    case 252:
    case 254:
      return 0;
    default:
      return -1;
    }
  return send_packet (conn, out, 3);
}

int
compare_by (int column, const int *a, const int *b)
{
  int r;

  switch (column)
    {
    case 0:
      r = a[0] - b[0];
      break;
    case 1:
      r = a[1] < b[1] ? -1 : a[1] > b[1];
      break;
    case -1:
      r = b[0] - a[0];
      break;
    default:
      r = 0;
      break;
    }
  if (r == 0)
    r = a[3] - b[3];
  return r;
}

int
next_business_day (int year, int month, int day, int weekday)
{
  int step = 1;

  switch (weekday)
    {
    case 5:
      step = 3;
      break;
    case 6:
      step = 2;
      break;
    }
  if (holiday_p (year, month, day + step))
    step++;
  return day + step;
}

void
smtp_reply (int conn, int verb)
{
  switch (verb)
    {
    case 'H':
    case 'E':
    case 'M':
    case 'R':
      send_reply (conn, 250);
      break;
    case 'D':
      send_reply (conn, 354);
      break;
    case 'Q':
      send_reply (conn, 221);
      close_conn (conn);
      break;
    default:
      send_reply (conn, 502);
    }
}

int
light_next (int light, int walk)
{
  switch (light)
    {
    case 0:
      return walk ? 3 : 1;
    case 1:
      return 2;
    case 2:
      return 0;
    case 3:
      return 0;
    default:
      return 2;
    }
}

unsigned int
tax_rate (int bracket, int married)
{
  unsigned int rate = 0;

  switch (bracket)
    {
    case 0:
      rate = 1000;
      break;
    case 1:
      rate = 1200;
      break;
    case 2:
      rate = 2200;
      break;
    case 3:
      rate = 2400;
      if (married)
        rate -= 150;
      break;
    case 4:
      rate = 3200;
      break;
    case 5:
      rate = 3500;
      break;
    default:
      rate = 3700;
      break;
    }
  return rate;
}

int
login_result (int conn, const char *name, const char *pass, int *tries)
{
  switch (auth_check (conn, name, pass))
    {
    case 0:
      *tries = 0;
      send_reply (conn, 230);
      return 1;
    case 1:
      (*tries)++;
      if (*tries >= 3)
        {
          send_reply (conn, 421);
          close_conn (conn);
        }
      else
        send_reply (conn, 530);
      break;
    case 2:
      send_reply (conn, 332);
      break;
    case -1:
      warn_user (-1);
      close_conn (conn);
      break;
    }
  return 0;
}

void
cursor_for_edge (int edge)
{
  int shape;

  switch (edge)
    {
    case 1:
    case 2:
      shape = 10;
      break;
    case 4:
    case 8:
      shape = 11;
      break;
    case 5:
    case 10:
      shape = 12;
      break;
    case 6:
    case 9:
      shape = 13;
      break;
    default:
      shape = 0;
      break;
    }
  set_cursor (shape);
}

long
round_amount (long cents, int rule)
{
  long rem = cents % 100;

  if (rem == 0)
    return cents;
  switch (rule)
    {
    case 0:
      cents -= rem;
      break;
    case 1:
      cents += 100 - rem;
      break;
    case 2:
      if (rem >= 50)
        cents += 100 - rem;
      else
        cents -= rem;
      break;
    }
  return cents;
}

int
log_priority (char tag)
{
  switch (tag)
    {
    default:
      return 6;
    case 'F':
      return 0;
    case 'E':
      return 3;
    case 'W':
      return 4;
    case 'D':
      return 7;
    }
}

int
base64_index (int c)
{
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;

  switch (c)
    {
    case '+':
    case '-':
      return 62;
    case '/':
    case '_':
      return 63;
    case '=':
      return -2;
    }
  return -1;
}

int
wizard_next (int page, const int *answers)
{
  int next = page + 1;

  switch (page)
    {
    case 0:
      if (answers[0] == 0)
        next = 2;
      break;
    case 2:
      if (answers[2] > 100)
        next = 5;
      else if (answers[2] < 0)
        {
          warn_user (2);
          next = 2;
        }
      break;
    case 5:
      next = answers[1] ? 6 : 7;
      break;
    case 7:
      next = -1;
      break;
    }
  widget_redraw (next);
  return next;
}

int
dns_record_size (unsigned short type, const unsigned char *rdata)
{
  int size = 0;

  switch (type)
    {
    case 1:
      size = 4;
      break;
    case 28:
      size = 16;
      break;
    case 2:
    case 5:
    case 12:
      while (rdata[size] != 0)
        size += rdata[size] + 1;
      size++;
      break;
    case 16:
      size = rdata[0] + 1;
      break;
    default:
      size = -1;
    }
  return size;
}

long
payout (int account, int currency, long cents, int method)
{
  long fee = 0;
  long net;

  switch (method)
    {
    case 10:
      fee = 25;
      break;
    case 20:
      fee = cents * 3 / 100;
      if (fee < 50)
        fee = 50;
      break;
    case 30:
      cents = convert_amount (cents, currency, 840);
      fee = 1500;
      break;
    default:
      audit (account, -1, cents);
      return -1;
    }
  net = cents - fee;
  if (net <= 0)
    return 0;
  audit (account, method, net);
  return net;
}

int
leap_rule (int calendar, int year)
{
  switch (calendar)
    {
    case 0:
      return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    case 1:
      return year % 4 == 0;
    default:
      return 0;
    }
}
