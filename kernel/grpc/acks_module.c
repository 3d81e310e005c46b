/* AckMessage calls as a function of the module. */

#include "core/kernel.h"

#include "core/values.h"
#include "grpc/call_acks.h"

/* The offsets of the deliveries from `first` on that have its check point; all of them are marked as listed. */
static PyObject *offsets_of(const call_acks *acks, size_t first, bool listed[ACKS_MOST])
{
    PyObject *offsets = PyList_New(0);
    for (size_t i = first; offsets != NULL && i < acks->count; i++) {
        if (listed[i] || !ack_handles_match(&acks->acks[i].handle, &acks->acks[first].handle)) continue;
        listed[i] = true;
        if (!append_value(offsets, PyLong_FromLongLong(acks->acks[i].handle.offset))) Py_CLEAR(offsets);
    }
    return offsets;
}

static PyObject *check_points_of(const call_acks *acks)
{
    bool listed[ACKS_MOST] = {false};
    PyObject *points = PyList_New(0);
    for (size_t i = 0; points != NULL && i < acks->count; i++) {
        if (listed[i]) continue;
        const ack_handle *one = &acks->acks[i].handle;
        PyObject *offsets = offsets_of(acks, i, listed);
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
    {NULL, NULL, 0, NULL},
};

int acks_module_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
