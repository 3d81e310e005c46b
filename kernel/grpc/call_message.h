/* The message of a plain SendMessage call, and its properties as wire.grpc.sending writes them. */
#ifndef ROCKETWIRE_CALL_MESSAGE_H
#define ROCKETWIRE_CALL_MESSAGE_H

#include "core/span.h"

enum {
    CALL_KEYS_MOST = 8,
    CALL_USER_MOST = 24, /* properties; those of a message with more are for Python */
    CALL_NAMES_MOST = CALL_USER_MOST + 12,
    CALL_SYSTEM_ROOM = 320 /* bytes of the names and numbers of the properties that are not the user's */
};

typedef enum { CALL_NORMAL = 1, CALL_FIFO = 2, CALL_DELAY = 4 } call_type; /* bits */

typedef struct {
    span name, value;
    uint32_t hash; /* a Java hash map uses the lower bits first */
} call_property;

typedef struct {
    span topic, id, tag, group, trace, born_host, body;
    span keys[CALL_KEYS_MOST];
    size_t keys_count;
    call_property user[CALL_USER_MOST]; /* sorted by name */
    size_t user_count;
    bool has_born, has_delivery, compressed;
    int64_t born, delivery; /* ms since 1970 */
    int32_t attempt;
    size_t own_bytes; /* of the user properties, the tag and the keys */
} call_message;

/* What a message may have at most, 0: no limit; as wire.grpc.limits. */
typedef struct {
    int64_t user_properties, property_bytes, message_group_bytes, delay_ms;
} call_limits;

/* The hashes of names of properties that users may not set, or whose user's value counts for more, sorted. */
typedef struct {
    int32_t *hashes;
    size_t count;
} reserved_names;

/* Read a request. False: it is not plain, or something is wrong with it. */
bool call_message_read(span request, const reserved_names *reserved, call_message *found);

/* Whether it is within the limits at a time in ms. */
bool call_message_fits(const call_message *from, const call_limits *limits, int64_t now);

static inline call_type call_message_type(const call_message *from)
{
    return from->has_delivery ? CALL_DELAY : from->group.len > 0 ? CALL_FIFO : CALL_NORMAL;
}

/* The sysFlag of its record. */
static inline int32_t call_sys_flag(const call_message *from)
{
    enum { COMPRESSED = 1 };
    return from->compressed ? COMPRESSED : 0;
}

/* Bytes that the property text of a message has at most. */
size_t call_properties_most(const call_message *from, span remote);

/* Write the property text; returns its end. `remote` is the client's address. */
uint8_t *call_properties_write(uint8_t *to, const call_message *from, span remote, int64_t born);

/* The place of a message group's queue: the twin is wire.grpc.queue_choice. */
int32_t queue_of_group(span group, int32_t queues);

#endif
