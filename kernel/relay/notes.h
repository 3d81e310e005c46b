/* What a relay notes of the frames that it passes: how many requests of each kind there were and how long their answers
 * took, and copies of a sample of sends and of the headers of their answers. */
#ifndef ROCKETWIRE_NOTES_H
#define ROCKETWIRE_NOTES_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/durations.h"
#include "core/kernel.h"
#include "core/span.h"
#include "relay/pending.h"

enum { COPIES_MOST = 1000, COPIED_BYTES_MOST = 16 << 20, CHANCE_ALWAYS = 1000000 };

/* All written by the relay's thread only. */
typedef struct {
    atomic_llong requests, counts[DURATION_BUCKETS], sum; /* ns */
} request_times;

/* A frame, or the part of it that was received. */
typedef struct copied_frame {
    struct copied_frame *next;
    int64_t pair;
    size_t size, have;
    uint8_t bytes[];
} copied_frame;

typedef struct {
    int32_t *codes;             /* in order; those that are counted separately. NULL: no times are kept */
    int codes_count, last_kind; /* clients mostly repeat the same */
    int32_t last_code;
    request_times *times; /* of each code, and one more of all others */
    int64_t now;          /* ns; when the last bytes came */
    uint32_t chance;      /* of a million sends so many are copied */
    uint64_t random;
    pthread_mutex_t lock; /* for: */
    copied_frame *first, **end;
    size_t count, bytes; /* of what is copied, or being copied */
    int64_t dropped;     /* sends that were chosen when there were too many copies */
} notes;

/* Of one pair. */
typedef struct {
    pending_requests unanswered;
    copied_frame *copy; /* that is being made */
} pair_notes;

bool notes_open(notes *all, const int32_t *codes, int count, uint32_t chance, uint64_t seed); /* false: no memory */
void notes_close(notes *all);
static inline bool notes_any(const notes *all) { return all->codes != NULL || all->chance > 0; }

/* Bytes came. */
void notes_clock(notes *all);
/* A frame begins: its two words and its whole header are received. */
void notes_request(notes *all, pair_notes *of, int64_t pair, span begin, size_t size);
bool notes_answer(notes *all, pair_notes *of, int64_t pair, span begin); /* true: copies are to be fetched */
/* Bytes of a client's frame; true: copies are to be fetched. */
bool notes_bytes(notes *all, pair_notes *of, const uint8_t *bytes, size_t size);
void notes_end(notes *all, pair_notes *of);
/* Take all copies out; the caller frees them. */
copied_frame *notes_copies(notes *all, int64_t *dropped);

/* For Python: notes_view.c; NULL: an exception is set */
PyObject *notes_times(const notes *all);
PyObject *notes_copied(notes *all);

#endif
