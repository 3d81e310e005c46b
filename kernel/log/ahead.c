/* A thread that allocates the pages of a file and faults them in, ahead of the writer, which uses a mapping.
 *
 * A page's first use costs up to 10 us on a virtual machine whose host must find memory for it; on another processor
 * that costs the event loop nothing. It is only an optimisation: the writer still faults its pages in itself, which is
 * quick for existing ones, and gets the error if there is no space. The thread runs no Python.
 *
 * It writes zeros where the file has only zeros: the file system then makes a few large folios instead of many pages,
 * which halves the time of everything after. So only the thread may write to a range while it belongs to it. */

#define _GNU_SOURCE

#include "core/kernel.h"

#ifdef __linux__

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* During a call no other thread can map or unmap memory, nor fault in another mapping. */
enum { PIECE = 1 << 16 };

typedef struct {
    PyObject_HEAD
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work, rest;
    bool running, busy, quit;
    char *piece;       /* the range in progress */
    char *at, *end;    /* what remains to do */
    int fd;            /* the file, or -1: then nothing is written */
    PyObject *mapping; /* that this is in, or NULL */
    Py_buffer view;
} PageFaulter;

static bool prepare(const PageFaulter *self, char *piece, size_t length)
{
    static const char zeros[PIECE];
    off_t place = piece - (char *)self->view.buf;
    if (self->fd >= 0 && pwrite(self->fd, zeros, length, place) != (ssize_t)length) return false;
    return madvise(piece, length, MADV_POPULATE_WRITE) == 0;
}

static void *fault_in(void *given)
{
    PageFaulter *self = given;
    pthread_mutex_lock(&self->lock);
    while (!self->quit) {
        if (self->at >= self->end) {
            pthread_cond_wait(&self->work, &self->lock);
            continue;
        }
        char *piece = self->piece = self->at;
        size_t length = self->end - piece < PIECE ? (size_t)(self->end - piece) : PIECE;
        self->at = piece + length;
        self->busy = true;
        pthread_mutex_unlock(&self->lock);
        bool done = prepare(self, piece, length);
        pthread_mutex_lock(&self->lock);
        self->busy = false;
        if (!done) self->at = self->end;
        pthread_cond_signal(&self->rest);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static int start_thread(PageFaulter *self)
{
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former); /* signals are for the interpreter's threads */
    int error = pthread_create(&self->thread, NULL, fault_in, self);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    self->running = error == 0;
    return error;
}

/* Drop the work, and wait until the thread has left the mapping. */
static void drop(PageFaulter *self)
{
    pthread_mutex_lock(&self->lock);
    self->at = self->end = NULL;
    while (self->busy) pthread_cond_wait(&self->rest, &self->lock);
    pthread_mutex_unlock(&self->lock);
    if (self->mapping != NULL) PyBuffer_Release(&self->view);
    Py_CLEAR(self->mapping);
    if (self->fd >= 0) close(self->fd);
    self->fd = -1;
}

static PyObject *populate(PyObject *object, PyObject *args)
{
    PageFaulter *self = (PageFaulter *)object;
    PyObject *mapping;
    const char *path;
    Py_ssize_t start, length;
    if (!PyArg_ParseTuple(args, "Osnn:populate", &mapping, &path, &start, &length)) return NULL;
    if (mapping != self->mapping) {
        drop(self);
        if (PyObject_GetBuffer(mapping, &self->view, PyBUF_WRITABLE) < 0) return NULL;
        self->mapping = Py_NewRef(mapping);
        self->fd = open(path, O_RDWR | O_CLOEXEC);
    }
    if (start < 0 || length < 0 || start > self->view.len || length > self->view.len - start || start % 4096) {
        PyErr_SetString(PyExc_ValueError, "populate: the range is not in the mapping, or begins within a page");
        return NULL;
    }
    char *first = (char *)self->view.buf + start, *end = first + length;
    pthread_mutex_lock(&self->lock);
    /* The part of the new range that is done already is not done again. */
    self->at = self->end != NULL && self->at > first && self->at <= end ? self->at : first;
    self->end = end;
    while (self->busy && self->piece < first) pthread_cond_wait(&self->rest, &self->lock);
    pthread_cond_signal(&self->work);
    pthread_mutex_unlock(&self->lock);
    if (!self->running && start_thread(self) != 0) drop(self); /* continue without the thread */
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *object, PyObject *unused)
{
    (void)unused;
    drop((PageFaulter *)object);
    Py_RETURN_NONE;
}

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PageFaulter *self = (PageFaulter *)PyType_GenericNew(type, args, kwargs);
    if (self == NULL) return NULL;
    self->fd = -1;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->work, NULL);
    pthread_cond_init(&self->rest, NULL);
    return (PyObject *)self;
}

static void dealloc(PyObject *object)
{
    PageFaulter *self = (PageFaulter *)object;
    drop(self);
    if (self->running) {
        pthread_mutex_lock(&self->lock);
        self->quit = true;
        pthread_cond_signal(&self->work);
        pthread_mutex_unlock(&self->lock);
        pthread_join(self->thread, NULL);
    }
    pthread_cond_destroy(&self->rest);
    pthread_cond_destroy(&self->work);
    pthread_mutex_destroy(&self->lock);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"populate", populate, METH_VARARGS,
     "Begin with `length` bytes of a writable mapping of a file from `start` on, in place of what was requested "
     "before."},
    {"stop", stop, METH_NOARGS, "Forget the mapping. When this returns nothing is done to it any more."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Faults pages in for writing, in a thread."},
    {Py_tp_new, new},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.PageFaulter", sizeof(PageFaulter), 0, Py_TPFLAGS_DEFAULT, slots};

int ahead_init(PyObject *module) { return add_type(module, &spec, NULL); }

#else

int ahead_init(PyObject *module)
{
    (void)module;
    return 0;
}

#endif
