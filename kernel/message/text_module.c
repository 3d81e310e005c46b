/* The texts, batches, records and checksums as functions of the module, for tests and fuzzers; `holds` also for pops.
 */

#include "core/kernel.h"

#include <string.h>

#include "message/properties.h"
#include "message/record.h"
#include "message/text.h"

static span span_from(const Py_buffer *view) { return span_of(view->buf, (size_t)view->len); }

/* A new bytes object, or None where nothing is. */
static PyObject *bytes_or_none(span found)
{
    if (found.at == NULL) Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)found.at, (Py_ssize_t)found.len);
}

static PyObject *wait_or_none(wait_property wait)
{
    return wait == WAIT_ABSENT ? Py_NewRef(Py_None) : PyBool_FromLong(wait == WAIT_TRUE);
}

static PyObject *found_tuple(PyObject *data, const properties_found *found)
{
    return Py_BuildValue("(NNNNNNN)", data, bytes_or_none(found->unique_key), bytes_or_none(found->keys),
                         bytes_or_none(found->tags), wait_or_none(found->wait), PyBool_FromLong(found->steering),
                         PyBool_FromLong(found->nul));
}

static PyObject *rewrite_properties(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer text, broker_items;
    if (!PyArg_ParseTuple(args, "y*y*:rewrite_properties", &text, &broker_items)) return NULL;
    PyObject *result = NULL;
    uint8_t *to = PyMem_Malloc((size_t)(text.len + broker_items.len) + 1);
    if (to == NULL) {
        PyErr_NoMemory();
    } else {
        properties_found found;
        properties_rewrite(span_from(&text), span_from(&broker_items), to, &found);
        result = found_tuple(PyBytes_FromStringAndSize((const char *)to, (Py_ssize_t)found.length), &found);
        PyMem_Free(to);
    }
    PyBuffer_Release(&text);
    PyBuffer_Release(&broker_items);
    return result;
}

static PyObject *look_at_properties(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer text;
    if (!PyArg_ParseTuple(args, "y*:look_at_properties", &text)) return NULL;
    properties_found found;
    properties_look(span_from(&text), &found);
    PyObject *data = PyBytes_FromStringAndSize(text.buf, (Py_ssize_t)found.length);
    PyObject *result = found_tuple(data, &found);
    PyBuffer_Release(&text);
    return result;
}

static PyObject *taken_batch(span body)
{
    PyObject *result = PyList_New(0);
    while (result != NULL) {
        batch_message found;
        batch_state state = batch_next(&body, &found);
        if (state == BATCH_END) break;
        if (state == BATCH_BAD) {
            Py_DECREF(result);
            Py_RETURN_NONE;
        }
        PyObject *one = Py_BuildValue("(iNN)", found.flag, bytes_or_none(found.body), bytes_or_none(found.properties));
        if (one == NULL || PyList_Append(result, one) < 0) Py_CLEAR(result);
        Py_XDECREF(one);
    }
    return result;
}

static PyObject *take_batch(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer body;
    if (!PyArg_ParseTuple(args, "y*:take_batch", &body)) return NULL;
    PyObject *result = taken_batch(span_from(&body));
    PyBuffer_Release(&body);
    return result;
}

static PyObject *hash_of(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer text;
    int hash = 0;
    if (!PyArg_ParseTuple(args, "y*|i:java_hash", &text, &hash)) return NULL;
    PyObject *result = PyLong_FromLong(java_hash(hash, span_from(&text)));
    PyBuffer_Release(&text);
    return result;
}

static PyObject *crc32(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer data;
    int portable = 0;
    if (!PyArg_ParseTuple(args, "y*|p:crc32", &data, &portable)) return NULL;
    uint32_t value = portable ? crc32_portable(span_from(&data)) : crc32_of(span_from(&data));
    PyBuffer_Release(&data);
    return PyLong_FromUnsignedLong(value);
}

static PyObject *written_record(const record *from, int whole)
{
    size_t size = record_size(from);
    PyObject *result = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (result == NULL) return NULL;
    uint8_t *to = (uint8_t *)PyBytes_AsString(result);
    memset(to, 0, sizeof(uint32_t));
    record_write(to, from, size, whole);
    return result;
}

