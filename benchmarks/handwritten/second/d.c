/* ------------------------------------------------------------------
 * Back-office rules: calendar, billing, stock, user interface.
 * ------------------------------------------------------------------ */
int  IsHoliday(int Month, int Day);
int  GetUserLevel(int UserId);
void Notify(int UserId, int MessageId);
void AuditLog(int UserId, int Action, long Amount);
int  AskConfirm(int DialogId);
void Redraw(int WindowId);
int  StockCount(int Sku);
void ReserveStock(int Sku, int Quantity);
long Balance(int Account);
int  Transfer(int From, int To, long Amount);
void PlayBeep(void);
int  Today(void);
int  Max2(int a, int b);
int  RoundTo(int Value, int Step);

int DaysInMonth(int Month, int Year)
{
   switch (Month) {
      case 4: case 6: case 9: case 11:
         return 30;
      case 2:
         if ((Year % 4 == 0 && Year % 100 != 0) || Year % 400 == 0)
            return 29;
         return 28;
      default:
         return 31;
   }
}

int NextBusinessDay(int Weekday, int Month, int Day)
{
   int Skip = 1;

   switch (Weekday) {
      case 5: Skip = 3; break;
      case 6: Skip = 2; break;
   }
   if (IsHoliday(Month, Day + Skip))
      Skip++;
   return Day + Skip;
}

long ShippingCost(int Zone, int Grams, int Express)
{
   long Cents;

   switch (Zone) {
      case 1:
         Cents = 390;
         if (Grams > 2000)
            Cents += 150;
         break;
      case 2: case 3:
         Cents = 890 + Grams / 500 * 75;
         break;
      case 4:
         if (Grams > 20000)
            return -1;
         Cents = 1990 + Grams / 250 * 60;
         break;
      default:
         return -1;
   }
   if (Express)
      Cents += Cents / 2;
   return Cents;
}

void HandleMenuKey(int Key, int *Selected, int Count)
{
   switch (Key) {
      case 0x26: /* up */
         if (*Selected > 0)
            (*Selected)--;
         else
            *Selected = Count - 1;
         break;
      case 0x28: /* down */
         *Selected = (*Selected + 1) % Count;
         break;
      case 0x24:
         *Selected = 0;
         break;
      case 0x23:
         *Selected = Count - 1;
         break;
      case 0x1B:
         *Selected = -1;
         return;
      default:
         PlayBeep();
         return;
   }
   Redraw(1);
}

int DiscountPercent(char Tier, int Years, int OrderTotal)
{
   int Percent = 0;

   if (OrderTotal <= 0)
      return 0;

   switch (Tier) {
      case 'P':
         Percent = 10;
         /* platinum customers also get what gold gets */
      case 'G':
         Percent += 5;
         if (Years >= 5)
            Percent += 2;
         break;
      case 'S':
         Percent = Years >= 3 ? 4 : 2;
         break;
      case 'X':
         return -1;
   }
   if (OrderTotal > 100000 && Percent < 12)
      Percent = 12;
   return Percent;
}

int ApproveExpense(int UserId, int Category, long Amount)
{
   int Level = GetUserLevel(UserId);

   switch (Category) {
      case 100:
         if (Amount < 5000)
            return 1;
         break;
      case 110:
         if (Level >= 2 && Amount < 50000)
            return 1;
         break;
      case 200:
         if (Level >= 3 || Amount < 1000) {
            AuditLog(UserId, Category, Amount);
            return 1;
         }
         Notify(UserId, 17);
         break;
      case 999:
         return Level == 9;
   }
   AuditLog(UserId, -Category, Amount);
   return 0;
}

int WeekdayOf(int Day, int Month, int Year)
{
   int Offset;

   if (Month < 3)
      Year--;
   switch (Month) {
      case 1: case 10:
         Offset = 0;
         break;
      case 2: case 3: case 11:
         Offset = 3;
         break;
      case 5:
         Offset = 1;
         break;
      case 6:
         Offset = 4;
         break;
      case 8:
         Offset = 2;
         break;
      case 4: case 7:
         Offset = 6;
         break;
      default:
         Offset = 5;
   }
   return (Year + Year / 4 - Year / 100 + Year / 400 + Offset + Day) % 7;
}

