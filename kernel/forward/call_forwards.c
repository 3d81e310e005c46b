/* CallForwards: SendMessage calls of 5.x clients as requests to the brokers of a cluster. The twin is
 * server.grpc.sending with server.remote_calls.dispatch. What is not plain goes to Python before anything of it was
 * done. */

#include "core/kernel.h"

#include <stddef.h>
#include <stdlib.h>
#include <structmember.h>

#include "core/values.h"
#include "forward/connection_sends.h"
#include "grpc/call_event.h"
#include "paths/paths.h"
#include "paths/plans.h"
#include "wire/frame.h"

enum { SHARES_MOST = 1024 };

/* The queues of a topic at a broker. */
typedef struct {
    ConnectionSends *upstream; /* NULL: there is no connection now */
    int32_t queues;
    int avoided; /* it takes only messages of a message group */
} share;

/* What Python decided about the sends to a topic. */
typedef struct {
    int32_t types;     /* of call_type, that it takes; 0: its sends are Python's */
    int32_t all, open; /* queues of all brokers, and of those not avoided */
    PyObject *texts;   /* keep the memory of `around` */
    send_frame_texts around;
    Py_ssize_t count;
    share shares[];
} topic_shares;

typedef struct {
    PyObject_HEAD
    PyObject *plan, *turns;
    plan_table plans;
    call_reader reader;
    long long body_bytes;
    bool busy, forget_later;
} CallForwards;

typedef struct {
    CallForwards *self;
    PyObject *connection;
    span remote;
    int64_t now;
    double deadline;
    ConnectionSends *written; /* the list of those with frames to be sent */
    long long size;
    int count;
} turn;

/* --- plans --- */

static void release(void *plan)
{
    topic_shares *shares = plan;
    for (Py_ssize_t each = 0; each < shares->count; each++) Py_XDECREF((PyObject *)shares->shares[each].upstream);
    Py_XDECREF(shares->texts);
    free(shares);
}

static bool read_share(topic_shares *to, PyObject *from)
{
    share *made = &to->shares[to->count];
    PyObject *upstream;
    if (!PyTuple_Check(from)) {
        PyErr_SetString(PyExc_TypeError, "a share is a tuple");
        return false;
    }
    if (!PyArg_ParseTuple(from, "Oip", &upstream, &made->queues, &made->avoided)) return false;
    if (upstream != Py_None && !PyObject_TypeCheck(upstream, ConnectionSends_Type)) {
        PyErr_SetString(PyExc_TypeError, "a share has a ConnectionSends or None");
        return false;
    }
    made->upstream = upstream == Py_None ? NULL : (ConnectionSends *)Py_NewRef(upstream);
    to->count++;
    to->all += made->queues;
    to->open += made->avoided ? 0 : made->queues;
    return true;
}

static bool read_shares(topic_shares *to, PyObject *texts, PyObject *shares)
{
    if (to->types != 0 && !spans_of_tuple(texts, to->around.texts, SEND_FRAME_TEXTS)) return false;
    to->texts = Py_NewRef(texts);
    for (Py_ssize_t each = 0; each < PyTuple_Size(shares); each++) {
        if (!read_share(to, PyTuple_GetItem(shares, each))) return false;
    }
    return true;
}

/* Fetch the plan of a topic from Python, and keep it. PATH_HANDED_OVER: there is none yet. */
static path_result fetch_plan(CallForwards *self, span topic, topic_shares **plan)
{
    PyObject *texts, *shares;
    int types;
    PyObject *answer = PyObject_CallFunction(self->plan, "s#", (const char *)topic.at, (Py_ssize_t)topic.len);
    if (answer == NULL) return PATH_ERROR;
    if (answer == Py_None) {
        Py_DECREF(answer);
        return PATH_HANDED_OVER;
    }
    *plan = NULL;
    if (!PyTuple_Check(answer)) {
        PyErr_SetString(PyExc_TypeError, "a plan is a tuple");
    } else if (PyArg_ParseTuple(answer, "iO!O!", &types, &PyTuple_Type, &texts, &PyTuple_Type, &shares)) {
        Py_ssize_t count = PyTuple_Size(shares);
        topic_shares *made = count > SHARES_MOST ? NULL : calloc(1, sizeof *made + (size_t)count * sizeof(share));
        if (made == NULL) {
            PyErr_NoMemory();
        } else {
            made->types = types;
            *plan = made;
            if (!read_shares(made, texts, shares)) {
                release(made);
                *plan = NULL;
            }
        }
    }
    Py_DECREF(answer);
    if (*plan == NULL) return PATH_ERROR;
    if (plans_put(&self->plans, topic, *plan)) return PATH_TAKEN;
    PyErr_NoMemory();
    return PATH_ERROR;
}

