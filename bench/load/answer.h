/* Reading what a broker answers: one frame, its JSON header, the records of a pull. No I/O. */
#ifndef BENCH_ANSWER_H
#define BENCH_ANSWER_H

#include <stddef.h>
#include <stdint.h>

#include "core/facts.h"

struct answer {
    int64_t code, flag, opaque;
    /* From extFields; -1 when the answer has none. */
    int64_t next_begin_offset, queue_offset, offset;
    int64_t physical_offset; /* of the message that msgId names: the last 16 of its 32 hexadecimal digits */
    const char *remark; /* points into the frame, as escaped there; NULL when absent */
    size_t remark_length;
    const unsigned char *body;
    size_t body_length;
};

/* Bytes of the whole frame (with its length field) that starts at `data`; 0 when `have` bytes do not contain it; -1
 * when the length is impossible. */
int64_t frame_size(const unsigned char *data, size_t have);

/* Fills `out` from a whole frame; NULL, or what is wrong with the frame. */
const char *read_answer(const unsigned char *frame, size_t size, struct answer *out);

/* Walks the records of a pull's body. Checks sizes, magic and that queue offsets run from `first_offset`.
 * The number of records, or -1 when the body is not whole records with those offsets. */
int count_records(const unsigned char *body, size_t length, int64_t first_offset);

/* The same for a pull with a filter: queue offsets rise, from `first_offset` on and below `next_offset`. */
int count_filtered(const unsigned char *body, size_t length, int64_t first_offset, int64_t next_offset);

/* The body of the record at the start of `record`; its length goes to `length`, the record's size to `size`. */
const char *record_body(const unsigned char *record, size_t *size, size_t *length);

/* When the record at the start of `record` was stored, ms since 1970; its size goes to `size`. */
int64_t record_stored_ms(const unsigned char *record, size_t *size);

/* The value of a property of the record at the start of `record`, or NULL when it has none so called. `name` ends with the
 * separator (\001); the value's length goes to `length`. */
const char *record_property(const unsigned char *record, const char *name, size_t *length);

/* Milliseconds from born to stored of the record at the start of `record`; its size goes to `size`. */
int64_t record_age_ms(const unsigned char *record, size_t *size);

#endif
