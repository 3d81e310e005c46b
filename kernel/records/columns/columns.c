/* record_columns: columns of records for Python. */

#include "records/columns/columns.h"

#include "core/values.h"
#include "records/records_module.h"

/* Parse the names of columns; false: an exception is set. */
static bool names_read(PyObject *names, column_place *places, size_t count, measured *to)
{
    to->numbers_only = true;
    for (size_t i = 0; i < count; i++) {
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, (Py_ssize_t)i), NULL);
        if (name == NULL) return false;
        if (!column_named(name, &places[i].what)) {
            PyErr_Format(PyExc_ValueError, "records have no column %s", name);
            return false;
        }
        to->numbers_only = to->numbers_only && places[i].what.field != NULL;
        if (places[i].what.list != LISTS) to->wanted[places[i].what.list] = true;
    }
    return true;
}

/* How many words, properties or nulls there are; then where each part begins, and its length. */
static PyObject *numbers_of(const measured *of, const column_place *place)
{
    column_kind kind = place->what.kind;
    size_t number = kind == KEY_WORDS     ? of->lists[WORDS].count
                    : kind == PROPERTIES  ? of->reader.items.count
                    : kind == MAYBE_TEXTS ? of->tagless
                                          : 0;
    PyObject *numbers[1 + 2 * COLUMN_PARTS_MOST] = {PyLong_FromSize_t(number)};
    for (int i = 0; i < place->parts; i++) {
        numbers[1 + 2 * i] = PyLong_FromSize_t(place->at[i]);
        numbers[2 + 2 * i] = PyLong_FromSize_t(place->len[i]);
    }
    return tuple_of(numbers, 1 + 2 * (Py_ssize_t)place->parts);
}

static bool memory_fits(const Py_buffer *view, size_t size)
{
    if ((size_t)view->len >= size && numbers_fit(view, sizeof(int64_t))) return true;
    PyErr_SetString(PyExc_ValueError, "less memory than was asked for, or at an odd place");
    return false;
}

/* The memory, and where the parts of all columns are in it. */
static PyObject *written(const measured *from, column_place *places, size_t count, PyObject *allocate)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++) {
        if (!column_put(from, &places[i], &size)) {
            PyErr_SetString(PyExc_ValueError, "2 GiB or more in one column");
            return NULL;
        }
    }
    PyObject *memory = PyObject_CallFunction(allocate, "n", (Py_ssize_t)size);
    Py_buffer view;
    if (memory == NULL || PyObject_GetBuffer(memory, &view, PyBUF_WRITABLE) < 0) {
        Py_XDECREF(memory);
        return NULL;
    }
    PyObject *found = NULL;
    if (memory_fits(&view, size) && columns_write(from, places, count, view.buf)) {
        PyObject *numbers[COLUMNS_MOST];
        for (size_t i = 0; i < count; i++) numbers[i] = numbers_of(from, &places[i]);
        found = tuple_of(numbers, (Py_ssize_t)count);
    }
    PyBuffer_Release(&view);
    return found == NULL ? (Py_DECREF(memory), NULL) : Py_BuildValue("(NN)", memory, found);
}

static PyObject *record_columns(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer buffer, positions;
    PyObject *names, *allocate;
    measured all = {.count = 0};
    if (!PyArg_ParseTuple(args, "y*y*O!OO:record_columns", &buffer, &positions, &PyTuple_Type, &names, &allocate,
                          &all.host_name)) {
        return NULL;
    }
    PyObject *result = NULL;
    column_place places[COLUMNS_MOST];
    size_t count = (size_t)PyTuple_Size(names);
    all.buffer = span_of(buffer.buf, (size_t)buffer.len);
    all.positions = positions.buf;
    all.count = (size_t)positions.len / sizeof(int64_t);
    if (count > COLUMNS_MOST) {
        PyErr_Format(PyExc_ValueError, "more than %d columns", COLUMNS_MOST);
    } else if (positions_aligned(&positions) && names_read(names, places, count, &all) && records_measure(&all)) {
        result = written(&all, places, count, allocate);
    }
    records_measured_free(&all);
    PyBuffer_Release(&positions);
    PyBuffer_Release(&buffer);
    return result;
}

static PyMethodDef functions[] = {
    {"record_columns", record_columns, METH_VARARGS, "Columns of records as Arrow lays them out, in one memory."},
    {NULL, NULL, 0, NULL},
};

int columns_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
