/* Independent work items on several threads. */
#pragma once

/* Calls work(context, worker, item) once for each item 0..count-1, from up to `threads` threads,
 * the caller among them; worker is 0..threads-1. Items are handed out in order. When a thread
 * cannot be started the others do its share. */
void parallel_for(int threads, long count, void (*work)(void *context, int worker, long item),
                  void *context);

int parallel_cores(void); /* that this process may use */
