/* Requests that become events: see rocketwire.wire.http2.connection. */

#include "http2/http2.h"

#include <stdio.h>

#include "core/values.h"

bool event_add(Http2 *self, PyObject *event)
{
    if (event == NULL || PyList_Append(self->events, event) < 0) self->raised = true;
    Py_XDECREF(event);
    return !self->raised;
}

/* An event with numbers only, `count` of them. */
static bool event_of_numbers(Http2 *self, int kind, int32_t stream, uint32_t code, bool with_code)
{
    return event_add(self,
                     with_code ? Py_BuildValue("(iiI)", kind, stream, code) : Py_BuildValue("(ii)", kind, stream));
}

call *call_of(Http2 *self, int32_t stream)
{
    return self->session ? nghttp2.session_get_stream_user_data(self->session, stream) : NULL;
}

void reset_stream(Http2 *self, int32_t stream, uint32_t code)
{
    nghttp2.submit_rst_stream(self->session, 0, stream, code);
}

/* More requests may send their whole message. */
static void let_in(Http2 *self)
{
    for (incoming *request = intake_admit_waiting(&self->intake); request != NULL;
         request = intake_admit_waiting(&self->intake)) {
        nghttp2.submit_window_update(self->session, 0, request->stream, (int32_t)request->granted);
    }
}

void call_forget(Http2 *self, call *which)
{
    if (self->session != NULL) {
        nghttp2.session_set_stream_user_data(self->session, which->in.stream, NULL);
    }
    *(which->before ? &which->before->after : &self->first) = which->after;
    if (which->after) which->after->before = which->before;
    self->calls--;
    self->heads -= which->head;
    self->waiting -= queue_length(&which->out);
    intake_forget(&self->intake, &which->in);
    if (self->session != NULL && !self->failed) let_in(self);
    queue_free(&which->data);
    queue_free(&which->out);
    Py_XDECREF(which->path);
    Py_XDECREF(which->fields);
    Py_XDECREF(which->text);
    PyMem_Free(which);
}

bool call_broken(Http2 *self, call *which, uint32_t code)
{
    bool undelivered = !which->finished || queue_length(&which->out) > 0;
    bool notify = undelivered && (which->streaming || which->ended);
    int32_t stream = which->in.stream;
    call_forget(self, which);
    return !notify || event_of_numbers(self, EVENT_RESET, stream, code, true);
}

static bool refuse(Http2 *self, call *which, int status, const char *text)
{
    if (which->streaming && !event_of_numbers(self, EVENT_RESET, which->in.stream, PROTOCOL_ERROR, true)) return false;
    intake_forget(&self->intake, &which->in);
    let_in(self);
    queue_free(&which->data);
    PyObject *bytes = PyBytes_FromString(text);
    return bytes != NULL && answer_finish(self, which, status, bytes);
}

