/* Bytes as hexadecimal digits, in capitals as in message ids. */
#ifndef ROCKETWIRE_HEX_H
#define ROCKETWIRE_HEX_H

#include "core/span.h"

static inline uint8_t *put_hex(uint8_t *p, span data)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t each = 0; each < data.len; each++) {
        *p++ = (uint8_t)digits[data.at[each] >> 4];
        *p++ = (uint8_t)digits[data.at[each] & 15];
    }
    return p;
}

#endif
