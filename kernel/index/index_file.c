/* See index_file.h. Slots are read at random in a table of many MB: each is prefetched some entries ahead. */

#include "index/index_file.h"

enum { AHEAD = 32 };

static uint32_t slot_of(const index_room *room, int64_t hash) { return (uint32_t)hash % room->slot_count; }

/* Whole seconds since the file's begin. Its first entry still counts from the end of the file before. */
static uint32_t seconds_since(int64_t begin, int64_t timestamp)
{
    if (begin <= 0 || timestamp <= begin) return 0;
    int64_t seconds = (timestamp - begin) / 1000;
    return seconds < INT32_MAX ? (uint32_t)seconds : INT32_MAX;
}

/* The entry in a slot, if its number is below `number`, else 0. A slot may be damaged: if it names an entry of this
 * run, it is valid only if that entry belongs to this slot. */
static uint32_t previous_of(const index_room *room, uint32_t slot, uint32_t number)
{
    uint32_t named = get32(room->slots + (size_t)slot * INDEX_SLOT_SIZE);
    if (named < room->first) return named;
    if (named >= number) return 0;
    return slot_of(room, get32(room->entries + (size_t)named * INDEX_ENTRY_SIZE)) == slot ? named : 0;
}

uint32_t index_put(const index_room *room, const int64_t *hashes, const int64_t *offsets, const int64_t *timestamps,
                   size_t count)
{
    uint32_t ahead[AHEAD] = {0}, newcomers = 0;
    int64_t begin = room->begin_timestamp;
    uint8_t *entry = room->entries + (size_t)room->first * INDEX_ENTRY_SIZE;
    for (size_t i = 0; i < count + AHEAD; i++) {
        uint32_t slot = ahead[i % AHEAD]; /* of the entry that was prefetched AHEAD steps before */
        if (i < count) {
            uint32_t coming = ahead[i % AHEAD] = slot_of(room, hashes[i]);
            __builtin_prefetch(room->slots + (size_t)coming * INDEX_SLOT_SIZE, 1);
        }
        if (i < AHEAD) continue;
        size_t at = i - AHEAD;
        uint32_t number = room->first + (uint32_t)at, previous = previous_of(room, slot, number);
        newcomers += previous == 0;
        entry = put32(entry, (uint32_t)hashes[at]);
        entry = put64(entry, (uint64_t)offsets[at]);
        entry = put32(entry, seconds_since(begin, timestamps[at]));
        entry = put32(entry, previous);
        put32(room->slots + (size_t)slot * INDEX_SLOT_SIZE, number);
        if (number == 1) begin = timestamps[at];
    }
    return newcomers;
}

size_t index_scan(const uint8_t *entries, size_t count, const index_wanted *wanted, int64_t *offsets, size_t most,
                  bool *older)
{
    size_t found = 0;
    *older = false;
    for (const uint8_t *entry = entries + count * INDEX_ENTRY_SIZE; entry != entries;) {
        entry -= INDEX_ENTRY_SIZE;
        if (get32(entry) != wanted->key_hash) continue;
        int64_t time = wanted->file_begin + (int64_t)(int32_t)get32(entry + INDEX_ENTRY_TIME_DIFF_AT) * 1000;
        if (time < wanted->begin) *older = true;
        if (time < wanted->begin || time > wanted->end || found == most) continue;
        offsets[found++] = (int64_t)get64(entry + INDEX_ENTRY_PHYSICAL_OFFSET_AT);
    }
    return found;
}
