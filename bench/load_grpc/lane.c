#include "lane.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_ROOM = 1024, ANSWER_TIMEOUT_MS = 15000 };

void lane_open(struct lane *lane, const struct options *options, int number, int slots)
{
    static char authority[300];
    memset(lane, 0, sizeof *lane);
    snprintf(lane->client_id, sizeof lane->client_id, "bench@%d@%d@%llx", (int)getpid(), number,
             (unsigned long long)now_ns());
    snprintf(authority, sizeof authority, "%s:%d", options->host, options->port);
    http2_open(&lane->http2, options->host, options->port, authority, lane->client_id);
    if (slots + 1 > lane->http2.most_streams)
        fail("the server allows %lld calls at a time", (long long)lane->http2.most_streams);
    lane->slots = zeroed((size_t)slots, sizeof *lane->slots);
    lane->count = slots;
}

void lane_close(struct lane *lane)
{
    for (int i = 0; i < lane->count; i++)
        free(lane->slots[i].answer);
    free(lane->slots);
    http2_close(&lane->http2);
}

void lane_introduce(struct lane *lane, const struct options *options)
{
    unsigned char settings[2 * REQUEST_ROOM];
    size_t size = write_settings(settings, options->group, options->topic);
    lane->telemetry = http2_call(&lane->http2, TELEMETRY, NULL, settings, size, false);
    while (!lane->known)
        if (lane_wait(lane, "settings") >= 0)
            fail("an answer to a call that was not made");
}

void lane_call(struct lane *lane, int slot, enum slot_state state, const char *path, const char *timeout,
               const unsigned char *message, size_t size, int64_t now)
{
    struct slot *one = &lane->slots[slot];
    one->stream = http2_call(&lane->http2, path, timeout, message, size, true);
    one->state = state;
    one->have = 0;
    one->began_at = now;
    lane->slot_of[one->stream / 2 % STREAMS_DISTINCT] = (uint16_t)slot;
}

static void add(struct slot *slot, const unsigned char *data, size_t length)
{
    if (slot->have + length > slot->room) {
        slot->room = (slot->have + length) * 2 + ANSWER_ROOM;
        slot->answer = realloc(slot->answer, slot->room);
        if (slot->answer == NULL)
            abort();
    }
    memcpy(slot->answer + slot->have, data, length);
    slot->have += length;
}

int lane_next(struct lane *lane)
{
    struct http2_event event;
    while (http2_next(&lane->http2, &event)) {
        if (event.stream == lane->telemetry) {
            if (event.ended || event.reset)
                fail("the server ended the telemetry stream");
            lane->known = true;
            continue;
        }
        int number = lane->slot_of[event.stream / 2 % STREAMS_DISTINCT];
        struct slot *slot = &lane->slots[number];
        if (slot->state == SLOT_FREE || slot->stream != event.stream)
            fail("an answer to a call that is not open (stream %u)", event.stream);
        if (event.reset)
            fail("the server reset a call: code %u", event.code);
        add(slot, event.data, event.length);
        if (!event.ended)
            continue;
        if (slot->have == 0)
            fail("a call ended without an answer: a gRPC error");
        return number;
    }
    return -1;
}

int lane_wait(struct lane *lane, const char *what)
{
    struct connection *connection = &lane->http2.connection;
    for (;;) {
        bool known = lane->known;
        int slot = lane_next(lane);
        bool waits = connection_flush(connection) != 0;
        if (slot >= 0 || known != lane->known)
            return slot;
        struct pollfd wait = {.fd = connection->fd, .events = (short)(POLLIN | (waits ? POLLOUT : 0))};
        if (poll(&wait, 1, ANSWER_TIMEOUT_MS) == 0)
            fail("%s: no answer for %d s", what, ANSWER_TIMEOUT_MS / 1000);
        connection_receive(connection);
    }
}

static void require(struct verdict verdict, const char *what)
{
    if (verdict.code != GRPC_CODE_OK)
        fail("%s: code %lld, %.*s", what, (long long)verdict.code,
             (int)(verdict.text.length > 300 ? 300 : verdict.text.length),
             verdict.text.start == NULL ? "" : verdict.text.start);
}

void lane_check(const struct slot *slot, const char *what)
{
    const unsigned char *message;
    size_t size;
    int refused;
    if (!one_message(slot->answer, slot->have, &message, &size))
        fail("%s: the answer is not one message", what);
    require(read_verdict(message, size, &refused), what);
    if (refused > 0)
        fail("%s: %d entries were refused", what, refused);
}

int lane_received(const struct slot *slot, struct delivered *out, int most)
{
    struct verdict verdict;
    int count = read_received(slot->answer, slot->have, out, most, &verdict);
    if (count < 0)
        fail("receive: the answer cannot be read");
    if (count == 0 && verdict.code != GRPC_CODE_MESSAGE_NOT_FOUND)
        require(verdict, "receive");
    return count;
}
