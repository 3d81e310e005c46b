/* read_heads: numbers out of the heads of records. */

#include "records/records_module.h"

static const record_field *field_named(const char *name)
{
    for (size_t i = 0; i < RECORD_FIELDS_COUNT; i++) {
        if (strcmp(record_fields[i].name, name) == 0) return &record_fields[i];
    }
    PyErr_Format(PyExc_ValueError, "no fixed field of records: %s", name);
    return NULL;
}

/* Numbers that the heads of records from `first` on hold; false: an exception is set. */
static bool heads_read(const chosen *of, const record_field *const *fields, void *const *to, size_t count, size_t first)
{
    record_heads heads;
    size_t some = of->count - first < HEADS_TOGETHER ? of->count - first : HEADS_TOGETHER;
    if (!heads_find(of->buffer, of->positions + first, some, &heads)) return false;
    for (size_t i = 0; i < count; i++) {
        record_field_copy(fields[i], &heads, (uint8_t *)to[i] + first * fields[i]->width);
    }
    return true;
}

/* Fields of these names, and as many buffers, that each have room. */
static bool fields_read(PyObject *names, PyObject *buffers, size_t count, const record_field **fields, Py_buffer *views,
                        size_t *held)
{
    size_t number = (size_t)PyTuple_Size(names);
    if (number > RECORD_FIELDS_COUNT || (Py_ssize_t)number != PyTuple_Size(buffers)) {
        PyErr_SetString(PyExc_ValueError, "one buffer a field is needed, each field once");
        return false;
    }
    for (size_t i = 0; i < number; i++) {
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, (Py_ssize_t)i), NULL);
        if (name == NULL || (fields[i] = field_named(name)) == NULL) return false;
        if (PyObject_GetBuffer(PyTuple_GetItem(buffers, (Py_ssize_t)i), &views[i], PyBUF_WRITABLE) < 0) return false;
        ++*held;
        if ((size_t)views[i].len < count * fields[i]->width || !numbers_fit(&views[i], fields[i]->width)) {
            PyErr_Format(PyExc_ValueError, "%s needs more room", fields[i]->name);
            return false;
        }
    }
    return true;
}

static PyObject *read_heads(PyObject *self, PyObject *args)
{
    (void)self;
    chosen of;
    PyObject *names, *buffers;
    if (!PyArg_ParseTuple(args, "y*y*O!O!:read_heads", &of.views[BUFFER], &of.views[POSITIONS], &PyTuple_Type, &names,
                          &PyTuple_Type, &buffers)) {
        return NULL;
    }
    const record_field *fields[RECORD_FIELDS_COUNT];
    Py_buffer views[RECORD_FIELDS_COUNT];
    void *to[RECORD_FIELDS_COUNT];
    size_t held = 0;
    of.buffer = span_of(of.views[BUFFER].buf, (size_t)of.views[BUFFER].len);
    of.positions = of.views[POSITIONS].buf;
    of.count = (size_t)of.views[POSITIONS].len / sizeof(int64_t);
    bool well = positions_aligned(&of.views[POSITIONS]) && fields_read(names, buffers, of.count, fields, views, &held);
    for (size_t i = 0; i < held; i++) to[i] = views[i].buf;
    for (size_t i = 0; well && i < of.count; i += HEADS_TOGETHER) well = heads_read(&of, fields, to, held, i);
    for (size_t i = 0; i < held; i++) PyBuffer_Release(&views[i]);
    PyBuffer_Release(&of.views[POSITIONS]);
    PyBuffer_Release(&of.views[BUFFER]);
    if (!well) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"read_heads", read_heads, METH_VARARGS, "Numbers out of the heads of records, each in a buffer of its own."},
    {NULL, NULL, 0, NULL},
};

int heads_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
