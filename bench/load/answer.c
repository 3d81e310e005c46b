#include "answer.h"

#include <stdbool.h>
#include <string.h>

enum { SHORT_TEXT = 24 };

static uint32_t read32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t read64(const unsigned char *p)
{
    return (int64_t)((uint64_t)read32(p) << 32 | read32(p + 4));
}

int64_t frame_size(const unsigned char *data, size_t have)
{
    if (have < 4)
        return 0;
    uint32_t length = read32(data);
    return length < 4 || length > MAX_FRAME_LENGTH ? -1 : (int64_t)length + 4;
}

/* A piece of JSON text between quotes, or a bare number or word. */
struct text {
    const char *start;
    size_t length;
};

static bool is(struct text text, const char *name)
{
    return text.length == strlen(name) && memcmp(text.start, name, text.length) == 0;
}

static int64_t number(struct text text)
{
    int64_t value = 0;
    bool negative = text.length > 0 && text.start[0] == '-';
    for (size_t i = negative; i < text.length && text.start[i] >= '0' && text.start[i] <= '9'; i++)
        value = value * 10 + (text.start[i] - '0');
    return negative ? -value : value;
}

/* The physical offset in the message id of an IPv4 broker; -1 when it is not such an id. */
static int64_t offset_in_id(struct text text)
{
    uint64_t value = 0;
    if (text.length != 32)
        return -1;
    for (size_t i = 16; i < 32; i++) {
        char c = text.start[i];
        if (!((c >= '0' && c <= '9') || (c >= 'A' && c <= 'F')))
            return -1;
        value = value << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'A' + 10);
    }
    return (int64_t)value;
}

/* Steps over the string whose opening quote is at `p`; returns the place after its closing quote. */
static const char *string_at(const char *p, const char *end, struct text *out)
{
    const char *start = ++p, *near = end - p > SHORT_TEXT ? p + SHORT_TEXT : end;
    while (p < near && *p != '"' && *p != '\\')
        p++;
    /* A batch's message ids are a thousand characters: those are looked through in bulk, unless one is escaped. */
    if (p == near && p < end) {
        const char *quote = memchr(p, '"', (size_t)(end - p));
        if (quote != NULL && memchr(p, '\\', (size_t)(quote - p)) == NULL)
            p = quote;
    }
    while (p < end && *p != '"')
        p += *p == '\\' ? 2 : 1;
    if (p >= end)
        return NULL;
    *out = (struct text){start, (size_t)(p - start)};
    return p + 1;
}

static void keep(struct answer *out, int depth, struct text key, struct text value)
{
    if (depth == 1) {
        if (is(key, "code"))
            out->code = number(value);
        else if (is(key, "opaque"))
            out->opaque = number(value);
        else if (is(key, "flag"))
            out->flag = number(value);
        else if (is(key, "remark")) {
            out->remark = value.start;
            out->remark_length = value.length;
        }
    } else if (is(key, FIELD_NEXT_BEGIN_OFFSET))
        out->next_begin_offset = number(value);
    else if (is(key, FIELD_QUEUE_OFFSET))
        out->queue_offset = number(value);
    else if (is(key, "offset"))
        out->offset = number(value);
    else if (is(key, FIELD_MSG_ID))
        out->physical_offset = offset_in_id(value);
}

/* One pass over the header's text: keys at depth 1 and inside extFields (depth 2). */
static bool read_header(const char *p, const char *end, struct answer *out)
{
    int depth = 0;
    struct text key = {NULL, 0}, value;
    while (p < end) {
        char c = *p;
        if (c == '{') {
            depth++;
            key.start = NULL;
            p++;
        } else if (c == '}') {
            depth--;
            key.start = NULL;
            p++;
        } else if (c == '"') {
            p = string_at(p, end, &value);
            if (p == NULL)
                return false;
            if (key.start == NULL) {
                key = value;
            } else {
                keep(out, depth, key, value);
                key.start = NULL;
            }
        } else if (c == '-' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')) {
            value.start = p;
            while (p < end && *p != ',' && *p != '}' && *p != ' ')
                p++;
            value.length = (size_t)(p - value.start);
            if (key.start != NULL)
                keep(out, depth, key, value);
            key.start = NULL;
        } else {
            p++; /* colon, comma, blank */
        }
    }
    return depth == 0;
}

