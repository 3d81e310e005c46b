#include "send_answer.h"

#include "decimal.h"

enum { PREFIX_SIZE = 8, TYPE_WORD = 4, PLACE_DIGITS = 16, NUMBERS = SEND_ANSWER_PARTS - 1 };

size_t send_answer_most(const send_answers *all, size_t count)
{
    size_t size = PREFIX_SIZE + NUMBERS * DECIMAL_MOST + count * (all->id_prefix.len + PLACE_DIGITS + 1);
    for (int part = 0; part < SEND_ANSWER_PARTS; part++) size += all->parts[part].len;
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

uint8_t *send_answer_write(uint8_t *to, const send_answers *all, const send_answer *one)
{
    uint8_t *p = to + PREFIX_SIZE;
    p = put_decimal(put_span(p, all->parts[0]), one->code);
    p = put_decimal(put_span(p, all->parts[1]), one->queue_id);
    p = put_span(p, all->parts[2]);
    for (size_t each = 0; each < one->count; each++) {
        if (each > 0) *p++ = ',';
        p = put_place(put_span(p, all->id_prefix), one->places[each]);
    }
    p = put_decimal(put_span(p, all->parts[3]), one->queue_offset);
    p = put_decimal(put_span(p, all->parts[4]), one->opaque);
    p = put_span(p, all->parts[5]);
    uint32_t length = (uint32_t)(p - to - PREFIX_SIZE);
    put32(put32(to, length + TYPE_WORD), length);
    return p;
}
