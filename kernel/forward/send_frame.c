#include "forward/send_frame.h"

#include "core/decimal.h"
#include "core/json_text.h"
#include "wire/frame.h"

enum { NUMBERS = 4 };

size_t send_frame_most(const send_frame_texts *around, const framed_send *send)
{
    size_t size = FRAME_WORDS + NUMBERS * DECIMAL_MOST + JSON_TEXT_MOST * send->properties.len + send->body.len;
    for (int each = 0; each < SEND_FRAME_TEXTS; each++) size += around->texts[each].len;
    return size;
}

uint8_t *send_frame_write(uint8_t *to, const send_frame_texts *around, const framed_send *send)
{
    uint8_t *head = to + FRAME_WORDS;
    uint8_t *at = put_decimal(put_span(head, around->texts[0]), send->queue_id);
    at = put_decimal(put_span(at, around->texts[1]), send->sys_flag);
    at = put_decimal(put_span(at, around->texts[2]), send->born_timestamp);
    at = put_json_text(put_span(at, around->texts[3]), send->properties);
    at = put_decimal(put_span(at, around->texts[4]), send->opaque);
    at = put_span(at, around->texts[5]);
    frame_words_write(to, SERIALIZE_JSON, (size_t)(at - head), send->body.len);
    return put_span(at, send->body);
}
