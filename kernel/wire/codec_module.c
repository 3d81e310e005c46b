/* frame.c, header.c and requests.c for tests and fuzzers: their results as Python values. */

#include "core/kernel.h"

#include "core/decimal.h"
#include "core/utf8.h"
#include "core/values.h"
#include "wire/frame.h"
#include "wire/requests.h"

/* A text that the header holds as UTF-8; None: it is not there. */
static PyObject *text_of(span text)
{
    if (text.at == NULL) {
        Py_RETURN_NONE;
    }
    return PyUnicode_DecodeUTF8((const char *)text.at, (Py_ssize_t)text.len, NULL);
}

static PyObject *number_of(int64_t value) { return PyLong_FromLongLong(value); }

static PyObject *number_or_none(bool there, int64_t value)
{
    if (!there) {
        Py_RETURN_NONE;
    }
    return number_of(value);
}

#define TUPLE(...) tuple_of((PyObject *[]){__VA_ARGS__}, sizeof((PyObject *[]){__VA_ARGS__}) / sizeof(PyObject *))

static PyObject *scan_frame(PyObject *self, PyObject *data)
{
    (void)self;
    Py_buffer view;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    const uint8_t *start = view.buf;
    frame found = {.header = {start, 0}, .body = {start, 0}};
    frame_state state = frame_next(span_of(start, (size_t)view.len), &found);
    PyBuffer_Release(&view);
    return Py_BuildValue("inB(nn)(nn)", (int)state, (Py_ssize_t)found.size, found.serialize_type,
                         (Py_ssize_t)(found.header.at - start), (Py_ssize_t)found.header.len,
                         (Py_ssize_t)(found.body.at - start), (Py_ssize_t)found.body.len);
}

static PyObject *header_value(const header *found)
{
    PyObject *fields = PyList_New(0);
    for (int i = 0; fields != NULL && i < found->count; i++) {
        const header_field *field = &found->fields[i];
        PyObject *item = TUPLE(bytes_of(field->name), bytes_of(field->value), PyBool_FromLong(field->escaped));
        if (item == NULL || PyList_Append(fields, item) < 0) {
            Py_CLEAR(fields);
        }
        Py_XDECREF(item);
    }
    return TUPLE(number_of(found->code), number_of(found->flag), number_of(found->opaque), fields);
}

/* None where the escapes are not known. */
static PyObject *unescaped(span raw, bool as_text)
{
    uint8_t *room = PyMem_Malloc(raw.len); /* to the byte: a sanitizer sees what is written behind it */
    if (room == NULL) {
        return PyErr_NoMemory();
    }
    size_t length;
    PyObject *result = Py_None;
    if (json_unescape(raw, room, raw.len, &length)) {
        span text = span_of(room, length);
        result = as_text ? text_of(text) : bytes_of(text);
    } else {
        Py_INCREF(result);
    }
    PyMem_Free(room);
    return result;
}

static PyObject *bool_of(span text)
{
    if (text.at == NULL) {
        Py_RETURN_NONE;
    }
    return PyBool_FromLong(text.len == 4);
}

static PyObject *send_value(const header *head)
{
    send_request found;
    if (!send_read(head, &found)) {
        Py_RETURN_NONE;
    }
    PyObject *properties = found.properties_escaped ? unescaped(found.properties, true) : text_of(found.properties);
    if (found.properties_escaped && properties == Py_None) {
        return properties; /* handed over */
    }
    int32_t most = 0;
    bool has_most = found.max_reconsume_times.at != NULL && read_int32(found.max_reconsume_times, &most);
    return TUPLE(text_of(found.producer_group), text_of(found.topic), text_of(found.default_topic),
                 number_of(found.default_topic_queue_nums), number_of(found.queue_id), number_of(found.sys_flag),
                 number_of(found.born_timestamp), number_of(found.flag), properties,
                 number_or_none(found.has_reconsume_times, found.reconsume_times), bool_of(found.unit_mode),
                 number_or_none(has_most, most), PyBool_FromLong(found.batch), text_of(found.bname));
}

static PyObject *pull_value(const header *head)
{
    pull_request found;
    if (!pull_read(head, &found)) {
        Py_RETURN_NONE;
    }
    return TUPLE(text_of(found.consumer_group), text_of(found.topic), number_of(found.queue_id),
                 number_of(found.queue_offset), number_of(found.max_msg_nums), number_of(found.sys_flag),
                 number_of(found.commit_offset), number_of(found.suspend_timeout_millis), number_of(found.sub_version),
                 text_of(found.subscription), text_of(found.expression_type), text_of(found.bname),
                 number_or_none(found.has_max_msg_bytes, found.max_msg_bytes));
}

static PyObject *offset_value(const header *head)
{
    offset_request found;
    if (!offset_read(head, &found)) {
        Py_RETURN_NONE;
    }
    return TUPLE(text_of(found.consumer_group), text_of(found.topic), number_of(found.queue_id),
                 number_of(found.commit_offset));
}

/* Read the header that the arguments (data, serialize_type) are, and make a value of it. */
static PyObject *of_header(PyObject *arguments, PyObject *(*value_of)(const header *))
{
    Py_buffer view;
    unsigned char serialize_type;
    if (!PyArg_ParseTuple(arguments, "y*b", &view, &serialize_type)) {
        return NULL;
    }
    header found;
    PyObject *result = Py_None;
    if (header_read(span_of(view.buf, (size_t)view.len), serialize_type, &found)) {
        result = value_of(&found);
    } else {
        Py_INCREF(result);
    }
    PyBuffer_Release(&view);
    return result;
}

static PyObject *read_header(PyObject *self, PyObject *arguments)
{
    (void)self;
    return of_header(arguments, header_value);
}

static PyObject *read_send(PyObject *self, PyObject *arguments)
{
    (void)self;
    return of_header(arguments, send_value);
}

static PyObject *read_pull(PyObject *self, PyObject *arguments)
{
    (void)self;
    return of_header(arguments, pull_value);
}

static PyObject *read_offset(PyObject *self, PyObject *arguments)
{
    (void)self;
    return of_header(arguments, offset_value);
}

static PyObject *unescape(PyObject *self, PyObject *data)
{
    (void)self;
    Py_buffer view;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    span raw = span_of(view.buf, (size_t)view.len);
    PyObject *result = Py_None;
    if (utf8_valid(raw)) {
        result = unescaped(raw, false);
    } else {
        Py_INCREF(result);
    }
    PyBuffer_Release(&view);
    return result;
}

static PyMethodDef functions[] = {
    {"scan_frame", scan_frame, METH_O,
     "The first frame of some bytes: state, size, type, (at, length) of header and body."},
    {"read_header", read_header, METH_VARARGS,
     "A header's code, flag, opaque and fields as they stand there, or None."},
    {"read_send", read_send, METH_VARARGS, "The fields of a send's header, or None."},
    {"read_pull", read_pull, METH_VARARGS, "The fields of a pull's header, or None."},
    {"read_offset", read_offset, METH_VARARGS, "The fields of an offset update's header, or None."},
    {"unescape", unescape, METH_O, "What stands between the quotes of a JSON string, without escapes, or None."},
    {NULL, NULL, 0, NULL},
};

int codec_module_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
