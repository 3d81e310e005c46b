#include "command_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void usage_error(const struct command_line *line, const char *problem)
{
    fprintf(stderr, "load: %s\n%s", problem, line->usage);
    exit(2);
}

static int mode_named(const struct command_line *line, const char *name)
{
    for (int i = 0; line->modes[i] != NULL; i++)
        if (strcmp(line->modes[i], name) == 0)
            return i;
    usage_error(line, "no such mode");
}

static double positive(const struct command_line *line, const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (*text == 0 || *end != 0 || value < 0 || value > 1e12)
        usage_error(line, "a number is wrong");
    return value;
}

struct options parse_options(int argc, char **argv, const struct command_line *line)
{
    struct options o = line->defaults;
    if (argc < 2)
        usage_error(line, "no mode");
    o.mode_name = argv[1];
    o.mode = mode_named(line, argv[1]);
    optind = 2;
    for (int c; (c = getopt_long(argc, argv, "", line->known, NULL)) != -1;) {
        switch (c) {
        case 'h': o.host = optarg; break;
        case 't': o.topic = optarg; break;
        case 'g': o.group = optarg; break;
        case 'T': o.tags = optarg; break;
        case 'B': o.broker_name = optarg; break;
        case 'K': o.with_keys = 1; break;
        case 'R': o.patient = 1; break;
        case 'N': o.numbered = 1; break;
        case 'Q': o.sql = optarg; break;
        case 'L': o.level_ms = (int)positive(line, optarg); break;
        case 'D': o.delay = (int)positive(line, optarg); break;
        case 'p': o.port = (int)positive(line, optarg); break;
        case 'q': o.queues = (int)positive(line, optarg); break;
        case 'c': o.connections = (int)positive(line, optarg); break;
        case 'k': o.topics = (int)positive(line, optarg); break;
        case 'r': o.rate = positive(line, optarg); break;
        case 'A': o.ahead = positive(line, optarg); break;
        case 'Z': o.span = positive(line, optarg); break;
        case 'E': o.paced = 1; break;
        case 'G': o.patience = positive(line, optarg); break;
        case 'w': o.window = (int)positive(line, optarg); break;
        case 's': o.size = (int)positive(line, optarg); break;
        case 'b': o.batch = (int)positive(line, optarg); break;
        case 'W': o.warmup = positive(line, optarg); break;
        case 'S': o.seconds = positive(line, optarg); break;
        case 'n': o.count = (int64_t)positive(line, optarg); break;
        case 'd': o.dump = (int)positive(line, optarg); break;
        case 'i': o.invisible = (int)positive(line, optarg); break;
        case 'P': o.server_pid = (int)positive(line, optarg); break;
        default: usage_error(line, "unknown option");
        }
    }
    if (optind != argc)
        usage_error(line, "too many arguments");
    return o;
}
