/* `Http2` as Python sees it: see rocketwire.wire.http2.events. */

#include "http2/http2.h"

#include <limits.h>
#include <stddef.h>
#include <structmember.h>

#include "core/values.h"

enum { MOST_WINDOW = INT32_MAX };

static const char wrong_windows[] =
    "windows are from 65535 bytes to 2 GiB, that of a stream no larger than the connection's";

/* The longest message of any method; an exception may be set. */
static Py_ssize_t longest_of(PyObject *longest, Py_ssize_t most)
{
    PyObject *path, *bytes;
    Py_ssize_t place = 0;
    while (longest != NULL && PyDict_Next(longest, &place, &path, &bytes)) {
        Py_ssize_t found = PyLong_AsSsize_t(bytes);
        if (found == -1 && PyErr_Occurred()) return -1;
        if (found < 0) return MOST_WINDOW + (Py_ssize_t)1; /* it is no length */
        most = found > most ? found : most;
    }
    return most;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"streaming", "max_message",   "max_header_list", "max_streams",
                            "window",    "stream_window", "longest",         NULL};
    PyObject *streaming = NULL, *longest = NULL;
    Py_ssize_t max_message = -1, max_header_list = -1, max_streams = -1, window = -1, stream_window = STREAM_WINDOW;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$O!nnnnnO!:Http2", names, &PyFrozenSet_Type, &streaming,
                                     &max_message, &max_header_list, &max_streams, &window, &stream_window,
                                     &PyDict_Type, &longest)) {
        return NULL;
    }
    if (streaming == NULL) {
        PyErr_SetString(PyExc_TypeError, "streaming is needed");
        return NULL;
    }
    Py_ssize_t most = longest_of(longest, max_message);
    if (PyErr_Occurred()) return NULL;
    if (max_message < 0 || most > MOST_WINDOW || stream_window < STREAM_WINDOW || stream_window > window ||
        window > MOST_WINDOW - most - stream_window) {
        PyErr_SetString(PyExc_ValueError, wrong_windows);
        return NULL;
    }
    if (max_header_list < 0 || max_header_list > INT32_MAX || max_streams < 0 || max_streams > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a limit is no number of HTTP/2");
        return NULL;
    }
    if (!nghttp2_loaded()) {
        PyErr_SetString(PyExc_ImportError, "libnghttp2 is not installed");
        return NULL;
    }
    Http2 *self = object_new(type);
    if (self == NULL) return NULL;
    self->streaming = Py_NewRef(streaming);
    self->longest = Py_XNewRef(longest);
    self->max_message = (size_t)max_message;
    self->max_header_list = (size_t)max_header_list;
    self->max_streams = (size_t)max_streams;
    self->stream_window = (size_t)stream_window;
    guard_begin(&self->guard, self->max_header_list);
    intake_begin(&self->intake, (size_t)window, self->stream_window);
    if (!connection_begin(self, (size_t)window)) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static void dealloc(PyObject *object)
{
    Http2 *self = (Http2 *)object;
    if (self->session != NULL) nghttp2.session_del(self->session);
    self->session = NULL;
    while (self->first != NULL) call_forget(self, self->first);
    head_clear(&self->head);
    repeated_head_forget(&self->same);
    for (int each = 0; each < TEXTS; each++) {
        if (self->texts[each].key == NULL) continue;
        nghttp2.rcbuf_decref(self->texts[each].key);
        Py_DECREF(self->texts[each].text);
    }
    queue_free(&self->out);
    Py_XDECREF(self->streaming);
    Py_XDECREF(self->longest);
    object_free(object);
}

static PyObject *receive(PyObject *object, PyObject *data)
{
    Http2 *self = (Http2 *)object;
    Py_buffer view;
    if (self->failed) return PyList_New(0);
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
    PyObject *events = self->events = PyList_New(0);
    bool done = events != NULL && connection_receive(self, span_of(view.buf, (size_t)view.len));
    self->events = NULL;
    PyBuffer_Release(&view);
    if (!done) Py_CLEAR(events);
    return events;
}

