/* madvise for Python without the interpreter held: to fault a range in for writing takes milliseconds. */

#include "core/kernel.h"

#include <sys/mman.h>

/* During a call no other thread of the process can map or unmap memory, so each call gets a small range. */
enum { PIECE = 1 << 18 };

static int in_pieces(char *at, size_t length, int option)
{
    for (; length > PIECE; at += PIECE, length -= PIECE) {
        if (madvise(at, PIECE, option)) return -1;
    }
    return madvise(at, length, option);
}

static PyObject *advise(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer mapping;
    int option;
    Py_ssize_t start, length;
    if (!PyArg_ParseTuple(args, "w*inn:advise", &mapping, &option, &start, &length)) return NULL;
    int failed = -1;
    if (start < 0 || length < 0 || start > mapping.len || length > mapping.len - start) {
        PyErr_SetString(PyExc_ValueError, "madvise: the range is not in the mapping");
    } else {
        Py_BEGIN_ALLOW_THREADS
        failed = in_pieces((char *)mapping.buf + start, (size_t)length, option);
        Py_END_ALLOW_THREADS
        if (failed) PyErr_SetFromErrno(PyExc_OSError);
    }
    PyBuffer_Release(&mapping);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"advise", advise, METH_VARARGS, "As mmap.madvise, with other threads running meanwhile."},
    {NULL, NULL, 0, NULL},
};

int advise_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
