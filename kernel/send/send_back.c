/* Messages that a consumer gives back for another try (36): the first try of a message whose record is in the file that
 * is being written, as server.retry.send_back stores it. Others are handed over before anything was done. */

#define _GNU_SOURCE /* memmem */

#include "send/sends.h"

#include <stdlib.h>

#include "core/utf8.h"
#include "core/values.h"

enum { FIRST_RETRY_LEVEL = 3, MESSAGE_ID_SIZE = 2 * (LOG_MESSAGE_HOST_SIZE + 8) };

/* Properties of a message that was given back before. */
static const char *const of_retries[] = {
    PROPERTY_WAIT,       PROPERTY_DELAY,         PROPERTY_RETRY_TOPIC, PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_REAL_TOPIC, PROPERTY_REAL_QUEUE_ID,
};

/* Whether the properties of a retry can be written behind the message's own, whose last is not for the index. */
static bool is_first_try(log_message *message)
{
    span text = message->properties;
    if (message->found.nul || message->found.steering || text.at[text.len - 1] == ITEM_SEP || !utf8_valid(text) ||
        !utf8_valid(message->topic)) {
        return false;
    }
    const uint8_t *end = text.at + text.len, *last = memrchr(text.at, ITEM_SEP, text.len);
    last = last == NULL ? text.at : last + 1;
    span unique_key = message->found.unique_key, keys = message->found.keys;
    if ((unique_key.at != NULL && unique_key.at + unique_key.len == end) ||
        (keys.at != NULL && keys.at + keys.len == end) || memchr(last, NAME_SEP, (size_t)(end - last)) == NULL) {
        return false;
    }
    for (size_t each = 0; each < sizeof of_retries / sizeof *of_retries; each++) {
        if (memmem(text.at, text.len, of_retries[each], strlen(of_retries[each])) != NULL) return false;
    }
    return true;
}

/* --- plans --- */

void back_plan_release(void *plan)
{
    Py_XDECREF(((back_plan *)plan)->counted);
    Py_XDECREF(((back_plan *)plan)->levels);
    free(plan);
}

static span key_of(const send_back_request *request, span topic, uint8_t room[PLAN_KEY_MOST])
{
    const size_t fixed = 3;
    if (request->group.len + topic.len + fixed > PLAN_KEY_MOST) return span_of(NULL, 0);
    room[0] = request->unit_mode;
    uint8_t *p = put_span(put_span(put16(room + 1, (uint16_t)request->group.len), request->group), topic);
    return span_of(room, (size_t)(p - room));
}

/* Python's answer as a plan. NULL: an exception is set. */
static back_plan *plan_of(PyObject *answer)
{
    back_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (answer == Py_None) return plan;
    PyObject *counted, *levels;
    int limit;
    if (!PyArg_ParseTuple(answer, "OiO!", &counted, &limit, &PyTuple_Type, &levels)) {
        free(plan);
        return NULL;
    }
    *plan = (back_plan){Py_NewRef(counted), Py_NewRef(levels), limit, false};
    return plan;
}

static path_result plan_for(Sends *self, const send_back_request *request, span topic, back_plan **plan)
{
    uint8_t room[PLAN_KEY_MOST];
    span key = key_of(request, topic, room);
    if (key.len == 0) return PATH_HANDED_OVER;
    back_plan *found = plans_find(&self->backs, key);
    if (found == NULL || found->spent) {
        if (group_publish(&self->group) < 0) return PATH_ERROR; /* Python may read the store */
        PyObject *answer = PyObject_CallFunction(
            self->back, "s#Os#", (const char *)request->group.at, (Py_ssize_t)request->group.len,
            request->unit_mode ? Py_True : Py_False, (const char *)topic.at, (Py_ssize_t)topic.len);
        if (answer == NULL) return PATH_ERROR;
        bool again = answer == Py_False;
        found = again ? NULL : plan_of(answer);
        Py_DECREF(answer);
        if (again) return PATH_HANDED_OVER;
        if (found == NULL) return PATH_ERROR;
        if (!plans_put(&self->backs, key, found)) return sends_no_memory();
    }
    *plan = found;
    return found->levels == NULL ? PATH_HANDED_OVER : PATH_TAKEN;
}

/* Where a message waits for its next try. */
typedef struct {
    QueueTail *queue;
    long long delay; /* in ms */
    span properties;
} back_level;

