/* The Python side of `Pulls`: its constructor, and the methods that drop plans and return counts.
 *
 * Pulls(log, *, plan, plan_offset, commit, hold, texts, max_frame):
 * `plan` is called once for requests that differ in their offsets only, with group, topic, queue id, sysFlag,
 * subscription version, subscription, expression type, and the most messages and bytes requested. It returns the queue,
 * a list of tags codes (None: all), a filter by properties (None; or names, a function of a property text, and the most
 * bytes of text), the most messages, the bytes behind the log's end that count as in memory, the most messages and
 * bytes in memory and on the disk, and the account by which `take` returns what was delivered. None: such requests are
 * for Python; False: this one is, call again. `plan_offset` is called with group and topic: whether offset updates need
 * no check; then `commit` stores them (group, topic, queue id, offset). `hold` holds a pull until there is a message
 * (session, account, offset, how long in ms, code, opaque, serialise type). `texts` are the parts of answers
 * (pull_answer.h): messages found, no match, offset stored; each as JSON and as ROCKETMQ. No answer is longer than
 * `max_frame` bytes. */

#include "pull/pulls.h"

#include <stddef.h>
#include <structmember.h>

#include "core/values.h"

/* --- making one --- */

/* Point to the parts of an answer; the tuple that owns them is kept. */
static bool take_parts(PyObject *parts, pull_answer *to)
{
    bool taken = spans_of_tuple(parts, to->parts, PULL_ANSWER_PARTS);
    for (int each = 0; taken && each < PULL_ANSWER_PARTS; each++) to->length += to->parts[each].len;
    return taken;
}

static bool take_texts(Pulls *self)
{
    PyObject *found[2], *unmatched[2], *done[2];
    if (!PyArg_ParseTuple(self->texts, "(OO)(OO)(OO)", &found[0], &found[1], &unmatched[0], &unmatched[1], &done[0],
                          &done[1])) {
        return false;
    }
    for (int type = 0; type < 2; type++) {
        span around[2];
        if (!take_parts(found[type], &self->answers[0][type]) ||
            !take_parts(unmatched[type], &self->answers[1][type]) || !spans_of_tuple(done[type], around, 2)) {
            return false;
        }
        self->done[type] = (bare_answer){around[0], around[1]};
    }
    return true;
}

static void release_object(void *object) { Py_DECREF((PyObject *)object); }

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"log", "plan", "plan_offset", "commit", "hold", "texts", "max_frame", NULL};
    PyObject *log, *plan, *plan_offset, *commit, *hold, *texts;
    long long max_frame;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!$OOOOO!L", names, LogTail_Type, &log, &plan, &plan_offset,
                                     &commit, &hold, &PyTuple_Type, &texts, &max_frame)) {
        return NULL;
    }
    Pulls *self = object_new(type);
    if (self == NULL) {
        return NULL;
    }
    self->log = (LogTail *)Py_NewRef(log);
    self->plan = Py_NewRef(plan);
    self->plan_offset = Py_NewRef(plan_offset);
    self->commit = Py_NewRef(commit);
    self->hold = Py_NewRef(hold);
    self->texts = Py_NewRef(texts);
    self->max_frame = max_frame;
    self->enabled = 1;
    if (!plans_init(&self->plans, pull_plan_release) || !plans_init(&self->offset_plans, release_object) ||
        !pull_filter_init(&self->decided)) {
        PyErr_NoMemory();
    } else if (take_texts(self)) {
        return (PyObject *)self;
    }
    Py_DECREF(self);
    return NULL;
}

/* --- the end of one --- */

static int visit_plans(Pulls *self, visitproc visit, void *arg)
{
    for (pull_tally *tally = self->touched; tally != NULL; tally = tally->next) {
        if (tally->users == 1) { /* else its plan is visited */
            Py_VISIT(tally->account);
        }
    }
    void *plan;
    for (size_t at = 0; (plan = plans_next(&self->plans, &at)) != NULL;) {
        int result = pull_plan_traverse(plan, visit, arg);
        if (result) {
            return result;
        }
    }
    for (size_t at = 0; (plan = plans_next(&self->offset_plans, &at)) != NULL;) {
        Py_VISIT((PyObject *)plan);
    }
    return 0;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    Pulls *self = (Pulls *)object;
    Py_VISIT(Py_TYPE(object));
    Py_VISIT((PyObject *)self->log);
    Py_VISIT(self->plan);
    Py_VISIT(self->plan_offset);
    Py_VISIT(self->commit);
    Py_VISIT(self->hold);
    Py_VISIT(self->texts);
    return visit_plans(self, visit, arg);
}

static void forget_touched(Pulls *self)
{
    while (self->touched != NULL) {
        pull_tally *tally = self->touched;
        self->touched = tally->next;
        pull_tally_drop(tally);
    }
}

