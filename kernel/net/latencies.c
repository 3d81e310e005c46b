#include "net/latencies.h"

#include <string.h>

#include "core/values.h"
#include "wire/requests.h"

static const int32_t codes[LATENCY_CODES] = {CODE_SEND_MESSAGE,    CODE_PULL_MESSAGE,       CODE_UPDATE_CONSUMER_OFFSET,
                                             CODE_SEND_MESSAGE_V2, CODE_SEND_BATCH_MESSAGE, CODE_LITE_PULL_MESSAGE};

void latency_request(latency_requests of, int32_t code)
{
    for (int each = 0; each < LATENCY_CODES; each++) of[each] += codes[each] == code;
}

void latencies_note(latencies *all, const latency_requests of, int64_t ns)
{
    int bucket = duration_bucket(ns);
    for (int each = 0; each < LATENCY_CODES; each++) {
        all->counts[each][bucket] += of[each];
        all->sums[each] += of[each] * ns;
    }
}

static PyObject *counts_of(const int64_t *counts)
{
    PyObject *values[DURATION_BUCKETS];
    for (int bucket = 0; bucket < DURATION_BUCKETS; bucket++) values[bucket] = PyLong_FromLongLong(counts[bucket]);
    return tuple_of(values, DURATION_BUCKETS);
}

PyObject *latencies_take(latencies *all)
{
    PyObject *taken = PyDict_New();
    for (int each = 0; taken != NULL && each < LATENCY_CODES; each++) {
        int64_t any = 0;
        for (int bucket = 0; bucket < DURATION_BUCKETS; bucket++) any |= all->counts[each][bucket];
        if (any == 0) continue;
        PyObject *code = PyLong_FromLong(codes[each]);
        PyObject *values[] = {counts_of(all->counts[each]), PyLong_FromLongLong(all->sums[each])};
        PyObject *value = tuple_of(values, 2);
        if (code == NULL || value == NULL || PyDict_SetItem(taken, code, value) < 0) Py_CLEAR(taken);
        Py_XDECREF(code);
        Py_XDECREF(value);
    }
    if (taken != NULL) memset(all, 0, sizeof *all);
    return taken;
}

int latencies_init(PyObject *module)
{
    PyObject *values[DURATION_BOUNDS];
    for (int each = 0; each < DURATION_BOUNDS; each++) values[each] = PyLong_FromLongLong(duration_bounds[each]);
    PyObject *all = tuple_of(values, DURATION_BOUNDS);
    int added = all == NULL ? -1 : PyModule_AddObjectRef(module, "LATENCY_BOUNDS_NS", all);
    Py_XDECREF(all);
    return added;
}
