/* Cutting a byte stream into frames: the same rules as wire.connection. */
#ifndef ROCKETWIRE_FRAME_H
#define ROCKETWIRE_FRAME_H

#include "core/facts.h"
#include "core/span.h"

enum {
    FRAME_WORDS = 8 /* bytes of the two words before a header; the first does not count itself */
};

typedef struct {
    span header;
    span body;
    uint8_t serialize_type;
    size_t size; /* all of it, with both words */
} frame;

typedef enum {
    FRAME_WHOLE,
    FRAME_PART, /* more bytes are needed; `size` is how many there must be, 0 while not even that is known */
    FRAME_BAD   /* no frame can begin so: Python reports why */
} frame_state;

frame_state frame_next(span data, frame *found);

void frame_words_write(uint8_t *to, uint8_t serialize_type, size_t header, size_t body);

#endif
