#include "core/json_text.h"

#include "core/scan.h"

static uint8_t *put_escape(uint8_t *to, uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    *to++ = '\\';
    switch (byte) {
    case '"':
    case '\\':
        *to++ = byte;
        return to;
    case '\b':
        *to++ = 'b';
        return to;
    case '\t':
        *to++ = 't';
        return to;
    case '\n':
        *to++ = 'n';
        return to;
    case '\f':
        *to++ = 'f';
        return to;
    case '\r':
        *to++ = 'r';
        return to;
    default:
        break;
    }
    to = put_span(to, span_of("u00", 3));
    *to++ = (uint8_t)digits[byte >> 4];
    *to++ = (uint8_t)digits[byte & 15];
    return to;
}

uint8_t *put_json_text(uint8_t *to, span text)
{
    const uint8_t *at = text.at, *end = at + text.len;
    while (end - at >= WINDOW) {
        window in = window_at(at);
        window_copy(to, in); /* as many bytes at least are still to be written */
        window_mask special = window_special(in);
        size_t plain = special == 0 ? WINDOW : window_before(special);
        to += plain;
        at += plain;
        if (special != 0) to = put_escape(to, *at++);
    }
    for (; at < end; at++) {
        if (*at < 0x20 || *at == '"' || *at == '\\') {
            to = put_escape(to, *at);
        } else {
            *to++ = *at;
        }
    }
    return to;
}
