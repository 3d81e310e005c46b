#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: load MODE [options]\n"
    "  MODE   send     SendMessage of one message\n"
    "         receive  ReceiveMessage, then one AckMessage of all that it brought\n"
    "         wake     one waiting ReceiveMessage, one producer: time from the send to the end of the answer\n"
    "  --host H --port P --topic T --group G --broker-name B\n"
    "  --connections N   (default 1)      --window N    calls in flight a connection (default 64)\n"
    "  --size N          body bytes (100) --batch N     messages a ReceiveMessage asks for (32)\n"
    "  --invisible S     how long received messages are invisible to others (30)\n"
    "  --warmup S --seconds S             not counted, counted (0.5, 3)\n"
    "  --count N         receive: end when so many messages are acknowledged\n"
    "  --server-pid PID  CPU time of that process\n";

enum { MOST_CALLS = 10000, MOST_BODY = 8192, MOST_BATCH = 32, MOST_NAME = 127 };

static void usage(const char *problem)
{
    fprintf(stderr, "load: %s\n%s", problem, USAGE);
    exit(2);
}

static enum mode mode_named(const char *name)
{
    static const char *const names[] = {"send", "receive", "wake"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (strcmp(names[i], name) == 0)
            return (enum mode)i;
    usage("no such mode");
    return MODE_SEND;
}

static double positive(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (*text == 0 || *end != 0 || value < 0 || value > 1e12)
        usage("a number is wrong");
    return value;
}

struct options read_options(int argc, char **argv)
{
    static const struct option known[] = {
        {"host", 1, 0, 'h'}, {"port", 1, 0, 'p'}, {"topic", 1, 0, 't'}, {"group", 1, 0, 'g'},
        {"broker-name", 1, 0, 'B'}, {"connections", 1, 0, 'c'}, {"window", 1, 0, 'w'}, {"size", 1, 0, 's'},
        {"batch", 1, 0, 'b'}, {"invisible", 1, 0, 'i'}, {"warmup", 1, 0, 'W'}, {"seconds", 1, 0, 'S'},
        {"count", 1, 0, 'n'}, {"server-pid", 1, 0, 'P'}, {0, 0, 0, 0}};
    struct options o = {.host = "127.0.0.1", .topic = "BenchGrpc", .group = "bench_grpc", .broker_name = "broker-a",
                        .port = 8081, .connections = 1, .window = 64, .size = 100, .batch = 32, .invisible = 30,
                        .warmup = 0.5, .seconds = 3};
    if (argc < 2)
        usage("no mode");
    o.mode_name = argv[1];
    o.mode = mode_named(argv[1]);
    optind = 2;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        switch (c) {
        case 'h': o.host = optarg; break;
        case 't': o.topic = optarg; break;
        case 'g': o.group = optarg; break;
        case 'B': o.broker_name = optarg; break;
        case 'p': o.port = (int)positive(optarg); break;
        case 'c': o.connections = (int)positive(optarg); break;
        case 'w': o.window = (int)positive(optarg); break;
        case 's': o.size = (int)positive(optarg); break;
        case 'b': o.batch = (int)positive(optarg); break;
        case 'i': o.invisible = (int)positive(optarg); break;
        case 'W': o.warmup = positive(optarg); break;
        case 'S': o.seconds = positive(optarg); break;
        case 'n': o.count = (int64_t)positive(optarg); break;
        case 'P': o.server_pid = (int)positive(optarg); break;
        default: usage("unknown option");
        }
    }
    if (optind != argc)
        usage("too many arguments");
    if (o.connections < 1 || o.window < 1 || o.window > MOST_CALLS || o.size < 1 || o.size > MOST_BODY)
        usage("connections, window and size are at least 1; a window has at most 10000 calls, a body 8192 bytes");
    if (o.batch < 1 || o.batch > MOST_BATCH || strlen(o.topic) > MOST_NAME || strlen(o.group) > MOST_NAME)
        usage("a batch is of 1 to 32 messages, a topic or group has at most 127 characters");
    return o;
}
