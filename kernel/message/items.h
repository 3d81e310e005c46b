/* Property texts, item by item: `name 0x01 value 0x02 name 0x01 value`. */
#ifndef ROCKETWIRE_ITEMS_H
#define ROCKETWIRE_ITEMS_H

#include "core/span.h"

#define NAME_SEP 1
#define ITEM_SEP 2

typedef struct {
    const uint8_t *at, *end; /* what is left of the text; at == NULL: nothing, not even an empty item */
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

#endif
