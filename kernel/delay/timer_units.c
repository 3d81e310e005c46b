/* Reads many units of the timer log at once, and records their outcomes. The twin is store.timer.log. */

#include "core/kernel.h"

#include "core/facts.h"
#include "core/span.h"
#include "core/values.h"

enum { DUE_FIELDS = 5 };

/* A mapped file of the log: `low` is the position of its first byte. */
typedef struct {
    Py_buffer view;
    int64_t low;
} log_file;

/* The unit at a position, or NULL: it is not in that file. */
static uint8_t *unit_at(const log_file *file, int64_t position)
{
    if (file->low < 0 || position < file->low || file->view.len < TIMER_UNIT_SIZE ||
        position - file->low > file->view.len - TIMER_UNIT_SIZE) {
        return NULL;
    }
    return (uint8_t *)file->view.buf + (position - file->low);
}

static PyObject *due_unit(PyTypeObject *type, newfunc make, const uint8_t *unit, int64_t position)
{
    PyObject *values[DUE_FIELDS] = {
        PyLong_FromLongLong((int64_t)get64(unit + TIMER_UNIT_PHYSICAL_OFFSET_AT)),
        PyLong_FromLong((int32_t)get32(unit + TIMER_UNIT_RECORD_SIZE_AT)),
        PyLong_FromLongLong((int64_t)get64(unit + TIMER_UNIT_WRITE_TIME_AT)),
        PyLong_FromLongLong(position),
        PyBool_FromLong(get32(unit + TIMER_UNIT_MAGIC_AT) & TIMER_UNIT_ROLL),
    };
    return named_tuple_of(type, make, values, DUE_FIELDS);
}

static PyObject *due_units(PyObject *self, PyObject *args)
{
    (void)self;
    log_file file;
    Py_buffer positions;
    PyTypeObject *type;
    long long low;
    if (!PyArg_ParseTuple(args, "O!y*Ly*:due_units", &PyType_Type, &type, &file.view, &low, &positions)) {
        return NULL;
    }
    file.low = low;
    newfunc make = named_tuple_maker(type);
    PyObject *result = make == NULL ? NULL : PyList_New(0);
    for (Py_ssize_t at = 0; result != NULL && at + 8 <= positions.len; at += 8) {
        int64_t position;
        memcpy(&position, (const char *)positions.buf + at, sizeof position);
        const uint8_t *unit = unit_at(&file, position);
        if (unit == NULL) {
            break;
        }
        if (!append_value(result, due_unit(type, make, unit, position))) {
            Py_CLEAR(result);
        }
    }
    PyBuffer_Release(&positions);
    PyBuffer_Release(&file.view);
    return result;
}

/* Add to the number that a dictionary has for a hash. */
static bool count_hash(PyObject *counts, int32_t hash, int64_t more)
{
    if (more == 0) {
        return true;
    }
    PyObject *key = PyLong_FromLong(hash);
    PyObject *before = key == NULL ? NULL : PyDict_GetItemWithError(counts, key);
    int64_t sum = more + (before == NULL ? 0 : PyLong_AsLongLong(before));
    PyObject *number = PyErr_Occurred() ? NULL : PyLong_FromLongLong(sum);
    bool done = number != NULL && PyDict_SetItem(counts, key, number) == 0;
    Py_XDECREF(number);
    Py_XDECREF(key);
    return done;
}

/* Position and outcome of the next pair. False: an exception is set. */
static bool read_pair(PyObject *pair, int64_t *position, int64_t *outcome)
{
    if (pair == NULL || !PyTuple_Check(pair) || PyTuple_Size(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "a unit is settled by its position and its outcome");
        return false;
    }
    *position = PyLong_AsLongLong(PyTuple_GetItem(pair, 0));
    *outcome = PyErr_Occurred() ? 0 : PyLong_AsLongLong(PyTuple_GetItem(pair, 1));
    return !PyErr_Occurred();
}

/* Settle pairs from `at` on, as far as they are in the file. The number behind the last one; -1: an exception. */
static Py_ssize_t settle_pairs(const log_file *file, PyObject *pairs, Py_ssize_t at, PyObject *counts)
{
    int64_t position, outcome, count = 0;
    int32_t hash = 0;
    for (; at < PyList_Size(pairs); at++) {
        if (!read_pair(PyList_GetItem(pairs, at), &position, &outcome)) return -1;
        uint8_t *unit = unit_at(file, position);
        if (unit == NULL) break;
        if (get64(unit + TIMER_UNIT_OUTCOME_AT) == TIMER_UNIT_WAITS &&
            !(get32(unit + TIMER_UNIT_MAGIC_AT) & TIMER_UNIT_DELETE)) {
            if (count > 0 && hash != (int32_t)get32(unit + TIMER_UNIT_TOPIC_HASH_AT)) {
                if (!count_hash(counts, hash, count)) return -1;
                count = 0;
            }
            hash = (int32_t)get32(unit + TIMER_UNIT_TOPIC_HASH_AT);
            count++;
        }
        put64(unit + TIMER_UNIT_OUTCOME_AT, (uint64_t)outcome);
    }
    return count_hash(counts, hash, count) ? at : -1;
}

static PyObject *settle_units(PyObject *self, PyObject *args)
{
    (void)self;
    log_file file;
    PyObject *pairs, *counts;
    long long low;
    Py_ssize_t at;
    if (!PyArg_ParseTuple(args, "w*LO!nO!:settle_units", &file.view, &low, &PyList_Type, &pairs, &at, &PyDict_Type,
                          &counts)) {
        return NULL;
    }
    file.low = low;
    if (at >= 0) {
        at = settle_pairs(&file, pairs, at, counts);
    } else {
        PyErr_SetString(PyExc_ValueError, "pairs are counted from 0");
    }
    PyBuffer_Release(&file.view);
    return at < 0 ? NULL : PyLong_FromSsize_t(at);
}

static PyMethodDef functions[] = {
    {"due_units", due_units, METH_VARARGS, "The records of the units at some positions, as far as they are in a file."},
    {"settle_units", settle_units, METH_VARARGS, "Set outcomes, as far as they are in a file; count what waited."},
    {NULL, NULL, 0, NULL},
};

int timer_units_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
