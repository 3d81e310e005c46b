#include "quota/send_quota.h"

#include <stdlib.h>

/* Which of the kinds a text is; -1: an exception is set. */
static int kind_of(PyObject *text, quota_counts *counts)
{
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a bucket's kind is a text");
        return -1;
    }
    for (int kind = 0; kind < QUOTA_KINDS; kind++) {
        if (counts->kinds[kind] == NULL) counts->kinds[kind] = Py_NewRef(text);
        if (PyUnicode_Compare(counts->kinds[kind], text) == 0) return kind;
    }
    PyErr_Format(PyExc_ValueError, "there are more than %d kinds of buckets", QUOTA_KINDS);
    return -1;
}

static bool read_buckets(send_quota *quota, PyObject *buckets, PyObject *kinds, quota_counts *counts)
{
    Py_ssize_t count = PyTuple_Size(buckets);
    if (count < 1 || count > QUOTA_BUCKETS || PyTuple_Size(kinds) != count) {
        PyErr_Format(PyExc_ValueError, "a plan has 1 to %d buckets, and a kind for each", QUOTA_BUCKETS);
        return false;
    }
    for (Py_ssize_t each = 0; each < count; each++) {
        PyObject *bucket = PyTuple_GetItem(buckets, each);
        if (!PyObject_TypeCheck(bucket, Bucket_Type)) {
            PyErr_SetString(PyExc_TypeError, "a plan's buckets are the kernel's");
            return false;
        }
        int kind = kind_of(PyTuple_GetItem(kinds, each), counts);
        if (kind < 0) return false;
        quota->buckets[quota->count] = (Bucket *)Py_NewRef(bucket);
        quota->kinds[quota->count++] = (uint8_t)kind;
    }
    return true;
}

send_quota *send_quota_read(PyObject *answer, quota_counts *counts)
{
    PyObject *buckets, *kinds;
    int bytes_each, plain, sharded, scheduled;
    if (!PyTuple_Check(answer)) {
        PyErr_SetString(PyExc_TypeError, "quotas are a tuple or None");
        return NULL;
    }
    if (!PyArg_ParseTuple(answer, "O!O!iiii", &PyTuple_Type, &buckets, &PyTuple_Type, &kinds, &bytes_each, &plain,
                          &sharded, &scheduled)) {
        return NULL;
    }
    if (bytes_each < 1 || plain < 0 || sharded < 0 || scheduled < 0) {
        PyErr_SetString(PyExc_ValueError, "a message counts for at least one byte, and no factor is negative");
        return NULL;
    }
    send_quota *quota = calloc(1, sizeof *quota);
    if (quota == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    quota->bytes_each = bytes_each;
    quota->plain = plain;
    quota->sharded = sharded;
    quota->scheduled = scheduled;
    if (read_buckets(quota, buckets, kinds, counts)) return quota;
    send_quota_release(quota);
    return NULL;
}

void send_quota_release(send_quota *quota)
{
    if (quota == NULL) return;
    for (int each = 0; each < quota->count; each++) Py_DECREF((PyObject *)quota->buckets[each]);
    free(quota);
}

bool send_quota_refuses(const send_quota *quota, int64_t now_ns, quota_counts *counts)
{
    for (int each = 0; each < quota->count; each++) {
        if (!bucket_ready(quota->buckets[each], now_ns)) {
            counts->refused[quota->kinds[each]]++;
            return true;
        }
    }
    return false;
}

uint64_t send_quota_cost(const send_quota *quota, size_t body, const properties_found *found, bool scheduled)
{
    int64_t factor = quota->plain, size = body > 0 ? (int64_t)body : 1;
    if (found->sharded && quota->sharded > factor) factor = quota->sharded;
    if (scheduled && quota->scheduled > factor) factor = quota->scheduled;
    return (uint64_t)((size + quota->bytes_each - 1) / quota->bytes_each * factor);
}

void send_quota_charge(const send_quota *quota, uint64_t cost, quota_counts *counts)
{
    for (int each = 0; each < quota->count; each++) bucket_take(quota->buckets[each], cost);
    counts->converted += (int64_t)cost;
}

PyObject *quota_counts_take(quota_counts *counts)
{
    PyObject *refused = PyDict_New();
    for (int kind = 0; refused != NULL && kind < QUOTA_KINDS; kind++) {
        if (counts->refused[kind] == 0) continue;
        PyObject *count = PyLong_FromLongLong(counts->refused[kind]);
        if (count == NULL || PyDict_SetItem(refused, counts->kinds[kind], count) < 0) Py_CLEAR(refused);
        Py_XDECREF(count);
    }
    if (refused != NULL) memset(counts->refused, 0, sizeof counts->refused);
    return refused;
}

void quota_counts_free(quota_counts *counts)
{
    for (int kind = 0; kind < QUOTA_KINDS; kind++) Py_CLEAR(counts->kinds[kind]);
}
