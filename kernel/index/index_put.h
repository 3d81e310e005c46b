/* Entering keys into a mapped index file: its slots and entries, as store.layout.index declares them. */
#ifndef ROCKETWIRE_INDEX_PUT_H
#define ROCKETWIRE_INDEX_PUT_H

#include "core/span.h"

enum { INDEX_SLOT_SIZE = 4, INDEX_ENTRY_SIZE = 20 };

typedef struct {
    uint8_t *slots, *entries; /* where both begin in the mapping */
    uint32_t slot_count;
    int64_t begin_timestamp;  /* of the file's header, in ms */
    uint32_t first;           /* number of the first entry that is put */
} index_room;

/* Put `count` entries in their order, one after the other, as Apache does; give how many took a slot that was free. */
uint32_t index_put(const index_room *room, const int64_t *hashes, const int64_t *offsets, const int64_t *timestamps,
                   size_t count);

#endif