const char *read_answer(const unsigned char *frame, size_t size, struct answer *out)
{
    if (size < 8)
        return "frame shorter than its header mark";
    uint32_t mark = read32(frame + 4), header_length = mark & 0xFFFFFF;
    if (mark >> 24 != 0)
        return "answer to a JSON request is not JSON";
    if (header_length > size - 8)
        return "header longer than its frame";
    memset(out, 0, sizeof *out);
    out->code = out->opaque = -1;
    out->next_begin_offset = out->queue_offset = out->offset = out->physical_offset = -1;
    const char *header = (const char *)frame + 8;
    if (!read_header(header, header + header_length, out) || out->code == -1)
        return "header is not the JSON of an answer";
    out->body = frame + 8 + header_length;
    out->body_length = size - 8 - header_length;
    return NULL;
}

/* The size of the record at `at`; 0 when there is no whole record. */
static uint32_t record_size(const unsigned char *body, size_t length, size_t at)
{
    if (length - at < RECORD_SMALLEST)
        return 0;
    uint32_t size = read32(body + at);
    bool whole = size >= RECORD_SMALLEST && size <= length - at && (int32_t)read32(body + at + RECORD_MAGIC_AT) == RECORD_MAGIC_V1;
    return whole ? size : 0;
}

int count_records(const unsigned char *body, size_t length, int64_t first_offset)
{
    int count = 0;
    for (size_t at = 0; at < length; count++) {
        uint32_t size = record_size(body, length, at);
        if (size == 0 || read64(body + at + RECORD_QUEUE_OFFSET_AT) != first_offset + count)
            return -1;
        at += size;
    }
    return count;
}

int count_filtered(const unsigned char *body, size_t length, int64_t first_offset, int64_t next_offset)
{
    int count = 0;
    for (size_t at = 0; at < length; count++) {
        uint32_t size = record_size(body, length, at);
        int64_t offset = size == 0 ? -1 : read64(body + at + RECORD_QUEUE_OFFSET_AT);
        if (offset < first_offset || offset >= next_offset)
            return -1;
        first_offset = offset + 1;
        at += size;
    }
    return count;
}

const char *record_body(const unsigned char *record, size_t *size, size_t *length)
{
    *size = read32(record);
    *length = read32(record + RECORD_BODY_LENGTH_AT);
    return (const char *)record + RECORD_BODY_AT;
}

int64_t record_stored_ms(const unsigned char *record, size_t *size)
{
    *size = read32(record);
    return read64(record + RECORD_STORE_TIMESTAMP_AT);
}

const char *record_property(const unsigned char *record, const char *name, size_t *length)
{
    size_t size = read32(record), named = strlen(name);
    size_t at = RECORD_BODY_AT + (size_t)read32(record + RECORD_BODY_LENGTH_AT);
    if (at >= size || (at += 1u + record[at] + 2u) > size) /* the topic with its length of a byte, the properties' of two */
        return NULL;
    const char *p = (const char *)record + at, *end = (const char *)record + size;
    while (p < end) {
        const char *stop = memchr(p, ITEM_SEP, (size_t)(end - p));
        if (stop == NULL)
            stop = end;
        if ((size_t)(stop - p) > named && memcmp(p, name, named) == 0 && p[named] == NAME_SEP) {
            *length = (size_t)(stop - p) - named - 1;
            return p + named + 1;
        }
        p = stop + 1;
    }
    return NULL;
}

int64_t record_age_ms(const unsigned char *record, size_t *size)
{
    *size = read32(record);
    return read64(record + RECORD_STORE_TIMESTAMP_AT) - read64(record + RECORD_BORN_TIMESTAMP_AT);
}
