/* Helpers to make and read values of Python. */
#ifndef ROCKETWIRE_VALUES_H
#define ROCKETWIRE_VALUES_H

#include "core/kernel.h"

#include "core/span.h"

/* The bytes of an object. False: it is not a bytes object, and an exception is set. */
static inline bool span_of_bytes(PyObject *object, span *to)
{
    char *text;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(object, &text, &size) < 0) {
        return false;
    }
    *to = span_of(text, (size_t)size);
    return true;
}

/* The spans of a tuple of bytes. False: the tuple has another length, and an exception is set. */
static inline bool spans_of_tuple(PyObject *from, span *to, Py_ssize_t count)
{
    if (!PyTuple_Check(from) || PyTuple_Size(from) != count) {
        PyErr_Format(PyExc_TypeError, "an answer has %zd parts", count);
        return false;
    }
    for (Py_ssize_t each = 0; each < count; each++) {
        if (!span_of_bytes(PyTuple_GetItem(from, each), &to[each])) {
            return false;
        }
    }
    return true;
}

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

/* The constructor of a class of named tuples; NULL: it is not one, and an exception is set. */
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
