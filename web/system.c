/* System calls that Emscripten's C library leaves out: a page is one thread. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

int __sched_cpucount(size_t size, const cpu_set_t *set);

/* parallel_cores() takes a refusal for one core. */
int sched_getaffinity(pid_t id, size_t size, cpu_set_t *set)
{
    (void)id, (void)size, (void)set;
    errno = ENOSYS;
    return -1;
}

int __sched_cpucount(size_t size, const cpu_set_t *set)
{
    (void)size, (void)set;
    return 1;
}
