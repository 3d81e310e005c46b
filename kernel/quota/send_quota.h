/* Quotas of sends: the buckets that a plan's sends pass, and their charges. The twin is server.throttle. */
#ifndef ROCKETWIRE_SEND_QUOTA_H
#define ROCKETWIRE_SEND_QUOTA_H

#include "message/properties.h"
#include "quota/bucket.h"

enum { QUOTA_BUCKETS = 3, QUOTA_KINDS = 8 };

typedef struct {
    Bucket *buckets[QUOTA_BUCKETS]; /* references */
    uint8_t kinds[QUOTA_BUCKETS];   /* of what each is the bucket: which of the counts' kinds */
    int count;
    int64_t bytes_each;                /* a message counts once for each started so many bytes of its body */
    int64_t plain, sharded, scheduled; /* times that: any, one with a sharding key, one for a set time; the greatest */
} send_quota;

/* What was charged and refused since it was taken. */
typedef struct {
    PyObject *kinds[QUOTA_KINDS]; /* texts */
    int64_t refused[QUOTA_KINDS];
    int64_t converted; /* messages charged */
} quota_counts;

/* Python's part of a plan, which is not None. NULL: an exception is set. */
send_quota *send_quota_read(PyObject *answer, quota_counts *counts);
void send_quota_release(send_quota *quota); /* may be NULL */

/* Whether a bucket refuses a send now, which is counted. */
bool send_quota_refuses(const send_quota *quota, int64_t now_ns, quota_counts *counts);

/* For how many messages one counts. */
uint64_t send_quota_cost(const send_quota *quota, size_t body, const properties_found *found, bool scheduled);
void send_quota_charge(const send_quota *quota, uint64_t cost, quota_counts *counts);

/* A dict of the numbers of refusals by kind, which are reset; NULL: an exception is set. */
PyObject *quota_counts_take(quota_counts *counts);
void quota_counts_free(quota_counts *counts);

#endif
