#include "timer_send.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "connection.h"
#include "frames.h"

enum { STALL_SECONDS = 15, MAX_EVENTS = 64 };

struct lane {
    struct connection connection;
    int64_t *numbers; /* of the message in flight at each place, -1: none; the opaque is FIRST_OPAQUE + place */
    int *free_places;
    int freed;
    bool touched;
};

struct sending {
    const struct options *options;
    const struct schedule *schedule;
    struct lane *lanes;
    struct request_template *templates; /* one a queue */
    int64_t *again;                     /* messages that the server was too busy for */
    int64_t again_count, next, answered;
    int64_t started, lag;
    double step_ns; /* paced: between two turns */
    int turn;       /* lane that the next message goes to */
    int epoll;
};

int64_t due_of(const struct schedule *schedule, int64_t number)
{
    return schedule->first_ms + (int64_t)(schedule->span_ms * (double)number / (double)schedule->count);
}

static void issue(struct sending *sending, struct lane *lane, int64_t number, const char *born)
{
    int place = lane->free_places[--lane->freed];
    const struct request_template *request = &sending->templates[number % sending->options->queues];
    unsigned char *room = connection_room(&lane->connection, request->length);
    lane->connection.out_end += write_send(room, request, FIRST_OPAQUE + (uint32_t)place, born, (uint64_t)number);
    write_due(room, request, due_of(sending->schedule, number));
    lane->numbers[place] = number;
    lane->touched = true;
}

static void flush(struct sending *sending, struct lane *lane)
{
    lane->touched = false;
    connection_flush_watched(&lane->connection, sending->epoll, lane);
}

/* Sends the messages whose time has come, as far as the windows have room; the lanes take turns. */
static void give_out(struct sending *sending)
{
    const struct options *o = sending->options;
    int64_t allowed = sending->schedule->count;
    char born[BORN_DIGITS + 1];
    write_born(born);
    if (o->paced) {
        int64_t turns = (int64_t)((double)(now_ns() - sending->started) / sending->step_ns) + 1;
        allowed = turns < allowed ? turns : allowed;
    }
    for (int lanes = 0; lanes < o->connections; lanes++) {
        struct lane *lane = &sending->lanes[sending->turn++ % o->connections];
        while (lane->freed > 0 && (sending->again_count > 0 || sending->next < allowed))
            issue(sending, lane, sending->again_count > 0 ? sending->again[--sending->again_count] : sending->next++, born);
        if (lane->touched)
            flush(sending, lane);
        if (sending->again_count == 0 && sending->next >= allowed)
            return;
    }
}

static void complete(struct sending *sending, struct lane *lane, const struct answer *answer, int64_t now)
{
    int64_t place = answer->opaque - FIRST_OPAQUE;
    if (!(answer->flag & FLAG_RESPONSE))
        return;
    if (place < 0 || place >= sending->options->window || lane->numbers[place] < 0)
        fail("an answer to a request that is not open (opaque %lld)", (long long)answer->opaque);
    int64_t number = lane->numbers[place];
    lane->numbers[place] = -1;
    lane->free_places[lane->freed++] = (int)place;
    if (answer->code == RESPONSE_SYSTEM_BUSY) {
        sending->again[sending->again_count++] = number;
        return;
    }
    require_success(answer, "timer");
    sending->answered++;
    int64_t lag = now - sending->started - (int64_t)(sending->step_ns * (double)number);
    if (lag > sending->lag)
        sending->lag = lag;
}

static void drive(struct sending *sending)
{
    struct epoll_event events[MAX_EVENTS];
    int64_t last_answer = now_ns();
    sending->started = last_answer;
    while (sending->answered < sending->schedule->count) {
        give_out(sending);
        int ready = epoll_wait(sending->epoll, events, MAX_EVENTS, sending->options->paced ? 1 : 1000);
        int64_t now = now_ns();
        for (int i = 0; i < ready; i++) {
            struct lane *lane = events[i].data.ptr;
            struct answer answer;
            if (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP) && connection_receive(&lane->connection) > 0) {
                last_answer = now;
                while (connection_next(&lane->connection, &answer))
                    complete(sending, lane, &answer, now);
            }
            if (lane->connection.waits_to_write)
                flush(sending, lane);
        }
        if (now - last_answer > (int64_t)STALL_SECONDS * 1000000000)
            fail("no answer to a send for %d s", STALL_SECONDS);
    }
}

static void open_lane(struct sending *sending, struct lane *lane, int number)
{
    const struct options *o = sending->options;
    connection_open(&lane->connection, o->host, o->port, number);
    lane->numbers = zeroed((size_t)o->window, sizeof *lane->numbers);
    lane->free_places = zeroed((size_t)o->window, sizeof *lane->free_places);
    for (int place = 0; place < o->window; place++) {
        lane->numbers[place] = -1;
        lane->free_places[lane->freed++] = place;
    }
    connection_watch(&lane->connection, sending->epoll, lane);
}

struct sent send_all(const struct options *o, const struct schedule *schedule)
{
    struct sending sending = {.options = o, .schedule = schedule, .epoll = epoll_create1(0)};
    struct message_shape shape = shape_of(o);
    struct sent sent = {0};
    sending.lanes = zeroed((size_t)o->connections, sizeof *sending.lanes);
    sending.templates = zeroed((size_t)o->queues, sizeof *sending.templates);
    sending.again = zeroed((size_t)o->connections * (size_t)o->window, sizeof *sending.again);
    sending.step_ns = o->paced ? schedule->span_ms * 1e6 / (double)schedule->count : 0;
    for (int queue = 0; queue < o->queues; queue++)
        make_send_template(&sending.templates[queue], &shape, queue);
    for (int i = 0; i < o->connections; i++)
        open_lane(&sending, &sending.lanes[i], i);
    drive(&sending);
    memcpy(sent.unique_prefix, shape.unique_prefix, sizeof sent.unique_prefix);
    sent.seconds = (double)(now_ns() - sending.started) / 1e9;
    sent.lag_ms = o->paced ? (double)sending.lag / 1e6 : 0;
    for (int i = 0; i < o->connections; i++) {
        connection_close(&sending.lanes[i].connection);
        free(sending.lanes[i].numbers);
        free(sending.lanes[i].free_places);
    }
    for (int queue = 0; queue < o->queues; queue++)
        free_template(&sending.templates[queue]);
    free(sending.lanes);
    free(sending.templates);
    free(sending.again);
    close(sending.epoll);
    return sent;
}
