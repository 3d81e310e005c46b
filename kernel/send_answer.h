/* The frame that answers a stored send, as wire.fast.SendAnswers writes it. */
#ifndef ROCKETWIRE_SEND_ANSWER_H
#define ROCKETWIRE_SEND_ANSWER_H

#include "span.h"

#define SEND_ANSWER_PARTS 6

typedef struct {
    span parts[SEND_ANSWER_PARTS]; /* between them: code, queue id, message ids, queue offset, opaque */
    span id_prefix;                /* of every message id: the store's address in hexadecimal digits */
} send_answers;

typedef struct {
    int32_t code, queue_id, opaque;
    int64_t queue_offset;
    const int64_t *places; /* physical offsets of the messages, at least one */
    size_t count;
} send_answer;

/* Bytes that an answer with so many messages takes at most. */
size_t send_answer_most(const send_answers *all, size_t count);

/* Write it; give where it ends. */
uint8_t *send_answer_write(uint8_t *to, const send_answers *all, const send_answer *one);

#endif
