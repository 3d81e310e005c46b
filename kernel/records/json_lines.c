/* record_lines: records as the lines of `rocketwire store cat --json`.
 *
 * The twin is rocketwire/cli/store/json_lines.py, which gives the meaning of each member and has msgspec write it. */

#include "core/kernel.h"

#include <stdlib.h>

#include "core/decimal.h"
#include "core/facts.h"
#include "core/hex.h"
#include "core/json_text.h"
#include "core/utf8.h"
#include "records/texts.h"

/* A call ends when its lines are so long: a block of large bodies needs no more memory than that, and one line. */
enum { LINES_MOST = 1 << 20 };
/* What a line needs beside its texts: 21 names, 12 numbers, two hosts and three offset message ids. */
enum { LINE_FIXED = 1024 };
/* Properties may stand in a line twice, the second time as tags, id or keys; a property has at least three bytes, and
 * six more around its name and value; a key two, and three around it. */
enum { PROPERTIES_FACTOR = 2 * JSON_TEXT_MOST + 4 };

typedef struct {
    const uint8_t *at;
    bool plain;                   /* its hosts are IPv4: only then the parts below are set */
    span body, topic, properties; /* the properties as they are stored */
} record_parts;

/* The parts of a record of some size with hosts of IPv4; false: its lengths do not fit together. */
static bool parts_within(int64_t size, size_t topic_length, record_parts *found)
{
    int64_t left = size - (int64_t)(RECORD_BODY_AT + topic_length + 2); /* for body, topic and properties */
    if (left < 0) return false;
    const uint8_t *body_at = found->at + RECORD_BODY_AT;
    int64_t body = get32(found->at + RECORD_BODY_LENGTH_AT); /* a negative one is larger than any record */
    left -= body;
    if (left < 0) return false;
    const uint8_t *topic = body_at + body;
    int64_t length = topic_length == 1 ? (int8_t)*topic : (int16_t)get16(topic);
    left -= length;
    topic += topic_length;
    if (length < 0 || left < 0 || (int16_t)get16(topic + length) != left) return false;
    found->body = span_of(body_at, (size_t)body);
    found->topic = span_of(topic, (size_t)length);
    found->properties = span_of(topic + length + 2, (size_t)left);
    return true;
}

/* The record at a position of a buffer, as far as its lengths fit together; false: there is none. */
static bool record_there(span buffer, int64_t position, record_parts *found)
{
    if (position < 0 || (uint64_t)position >= buffer.len) return false;
    size_t room = buffer.len - (size_t)position;
    if (room < RECORD_SMALLEST) return false;
    found->at = buffer.at + position;
    int32_t size = (int32_t)get32(found->at), magic = (int32_t)get32(found->at + RECORD_MAGIC_AT);
    if (size < RECORD_SMALLEST || (size_t)size > room || (magic != RECORD_MAGIC_V1 && magic != RECORD_MAGIC_V2)) {
        return false;
    }
    found->plain = (get32(found->at + RECORD_SYS_FLAG_AT) & RECORD_HOST_BITS) == 0;
    return !found->plain || parts_within(size, magic == RECORD_MAGIC_V1 ? 1 : 2, found);
}

typedef struct {
    uint8_t *start, *end;
    size_t room;
} lines;

static bool lines_room(lines *of, size_t more)
{
    size_t used = (size_t)(of->end - of->start);
    if (of->room - used >= more) return true;
    size_t room = used + more + LINES_MOST / 4;
    uint8_t *start = realloc(of->start, room);
    if (start == NULL) return false;
    *of = (lines){start, start + used, room};
    return true;
}

static uint8_t *put_string(uint8_t *p, span text)
{
    *p++ = '"';
    p = put_json_text(p, text);
    *p++ = '"';
    return p;
}

static uint8_t *put_host(uint8_t *p, const uint8_t *host)
{
    *p++ = '"';
    for (int i = 0; i < 4; i++) {
        p = put_decimal(p, host[i]);
        *p++ = i < 3 ? '.' : ':';
    }
    p = put_decimal(p, (int32_t)get32(host + 4));
    *p++ = '"';
    return p;
}

