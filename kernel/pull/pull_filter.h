/* Filters by properties: Python decides about each combination of values of the properties that it asks for, once.
 *
 * What it decided is kept by those values, of all filters in one table. */
#ifndef ROCKETWIRE_PULL_FILTER_H
#define ROCKETWIRE_PULL_FILTER_H

#include "core/kernel.h"

#include "paths/plans.h"
#include "pull/fetch.h"

#define FILTER_NAMES_MOST 8

typedef struct {
    uint64_t number; /* with it the keys of its decisions begin */
    int count;
    span names[FILTER_NAMES_MOST];
    PyObject *kept;      /* the tuple whose bytes the names are */
    PyObject *wanted;    /* asked with a property text whether the message is wanted */
    plan_table *decided; /* of all filters */
    int64_t most_text;
} pull_filter;

bool pull_filter_init(plan_table *decided);

/* From Python's (names, wanted, most text); NULL with an exception set. */
pull_filter *pull_filter_new(PyObject *from, uint64_t number, plan_table *decided);
void pull_filter_free(pull_filter *filter);
int pull_filter_traverse(const pull_filter *filter, visitproc visit, void *arg);

/* A fetch_filter's `matches`, with a pull_filter for context. An exception is cleared. */
int pull_filter_matches(void *context, span text);

/* The value of each property that has one in a text: of equal names the last with a value counts; at == NULL: none. */
void property_values(span text, const span *names, int count, span *values);

#endif
