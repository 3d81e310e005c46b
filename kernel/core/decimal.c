#include "core/decimal.h"

enum { DIGITS_MOST = 19 }; /* as many always fit 64 bits without a sign */

bool read_int64(span text, int64_t *value)
{
    bool negative = text.len > 0 && text.at[0] == '-';
    const uint8_t *at = text.at + negative, *end = text.at + text.len;
    size_t digits = (size_t)(end - at);
    if (digits == 0 || digits > DIGITS_MOST || (*at == '0' && (digits > 1 || negative))) {
        return false;
    }
    uint64_t sum = 0;
    for (; at != end; at++) {
        uint8_t digit = (uint8_t)(*at - '0');
        if (digit > 9) {
            return false;
        }
        sum = sum * 10 + digit;
    }
    if (sum > (uint64_t)INT64_MAX + negative) {
        return false;
    }
    *value = negative ? (int64_t)(0 - sum) : (int64_t)sum;
    return true;
}

bool read_any_int32(span text, int32_t *value)
{
    int64_t wide;
    if (!read_int64(text, &wide) || wide < INT32_MIN || wide > INT32_MAX) {
        return false;
    }
    *value = (int32_t)wide;
    return true;
}
