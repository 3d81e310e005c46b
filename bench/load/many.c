#include "runs.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "connection.h"
#include "frames.h"

enum { STALL_SECONDS = 15, MAX_EVENTS = 256, TIME_DIGITS = 16 };

struct peer {
    struct connection connection;
    bool producer, touched;
    int topic, queue;
    uint32_t opaque; /* consumer: of the held pull */
    int64_t offset;  /* consumer: the next offset of its queue */
};

struct many {
    const struct options *options;
    struct result *result;
    struct peer *producers, *consumers, **touched;
    struct request_template *templates; /* one a topic and queue */
    int64_t *turns;                     /* one a topic: messages sent to it */
    /* A slot is one request that may be in flight, of producer slot % connections; its opaque modulo their number
     * is its number. Free ones wait in a ring, so that producers take turns. */
    uint32_t *open; /* its opaque, 0: free */
    uint32_t *uses;
    int *free_slots;
    int topics, queues, slots, touched_count, epoll;
    int64_t taken, freed; /* of the ring, ever */
    int64_t sent, consumed, started, last_answer;
    bool measuring, stopping;
};

static void name_of(const struct many *many, int topic, char name[160])
{
    snprintf(name, 160, "%s-%d", many->options->topic, topic);
}

static void touch(struct many *many, struct peer *peer)
{
    if (!peer->touched)
        many->touched[many->touched_count++] = peer;
    peer->touched = true;
}

static void pull(struct many *many, struct peer *peer)
{
    const struct options *o = many->options;
    char topic[160];
    name_of(many, peer->topic, topic);
    peer->opaque = FIRST_OPAQUE + (peer->opaque + 1) % 1000000000u;
    unsigned char *room = connection_room(&peer->connection, FRAME_ROOM);
    peer->connection.out_end +=
        write_pull(room, peer->opaque, topic, topic, o->broker_name, peer->queue, peer->offset, o->batch, NULL);
    touch(many, peer);
}

/* The time is written into the body, where the consumer finds it. */
static void send_one(struct many *many, int64_t now)
{
    const struct options *o = many->options;
    int slot = many->free_slots[many->taken++ % many->slots];
    uint32_t slots = (uint32_t)many->slots;
    struct peer *peer = &many->producers[slot % o->connections];
    int queue = (int)(many->turns[peer->topic]++ % many->queues);
    const struct request_template *request = &many->templates[peer->topic * many->queues + queue];
    uint32_t opaque = FIRST_OPAQUE + (many->uses[slot]++ % (1000000000u / slots)) * slots + (uint32_t)slot;
    char born[BORN_DIGITS + 1], sent_at[TIME_DIGITS + 1];
    write_born(born);
    unsigned char *room = connection_room(&peer->connection, request->length);
    size_t size = write_send(room, request, opaque, born, (uint64_t)many->sent);
    snprintf(sent_at, sizeof sent_at, "%016llx", (unsigned long long)now);
    memcpy(room + size - (size_t)o->size, sent_at, TIME_DIGITS);
    peer->connection.out_end += size;
    many->open[slot] = opaque;
    many->sent++;
    touch(many, peer);
}

static void send_due(struct many *many, int64_t now)
{
    double rate = many->options->rate;
    int64_t due = rate > 0 ? (int64_t)((double)(now - many->started) / 1e9 * rate) : INT64_MAX;
    while (!many->stopping && many->taken < many->freed && many->sent < due)
        send_one(many, now);
}

static void sent(struct many *many, struct peer *peer, const struct answer *answer)
{
    int slot = answer->opaque < FIRST_OPAQUE ? 0 : (int)((answer->opaque - FIRST_OPAQUE) % many->slots);
    if (many->open[slot] != answer->opaque || &many->producers[slot % many->options->connections] != peer)
        fail("an answer to a send that is not open (opaque %lld)", (long long)answer->opaque);
    require_success(answer, "send");
    many->open[slot] = 0;
    many->free_slots[many->freed++ % many->slots] = slot;
}

static void note_latencies(struct many *many, const struct answer *answer, int records, int64_t now)
{
    const unsigned char *record = answer->body;
    for (int i = 0; i < records; i++) {
        size_t size, room;
        const char *body = record_body(record, &size, &room);
        char digits[TIME_DIGITS + 1] = "";
        if (room < TIME_DIGITS)
            fail("a message came with a body of %zu bytes", room);
        memcpy(digits, body, TIME_DIGITS);
        histogram_add(&many->result->latency, now - (int64_t)strtoull(digits, NULL, 16));
        record += size;
    }
}

static void pulled(struct many *many, struct peer *peer, const struct answer *answer, int64_t now)
{
    if (answer->opaque != (int64_t)peer->opaque)
        fail("an answer to a pull that is not open (opaque %lld)", (long long)answer->opaque);
    if (answer->code != RESPONSE_PULL_NOT_FOUND) {
        require_success(answer, "pull");
        int records = count_records(answer->body, answer->body_length, peer->offset);
        if (records < 1 || answer->next_begin_offset != peer->offset + records)
            fail("the held pull at %lld was not answered with whole records", (long long)peer->offset);
        if (many->measuring) {
            many->result->messages += records;
            many->result->requests++;
            note_latencies(many, answer, records, now);
        }
        many->consumed += records;
        peer->offset += records;
    }
    pull(many, peer);
}

static void flush_touched(struct many *many)
{
    for (int i = 0; i < many->touched_count; i++) {
        struct peer *peer = many->touched[i];
        connection_flush_watched(&peer->connection, many->epoll, peer);
        peer->touched = false;
    }
    many->touched_count = 0;
}

