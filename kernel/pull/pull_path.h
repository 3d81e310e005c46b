/* The hub's interface to pulls and offset updates: codes 11, 361 and 15. `pulls` is a `Pulls` (pulls.h). */
#ifndef ROCKETWIRE_PULL_PATH_H
#define ROCKETWIRE_PULL_PATH_H

#include "paths/paths.h"
#include "wire/frame.h"
#include "wire/header.h"

bool pulls_ready(PyObject *pulls); /* whether any frame is taken now */
path_result pulls_offer(PyObject *pulls, const frame *taken, const header *head, path_context *context);

#endif
