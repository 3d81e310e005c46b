/* Answers: what is queued of them, and how nghttp2 gets it. */

#include "http2/http2.h"

#include <stdio.h>

#define STATIC_HEADER(name, value)                                               \
    {(uint8_t *)(name), (uint8_t *)(value), sizeof(name) - 1, sizeof(value) - 1, \
     NGHTTP2_NV_FLAG_NO_COPY_NAME | NGHTTP2_NV_FLAG_NO_COPY_VALUE}

static const nghttp2_nv begin[] = {
    STATIC_HEADER(":status", "200"),
    STATIC_HEADER("content-type", "application/grpc"),
};

static const nghttp2_nv status_ok = STATIC_HEADER("grpc-status", "0");

enum { BEGIN = sizeof begin / sizeof *begin, TRAILERS = 2 };

/* The trailers of a call; `number` is room for the status. */
static size_t trailers(const call *of, nghttp2_nv *to, char number[12])
{
    if (of->status == GRPC_OK && of->text == NULL) {
        to[0] = status_ok;
        return 1;
    }
    int digits = snprintf(number, 12, "%d", of->status);
    to[0] = (nghttp2_nv){(uint8_t *)"grpc-status", (uint8_t *)number, 11, (size_t)digits, NGHTTP2_NV_FLAG_NO_COPY_NAME};
    if (of->text == NULL || PyBytes_Size(of->text) == 0) return 1;
    to[1] = (nghttp2_nv){(uint8_t *)"grpc-message", (uint8_t *)PyBytes_AsString(of->text), 12,
                         (size_t)PyBytes_Size(of->text), NGHTTP2_NV_FLAG_NO_COPY_NAME};
    return 2;
}

/* False: there is no memory, and an exception is set. Other errors are those of streams that are over. */
static bool submitted(int error)
{
    if (error == NGHTTP2_ERR_NOMEM) PyErr_NoMemory();
    return error != NGHTTP2_ERR_NOMEM;
}

/* Give nghttp2 the next bytes of an answer, up to what the client's windows allow. */
static ptrdiff_t read_answer(nghttp2_session *session, int32_t stream, uint8_t *to, size_t room, uint32_t *flags,
                             nghttp2_data_source *source, void *user)
{
    (void)source;
    Http2 *self = user;
    if (self->only_control) return NGHTTP2_ERR_PAUSE;
    call *of = call_of(self, stream);
    if (of == NULL) return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    span text = queue_span(&of->out);
    size_t part = text.len < room ? text.len : room;
    if (part == 0 && !of->finished) {
        of->deferred = true;
        return NGHTTP2_ERR_DEFERRED;
    }
    if (part > 0) memcpy(to, text.at, part);
    queue_take(&of->out, part);
    self->waiting -= part;
    if (part == text.len && of->finished) {
        nghttp2_nv last[TRAILERS];
        char number[12];
        *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
        if (!submitted(nghttp2.submit_trailer(session, stream, last, trailers(of, last, number)))) {
            return NGHTTP2_ERR_CALLBACK_FAILURE;
        }
    }
    return (ptrdiff_t)part;
}

static void resume(Http2 *self, call *which)
{
    if (!which->deferred) return;
    which->deferred = false;
    nghttp2.session_resume_data(self->session, which->in.stream);
}

bool answer_message(Http2 *self, call *to, span payload)
{
    uint8_t prefix[MESSAGE_PREFIX] = {0};
    put32(prefix + 1, (uint32_t)payload.len);
    if (!queue_add(&to->out, span_of(prefix, sizeof prefix))) return false;
    self->waiting += sizeof prefix;
    if (!queue_add(&to->out, payload)) return false;
    self->waiting += payload.len;
    if (to->started) {
        resume(self, to);
    } else {
        nghttp2_data_provider provider = {{.ptr = NULL}, read_answer};
        to->started = true;
        return submitted(nghttp2.submit_response(self->session, to->in.stream, begin, BEGIN, &provider));
    }
    return true;
}

bool answer_finish(Http2 *self, call *to, int status, PyObject *text)
{
    to->finished = true;
    to->status = status;
    to->text = text;
    if (queue_length(&to->out) > 0) { /* read_answer adds the trailers */
        resume(self, to);
        return true;
    }
    nghttp2_nv headers[BEGIN + TRAILERS];
    char number[12];
    memcpy(headers, begin, sizeof begin);
    size_t count = BEGIN + trailers(to, headers + BEGIN, number);
    int32_t stream = to->in.stream;
    return submitted(to->started ? nghttp2.submit_trailer(self->session, stream, headers + BEGIN, count - BEGIN)
                                 : nghttp2.submit_response(self->session, stream, headers, count, NULL));
}

void answer_http(Http2 *self, call *to, const char *status)
{
    nghttp2_nv headers[] = {
        {(uint8_t *)":status", (uint8_t *)status, 7, strlen(status), NGHTTP2_NV_FLAG_NO_COPY_NAME},
        STATIC_HEADER("allow", "POST"),
    };
    to->finished = true;
    nghttp2.submit_response(self->session, to->in.stream, headers, strcmp(status, "405") == 0 ? 2 : 1, NULL);
}

int answer_frame_sent(Http2 *self, const nghttp2_frame *frame)
{
    if (frame->hd.type != FRAME_HEADERS && frame->hd.type != FRAME_DATA) return 0;
    guard_restore_credit(&self->guard);
    call *of = frame->hd.type == FRAME_HEADERS && frame->hd.flags & FLAG_END_STREAM ? call_of(self, frame->hd.stream_id)
                                                                                    : NULL;
    if (of == NULL) return 0;
    if (!of->ended) reset_stream(self, of->in.stream, NO_ERROR); /* what else its client sends is of no use */
    call_forget(self, of);
    return 0;
}

PyObject *status_text(PyObject *text)
{
    PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "replace");
    char *from;
    Py_ssize_t length;
    if (bytes == NULL || PyBytes_AsStringAndSize(bytes, &from, &length) < 0) return NULL;
    PyObject *result = PyBytes_FromStringAndSize(NULL, 3 * length);
    char *to = result ? PyBytes_AsString(result) : NULL, *at = to;
    for (Py_ssize_t each = 0; to != NULL && each < length; each++) {
        static const char digits[] = "0123456789ABCDEF";
        uint8_t byte = (uint8_t)from[each];
        if (byte >= 0x20 && byte < 0x7f && byte != '%') {
            *at++ = (char)byte;
        } else {
            *at++ = '%';
            *at++ = digits[byte >> 4];
            *at++ = digits[byte & 15];
        }
    }
    Py_DECREF(bytes);
    PyObject *encoded = result ? PyBytes_FromStringAndSize(to, at - to) : NULL;
    Py_XDECREF(result);
    return encoded;
}

bool connection_send(Http2 *self, size_t most)
{
    while (queue_length(&self->out) < most) {
        const uint8_t *frames;
        ptrdiff_t length = nghttp2.session_mem_send(self->session, &frames);
        if (length > 0 && !queue_add(&self->out, span_of(frames, (size_t)length))) return false;
        if (length == 0 || self->failed) return true;
        if (length < 0) {
            if (!PyErr_Occurred()) PyErr_NoMemory(); /* else it is that of a callback */
            return false;
        }
    }
    return true;
}

bool connection_send_control(Http2 *self)
{
    self->only_control = true;
    bool done = connection_send(self, SIZE_MAX);
    self->only_control = false;
    return done;
}
