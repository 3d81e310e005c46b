#include "runs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "connection.h"
#include "run.h"

enum { STALL_SECONDS = 15, MAX_EVENTS = 64 };

static void refresh_born(struct run *run, int64_t now)
{
    if (now < run->born_until)
        return;
    write_born(run->born);
    run->born_until = now + 1000000;
}

/* Takes the next opaque of the slot. */
static void take(struct run *run, struct slot *slot, int number, int64_t now)
{
    uint32_t window = (uint32_t)run->options->window;
    slot->opaque = FIRST_OPAQUE + (slot->uses++ % (1000000000u / window)) * window + (uint32_t)number;
    slot->busy = true;
    slot->sent_at = now;
    run->in_flight++;
}

static void issue(struct run *run, struct lane *lane, int number, int64_t now)
{
    const struct options *o = run->options;
    struct slot *slot = &lane->slots[number];
    take(run, slot, number, now);
    if (o->mode == MODE_PULL) {
        unsigned char *room = connection_room(&lane->connection, FRAME_ROOM);
        lane->connection.out_end += write_pull(room, slot->opaque, o->topic, o->group, o->broker_name, slot->queue,
                                               slot->offset, o->batch, o->sql);
        return;
    }
    if (o->mode == MODE_RETRY) {
        unsigned char *room = connection_room(&lane->connection, FRAME_ROOM);
        const struct sent_message *message = &run->sent_back[run->counter++ % RETRIED_MESSAGES];
        lane->connection.out_end +=
            write_send_back(room, slot->opaque, o->topic, o->group, o->broker_name, message, o->delay);
        run->issued++;
        return;
    }
    refresh_born(run, now);
    uint64_t requests = run->counter / (uint64_t)run->templates->items;
    const struct request_template *request = &run->templates[requests % (uint64_t)o->queues];
    unsigned char *room = connection_room(&lane->connection, request->length);
    lane->connection.out_end += write_send(room, request, slot->opaque, run->born, run->counter);
    slot->counter = run->counter;
    run->counter += (uint64_t)request->items;
    run->issued += request->items;
}

/* The broker's answer about the message that the slot sent. */
static struct sent_message stored(const struct run *run, const struct slot *slot, const struct answer *answer)
{
    if (answer->physical_offset < 0 || answer->queue_offset < 0)
        fail("the answer to a send has no message id or no queue offset");
    return (struct sent_message){.unique_prefix = run->unique_prefix, .counter = slot->counter,
                                 .physical_offset = answer->physical_offset, .queue_offset = answer->queue_offset};
}

/* Transaction: the message is stored, commit it. The time runs from the message's request. */
static void commit(struct run *run, struct lane *lane, int number, const struct answer *answer)
{
    struct slot *slot = &lane->slots[number];
    struct sent_message message = stored(run, slot, answer);
    unsigned char *room = connection_room(&lane->connection, FRAME_ROOM);
    take(run, slot, number, slot->sent_at);
    slot->prepared = true;
    lane->connection.out_end +=
        write_commit(room, slot->opaque, run->options->group, run->options->broker_name, &message);
}

/* The number of messages that the pull examined, with a filter also those that did not pass it. */
static int check_pull(struct run *run, struct slot *slot, const struct answer *answer)
{
    bool filtered = run->options->sql != NULL;
    int64_t next = answer->next_begin_offset;
    int records = answer->body_length == 0 ? 0
                  : filtered ? count_filtered(answer->body, answer->body_length, slot->offset, next)
                             : count_records(answer->body, answer->body_length, slot->offset);
    if (records < 0 || (records == 0 && !filtered))
        fail("pull of queue %d at %lld: no whole records in the body", slot->queue, (long long)slot->offset);
    if (filtered ? next <= slot->offset : next != slot->offset + records)
        fail("pull of queue %d at %lld: %d records but next offset %lld", slot->queue, (long long)slot->offset, records,
             (long long)next);
    int passed = (int)(next - slot->offset);
    slot->offset = next >= run->max_offsets[slot->queue] ? 0 : next;
    return passed;
}

static void complete(struct run *run, struct lane *lane, const struct answer *answer, int64_t now)
{
    const struct options *o = run->options;
    int number = (int)((answer->opaque - FIRST_OPAQUE) % o->window);
    struct slot *slot = &lane->slots[number < 0 ? 0 : number];
    if (!(answer->flag & FLAG_RESPONSE))
        return; /* a request of the server, as "consumer ids changed" */
    if (!slot->busy || (int64_t)slot->opaque != answer->opaque)
        fail("an answer to a request that is not open (opaque %lld)", (long long)answer->opaque);
    if (o->patient && answer->code == RESPONSE_SYSTEM_BUSY) {
        slot->busy = false;
        run->in_flight--;
        run->issued -= run->items;
        issue(run, lane, number, now);
        return;
    }
    bool nothing_passed = o->sql != NULL && answer->code == RESPONSE_PULL_RETRY_IMMEDIATELY && answer->body_length == 0;
    if (!nothing_passed)
        require_success(answer, o->mode_name);
    slot->busy = false;
    run->in_flight--;
    if (o->mode == MODE_TRANSACTION && !slot->prepared) {
        commit(run, lane, number, answer);
        return;
    }
    slot->prepared = false;
    int messages = o->mode == MODE_PULL ? check_pull(run, slot, answer) : run->items;
    if (run->sent != NULL && slot->counter < RETRIED_MESSAGES)
        run->sent[slot->counter] = stored(run, slot, answer);
    if (run->measuring) {
        run->result->messages += messages;
        run->result->requests++;
        histogram_add(&run->result->latency, now - slot->sent_at);
    }
    if (o->count > 0 && run->issued >= o->count)
        run->stopping = true;
    if (!run->stopping)
        issue(run, lane, number, now);
}

