#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "connection.h"
#include "frames.h"
#include "queues.h"

enum { LOOK_EACH_MS = 10, STALL_SECONDS = 30 };

/* Waits until the queues hold `expected` messages; fails when they get more, or none for STALL_SECONDS. */
static void wait_for_all(struct connection *connection, const struct options *o, int64_t expected, int64_t *max_offsets)
{
    int64_t last = -1, last_change = now_ns();
    for (;;) {
        int64_t sum = queue_ends(connection, o, max_offsets), now = now_ns();
        if (sum > expected)
            fail("%lld messages more than were sent are delivered", (long long)(sum - expected));
        if (sum == expected)
            return;
        if (sum != last) {
            last = sum;
            last_change = now;
        }
        if (now - last_change > (int64_t)STALL_SECONDS * 1000000000)
            fail("%lld messages are not delivered, none came for %d s", (long long)(expected - sum), STALL_SECONDS);
        sleep_ms(LOOK_EACH_MS);
    }
}

/* How late the messages of one pull came; returns where the next begins. */
static int64_t note_lateness(const struct answer *answer, int64_t offset, int delay_ms, struct histogram *lateness)
{
    int records = count_records(answer->body, answer->body_length, offset);
    size_t at = 0;
    if (records < 1)
        fail("the pull of delivered messages at %lld holds no whole records", (long long)offset);
    for (int i = 0; i < records; i++) {
        size_t size;
        int64_t late = record_age_ms(answer->body + at, &size) - delay_ms;
        if (late < 0)
            fail("the message at %lld was delivered %lld ms early", (long long)(offset + i), (long long)-late);
        histogram_add(lateness, late * 1000000);
        at += size;
    }
    return answer->next_begin_offset;
}

static void read_delivered(struct connection *connection, const struct options *o, const int64_t *first,
                           const int64_t *end, struct histogram *lateness)
{
    unsigned char frame[FRAME_ROOM];
    char client[64];
    snprintf(client, sizeof client, "127.0.0.1@delivery%d", (int)getpid());
    size_t size = write_heartbeat(frame, FIRST_OPAQUE, o->topic, o->group, client, NULL);
    connection_ask(connection, frame, size, FIRST_OPAQUE, 0, "heartbeat");
    for (int queue = 0; queue < o->queues; queue++)
        for (int64_t offset = first[queue]; offset < end[queue];) {
            size = write_pull(frame, FIRST_OPAQUE, o->topic, o->group, o->broker_name, queue, offset, o->batch, NULL);
            struct answer answer = connection_ask(connection, frame, size, FIRST_OPAQUE, 0, "pull");
            offset = note_lateness(&answer, offset, o->level_ms, lateness);
        }
}

void run_delivery(const struct options *options, struct result *out)
{
    static struct result sending;
    struct connection connection;
    struct options sends = *options;
    int64_t *first = zeroed((size_t)options->queues, sizeof *first);
    int64_t *end = zeroed((size_t)options->queues, sizeof *end);
    sends.mode = MODE_SEND;
    sends.warmup = 0;
    connection_open(&connection, options->host, options->port, 0);
    int64_t before = queue_ends(&connection, options, first);
    struct stopwatch watch = stopwatch_start(options->server_pid);
    run_pipeline(&sends, &sending);
    sleep_ms(options->level_ms);
    wait_for_all(&connection, options, before + sending.sent, end);
    out->messages = out->requests = sending.sent;
    stopwatch_stop(&watch, out);
    out->seconds -= options->level_ms / 1e3;
    read_delivered(&connection, options, first, end, &out->latency);
    connection_close(&connection);
    free(first);
    free(end);
}
