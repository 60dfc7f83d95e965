#define _GNU_SOURCE
#include "base/parallel.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

enum { MOST_THREADS = 256 };

struct worker_job {
    void (*work)(void *context, int worker, long item);
    void *context;
    long count;
    atomic_long next;
};

struct helper {
    struct worker_job *job;
    int worker;
};

static void take_items(struct worker_job *j, int worker)
{
    for (;;) {
        long item = atomic_fetch_add(&j->next, 1);
        if (item >= j->count)
            return;
        j->work(j->context, worker, item);
    }
}

static void *helper_main(void *argument)
{
    struct helper *h = argument;
    take_items(h->job, h->worker);
    return 0;
}

void parallel_for(int threads, long count, void (*work)(void *context, int worker, long item),
                  void *context)
{
    struct worker_job job = {work, context, count, 0};
    pthread_t id[MOST_THREADS];
    struct helper helper[MOST_THREADS];
    int started = 0;
    if (threads > MOST_THREADS)
        threads = MOST_THREADS;
    while (started + 1 < threads && started + 1 < count) {
        helper[started] = (struct helper){&job, started + 1};
        if (pthread_create(&id[started], 0, helper_main, &helper[started]) != 0)
            break;
        started++;
    }
    take_items(&job, 0);
    for (int i = 0; i < started; i++)
        pthread_join(id[i], 0);
}

int parallel_cores(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}
