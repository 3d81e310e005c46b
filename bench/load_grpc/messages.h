/* The messages of the 5.x protocol that the load needs, written and read by hand. */
#ifndef BENCH_MESSAGES_H
#define BENCH_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/facts.h"

enum { ID_DIGITS = 34, ID_COUNTER_DIGITS = 16, REQUEST_ROOM = 2048 };

/* Paths of the methods. */
extern const char SEND_MESSAGE[], RECEIVE_MESSAGE[], ACK_MESSAGE[], TELEMETRY[];

/* A SendMessage of one message, but for its id, which write_send fills in. */
struct send_template {
    unsigned char *bytes;
    size_t length, id_at;
};

void make_send(struct send_template *out, const char *topic, size_t body_size, uint64_t process);
void free_send(struct send_template *send);

/* Copies the request to `out` (room: send->length) with the id that `counter` makes. */
void write_send(unsigned char *out, const struct send_template *send, uint64_t counter);

/* The id that a message of this counter has, ID_DIGITS characters without an end. */
const char *id_of(const unsigned char *request, const struct send_template *send);

/* The settings of a consumer; the size. */
size_t write_settings(unsigned char *out, const char *group, const char *topic);

/* A ReceiveMessage of `batch` messages of any queue, kept invisible so long; the size. */
size_t write_receive(unsigned char *out, const char *group, const char *topic, const char *broker_name, int batch,
                     int invisible_seconds, int polling_seconds);

struct text {
    const char *start;
    size_t length;
};

/* One message delivered. */
struct delivered {
    struct text id, handle;
};

/* An AckMessage of all of these, not longer than ack_room of them; the size. */
size_t ack_room(const char *group, const char *topic, const struct delivered *messages, int count);
size_t write_ack(unsigned char *out, const char *group, const char *topic, const struct delivered *messages, int count);

/* A verdict of the server, from `status`. */
struct verdict {
    int64_t code; /* 0: the message has no status */
    struct text text;
};

/* The verdict of an answer of one message, and how many of its entries are not OK, if it has entries. */
struct verdict read_verdict(const unsigned char *message, size_t length, int *refused);

/* Reads the messages of a ReceiveMessage's answer, with their gRPC prefixes: at most `most` messages to `out`. The number of
 * messages, or -1 when the bytes are not such an answer. */
int read_received(const unsigned char *data, size_t length, struct delivered *out, int most, struct verdict *verdict);

/* The one message in `data`, without its gRPC prefix; false when it is not one. */
bool one_message(const unsigned char *data, size_t length, const unsigned char **message, size_t *size);

#endif
