/* The run of mode timer: COUNT messages that are to be delivered at given times. They are all sent, then it is waited until the
 * topic holds them, then what it holds is read: each message has to be there once, not before its time. How late it came is the
 * time from then to the store timestamp of the record delivered, which the server sets as it appends it: so no consumer takes
 * part of the two cores meanwhile. When the last can be seen is looked at from outside. */
#ifndef BENCH_TIMER_H
#define BENCH_TIMER_H

#include "options.h"

/* Prints its result itself; it has other figures than the other modes. */
void run_timer(const struct options *options);

#endif
