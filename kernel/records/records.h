/* Records of a commit log by the thousand, for readers of whole stores: where their parts are, and which to believe.
 *
 * A record is believed when all that store.records.checked_batch checks fits together, but for CRC and lost pages. The
 * twin is spark/columns/twin. Nothing outside of the buffer is read, whatever is in it. */
#ifndef ROCKETWIRE_RECORDS_H
#define ROCKETWIRE_RECORDS_H

#include "core/span.h"

#define RECORD_SMALLEST 91 /* store.layout.record.SMALLEST: no body, a topic and properties of no bytes */
#define RECORD_HEAD_MOST 112
#define BORN_HOST_AT 48

typedef struct {
    const uint8_t *at;
    uint8_t hosts;          /* the bits of its sysFlag that say which hosts are IPv6 */
    span body, topic, text; /* `text` are the properties */
} record_parts;

enum { SYS_FLAG_END = 39, V6_BORN = 0x10, V6_STORE = 0x20, V4_SIZE = 8, V6_SIZE = 20 };
enum { MAGIC_V1 = (int32_t)0xDAA320A7, MAGIC_V2 = (int32_t)0xDAA320AB }; /* a topic's length has one byte, or two */

static inline uint8_t hosts_of(const uint8_t *at) { return at[SYS_FLAG_END] & (V6_BORN | V6_STORE); }
static inline size_t born_size(uint8_t hosts) { return hosts & V6_BORN ? V6_SIZE : V4_SIZE; }
static inline size_t store_size(uint8_t hosts) { return hosts & V6_STORE ? V6_SIZE : V4_SIZE; }

/* How much of a record is before its body, the last of it the body's length. */
static inline size_t head_size(uint8_t hosts) { return 72 + born_size(hosts) + store_size(hosts); }

/* The parts of a record of some size, given the sizes of its head and of its topic's length. */
static inline size_t parts_within(const uint8_t *at, int64_t size, size_t head, size_t topic_length,
                                  record_parts *found)
{
    int64_t left = size - (int64_t)(head + topic_length + 2); /* for body, topic and properties */
    if (left < 0) return 0;
    int64_t body = get32(at + head - 4); /* a negative one is larger than any record */
    left -= body;
    if (left < 0) return 0;
    const uint8_t *topic = at + head + body;
    int64_t length = topic_length == 1 ? (int8_t)*topic : (int16_t)get16(topic);
    left -= length;
    topic += topic_length;
    if (length < 0 || left < 0 || (int16_t)get16(topic + length) != left) return 0;
    found->body = span_of(at + head, (size_t)body);
    found->topic = span_of(topic, (size_t)length);
    found->text = span_of(topic + length + 2, (size_t)left);
    return (size_t)size;
}

/* The parts of the record at `at`, within `room` bytes; returns its size, 0 if its lengths are inconsistent. */
static inline size_t parts_of(const uint8_t *at, size_t room, record_parts *found)
{
    if (room < RECORD_SMALLEST) return 0;
    int32_t size = (int32_t)get32(at), magic = (int32_t)get32(at + 4);
    if (size < RECORD_SMALLEST || (size_t)size > room) return 0;
    found->at = at;
    found->hosts = hosts_of(at);
    /* Nearly all are like this; with constant sizes the compiler knows all positions but two. */
    if (magic == MAGIC_V1 && found->hosts == 0) return parts_within(at, size, head_size(0), 1, found);
    if (magic != MAGIC_V1 && magic != MAGIC_V2) return 0;
    return parts_within(at, size, head_size(found->hosts), magic == MAGIC_V1 ? 1 : 2, found);
}

/* The positions of consecutive records from a position on; returns how many, and where the first non-record begins. */
size_t records_walk(span buffer, const int64_t *base, size_t *position, size_t end, int64_t *positions, size_t most);

/* At which positions there is a valid record of the given size. `base` is the physical offset of the buffer's
 * first byte, with which records must agree; NULL: with none. */
void records_check(span buffer, const int64_t *base, const int64_t *positions, const int64_t *sizes, size_t count,
                   uint8_t *good);

/* The record that `position` says, as far as its lengths fit; false: there is none. */
static inline bool record_there(span buffer, int64_t position, record_parts *found)
{
    if (position < 0 || (uint64_t)position >= buffer.len) return false;
    return parts_of(buffer.at + position, buffer.len - (size_t)position, found) != 0;
}

/* The same as far as numbers of its head go: it may be of any size, with texts of any. */
static inline bool head_there(span buffer, int64_t position, record_parts *found)
{
    if (position < 0 || (uint64_t)position > buffer.len) return false;
    size_t room = buffer.len - (size_t)position;
    if (room < RECORD_HEAD_MOST) return parts_of(buffer.at + position, room, found) != 0;
    found->at = buffer.at + position;
    found->hosts = hosts_of(found->at);
    found->body = found->topic = found->text = span_of(found->at, 0);
    return true;
}

/* The same for head and body, whatever is behind that. */
static inline bool body_there(span buffer, int64_t position, record_parts *found)
{
    if (!head_there(buffer, position, found)) return false;
    const uint8_t *body = found->at + head_size(found->hosts), *end = buffer.at + buffer.len;
    int32_t length = (int32_t)get32(body - 4);
    if (length < 0 || length > end - body) return false;
    found->body = span_of(body, (size_t)length);
    return true;
}

bool record_body_good(const record_parts *record); /* by its CRC; that of an empty body is not checked */

/* --- numbers --- */

typedef enum { FROM_START, FROM_BORN, FROM_HOSTS, FROM_PLACES } field_from;

typedef struct {
    const char *name; /* as spark/schema.py names it */
    uint8_t from, at, width;
    bool time;
} record_field;

#define RECORD_FIELDS_COUNT 11
extern const record_field record_fields[RECORD_FIELDS_COUNT];

/* Heads of a few records, which stay in the first-level cache from the first field to the last. A multiple of 8, so
 * that bits of validity fill bytes. */
#define HEADS_TOGETHER 64

typedef struct {
    size_t count;
    const uint8_t *from[FROM_PLACES][HEADS_TOGETHER]; /* where each record begins, its born host ends, its hosts end */
    bool v4; /* all hosts are IPv4: then the latter two are not stored, since their distances from the first are
                constant */
} record_heads;

static inline void heads_of(record_heads *heads, const uint8_t *const *records, const uint8_t *hosts, size_t count)
{
    unsigned odd = 0;
    heads->count = count;
    for (size_t i = 0; i < count; i++) {
        heads->from[FROM_START][i] = records[i];
        odd |= hosts[i];
    }
    heads->v4 = odd == 0;
    for (size_t i = 0; !heads->v4 && i < count; i++) {
        heads->from[FROM_BORN][i] = records[i] + BORN_HOST_AT + born_size(hosts[i]);
        heads->from[FROM_HOSTS][i] = heads->from[FROM_BORN][i] + 8 + store_size(hosts[i]);
    }
}

/* Numbers of records in native byte order. */
void record_field_copy(const record_field *field, const record_heads *heads, void *to);
/* Times in ms converted to us; those out of range become the first or the last one. */
void record_times_copy(const record_field *field, const record_heads *heads, void *to);

#endif
