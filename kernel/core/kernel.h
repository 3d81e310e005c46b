/* Python's API: every part that uses Python includes this first. Pure parsing and formatting does not include it. */

#ifndef ROCKETWIRE_KERNEL_H
#define ROCKETWIRE_KERNEL_H

#include <stdbool.h>

#define PY_SSIZE_T_CLEAN
#include <Python.h> /* its limited API: see tools/build_kernel.py */

/* How a path ends that serves requests, or makes records of drafts. */
typedef enum {
    PATH_ERROR = -1,      /* an exception is set */
    PATH_HANDED_OVER = 0, /* nothing was done: the request is for Python */
    PATH_TAKEN = 1
} path_result;

/* Clear the exception of a call into Python that Python will make again, and raise again: only one of the request.
 * False: it ends more than the request, as KeyboardInterrupt does, and stays set. */
static inline bool clear_exception(void)
{
    if (PyErr_Occurred() != NULL) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return false;
        }
        PyErr_Clear();
    }
    return true;
}

/* A new object of a kernel type, with zeros behind its head. NULL: an exception is set. */
static inline void *object_new(PyTypeObject *type) { return ((allocfunc)PyType_GetSlot(type, Py_tp_alloc))(type, 0); }

/* The end of a `dealloc`: gives the memory back, and the object's reference to its type. */
static inline void object_free(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

/* Add a type to the module under the last part of its name; `kept` may be NULL, or gets a reference.
 * -1: an exception is set. */
static inline int add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **kept)
{
    PyObject *type = PyType_FromSpec(spec);
    int done = type == NULL ? -1 : PyModule_AddType(module, (PyTypeObject *)type);
    if (kept != NULL) {
        *kept = (PyTypeObject *)type;
    } else {
        Py_XDECREF(type);
    }
    return done;
}

#endif
