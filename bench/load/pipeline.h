/* The measured run of send, batch, sync, pull, transaction and retry: every connection keeps `window` requests in
 * flight; each answer frees its slot, which sends the next request at once. One thread, epoll. */
#ifndef BENCH_PIPELINE_H
#define BENCH_PIPELINE_H

#include "histogram.h"
#include "options.h"

struct result {
    int64_t messages, requests;
    int64_t sent; /* messages of the whole run, counted or not */
    double seconds, server_cpu_seconds, client_cpu_seconds; /* within the measured time; server -1 = not asked */
    struct histogram latency;
};

void run_pipeline(const struct options *options, struct result *out);

#endif
