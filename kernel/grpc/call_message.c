#include "grpc/call_message.h"

#include "grpc/call_texts.h"
#include "message/text.h"
#include "wire/fields.h"

enum { GZIP = 2, TRANSACTION = 4 };
enum { MESSAGE_TOPIC = 1, MESSAGE_USER = 2, MESSAGE_SYSTEM = 3, MESSAGE_BODY = 4 };
enum {
    SYSTEM_TAG = 1,
    SYSTEM_KEYS = 2,
    SYSTEM_ID = 3,
    SYSTEM_DIGEST = 4,
    SYSTEM_ENCODING = 5,
    SYSTEM_TYPE = 6,
    SYSTEM_BORN = 7,
    SYSTEM_BORN_HOST = 8,
    SYSTEM_DELIVERY = 11,
    SYSTEM_QUEUE = 13,
    SYSTEM_ATTEMPT = 16,
    SYSTEM_GROUP = 17,
    SYSTEM_TRACE = 18
};

#define FIRST_SECOND (-62135596800) /* 0001-01-01 */
#define LAST_SECOND 253402300799    /* 9999-12-31 */
enum { NANOS_OF_MS = 1000000, NANOS_OF_SECOND = 1000000000, MS_OF_SECOND = 1000 };

static bool digest_read(span message)
{
    field_pair found;
    return pair_read(message, FIELD_NUMBER, FIELD_BYTES, &found) && text_is_plain(found.each[2].bytes);
}

static bool time_read(span message, int64_t *ms)
{
    field_pair found;
    if (!pair_read(message, FIELD_NUMBER, FIELD_NUMBER, &found)) return false;
    int64_t seconds = (int64_t)found.each[1].value;
    int32_t nanos = (int32_t)found.each[2].value;
    if (seconds < FIRST_SECOND || seconds > LAST_SECOND || nanos < 0 || nanos >= NANOS_OF_SECOND) return false;
    *ms = seconds * MS_OF_SECOND + nanos / NANOS_OF_MS;
    return true;
}

/* --- user properties --- */

