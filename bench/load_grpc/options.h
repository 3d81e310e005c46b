/* The command line. */
#ifndef BENCH_GRPC_OPTIONS_H
#define BENCH_GRPC_OPTIONS_H

#include <stdint.h>

enum mode { MODE_SEND, MODE_RECEIVE, MODE_WAKE };

struct options {
    enum mode mode;
    const char *mode_name, *host, *topic, *group, *broker_name;
    int port, connections, window, size, batch, server_pid, invisible;
    double warmup, seconds;
    int64_t count; /* receive: how many messages there are; 0: not known */
};

/* Ends the program with a usage line on wrong input. */
struct options read_options(int argc, char **argv);

#endif