/* The call to answer; NULL: it is over. */
static call *answered(PyObject *object, int stream)
{
    call *found = call_of((Http2 *)object, stream);
    return found == NULL || found->finished ? NULL : found;
}

static bool send_message(PyObject *object, int stream, const Py_buffer *payload)
{
    call *to = answered(object, stream);
    if ((uint64_t)payload->len > UINT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "a message is shorter than 4 GiB");
        return false;
    }
    return to == NULL || answer_message((Http2 *)object, to, span_of(payload->buf, (size_t)payload->len));
}

static PyObject *unary(PyObject *object, PyObject *args)
{
    int stream;
    Py_buffer payload;
    if (!PyArg_ParseTuple(args, "iy*:unary", &stream, &payload)) return NULL;
    bool done = send_message(object, stream, &payload);
    PyBuffer_Release(&payload);
    call *to = done ? answered(object, stream) : NULL;
    if (!done || (to != NULL && !answer_finish((Http2 *)object, to, GRPC_OK, NULL))) return NULL;
    Py_RETURN_NONE;
}

static PyObject *message(PyObject *object, PyObject *args)
{
    int stream;
    Py_buffer payload;
    if (!PyArg_ParseTuple(args, "iy*:message", &stream, &payload)) return NULL;
    bool done = send_message(object, stream, &payload);
    PyBuffer_Release(&payload);
    if (!done) return NULL;
    Py_RETURN_NONE;
}

/* The bytes of a message; false: it is none, and an exception is set. */
static bool payload_of(PyObject *message, span *payload)
{
    if (!span_of_bytes(message, payload)) return false;
    if ((uint64_t)payload->len <= UINT32_MAX) return true;
    PyErr_SetString(PyExc_ValueError, "a message is shorter than 4 GiB");
    return false;
}

static bool send_messages(Http2 *self, call *to, PyObject *payloads)
{
    Py_ssize_t count = PyList_Size(payloads);
    size_t size = 0;
    span payload;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!payload_of(PyList_GetItem(payloads, i), &payload)) return false;
        size += MESSAGE_PREFIX + payload.len;
    }
    if (queue_room(&to->out, size) == NULL && size > 0) return false;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!payload_of(PyList_GetItem(payloads, i), &payload) || !answer_message(self, to, payload)) return false;
    }
    return true;
}

