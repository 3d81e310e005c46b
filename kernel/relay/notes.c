#define _GNU_SOURCE
#ifdef __linux__

#include "relay/notes.h"

#include <time.h>

#include "relay/head.h"
#include "wire/frame.h"
#include "wire/requests.h"

bool notes_open(notes *all, const int32_t *codes, int count, uint32_t chance, uint64_t seed)
{
    all->chance = chance;
    all->random = seed | 1;
    all->end = &all->first;
    if (count > 0) {
        all->codes = malloc((size_t)count * sizeof *codes);
        all->times = calloc((size_t)count + 1, sizeof *all->times);
        if (all->codes == NULL || all->times == NULL) {
            free(all->codes);
            free(all->times);
            all->codes = NULL;
            return false;
        }
        memcpy(all->codes, codes, (size_t)count * sizeof *codes);
        all->last_code = codes[0];
        all->codes_count = count;
    }
    return pthread_mutex_init(&all->lock, NULL) == 0;
}

void notes_close(notes *all)
{
    int64_t dropped;
    for (copied_frame *each = notes_copies(all, &dropped), *next; each != NULL; each = next) {
        next = each->next;
        free(each);
    }
    free(all->codes);
    free(all->times);
    all->codes = NULL;
    all->times = NULL;
    pthread_mutex_destroy(&all->lock);
}

void notes_clock(notes *all)
{
    struct timespec now;
    if (all->codes != NULL) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        all->now = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }
}

/* --- times --- */

static void add(atomic_llong *counter, long long more)
{
    long long before = atomic_load_explicit(counter, memory_order_relaxed); /* no other thread writes */
    atomic_store_explicit(counter, before + more, memory_order_relaxed);
}

/* The index of a code's times; those of all others are the last. */
static int kind_of(notes *all, int32_t code)
{
    if (code == all->last_code) {
        return all->last_kind;
    }
    int low = 0, high = all->codes_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (all->codes[middle] < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    all->last_code = code;
    all->last_kind = low < all->codes_count && all->codes[low] == code ? low : all->codes_count;
    return all->last_kind;
}

/* --- copies --- */

/* False: there are too many. */
static bool reserve(notes *all, size_t size)
{
    pthread_mutex_lock(&all->lock);
    bool room = all->count < COPIES_MOST && all->bytes + size <= COPIED_BYTES_MOST;
    all->count += room;
    all->bytes += room ? size : 0;
    all->dropped += !room;
    pthread_mutex_unlock(&all->lock);
    return room;
}

static void release(notes *all, size_t size)
{
    pthread_mutex_lock(&all->lock);
    all->count--;
    all->bytes -= size;
    pthread_mutex_unlock(&all->lock);
}

static void queue(notes *all, copied_frame *copy)
{
    pthread_mutex_lock(&all->lock);
    copy->next = NULL;
    *all->end = copy;
    all->end = &copy->next;
    pthread_mutex_unlock(&all->lock);
}

copied_frame *notes_copies(notes *all, int64_t *dropped)
{
    pthread_mutex_lock(&all->lock);
    copied_frame *first = all->first;
    all->first = NULL;
    all->end = &all->first;
    for (copied_frame *each = first; each != NULL; each = each->next) {
        all->count--;
        all->bytes -= each->size;
    }
    *dropped = all->dropped;
    all->dropped = 0;
    pthread_mutex_unlock(&all->lock);
    return first;
}

static copied_frame *copy_new(int64_t pair, size_t size)
{
    copied_frame *copy = malloc(sizeof *copy + size);
    if (copy != NULL) {
        copy->pair = pair;
        copy->size = size;
        copy->have = 0;
    }
    return copy;
}

/* A xorshift generator: clients cannot predict which sends are chosen, and nothing depends on it. */
static bool chosen(notes *all, int32_t code)
{
    if (all->chance == 0 ||
        (code != CODE_SEND_MESSAGE && code != CODE_SEND_MESSAGE_V2 && code != CODE_SEND_BATCH_MESSAGE)) {
        return false;
    }
    all->random ^= all->random << 13;
    all->random ^= all->random >> 7;
    all->random ^= all->random << 17;
    return (all->random >> 11) % CHANCE_ALWAYS < all->chance;
}

/* --- frames --- */

static span header_of(span begin) { return span_of(begin.at + FRAME_WORDS, begin.len - FRAME_WORDS); }

void notes_request(notes *all, pair_notes *of, int64_t pair, span begin, size_t size)
{
    head found;
    if (!head_read(header_of(begin), begin.at[4], &found) || (found.flag & FLAG_RESPONSE)) {
        return;
    }
    request_place request = {.since = all->now, .opaque = found.opaque};
    if (all->codes != NULL) {
        request.kind = (int16_t)kind_of(all, found.code);
        add(&all->times[request.kind].requests, 1);
    }
    if (chosen(all, found.code) && reserve(all, size)) {
        of->copy = copy_new(pair, size);
        request.copied = of->copy != NULL;
        if (!request.copied) {
            release(all, size);
        }
    }
    if (!(found.flag & FLAG_ONEWAY) && (all->codes != NULL || request.copied)) {
        pending_add(&of->unanswered, request);
    }
}

bool notes_answer(notes *all, pair_notes *of, int64_t pair, span begin)
{
    head found;
    request_place request;
    if (of->unanswered.count == 0 || !head_read(header_of(begin), begin.at[4], &found) ||
        !(found.flag & FLAG_RESPONSE) || !pending_take(&of->unanswered, found.opaque, &request)) {
        return false;
    }
    if (all->codes != NULL) {
        request_times *times = &all->times[request.kind];
        int64_t took = all->now - request.since;
        add(&times->counts[duration_bucket(took)], 1);
        add(&times->sum, took);
    }
    copied_frame *answer = request.copied ? copy_new(pair, begin.len) : NULL;
    if (answer == NULL) {
        return false;
    }
    memcpy(answer->bytes, begin.at, begin.len);
    pthread_mutex_lock(&all->lock);
    all->count++; /* there is one for each copy at most, so that it needs no separate limit */
    all->bytes += begin.len;
    pthread_mutex_unlock(&all->lock);
    queue(all, answer);
    return true;
}

bool notes_bytes(notes *all, pair_notes *of, const uint8_t *bytes, size_t size)
{
    copied_frame *copy = of->copy;
    if (copy == NULL) {
        return false;
    }
    memcpy(copy->bytes + copy->have, bytes, size);
    copy->have += size;
    if (copy->have < copy->size) {
        return false;
    }
    of->copy = NULL;
    queue(all, copy);
    return true;
}

void notes_end(notes *all, pair_notes *of)
{
    pending_forget(&of->unanswered);
    if (of->copy != NULL) {
        release(all, of->copy->size);
        free(of->copy);
        of->copy = NULL;
    }
}

#else
typedef int notes_is_empty;
#endif
