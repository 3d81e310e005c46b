/* `Http2`: the server's side of an HTTP/2 connection with gRPC calls, on libnghttp2. It does what its twin in
 * rocketwire.wire.http2.connection does; the interface is in rocketwire.wire.http2.events.
 *
 * http2_type.c is the type, incoming.c has nghttp2's callbacks for what is received, request_head.c reads headers,
 * repeated_head.c those that a client repeats, calls.c makes events of requests, outgoing.c sends answers. */
#ifndef ROCKETWIRE_HTTP2_H
#define ROCKETWIRE_HTTP2_H

#include "core/kernel.h"

#include "http2/byte_queue.h"
#include "http2/frame_guard.h"
#include "http2/intake.h"
#include "http2/nghttp2.h"

enum { /* events, as in rocketwire.wire.http2.events */
       EVENT_CALL,
       EVENT_OPENED,
       EVENT_MESSAGE,
       EVENT_ENDED,
       EVENT_RESET,
       EVENT_FAILED,
       EVENT_TOO_LONG,
};

enum { GRPC_OK = 0, GRPC_RESOURCE_EXHAUSTED = 8, GRPC_UNIMPLEMENTED = 12, GRPC_INTERNAL = 13 };

enum { MESSAGE_PREFIX = 5, STREAM_WINDOW = 65535 };

/* A call whose answer is not finished. */
typedef struct call {
    incoming in; /* first: the intake's request is the call */
    struct call *before, *after;
    PyObject *path, *fields; /* NULL once an event has them */
    bool streaming;
    bool ended; /* by the client */
    byte_queue data;
    size_t max_message;
    size_t size; /* of the message that has begun, with its prefix; 0: not known */
    size_t owed; /* bytes of the stream's window to give back */
    bool has_content_length;
    uint64_t content_length, received;
    size_t head;    /* bytes of its headers */
    bool started;   /* the answer's headers are made */
    bool deferred;  /* nghttp2 waits for more of the answer */
    bool finished;  /* nothing is added to the answer */
    int status;     /* of gRPC, for the trailers */
    PyObject *text; /* bytes: what is wrong, as it is sent; or NULL */
    byte_queue out; /* messages of the answer */
} call;

/* The headers that are being read. */
typedef struct {
    size_t size; /* as SETTINGS_MAX_HEADER_LIST_SIZE counts */
    bool trailers, malformed, regular, post, grpc, has_type, has_scheme;
    bool has_content_length;
    uint64_t content_length;
    PyObject *path, *authority, *fields, *method;
} request_head;

enum { SAME_FIELDS = 32, OTHER_VALUES = 4 };

typedef enum { FIELD_FIXED /* another value may mean something else */, FIELD_PLAIN, FIELD_PATH } field_kind;

typedef struct {
    nghttp2_rcbuf *name, *value; /* references, so that no others have their addresses */
    field_kind kind;
} head_field;

typedef struct {
    size_t place; /* of its field */
    nghttp2_rcbuf *value;
} other_value;

/* The headers of the last request, see repeated_head.c. */
typedef struct {
    head_field fields[SAME_FIELDS];
    size_t count;
    bool known;             /* `last_head` has the values of all fields */
    request_head last_head; /* of a request that became a call; its dict of fields is that of the call */
    bool follows;           /* the request that is read has the same first `matched` fields, but for `others` */
    bool notes;             /* its other fields are noted */
    size_t matched, size;
    other_value others[OTHER_VALUES];
    size_t other_count;
} repeated_head;

enum { TEXTS = 64, TEXT_MOST = 256 };

typedef struct {
    nghttp2_rcbuf *key; /* a reference, so that no other has its address */
    PyObject *text;
} cached_text;

typedef struct {
    PyObject_HEAD
    nghttp2_session *session; /* NULL once it has failed */
    frame_guard guard;
    intake intake;
    PyObject *streaming; /* a frozenset of paths */
    PyObject *longest;   /* a dict: the longest message of some paths */
    size_t max_message, max_header_list, max_streams, stream_window;
    PyObject *events;     /* a list, while something is received */
    bool raised;          /* a Python exception is set: nothing more is done */
    bool failed;          /* the connection is of no use */
    bool only_control;    /* answers are not sent */
    int goaways;          /* which this side wants and has not made yet */
    bool goaway_received; /* the client has sent GOAWAY */
    bool leaving;         /* one of them was requested */
    int32_t last;         /* the last stream that began */
    call *first;
    size_t calls;
    size_t heads;   /* bytes of the headers of all calls */
    size_t waiting; /* bytes of messages of answers */
    request_head head;
    repeated_head same;
    byte_queue out; /* whole frames */
    cached_text texts[TEXTS];
} Http2;

/* request_head.c */
bool head_add(Http2 *self, nghttp2_rcbuf *name, nghttp2_rcbuf *value); /* false: failed or raised */
void head_clear(request_head *head);
bool head_is_request(const request_head *head);
PyObject *head_text(Http2 *self, nghttp2_rcbuf *bytes);
field_kind head_kind(span name);                 /* what another value of this field would change */
bool head_may_have(field_kind kind, span value); /* a value of such a field that is sound */

/* repeated_head.c: what is read of headers; false: failed or raised. */
void repeated_head_begin(Http2 *self);
bool repeated_head_add(Http2 *self, nghttp2_rcbuf *name, nghttp2_rcbuf *value);
bool repeated_head_end(Http2 *self);
void repeated_head_keep(Http2 *self); /* the headers became those of a call */
void repeated_head_forget(repeated_head *same);

/* calls.c: false: a Python exception is set. */
bool event_add(Http2 *self, PyObject *event);
call *call_of(Http2 *self, int32_t stream); /* NULL: it is over */
bool call_open(Http2 *self, int32_t stream);
bool call_data(Http2 *self, call *to, span data);
bool call_end(Http2 *self, call *of);
bool call_broken(Http2 *self, call *which, uint32_t code);
void call_forget(Http2 *self, call *which);
void reset_stream(Http2 *self, int32_t stream, uint32_t code);

/* incoming.c */
void connection_fail(Http2 *self, uint32_t code, const char *text);
bool connection_begin(Http2 *self, size_t window);
bool connection_receive(Http2 *self, span data);

/* outgoing.c */
bool answer_message(Http2 *self, call *to, span payload);
bool answer_finish(Http2 *self, call *to, int status, PyObject *text); /* text: bytes as they are sent, or NULL */
void answer_http(Http2 *self, call *to, const char *status);
PyObject *status_text(PyObject *text);
int answer_frame_sent(Http2 *self, const nghttp2_frame *frame);
bool connection_send(Http2 *self, size_t most); /* false: an exception is set */
bool connection_send_control(Http2 *self);      /* all frames but DATA */

#endif
