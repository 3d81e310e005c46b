/* walk_records, check_records and check_bodies. */

#include "records/records_module.h"

/* None or a number: false, with an exception, for anything else. */
static bool base_read(PyObject *object, int64_t *number, const int64_t **base)
{
    *base = object == Py_None ? NULL : number;
    if (*base != NULL) *number = PyLong_AsLongLong(object);
    return *base == NULL || *number != -1 || !PyErr_Occurred();
}

static PyObject *walk_records(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer buffer, found;
    PyObject *base_object;
    Py_ssize_t position, end;
    if (!PyArg_ParseTuple(args, "y*Onnw*:walk_records", &buffer, &base_object, &position, &end, &found)) return NULL;
    int64_t number;
    const int64_t *base;
    PyObject *result = NULL;
    if (!base_read(base_object, &number, &base)) {
        result = NULL;
    } else if (position < 0 || end > buffer.len) {
        PyErr_SetString(PyExc_ValueError, "a walk outside of the buffer");
    } else if (positions_aligned(&found)) {
        size_t at = (size_t)position, behind = end < position ? at : (size_t)end;
        size_t most = (size_t)found.len / sizeof(int64_t);
        span all = span_of(buffer.buf, (size_t)buffer.len);
        size_t count = records_walk(all, base, &at, behind, found.buf, most);
        result = Py_BuildValue("(nn)", (Py_ssize_t)count, (Py_ssize_t)at);
    }
    PyBuffer_Release(&found);
    PyBuffer_Release(&buffer);
    return result;
}

static PyObject *check_records(PyObject *self, PyObject *args)
{
    (void)self;
    chosen of;
    Py_buffer sizes;
    PyObject *base_object;
    if (!PyArg_ParseTuple(args, "y*y*y*Ow*:check_records", &of.views[BUFFER], &of.views[POSITIONS], &sizes,
                          &base_object, &of.views[RESULTS])) {
        return NULL;
    }
    int64_t number;
    const int64_t *base;
    bool well = chosen_fits(&of, 1) && positions_aligned(&sizes) && base_read(base_object, &number, &base);
    if (well && (size_t)sizes.len < of.count * sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "one size a position is needed");
        well = false;
    }
    if (well) records_check(of.buffer, base, of.positions, sizes.buf, of.count, of.views[RESULTS].buf);
    PyBuffer_Release(&sizes);
    release(&of);
    if (!well) return NULL;
    Py_RETURN_NONE;
}

static PyObject *check_bodies(PyObject *self, PyObject *args)
{
    (void)self;
    chosen of;
    if (!PyArg_ParseTuple(args, "y*y*w*:check_bodies", &of.views[BUFFER], &of.views[POSITIONS], &of.views[RESULTS])) {
        return NULL;
    }
    bool well = chosen_fits(&of, 1);
    uint8_t *good = of.views[RESULTS].buf;
    for (size_t i = 0; well && i < of.count; i++) {
        record_parts record;
        well = body_there(of.buffer, of.positions[i], &record);
        if (well) {
            good[i] = record_body_good(&record);
        } else {
            no_record(of.positions[i]);
        }
    }
    release(&of);
    if (!well) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef functions[] = {
    {"walk_records", walk_records, METH_VARARGS,
     "Where whole records are from a position on; how many, and where they end."},
    {"check_records", check_records, METH_VARARGS, "At which positions a whole record of such a size is."},
    {"check_bodies", check_bodies, METH_VARARGS, "Which records' bodies have the CRC that their heads say."},
    {NULL, NULL, 0, NULL},
};

int records_module_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
