/* The escapes of JSON strings. */

#include "wire/header.h"

#include "core/scan.h"

/* Four hexadecimal digits; -1: they are not. */
static int32_t hex4(const uint8_t *at)
{
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        uint8_t digit = (uint8_t)(at[i] - '0');
        if (digit > 9) {
            digit = (uint8_t)((at[i] | 0x20) - 'a' + 10);
            if (digit < 10 || digit > 15) {
                return -1;
            }
        }
        value = value << 4 | digit;
    }
    return value;
}

static uint8_t *put_character(uint8_t *to, uint32_t character)
{
    if (character < 0x80) {
        *to++ = (uint8_t)character;
        return to;
    }
    if (character < 0x800) {
        *to++ = (uint8_t)(0xC0 | character >> 6);
    } else {
        if (character < 0x10000) {
            *to++ = (uint8_t)(0xE0 | character >> 12);
        } else {
            *to++ = (uint8_t)(0xF0 | character >> 18);
            *to++ = (uint8_t)(0x80 | (character >> 12 & 0x3F));
        }
        *to++ = (uint8_t)(0x80 | (character >> 6 & 0x3F));
    }
    *to++ = (uint8_t)(0x80 | (character & 0x3F));
    return to;
}

/* The character that `\uXXXX` at `at` is, or a pair of them; `at` moves behind it. -1: none. */
static int32_t unicode_escape(const uint8_t **at, const uint8_t *end)
{
    if (end - *at < 6) {
        return -1;
    }
    int32_t first = hex4(*at + 2);
    *at += 6;
    if (first < 0xD800 || first > 0xDFFF) {
        return first;
    }
    if (first > 0xDBFF || end - *at < 6 || (*at)[0] != '\\' || (*at)[1] != 'u') {
        return -1;
    }
    int32_t second = hex4(*at + 2);
    *at += 6;
    if (second < 0xDC00 || second > 0xDFFF) {
        return -1;
    }
    return 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
}

/* The character of an escape at `at`, which moves behind it. -1: none that is known. */
static int32_t escape(const uint8_t **at, const uint8_t *end)
{
    if (end - *at < 2) {
        return -1;
    }
    uint8_t kind = (*at)[1];
    if (kind == 'u') {
        return unicode_escape(at, end);
    }
    *at += 2;
    switch (kind) {
    case '"':
    case '\\':
    case '/':
        return kind;
    case 'b':
        return '\b';
    case 'f':
        return '\f';
    case 'n':
        return '\n';
    case 'r':
        return '\r';
    case 't':
        return '\t';
    default:
        return -1;
    }
}

bool json_unescape(span raw, uint8_t *to, size_t room, size_t *length)
{
    const uint8_t *at = raw.at, *end = raw.at + raw.len;
    uint8_t *start = to;
    if (room < raw.len) {
        return false; /* an escape is longer than its character, so this room always suffices */
    }
    while (at != end) {
        if (end - at >= WINDOW) {
            window in = window_at(at);
            window_mask special = window_special(in);
            size_t plain = special == 0 ? WINDOW : window_before(special);
            window_copy(to, in); /* the room behind `to` is at least as long as the text behind `at` */
            at += plain;
            to += plain;
            if (special == 0) {
                continue;
            }
        } else if (*at >= 0x20 && *at != '"' && *at != '\\') {
            *to++ = *at++;
            continue;
        }
        int32_t character = *at == '\\' ? escape(&at, end) : -1;
        if (character < 0) {
            return false;
        }
        to = put_character(to, (uint32_t)character);
    }
    *length = (size_t)(to - start);
    return true;
}
