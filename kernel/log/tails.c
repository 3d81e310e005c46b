/* The Python types of tails.h: positions that both sides advance, and the mapping they write through.
 *
 * A mapping is dropped by releasing all references (store.disk.segment), so nothing here outlives a new value of
 * `buffer`. A value without writable memory is kept, but the kernel writes nothing through it. */

#include "core/kernel.h"

#include <stdatomic.h>
#include <stddef.h>
#include <structmember.h>

#include "log/tails.h"
#include "message/record.h"

PyTypeObject *LogTail_Type, *QueueTail_Type;

/* Replace the value whose memory is in use. */
static void exchange(PyObject **slot, Py_buffer *view, bool *has_view, PyObject *value)
{
    PyObject *former = *slot;
    Py_buffer old = *view;
    bool had_view = *has_view;
    *slot = Py_XNewRef(value);
    *has_view = false;
    if (value != NULL && value != Py_None) {
        if (PyObject_GetBuffer(value, view, PyBUF_WRITABLE) < 0) {
            PyErr_Clear();
        } else if (view->len == 0) {
            PyBuffer_Release(view);
        } else {
            *has_view = true;
        }
    }
    if (had_view) PyBuffer_Release(&old);
    Py_XDECREF(former);
}

static int refuse_deletion(PyObject *value)
{
    if (value != NULL) return 0;
    PyErr_SetString(PyExc_TypeError, "this attribute cannot be deleted");
    return -1;
}

/* --- the log --- */

static PyObject *log_buffer(PyObject *self, void *unused)
{
    (void)unused;
    PyObject *buffer = ((LogTail *)self)->buffer;
    return Py_NewRef(buffer == NULL ? Py_None : buffer);
}

static int log_set_buffer(PyObject *self, PyObject *value, void *unused)
{
    LogTail *log = (LogTail *)self;
    (void)unused;
    if (refuse_deletion(value) < 0) return -1;
    exchange(&log->buffer, &log->view, &log->has_view, value);
    return 0;
}

static void log_dealloc(PyObject *self)
{
    LogTail *log = (LogTail *)self;
    exchange(&log->buffer, &log->view, &log->has_view, NULL);
    object_free(self);
}

