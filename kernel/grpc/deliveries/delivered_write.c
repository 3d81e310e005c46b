#include "core/decimal.h"
#include "core/hex.h"
#include "grpc/deliveries/delivery.h"
#include "message/md5.h"
#include "wire/fields.h"

enum { MESSAGE_TOPIC = 1, MESSAGE_USER = 2, MESSAGE_SYSTEM = 3, MESSAGE_BODY = 4 };
enum { RESPONSE_MESSAGE = 2, RESOURCE_NAME = 2, ENTRY_KEY = 1, ENTRY_VALUE = 2 };
enum {
    SYSTEM_TAG = 1,
    SYSTEM_KEYS = 2,
    SYSTEM_ID = 3,
    SYSTEM_DIGEST = 4,
    SYSTEM_ENCODING = 5,
    SYSTEM_TYPE = 6,
    SYSTEM_BORN = 7,
    SYSTEM_BORN_HOST = 8,
    SYSTEM_STORED = 9,
    SYSTEM_STORE_HOST = 10,
    SYSTEM_HANDLE = 12,
    SYSTEM_QUEUE = 13,
    SYSTEM_OFFSET = 14
};
enum { IDENTITY = 1, NORMAL = 1, FIFO = 2, MD5 = 2 };
enum { MS_OF_SECOND = 1000, NANOS_OF_MS = 1000000, HOST_MOST = 32, ID_DIGITS = 32, FIELDS_MOST = 384 };
#define LAST_MS 253402300799999

static uint8_t *put_number_field(uint8_t *p, uint32_t number, uint64_t value)
{
    *p++ = (uint8_t)(number << 3 | FIELD_NUMBER);
    return put_varint(p, value);
}

/* A time in ms since 1970; others become the nearest that protobuf allows. */
static uint8_t *put_time(uint8_t *p, uint32_t number, int64_t ms)
{
    uint64_t within = ms < 0 ? 0 : ms > LAST_MS ? LAST_MS : (uint64_t)ms;
    uint8_t text[TIMESTAMP_MOST];
    uint8_t *end = put_number_field(text, 1, within / MS_OF_SECOND);
    end = put_number_field(end, 2, within % MS_OF_SECOND * NANOS_OF_MS);
    return put_bytes_field(p, number, span_of(text, (size_t)(end - text)));
}

static uint8_t *put_address(uint8_t *p, const uint8_t *host)
{
    for (int i = 0; i < 4; i++) {
        p = put_decimal(p, host[i]);
        *p++ = '.';
    }
    return p - 1;
}

static uint8_t *put_host(uint8_t *p, uint32_t number, const uint8_t *host, bool with_port)
{
    uint8_t text[HOST_MOST];
    uint8_t *end = put_address(text, host);
    if (with_port) {
        *end++ = ':';
        end = put_decimal(end, get32(host + 4));
    }
    return put_bytes_field(p, number, span_of(text, (size_t)(end - text)));
}

/* The keys between blanks; those at the end count for nothing, but there is one at least. */
static uint8_t *put_keys(uint8_t *p, span keys)
{
    while (keys.len > 0 && keys.at[keys.len - 1] == ' ') keys.len--;
    for (const uint8_t *at = keys.at, *end = keys.at + keys.len;;) {
        const uint8_t *blank = at == end ? NULL : memchr(at, ' ', (size_t)(end - at));
        p = put_bytes_field(p, SYSTEM_KEYS, span_of(at, (size_t)((blank == NULL ? end : blank) - at)));
        if (blank == NULL) return p;
        at = blank + 1;
    }
}

/* Without a unique key the place of the record is the id: the store's address and the offset. */
static uint8_t *put_offset_id(uint8_t *p, const delivered *from)
{
    uint8_t place[ID_DIGITS / 2], text[ID_DIGITS];
    memcpy(place, from->store_host, 8);
    put64(place + 8, (uint64_t)from->physical_offset);
    put_hex(text, span_of(place, sizeof place));
    return put_bytes_field(p, SYSTEM_ID, span_of(text, sizeof text));
}

static uint8_t *put_digest(uint8_t *p, span body)
{
    *p++ = SYSTEM_DIGEST << 3 | FIELD_BYTES;
    *p++ = 4 + MD5_DIGITS;
    p = put_number_field(p, 1, MD5);
    *p++ = 2 << 3 | FIELD_BYTES;
    *p++ = MD5_DIGITS;
    return put_md5(p, body);
}

