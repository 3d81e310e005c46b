/* The heads of answers to pulls, composed of parts of an answer that Python encoded. */
#ifndef ROCKETWIRE_PULL_ANSWER_H
#define ROCKETWIRE_PULL_ANSWER_H

#include "core/span.h"

#define PULL_ANSWER_PARTS 5

/* JSON: the text before, between and behind nextBeginOffset, minOffset, maxOffset and the opaque.
 * ROCKETMQ: before the opaque; from there to the length of the fields; the fields up to the first offset's length,
 * between that and the next one's, and so on. */
typedef struct {
    span parts[PULL_ANSWER_PARTS];
    size_t length; /* of all parts */
} pull_answer;

typedef struct {
    int64_t next, min, max;
    int32_t opaque;
} pull_numbers;

/* Bytes that a head takes at most, both words before it included. */
size_t pull_answer_most(const pull_answer *from);

/* Write it with the words that make it the head of a frame whose body has `body` bytes. Returns its end. */
uint8_t *pull_answer_write(uint8_t *to, const pull_answer *from, uint8_t serialize_type, const pull_numbers *numbers,
                           size_t body);

#endif
