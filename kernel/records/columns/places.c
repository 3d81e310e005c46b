/* The known columns, and the positions of their parts in the memory. */

#include "records/columns/columns.h"

static const struct {
    const char *name;
    column_what what;
} texts[] = {
    {"topic", {TEXTS, NULL, TOPICS}},
    {"body", {TEXTS, NULL, BODIES}},
    {"tags", {MAYBE_TEXTS, NULL, ALL_TAGS}},
    {"message_id", {MESSAGE_IDS, NULL, UNIQUE_KEYS}},
    {"offset_message_id", {OFFSET_IDS, NULL, LISTS}},
    {"born_host", {TEXTS, NULL, BORN_HOSTS}},
    {"store_host", {TEXTS, NULL, STORE_HOSTS}},
    {"keys", {KEY_WORDS, NULL, WORDS}},
    {"properties", {PROPERTIES, NULL, ITEMS}},
};

bool column_named(const char *name, column_what *found)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (strcmp(name, texts[i].name) == 0) {
            *found = texts[i].what;
            return true;
        }
    }
    for (size_t i = 0; i < RECORD_FIELDS_COUNT; i++) {
        const record_field *field = &record_fields[i];
        if (strcmp(name, field->name) == 0) {
            *found = (column_what){field->time ? TIMES : NUMBERS, field, LISTS};
            return true;
        }
    }
    return false;
}

/* Arrow recommends buffers aligned to 64 bytes. */
static void part_put(column_place *place, size_t len, size_t *end)
{
    size_t at = (*end + 63) & ~(size_t)63;
    place->at[place->parts] = at;
    place->len[place->parts++] = len;
    *end = at + len;
}

static bool texts_put(column_place *place, size_t count, uint64_t bytes, size_t *end)
{
    part_put(place, 4 * (count + 1), end);
    part_put(place, (size_t)bytes, end);
    return count < INT32_MAX && bytes <= INT32_MAX;
}

bool column_put(const measured *of, column_place *place, size_t *end)
{
    const column_what *what = &place->what;
    place->parts = 0;
    switch (what->kind) {
    case NUMBERS:
    case TIMES:
        part_put(place, of->count * what->field->width, end);
        return true;
    case TEXTS:
        return texts_put(place, of->count, of->bytes[what->list], end);
    case MAYBE_TEXTS: {
        bool well = texts_put(place, of->count, of->bytes[what->list], end);
        part_put(place, (of->count + 7) / 8, end);
        return well;
    }
    case MESSAGE_IDS:
        return texts_put(place, of->count, of->id_bytes, end);
    case OFFSET_IDS:
        return texts_put(place, of->count, of->offset_id_bytes, end);
    case KEY_WORDS:
        part_put(place, 4 * (of->count + 1), end);
        return texts_put(place, of->lists[WORDS].count, of->bytes[WORDS], end);
    default:
        part_put(place, 4 * (of->count + 1), end);
        return texts_put(place, of->reader.items.count, of->bytes[ITEMS], end) &&
               texts_put(place, of->reader.items.count, of->value_bytes, end);
    }
}
