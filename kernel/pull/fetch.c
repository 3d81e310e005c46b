/* Examines queue entries: see fetch.h. The twin is store.read.fetch; its two implementations agree with this one. */

#include "pull/fetch.h"

#include "message/record.h"

/* Tags codes up to this one are not hashes, but positions in a consume queue extension: such messages pass every
 * filter. */

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

/* Where a record of the log is; at == NULL: not in the part. */
static span record_at(const log_part *part, int64_t place, int32_t size)
{
    if (place < part->start || place - part->start > (int64_t)part->bytes.len - size) {
        return span_of(NULL, 0);
    }
    return span_of(part->bytes.at + (place - part->start), (size_t)size);
}

/* Append a record to those found; false: its position is not behind them, or there is no room. */
static bool add(fetch_found *found, span record)
{
    span *run = found->run_count == 0 ? NULL : &found->runs[found->run_count - 1];
    if (run != NULL && record.at < run->at + run->len) {
        return false;
    }
    if (run != NULL && record.at == run->at + run->len) {
        run->len += record.len;
    } else if (found->run_count == FETCH_RUNS_MOST) {
        return false;
    } else {
        found->runs[found->run_count++] = record;
    }
    found->count++;
    found->size += (int64_t)record.len;
    return true;
}

fetch_state fetch_messages(span entries, const fetch_wish *wish, const log_part *part, int64_t log_end,
                           fetch_found *found)
{
    const uint8_t *entry = entries.at + found->scanned * QUEUE_ENTRY_SIZE;
    const uint8_t *end = entries.at + entries.len;
    for (; entry < end; entry += QUEUE_ENTRY_SIZE) {
        int64_t place = (int64_t)get64(entry);
        int32_t size = (int32_t)get32(entry + QUEUE_ENTRY_SIZE_AT);
        if (place < 0 || size <= 0) {
            return FETCH_UNUSUAL;
        }
        if (found->count > 0 && is_full(wish, found, log_end - place, size)) {
            break;
        }
        if (!passes(wish, (int64_t)get64(entry + QUEUE_ENTRY_TAGS_CODE_AT))) {
            found->scanned++;
            continue;
        }
        span record = record_at(part, place, size);
        if (record.at == NULL) {
            found->wanted = place;
            return found->count > 0 ? FETCH_UNUSUAL : FETCH_ELSEWHERE;
        }
        if (!add(found, record)) {
            return FETCH_UNUSUAL;
        }
        found->scanned++;
    }
    return FETCH_DONE;
}

/* --- by property texts --- */

enum { TEXT_COUNTS_FOR = 64 };

/* The property text of a record of the usual form, with which it ends; false: of another one, or damaged. */
static bool text_of_record(span record, span *text)
{
    if (record.len < RECORD_BODY_AT || (int32_t)get32(record.at + RECORD_MAGIC_AT) != RECORD_MAGIC_V1 ||
        get32(record.at + RECORD_SYS_FLAG_AT) & RECORD_HOST_BITS) {
        return false;
    }
    size_t at = RECORD_BODY_AT + (size_t)get32(record.at + RECORD_BODY_LENGTH_AT); /* of the topic's length, one byte */
    if (at >= record.len) {
        return false;
    }
    at += 1 + (size_t)record.at[at] + 2; /* the text's own length is two bytes */
    if (at > record.len) {
        return false;
    }
    *text = span_of(record.at + at, record.len - at);
    return true;
}

fetch_state fetch_matching(span entries, const fetch_wish *wish, const fetch_filter *filter, const log_part *part,
                           int64_t log_end, fetch_found *found)
{
    int64_t most = wish->most < wish->count_in_memory ? wish->most : wish->count_in_memory;
    const uint8_t *end = entries.at + entries.len;
    for (const uint8_t *entry = entries.at; entry < end; entry += QUEUE_ENTRY_SIZE) {
        int64_t place = (int64_t)get64(entry);
        int32_t size = (int32_t)get32(entry + QUEUE_ENTRY_SIZE_AT);
        if (place < 0 || size <= 0) {
            return FETCH_UNUSUAL;
        }
        if (found->read > filter->most_text ||
            (found->count > 0 && (found->count >= most || found->size + size > wish->bytes_in_memory))) {
            break;
        }
        span record = record_at(part, place, size), text;
        if (record.at == NULL) {
            found->wanted = place;
            return found->scanned > 0 ? FETCH_UNUSUAL : FETCH_ELSEWHERE;
        }
        bool in_order = place >= (int64_t)get64(entries.at);
        if (!in_order || log_end - place > wish->memory || !text_of_record(record, &text)) {
            return FETCH_UNUSUAL;
        }
        int matches = filter->matches(filter->context, text);
        if (matches < 0 || (matches > 0 && !add(found, record))) {
            return FETCH_UNUSUAL;
        }
        found->scanned++;
        found->read += (int64_t)text.len + TEXT_COUNTS_FOR;
    }
    return FETCH_DONE;
}
