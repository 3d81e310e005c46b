/* Pulls (11, 361) that find messages or wait for one, and offset updates (15), from the request's frame to the
 * answer's.
 *
 * The twins are server.pull.handlers and server.offsets.handlers. Other cases are handed over before anything
 * was counted or changed. Records go to the outbox as ranges of the mapped log; short runs of them are copied, which
 * costs less. */

#include "pull/pulls.h"

#define COPIED_MOST 2048 /* bytes of a run of records */

/* Bits of a pull's sysFlag: it also commits an offset; it may wait for a message. */
enum { COMMIT_OFFSET = 1, SUSPEND = 2 };

/* --- answers --- */

/* A view of the mapping for ranges, made when needed; 0 with an exception set. */
static int view_of(PyObject **owner)
{
    if (PyMemoryView_Check(*owner)) {
        return 1;
    }
    PyObject *view = PyMemoryView_FromObject(*owner);
    Py_DECREF(*owner);
    *owner = view;
    return view != NULL;
}

static int write_answer(const pull_answer *answer, uint8_t serialize_type, const pull_numbers *numbers,
                        const fetch_found *found, PyObject **owner, outbox *out)
{
    size_t room = pull_answer_most(answer);
    for (int each = 0; each < found->run_count; each++) {
        room += found->runs[each].len <= COPIED_MOST ? found->runs[each].len : 0;
    }
    uint8_t *start = out_room(out, room);
    if (start == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    uint8_t *to = pull_answer_write(start, answer, serialize_type, numbers, (size_t)found->size);
    out->used += (size_t)(to - start);
    for (int each = 0; each < found->run_count; each++) {
        span run = found->runs[each];
        if (run.len <= COPIED_MOST) {
            to = put_span(to, run);
            out->used += run.len;
        } else if (!view_of(owner)) {
            return -1;
        } else if (!out_range_add(out, run, *owner)) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

static void count_pull(Pulls *self, pull_tally *tally, const fetch_found *found)
{
    if (tally->messages == 0) {
        tally->next = self->touched;
        self->touched = tally;
        tally->users++;
    }
    tally->messages += found->count;
    tally->bytes += found->size;
    tally->pulls++;
}

/* False: it was not committed, and Python reports why, unless an exception is set. */
static bool commit(Pulls *self, PyObject *group, PyObject *topic, int32_t queue_id, int64_t offset)
{
    PyObject *done = PyObject_CallFunction(self->commit, "OOiL", group, topic, (int)queue_id, (long long)offset);
    Py_XDECREF(done);
    return clear_exception() && done != NULL;
}

/* Where a call into Python may have failed. */
static path_result handed_over(void) { return PyErr_Occurred() ? PATH_ERROR : PATH_HANDED_OVER; }

/* A pull at the queue's end waits there. */
static path_result hold_pull(Pulls *self, const pull_plan *plan, const pull_request *request, const header *head,
                             PyObject *session)
{
    if (request->sys_flag & COMMIT_OFFSET &&
        !commit(self, plan->group, plan->topic, request->queue_id, request->commit_offset)) {
        return handed_over();
    }
    PyObject *held = PyObject_CallFunction(self->hold, "OOLLiii", session, plan->tally->account,
                                           (long long)request->queue_offset, (long long)request->suspend_timeout_millis,
                                           (int)head->code, (int)head->opaque, (int)head->serialize_type);
    Py_XDECREF(held);
    return !clear_exception() ? PATH_ERROR : held == NULL ? PATH_HANDED_OVER : PATH_TAKEN;
}

static path_result answer_pull(Pulls *self, const pull_plan *plan, const pull_request *request, const header *head,
                               path_context *context)
{
    PyObject *owner = NULL;
    fetch_found found;
    found.run_count = 0;
    found.count = found.size = found.scanned = found.read = 0;
    path_result result = PATH_HANDED_OVER;
    bool done = pull_fetch(self, plan, request->queue_offset, &found, &owner);
    const pull_answer *answer = &self->answers[found.count == 0][head->serialize_type];
    done = done && (int64_t)pull_answer_most(answer) + found.size <= self->max_frame;
    if (done && request->sys_flag & COMMIT_OFFSET) {
        done = commit(self, plan->group, plan->topic, request->queue_id, request->commit_offset);
    }
    if (done) {
        pull_numbers numbers = {.next = request->queue_offset + found.scanned,
                                .min = plan->queue->min,
                                .max = plan->queue->end,
                                .opaque = head->opaque};
        result = PATH_TAKEN;
        if (write_answer(answer, head->serialize_type, &numbers, &found, &owner, context->out) < 0) {
            result = PATH_ERROR;
        } else if (found.count > 0) {
            count_pull(self, plan->tally, &found);
        }
    }
    Py_XDECREF(owner);
    return result == PATH_HANDED_OVER ? handed_over() : result;
}

/* --- the two kinds of requests --- */

static path_result offer_pull(Pulls *self, const header *head, path_context *context)
{
    pull_request request;
    uint8_t room[PLAN_KEY_MOST];
    if (head->flag & FLAG_ONEWAY || !pull_read(head, &request)) {
        return PATH_HANDED_OVER;
    }
    span key = pull_key(&request, room);
    if (key.len == 0) {
        return PATH_HANDED_OVER;
    }
    pull_plan *plan = plans_find(&self->plans, key);
    if (plan == NULL) {
        plan = pull_plan_fetch(self->plan, &request, &self->decided);
        if (plan == NULL) {
            return handed_over();
        }
        if (!plans_put(&self->plans, key, plan)) {
            PyErr_NoMemory();
            return PATH_ERROR;
        }
    }
    if (plan->queue == NULL) {
        return PATH_HANDED_OVER;
    }
    if (request.sys_flag & SUSPEND && request.queue_offset == plan->queue->end && request.queue_offset > 0) {
        return hold_pull(self, plan, &request, head, context->session);
    }
    return answer_pull(self, plan, &request, head, context);
}

/* The group and the topic of offset updates without checks; None: they are for Python. */
static PyObject *offset_plan(Pulls *self, const offset_request *request)
{
    uint8_t room[PLAN_KEY_MOST];
    if (2 + request->topic.len + request->consumer_group.len > PLAN_KEY_MOST) {
        return Py_None;
    }
    uint8_t *end = put_span(put16(room, (uint16_t)request->topic.len), request->topic);
    span key = span_of(room, (size_t)(put_span(end, request->consumer_group) - room));
    PyObject *plan = plans_find(&self->offset_plans, key);
    if (plan != NULL) {
        return plan;
    }
    PyObject *group = text_of(request->consumer_group), *topic = text_of(request->topic), *plain = NULL;
    if (group != NULL && topic != NULL) {
        plain = PyObject_CallFunctionObjArgs(self->plan_offset, group, topic, NULL);
    }
    if (plain == NULL) {
        plan = clear_exception() ? Py_None : NULL; /* not kept */
    }
    int taken = plain == NULL ? -1 : PyObject_IsTrue(plain);
    if (taken >= 0) {
        plan = taken ? PyTuple_Pack(2, group, topic) : Py_NewRef(Py_None);
    }
    Py_XDECREF(plain);
    Py_XDECREF(group);
    Py_XDECREF(topic);
    if (taken >= 0 && plan != NULL && !plans_put(&self->offset_plans, key, plan)) {
        PyErr_NoMemory();
        return NULL;
    }
    return plan;
}

static path_result offer_offset(Pulls *self, const header *head, path_context *context)
{
    offset_request request;
    if (!offset_read(head, &request)) {
        return PATH_HANDED_OVER;
    }
    PyObject *plan = offset_plan(self, &request);
    if (plan == NULL) {
        return PATH_ERROR;
    }
    if (plan == Py_None ||
        !commit(self, PyTuple_GetItem(plan, 0), PyTuple_GetItem(plan, 1), request.queue_id, request.commit_offset)) {
        return handed_over();
    }
    if (head->flag & FLAG_ONEWAY) {
        return PATH_TAKEN;
    }
    const bare_answer *answer = &self->done[head->serialize_type];
    uint8_t *to = out_room(context->out, bare_answer_most(answer));
    if (to == NULL) {
        PyErr_NoMemory();
        return PATH_ERROR;
    }
    context->out->used += (size_t)(bare_answer_write(to, answer, head->serialize_type, head->opaque) - to);
    return PATH_TAKEN;
}

bool pulls_ready(PyObject *pulls) { return ((Pulls *)pulls)->enabled; }

path_result pulls_offer(PyObject *pulls, const frame *taken, const header *head, path_context *context)
{
    Pulls *self = (Pulls *)pulls;
    (void)taken;
    if (!self->enabled || head->flag & FLAG_RESPONSE || head->serialize_type > 1) {
        return PATH_HANDED_OVER;
    }
    int64_t *requests;
    path_result (*offer)(Pulls *, const header *, path_context *) = offer_pull;
    switch (head->code) {
    case CODE_PULL_MESSAGE:
        requests = &self->pulls;
        break;
    case CODE_LITE_PULL_MESSAGE:
        requests = &self->lite_pulls;
        break;
    case CODE_UPDATE_CONSUMER_OFFSET:
        requests = &self->updates;
        offer = offer_offset;
        break;
    default:
        return PATH_HANDED_OVER;
    }
    self->busy = true;
    path_result result = offer(self, head, context);
    self->busy = false;
    if (self->forgets) {
        pulls_forget(self);
    }
    if (result == PATH_TAKEN) {
        ++*requests;
    }
    return result;
}
