/* The measured runs. */
#ifndef BENCH_GRPC_RUN_H
#define BENCH_GRPC_RUN_H

#include "histogram.h"
#include "options.h"

struct result {
    int64_t messages, requests;
    double seconds, server_cpu_seconds, client_cpu_seconds; /* within the measured time; server -1 = not asked */
    struct histogram latency;
};

/* send and receive: every connection keeps `window` calls in flight; each answer begins the next one. */
void run_pipeline(const struct options *options, struct result *out);

/* wake */
void run_wake(const struct options *options, struct result *out);

#endif
