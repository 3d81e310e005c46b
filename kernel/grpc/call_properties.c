/* Property texts of calls: in the order of Java's hash table, into which Apache's proxy puts the names. */

#include "core/decimal.h"
#include "grpc/call_message.h"
#include "message/properties.h"
#include "message/text.h"

/* The buckets of the broker's own names among BUCKETS_MOST: with fewer buckets the lower bits count. */
enum { BUCKETS = 16, BUCKETS_MOST = 64 };
enum {
    BUCKET_TRACE_CONTEXT = 0x06,
    BUCKET_BORNHOST = 0x0B,
    BUCKET_BORN_TIMESTAMP = 0x14,
    BUCKET_KEYS = 0x17,
    BUCKET_TIMER_DELIVER_MS = 0x1B,
    BUCKET_SHARDINGKEY = 0x1B,
    BUCKET_UNIQ_KEY = 0x1C,
    BUCKET_PGROUP = 0x1D,
    BUCKET_RECONSUME_TIME = 0x22,
    BUCKET_TAGS = 0x3E
};
_Static_assert(CALL_NAMES_MOST <= BUCKETS_MOST * 3 / 4, "the table has no more buckets");

typedef struct {
    call_property each[CALL_NAMES_MOST]; /* in the order in which they are put */
    size_t count;
    uint8_t digits[3 * DECIMAL_MOST], *next; /* memory of values that are numbers */
} put_list;

static void put_number(put_list *list, span name, uint32_t bucket, int64_t value)
{
    uint8_t *end = put_decimal(list->next, value);
    list->each[list->count++] = (call_property){name, span_of(list->next, (size_t)(end - list->next)), bucket};
    list->next = end;
}

#define NAME(text) span_of(text, sizeof text - 1)
#define PUT(name, bucket, value) \
    list->each[list->count++] = (call_property) { NAME(name), value, bucket }

static void put_all(put_list *list, const call_message *from, span remote, int64_t born)
{
    for (size_t i = 0; i < from->user_count; i++) list->each[list->count++] = from->user[i];
    PUT(PROPERTY_TAGS, BUCKET_TAGS, from->tag);
    if (from->keys_count > 0) PUT(PROPERTY_KEYS, BUCKET_KEYS, span_of(NULL, 0)); /* see write_keys */
    PUT(PROPERTY_UNIQ_KEY, BUCKET_UNIQ_KEY, from->id);
    if (from->has_delivery) {
        put_number(list, NAME(PROPERTY_TIMER_DELIVER_MS), BUCKET_TIMER_DELIVER_MS, from->delivery);
    }
    put_number(list, NAME(PROPERTY_RECONSUME_TIME), BUCKET_RECONSUME_TIME, from->attempt);
    PUT(PROPERTY_PRODUCER_GROUP, BUCKET_PGROUP, from->topic);
    if (from->group.len > 0) PUT(PROPERTY_SHARDING_KEY, BUCKET_SHARDINGKEY, from->group);
    if (from->trace.len > 0) PUT(PROPERTY_TRACE_CONTEXT, BUCKET_TRACE_CONTEXT, from->trace);
    PUT(PROPERTY_BORN_HOST, BUCKET_BORNHOST, from->born_host.len > 0 ? from->born_host : remote);
    put_number(list, NAME(PROPERTY_BORN_TIMESTAMP), BUCKET_BORN_TIMESTAMP, born);
}

/* The properties by their buckets; those of one bucket stay in order. */
static void order(const put_list *list, uint8_t places[CALL_NAMES_MOST])
{
    size_t buckets = BUCKETS;
    uint8_t bucket_of[CALL_NAMES_MOST];
    while (list->count > buckets * 3 / 4) buckets *= 2;
    for (size_t i = 0; i < list->count; i++) {
        uint8_t bucket = (uint8_t)(list->each[i].hash & (buckets - 1));
        size_t place = i;
        for (; place > 0 && bucket_of[place - 1] > bucket; place--) {
            bucket_of[place] = bucket_of[place - 1];
            places[place] = places[place - 1];
        }
        bucket_of[place] = bucket;
        places[place] = (uint8_t)i;
    }
}

static uint8_t *write_item(uint8_t *p, span name, span value)
{
    if (name.len == 0 || value.len == 0) return p;
    p = put_span(p, name);
    *p++ = NAME_SEP;
    p = put_span(p, value);
    *p++ = ITEM_SEP;
    return p;
}

static uint8_t *write_keys(uint8_t *to, const call_message *from)
{
    uint8_t *start = put_span(to, NAME(PROPERTY_KEYS)), *p = start;
    *p++ = NAME_SEP;
    for (size_t i = 0; i < from->keys_count; i++) {
        if (from->keys[i].len == 0) continue;
        if (p != start + 1) *p++ = ' ';
        p = put_span(p, from->keys[i]);
    }
    if (p == start + 1) return to;
    *p++ = ITEM_SEP;
    return p;
}

size_t call_properties_most(const call_message *from, span remote)
{
    return CALL_SYSTEM_ROOM + 2 * from->user_count + from->own_bytes + from->id.len + from->topic.len +
           from->group.len + from->trace.len + from->born_host.len + remote.len;
}

uint8_t *call_properties_write(uint8_t *to, const call_message *from, span remote, int64_t born)
{
    put_list list;
    uint8_t places[CALL_NAMES_MOST];
    list.count = 0;
    list.next = list.digits;
    put_all(&list, from, remote, born);
    order(&list, places);
    for (size_t i = 0; i < list.count; i++) {
        const call_property *one = &list.each[places[i]];
        bool keys = places[i] == from->user_count + 1 && from->keys_count > 0;
        to = keys ? write_keys(to, from) : write_item(to, one->name, one->value);
    }
    return to;
}

/* Guava's consistent hash: the twin is wire.grpc.queue_choice.consistent_hash. */
int32_t queue_of_group(span group, int32_t queues)
{
    const uint64_t multiplier = 2862933555777941757u;
    const double one = 2147483648.0;
    uint64_t state = (uint64_t)(int64_t)java_hash(0, group);
    int64_t queue = 0;
    for (;;) {
        state = state * multiplier + 1;
        double drawn = (double)((state >> 33) + 1);
        if (drawn == one) return (int32_t)queue;
        double jump = (double)(queue + 1) / (drawn / one);
        if (jump >= (double)queues) return (int32_t)queue;
        queue = (int64_t)jump;
    }
}
