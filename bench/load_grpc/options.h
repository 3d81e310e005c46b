/* The modes and options of this program. */
#ifndef BENCH_GRPC_OPTIONS_H
#define BENCH_GRPC_OPTIONS_H

#include "command_line.h"

enum mode { MODE_SEND, MODE_RECEIVE, MODE_WAKE };

/* Ends the program with a usage line on wrong input. */
struct options read_options(int argc, char **argv);

#endif
