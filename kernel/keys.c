/* KeyColumn: the keys of appended messages, in the order of the log, until they are taken for the index.
 *
 * Three rows of numbers side by side (hash, physical offset, store timestamp of each key) and a mark a group of messages.
 * Rows are counted from the beginning of time; `first_row` is the number of the one that stands first in memory. What is
 * taken is copied, so nothing here is shared with the thread that works on it; all calls come with the GIL held. */

#include "kernel.h"
#include "keys.h"
#include "text.h"

enum { HASHES, OFFSETS, TIMESTAMPS, COLUMNS };
enum { ROOM_FIRST = 1024, ROOM_KEPT = 1 << 14, VALUES_OF_MESSAGE = 5 };

typedef struct {
    int64_t start, end; /* the part of the log that its messages are */
    int64_t last_offset, last_timestamp;
    uint64_t rows_end;
} group;

typedef struct {
    PyObject_HEAD
    int64_t *columns[COLUMNS];
    size_t room;
    uint64_t first_row, taken, used; /* number of the first row in memory, the first one not taken, the next one */
    group *groups;
    size_t groups_room, groups_taken, groups_used;
    size_t most;                         /* more rows and groups are not kept */
    int64_t last_offset, last_timestamp; /* of the newest message */
    bool closed;
} KeyColumn;

PyTypeObject *KeyColumn_Type;

static uint64_t rows_committed(const KeyColumn *self)
{
    return self->groups_used > self->groups_taken ? self->groups[self->groups_used - 1].rows_end : self->taken;
}

static bool resize(KeyColumn *self, size_t room)
{
    for (int i = 0; i < COLUMNS; i++) {
        int64_t *moved = PyMem_Realloc(self->columns[i], room * sizeof(int64_t));
        if (moved == NULL) return false;
        self->columns[i] = moved;
    }
    self->room = room;
    return true;
}

/* Room for one row more: by moving all to the front if half of the room is free there, else by more memory. */
static bool make_room(KeyColumn *self)
{
    size_t free_rows = (size_t)(self->taken - self->first_row), kept = (size_t)(self->used - self->taken);
    if (free_rows <= self->room / 2) return resize(self, self->room ? self->room * 2 : ROOM_FIRST);
    for (int i = 0; i < COLUMNS; i++) {
        memmove(self->columns[i], self->columns[i] + free_rows, kept * sizeof(int64_t));
    }
    self->first_row = self->taken;
    return true;
}

static bool make_groups_room(KeyColumn *self)
{
    if (self->groups_taken > self->groups_room / 2) {
        self->groups_used -= self->groups_taken;
        memmove(self->groups, self->groups + self->groups_taken, self->groups_used * sizeof(group));
        self->groups_taken = 0;
        return true;
    }
    size_t room = self->groups_room ? self->groups_room * 2 : ROOM_FIRST / 4;
    group *moved = PyMem_Realloc(self->groups, room * sizeof(group));
    if (moved == NULL) return false;
    self->groups = moved;
    self->groups_room = room;
    return true;
}

/* Forget all groups and their rows; much memory is given back. */
static void clear(KeyColumn *self)
{
    self->first_row = self->taken = self->used;
    self->groups_taken = self->groups_used = 0;
    if (self->room + self->groups_room <= ROOM_KEPT) return;
    for (int i = 0; i < COLUMNS; i++) {
        PyMem_Free(self->columns[i]);
        self->columns[i] = NULL;
    }
    PyMem_Free(self->groups);
    self->groups = NULL;
    self->room = self->groups_room = 0;
}

static bool add_row(KeyColumn *self, int32_t prefix_hash, span key)
{
    size_t at = (size_t)(self->used - self->first_row);
    if (at == self->room) {
        if (!make_room(self)) return false;
        at = (size_t)(self->used - self->first_row);
    }
    int32_t hash = java_hash(prefix_hash, key);
    self->columns[HASHES][at] = hash == INT32_MIN ? 0 : hash < 0 ? -hash : hash;
    self->columns[OFFSETS][at] = self->last_offset;
    self->columns[TIMESTAMPS][at] = self->last_timestamp;
    self->used++;
    return true;
}

int key_column_add(PyObject *column, int32_t prefix_hash, span unique_key, span words, int64_t physical_offset,
                   int64_t store_timestamp)
{
    KeyColumn *self = (KeyColumn *)column;
    self->last_offset = physical_offset;
    self->last_timestamp = store_timestamp;
    if (unique_key.at != NULL && !add_row(self, prefix_hash, unique_key)) return -1;
    while (words.len > 0) {
        const uint8_t *blank = memchr(words.at, ' ', words.len);
        size_t length = blank ? (size_t)(blank - words.at) : words.len;
        if (length > 0 && !add_row(self, prefix_hash, span_of(words.at, length))) return -1;
        size_t passed = blank ? length + 1 : length;
        words = span_of(words.at + passed, words.len - passed);
    }
    return 0;
}

