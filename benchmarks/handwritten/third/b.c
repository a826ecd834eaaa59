void drawTile(int x, int y, int tile, int color);
void playSound(int id);
int rollDice(int sides);
void moveEntity(int id, int dx, int dy);
int isWall(int x, int y);
void showMessage(int msgId);
void spawnEnemy(int type, int x, int y);
int getScore(int player);
void addScore(int player, int amount);
void openMenu(int menu);
void closeMenu(void);
int getKey(void);
void quitGame(int code);
void saveSlot(int slot);
int loadSlot(int slot);
void applyDamage(int target, int amount);
int distanceTo(int fromId, int toId);
void setAnimation(int id, int anim);
int hasItem(int player, int item);
void removeItem(int player, int item);
void redraw(void);

int itemPrice(int item)
{
    int price = 0;

    switch (item)
    {
        case 1:
            price = 10;
            break;
        case 2:
            price = 25;
            break;
        case 3:
            price = 100;
            break;
        case 4:
        case 5:
            price = 250;
            break;
        case 9:
            price = 1000;
            break;
    }

    return price;
}

void movePlayer(int dir, int *x, int *y)
{
    int nx = *x;
    int ny = *y;

    switch (dir)
    {
        case 0:
            ny--;
            break;
        case 1:
            nx++;
            break;
        case 2:
            ny++;
            break;
        case 3:
            nx--;
            break;
        default:
            return;
    }

    if (!isWall(nx, ny))
    {
        *x = nx;
        *y = ny;
    }
    else
    {
        playSound(4);
    }
}

int oppositeDir(int dir)
{
    switch (dir)
    {
        case 0: return 2;
        case 1: return 3;
        case 2: return 0;
        case 3: return 1;
    }
    return -1;
}

int handleKey(int key, int *cursor, int count)
{
    switch (key)
    {
        case 'w':
        case 'k':
            if (*cursor > 0)
            {
                (*cursor)--;
            }
            break;
        case 's':
        case 'j':
            if (*cursor < count - 1)
            {
                (*cursor)++;
            }
            break;
        case '\n':
        case ' ':
            playSound(1);
            return 1;
        case 27:
            closeMenu();
            return -1;
        default:
            break;
    }

    redraw();
    return 0;
}

int pieceValue(char piece)
{
    switch (piece)
    {
        case 'P':
            return 100;
        case 'N':
            return 320;
        case 'B':
            return 330;
        case 'R':
            return 500;
        case 'Q':
            return 900;
        case 'K':
            return 20000;
        case 'p':
            return -100;
        case 'n':
            return -320;
        case 'b':
            return -330;
        case 'r':
            return -500;
        case 'q':
            return -900;
        case 'k':
            return -20000;
        default:
            return 0;
    }
}

void updateEnemy(int id, int state, int playerId)
{
    int dist = distanceTo(id, playerId);

    switch (state)
    {
        case 0:
            if (dist < 8)
            {
                setAnimation(id, 1);
            }
            break;
        case 1:
            if (dist <= 1)
            {
                setAnimation(id, 2);
                applyDamage(playerId, 5);
            }
            else if (dist > 12)
            {
                setAnimation(id, 0);
            }
            else
            {
                moveEntity(id, 1, 0);
            }
            break;
        case 2:
            moveEntity(id, -1, 0);
            break;
        case 3:
            setAnimation(id, 9);
            addScore(playerId, 50);
            break;
    }
}

int damageFor(int weapon, int armor)
{
    int dmg;

    switch (weapon)
    {
        case 0:
            dmg = 1;
            break;
        case 1:
            dmg = rollDice(4);
            break;
        case 2:
            dmg = rollDice(6) + 1;
            break;
        case 3:
            dmg = rollDice(6) + rollDice(6);
            break;
        default:
            dmg = rollDice(10) + 5;
            break;
    }

    dmg -= armor / 2;
    return dmg > 0 ? dmg : 0;
}

void drawCell(int x, int y, unsigned char cell)
{
    int tile;
    int color = 15;

    switch (cell & 0x0F)
    {
        case 0:
            tile = ' ';
            break;
        case 1:
            tile = '#';
            color = 8;
            break;
        case 2:
            tile = '+';
            color = 6;
            break;
        case 3:
            tile = '~';
            color = 9;
            break;
        case 4:
        case 5:
            tile = '^';
            color = (cell & 0x80) ? 12 : 4;
            break;
        default:
            tile = '?';
            break;
    }

    drawTile(x, y, tile, color);
}

