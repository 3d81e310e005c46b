/* Which records are valid: see records.h. */

#include "records/records.h"

#include "core/utf8.h"
#include "message/record.h"

enum { PHYSICAL_OFFSET_AT = 28, BODY_CRC_AT = 8, CRC_MASK = 0x7FFFFFFF };

#define EACH_ONE 0x0101010101010101u

/* Whether all eight bytes are ASCII, and none is a NUL: what is subtracted would set the high bit of such a one, or of
 * one behind it. */
static inline bool plain_word(uint64_t word) { return (((word - EACH_ONE) | word) & EACH_ONE * 0x80) == 0; }

static inline uint64_t word_at(const uint8_t *at)
{
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Text without a NUL. Of a short one the word that ends with it is examined: a record's head is before it. */
static inline bool is_topic(span topic)
{
    if (topic.len == 0) return false;
    const uint8_t *last = topic.at + topic.len - 8;
    uint64_t others = topic.len < 8 ? ((uint64_t)1 << 8 * (8 - topic.len)) - 1 : 0; /* bits that are not the topic's */
    bool plain = plain_word((word_at(last) & ~others) | (others & EACH_ONE));
    for (const uint8_t *at = topic.at; plain && at < last; at += 8) plain = plain_word(word_at(at));
    return plain || (memchr(topic.at, 0, topic.len) == NULL && utf8_valid(topic));
}

/* The size of the record at a position of a buffer if it is valid, else 0. */
static inline size_t believed(span buffer, size_t place, size_t room, const int64_t *base)
{
    const uint8_t *at = buffer.at + place;
    record_parts found;
    size_t size = parts_of(at, room, &found);
    if (size == 0 || (base != NULL && get64(at + PHYSICAL_OFFSET_AT) != (uint64_t)*base + place)) return 0;
    return is_topic(found.topic) ? size : 0;
}

size_t records_walk(span buffer, const int64_t *base, size_t *position, size_t end, int64_t *positions, size_t most)
{
    size_t count = 0, place = *position;
    for (size_t size; count < most; place += size) {
        size = believed(buffer, place, end - place, base);
        if (size == 0) break;
        positions[count++] = (int64_t)place;
    }
    *position = place;
    return count;
}

void records_check(span buffer, const int64_t *base, const int64_t *positions, const int64_t *sizes, size_t count,
                   uint8_t *good)
{
    for (size_t i = 0; i < count; i++) {
        /* As an unsigned number a negative one is larger than any position or size. */
        uint64_t place = (uint64_t)positions[i], size = (uint64_t)sizes[i];
        bool inside = place <= buffer.len && size <= buffer.len - place;
        good[i] = inside && size != 0 && believed(buffer, place, size, base) == size;
    }
}

bool record_body_good(const record_parts *record)
{
    return record->body.len == 0 || (crc32_of(record->body) & CRC_MASK) == get32(record->at + BODY_CRC_AT);
}
