/* CallDeliveries: the records of a pop as ReceiveMessage answers, a run of them in one call. */

#include "core/kernel.h"

#include <stdlib.h>

#include "core/values.h"
#include "grpc/deliveries/delivery.h"
#include "message/text.h"

typedef struct {
    PyObject_HEAD
    PyObject *names; /* keeps the memory of `known` */
    known_names known;
    delivered message; /* the one being written */
    uint8_t *scratch;
    size_t room;
} CallDeliveries;

/* One answer. */
typedef struct {
    CallDeliveries *self;
    span topic;
    handle_parts handles;
    PyObject *starts;   /* a dict: where the check point of each queue begins */
    PyObject *tags;     /* a tuple of those that are wanted, or None: all */
    int most_attempts;  /* messages that were tried so often are for Python */
    PyObject *payloads; /* a list */
} run;

static bool is_wanted(const run *in)
{
    span tag = in->self->message.tag, other;
    if (in->tags == Py_None) return true;
    for (Py_ssize_t i = 0; tag.at != NULL && i < PyTuple_Size(in->tags); i++) {
        if (!span_of_bytes(PyTuple_GetItem(in->tags, i), &other)) return false;
        if (other.len == tag.len && memcmp(other.at, tag.at, tag.len) == 0) return true;
    }
    return false;
}

/* Where the check point of the message's queue begins; false: unknown, or an exception is set. */
static bool start_of(const run *in, int64_t *start)
{
    PyObject *queue = PyLong_FromLong(in->self->message.queue_id);
    PyObject *found = queue == NULL ? NULL : PyDict_GetItemWithError(in->starts, queue);
    Py_XDECREF(queue);
    *start = found == NULL ? -1 : PyLong_AsLongLong(found);
    return *start >= 0;
}

/* Write the message; NULL: an exception is set. */
static PyObject *payload_of(run *in, int64_t start)
{
    CallDeliveries *self = in->self;
    const delivered *message = &self->message;
    size_t most = delivered_system_most(message, &in->handles);
    if (most > self->room) {
        uint8_t *grown = realloc(self->scratch, 2 * most);
        if (grown == NULL) return PyErr_NoMemory();
        self->scratch = grown;
        self->room = 2 * most;
    }
    uint8_t *end = delivered_system_write(self->scratch, message, &in->handles, start);
    span system = span_of(self->scratch, (size_t)(end - self->scratch));
    PyObject *payload = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)delivered_size(message, system));
    if (payload != NULL) delivered_write((uint8_t *)PyBytes_AsString(payload), message, system);
    return payload;
}

/* Write all; false: one of them is not plain, or an exception is set. */
static bool write_all(run *in, span records)
{
    const delivered *message = &in->self->message;
    int64_t start;
    while (records.len > 0) {
        if (!delivered_read(records, &in->self->known, &in->self->message)) return false;
        bool same = message->topic.len == in->topic.len && memcmp(message->topic.at, in->topic.at, in->topic.len) == 0;
        if (!same || message->reconsume_times >= in->most_attempts || !is_wanted(in) || !start_of(in, &start)) {
            return false;
        }
        if (!append_value(in->payloads, payload_of(in, start))) return false;
        records = span_of(records.at + message->size, records.len - message->size);
    }
    return true;
}

static PyObject *write_payloads(PyObject *object, PyObject *args)
{
    run in = {.self = (CallDeliveries *)object};
    Py_buffer records;
    PyObject *topic, *broker, *mark;
    long long pop_time, invisible_time;
    if (!PyArg_ParseTuple(args, "y*SO!LLiSSiO:write", &records, &topic, &PyDict_Type, &in.starts, &pop_time,
                          &invisible_time, &in.handles.revive_queue, &broker, &mark, &in.most_attempts, &in.tags)) {
        return NULL;
    }
    bool sound = span_of_bytes(topic, &in.topic) && span_of_bytes(broker, &in.handles.broker) &&
                 span_of_bytes(mark, &in.handles.mark) && (in.tags == Py_None || PyTuple_Check(in.tags));
    in.handles.pop_time = pop_time;
    in.handles.invisible_time = invisible_time;
    in.payloads = sound ? PyList_New(0) : NULL;
    if (!sound && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "tags are a tuple, or None");
    if (in.payloads != NULL && !write_all(&in, span_of(records.buf, (size_t)records.len))) {
        Py_CLEAR(in.payloads);
        if (!PyErr_Occurred()) in.payloads = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&records);
    return in.payloads;
}

/* --- the type --- */

static int by_hash(const void *a, const void *b)
{
    int32_t one = ((const known_name *)a)->hash, other = ((const known_name *)b)->hash;
    return (one > other) - (one < other);
}

static bool take_name(known_name *to, PyObject *pair)
{
    PyObject *name;
    int kind;
    if (!PyTuple_Check(pair) || !PyArg_ParseTuple(pair, "Si", &name, &kind) || !span_of_bytes(name, &to->name)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a name has a kind");
        return false;
    }
    to->hash = java_hash(0, to->name);
    to->kind = (name_kind)kind;
    return true;
}

static bool take_names(CallDeliveries *self)
{
    size_t count = (size_t)PyTuple_Size(self->names);
    self->known.names = calloc(count + 1, sizeof *self->known.names);
    if (self->known.names == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!take_name(&self->known.names[i], PyTuple_GetItem(self->names, (Py_ssize_t)i))) return false;
    }
    self->known.count = count;
    qsort(self->known.names, count, sizeof *self->known.names, by_hash);
    for (size_t i = 1; i < count; i++) {
        if (self->known.names[i].hash == self->known.names[i - 1].hash) {
            PyErr_SetString(PyExc_ValueError, "two names have the same hash");
            return false;
        }
    }
    return true;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"names", NULL};
    PyObject *known;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!", names, &PyTuple_Type, &known)) return NULL;
    CallDeliveries *self = object_new(type);
    if (self == NULL) return NULL;
    self->names = Py_NewRef(known);
    if (take_names(self)) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void dealloc(PyObject *object)
{
    CallDeliveries *self = (CallDeliveries *)object;
    free(self->known.names);
    free(self->scratch);
    Py_XDECREF(self->names);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"write", write_payloads, METH_VARARGS, "The payloads of the records' answers; None: one of them is not plain."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Plain ReceiveMessage answers; see rocketwire.wire.grpc.receiving."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.CallDeliveries", sizeof(CallDeliveries), 0, Py_TPFLAGS_DEFAULT, slots};

int deliveries_init(PyObject *module) { return add_type(module, &spec, NULL); }
