/* The run of mode timer: sends COUNT messages with times of delivery, waits until the topic has them, then reads the topic:
 * each message must be there once, not before its time. Lateness is the time from then to the record's store timestamp,
 * which the server sets as it appends it: so no consumer takes a part of the two cores meanwhile. The ends of the
 * queues show when the last message is there. */
#ifndef BENCH_TIMER_H
#define BENCH_TIMER_H

#include "options.h"

/* Prints its result itself; it has other figures than the other modes. */
void run_timer(const struct options *options);

#endif