int key_column_group(PyObject *column, int64_t start, int64_t end)
{
    KeyColumn *self = (KeyColumn *)column;
    if (self->groups_used == self->groups_room && !make_groups_room(self)) return -1;
    self->groups[self->groups_used++] =
        (group){start, end, self->last_offset, self->last_timestamp, .rows_end = self->used};
    size_t pending = (size_t)(self->used - self->taken) + self->groups_used - self->groups_taken;
    if (self->closed || pending > self->most) clear(self);
    return 0;
}

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

/* A message whose values stand in a list from `at` on, as store.appender puts them there. */
static bool add_message(PyObject *column, PyObject *values, Py_ssize_t at)
{
    span unique_key, words;
    PyObject *keepers[2] = {NULL, NULL};
    long prefix_hash = PyLong_AsLong(PyList_GetItem(values, at));
    int64_t offset = PyLong_AsLongLong(PyList_GetItem(values, at + 3));
    int64_t timestamp = PyLong_AsLongLong(PyList_GetItem(values, at + 4));
    bool done = !PyErr_Occurred() && key_text(PyList_GetItem(values, at + 1), &unique_key, &keepers[0]) &&
                key_text(PyList_GetItem(values, at + 2), &words, &keepers[1]);
    if (done && key_column_add(column, (int32_t)prefix_hash, unique_key, words, offset, timestamp) < 0) {
        PyErr_NoMemory();
        done = false;
    }
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
            self->used = rows_committed(self);
            return NULL;
        }
    }
    if (key_column_group(column, start, end) < 0) return PyErr_NoMemory();
    Py_RETURN_NONE;
}

/* The rows from the first one on up to `end`, of one column. */
static PyObject *copy(const KeyColumn *self, int column, uint64_t end)
{
    const int64_t *from = self->columns[column] + (self->taken - self->first_row);
    Py_ssize_t size = (Py_ssize_t)((end - self->taken) * sizeof(int64_t));
    PyObject *bytes = PyBytes_FromStringAndSize(size ? (const char *)from : "", size);
    PyObject *view = bytes ? PyMemoryView_FromObject(bytes) : NULL;
    PyObject *numbers = view ? PyObject_CallMethod(view, "cast", "s", "q") : NULL;
    Py_XDECREF(bytes);
    Py_XDECREF(view);
    return numbers;
}

static void pass(KeyColumn *self, size_t groups)
{
    self->taken = self->groups[groups - 1].rows_end;
    self->groups_taken = groups;
    if (groups == self->groups_used && self->used == self->taken) clear(self);
}

static PyObject *take(PyObject *column, PyObject *args)
{
    KeyColumn *self = (KeyColumn *)column;
    long long end;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(args, "Ln:take", &end, &most)) return NULL;
    size_t at = self->groups_taken;
    while (at < self->groups_used && self->groups[at].end <= end) at++;
    if (at > self->groups_taken) pass(self, at);
    size_t stop = at = self->groups_taken;
    uint64_t rows_end = self->taken;
    while (stop < self->groups_used && rows_end - self->taken < (uint64_t)most) {
        const group *next = &self->groups[stop];
        if (next->start > end || next->end <= end) break;
        end = next->end;
        rows_end = next->rows_end;
        stop++;
    }
    if (stop == at) Py_RETURN_NONE;
    const group *last = &self->groups[stop - 1];
    PyObject *result = Py_BuildValue("(NNNLLL)", copy(self, HASHES, rows_end), copy(self, OFFSETS, rows_end),
                                     copy(self, TIMESTAMPS, rows_end), end, last->last_offset, last->last_timestamp);
    if (result != NULL) pass(self, stop);
    return result;
}

static PyObject *close_column(PyObject *column, PyObject *unused)
{
    (void)unused;
    ((KeyColumn *)column)->closed = true;
    clear((KeyColumn *)column);
    Py_RETURN_NONE;
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
    return PyLong_FromUnsignedLongLong(rows_committed(self) - self->taken);
}

static PyObject *new_column(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    Py_ssize_t most;
    static char *names[] = {"most", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "n:KeyColumn", names, &most)) return NULL;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    PyObject *self = alloc(type, 0);
    if (self != NULL) ((KeyColumn *)self)->most = (size_t)most;
    return self;
}

static void dealloc(PyObject *column)
{
    KeyColumn *self = (KeyColumn *)column;
    PyTypeObject *type = Py_TYPE(column);
    for (int i = 0; i < COLUMNS; i++) PyMem_Free(self->columns[i]);
    PyMem_Free(self->groups);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(column);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"add", add, METH_VARARGS, "Note a group of messages: see store.key_column."},
    {"take", take, METH_VARARGS, "The keys of some groups: see store.key_column."},
    {"close", close_column, METH_NOARGS, "Forget everything, and what is added from now on."},
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

int keys_init(PyObject *module)
{
    KeyColumn_Type = (PyTypeObject *)PyType_FromSpec(&spec);
    return KeyColumn_Type == NULL ? -1 : PyModule_AddObjectRef(module, "KeyColumn", (PyObject *)KeyColumn_Type);
}