/* The plan of the topic of the message. PATH_TAKEN: there is one. */
static path_result plan_of(CallForwards *self, topic_shares **plan)
{
    span topic = self->reader.message.topic;
    if (topic.len > PLAN_KEY_MOST) return PATH_HANDED_OVER;
    *plan = plans_find(&self->plans, topic);
    path_result found = *plan == NULL ? fetch_plan(self, topic, plan) : PATH_TAKEN;
    if (found != PATH_TAKEN) return found;
    return ((*plan)->types & call_message_type(&self->reader.message)) && (*plan)->open > 0 ? PATH_TAKEN
                                                                                            : PATH_HANDED_OVER;
}

/* The next turn among some queues; -1: an exception is set. */
static int32_t next_turn(CallForwards *self, int32_t queues)
{
    PyObject *turn = PyIter_Next(self->turns);
    unsigned long long number = turn == NULL ? 0 : PyLong_AsUnsignedLongLongMask(turn);
    if (turn == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "turns have no end");
    Py_XDECREF(turn);
    return PyErr_Occurred() ? -1 : (int32_t)(number % (unsigned long long)queues);
}

/* The share and the queue of a message: a message group has always the same. NULL: an exception is set. */
static share *place(CallForwards *self, topic_shares *plan, int32_t *queue)
{
    span group = self->reader.message.group;
    bool grouped = group.len > 0;
    int32_t at = grouped ? queue_of_group(group, plan->all) : next_turn(self, plan->open);
    if (at < 0) return NULL;
    share *found = plan->shares;
    while ((found->avoided && !grouped) || at >= found->queues) {
        if (grouped || !found->avoided) at -= found->queues;
        found++;
    }
    *queue = at;
    return found;
}

/* --- one call --- */

static path_result write_frame(turn *in, const topic_shares *plan, share *to, int32_t queue, int32_t stream)
{
    call_reader *reader = &in->self->reader;
    const call_message *message = &reader->message;
    framed_send send = {
        .queue_id = queue,
        .sys_flag = call_sys_flag(message),
        .born_timestamp = message->has_born ? message->born : in->now,
        .body = message->body,
    };
    sent_call call = {in->connection, stream, message->id, in->deadline};
    uint32_t size = 0;
    bool written = call_text_write(reader, in->remote, send.born_timestamp, &send.properties);
    if (written && send_frame_most(&plan->around, &send) > MAX_FRAME_LENGTH) return PATH_HANDED_OVER;
    if (!written || !connection_sends_put(to->upstream, &plan->around, &send, &call, &size)) {
        PyErr_NoMemory();
        return PATH_ERROR;
    }
    if (!to->upstream->listed) {
        to->upstream->listed = true;
        to->upstream->next = in->written;
        in->written = (ConnectionSends *)Py_NewRef((PyObject *)to->upstream);
    }
    in->size += size;
    in->count++;
    return PATH_TAKEN;
}

static path_result serve_one(turn *in, PyObject *event)
{
    CallForwards *self = in->self;
    const call_message *message = &self->reader.message;
    topic_shares *plan;
    int32_t queue;
    if (!call_event_read(&self->reader, event, in->now)) return PATH_HANDED_OVER;
    if (self->body_bytes > 0 && message->body.len > (uint64_t)self->body_bytes) return PATH_HANDED_OVER;
    long stream = PyLong_AsLong(call_event_stream(event));
    if (stream == -1 && PyErr_Occurred()) return PATH_ERROR;
    path_result planned = plan_of(self, &plan);
    if (planned != PATH_TAKEN) return planned;
    share *to = place(self, plan, &queue);
    if (to == NULL) return PATH_ERROR;
    if (to->upstream == NULL || !connection_sends_open(to->upstream, message->id)) return PATH_HANDED_OVER;
    return write_frame(in, plan, to, queue, (int32_t)stream);
}

static void drop_plans(CallForwards *self)
{
    self->forget_later = self->busy;
    if (!self->busy) plans_clear(&self->plans);
}