static void drive(struct run *run)
{
    const struct options *o = run->options;
    struct epoll_event events[MAX_EVENTS];
    struct stopwatch watch = {0};
    int64_t started = now_ns(), measure_from = started + (int64_t)((o->count > 0 ? 0 : o->warmup) * 1e9);
    int64_t now = started, last_answer = started;
    for (int i = 0; i < o->connections; i++) {
        for (int number = 0; number < o->window; number++)
            issue(run, &run->lanes[i], number, now);
        connection_flush_watched(&run->lanes[i].connection, run->epoll, &run->lanes[i]);
    }
    bool ended = false;
    while (run->in_flight > 0 || !run->stopping) {
        if (!run->measuring && !ended && now >= measure_from) {
            watch = stopwatch_start(o->server_pid);
            now = watch.started_at;
            run->measuring = true;
        }
        int ready = epoll_wait(run->epoll, events, MAX_EVENTS, 1000);
        for (int i = 0; i < ready; i++) {
            struct lane *lane = events[i].data.ptr;
            struct answer answer;
            if (events[i].events & (EPOLLIN | EPOLLERR | EPOLLHUP) && connection_receive(&lane->connection) > 0) {
                last_answer = now = now_ns();
                while (connection_next(&lane->connection, &answer))
                    complete(run, lane, &answer, now);
            }
            connection_flush_watched(&lane->connection, run->epoll, lane);
        }
        now = now_ns();
        if (now - last_answer > (int64_t)STALL_SECONDS * 1000000000)
            fail("no answer for %d s", STALL_SECONDS);
        bool over = o->count > 0 ? run->stopping && run->in_flight == 0
                                 : now - watch.started_at >= (int64_t)(o->seconds * 1e9);
        if (run->measuring && over) {
            /* Requests still in flight are awaited and checked, but not counted. */
            stopwatch_stop(&watch, run->result);
            run->measuring = false;
            run->stopping = ended = true;
        }
    }
}

static void run_all(struct run *run);

/* Retry: the messages to send back must exist. */
static void prepare_retry(struct run *run)
{
    static struct result ignored;
    struct options fill = *run->options;
    fill.mode = MODE_SEND;
    fill.delay = 0;
    fill.count = RETRIED_MESSAGES;
    fill.patient = 1;
    run->items = 1;
    run->sent_back = zeroed(RETRIED_MESSAGES, sizeof *run->sent_back);
    struct run sending = {.options = &fill, .result = &ignored, .sent = run->sent_back};
    run_all(&sending);
    memcpy(run->unique_prefix, sending.unique_prefix, sizeof run->unique_prefix);
    for (int i = 0; i < RETRIED_MESSAGES; i++)
        run->sent_back[i].unique_prefix = run->unique_prefix;
}

static void run_all(struct run *run)
{
    const struct options *o = run->options;
    if (o->mode == MODE_RETRY)
        prepare_retry(run);
    else if (o->mode != MODE_PULL)
        prepare_send(run);
    run->epoll = epoll_create1(0);
    run->lanes = zeroed((size_t)o->connections, sizeof *run->lanes);
    for (int i = 0; i < o->connections; i++) {
        struct lane *lane = &run->lanes[i];
        connection_open(&lane->connection, o->host, o->port, 0);
        lane->slots = zeroed((size_t)o->window, sizeof *lane->slots);
        connection_watch(&lane->connection, run->epoll, lane);
    }
    if (o->mode == MODE_PULL)
        prepare_pull(run);
    drive(run);
    run->result->sent = (int64_t)run->counter;
    for (int i = 0; i < o->connections; i++) {
        connection_close(&run->lanes[i].connection);
        free(run->lanes[i].slots);
    }
    for (int queue = 0; run->templates != NULL && queue < o->queues; queue++)
        free_template(&run->templates[queue]);
    free(run->templates);
    free(run->sent_back);
    free(run->max_offsets);
    free(run->lanes);
    close(run->epoll);
}

void run_pipeline(const struct options *options, struct result *out)
{
    struct run run = {.options = options, .result = out};
    run_all(&run);
}
