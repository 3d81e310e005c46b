/* Parts of calls as functions of the module: AckMessage calls for the server, the others for tests and fuzzers. */

#include "core/kernel.h"

#include "core/values.h"
#include "grpc/call_acks.h"
#include "grpc/call_message.h"

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

static PyObject *message_tuple(const call_message *message, PyObject *text, int32_t queue)
{
    return Py_BuildValue("(NiNNNNNNi)", bytes_of(message->topic), (int)call_message_type(message),
                         bytes_of(message->group), bytes_of(message->id), PyBool_FromLong(message->compressed), text,
                         bytes_of(message->body),
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
    if (!PyArg_ParseTuple(args, "y*y*O!Li(LLLL):read_send_call", &request, &remote, &PyTuple_Type, &names, &now,
                          &queues, &user, &property, &group, &delay)) {
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

/* The offsets of the deliveries from `first` on that have its check point; all of them are marked as told. */
static PyObject *offsets_of(const call_acks *acks, size_t first, bool told[ACKS_MOST])
{
    PyObject *offsets = PyList_New(0);
    for (size_t i = first; offsets != NULL && i < acks->count; i++) {
        if (told[i] || !ack_handles_match(&acks->acks[i].handle, &acks->acks[first].handle)) continue;
        told[i] = true;
        if (!append_value(offsets, PyLong_FromLongLong(acks->acks[i].handle.offset))) Py_CLEAR(offsets);
    }
    return offsets;
}

static PyObject *check_points_of(const call_acks *acks)
{
    bool told[ACKS_MOST] = {false};
    PyObject *points = PyList_New(0);
    for (size_t i = 0; points != NULL && i < acks->count; i++) {
        if (told[i]) continue;
        const ack_handle *one = &acks->acks[i].handle;
        PyObject *offsets = offsets_of(acks, i, told);
        PyObject *point = offsets == NULL
                              ? NULL
                              : Py_BuildValue("(s#LLLiiN)", &one->kind, (Py_ssize_t)1, (long long)one->start,
                                              (long long)one->pop_time, (long long)one->invisible_time,
                                              (int)one->revive_queue, (int)one->queue, offsets);
        if (!append_value(points, point)) Py_CLEAR(points);
    }
    return points;
}

static PyObject *answer_of(const call_acks *acks)
{
    PyObject *answer = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)call_acks_answer_size(acks));
    if (answer != NULL) call_acks_answer_write((uint8_t *)PyBytes_AsString(answer), acks);
    return answer;
}

static PyObject *text_of(span text) { return PyUnicode_FromStringAndSize((const char *)text.at, (Py_ssize_t)text.len); }

/* The handles of renewed deliveries, as the client names them. */
static PyObject *renewed_of(const call_acks *acks)
{
    PyObject *texts = PyList_New(0);
    for (size_t i = 0; texts != NULL && i < acks->count; i++) {
        if (acks->acks[i].handle.renewed && !append_value(texts, text_of(acks->acks[i].text))) Py_CLEAR(texts);
    }
    return texts;
}

static PyObject *read_acks(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer request;
    call_acks acks;
    if (!PyArg_ParseTuple(args, "y*:read_acks", &request)) return NULL;
    PyObject *result;
    if (call_acks_read(span_of(request.buf, (size_t)request.len), &acks)) {
        PyObject *values[] = {text_of(acks.topic),
                              text_of(acks.group),
                              text_of(acks.acks[0].handle.broker),
                              PyLong_FromLongLong(acks.until),
                              check_points_of(&acks),
                              renewed_of(&acks),
                              answer_of(&acks)};
        result = tuple_of(values, 7);
    } else {
        result = Py_NewRef(Py_None);
    }
    PyBuffer_Release(&request);
    return result;
}

static PyMethodDef functions[] = {
    {"read_acks", read_acks, METH_VARARGS,
     "A plain AckMessage request: topic, group, broker, when the first is over, check points with offsets, "
     "handles of renewed ones, the response if all is well."},
    {"read_send_call", read_send_call, METH_VARARGS,
     "A plain SendMessage request: topic, type, group, id, compressed, properties, body, born time, queue of the "
     "group."},
    {NULL, NULL, 0, NULL},
};

int grpc_module_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
