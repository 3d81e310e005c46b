#define _GNU_SOURCE /* clock_gettime */

#include "core/kernel.h"

#include "send/send_group.h"

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

static bool log_has_room(const send_group *group, size_t size)
{
    const LogTail *log = group->log;
    int64_t at = group_place(group), end = at + (int64_t)size;
    return log->has_view && end <= log->limit && at >= log->base && end - log->base <= log->view.len;
}

static bool queue_has_room(const QueueTail *queue, size_t count)
{
    int64_t end = queue->position + ((int64_t)queue->pending + (int64_t)count) * QUEUE_ENTRY_SIZE;
    return queue->has_view && queue->position >= 0 && end <= queue->limit && end <= queue->view.len;
}

/* The result of a call of Python: 1; 0 if it raised, as it will again when Python serves the message. */
static int answer_of(PyObject *result)
{
    if (result != NULL) {
        Py_DECREF(result);
        return 1;
    }
    if (!PyErr_ExceptionMatches(PyExc_Exception)) return -1;
    PyErr_Clear();
    return 0;
}

static int make_log_room(send_group *group, size_t size)
{
    if (group_publish(group) < 0) return -1;
    group->start = group->log->position; /* before it moves to the next file: the blank there belongs to the group */
    int made = answer_of(PyObject_CallFunction(group->make_room, "n", (Py_ssize_t)size));
    return made <= 0 ? made : log_has_room(group, size);
}

static int make_queue_room(send_group *group, QueueTail *queue, size_t count)
{
    int64_t start = group->start;
    bool empty = group->count == 0;
    if (group_publish(group) < 0) return -1;
    group->start = empty ? start : group->log->position;
    int made = answer_of(PyObject_CallMethod((PyObject *)queue, "extend", "n", (Py_ssize_t)count));
    return made <= 0 ? made : queue_has_room(queue, count);
}

static bool entries_room(send_group *group, size_t count)
{
    if (group->room - group->count >= count) return true;
    size_t room = 2 * group->room + count + 64;
    group_entry *entries = realloc(group->entries, room * sizeof *entries);
    if (entries == NULL) {
        PyErr_NoMemory();
        return false;
    }
    group->entries = entries;
    group->room = room;
    return true;
}

int group_room(send_group *group, QueueTail *queue, size_t count, size_t size)
{
    int made = 1;
    if (group->began_ns == 0) group->began_ns = monotonic_ns();
    if (group->start < 0) group->start = group->log->position;
    if (!log_has_room(group, size)) made = make_log_room(group, size);
    if (made > 0 && !queue_has_room(queue, count)) made = make_queue_room(group, queue, count);
    return made > 0 && !entries_room(group, count) ? -1 : made;
}

/* --- writing --- */

static uint8_t *log_at(const send_group *group, int64_t place)
{
    return (uint8_t *)group->log->view.buf + (place - group->log->base);
}

int group_add(send_group *group, QueueTail *queue, const record *from, size_t size, int64_t tags_code, span unique_key,
              span keys)
{
    int64_t place = group_place(group);
    if (!queue->touched) {
        if (PyList_Append(group->touched, (PyObject *)queue) < 0) return -1;
        queue->touched = true;
    }
    if (group->keys != NULL &&
        key_column_add(group->keys, queue->index_prefix_hash, unique_key, keys, place, from->store_timestamp) < 0) {
        return -1;
    }
    record_write(log_at(group, place), from, size, group->count > 0);
    if (group->count == 0) group->first_size = (int32_t)size;
    group->entries[group->count++] = (group_entry){queue, place, tags_code, (int32_t)size};
    group->bytes += (int64_t)size;
    group->timestamp = from->store_timestamp;
    queue->pending++;
    return 0;
}

int group_publish(send_group *group)
{
    LogTail *log = group->log;
    size_t count = group->count;
    int64_t start = group->start;
    group->start = -1;
    if (count == 0) return 0;
    log_publish(log, group->first_size, log->position + group->bytes);
    log->timestamp = group->timestamp;
    bool done = true;
    for (const group_entry *entry = group->entries; entry != group->entries + count; entry++) {
        done = queue_publish(entry->queue, entry->place, entry->size, entry->tags_code) && done;
    }
    group->messages += (int64_t)count;
    group->stored_bytes += group->bytes;
    group->count = 0;
    group->bytes = 0;
    bool noted = group->keys == NULL || key_column_group(group->keys, start, log->position) == 0;
    return done && noted ? 0 : -1;
}

int group_end(send_group *group, int64_t *took_ns)
{
    int published = group_publish(group);
    *took_ns = group->began_ns ? monotonic_ns() - group->began_ns : 0;
    group->began_ns = 0;
    return published;
}

/* --- what holds it --- */

PyObject *group_take_touched(send_group *group)
{
    PyObject *fresh = PyList_New(0), *taken = group->touched;
    if (fresh == NULL) return NULL;
    for (Py_ssize_t each = PyList_Size(taken) - 1; each >= 0; each--) {
        ((QueueTail *)PyList_GetItem(taken, each))->touched = false;
    }
    group->touched = fresh;
    return taken;
}

bool group_init(send_group *group, LogTail *log, PyObject *make_room, PyObject *keys)
{
    *group = (send_group){.start = -1, .log = (LogTail *)Py_NewRef((PyObject *)log), .make_room = Py_NewRef(make_room)};
    if (keys != Py_None) group->keys = Py_NewRef(keys);
    group->touched = PyList_New(0);
    return group->touched != NULL;
}

void group_free(send_group *group)
{
    free(group->entries);
    Py_CLEAR(group->touched);
    Py_CLEAR(group->keys);
    Py_CLEAR(group->make_room);
    Py_XDECREF((PyObject *)group->log);
}