int CloseDocument(int Dirty, int WindowId)
{
   if (!Dirty)
      return 1;

   switch (AskConfirm(12)) {
      case 6:
         Notify(0, 33);
         Redraw(WindowId);
         return 1;
      case 7:
         return 1;
      case 2:
         PlayBeep();
   }
   return 0;
}

int PayrollHours(int DayType, int Hours, int Night)
{
   int Paid;

   switch (DayType) {
      case 0:
         Paid = Hours * 100;
         if (Hours > 8)
            Paid += (Hours - 8) * 25;
         break;
      case 1:
         Paid = Hours * 150;
         break;
      case 2:
         Paid = Hours * 200;
         if (Paid < 800)
            Paid = 800;
         break;
      case 3:
         return 800;
      default:
         return 0;
   }
   if (Night)
      Paid += Hours * 15;
   return Paid;
}

int SeatPrice(int Row, int Weekend)
{
   int Price = 1200;

   switch (Row / 5) {
      case 0:
         Price -= 200;
         break;
      case 2:
         Price += 150;
         break;
      case 3:
         Price += 300;
         if (Weekend)
            Price += 100;
         break;
   }
   return Weekend ? Price + 250 : Price;
}

int ProcessOrder(int Sku, int Quantity, int Status)
{
   int Available;

   switch (Status) {
      case 'N':
         Available = StockCount(Sku);
         if (Available < Quantity) {
            Notify(1, 404);
            return 'B';
         }
         ReserveStock(Sku, Quantity);
         return 'R';
      case 'B':
         if (StockCount(Sku) >= Quantity)
            return 'N';
         return 'B';
      case 'R':
         return 'S';
      case 'C':
         ReserveStock(Sku, -Quantity);
         return 'Z';
      default:
         return Status;
   }
}

int RomanDigit(int Symbol, int Next)
{
   int Value = 0;

   switch (Symbol) {
      case 'I':
         if (Next == 'V' || Next == 'X')
            return -1;
         Value = 1;
         break;
      case 'V': Value = 5; break;
      case 'X':
         Value = 10;
         if (Next == 'L' || Next == 'C')
            Value = -10;
         break;
      case 'L': Value = 50; break;
      case 'C':
         Value = (Next == 'D' || Next == 'M') ? -100 : 100;
         break;
      case 'D': Value = 500; break;
      case 'M': Value = 1000; break;
   }
   return Value;
}

void UpdateProgress(int Phase, int *Percent, int *Colour)
{
   *Colour = 2;
   switch (Phase) {
      case 0:
         *Percent = 0;
         break;
      case 1:
         *Percent += 5;
         if (*Percent > 60)
            *Percent = 60;
         break;
      case 2:
         *Percent = Max2(*Percent, 60) + 1;
         break;
      case 3:
         *Percent = 100;
         Notify(0, 1);
         break;
      default:
         *Colour = 4;
         break;
   }
   Redraw(7);
}

int LoanDecision(int Score, int Income, int Debt)
{
   int Ratio;

   if (Income == 0)
      return 'N';
   Ratio = Debt * 100 / Income;

   switch (Score / 100) {
      case 8:
         return 'Y';
      case 7:
         if (Ratio < 45)
            return 'Y';
         return 'M';
      case 6:
         if (Ratio < 30)
            return 'Y';
         else if (Ratio < 40)
            return 'M';
         else
            return 'N';
      case 5:
         return Ratio < 15 && Income > 40000 ? 'M' : 'N';
   }
   return 'N';
}

