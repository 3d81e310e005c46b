/* Sends of messages for a set time, as server.timer.sends stores and answers them. */
#ifndef ROCKETWIRE_SEND_TIMER_H
#define ROCKETWIRE_SEND_TIMER_H

#include "core/kernel.h"

#include "log/tails.h"
#include "message/properties.h"

/* Python's decisions about such sends to one queue. */
typedef struct {
    QueueTail *queue; /* where they wait; NULL: they are for Python */
    int64_t most;     /* ms that a message may wait */
    PyObject *behind; /* bytes: the properties of its destination, after a separator */
    PyObject *handle; /* bytes: the recall handle up to the time; NULL: there are none */
} timer_plan;

/* Read Python's answer: None, or a tuple of those. False: an exception is set. */
bool timer_plan_read(PyObject *answer, timer_plan *plan);
void timer_plan_release(timer_plan *plan);

/* The texts of one message. */
typedef struct {
    span properties, behind; /* what follows its own properties */
    span recall_handle;      /* in base64; at == NULL: none */
} timer_texts;

/* Bytes of memory that timer_texts_of needs. */
size_t timer_texts_room(const timer_plan *plan, const properties_found *found);

/* Write them. False: Python has to decide when, or whether, the message is delivered. */
bool timer_texts_of(const timer_plan *plan, const properties_found *found, int64_t now, uint8_t *room,
                    timer_texts *made);

#endif
