/* arrow_of_columns: columns that record_columns wrote, as one struct of Arrow's C data interface.
 *
 * That interface is a memory layout, which needs nothing of Arrow's library. Importing the struct gives all columns at
 * once; importing them one by one in Python takes as long as copying some 300 KiB of log. */

#include "records/columns/columns.h"

#include <stdlib.h>

typedef struct arrow_array arrow_array;
struct arrow_array {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    arrow_array **children, *dictionary;
    void (*release)(arrow_array *array);
    void *private_data;
};

/* A column and its children: the words of a list, or the pairs of a map, which are names and values. */
enum { ARRAYS_MOST = 4, BUFFERS_MOST = 9 };
typedef struct {
    arrow_array arrays[ARRAYS_MOST], *children[ARRAYS_MOST - 1];
    const void *buffers[BUFFERS_MOST];
} column_arrays;

/* Everything that is handed over: it lives until the batch is released. */
typedef struct {
    Py_buffer memory;
    arrow_array batch;
    const void *no_buffer;
    arrow_array *children[COLUMNS_MOST];
    column_arrays columns[];
} exported;

/* A child is released with the batch: the importer keeps that whole, as Arrow's library does. */
static void child_release(arrow_array *array) { array->release = NULL; }

static void batch_release(arrow_array *array)
{
    exported *all = array->private_data;
    array->release = NULL;
    if (Py_IsInitialized()) { /* else the process ends, and the memory with it */
        PyGILState_STATE state = PyGILState_Ensure();
        PyBuffer_Release(&all->memory);
        PyGILState_Release(state);
        free(all);
    }
}

static void array_put(arrow_array *to, size_t length, const void **buffers, int64_t n_buffers, arrow_array **children,
                      int64_t n_children)
{
    *to = (arrow_array){.length = (int64_t)length,
                        .n_buffers = n_buffers,
                        .buffers = buffers,
                        .n_children = n_children,
                        .children = children,
                        .release = child_release};
}

/* The column of `count` records with `number` words, properties or nulls, whose parts are in `part`. */
static void column_put_out(column_arrays *to, column_kind kind, size_t count, size_t number, const void *const *part)
{
    arrow_array *arrays = to->arrays;
    const void **buffers = to->buffers; /* the first buffer of each array has the validity bits; NULL: all are valid */
    for (int i = 0; i < BUFFERS_MOST; i++) buffers[i] = NULL;
    for (int i = 1; i < ARRAYS_MOST; i++) to->children[i - 1] = &arrays[i];
    buffers[1] = part[0];
    buffers[2] = part[1];
    switch (kind) {
    case NUMBERS:
    case TIMES:
        array_put(&arrays[0], count, buffers, 2, NULL, 0);
        break;
    case KEY_WORDS:
        array_put(&arrays[0], count, buffers, 2, to->children, 1);
        buffers[3] = part[1];
        buffers[4] = part[2];
        buffers[2] = NULL;
        array_put(&arrays[1], number, buffers + 2, 3, NULL, 0);
        break;
    case PROPERTIES:
        array_put(&arrays[0], count, buffers, 2, to->children, 1);
        buffers[2] = NULL;
        array_put(&arrays[1], number, buffers + 2, 1, to->children + 1, 2);
        for (int i = 0; i < 2; i++) {
            buffers[4 + 3 * i] = part[1 + 2 * i];
            buffers[5 + 3 * i] = part[2 + 2 * i];
            array_put(&arrays[2 + i], number, buffers + 3 + 3 * i, 3, NULL, 0);
        }
        break;
    default:
        array_put(&arrays[0], count, buffers, 3, NULL, 0);
        if (kind == MAYBE_TEXTS && number > 0) {
            buffers[0] = part[2];
            arrays[0].null_count = (int64_t)number;
        }
    }
}

/* Read record_columns' description of a column: false, with an exception, if it is invalid, or not in the memory. */
static bool column_told(PyObject *name, PyObject *numbers, const Py_buffer *memory, size_t count, column_arrays *to)
{
    column_what what;
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    size_t told[1 + 2 * COLUMN_PARTS_MOST] = {0};
    const void *part[COLUMN_PARTS_MOST] = {NULL};
    if (text == NULL) return false;
    Py_ssize_t size = PyTuple_Check(numbers) ? PyTuple_Size(numbers) : 0;
    bool well = column_named(text, &what) && size % 2 == 1 && size <= 1 + 2 * COLUMN_PARTS_MOST;
    for (Py_ssize_t i = 0; well && i < size; i++) {
        told[i] = PyLong_AsSize_t(PyTuple_GetItem(numbers, i));
        if (PyErr_Occurred()) return false;
    }
    for (Py_ssize_t i = 0; well && i < size / 2; i++) {
        size_t at = told[1 + 2 * i], length = told[2 + 2 * i];
        well = at <= (size_t)memory->len && length <= (size_t)memory->len - at;
        part[i] = (const uint8_t *)memory->buf + at;
    }
    if (well) column_put_out(to, what.kind, count, told[0], part);
    if (!well) PyErr_SetString(PyExc_ValueError, "no columns as record_columns gives them");
    return well;
}

static PyObject *arrow_of_columns(PyObject *self, PyObject *args)
{
    (void)self;
    PyObject *names, *places, *memory;
    Py_ssize_t count;
    if (!PyArg_ParseTuple(args, "O!nOO!:arrow_of_columns", &PyTuple_Type, &names, &count, &memory, &PyTuple_Type,
                          &places)) {
        return NULL;
    }
    size_t columns = (size_t)PyTuple_Size(names);
    if (count < 0 || columns > COLUMNS_MOST || PyTuple_Size(places) != (Py_ssize_t)columns) {
        PyErr_SetString(PyExc_ValueError, "names and places of columns are needed, of each one");
        return NULL;
    }
    exported *all = malloc(sizeof *all + columns * sizeof *all->columns);
    if (all == NULL) return PyErr_NoMemory();
    if (PyObject_GetBuffer(memory, &all->memory, PyBUF_SIMPLE) < 0) {
        free(all);
        return NULL;
    }
    for (size_t i = 0; i < columns; i++) {
        all->children[i] = all->columns[i].arrays;
        PyObject *name = PyTuple_GetItem(names, (Py_ssize_t)i), *told = PyTuple_GetItem(places, (Py_ssize_t)i);
        if (!column_told(name, told, &all->memory, (size_t)count, &all->columns[i])) {
            PyBuffer_Release(&all->memory);
            free(all);
            return NULL;
        }
    }
    all->no_buffer = NULL;
    array_put(&all->batch, (size_t)count, &all->no_buffer, 1, all->children, (int64_t)columns);
    all->batch.release = batch_release;
    all->batch.private_data = all;
    return PyLong_FromVoidPtr(&all->batch);
}

static PyMethodDef functions[] = {
    {"arrow_of_columns", arrow_of_columns, METH_VARARGS,
     "Where a struct of Arrow's C data interface is, to be imported once."},
    {NULL, NULL, 0, NULL},
};

int arrow_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
