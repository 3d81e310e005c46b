/* Request frames exactly as the Java client 4.9.7 writes them (JSON headers, key order of its maps).
 *
 * A send is a template made once a queue; a message costs a copy and a few overwritten digits: opaque,
 * born timestamp, unique key, keys, numbers. All these fields have a fixed width, so places never move. */
#ifndef BENCH_FRAMES_H
#define BENCH_FRAMES_H

#include <stddef.h>
#include <stdint.h>

enum {
    OPAQUE_DIGITS = 10, /* opaques run from FIRST_OPAQUE, so that they always have ten digits */
    BORN_DIGITS = 13,
    DUE_DIGITS = 13,    /* ms since 1970, of a TIMER_DELIVER_MS */
    COUNTER_DIGITS = 12, /* last digits of a unique key, hexadecimal */
    FRAME_ROOM = 1024    /* enough for any request here, body and properties of a batch not counted */
};
#define FIRST_OPAQUE 1000000000u

/* What every message of a run has in common. */
struct message_shape {
    const char *topic, *broker_name, *group;
    const char *tags; /* NULL: no TAGS property */
    int with_keys;    /* KEYS: "k" and the message's counter */
    int numbered;     /* properties a, 0 to 9 repeatedly within a queue, and b, ten times x, then ten times y */
    int delay_level;  /* DELAY, 0: none */
    int with_due;     /* TIMER_DELIVER_MS, which write_due fills in */
    int prepared;     /* the first half of a transaction: TRAN_MSG, PGROUP and the sysFlag of it */
    int queues;       /* written as defaultTopicQueueNums */
    size_t body_size;
    int batch; /* messages a request (code 320), or 0 for one message (code 310) */
    char unique_prefix[21];
};

struct request_template {
    unsigned char *bytes;
    size_t length;
    size_t opaque_at, born_at;
    size_t unique_at, keys_at; /* of the first message: places of the 12 counter digits; keys_at 0 = none */
    size_t a_at, b_at;         /* of the first message: places of the values of a and b; 0 = none */
    size_t due_at;             /* place of TIMER_DELIVER_MS; 0 = none */
    uint64_t queues;
    size_t item_stride;        /* distance of the same place in the next message of a batch */
    int items;
};

/* Unique keys of this process: 7F000001, process id, start time; 20 digits before the counter. */
void make_unique_prefix(char prefix[21], int process_id, uint64_t start);

/* Now, in milliseconds since 1970. */
void write_born(char born[BORN_DIGITS + 1]);

void make_send_template(struct request_template *out, const struct message_shape *shape, int queue);
void free_template(struct request_template *request);

/* Copies the template to `out` (room: template->length) with this request's own digits. `counter` is that of
 * its first message; `born` has BORN_DIGITS digits. */
size_t write_send(unsigned char *out, const struct request_template *request, uint32_t opaque, const char *born,
                  uint64_t counter);

/* Puts the delivery time (ms since 1970) into a single send that write_send wrote to `out`. */
void write_due(unsigned char *out, const struct request_template *request, int64_t due_ms);

/* A message that was sent, as requests about it name it. */
struct sent_message {
    const char *unique_prefix;
    uint64_t counter;
    int64_t physical_offset, queue_offset;
};

/* The following write one whole frame to `out` (room: FRAME_ROOM) and return its size. `sql` NULL: the tag
 * expression "*". */
size_t write_pull(unsigned char *out, uint32_t opaque, const char *topic, const char *group, const char *broker_name,
                  int queue, int64_t offset, int max_messages, const char *sql);
size_t write_heartbeat(unsigned char *out, uint32_t opaque, const char *topic, const char *group, const char *client_id,
                       const char *sql);
size_t write_create_topic(unsigned char *out, uint32_t opaque, const char *topic, int queues);
size_t write_max_offset(unsigned char *out, uint32_t opaque, const char *topic, const char *broker_name, int queue);
/* Code 37, commit. The client sends it one-way; here it is answered, so that its cost is measured, too. */
size_t write_commit(unsigned char *out, uint32_t opaque, const char *group, const char *broker_name,
                    const struct sent_message *message);
/* Code 36. */
size_t write_send_back(unsigned char *out, uint32_t opaque, const char *topic, const char *group,
                       const char *broker_name, const struct sent_message *message, int delay_level);

#endif
