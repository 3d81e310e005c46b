/* The type `Pulls`, shared by pulls.c (serving) and pulls_type.c (its Python side). */
#ifndef ROCKETWIRE_PULLS_H
#define ROCKETWIRE_PULLS_H

#include "core/kernel.h"

#include "paths/bare_answer.h"
#include "pull/pull_answer.h"
#include "pull/pull_path.h"
#include "pull/pull_plans.h"

typedef struct {
    PyObject_HEAD
    LogTail *log;
    PyObject *plan, *plan_offset, *commit, *hold; /* callbacks */
    PyObject *texts;                              /* a tuple that keeps the bytes of the answers' parts */
    pull_answer answers[2][2]; /* messages found, none that passed the filter; each by serialise type */
    bare_answer done[2];       /* to offset updates */
    long long max_frame;
    plan_table plans;        /* pull_plan */
    plan_table decided;      /* by filters: see pull_filter.h */
    plan_table offset_plans; /* a tuple of group and topic, or None: for Python */
    pull_tally *touched;     /* those with something for `take` */
    int64_t pulls, lite_pulls, updates;
    char enabled;       /* else all frames are handed over */
    bool busy, forgets; /* a plan is in use; forget when it is not any more */
} Pulls;

void pulls_forget(Pulls *self);

/* Find the messages of a pull from an offset on; false: Python has to. `owner` keeps the memory of `found`. */
bool pull_fetch(Pulls *self, const pull_plan *plan, int64_t offset, fetch_found *found, PyObject **owner);

#endif
