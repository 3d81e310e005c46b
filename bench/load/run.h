/* The state of a pipelined run. */
#ifndef BENCH_RUN_H
#define BENCH_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "connection.h"
#include "frames.h"
#include "options.h"
#include "runs.h"

enum { RETRIED_MESSAGES = 20000 };

/* One request in flight. Its opaque contains its slot: (opaque - FIRST_OPAQUE) % window. */
struct slot {
    bool busy;
    uint32_t uses;
    uint32_t opaque;
    int64_t sent_at;
    bool prepared;    /* transaction: the message is stored, the request in flight commits it */
    uint64_t counter; /* of the message sent */
    int queue;
    int64_t offset; /* pull: where to read next */
};

struct lane {
    struct connection connection;
    struct slot *slots;
};

struct run {
    const struct options *options;
    struct result *result;
    struct lane *lanes;
    struct request_template *templates; /* one a queue */
    int items;                          /* messages a request that is no pull */
    int64_t *max_offsets;               /* one a queue */
    char unique_prefix[21];
    struct sent_message *sent_back;     /* retry: messages that were sent before */
    struct sent_message *sent;          /* where to note the messages sent, or NULL */
    uint64_t counter;                   /* of messages, for unique keys and the choice of the queue */
    int64_t in_flight, issued;
    bool measuring, stopping;
    int64_t born_until; /* when the text in `born` is no longer this millisecond */
    char born[BORN_DIGITS + 1];
    int epoll;
};

/* Before the first request of a pull: a heartbeat a connection (the subscription is taken from it), then how much every queue
 * holds. */
void prepare_pull(struct run *run);

/* Before the first of anything that sends messages: their templates. */
void prepare_send(struct run *run);

#endif
