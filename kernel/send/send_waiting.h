/* Sends of messages that wait for a delay level or for their transaction, as server.send.drafts stores them. */
#ifndef ROCKETWIRE_SEND_WAITING_H
#define ROCKETWIRE_SEND_WAITING_H

#include "core/kernel.h"

#include "log/tails.h"
#include "message/properties.h"

static inline span bytes_span(PyObject *bytes)
{
    return bytes == NULL ? span_of(NULL, 0) : span_of(PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
}

/* Python's decisions about such sends to one queue. */
typedef struct {
    PyObject *behind; /* bytes: the properties of the destination, after a separator; NULL: they are all for Python */
    QueueTail *half;  /* where half messages wait; NULL: they are for Python */
    PyObject *levels; /* tuple of (queue or None, delay in ms), one a level from 1 on */
} waiting_plan;

/* Read Python's answer: None, or a tuple of those. False: an exception is set. */
bool waiting_plan_read(PyObject *answer, waiting_plan *plan);
void waiting_plan_release(waiting_plan *plan);

/* Where and how one message waits. */
typedef struct {
    QueueTail *queue;
    int64_t delay;       /* in ms; -1: it is a half message */
    span properties;     /* behind its own: WAIT, if its producer set it */
    span behind;         /* behind those: its destination */
    span transaction_id; /* of a half message; at == NULL: it has none */
} waiting_message;

/* WAIT behind other properties: the most bytes it takes, whether it can be stored, and writing it. */
size_t wait_item_room(const properties_found *found);
bool wait_item_fits(const properties_found *found);
uint8_t *put_wait_item(uint8_t *p, const properties_found *found);

/* `room` has wait_item_room bytes. False: Python has to decide. */
bool waiting_of(const waiting_plan *plan, const properties_found *found, uint8_t *room, waiting_message *made);

#endif
