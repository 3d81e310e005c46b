#include "options.h"

#include <string.h>
#include <unistd.h>

#include "connection.h"
#include "core/facts.h"

static const char USAGE[] =
    "usage: load MODE [options]\n"
    "  MODE   send   single messages (code 310), pipelined      batch  batches (code 320), pipelined\n"
    "         sync   one connection, one message at a time      pull   pulls (code 11) looping over a filled topic\n"
    "         wake   one held pull, one producer: time from the send to the pull's answer\n"
    "         transaction  prepared sends, each committed (code 37) as soon as it is answered; pipelined\n"
    "         retry  send backs (code 36) of messages sent before; pipelined\n"
    "         delivery  sends with delay level 1, then waits until all are delivered; latency: how late\n"
    "         many   CONNECTIONS producers and as many consumers of TOPICS topics, which hold pulls\n"
    "         timer  COUNT messages with a time to deliver each, all waited for; latency: how late\n"
    "         idle   opens connections, sends once on each, and waits for the end of standard input\n"
    "         first  tries until a send is accepted             topic  creates the topic (code 17)\n"
    "  --host H --port P --topic T --queues N --group G --broker-name B\n"
    "  --connections N   (default 1)      --window N    requests in flight a connection (default 64)\n"
    "  --size N          body bytes (100) --batch N     messages a batch or pull (32)\n"
    "  --tags TAG --keys                  properties TAGS and KEYS (default: none)\n"
    "  --numbered                         properties a (0 to 9) and b (x or y)\n"
    "  --delay LEVEL                      property DELAY; retry: the requested level (default: none)\n"
    "  --level-ms MS                      delivery: the delay of level 1 (1000)\n"
    "  --topics N --rate R                many: a divisor of the connections (1); messages a second (no limit)\n"
    "  --ahead S --span S                 timer: from the start to the first due time, from it to the last (10, 1)\n"
    "  --paced                            timer: sent as fast as they fall due (default: as fast as it goes)\n"
    "  --patience S                       timer: how long to wait after the last due time (60)\n"
    "  --sql EXPRESSION                   pull: with this filter; messages are those gone through\n"
    "  --warmup S --seconds S             not counted, counted (0.5, 3)\n"
    "  --count N         stop after N messages, no warm-up      --server-pid PID  CPU time of that process\n"
    "  --patient         send again what is refused with code 2, system busy (for filling, not for measuring)\n"
    "  --dump N          write N of the request frames to stdout and stop; no connection (wake: what is sent besides\n"
    "                    sends and pulls: heartbeat, max offset, create topic)\n";

static const char *const MODES[] = {"send", "batch", "pull", "sync", "wake", "first", "topic", "transaction", "retry",
                                    "delivery", "many", "idle", "timer", NULL};

static const struct option KNOWN[] = {
    {"host", 1, 0, 'h'},       {"port", 1, 0, 'p'},    {"topic", 1, 0, 't'},   {"queues", 1, 0, 'q'},
    {"group", 1, 0, 'g'},      {"tags", 1, 0, 'T'},    {"keys", 0, 0, 'K'},    {"patient", 0, 0, 'R'},    {"connections", 1, 0, 'c'},
    {"window", 1, 0, 'w'},     {"size", 1, 0, 's'},    {"batch", 1, 0, 'b'},   {"warmup", 1, 0, 'W'},
    {"seconds", 1, 0, 'S'},    {"count", 1, 0, 'n'},   {"dump", 1, 0, 'd'},    {"server-pid", 1, 0, 'P'},
    {"broker-name", 1, 0, 'B'}, {"numbered", 0, 0, 'N'}, {"delay", 1, 0, 'D'}, {"sql", 1, 0, 'Q'}, {"level-ms", 1, 0, 'L'},
    {"topics", 1, 0, 'k'}, {"rate", 1, 0, 'r'}, {"ahead", 1, 0, 'A'}, {"span", 1, 0, 'Z'},
    {"paced", 0, 0, 'E'}, {"patience", 1, 0, 'G'}, {0, 0, 0, 0}};

static const struct command_line LINE = {
    .usage = USAGE,
    .modes = MODES,
    .known = KNOWN,
    .defaults = {.host = "127.0.0.1", .topic = "BenchRaw", .group = "bench_raw", .broker_name = "broker-a", .port = 10911,
                 .queues = 8, .connections = 1, .window = 64, .size = 100, .batch = 32, .level_ms = 1000, .topics = 1,
                 .warmup = 0.5, .seconds = 3, .ahead = 10, .span = 1, .patience = 60}};

struct options read_options(int argc, char **argv)
{
    struct options o = parse_options(argc, argv, &LINE);
    if (o.queues < 1 || o.connections < 1 || o.window < 1 || o.batch < 1 || o.size < 1 || strlen(o.topic) > MAX_TOPIC_LENGTH)
        usage_error(&LINE, "queues, connections, window, batch and size are at least 1, a topic has at most 127 characters");
    if (o.topics < 1 || o.connections % o.topics != 0)
        usage_error(&LINE, "the number of connections is a multiple of that of topics");
    if (o.mode == MODE_MANY && o.size < 16)
        usage_error(&LINE, "many: a body has at least 16 bytes, for the time");
    if (o.mode == MODE_TIMER && o.dump == 0 && (o.count < 1 || (o.paced && o.span <= 0)))
        usage_error(&LINE, "timer: a count is needed, and a span if paced");
    if (o.mode == MODE_SYNC)
        o.connections = o.window = 1;
    if (o.mode == MODE_DELIVERY)
        o.delay = 1;
    return o;
}

struct message_shape shape_of(const struct options *options)
{
    struct message_shape shape = {.topic = options->topic, .broker_name = options->broker_name, .group = options->group,
                                  .tags = options->tags, .with_keys = options->with_keys, .queues = options->queues,
                                  .numbered = options->numbered, .delay_level = options->delay,
                                  .with_due = options->mode == MODE_TIMER,
                                  .prepared = options->mode == MODE_TRANSACTION,
                                  .body_size = (size_t)options->size,
                                  .batch = options->mode == MODE_BATCH ? options->batch : 0};
    make_unique_prefix(shape.unique_prefix, getpid(), (uint64_t)now_ns() >> 10);
    return shape;
}
