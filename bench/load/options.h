/* The modes and options of this program. */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include "command_line.h"
#include "frames.h"

enum mode { MODE_SEND, MODE_BATCH, MODE_PULL, MODE_SYNC, MODE_WAKE, MODE_FIRST, MODE_TOPIC, MODE_TRANSACTION, MODE_RETRY, MODE_DELIVERY, MODE_MANY, MODE_IDLE, MODE_TIMER };

/* Ends the program with a usage line on wrong input. */
struct options read_options(int argc, char **argv);

/* What the messages of such a run have in common. */
struct message_shape shape_of(const struct options *options);

#endif
