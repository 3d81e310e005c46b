#include "grpc/call_event.h"

#include <stdlib.h>

#include "core/values.h"
#include "grpc/call_texts.h"
#include "message/text.h"

enum { EVENT_KIND, EVENT_STREAM, EVENT_PATH, EVENT_HEADERS, EVENT_PAYLOAD, EVENT_PARTS };
enum { CALL = 0 }; /* the kind of an event */

/* --- the names of properties that are Python's --- */

static int compare_hashes(const void *a, const void *b)
{
    int32_t one = *(const int32_t *)a, other = *(const int32_t *)b;
    return (one > other) - (one < other);
}

static bool take_reserved(reserved_names *reserved, PyObject *names)
{
    Py_ssize_t count = PyTuple_Size(names);
    reserved->hashes = malloc(((size_t)count + 1) * sizeof *reserved->hashes);
    if (reserved->hashes == NULL) {
        PyErr_NoMemory();
        return false;
    }
    for (; reserved->count < (size_t)count; reserved->count++) {
        span name;
        if (!span_of_bytes(PyTuple_GetItem(names, (Py_ssize_t)reserved->count), &name)) return false;
        reserved->hashes[reserved->count] = java_hash(0, name);
    }
    qsort(reserved->hashes, reserved->count, sizeof *reserved->hashes, compare_hashes);
    return true;
}

bool call_reader_begin(call_reader *self, PyObject *path, PyObject *client_id, PyObject *reserved)
{
    self->path = Py_NewRef(path);
    self->client_id = Py_NewRef(client_id);
    return take_reserved(&self->reserved, reserved);
}

void call_reader_end(call_reader *self)
{
    free(self->reserved.hashes);
    free(self->text);
    Py_XDECREF(self->path);
    Py_XDECREF(self->client_id);
}

/* --- an event --- */

/* Whether the client sends its id. */
static bool is_named(const call_reader *self, PyObject *headers)
{
    PyObject *client = PyDict_Check(headers) ? PyDict_GetItemWithError(headers, self->client_id) : NULL;
    Py_ssize_t length;
    const char *text = client != NULL && PyUnicode_Check(client) ? PyUnicode_AsUTF8AndSize(client, &length) : NULL;
    if (text == NULL) PyErr_Clear();
    return text != NULL && text_is_not_blank(span_of(text, (size_t)length));
}

static bool is_send(const call_reader *self, PyObject *event)
{
    if (!PyTuple_Check(event) || PyTuple_Size(event) != EVENT_PARTS) return false;
    if (PyLong_AsLong(PyTuple_GetItem(event, EVENT_KIND)) != CALL) {
        PyErr_Clear();
        return false;
    }
    PyObject *path = PyTuple_GetItem(event, EVENT_PATH);
    return PyUnicode_Check(path) && PyUnicode_Compare(path, self->path) == 0;
}

bool call_event_read(call_reader *self, PyObject *event, int64_t now)
{
    span payload;
    if (!is_send(self, event) || !is_named(self, PyTuple_GetItem(event, EVENT_HEADERS))) return false;
    if (!span_of_bytes(PyTuple_GetItem(event, EVENT_PAYLOAD), &payload)) {
        PyErr_Clear();
        return false;
    }
    return call_message_read(payload, &self->reserved, &self->message) &&
           call_message_fits(&self->message, &self->limits, now);
}

PyObject *call_event_stream(PyObject *event) { return PyTuple_GetItem(event, EVENT_STREAM); }

bool call_text_write(call_reader *self, span remote, int64_t born, span *text)
{
    size_t most = call_properties_most(&self->message, remote);
    if (most > self->text_room) {
        uint8_t *larger = realloc(self->text, 2 * most);
        if (larger == NULL) return false;
        self->text = larger;
        self->text_room = 2 * most;
    }
    const uint8_t *end = call_properties_write(self->text, &self->message, remote, born);
    *text = span_of(self->text, (size_t)(end - self->text));
    return true;
}

PyObject *call_answer_payload(const call_answer *answer)
{
    PyObject *payload = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)call_answer_size(answer));
    if (payload != NULL) call_answer_write((uint8_t *)PyBytes_AsString(payload), answer);
    return payload;
}
