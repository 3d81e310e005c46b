#include "grpc/deliveries/delivery.h"

#include "core/utf8.h"
#include "message/properties.h"
#include "message/record.h"
#include "message/text.h"

enum { PORT_MOST = UINT16_MAX };

static int32_t int32_at(const uint8_t *p) { return (int32_t)get32(p); }
static int64_t int64_at(const uint8_t *p) { return (int64_t)get64(p); }

static name_kind kind_of(const known_names *names, span name)
{
    int32_t hash = java_hash(0, name);
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (names->names[middle].hash < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == names->count || names->names[low].hash != hash) return NAME_USERS;
    span known = names->names[low].name;
    bool same = known.len == name.len && memcmp(known.at, name.at, name.len) == 0;
    return same ? names->names[low].kind : NAME_USERS;
}

/* Whether a name is new; of equal ones the last counts, which is for Python. */
static bool is_new(const delivered *found, span name)
{
    for (size_t i = 0; i < found->user_count; i++) {
        span other = found->user[i].name;
        if (other.len == name.len && memcmp(other.at, name.at, name.len) == 0) return false;
    }
    return true;
}

static bool add_user(delivered *found, const item *one)
{
    if (found->user_count == DELIVERED_PROPERTIES_MOST || !is_new(found, one->name)) return false;
    found->user[found->user_count++] = (delivered_property){one->name, one->value};
    return true;
}

static bool take_once(span *to, span value)
{
    bool first = to->at == NULL;
    *to = value;
    return first;
}

static bool read_property(const known_names *names, const item *one, delivered *found)
{
    switch (kind_of(names, one->name)) {
    case NAME_USERS:
        return add_user(found, one);
    case NAME_TAGS:
        return take_once(&found->tag, one->value);
    case NAME_KEYS:
        return take_once(&found->keys, one->value);
    case NAME_UNIQ_KEY:
        return take_once(&found->id, one->value);
    case NAME_SHARDING: /* users get it as well */
        return take_once(&found->group, one->value) && add_user(found, one);
    case NAME_BORN_HOST:
        return take_once(&found->born_host, one->value);
    case NAME_HIDDEN:
        return true;
    case NAME_RARE:
        break;
    }
    return false;
}

static bool read_properties(span text, const known_names *names, delivered *found)
{
    if (!utf8_valid(text)) return false;
    items rest = items_of(text);
    for (item one; next_item(&rest, &one);) {
        if (one.nul) return false;
        if (one.name.len > 0 && one.value.len > 0 && !read_property(names, &one, found)) return false;
    }
    return true;
}

/* Find body, topic and properties. */
static bool read_parts(span record, delivered *found, span *properties)
{
    const uint8_t *p = record.at + RECORD_BODY_AT, *end = record.at + record.len;
    size_t length = get32(record.at + RECORD_BODY_LENGTH_AT);
    if (length >= (size_t)(end - p)) return false;
    found->body = span_of(p, length);
    p += length;
    length = *p++;
    if (length > MAX_TOPIC_LENGTH_V1 || length + 2 > (size_t)(end - p)) return false;
    found->topic = span_of(p, length);
    p += length;
    *properties = span_of(p + 2, get16(p));
    return properties->len <= MAX_PROPERTIES_LENGTH && properties->at + properties->len == end;
}

bool delivered_read(span records, const known_names *names, delivered *found)
{
    const uint8_t *at = records.at;
    if (records.len < RECORD_BODY_AT || get32(at + RECORD_TOTAL_SIZE_AT) > records.len ||
        int32_at(at + RECORD_MAGIC_AT) != RECORD_MAGIC_V1) {
        return false;
    }
    span record = span_of(at, get32(at + RECORD_TOTAL_SIZE_AT)), properties, none = {NULL, 0};
    int32_t sys_flag = int32_at(at + RECORD_SYS_FLAG_AT);
    if (record.len <= RECORD_BODY_AT || sys_flag & (SYS_FLAG_COMPRESSED | RECORD_HOST_BITS)) return false;
    found->tag = found->keys = found->id = found->group = found->born_host = none;
    found->user_count = 0;
    found->size = record.len;
    found->queue_id = int32_at(at + RECORD_QUEUE_ID_AT);
    found->queue_offset = int64_at(at + RECORD_QUEUE_OFFSET_AT);
    found->physical_offset = int64_at(at + RECORD_PHYSICAL_OFFSET_AT);
    found->born = int64_at(at + RECORD_BORN_TIMESTAMP_AT);
    found->stored = int64_at(at + RECORD_STORE_TIMESTAMP_AT);
    found->host = at + RECORD_BORN_HOST_AT;
    found->store_host = at + RECORD_STORE_HOST_AT;
    found->reconsume_times = int32_at(at + RECORD_RECONSUME_TIMES_AT);
    if (found->queue_id < 0 || found->queue_offset < 0 || found->physical_offset < 0 || found->reconsume_times < 0 ||
        found->reconsume_times == INT32_MAX || get32(found->store_host + 4) > PORT_MOST) {
        return false;
    }
    return read_parts(record, found, &properties) &&
           get32(at + RECORD_BODY_CRC_AT) == (crc32_of(found->body) & RECORD_CRC_MASK) &&
           read_properties(properties, names, found);
}
