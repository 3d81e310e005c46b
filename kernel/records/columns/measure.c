/* Measures the parts of columns, record by record: see columns.h. */

#include "records/columns/columns.h"

#include <stdlib.h>

#include "core/decimal.h"
#include "records/records_module.h"

enum { V4_TEXT_MOST = 16 + DECIMAL_MOST };

/* An IPv4 host in dotted form. */
static size_t v4_text(const uint8_t *host, uint8_t *to)
{
    uint8_t *p = to;
    for (int i = 0; i < 4; i++) {
        p = put_decimal(p, host[i]);
        *p++ = i < 3 ? '.' : ':';
    }
    return (size_t)(put_decimal(p, (int32_t)get32(host + 4)) - to);
}

/* An IPv6 host, formatted by Python. */
static bool v6_text(measured *to, const uint8_t *host, size_t size, piece *text)
{
    PyObject *name = PyObject_CallFunction(to->host_name, "y#", host, (Py_ssize_t)size);
    char *bytes;
    Py_ssize_t length;
    uint8_t *room = NULL;
    if (name != NULL && PyBytes_AsStringAndSize(name, &bytes, &length) == 0) {
        room = kept_room(&to->kept, (size_t)length);
        if (room == NULL) {
            PyErr_NoMemory();
        } else {
            memcpy(room, bytes, (size_t)length);
            *text = (piece){room, (uint32_t)length, 0};
        }
    }
    Py_XDECREF(name);
    return room != NULL;
}

static bool host_put(measured *to, text_list list, const uint8_t *host, size_t size)
{
    host_text *one = &to->hosts[text_hash(span_of(host, size)) >> 58];
    if (one->size != size || memcmp(one->bytes, host, size) != 0) {
        piece text;
        if (size == V4_SIZE) {
            uint8_t *room = kept_room(&to->kept, V4_TEXT_MOST);
            if (room == NULL) {
                PyErr_NoMemory();
                return false;
            }
            text = (piece){room, (uint32_t)v4_text(host, room), 0};
        } else if (!v6_text(to, host, size, &text)) {
            return false;
        }
        memcpy(one->bytes, host, size);
        one->size = (uint8_t)size;
        one->text = text;
    }
    to->lists[list].at[to->lists[list].count++] = one->text;
    to->bytes[list] += one->text.len;
    return true;
}

static inline void text_put(measured *to, text_list list, span text)
{
    pieces_put(&to->lists[list], text.at, text.len);
    to->bytes[list] += text.len;
}

/* The words of the keys. */
static bool words_put(measured *to, span keys)
{
    pieces *words = &to->lists[WORDS];
    if (!pieces_room(words, keys.len / 2 + 1)) return false;
    const uint8_t *end = keys.at + keys.len;
    for (const uint8_t *p = keys.at; p != end;) {
        const uint8_t *space = memchr(p, ' ', (size_t)(end - p)), *behind = space == NULL ? end : space;
        if (behind != p) text_put(to, WORDS, span_of(p, (size_t)(behind - p)));
        p = space == NULL ? end : space + 1;
    }
    return true;
}

static bool properties_put(measured *to, span text, size_t row)
{
    size_t first = to->reader.items.count;
    properties_known known;
    if (!properties_read(&to->reader, text, &known)) return false;
    span tags = known.values[TAGS], keys = known.values[KEYS], unique = known.values[UNIQUE_KEY];
    if (to->wanted[ITEMS]) {
        for (size_t i = first; i < to->reader.items.count; i++) {
            to->bytes[ITEMS] += to->reader.items.at[i].len;
            to->value_bytes += to->reader.items.at[i].value_len;
        }
        to->item_ends[row] = (int32_t)to->reader.items.count;
    }
    if (to->wanted[WORDS]) {
        if (keys.len && !words_put(to, keys)) return false;
        to->word_ends[row] = (int32_t)to->lists[WORDS].count;
    }
    if (to->wanted[ALL_TAGS]) {
        text_put(to, ALL_TAGS, tags);
        to->tagless += tags.at == NULL;
    }
    if (to->wanted[UNIQUE_KEYS]) {
        text_put(to, UNIQUE_KEYS, unique);
        to->id_bytes += unique.at == NULL ? offset_id_size(to, row) : unique.len;
    }
    return true;
}

static bool record_put(measured *to, const record_parts *record, size_t row)
{
    to->records[row] = record->at;
    to->host_bits[row] = record->hosts;
    to->offset_id_bytes += offset_id_size(to, row);
    if (to->wanted[TOPICS]) text_put(to, TOPICS, record->topic);
    if (to->wanted[BODIES]) text_put(to, BODIES, record->body);
    if (to->properties && !properties_put(to, record->text, row)) {
        PyErr_NoMemory();
        return false;
    }
    const uint8_t *host = record->at + BORN_HOST_AT;
    size_t size = born_size(record->hosts);
    return (!to->wanted[BORN_HOSTS] || host_put(to, BORN_HOSTS, host, size)) &&
           (!to->wanted[STORE_HOSTS] || host_put(to, STORE_HOSTS, host + size + 8, store_size(record->hosts)));
}

static bool rooms(measured *to)
{
    to->records = malloc((to->count + 1) * sizeof *to->records);
    to->host_bits = malloc(to->count + 1);
    bool well = to->records != NULL && to->host_bits != NULL;
    for (int i = 0; i < WORDS; i++) well = well && (!to->wanted[i] || pieces_room(&to->lists[i], to->count));
    if (to->wanted[WORDS]) well = well && (to->word_ends = malloc((to->count + 1) * sizeof(int32_t))) != NULL;
    if (to->wanted[ITEMS]) well = well && (to->item_ends = malloc((to->count + 1) * sizeof(int32_t))) != NULL;
    return well;
}

bool records_measure(measured *to)
{
    if (to->numbers_only) return true;
    to->properties = to->wanted[ALL_TAGS] || to->wanted[UNIQUE_KEYS] || to->wanted[WORDS] || to->wanted[ITEMS];
    to->reader = (properties_reader){.all = to->wanted[ITEMS], .kept = &to->kept};
    to->reader.wanted[TAGS] = to->wanted[ALL_TAGS];
    to->reader.wanted[KEYS] = to->wanted[WORDS];
    to->reader.wanted[UNIQUE_KEY] = to->wanted[UNIQUE_KEYS];
    if (!rooms(to)) {
        PyErr_NoMemory();
        return false;
    }
    bool texts = to->properties || to->wanted[TOPICS] || to->wanted[BODIES];
    for (size_t row = 0; row < to->count; row++) {
        record_parts record;
        int64_t position = to->positions[row];
        bool there = texts ? record_there(to->buffer, position, &record) : head_there(to->buffer, position, &record);
        if (!there) return no_record(position);
        if (!record_put(to, &record, row)) return false;
    }
    return true;
}

void records_measured_free(measured *of)
{
    free(of->records);
    free(of->host_bits);
    for (int i = 0; i < LISTS; i++) free(of->lists[i].at);
    free(of->word_ends);
    free(of->item_ends);
    properties_done(&of->reader);
    kept_free(&of->kept);
}
