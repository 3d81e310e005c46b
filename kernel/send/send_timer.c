#include "send/send_timer.h"

#include "core/decimal.h"
#include "delay/waited.h"
#include "send/send_waiting.h"

#define OUT_ITEM "\2TIMER_OUT_MS\1"

enum {
    DIGITS_MOST = 15, /* more digits are for Python, so that no number here overflows int64 */
    SECOND = 1000,
};

bool timer_plan_read(PyObject *answer, timer_plan *plan)
{
    PyObject *queue, *behind, *handle;
    long long most;
    *plan = (timer_plan){0};
    if (answer == Py_None) return true;
    if (!PyTuple_Check(answer)) {
        PyErr_SetString(PyExc_TypeError, "a plan for timer messages is a tuple or None");
        return false;
    }
    if (!PyArg_ParseTuple(answer, "O!LSO", QueueTail_Type, &queue, &most, &behind, &handle)) return false;
    if (most > INT64_MAX / 4 || (handle != Py_None && !PyBytes_Check(handle))) {
        PyErr_SetString(PyExc_ValueError,
                        "a plan for timer messages has a longest delay, and bytes or None for the handle");
        return false;
    }
    *plan = (timer_plan){(QueueTail *)Py_NewRef(queue), most, Py_NewRef(behind),
                         handle == Py_None ? NULL : Py_NewRef(handle)};
    return true;
}

void timer_plan_release(timer_plan *plan)
{
    Py_XDECREF((PyObject *)plan->queue);
    Py_XDECREF(plan->behind);
    Py_XDECREF(plan->handle);
}

static bool number_of(span text, int64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < text.len; i++) {
        uint8_t digit = (uint8_t)(text.at[i] - '0');
        if (digit > 9) return false;
        *number = *number * 10 + digit;
    }
    return text.len > 0;
}

/* When the message is due, in ms since 1970. False: it may be refused, or is due already. */
static bool due_of(const timer_plan *plan, const properties_found *found, int64_t now, int64_t *due)
{
    int64_t number;
    if (found->time == TIME_ABSENT || found->time > TIME_AT || found->placed || found->time_text.len > DIGITS_MOST) {
        return false;
    }
    if (!number_of(found->time_text, &number)) return false;
    *due = found->time == TIME_AT ? number : now + number * (found->time == TIME_SECONDS ? SECOND : 1);
    return *due > now && *due - now <= plan->most;
}

static size_t base64_size(size_t size) { return (size + 2) / 3 * 4; }

/* Base64 with the alphabet for URLs, padded. */
static uint8_t *put_base64(uint8_t *p, span data)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t at = 0;
    for (; at + 3 <= data.len; at += 3) {
        uint32_t bits = (uint32_t)data.at[at] << 16 | (uint32_t)data.at[at + 1] << 8 | data.at[at + 2];
        for (int shift = 18; shift >= 0; shift -= 6) *p++ = (uint8_t)digits[bits >> shift & 63];
    }
    size_t left = data.len - at;
    if (left == 0) return p;
    uint32_t bits = (uint32_t)data.at[at] << 16 | (left == 2 ? (uint32_t)data.at[at + 1] << 8 : 0);
    *p++ = (uint8_t)digits[bits >> 18];
    *p++ = (uint8_t)digits[bits >> 12 & 63];
    *p++ = left == 2 ? (uint8_t)digits[bits >> 6 & 63] : '=';
    *p++ = '=';
    return p;
}

static size_t handle_most(const timer_plan *plan, const properties_found *found)
{
    return bytes_span(plan->handle).len + DECIMAL_MOST + 1 + found->unique_key.len;
}

size_t timer_texts_room(const timer_plan *plan, const properties_found *found)
{
    size_t handle = handle_most(plan, found);
    return wait_item_room(found) + sizeof OUT_ITEM + DECIMAL_MOST + handle + base64_size(handle);
}

bool timer_texts_of(const timer_plan *plan, const properties_found *found, int64_t now, uint8_t *room,
                    timer_texts *made)
{
    int64_t due;
    span key = found->unique_key;
    if (!due_of(plan, found, now, &due) || !wait_item_fits(found)) return false;
    uint8_t *p = room;
    p = put_wait_item(p, found);
    p = put_span(p, span_of(OUT_ITEM, sizeof OUT_ITEM - 1));
    p = put_decimal(p, timer_out_time(due));
    *made = (timer_texts){.properties = span_of(room, (size_t)(p - room)), .behind = bytes_span(plan->behind)};
    if (plan->handle == NULL || key.at == NULL || memchr(key.at, ' ', key.len) != NULL) return true;
    uint8_t *handle = p;
    p = put_decimal(put_span(p, bytes_span(plan->handle)), due);
    *p++ = ' ';
    p = put_span(p, key);
    made->recall_handle = span_of(p, (size_t)(put_base64(p, span_of(handle, (size_t)(p - handle))) - p));
    return true;
}
