/* Raw load generator: hand-made remoting frames against any RocketMQ broker, one JSON line of results.
 *
 *   options.c     the command line         frames.c     requests, as the Java client writes them
 *   connection.c  sockets and buffers      answer.c     answers and the records of a pull
 *   pipeline.c    the pipelined run        measure.c    latencies, rates, CPU time
 *   prepare.c     what comes before it     command_line.c  its options
 *   delivery.c    delayed messages         many.c       many connections
 *   idle.c        connections at rest     queues.c     how much queues hold
 *   timer.c       messages with a time to deliver; timer_send.c sends them
 *
 * Every answer is checked; the first wrong one ends the run with exit code 1 and {"errors": 1, "error": ...}. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "connection.h"
#include "frames.h"
#include "measure.h"
#include "options.h"
#include "runs.h"

enum { FIRST_DEADLINE_SECONDS = 60, PARK_MS = 3, SETTLE_MS = 200, WAKE_TIMEOUT_MS = 5000 };

static size_t one_send(unsigned char *out, const struct options *o, uint32_t opaque, int queue, uint64_t counter)
{
    struct message_shape shape = shape_of(o);
    struct request_template request;
    char born[BORN_DIGITS + 1];
    write_born(born);
    make_send_template(&request, &shape, queue);
    size_t size = write_send(out, &request, opaque, born, counter);
    if (shape.with_due)
        write_due(out, &request, strtoll(born, NULL, 10) + (int64_t)(o->ahead * 1e3));
    free_template(&request);
    return size;
}

static void create_topic(const struct options *o)
{
    struct connection connection;
    unsigned char frame[FRAME_ROOM];
    connection_open(&connection, o->host, o->port, 0);
    size_t size = write_create_topic(frame, FIRST_OPAQUE, o->topic, o->queues);
    connection_ask(&connection, frame, size, FIRST_OPAQUE, 0, "create topic");
    connection_close(&connection);
    printf("{\"mode\": \"topic\", \"errors\": 0}\n");
}

/* 1 when a send on this fresh socket is answered with code 0. Anything else means: not up yet. */
static int accepts_send(int fd, const unsigned char *frame, size_t size)
{
    unsigned char data[4096];
    size_t have = 0;
    struct answer answer;
    struct timeval limit = {.tv_sec = 2};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (send(fd, frame, size, MSG_NOSIGNAL) != (ssize_t)size)
        return 0;
    while (have < sizeof data) {
        ssize_t got = recv(fd, data + have, sizeof data - have, 0);
        if (got <= 0)
            return 0;
        have += (size_t)got;
        int64_t whole = frame_size(data, have);
        if (whole < 0)
            return 0;
        if (whole > 0 && (size_t)whole <= have)
            return read_answer(data, (size_t)whole, &answer) == NULL && answer.code == 0;
    }
    return 0;
}

/* Prints when, on CLOCK_MONOTONIC, the first send was accepted. */
static void first_accepted(const struct options *o)
{
    unsigned char *frame = zeroed(1, FRAME_ROOM + (size_t)o->size);
    size_t size = one_send(frame, o, FIRST_OPAQUE, 0, 0);
    int64_t deadline = now_ns() + (int64_t)FIRST_DEADLINE_SECONDS * 1000000000;
    while (now_ns() < deadline) {
        int fd = try_connect(o->host, o->port, 0), accepted = fd >= 0 && accepts_send(fd, frame, size);
        int64_t at = now_ns();
        if (fd >= 0)
            close(fd);
        if (accepted) {
            printf("{\"mode\": \"first\", \"accepted_at\": %.6f, \"errors\": 0}\n", (double)at / 1e9);
            free(frame);
            return;
        }
        sleep_ms(2);
    }
    fail("no send accepted for %d s", FIRST_DEADLINE_SECONDS);
}

/* Receives until the next answer, or fails; requests of the server are dropped. */
static struct answer next_answer(struct connection *connection, const char *what)
{
    struct answer answer;
    for (;;) {
        while (connection_next(connection, &answer))
            if (answer.flag & FLAG_RESPONSE) {
                require_success(&answer, what);
                return answer;
            }
        if (poll(&(struct pollfd){.fd = connection->fd, .events = POLLIN}, 1, WAKE_TIMEOUT_MS) == 0)
            fail("%s: no answer for %d s", what, WAKE_TIMEOUT_MS / 1000);
        connection_receive(connection);
    }
}

static void post(struct connection *connection, const unsigned char *frame, size_t size)
{
    memcpy(connection_room(connection, size), frame, size);
    connection->out_end += size;
    if (connection_flush(connection))
        fail("a single request does not fit the socket");
}

