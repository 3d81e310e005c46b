/* The command lines of both load programs. */
#ifndef BENCH_COMMAND_LINE_H
#define BENCH_COMMAND_LINE_H

#include <getopt.h>
#include <stdint.h>

struct options {
    int mode; /* the program's own number */
    const char *mode_name;
    const char *host, *topic, *group, *broker_name, *tags, *sql; /* sql: the filter of pulls, or NULL */
    int port, queues, connections, window, size, batch, server_pid, dump, with_keys, patient, numbered, topics;
    int invisible; /* seconds that received messages are invisible to others */
    int delay;    /* delay level, 0: none */
    int level_ms; /* what level 1 stands for */
    double warmup, seconds, rate; /* rate: messages a second, 0: as fast as the window lets them */
    double ahead, span, patience; /* timer, seconds: from the start to the first due time, to the last one, to the end */
    int paced;                    /* timer: sent as fast as they fall due */
    int64_t count; /* stop after so many messages instead of after a time; 0 = by time */
};

/* What a program's command line takes. */
struct command_line {
    const char *usage;
    const char *const *modes;   /* their names, by their numbers; NULL at the end */
    const struct option *known; /* options by the letters of command_line.c; zeros at the end */
    struct options defaults;
};

/* Ends the program with a usage line on wrong input. */
struct options parse_options(int argc, char **argv, const struct command_line *line);
void usage_error(const struct command_line *line, const char *problem) __attribute__((noreturn));

#endif
