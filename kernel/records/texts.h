/* Texts of records: lists of their positions, and memory for new texts. */
#ifndef ROCKETWIRE_RECORDS_TEXTS_H
#define ROCKETWIRE_RECORDS_TEXTS_H

#include "core/span.h"

typedef struct {
    const uint8_t *at; /* NULL: there is none */
    uint32_t len;
    uint32_t value_len; /* of a property: its value is behind the name and a separator */
} piece;

typedef struct {
    piece *at;
    size_t count, room;
} pieces;

/* Make room for so many more; false: no memory. */
static inline bool pieces_fit(pieces *list, size_t more) { return list->room - list->count >= more; }
bool pieces_grow(pieces *list, size_t more);
static inline bool pieces_room(pieces *list, size_t more) { return pieces_fit(list, more) || pieces_grow(list, more); }

/* Memory for texts, which do not move until all are freed. */
typedef struct kept kept;
uint8_t *kept_room(kept **all, size_t size); /* NULL: there is no memory */
void kept_free(kept **all);

/* Bytes as Python's decode("utf-8", "replace") gives them: as UTF-8 again. */
size_t mended_length(span text);
void mended_write(span text, uint8_t *to);

/* Names of properties with columns; values of others go to NAMELESS. */
typedef enum { NAMELESS, TAGS, KEYS, UNIQUE_KEY, KNOWN_NAMES } known_name;

/* Property texts, many of them. */
typedef struct {
    pieces
        items; /* of all texts, one behind the other: each name once, with its last value, in the order of the first */
    size_t before; /* how many names the text before had; the same ones need no second look */
    kept **kept;
    uint16_t *slots; /* a table of the names of one text */
    size_t slot_room;
} properties_reader;

typedef struct {
    span values[KNOWN_NAMES]; /* at == NULL: not there, or without a value */
} properties_known;

bool properties_read(properties_reader *reader, span text, properties_known *known); /* false: there is no memory */
void properties_done(properties_reader *reader);

static inline uint64_t text_hash(span text)
{
    uint64_t first = 0, last = 0;
    if (text.len >= 8) {
        memcpy(&first, text.at, 8);
        memcpy(&last, text.at + text.len - 8, 8);
    } else if (text.len >= 4) {
        memcpy(&first, text.at, 4);
        memcpy(&last, text.at + text.len - 4, 4);
    } else {
        for (size_t i = 0; i < text.len; i++) first = first << 8 | text.at[i];
    }
    uint64_t mixed = (first + text.len) * 0x9E3779B97F4A7C15u ^ last * 0xC2B2AE3D27D4EB4Fu;
    return (mixed ^ mixed >> 29) * 0x9E3779B97F4A7C15u;
}

static inline bool same_text(span a, span b) { return a.len == b.len && memcmp(a.at, b.at, a.len) == 0; }

#endif
