/* Messages that a consumer gives back for another try (36), whose record is in the file being written, as
 * server.retry.send_back stores them. Others are handed over before anything was done. */

#define _GNU_SOURCE /* memmem */

#include "send/sends.h"

#include <stdlib.h>

#include "core/decimal.h"
#include "core/hex.h"
#include "core/utf8.h"

enum { FIRST_RETRY_LEVEL = 3, MESSAGE_ID_SIZE = 2 * (HOST_V4_SIZE + 8) };

/* Properties of a message that was given back before. */
enum { WAIT, DELAY, RETRY_TOPIC, ORIGIN_MESSAGE_ID, REAL_TOPIC, REAL_QUEUE_ID, OF_RETRIES };
static const char *const of_retries[OF_RETRIES] = {
    PROPERTY_WAIT,       PROPERTY_DELAY,         PROPERTY_RETRY_TOPIC, PROPERTY_ORIGIN_MESSAGE_ID,
    PROPERTY_REAL_TOPIC, PROPERTY_REAL_QUEUE_ID,
};

/* Whether the properties of a retry can be written behind the message's own, whose last is not for the index. */
static bool is_first_try(const log_message *message)
{
    span text = message->properties;
    if (message->found.steering || text.at[text.len - 1] == ITEM_SEP) return false;
    const uint8_t *end = text.at + text.len, *last = memrchr(text.at, ITEM_SEP, text.len);
    last = last == NULL ? text.at : last + 1;
    span unique_key = message->found.unique_key, keys = message->found.keys;
    if ((unique_key.at != NULL && unique_key.at + unique_key.len == end) ||
        (keys.at != NULL && keys.at + keys.len == end) || memchr(last, NAME_SEP, (size_t)(end - last)) == NULL) {
        return false;
    }
    for (int each = 0; each < OF_RETRIES; each++) {
        if (memmem(text.at, text.len, of_retries[each], strlen(of_retries[each])) != NULL) return false;
    }
    return true;
}

/* Find the values of a message that was given back before, as this broker writes them: each once, and not first. Of
 * them only the delay level changes with the next try. */
static bool later_try(span text, span *values)
{
    memset(values, 0, OF_RETRIES * sizeof *values);
    items rest = items_of(text);
    for (item one; next_item(&rest, &one);) {
        for (int each = 0; each < OF_RETRIES; each++) {
            if (!span_is(one.name, of_retries[each], strlen(of_retries[each]))) continue;
            if (values[each].at != NULL || one.value.len == 0 || one.whole.at == text.at) return false;
            values[each] = one.value;
        }
    }
    for (int each = 0; each < OF_RETRIES; each++) {
        if (values[each].at == NULL) return false;
    }
    return span_is_text(values[WAIT], "false") && span_is_text(values[REAL_QUEUE_ID], "0") &&
           values[ORIGIN_MESSAGE_ID].len == MESSAGE_ID_SIZE && values[ORIGIN_MESSAGE_ID].at[0] > ' ';
}

/* --- plans --- */

void back_plan_release(void *plan)
{
    Py_XDECREF(((back_plan *)plan)->counted);
    Py_XDECREF(((back_plan *)plan)->topic);
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
static void *plan_of(PyObject *answer)
{
    back_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (answer == Py_None) return plan;
    PyObject *counted, *topic, *levels;
    int limit;
    if (!PyArg_ParseTuple(answer, "OiSO!", &counted, &limit, &topic, &PyTuple_Type, &levels)) {
        free(plan);
        return NULL;
    }
    *plan = (back_plan){Py_NewRef(counted), Py_NewRef(topic), Py_NewRef(levels), limit, false};
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
        void *made = NULL;
        path_result kept = sends_keep_plan(&self->backs, key, answer, plan_of, &made);
        if (kept != PATH_TAKEN) return kept;
        found = made;
    }
    *plan = found;
    return found->levels == NULL ? PATH_HANDED_OVER : PATH_TAKEN;
}

/* Where a message waits for its next try. */
typedef struct {
    QueueTail *queue;
    long long delay; /* in ms */
    Py_ssize_t number;
    span properties; /* behind those of a first try, before its id */
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
    level->number = at;
    level->properties = span_of(PyBytes_AsString(properties), (size_t)PyBytes_Size(properties));
    return !plan->spent;
}

/* --- storing --- */

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

/* Room for the new parts of a message's properties. */
typedef struct {
    uint8_t id[MESSAGE_ID_SIZE], digits[DECIMAL_MOST];
} new_parts;

/* The properties of the next try: of a first one, behind the message's own; else with another delay level. */
static void properties_of(const log_message *message, int64_t place, const back_level *level, const span *values,
                          new_parts *room, span *properties)
{
    span text = message->properties;
    if (values == NULL) {
        uint8_t bytes[8];
        put64(bytes, (uint64_t)place);
        put_hex(put_hex(room->id, message->store_host), span_of(bytes, sizeof bytes));
        properties[0] = text;
        properties[1] = level->properties;
        properties[2] = span_of(room->id, sizeof room->id);
        return;
    }
    span delay = values[DELAY];
    const uint8_t *behind = delay.at + delay.len;
    properties[0] = span_of(text.at, (size_t)(delay.at - text.at));
    properties[1] = span_of(room->digits, (size_t)(put_decimal(room->digits, level->number) - room->digits));
    properties[2] = span_of(behind, (size_t)(text.at + text.len - behind));
}

static path_result store(Sends *self, const send_back_request *request, const log_message *message, back_plan *plan,
                         const span *values, const path_context *context)
{
    if (message->reconsume_times >= plan->limit || message->reconsume_times < 0) return PATH_HANDED_OVER;
    if (request->has_max_times && request->max_times != plan->limit) return PATH_HANDED_OVER; /* as its version says */
    back_level level;
    int64_t number = request->delay_level;
    if (number == 0) number = (int64_t)FIRST_RETRY_LEVEL + message->reconsume_times;
    if (!level_of(plan, number, &level)) return PATH_HANDED_OVER;
    new_parts room_for_parts;
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
    };
    properties_of(message, request->offset, &level, values, &room_for_parts, one.properties);
    size_t length = one.properties[0].len + one.properties[1].len + one.properties[2].len;
    if (length > MAX_PROPERTIES_LENGTH) return PATH_HANDED_OVER;
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
    span values[OF_RETRIES];
    if (self->back == NULL || self->deferred || !send_back_read(head, &request) || request.delay_level < 0) {
        return PATH_HANDED_OVER;
    }
    if (!log_message_read(self->group.log, request.offset, &message)) return PATH_HANDED_OVER;
    if (message.sys_flag & SYS_FLAG_TRANSACTION_MASK || message.found.nul || !utf8_valid(message.properties) ||
        !utf8_valid(message.topic)) {
        return PATH_HANDED_OVER;
    }
    bool again = later_try(message.properties, values);
    if (!again && !is_first_try(&message)) return PATH_HANDED_OVER;
    path_result result = plan_for(self, &request, again ? values[RETRY_TOPIC] : message.topic, &plan);
    if (result != PATH_TAKEN) return result;
    if (!log_message_is_mapped(self->group.log, &message)) return PATH_HANDED_OVER;
    span topic = bytes_span(plan->topic);
    if (again && !span_is(values[REAL_TOPIC], (const char *)topic.at, topic.len)) return PATH_HANDED_OVER;
    result = store(self, &request, &message, plan, again ? values : NULL, context);
    return result == PATH_TAKEN ? sends_done(self, head, context) : result;
}
