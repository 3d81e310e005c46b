/* Heads of pull answers: see pull_answer.h. */

#include "pull/pull_answer.h"

#include "core/decimal.h"
#include "wire/frame.h"

#define WORD 4 /* bytes of a length */

size_t pull_answer_most(const pull_answer *from) { return FRAME_WORDS + from->length + 5 * (DECIMAL_MOST + WORD); }

static uint8_t *put_json(uint8_t *to, const span *parts, const pull_numbers *numbers)
{
    to = put_decimal(put_span(to, parts[0]), numbers->next);
    to = put_decimal(put_span(to, parts[1]), numbers->min);
    to = put_decimal(put_span(to, parts[2]), numbers->max);
    to = put_decimal(put_span(to, parts[3]), numbers->opaque);
    return put_span(to, parts[4]);
}

static uint8_t *put_counted(uint8_t *to, int64_t value)
{
    uint8_t *end = put_decimal(to + WORD, value);
    put32(to, (uint32_t)(end - to - WORD));
    return end;
}

static uint8_t *put_binary(uint8_t *to, const span *parts, const pull_numbers *numbers)
{
    to = put32(put_span(to, parts[0]), (uint32_t)numbers->opaque);
    uint8_t *length = put_span(to, parts[1]);
    to = put_counted(put_span(length + WORD, parts[2]), numbers->next);
    to = put_counted(put_span(to, parts[3]), numbers->min);
    to = put_counted(put_span(to, parts[4]), numbers->max);
    put32(length, (uint32_t)(to - length - WORD));
    return to;
}

uint8_t *pull_answer_write(uint8_t *to, const pull_answer *from, uint8_t serialize_type, const pull_numbers *numbers,
                           size_t body)
{
    uint8_t *header = to + FRAME_WORDS;
    uint8_t *end = (serialize_type == 0 ? put_json : put_binary)(header, from->parts, numbers);
    frame_words_write(to, serialize_type, (size_t)(end - header), body);
    return end;
}