static PyMemberDef log_members[] = {
    {"position", T_LONGLONG, offsetof(LogTail, position), 0, "Physical offset of the next record."},
    {"limit", T_LONGLONG, offsetof(LogTail, limit), 0, "A record that ends after this needs room first."},
    {"base", T_LONGLONG, offsetof(LogTail, base), 0, "Physical offset of the first byte of `buffer`."},
    {"timestamp", T_LONGLONG, offsetof(LogTail, timestamp), 0, "Store timestamp in ms of what was appended last."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef log_properties[] = {
    {"buffer", log_buffer, log_set_buffer, "The mapping of the file being written, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot log_slots[] = {
    {Py_tp_doc, "The end of the commit log; see rocketwire.native."},
    {Py_tp_new, PyType_GenericNew},
    {Py_tp_dealloc, log_dealloc},
    {Py_tp_members, log_members},
    {Py_tp_getset, log_properties},
    {0, NULL},
};

static PyType_Spec log_spec = {"rocketwire._kernel.LogTail", sizeof(LogTail), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, log_slots};

/* --- a queue --- */

static PyObject *queue_buffer(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(((QueueTail *)self)->buffer);
}

static int queue_set_buffer(PyObject *self, PyObject *value, void *unused)
{
    QueueTail *queue = (QueueTail *)self;
    (void)unused;
    if (refuse_deletion(value) < 0) return -1;
    exchange(&queue->buffer, &queue->view, &queue->has_view, value);
    return 0;
}

static PyObject *queue_topic_field(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(((QueueTail *)self)->topic_field);
}

static int queue_set_topic_field(PyObject *self, PyObject *value, void *unused)
{
    QueueTail *queue = (QueueTail *)self;
    (void)unused;
    if (refuse_deletion(value) < 0) return -1;
    if (!PyBytes_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "topic_field is bytes");
        return -1;
    }
    PyObject *former = queue->topic_field;
    queue->topic_field = Py_NewRef(value);
    Py_XDECREF(former);
    return 0;
}

static PyObject *queue_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *self = PyType_GenericNew(type, args, kwargs);
    if (self == NULL) return NULL;
    QueueTail *queue = (QueueTail *)self;
    queue->topic_field = PyBytes_FromStringAndSize(NULL, 0);
    queue->buffer = PyByteArray_FromStringAndSize(NULL, 0);
    if (queue->topic_field == NULL || queue->buffer == NULL) Py_CLEAR(self);
    return self;
}

static void queue_dealloc(PyObject *self)
{
    QueueTail *queue = (QueueTail *)self;
    exchange(&queue->buffer, &queue->view, &queue->has_view, NULL);
    Py_CLEAR(queue->topic_field);
    object_free(self);
}

static PyMemberDef queue_members[] = {
    {"end", T_LONGLONG, offsetof(QueueTail, end), 0, "Offset of the next entry."},
    {"min", T_LONGLONG, offsetof(QueueTail, min), 0, "Offset of the oldest entry whose message is in the log."},
    {"position", T_LONGLONG, offsetof(QueueTail, position), 0, "Where in `buffer` the next entry goes."},
    {"limit", T_LONGLONG, offsetof(QueueTail, limit), 0, "An entry at or after this needs room first."},
    {"arrived", T_LONGLONG, offsetof(QueueTail, arrived), 0, "Messages appended since they were counted."},
    {"arrived_bytes", T_LONGLONG, offsetof(QueueTail, arrived_bytes), 0, "Their bytes in the log."},
    {"queue_id", T_INT, offsetof(QueueTail, queue_id), 0, "Number of the queue in its topic."},
    {"magic", T_INT, offsetof(QueueTail, magic), 0, "Magic number of its records."},
    {"index_prefix_hash", T_INT, offsetof(QueueTail, index_prefix_hash), 0, "Java hash of `topic#`."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef queue_properties[] = {
    {"buffer", queue_buffer, queue_set_buffer, "The mapping of the file being written, or what holds nothing.", NULL},
    {"topic_field", queue_topic_field, queue_set_topic_field, "The topic as its records hold it.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot queue_slots[] = {
    {Py_tp_doc, "The end of a consume queue; see rocketwire.native."},
    {Py_tp_new, queue_new},
    {Py_tp_dealloc, queue_dealloc},
    {Py_tp_members, queue_members},
    {Py_tp_getset, queue_properties},
    {0, NULL},
};

static PyType_Spec queue_spec = {"rocketwire._kernel.QueueTail", sizeof(QueueTail), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, queue_slots};

/* --- publishing --- */

void log_publish(LogTail *log, int32_t first_size, int64_t end)
{
    atomic_thread_fence(memory_order_release);
    put32((uint8_t *)log->view.buf + (log->position - log->base), (uint32_t)first_size);
    atomic_thread_fence(memory_order_release);
    log->position = end;
}

bool queue_publish(QueueTail *queue, int64_t place, int32_t size, int64_t tags_code)
{
    queue->pending--;
    if (!queue->has_view || queue->position + QUEUE_ENTRY_SIZE > queue->view.len) {
        PyErr_SetString(PyExc_SystemError, "a queue lost its mapping while it was written");
        return false;
    }
    queue_entry_write((uint8_t *)queue->view.buf + queue->position, place, size, tags_code);
    queue->position += QUEUE_ENTRY_SIZE;
    queue->end++;
    queue->arrived++;
    queue->arrived_bytes += size;
    return true;
}

int tails_init(PyObject *module)
{
    if (add_type(module, &log_spec, &LogTail_Type) < 0) return -1;
    return add_type(module, &queue_spec, &QueueTail_Type);
}
