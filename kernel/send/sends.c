/* Sends: the plain case of server.send.drafts, and the records and answers of store.append.group_writer and
 * server.send.handlers. Other cases are handed over before anything was done. */

#include "send/sends.h"

#include <stdlib.h>

#include "delay/waited.h"

enum {
    TRANSACTION_MASK = 12,
    ESCAPE_MOST = 6, /* bytes of \uXXXX */
    BATCH_MOST = 4096,
    BATCH_PROPERTIES_MOST = 131072, /* as wire/stored_properties.py has it */
};

/* --- storing --- */

static int64_t tags_code_of(const properties_found *found) { return found->tags.at ? java_hash(0, found->tags) : 0; }

/* A message's record, less its queue. */
static record record_of(const Sends *self, const send_request *send, const send_plan *plan, const path_context *context)
{
    return (record){
        .flag = send->flag,
        .sys_flag = plan->sys_flag,
        .reconsume_times = send->reconsume_times,
        .born_timestamp = send->born_timestamp,
        .store_timestamp = context->now,
        .born_host = context->born_host,
        .store_host = self->store_host_field,
    };
}

static void enter_queue(record *one, const QueueTail *queue)
{
    one->topic_field = bytes_span(queue->topic_field);
    one->magic = queue->magic;
    one->queue_id = queue->queue_id;
}

/* Write the answer to messages stored at `places`; nothing for a one-way send. Under SYNC_FLUSH it is kept if the
 * sender waits for the disk. */
static path_result answer(Sends *self, const header *head, path_context *context, const sent_message *sent,
                          size_t count)
{
    self->waits |= sent->waits;
    if (head->flag & FLAG_ONEWAY) return PATH_TAKEN;
    outbox *out = self->deferred && sent->waits ? &self->later : context->out;
    send_answer one = {sent->queue_id, head->opaque, head->serialize_type, sent->queue_offset,
                       self->places,   count,        sent->recall_handle,  sent->transaction_id};
    uint8_t *at = out_room(out, send_answer_most(&self->answers, &one));
    if (at == NULL) return sends_no_memory();
    out->used += (size_t)(send_answer_write(at, &self->answers, &one) - at);
    return PATH_TAKEN;
}

path_result sends_done(const Sends *self, const header *head, path_context *context)
{
    if (head->flag & FLAG_ONEWAY) return PATH_TAKEN;
    const bare_answer *done = &self->done_answers[head->serialize_type];
    uint8_t *at = out_room(context->out, bare_answer_most(done));
    if (at == NULL) return sends_no_memory();
    context->out->used += (size_t)(bare_answer_write(at, done, head->serialize_type, head->opaque) - at);
    return PATH_TAKEN;
}

/* Write the answer to a send over a quota: at once, since it does not wait for the disk. */
static path_result refuse(const Sends *self, const header *head, path_context *context)
{
    if (head->flag & FLAG_ONEWAY) return PATH_TAKEN;
    const bare_answer *refusal = &self->refusals[head->serialize_type];
    uint8_t *at = out_room(context->out, bare_answer_most(refusal));
    if (at == NULL) return sends_no_memory();
    context->out->used += (size_t)(bare_answer_write(at, refusal, head->serialize_type, head->opaque) - at);
    return PATH_TAKEN;
}

static bool items_room(Sends *self, size_t count)
{
    if (count <= self->items_room) return true;
    size_t room = 2 * count;
    batch_item *items = realloc(self->items, room * sizeof *items);
    if (items != NULL) self->items = items;
    int64_t *places = realloc(self->places, room * sizeof *places);
    if (places != NULL) self->places = places;
    if (items == NULL || places == NULL) return false;
    self->items_room = room;
    return true;
}

path_result sends_room_for(Sends *self, QueueTail *queue, size_t count, size_t size)
{
    int room = group_room(&self->group, queue, count, size);
    if (room < 0) {
        bool broken = !PyErr_ExceptionMatches(PyExc_Exception) || PyErr_ExceptionMatches(PyExc_MemoryError) ||
                      PyErr_ExceptionMatches(PyExc_SystemError);
        if (broken) return PATH_ERROR;
        PyErr_Clear();
    }
    return room > 0 && queue_has_room(queue, count) ? PATH_TAKEN : PATH_HANDED_OVER;
}

static record_facts facts_of(const properties_found *found)
{
    return (record_facts){.tags_code = tags_code_of(found), .unique_key = found->unique_key, .words = found->keys};
}

static bool timer_room(Sends *self, size_t room)
{
    if (room <= self->timer_room) return true;
    uint8_t *grown = realloc(self->timer_scratch, 2 * room);
    if (grown == NULL) return false;
    self->timer_scratch = grown;
    self->timer_room = 2 * room;
    return true;
}

