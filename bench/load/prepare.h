/* Prepares a run before its first counted request. */
#ifndef BENCH_PREPARE_H
#define BENCH_PREPARE_H

#include "run.h"

/* Pull: a heartbeat a connection (the subscription is taken from it), then how much every queue holds. */
void prepare_pull(struct run *run);

/* Anything that sends messages: their templates. */
void prepare_send(struct run *run);

#endif
