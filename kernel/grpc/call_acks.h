/* Plain AckMessage calls: of deliveries by one broker. The twins are
 * server.grpc.consuming.acknowledging and wire.grpc.receipt. */
#ifndef ROCKETWIRE_CALL_ACKS_H
#define ROCKETWIRE_CALL_ACKS_H

#include "core/span.h"

enum { ACKS_MOST = 128 };

/* A delivery, by its receipt handle. */
typedef struct {
    int64_t start, pop_time, invisible_time, offset;
    int32_t revive_queue, queue;
    char kind;
    bool renewed;
    span broker;
} ack_handle;

typedef struct {
    span message_id, text; /* the second is the handle */
    ack_handle handle;
} call_ack;

typedef struct {
    span topic, group;
    call_ack acks[ACKS_MOST];
    size_t count;
    int64_t until; /* in ms: the first of the deliveries is over then */
} call_acks;

/* Read a receipt handle, with or without the mark of a renewed one. False: it is none, or has more than the usual
 * parts. */
bool ack_handle_read(span text, ack_handle *found);

/* Whether two handles name the same check point. */
bool ack_handles_match(const ack_handle *a, const ack_handle *b);

/* Read a request. False: it is not plain. */
bool call_acks_read(span request, call_acks *found);

/* The response of success. */
size_t call_acks_answer_size(const call_acks *from);
uint8_t *call_acks_answer_write(uint8_t *to, const call_acks *from);

#endif
