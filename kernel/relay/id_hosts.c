#include "relay/id_hosts.h"

#include "core/facts.h"
#include "core/keys_in_text.h"

#define IN_JSON "\"" FIELD_MSG_ID "\":\""

enum { IN_JSON_SIZE = sizeof IN_JSON - 1, IN_JSON_RARE = 1 };
enum { NAME_LENGTH = 2, VALUE_LENGTH = 4 };

bool id_hosts_set(id_hosts *hosts, span old, span new_)
{
    if (old.len != new_.len || old.len > HOST_DIGITS_MOST) {
        return false;
    }
    hosts->digits = old.len;
    put_span(hosts->old, old);
    put_span(hosts->new, new_);
    return true;
}

/* A value: ids, joined by commas. */
static void rewrite_ids(uint8_t *at, const uint8_t *end, const id_hosts *hosts)
{
    while (at < end) {
        uint8_t *comma = memchr(at, ',', (size_t)(end - at));
        size_t size = (size_t)((comma != NULL ? comma : end) - at);
        if (size >= hosts->digits && memcmp(at, hosts->old, hosts->digits) == 0) {
            memcpy(at, hosts->new, hosts->digits);
        }
        at += size + 1;
    }
}

static void rewrite_json(uint8_t *header, const uint8_t *end, const id_hosts *hosts)
{
    uint8_t *at = header;
    const uint8_t *place;
    while ((place = text_key_find(at, end, TEXT_KEY(IN_JSON, IN_JSON_RARE))) != NULL) {
        uint8_t *found = header + (place - header);
        at = found + 1;
        if (found == header || (found[-1] != '{' && found[-1] != ',')) {
            continue; /* within a text */
        }
        uint8_t *value = found + IN_JSON_SIZE;
        const uint8_t *quote = memchr(value, '"', (size_t)(end - value));
        at = value + ((quote != NULL ? quote : end) - value);
        uint8_t *escape = memchr(value, '\\', (size_t)(at - value)); /* no id has one */
        at = escape != NULL ? escape : at;
        rewrite_ids(value, at, hosts);
    }
}

static void rewrite_binary(uint8_t *header, size_t size, const id_hosts *hosts)
{
    if (size < HEADER_REMARK_LENGTH_AT + VALUE_LENGTH) {
        return;
    }
    /* A length has 32 bits at most, a place therefore far less than 64. */
    uint64_t at =
        HEADER_REMARK_LENGTH_AT + VALUE_LENGTH + (uint64_t)get32(header + HEADER_REMARK_LENGTH_AT) + VALUE_LENGTH;
    while (at + NAME_LENGTH <= size) {
        uint64_t name = at + NAME_LENGTH, name_end = name + get16(header + at), value = name_end + VALUE_LENGTH;
        if (value > size || get32(header + name_end) > size - value) {
            return;
        }
        at = value + get32(header + name_end);
        if (span_is_text(span_of(header + name, name_end - name), FIELD_MSG_ID)) {
            rewrite_ids(header + value, header + at, hosts);
        }
    }
}

void id_hosts_rewrite(uint8_t *header, size_t size, uint8_t serialize_type, const id_hosts *hosts)
{
    if (serialize_type == SERIALIZE_JSON) {
        rewrite_json(header, header + size, hosts);
    } else if (serialize_type == SERIALIZE_ROCKETMQ) {
        rewrite_binary(header, size, hosts);
    }
}
