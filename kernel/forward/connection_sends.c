/* The twin of what happens here is server.upstream.broker_connection with server.remote_calls.dispatch, a request at a
 * time. */

#include "forward/connection_sends.h"

#include <stdlib.h>
#include <structmember.h>

#include "core/decimal.h"
#include "core/values.h"
#include "grpc/call_event.h"
#include "wire/frame.h"
#include "wire/header.h"
#include "wire/requests.h"

enum {
    FIRST_OPAQUE = 1 << 30, /* Python's own requests of the connection have lower ones */
    NUMBER_MASK = FIRST_OPAQUE - 1,
    RING_LEAST = 16,
    RING_MOST = 1 << 16,
    KEPT_EACH = 512, /* counted for each beside its body, as Python does */
    OUT_KEPT = 1 << 20,
    HELD_MOST = 64 << 20
};

PyTypeObject *ConnectionSends_Type;

/* --- waiting --- */

bool connection_sends_open(const ConnectionSends *self, span message_id)
{
    return !self->closed && self->count < RING_MOST && self->held < HELD_MOST && message_id.len <= WAITING_ID_MOST;
}

static bool ring_room(ConnectionSends *self)
{
    if (self->ring != NULL && self->count <= self->mask) return true;
    uint32_t room = self->ring == NULL ? RING_LEAST : 2 * (self->mask + 1);
    waiting_send *ring = malloc(room * sizeof *ring);
    if (ring == NULL) return false;
    for (uint32_t each = 0; each < self->count; each++) {
        uint32_t number = self->first + each;
        ring[number & (room - 1)] = self->ring[number & self->mask];
    }
    free(self->ring);
    self->ring = ring;
    self->mask = room - 1;
    return true;
}

static bool out_grow(ConnectionSends *self, size_t most)
{
    if (most <= self->room - self->used) return true;
    size_t room = 2 * (self->used + most);
    uint8_t *out = realloc(self->out, room);
    if (out == NULL) return false;
    self->out = out;
    self->room = room;
    return true;
}

bool connection_sends_put(ConnectionSends *self, const send_frame_texts *around, framed_send *send,
                          const sent_call *call, uint32_t *size)
{
    uint32_t number = self->first + self->count;
    send->opaque = (int32_t)(FIRST_OPAQUE | (number & NUMBER_MASK));
    if (!out_grow(self, send_frame_most(around, send)) || !ring_room(self)) return false;
    uint8_t *end = send_frame_write(self->out + self->used, around, send);
    self->used = (size_t)(end - self->out);
    waiting_send *waiting = &self->ring[number & self->mask];
    *waiting = (waiting_send){
        .connection = Py_NewRef(call->connection),
        .deadline = call->deadline,
        .stream = call->stream,
        .size = (uint32_t)send->body.len + KEPT_EACH,
        .id_size = (uint8_t)call->message_id.len,
    };
    put_span(waiting->id, call->message_id);
    self->count++;
    self->held += *size = waiting->size;
    return true;
}

PyObject *connection_sends_written(ConnectionSends *self)
{
    PyObject *frames = bytes_of(span_of(self->out, self->used));
    if (frames != NULL) self->used = 0;
    if (frames != NULL && self->room > OUT_KEPT) {
        free(self->out);
        self->out = NULL;
        self->room = 0;
    }
    return frames;
}

/* The send with an opaque; NULL: none waits with it. */
static waiting_send *waiting_with(ConnectionSends *self, int32_t opaque)
{
    if (opaque < FIRST_OPAQUE) return NULL;
    uint32_t behind = ((uint32_t)opaque - self->first) & NUMBER_MASK;
    if (behind >= self->count) return NULL;
    waiting_send *found = &self->ring[(self->first + behind) & self->mask];
    return found->connection == NULL ? NULL : found;
}

/* Let a send wait no more; returns its connection, a reference that the caller gets. */
static PyObject *finish(ConnectionSends *self, waiting_send *waiting)
{
    PyObject *connection = waiting->connection;
    waiting->connection = NULL;
    self->held -= waiting->size;
    while (self->count > 0 && self->ring[self->first & self->mask].connection == NULL) {
        self->first++;
        self->count--;
    }
    return connection;
}