int mainMenuSelect(int choice)
{
    switch (choice)
    {
        case 0:
            return 1;
        case 1:
            if (loadSlot(0) != 0)
            {
                showMessage(12);
                return 0;
            }
            return 1;
        case 2:
            openMenu(3);
            return 0;
        case 3:
            quitGame(0);
            return 0;
    }
    return 0;
}

int lineScore(int lines, int level)
{
    int base;

    switch (lines)
    {
        case 1:
            base = 40;
            break;
        case 2:
            base = 100;
            break;
        case 3:
            base = 300;
            break;
        case 4:
            base = 1200;
            break;
        default:
            base = 0;
    }

    return base * (level + 1);
}

void rotateOffsets(int rot, int *dx, int *dy)
{
    int t;

    switch (rot & 3)
    {
        case 1:
            t = *dx;
            *dx = -*dy;
            *dy = t;
            break;
        case 2:
            *dx = -*dx;
            *dy = -*dy;
            break;
        case 3:
            t = *dx;
            *dx = *dy;
            *dy = -t;
            break;
    }
}

int useItem(int player, int item, int *hp, int maxHp)
{
    if (!hasItem(player, item))
    {
        showMessage(30);
        return 0;
    }

    switch (item)
    {
        case 1:
            *hp += 20;
            if (*hp > maxHp)
            {
                *hp = maxHp;
            }
            break;
        case 2:
            *hp = maxHp;
            break;
        case 3:
            applyDamage(player, 10);
            playSound(7);
            break;
        case 7:
            showMessage(31);
            return 0;
        default:
            showMessage(32);
            return 0;
    }

    removeItem(player, item);
    return 1;
}

int cardRank(int c)
{
    switch (c)
    {
        case 'A':
            return 14;
        case 'K':
            return 13;
        case 'Q':
            return 12;
        case 'J':
            return 11;
        case 'T':
            return 10;
        default:
            if (c >= '2' && c <= '9')
            {
                return c - '0';
            }
            return 0;
    }
}

int blackjackTotal(const char *cards, int n)
{
    int total = 0;
    int aces = 0;
    int i;

    for (i = 0; i < n; i++)
    {
        switch (cards[i])
        {
            case 'A':
                aces++;
                total += 11;
                break;
            case 'K':
            case 'Q':
            case 'J':
            case 'T':
                total += 10;
                break;
            default:
                total += cards[i] - '0';
                break;
        }
    }

    while (total > 21 && aces > 0)
    {
        total -= 10;
        aces--;
    }

    return total;
}

void spawnWave(int wave)
{
    int i;

    switch (wave)
    {
        case 1:
            spawnEnemy(0, 10, 0);
            spawnEnemy(0, 20, 0);
            break;
        case 2:
            for (i = 0; i < 5; i++)
            {
                spawnEnemy(0, i * 8, 0);
            }
            break;
        case 3:
            spawnEnemy(2, 40, 0);
            spawnEnemy(1, 20, 5);
            spawnEnemy(1, 60, 5);
            break;
        default:
            spawnEnemy(rollDice(3), rollDice(80), 0);
            break;
    }
}

int levelForDifficulty(int difficulty)
{
    switch (difficulty)
    {
        case 0:
            return 1;
        case 1:
            return 5;
        case 2:
            return 10;
        default:
            return 1;
    }
}

int pollInput(void)
{
    int key = getKey();
    int action = 0;

    switch (key)
    {
        case -1:
            break;
        case 0x48:
            action = 1;
            break;
        case 0x50:
            action = 2;
            break;
        case 0x4B:
            action = 3;
            break;
        case 0x4D:
            action = 4;
            break;
        case 'p':
            openMenu(1);
            break;
        case 'q':
            quitGame(0);
            break;
    }

    return action;
}

void tickStatus(int id, int *status, int *turns)
{
    if (*turns == 0)
    {
        return;
    }

    switch (*status)
    {
        case 1:
            applyDamage(id, 2);
            break;
        case 2:
            applyDamage(id, 4);
            if (rollDice(4) == 1)
            {
                *turns = 1;
            }
            break;
        case 4:
            applyDamage(id, -3);
            break;
    }

    (*turns)--;
    if (*turns == 0)
    {
        *status = 0;
        showMessage(50);
    }
}

int weekdayBonus(int day)
{
    int bonus;

    switch (day % 7)
    {
        case 0:
        case 6:
            bonus = 50;
            break;
        case 5:
            bonus = 20;
            break;
        default:
            bonus = 10;
            break;
    }

    return bonus;
}

