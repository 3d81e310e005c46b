/* The answer to a SendMessage call whose message is stored. */
#ifndef ROCKETWIRE_CALL_ANSWER_H
#define ROCKETWIRE_CALL_ANSWER_H

#include "core/span.h"

typedef struct {
    span message_id, recall_handle; /* of the second at == NULL: none */
    int64_t queue_offset;
} call_answer;

size_t call_answer_size(const call_answer *from);
uint8_t *call_answer_write(uint8_t *to, const call_answer *from);

#endif
