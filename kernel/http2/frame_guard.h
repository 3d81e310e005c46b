/* What is checked of frames before nghttp2 sees them: see rocketwire.wire.http2.guard. */
#ifndef ROCKETWIRE_FRAME_GUARD_H
#define ROCKETWIRE_FRAME_GUARD_H

#include "core/span.h"

enum { /* frames */
       FRAME_DATA,
       FRAME_HEADERS,
       FRAME_PRIORITY,
       FRAME_RST_STREAM,
       FRAME_SETTINGS,
       FRAME_PUSH_PROMISE,
       FRAME_PING,
       FRAME_GOAWAY,
       FRAME_WINDOW_UPDATE,
       FRAME_CONTINUATION,
};

enum { FLAG_END_STREAM = 1, FLAG_ACK = 1, FLAG_END_HEADERS = 4 };

enum { /* error codes of HTTP/2 */
       NO_ERROR = 0,
       PROTOCOL_ERROR = 1,
       FRAME_SIZE_ERROR = 6,
       REFUSED_STREAM = 7,
       ENHANCE_YOUR_CALM = 11,
};

enum { FRAME_HEADER = 9 };

typedef struct {
    size_t most_headers;
    int credit;
    size_t preface;               /* bytes of it that have come */
    bool begun;                   /* whether the first frame has come */
    uint8_t header[FRAME_HEADER]; /* of a frame, as far as it has come */
    size_t header_length;
    size_t rest;       /* bytes to come of the frame whose header came last */
    uint32_t block_of; /* the stream of a block of headers that is not whole; else 0 */
    size_t block;      /* its bytes */
    int continuations; /* its frames */
    uint32_t code;     /* of a violation */
    char text[96];     /* which one */
} frame_guard;

void guard_begin(frame_guard *guard, size_t most_headers);

/* A frame of an answer was made. */
void guard_restore_credit(frame_guard *guard);

/* The client made the server reset a stream. */
void guard_charge_reset(frame_guard *guard);

/* How many of the bytes that were received nghttp2 may have. Less than all: the connection must be closed, with `code`
 * and `text` as the reason. */
size_t guard_pass(frame_guard *guard, span data);

#endif
