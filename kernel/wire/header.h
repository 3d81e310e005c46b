/* Parses a request's header, JSON or ROCKETMQ, without a copy.
 *
 * Only what official clients write is read here: JSON without blanks and with plain numbers, each key once, valid
 * UTF-8. Anything else is refused (false) and left to the general decoder in Python, so that only one place is lenient
 * and reports errors. */
#ifndef ROCKETWIRE_HEADER_H
#define ROCKETWIRE_HEADER_H

#include "core/facts.h"
#include "core/span.h"

#define HEADER_FIELDS_MOST 24

typedef struct {
    span name;
    span value;   /* JSON: as between the quotes */
    bool escaped; /* JSON: the value holds backslashes (see json_unescape) */
} header_field;

typedef struct {
    int32_t code;
    int32_t flag;
    int32_t opaque;
    uint8_t serialize_type;
    int count;
    header_field fields[HEADER_FIELDS_MOST];
} header;

bool header_read(span data, uint8_t serialize_type, header *found);
bool header_read_binary(span data, header *found); /* the ROCKETMQ form; binary_header.c */

/* Undo JSON's escapes; false: one that is not known here (unpaired surrogates ...), or less room than raw.len. */
bool json_unescape(span raw, uint8_t *to, size_t room, size_t *length);

#endif
