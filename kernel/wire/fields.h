/* Fields of protobuf messages. The reader knows numbers and lengths only: messages with other forms of fields are for
 * Python, as are those with a field that a caller does not know. */
#ifndef ROCKETWIRE_FIELDS_H
#define ROCKETWIRE_FIELDS_H

#include "core/span.h"

enum { VARINT_MOST = 10, TIMESTAMP_MOST = 20 }; /* bytes */
enum { FIELD_NUMBER = 0, FIELD_BYTES = 2 };     /* forms of a value */

typedef struct {
    const uint8_t *at, *end;
} fields;

typedef struct {
    uint32_t number, form;
    uint64_t value; /* of a number */
    span bytes;
} field;

typedef enum { FIELDS_END, FIELDS_ONE, FIELDS_BAD } fields_state;

static inline fields fields_of(span message) { return (fields){message.at, message.at + message.len}; }

/* A number of seven bits a byte, the lowest first. */
static inline bool read_varint(fields *from, uint64_t *value)
{
    uint64_t found = 0;
    for (unsigned shift = 0; from->at < from->end && shift < 64; shift += 7) {
        uint8_t byte = *from->at++;
        if (shift == 63 && byte > 1) return false;
        found |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *value = found;
            return true;
        }
    }
    return false;
}

static inline fields_state next_field(fields *from, field *found)
{
    uint64_t tag, value;
    if (from->at == from->end) return FIELDS_END;
    if (!read_varint(from, &tag) || tag < 8 || tag > UINT32_MAX || !read_varint(from, &value)) return FIELDS_BAD;
    *found = (field){.number = (uint32_t)tag >> 3, .form = tag & 7, .value = value};
    if (found->form == FIELD_NUMBER) return FIELDS_ONE;
    if (found->form != FIELD_BYTES || value > (uint64_t)(from->end - from->at)) return FIELDS_BAD;
    found->bytes = span_of(from->at, (size_t)value);
    from->at += value;
    return FIELDS_ONE;
}

/* Whether a field that a message has once at most occurs for the first time; `seen` has a bit for each number. */
static inline bool first_time(uint32_t *seen, uint32_t number)
{
    uint32_t bit = (uint32_t)1 << (number & 31);
    bool first = !(*seen & bit);
    *seen |= bit;
    return first;
}

static inline size_t varint_size(uint64_t value)
{
    size_t size = 1;
    for (; value >= 0x80; value >>= 7) size++;
    return size;
}

static inline uint8_t *put_varint(uint8_t *p, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) *p++ = (uint8_t)(value | 0x80);
    *p++ = (uint8_t)value;
    return p;
}

/* A field with a number below 16. */
static inline uint8_t *put_bytes_field(uint8_t *p, uint32_t number, span bytes)
{
    *p++ = (uint8_t)(number << 3 | FIELD_BYTES);
    return put_span(put_varint(p, bytes.len), bytes);
}

static inline size_t bytes_field_size(span bytes) { return 1 + varint_size(bytes.len) + bytes.len; }

#endif
