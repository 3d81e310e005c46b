/* What Python decided about pulls that differ in their offsets alone, and what such pulls were handed. */
#ifndef ROCKETWIRE_PULL_PLANS_H
#define ROCKETWIRE_PULL_PLANS_H

#include "core/kernel.h"

#include "log/tails.h"
#include "paths/plans.h"
#include "pull/fetch.h"
#include "pull/pull_filter.h"
#include "wire/requests.h"

/* Messages and bytes since the last `take`, of whoever `account` stands for. Lives while a plan or a list has it. */
typedef struct pull_tally {
    PyObject *account;
    int64_t messages, bytes;
    int users;
    struct pull_tally *next; /* in the list of those that have something to tell */
} pull_tally;

typedef struct {
    QueueTail *queue; /* NULL: such pulls are for Python */
    fetch_wish wish;
    int64_t *codes;      /* the wish's own, or NULL */
    pull_filter *filter; /* by properties, or NULL */
    pull_tally *tally;
    PyObject *group, *topic;
} pull_plan;

/* The bytes of a request that a plan is kept by; of no length: too long. */
span pull_key(const pull_request *request, uint8_t *room);

/* Python failed to make a plan. It meets that again, and answers it; what ends the process stays set. */
void pull_plan_refused(void);

/* Ask Python for the plan of a request. NULL with an exception set, or without one: there is none to be kept. */
pull_plan *pull_plan_ask(PyObject *ask, const pull_request *request, plan_table *decided);
void pull_plan_release(void *plan);
int pull_plan_traverse(const pull_plan *plan, visitproc visit, void *arg);

void pull_tally_drop(pull_tally *tally);

/* A str of UTF-8; None when there is nothing. */
PyObject *text_of(span text);

#endif
