#include "core/utf8.h"

static bool follows(uint8_t byte) { return (byte & 0xC0) == 0x80; }

/* The length of the character at `p`, whose first byte is not ASCII; 0: it is invalid. */
static size_t character(const uint8_t *p, size_t left)
{
    uint8_t first = p[0];
    if (first < 0xC2 || first > 0xF4 || left < 2) return 0;
    if (first < 0xE0) return follows(p[1]) ? 2 : 0;
    uint8_t least = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    uint8_t most = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < least || p[1] > most || left < 3 || !follows(p[2])) return 0;
    if (first < 0xF0) return 3;
    return left >= 4 && follows(p[3]) ? 4 : 0;
}

bool utf8_valid(span text)
{
    const uint8_t *p = text.at, *end = text.at + text.len;
    while (p < end) {
        uint64_t word;
        if (end - p >= 8 && (memcpy(&word, p, 8), (word & 0x8080808080808080u) == 0)) {
            p += 8;
        } else if (*p < 0x80) {
            p++;
        } else {
            size_t size = character(p, (size_t)(end - p));
            if (size == 0) return false;
            p += size;
        }
    }
    return true;
}
