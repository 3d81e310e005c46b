/* A stored message as a plain ReceiveMessage answer: the twin is wire.grpc.receiving. */
#ifndef ROCKETWIRE_DELIVERY_H
#define ROCKETWIRE_DELIVERY_H

#include "core/span.h"

enum { DELIVERED_PROPERTIES_MOST = 64 };

/* What is done with a property of a name that is known here. */
typedef enum {
    NAME_USERS, /* any other name */
    NAME_TAGS,
    NAME_KEYS,
    NAME_UNIQ_KEY,
    NAME_SHARDING,
    NAME_BORN_HOST,
    NAME_HIDDEN, /* reserved: clients do not get it */
    NAME_RARE    /* for Python */
} name_kind;

typedef struct {
    int32_t hash;
    span name;
    name_kind kind;
} known_name;

/* Sorted by hash; no two have the same. */
typedef struct {
    known_name *names;
    size_t count;
} known_names;

typedef struct {
    span name, value;
} delivered_property;

typedef struct {
    span topic, body, tag, keys, id, group, born_host; /* at == NULL: none, but for the first two */
    int32_t queue_id, reconsume_times;
    int64_t queue_offset, physical_offset, born, stored; /* the last two in ms since 1970 */
    const uint8_t *host, *store_host;                    /* 8 bytes each */
    delivered_property user[DELIVERED_PROPERTIES_MOST];
    size_t user_count;
    size_t size; /* of the record */
} delivered;

/* What the handles of one answer have in common. */
typedef struct {
    int64_t pop_time, invisible_time;
    int32_t revive_queue;
    span broker, mark; /* the mark is behind all */
} handle_parts;

/* Read a record at the beginning of `records`. False: it is not plain. */
bool delivered_read(span records, const known_names *names, delivered *found);

/* Write the system properties; `to` has room for delivered_system_most(). Returns the end. */
uint8_t *delivered_system_write(uint8_t *to, const delivered *from, const handle_parts *handles, int64_t start);
size_t delivered_system_most(const delivered *from, const handle_parts *handles);

/* The payload of the answer, around the system properties. */
size_t delivered_size(const delivered *from, span system);
uint8_t *delivered_write(uint8_t *to, const delivered *from, span system);

#endif
