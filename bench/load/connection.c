#include "connection.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ANSWER_TIMEOUT_MS = 15000, RECEIVE_ROOM = 1 << 20 };

void fail(const char *format, ...)
{
    char line[600];
    va_list values;
    va_start(values, format);
    vsnprintf(line, sizeof line, format, values);
    va_end(values);
    fprintf(stderr, "load: %s\n", line);
    printf("{\"errors\": 1, \"error\": \"");
    for (const char *p = line; *p != 0; p++)
        putchar(*p == '"' || *p == '\\' || (unsigned char)*p < ' ' ? '\'' : *p);
    printf("\"}\n");
    exit(1);
}

void *zeroed(size_t count, size_t size)
{
    void *room = calloc(count, size);
    if (room == NULL)
        abort();
    return room;
}

int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void sleep_ms(int64_t milliseconds)
{
    nanosleep(&(struct timespec){.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000}, NULL);
}

/* The address that connections of this number come from; the first ones take what the kernel gives. */
static int bind_source(int fd, int number)
{
    struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1;
    if (number < FROM_ONE_ADDRESS)
        return 0;
    source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + (uint32_t)(number / FROM_ONE_ADDRESS));
    /* The port is chosen when the other end is known, so that it need not be free towards all others. */
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
    return bind(fd, (struct sockaddr *)&source, sizeof source);
}

int try_connect(const char *host, int port, int number)
{
    char service[16];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    snprintf(service, sizeof service, "%d", port);
    int problem = getaddrinfo(host, service, &hints, &found);
    if (problem != 0)
        fail("%s: %s", host, gai_strerror(problem));
    int fd = socket(found->ai_family, SOCK_STREAM, 0), one = 1;
    if (fd >= 0 && (bind_source(fd, number) != 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0)) {
        int reason = errno;
        close(fd);
        errno = reason;
        fd = -1;
    }
    freeaddrinfo(found);
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

void connection_open(struct connection *connection, const char *host, int port, int number)
{
    memset(connection, 0, sizeof *connection);
    connection->fd = try_connect(host, port, number);
    if (connection->fd < 0)
        fail("cannot connect to %s:%d: %s", host, port, strerror(errno));
    connection->in_room = RECEIVE_ROOM;
    connection->in = malloc(connection->in_room);
    if (connection->in == NULL)
        abort();
}

void connection_close(struct connection *connection)
{
    close(connection->fd);
    connection_forget(connection);
}

void connection_forget(struct connection *connection)
{
    free(connection->in);
    free(connection->out);
}

unsigned char *connection_room(struct connection *connection, size_t size)
{
    if (connection->out_start == connection->out_end)
        connection->out_start = connection->out_end = 0;
    if (connection->out_end + size > connection->out_room) {
        connection->out_room = (connection->out_end + size) * 2;
        connection->out = realloc(connection->out, connection->out_room);
        if (connection->out == NULL)
            abort();
    }
    return connection->out + connection->out_end;
}

int connection_flush(struct connection *connection)
{
    while (connection->out_start < connection->out_end) {
        ssize_t sent = send(connection->fd, connection->out + connection->out_start,
                            connection->out_end - connection->out_start, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
            return 1;
        if (sent < 0)
            fail("the server closed a connection: %s", strerror(errno));
        connection->out_start += (size_t)sent;
    }
    return 0;
}

void connection_watch(struct connection *connection, int epoll, void *owner)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = owner};
    epoll_ctl(epoll, EPOLL_CTL_ADD, connection->fd, &event);
}

void connection_flush_watched(struct connection *connection, int epoll, void *owner)
{
    bool waits = connection_flush(connection) != 0;
    if (waits == connection->waits_to_write)
        return;
    struct epoll_event event = {.events = EPOLLIN | (waits ? EPOLLOUT : 0), .data.ptr = owner};
    epoll_ctl(epoll, EPOLL_CTL_MOD, connection->fd, &event);
    connection->waits_to_write = waits;
}

size_t connection_receive(struct connection *connection)
{
    if (connection->in_start > 0) {
        /* The rest is the beginning of one frame: rarely more than a few hundred bytes. */
        memmove(connection->in, connection->in + connection->in_start, connection->in_end - connection->in_start);
        connection->in_end -= connection->in_start;
        connection->in_start = 0;
    }
    if (connection->in_end == connection->in_room) {
        connection->in_room *= 2;
        connection->in = realloc(connection->in, connection->in_room);
        if (connection->in == NULL)
            abort();
    }
    ssize_t got = recv(connection->fd, connection->in + connection->in_end, connection->in_room - connection->in_end,
                       MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return 0;
    if (got <= 0)
        fail("the server closed a connection%s%s", got < 0 ? ": " : "", got < 0 ? strerror(errno) : "");
    connection->in_end += (size_t)got;
    return (size_t)got;
}

int connection_next(struct connection *connection, struct answer *out)
{
    const unsigned char *data = connection->in + connection->in_start;
    size_t have = connection->in_end - connection->in_start;
    int64_t size = frame_size(data, have);
    if (size < 0)
        fail("the server sent a frame of impossible length");
    if (size == 0 || (size_t)size > have)
        return 0;
    const char *problem = read_answer(data, (size_t)size, out);
    if (problem != NULL)
        fail("%s", problem);
    connection->in_start += (size_t)size;
    return 1;
}

void require_success(const struct answer *answer, const char *what)
{
    if (answer->code != 0)
        fail("%s: code %lld, remark %.*s", what, (long long)answer->code,
             answer->remark == NULL ? 4 : (int)(answer->remark_length > 300 ? 300 : answer->remark_length),
             answer->remark == NULL ? "none" : answer->remark);
}

struct answer connection_ask(struct connection *connection, const unsigned char *frame, size_t size, uint32_t opaque,
                             int wanted, const char *what)
{
    struct answer answer;
    struct pollfd wait = {.fd = connection->fd, .events = POLLIN};
    memcpy(connection_room(connection, size), frame, size);
    connection->out_end += size;
    while (connection_flush(connection))
        poll(&(struct pollfd){.fd = connection->fd, .events = POLLOUT}, 1, ANSWER_TIMEOUT_MS);
    for (;;) {
        while (connection_next(connection, &answer)) {
            if (!(answer.flag & FLAG_RESPONSE))
                continue;
            if (answer.opaque != (int64_t)opaque)
                fail("%s: answer to another request", what);
            if (wanted == 0)
                require_success(&answer, what);
            return answer;
        }
        if (poll(&wait, 1, ANSWER_TIMEOUT_MS) == 0)
            fail("%s: no answer for %d s", what, ANSWER_TIMEOUT_MS / 1000);
        connection_receive(connection);
    }
}
