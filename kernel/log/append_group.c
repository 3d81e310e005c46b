/* A group of records in progress: its queues, room for it, and publishing it. */

#include "log/append.h"

#include "message/record.h"

/* --- publishing --- */

bool append_publish(AppendLoop *self, group *in)
{
    LogTail *log = self->log;
    if (in->at > log->position) {
        log_publish(log, in->first_size, in->at);
    }
    bool done = true;
    for (Py_ssize_t i = 0; i < in->used; i++) {
        const entry *each = &in->entries[i];
        done = queue_publish(each->queue, each->physical_offset, each->size, each->tags_code) && done;
        if (i == 0 || in->entries[i - 1].queue != each->queue) {
            done = PySet_Add(in->touched, (PyObject *)each->queue) == 0 && done;
        }
    }
    for (Py_ssize_t i = 0; i < in->used; i++) {
        Py_DECREF((PyObject *)in->entries[i].queue);
    }
    in->used = 0;
    return done;
}

/* --- the queue of a draft --- */

/* The queue of a topic and number as a new reference; NULL without an exception: there is none. */
static PyObject *find_queue(AppendLoop *self, PyObject *topic, PyObject *queue_id)
{
    PyObject *key = PyTuple_Pack(2, topic, queue_id);
    PyObject *queue = key == NULL ? NULL : PyDict_GetItemWithError(self->queues, key);
    Py_XINCREF(queue);
    Py_XDECREF(key);
    return queue;
}

/* Whether entries of a queue have a time in place of a tag code. */
static outcome read_delay(const AppendLoop *self, PyObject *queue, group *in)
{
    PyObject *delay = PyObject_GetAttr(queue, self->delay_name);
    if (delay == NULL) {
        return FAILED;
    }
    in->delayed = delay != Py_None;
    in->delay = in->delayed ? PyLong_AsLongLong(delay) : 0;
    Py_DECREF(delay);
    return PyErr_Occurred() ? FAILED : DONE;
}

outcome append_enter_queue(AppendLoop *self, group *in, const draft *from)
{
    if (in->queue != NULL && in->queue->queue_id == from->queue_number && in->topic == from->topic) {
        return DONE;
    }
    PyObject *queue = find_queue(self, from->topic, from->queue_id);
    if (queue == NULL && !PyErr_Occurred()) {
        queue = PyObject_CallFunctionObjArgs(self->create, from->topic, from->queue_id, NULL);
    }
    if (queue == NULL) {
        return FAILED;
    }
    Py_XDECREF((PyObject *)in->queue);
    in->queue = NULL;
    if (!PyObject_TypeCheck(queue, QueueTail_Type)) {
        Py_DECREF(queue);
        return HANDED_OVER;
    }
    in->queue = (QueueTail *)queue;
    Py_INCREF(from->topic);
    Py_XDECREF(in->topic);
    in->topic = from->topic;
    return read_delay(self, queue, in);
}

static int64_t next_place(const QueueTail *queue)
{
    return queue->position + (int64_t)queue->pending * QUEUE_ENTRY_SIZE;
}

outcome append_entry_room(AppendLoop *self, group *in, int64_t entries)
{
    QueueTail *queue = in->queue;
    if (next_place(queue) + entries * QUEUE_ENTRY_SIZE > queue->limit) {
        PyObject *done =
            append_publish(self, in) ? PyObject_CallMethod((PyObject *)queue, "extend", "L", (long long)entries) : NULL;
        if (done == NULL) {
            return FAILED;
        }
        Py_DECREF(done);
    }
    return queue->has_view && next_place(queue) + QUEUE_ENTRY_SIZE <= queue->view.len ? DONE : HANDED_OVER;
}

/* --- room in the log --- */

int64_t append_overhead(const AppendLoop *self, size_t born_host_size, const QueueTail *queue)
{
    record empty = {
        .topic_field = {NULL, (size_t)PyBytes_Size(queue->topic_field)},
        .born_host = {NULL, born_host_size},
        .store_host = {NULL, self->store_host_size},
    };
    return (int64_t)record_size(&empty);
}

/* Bytes of the rest of a batch: of one queue and one client. */
static outcome size_of_batch(AppendLoop *self, group *in, const draft *first, Py_ssize_t number, int64_t *size)
{
    int64_t each = append_overhead(self, first->born_host.len, in->queue);
    for (Py_ssize_t i = number + 1; i < number + first->together; i++) {
        int64_t weight = draft_weight(&self->draft, PyList_GetItem(in->drafts, i));
        if (weight < 0) {
            return HANDED_OVER;
        }
        *size += each + weight;
    }
    return DONE;
}

/* Bytes of the second of two drafts, which is for another queue; false: that queue has no room, which is for Python. */
static bool size_of_note(AppendLoop *self, const group *in, PyObject *note, int64_t *size)
{
    draft found;
    bool ready = draft_read(&self->draft, note, &found);
    PyObject *queue = ready ? find_queue(self, found.topic, found.queue_id) : NULL;
    ready = queue != NULL && queue != (PyObject *)in->queue && PyObject_TypeCheck(queue, QueueTail_Type) &&
            next_place((QueueTail *)queue) < ((QueueTail *)queue)->limit;
    if (ready) {
        *size += append_overhead(self, found.born_host.len, (QueueTail *)queue) +
                 (int64_t)(found.body.len + found.properties.len);
    }
    PyErr_Clear();
    Py_XDECREF(queue);
    draft_release(&found);
    return ready;
}

/* As in store.append.append_loop, whose `size_behind` prepares the queues. */
static outcome ask_size_behind(AppendLoop *self, group *in, Py_ssize_t number, int64_t *size)
{
    if (!append_publish(self, in)) {
        return FAILED;
    }
    PyObject *found = PyObject_CallFunction(self->size_behind, "OnO", in->drafts, number, in->queue->topic_field);
    if (found == NULL) {
        return FAILED;
    }
    *size += PyLong_AsLongLong(found);
    Py_DECREF(found);
    return PyErr_Occurred() ? FAILED : DONE;
}

outcome append_size_behind(AppendLoop *self, group *in, const draft *first, Py_ssize_t number, int64_t *size,
                           int64_t *entries)
{
    if (first->together > PyList_Size(in->drafts) - number) {
        return HANDED_OVER;
    }
    PyObject *last = PyList_GetItem(in->drafts, number + (Py_ssize_t)first->together - 1);
    if (first->together == 2 && size_of_note(self, in, last, size)) {
        return DONE;
    }
    PyObject *topic = draft_field(&self->draft, last, DRAFT_TOPIC);
    int same = topic == NULL ? -1 : PyObject_RichCompareBool(topic, first->topic, Py_EQ);
    Py_XDECREF(topic);
    if (same < 0) {
        return FAILED;
    }
    if (!same) {
        return ask_size_behind(self, in, number, size);
    }
    *entries += first->together - 1;
    return size_of_batch(self, in, first, number, size);
}

outcome append_log_room(AppendLoop *self, group *in, int64_t size)
{
    LogTail *log = self->log;
    if (in->at + size > log->limit) {
        PyObject *done =
            append_publish(self, in) ? PyObject_CallMethod((PyObject *)log, "make_room", "L", (long long)size) : NULL;
        if (done == NULL) {
            return FAILED;
        }
        Py_DECREF(done);
        in->at = log->position;
    }
    return log->has_view && in->at >= log->base && in->at - log->base + size <= log->view.len ? DONE : HANDED_OVER;
}
