/* Connections that do nothing, to measure what each costs the server. */
#ifndef BENCH_IDLE_H
#define BENCH_IDLE_H

#include "options.h"

/* Opens `connections` connections, sends one message on each, reports on standard output when all are answered, and
 * keeps them open until standard input ends. */
void run_idle(const struct options *options);

#endif
