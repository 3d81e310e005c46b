/* How much the queues of a topic hold. */
#ifndef BENCH_QUEUES_H
#define BENCH_QUEUES_H

#include "connection.h"
#include "options.h"

/* Requests the end of every queue, all at once, into `ends` (one a queue); returns their sum. */
int64_t queue_ends(struct connection *connection, const struct options *options, int64_t *ends);

#endif
