/* Parts of calls as functions of the module, for tests and fuzzers. */

#include "core/kernel.h"

#include "grpc/call_message.h"
#include "message/text.h"

enum { RESERVED_MOST = 128 };

static bool hashes_of(PyObject *names, int32_t hashes[RESERVED_MOST])
{
    int32_t before = INT32_MIN;
    for (Py_ssize_t i = 0; i < PyTuple_Size(names); i++) {
        long hash = PyLong_AsLong(PyTuple_GetItem(names, i));
        if (PyErr_Occurred() || i == RESERVED_MOST || hash < before) return false;
        before = hashes[i] = (int32_t)hash;
    }
    return true;
}

static PyObject *bytes_from(span text) { return PyBytes_FromStringAndSize((const char *)text.at, (Py_ssize_t)text.len); }

static PyObject *message_tuple(const call_message *message, PyObject *text, int32_t queue)
{
    return Py_BuildValue("(NiNNNNNNi)", bytes_from(message->topic), (int)call_message_type(message),
                         bytes_from(message->group), bytes_from(message->id), PyBool_FromLong(message->compressed),
                         text, bytes_from(message->body),
                         message->has_born ? PyLong_FromLongLong(message->born) : Py_NewRef(Py_None), (int)queue);
}

static PyObject *read_send_call(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer request, remote;
    PyObject *names, *result = NULL;
    int32_t hashes[RESERVED_MOST];
    call_message message;
    call_limits limits;
    long long now, user, property, group, delay;
    int queues;
    if (!PyArg_ParseTuple(args, "y*y*O!Li(LLLL):read_send_call", &request, &remote, &PyTuple_Type, &names, &now, &queues,
                          &user, &property, &group, &delay)) {
        return NULL;
    }
    limits = (call_limits){user, property, group, delay};
    reserved_names reserved = {hashes, (size_t)PyTuple_Size(names)};
    span from = span_of(remote.buf, (size_t)remote.len);
    if (!hashes_of(names, hashes)) {
        if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "too many hashes, or not sorted");
    } else if (!call_message_read(span_of(request.buf, (size_t)request.len), &reserved, &message) ||
               !call_message_fits(&message, &limits, now)) {
        result = Py_NewRef(Py_None);
    } else {
        PyObject *text = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)call_properties_most(&message, from));
        if (text != NULL) {
            uint8_t *start = (uint8_t *)PyBytes_AsString(text);
            uint8_t *end = call_properties_write(start, &message, from, message.has_born ? message.born : now);
            PyObject *whole = PyBytes_FromStringAndSize((const char *)start, end - start);
            Py_DECREF(text);
            result = message_tuple(&message, whole, queue_of_group(message.group, queues));
        }
    }
    PyBuffer_Release(&request);
    PyBuffer_Release(&remote);
    return result;
}

static PyMethodDef functions[] = {
    {"read_send_call", read_send_call, METH_VARARGS,
     "A plain SendMessage request: topic, type, group, id, compressed, properties, body, born time, queue of the group."},
    {NULL, NULL, 0, NULL},
};

int grpc_module_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
