/* Where a KeyColumn keeps its keys.
 *
 * Three arrays of numbers (hash, physical offset, store timestamp of each key) and a mark for each group of messages.
 * Rows are numbered from the start on; `first_row` is the number of the first one in memory. Rows are taken as a copy,
 * or with their memory, so nothing here is shared with the thread that works on them. All calls hold the GIL. */
#ifndef ROCKETWIRE_KEY_ROWS_H
#define ROCKETWIRE_KEY_ROWS_H

#include "core/kernel.h"
#include "index/keys.h"

enum { HASHES, OFFSETS, TIMESTAMPS, COLUMNS };

typedef struct {
    int64_t start, end; /* the part of the log that its messages are */
    int64_t last_offset, last_timestamp;
    uint64_t rows_end;
} key_group;

typedef struct {
    PyObject_HEAD
    PyObject *memory[COLUMNS]; /* bytearrays */
    int64_t *columns[COLUMNS]; /* in them */
    size_t room;
    uint64_t first_row, taken, used; /* number of the first row in memory, the first one not taken, the next one */
    key_group *groups;
    size_t groups_room, groups_taken, groups_used;
    size_t most;                         /* more rows and groups are not kept */
    int64_t last_offset, last_timestamp; /* of the newest message */
} KeyColumn;

uint64_t key_rows_committed(const KeyColumn *self); /* the number behind the last row of the last group */
void key_rows_rollback(KeyColumn *self);            /* forget what was added since the last group */
void key_rows_clear(KeyColumn *self);               /* forget all groups and their rows; much memory is given back */
void key_rows_free(KeyColumn *self);

/* Mark groups as taken: their rows are not needed any more. */
void key_rows_pass(KeyColumn *self, size_t groups);

/* The rows of a column that are not taken yet, up to `end`, as a memoryview of numbers. With `whole`, if no group
 * remains, much memory is handed over instead of copied. */
PyObject *key_rows_view(const KeyColumn *self, int column, uint64_t end, bool whole);

#endif
