/* Filters by properties: Python decides once about each combination of values of the properties that it needs.
 *
 * One table for all filters has the decisions by those values. */
#ifndef ROCKETWIRE_PULL_FILTER_H
#define ROCKETWIRE_PULL_FILTER_H

#include "core/kernel.h"

#include "paths/plans.h"
#include "pull/fetch.h"

#define FILTER_NAMES_MOST 8

typedef struct {
    uint64_t number; /* the prefix of the keys of its decisions */
    int count;
    span names[FILTER_NAMES_MOST];
    PyObject *kept;      /* the tuple whose bytes the names are */
    PyObject *wanted;    /* called with a property text, whether the message passes */
    plan_table *decided; /* of all filters */
    int64_t most_text;
} pull_filter;

bool pull_filter_init(plan_table *decided);

/* From Python's (names, wanted, most text); NULL with an exception set. */
pull_filter *pull_filter_new(PyObject *from, uint64_t number, plan_table *decided);
void pull_filter_free(pull_filter *filter);
int pull_filter_traverse(const pull_filter *filter, visitproc visit, void *arg);

/* A fetch_filter's `matches`, with a pull_filter for context. After -1 an exception is set only if it ends more
 * than the request. */
int pull_filter_matches(void *context, span text);

#endif
