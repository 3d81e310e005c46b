/* Writes the measured columns: see columns.h. All columns of a few records are written before the next few, so that the
 * records stay in the first-level cache. */

#include "records/columns/columns.h"

#include "records/records_module.h"

enum { PHYSICAL_OFFSET_AT = 28 };

/* Most texts are so short that calling memcpy takes longer than copying: their halves overlap. */
static inline void text_copy(uint8_t *to, const uint8_t *from, size_t len)
{
#define HALVES(size)                                          \
    do {                                                      \
        memcpy(to, from, size);                               \
        memcpy(to + len - (size), from + len - (size), size); \
        return;                                               \
    } while (0)
    if (len > 128) {
        memcpy(to, from, len);
        return;
    }
    if (len > 64) HALVES(64);
    if (len > 32) HALVES(32);
    if (len >= 16) HALVES(16);
    if (len >= 8) HALVES(8);
    if (len >= 4) HALVES(4);
    for (size_t i = 0; i < len; i++) to[i] = from[i];
#undef HALVES
}

/* Offsets behind each text, counted from the beginning of all; the first is 0. */
static void texts_write(const pieces *list, size_t first, size_t behind, int32_t *ends, uint8_t *data)
{
    size_t at = (size_t)ends[first];
    for (size_t i = first; i < behind; i++) {
        const piece *one = &list->at[i];
        text_copy(data + at, one->at, one->len);
        at += one->len;
        ends[i + 1] = (int32_t)at;
    }
}

static void values_write(const pieces *list, size_t first, size_t behind, int32_t *ends, uint8_t *data)
{
    size_t at = (size_t)ends[first];
    for (size_t i = first; i < behind; i++) {
        const piece *one = &list->at[i];
        text_copy(data + at, one->at + one->len + 1, one->value_len);
        at += one->value_len;
        ends[i + 1] = (int32_t)at;
    }
}

/* Eight hexadecimal digits: a nibble in each byte first, the highest in the highest. */
static inline void digits_write(uint8_t *to, uint32_t value)
{
    const uint64_t ones = 0x0101010101010101u;
    uint64_t x = value;
    x = (x & 0xFFFF0000u) << 16 | (x & 0xFFFFu);
    x = (x & 0x0000FF000000FF00u) << 8 | (x & 0x000000FF000000FFu);
    x = (x & 0x00F000F000F000F0u) << 4 | (x & 0x000F000F000F000Fu);
    uint64_t letters = (x + ones * 6) >> 4 & ones;
    put64(to, x + ones * '0' + letters * ('A' - '0' - 10));
}

/* Store host and physical offset; both are of a multiple of four bytes. */
static size_t id_write(const measured *from, size_t row, uint8_t *to)
{
    const uint8_t *record = from->records[row], *offset = record + PHYSICAL_OFFSET_AT;
    const uint8_t *host = record + BORN_HOST_AT + born_size(from->host_bits[row]) + 8;
    const uint8_t *end = host + store_size(from->host_bits[row]);
    for (; host != end; host += 4, to += 8) digits_write(to, get32(host));
    digits_write(to, get32(offset));
    digits_write(to + 8, get32(offset + 4));
    return offset_id_size(from, row);
}

static void ids_write(const measured *from, const pieces *keys, size_t first, size_t behind, int32_t *ends,
                      uint8_t *data)
{
    size_t at = (size_t)ends[first];
    for (size_t row = first; row < behind; row++) {
        const piece *key = keys == NULL ? NULL : &keys->at[row];
        if (key == NULL || key->at == NULL) {
            at += id_write(from, row, data + at);
        } else {
            text_copy(data + at, key->at, key->len);
            at += key->len;
        }
        ends[row + 1] = (int32_t)at;
    }
}

static void valid_write(const pieces *list, size_t first, size_t behind, uint8_t *bits)
{
    for (size_t i = first; i < behind; i += 8) {
        unsigned valid = 0;
        for (size_t bit = 0; bit < 8 && i + bit < behind; bit++)
            valid |= (unsigned)(list->at[i + bit].at != NULL) << bit;
        bits[i / 8] = (uint8_t)valid;
    }
}

/* From the records of `first` on: where their words or items begin. */
static size_t inner(const int32_t *ends, size_t row) { return row == 0 ? 0 : (size_t)ends[row - 1]; }

static void lists_write(const measured *from, const column_place *place, size_t first, size_t behind, uint8_t *memory)
{
    bool words = place->what.kind == KEY_WORDS;
    const int32_t *ends = words ? from->word_ends : from->item_ends;
    memcpy(memory + place->at[0] + 4 * (first + 1), ends + first, 4 * (behind - first));
    size_t start = inner(ends, first), end = inner(ends, behind);
    const pieces *list = words ? &from->lists[WORDS] : &from->reader.items;
    texts_write(list, start, end, (int32_t *)(void *)(memory + place->at[1]), memory + place->at[2]);
    if (!words) values_write(list, start, end, (int32_t *)(void *)(memory + place->at[3]), memory + place->at[4]);
}

static void column_write(const measured *from, const column_place *place, const record_heads *heads, size_t first,
                         uint8_t *memory)
{
    const column_what *what = &place->what;
    size_t behind = first + heads->count;
    uint8_t *part[COLUMN_PARTS_MOST];
    for (int i = 0; i < place->parts; i++) part[i] = memory + place->at[i];
    switch (what->kind) {
    case NUMBERS:
        record_field_copy(what->field, heads, part[0] + first * what->field->width);
        break;
    case TIMES:
        record_times_copy(what->field, heads, part[0] + first * what->field->width);
        break;
    case TEXTS:
        texts_write(&from->lists[what->list], first, behind, (int32_t *)(void *)part[0], part[1]);
        break;
    case MAYBE_TEXTS:
        texts_write(&from->lists[what->list], first, behind, (int32_t *)(void *)part[0], part[1]);
        valid_write(&from->lists[what->list], first, behind, part[2]);
        break;
    case MESSAGE_IDS:
    case OFFSET_IDS:
        ids_write(from, what->kind == MESSAGE_IDS ? &from->lists[UNIQUE_KEYS] : NULL, first, behind,
                  (int32_t *)(void *)part[0], part[1]);
        break;
    case KEY_WORDS:
    case PROPERTIES:
        lists_write(from, place, first, behind, memory);
        break;
    }
}

/* All offsets begin with 0. */
static void starts_write(const column_place *place, uint8_t *memory)
{
    if (place->what.kind == NUMBERS || place->what.kind == TIMES) return;
    memset(memory + place->at[0], 0, 4);
    if (place->parts > 3 || place->what.kind == KEY_WORDS) memset(memory + place->at[1], 0, 4);
    if (place->parts > 3) memset(memory + place->at[3], 0, 4);
}

bool columns_write(const measured *from, const column_place *places, size_t count, uint8_t *memory)
{
    record_heads heads;
    for (size_t i = 0; i < count; i++) starts_write(&places[i], memory);
    for (size_t first = 0; first < from->count; first += HEADS_TOGETHER) {
        size_t some = from->count - first < HEADS_TOGETHER ? from->count - first : HEADS_TOGETHER;
        if (!from->numbers_only) {
            heads_of(&heads, from->records + first, from->host_bits + first, some);
        } else if (!heads_find(from->buffer, from->positions + first, some, &heads)) {
            return false;
        }
        for (size_t i = 0; i < count; i++) column_write(from, &places[i], &heads, first, memory);
    }
    return true;
}