/* The broker's host and the physical offset. */
static uint8_t *put_offset_id(uint8_t *p, const uint8_t *record)
{
    *p++ = '"';
    p = put_hex(p, span_of(record + RECORD_STORE_HOST_AT, HOST_V4_SIZE));
    p = put_hex(p, span_of(record + RECORD_PHYSICAL_OFFSET_AT, 8));
    *p++ = '"';
    return p;
}

static uint8_t *put_base64(uint8_t *p, span bytes)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t at = 0; at < bytes.len; at += 3) {
        size_t left = bytes.len - at;
        uint32_t group = (uint32_t)bytes.at[at] << 16;
        if (left > 1) group |= (uint32_t)bytes.at[at + 1] << 8;
        if (left > 2) group |= bytes.at[at + 2];
        *p++ = (uint8_t)digits[group >> 18];
        *p++ = (uint8_t)digits[group >> 12 & 63];
        *p++ = left > 1 ? (uint8_t)digits[group >> 6 & 63] : '=';
        *p++ = left > 2 ? (uint8_t)digits[group & 63] : '=';
    }
    return p;
}

/* The words between single blanks. */
static uint8_t *put_keys(uint8_t *p, span keys)
{
    const uint8_t *at = keys.at, *end = keys.at + keys.len;
    bool first = true;
    *p++ = '[';
    while (at < end) {
        const uint8_t *blank = memchr(at, ' ', (size_t)(end - at));
        if (blank == NULL) blank = end;
        if (blank > at) {
            if (!first) *p++ = ',';
            first = false;
            p = put_string(p, span_of(at, (size_t)(blank - at)));
        }
        at = blank + 1;
    }
    *p++ = ']';
    return p;
}

static uint8_t *put_properties(uint8_t *p, const pieces *items)
{
    *p++ = '{';
    for (size_t i = 0; i < items->count; i++) {
        const piece *item = &items->at[i];
        if (i > 0) *p++ = ',';
        p = put_string(p, span_of(item->at, item->len));
        *p++ = ':';
        p = put_string(p, span_of(item->at + item->len + 1, item->value_len));
    }
    *p++ = '}';
    return p;
}

/* One line; there is room for it. */
static uint8_t *put_line(uint8_t *p, const record_parts *record, const properties_known *known, const pieces *items)
{
    const uint8_t *at = record->at;
    bool text = utf8_valid(record->body);
    p = put_string(PUT_TEXT(p, "{\"topic\":"), record->topic);
    p = put_decimal(PUT_TEXT(p, ",\"queue_id\":"), (int32_t)get32(at + RECORD_QUEUE_ID_AT));
    p = put_decimal(PUT_TEXT(p, ",\"queue_offset\":"), (int64_t)get64(at + RECORD_QUEUE_OFFSET_AT));
    p = PUT_TEXT(p, ",\"message_id\":");
    p = known->values[UNIQUE_KEY].at == NULL ? put_offset_id(p, at) : put_string(p, known->values[UNIQUE_KEY]);
    p = put_offset_id(PUT_TEXT(p, ",\"offset_message_id\":"), at);
    p = put_decimal(PUT_TEXT(p, ",\"born_timestamp\":"), (int64_t)get64(at + RECORD_BORN_TIMESTAMP_AT));
    p = put_decimal(PUT_TEXT(p, ",\"store_timestamp\":"), (int64_t)get64(at + RECORD_STORE_TIMESTAMP_AT));
    p = put_host(PUT_TEXT(p, ",\"born_host\":"), at + RECORD_BORN_HOST_AT);
    p = put_host(PUT_TEXT(p, ",\"store_host\":"), at + RECORD_STORE_HOST_AT);
    p = PUT_TEXT(p, ",\"tags\":");
    p = known->values[TAGS].at == NULL ? PUT_TEXT(p, "null") : put_string(p, known->values[TAGS]);
    p = put_keys(PUT_TEXT(p, ",\"keys\":"), known->values[KEYS]);
    p = PUT_TEXT(p, ",\"body\":");
    p = text ? put_string(p, record->body) : PUT_TEXT(p, "null");
    p = put_properties(PUT_TEXT(p, ",\"properties\":"), items);
    p = put_decimal(PUT_TEXT(p, ",\"sys_flag\":"), (int32_t)get32(at + RECORD_SYS_FLAG_AT));
    p = put_decimal(PUT_TEXT(p, ",\"flag\":"), (int32_t)get32(at + RECORD_FLAG_AT));
    p = put_decimal(PUT_TEXT(p, ",\"reconsume_times\":"), (int32_t)get32(at + RECORD_RECONSUME_TIMES_AT));
    p = put_decimal(PUT_TEXT(p, ",\"prepared_transaction_offset\":"),
                    (int64_t)get64(at + RECORD_PREPARED_TRANSACTION_OFFSET_AT));
    p = put_decimal(PUT_TEXT(p, ",\"body_crc\":"), (int32_t)get32(at + RECORD_BODY_CRC_AT));
    p = put_decimal(PUT_TEXT(p, ",\"physical_offset\":"), (int64_t)get64(at + RECORD_PHYSICAL_OFFSET_AT));
    p = put_decimal(PUT_TEXT(p, ",\"store_size\":"), (int32_t)get32(at));
    p = PUT_TEXT(p, ",\"broker\":null");
    if (!text) {
        p = put_base64(PUT_TEXT(p, ",\"body_base64\":\""), record->body);
        *p++ = '"';
    }
    return PUT_TEXT(p, "}\n");
}

