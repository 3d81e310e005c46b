/* Latency histogram: log-linear buckets, 64 a power of two, so that a percentile is at most 1.6 % off
 * and recording costs a few instructions. Values are nanoseconds. */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_SUB_BITS = 6, HISTOGRAM_BUCKETS = (64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS };

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
    int64_t max;
};

void histogram_clear(struct histogram *histogram);
void histogram_add(struct histogram *histogram, int64_t nanoseconds);

/* The value in microseconds that `part` (0..1) of all records do not exceed; 0 when nothing was recorded. */
double histogram_percentile_us(const struct histogram *histogram, double part);

#endif