static void read_ready(struct many *many, const struct epoll_event *event)
{
    struct peer *peer = event->data.ptr;
    struct answer answer;
    if (event->events & EPOLLOUT)
        touch(many, peer);
    if (!(event->events & (EPOLLIN | EPOLLERR | EPOLLHUP)) || connection_receive(&peer->connection) == 0)
        return;
    int64_t now = many->last_answer = now_ns();
    while (connection_next(&peer->connection, &answer)) {
        if (!(answer.flag & FLAG_RESPONSE))
            continue; /* a request of the server, as "consumer ids changed" */
        if (peer->producer)
            sent(many, peer, &answer);
        else
            pulled(many, peer, &answer, now);
    }
}

/* Waits for what comes next: an answer, or the time of the next send. */
static int wait_ready(struct many *many, struct epoll_event *events)
{
    double rate = many->options->rate;
    struct timespec until = {.tv_sec = 1};
    if (rate > 0 && !many->stopping && many->taken < many->freed) {
        int64_t next = many->started + (int64_t)((double)(many->sent + 1) / rate * 1e9) - now_ns();
        next = next < 0 ? 0 : next < 999999999 ? next : 999999999;
        until = (struct timespec){.tv_nsec = next};
    }
    return epoll_pwait2(many->epoll, events, MAX_EVENTS, &until, NULL);
}

static void drive(struct many *many)
{
    const struct options *o = many->options;
    struct result *result = many->result;
    struct epoll_event events[MAX_EVENTS];
    struct stopwatch watch = {0};
    int64_t now = many->started = many->last_answer = now_ns();
    while (!many->stopping || many->consumed < many->sent) {
        if (watch.started_at == 0 && now - many->started >= (int64_t)(o->warmup * 1e9)) {
            watch = stopwatch_start(o->server_pid);
            now = watch.started_at;
            many->measuring = true;
        }
        send_due(many, now);
        flush_touched(many);
        int ready = wait_ready(many, events);
        for (int i = 0; i < ready; i++)
            read_ready(many, &events[i]);
        now = now_ns();
        if (now - many->last_answer > (int64_t)STALL_SECONDS * 1000000000)
            fail("%lld of %lld messages came, no answer for %d s", (long long)many->consumed, (long long)many->sent,
                 STALL_SECONDS);
        if (many->measuring && now - watch.started_at >= (int64_t)(o->seconds * 1e9)) {
            stopwatch_stop(&watch, result);
            many->measuring = false;
            many->stopping = true;
        }
    }
    if (many->consumed != many->sent)
        fail("%lld messages came, %lld were sent", (long long)many->consumed, (long long)many->sent);
    result->sent = many->sent;
}

static void prepare_topics(struct many *many)
{
    const struct options *o = many->options;
    unsigned char frame[FRAME_ROOM];
    struct connection connection;
    char topic[160];
    connection_open(&connection, o->host, o->port, 0);
    for (int i = 0; i < many->topics; i++) {
        name_of(many, i, topic);
        size_t size = write_create_topic(frame, FIRST_OPAQUE, topic, many->queues);
        connection_ask(&connection, frame, size, FIRST_OPAQUE, 0, "create topic");
        struct message_shape shape = shape_of(o);
        shape.topic = topic;
        shape.queues = many->queues;
        for (int queue = 0; queue < many->queues; queue++)
            make_send_template(&many->templates[i * many->queues + queue], &shape, queue);
    }
    connection_close(&connection);
}

static void open_peer(struct many *many, struct peer *peer, int number, bool producer)
{
    const struct options *o = many->options;
    connection_open(&peer->connection, o->host, o->port, number);
    peer->producer = producer;
    peer->topic = number % many->topics;
    peer->queue = number / many->topics;
    connection_watch(&peer->connection, many->epoll, peer);
}

static void subscribe(struct many *many, struct peer *peer, int number)
{
    const struct options *o = many->options;
    unsigned char frame[FRAME_ROOM];
    char topic[160], client[64];
    name_of(many, peer->topic, topic);
    snprintf(client, sizeof client, "127.0.0.1@many%d-%d", (int)getpid(), number);
    size_t size = write_heartbeat(frame, 1, topic, topic, client, NULL);
    connection_ask(&peer->connection, frame, size, 1, 0, "heartbeat");
    size = write_max_offset(frame, 2, topic, o->broker_name, peer->queue);
    peer->offset = connection_ask(&peer->connection, frame, size, 2, 0, "max offset").offset;
    pull(many, peer);
}

void run_many(const struct options *options, struct result *out)
{
    struct many many = {.options = options, .result = out};
    int peers = options->connections;
    many.topics = options->topics;
    many.queues = peers / many.topics;
    many.templates = zeroed((size_t)(many.topics * many.queues), sizeof *many.templates);
    many.producers = zeroed((size_t)peers, sizeof *many.producers);
    many.consumers = zeroed((size_t)peers, sizeof *many.consumers);
    many.touched = zeroed((size_t)peers * 2, sizeof *many.touched);
    many.turns = zeroed((size_t)many.topics, sizeof *many.turns);
    many.slots = peers * options->window;
    many.open = zeroed((size_t)many.slots, sizeof *many.open);
    many.uses = zeroed((size_t)many.slots, sizeof *many.uses);
    many.free_slots = zeroed((size_t)many.slots, sizeof *many.free_slots);
    many.epoll = epoll_create1(0);
    for (int slot = 0; slot < many.slots; slot++)
        many.free_slots[many.freed++] = slot;
    prepare_topics(&many);
    for (int i = 0; i < peers; i++) {
        open_peer(&many, &many.producers[i], i, true);
        open_peer(&many, &many.consumers[i], i, false);
        subscribe(&many, &many.consumers[i], i);
    }
    drive(&many);
    /* The process ends here: its memory and sockets go with it. */
}
