/* Shapes of a dispatch: a table, a tree, bit tests, and mixtures of them. */
extern int g(int), h(int);
int table(int x) {
    switch (x) {
    case 10: return g(1) + h(1);
    case 11: return h(7);
    case 12: return g(5);
    case 13: case 16: return h(g(9));
    case 14: return g(h(2));
    default: return 0;
    }
}
int tree(int x) {
    switch (x) {
    case -70: return g(1);
    case 3: return g(2);
    case 500: return g(3);
    case 9000: return g(4);
    case 70000: return g(5);
    case 800000: return g(6);
    }
    return g(0);
}
int bits(unsigned char x) {
    switch (x) {
    case 9: case 10: case 13: case 32: return g(1);
    case 44: case 58: case 61: return g(2);
    }
    return 0;
}
int mixed(long x) {
    switch (x) {
    case -5000000000: return g(1);
    case 1: return g(2);
    case 2: return g(3);
    case 3: return g(4);
    case 4: return g(5);
    case 5: return g(6);
    case 40: case 42: case 44: case 47: return g(7);
    case 7000000000: return g(8);
    }
    return 0;
}
void letters(const char *s) {
    for (; *s; s++)
        switch (*s) {
        case 'a': g(1); break;
        case 'b': h(2); break;
        case 'e': g(h(3)); break;
        case 'o': h(g(4)); break;
        case 'u': g(5); h(5); break;
        case 'y': h(6); g(6); break;
        }
}
void stride(int x) {
    switch (x) {
    case 100: g(1); break;
    case 104: h(2); break;
    case 108: g(h(3)); break;
    case 112: h(g(4)); break;
    case 116: g(5); h(5); break;
    }
}
