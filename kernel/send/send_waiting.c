#include "send/send_waiting.h"

#define WAIT_ITEM "\2WAIT\1"

enum { LEVEL_DIGITS = 3, FIRST_PLAIN = 0x20 };

bool waiting_plan_read(PyObject *answer, waiting_plan *plan)
{
    PyObject *behind, *half, *levels;
    *plan = (waiting_plan){0};
    if (answer == Py_None) {
        return true;
    }
    if (!PyTuple_Check(answer)) {
        PyErr_SetString(PyExc_TypeError, "a plan for messages that wait is a tuple or None");
        return false;
    }
    if (!PyArg_ParseTuple(answer, "SOO!", &behind, &half, &PyTuple_Type, &levels)) {
        return false;
    }
    if (half != Py_None && !PyObject_TypeCheck(half, QueueTail_Type)) {
        PyErr_SetString(PyExc_TypeError, "half messages have a queue or None");
        return false;
    }
    *plan = (waiting_plan){Py_NewRef(behind), half == Py_None ? NULL : (QueueTail *)Py_NewRef(half), Py_NewRef(levels)};
    return true;
}

void waiting_plan_release(waiting_plan *plan)
{
    Py_CLEAR(plan->behind);
    Py_CLEAR(plan->half);
    Py_CLEAR(plan->levels);
}

size_t wait_item_room(const properties_found *found) { return sizeof WAIT_ITEM + found->wait_text.len; }

bool wait_item_fits(const properties_found *found)
{
    span wait = found->wait_text;
    return wait.len == 0 || memchr(wait.at, 0, wait.len) == NULL;
}

uint8_t *put_wait_item(uint8_t *p, const properties_found *found)
{
    if (found->wait_text.len == 0) {
        return p;
    }
    return put_span(put_span(p, span_of(WAIT_ITEM, sizeof WAIT_ITEM - 1)), found->wait_text);
}

/* The queue of a delay level that is written as Python writes it; false: it is for Python. */
static bool enter_level(const waiting_plan *plan, span text, waiting_message *made)
{
    Py_ssize_t level = 0;
    if (text.len == 0 || text.len > LEVEL_DIGITS || text.at[0] == '0') {
        return false;
    }
    for (size_t each = 0; each < text.len; each++) {
        uint8_t digit = (uint8_t)(text.at[each] - '0');
        if (digit > 9) {
            return false;
        }
        level = level * 10 + digit;
    }
    if (level > PyTuple_Size(plan->levels)) {
        return false;
    }
    PyObject *queue;
    long long delay;
    if (!PyArg_ParseTuple(PyTuple_GetItem(plan->levels, level - 1), "OL", &queue, &delay)) {
        PyErr_Clear();
        return false;
    }
    made->delay = delay;
    made->queue = PyObject_TypeCheck(queue, QueueTail_Type) ? (QueueTail *)queue : NULL;
    return made->queue != NULL;
}

/* Whether a text stands in JSON as it is. */
static bool is_plain(span text)
{
    for (size_t each = 0; each < text.len; each++) {
        if (text.at[each] < FIRST_PLAIN || text.at[each] == '"' || text.at[each] == '\\') {
            return false;
        }
    }
    return true;
}

bool waiting_of(const waiting_plan *plan, const properties_found *found, uint8_t *room, waiting_message *made)
{
    *made = (waiting_message){.delay = -1};
    if (plan->behind == NULL || found->placed || !wait_item_fits(found)) {
        return false;
    }
    if (found->time == DELAY_LEVEL) {
        if (!enter_level(plan, found->time_text, made)) {
            return false;
        }
    } else if (found->time == TRANSACTION && plan->half != NULL && is_true(found->time_text) &&
               is_plain(found->unique_key)) {
        made->queue = plan->half;
        made->transaction_id = found->unique_key;
    } else {
        return false;
    }
    made->properties = span_of(room, (size_t)(put_wait_item(room, found) - room));
    made->behind = bytes_span(plan->behind);
    return true;
}
