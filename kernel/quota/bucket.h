/* A token bucket, the twin of server.throttle.bucket. */
#ifndef ROCKETWIRE_BUCKET_H
#define ROCKETWIRE_BUCKET_H

#include "core/kernel.h"

#include "core/span.h"

typedef struct {
    PyObject_HEAD
    long long rate;           /* converted messages a second */
    long long level;          /* nano-messages */
    long long taken;          /* converted messages, in all */
    int64_t capacity, lowest; /* the most and the least that `level` may be */
    int64_t last;             /* the latest time of a call, in ns */
} Bucket;

extern PyTypeObject *Bucket_Type;

/* Whether a request may pass at this time. An earlier time than the last one counts as the last one. */
bool bucket_ready(Bucket *bucket, int64_t now_ns);

/* Charge what passed, which may leave a debt, of ten seconds at most. */
void bucket_take(Bucket *bucket, uint64_t cost);

int bucket_init(PyObject *module);

#endif