/* What a level has; false: its queue is made by the first message, in Python. */
static bool level_of(back_plan *plan, int64_t number, back_level *level)
{
    PyObject *queue, *properties;
    Py_ssize_t most = PyTuple_Size(plan->levels), at = number > most ? most : (Py_ssize_t)number;
    if (at < 1 || !PyArg_ParseTuple(PyTuple_GetItem(plan->levels, at - 1), "OLS", &queue, &level->delay, &properties)) {
        PyErr_Clear();
        return false;
    }
    plan->spent = !PyObject_TypeCheck(queue, QueueTail_Type);
    level->queue = (QueueTail *)queue;
    level->properties = span_of(PyBytes_AsString(properties), (size_t)PyBytes_Size(properties));
    return !plan->spent;
}

/* --- storing --- */

static uint8_t *put_hex(uint8_t *p, span data)
{
    static const char digits[] = "0123456789ABCDEF";
    for (size_t each = 0; each < data.len; each++) {
        *p++ = (uint8_t)digits[data.at[each] >> 4];
        *p++ = (uint8_t)digits[data.at[each] & 15];
    }
    return p;
}

/* Count a message by Python's key for its group and topic. False: an exception is set. */
static bool count(Sends *self, PyObject *counted)
{
    PyObject *known = PyDict_GetItemWithError(self->given_back, counted);
    if (known == NULL && PyErr_Occurred()) return false;
    PyObject *more = PyLong_FromLong(known == NULL ? 1 : PyLong_AsLong(known) + 1);
    bool done = more != NULL && PyDict_SetItem(self->given_back, counted, more) == 0;
    Py_XDECREF(more);
    return done;
}

static path_result store(Sends *self, const send_back_request *request, const log_message *message, back_plan *plan,
                         const path_context *context)
{
    if (message->reconsume_times >= plan->limit || message->reconsume_times < 0) return PATH_HANDED_OVER;
    if (request->has_max_times && request->max_times != plan->limit) return PATH_HANDED_OVER; /* as its version says */
    back_level level;
    int64_t number = request->delay_level;
    if (number == 0) number = (int64_t)FIRST_RETRY_LEVEL + message->reconsume_times;
    if (!level_of(plan, number, &level)) return PATH_HANDED_OVER;
    uint8_t place[8], id[MESSAGE_ID_SIZE];
    put64(place, (uint64_t)request->offset);
    put_hex(put_hex(id, message->store_host), span_of(place, sizeof place));
    record one = {
        .topic_field = bytes_span(level.queue->topic_field),
        .magic = level.queue->magic,
        .queue_id = level.queue->queue_id,
        .flag = message->flag,
        .sys_flag = message->sys_flag,
        .reconsume_times = message->reconsume_times + 1,
        .born_timestamp = message->born_timestamp,
        .store_timestamp = context->now,
        .born_host = message->born_host,
        .store_host = self->store_host_field,
        .body = message->body,
        .properties = {message->properties, level.properties, span_of(id, sizeof id)},
    };
    if (message->properties.len + level.properties.len + sizeof id > MAX_PROPERTIES_LENGTH) return PATH_HANDED_OVER;
    size_t size = record_size(&one);
    path_result room = sends_room_for(self, level.queue, 1, size);
    if (room != PATH_TAKEN) return room;
    if (!log_message_is_mapped(self->group.log, message)) return PATH_HANDED_OVER; /* the log has a new file */
    const properties_found *found = &message->found;
    record_facts facts = {
        .tags_code = context->now + level.delay, .unique_key = found->unique_key, .words = found->keys};
    if (group_add(&self->group, level.queue, &one, size, &facts) < 0 || !count(self, plan->counted)) return PATH_ERROR;
    return PATH_TAKEN;
}

path_result send_back_serve(Sends *self, const header *head, path_context *context)
{
    send_back_request request;
    log_message message;
    back_plan *plan = NULL;
    if (self->back == NULL || self->deferred || !send_back_read(head, &request) || request.delay_level < 0) {
        return PATH_HANDED_OVER;
    }
    if (!log_message_read(self->group.log, request.offset, &message)) return PATH_HANDED_OVER;
    if (message.sys_flag & SYS_FLAG_TRANSACTION_MASK || !is_first_try(&message)) return PATH_HANDED_OVER;
    path_result result = plan_for(self, &request, message.topic, &plan);
    if (result == PATH_TAKEN && !log_message_is_mapped(self->group.log, &message)) return PATH_HANDED_OVER;
    if (result == PATH_TAKEN) result = store(self, &request, &message, plan, context);
    return result == PATH_TAKEN ? sends_done(self, head, context) : result;
}
