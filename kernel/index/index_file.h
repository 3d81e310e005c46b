/* Puts keys into a mapped index file, and searches them. store.layout.index declares its slots and entries. */
#ifndef ROCKETWIRE_INDEX_FILE_H
#define ROCKETWIRE_INDEX_FILE_H

#include "core/facts.h"
#include "core/span.h"

typedef struct {
    uint8_t *slots, *entries; /* where both begin in the mapping */
    uint32_t slot_count;
    int64_t begin_timestamp; /* of the file's header, in ms */
    uint32_t first;          /* number of the first entry that is put */
} index_room;

/* Put `count` entries in their order, one after the other, as Apache does; returns how many took a free slot. */
uint32_t index_put(const index_room *room, const int64_t *hashes, const int64_t *offsets, const int64_t *timestamps,
                   size_t count);

typedef struct {
    uint32_t key_hash;
    int64_t file_begin; /* the store time in ms from which entries count */
    int64_t begin, end; /* what is wanted was stored between these, in ms */
} index_wanted;

/* Physical offsets of the matching entries, newest first, `most` at most; returns how many. `older`: whether an entry
 * of this key was stored before the requested time. */
size_t index_scan(const uint8_t *entries, size_t count, const index_wanted *wanted, int64_t *offsets, size_t most,
                  bool *older);

#endif