int ElevatorButton(int Button, int Floor, int Moving)
{
   int Target = Floor;

   switch (Button) {
      case 'O':
         if (Moving)
            return -1;
         break;
      case 'C':
         break;
      case 'A':
         PlayBeep();
         Notify(911, Floor);
         Target = -2;
         break;
      case 'G':
         Target = 0;
         break;
      default:
         if (Button >= '1' && Button <= '9')
            Target = Button - '0';
   }
   return Target;
}

long TaxFor(int Class, long Income)
{
   long Free = 9000, Tax;

   switch (Class) {
      case 2:
         Free += 2000;
         break;
      case 3:
         Free *= 2;
         break;
      case 5:
      case 6:
         Free = 0;
         break;
   }
   Income -= Free;
   if (Income <= 0)
      return 0;
   Tax = Income / 5;
   if (Income > 50000)
      Tax += (Income - 50000) / 4;
   return Tax;
}

int VendingCoin(int Coin, int *Credit, int Exact)
{
   switch (Coin) {
      case 5:
         if (Exact)
            return 0;
         *Credit += 5;
         break;
      case 10: case 20: case 50:
         *Credit += Coin;
         break;
      case 100:
         *Credit += 100;
         AuditLog(0, 1, *Credit);
         break;
      case 200:
         if (*Credit >= 300)
            return 0;
         *Credit += 200;
         break;
      default:
         PlayBeep();
         return -1;
   }
   return *Credit >= 150;
}

int BookingConflict(int KindA, int KindB, int Overlap)
{
   int Weight = KindA * 10 + KindB;

   if (Overlap <= 0)
      return 0;
   switch (Weight) {
      case 11:
      case 22:
         return 2;
      case 12: case 21:
         return Overlap > 15;
      case 33:
         return 0;
      case 13:
      case 31:
         if (Overlap >= 60)
            return 2;
         return 1;
   }
   return -1;
}

int LibraryFine(int Kind, int DaysLate, int Member)
{
   int Fine = 0;

   switch (Kind) {
      case 'b':
         Fine = DaysLate * 10;
         break;
      case 'd':
         Fine = DaysLate * 50;
         if (Fine > 1000)
            Fine = 1000;
         break;
      case 'j':
      case 'm':
         if (DaysLate > 7)
            Fine = (DaysLate - 7) * 5;
         break;
      case 'r': {
         int Level = GetUserLevel(Member);
         if (Level < 2)
            Notify(Member, 88);
         Fine = 500 - 100 * Level;
         break;
      }
   }
   if (Fine > 0)
      AuditLog(Member, Kind, Fine);
   return Fine;
}

int TrafficLight(int State, int Elapsed, int Pedestrian)
{
   int Limit = 0;

   switch (State) {
      case 0: Limit = 30; break;
      case 1: Limit = 2;  break;
      case 2:
         Limit = Pedestrian ? 15 : 40;
         break;
      case 3: Limit = 4;  break;
      default:
         Notify(0, State);
         return 0;
   }
   if (Elapsed < Limit)
      return State;
   return (State + 1) % 4;
}

int PermissionMask(int Role, int Owner, int Locked)
{
   int Mask = 0;

   switch (Role) {
      case 4:
         Mask |= 0x80;
         /* fall thru */
      case 3:
         Mask |= 0x10;
         /* fall thru */
      case 2:
         Mask |= 0x06;
         /* fall thru */
      case 1:
         Mask |= 0x01;
         break;
      case 0:
         break;
      default:
         return -1;
   }
   if (Owner)
      Mask |= 0x07;
   if (Locked && Role < 4)
      Mask &= ~0x06;
   return Mask;
}

int ParcelSlot(int Height, int Width, int Depth)
{
   int Size = Max2(Max2(Height, Width), Depth);

   switch (RoundTo(Size, 10)) {
      case 10:
         return 1;
      case 20:
      case 30:
         return Height < 15 ? 1 : 2;
      case 40:
         return 3;
      case 50: case 60:
         if (Height * Width * Depth > 90000)
            return 5;
         return 4;
   }
   return 0;
}