int gradeScore(int score)
{
    switch (score / 10)
    {
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

int turnPhase(int phase, int player)
{
    int next = phase + 1;

    switch (phase)
    {
        case 0:
            showMessage(60 + player);
            break;
        case 1:
            if (getScore(player) >= 100)
            {
                showMessage(70);
                next = 5;
            }
            break;
        case 2:
            redraw();
            break;
        case 3:
            saveSlot(9);
            next = 0;
            break;
        case 5:
            quitGame(player);
            next = -1;
            break;
        default:
            next = 0;
            break;
    }

    return next;
}

long experienceFor(int kind, int level)
{
    long xp = 10;

    switch (kind)
    {
        case 0:
            xp = 10L * level;
            break;
        case 1:
            xp = 25L * level;
            break;
        case 2:
            xp = 40L * level + 100;
            break;
        case 10:
            xp = 1000L * level;
            if (level > 20)
            {
                xp += 5000;
            }
            break;
    }

    return xp;
}

int canEnter(int tile, int player)
{
    switch (tile)
    {
        case 0:
        case 4:
        case 5:
            return 1;
        case 2:
            return hasItem(player, 11);
        case 3:
            return hasItem(player, 12) && !hasItem(player, 20);
        default:
            return 0;
    }
}

void changeOption(int option, int delta, int *values)
{
    switch (option)
    {
        case 0:
            values[0] += delta * 5;
            if (values[0] < 0)
            {
                values[0] = 0;
            }
            if (values[0] > 100)
            {
                values[0] = 100;
            }
            break;
        case 1:
            values[1] = !values[1];
            break;
        case 2:
            values[2] = (values[2] + delta + 4) % 4;
            break;
        default:
            return;
    }

    playSound(2);
    redraw();
}

unsigned int paletteColor(unsigned char index)
{
    switch (index)
    {
        case 0: return 0x000000;
        case 1: return 0x0000AA;
        case 2: return 0x00AA00;
        case 3: return 0x00AAAA;
        case 4: return 0xAA0000;
        case 5: return 0xAA00AA;
        case 6: return 0xAA5500;
        case 7: return 0xAAAAAA;
        default: return 0xFFFFFF;
    }
}

int resolveCollision(int typeA, int typeB, int idA, int idB)
{
    switch (typeA * 4 + typeB)
    {
        case 1:
            applyDamage(idA, 10);
            setAnimation(idB, 9);
            return 1;
        case 4:
            applyDamage(idB, 10);
            setAnimation(idA, 9);
            return 1;
        case 2:
            addScore(idA, 5);
            return 2;
        case 8:
            addScore(idB, 5);
            return 2;
    }
    return 0;
}

int toggleFlag(int flags, char name)
{
    switch (name)
    {
        case 'g':
            flags ^= 1;
            break;
        case 'n':
            flags ^= 2;
            break;
        case 'f':
            flags ^= 4;
            break;
        default:
            playSound(4);
            break;
    }

    return flags;
}

int checkersStep(int piece, int dx, int dy)
{
    if (dx != 1 && dx != -1)
    {
        return 0;
    }

    switch (piece)
    {
        case 1:
            return dy == 1;
        case -1:
            return dy == -1;
        case 2:
        case -2:
            return dy == 1 || dy == -1;
        default:
            return 0;
    }
}

int countNeighbours(const char *grid, int width, int pos, int corner)
{
    int n = 0;

    switch (corner)
    {
        case 1:
            n += grid[pos + 1];
            n += grid[pos + width];
            n += grid[pos + width + 1];
            break;
        case 2:
            n += grid[pos - 1];
            n += grid[pos + width - 1];
            n += grid[pos + width];
            break;
        case 3:
            n += grid[pos - width];
            n += grid[pos - width + 1];
            n += grid[pos + 1];
            break;
        case 4:
            n += grid[pos - width - 1];
            n += grid[pos - width];
            n += grid[pos - 1];
            break;
        default:
            break;
    }

    return n;
}

void finishQuest(int quest, int player)
{
    switch (quest)
    {
        case 100:
            addScore(player, 100);
            break;
        case 101:
            addScore(player, 200);
            removeItem(player, 40);
            break;
        case 110:
            removeItem(player, 41);
            removeItem(player, 42);
            addScore(player, hasItem(player, 43) ? 800 : 500);
            break;
        case 200:
            addScore(player, 5000);
            showMessage(99);
            quitGame(0);
            break;
        default:
            showMessage(98);
            return;
    }

    playSound(20);
}
