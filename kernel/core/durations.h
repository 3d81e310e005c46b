/* Durations in buckets, as server.monitoring.latencies has them. */
#ifndef ROCKETWIRE_DURATIONS_H
#define ROCKETWIRE_DURATIONS_H

#include <stdint.h>

enum { DURATION_BOUNDS = 16, DURATION_BUCKETS = DURATION_BOUNDS + 1 }; /* the last bucket: longer than all bounds */

#define US(count) ((int64_t)(count) * 1000)
#define MS(count) US((count) * 1000)

/* ns, inclusive */
static const int64_t duration_bounds[DURATION_BOUNDS] = {
    US(10), US(25), US(63),  US(160), US(400), MS(1),    US(2500), US(6300),
    MS(16), MS(40), MS(100), MS(250), MS(630), MS(1600), MS(4000), MS(10000),
};

#undef US
#undef MS

static inline int duration_bucket(int64_t ns)
{
    int bucket = 0;
    while (bucket < DURATION_BOUNDS && ns > duration_bounds[bucket]) bucket++;
    return bucket;
}

#endif
