/* Which messages of a queue a pull gets, by the rules of store.read.fetch: filters by tags codes, and by property
 * texts. */
#ifndef ROCKETWIRE_FETCH_H
#define ROCKETWIRE_FETCH_H

#include "core/span.h"

#define FETCH_RUNS_MOST 128
#define FETCH_SCANNED_MOST 800 /* entries that one filtered pull examines: Apache's 16,000 bytes */

typedef struct {
    int64_t most;   /* messages; at least one is found */
    int64_t memory; /* so many bytes behind the log's end still count as in memory */
    int64_t count_in_memory, bytes_in_memory, count_on_disk, bytes_on_disk;
    bool everything;      /* whatever the tags code */
    const int64_t *codes; /* else these, in ascending order */
    size_t code_count;
} fetch_wish;

/* A mapped part of the log: the written bytes from physical offset `start` on. */
typedef struct {
    span bytes;
    int64_t start;
} log_part;

typedef struct {
    span runs[FETCH_RUNS_MOST]; /* adjacent records are one run */
    int run_count;
    int64_t count, size, scanned; /* messages, their bytes, entries examined */
    int64_t read;                 /* bytes of property text, each message counting some for itself */
    int64_t wanted;               /* FETCH_ELSEWHERE: physical offset of the record that is not in the part */
} fetch_found;

/* A filter by property texts. It examines messages up to the one whose text exceeds `most_text` bytes in all. */
typedef struct {
    int (*matches)(void *context, span text); /* 1: it passes, 0: it does not; -1: undecided */
    void *context;
    int64_t most_text;
} fetch_filter;

typedef enum {
    FETCH_DONE,      /* `count` is 0 if none passed the filter */
    FETCH_ELSEWHERE, /* call again with the part of the log that has `wanted`; nothing is found so far */
    FETCH_UNUSUAL    /* a record in another file than those before, out of order or damaged, or too many runs ... */
} fetch_state;

/* `found` is all zeros at the first call. How many entries a wish examines: fetch_entries_most. */
fetch_state fetch_messages(span entries, const fetch_wish *wish, const log_part *part, int64_t log_end,
                           fetch_found *found);

/* The same by property texts; all records must be in memory (`everything` is not used). */
fetch_state fetch_matching(span entries, const fetch_wish *wish, const fetch_filter *filter, const log_part *part,
                           int64_t log_end, fetch_found *found);

int64_t fetch_entries_most(const fetch_wish *wish);

#endif
