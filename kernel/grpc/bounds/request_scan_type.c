/* `RequestScan` as Python sees it: see rocketwire.wire.grpc.request_scan. */

#include "core/kernel.h"

#include <stdlib.h>

#include "core/values.h"
#include "grpc/bounds/request_scan.h"

enum { CALL = 0 }; /* the kind of an event */
enum { EVENT_KIND, EVENT_STREAM, EVENT_PATH, EVENT_HEADERS, EVENT_PAYLOAD, EVENT_PARTS };

typedef struct {
    PyObject_HEAD
    scan_message *messages;
    size_t count;
    PyObject *calls; /* a dict: by path, the place of its message among the messages, and the most fields */
    PyObject *path;  /* of the last call, whose next one is mostly of the same method */
    int message, fields;
    Py_ssize_t small; /* a request of at most so many bytes cannot have too much */
} RequestScan;

static bool take_field(const RequestScan *self, scan_message *to, PyObject *rule)
{
    int number, most, message, packed;
    if (!PyArg_ParseTuple(rule, "iiip", &number, &most, &message, &packed)) return false;
    bool sound = number > 0 && number < SCAN_NUMBERS && most >= 0 && message >= SCAN_NO_MESSAGE &&
                 message < (int)self->count && (most == 0 || to->counters < SCAN_COUNTERS);
    if (!sound) {
        PyErr_SetString(PyExc_ValueError, "the rule of a field is not sound");
        return false;
    }
    to->fields[number] = (scan_field){.most = (uint32_t)most,
                                      .message = (int16_t)message,
                                      .counter = most > 0 ? (int8_t)to->counters++ : (int8_t)0,
                                      .packed = packed};
    return true;
}

static bool take_message(const RequestScan *self, scan_message *to, PyObject *rules)
{
    for (size_t number = 0; number < SCAN_NUMBERS; number++) to->fields[number].message = SCAN_NO_MESSAGE;
    if (!PyTuple_Check(rules)) {
        PyErr_SetString(PyExc_TypeError, "the rules of a message are a tuple");
        return false;
    }
    for (Py_ssize_t i = 0; i < PyTuple_Size(rules); i++) {
        if (!take_field(self, to, PyTuple_GetItem(rules, i))) return false;
    }
    return true;
}

/* Find the message and the most fields of a method. False: there is no such one, or an exception is set. */
static bool find_call(RequestScan *self, PyObject *path)
{
    if (path == self->path) return true;
    PyObject *found = PyDict_GetItemWithError(self->calls, path);
    int message, fields;
    Py_ssize_t small;
    if (found == NULL || !PyTuple_Check(found) || !PyArg_ParseTuple(found, "iin", &message, &fields, &small)) {
        return false;
    }
    if (message < 0 || message >= (int)self->count || fields < 0 || small < 0) {
        PyErr_SetString(PyExc_ValueError, "the rule of a call is not sound");
        return false;
    }
    Py_XDECREF(self->path);
    self->path = Py_NewRef(path);
    self->message = message;
    self->fields = fields;
    self->small = small;
    return true;
}

static int check_one(RequestScan *self, PyObject *path, span request)
{
    return find_call(self, path) && request.len > (size_t)self->small
               ? request_scan(self->messages, (size_t)self->message, request, (size_t)self->fields)
               : SCAN_WITHIN;
}

static PyObject *check(PyObject *object, PyObject *args)
{
    PyObject *path;
    Py_buffer request;
    if (!PyArg_ParseTuple(args, "Uy*:check", &path, &request)) return NULL;
    int wrong = check_one((RequestScan *)object, path, span_of(request.buf, (size_t)request.len));
    PyBuffer_Release(&request);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(wrong);
}

static bool is_call(PyObject *event)
{
    if (!PyTuple_Check(event) || PyTuple_Size(event) != EVENT_PARTS) return false;
    return PyLong_AsLong(PyTuple_GetItem(event, EVENT_KIND)) == CALL;
}

static PyObject *check_calls(PyObject *object, PyObject *events)
{
    PyObject *found = NULL;
    if (!PyList_Check(events)) {
        PyErr_SetString(PyExc_TypeError, "events are a list");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(events); i++) {
        PyObject *event = PyList_GetItem(events, i);
        span request;
        if (!is_call(event)) continue;
        if (!span_of_bytes(PyTuple_GetItem(event, EVENT_PAYLOAD), &request)) goto failed;
        int wrong = check_one((RequestScan *)object, PyTuple_GetItem(event, EVENT_PATH), request);
        if (PyErr_Occurred()) goto failed;
        if (wrong == SCAN_WITHIN) continue;
        if (found == NULL) found = PyList_New(0);
        if (found == NULL || !append_value(found, Py_BuildValue("(ni)", i, wrong))) goto failed;
    }
    if (found == NULL) Py_RETURN_NONE;
    return found;
failed:
    Py_XDECREF(found);
    return NULL;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"messages", "calls", NULL};
    PyObject *messages, *calls;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!:RequestScan", names, &PyTuple_Type, &messages, &PyDict_Type,
                                     &calls)) {
        return NULL;
    }
    RequestScan *self = object_new(type);
    if (self == NULL) return NULL;
    self->count = (size_t)PyTuple_Size(messages);
    self->messages = calloc(self->count + 1, sizeof *self->messages);
    self->calls = PyDict_Copy(calls);
    bool done = self->messages != NULL && self->calls != NULL;
    if (self->messages == NULL) PyErr_NoMemory();
    for (size_t i = 0; done && i < self->count; i++) {
        done = take_message(self, &self->messages[i], PyTuple_GetItem(messages, (Py_ssize_t)i));
    }
    if (done) return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void dealloc(PyObject *object)
{
    RequestScan *self = (RequestScan *)object;
    free(self->messages);
    Py_XDECREF(self->calls);
    Py_XDECREF(self->path);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"check", check, METH_VARARGS, "What is wrong with a request of a path."},
    {"check_calls", check_calls, METH_O, "The calls among events whose requests have something wrong, and what."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Scans the requests of all methods; see rocketwire.wire.grpc.request_scan."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.RequestScan", sizeof(RequestScan), 0, Py_TPFLAGS_DEFAULT, slots};

int request_scan_type_init(PyObject *module) { return add_type(module, &spec, NULL); }
