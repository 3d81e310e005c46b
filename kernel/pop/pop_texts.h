/* The texts of POP's records: body, unique key and properties of check points and acknowledgements. */
#ifndef ROCKETWIRE_POP_TEXTS_H
#define ROCKETWIRE_POP_TEXTS_H

#include "core/span.h"

enum { POP_NUMBERS_MOST = 128, POP_NAMES_MOST = 3072 };
enum { POP_NUMBERS_SIZE = POP_NUMBERS_MOST * 21, POP_FIXED_SIZE = 512 };
/* How much room a text takes at most: names, numbers, and what is the same in all. */
enum { POP_TEXT_MOST = POP_NAMES_MOST + POP_NUMBERS_SIZE + POP_FIXED_SIZE };

/* Names of a check point; all of them together have POP_NAMES_MOST bytes at most. */
typedef struct {
    span members;              /* broker and group as members of the body, with a comma behind each */
    span topic_member;         /* the topic as the last member */
    span topic, group, broker; /* as the unique key has them */
} point_names;

typedef struct {
    point_names names;
    span renewer; /* of a check point: its member of the body with a comma, or nothing */
    int64_t queue, start, pop_time, invisible_time;
    int64_t numbers[POP_NUMBERS_MOST]; /* differences, or the offsets that are acknowledged */
    size_t count;
    bool is_ack;
} pop_record;

/* When a record leaves the timer, and for which queue. */
typedef struct {
    span revive_topic;
    int64_t revive_queue, deliver;
    bool waits; /* false: the record goes to the revive topic at once */
} pop_delivery;

uint8_t *put_pop_body(uint8_t *p, const pop_record *record);
uint8_t *put_pop_key(uint8_t *p, const pop_record *record);
uint8_t *put_pop_properties(uint8_t *p, const pop_record *record, span key, const pop_delivery *delivery);

#endif