static bool is_reserved(const reserved_names *reserved, int32_t hash)
{
    size_t low = 0, high = reserved->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (reserved->hashes[middle] < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < reserved->count && reserved->hashes[low] == hash;
}

static uint32_t spread(int32_t hash) { return (uint32_t)hash ^ (uint32_t)hash >> 16; }

static int compare(span a, span b)
{
    size_t length = a.len < b.len ? a.len : b.len;
    int order = length == 0 ? 0 : memcmp(a.at, b.at, length);
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Enter a user property in its place. False: it is not plain, or there are too many, or two of a name. */
static bool user_read(span entry, const reserved_names *reserved, call_message *found)
{
    field_pair item;
    if (found->user_count == CALL_USER_MOST || !pair_read(entry, FIELD_BYTES, FIELD_BYTES, &item)) return false;
    span name = item.each[1].bytes, value = item.each[2].bytes;
    int32_t hash = java_hash(0, name);
    if (!text_is_plain(name) || !text_is_plain(value) || is_reserved(reserved, hash)) return false;
    size_t place = found->user_count;
    int order = -1;
    while (place > 0 && (order = compare(name, found->user[place - 1].name)) < 0) {
        found->user[place] = found->user[place - 1];
        place--;
    }
    if (place > 0 && order == 0) return false;
    found->user[place] = (call_property){name, value, spread(hash)};
    found->user_count++;
    found->own_bytes += name.len + value.len;
    return true;
}

/* --- system properties --- */

static bool tag_read(span tag, call_message *found)
{
    found->tag = tag;
    found->own_bytes += tag.len;
    return tag.len == 0 || (text_is_not_blank(tag) && memchr(tag.at, '|', tag.len) == NULL);
}

static bool key_read(span key, call_message *found)
{
    if (found->keys_count == CALL_KEYS_MOST) return false;
    found->keys[found->keys_count++] = key;
    found->own_bytes += key.len;
    return key.len == 0 || text_is_not_blank(key);
}

static bool system_bytes(const field *one, call_message *found)
{
    span bytes = one->bytes;
    switch (one->number) {
    case SYSTEM_TAG:
        return tag_read(bytes, found);
    case SYSTEM_KEYS:
        return key_read(bytes, found);
    case SYSTEM_ID:
        found->id = bytes;
        return text_is_not_blank(bytes);
    case SYSTEM_DIGEST:
        return digest_read(bytes);
    case SYSTEM_BORN:
        found->has_born = true;
        return time_read(bytes, &found->born);
    case SYSTEM_BORN_HOST:
        found->born_host = bytes;
        return bytes.len == 0 || text_is_not_blank(bytes);
    case SYSTEM_DELIVERY:
        found->has_delivery = true;
        return time_read(bytes, &found->delivery);
    case SYSTEM_GROUP:
        found->group = bytes;
        return bytes.len == 0 || text_is_not_blank(bytes);
    case SYSTEM_TRACE:
        found->trace = bytes;
        return text_is_plain(bytes);
    default:
        return false;
    }
}

static bool system_number(const field *one, call_message *found)
{
    switch (one->number) {
    case SYSTEM_ENCODING:
        found->compressed = (int32_t)one->value == GZIP;
        return true;
    case SYSTEM_TYPE:
        return (int32_t)one->value != TRANSACTION;
    case SYSTEM_QUEUE:
        return true;
    case SYSTEM_ATTEMPT:
        found->attempt = (int32_t)one->value;
        return true;
    default:
        return false;
    }
}

static bool system_read(span message, call_message *found)
{
    fields from = fields_of(message);
    uint32_t seen = 0;
    field one;
    fields_state state;
    while ((state = next_field(&from, &one)) == FIELDS_ONE) {
        if (one.number >= 32 || (one.number != SYSTEM_KEYS && !first_time(&seen, one.number))) return false;
        if (!(one.form == FIELD_BYTES ? system_bytes : system_number)(&one, found)) return false;
    }
    return state == FIELDS_END;
}

/* --- the message --- */

static bool message_read(span message, const reserved_names *reserved, call_message *found)
{
    fields from = fields_of(message);
    uint32_t seen = 0;
    field one;
    fields_state state;
    while ((state = next_field(&from, &one)) == FIELDS_ONE) {
        if (one.form != FIELD_BYTES || one.number > MESSAGE_BODY) return false;
        if (one.number != MESSAGE_USER && !first_time(&seen, one.number)) return false;
        bool taken = true;
        if (one.number == MESSAGE_TOPIC) {
            taken = resource_read(one.bytes, &found->topic);
        } else if (one.number == MESSAGE_USER) {
            taken = user_read(one.bytes, reserved, found);
        } else if (one.number == MESSAGE_SYSTEM) {
            taken = system_read(one.bytes, found);
        } else {
            found->body = one.bytes;
        }
        if (!taken) return false;
    }
    return state == FIELDS_END && found->topic.len > 0 && found->id.len > 0 && found->body.len > 0;
}

bool call_message_read(span request, const reserved_names *reserved, call_message *found)
{
    fields from = fields_of(request);
    field one;
    found->topic = found->id = found->tag = found->group = found->trace = found->born_host = found->body =
        span_of(NULL, 0);
    found->keys_count = found->user_count = found->own_bytes = 0;
    found->has_born = found->has_delivery = found->compressed = false;
    found->attempt = 0;
    if (next_field(&from, &one) != FIELDS_ONE || one.number != 1 || one.form != FIELD_BYTES) return false;
    return from.at == from.end && message_read(one.bytes, reserved, found);
}

static bool within(int64_t limit, int64_t value) { return limit <= 0 || value <= limit; }

bool call_message_fits(const call_message *from, const call_limits *limits, int64_t now)
{
    return within(limits->user_properties, (int64_t)from->user_count) &&
           within(limits->property_bytes, (int64_t)from->own_bytes) &&
           (limits->message_group_bytes <= 0 || (int64_t)from->group.len < limits->message_group_bytes) &&
           (!from->has_delivery || within(limits->delay_ms, from->delivery - now));
}