/* The connection, stream, message id, size and deadline of a send, which waits no more. */
static PyObject *finished(ConnectionSends *self, waiting_send *waiting)
{
    waiting_send was = *waiting;
    return Py_BuildValue("(Nis#Id)", finish(self, waiting), (int)was.stream, (const char *)was.id,
                         (Py_ssize_t)was.id_size, (unsigned int)was.size, was.deadline);
}

/* --- answers --- */

typedef struct {
    PyObject *answers, *left; /* by connection a list of stream and payload; ranges of the rest */
    Py_ssize_t left_from;     /* where the rest begins that is not in a range yet; -1: nowhere */
    long long size;
    PyObject *taken; /* deadlines, each with how many sends in a row had it */
    double deadline; /* of the sends in a row that are not listed yet */
    int in_row;
} taking;

/* Read the fields of an answer to a stored message. False: they are for Python. */
static bool sent_read(const header *head, call_answer *answer)
{
    enum { ID = 1, QUEUE = 2, OFFSET = 4, HANDLE = 8 };
    int seen = 0;
    int32_t queue;
    for (int i = 0; i < head->count; i++) {
        const header_field *field = &head->fields[i];
        int here = span_is_text(field->name, FIELD_MSG_ID)          ? ID
                   : span_is_text(field->name, FIELD_QUEUE_ID)      ? QUEUE
                   : span_is_text(field->name, FIELD_QUEUE_OFFSET)  ? OFFSET
                   : span_is_text(field->name, FIELD_RECALL_HANDLE) ? HANDLE
                                                                    : 0;
        if ((seen & here) || (here && field->escaped)) return false;
        seen |= here;
        if (here == QUEUE && !read_int32(field->value, &queue)) return false;
        if (here == OFFSET && !read_int64(field->value, &answer->queue_offset)) return false;
        if (here == HANDLE) answer->recall_handle = field->value;
    }
    return (seen & (ID | QUEUE | OFFSET)) == (ID | QUEUE | OFFSET) && answer->queue_offset >= 0;
}

/* Put an answer behind the others of its connection. False: an exception is set. */
static bool put_answer(taking *in, PyObject *connection, int32_t stream, const call_answer *answer)
{
    PyObject *of_connection = PyDict_GetItemWithError(in->answers, connection);
    if (of_connection == NULL) {
        if (PyErr_Occurred() || (of_connection = PyList_New(0)) == NULL) return false;
        int done = PyDict_SetItem(in->answers, connection, of_connection);
        Py_DECREF(of_connection); /* the dictionary has it */
        if (done < 0) return false;
    }
    PyObject *parts[] = {PyLong_FromLong(stream), call_answer_payload(answer)};
    return append_value(of_connection, tuple_of(parts, 2));
}

static bool row_end(taking *in)
{
    int in_row = in->in_row;
    in->in_row = 0;
    return in_row == 0 || append_value(in->taken, Py_BuildValue("(di)", in->deadline, in_row));
}

/* Take the answer to a send. 0: it is for Python, -1: an exception is set. */
static int take_one(ConnectionSends *self, const frame *one, taking *in)
{
    header head;
    if (!header_read(one->header, one->serialize_type, &head) || head.code != 0 || !(head.flag & FLAG_RESPONSE)) {
        return 0;
    }
    waiting_send *waiting = waiting_with(self, head.opaque);
    if (waiting == NULL) return 0;
    waiting_send was = *waiting;
    call_answer answer = {.message_id = span_of(was.id, was.id_size)};
    if (!sent_read(&head, &answer)) return 0;
    PyObject *connection = finish(self, waiting);
    bool done = put_answer(in, connection, was.stream, &answer) && (was.deadline == in->deadline || row_end(in));
    Py_DECREF(connection);
    in->size += was.size;
    in->deadline = was.deadline;
    in->in_row++;
    return done ? 1 : -1;
}

static bool leave(taking *in, Py_ssize_t end)
{
    Py_ssize_t from = in->left_from;
    in->left_from = -1;
    return from < 0 || append_value(in->left, Py_BuildValue("(nn)", from, end));
}

/* Go over the frames of a read. False: an exception is set. */
static bool take_all(ConnectionSends *self, span data, taking *in)
{
    size_t at = 0;
    frame one;
    while (frame_next(span_of(data.at + at, data.len - at), &one) == FRAME_WHOLE) {
        int taken = take_one(self, &one, in);
        if (taken < 0 || (taken > 0 && !leave(in, (Py_ssize_t)at))) return false;
        if (taken == 0 && in->left_from < 0) in->left_from = (Py_ssize_t)at;
        at += one.size;
    }
    if (at < data.len && in->left_from < 0) in->left_from = (Py_ssize_t)at;
    return leave(in, (Py_ssize_t)data.len);
}

