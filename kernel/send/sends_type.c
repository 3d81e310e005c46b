/* The Python side of `Sends`: its constructor, and the methods that drop plans and return counts;
 * rocketwire/_kernel.pyi has the signatures. */

#include "send/sends.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <structmember.h>

#include "core/values.h"
#include "index/keys.h"

/* --- making one --- */

/* Let the spans point into the objects' memory. */
static bool take_texts(Sends *self)
{
    PyObject *json, *binary;
    return PyArg_ParseTuple(self->parts, "OO", &json, &binary) &&
           spans_of_tuple(json, self->answers.parts[0], SEND_ANSWER_PARTS) &&
           spans_of_tuple(binary, self->answers.parts[1], SEND_ANSWER_PARTS) &&
           span_of_bytes(self->store_host, &self->store_host_field) &&
           span_of_bytes(self->broker_items, &self->broker_text) &&
           span_of_bytes(self->id_prefix, &self->answers.id_prefix);
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"log",        "plan",         "make_room", "waiting",   "slow",     "keys",
                            "store_host", "broker_items", "answers",   "id_prefix", "max_body", NULL};
    PyObject *log, *plan, *make_room, *waiting, *slow, *keys, *store_host, *broker_items, *parts, *id_prefix;
    long long max_body;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!$OOOOOSSO!SL", names, LogTail_Type, &log, &plan, &make_room,
                                     &waiting, &slow, &keys, &store_host, &broker_items, &PyTuple_Type, &parts,
                                     &id_prefix, &max_body)) {
        return NULL;
    }
    if (keys != Py_None && !PyObject_TypeCheck(keys, KeyColumn_Type)) {
        PyErr_SetString(PyExc_TypeError, "keys is a KeyColumn, or None where nothing is indexed");
        return NULL;
    }
    Sends *self = (Sends *)((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0);
    if (self == NULL) return NULL;
    self->plan = Py_NewRef(plan);
    self->waiting = Py_NewRef(waiting);
    self->slow = Py_NewRef(slow);
    self->parts = Py_NewRef(parts);
    self->store_host = Py_NewRef(store_host);
    self->broker_items = Py_NewRef(broker_items);
    self->id_prefix = Py_NewRef(id_prefix);
    self->max_body = max_body;
    self->slow_ns = INT64_MAX;
    self->enabled = 1;
    self->given_back = PyDict_New();
    if (self->given_back != NULL && group_init(&self->group, (LogTail *)log, make_room, keys)) {
        if (!plans_init(&self->plans, send_plan_release) || !plans_init(&self->backs, back_plan_release) ||
            !plans_init(&self->outcomes, outcome_plan_release)) {
            PyErr_NoMemory();
        } else if (take_texts(self)) {
            return (PyObject *)self;
        }
    }
    Py_DECREF(self);
    return NULL;
}

/* --- the end of one --- */

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    Sends *self = (Sends *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)self->group.log);
    Py_VISIT(self->group.make_room);
    Py_VISIT(self->group.keys);
    Py_VISIT(self->group.touched);
    const send_plan *plan;
    for (size_t at = 0; (plan = plans_next(&self->plans, &at)) != NULL;) {
        Py_VISIT((PyObject *)plan->queue);
        Py_VISIT(plan->tail);
        Py_VISIT((PyObject *)plan->timer.queue);
    }
    const back_plan *back;
    for (size_t at = 0; (back = plans_next(&self->backs, &at)) != NULL;) {
        Py_VISIT(back->counted);
        Py_VISIT(back->levels);
    }
    const outcome_plan *outcome;
    for (size_t at = 0; (outcome = plans_next(&self->outcomes, &at)) != NULL;) {
        Py_VISIT((PyObject *)outcome->queue);
        Py_VISIT((PyObject *)outcome->half);
        Py_VISIT((PyObject *)outcome->op);
    }
    Py_VISIT(self->destination);
    Py_VISIT(self->may_decide);
    Py_VISIT(self->decided);
    Py_VISIT(self->plan);
    Py_VISIT(self->back);
    Py_VISIT(self->given_back);
    Py_VISIT(self->waiting);
    Py_VISIT(self->slow);
    return 0;
}

static int clear(PyObject *object)
{
    Sends *self = (Sends *)object;
    plans_clear(&self->plans);
    plans_clear(&self->backs);
    plans_clear(&self->outcomes);
    Py_CLEAR(self->destination);
    Py_CLEAR(self->may_decide);
    Py_CLEAR(self->decided);
    Py_CLEAR(self->plan);
    Py_CLEAR(self->back);
    Py_CLEAR(self->given_back);
    Py_CLEAR(self->waiting);
    Py_CLEAR(self->slow);
    return 0;
}

