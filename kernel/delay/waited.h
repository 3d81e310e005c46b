/* Records of messages that wait, for a delay level or for a set time, as server.messages.restoring reads them. */
#ifndef ROCKETWIRE_WAITED_H
#define ROCKETWIRE_WAITED_H

#include "message/properties.h"

enum { TIMER_GRID = 10 }; /* ms; see store.timer.units */

/* TIMER_OUT_MS of a message that is due at a time, both in ms since 1970. */
static inline int64_t timer_out_time(int64_t due) { return due % TIMER_GRID != 0 ? due : due - 1; }

/* The properties to find. The last three get new values when the message is stored again. */
enum {
    WAITED_TAGS,
    WAITED_KEYS,
    WAITED_UNIQUE_KEY,
    WAITED_TOPIC,
    WAITED_QUEUE_ID,
    WAITED_OUT,
    WAITED_CANCELS,
    WAITED_ROLL_TIMES,
    WAITED_ENQUEUE,
    WAITED_DEQUEUE,
    WAITED_NAMES,
    WAITED_SET = WAITED_ROLL_TIMES
};

/* Bytes that writing the last three adds at most: two separators, a name of at most 16 letters, a number for each. */
enum { WAITED_ROOM = (WAITED_NAMES - WAITED_SET) * (2 + 16 + 20) };

#define SCHEDULE_TOPIC_FIELD "\x13SCHEDULE_TOPIC_XXXX" /* as a record has them: with the length before the name */
#define TIMER_TOPIC_FIELD "\x13rmq_sys_wheel_timer"
enum { WAITED_FIELD_SIZE = sizeof TIMER_TOPIC_FIELD - 1 };

typedef struct {
    span born_host, body, properties; /* in the record, as are the values */
    int64_t physical_offset, born_timestamp;
    int32_t size, magic, flag, sys_flag, reconsume_times;
    span values[WAITED_NAMES]; /* of duplicate names the last value; at == NULL: none */
    bool nul;                  /* a NUL in the properties */
    bool twice;                /* one of the last three is duplicate, or without a value */
} waited;

/* Decode one. False: this broker would write it differently, so it is for Python. */
bool waited_read(span record, const char *topic_field, waited *found);

/* Parse a text of digits. False: it is not a number, or above `most`; *value stays. */
bool waited_number(span text, int64_t most, int64_t *value);

/* Write its properties with other values for the names from `first` on, numbers[0] for the first of them: in their
 * places, or behind all others; `to` has room for properties.len + WAITED_ROOM bytes. Gives the length. */
size_t waited_rewrite(const waited *from, int first, const int64_t *numbers, uint8_t *to);

#endif
