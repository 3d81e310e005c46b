/* index_put and index_scan for Python. */

#include "core/kernel.h"
#include "index/index_file.h"

enum { GIL_WORTH = 512 }; /* fewer entries take less time than releasing and acquiring the interpreter's lock */

enum { MAPPING, HASHES, OFFSETS, TIMESTAMPS, VIEWS };

static bool fits(const Py_buffer *views, const index_room *room, size_t slots_at, size_t entries_at, size_t count)
{
    for (int i = HASHES; i < VIEWS; i++) {
        if ((size_t)views[i].len / sizeof(int64_t) < count) return false;
    }
    size_t size = (size_t)views[MAPPING].len;
    return room->slot_count > 0 && slots_at <= size && entries_at <= size &&
           room->slot_count <= (size - slots_at) / INDEX_SLOT_SIZE &&
           room->first + count <= (size - entries_at) / INDEX_ENTRY_SIZE;
}

static PyObject *put(const Py_buffer *views, const index_room *room, size_t count)
{
    const int64_t *hashes = views[HASHES].buf, *offsets = views[OFFSETS].buf, *timestamps = views[TIMESTAMPS].buf;
    uint32_t newcomers;
    if (count < GIL_WORTH) {
        newcomers = index_put(room, hashes, offsets, timestamps, count);
    } else {
        Py_BEGIN_ALLOW_THREADS
        newcomers = index_put(room, hashes, offsets, timestamps, count);
        Py_END_ALLOW_THREADS
    }
    return PyLong_FromUnsignedLong(newcomers);
}

static PyObject *put_index_entries(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer views[VIEWS];
    Py_ssize_t slots_at, entries_at, count;
    unsigned int slot_count, first;
    long long begin;
    if (!PyArg_ParseTuple(args, "w*(nInIL)y*y*y*n:put_index_entries", &views[MAPPING], &slots_at, &slot_count,
                          &entries_at, &first, &begin, &views[HASHES], &views[OFFSETS], &views[TIMESTAMPS], &count)) {
        return NULL;
    }
    uint8_t *base = views[MAPPING].buf;
    index_room room = {.slot_count = slot_count, .begin_timestamp = begin, .first = first};
    PyObject *result = NULL;
    if (slots_at < 0 || entries_at < 0 || count < 0 ||
        !fits(views, &room, (size_t)slots_at, (size_t)entries_at, (size_t)count)) {
        PyErr_SetString(PyExc_ValueError, "no room for so many entries, or fewer numbers than that");
    } else {
        room.slots = base + slots_at;
        room.entries = base + entries_at;
        result = put(views, &room, (size_t)count);
    }
    for (int i = 0; i < VIEWS; i++) PyBuffer_Release(&views[i]);
    return result;
}

static PyObject *scanned(const Py_buffer *view, const index_wanted *wanted, size_t at, size_t count, size_t most)
{
    int64_t *offsets = PyMem_Malloc((most + 1) * sizeof *offsets);
    if (offsets == NULL) return PyErr_NoMemory();
    bool older;
    size_t found = index_scan((const uint8_t *)view->buf + at, count, wanted, offsets, most, &older);
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list != NULL && i < found; i++) {
        PyObject *offset = PyLong_FromLongLong(offsets[i]);
        if (offset == NULL || PyList_Append(list, offset) < 0) Py_CLEAR(list);
        Py_XDECREF(offset);
    }
    PyMem_Free(offsets);
    return list == NULL ? NULL : Py_BuildValue("(NN)", list, PyBool_FromLong(older));
}

static PyObject *scan_index_entries(PyObject *self, PyObject *args)
{
    (void)self;
    Py_buffer view;
    Py_ssize_t at, count, most;
    index_wanted wanted;
    unsigned int key_hash;
    long long file_begin, begin, end;
    if (!PyArg_ParseTuple(args, "y*nnInLLL:scan_index_entries", &view, &at, &count, &key_hash, &most, &file_begin,
                          &begin, &end)) {
        return NULL;
    }
    wanted = (index_wanted){key_hash, file_begin, begin, end};
    PyObject *result = NULL;
    if (at < 0 || count < 0 || most < 0 || at > view.len || count > (view.len - at) / INDEX_ENTRY_SIZE) {
        PyErr_SetString(PyExc_ValueError, "there are not so many entries");
    } else {
        result = scanned(&view, &wanted, (size_t)at, (size_t)count, (size_t)(most < count ? most : count));
    }
    PyBuffer_Release(&view);
    return result;
}

static PyMethodDef functions[] = {
    {"put_index_entries", put_index_entries, METH_VARARGS,
     "Put entries into a mapped index file; give how many took a slot that was free."},
    {"scan_index_entries", scan_index_entries, METH_VARARGS, "Search a key among entries of an index file."},
    {NULL, NULL, 0, NULL},
};

int index_module_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