/* The owners of the connections that have frames to be sent, each with these. */
static PyObject *frames_of(turn *in)
{
    PyObject *found = PyList_New(0);
    while (in->written != NULL) {
        ConnectionSends *upstream = in->written;
        in->written = upstream->next;
        upstream->next = NULL;
        upstream->listed = false;
        PyObject *parts[] = {Py_NewRef(upstream->owner), found == NULL ? NULL : connection_sends_written(upstream)};
        if (found == NULL) {
            Py_DECREF(parts[0]);
        } else if (!append_value(found, tuple_of(parts, 2))) {
            Py_CLEAR(found);
        }
        Py_DECREF((PyObject *)upstream);
    }
    return found;
}

/* Serve events up to the first that is handed over. False: nothing was done, and an exception is set. */
static bool serve_all(turn *in, PyObject *events)
{
    path_result result = PATH_TAKEN;
    for (Py_ssize_t each = 0; result == PATH_TAKEN && each < PyList_Size(events); each++) {
        PyObject *event = Py_NewRef(PyList_GetItem(events, each));
        result = serve_one(in, event);
        Py_DECREF(event);
    }
    if (result == PATH_ERROR && in->count > 0) { /* what is written must go out; Python raises the error again */
        PyErr_WriteUnraisable((PyObject *)in->self);
        return true;
    }
    return result != PATH_ERROR;
}

static PyObject *serve(PyObject *object, PyObject *args)
{
    CallForwards *self = (CallForwards *)object;
    PyObject *events, *remote;
    long long now;
    turn in = {.self = self};
    if (!PyArg_ParseTuple(args, "O!OULd:serve", &PyList_Type, &events, &in.connection, &remote, &now, &in.deadline)) {
        return NULL;
    }
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(remote, &length);
    if (text == NULL) return NULL;
    if (self->busy) {
        PyErr_SetString(PyExc_ValueError, "calls are not served within calls");
        return NULL;
    }
    in.remote = span_of(text, (size_t)length);
    in.now = now;
    self->busy = true;
    bool done = serve_all(&in, events);
    self->busy = false;
    if (self->forget_later) drop_plans(self);
    PyObject *frames = done ? frames_of(&in) : NULL;
    return frames == NULL ? NULL : Py_BuildValue("(iLN)", in.count, in.size, frames);
}

static PyObject *forget(PyObject *self, PyObject *unused)
{
    (void)unused;
    drop_plans((CallForwards *)self);
    Py_RETURN_NONE;
}

/* --- the type --- */

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"plan", "turns", "path", "client_id", "reserved", NULL};
    PyObject *plan, *turns, *path, *client_id, *reserved;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "$OOUUO!", names, &plan, &turns, &path, &client_id, &PyTuple_Type,
                                     &reserved)) {
        return NULL;
    }
    CallForwards *self = object_new(type);
    if (self == NULL) return NULL;
    self->plan = Py_NewRef(plan);
    self->turns = Py_NewRef(turns);
    if (!PyIter_Check(turns)) {
        PyErr_SetString(PyExc_TypeError, "turns are an iterator");
        Py_DECREF(self);
        return NULL;
    }
    if (!plans_init(&self->plans, release)) {
        PyErr_NoMemory();
    } else if (call_reader_begin(&self->reader, path, client_id, reserved)) {
        return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    CallForwards *self = (CallForwards *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->plan);
    Py_VISIT(self->turns);
    topic_shares *plan;
    for (size_t at = 0; (plan = plans_next(&self->plans, &at)) != NULL;) {
        for (Py_ssize_t each = 0; each < plan->count; each++) Py_VISIT((PyObject *)plan->shares[each].upstream);
    }
    return 0;
}

static int clear(PyObject *object)
{
    CallForwards *self = (CallForwards *)object;
    Py_CLEAR(self->plan);
    Py_CLEAR(self->turns);
    if (self->plans.slots != NULL) plans_clear(&self->plans);
    return 0;
}

static void dealloc(PyObject *object)
{
    CallForwards *self = (CallForwards *)object;
    PyObject_GC_UnTrack(object);
    clear(object);
    plans_free(&self->plans);
    call_reader_end(&self->reader);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"serve", serve, METH_VARARGS,
     "Forward calls up to the first that is handed over: their number, their bytes, and the frames by owner."},
    {"forget", forget, METH_NOARGS, "Drop all plans."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    CALL_LIMITS(CallForwards),
    {"body_bytes", T_LONGLONG, offsetof(CallForwards, body_bytes), 0, "Of a body."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Plain SendMessage calls to a cluster; see rocketwire.server.remote_calls.forwarding."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.CallForwards", sizeof(CallForwards), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

int call_forwards_init(PyObject *module) { return add_type(module, &spec, NULL); }
