/* Many connections: producers and as many consumers, whose messages go from one to the other through the broker.
 *
 * Topics are TOPIC-0, TOPIC-1, ...; each has as many queues as consumers, one a consumer, and those are one group.
 * Producer and consumer number i belong to topic i modulo the number of topics. Consumers hold a pull at the end of
 * their queue all the time; producers have up to `window` sends in flight each. */
#ifndef BENCH_MANY_H
#define BENCH_MANY_H

#include "options.h"
#include "pipeline.h"

/* Messages are those that have come to their consumer within the measured time; latency is from handing the send to
 * the socket until the consumer has read the message. Ends when every message sent has come exactly once. */
void run_many(const struct options *options, struct result *out);

#endif
