/* The body of a batch send: wire.batch.BATCH_ITEM, one after the other. */

#include "core/utf8.h"
#include "message/properties.h"
#include "message/text.h"

enum { LEAST = BATCH_ITEM_BODY_AT + 2 }; /* with the length of the properties */

batch_state batch_next(span *rest, batch_message *found)
{
    const uint8_t *at = rest->at;
    if (rest->len == 0) return BATCH_END;
    if (rest->len < LEAST) return BATCH_BAD;
    int64_t total = (int32_t)get32(at), body_length = (int32_t)get32(at + BATCH_ITEM_BODY_LENGTH_AT);
    if (body_length < 0 || total < LEAST + body_length || (uint64_t)total > rest->len) return BATCH_BAD;
    const uint8_t *behind_body = at + BATCH_ITEM_BODY_AT + body_length;
    size_t left = (size_t)(total - LEAST - body_length);
    if (get16(behind_body) != left || left > MAX_PROPERTIES_LENGTH) return BATCH_BAD;
    found->flag = (int32_t)get32(at + BATCH_ITEM_FLAG_AT);
    found->body = span_of(at + BATCH_ITEM_BODY_AT, (size_t)body_length);
    found->properties = span_of(behind_body + 2, left);
    if (!utf8_valid(found->properties)) return BATCH_BAD;
    *rest = span_of(at + total, rest->len - (size_t)total);
    return BATCH_MESSAGE;
}
