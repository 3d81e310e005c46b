/* Plans: Python's decisions about pulls that differ in their offsets only. Tallies: the messages delivered by them. */
#ifndef ROCKETWIRE_PULL_PLANS_H
#define ROCKETWIRE_PULL_PLANS_H

#include "core/kernel.h"

#include "log/tails.h"
#include "paths/plans.h"
#include "pull/fetch.h"
#include "pull/pull_filter.h"
#include "wire/requests.h"

/* Messages and bytes delivered for `account` since the last `take`. Lives while a plan or a list has it. */
typedef struct pull_tally {
    PyObject *account;
    int64_t messages, bytes, pulls;
    int users;
    struct pull_tally *next; /* in the list of tallies that are not empty */
} pull_tally;

typedef struct {
    QueueTail *queue; /* NULL: such pulls are for Python */
    fetch_wish wish;
    int64_t *codes;      /* the wish's own, or NULL */
    pull_filter *filter; /* by properties, or NULL */
    pull_tally *tally;
    PyObject *group, *topic;
} pull_plan;

/* The key of the plan for a request; empty: too long. */
span pull_key(const pull_request *request, uint8_t *room);

/* Fetch the plan of a request from Python. NULL with an exception set, or without one: there is no plan to cache. */
pull_plan *pull_plan_fetch(PyObject *planner, const pull_request *request, plan_table *decided);
void pull_plan_release(void *plan);
int pull_plan_traverse(const pull_plan *plan, visitproc visit, void *arg);

void pull_tally_drop(pull_tally *tally);

/* A str of UTF-8; None when there is nothing. */
PyObject *text_of(span text);

#endif
