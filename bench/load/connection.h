/* A TCP connection to the broker: buffered out, whole frames in. Errors end the program with one line,
 * since a benchmark with a lost answer is no benchmark. */
#ifndef BENCH_CONNECTION_H
#define BENCH_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "answer.h"

struct connection {
    int fd;
    bool waits_to_write; /* epoll reports when the socket takes more */
    unsigned char *out;
    size_t out_start, out_end, out_room;
    unsigned char *in;
    size_t in_start, in_end, in_room;
};

/* Ends the program (exit code 1): the line goes to stderr and, as {"error": ...}, to stdout. */
void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

int64_t now_ns(void);

/* Room of zeros for as many; the program ends if there is none. */
void *zeroed(size_t count, size_t size);

void sleep_ms(int64_t milliseconds);

enum { FROM_ONE_ADDRESS = 2000 };

/* A connected socket with TCP_NODELAY, or -1 with errno set. The loopback network's addresses take turns after
 * FROM_ONE_ADDRESS connections each, by the connection's `number`, since one has no more than some 28,000 ports. */
int try_connect(const char *host, int port, int number);

void connection_open(struct connection *connection, const char *host, int port, int number);
void connection_close(struct connection *connection);

/* Gives back the buffers; the socket stays open until the process ends. */
void connection_forget(struct connection *connection);

/* Room for `size` more bytes to be sent; the caller adds what it wrote to out_end. */
unsigned char *connection_room(struct connection *connection, size_t size);

/* Sends what the socket takes; returns 1 when something remains. */
int connection_flush(struct connection *connection);

/* Has `epoll` report with `owner` when bytes have come. */
void connection_watch(struct connection *connection, int epoll, void *owner);

/* Sends what the socket takes of a watched connection; if something remains, epoll reports when it takes more. */
void connection_flush_watched(struct connection *connection, int epoll, void *owner);

/* One recv; 0 when there were no bytes. */
size_t connection_receive(struct connection *connection);

/* The next whole frame that has come in; 0 when there is none. `out` is valid until the next receive. */
int connection_next(struct connection *connection, struct answer *out);

/* Waits for the answer with this opaque (setup only); fails unless its code is `wanted` (-1: any). Requests of
 * the server are dropped. */
struct answer connection_ask(struct connection *connection, const unsigned char *frame, size_t size, uint32_t opaque,
                             int wanted, const char *what);

/* Fails with the server's remark unless the answer's code is 0. */
void require_success(const struct answer *answer, const char *what);

#endif
