/* For tests and fuzzers. */

#include "core/values.h"
#include "relay/id_hosts.h"

static PyObject *rewritten_ids(PyObject *self, PyObject *args)
{
    Py_buffer header, old, new_;
    unsigned char serialize_type;
    id_hosts hosts;
    (void)self;
    if (!PyArg_ParseTuple(args, "y*by*y*:rewritten_ids", &header, &serialize_type, &old, &new_)) {
        return NULL;
    }
    PyObject *result = NULL;
    if (id_hosts_set(&hosts, span_of(old.buf, (size_t)old.len), span_of(new_.buf, (size_t)new_.len))) {
        result = PyBytes_FromStringAndSize(header.buf, header.len);
    } else {
        PyErr_SetString(PyExc_ValueError, UNEQUAL_HOSTS);
    }
    if (result != NULL) {
        id_hosts_rewrite((uint8_t *)PyBytes_AsString(result), (size_t)header.len, serialize_type, &hosts);
    }
    PyBuffer_Release(&header);
    PyBuffer_Release(&old);
    PyBuffer_Release(&new_);
    return result;
}

static PyMethodDef functions[] = {
    {"rewritten_ids", rewritten_ids, METH_VARARGS, "As wire.message_id_hosts.rewritten; for tests and fuzzers."},
    {NULL, NULL, 0, NULL},
};

int id_hosts_module_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
