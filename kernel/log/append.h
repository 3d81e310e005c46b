/* AppendLoop: the loop of store.append.append_loop in C, over drafts that Python made.
 *
 * Records are written into the mapping where they stay. A group becomes visible by the size word of its first record,
 * which is written last; the entries of the queues follow, so that no kill leaves an entry without a record. Before
 * Python is called (for room, or a queue) the records written so far are published, since Python may drop mappings. A
 * draft that is not as declared ends the loop; the twin continues from there. */
#ifndef ROCKETWIRE_APPEND_H
#define ROCKETWIRE_APPEND_H

#include "log/drafts.h"
#include "log/tails.h"

typedef enum { FAILED = -1, HANDED_OVER = 0, DONE = 1 } outcome; /* FAILED: an exception is set */

typedef struct {
    PyObject_HEAD
    LogTail *log;
    PyObject *queues, *create; /* dict of (topic, queue id), and the function that makes a queue */
    PyObject *keys;            /* KeyColumn, or NULL: there is no index */
    PyObject *size_behind;     /* for drafts that belong together and need their queues made ready */
    PyObject *delay_name;
    PyTypeObject *appended;
    newfunc new_tuple;
    draft_type draft;
    uint8_t store_host[HOST_V6_SIZE];
    size_t store_host_size;
} AppendLoop;

typedef struct {
    QueueTail *queue; /* a strong reference */
    int64_t physical_offset, tags_code;
    int32_t size;
} entry;

/* One call. */
typedef struct {
    PyObject *drafts, *results, *touched;
    int64_t now;
    int64_t at; /* where the next record goes; records between the log's position and it are not published yet */
    int32_t first_size; /* of the first record that is not visible */
    Py_ssize_t done;    /* drafts that were appended */
    entry *entries;     /* not written yet; room for one a draft */
    Py_ssize_t used;
    PyObject *topic; /* of the last draft, and its queue; strong references */
    QueueTail *queue;
    bool delayed; /* entries of that queue have the time of delivery in place of a tag code */
    int64_t delay;
} group;

/* Publish the written records. False: an exception is set; all records are published nevertheless. */
bool append_publish(AppendLoop *self, group *in);

/* Make a draft's queue the group's. */
outcome append_enter_queue(AppendLoop *self, group *in, const draft *from);

/* Make room for one more entry in the group's queue (for all, if its file takes them), and for `size` bytes in one file
 * of the log. */
outcome append_entry_room(AppendLoop *self, group *in, int64_t entries);
outcome append_log_room(AppendLoop *self, group *in, int64_t size);

/* Bytes of a record besides its body and properties. */
int64_t append_overhead(const AppendLoop *self, size_t born_host_size, const QueueTail *queue);

/* Add to `size` the bytes of the drafts that follow one and belong to it, and to `entries` the number of those for its
 * queue. */
outcome append_size_behind(AppendLoop *self, group *in, const draft *first, Py_ssize_t number, int64_t *size,
                           int64_t *entries);

#endif
