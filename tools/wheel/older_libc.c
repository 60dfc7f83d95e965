/* Linked into wheels, so that they run with C libraries older than the one they are built with.
 *
 * hypot has a new version since glibc 2.35, which differs in nothing but errno: calls are sent to
 * the first one (ld's --wrap=hypot).
 *
 * Debian's libjansson.a is made for programs: in a shared library it may not refer to stdin as it
 * does. It compares the file that is read with it, for a name in messages; none of ours is. */
#ifdef __aarch64__
#define FIRST "GLIBC_2.17"
#else
#define FIRST "GLIBC_2.2.5"
#endif

double hypot_of_old(double x, double y);
__asm__(".symver hypot_of_old, hypot@" FIRST);

double __wrap_hypot(double x, double y);
double __wrap_hypot(double x, double y)
{
    return hypot_of_old(x, y);
}

void *jansson_stdin;