static uint8_t *put_handle(uint8_t *p, const delivered *from, const handle_parts *handles, int64_t start)
{
    const int64_t before[] = {start, handles->pop_time, handles->invisible_time, handles->revive_queue, 0};
    const int64_t behind[] = {from->queue_id, from->queue_offset, from->physical_offset};
    for (int i = 0; i < 5; i++) { /* the last is the kind: the topic itself */
        p = put_decimal(p, before[i]);
        *p++ = ' ';
    }
    p = put_span(p, handles->broker);
    for (int i = 0; i < 3; i++) {
        *p++ = ' ';
        p = put_decimal(p, behind[i]);
    }
    return put_span(p, handles->mark);
}

size_t delivered_system_most(const delivered *from, const handle_parts *handles)
{
    /* Between two keys stands a blank, and before each two to six bytes. */
    return FIELDS_MOST + 8 * DECIMAL_MOST + from->tag.len + 6 * (from->keys.len + 1) + from->id.len + from->group.len +
           from->born_host.len + 2 * (handles->broker.len + handles->mark.len);
}

uint8_t *delivered_system_write(uint8_t *to, const delivered *from, const handle_parts *handles, int64_t start)
{
    uint8_t *p = to;
    if (from->tag.at != NULL) p = put_bytes_field(p, SYSTEM_TAG, from->tag);
    if (from->keys.at != NULL) p = put_keys(p, from->keys);
    p = from->id.at != NULL ? put_bytes_field(p, SYSTEM_ID, from->id) : put_offset_id(p, from);
    p = put_digest(p, from->body);
    p = put_number_field(p, SYSTEM_ENCODING, IDENTITY);
    p = put_number_field(p, SYSTEM_TYPE, from->group.at != NULL ? FIFO : NORMAL);
    p = put_time(p, SYSTEM_BORN, from->born);
    p = from->born_host.at != NULL ? put_bytes_field(p, SYSTEM_BORN_HOST, from->born_host)
                                   : put_host(p, SYSTEM_BORN_HOST, from->host, false);
    p = put_time(p, SYSTEM_STORED, from->stored);
    p = put_host(p, SYSTEM_STORE_HOST, from->store_host, true);
    uint8_t *text = p + 4; /* the handle, and before it its field and its length in two bytes, or moved to three */
    size_t length = (size_t)(put_handle(text, from, handles, start) - text);
    *p++ = SYSTEM_HANDLE << 3 | FIELD_BYTES;
    p = put_varint(p, length);
    memmove(p, text, length);
    p = put_number_field(p + length, SYSTEM_QUEUE, (uint64_t)from->queue_id);
    p = put_number_field(p, SYSTEM_OFFSET, (uint64_t)from->queue_offset);
    *p++ = 0x80; /* delivery_attempt has the number 16 */
    p = put_varint(put_varint(p, 1), (uint64_t)from->reconsume_times + 1);
    if (from->group.at == NULL) return p;
    *p++ = 0x8A; /* message_group has 17 */
    p = put_varint(put_varint(p, 1), from->group.len);
    return put_span(p, from->group);
}

static size_t entry_size(const delivered_property *one)
{
    return bytes_field_size(one->name) + bytes_field_size(one->value);
}

static size_t message_size(const delivered *from, span system)
{
    size_t size = bytes_field_size(span_of(NULL, bytes_field_size(from->topic)));
    for (size_t i = 0; i < from->user_count; i++) size += bytes_field_size(span_of(NULL, entry_size(&from->user[i])));
    return size + bytes_field_size(system) + bytes_field_size(from->body);
}

static uint8_t *put_head(uint8_t *p, uint32_t number, size_t length)
{
    *p++ = (uint8_t)(number << 3 | FIELD_BYTES);
    return put_varint(p, length);
}

size_t delivered_size(const delivered *from, span system)
{
    return bytes_field_size(span_of(NULL, message_size(from, system)));
}

uint8_t *delivered_write(uint8_t *to, const delivered *from, span system)
{
    uint8_t *p = put_head(to, RESPONSE_MESSAGE, message_size(from, system));
    p = put_bytes_field(put_head(p, MESSAGE_TOPIC, bytes_field_size(from->topic)), RESOURCE_NAME, from->topic);
    for (size_t i = 0; i < from->user_count; i++) {
        const delivered_property *one = &from->user[i];
        p = put_head(p, MESSAGE_USER, entry_size(one));
        p = put_bytes_field(put_bytes_field(p, ENTRY_KEY, one->name), ENTRY_VALUE, one->value);
    }
    return put_bytes_field(put_bytes_field(p, MESSAGE_SYSTEM, system), MESSAGE_BODY, from->body);
}
