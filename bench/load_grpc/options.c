#include "options.h"

#include <string.h>

#include "core/facts.h"

static const char USAGE[] =
    "usage: load MODE [options]\n"
    "  MODE   send     SendMessage of one message\n"
    "         receive  ReceiveMessage, then one AckMessage of all that it brought\n"
    "         wake     one waiting ReceiveMessage, one producer: time from the send to the end of the answer\n"
    "  --host H --port P --topic T --group G --broker-name B\n"
    "  --connections N   (default 1)      --window N    calls in flight a connection (default 64)\n"
    "  --size N          body bytes (100) --batch N     messages a ReceiveMessage requests (32)\n"
    "  --invisible S     how long received messages are invisible to others (30)\n"
    "  --warmup S --seconds S             not counted, counted (0.5, 3)\n"
    "  --count N         receive: end when so many messages are acknowledged\n"
    "  --server-pid PID  CPU time of that process\n";

/* What one answer may hold, as the lanes have room for. */
enum { MOST_CALLS = 10000, MOST_BODY = 8192, MOST_BATCH = 32 };

static const char *const MODES[] = {"send", "receive", "wake", NULL};

static const struct option KNOWN[] = {
    {"host", 1, 0, 'h'}, {"port", 1, 0, 'p'}, {"topic", 1, 0, 't'}, {"group", 1, 0, 'g'},
    {"broker-name", 1, 0, 'B'}, {"connections", 1, 0, 'c'}, {"window", 1, 0, 'w'}, {"size", 1, 0, 's'},
    {"batch", 1, 0, 'b'}, {"invisible", 1, 0, 'i'}, {"warmup", 1, 0, 'W'}, {"seconds", 1, 0, 'S'},
    {"count", 1, 0, 'n'}, {"server-pid", 1, 0, 'P'}, {0, 0, 0, 0}};

static const struct command_line LINE = {
    .usage = USAGE,
    .modes = MODES,
    .known = KNOWN,
    .defaults = {.host = "127.0.0.1", .topic = "BenchGrpc", .group = "bench_grpc", .broker_name = "broker-a", .port = 8081,
                 .connections = 1, .window = 64, .size = 100, .batch = 32, .invisible = 30, .warmup = 0.5, .seconds = 3}};

struct options read_options(int argc, char **argv)
{
    struct options o = parse_options(argc, argv, &LINE);
    if (o.connections < 1 || o.window < 1 || o.window > MOST_CALLS || o.size < 1 || o.size > MOST_BODY)
        usage_error(&LINE, "connections, window and size are at least 1; a window has at most 10000 calls, a body 8192 bytes");
    if (o.batch < 1 || o.batch > MOST_BATCH || strlen(o.topic) > MAX_TOPIC_LENGTH || strlen(o.group) > MAX_TOPIC_LENGTH)
        usage_error(&LINE, "a batch is of 1 to 32 messages, a topic or group has at most 127 characters");
    return o;
}