/* Turn a record into a timer record, in the timer's queue. */
static path_result add_time(Sends *self, const send_plan *plan, const properties_found *found, int64_t now, record *one,
                            span *recall_handle)
{
    if (!timer_room(self, timer_texts_room(&plan->timer, found))) return sends_no_memory();
    timer_texts texts;
    if (!timer_texts_of(&plan->timer, found, now, self->timer_scratch, &texts)) return PATH_HANDED_OVER;
    one->properties[1] = texts.properties;
    one->properties[2] = texts.behind;
    *recall_handle = texts.recall_handle;
    size_t length = found->length + texts.properties.len + texts.behind.len;
    return length + WAITED_ROOM > MAX_PROPERTIES_LENGTH ? PATH_HANDED_OVER : PATH_TAKEN;
}

/* Turn a record into that of a delayed or half message. */
static path_result add_wait(Sends *self, send_plan *plan, const properties_found *found, record *one,
                            waiting_message *held)
{
    if (!timer_room(self, wait_item_room(found))) return sends_no_memory();
    if (plan->quota != NULL || !waiting_of(&plan->held, found, self->timer_scratch, held)) {
        plan->spent = true; /* Python may make the queue that was not there */
        return PATH_HANDED_OVER;
    }
    one->properties[1] = held->properties;
    one->properties[2] = held->behind;
    return found->length + held->properties.len + held->behind.len > MAX_PROPERTIES_LENGTH ? PATH_HANDED_OVER
                                                                                           : PATH_TAKEN;
}

/* Write a single message with these properties, which have no escapes; `scratch` is behind them. */
static path_result store_message(Sends *self, const send_request *send, span text, uint8_t *scratch, span body,
                                 send_plan *plan, const path_context *context, sent_message *sent)
{
    properties_found found;
    properties_rewrite(text, self->broker_text, scratch, &found);
    if (found.nul || found.length > MAX_PROPERTIES_LENGTH) return PATH_HANDED_OVER;

    record one = record_of(self, send, plan, context);
    one.body = body;
    one.properties[0] = span_of(scratch, found.length);
    *sent = (sent_message){.waits = found.wait != WAIT_OTHER};
    record_facts facts = facts_of(&found);
    QueueTail *queue = plan->queue;
    path_result held = PATH_TAKEN;
    if (found.time == DELAY_LEVEL || found.time == TRANSACTION) {
        waiting_message waits = {0};
        held = add_wait(self, plan, &found, &one, &waits);
        queue = waits.queue;
        if (waits.delay >= 0) facts.tags_code = context->now + waits.delay;
        sent->transaction_id = waits.transaction_id;
        if (waits.delay < 0) one.sys_flag &= ~TRANSACTION_MASK;
    } else if (found.steering) {
        held = add_time(self, plan, &found, context->now, &one, &sent->recall_handle);
        queue = plan->timer.queue;
    }
    if (held == PATH_TAKEN && (queue == NULL || one.sys_flag & TRANSACTION_MASK)) held = PATH_HANDED_OVER;
    if (held != PATH_TAKEN) return held;
    enter_queue(&one, queue);
    size_t size = record_size(&one);
    path_result room = sends_room_for(self, queue, 1, size);
    if (room != PATH_TAKEN) return room;
    if (group_add(&self->group, queue, &one, size, &facts) < 0) return PATH_ERROR;
    sent->queue_offset = one.queue_offset;
    self->places[0] = one.physical_offset;
    if (plan->quota != NULL) {
        uint64_t cost = send_quota_cost(plan->quota, body.len, &found, found.steering);
        send_quota_charge(plan->quota, cost, &self->quotas);
    }
    sent->queue_id = found.steering ? send->queue_id : queue->queue_id;
    return PATH_TAKEN;
}

static path_result offer_message(Sends *self, const frame *taken, const header *head, const send_request *send,
                                 const batch_common *common, send_plan *plan, path_context *context)
{
    (void)common;
    span text, raw = send->properties;
    sent_message sent;
    /* The stored form of the text, behind the text without escapes, which is not longer than with them. */
    if (!items_room(self, 1) || !sends_scratch_room(self, 2 * raw.len + self->broker_text.len + 1)) {
        return sends_no_memory();
    }
    if (!sends_text_of(self, send, &text)) return PATH_HANDED_OVER;
    uint8_t *scratch = sends_scratch_behind(self, send);
    path_result stored = store_message(self, send, text, scratch, taken->body, plan, context, &sent);
    if (stored != PATH_TAKEN) return stored;
    return answer(self, head, context, &sent, 1);
}

