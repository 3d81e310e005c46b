/* CallSends: SendMessage calls of 5.x clients, stored by `Sends`. The twin is server.grpc.sending with
 * wire.grpc.sending. What is not plain goes to Python before anything of it was done. */

#include "core/kernel.h"

#include <stddef.h>
#include <stdlib.h>
#include <structmember.h>

#include "core/values.h"
#include "grpc/call_event.h"
#include "paths/plans.h"
#include "send/send_path.h"

/* What Python decided about the sends to a topic. */
typedef struct {
    int32_t queues, next; /* the writable ones; which one gets the next message; 0 queues: they are for Python */
    int32_t types;        /* of call_type, that it takes */
} topic_plan;

typedef struct {
    PyObject_HEAD
    PyObject *sends, *plan;
    plan_table plans;
    call_reader reader;
    bool busy, forget_later;
} CallSends;

typedef struct {
    CallSends *self;
    path_context context;
    span remote;
} turn;

/* --- plans --- */

static path_result no_memory(void)
{
    PyErr_NoMemory();
    return PATH_ERROR;
}

/* Fetch the plan of a topic from Python, and keep it. PATH_HANDED_OVER: there is none yet. */
static path_result fetch_plan(CallSends *self, span topic, topic_plan **plan)
{
    PyObject *answer = PyObject_CallFunction(self->plan, "s#", (const char *)topic.at, (Py_ssize_t)topic.len);
    if (answer == NULL || answer == Py_None) {
        Py_XDECREF(answer);
        return answer == NULL ? PATH_ERROR : PATH_HANDED_OVER;
    }
    topic_plan *made = *plan = calloc(1, sizeof *made);
    bool read = made != NULL && PyArg_ParseTuple(answer, "iii", &made->queues, &made->next, &made->types);
    Py_DECREF(answer);
    if (made == NULL) return no_memory();
    if (!read) {
        free(made);
        return PATH_ERROR;
    }
    return plans_put(&self->plans, topic, made) ? PATH_TAKEN : no_memory();
}

/* The plan of the topic of the message. PATH_TAKEN: there is one. */
static path_result plan_of(CallSends *self, topic_plan **plan)
{
    span topic = self->reader.message.topic;
    if (topic.len > PLAN_KEY_MOST) return PATH_HANDED_OVER;
    *plan = plans_find(&self->plans, topic);
    path_result found = *plan == NULL ? fetch_plan(self, topic, plan) : PATH_TAKEN;
    if (found != PATH_TAKEN) return found;
    return (*plan)->queues > 0 && ((*plan)->types & call_message_type(&self->reader.message)) ? PATH_TAKEN
                                                                                              : PATH_HANDED_OVER;
}

/* --- one call --- */

static path_result store(turn *in, sent_message *sent)
{
    CallSends *self = in->self;
    const call_message *message = &self->reader.message;
    topic_plan *plan;
    path_result planned = plan_of(self, &plan);
    if (planned != PATH_TAKEN) return planned;
    int64_t born = message->has_born ? message->born : in->context.now;
    span text;
    if (!call_text_write(&self->reader, in->remote, born, &text)) return no_memory();
    bool grouped = message->group.len > 0;
    send_request send = {
        .producer_group = message->topic,
        .topic = message->topic,
        .queue_id = grouped ? queue_of_group(message->group, plan->queues) : plan->next,
        .sys_flag = call_sys_flag(message),
        .born_timestamp = born,
        .properties = text,
    };
    if (!grouped) plan->next = (plan->next + 1) % plan->queues;
    return sends_store(self->sends, &send, message->body, &in->context, sent);
}

static PyObject *answer_of(span message_id, const sent_message *sent)
{
    call_answer answer = {message_id, sent->recall_handle, sent->queue_offset};
    return call_answer_payload(&answer);
}

