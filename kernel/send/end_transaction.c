/* The decisions of producers about half messages (37), as server.transactions.outcomes stores them: commits and
 * rollbacks of half messages in the file being written that have no copies. Others are handed over before anything was
 * done. */

#include "send/sends.h"

#include <stdlib.h>

#include "core/decimal.h"
#include "core/utf8.h"
#include "delay/waited.h"

/* The properties that say what becomes of a half message. */
enum { GROUP, TOPIC, QUEUE_ID, NAMES };

/* --- plans --- */

void outcome_plan_release(void *plan)
{
    outcome_plan *one = plan;
    Py_XDECREF((PyObject *)one->queue);
    Py_XDECREF((PyObject *)one->half);
    Py_XDECREF((PyObject *)one->op);
    free(one);
}

/* Python's answer as a plan. NULL: an exception is set. */
static void *plan_of(PyObject *answer)
{
    outcome_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (answer == Py_None) return plan;
    PyObject *queue, *half, *op;
    if (!PyArg_ParseTuple(answer, "OO!O!", &queue, QueueTail_Type, &half, QueueTail_Type, &op)) {
        free(plan);
        return NULL;
    }
    plan->queue = PyObject_TypeCheck(queue, QueueTail_Type) ? (QueueTail *)Py_NewRef(queue) : NULL;
    plan->half = (QueueTail *)Py_NewRef(half);
    plan->op = (QueueTail *)Py_NewRef(op);
    return plan;
}

/* The plan for messages of one queue; an empty topic: for rollbacks. */
static path_result plan_for(Sends *self, span topic, int32_t queue_id, outcome_plan **plan)
{
    uint8_t room[PLAN_KEY_MOST];
    if (topic.len + sizeof queue_id > PLAN_KEY_MOST) return PATH_HANDED_OVER;
    span key = span_of(room, (size_t)(put_span(put32(room, (uint32_t)queue_id), topic) - room));
    outcome_plan *found = plans_find(&self->outcomes, key);
    if (found == NULL) {
        if (group_publish(&self->group) < 0) return PATH_ERROR; /* Python may read the store */
        PyObject *answer = PyObject_CallFunction(self->destination, "s#i", (const char *)topic.at,
                                                 (Py_ssize_t)topic.len, (int)queue_id);
        void *made = NULL;
        path_result kept = sends_keep_plan(&self->outcomes, key, answer, plan_of, &made);
        if (kept != PATH_TAKEN) return kept;
        found = made;
    }
    *plan = found;
    return found->half == NULL ? PATH_HANDED_OVER : PATH_TAKEN;
}

/* --- the half message --- */

static bool natural_number(span text, int64_t *number)
{
    return waited_number(text, INT32_MAX, number) && (text.len == 1 || text.at[0] != '0');
}

/* Find the half message that a producer decides. False: it is another one's, or for Python. */
static bool half_read(const Sends *self, const end_request *request, log_message *half, span *values)
{
    static const span names[NAMES] = {
        [GROUP] = {(const uint8_t *)PROPERTY_PRODUCER_GROUP, sizeof PROPERTY_PRODUCER_GROUP - 1},
        [TOPIC] = {(const uint8_t *)PROPERTY_REAL_TOPIC, sizeof PROPERTY_REAL_TOPIC - 1},
        [QUEUE_ID] = {(const uint8_t *)PROPERTY_REAL_QUEUE_ID, sizeof PROPERTY_REAL_QUEUE_ID - 1},
    };
    if (!log_message_read(self->group.log, request->commit_log_offset, half) || half->queue_id != 0 ||
        half->queue_offset != request->tran_state_table_offset || half->found.nul ||
        !span_is_text(half->topic, TRANS_HALF_TOPIC) || !utf8_valid(half->properties)) {
        return false;
    }
    property_values(half->properties, names, NAMES, values);
    span group = values[GROUP], wanted = request->producer_group;
    return group.at != NULL && span_is(group, (const char *)wanted.at, wanted.len);
}

/* Whether the record is what the queue has at its offset: one in the body of another message is not. */
static bool is_in_queue(const QueueTail *half, const log_message *message, int64_t place)
{
    int64_t at = half->position - (half->end - message->queue_offset) * QUEUE_ENTRY_SIZE;
    if (!half->has_view || message->queue_offset >= half->end || message->queue_offset < half->min || at < 0 ||
        at + QUEUE_ENTRY_SIZE > half->view.len) {
        return false;
    }
    return (int64_t)get64((const uint8_t *)half->view.buf + at) == place;
}

/* Whether a half message is undecided and has no copies, by Python: 1, 0, or -1 with an exception. */
static int may_decide(Sends *self, int64_t offset)
{
    PyObject *answer = PyObject_CallFunction(self->may_decide, "L", (long long)offset);
    int result = answer == NULL ? -1 : PyObject_IsTrue(answer);
    Py_XDECREF(answer);
    return result;
}

