/* What is received: nghttp2 and its callbacks. A callback that returns an error ends the connection. */

#include "http2/http2.h"

enum { MOST_ACKS = 10000 /* not sent yet; `guard` allows fewer */ };

static int verdict(const Http2 *self) { return self->failed || self->raised ? NGHTTP2_ERR_CALLBACK_FAILURE : 0; }

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    (void)session;
    Http2 *self = user;
    head_clear(&self->head);
    self->head.trailers = frame->headers.cat != NGHTTP2_HCAT_REQUEST;
    if (!self->head.trailers) self->last = frame->hd.stream_id;
    repeated_head_begin(self);
    return verdict(self);
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, nghttp2_rcbuf *name, nghttp2_rcbuf *value,
                     uint8_t flags, void *user)
{
    (void)session, (void)frame, (void)flags;
    Http2 *self = user;
    if (verdict(self) != 0) return verdict(self);
    repeated_head_add(self, name, value);
    return verdict(self);
}

/* A client that leaves needs no connection without calls; nghttp2 would ignore what it sends. It is closed while
 * something is received. */
static void check_goaway(Http2 *self)
{
    if (self->goaway_received && self->calls == 0 && self->events != NULL) {
        connection_fail(self, NO_ERROR, "the client has left");
    }
}

static void headers_whole(Http2 *self, const nghttp2_frame *frame)
{
    int32_t stream = frame->hd.stream_id;
    bool ended = frame->hd.flags & FLAG_END_STREAM;
    if (!repeated_head_end(self)) return;
    if (!self->head.trailers) {
        if (!call_open(self, stream)) self->raised = true;
    } else if (!ended) {
        connection_fail(self, PROTOCOL_ERROR, "trailers without an end");
    } else if (self->head.malformed) {
        call *which = call_of(self, stream);
        reset_stream(self, stream, PROTOCOL_ERROR);
        if (which != NULL && !call_broken(self, which, PROTOCOL_ERROR)) self->raised = true;
    }
    head_clear(&self->head);
    call *which = ended && verdict(self) == 0 ? call_of(self, stream) : NULL;
    if (which != NULL && !call_end(self, which)) self->raised = true;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    (void)session;
    Http2 *self = user;
    if (verdict(self) != 0) return verdict(self);
    if (frame->hd.type == FRAME_HEADERS) {
        headers_whole(self, frame);
    } else if (frame->hd.type == FRAME_DATA && frame->hd.flags & FLAG_END_STREAM) {
        call *which = call_of(self, frame->hd.stream_id);
        if (which != NULL && !call_end(self, which)) self->raised = true;
    } else if (frame->hd.type == FRAME_GOAWAY) {
        self->goaway_received = true;
        check_goaway(self);
    }
    return verdict(self);
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame, int error, void *user)
{
    (void)session, (void)frame, (void)error;
    Http2 *self = user;
    guard_charge_reset(&self->guard);
    return verdict(self);
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream, const uint8_t *data, size_t len, void *user)
{
    (void)flags;
    Http2 *self = user;
    if (verdict(self) != 0) return verdict(self);
    nghttp2.session_consume_connection(session, len);
    call *to = call_of(self, stream);
    if (to != NULL && !call_data(self, to, span_of(data, len))) self->raised = true;
    return verdict(self);
}

static int on_stream_close(nghttp2_session *session, int32_t stream, uint32_t error, void *user)
{
    (void)session;
    Http2 *self = user;
    call *which = call_of(self, stream);
    if (which == NULL || verdict(self) != 0) {
        /* it was answered or reset, or the connection is over */
    } else if (self->events == NULL) { /* what is being sent cannot be, for lack of memory */
        call_forget(self, which);
    } else if (!call_broken(self, which, error)) {
        self->raised = true;
    }
    if (verdict(self) == 0) check_goaway(self);
    return verdict(self);
}

static int on_frame_sent(nghttp2_session *session, const nghttp2_frame *frame, void *user)
{
    (void)session;
    Http2 *self = user;
    if (frame->hd.type == FRAME_GOAWAY && self->goaways-- == 0) { /* nghttp2's own: a rule of HTTP/2 was broken */
        span text = span_of(frame->goaway.opaque_data, frame->goaway.opaque_data_len);
        self->failed = true;
        uint32_t code = frame->goaway.error_code;
        event_add(self,
                  text.len ? Py_BuildValue("(iIs#)", EVENT_FAILED, code, text.at, (Py_ssize_t)text.len)
                           : Py_BuildValue("(iIN)", EVENT_FAILED, code, PyUnicode_FromFormat("HTTP/2 error %u", code)));
    }
    return answer_frame_sent(self, frame);
}

