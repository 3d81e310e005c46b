/* record_runs: where the records are that entries of a consume queue point to. Its twin is store.read.record_runs. */

#include "core/kernel.h"

#include "core/span.h"
#include "core/values.h"
#include "message/record.h"

typedef struct {
    span entries;
    PyObject *whole; /* a view of the log from the first record to the end of the last */
    int64_t length;
    PyObject *runs; /* a list of views */
} run_search;

static bool add_run(const run_search *in, int64_t start, int64_t end)
{
    return append_value(in->runs, PySequence_GetSlice(in->whole, (Py_ssize_t)start, (Py_ssize_t)end));
}

/* False: a record is out of order or not in the view, or an exception is set. */
static bool find_runs(const run_search *in)
{
    uint64_t first = get64(in->entries.at);
    int64_t start = 0, end = 0;
    for (size_t at = 0; at < in->entries.len; at += QUEUE_ENTRY_SIZE) {
        int64_t place = (int64_t)(get64(in->entries.at + at) - first);
        int32_t size = (int32_t)get32(in->entries.at + at + QUEUE_ENTRY_SIZE_AT);
        if (place < end || place > in->length || size <= 0 || size > in->length - place) return false;
        if (place != end) {
            if (!add_run(in, start, end)) return false;
            start = place;
        }
        end = place + size;
    }
    return add_run(in, start, end);
}

static PyObject *record_runs(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer entries;
    run_search in;
    if (!PyArg_ParseTuple(args, "y*O:record_runs", &entries, &in.whole)) return NULL;
    in.entries = span_of(entries.buf, (size_t)entries.len);
    in.length = PyObject_Size(in.whole);
    in.runs = in.length < 0 ? NULL : PyList_New(0);
    if (in.runs != NULL && (in.entries.len == 0 || in.entries.len % QUEUE_ENTRY_SIZE != 0)) {
        PyErr_SetString(PyExc_ValueError, "entries have 20 bytes each, and there is one");
        Py_CLEAR(in.runs);
    }
    if (in.runs != NULL && !find_runs(&in)) {
        Py_CLEAR(in.runs);
        if (!PyErr_Occurred()) in.runs = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&entries);
    return in.runs;
}

static PyMethodDef functions[] = {
    {"record_runs", record_runs, METH_VARARGS,
     "Views of the records that entries point to, adjacent ones in one; None: they are out of order."},
    {NULL, NULL, 0, NULL},
};

int record_runs_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