/* Write lines up to a record that Python must write: one with an address of IPv6, a compressed body, or a topic that is
 * not UTF-8. Returns how many; negative: an exception is set. */
static Py_ssize_t lines_write(lines *of, span buffer, const int64_t *positions, size_t count)
{
    kept *mended = NULL;
    properties_reader reader = {.kept = &mended};
    Py_ssize_t done = 0;
    for (; (size_t)done < count && of->end - of->start < LINES_MOST; done++) {
        record_parts record;
        properties_known known;
        if (!record_there(buffer, positions[done], &record)) {
            PyErr_Format(PyExc_ValueError, "no whole record at %lld", (long long)positions[done]);
            done = -1;
            break;
        }
        if (!record.plain || get32(record.at + RECORD_SYS_FLAG_AT) & SYS_FLAG_COMPRESSED || !utf8_valid(record.topic)) {
            break;
        }
        reader.items.count = reader.before = 0;
        size_t most = LINE_FIXED + JSON_TEXT_MOST * (record.topic.len + record.body.len) +
                      PROPERTIES_FACTOR * record.properties.len;
        if (!properties_read(&reader, record.properties, &known) || !lines_room(of, most)) {
            PyErr_NoMemory();
            done = -1;
            break;
        }
        of->end = put_line(of->end, &record, &known, &reader.items);
    }
    properties_done(&reader);
    kept_free(&mended);
    return done;
}

static PyObject *record_lines(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer buffer, places;
    if (!PyArg_ParseTuple(args, "y*y*:record_lines", &buffer, &places)) return NULL;
    PyObject *result = NULL;
    lines of = {NULL, NULL, 0};
    bool aligned = places.len == 0 || (uintptr_t)places.buf % sizeof(int64_t) == 0; /* an empty one may be anywhere */
    if (!aligned || places.len % (Py_ssize_t)sizeof(int64_t) != 0) {
        PyErr_SetString(PyExc_ValueError, "positions are 64-bit numbers");
    } else {
        span all = span_of(buffer.buf, (size_t)buffer.len);
        Py_ssize_t done = lines_write(&of, all, places.buf, (size_t)places.len / sizeof(int64_t));
        const uint8_t *start = of.start == NULL ? all.at : of.start; /* "y#" makes None of NULL */
        if (done >= 0) result = Py_BuildValue("(ny#)", done, start, (Py_ssize_t)(of.end - of.start));
    }
    free(of.start);
    PyBuffer_Release(&places);
    PyBuffer_Release(&buffer);
    return result;
}

static PyMethodDef functions[] = {
    {"record_lines", record_lines, METH_VARARGS,
     "Lines of JSON for the records at positions, until one that Python must write; how many, and the lines."},
    {NULL, NULL, 0, NULL},
};

int json_lines_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
