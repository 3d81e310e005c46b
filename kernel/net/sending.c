/* Sends answers: text and ranges of mapped files in one call, without copying what the socket takes. */

#define _GNU_SOURCE
#ifdef __linux__

#include "net/hub.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>

enum { IOVECS_MOST = 512 };

/* One piece after the other: the text before a range, the range, ..., the text behind the last range. */
typedef struct {
    const outbox *out;
    int range;    /* the next one */
    bool in_text; /* its text comes before it */
    size_t text_at;
} pieces;

/* The next piece that has bytes; its owner, or NULL for text. False: that was all. */
static bool next_piece(pieces *row, span *piece, PyObject **owner)
{
    const outbox *out = row->out;
    while (row->range < out->count || row->in_text) {
        if (row->in_text) {
            size_t end = row->range < out->count ? out->ranges[row->range].text_end : out->used;
            *piece = span_of(out->text + row->text_at, end - row->text_at);
            *owner = NULL;
            row->text_at = end;
            row->in_text = false;
        } else {
            *piece = out->ranges[row->range].range;
            *owner = out->ranges[row->range].owner;
            row->range++;
            row->in_text = true;
        }
        if (piece->len > 0) {
            return true;
        }
    }
    return false;
}

static pieces pieces_of(const outbox *out) { return (pieces){.out = out, .range = 0, .in_text = true, .text_at = 0}; }

static ptrdiff_t send_ranges(const outbox *out, int fd)
{
    pieces row = pieces_of(out);
    struct iovec vectors[IOVECS_MOST];
    size_t total = 0;
    span piece = {0};
    PyObject *owner;
    for (bool more = next_piece(&row, &piece, &owner); more;) {
        int count = 0;
        size_t offered = 0;
        do {
            vectors[count++] = (struct iovec){.iov_base = (void *)(uintptr_t)piece.at, .iov_len = piece.len};
            offered += piece.len;
            more = next_piece(&row, &piece, &owner);
        } while (more && count < IOVECS_MOST);
        struct msghdr message = {.msg_iov = vectors, .msg_iovlen = (size_t)count};
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0) {
            return errno == EAGAIN || errno == EINTR ? (ptrdiff_t)total : -1;
        }
        total += (size_t)sent;
        if ((size_t)sent < offered) {
            break;
        }
    }
    return (ptrdiff_t)total;
}

ptrdiff_t out_send(const outbox *out, int fd)
{
    if (out->count > 0) {
        return send_ranges(out, fd);
    }
    ssize_t sent = send(fd, out->text, out->used, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent >= 0 ? sent : errno == EAGAIN || errno == EINTR ? 0 : -1;
}

/* A piece as an object: a view of its owner, or a copy if the owner has no buffer. */
static PyObject *owned(span piece, PyObject *owner)
{
    Py_buffer whole;
    if (owner != NULL && PyObject_GetBuffer(owner, &whole, PyBUF_SIMPLE) == 0) {
        const uint8_t *start = whole.buf;
        ptrdiff_t at = piece.at - start;
        bool inside = piece.at >= start && (size_t)at + piece.len <= (size_t)whole.len;
        PyBuffer_Release(&whole);
        PyObject *view = inside ? PyMemoryView_FromObject(owner) : NULL;
        if (view != NULL) {
            PyObject *slice = PySequence_GetSlice(view, at, at + (Py_ssize_t)piece.len);
            Py_DECREF(view);
            return slice;
        }
    }
    PyErr_Clear();
    return PyBytes_FromStringAndSize((const char *)piece.at, (Py_ssize_t)piece.len);
}

PyObject *out_rest(const outbox *out, size_t sent)
{
    PyObject *rest = PyList_New(0);
    pieces row = pieces_of(out);
    span piece;
    PyObject *owner;
    while (rest != NULL && next_piece(&row, &piece, &owner)) {
        size_t skipped = sent < piece.len ? sent : piece.len;
        sent -= skipped;
        if (skipped == piece.len) {
            continue;
        }
        PyObject *chunk = owned(span_of(piece.at + skipped, piece.len - skipped), owner);
        if (chunk == NULL || PyList_Append(rest, chunk) < 0) {
            Py_CLEAR(rest);
        }
        Py_XDECREF(chunk);
    }
    PyObject *chunks = rest == NULL ? NULL : PyList_AsTuple(rest);
    Py_XDECREF(rest);
    return chunks;
}

#else
typedef int sending_is_empty;
#endif
