/* Answers to one read: text, and ranges of mapped files, which are sent without a copy. */
#ifndef ROCKETWIRE_OUTBOX_H
#define ROCKETWIRE_OUTBOX_H

#include "core/span.h"

typedef struct {
    size_t text_end; /* the range comes behind the text up to here */
    span range;
    void *owner; /* a Python object (strong reference) that keeps the range's memory; out_clear releases it */
} out_range;

typedef struct {
    uint8_t *text;
    size_t used, room;
    out_range *ranges;
    int count, most;
    size_t range_bytes;
} outbox;

/* Room for `size` more bytes of text: where to write them; the caller then adds to `used`. NULL: no memory. */
uint8_t *out_room(outbox *out, size_t size);

/* Put a range behind the text so far; takes its own reference of `owner`. False: no memory. */
bool out_range_add(outbox *out, span range, void *owner);

static inline size_t out_size(const outbox *out) { return out->used + out->range_bytes; }

void out_clear(outbox *out); /* forget everything, keep the memory */
void out_free(outbox *out);

#endif
