/* The search for bytes in records, for pops: the twin is operator.contains. */

#include "core/kernel.h"

#include <string.h>

#include "core/span.h"

/* memchr skips most places, with vectors, where Python's search compares every few bytes: records mostly have no
 * capital P. */
static bool holds_span(span data, span wanted)
{
    const uint8_t *at = data.at;
    size_t left = data.len;
    if (wanted.len == 0) return true;
    while (left >= wanted.len && (at = memchr(at, wanted.at[0], left - wanted.len + 1)) != NULL) {
        if (memcmp(at, wanted.at, wanted.len) == 0) return true;
        at++;
        left = (size_t)(data.at + data.len - at);
    }
    return false;
}

static PyObject *holds(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer data, wanted;
    if (!PyArg_ParseTuple(args, "y*y*:holds", &data, &wanted)) return NULL;
    bool found = holds_span(span_of(data.buf, (size_t)data.len), span_of(wanted.buf, (size_t)wanted.len));
    PyBuffer_Release(&data);
    PyBuffer_Release(&wanted);
    return PyBool_FromLong(found);
}

static PyMethodDef functions[] = {
    {"holds", holds, METH_VARARGS, "Whether bytes hold others, whose first byte is rare in them."},
    {NULL, NULL, 0, NULL},
};

int holds_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
