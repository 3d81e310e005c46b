/* Makes columns of records in Arrow's layout: first everything is measured, then everything is written into one memory.
 *
 * Writing uses only the lengths noted while measuring, so a buffer that changes meanwhile does no harm. */
#ifndef ROCKETWIRE_RECORDS_COLUMNS_H
#define ROCKETWIRE_RECORDS_COLUMNS_H

#include "core/kernel.h"

#include "records/records.h"
#include "records/texts.h"

/* Lists of texts that columns are made of. */
typedef enum { TOPICS, BODIES, ALL_TAGS, UNIQUE_KEYS, BORN_HOSTS, STORE_HOSTS, WORDS, ITEMS, LISTS } text_list;

typedef enum { NUMBERS, TIMES, TEXTS, MAYBE_TEXTS, MESSAGE_IDS, OFFSET_IDS, KEY_WORDS, PROPERTIES } column_kind;

typedef struct {
    column_kind kind;
    const record_field *field; /* NUMBERS and TIMES */
    text_list list;            /* TEXTS and MAYBE_TEXTS */
} column_what;

/* Which column has this name; false: none. */
bool column_named(const char *name, column_what *found);

#define HOSTS_LATELY 64
typedef struct {
    uint8_t bytes[20];
    uint8_t size; /* of the host as stored; 0: nothing is kept here */
    piece text;
} host_text;

typedef struct {
    bool wanted[LISTS]; /* lists that are made */
    bool ids, properties;
    bool numbers_only; /* nothing needs to be measured: records are parsed when they are written */
    span buffer;
    const int64_t *positions;
    size_t count;
    const uint8_t **records; /* where each begins */
    uint8_t *host_bits;      /* and the bits that say which of its hosts are IPv6 */
    pieces lists[LISTS];
    uint64_t bytes[LISTS]; /* of all texts of a list */
    uint64_t value_bytes;  /* of ITEMS */
    uint64_t id_bytes, offset_id_bytes;
    int32_t *word_ends, *item_ends; /* behind the words or items of each record */
    size_t tagless;                 /* records without tags */
    properties_reader reader;
    kept *kept;
    host_text hosts[HOSTS_LATELY];
    PyObject *host_name; /* returns the text of an IPv6 host (borrowed) */
} measured;

/* Measure records; false: an exception is set. `to` is zero except for the requested columns, the records and
 * `host_name`. */
bool records_measure(measured *to);
void records_measured_free(measured *of);

static inline size_t offset_id_size(const measured *of, size_t row)
{
    return 2 * (store_size(of->host_bits[row]) + 8); /* the digits of the host and of the offset */
}

enum { COLUMNS_MOST = 32 }; /* of one call */

/* Where the parts of a column are in the memory, in Arrow's order. */
#define COLUMN_PARTS_MOST 5
typedef struct {
    column_what what;
    int parts;
    size_t at[COLUMN_PARTS_MOST], len[COLUMN_PARTS_MOST];
} column_place;

/* Place a column at `*end` of the memory, which moves behind it; false: it is too large for Arrow. */
bool column_put(const measured *of, column_place *place, size_t *end);

/* Write all columns; false: an exception is set. */
bool columns_write(const measured *from, const column_place *places, size_t count, uint8_t *memory);

#endif
