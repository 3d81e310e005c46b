/* PopDrafts: the drafts of check points and acknowledgements, as server.pop.records makes them. */

#include "core/kernel.h"

#include "core/values.h"
#include "pop/pop_texts.h"

enum { AHEAD = 1000 }; /* as server.pop.records has it */

typedef struct {
    PyObject_HEAD
    PyObject *draft; /* the class */
    PyObject *revive_topic, *timer_topic, *host;
    PyObject *codes[3]; /* the tags codes of a check point, an acknowledgement, one of several messages */
} PopDrafts;

static PyObject *text_of(const uint8_t *start, const uint8_t *end)
{
    return PyUnicode_FromStringAndSize((const char *)start, end - start);
}

static PyObject *bytes_between(const uint8_t *start, const uint8_t *end)
{
    return bytes_of(span_of(start, (size_t)(end - start)));
}

static PyObject *draft_of(const PopDrafts *self, const pop_record *record, pop_delivery *delivery, int64_t now)
{
    uint8_t body[POP_TEXT_MOST], key[POP_TEXT_MOST], properties[2 * POP_TEXT_MOST];
    Py_ssize_t length;
    const char *topic = PyUnicode_AsUTF8AndSize(self->revive_topic, &length);
    if (topic == NULL) return NULL;
    delivery->revive_topic = span_of(topic, (size_t)length);
    delivery->waits = delivery->deliver > now;
    const uint8_t *body_end = put_pop_body(body, record), *key_end = put_pop_key(key, record);
    span unique_key = span_of(key, (size_t)(key_end - key));
    const uint8_t *end = put_pop_properties(properties, record, unique_key, delivery);
    PyObject *values[] = {
        Py_NewRef(delivery->waits ? self->timer_topic : self->revive_topic),
        PyLong_FromLongLong(delivery->waits ? 0 : delivery->revive_queue),
        bytes_between(body, body_end),
        bytes_between(properties, end),
        PyLong_FromLong(0),
        PyLong_FromLong(0),
        PyLong_FromLongLong(now),
        Py_NewRef(self->host),
        PyLong_FromLong(0),
        PyLong_FromLong(0),
        Py_NewRef(self->codes[!record->is_ack      ? 0
                              : record->count == 1 ? 1
                                                   : 2]),
        text_of(key, key_end),
    };
    PyObject *arguments = tuple_of(values, sizeof values / sizeof *values);
    PyObject *draft = arguments == NULL ? NULL : PyObject_CallObject(self->draft, arguments);
    Py_XDECREF(arguments);
    return draft;
}

/* False: there are none or too many, they do not ascend or do not fit int64. An exception may be set. */
static bool read_numbers(PyObject *from, pop_record *record)
{
    Py_ssize_t count = PySequence_Size(from);
    if (count <= 0 || count > POP_NUMBERS_MOST) return false;
    record->count = (size_t)count;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *number = PySequence_GetItem(from, i);
        record->numbers[i] = number == NULL ? -1 : PyLong_AsLongLong(number);
        Py_XDECREF(number);
        if (PyErr_Occurred() || (i > 0 && record->numbers[i] <= record->numbers[i - 1])) return false;
    }
    return true;
}

/* False: they are too long, or an exception is set. */
static bool read_names(PyObject *from, pop_record *record)
{
    span found[5];
    size_t size = record->renewer.len;
    if (!spans_of_tuple(from, found, 5)) return false;
    record->names = (point_names){found[0], found[1], found[2], found[3], found[4]};
    for (int i = 0; i < 5; i++) size += found[i].len;
    return size <= POP_NAMES_MOST;
}

/* Whether names and numbers could be read. Else `failure` is None, or NULL with an exception. */
static bool is_plain(PyObject *names, PyObject *numbers, pop_record *record, PyObject **failure)
{
    *failure = NULL;
    if (read_names(names, record) && read_numbers(numbers, record)) return true;
    if (!PyErr_Occurred()) *failure = Py_NewRef(Py_None);
    return false;
}

static PyObject *check_point(PyObject *object, PyObject *args)
{
    pop_record record = {.is_ack = false};
    pop_delivery delivery;
    PyObject *names, *differences, *renewer, *failure;
    long long queue, start, pop_time, invisible_time, revive_queue;
    if (!PyArg_ParseTuple(args, "OLLOLLSL:check_point", &names, &queue, &start, &differences, &pop_time,
                          &invisible_time, &renewer, &revive_queue)) {
        return NULL;
    }
    record.queue = queue;
    record.start = start;
    record.pop_time = pop_time;
    record.invisible_time = invisible_time;
    if (!span_of_bytes(renewer, &record.renewer) || !is_plain(names, differences, &record, &failure)) return failure;
    delivery.revive_queue = revive_queue;
    delivery.deliver = pop_time + invisible_time - AHEAD;
    return draft_of((const PopDrafts *)object, &record, &delivery, pop_time);
}

static PyObject *ack(PyObject *object, PyObject *args)
{
    pop_record record = {.is_ack = true};
    pop_delivery delivery;
    PyObject *names, *offsets, *failure;
    long long queue, start, pop_time, revive_queue, due, now;
    if (!PyArg_ParseTuple(args, "OLLLOLLL:ack", &names, &queue, &start, &pop_time, &offsets, &revive_queue, &due,
                          &now)) {
        return NULL;
    }
    record.queue = queue;
    record.start = start;
    record.pop_time = pop_time;
    if (!is_plain(names, offsets, &record, &failure)) return failure;
    delivery.revive_queue = revive_queue;
    delivery.deliver = due > now ? due : now + 1;
    return draft_of((const PopDrafts *)object, &record, &delivery, now);
}

/* --- the type --- */

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"draft", "revive_topic", "timer_topic", "host", "codes", NULL};
    PyObject *draft, *revive, *timer, *host, *codes[3];
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OUUS(OOO)", names, &draft, &revive, &timer, &host, &codes[0],
                                     &codes[1], &codes[2])) {
        return NULL;
    }
    PopDrafts *self = object_new(type);
    if (self == NULL) return NULL;
    self->draft = Py_NewRef(draft);
    self->revive_topic = Py_NewRef(revive);
    self->timer_topic = Py_NewRef(timer);
    self->host = Py_NewRef(host);
    for (int i = 0; i < 3; i++) self->codes[i] = Py_NewRef(codes[i]);
    return (PyObject *)self;
}

static void dealloc(PyObject *object)
{
    PopDrafts *self = (PopDrafts *)object;
    Py_XDECREF(self->draft);
    Py_XDECREF(self->revive_topic);
    Py_XDECREF(self->timer_topic);
    Py_XDECREF(self->host);
    for (int i = 0; i < 3; i++) Py_XDECREF(self->codes[i]);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"check_point", check_point, METH_VARARGS, "The draft of a check point; None: its names or numbers are not plain."},
    {"ack", ack, METH_VARARGS, "The draft of an acknowledgement; None: as above."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Drafts of POP's records; see rocketwire.server.pop.records."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.PopDrafts", sizeof(PopDrafts), 0, Py_TPFLAGS_DEFAULT, slots};

int pop_drafts_init(PyObject *module) { return add_type(module, &spec, NULL); }
