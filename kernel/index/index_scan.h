/* Looking for a key among the entries of an index file, one by one. */
#ifndef ROCKETWIRE_INDEX_SCAN_H
#define ROCKETWIRE_INDEX_SCAN_H

#include "core/span.h"

typedef struct {
    uint32_t key_hash;
    int64_t file_begin; /* the store time in ms from which entries count */
    int64_t begin, end; /* what is wanted was stored between these, in ms */
} index_wanted;

/* Physical offsets of the entries wanted, newest first and `most` at most; give how many. `older` tells whether an entry
 * of this key was stored before the time that is wanted. */
size_t index_scan(const uint8_t *entries, size_t count, const index_wanted *wanted, int64_t *offsets, size_t most,
                  bool *older);

#endif
