#include "forward/send_frame.h"

#include "core/decimal.h"
#include "core/scan.h"
#include "wire/frame.h"

enum { JSON = 0, NUMBERS = 4, ESCAPE_MOST = 6 };

size_t send_frame_most(const send_frame_texts *around, const framed_send *send)
{
    size_t size = FRAME_WORDS + NUMBERS * DECIMAL_MOST + ESCAPE_MOST * send->properties.len + send->body.len;
    for (int each = 0; each < SEND_FRAME_TEXTS; each++) size += around->texts[each].len;
    return size;
}

static uint8_t *put_escape(uint8_t *to, uint8_t byte)
{
    static const char digits[] = "0123456789abcdef";
    *to++ = '\\';
    if (byte == '"' || byte == '\\') {
        *to++ = byte;
        return to;
    }
    to = put_span(to, span_of("u00", 3));
    *to++ = (uint8_t)digits[byte >> 4];
    *to++ = (uint8_t)digits[byte & 0xF];
    return to;
}

/* A text as it stands between the quotes of a JSON string. The only control characters in property texts are the
 * separators, which JSON has no short escapes for. */
static uint8_t *put_json(uint8_t *to, span text)
{
    const uint8_t *at = text.at, *end = at + text.len;
    for (;;) {
        while (end - at >= WINDOW) {
            window in = window_at(at);
            window_mask special = window_special(in);
            if (special != 0) {
                size_t before = window_before(special);
                to = put_span(to, span_of(at, before));
                at += before;
                break;
            }
            window_copy(to, in);
            to += WINDOW;
            at += WINDOW;
        }
        while (at != end && *at >= 0x20 && *at != '"' && *at != '\\') *to++ = *at++;
        if (at == end) return to;
        to = put_escape(to, *at++);
    }
}

uint8_t *send_frame_write(uint8_t *to, const send_frame_texts *around, const framed_send *send)
{
    uint8_t *head = to + FRAME_WORDS;
    uint8_t *at = put_decimal(put_span(head, around->texts[0]), send->queue_id);
    at = put_decimal(put_span(at, around->texts[1]), send->sys_flag);
    at = put_decimal(put_span(at, around->texts[2]), send->born_timestamp);
    at = put_json(put_span(at, around->texts[3]), send->properties);
    at = put_decimal(put_span(at, around->texts[4]), send->opaque);
    at = put_span(at, around->texts[5]);
    frame_words_write(to, JSON, (size_t)(at - head), send->body.len);
    return put_span(at, send->body);
}
