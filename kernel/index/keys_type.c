/* KeyColumn as Python sees it: see store.index.key_column. */

#include "index/key_rows.h"

enum { VALUES_OF_MESSAGE = 5 };

PyTypeObject *KeyColumn_Type;

/* The text of a key in UTF-8; lone surrogates, which no client can send, are spelt as if they were characters. */
static bool key_text(PyObject *key, span *text, PyObject **keeper)
{
    *text = span_of(NULL, 0);
    if (key == Py_None) return true;
    Py_ssize_t length;
    const char *at = PyUnicode_AsUTF8AndSize(key, &length);
    if (at == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return false;
        PyErr_Clear();
        *keeper = PyUnicode_AsEncodedString(key, "utf-8", "surrogatepass");
        char *bytes;
        if (*keeper == NULL || PyBytes_AsStringAndSize(*keeper, &bytes, &length) < 0) return false;
        at = bytes;
    }
    *text = span_of(at, (size_t)length);
    return true;
}

/* A message whose values are in a list from `at` on, in the order of store.append.group_writer. */
static bool add_message(PyObject *column, PyObject *values, Py_ssize_t at)
{
    span unique_key, words;
    PyObject *keepers[2] = {NULL, NULL};
    long prefix_hash = PyLong_AsLong(PyList_GetItem(values, at));
    int64_t offset = PyLong_AsLongLong(PyList_GetItem(values, at + 3));
    int64_t timestamp = PyLong_AsLongLong(PyList_GetItem(values, at + 4));
    bool done = !PyErr_Occurred() && key_text(PyList_GetItem(values, at + 1), &unique_key, &keepers[0]) &&
                key_text(PyList_GetItem(values, at + 2), &words, &keepers[1]);
    done = done && key_column_add(column, (int32_t)prefix_hash, unique_key, words, offset, timestamp) == 0;
    Py_XDECREF(keepers[0]);
    Py_XDECREF(keepers[1]);
    return done;
}

static PyObject *add(PyObject *column, PyObject *args)
{
    KeyColumn *self = (KeyColumn *)column;
    long long start, end;
    PyObject *values;
    if (!PyArg_ParseTuple(args, "LLO!:add", &start, &end, &PyList_Type, &values)) return NULL;
    Py_ssize_t count = PyList_Size(values);
    for (Py_ssize_t at = 0; at + VALUES_OF_MESSAGE <= count; at += VALUES_OF_MESSAGE) {
        if (!add_message(column, values, at)) {
            key_rows_rollback(self);
            return NULL;
        }
    }
    if (key_column_group(column, start, end) < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *take(PyObject *column, PyObject *args)
{
    KeyColumn *self = (KeyColumn *)column;
    long long end;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "Ln:take", &end, &most)) return NULL;
    size_t at = self->groups_taken;
    while (at < self->groups_used && self->groups[at].end <= end) at++;
    if (at > self->groups_taken) key_rows_pass(self, at);
    size_t stop = at = self->groups_taken;
    uint64_t rows_end = self->taken;
    while (stop < self->groups_used && rows_end - self->taken < (uint64_t)most) {
        const key_group *next = &self->groups[stop];
        if (next->start > end || next->end <= end) break;
        end = next->end;
        rows_end = next->rows_end;
        stop++;
    }
    if (stop == at) Py_RETURN_NONE;
    const key_group *last = &self->groups[stop - 1];
    bool whole = stop == self->groups_used;
    PyObject *result = Py_BuildValue(
        "(NNNLLL)", key_rows_view(self, HASHES, rows_end, whole), key_rows_view(self, OFFSETS, rows_end, whole),
        key_rows_view(self, TIMESTAMPS, rows_end, whole), end, last->last_offset, last->last_timestamp);
    if (result != NULL) key_rows_pass(self, stop);
    return result;
}

static PyObject *get_start(PyObject *column, void *unused)
{
    const KeyColumn *self = (KeyColumn *)column;
    (void)unused;
    if (self->groups_taken == self->groups_used) Py_RETURN_NONE;
    return PyLong_FromLongLong(self->groups[self->groups_taken].start);
}

static PyObject *get_pending(PyObject *column, void *unused)
{
    const KeyColumn *self = (KeyColumn *)column;
    (void)unused;
    return PyLong_FromUnsignedLongLong(key_rows_committed(self) - self->taken);
}

static PyObject *new_column(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    Py_ssize_t most;
    static char *names[] = {"most", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "n:KeyColumn", names, &most)) return NULL;
    KeyColumn *self = object_new(type);
    if (self != NULL) self->most = (size_t)most;
    return (PyObject *)self;
}

static void dealloc(PyObject *column)
{
    KeyColumn *self = (KeyColumn *)column;
    key_rows_free(self);
    object_free(column);
}

static PyMethodDef methods[] = {
    {"add", add, METH_VARARGS, "Note a group of messages: see store.index.key_column."},
    {"take", take, METH_VARARGS, "The keys of some groups: see store.index.key_column."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"start", get_start, NULL, "Where the first group begins; None: there is none.", NULL},
    {"pending", get_pending, NULL, "How many keys there are.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Keys of appended messages on their way to the index."},
    {Py_tp_new, new_column},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "rocketwire._kernel.KeyColumn",
    .basicsize = sizeof(KeyColumn),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int keys_init(PyObject *module) { return add_type(module, &spec, &KeyColumn_Type); }
