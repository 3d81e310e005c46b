#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "connection.h"
#include "frames.h"
#include "queues.h"
#include "timer_send.h"

enum { LOOK_EACH_MS = 20, EXTRA_MS = 500, KEY_LENGTH = 32, PREFIX_LENGTH = 20 };

struct delivery {
    const struct options *options;
    struct schedule schedule;
    struct sent sent;
    struct connection connection;
    int64_t *first, *end;        /* of each queue: before the run, and after it */
    unsigned char *times;        /* how often each message was delivered */
    int64_t delivered, duplicates, early, early_max_ms, in_last_half;
    struct histogram late, halves[2]; /* of all; of those due in the first and the last half */
};

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Waits until the queues hold COUNT messages more, or patience ends. Returns when that was seen, ms since 1970. */
static int64_t wait_for_all(struct delivery *delivery, int64_t expected)
{
    const struct schedule *schedule = &delivery->schedule;
    int64_t last_due = schedule->first_ms + (int64_t)schedule->span_ms, first_look = schedule->first_ms;
    if (wall_ms() < first_look)
        sleep_ms(first_look - wall_ms());
    for (;;) {
        int64_t held = queue_ends(&delivery->connection, delivery->options, delivery->end), now = wall_ms();
        if (held >= expected || now >= last_due + (int64_t)(delivery->options->patience * 1e3))
            return now;
        sleep_ms(LOOK_EACH_MS);
    }
}

/* Which of the messages the record holds, by its unique key. */
static int64_t number_of(const struct delivery *delivery, const unsigned char *record)
{
    size_t length;
    char digits[KEY_LENGTH - PREFIX_LENGTH + 1];
    const char *key = record_property(record, PROPERTY_UNIQ_KEY, &length);
    if (key == NULL || length != KEY_LENGTH || memcmp(key, delivery->sent.unique_prefix, PREFIX_LENGTH) != 0)
        fail("a message was delivered that this run did not send");
    memcpy(digits, key + PREFIX_LENGTH, KEY_LENGTH - PREFIX_LENGTH);
    digits[KEY_LENGTH - PREFIX_LENGTH] = 0;
    int64_t number = (int64_t)strtoll(digits, NULL, 16);
    if (number >= delivery->schedule.count)
        fail("a message was delivered that this run did not send");
    return number;
}

static int64_t requested_due(const unsigned char *record)
{
    size_t length;
    char digits[DUE_DIGITS + 1] = "";
    const char *due = record_property(record, PROPERTY_TIMER_DELIVER_MS, &length);
    if (due == NULL || length != DUE_DIGITS)
        fail("a delivered message has no due time");
    memcpy(digits, due, DUE_DIGITS);
    return strtoll(digits, NULL, 10);
}

static void note_late(struct delivery *delivery, int64_t number, int64_t late_ms)
{
    histogram_add(&delivery->late, late_ms * 1000000);
    histogram_add(&delivery->halves[number >= delivery->schedule.count / 2], late_ms * 1000000);
}

static size_t note(struct delivery *delivery, const unsigned char *record)
{
    const struct schedule *schedule = &delivery->schedule;
    size_t size;
    int64_t number = number_of(delivery, record), due = requested_due(record), stored = record_stored_ms(record, &size);
    if (due != due_of(schedule, number))
        fail("message %lld was delivered with another due time", (long long)number);
    if (delivery->times[number] < 255)
        delivery->times[number]++;
    if (delivery->times[number] > 1) {
        delivery->duplicates++;
        return size;
    }
    delivery->delivered++;
    if (stored < due) {
        delivery->early++;
        if (due - stored > delivery->early_max_ms)
            delivery->early_max_ms = due - stored;
    }
    note_late(delivery, number, stored - due);
    double part = (double)(stored - schedule->first_ms) / schedule->span_ms;
    delivery->in_last_half += schedule->span_ms > 0 && part >= 0.5 && part < 1;
    return size;
}

