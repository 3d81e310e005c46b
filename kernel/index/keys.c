/* See keys.h and key_rows.h. */

#include "index/key_rows.h"
#include "message/text.h"

enum { ROOM_FIRST = 1024, ROOM_KEPT = 1 << 14 };

uint64_t key_rows_committed(const KeyColumn *self)
{
    return self->groups_used > self->groups_taken ? self->groups[self->groups_used - 1].rows_end : self->taken;
}

static bool resize(KeyColumn *self, size_t room)
{
    for (int i = 0; i < COLUMNS; i++) {
        Py_ssize_t size = (Py_ssize_t)(room * sizeof(int64_t));
        if (self->memory[i] == NULL) {
            self->memory[i] = PyByteArray_FromStringAndSize(NULL, size);
            if (self->memory[i] == NULL) return false;
        } else if (PyByteArray_Resize(self->memory[i], size) < 0) {
            return false;
        }
        self->columns[i] = (int64_t *)(void *)PyByteArray_AsString(self->memory[i]);
    }
    self->room = room;
    return true;
}

void key_rows_free(KeyColumn *self)
{
    for (int i = 0; i < COLUMNS; i++) {
        Py_CLEAR(self->memory[i]);
        self->columns[i] = NULL;
    }
    PyMem_Free(self->groups);
    self->groups = NULL;
    self->room = self->groups_room = 0;
}

/* Make room for one more row: move all to the front if half of the room is free there, else allocate. */
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
        memmove(self->groups, self->groups + self->groups_taken, self->groups_used * sizeof(key_group));
        self->groups_taken = 0;
        return true;
    }
    size_t room = self->groups_room ? self->groups_room * 2 : ROOM_FIRST / 4;
    key_group *moved = PyMem_Realloc(self->groups, room * sizeof(key_group));
    if (moved == NULL) {
        PyErr_NoMemory();
        return false;
    }
    self->groups = moved;
    self->groups_room = room;
    return true;
}

void key_rows_clear(KeyColumn *self)
{
    self->first_row = self->taken = self->used;
    self->groups_taken = self->groups_used = 0;
    if (self->room + self->groups_room > ROOM_KEPT) key_rows_free(self);
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
        (key_group){start, end, self->last_offset, self->last_timestamp, .rows_end = self->used};
    size_t pending = (size_t)(self->used - self->taken) + self->groups_used - self->groups_taken;
    if (pending > self->most) key_rows_clear(self);
    return 0;
}

void key_rows_rollback(KeyColumn *self) { self->used = key_rows_committed(self); }

PyObject *key_rows_view(const KeyColumn *self, int column, uint64_t end, bool whole)
{
    Py_ssize_t from = (Py_ssize_t)(self->taken - self->first_row), to = (Py_ssize_t)(end - self->first_row);
    PyObject *memory;
    if (whole && end == self->used && self->room > ROOM_KEPT) {
        memory = Py_NewRef(self->memory[column]);
    } else {
        const char *at = from == to ? "" : (const char *)(self->columns[column] + from);
        memory = PyBytes_FromStringAndSize(at, (to - from) * (Py_ssize_t)sizeof(int64_t));
        to -= from;
        from = 0;
    }
    PyObject *bytes = memory ? PyMemoryView_FromObject(memory) : NULL;
    PyObject *numbers = bytes ? PyObject_CallMethod(bytes, "cast", "s", "q") : NULL;
    PyObject *view = numbers ? PySequence_GetSlice(numbers, from, to) : NULL;
    Py_XDECREF(memory);
    Py_XDECREF(bytes);
    Py_XDECREF(numbers);
    return view;
}

void key_rows_pass(KeyColumn *self, size_t groups)
{
    self->taken = self->groups[groups - 1].rows_end;
    self->groups_taken = groups;
    /* Memory that was handed over belongs to its taker. */
    if (groups == self->groups_used && self->used == self->taken) key_rows_clear(self);
}
