#include "send/send_answer.h"

#include "core/decimal.h"

#define RECALL_HANDLE "recallHandle"
#define RECALL_JSON ",\"" RECALL_HANDLE "\":\""
#define MESSAGE_ID_JSON ",\"msgId\":\"" /* the end of the third part */

enum { PREFIX_SIZE = 8, WORD = 4, PLACE_DIGITS = 16, NUMBERS = SEND_ANSWER_PARTS - 1, SUCCESS = 0 };

size_t send_answer_most(const send_answers *all, const send_answer *one)
{
    size_t size = sizeof RECALL_JSON + one->recall_handle.len + PREFIX_SIZE + NUMBERS * (DECIMAL_MOST + WORD) +
                  one->count * (all->id_prefix.len + PLACE_DIGITS + 1);
    for (int part = 0; part < SEND_ANSWER_PARTS; part++) size += all->parts[one->serialize_type][part].len;
    return size;
}

/* A physical offset as 16 hexadecimal digits: eight at once, each nibble in a byte of its own. */
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

/* The third part, with the handle before its end if there is one. */
static uint8_t *put_recall(uint8_t *p, span part, const send_answer *one)
{
    size_t end = sizeof MESSAGE_ID_JSON - 1;
    if (one->recall_handle.at == NULL || part.len < end) return put_span(p, part);
    p = put_span(p, span_of(part.at, part.len - end));
    p = put_span(put_span(p, span_of(RECALL_JSON, sizeof RECALL_JSON - 1)), one->recall_handle);
    *p++ = '"';
    return put_span(p, span_of(part.at + part.len - end, end));
}

static uint8_t *put_json(uint8_t *p, const span *parts, span id_prefix, const send_answer *one)
{
    p = put_decimal(put_span(p, parts[0]), SUCCESS);
    p = put_decimal(put_span(p, parts[1]), one->queue_id);
    p = put_ids(put_recall(p, parts[2], one), id_prefix, one);
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
    p = put32(put_span(put16(p, SUCCESS), parts[0]), (uint32_t)one->opaque);
    uint8_t *fields = put_span(p, parts[1]);
    p = put_span(fields + WORD, parts[2]);
    p = put_span(set_length(p, put_ids(p + WORD, id_prefix, one)), parts[3]);
    p = put_span(set_length(p, put_decimal(p + WORD, one->queue_id)), parts[4]);
    p = set_length(p, put_decimal(p + WORD, one->queue_offset));
    if (one->recall_handle.at != NULL) {
        span name = span_of(RECALL_HANDLE, sizeof RECALL_HANDLE - 1);
        p = put_span(put16(p, (uint16_t)name.len), name);
        p = put_span(put32(p, (uint32_t)one->recall_handle.len), one->recall_handle);
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
