/* What a run measures: latencies, rates, and the CPU time of the server and of this process.
 *
 * The histogram's buckets are log-linear, 64 a power of two, so that a percentile is at most 1.6 % off and recording costs a
 * few instructions. Values are nanoseconds. */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <stdint.h>

enum { HISTOGRAM_SUB_BITS = 6, HISTOGRAM_BUCKETS = (64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS };

struct histogram {
    uint64_t counts[HISTOGRAM_BUCKETS];
    uint64_t total;
    int64_t max;
};

void histogram_add(struct histogram *histogram, int64_t nanoseconds);

/* The value in microseconds that `part` (0..1) of all records do not exceed; 0 when nothing was recorded. */
double histogram_percentile_us(const struct histogram *histogram, double part);

struct result {
    int64_t messages, requests;
    int64_t sent; /* messages of the whole run, counted or not */
    double seconds, server_cpu_seconds, client_cpu_seconds; /* within the measured time; server -1: not measured */
    struct histogram latency;
};

/* The time measured, from its start on. */
struct stopwatch {
    int server_pid; /* 0: the server's CPU time is not measured */
    int64_t started_at;
    double server_cpu, own_cpu;
};

/* Fails when the server's process has ended. */
struct stopwatch stopwatch_start(int server_pid);

/* The seconds and CPU seconds since the start, into `out`. */
void stopwatch_stop(const struct stopwatch *watch, struct result *out);

/* One line of JSON. */
void print_result(const char *mode, const struct result *result);

#endif