static PyObject *write_record(PyObject *self, PyObject *args)
{
    (void)self;
    enum { VIEWS = 7 };
    Py_buffer views[VIEWS];
    record from;
    long long queue_offset, physical_offset, born, stored, prepared;
    int magic, queue_id, flag, sys_flag, reconsume_times, whole = 1;
    if (!PyArg_ParseTuple(args, "y*iiiiiLLLLLy*y*y*(y*y*y*)|p:write_record", &views[0], &magic, &queue_id, &flag,
                          &sys_flag, &reconsume_times, &queue_offset, &physical_offset, &born, &stored, &prepared,
                          &views[1], &views[2], &views[3], &views[4], &views[5], &views[6], &whole)) {
        return NULL;
    }
    from = (record){
        .topic_field = span_from(&views[0]),
        .magic = magic,
        .queue_id = queue_id,
        .flag = flag,
        .sys_flag = sys_flag,
        .reconsume_times = reconsume_times,
        .queue_offset = queue_offset,
        .physical_offset = physical_offset,
        .born_timestamp = born,
        .store_timestamp = stored,
        .prepared_offset = prepared,
        .born_host = span_from(&views[1]),
        .store_host = span_from(&views[2]),
        .body = span_from(&views[3]),
        .properties = {span_from(&views[4]), span_from(&views[5]), span_from(&views[6])},
    };
    PyObject *result = written_record(&from, whole);
    for (int i = 0; i < VIEWS; i++) PyBuffer_Release(&views[i]);
    return result;
}

static PyObject *write_queue_entry(PyObject *self, PyObject *args)
{
    (void)self;
    long long physical_offset, tags_code;
    int size;
    if (!PyArg_ParseTuple(args, "LiL:write_queue_entry", &physical_offset, &size, &tags_code)) return NULL;
    uint8_t entry[QUEUE_ENTRY_SIZE];
    queue_entry_write(entry, physical_offset, size, tags_code);
    return PyBytes_FromStringAndSize((const char *)entry, sizeof entry);
}

/* Most places are passed over by memchr, with vectors, where Python's search looks at every few bytes: records mostly
 * have no capital P. */
static bool holds_span(span data, span wanted)
{
    const uint8_t *at = data.at;
    size_t left = data.len;
    if (wanted.len == 0) return true;
    while (left >= wanted.len && (at = memchr(at, wanted.at[0], left - wanted.len + 1)) != NULL) {
        if (memcmp(at, wanted.at, wanted.len) == 0) return true;
        at++;
        left = (size_t)(data.at + data.len - at);
    }
    return false;
}

static PyObject *holds(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer data, wanted;
    if (!PyArg_ParseTuple(args, "y*y*:holds", &data, &wanted)) return NULL;
    bool found = holds_span(span_from(&data), span_from(&wanted));
    PyBuffer_Release(&data);
    PyBuffer_Release(&wanted);
    return PyBool_FromLong(found);
}

static PyMethodDef functions[] = {
    {"rewrite_properties", rewrite_properties, METH_VARARGS,
     "A client's property text as it is stored, and what it says."},
    {"look_at_properties", look_at_properties, METH_VARARGS, "What a property text says that is stored as it is."},
    {"holds", holds, METH_VARARGS, "Whether bytes hold others, whose first byte is rare in them."},
    {"take_batch", take_batch, METH_VARARGS, "The messages of a batch; None: Python says what is wrong with it."},
    {"java_hash", hash_of, METH_VARARGS, "String.hashCode of UTF-8 text, going on from a hash."},
    {"crc32", crc32, METH_VARARGS, "zlib's CRC-32; if wanted without the processor's help."},
    {"write_record", write_record, METH_VARARGS, "A commit log record."},
    {"write_queue_entry", write_queue_entry, METH_VARARGS, "A consume queue entry."},
    {NULL, NULL, 0, NULL},
};

int text_module_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
