/* Latencies of requests that the kernel serves, measured as by server.monitoring.latencies. */
#ifndef ROCKETWIRE_LATENCIES_H
#define ROCKETWIRE_LATENCIES_H

#include "core/durations.h"
#include "core/kernel.h"

enum { LATENCY_CODES = 6 };

typedef struct {
    int64_t counts[LATENCY_CODES][DURATION_BUCKETS];
    int64_t sums[LATENCY_CODES]; /* ns */
} latencies;

typedef uint32_t latency_requests[LATENCY_CODES]; /* of one read, by code */

/* One more request of a code that the kernel serves. */
void latency_request(latency_requests of, int32_t code);

/* Record the time of a read for all of its requests. */
void latencies_note(latencies *all, const latency_requests of, int64_t ns);

/* A dict of counts and sum by code, which are reset; NULL: an exception is set. */
PyObject *latencies_take(latencies *all);

int latencies_init(PyObject *module);

#endif
