/* `Sends`, between its Python side (sends_type.c) and the path that serves frames (sends.c). */
#ifndef ROCKETWIRE_SENDS_H
#define ROCKETWIRE_SENDS_H

#include "core/kernel.h"

#include "log/record_group.h"
#include "message/properties.h"
#include "message/text.h"
#include "paths/bare_answer.h"
#include "paths/outbox.h"
#include "paths/plans.h"
#include "quota/send_quota.h"
#include "send/log_message.h"
#include "send/send_answer.h"
#include "send/send_path.h"
#include "send/send_timer.h"
#include "send/send_waiting.h"
#include "wire/requests.h"

/* A plan: Python's decisions about sends with the same header fields. */
typedef struct {
    QueueTail *queue;  /* NULL: they are for Python, all but those that wait */
    int32_t sys_flag;  /* as it is stored */
    PyObject *tail;    /* bytes: what follows the properties of each message of a batch; NULL for single messages */
    bool waits;        /* a batch: its sender waits for the disk */
    timer_plan timer;  /* for single messages that are to be delivered at a set time */
    waiting_plan held; /* for those that wait for a delay level or for their transaction */
    send_quota *quota; /* NULL: none */
    bool spent;        /* to be made again: a message went to Python, which makes its queue */
} send_plan;

/* Python's decisions about messages of one topic that a group gives back. */
typedef struct {
    PyObject *counted; /* what they are counted by */
    PyObject *topic;   /* bytes: the group's retry topic */
    PyObject
        *levels;   /* tuple of (queue or None, delay in ms, properties behind their own); NULL: they are for Python */
    int32_t limit; /* so many tries have messages in the group */
    bool spent;    /* to be made again: a message went to Python, which makes its queue */
} back_plan;

/* Python's decisions about the outcomes of half messages of one queue. */
typedef struct {
    QueueTail *queue; /* NULL: for rollbacks, which have none */
    QueueTail *half;  /* NULL: they are for Python */
    QueueTail *op;
} outcome_plan;

typedef struct {
    batch_message message;
    properties_found found;
    size_t size; /* of its record */
} batch_item;

enum { SEND_CODES = 5 };

typedef struct {
    PyObject_HEAD
    record_group group;
    plan_table plans, backs, outcomes;
    send_answers answers;
    PyObject *plan, *waiting, *slow;              /* callbacks */
    PyObject *destination, *may_decide, *decided; /* callbacks about half messages; NULL: they are for Python */
    PyObject *op_properties;                      /* bytes: of op messages */
    int64_t op_tags_code;
    PyObject *back;              /* callback for plans of messages given back; NULL: they are for Python */
    PyObject *given_back;        /* dict: how many were stored since it was taken, by what they are counted by */
    PyObject *done;              /* keeps the memory of `done_answers` */
    bare_answer done_answers[2]; /* to messages given back and ends of transactions, by serialise type */
    PyObject *parts, *store_host, *broker_items, *id_prefix; /* keep the memory of the spans */
    span store_host_field, broker_text;
    int64_t max_body, slow_ns;
    char enabled, deferred;
    char by_group;           /* plans depend on the producer group as well */
    PyObject *refusal;       /* keeps the memory of `refusals`; NULL: there are no quotas */
    bare_answer refusals[2]; /* to sends over a quota, by serialise type */
    quota_counts quotas;
    bool busy, forget_later; /* a frame is being served, and `forget` was called meanwhile */
    bool waits;              /* a sender waits for the disk */
    outbox later;            /* answers to those under SYNC_FLUSH */
    uint8_t *scratch, *timer_scratch;
    size_t scratch_room, timer_room;
    batch_item *items;
    int64_t *places;
    size_t items_room;
    int64_t requests[SEND_CODES]; /* taken, by code: 10, 310, 320, 36, 37 */
} Sends;

/* The properties of a whole batch: without JSON's escapes, and where the unique key's value is (at == NULL: none). */
typedef struct {
    span text, unique_key;
} batch_common;

bool sends_scratch_room(Sends *self, size_t size);
path_result sends_no_memory(void); /* sets the exception */

/* The property text without JSON's escapes, in `scratch` if it has any; false: it cannot be read here. */
bool sends_text_of(Sends *self, const send_request *send, span *text);

/* Behind the properties without their escapes: room for them once more, or for what follows a batch's properties. */
uint8_t *sends_scratch_behind(Sends *self, const send_request *send);

path_result sends_read_common(Sends *self, const send_request *send, batch_common *common);

/* The plan for a send. PATH_TAKEN: there is one; it is valid until the frame is served. */
path_result sends_plan_for(Sends *self, const send_request *send, const batch_common *common, send_plan **plan);

/* The text stored behind the properties of each message; at == NULL: the plan has no place for the unique key. */
span sends_tail_of(Sends *self, const send_request *send, const send_plan *plan, const batch_common *common);

void send_plan_release(void *plan);
void back_plan_release(void *plan);

/* Make room for messages of one queue. What Python raises, it raises again when it serves the request. */
path_result sends_room_for(Sends *self, QueueTail *queue, size_t count, size_t size);

/* Serve a message that a consumer gives back. */
path_result send_back_serve(Sends *self, const header *head, path_context *context);

/* Serve the decision of a producer about a half message. */
path_result end_transaction_serve(Sends *self, const header *head, path_context *context);
void outcome_plan_release(void *plan);

/* Answer one of both. */
path_result sends_done(const Sends *self, const header *head, path_context *context);

/* Make a plan of Python's answer (stolen; NULL: an exception is set) and keep it. PATH_HANDED_OVER: Python serves this
 * request alone. */
path_result sends_keep_plan(plan_table *table, span key, PyObject *answer, void *(*plan_of)(PyObject *answer),
                            void **plan);

/* Drop all plans, now or after the frame being served. */
void sends_forget(Sends *self);

#endif