static void dealloc(PyObject *object)
{
    Sends *self = (Sends *)object;
    PyObject_GC_UnTrack(object);
    clear(object);
    plans_free(&self->plans);
    plans_free(&self->backs);
    plans_free(&self->outcomes);
    group_free(&self->group);
    out_free(&self->later);
    free(self->scratch);
    free(self->timer_scratch);
    free(self->items);
    free(self->places);
    Py_CLEAR(self->parts);
    Py_CLEAR(self->store_host);
    Py_CLEAR(self->broker_items);
    Py_CLEAR(self->id_prefix);
    Py_CLEAR(self->refusal);
    Py_CLEAR(self->done);
    Py_CLEAR(self->op_properties);
    quota_counts_free(&self->quotas);
    object_free(object);
}

/* --- what Python calls --- */

static PyObject *forget(PyObject *self, PyObject *unused)
{
    (void)unused;
    sends_forget((Sends *)self);
    Py_RETURN_NONE;
}

/* A dict of the requests taken, by code. */
static PyObject *requests_by_code(const Sends *self)
{
    static const int codes[SEND_CODES] = {CODE_SEND_MESSAGE, CODE_SEND_MESSAGE_V2, CODE_SEND_BATCH_MESSAGE,
                                          CODE_CONSUMER_SEND_MSG_BACK, CODE_END_TRANSACTION};
    PyObject *requests = PyDict_New();
    for (int which = 0; requests != NULL && which < SEND_CODES; which++) {
        if (self->requests[which] == 0) continue;
        PyObject *code = PyLong_FromLong(codes[which]), *count = PyLong_FromLongLong(self->requests[which]);
        if (code == NULL || count == NULL || PyDict_SetItem(requests, code, count) < 0) Py_CLEAR(requests);
        Py_XDECREF(code);
        Py_XDECREF(count);
    }
    return requests;
}

static PyObject *take(PyObject *object, PyObject *unused)
{
    Sends *self = (Sends *)object;
    (void)unused;
    PyObject *requests = requests_by_code(self);
    PyObject *refused = requests == NULL ? NULL : quota_counts_take(&self->quotas);
    PyObject *fresh = refused == NULL ? NULL : PyDict_New();
    PyObject *touched = fresh == NULL ? NULL : group_take_touched(&self->group);
    if (touched == NULL) {
        Py_XDECREF(requests);
        Py_XDECREF(refused);
        Py_XDECREF(fresh);
        return NULL;
    }
    PyObject *given_back = self->given_back;
    self->given_back = fresh;
    PyObject *result =
        Py_BuildValue("NLLNLNN", touched, (long long)self->group.messages, (long long)self->group.stored_bytes,
                      requests, (long long)self->quotas.converted, refused, given_back);
    memset(self->requests, 0, sizeof self->requests);
    self->group.messages = self->group.stored_bytes = self->quotas.converted = 0;
    return result;
}

/* Serve the frames in `data` up to the first that is handed over; returns their bytes, -1: an exception. */
static Py_ssize_t serve_frames(PyObject *self, span data, path_context *context)
{
    size_t consumed = 0;
    frame one;
    header head;
    while (frame_next(span_of(data.at + consumed, data.len - consumed), &one) == FRAME_WHOLE &&
           header_read(one.header, one.serialize_type, &head)) {
        path_result result = sends_offer(self, &one, &head, context);
        if (result == PATH_ERROR) return -1;
        if (result == PATH_HANDED_OVER) break;
        consumed += one.size;
    }
    return (Py_ssize_t)consumed;
}

static PyObject *serve(PyObject *self, PyObject *args)
{
    Py_buffer data, born_host;
    PyObject *session, *result = NULL;
    long long now;
    double seconds = 0;
    if (!PyArg_ParseTuple(args, "Oy*Ly*|d", &session, &born_host, &now, &data, &seconds)) return NULL;
    outbox out = {0};
    path_context context = {now, nanoseconds_of(seconds), session, span_of(born_host.buf, (size_t)born_host.len), &out};
    if (born_host.len != 8 && born_host.len != 20) {
        PyErr_SetString(PyExc_ValueError, "an address has 8 or 20 bytes");
    } else {
        Py_ssize_t consumed = serve_frames(self, span_of(data.buf, (size_t)data.len), &context);
        if (consumed >= 0 && sends_finish(self, &context) == 0) {
            result = Py_BuildValue("Nn", PyBytes_FromStringAndSize((char *)out.text, (Py_ssize_t)out.used), consumed);
        }
    }
    out_free(&out);
    PyBuffer_Release(&born_host);
    PyBuffer_Release(&data);
    return result;
}

