/* Finds the messages of a pull: from the queue's entries to positions in the mapped log. fetch.h has the rules.
 *
 * Entries and records are read in the files being written, if those have them, else through Python's mappings. */

#include "pull/pulls.h"

#include "message/record.h"

/* The part of the log that contains a position in another file than the one being written; 0: there is none. */
static int map_part(Pulls *self, int64_t place, log_part *part, PyObject **owner)
{
    int result = -1;
    PyObject *segment = NULL, *start = NULL, *view = NULL;
    PyObject *segments = PyObject_GetAttrString((PyObject *)self->log, "segments");
    if (segments != NULL) {
        segment = PyObject_CallMethod(segments, "find", "L", (long long)place);
    }
    if (segment == Py_None) {
        result = 0;
    } else if (segment != NULL) {
        start = PyObject_GetAttrString(segment, "start");
        view = PyObject_GetAttrString(segment, "view");
    }
    Py_buffer bytes;
    if (start != NULL && view != NULL && PyObject_GetBuffer(view, &bytes, PyBUF_SIMPLE) == 0) {
        part->start = PyLong_AsLongLong(start);
        int64_t length = self->log->position - part->start;
        part->bytes = span_of(bytes.buf, (size_t)(length < 0 ? 0 : length < bytes.len ? length : bytes.len));
        PyBuffer_Release(&bytes); /* the view keeps the mapping */
        Py_XDECREF(*owner);
        *owner = Py_NewRef(view);
        result = 1;
    }
    Py_XDECREF(segments);
    Py_XDECREF(segment);
    Py_XDECREF(start);
    Py_XDECREF(view);
    return result;
}

static fetch_state look(const pull_plan *plan, span entries, const log_part *part, int64_t log_end, fetch_found *found)
{
    pull_filter *filter = plan->filter;
    if (filter == NULL) {
        return fetch_messages(entries, &plan->wish, part, log_end, found);
    }
    const fetch_filter wanted = {pull_filter_matches, filter, filter->most_text};
    return fetch_matching(entries, &plan->wish, &wanted, part, log_end, found);
}

/* Search messages among entries; false: Python has to. `owner` keeps the memory that `found` points to. */
static bool find_messages(Pulls *self, const pull_plan *plan, span entries, fetch_found *found, PyObject **owner)
{
    LogTail *log = self->log;
    log_part part = {.start = log->position};
    if (log->has_view) {
        int64_t length = log->position - log->base;
        part.bytes = span_of(log->view.buf, (size_t)(length < log->view.len ? length : log->view.len));
        part.start = log->base;
        *owner = Py_NewRef(log->buffer);
    }
    fetch_state state = look(plan, entries, &part, log->position, found);
    if (state == FETCH_ELSEWHERE) {
        if (map_part(self, found->wanted, &part, owner) <= 0) {
            clear_exception();
            return false;
        }
        state = look(plan, entries, &part, log->position, found);
    }
    return state == FETCH_DONE && found->scanned > 0;
}

bool pull_fetch(Pulls *self, const pull_plan *plan, int64_t offset, fetch_found *found, PyObject **owner)
{
    QueueTail *queue = plan->queue;
    if (offset < queue->min || offset >= queue->end) {
        return false;
    }
    int64_t most = fetch_entries_most(&plan->wish), left = queue->end - offset;
    int64_t count = most < left ? most : left;
    if (queue->has_view && left <= queue->position / QUEUE_ENTRY_SIZE) { /* in the file being written */
        const uint8_t *at = (const uint8_t *)queue->view.buf + queue->position - left * QUEUE_ENTRY_SIZE;
        PyObject *mapping = Py_NewRef(queue->buffer);
        bool done = find_messages(self, plan, span_of(at, (size_t)count * QUEUE_ENTRY_SIZE), found, owner);
        Py_DECREF(mapping);
        return done;
    }
    bool done = false;
    PyObject *view = PyObject_CallMethod((PyObject *)queue, "entries", "LL", (long long)offset, (long long)count);
    Py_buffer bytes;
    if (view != NULL && view != Py_None && PyObject_GetBuffer(view, &bytes, PyBUF_SIMPLE) == 0) {
        done = find_messages(self, plan, span_of(bytes.buf, (size_t)bytes.len), found, owner);
        PyBuffer_Release(&bytes);
    }
    Py_XDECREF(view);
    return clear_exception() && done;
}
