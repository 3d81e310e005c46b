/* Sends messages with times of delivery. */
#ifndef BENCH_TIMER_SEND_H
#define BENCH_TIMER_SEND_H

#include <stdint.h>

#include "options.h"

/* The due time of message `number` is due_of(schedule, number): `count` of them, evenly over `span_ms`, from first_ms on. */
struct schedule {
    int64_t first_ms, count; /* ms since 1970 */
    double span_ms;
};

int64_t due_of(const struct schedule *schedule, int64_t number);

struct sent {
    char unique_prefix[21]; /* of the keys; message `number` has it as its counter */
    double seconds;         /* from the first request to the last answer */
    double lag_ms;          /* paced: how far the answer of any message came behind its turn, at most */
};

/* Sends all of them, with `window` requests in flight on each connection; with `paced` each one `ahead` before it is due.
 * A message that a busy server refuses is sent again; any other refusal ends the program. */
struct sent send_all(const struct options *options, const struct schedule *schedule);

#endif
