/* Going through queue entries: see fetch.h. The twin is store.fetch, whose two ways give the same here. */

#include "fetch.h"

#include "record.h"

/* Tags codes up to this one are no hashes, but places in a consume queue extension: such messages pass every filter. */
#define HIGHEST_EXT_ADDRESS (-(INT64_C(1) << 31) - 1)

static bool passes(const fetch_wish *wish, int64_t code)
{
    if (wish->everything || code <= HIGHEST_EXT_ADDRESS) {
        return true;
    }
    size_t low = 0, high = wish->code_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (wish->codes[middle] < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < wish->code_count && wish->codes[low] == code;
}

int64_t fetch_entries_most(const fetch_wish *wish)
{
    if (wish->everything) {
        int64_t most = wish->most > 1 ? wish->most : 1;
        return most < wish->count_in_memory ? most : wish->count_in_memory;
    }
    return wish->most > FETCH_SCANNED_MOST ? wish->most : FETCH_SCANNED_MOST;
}

/* Whether the answer is full before a record of this size at this place. */
static bool is_full(const fetch_wish *wish, const fetch_found *found, int64_t behind, int64_t size)
{
    bool on_disk = behind > wish->memory;
    int64_t most_count = on_disk ? wish->count_on_disk : wish->count_in_memory;
    int64_t most_bytes = on_disk ? wish->bytes_on_disk : wish->bytes_in_memory;
    return found->count >= wish->most || found->count >= most_count || found->size + size > most_bytes;
}

fetch_state fetch_messages(span entries, const fetch_wish *wish, const log_part *part, int64_t log_end,
                           fetch_found *found)
{
    const uint8_t *entry = entries.at + found->scanned * QUEUE_ENTRY_SIZE;
    const uint8_t *end = entries.at + entries.len;
    span *run = found->runs + found->run_count - 1;
    for (; entry < end; entry += QUEUE_ENTRY_SIZE) {
        int64_t place = (int64_t)get64(entry);
        int32_t size = (int32_t)get32(entry + 8);
        if (place < 0 || size <= 0) {
            return FETCH_UNUSUAL;
        }
        if (found->count > 0 && is_full(wish, found, log_end - place, size)) {
            break;
        }
        if (!passes(wish, (int64_t)get64(entry + 12))) {
            found->scanned++;
            continue;
        }
        if (place < part->start || place - part->start > (int64_t)part->bytes.len - size) {
            found->wanted = place;
            return found->count > 0 ? FETCH_UNUSUAL : FETCH_ELSEWHERE;
        }
        const uint8_t *record = part->bytes.at + (place - part->start);
        if (found->count > 0 && record < run->at + run->len) {
            return FETCH_UNUSUAL;
        }
        if (found->count > 0 && record == run->at + run->len) {
            run->len += (size_t)size;
        } else {
            if (found->run_count == FETCH_RUNS_MOST) {
                return FETCH_UNUSUAL;
            }
            run = found->runs + found->run_count++;
            *run = span_of(record, (size_t)size);
        }
        found->scanned++;
        found->count++;
        found->size += size;
    }
    return FETCH_DONE;
}
