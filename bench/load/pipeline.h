/* The measured run of send, batch, sync and pull: every connection keeps `window` requests in flight; each
 * answer frees its slot, which sends the next request at once. One thread, epoll. */
#ifndef BENCH_PIPELINE_H
#define BENCH_PIPELINE_H

#include "histogram.h"
#include "options.h"

struct result {
    int64_t messages, requests;
    double seconds, server_cpu_seconds, client_cpu_seconds; /* within the measured time; server -1 = not asked */
    struct histogram latency;
};

void run_pipeline(const struct options *options, struct result *out);

/* CPU time (user and system) of a process so far, in seconds. */
double process_cpu_seconds(int process_id);

#endif