/* --- storing --- */

static record outcome_of(const Sends *self, const outcome_plan *plan, const log_message *half, int64_t place,
                         const path_context *context)
{
    return (record){
        .topic_field = bytes_span(plan->queue->topic_field),
        .magic = plan->queue->magic,
        .queue_id = plan->queue->queue_id,
        .flag = half->flag,
        .sys_flag = (half->sys_flag & ~SYS_FLAG_TRANSACTION_MASK) | SYS_FLAG_TRANSACTION_COMMIT,
        .reconsume_times = half->reconsume_times,
        .born_timestamp = half->born_timestamp,
        .store_timestamp = context->now,
        .prepared_offset = place,
        .born_host = half->born_host,
        .store_host = self->store_host_field,
        .body = half->body,
        .properties = {half->properties},
    };
}

static record op_of(const Sends *self, const outcome_plan *plan, span body, const path_context *context)
{
    return (record){
        .topic_field = bytes_span(plan->op->topic_field),
        .magic = plan->op->magic,
        .queue_id = plan->op->queue_id,
        .born_timestamp = context->now,
        .store_timestamp = context->now,
        .born_host = self->store_host_field,
        .store_host = self->store_host_field,
        .body = body,
        .properties = {bytes_span(self->op_properties)},
    };
}

/* Room for both records in one file of the log, and for both entries. */
static path_result room_for_both(Sends *self, const outcome_plan *plan, size_t size)
{
    path_result room = sends_room_for(self, plan->op, 1, size);
    if (room != PATH_TAKEN || plan->queue == NULL) return room;
    room = sends_room_for(self, plan->queue, 1, size);
    /* Room for the one may have cost the other's. */
    return room == PATH_TAKEN && !queue_has_room(plan->op, 1) ? PATH_HANDED_OVER : room;
}

static path_result store(Sends *self, const end_request *request, const log_message *half, const outcome_plan *plan,
                         const path_context *context)
{
    uint8_t digits[DECIMAL_MOST];
    span body = span_of(digits, (size_t)(put_decimal(digits, half->queue_offset) - digits));
    record op = op_of(self, plan, body, context), first = {0};
    size_t op_size = record_size(&op), first_size = 0;
    if (plan->queue != NULL) {
        first = outcome_of(self, plan, half, request->commit_log_offset, context);
        first_size = record_size(&first);
    }
    path_result room = room_for_both(self, plan, first_size + op_size);
    if (room != PATH_TAKEN) return room;
    if (!log_message_is_mapped(self->group.log, half)) return PATH_HANDED_OVER; /* the log has a new file */
    if (plan->queue != NULL) {
        const properties_found *found = &half->found;
        record_facts facts = {.tags_code = found->tags.at == NULL ? 0 : java_hash(0, found->tags),
                              .unique_key = found->unique_key,
                              .words = found->keys};
        if (group_add(&self->group, plan->queue, &first, first_size, &facts) < 0) return PATH_ERROR;
    }
    record_facts facts = {.tags_code = self->op_tags_code};
    if (group_add(&self->group, plan->op, &op, op_size, &facts) < 0) return PATH_ERROR;
    PyObject *noted = PyObject_CallFunction(self->decided, "L", (long long)half->queue_offset);
    Py_XDECREF(noted);
    return noted == NULL ? PATH_ERROR : PATH_TAKEN;
}

path_result end_transaction_serve(Sends *self, const header *head, path_context *context)
{
    end_request request;
    log_message half;
    span values[NAMES];
    outcome_plan *plan = NULL;
    if (self->destination == NULL || self->deferred || !end_read(head, &request)) return PATH_HANDED_OVER;
    bool commits = request.commit_or_rollback == SYS_FLAG_TRANSACTION_COMMIT;
    if (!commits && request.commit_or_rollback != SYS_FLAG_TRANSACTION_ROLLBACK) return PATH_HANDED_OVER;
    if (!half_read(self, &request, &half, values)) return PATH_HANDED_OVER;
    int64_t queue_id = -1;
    span topic = span_of("", 0);
    if (commits) {
        topic = values[TOPIC];
        if (topic.at == NULL || values[QUEUE_ID].at == NULL || !natural_number(values[QUEUE_ID], &queue_id)) {
            return PATH_HANDED_OVER;
        }
    }
    path_result result = plan_for(self, topic, (int32_t)queue_id, &plan);
    if (result != PATH_TAKEN) return result;
    if (!log_message_is_mapped(self->group.log, &half) || !is_in_queue(plan->half, &half, request.commit_log_offset)) {
        return PATH_HANDED_OVER;
    }
    int may = may_decide(self, half.queue_offset);
    if (may <= 0) return may < 0 ? PATH_ERROR : PATH_HANDED_OVER;
    result = store(self, &request, &half, plan, context);
    return result == PATH_TAKEN ? sends_done(self, head, context) : result;
}
