/* The client's side of HTTP/2 for gRPC, as much as a load generator needs: requests of one message, whole answers.
 *
 * What is the same in all requests of a connection goes into the server's header table with the first one, as clients'
 * libraries do it. Headers of answers are not read: the verdict of a call is in its message, and a call that ends without
 * one has failed. */
#ifndef BENCH_HTTP2_H
#define BENCH_HTTP2_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "connection.h"

enum { HTTP2_FIELDS = 16, REQUEST_ID_DIGITS = 36, DATE_TIME_DIGITS = 16 };

/* A header field that the server may keep in its table. */
struct kept_field {
    const char *name, *value;
    int place; /* the how-manyth entry of the table it is, 0: it is not in there yet */
};

struct http2 {
    struct connection connection;
    struct kept_field fields[HTTP2_FIELDS];
    int known;               /* fields in use */
    int kept;                /* entries in the server's table */
    bool keeps, settled;     /* the server's table is large enough; its settings have come */
    bool resize;             /* the next request has to announce that the table is not used */
    uint32_t next_stream;
    uint64_t calls;          /* for request ids */
    int64_t window;          /* bytes that may still be sent */
    int64_t stream_window;   /* as it is when a stream begins */
    int64_t most_streams;
    int64_t taken;           /* bytes received and not yet granted again */
    char date_time[DATE_TIME_DIGITS + 1];
};

/* What the server sent for a stream: a piece of its answer, the last one if `ended`; code: why it was reset. */
struct http2_event {
    uint32_t stream;
    const unsigned char *data;
    size_t length;
    bool ended, reset;
    uint32_t code;
};

/* Connects and exchanges settings; `client_id` identifies the client in all calls, as a text that stays. */
void http2_open(struct http2 *http2, const char *host, int port, const char *authority, const char *client_id);
void http2_close(struct http2 *http2);

/* Whether a message of `size` bytes may be sent now. */
bool http2_may_send(const struct http2 *http2, size_t size);

/* Begins a call of the method (its whole path, a text that stays) with one message; returns the stream. `ended` is false for
 * a stream that stays open. `timeout`: a grpc-timeout, or NULL. */
uint32_t http2_call(struct http2 *http2, const char *path, const char *timeout, const unsigned char *message, size_t size,
                    bool ended);

/* The next event of a stream, of what was received; 0 when there is none. What the server sends for the connection is
 * answered. `out` is valid until the next receive. */
int http2_next(struct http2 *http2, struct http2_event *out);

#endif
