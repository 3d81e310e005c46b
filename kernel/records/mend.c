/* Replaces bytes that are not UTF-8 as Python's decode("utf-8", "replace") does: by U+FFFD for each longest part that
 * might have begun a character. */

#include "records/texts.h"

static const uint8_t replacement[] = {0xEF, 0xBF, 0xBD};

/* How long the character at `p` is, and whether it is whole; else so many bytes are replaced. */
static size_t next_part(const uint8_t *p, size_t left, bool *whole)
{
    uint8_t first = p[0];
    *whole = first < 0x80;
    if (first < 0xC2 || first > 0xF4) return 1;
    size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    uint8_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    size_t have = 1;
    while (have < size && have < left && p[have] >= least && p[have] <= most) {
        have++;
        least = 0x80, most = 0xBF;
    }
    *whole = have == size;
    return have;
}

size_t mended_length(span text)
{
    size_t length = 0;
    bool whole;
    for (size_t at = 0, part; at < text.len; at += part) {
        part = next_part(text.at + at, text.len - at, &whole);
        length += whole ? part : sizeof replacement;
    }
    return length;
}

void mended_write(span text, uint8_t *to)
{
    bool whole;
    for (size_t at = 0, part; at < text.len; at += part) {
        part = next_part(text.at + at, text.len - at, &whole);
        to = put_span(to, whole ? span_of(text.at + at, part) : span_of(replacement, sizeof replacement));
    }
}
