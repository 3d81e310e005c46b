/* Helpers of the functions that return records to Python. */
#ifndef ROCKETWIRE_RECORDS_MODULE_H
#define ROCKETWIRE_RECORDS_MODULE_H

#include "core/kernel.h"

#include "records/records.h"

/* Whether a buffer is where numbers of `width` bytes may be; an empty one may be anywhere. */
static inline bool numbers_fit(const Py_buffer *view, size_t width)
{
    return view->len == 0 || (uintptr_t)view->buf % width == 0;
}

/* Whether a buffer can be read as 64-bit numbers; false: an exception is set. */
static inline bool positions_aligned(const Py_buffer *view)
{
    if (numbers_fit(view, sizeof(int64_t)) && view->len % (Py_ssize_t)sizeof(int64_t) == 0) return true;
    PyErr_SetString(PyExc_ValueError, "positions are 64-bit numbers");
    return false;
}

enum { BUFFER, POSITIONS, RESULTS, VIEWS };

/* Records of a buffer, and one result for each. */
typedef struct {
    Py_buffer views[VIEWS];
    span buffer;
    const int64_t *positions;
    size_t count;
} chosen;

static inline void release(chosen *of)
{
    for (int i = 0; i < VIEWS; i++) PyBuffer_Release(&of->views[i]);
}

/* Whether there is a result of `width` bytes for each position; false: an exception is set. */
static inline bool chosen_fits(chosen *of, size_t width)
{
    of->buffer = span_of(of->views[BUFFER].buf, (size_t)of->views[BUFFER].len);
    of->positions = of->views[POSITIONS].buf;
    of->count = (size_t)of->views[POSITIONS].len / sizeof(int64_t);
    if (!positions_aligned(&of->views[POSITIONS])) return false;
    if ((size_t)of->views[RESULTS].len == of->count * width && numbers_fit(&of->views[RESULTS], width)) return true;
    PyErr_SetString(PyExc_ValueError, "one result a position is needed");
    return false;
}

/* Always false: an exception is set. */
static inline bool no_record(int64_t position)
{
    PyErr_Format(PyExc_ValueError, "no whole record at %lld", (long long)position);
    return false;
}

/* Where the heads of some records are; false: an exception is set. */
static inline bool heads_find(span buffer, const int64_t *positions, size_t count, record_heads *heads)
{
    const uint8_t *records[HEADS_TOGETHER];
    uint8_t hosts[HEADS_TOGETHER];
    for (size_t i = 0; i < count; i++) {
        record_parts record;
        if (!head_there(buffer, positions[i], &record)) return no_record(positions[i]);
        records[i] = record.at;
        hosts[i] = record.hosts;
    }
    heads_of(heads, records, hosts, count);
    return true;
}

#endif
