#define _GNU_SOURCE /* clock_gettime */

#include "core/kernel.h"

#include "log/record_group.h"

#include <stdlib.h>
#include <time.h>

#include "index/keys.h"

static int64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* --- room --- */

static int64_t place_of_next(const record_group *group) { return group->log->position + group->bytes; }

static bool log_has_room(const record_group *group, size_t size)
{
    const LogTail *log = group->log;
    int64_t at = place_of_next(group), end = at + (int64_t)size;
    return log->has_view && end <= log->limit && at >= log->base && end - log->base <= log->view.len;
}

static int64_t end_of_entries(const QueueTail *queue, size_t count)
{
    return queue->position + ((int64_t)queue->pending + (int64_t)count) * QUEUE_ENTRY_SIZE;
}

bool queue_has_room(const QueueTail *queue, size_t count)
{
    int64_t end = end_of_entries(queue, count);
    return queue->has_view && queue->position >= 0 && end <= queue->limit && end <= queue->view.len;
}

/* Publish before Python makes room. What it does to the log, the blank at a file's end, belongs to the next group. */
static int publish_before_python(record_group *group)
{
    int64_t start = group->start;
    bool empty = group->records == 0;
    int published = group_publish(group);
    group->start = empty ? start : group->log->position;
    return published;
}

static int done_by_python(PyObject *result)
{
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

static int make_room(record_group *group, QueueTail *queue, size_t count, size_t size)
{
    if (place_of_next(group) + (int64_t)size > group->log->limit &&
        (publish_before_python(group) < 0 ||
         done_by_python(PyObject_CallFunction(group->make_room, "n", (Py_ssize_t)size)) < 0)) {
        return -1;
    }
    if (queue != NULL && end_of_entries(queue, count) > queue->limit &&
        (publish_before_python(group) < 0 ||
         done_by_python(PyObject_CallMethod((PyObject *)queue, "extend", "n", (Py_ssize_t)count)) < 0)) {
        return -1;
    }
    return log_has_room(group, size) && (queue == NULL || queue_has_room(queue, 1));
}

static bool entries_room(record_group *group, size_t count)
{
    if (group->entry_room - group->entry_count >= count) {
        return true;
    }
    size_t room = 2 * group->entry_room + count + 64;
    group_entry *entries = realloc(group->entries, room * sizeof *entries);
    if (entries == NULL) {
        PyErr_NoMemory();
        return false;
    }
    group->entries = entries;
    group->entry_room = room;
    return true;
}

int group_room(record_group *group, QueueTail *queue, size_t count, size_t size)
{
    if (group->began_ns == 0) {
        group->began_ns = monotonic_ns();
    }
    if (group->start < 0) {
        group->start = group->log->position;
    }
    int made = log_has_room(group, size) && (queue == NULL || queue_has_room(queue, count))
                   ? 1
                   : make_room(group, queue, count, size);
    return made > 0 && !entries_room(group, count) ? -1 : made;
}

/* --- writing --- */

static bool touch(record_group *group, QueueTail *queue)
{
    if (!queue->touched) {
        if (PyList_Append(group->touched, (PyObject *)queue) < 0) {
            return false;
        }
        queue->touched = true;
    }
    return true;
}

int group_add(record_group *group, QueueTail *queue, record *from, size_t size, const record_facts *facts)
{
    from->physical_offset = place_of_next(group);
    from->queue_offset = facts->no_entry ? 0 : queue->end + queue->pending;
    if (!facts->no_entry && !touch(group, queue)) {
        return -1;
    }
    if (group->keys != NULL && key_column_add(group->keys, queue->index_prefix_hash, facts->unique_key, facts->words,
                                              from->physical_offset, from->store_timestamp) < 0) {
        return -1;
    }
    LogTail *log = group->log;
    record_write((uint8_t *)log->view.buf + (from->physical_offset - log->base), from, size, group->records > 0);
    if (group->records == 0) {
        group->first_size = (int32_t)size;
    }
    if (!facts->no_entry) {
        group->entries[group->entry_count++] =
            (group_entry){queue, from->physical_offset, facts->tags_code, (int32_t)size};
        queue->pending++;
    }
    group->records++;
    group->bytes += (int64_t)size;
    group->timestamp = from->store_timestamp;
    return 0;
}

int group_publish(record_group *group)
{
    LogTail *log = group->log;
    int64_t start = group->start;
    group->start = -1;
    if (group->records == 0) {
        return 0;
    }
    log_publish(log, group->first_size, log->position + group->bytes);
    log->timestamp = group->timestamp;
    bool done = true;
    for (const group_entry *entry = group->entries; entry != group->entries + group->entry_count; entry++) {
        done = queue_publish(entry->queue, entry->place, entry->size, entry->tags_code) && done;
    }
    group->messages += (int64_t)group->records;
    group->stored_bytes += group->bytes;
    group->records = group->entry_count = 0;
    group->bytes = 0;
    bool noted = group->keys == NULL || key_column_group(group->keys, start, log->position) == 0;
    return done && noted ? 0 : -1;
}

int group_end(record_group *group, int64_t *took_ns)
{
    int published = group_publish(group);
    *took_ns = group->began_ns ? monotonic_ns() - group->began_ns : 0;
    group->began_ns = 0;
    return published;
}

/* --- what holds it --- */

PyObject *group_take_touched(record_group *group)
{
    PyObject *fresh = PyList_New(0), *taken = group->touched;
    if (fresh == NULL) {
        return NULL;
    }
    for (Py_ssize_t each = PyList_Size(taken) - 1; each >= 0; each--) {
        ((QueueTail *)PyList_GetItem(taken, each))->touched = false;
    }
    group->touched = fresh;
    return taken;
}

bool group_init(record_group *group, LogTail *log, PyObject *make_room, PyObject *keys)
{
    *group =
        (record_group){.start = -1, .log = (LogTail *)Py_NewRef((PyObject *)log), .make_room = Py_NewRef(make_room)};
    if (keys != Py_None) {
        group->keys = Py_NewRef(keys);
    }
    group->touched = PyList_New(0);
    return group->touched != NULL;
}

void group_free(record_group *group)
{
    free(group->entries);
    Py_CLEAR(group->touched);
    Py_CLEAR(group->keys);
    Py_CLEAR(group->make_room);
    Py_XDECREF((PyObject *)group->log);
}
