/* The measured runs. */
#ifndef BENCH_GRPC_RUN_H
#define BENCH_GRPC_RUN_H

#include "measure.h"
#include "options.h"

/* send and receive: every connection keeps `window` calls in flight; each answer begins the next one. */
void run_pipeline(const struct options *options, struct result *out);

/* wake */
void run_wake(const struct options *options, struct result *out);

#endif
