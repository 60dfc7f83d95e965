/* Ctrl-C during a search. */
#define _POSIX_C_SOURCE 200809L
#include "cli.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static _Atomic(struct astra *) searching;
static struct sigaction before;

static void stop_search(int number)
{
    (void)number;
    struct astra *a = atomic_load(&searching);
    if (a)
        astra_cancel(a);
}

/* Where interrupts are ignored, as in the background of a script, they stay so. */
void interrupt_begin(struct astra *a)
{
    struct sigaction once = {.sa_handler = stop_search, .sa_flags = (int)SA_RESETHAND};
    sigaction(SIGINT, NULL, &before);
    if (!a || before.sa_handler == SIG_IGN)
        return;
    atomic_store(&searching, a);
    sigemptyset(&once.sa_mask);
    sigaction(SIGINT, &once, NULL);
}

void interrupt_end(void)
{
    sigaction(SIGINT, &before, NULL);
    atomic_store(&searching, (struct astra *)NULL);
}
