/* A group of messages being stored: they are written into the mapped log one after the other, and become visible when
 * the group is published. The bytes are the same as store.append.append_loop's. */
#ifndef ROCKETWIRE_SEND_GROUP_H
#define ROCKETWIRE_SEND_GROUP_H

#include "log/tails.h"
#include "message/record.h"

typedef struct {
    QueueTail *queue; /* `touched` has a reference */
    int64_t place;    /* of the record in the log */
    int64_t tags_code;
    int32_t size;
} group_entry;

typedef struct {
    LogTail *log;
    PyObject *make_room; /* CommitLog.make_room */
    PyObject *keys;      /* KeyColumn, or NULL: nothing is indexed */
    PyObject *touched;   /* list of the queues that got messages since it was taken */
    int64_t start;       /* where the log ended before the group, -1 while there is none */
    int64_t bytes;       /* of the records written */
    int32_t first_size;  /* the first record's size, which is written last */
    int64_t timestamp;   /* of the records written, in ms; when they are published, of the last one published */
    group_entry *entries;
    size_t count, room;
    int64_t began_ns;               /* when the first of the groups since group_end began, 0 while there is none */
    int64_t messages, stored_bytes; /* published, since they were taken */
} send_group;

/* Make room in one file for `count` records of one queue, `size` bytes together. If Python has to make room, the
 * records written before are published. 1: there is room; 0: there is none; -1: a Python exception is set. */
int group_room(send_group *group, QueueTail *queue, size_t count, size_t size);

/* Write a record, for which there is room, at `group_place` and with `group_queue_offset`. -1: a Python exception is
 * set, nothing was written. */
int group_add(send_group *group, QueueTail *queue, const record *from, size_t size, int64_t tags_code, span unique_key,
              span keys);

static inline int64_t group_place(const send_group *group) { return group->log->position + group->bytes; }
static inline int64_t group_queue_offset(const QueueTail *queue) { return queue->end + queue->pending; }

/* Publish the group. -1: a Python exception is set; it was published all the same. */
int group_publish(send_group *group);

/* Publish, and return the time since the first `group_room` in ns; 0: there was none. -1: as group_publish. */
int group_end(send_group *group, int64_t *took_ns);

/* The touched queues as a list, a new reference; the list of the group is emptied. */
PyObject *group_take_touched(send_group *group);

bool group_init(send_group *group, LogTail *log, PyObject *make_room, PyObject *keys);
void group_free(send_group *group);

#endif