static PyObject *take(PyObject *object, PyObject *data)
{
    Py_buffer view;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
    taking in = {.answers = PyDict_New(), .left = PyList_New(0), .left_from = -1, .taken = PyList_New(0)};
    bool done = in.answers != NULL && in.left != NULL && in.taken != NULL &&
                take_all((ConnectionSends *)object, span_of(view.buf, (size_t)view.len), &in) && row_end(&in);
    PyBuffer_Release(&view);
    PyObject *result = done ? Py_BuildValue("(OOLO)", in.answers, in.left, in.size, in.taken) : NULL;
    Py_XDECREF(in.answers);
    Py_XDECREF(in.left);
    Py_XDECREF(in.taken);
    return result;
}

static PyObject *pop(PyObject *object, PyObject *opaque)
{
    ConnectionSends *self = (ConnectionSends *)object;
    int overflow;
    long number = PyLong_AsLongAndOverflow(opaque, &overflow);
    if (PyErr_Occurred()) return NULL;
    waiting_send *found = overflow || number > INT32_MAX ? NULL : waiting_with(self, (int32_t)number);
    if (found == NULL) Py_RETURN_NONE;
    return finished(self, found);
}

/* Take the sends at the head: all, or those whose deadline is not after `until`. */
static PyObject *take_oldest(ConnectionSends *self, double until, bool all)
{
    PyObject *found = PyList_New(0);
    while (found != NULL && self->count > 0) {
        waiting_send *oldest = &self->ring[self->first & self->mask];
        if (!all && oldest->deadline > until) break;
        if (!append_value(found, finished(self, oldest))) Py_CLEAR(found);
    }
    return found;
}

static PyObject *expire(PyObject *object, PyObject *now)
{
    double until = PyFloat_AsDouble(now);
    return PyErr_Occurred() ? NULL : take_oldest((ConnectionSends *)object, until, false);
}

static PyObject *close_connection(PyObject *object, PyObject *unused)
{
    (void)unused;
    ((ConnectionSends *)object)->closed = true;
    return take_oldest((ConnectionSends *)object, 0, true);
}

static PyObject *deadline(PyObject *object, void *unused)
{
    (void)unused;
    const ConnectionSends *self = (ConnectionSends *)object;
    if (self->count == 0) Py_RETURN_NONE;
    return PyFloat_FromDouble(self->ring[self->first & self->mask].deadline);
}

/* --- the type --- */

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"owner", NULL};
    PyObject *owner;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$O", names, &owner)) return NULL;
    ConnectionSends *self = object_new(type);
    if (self != NULL) self->owner = Py_NewRef(owner);
    return (PyObject *)self;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    ConnectionSends *self = (ConnectionSends *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->owner);
    for (uint32_t each = 0; each < self->count; each++) {
        Py_VISIT(self->ring[(self->first + each) & self->mask].connection);
    }
    return 0;
}

static int clear(PyObject *object)
{
    ConnectionSends *self = (ConnectionSends *)object;
    Py_CLEAR(self->owner);
    while (self->count > 0) Py_DECREF(finish(self, &self->ring[self->first & self->mask]));
    return 0;
}

static void dealloc(PyObject *object)
{
    ConnectionSends *self = (ConnectionSends *)object;
    PyObject_GC_UnTrack(object);
    clear(object);
    free(self->ring);
    free(self->out);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"take", take, METH_O,
     "Take the answers of a read: by connection, the ranges of the rest, bytes, and how many of each deadline."},
    {"pop", pop, METH_O,
     "Let the send with an opaque wait no more: connection, stream, message id, bytes, deadline; or None."},
    {"expire", expire, METH_O, "Likewise all sends whose deadline is not after a time."},
    {"close", close_connection, METH_NOARGS, "Likewise all; no more are taken."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"deadline", deadline, NULL, "The first deadline of a send that waits; None: none waits.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Sends that wait for a broker; see rocketwire.server.remote_calls.forwarding."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.ConnectionSends", sizeof(ConnectionSends), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

int connection_sends_init(PyObject *module) { return add_type(module, &spec, &ConnectionSends_Type); }