static int clear(PyObject *object)
{
    Pulls *self = (Pulls *)object;
    Py_CLEAR(self->plan);
    Py_CLEAR(self->plan_offset);
    Py_CLEAR(self->commit);
    Py_CLEAR(self->hold);
    forget_touched(self);
    plans_clear(&self->plans);
    plans_clear(&self->offset_plans);
    return 0;
}

static void dealloc(PyObject *object)
{
    Pulls *self = (Pulls *)object;
    PyObject_GC_UnTrack(object);
    clear(object);
    plans_free(&self->plans);
    plans_free(&self->decided);
    plans_free(&self->offset_plans);
    Py_XDECREF((PyObject *)self->log);
    Py_XDECREF(self->texts);
    object_free(object);
}

/* --- what Python calls --- */

void pulls_forget(Pulls *self)
{
    self->forgets = self->busy;
    if (!self->busy) {
        plans_clear(&self->plans);
        plans_clear(&self->decided);
        plans_clear(&self->offset_plans);
    }
}

static PyObject *forget(PyObject *self, PyObject *unused)
{
    (void)unused;
    pulls_forget((Pulls *)self);
    Py_RETURN_NONE;
}

static PyObject *take(PyObject *object, PyObject *unused)
{
    Pulls *self = (Pulls *)object;
    (void)unused;
    PyObject *delivered = PyList_New(0);
    for (pull_tally *tally = self->touched; tally != NULL && delivered != NULL; tally = tally->next) {
        PyObject *one = Py_BuildValue("OLLL", tally->account, (long long)tally->messages, (long long)tally->bytes,
                                      (long long)tally->pulls);
        if (one == NULL || PyList_Append(delivered, one) < 0) {
            Py_CLEAR(delivered);
        }
        Py_XDECREF(one);
    }
    if (delivered == NULL) {
        return NULL;
    }
    for (pull_tally *tally = self->touched; tally != NULL; tally = tally->next) {
        tally->messages = tally->bytes = tally->pulls = 0;
    }
    forget_touched(self);
    PyObject *taken =
        Py_BuildValue("N{iLiLiL}", delivered, CODE_PULL_MESSAGE, (long long)self->pulls, CODE_LITE_PULL_MESSAGE,
                      (long long)self->lite_pulls, CODE_UPDATE_CONSUMER_OFFSET, (long long)self->updates);
    self->pulls = self->lite_pulls = self->updates = 0;
    return taken;
}

/* The content of an outbox, in one piece. */
static PyObject *joined(const outbox *out)
{
    PyObject *result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)out_size(out));
    if (result == NULL) {
        return NULL;
    }
    uint8_t *to = (uint8_t *)PyBytes_AsString(result);
    size_t at = 0;
    for (int each = 0; each < out->count; each++) {
        const out_range *range = &out->ranges[each];
        to = put_span(to, span_of(out->text + at, range->text_end - at));
        to = put_span(to, range->range);
        at = range->text_end;
    }
    put_span(to, span_of(out->text + at, out->used - at));
    return result;
}

static path_result serve_frames(PyObject *self, span *rest, path_context *context)
{
    frame taken;
    header head;
    while (frame_next(*rest, &taken) == FRAME_WHOLE && header_read(taken.header, taken.serialize_type, &head)) {
        path_result result = pulls_offer(self, &taken, &head, context);
        if (result != PATH_TAKEN) {
            return result;
        }
        *rest = span_of(rest->at + taken.size, rest->len - taken.size);
    }
    return PATH_HANDED_OVER;
}

static PyObject *serve(PyObject *self, PyObject *args)
{
    PyObject *session;
    Py_buffer data;
    long long now;
    if (!PyArg_ParseTuple(args, "Oy*L", &session, &data, &now)) {
        return NULL;
    }
    outbox out = {0};
    path_context context = {.now = now, .session = session, .out = &out};
    span rest = span_of(data.buf, (size_t)data.len);
    PyObject *answers = NULL, *result = NULL;
    if (serve_frames(self, &rest, &context) != PATH_ERROR) {
        answers = joined(&out);
    }
    if (answers != NULL) {
        result = Py_BuildValue("Nn", answers, (Py_ssize_t)((size_t)data.len - rest.len));
    }
    out_free(&out);
    PyBuffer_Release(&data);
    return result;
}

static PyMethodDef methods[] = {
    {"forget", forget, METH_NOARGS, "Drop all plans: something that they were made from has changed."},
    {"take", take, METH_NOARGS, "What was delivered since the last call, by account, and the requests by code."},
    {"serve", serve, METH_VARARGS, "Answer the frames that it takes, up to the first that is for Python."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"enabled", T_BOOL, offsetof(Pulls, enabled), 0, "Whether frames are taken; all are handed over else."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Pulls that find messages, and offset updates."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.Pulls", sizeof(Pulls), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
                           slots};

int pulls_init(PyObject *module)
{
    if (add_type(module, &spec, NULL) < 0) return -1;
    return PyModule_AddIntConstant(module, "FILTER_NAMES_MOST", FILTER_NAMES_MOST);
}