void MouseEvent(int Event, int x, int y, int *Drag)
{
   switch (Event) {
      case 0x201:
         Drag[0] = x;
         Drag[1] = y;
         Drag[2] = 1;
         break;
      case 0x202:
         if (Drag[2] && (x != Drag[0] || y != Drag[1]))
            Redraw(3);
         Drag[2] = 0;
         break;
      case 0x200:
         if (!Drag[2])
            return;
         Drag[3] = x - Drag[0];
         Drag[4] = y - Drag[1];
         Redraw(2);
         break;
      case 0x20A:
         Drag[5] += y > 0 ? 3 : -3;
         break;
   }
}

int InsuranceSurcharge(int Age, int Claims, int Region)
{
   int Points = 0;

   if (Age < 25)
      Points += 3;
   else if (Age > 75)
      Points += 2;

   switch (Claims) {
      case 0:
         Points -= 2;
         break;
      case 1:
         break;
      case 2:
         Points += 2;
         break;
      case 3:
         Points += 5;
         break;
      default:
         return 1000;
   }
   if (Region == 7 || Region == 11)
      Points++;
   return Points > 0 ? Points * 12 : 0;
}

int PayInvoice(int Account, int Vendor, long Amount, int Method)
{
   int Result = -1;

   switch (Method) {
      case 1:
         if (Balance(Account) >= Amount)
            Result = Transfer(Account, Vendor, Amount);
         break;
      case 2:
         Result = Transfer(9000, Vendor, Amount + 25);
         if (Result == 0)
            AuditLog(Account, 2, Amount);
         break;
      case 3:
         if (AskConfirm(Vendor) != 1)
            return 0;
         Result = Transfer(Account, Vendor, RoundTo((int)Amount, 100));
         break;
      default:
         Notify(Account, 500);
   }
   return Result;
}

int QuarterOf(int Month, int FiscalStart)
{
   int m = Month - FiscalStart;

   if (m < 0)
      m += 12;
   switch (m / 3) {
      case 0:
         return 1;
      case 1:
         return 2;
      case 2:
         return 3;
   }
   return 4;
}

int TemperatureAdvice(short Celsius, int Raining, int Windy)
{
   int Advice = 0;

   switch (Celsius / 10) {
      case -2:
      case -1:
         Advice = 0x0F;
         break;
      case 0:
         Advice = Celsius < 0 ? 0x07 : 0x03;
         break;
      case 1:
         if (Windy)
            Advice = 0x02;
         break;
      default:
         if (Celsius < 0)
            return -1;
         Advice = 0x40;
         break;
   }
   if (Raining)
      Advice |= 0x20;
   return Advice;
}

int TicketTransition(int State, int Action, int UserId)
{
   int Old = State;

   switch (Action) {
      case 'a':
         if (State == 0 || State == 4)
            State = 1;
         break;
      case 'r':
         if (State == 1 && GetUserLevel(UserId) > 0)
            State = 2;
         break;
      case 'c':
         State = 3;
         break;
      case 'o':
         if (State >= 2)
            State = 4;
         else
            Notify(UserId, 71);
         break;
   }
   if (State != Old)
      AuditLog(UserId, Action, Old * 10L + State);
   return State != Old;
}

int HolidayOffset(unsigned char Rule, int Easter)
{
   switch (Rule) {
      case 0:  return Easter;
      case 1:  return Easter - 2;
      case 2:  return Easter + 1;
      case 3:  return Easter + 39;
      case 4:  return Easter + 50;
      case 9:  return Today() - Easter;
      default: return 0;
   }
}

int ResizeCursor(int HitCode, int ReadOnly)
{
   int Cursor;

   switch (HitCode) {
      case 10: case 11:
         Cursor = 32644;
         break;
      case 12: case 15:
         Cursor = 32645;
         break;
      case 13: case 17:
         Cursor = 32642;
         break;
      case 14: case 16:
         Cursor = 32643;
         break;
      case -2:
         PlayBeep();
         /* no break: show the arrow */
      default:
         return 32512;
   }
   return ReadOnly ? 32648 : Cursor;
}
