/* An answer without a body, whose header differs in the opaque only. */
#ifndef ROCKETWIRE_BARE_ANSWER_H
#define ROCKETWIRE_BARE_ANSWER_H

#include "core/span.h"

/* The texts before and behind the opaque. */
typedef struct {
    span before, behind;
} bare_answer;

/* Bytes that its frame takes at most. */
size_t bare_answer_most(const bare_answer *from);

/* Write the frame; returns its end. */
uint8_t *bare_answer_write(uint8_t *to, const bare_answer *from, uint8_t serialize_type, int32_t opaque);

#endif