static void read_delivered(struct delivery *delivery)
{
    const struct options *o = delivery->options;
    unsigned char frame[FRAME_ROOM];
    char client[64];
    snprintf(client, sizeof client, "127.0.0.1@timer%d", (int)getpid());
    size_t size = write_heartbeat(frame, FIRST_OPAQUE, o->topic, o->group, client, NULL);
    connection_ask(&delivery->connection, frame, size, FIRST_OPAQUE, 0, "heartbeat");
    for (int queue = 0; queue < o->queues; queue++)
        for (int64_t offset = delivery->first[queue]; offset < delivery->end[queue];) {
            size = write_pull(frame, FIRST_OPAQUE, o->topic, o->group, o->broker_name, queue, offset, o->batch, NULL);
            struct answer answer = connection_ask(&delivery->connection, frame, size, FIRST_OPAQUE, 0, "pull");
            int records = count_records(answer.body, answer.body_length, offset);
            if (records < 1)
                fail("the pull of delivered messages at %lld holds no whole records", (long long)offset);
            for (size_t at = 0; records > 0 && offset < delivery->end[queue]; records--, offset++)
                at += note(delivery, answer.body + at);
        }
}

/* A message that did not come counts as late until `run_end`. */
static void note_missing(struct delivery *delivery, int64_t run_end)
{
    for (int64_t number = 0; number < delivery->schedule.count; number++)
        if (delivery->times[number] == 0)
            note_late(delivery, number, run_end - due_of(&delivery->schedule, number));
}

static double ms(const struct histogram *histogram, double part)
{
    return histogram_percentile_us(histogram, part) / 1000;
}

static void print(const struct delivery *delivery, int64_t seen_ms, const struct result *used)
{
    const struct schedule *schedule = &delivery->schedule;
    int64_t missing = schedule->count - delivery->delivered;
    double half_seconds = schedule->span_ms / 2000;
    printf("{\"mode\": \"timer\", \"messages\": %lld, \"delivered\": %lld, \"missing\": %lld, \"duplicates\": %lld, "
           "\"early\": %lld, \"early_max_ms\": %lld, \"p50_ms\": %.1f, \"p99_ms\": %.1f, \"max_ms\": %.1f, "
           "\"drain_seconds\": %.3f, \"send_seconds\": %.3f, \"send_lag_ms\": %.1f, \"half_rate\": %.1f, "
           "\"growth_ms\": %.1f, \"server_cpu_seconds\": %.3f, \"client_cpu_seconds\": %.3f, \"errors\": 0}\n",
           (long long)schedule->count, (long long)delivery->delivered, (long long)missing,
           (long long)delivery->duplicates, (long long)delivery->early, (long long)delivery->early_max_ms,
           ms(&delivery->late, 0.5), ms(&delivery->late, 0.99), (double)delivery->late.max / 1e6,
           (double)(seen_ms - schedule->first_ms - (int64_t)schedule->span_ms) / 1e3, delivery->sent.seconds,
           delivery->sent.lag_ms, half_seconds > 0 ? (double)delivery->in_last_half / half_seconds : 0,
           ms(&delivery->halves[1], 0.5) - ms(&delivery->halves[0], 0.5), used->server_cpu_seconds,
           used->client_cpu_seconds);
}

static struct schedule schedule_of(const struct options *o)
{
    struct schedule schedule = {.count = o->count, .span_ms = o->span * 1e3};
    /* A full second: Apache's wheel has slots of a second, so a time within one would be late by the rest of it. */
    schedule.first_ms = (wall_ms() + (int64_t)(o->ahead * 1e3) + 999) / 1000 * 1000;
    return schedule;
}

void run_timer(const struct options *o)
{
    static struct delivery delivery;
    static struct result used;
    delivery.options = o;
    delivery.first = zeroed((size_t)o->queues, sizeof *delivery.first);
    delivery.end = zeroed((size_t)o->queues, sizeof *delivery.end);
    delivery.times = zeroed((size_t)o->count, 1);
    connection_open(&delivery.connection, o->host, o->port, 0);
    int64_t before = queue_ends(&delivery.connection, o, delivery.first);
    struct stopwatch watch = stopwatch_start(o->server_pid);
    delivery.schedule = schedule_of(o);
    delivery.sent = send_all(o, &delivery.schedule);
    if (!o->paced && wall_ms() >= delivery.schedule.first_ms)
        fail("sending took %.1f s, longer than the time until the first is due", delivery.sent.seconds);
    int64_t seen_ms = wait_for_all(&delivery, before + o->count);
    stopwatch_stop(&watch, &used);
    sleep_ms(EXTRA_MS); /* duplicates may come a little later */
    queue_ends(&delivery.connection, o, delivery.end);
    read_delivered(&delivery);
    note_missing(&delivery, seen_ms);
    print(&delivery, seen_ms, &used);
    connection_close(&delivery.connection);
    free(delivery.first);
    free(delivery.end);
    free(delivery.times);
}