/* Serve one event; `answers` gets the stream and the payload. */
static path_result serve_one(turn *in, PyObject *event, PyObject *answers)
{
    CallSends *self = in->self;
    if (!call_event_read(&self->reader, event, in->context.now)) return PATH_HANDED_OVER;
    sent_message sent;
    path_result stored = store(in, &sent);
    if (stored != PATH_TAKEN) return stored;
    PyObject *answer[] = {Py_NewRef(call_event_stream(event)), answer_of(self->reader.message.id, &sent)};
    return append_value(answers, tuple_of(answer, 2)) ? PATH_TAKEN : PATH_ERROR;
}

/* Serve events up to the first that is handed over. False: an exception is set. */
static bool serve_all(turn *in, PyObject *events, PyObject *answers)
{
    path_result result = PATH_TAKEN;
    for (Py_ssize_t each = 0; result == PATH_TAKEN && each < PyList_Size(events); each++) {
        PyObject *event = Py_NewRef(PyList_GetItem(events, each));
        result = serve_one(in, event, answers);
        Py_DECREF(event);
    }
    return result != PATH_ERROR;
}

static void drop_plans(CallSends *self)
{
    self->forget_later = self->busy;
    if (!self->busy) plans_clear(&self->plans);
}

static PyObject *serve(PyObject *object, PyObject *args)
{
    CallSends *self = (CallSends *)object;
    PyObject *events, *host, *remote;
    long long now;
    turn in = {.self = self};
    if (!PyArg_ParseTuple(args, "O!SUL:serve", &PyList_Type, &events, &host, &remote, &now)) return NULL;
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(remote, &length);
    in.context = (path_context){.now = now};
    if (text == NULL || !span_of_bytes(host, &in.context.born_host)) return NULL;
    in.remote = span_of(text, (size_t)length);
    if (self->busy || (in.context.born_host.len != 8 && in.context.born_host.len != 20)) {
        PyErr_SetString(PyExc_ValueError, "an address has 8 or 20 bytes, and calls are not served within calls");
        return NULL;
    }
    PyObject *answers = PyList_New(0);
    if (answers == NULL) return NULL;
    self->busy = true;
    bool done = serve_all(&in, events, answers);
    self->busy = false;
    if (self->forget_later) drop_plans(self);
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    if (sends_finish(self->sends, &in.context) < 0) done = false; /* what was stored before an error is published */
    if (type != NULL) PyErr_Restore(type, value, trace);
    if (!done) Py_CLEAR(answers);
    return answers;
}

static PyObject *forget(PyObject *self, PyObject *unused)
{
    (void)unused;
    drop_plans((CallSends *)self);
    Py_RETURN_NONE;
}

/* --- the type --- */

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"sends", "plan", "path", "client_id", "reserved", NULL};
    PyObject *sends, *plan, *path, *client_id, *reserved;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!$OUUO!", names, Sends_Type, &sends, &plan, &path, &client_id,
                                     &PyTuple_Type, &reserved)) {
        return NULL;
    }
    CallSends *self = object_new(type);
    if (self == NULL) return NULL;
    self->sends = Py_NewRef(sends);
    self->plan = Py_NewRef(plan);
    if (!plans_init(&self->plans, free)) {
        PyErr_NoMemory();
    } else if (call_reader_begin(&self->reader, path, client_id, reserved)) {
        return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    CallSends *self = (CallSends *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->sends);
    Py_VISIT(self->plan);
    return 0;
}

static int clear(PyObject *object)
{
    Py_CLEAR(((CallSends *)object)->plan);
    return 0;
}

static void dealloc(PyObject *object)
{
    CallSends *self = (CallSends *)object;
    PyObject_GC_UnTrack(object);
    clear(object);
    plans_free(&self->plans);
    call_reader_end(&self->reader);
    Py_XDECREF(self->sends);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"serve", serve, METH_VARARGS, "Serve calls up to the first that is handed over: the stream and answer of each."},
    {"forget", forget, METH_NOARGS, "Drop all plans."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    CALL_LIMITS(CallSends),
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Plain SendMessage calls; see rocketwire.server.grpc.kernel."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.CallSends", sizeof(CallSends), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

int call_sends_init(PyObject *module) { return add_type(module, &spec, NULL); }