/* The callbacks and options of all connections; false: there is no memory. */
static bool prepared(nghttp2_session_callbacks **callbacks, nghttp2_option **option)
{
    static nghttp2_session_callbacks *made;
    static nghttp2_option *options;
    if (options == NULL) {
        if (nghttp2.session_callbacks_new(&made) != 0 || nghttp2.option_new(&options) != 0) return false;
        nghttp2.session_callbacks_set_on_begin_headers_callback(made, on_begin_headers);
        nghttp2.session_callbacks_set_on_header_callback2(made, on_header);
        nghttp2.session_callbacks_set_on_frame_recv_callback(made, on_frame);
        nghttp2.session_callbacks_set_on_invalid_frame_recv_callback(made, on_invalid_frame);
        nghttp2.session_callbacks_set_on_data_chunk_recv_callback(made, on_data);
        nghttp2.session_callbacks_set_on_stream_close_callback(made, on_stream_close);
        nghttp2.session_callbacks_set_on_frame_send_callback(made, on_frame_sent);
        nghttp2.option_set_no_auto_window_update(options, 1);
        nghttp2.option_set_no_http_messaging(options, 1); /* request_head.c checks it */
        nghttp2.option_set_no_closed_streams(options, 1); /* they would be kept for priorities, which are not used */
        nghttp2.option_set_max_outbound_ack(options, MOST_ACKS);
        if (nghttp2.option_set_stream_reset_rate_limit != NULL) { /* `guard` has a limit that needs no clock */
            nghttp2.option_set_stream_reset_rate_limit(options, INT64_MAX, 0);
        }
    }
    *callbacks = made;
    *option = options;
    return true;
}

/* The first frame, with one setting more: nghttp2 would end connections with too many calls, where they are refused. */
static bool begin_with_settings(Http2 *self)
{
    enum { SETTING = 6, MAX_CONCURRENT_STREAMS = 3 };
    const uint8_t *frame;
    ptrdiff_t length = nghttp2.session_mem_send(self->session, &frame);
    uint8_t *to = length > FRAME_HEADER ? queue_room(&self->out, (size_t)length + SETTING) : NULL;
    if (to == NULL) return false;
    memcpy(to, frame, (size_t)length);
    to[2] = (uint8_t)(to[2] + SETTING); /* the length of so few settings is one byte */
    put32(put16(to + length, MAX_CONCURRENT_STREAMS), (uint32_t)self->max_streams);
    self->out.end += (size_t)length + SETTING;
    return true;
}

bool connection_begin(Http2 *self, size_t window)
{
    enum { ENABLE_PUSH = 2, INITIAL_WINDOW_SIZE = 4, MAX_HEADER_LIST_SIZE = 6 };
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *option;
    nghttp2_settings_entry settings[] = {
        {ENABLE_PUSH, 0},
        {INITIAL_WINDOW_SIZE, (uint32_t)self->stream_window},
        {MAX_HEADER_LIST_SIZE, (uint32_t)self->max_header_list},
    };
    int32_t more = (int32_t)(window - STREAM_WINDOW);
    bool done =
        prepared(&callbacks, &option) && nghttp2.session_server_new2(&self->session, callbacks, self, option) == 0 &&
        nghttp2.submit_settings(self->session, 0, settings, sizeof settings / sizeof *settings) == 0 &&
        begin_with_settings(self) && (more == 0 || nghttp2.submit_window_update(self->session, 0, 0, more) == 0);
    if (!done && !PyErr_Occurred()) PyErr_NoMemory();
    return done;
}

void connection_fail(Http2 *self, uint32_t code, const char *text)
{
    if (self->failed) return;
    self->failed = true;
    enum { GOAWAY = FRAME_HEADER + 8 };
    uint8_t frame[GOAWAY] = {0, 0, GOAWAY - FRAME_HEADER, FRAME_GOAWAY};
    put32(put32(frame + FRAME_HEADER, (uint32_t)self->last), code);
    if (!queue_add(&self->out, span_of(frame, sizeof frame))) {
        self->raised = true;
        return;
    }
    event_add(self, Py_BuildValue("(iIs)", EVENT_FAILED, code, text));
}

/* Nothing is done with this connection any more but to write what `out` has. */
static void connection_end(Http2 *self)
{
    nghttp2.session_del(self->session);
    self->session = NULL;
    self->failed = true;
    while (self->first != NULL) call_forget(self, self->first);
}

bool connection_receive(Http2 *self, span data)
{
    size_t passed = guard_pass(&self->guard, data);
    ptrdiff_t taken = nghttp2.session_mem_recv(self->session, data.at, passed);
    if (taken == NGHTTP2_ERR_NOMEM) PyErr_NoMemory();
    self->raised = self->raised || taken == NGHTTP2_ERR_NOMEM;
    if (!self->raised && taken < 0) connection_fail(self, PROTOCOL_ERROR, nghttp2.strerror((int)taken));
    /* Control frames, and among them the GOAWAY that nghttp2 makes of an error. */
    if (!self->raised && !self->failed && !connection_send_control(self)) self->raised = true;
    if (!self->raised && !self->failed && passed < data.len) {
        connection_fail(self, self->guard.code, self->guard.text);
    }
    if (!self->raised && !self->failed) check_goaway(self);
    if (self->raised || self->failed) connection_end(self);
    return !self->raised;
}
