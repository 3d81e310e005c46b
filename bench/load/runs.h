/* The runs, a file each. */
#ifndef BENCH_RUNS_H
#define BENCH_RUNS_H

#include "measure.h"
#include "options.h"

/* Send, batch, sync, pull, transaction and retry: every connection keeps `window` requests in flight; each answer frees its
 * slot, which sends the next request at once. One thread, epoll. */
void run_pipeline(const struct options *options, struct result *out);

/* Delayed messages until they are delivered: sends with delay level 1 for the measured time, then waits until the
 * topic's queues hold exactly as many more, and measures for each how late it came. The time counted is that from the
 * first send to the last delivery less the delay; the latency that from the due time (born + delay) to the delivered
 * record's store time, in whole milliseconds. */
void run_delivery(const struct options *options, struct result *out);

/* Many connections: producers and as many consumers, whose messages go from one to the other through the broker.
 *
 * Topics are TOPIC-0, TOPIC-1, ...; each has as many queues as consumers, one a consumer, and those are one group. Producer
 * and consumer number i belong to topic i modulo the number of topics. Consumers hold a pull at the end of their queue all the
 * time; producers have up to `window` sends in flight each. Messages are those that have come to their consumer within the
 * measured time; latency is from handing the send to the socket until the consumer has read the message. Ends when every
 * message sent has come exactly once. */
void run_many(const struct options *options, struct result *out);

/* Messages with times of delivery: sends COUNT, waits until the topic has them, then reads the topic: each message must be
 * there once, not before its time. Lateness is the time from then to the record's store timestamp, which the server sets as
 * it appends it: so no consumer takes a part of the two cores meanwhile. The ends of the queues show when the last message is
 * there. Prints its result itself; it has other figures than the other modes. */
void run_timer(const struct options *options);

/* Connections at rest: opens `connections` connections, sends one message on each, reports on standard output when all are
 * answered, and keeps them open until standard input ends. */
void run_idle(const struct options *options);

#endif
