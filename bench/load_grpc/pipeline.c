#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "lane.h"
#include "run.h"

enum { STALL_SECONDS = 30, MAX_EVENTS = 64, MOST = 32, POLLING_SECONDS = 5 };
static const char TIMEOUT[] = "20S";

struct run {
    const struct options *options;
    struct result *result;
    struct lane *lanes;
    struct send_template send;
    unsigned char *request; /* room for a send, or for the receive that all calls make */
    size_t receive_size;
    uint64_t counter;
    int64_t in_flight, acknowledged;
    bool measuring, stopping;
    int epoll;
};

/* Begins the next call of a free slot, if the server lets it be sent. */
static void issue(struct run *run, struct lane *lane, int slot, int64_t now)
{
    bool sends = run->options->mode == MODE_SEND;
    size_t size = sends ? run->send.length : run->receive_size;
    if (!http2_may_send(&lane->http2, size))
        return;
    if (sends)
        write_send(run->request, &run->send, run->counter++);
    lane_call(lane, slot, sends ? SLOT_SEND : SLOT_RECEIVE, sends ? SEND_MESSAGE : RECEIVE_MESSAGE, TIMEOUT, run->request,
              size, now);
    run->in_flight++;
}

static void acknowledge(struct run *run, struct lane *lane, int number, int64_t now)
{
    const struct options *o = run->options;
    struct delivered messages[MOST];
    struct slot *slot = &lane->slots[number];
    slot->messages = lane_received(slot, messages, o->batch);
    if (slot->messages == 0) {
        slot->state = SLOT_FREE;
        run->in_flight--;
        if (!run->stopping)
            issue(run, lane, number, now);
        return;
    }
    size_t room = ack_room(o->group, o->topic, messages, slot->messages);
    unsigned char *request = zeroed(1, room);
    size_t size = write_ack(request, o->group, o->topic, messages, slot->messages);
    if (!http2_may_send(&lane->http2, size))
        fail("the server lets no acknowledgement of %zu bytes be sent", size);
    int64_t began_at = slot->began_at; /* the time is that of both calls */
    lane_call(lane, number, SLOT_ACK, ACK_MESSAGE, TIMEOUT, request, size, began_at);
    free(request);
}

static void complete(struct run *run, struct lane *lane, int number, int64_t now)
{
    struct slot *slot = &lane->slots[number];
    if (slot->state == SLOT_RECEIVE) {
        acknowledge(run, lane, number, now);
        return;
    }
    lane_check(slot, slot->state == SLOT_SEND ? "send" : "acknowledge");
    int messages = slot->state == SLOT_SEND ? 1 : slot->messages;
    slot->state = SLOT_FREE;
    run->in_flight--;
    run->acknowledged += messages;
    if (run->measuring) {
        run->result->messages += messages;
        run->result->requests++;
        histogram_add(&run->result->latency, now - slot->began_at);
    }
    if (!run->stopping)
        issue(run, lane, number, now);
}

/* Slots that had to wait for the server's window. */
static void catch_up(struct run *run, struct lane *lane, int64_t now)
{
    for (int number = 0; number < lane->count && !run->stopping; number++)
        if (lane->slots[number].state == SLOT_FREE)
            issue(run, lane, number, now);
}

static void drive(struct run *run)
{
    const struct options *o = run->options;
    struct epoll_event events[MAX_EVENTS];
    struct stopwatch watch = {0};
    int64_t now = now_ns(), measure_from = now + (int64_t)(o->warmup * 1e9), last_answer = now;
    bool ended = false;
    for (int i = 0; i < o->connections; i++) {
        catch_up(run, &run->lanes[i], now);
        connection_flush_watched(&run->lanes[i].http2.connection, run->epoll, &run->lanes[i]);
    }
    /* Sends still in flight at the end are awaited and checked, but not counted. Receives may wait for long. */
    while (!ended || (run->in_flight > 0 && o->mode == MODE_SEND)) {
        if (!run->measuring && !ended && now >= measure_from) {
            watch = stopwatch_start(o->server_pid);
            now = watch.started_at;
            run->measuring = true;
        }
        int ready = epoll_wait(run->epoll, events, MAX_EVENTS, 100);
        for (int i = 0; i < ready; i++) {
            struct lane *lane = events[i].data.ptr;
            if (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP) && connection_receive(&lane->http2.connection) > 0) {
                last_answer = now = now_ns();
                for (int slot; (slot = lane_next(lane)) >= 0;)
                    complete(run, lane, slot, now);
                catch_up(run, lane, now);
            }
            connection_flush_watched(&lane->http2.connection, run->epoll, lane);
        }
        now = now_ns();
        if (now - last_answer > (int64_t)STALL_SECONDS * 1000000000)
            fail("no answer for %d s", STALL_SECONDS);
        bool empty = o->count > 0 && run->acknowledged >= o->count;
        if (run->measuring && (empty || now - watch.started_at >= (int64_t)(o->seconds * 1e9))) {
            stopwatch_stop(&watch, run->result);
            if (empty)
                run->result->seconds = (double)(last_answer - watch.started_at) / 1e9;
            run->measuring = false;
            run->stopping = ended = true;
        }
    }
}

void run_pipeline(const struct options *options, struct result *out)
{
    const struct options *o = options;
    struct run run = {.options = o, .result = out};
    make_send(&run.send, o->topic, (size_t)o->size, (uint64_t)now_ns());
    run.request = zeroed(1, run.send.length > 2 * REQUEST_ROOM ? run.send.length : 2 * REQUEST_ROOM);
    run.lanes = zeroed((size_t)o->connections, sizeof *run.lanes);
    if (o->mode == MODE_RECEIVE)
        run.receive_size =
            write_receive(run.request, o->group, o->topic, o->broker_name, o->batch, o->invisible, POLLING_SECONDS);
    run.epoll = epoll_create1(0);
    for (int i = 0; i < o->connections; i++) {
        struct lane *lane = &run.lanes[i];
        lane_open(lane, o, i, o->window);
        if (o->mode == MODE_RECEIVE)
            lane_introduce(lane, o);
        connection_watch(&lane->http2.connection, run.epoll, lane);
    }
    drive(&run);
    for (int i = 0; i < o->connections; i++)
        lane_close(&run.lanes[i]);
    free(run.lanes);
    free(run.request);
    free_send(&run.send);
    close(run.epoll);
}
