/* Between the hub, which reads and writes sockets, and the paths that serve frames: send_path.h, pull_path.h. */
#ifndef ROCKETWIRE_PATHS_H
#define ROCKETWIRE_PATHS_H

#include "core/kernel.h"

#include "paths/outbox.h"

typedef struct {
    int64_t now;       /* ms since 1970, of this round: the store timestamp of what is appended */
    int64_t steady_ns; /* of the event loop's clock, in this round: the time of quotas */
    PyObject *session; /* whose frame it is (borrowed) */
    span born_host;    /* its address as records hold it, 8 or 20 bytes */
    outbox *out;       /* answers to this read go here */
} path_context;

/* As server.throttle makes them. */
static inline int64_t nanoseconds_of(double seconds) { return (int64_t)(seconds * 1e9); }

#endif
