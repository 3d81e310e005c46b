/* Values of Python that several parts make. */
#ifndef ROCKETWIRE_VALUES_H
#define ROCKETWIRE_VALUES_H

#include "kernel.h"

#include "span.h"

static inline PyObject *bytes_of(span text)
{
    return PyBytes_FromStringAndSize((const char *)text.at, (Py_ssize_t)text.len);
}

/* A tuple of new references, which become its own; with NULL among them an exception is set. */
static inline PyObject *tuple_of(PyObject *const *values, Py_ssize_t count)
{
    PyObject *result = PyTuple_New(count);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (result == NULL || values[i] == NULL) {
            Py_CLEAR(result);
            Py_XDECREF(values[i]);
        } else {
            PyTuple_SetItem(result, i, values[i]);
        }
    }
    return result;
}

/* What makes named tuples of a class; NULL: it is no class of tuples, and an exception is set. */
static inline newfunc named_tuple_maker(PyTypeObject *type)
{
    if (!PyType_IsSubtype(type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "a class of tuples is needed");
        return NULL;
    }
    return (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
}

/* A named tuple of new references, as `tuple_of`. */
static inline PyObject *named_tuple_of(PyTypeObject *type, newfunc make, PyObject *const *values, Py_ssize_t count)
{
    PyObject *fields = tuple_of(values, count);
    PyObject *arguments = fields == NULL ? NULL : tuple_of(&fields, 1);
    PyObject *result = arguments == NULL ? NULL : make(type, arguments, NULL);
    Py_XDECREF(arguments);
    return result;
}

/* Append a new reference, which may be NULL: an exception is set. */
static inline bool append_value(PyObject *list, PyObject *value)
{
    int done = value == NULL ? -1 : PyList_Append(list, value);
    Py_XDECREF(value);
    return done == 0;
}

#endif
