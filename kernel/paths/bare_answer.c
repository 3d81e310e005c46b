#include "paths/bare_answer.h"

#include "core/decimal.h"
#include "wire/frame.h"

size_t bare_answer_most(const bare_answer *from)
{
    return FRAME_WORDS + from->before.len + DECIMAL_MOST + from->behind.len;
}

uint8_t *bare_answer_write(uint8_t *to, const bare_answer *from, uint8_t serialize_type, int32_t opaque)
{
    uint8_t *header = to + FRAME_WORDS;
    uint8_t *end = put_span(header, from->before);
    end = serialize_type == 0 ? put_decimal(end, opaque) : put32(end, (uint32_t)opaque);
    end = put_span(end, from->behind);
    frame_words_write(to, serialize_type, (size_t)(end - header), 0);
    return end;
}
