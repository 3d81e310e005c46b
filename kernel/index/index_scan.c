/* See index_scan.h. */

#include "index/index_scan.h"

#include "index/index_put.h"

enum { OFFSET_AT = 4, TIME_AT = 12 };

size_t index_scan(const uint8_t *entries, size_t count, const index_wanted *wanted, int64_t *offsets, size_t most,
                  bool *older)
{
    size_t found = 0;
    *older = false;
    for (const uint8_t *entry = entries + count * INDEX_ENTRY_SIZE; entry != entries;) {
        entry -= INDEX_ENTRY_SIZE;
        if (get32(entry) != wanted->key_hash) continue;
        int64_t time = wanted->file_begin + (int64_t)(int32_t)get32(entry + TIME_AT) * 1000;
        if (time < wanted->begin) *older = true;
        if (time < wanted->begin || time > wanted->end || found == most) continue;
        offsets[found++] = (int64_t)get64(entry + OFFSET_AT);
    }
    return found;
}
