/* The one writer of the commit log: a group of records is written into the mapped log one after the other, and becomes
 * visible when it is published. Sends (send/sends.c) and drafts made by Python (append.c) stand on it; in Python it is
 * store.append.group_writer. */
#ifndef ROCKETWIRE_RECORD_GROUP_H
#define ROCKETWIRE_RECORD_GROUP_H

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
    PyObject *touched;   /* list of the queues that got entries since it was taken */
    int64_t start;       /* where the log ended before the group, -1 while there is none */
    int64_t bytes;       /* of the records written */
    int32_t first_size;  /* the first record's size, which is written last */
    int64_t timestamp;   /* of the records written, in ms; when they are published, of the last one published */
    size_t records;      /* written, and not published */
    group_entry *entries;
    size_t entry_count, entry_room;
    int64_t began_ns;               /* when the first of the groups since group_end began, 0 while there is none */
    int64_t messages, stored_bytes; /* published, since they were taken */
} record_group;

/* What the queue and the index get of a record. */
typedef struct {
    bool no_entry;          /* consumers do not get it: it has no entry in its queue, and the queue offset 0 */
    int64_t tags_code;      /* of the entry */
    span unique_key, words; /* for the index; at == NULL: none */
} record_facts;

/* Make room for `size` bytes in one file of the log, and for one entry in a queue, if its file takes them for `count`;
 * queue NULL: for none. If Python has to make room, the records written before are published first, since it may drop
 * mappings. 1: there is room; 0: there is none that can be written here; -1: a Python exception is set. */
int group_room(record_group *group, QueueTail *queue, size_t count, size_t size);

bool queue_has_room(const QueueTail *queue, size_t count);

/* Write a record, for which there is room; its physical offset and its queue offset are filled in. -1: a Python
 * exception is set, nothing was written. */
int group_add(record_group *group, QueueTail *queue, record *from, size_t size, const record_facts *facts);

/* Publish the group. -1: a Python exception is set; it was published nevertheless. */
int group_publish(record_group *group);

/* Publish, and return the time since the first `group_room` in ns; 0: there was none. -1: as group_publish. */
int group_end(record_group *group, int64_t *took_ns);

/* The touched queues as a list, a new reference; the list of the group is emptied. */
PyObject *group_take_touched(record_group *group);

bool group_init(record_group *group, LogTail *log, PyObject *make_room, PyObject *keys);
void group_free(record_group *group);

#endif
