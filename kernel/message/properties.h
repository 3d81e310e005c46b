/* Property texts: `name 0x01 value 0x02 name 0x01 value`. An item without a name or a value counts for nothing, and the
 * last of equal names wins: wire.properties.decode_properties is the twin. Only the columns of many records have
 * another reader, records/records_properties.c. */
#ifndef ROCKETWIRE_PROPERTIES_H
#define ROCKETWIRE_PROPERTIES_H

#include "core/facts.h"
#include "core/span.h"

typedef struct {
    const uint8_t *at, *end; /* the rest of the text; at == NULL: nothing, not even an empty item */
} items;

typedef struct {
    span whole, name, value;
    bool nul;
} item;

static inline items items_of(span text) { return (items){text.at, text.at + text.len}; }

/* The first byte of at most ITEM_SEP, `end` if there is none. Eight at a time: the lowest one found so is exact. */
static inline const uint8_t *next_special(const uint8_t *p, const uint8_t *end)
{
    const uint64_t ones = 0x0101010101010101u;
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        uint64_t low = (word - ones * (ITEM_SEP + 1)) & ~word & ones * 0x80;
        if (low) return p + (__builtin_ctzll(low) >> 3);
    }
    while (p < end && *p > ITEM_SEP) p++;
    return p;
}

static inline bool next_item(items *rest, item *found)
{
    const uint8_t *start = rest->at, *end = rest->end, *name_end = NULL, *p = start;
    if (start == NULL) return false;
    found->nul = false;
    for (;; p++) {
        p = next_special(p, end);
        if (p == end || *p == ITEM_SEP) break;
        if (*p == 0) {
            found->nul = true;
        } else if (name_end == NULL) {
            name_end = p;
        }
    }
    rest->at = p == end ? NULL : p + 1;
    found->whole = span_of(start, (size_t)(p - start));
    found->name = span_of(start, (size_t)((name_end ? name_end : p) - start));
    found->value = name_end ? span_of(name_end + 1, (size_t)(p - name_end - 1)) : span_of(p, 0);
    return true;
}

/* Whether it is "true" in whatever case of its letters, as server.send.drafts reads WAIT. */
bool is_true(span value);

/* The value of each of some properties that has one; at == NULL: none. */
void property_values(span text, const span *names, int count, span *values);

/* --- the properties of a send; the twins are stored_properties and batch_messages of wire.stored_properties --- */

typedef enum { WAIT_ABSENT, WAIT_TRUE, WAIT_OTHER } wait_property; /* "true" in any case of letters; anything else */

/* What steers a message: so many seconds or milliseconds from now, a time in ms since 1970, a delay level, or its
 * transaction. */
typedef enum { TIME_ABSENT, TIME_SECONDS, TIME_MILLISECONDS, TIME_AT, DELAY_LEVEL, TRANSACTION } time_property;

typedef struct {
    size_t length;               /* of what was written */
    span unique_key, keys, tags; /* in what was written, or read: the last with a value; at == NULL: none */
    wait_property wait;
    bool steering; /* a property that changes when or where the message is delivered, or what Python refuses; in a text
                    * that was only read also POP_CK, which Python takes out */
    bool sharded;  /* a sharding key, by which an ordered message's queue was chosen */
    bool nul;      /* a NUL character in what was written, or read: for Python, which refuses it */
    time_property time; /* rewritten ones: that property, if it is the only one that steers */
    span time_text;     /* its value */
    span wait_text;     /* that of WAIT, in the text that was given; at == NULL: none */
    bool placed;        /* the message has its time or place of delivery already, as one that waited before */
} properties_found;

/* Rewrite a client's property text (unescaped, valid UTF-8) as it is stored: WAIT, empty items, POP_CK and its own
 * CLUSTER, MSG_REGION and TRACE_ON dropped, `broker_items` at the end. `to` has room for text.len + broker_items.len +
 * 1 bytes. */
void properties_rewrite(span text, span broker_items, uint8_t *to, properties_found *found);

/* What the broker reads out of a message's property text that is stored as it is (a batch's). WAIT is ignored: that of
 * the batch's header counts. */
void properties_look(span text, properties_found *found);

#endif
