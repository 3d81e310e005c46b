#include <stdlib.h>
#include <string.h>

#include "lane.h"
#include "run.h"

enum { PARK_MS = 3, MOST = 32, POLLING_SECONDS = 5, TRIES = 1000 };
static const char TIMEOUT[] = "20S";

struct waiting {
    const struct options *options;
    struct lane consumer, producer;
    struct send_template send;
    unsigned char *sent;
    uint64_t counter;
};

static void post(struct lane *lane)
{
    if (connection_flush(&lane->http2.connection))
        fail("a single request does not fit the socket");
}

static void receive(struct waiting *waiting, int most)
{
    const struct options *o = waiting->options;
    unsigned char request[2 * REQUEST_ROOM];
    size_t size = write_receive(request, o->group, o->topic, o->broker_name, most, o->invisible, POLLING_SECONDS);
    lane_call(&waiting->consumer, 0, SLOT_RECEIVE, RECEIVE_MESSAGE, TIMEOUT, request, size, now_ns());
    post(&waiting->consumer);
}

static int64_t send_one(struct waiting *waiting)
{
    int64_t now = now_ns();
    write_send(waiting->sent, &waiting->send, waiting->counter++);
    lane_call(&waiting->producer, 0, SLOT_SEND, SEND_MESSAGE, TIMEOUT, waiting->sent, waiting->send.length, now);
    post(&waiting->producer);
    return now;
}

static void sent(struct waiting *waiting)
{
    lane_wait(&waiting->producer, "send");
    lane_check(&waiting->producer.slots[0], "send");
    waiting->producer.slots[0].state = SLOT_FREE;
}

/* Waits for the receive's answer and acknowledges it; when it came if the message sent last is in it, else 0. */
static int64_t woken(struct waiting *waiting)
{
    const struct options *o = waiting->options;
    struct delivered messages[MOST];
    struct lane *lane = &waiting->consumer;
    lane_wait(lane, "receive");
    int64_t now = now_ns();
    int count = lane_received(&lane->slots[0], messages, MOST);
    lane->slots[0].state = SLOT_FREE;
    if (count == 0)
        return 0;
    bool ours = false;
    for (int i = 0; i < count; i++)
        ours |= messages[i].id.length == ID_DIGITS &&
                memcmp(messages[i].id.start, id_of(waiting->sent, &waiting->send), ID_DIGITS) == 0;
    unsigned char *request = zeroed(1, ack_room(o->group, o->topic, messages, count));
    size_t size = write_ack(request, o->group, o->topic, messages, count);
    lane_call(lane, 0, SLOT_ACK, ACK_MESSAGE, TIMEOUT, request, size, now);
    post(lane);
    free(request);
    lane_wait(lane, "acknowledge");
    lane_check(&lane->slots[0], "acknowledge");
    lane->slots[0].state = SLOT_FREE;
    return ours ? now : 0;
}

/* Receives what earlier runs left, so that the next receive has to wait. */
static void empty(struct waiting *waiting)
{
    send_one(waiting);
    sent(waiting);
    for (int i = 0; i < TRIES; i++) {
        receive(waiting, MOST);
        if (woken(waiting) > 0)
            return;
    }
    fail("the message sent does not come");
}

void run_wake(const struct options *options, struct result *out)
{
    static struct waiting waiting;
    waiting.options = options;
    make_send(&waiting.send, options->topic, (size_t)options->size, (uint64_t)now_ns());
    waiting.sent = zeroed(1, waiting.send.length);
    lane_open(&waiting.producer, options, 0, 1);
    lane_open(&waiting.consumer, options, 1, 1);
    lane_introduce(&waiting.consumer, options);
    empty(&waiting);
    struct stopwatch watch = stopwatch_start(options->server_pid);
    int64_t counted_from = watch.started_at + (int64_t)(options->warmup * 1e9);
    while (now_ns() < counted_from + (int64_t)(options->seconds * 1e9)) {
        receive(&waiting, 1);
        sleep_ms(PARK_MS); /* so that the receive waits for it */
        int64_t began = send_one(&waiting), came = woken(&waiting);
        sent(&waiting);
        if (came == 0) {
            empty(&waiting);
        } else if (began >= counted_from) {
            histogram_add(&out->latency, came - began);
            out->messages++;
            out->requests++;
        }
    }
    stopwatch_stop(&watch, out);
    out->seconds -= options->warmup;
    lane_close(&waiting.producer);
    lane_close(&waiting.consumer);
    free(waiting.sent);
    free_send(&waiting.send);
}
