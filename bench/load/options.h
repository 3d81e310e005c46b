/* The command line. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdint.h>

#include "frames.h"

enum mode { MODE_SEND, MODE_BATCH, MODE_PULL, MODE_SYNC, MODE_WAKE, MODE_FIRST, MODE_TOPIC, MODE_TRANSACTION, MODE_RETRY, MODE_DELIVERY, MODE_MANY, MODE_IDLE, MODE_TIMER };

struct options {
    enum mode mode;
    const char *mode_name;
    const char *host, *topic, *group, *broker_name, *tags, *sql; /* sql: the filter of pulls, or NULL */
    int port, queues, connections, window, size, batch, server_pid, dump, with_keys, patient, numbered, topics;
    int delay;    /* delay level, 0: none */
    int level_ms; /* what level 1 stands for */
    double warmup, seconds, rate; /* rate: messages a second, 0: as fast as the window lets them */
    double ahead, span, patience; /* timer, seconds: from the start to the first due time, to the last one, to giving up */
    int paced;                    /* timer: sent as fast as they fall due */
    int64_t count; /* stop after so many messages instead of after a time; 0 = by time */
};

/* Ends the program with a usage line on wrong input. */
struct options read_options(int argc, char **argv);

/* What the messages of such a run have in common. */
struct message_shape shape_of(const struct options *options);

#endif
