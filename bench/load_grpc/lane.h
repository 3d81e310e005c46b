/* A connection with its calls in flight, and their answers as far as they have come. */
#ifndef BENCH_LANE_H
#define BENCH_LANE_H

#include "http2.h"
#include "messages.h"
#include "options.h"

enum slot_state { SLOT_FREE, SLOT_SEND, SLOT_RECEIVE, SLOT_ACK };

struct slot {
    enum slot_state state;
    uint32_t stream;
    int64_t began_at;
    int messages; /* acknowledged by the call in flight */
    unsigned char *answer;
    size_t have, room;
};

enum { STREAMS_DISTINCT = 1 << 16 };

struct lane {
    struct http2 http2;
    struct slot *slots;
    int count;
    uint32_t telemetry; /* stream of the settings, 0: none */
    bool known;         /* the server has answered the settings */
    uint16_t slot_of[STREAMS_DISTINCT];
    char client_id[64];
};

/* Opens the connection, as a separate client. */
void lane_open(struct lane *lane, const struct options *options, int number, int slots);
void lane_close(struct lane *lane);

/* Registers the client as a consumer, and waits until it knows it: Apache's serves no other one. */
void lane_introduce(struct lane *lane, const struct options *options);

/* Begins a call in a free slot, or to be free. */
void lane_call(struct lane *lane, int slot, enum slot_state state, const char *path, const char *timeout,
               const unsigned char *message, size_t size, int64_t now);

/* The next slot whose answer is whole, or -1; its state is still that of the call. */
int lane_next(struct lane *lane);

/* Waits for lane_next: the slot. Fails after some seconds. */
int lane_wait(struct lane *lane, const char *what);

/* Fails unless the answer of a slot is one message with code OK. */
void lane_check(const struct slot *slot, const char *what);

/* The messages that a ReceiveMessage brought, into `out`, which points into the slot's answer; none is not an error. */
int lane_received(const struct slot *slot, struct delivered *out, int most);

#endif
