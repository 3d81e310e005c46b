/* Numbers as decimal digits, as Java writes them. */
#ifndef ROCKETWIRE_DECIMAL_H
#define ROCKETWIRE_DECIMAL_H

#include "core/span.h"

#define DECIMAL_MOST 20 /* bytes that put_decimal writes at most */

static inline uint8_t *put_decimal(uint8_t *p, int64_t value)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
        "49505152535455565758596061626364656667686970717273747576777879808182838485868788899091929394959697"
        "9899";
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    uint8_t digits[DECIMAL_MOST];
    uint8_t *first = digits + DECIMAL_MOST;
    while (rest >= 100) {
        first -= 2;
        memcpy(first, pairs + rest % 100 * 2, 2);
        rest /= 100;
    }
    if (rest >= 10) {
        first -= 2;
        memcpy(first, pairs + rest * 2, 2);
    } else {
        *--first = (uint8_t)('0' + rest);
    }
    if (value < 0) {
        *--first = '-';
    }
    size_t length = (size_t)(digits + DECIMAL_MOST - first);
    memcpy(p, first, length);
    return p + length;
}

/* Parse one (no blanks, no plus, no leading zeros). False: it is not a number, or out of range. */
bool read_int64(span text, int64_t *value);
bool read_any_int32(span text, int32_t *value);

static inline bool read_int32(span text, int32_t *value)
{
    if (text.len != 1 || (uint8_t)(*text.at - '0') > 9) return read_any_int32(text, value);
    *value = *text.at - '0'; /* as most are */
    return true;
}

#endif