/* Become a call; the head is taken. */
static call *call_new(Http2 *self, int32_t stream)
{
    call *made = PyMem_Calloc(1, sizeof *made);
    if (made == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    request_head *head = &self->head;
    made->in.stream = stream;
    made->path = Py_NewRef(head->path);
    made->fields = Py_XNewRef(head->fields);
    made->has_content_length = head->has_content_length;
    made->content_length = head->content_length;
    made->after = self->first;
    if (self->first) self->first->before = made;
    self->first = made;
    made->head = head->size;
    self->heads += head->size;
    self->calls++;
    nghttp2.session_set_stream_user_data(self->session, stream, made);
    return made;
}

static bool head_fields(request_head *head)
{
    if (head->fields == NULL) head->fields = PyDict_New();
    if (head->fields == NULL) return false;
    return head->authority == NULL || PyDict_SetItemString(head->fields, ":authority", head->authority) == 0;
}

/* The longest message of a method; an exception may be set. */
static size_t longest_message(Http2 *self, PyObject *path)
{
    PyObject *found = self->longest ? PyDict_GetItemWithError(self->longest, path) : NULL;
    return found ? PyLong_AsSize_t(found) : self->max_message;
}

bool call_open(Http2 *self, int32_t stream)
{
    request_head *head = &self->head;
    bool refused = self->calls >= self->max_streams || self->heads + head->size > self->intake.window;
    if (refused || !head_is_request(head)) {
        reset_stream(self, stream, refused ? REFUSED_STREAM : PROTOCOL_ERROR);
        guard_charge_reset(&self->guard);
        return true;
    }
    int streaming = head_fields(head) ? PySet_Contains(self->streaming, head->path) : -1;
    size_t max_message = streaming < 0 ? 0 : longest_message(self, head->path);
    if (streaming >= 0 && PyErr_Occurred()) return false;
    if (streaming >= 0) repeated_head_keep(self);
    call *made = streaming < 0 ? NULL : call_new(self, stream);
    if (made == NULL) return false;
    made->streaming = streaming > 0;
    made->max_message = max_message;
    if (!head->post) {
        answer_http(self, made, "405");
    } else if (!head->grpc) {
        answer_http(self, made, "415");
    } else if (made->streaming) {
        return event_add(self, Py_BuildValue("(iiOO)", EVENT_OPENED, stream, made->path, made->fields));
    }
    return true;
}

/* Read the prefix of a message, if it has come. False: the call is refused, or an exception is set (`raised`). */
static bool measure(Http2 *self, call *of, bool *refused)
{
    span data = queue_span(&of->data);
    if (of->size > 0 || data.len < MESSAGE_PREFIX) return true;
    uint32_t length = get32(data.at + 1);
    if (data.at[0] != 0) {
        *refused = true;
        return refuse(self, of, GRPC_UNIMPLEMENTED, "compressed messages are not supported");
    }
    if (length > of->max_message) {
        char text[80];
        snprintf(text, sizeof text, "message of %u bytes is longer than %zu", length, of->max_message);
        *refused = true;
        return event_of_numbers(self, EVENT_TOO_LONG, of->in.stream, length, true) &&
               refuse(self, of, GRPC_RESOURCE_EXHAUSTED, text);
    }
    of->size = MESSAGE_PREFIX + (size_t)length;
    return true;
}

static PyObject *taken(call *from)
{
    span data = queue_span(&from->data);
    PyObject *payload =
        PyBytes_FromStringAndSize((const char *)data.at + MESSAGE_PREFIX, (Py_ssize_t)(from->size - MESSAGE_PREFIX));
    queue_take(&from->data, from->size);
    from->size = 0;
    return payload;
}

/* Hand over the messages of a stream that are whole. */
static bool take_messages(Http2 *self, call *from, bool *refused)
{
    while (from->size > 0 && from->size <= queue_length(&from->data)) {
        from->owed += from->size - from->in.granted;
        intake_release_grant(&self->intake, &from->in);
        PyObject *payload = taken(from);
        bool done = payload != NULL &&
                    event_add(self, Py_BuildValue("(iiN)", EVENT_MESSAGE, from->in.stream, payload)) &&
                    measure(self, from, refused);
        if (!done || *refused) return done;
    }
    return true;
}

bool call_data(Http2 *self, call *to, span data)
{
    to->received += data.len;
    if (to->has_content_length && to->received > to->content_length) {
        connection_fail(self, PROTOCOL_ERROR, "more data than content-length says");
        return true;
    }
    if (to->finished) return true; /* its client does not know yet */
    bool refused = false;
    if (!queue_add(&to->data, data) || !measure(self, to, &refused)) return false;
    if (!refused && to->streaming && !take_messages(self, to, &refused)) return false;
    if (refused) return true;
    size_t held = queue_length(&to->data);
    if (!to->streaming && to->size > 0 && held > to->size) {
        return refuse(self, to, GRPC_INTERNAL, "the request has more than one message");
    }
    if (to->size > held) intake_request_room(&self->intake, &to->in, to->size);
    if (to->owed >= self->stream_window / 2) {
        nghttp2.submit_window_update(self->session, 0, to->in.stream, (int32_t)to->owed);
        to->owed = 0;
    }
    intake_set_held(&self->intake, &to->in, held);
    for (incoming *last = intake_request_to_refuse(&self->intake); last != NULL;
         last = intake_request_to_refuse(&self->intake)) {
        if (!refuse(self, (call *)last, GRPC_RESOURCE_EXHAUSTED, "too many unfinished requests")) return false;
    }
    let_in(self);
    return true;
}

bool call_end(Http2 *self, call *of)
{
    of->ended = true;
    if (of->has_content_length && of->received != of->content_length) {
        connection_fail(self, PROTOCOL_ERROR, "less data than content-length says");
        return true;
    }
    if (of->finished) return true;
    bool done;
    size_t held = queue_length(&of->data);
    if (of->streaming) {
        done = held > 0 ? refuse(self, of, GRPC_INTERNAL, "the request ends within a message")
                        : event_of_numbers(self, EVENT_ENDED, of->in.stream, 0, false);
    } else if (held == 0) {
        done = refuse(self, of, GRPC_INTERNAL, "the request has no message");
    } else if (held != of->size) {
        done = refuse(self, of, GRPC_INTERNAL, "the request ends within a message");
    } else {
        PyObject *parts[] = {PyLong_FromLong(EVENT_CALL), PyLong_FromLong(of->in.stream), of->path, of->fields,
                             taken(of)};
        of->path = of->fields = NULL;
        done = event_add(self, tuple_of(parts, sizeof parts / sizeof *parts));
    }
    intake_forget(&self->intake, &of->in);
    let_in(self);
    return done;
}