/* Hold a new reference in place of another. */
static void hold(PyObject **held, PyObject *value)
{
    PyObject *former = *held;
    *held = Py_NewRef(value);
    Py_XDECREF(former);
}

static PyObject *take_back(PyObject *object, PyObject *args)
{
    PyObject *back;
    if (!PyArg_ParseTuple(args, "O", &back)) return NULL;
    hold(&((Sends *)object)->back, back);
    Py_RETURN_NONE;
}

static PyObject *take_outcomes(PyObject *object, PyObject *args)
{
    Sends *self = (Sends *)object;
    PyObject *destination, *may, *decided, *properties;
    long long tags_code;
    if (!PyArg_ParseTuple(args, "OOOSL", &destination, &may, &decided, &properties, &tags_code)) return NULL;
    hold(&self->destination, destination);
    hold(&self->may_decide, may);
    hold(&self->decided, decided);
    hold(&self->op_properties, properties);
    self->op_tags_code = tags_code;
    Py_RETURN_NONE;
}

/* Read the headers around an opaque, JSON and ROCKETMQ. False: an exception is set. */
static bool read_bare(PyObject *value, bare_answer *answers)
{
    PyObject *parts[2];
    span spans[2][2];
    if (value == NULL || !PyTuple_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "an answer is a tuple of headers");
        return false;
    }
    if (!PyArg_ParseTuple(value, "OO", &parts[0], &parts[1]) || !spans_of_tuple(parts[0], spans[0], 2) ||
        !spans_of_tuple(parts[1], spans[1], 2)) {
        return false;
    }
    for (int type = 0; type < 2; type++) answers[type] = (bare_answer){spans[type][0], spans[type][1]};
    return true;
}

static PyObject *get_done(PyObject *object, void *unused)
{
    PyObject *done = ((Sends *)object)->done;
    (void)unused;
    return Py_NewRef(done == NULL ? Py_None : done);
}

static int set_done(PyObject *object, PyObject *value, void *unused)
{
    Sends *self = (Sends *)object;
    (void)unused;
    if (!read_bare(value, self->done_answers)) return -1;
    hold(&self->done, value);
    return 0;
}

static PyObject *get_refusal(PyObject *object, void *unused)
{
    PyObject *refusal = ((Sends *)object)->refusal;
    (void)unused;
    return Py_NewRef(refusal == NULL ? Py_None : refusal);
}

static int set_refusal(PyObject *object, PyObject *value, void *unused)
{
    Sends *self = (Sends *)object;
    (void)unused;
    if (!read_bare(value, self->refusals)) return -1;
    hold(&self->refusal, value);
    return 0;
}

static PyMethodDef methods[] = {
    {"forget", forget, METH_NOARGS, "Drop all plans."},
    {"take", take, METH_NOARGS,
     "What was done since the last call: queues, messages stored, their bytes, requests by code, converted messages "
     "charged, requests refused by kind of bucket, messages given back by what they are counted by."},
    {"take_back", take_back, METH_VARARGS, "Serve messages that consumers give back: a callback for plans."},
    {"take_outcomes", take_outcomes, METH_VARARGS,
     "Serve decisions about half messages: callbacks for plans, whether one may be decided, and that it is; properties "
     "and tags code of op messages."},
    {"serve", serve, METH_VARARGS, "Serve frames up to the first that is handed over: (answers, bytes of them)."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"enabled", T_BOOL, offsetof(Sends, enabled), 0, "Whether frames are taken; all are handed over else."},
    {"by_group", T_BOOL, offsetof(Sends, by_group), 0, "Whether plans depend on the producer group as well."},
    {"deferred", T_BOOL, offsetof(Sends, deferred), 0, "Whether answers may have to wait for the disk."},
    {"max_body", T_LONGLONG, offsetof(Sends, max_body), 0, "Bytes that a body has at most."},
    {"slow_ns", T_LONGLONG, offsetof(Sends, slow_ns), 0, "A group that takes longer, in ns, is reported to `slow`."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"done", get_done, set_done, "Headers around the opaque of the answer that has success alone, by type.", NULL},
    {"refusal", get_refusal, set_refusal, "Headers around the opaque of the answer to a send over a quota, by type.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Stores plain sends and answers them; see rocketwire.server.send.kernel."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.Sends", sizeof(Sends), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                           slots};

PyTypeObject *Sends_Type;

int sends_init(PyObject *module) { return add_type(module, &spec, &Sends_Type); }
