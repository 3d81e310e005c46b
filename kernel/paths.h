/* Between the hub, which reads and writes sockets, and the paths that serve frames. */
#ifndef ROCKETWIRE_PATHS_H
#define ROCKETWIRE_PATHS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "frame.h"
#include "header.h"
#include "outbox.h"

typedef struct {
    int64_t now;       /* ms since 1970, of this round: the store timestamp of what is appended */
    int64_t steady_ns; /* of the event loop's clock, in this round: the time of quotas */
    PyObject *session; /* whose frame it is (borrowed) */
    span born_host;    /* its address as records hold it, 8 or 20 bytes */
    outbox *out;       /* answers to this read go here */
} path_context;

/* As server.throttle makes them. */
static inline int64_t nanoseconds_of(double seconds) { return (int64_t)(seconds * 1e9); }

typedef enum {
    PATH_ERROR = -1, /* a Python exception is set */
    PATH_HANDED_OVER = 0, /* nothing was done: the frame is for Python */
    PATH_TAKEN = 1
} path_result;

/* sends.c: codes 10, 310, 320. A group is built by offers and becomes visible with sends_finish, which comes before any
 * other kind of frame of the same read is handled, and before answers are sent. */
bool sends_ready(PyObject *sends); /* whether any send is taken now; if not, a read's go to Python as one group */
path_result sends_offer(PyObject *sends, const frame *taken, const header *head, path_context *context);
int sends_finish(PyObject *sends, path_context *context);

/* pulls.c: codes 11, 361 and 15. */
bool pulls_ready(PyObject *pulls); /* whether any frame is taken now */
path_result pulls_offer(PyObject *pulls, const frame *taken, const header *head, path_context *context);

int sends_init(PyObject *module);
int pulls_init(PyObject *module);
int hub_init(PyObject *module);

#endif
