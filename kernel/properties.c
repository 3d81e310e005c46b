/* Property texts: `name 0x01 value 0x02 name 0x01 value`. One pass over the text, from separator to separator. */

#include "text.h"

#define NAME_SEP 1
#define ITEM_SEP 2

typedef enum { OTHER, UNIQUE_KEY, KEYS, TAGS, WAIT, CLUSTER, STEERING } property_kind;

typedef struct {
    const uint8_t *at, *end; /* what is left of the text; at == NULL: nothing, not even an empty item */
} items;

typedef struct {
    span whole, name, value;
    bool nul;
} item;

/* The first byte of at most ITEM_SEP, `end` if there is none. Eight at a time: the lowest one found so is exact. */
static const uint8_t *next_special(const uint8_t *p, const uint8_t *end)
{
    const uint64_t ones = 0x0101010101010101u;
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        uint64_t low = (word - ones * (ITEM_SEP + 1)) & ~word & ones * 0x80;
        if (low) return p + (__builtin_ctzll(low) >> 3);
    }
    while (p < end && *p > ITEM_SEP) p++;
    return p;
}

static bool next_item(items *rest, item *found)
{
    const uint8_t *start = rest->at, *end = rest->end, *name_end = NULL, *p = start;
    if (start == NULL) return false;
    found->nul = false;
    for (;; p++) {
        p = next_special(p, end);
        if (p == end || *p == ITEM_SEP) break;
        if (*p == 0) {
            found->nul = true;
        } else if (name_end == NULL) {
            name_end = p;
        }
    }
    rest->at = p == end ? NULL : p + 1;
    found->whole = span_of(start, (size_t)(p - start));
    found->name = span_of(start, (size_t)((name_end ? name_end : p) - start));
    found->value = name_end ? span_of(name_end + 1, (size_t)(p - name_end - 1)) : span_of(p, 0);
    return true;
}

#define IS(text, kind) \
    if (memcmp(name.at, text, sizeof text - 1) == 0) return kind

static property_kind kind_of(span name)
{
    switch (name.len) {
    case 4:
        IS("TAGS", TAGS);
        IS("WAIT", WAIT);
        IS("KEYS", KEYS);
        break;
    case 5:
        IS("DELAY", STEERING);
        break;
    case 7:
        IS("CLUSTER", CLUSTER);
        break;
    case 8:
        IS("UNIQ_KEY", UNIQUE_KEY);
        IS("TRAN_MSG", STEERING);
        break;
    case 14:
        IS("TIMER_DELAY_MS", STEERING);
        break;
    case 15:
        IS("TIMER_DELAY_SEC", STEERING);
        break;
    case 16:
        IS("TIMER_DELIVER_MS", STEERING);
        break;
    case 17:
        IS("TIMER_DEL_UNIQKEY", STEERING);
        break;
    case 18:
        IS("__STARTDELIVERTIME", STEERING);
        break;
    }
    return OTHER;
}

/* As server.sending reads WAIT: "true" in whatever case of its letters. */
static wait_property wait_of(span value)
{
    if (value.len != 4) return WAIT_OTHER;
    for (int i = 0; i < 4; i++) {
        if ((value.at[i] | 0x20) != "true"[i]) return WAIT_OTHER;
    }
    return WAIT_TRUE;
}

void properties_rewrite(span text, span cluster_item, uint8_t *to, properties_found *found)
{
    *found = (properties_found){.wait = WAIT_ABSENT};
    items rest = {text.at, text.at + text.len};
    uint8_t *out = to;
    for (item one; next_item(&rest, &one);) {
        if (one.value.len == 0 || one.name.len == 0) continue;
        span value = span_of(out + (one.value.at - one.whole.at), one.value.len);
        switch (kind_of(one.name)) {
        case WAIT:
            found->wait = wait_of(one.value);
            continue;
        case CLUSTER:
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
        case STEERING:
            found->steering = true;
            break;
        case OTHER:
            break;
        }
        found->nul |= one.nul;
        out = put_span(out, one.whole);
        *out++ = ITEM_SEP;
    }
    out = put_span(out, cluster_item);
    found->length = (size_t)(out - to);
}

void properties_look(span text, properties_found *found)
{
    *found = (properties_found){.wait = WAIT_ABSENT, .length = text.len};
    items rest = {text.at, text.at + text.len};
    for (item one; next_item(&rest, &one);) {
        span value = one.value.len ? one.value : span_of(NULL, 0);
        found->nul |= one.nul;
        switch (kind_of(one.name)) {
        case UNIQUE_KEY:
            found->unique_key = value;
            break;
        case TAGS:
            found->tags = value;
            break;
        case KEYS:
            found->keys = value;
            break;
        case STEERING:
            found->steering |= value.len != 0;
            break;
        default:
            break;
        }
    }
}