static span separator_behind(span properties)
{
    static const uint8_t separator = ITEM_SEP;
    bool needed = properties.len > 0 && properties.at[properties.len - 1] != ITEM_SEP;
    return span_of(&separator, needed);
}

static void fill_in(record *one, const batch_item *item, span tail)
{
    one->flag = item->message.flag;
    one->body = item->message.body;
    one->properties[0] = item->message.properties;
    one->properties[1] = separator_behind(item->message.properties);
    one->properties[2] = tail;
}

static void charge_batch(Sends *self, const send_quota *quota, size_t count)
{
    uint64_t cost = 0;
    for (size_t each = 0; each < count; each++) {
        const batch_item *item = &self->items[each];
        cost += send_quota_cost(quota, item->message.body.len, &item->found, false);
    }
    send_quota_charge(quota, cost, &self->quotas);
}

/* Use the keys and the tag of the properties appended to a message's own. */
static void put_behind(properties_found *own, const properties_found *behind)
{
    if (behind->unique_key.at != NULL) own->unique_key = behind->unique_key;
    if (behind->keys.at != NULL) own->keys = behind->keys;
    if (behind->tags.at != NULL) own->tags = behind->tags;
}

/* Whether the messages have at most as many properties as Python accepts; called if they may have more. */
static bool properties_fit(const Sends *self, size_t count)
{
    size_t items = 0;
    for (size_t each = 0; each < count; each++) {
        const uint8_t *at = self->items[each].message.properties.at,
                      *end = at + self->items[each].message.properties.len;
        while (at < end && (at = memchr(at, ITEM_SEP, (size_t)(end - at))) != NULL) {
            items++;
            at++;
        }
    }
    return items <= BATCH_PROPERTIES_MOST;
}

/* Examine all messages of a batch: PATH_TAKEN if every one of them can be stored. */
static path_result examine_batch(Sends *self, span body, record *one, span tail, size_t *count, size_t *size)
{
    properties_found behind;
    properties_look(tail, &behind);
    *count = *size = 0;
    size_t texts = 0;
    for (;;) {
        if (!items_room(self, *count + 1)) return sends_no_memory();
        batch_item *item = &self->items[*count];
        batch_state state = batch_next(&body, &item->message);
        if (state == BATCH_END) {
            bool fit = *count > 0 && (texts <= BATCH_PROPERTIES_MOST || properties_fit(self, *count));
            return fit ? PATH_TAKEN : PATH_HANDED_OVER;
        }
        if (state == BATCH_BAD || *count == BATCH_MOST) return PATH_HANDED_OVER;
        texts += item->message.properties.len;
        properties_look(item->message.properties, &item->found);
        put_behind(&item->found, &behind);
        fill_in(one, item, tail);
        size_t length = one->properties[0].len + one->properties[1].len + tail.len;
        if (item->found.steering || item->found.nul || length > MAX_PROPERTIES_LENGTH) return PATH_HANDED_OVER;
        item->size = record_size(one);
        *size += item->size;
        ++*count;
    }
}

static path_result offer_batch(Sends *self, const frame *taken, const header *head, const send_request *send,
                               const batch_common *common, send_plan *plan, path_context *context)
{
    span tail = sends_tail_of(self, send, plan, common);
    if (tail.at == NULL) return PATH_HANDED_OVER;
    record one = record_of(self, send, plan, context);
    enter_queue(&one, plan->queue);
    size_t count, size;
    path_result looked = examine_batch(self, taken->body, &one, tail, &count, &size);
    if (looked != PATH_TAKEN) return looked;
    path_result room = sends_room_for(self, plan->queue, count, size);
    if (room != PATH_TAKEN) return room;
    sent_message sent = {.queue_id = plan->queue->queue_id, .waits = plan->waits};
    for (size_t each = 0; each < count; each++) {
        const batch_item *item = &self->items[each];
        fill_in(&one, item, tail);
        record_facts facts = facts_of(&item->found);
        if (group_add(&self->group, plan->queue, &one, item->size, &facts) < 0) return PATH_ERROR;
        if (each == 0) sent.queue_offset = one.queue_offset;
        self->places[each] = one.physical_offset;
    }
    if (plan->quota != NULL) charge_batch(self, plan->quota, count);
    return answer(self, head, context, &sent, count);
}

/* --- what the hub calls --- */

