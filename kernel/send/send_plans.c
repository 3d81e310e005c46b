/* Plans: Python's decisions about sends, made once and cached by the header fields that they depend on. */

#include "send/sends.h"

#include <stdlib.h>

/* A placeholder for the unique key, which differs in each batch, in the texts that a plan is made from. */
enum { MARK = 3 };

bool sends_scratch_room(Sends *self, size_t size)
{
    if (size <= self->scratch_room) return true;
    uint8_t *scratch = realloc(self->scratch, 2 * size);
    if (scratch == NULL) return false;
    self->scratch = scratch;
    self->scratch_room = 2 * size;
    return true;
}

path_result sends_no_memory(void)
{
    PyErr_NoMemory();
    return PATH_ERROR;
}

/* Write a text with a part of it replaced; returns its end. */
static uint8_t *put_replaced(uint8_t *p, span text, span part, span other)
{
    if (part.at == NULL) return put_span(p, text);
    const uint8_t *behind = part.at + part.len;
    p = put_span(p, span_of(text.at, (size_t)(part.at - text.at)));
    return put_span(put_span(p, other), span_of(behind, (size_t)(text.at + text.len - behind)));
}

/* The producer group, if plans depend on it. */
static span group_of(const Sends *self, const send_request *send)
{
    return self->by_group ? send->producer_group : span_of("", 0);
}

/* The key of a plan; empty: too long. */
static span key_of(const Sends *self, const send_request *send, const batch_common *common, uint8_t room[PLAN_KEY_MOST])
{
    const size_t fixed = 14;
    size_t text = common->text.len - common->unique_key.len;
    span group = group_of(self, send);
    if (send->topic.len > PLAN_KEY_MOST || group.len > PLAN_KEY_MOST) return span_of(NULL, 0);
    if (fixed + send->topic.len + group.len + text > PLAN_KEY_MOST) return span_of(NULL, 0);
    room[0] = send->batch;
    room[1] = common->unique_key.at != NULL;
    uint8_t *p =
        put32(put32(put16(room + 2, (uint16_t)send->topic.len), (uint32_t)send->queue_id), (uint32_t)send->sys_flag);
    p = put_span(put_span(put16(p, (uint16_t)group.len), group), send->topic);
    p = put_replaced(p, common->text, common->unique_key, span_of(NULL, 0));
    return span_of(room, (size_t)(p - room));
}

void send_plan_release(void *plan)
{
    Py_XDECREF((PyObject *)((send_plan *)plan)->queue);
    Py_XDECREF(((send_plan *)plan)->tail);
    timer_plan_release(&((send_plan *)plan)->timer);
    waiting_plan_release(&((send_plan *)plan)->held);
    send_quota_release(((send_plan *)plan)->quota);
    free(plan);
}

/* Fill in Python's answer. False: an exception is set. */
static bool read_plan(Sends *self, PyObject *answer, bool batch, send_plan *plan)
{
    PyObject *queue, *tail, *timer = Py_None, *quota = Py_None, *held = Py_None;
    int sys_flag, waits;
    if (!PyArg_ParseTuple(answer, "OiOp|OOO", &queue, &sys_flag, &tail, &waits, &timer, &quota, &held)) {
        return false;
    }
    bool has_queue = PyObject_TypeCheck(queue, QueueTail_Type);
    if (batch != (bool)PyBytes_Check(tail) ||
        (!has_queue && (queue != Py_None || (timer == Py_None && held == Py_None) || batch))) {
        PyErr_SetString(PyExc_TypeError,
                        "a plan has a queue, or those of messages that wait; that of a batch has bytes "
                        "behind the properties");
        return false;
    }
    if (quota != Py_None && self->refusal == NULL) {
        PyErr_SetString(PyExc_TypeError, "a plan has a quota and there is no refusal");
        return false;
    }
    if (quota != Py_None && (plan->quota = send_quota_read(quota, &self->quotas)) == NULL) return false;
    if (!waiting_plan_read(held, &plan->held) || !timer_plan_read(timer, &plan->timer)) {
        waiting_plan_release(&plan->held);
        send_quota_release(plan->quota);
        return false;
    }
    plan->queue = has_queue ? (QueueTail *)Py_NewRef(queue) : NULL;
    plan->sys_flag = sys_flag;
    plan->tail = batch ? Py_NewRef(tail) : NULL;
    plan->waits = waits != 0;
    return true;
}

/* Python's answer as a plan. NULL: an exception is set. */
static send_plan *plan_of(Sends *self, PyObject *answer, bool batch)
{
    send_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (answer == Py_None || read_plan(self, answer, batch, plan)) return plan;
    free(plan);
    return NULL;
}

