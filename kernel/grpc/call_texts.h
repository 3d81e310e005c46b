/* Which texts of calls are plain: those that the checks of wire.grpc.checks accept for certain. */
#ifndef ROCKETWIRE_CALL_TEXTS_H
#define ROCKETWIRE_CALL_TEXTS_H

#include "core/span.h"
#include "wire/fields.h"

/* UTF-8 without control characters. */
bool text_is_plain(span text);

/* Such a text, that also has more than white space in it, as far as is known without tables. */
bool text_is_not_blank(span text);

/* Small messages: two fields with the numbers 1 and 2, each there once at most. */
typedef struct {
    field each[3];
} field_pair;

bool pair_read(span message, uint32_t first_form, uint32_t second_form, field_pair *found);

/* The name in a Resource: a topic or a group. */
bool resource_read(span message, span *name);

#endif
