long appendix(long p0)
{
    long v0 = 1;
    switch (p0) {
    case -62:
        v0 = g2(p0);
        break;
    case -46:
        v0 += 46;
        break;
    case -30:
        v0 -= p0;
        break;
    case 87:
        h1(87);
        v0 = 7;
        break;
    case -72:
        v0 *= p0;
        break;
    case -66:
        v0 ^= 5;
        break;
    }
    return v0;
}
