/* follow_queue_tails: what was appended to many consume queues since their ends were read last. Its twin is
 * spark.stores.tail_rows. */

#include "core/kernel.h"

#include <sys/stat.h>
#include <unistd.h>

#include "core/span.h"
#include "message/record.h"

/* Entries that are read first, and next; how many behind the last one must be zeros to know the end. */
enum { FIRST = 33, NEXT = 512, LEFT = 8 };

/* As spark.stores.tail_rows declares a row. */
typedef struct {
    int64_t at, room, min, end;
    int32_t fd;
    uint8_t last[QUEUE_ENTRY_SIZE];
} tail_row;

_Static_assert(sizeof(tail_row) == 56, "a row has no padding");

/* The number of the last entry that has a byte which is not zero; -1 without one. */
static int64_t last_entry(const uint8_t *data, size_t len)
{
    while (len > 0 && data[len - 1] == 0) len--;
    return ((int64_t)len + QUEUE_ENTRY_SIZE - 1) / QUEUE_ENTRY_SIZE - 1;
}

/* Entries from `at` on, the first of which is the last known one: how many bytes, -1 if it is another one. */
static int64_t entries_read(const tail_row *row, uint8_t *data, size_t count)
{
    ssize_t len = pread(row->fd, data, count * QUEUE_ENTRY_SIZE, (off_t)row->at);
    return len >= QUEUE_ENTRY_SIZE && memcmp(data, row->last, QUEUE_ENTRY_SIZE) == 0 ? (int64_t)len : -1;
}

/* Go on by some entries of `data`; false: the file is full, or this is no entry. */
static bool advance(tail_row *row, const uint8_t *data, int64_t len, int64_t new)
{
    const uint8_t *last = data + new * QUEUE_ENTRY_SIZE;
    row->at += new * QUEUE_ENTRY_SIZE;
    row->end += new;
    if (row->at >= row->room - QUEUE_ENTRY_SIZE || (new + 1) * QUEUE_ENTRY_SIZE > len) return false;
    memcpy(row->last, last, QUEUE_ENTRY_SIZE);
    return (int32_t)get32(last + 8) > 0;
}

static bool follow(tail_row *kept)
{
    uint8_t data[NEXT * QUEUE_ENTRY_SIZE];
    tail_row row = *kept;
    if (row.fd < 0) return true;
    if (row.at < 0 || row.room < row.at) return false;
    int64_t len = entries_read(&row, data, FIRST);
    while (len >= 0) {
        int64_t new = last_entry(data, (size_t)len);
        if (new < 0 || !advance(&row, data, len, new)) return false;
        int64_t left = len - (new + 1) * QUEUE_ENTRY_SIZE;
        if (left >= LEFT * QUEUE_ENTRY_SIZE || left >= row.room - row.at - QUEUE_ENTRY_SIZE) break;
        len = entries_read(&row, data, NEXT);
        if (len <= QUEUE_ENTRY_SIZE + left) return false; /* the file was cut */
    }
    struct stat now;
    /* A file that grows was not removed. */
    if (len < 0 || (row.at == kept->at && (fstat(row.fd, &now) < 0 || now.st_nlink == 0))) return false;
    *kept = row;
    return true;
}

static PyObject *follow_queue_tails(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer rows;
    if (!PyArg_ParseTuple(args, "w*:follow_queue_tails", &rows)) return NULL;
    bool well = true;
    /* A bytearray of Python's is aligned; a view of one row of it is, too. */
    bool fits = rows.len % (Py_ssize_t)sizeof(tail_row) == 0 && (uintptr_t)rows.buf % sizeof(int64_t) == 0;
    if (fits) {
        tail_row *row = rows.buf, *behind = row + rows.len / (Py_ssize_t)sizeof *row;
        Py_BEGIN_ALLOW_THREADS
        for (; well && row < behind; row++) well = follow(row);
        Py_END_ALLOW_THREADS
    } else {
        PyErr_SetString(PyExc_ValueError, "rows have 56 bytes each, at a multiple of 8");
    }
    PyBuffer_Release(&rows);
    return fits ? PyBool_FromLong(well) : NULL;
}

static PyMethodDef functions[] = {
    {"follow_queue_tails", follow_queue_tails, METH_VARARGS,
     "Bring the ends of queues up to date; false: a file was removed or cut, is full or has other entries."},
    {NULL, NULL, 0, NULL},
};

int queue_tails_init(PyObject *module) { return PyModule_AddFunctions(module, functions); }
