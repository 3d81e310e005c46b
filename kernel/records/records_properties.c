/* Property texts of records: see texts.h. The twin is wire.properties.decode_properties.
 *
 * Not by next_item of message/properties.h: whole windows at once take 30 ns in place of 50 ns for all properties. */

#include "records/texts.h"

#include <stdlib.h>

#include "core/scan.h"
#include "core/utf8.h"
#include "message/properties.h"

static inline known_name name_of(span name)
{
    if (span_is_text(name, PROPERTY_TAGS)) return TAGS;
    if (span_is_text(name, PROPERTY_KEYS)) return KEYS;
    return span_is_text(name, PROPERTY_UNIQ_KEY) ? UNIQUE_KEY : NAMELESS;
}

/* The window at an end of a text that the others leave, or of a short text with zeros behind. */
static inline window last_window(span text, const uint8_t *at)
{
    uint8_t whole[WINDOW] = {0};
    if (text.len >= WINDOW) return window_at(at);
    memcpy(whole, text.at, text.len);
    return window_at(whole);
}

typedef struct {
    pieces *items;
    properties_known *known;
    const uint8_t *start, *name_end; /* of the item that is being read; name_end == NULL: its name is not read yet */
} reading;

/* An item ends at `p`; without a name or a value it is ignored. */
static inline void item_ends(reading *of, const uint8_t *p)
{
    if (of->name_end == NULL || of->name_end == of->start || p == of->name_end + 1) return;
    span name = span_of(of->start, (size_t)(of->name_end - of->start));
    span value = span_of(of->name_end + 1, (size_t)(p - of->name_end - 1));
    of->known->values[name_of(name)] = value;
    of->items->at[of->items->count++] = (piece){name.at, (uint32_t)name.len, (uint32_t)value.len};
}

static inline void separators(reading *of, const uint8_t *window_start, window_mask mask)
{
    for (; mask; mask &= mask - 1) {
        const uint8_t *p = window_start + window_before(mask);
        if (*p == ITEM_SEP) {
            item_ends(of, p);
            of->start = p + 1;
            of->name_end = NULL;
        } else if (of->name_end == NULL) {
            of->name_end = p;
        }
    }
}

/* Returns whether any byte is not ASCII. */
static bool items_read(span text, pieces *items, properties_known *known)
{
    reading of = {items, known, text.at, NULL};
    const uint8_t *p = text.at, *end = text.at + text.len;
    window_mask high = 0;
    for (; end - p >= WINDOW; p += WINDOW) {
        window in = window_at(p);
        high |= window_high(in);
        separators(&of, p, window_either(in, NAME_SEP, ITEM_SEP));
    }
    if (p < end) {
        size_t seen = text.len >= WINDOW ? (size_t)(WINDOW - (end - p)) : 0;
        window in = last_window(text, p -= seen);
        high |= window_high(in);
        separators(&of, p, window_either(in, NAME_SEP, ITEM_SEP) & ~(((window_mask)1 << seen * STEP) - 1));
    }
    item_ends(&of, end);
    return high != 0;
}

/* Remove duplicate names: each keeps its first position and its last value; returns how many remain. */
static size_t once(piece *items, size_t count, uint16_t *slots, size_t slot_count)
{
    size_t left = 0;
    memset(slots, 0, slot_count * sizeof *slots);
    for (size_t i = 0; i < count; i++) {
        span name = span_of(items[i].at, items[i].len);
        size_t slot = text_hash(name) >> 40 & (slot_count - 1);
        while (slots[slot] != 0 && !same_text(name, span_of(items[slots[slot] - 1].at, items[slots[slot] - 1].len))) {
            slot = (slot + 1) & (slot_count - 1);
        }
        if (slots[slot] == 0) slots[slot] = (uint16_t)++left;
        items[slots[slot] - 1] = items[i];
    }
    return left;
}

/* Whether the names are those of the text before, as they mostly are. */
static bool same_names(const piece *items, const piece *before, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!same_text(span_of(items[i].at, items[i].len), span_of(before[i].at, before[i].len))) return false;
    }
    return true;
}

static bool names_once(properties_reader *reader, size_t first)
{
    pieces *items = &reader->items;
    size_t count = items->count - first, slots = 16, before = reader->before;
    reader->before = count;
    if (count < 2) return true;
    if (count == before && same_names(items->at + first, items->at + first - count, count)) return true;
    while (slots < count * 2) slots *= 2;
    if (slots > reader->slot_room) {
        uint16_t *room = realloc(reader->slots, slots * sizeof *room);
        if (room == NULL) return false;
        reader->slots = room;
        reader->slot_room = slots;
    }
    reader->before = once(items->at + first, count, reader->slots, slots);
    items->count = first + reader->before;
    return true;
}

bool properties_read(properties_reader *reader, span text, properties_known *known)
{
    size_t first = reader->items.count;
    *known = (properties_known){{{NULL, 0}}};
    if (!pieces_room(&reader->items, text.len / 4 + 1)) return false;
    if (items_read(text, &reader->items, known) && !utf8_valid(text)) {
        size_t length = mended_length(text);
        uint8_t *room = kept_room(reader->kept, length);
        if (room == NULL) return false;
        mended_write(text, room);
        reader->items.count = first;
        return properties_read(reader, span_of(room, length), known);
    }
    return names_once(reader, first);
}

void properties_done(properties_reader *reader)
{
    free(reader->items.at);
    free(reader->slots);
}