static PyObject *answer(PyObject *object, PyObject *args)
{
    int stream;
    PyObject *payloads;
    if (!PyArg_ParseTuple(args, "iO!:answer", &stream, &PyList_Type, &payloads)) return NULL;
    call *to = answered(object, stream);
    if (to != NULL &&
        (!send_messages((Http2 *)object, to, payloads) || !answer_finish((Http2 *)object, to, GRPC_OK, NULL))) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Answer a call: its stream and the message. False: an exception is set. */
static bool send_answer(PyObject *object, PyObject *answer)
{
    if (!PyTuple_Check(answer) || PyTuple_Size(answer) != 2) {
        PyErr_SetString(PyExc_TypeError, "an answer is a stream and a message");
        return false;
    }
    long stream = PyLong_AsLong(PyTuple_GetItem(answer, 0));
    span payload;
    if (PyErr_Occurred() || !payload_of(PyTuple_GetItem(answer, 1), &payload)) return false;
    call *to = stream >= 0 && stream <= INT32_MAX ? answered(object, (int)stream) : NULL;
    return to == NULL ||
           (answer_message((Http2 *)object, to, payload) && answer_finish((Http2 *)object, to, GRPC_OK, NULL));
}

static PyObject *unary_each(PyObject *object, PyObject *answers)
{
    if (!PyList_Check(answers)) {
        PyErr_SetString(PyExc_TypeError, "answers are a list");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_Size(answers); i++) {
        if (!send_answer(object, PyList_GetItem(answers, i))) return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *finish(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"stream", "status", "text", NULL};
    int stream, status;
    PyObject *text = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ii|U:finish", names, &stream, &status, &text)) return NULL;
    call *to = answered(object, stream);
    if (to == NULL) Py_RETURN_NONE;
    PyObject *encoded = text ? status_text(text) : NULL;
    if (text != NULL && encoded == NULL) return NULL;
    if (!answer_finish((Http2 *)object, to, status, encoded)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *reset(PyObject *object, PyObject *args)
{
    int stream;
    unsigned int code;
    if (!PyArg_ParseTuple(args, "iI:reset", &stream, &code)) return NULL;
    call *which = answered(object, stream);
    if (which != NULL) {
        reset_stream((Http2 *)object, stream, code);
        call_forget((Http2 *)object, which);
    }
    Py_RETURN_NONE;
}

static PyObject *goaway(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"code", NULL};
    Http2 *self = (Http2 *)object;
    unsigned int code = NO_ERROR;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|I:goaway", names, &code)) return NULL;
    if (self->failed || self->leaving) Py_RETURN_NONE;
    self->leaving = true;
    self->goaways++;
    nghttp2.submit_goaway(self->session, 0, self->last, code, NULL, 0);
    if (!connection_send_control(self)) return NULL; /* it ignores new calls from now on */
    Py_RETURN_NONE;
}

static PyObject *output(PyObject *object, PyObject *limit)
{
    Http2 *self = (Http2 *)object;
    Py_ssize_t most = PyLong_AsSsize_t(limit);
    if (most < 0) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "no number of bytes");
        return NULL;
    }
    if (!self->failed && !connection_send(self, (size_t)most)) {
        self->failed = true;
        return NULL;
    }
    size_t length = queue_length(&self->out);
    length = length < (size_t)most ? length : (size_t)most;
    PyObject *bytes = PyBytes_FromStringAndSize((const char *)queue_span(&self->out).at, (Py_ssize_t)length);
    if (bytes != NULL) queue_take(&self->out, length);
    return bytes;
}

static PyMethodDef methods[] = {
    {"receive", receive, METH_O, "Take the bytes of a read and return what happened, in order."},
    {"unary", unary, METH_VARARGS, "Answer a call with one message and status OK."},
    {"unary_each", unary_each, METH_O, "Answer calls with one message each: a list of stream and message."},
    {"answer", answer, METH_VARARGS, "Answer a call with a list of messages and status OK."},
    {"message", message, METH_VARARGS, "Send one message of an answer that has several."},
    {"finish", (PyCFunction)(void (*)(void))finish, METH_VARARGS | METH_KEYWORDS, "End an answer with a status."},
    {"reset", reset, METH_VARARGS, "End a call whose answer is not finished."},
    {"goaway", (PyCFunction)(void (*)(void))goaway, METH_VARARGS | METH_KEYWORDS,
     "Request that the client use another connection."},
    {"output", output, METH_O, "The next bytes to write."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"waiting", T_PYSSIZET, offsetof(Http2, waiting), READONLY,
     "Bytes of messages to the client that `output` has not returned yet."},
    {"heads", T_PYSSIZET, offsetof(Http2, heads), READONLY,
     "Bytes of the headers of calls whose answer is not finished."},
    {"held", T_PYSSIZET, offsetof(Http2, intake.held), READONLY, "Bytes of requests that are not whole yet."},
    {"streams", T_PYSSIZET, offsetof(Http2, calls), READONLY, "Calls whose answer is not finished."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A server's HTTP/2 connection with gRPC calls; see rocketwire.wire.http2.events."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.Http2", sizeof(Http2), 0, Py_TPFLAGS_DEFAULT, slots};

int http2_type_init(PyObject *module) { return add_type(module, &spec, NULL); }
