/* The functions that the hub calls for sends: codes 10, 310, 320. `sends` is a `Sends` (sends.h).
 *
 * A group is built by offers and becomes visible with sends_finish, which comes before any other kind of frame of the
 * same read is handled, and before answers are sent. */
#ifndef ROCKETWIRE_SEND_PATH_H
#define ROCKETWIRE_SEND_PATH_H

#include "paths/paths.h"
#include "wire/frame.h"
#include "wire/header.h"

bool sends_ready(PyObject *sends); /* whether any send is taken now; if not, a read's go to Python as one group */
path_result sends_offer(PyObject *sends, const frame *taken, const header *head, path_context *context);
int sends_finish(PyObject *sends, path_context *context);

#endif
