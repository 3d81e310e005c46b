#include "send/send_answer.h"

#include "core/decimal.h"
#include "core/facts.h"

#define MESSAGE_ID_JSON ",\"" FIELD_MSG_ID "\":\"" /* the end of the third part */

enum { PREFIX_SIZE = 8, WORD = 4, PLACE_DIGITS = 16, NUMBERS = SEND_ANSWER_PARTS - 1, MORE_JSON = sizeof ",\"\":\"\"" };

/* The field that the answer to a message that waits has besides; value.at == NULL: none. */
typedef struct {
    span name, value;
} more_field;

static more_field more_of(const send_answer *one)
{
    if (one->transaction_id.at != NULL) {
        return (more_field){span_of(FIELD_TRANSACTION_ID, sizeof FIELD_TRANSACTION_ID - 1), one->transaction_id};
    }
    return (more_field){span_of(FIELD_RECALL_HANDLE, sizeof FIELD_RECALL_HANDLE - 1), one->recall_handle};
}

size_t send_answer_most(const send_answers *all, const send_answer *one)
{
    more_field more = more_of(one);
    size_t size = more.name.len + more.value.len + MORE_JSON + PREFIX_SIZE + NUMBERS * (DECIMAL_MOST + WORD) +
                  one->count * (all->id_prefix.len + PLACE_DIGITS + 1);
    for (int part = 0; part < SEND_ANSWER_PARTS; part++) size += all->parts[one->serialize_type][part].len;
    return size;
}

/* A physical offset as 16 hexadecimal digits: eight at once, each nibble in a separate byte. */
static uint8_t *put_place(uint8_t *p, int64_t place)
{
    const uint64_t ones = 0x0101010101010101u;
    for (int shift = 32; shift >= 0; shift -= 32) {
        uint64_t half = (uint64_t)place >> shift & 0xFFFFFFFFu;
        half = (half | half << 16) & 0x0000FFFF0000FFFFu;
        half = (half | half << 8) & 0x00FF00FF00FF00FFu;
        half = (half | half << 4) & 0x0F0F0F0F0F0F0F0Fu;
        uint64_t letters = (half + 6 * ones) >> 4 & ones; /* 1 where the nibble is A to F */
        p = put64(p, half + '0' * ones + ('A' - '0' - 10) * letters);
    }
    return p;
}

static uint8_t *put_ids(uint8_t *p, span prefix, const send_answer *one)
{
    for (size_t each = 0; each < one->count; each++) {
        if (each > 0) *p++ = ',';
        p = put_place(put_span(p, prefix), one->places[each]);
    }
    return p;
}

/* The third part, with one more field before its end if there is one. */
static uint8_t *put_more(uint8_t *p, span part, const send_answer *one)
{
    more_field more = more_of(one);
    size_t end = sizeof MESSAGE_ID_JSON - 1;
    if (more.value.at == NULL || part.len < end) {
        return put_span(p, part);
    }
    p = put_span(p, span_of(part.at, part.len - end));
    p = put_span(put_span(p, span_of(",\"", 2)), more.name);
    p = put_span(put_span(p, span_of("\":\"", 3)), more.value);
    *p++ = '"';
    return put_span(p, span_of(part.at + part.len - end, end));
}

static uint8_t *put_json(uint8_t *p, const span *parts, span id_prefix, const send_answer *one)
{
    p = put_decimal(put_span(p, parts[0]), RESPONSE_SUCCESS);
    p = put_decimal(put_span(p, parts[1]), one->queue_id);
    p = put_ids(put_more(p, parts[2], one), id_prefix, one);
    p = put_decimal(put_span(p, parts[3]), one->queue_offset);
    p = put_decimal(put_span(p, parts[4]), one->opaque);
    return put_span(p, parts[5]);
}

/* Write at `length` the number of bytes between it and `end`; returns `end`. */
static uint8_t *set_length(uint8_t *length, uint8_t *end)
{
    put32(length, (uint32_t)(end - length - WORD));
    return end;
}

static uint8_t *put_binary(uint8_t *p, const span *parts, span id_prefix, const send_answer *one)
{
    p = put32(put_span(put16(p, RESPONSE_SUCCESS), parts[0]), (uint32_t)one->opaque);
    uint8_t *fields = put_span(p, parts[1]);
    p = put_span(fields + WORD, parts[2]);
    p = put_span(set_length(p, put_ids(p + WORD, id_prefix, one)), parts[3]);
    p = put_span(set_length(p, put_decimal(p + WORD, one->queue_id)), parts[4]);
    p = set_length(p, put_decimal(p + WORD, one->queue_offset));
    more_field more = more_of(one);
    if (more.value.at != NULL) {
        p = put_span(put16(p, (uint16_t)more.name.len), more.name);
        p = put_span(put32(p, (uint32_t)more.value.len), more.value);
    }
    return set_length(fields, put_span(p, parts[5]));
}

uint8_t *send_answer_write(uint8_t *to, const send_answers *all, const send_answer *one)
{
    const span *parts = all->parts[one->serialize_type];
    uint8_t *header = to + PREFIX_SIZE;
    uint8_t *end = (one->serialize_type == 0 ? put_json : put_binary)(header, parts, all->id_prefix, one);
    uint32_t length = (uint32_t)(end - header);
    put32(put32(to, length + WORD), (uint32_t)one->serialize_type << 24 | length);
    return end;
}