/* The property text without JSON's escapes, in `scratch` if it has any; false: it cannot be read here. */
bool sends_text_of(Sends *self, const send_request *send, span *text)
{
    *text = send->properties;
    if (!send->properties_escaped) return true;
    size_t length;
    if (!sends_scratch_room(self, send->properties.len) ||
        !json_unescape(send->properties, self->scratch, self->scratch_room, &length)) {
        return false;
    }
    *text = span_of(self->scratch, length);
    return true;
}

/* Behind the properties without their escapes: room for them once more, or for what follows a batch's properties. */
uint8_t *sends_scratch_behind(Sends *self, const send_request *send) { return self->scratch + send->properties.len; }

path_result sends_read_common(Sends *self, const send_request *send, batch_common *common)
{
    properties_found found;
    if (!sends_scratch_room(self, 2 * send->properties.len + self->broker_text.len + 2)) return sends_no_memory();
    if (!sends_text_of(self, send, &common->text)) return PATH_HANDED_OVER;
    properties_look(common->text, &found);
    common->unique_key = found.unique_key;
    bool marked = common->text.len > 0 && memchr(common->text.at, MARK, common->text.len) != NULL;
    return found.unique_key.at != NULL && (found.nul || marked) ? PATH_HANDED_OVER : PATH_TAKEN;
}

static PyObject *fetch_plan(Sends *self, const send_request *send, const batch_common *common)
{
    static const uint8_t mark = MARK;
    const char *topic = (const char *)send->topic.at, *text = NULL;
    Py_ssize_t length = 0;
    if (send->batch) {
        uint8_t *to = sends_scratch_behind(self, send);
        length = put_replaced(to, common->text, common->unique_key, span_of(&mark, 1)) - to;
        text = (const char *)to;
    }
    span group = group_of(self, send);
    return PyObject_CallFunction(self->plan, "s#iiz#s#", topic, (Py_ssize_t)send->topic.len, send->queue_id,
                                 send->sys_flag, text, length, (const char *)group.at, (Py_ssize_t)group.len);
}

/* The text stored behind the properties of each message; empty if the plan has no place for the unique key. */
span sends_tail_of(Sends *self, const send_request *send, const send_plan *plan, const batch_common *common)
{
    span tail = span_of(PyBytes_AsString(plan->tail), (size_t)PyBytes_Size(plan->tail));
    if (common->unique_key.at == NULL) return tail;
    const uint8_t *mark = memchr(tail.at, MARK, tail.len);
    size_t length = tail.len + common->unique_key.len, room = common->text.len + self->broker_text.len + 2;
    if (mark == NULL || length > room) return span_of(NULL, 0);
    uint8_t *to = sends_scratch_behind(self, send);
    return span_of(to, (size_t)(put_replaced(to, tail, span_of(mark, 1), common->unique_key) - to));
}

/* The plan for a send. PATH_TAKEN: there is one; it is valid until the frame is served. */
path_result sends_plan_for(Sends *self, const send_request *send, const batch_common *common, send_plan **plan)
{
    uint8_t room[PLAN_KEY_MOST];
    span key = key_of(self, send, common, room);
    if (key.len == 0) return PATH_HANDED_OVER;
    send_plan *found = plans_find(&self->plans, key);
    if (found == NULL || found->spent) {
        found = NULL;
        if (group_publish(&self->group) < 0) return PATH_ERROR; /* Python may read the store */
        PyObject *answer = fetch_plan(self, send, common);
        if (answer != NULL && answer != Py_False) found = plan_of(self, answer, send->batch);
        bool again = answer == Py_False;
        Py_XDECREF(answer);
        if (again) return PATH_HANDED_OVER;
        if (found == NULL) return PATH_ERROR;
        if (!plans_put(&self->plans, key, found)) return sends_no_memory();
    }
    *plan = found;
    return found->queue == NULL && found->timer.queue == NULL && found->held.behind == NULL ? PATH_HANDED_OVER
                                                                                            : PATH_TAKEN;
}

path_result sends_keep_plan(plan_table *table, span key, PyObject *answer, void *(*plan_of)(PyObject *answer),
                            void **plan)
{
    if (answer == NULL) return PATH_ERROR;
    bool again = answer == Py_False;
    void *made = again ? NULL : plan_of(answer);
    Py_DECREF(answer);
    if (again) return PATH_HANDED_OVER;
    if (made == NULL) return PATH_ERROR;
    *plan = made;
    return plans_put(table, key, made) ? PATH_TAKEN : sends_no_memory();
}

void sends_forget(Sends *self)
{
    self->forget_later = self->busy;
    if (self->busy) return;
    plans_clear(&self->plans);
    plans_clear(&self->backs);
    plans_clear(&self->outcomes);
}