static void run_wake(const struct options *o, struct result *result)
{
    struct connection consumer, producer;
    size_t room = FRAME_ROOM + (size_t)o->size;
    unsigned char *frame = zeroed(1, room);
    char client[64];
    uint32_t opaque = FIRST_OPAQUE;
    snprintf(client, sizeof client, "127.0.0.1@wake%d", (int)getpid());
    connection_open(&consumer, o->host, o->port, 0);
    connection_open(&producer, o->host, o->port, 0);
    size_t size = write_heartbeat(frame, opaque, o->topic, o->group, client, NULL);
    connection_ask(&consumer, frame, size, opaque, 0, "heartbeat");
    size = one_send(frame, o, opaque, 0, 0);
    int64_t offset = connection_ask(&producer, frame, size, opaque, 0, "send").queue_offset + 1;
    sleep_ms(SETTLE_MS); /* Apache's consume queue follows a little after the send's answer */
    struct stopwatch watch = stopwatch_start(o->server_pid);
    int64_t counted_from = watch.started_at + (int64_t)(o->warmup * 1e9);
    while (now_ns() < counted_from + (int64_t)(o->seconds * 1e9)) {
        post(&consumer, frame, write_pull(frame, ++opaque, o->topic, o->group, o->broker_name, 0, offset, o->batch, NULL));
        sleep_ms(PARK_MS); /* so that the pull is held when the message comes */
        size = one_send(frame, o, opaque, 0, opaque);
        int64_t sent_at = now_ns();
        post(&producer, frame, size);
        struct answer answer = next_answer(&consumer, "held pull");
        int64_t woken = now_ns();
        if (answer.opaque != (int64_t)opaque || count_records(answer.body, answer.body_length, offset) != 1)
            fail("the held pull at %lld was not answered with the one message", (long long)offset);
        offset = answer.next_begin_offset;
        next_answer(&producer, "send");
        if (sent_at >= counted_from) {
            histogram_add(&result->latency, woken - sent_at);
            result->messages++;
            result->requests++;
        }
    }
    stopwatch_stop(&watch, result);
    result->seconds -= o->warmup;
    connection_close(&consumer);
    connection_close(&producer);
    free(frame);
}

/* Writes request frames to standard output, for the tests of this program. What is about a message sent before is about one
 * that was stored at 1000 and further on. */
static void dump(const struct options *o)
{
    size_t room = FRAME_ROOM + (size_t)o->batch * ((size_t)o->size + FRAME_ROOM);
    unsigned char *frame = zeroed(1, room);
    struct message_shape shape = shape_of(o);
    for (int i = 0; i < o->dump; i++) {
        uint32_t opaque = FIRST_OPAQUE + (uint32_t)i;
        size_t size;
        struct sent_message message = {.unique_prefix = shape.unique_prefix, .counter = (uint64_t)i,
                                       .physical_offset = 1000 + i, .queue_offset = i};
        if (o->mode == MODE_PULL)
            size = write_pull(frame, opaque, o->topic, o->group, o->broker_name, i % o->queues, i, o->batch, o->sql);
        else if (o->mode == MODE_RETRY)
            size = write_send_back(frame, opaque, o->topic, o->group, o->broker_name, &message, o->delay);
        else if (o->mode == MODE_TRANSACTION && i % 2 == 1)
            size = write_commit(frame, opaque, o->group, o->broker_name, &message);
        else if (o->mode != MODE_WAKE)
            size = one_send(frame, o, opaque, i % o->queues, (uint64_t)(i * (o->mode == MODE_BATCH ? o->batch : 1)));
        else if (i % 3 == 0)
            size = write_heartbeat(frame, opaque, o->topic, o->group, "127.0.0.1@dump", o->sql);
        else if (i % 3 == 1)
            size = write_max_offset(frame, opaque, o->topic, o->broker_name, i % o->queues);
        else
            size = write_create_topic(frame, opaque, o->topic, o->queues);
        fwrite(frame, 1, size, stdout);
    }
    free(frame);
}

int main(int argc, char **argv)
{
    struct options options = read_options(argc, argv);
    static struct result result;
    if (options.dump > 0) {
        dump(&options);
        return 0;
    }
    switch (options.mode) {
    case MODE_TOPIC:
        create_topic(&options);
        return 0;
    case MODE_FIRST:
        first_accepted(&options);
        return 0;
    case MODE_IDLE:
        run_idle(&options);
        return 0;
    case MODE_TIMER:
        run_timer(&options);
        return 0;
    case MODE_WAKE:
        run_wake(&options, &result);
        break;
    case MODE_DELIVERY:
        run_delivery(&options, &result);
        break;
    case MODE_MANY:
        run_many(&options, &result);
        break;
    default:
        run_pipeline(&options, &result);
    }
    print_result(options.mode_name, &result);
    return 0;
}
