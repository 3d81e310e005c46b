/* The ends of the commit log and of the consume queues, where the kernel and Python both append.
 *
 * `LogTail` and `QueueTail` are base classes of store.log.commit_log.CommitLog and
 * store.queues.queue_entries.QueueEntries; their twins in rocketwire.native have the same attributes. Python decides
 * about them; the kernel appends only inside [position, limit), and leaves everything else to Python. */
#ifndef ROCKETWIRE_TAILS_H
#define ROCKETWIRE_TAILS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "core/span.h"

typedef struct {
    PyObject_HEAD
    int64_t position;  /* physical offset of the next record */
    int64_t limit;     /* a record that ends behind this needs make_room() first */
    int64_t base;      /* physical offset of the first byte of `view` */
    int64_t timestamp; /* store timestamp in ms of what was appended last, 0: nothing since the start */
    PyObject *buffer;  /* the mapping of the file being written, or None; setting it takes the view */
    Py_buffer view;
    bool has_view;
} LogTail;

typedef struct {
    PyObject_HEAD
    int64_t end;      /* offset of the next entry */
    int64_t min;      /* offset of the oldest entry whose message is in the log */
    int64_t position; /* where in `view` the next entry goes, in bytes */
    int64_t limit;
    int64_t arrived, arrived_bytes; /* messages appended since Python counted them, and their bytes in the log */
    PyObject *buffer;               /* the mapping of the file being written, or an empty bytearray */
    Py_buffer view;
    bool has_view;
    int32_t queue_id;
    int32_t magic;             /* of its records */
    int32_t index_prefix_hash; /* Java hash of `topic#` */
    PyObject *topic_field;     /* bytes: the topic as its records hold it */
    int32_t pending;           /* entries of the group in progress, not in `end` and `position` yet */
    bool touched;              /* in the list of queues that got messages in this round */
} QueueTail;

extern PyTypeObject *LogTail_Type, *QueueTail_Type; /* heap types, made by tails_init */

/* Publish the records between the log's position and `end`, which are complete except for the size word of the first: a
 * process that is killed before leaves zero there, which means "never written". */
void log_publish(LogTail *log, int32_t first_size, int64_t end);

/* Write the next of a queue's pending entries. False: an exception is set; the mapping with its room is closed. */
bool queue_publish(QueueTail *queue, int64_t place, int32_t size, int64_t tags_code);

int tails_init(PyObject *module);

#endif
