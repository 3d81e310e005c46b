/* Property texts: one pass over the text, from separator to separator. */

#include "message/properties.h"

/* Not by next_item: comparing only a few names takes two thirds of the time. */
void property_values(span text, const span *names, int count, span *values)
{
    const uint8_t *at = text.at, *end = text.at + text.len;
    for (int each = 0; each < count; each++) {
        values[each] = span_of(NULL, 0);
    }
    while (at < end) {
        const uint8_t *item_end = memchr(at, ITEM_SEP, (size_t)(end - at));
        if (item_end == NULL) {
            item_end = end;
        }
        for (int each = 0; each < count; each++) {
            size_t length = names[each].len;
            if ((size_t)(item_end - at) > length + 1 && at[length] == NAME_SEP &&
                memcmp(at, names[each].at, length) == 0) {
                values[each] = span_of(at + length + 1, (size_t)(item_end - at) - length - 1);
            }
        }
        at = item_end + 1;
    }
}

/* Those from STEERING on are steering properties; those of times are numbered by time_property. */
typedef enum {
    OTHER,
    UNIQUE_KEY,
    KEYS,
    TAGS,
    WAIT,
    BROKERS,
    PLACED,
    SHARDING,
    HANDLE,
    STEERING,
    STEERING_SECONDS = STEERING + TIME_SECONDS,
    STEERING_MILLISECONDS = STEERING + TIME_MILLISECONDS,
    STEERING_AT = STEERING + TIME_AT,
    STEERING_LEVEL = STEERING + DELAY_LEVEL,
    STEERING_TRANSACTION = STEERING + TRANSACTION
} property_kind;

#define IS(text, kind) \
    if (span_is_text(name, text)) return kind

static property_kind kind_of(span name)
{
    switch (name.len) {
    case 4:
        IS(PROPERTY_TAGS, TAGS);
        IS(PROPERTY_WAIT, WAIT);
        IS(PROPERTY_KEYS, KEYS);
        break;
    case 5:
        IS(PROPERTY_DELAY, STEERING_LEVEL);
        break;
    case 6:
        IS(PROPERTY_POP_CK, HANDLE);
        break;
    case 7:
        IS(PROPERTY_CLUSTER, BROKERS);
        break;
    case 8:
        IS(PROPERTY_UNIQ_KEY, UNIQUE_KEY);
        IS(PROPERTY_TRANSACTION_PREPARED, STEERING_TRANSACTION);
        IS(PROPERTY_TRACE_ON, BROKERS);
        IS(PROPERTY_REAL_QUEUE_ID, PLACED);
        break;
    case 9:
        IS(PROPERTY_INNER_NUM, STEERING);
        break;
    case 10:
        IS(PROPERTY_REAL_TOPIC, PLACED);
        IS(PROPERTY_MSG_REGION, BROKERS);
        break;
    case 12:
        IS(PROPERTY_TIMER_OUT_MS, PLACED);
        break;
    case 13:
        IS(PROPERTY_SHARDING_KEY, SHARDING);
        break;
    case 14:
        IS(PROPERTY_TIMER_DELAY_MS, STEERING_MILLISECONDS);
        break;
    case 15:
        IS(PROPERTY_TIMER_DELAY_SEC, STEERING_SECONDS);
        break;
    case 16:
        IS(PROPERTY_TIMER_DELIVER_MS, STEERING_AT);
        break;
    case 17:
        IS(PROPERTY_TIMER_DEL_UNIQ_KEY, STEERING);
        break;
    case 18:
        IS(PROPERTY_START_DELIVER_TIME, STEERING_AT);
        break;
    }
    return OTHER;
}

bool is_true(span value)
{
    if (value.len != 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        if ((value.at[i] | 0x20) != "true"[i]) {
            return false;
        }
    }
    return true;
}

void properties_rewrite(span text, span broker_items, uint8_t *to, properties_found *found)
{
    *found = (properties_found){.wait = WAIT_ABSENT};
    items rest = items_of(text);
    uint8_t *out = to;
    for (item one; next_item(&rest, &one);) {
        if (one.value.len == 0 || one.name.len == 0) continue;
        span value = span_of(out + (one.value.at - one.whole.at), one.value.len);
        property_kind kind = kind_of(one.name);
        switch (kind) {
        case WAIT:
            found->wait = is_true(one.value) ? WAIT_TRUE : WAIT_OTHER;
            found->wait_text = one.value;
            continue;
        case BROKERS:
        case HANDLE:
            continue;
        case UNIQUE_KEY:
            found->unique_key = value;
            break;
        case TAGS:
            found->tags = value;
            break;
        case KEYS:
            found->keys = value;
            break;
        case PLACED:
            found->placed = true;
            break;
        case SHARDING:
            found->sharded = true;
            break;
        case STEERING:
        case STEERING_SECONDS:
        case STEERING_MILLISECONDS:
        case STEERING_AT:
        case STEERING_LEVEL:
        case STEERING_TRANSACTION:
            found->time = found->steering ? TIME_ABSENT : (time_property)(kind - STEERING);
            found->time_text = value;
            found->steering = true;
            break;
        case OTHER:
            break;
        }
        found->nul |= one.nul;
        out = put_span(out, one.whole);
        *out++ = ITEM_SEP;
    }
    out = put_span(out, broker_items);
    found->length = (size_t)(out - to);
}

void properties_look(span text, properties_found *found)
{
    *found = (properties_found){.wait = WAIT_ABSENT, .length = text.len};
    items rest = items_of(text);
    for (item one; next_item(&rest, &one);) {
        found->nul |= one.nul;
        if (one.value.len == 0) continue;
        switch (kind_of(one.name)) {
        case UNIQUE_KEY:
            found->unique_key = one.value;
            break;
        case TAGS:
            found->tags = one.value;
            break;
        case KEYS:
            found->keys = one.value;
            break;
        case SHARDING:
            found->sharded = true;
            break;
        case HANDLE: /* Python takes it out */
        case STEERING:
        case STEERING_SECONDS:
        case STEERING_MILLISECONDS:
        case STEERING_AT:
        case STEERING_LEVEL:
        case STEERING_TRANSACTION:
            found->steering = true;
            break;
        default:
            break;
        }
    }
}
