/* Heads of pull answers: see pull_answer.h. */

#include "pull_answer.h"

#include "decimal.h"

#define WORDS 8 /* bytes of the two words before a header; the first does not count itself */
#define WORD 4

size_t pull_answer_most(const pull_answer *from)
{
    return WORDS + from->length + 5 * (DECIMAL_MOST + WORD);
}

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

static void put_words(uint8_t *to, uint8_t serialize_type, size_t header, size_t body)
{
    put32(to, (uint32_t)(WORD + header + body));
    put32(to + WORD, (uint32_t)serialize_type << 24 | (uint32_t)header);
}

uint8_t *pull_answer_write(uint8_t *to, const pull_answer *from, uint8_t serialize_type, const pull_numbers *numbers,
                           size_t body)
{
    uint8_t *header = to + WORDS;
    uint8_t *end = (serialize_type == 0 ? put_json : put_binary)(header, from->parts, numbers);
    put_words(to, serialize_type, (size_t)(end - header), body);
    return end;
}

size_t done_answer_most(const done_answer *from)
{
    return WORDS + from->before.len + DECIMAL_MOST + from->behind.len;
}

uint8_t *done_answer_write(uint8_t *to, const done_answer *from, uint8_t serialize_type, int32_t opaque)
{
    uint8_t *header = to + WORDS;
    uint8_t *end = put_span(header, from->before);
    end = serialize_type == 0 ? put_decimal(end, opaque) : put32(end, (uint32_t)opaque);
    end = put_span(end, from->behind);
    put_words(to, serialize_type, (size_t)(end - header), 0);
    return end;
}
