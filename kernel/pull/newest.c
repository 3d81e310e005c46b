/* newest_records: messages of a queue whose entries and records are in the files being written, as most reads find
 * them. The twin is store.read.fetch, which gets all others, too. */

#include "core/kernel.h"

#include "core/values.h"
#include "log/tails.h"
#include "message/record.h"
#include "pull/fetch.h"

/* The entries from an offset on, `most` at most; at == NULL: they are in another file. */
static span newest_entries(const QueueTail *queue, int64_t offset, int64_t most)
{
    int64_t left = queue->end - offset;
    if (!queue->has_view || left <= 0 || left > queue->position / QUEUE_ENTRY_SIZE) return span_of(NULL, 0);
    const uint8_t *at = (const uint8_t *)queue->view.buf + queue->position - left * QUEUE_ENTRY_SIZE;
    return span_of(at, (size_t)(most < left ? most : left) * QUEUE_ENTRY_SIZE);
}

/* The runs as views of the log's mapping. */
static PyObject *views_of(const LogTail *log, const fetch_found *found)
{
    const uint8_t *start = log->view.buf;
    PyObject *whole = PyMemoryView_FromObject(log->buffer);
    PyObject *views = whole == NULL ? NULL : PyList_New(0);
    for (int i = 0; views != NULL && i < found->run_count; i++) {
        Py_ssize_t at = found->runs[i].at - start;
        PyObject *view = PySequence_GetSlice(whole, at, at + (Py_ssize_t)found->runs[i].len);
        if (!append_value(views, view)) Py_CLEAR(views);
    }
    Py_XDECREF(whole);
    return views;
}

static PyObject *newest_records(PyObject *module, PyObject *args)
{
    (void)module;
    LogTail *log;
    QueueTail *queue;
    long long offset, most, memory, most_bytes;
    if (!PyArg_ParseTuple(args, "O!O!LLLL:newest_records", LogTail_Type, &log, QueueTail_Type, &queue, &offset, &most,
                          &memory, &most_bytes)) {
        return NULL;
    }
    span entries = newest_entries(queue, offset, most);
    int64_t place = entries.len == 0 ? -1 : (int64_t)get64(entries.at);
    if (place < 0 || !log->has_view || log->position - place > memory) return Py_NewRef(Py_None);
    fetch_wish wish = {
        .most = most, .memory = memory, .count_in_memory = most, .bytes_in_memory = most_bytes, .everything = true};
    int64_t length = log->position - log->base;
    log_part part = {span_of(log->view.buf, (size_t)(length < log->view.len ? length : log->view.len)), log->base};
    fetch_found found = {0};
    fetch_state state = fetch_messages(entries, &wish, &part, log->position, &found);
    if (state != FETCH_DONE || found.count * QUEUE_ENTRY_SIZE < (int64_t)entries.len || found.size > most_bytes) {
        return Py_NewRef(Py_None);
    }
    return Py_BuildValue("(NLL)", views_of(log, &found), (long long)found.count, (long long)found.size);
}

static PyMethodDef functions[] = {
    {"newest_records", newest_records, METH_VARARGS,
     "Records of a queue from an offset on: views of them, their number and bytes; None: some are not in memory."},
    {NULL, NULL, 0, NULL},
};

int newest_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