static path_result serve(Sends *self, const frame *taken, const header *head, path_context *context)
{
    send_request send;
    send_plan *plan;
    if (!send_read(head, &send) || taken->body.len > (size_t)self->max_body) return PATH_HANDED_OVER;
    /* No memory for the count of refusals. */
    if (send.properties.len > ESCAPE_MOST * MAX_PROPERTIES_LENGTH) return PATH_HANDED_OVER;
    batch_common common = {0};
    path_result result = send.batch ? sends_read_common(self, &send, &common) : PATH_TAKEN;
    if (result == PATH_TAKEN) result = sends_plan_for(self, &send, &common, &plan);
    if (result != PATH_TAKEN) return result;
    if (plan->quota != NULL && send_quota_refuses(plan->quota, context->steady_ns, &self->quotas)) {
        result = refuse(self, head, context);
    } else {
        result = (send.batch ? offer_batch : offer_message)(self, taken, head, &send, &common, plan, context);
    }
    if (result == PATH_HANDED_OVER && plan->queue == NULL) plan->spent = true;
    if (result == PATH_TAKEN) {
        self->requests[head->code == CODE_SEND_MESSAGE ? 0 : head->code == CODE_SEND_MESSAGE_V2 ? 1 : 2]++;
    }
    return result;
}

/* Store timestamps do not go back from message to message as long as the clock does not: Python may have stored at a
 * later time than this round's. If it stored at an earlier one the clock went back, and the round's time is wrong. */
static bool is_in_time(Sends *self, const path_context *context)
{
    int64_t last = self->group.log->timestamp;
    if (self->group.records == 0 && last < self->group.timestamp) {
        self->enabled = 0; /* until the next round */
        self->group.timestamp = last;
    }
    return self->enabled && context->now >= last;
}

path_result sends_offer(PyObject *sends, const frame *taken, const header *head, path_context *context)
{
    Sends *self = (Sends *)sends;
    if (!self->enabled || !is_in_time(self, context)) return PATH_HANDED_OVER;
    self->busy = true;
    path_result result;
    if (head->code == CODE_CONSUMER_SEND_MSG_BACK) {
        result = send_back_serve(self, head, context);
        self->requests[3] += result == PATH_TAKEN;
    } else if (head->code == CODE_END_TRANSACTION) {
        result = end_transaction_serve(self, head, context);
        self->requests[4] += result == PATH_TAKEN;
    } else {
        result = serve(self, taken, head, context);
    }
    self->busy = false;
    if (self->forget_later) sends_forget(self);
    return result;
}

path_result sends_store(PyObject *sends, const send_request *send, span body, path_context *context, sent_message *sent)
{
    Sends *self = (Sends *)sends;
    send_plan *plan;
    batch_common common = {0};
    if (!self->enabled || self->deferred || !is_in_time(self, context)) return PATH_HANDED_OVER;
    if (body.len > (size_t)self->max_body || send->properties.len > MAX_PROPERTIES_LENGTH) return PATH_HANDED_OVER;
    if (!items_room(self, 1) || !sends_scratch_room(self, send->properties.len + self->broker_text.len + 1)) {
        return sends_no_memory();
    }
    self->busy = true;
    path_result result = sends_plan_for(self, send, &common, &plan);
    if (result == PATH_TAKEN) {
        bool is_free = plan->quota == NULL; /* refusals are Python's */
        uint8_t *scratch = self->scratch;
        result = is_free ? store_message(self, send, send->properties, scratch, body, plan, context, sent)
                         : PATH_HANDED_OVER;
        if (result == PATH_HANDED_OVER && plan->queue == NULL) plan->spent = true;
        if (result == PATH_TAKEN) self->requests[1]++;
    }
    self->busy = false;
    if (self->forget_later) sends_forget(self);
    return result;
}

bool sends_ready(PyObject *sends) { return ((Sends *)sends)->enabled; }

/* After an append that hung, sends must be refused: Python does that, and disables this path. */
static int report_slow_append(Sends *self, int64_t took_ns)
{
    PyObject *result = PyObject_CallFunction(self->slow, "L", (long long)took_ns);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* Under SYNC_FLUSH, give Python the answers that wait for the disk. */
static int defer_answers(Sends *self, const path_context *context)
{
    bool waits = self->waits && self->deferred;
    self->waits = false;
    if (!waits) return 0;
    PyObject *result =
        PyObject_CallFunction(self->waiting, "Oy#L", context->session, self->later.used ? (char *)self->later.text : "",
                              (Py_ssize_t)self->later.used, (long long)self->group.log->position);
    out_clear(&self->later);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

int sends_finish(PyObject *sends, path_context *context)
{
    Sends *self = (Sends *)sends;
    int64_t took_ns;
    int result = group_end(&self->group, &took_ns);
    if (result == 0) result = defer_answers(self, context);
    if (result == 0 && took_ns > self->slow_ns) result = report_slow_append(self, took_ns);
    return result;
}
