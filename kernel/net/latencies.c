#include "net/latencies.h"

#include <string.h>

#include "core/values.h"
#include "wire/requests.h"

static const int32_t codes[LATENCY_CODES] = {CODE_SEND,    CODE_PULL,       CODE_UPDATE_OFFSET,
                                             CODE_SEND_V2, CODE_SEND_BATCH, CODE_LITE_PULL};

static const int64_t us = 1000, ms = 1000000;

/* ns, inclusive */
static const int64_t bounds[LATENCY_BOUNDS] = {
    10 * us, 25 * us, 63 * us,  160 * us, 400 * us, 1 * ms,    2500 * us, 6300 * us,
    16 * ms, 40 * ms, 100 * ms, 250 * ms, 630 * ms, 1600 * ms, 4000 * ms, 10000 * ms,
};

void latency_request(latency_requests of, int32_t code)
{
    for (int each = 0; each < LATENCY_CODES; each++) of[each] += codes[each] == code;
}

void latencies_note(latencies *all, const latency_requests of, int64_t ns)
{
    int bucket = 0;
    while (bucket < LATENCY_BOUNDS && ns > bounds[bucket]) bucket++;
    for (int each = 0; each < LATENCY_CODES; each++) {
        all->counts[each][bucket] += of[each];
        all->sums[each] += of[each] * ns;
    }
}

static PyObject *counts_of(const int64_t *counts)
{
    PyObject *values[LATENCY_BUCKETS];
    for (int bucket = 0; bucket < LATENCY_BUCKETS; bucket++) values[bucket] = PyLong_FromLongLong(counts[bucket]);
    return tuple_of(values, LATENCY_BUCKETS);
}

PyObject *latencies_take(latencies *all)
{
    PyObject *taken = PyDict_New();
    for (int each = 0; taken != NULL && each < LATENCY_CODES; each++) {
        int64_t any = 0;
        for (int bucket = 0; bucket < LATENCY_BUCKETS; bucket++) any |= all->counts[each][bucket];
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
    PyObject *values[LATENCY_BOUNDS];
    for (int each = 0; each < LATENCY_BOUNDS; each++) values[each] = PyLong_FromLongLong(bounds[each]);
    PyObject *all = tuple_of(values, LATENCY_BOUNDS);
    int added = all == NULL ? -1 : PyModule_AddObjectRef(module, "LATENCY_BOUNDS_NS", all);
    Py_XDECREF(all);
    return added;
}
