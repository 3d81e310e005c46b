/* The frame that answers a stored send, in the serialisation of the request: as server.send.handlers writes it. */
#ifndef ROCKETWIRE_SEND_ANSWER_H
#define ROCKETWIRE_SEND_ANSWER_H

#include "core/span.h"

#define SEND_ANSWER_PARTS 6

/* JSON: between the parts are code, queue id, message ids, queue offset and opaque.
 * ROCKETMQ, behind the code: before the opaque; from there to the length of the fields; the fields up to the length of
 * the message ids, from there to that of the queue id, from there to that of the queue offset; what is behind it. */
typedef struct {
    span parts[2][SEND_ANSWER_PARTS]; /* by serialise type */
    span id_prefix;                   /* of every message id: the store's address in hexadecimal digits */
} send_answers;

typedef struct {
    int32_t queue_id, opaque;
    uint8_t serialize_type;
    int64_t queue_offset;
    const int64_t *places; /* physical offsets of the messages, at least one */
    size_t count;
    span recall_handle;  /* at == NULL: it has none */
    span transaction_id; /* of a half message, without what JSON escapes; as that */
} send_answer;

/* Bytes that an answer takes at most. */
size_t send_answer_most(const send_answers *all, const send_answer *one);

/* Write it; returns its end. */
uint8_t *send_answer_write(uint8_t *to, const send_answers *all, const send_answer *one);

#endif
