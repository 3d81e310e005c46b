/* In JSON a key is looked for by its text: within a text of a header a quote has a backslash before it, so that nothing
 * else looks like a key with a number, unless a field of extFields has its name and a number, which no client writes.
 * Only counts and samples depend on what is found. */

#include "relay/head.h"

#include "core/decimal.h"
#include "core/facts.h"
#include "core/keys_in_text.h"

enum { TAIL = 128 }; /* bytes at the end of a header that Java wrote: opaque and flag follow the fields */

static bool number_at(const uint8_t *at, const uint8_t *end, int32_t *value)
{
    const uint8_t *start = at;
    while (at < end && (*at == '-' || (*at >= '0' && *at <= '9'))) at++;
    return read_int32(span_of(start, (size_t)(at - start)), value);
}

static bool find(const uint8_t *at, const uint8_t *end, text_key wanted, int32_t *value)
{
    while ((at = text_key_find(at, end, wanted)) != NULL) {
        if (number_at(at + wanted.text.len, end, value)) {
            return true;
        }
        at++;
    }
    return false;
}

/* First where Java writes it. */
static bool find_late(span header, text_key wanted, int32_t *value)
{
    const uint8_t *end = header.at + header.len;
    return (header.len > TAIL && find(end - TAIL, end, wanted, value)) || find(header.at, end, wanted, value);
}

bool head_read(span header, uint8_t serialize_type, head *found)
{
    if (serialize_type == SERIALIZE_ROCKETMQ && header.len >= HEADER_REMARK_LENGTH_AT) {
        *found = (head){(int16_t)get16(header.at), (int32_t)get32(header.at + HEADER_OPAQUE_AT),
                        (int32_t)get32(header.at + HEADER_FLAG_AT)};
        return true;
    }
    if (serialize_type != SERIALIZE_JSON ||
        !find(header.at, header.at + header.len, TEXT_KEY("\"code\":", 1), &found->code) ||
        !find_late(header, TEXT_KEY("\"opaque\":", 4), &found->opaque)) {
        return false;
    }
    if (!find_late(header, TEXT_KEY("\"flag\":", 1), &found->flag)) {
        found->flag = 0;
    }
    return true;
}
