/* Java's String.hashCode of UTF-8 text: h = 31 * h + unit over UTF-16 units, in 32 bits. */

#include "message/text.h"

#define LOW_BYTES 0x00FF00FF00FF00FFu
#define LOW_WORDS 0x0000FFFF0000FFFFu
#define NOT_ASCII 0x8080808080808080u

/* 31 to the power of 2, 4, 8, and again of 4 and 8 in 32 bits, which they overflow. */
enum { POWER_2 = 31 * 31, POWER_4 = 31 * 31 * 31 * 31 };
#define POWER_8 ((uint32_t)POWER_4 * (uint32_t)POWER_4)

/* Eight ASCII characters at once: pairs, then pairs of pairs, side by side in a word (none overflows into the next). */
static uint32_t eight(uint64_t word)
{
    uint64_t pairs = (word & LOW_BYTES) * 31 + (word >> 8 & LOW_BYTES);
    uint64_t fours = (pairs & LOW_WORDS) * POWER_2 + (pairs >> 16 & LOW_WORDS);
    return (uint32_t)fours * (uint32_t)POWER_4 + (uint32_t)(fours >> 32);
}

/* The character at `p`, which moves behind it; bytes that are not UTF-8 are taken singly. */
static uint32_t next_character(const uint8_t **p, const uint8_t *end)
{
    const uint8_t *at = *p;
    size_t left = (size_t)(end - at);
    uint32_t first = at[0];
    if (first >= 0xF0 && left >= 4) {
        *p = at + 4;
        return (first & 0x07) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
    }
    if (first >= 0xE0 && left >= 3) {
        *p = at + 3;
        return (first & 0x0F) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
    }
    if (first >= 0xC0 && left >= 2) {
        *p = at + 2;
        return (first & 0x1F) << 6 | (at[1] & 0x3Fu);
    }
    *p = at + 1;
    return first;
}

int32_t java_hash(int32_t hash, span text)
{
    uint32_t h = (uint32_t)hash;
    const uint8_t *p = text.at, *end = text.at + text.len;
    for (uint64_t word; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        if (word & NOT_ASCII) break;
        h = h * POWER_8 + eight(word);
    }
    while (p < end) {
        uint32_t point = next_character(&p, end);
        if (point >= 0x10000) {
            h = 31 * h + (0xD800 + ((point - 0x10000) >> 10));
            point = 0xDC00 + (point & 0x3FF);
        }
        h = 31 * h + point;
    }
    return (int32_t)h;
}
