/* Answers of one read: see outbox.h. The memory stays from read to read, so that a read allocates nothing. */

#include "paths/outbox.h"

#include <stdlib.h>

#include "core/kernel.h"

#define FIRST_ROOM 4096
#define FIRST_RANGES 32

uint8_t *out_room(outbox *out, size_t size)
{
    if (size > out->room - out->used) {
        size_t room = out->room > 0 ? out->room : FIRST_ROOM;
        while (room - out->used < size) {
            if (room > SIZE_MAX / 2) {
                return NULL;
            }
            room *= 2;
        }
        uint8_t *text = realloc(out->text, room);
        if (text == NULL) {
            return NULL;
        }
        out->text = text;
        out->room = room;
    }
    return out->text + out->used;
}

bool out_range_add(outbox *out, span range, void *owner)
{
    if (out->count == out->most) {
        int most = out->most > 0 ? 2 * out->most : FIRST_RANGES;
        out_range *ranges = realloc(out->ranges, (size_t)most * sizeof *ranges);
        if (ranges == NULL) {
            return false;
        }
        out->ranges = ranges;
        out->most = most;
    }
    Py_INCREF((PyObject *)owner);
    out->ranges[out->count++] = (out_range){.text_end = out->used, .range = range, .owner = owner};
    out->range_bytes += range.len;
    return true;
}

void out_clear(outbox *out)
{
    int count = out->count;
    out->used = 0;
    out->range_bytes = 0;
    out->count = 0;
    for (int each = 0; each < count; each++) {
        Py_DECREF((PyObject *)out->ranges[each].owner);
    }
}

void out_free(outbox *out)
{
    out_clear(out);
    free(out->text);
    free(out->ranges);
    *out = (outbox){0};
}
