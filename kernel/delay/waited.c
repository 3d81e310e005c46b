#include "delay/waited.h"

#include "core/decimal.h"

enum { INT64_DIGITS = 19 };

#define NAME(text) {text, sizeof text - 1}
static const struct {
    const char *text;
    size_t len;
} names[WAITED_NAMES] = {
    [WAITED_TAGS] = NAME(PROPERTY_TAGS),
    [WAITED_KEYS] = NAME(PROPERTY_KEYS),
    [WAITED_UNIQUE_KEY] = NAME(PROPERTY_UNIQ_KEY),
    [WAITED_TOPIC] = NAME(PROPERTY_REAL_TOPIC),
    [WAITED_QUEUE_ID] = NAME(PROPERTY_REAL_QUEUE_ID),
    [WAITED_OUT] = NAME(PROPERTY_TIMER_OUT_MS),
    [WAITED_CANCELS] = NAME(PROPERTY_TIMER_DEL_UNIQ_KEY),
    [WAITED_ROLL_TIMES] = NAME(PROPERTY_TIMER_ROLL_TIMES),
    [WAITED_ENQUEUE] = NAME(PROPERTY_TIMER_ENQUEUE_MS),
    [WAITED_DEQUEUE] = NAME(PROPERTY_TIMER_DEQUEUE_MS),
};

static int kind_of(span name)
{
    for (int i = 0; i < WAITED_NAMES; i++) {
        if (span_is(name, names[i].text, names[i].len)) return i;
    }
    return WAITED_NAMES;
}

static void read_items(waited *found)
{
    items rest = items_of(found->properties);
    for (item one; next_item(&rest, &one);) {
        found->nul |= one.nul;
        int kind = kind_of(one.name);
        if (kind == WAITED_NAMES) continue;
        found->twice |= kind >= WAITED_SET && (one.value.len == 0 || found->values[kind].at != NULL);
        if (one.value.len > 0) found->values[kind] = one.value;
    }
}

bool waited_read(span record, const char *topic_field, waited *found)
{
    const uint8_t *at = record.at;
    if (record.len < RECORD_BODY_AT + WAITED_FIELD_SIZE + 2) return false;
    *found = (waited){
        .size = (int32_t)get32(at),
        .magic = (int32_t)get32(at + RECORD_MAGIC_AT),
        .physical_offset = (int64_t)get64(at + RECORD_PHYSICAL_OFFSET_AT),
        .flag = (int32_t)get32(at + RECORD_FLAG_AT),
        .sys_flag = (int32_t)get32(at + RECORD_SYS_FLAG_AT),
        .born_timestamp = (int64_t)get64(at + RECORD_BORN_TIMESTAMP_AT),
        .born_host = span_of(at + RECORD_BORN_HOST_AT, HOST_V4_SIZE),
        .reconsume_times = (int32_t)get32(at + RECORD_RECONSUME_TIMES_AT),
    };
    size_t left = record.len - RECORD_BODY_AT - WAITED_FIELD_SIZE - 2; /* of body and properties */
    size_t body = get32(at + RECORD_BODY_LENGTH_AT);
    if (found->sys_flag & RECORD_HOST_BITS || body > left || left - body > MAX_PROPERTIES_LENGTH) return false;
    const uint8_t *middle = at + RECORD_BODY_AT + body;
    if (memcmp(middle, topic_field, WAITED_FIELD_SIZE) != 0 || get16(middle + WAITED_FIELD_SIZE) != left - body) {
        return false;
    }
    found->body = span_of(at + RECORD_BODY_AT, body);
    found->properties = span_of(middle + WAITED_FIELD_SIZE + 2, left - body);
    read_items(found);
    return true;
}

bool waited_number(span text, int64_t most, int64_t *value)
{
    uint64_t sum = 0;
    if (text.len == 0 || text.len > INT64_DIGITS) return false;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t digit = (uint8_t)(text.at[i] - '0');
        if (digit > 9) return false;
        sum = sum * 10 + digit;
    }
    if (sum > (uint64_t)most) return false;
    *value = (int64_t)sum;
    return true;
}

/* The first name from `first` on whose value is behind `at` in the text; WAITED_NAMES: none. */
static int next_set(const waited *from, int first, const uint8_t *at)
{
    int next = WAITED_NAMES;
    for (int i = first; i < WAITED_NAMES; i++) {
        const uint8_t *value = from->values[i].at;
        if (value != NULL && value >= at && (next == WAITED_NAMES || value < from->values[next].at)) next = i;
    }
    return next;
}

size_t waited_rewrite(const waited *from, int first, const int64_t *numbers, uint8_t *to)
{
    const uint8_t *at = from->properties.at, *end = at + from->properties.len;
    uint8_t *out = to;
    for (int i; (i = next_set(from, first, at)) != WAITED_NAMES;) {
        out = put_span(out, span_of(at, (size_t)(from->values[i].at - at)));
        out = put_decimal(out, numbers[i - first]);
        at = from->values[i].at + from->values[i].len;
    }
    out = put_span(out, span_of(at, (size_t)(end - at)));
    for (int i = first; i < WAITED_NAMES; i++) {
        if (from->values[i].at != NULL) continue;
        if (out > to && out[-1] != ITEM_SEP) *out++ = ITEM_SEP;
        out = put_span(out, span_of(names[i].text, names[i].len));
        *out++ = NAME_SEP;
        out = put_decimal(out, numbers[i - first]);
    }
    return (size_t)(out - to);
}
