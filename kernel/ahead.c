/* A thread that faults the pages of a mapping in, ahead of whoever writes there.
 *
 * A page's first use costs up to 10 us on a virtual machine whose host must find memory for it; on another processor
 * that costs the event loop nothing. It is help only: the writer still asks for its pages itself, which is quick for
 * those that are there, and meets the error where one is refused. The thread runs no Python and changes no byte. */

#define _GNU_SOURCE

#include "kernel.h"

#ifdef __linux__

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* While one call lasts nobody else can map or unmap memory, nor have another mapping faulted in. */
enum { PIECE = 1 << 16 };

typedef struct {
    PyObject_HEAD
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t work, rest;
    bool running, busy, quit;
    char *at, *end;    /* what is left to do */
    PyObject *mapping; /* that this is in, or NULL */
    Py_buffer view;
} Ahead;

static void *fault_in(void *given)
{
    Ahead *self = given;
    pthread_mutex_lock(&self->lock);
    while (!self->quit) {
        if (self->at >= self->end) {
            pthread_cond_wait(&self->work, &self->lock);
            continue;
        }
        char *piece = self->at;
        size_t length = self->end - piece < PIECE ? (size_t)(self->end - piece) : PIECE;
        self->at = piece + length;
        self->busy = true;
        pthread_mutex_unlock(&self->lock);
        int failed = madvise(piece, length, MADV_POPULATE_WRITE);
        pthread_mutex_lock(&self->lock);
        self->busy = false;
        if (failed) self->at = self->end;
        pthread_cond_signal(&self->rest);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

static int start_thread(Ahead *self)
{
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former); /* signals are for the interpreter's threads */
    int error = pthread_create(&self->thread, NULL, fault_in, self);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    self->running = error == 0;
    return error;
}

/* Have no work, and the thread in no page of the mapping. */
static void drop(Ahead *self)
{
    pthread_mutex_lock(&self->lock);
    self->at = self->end = NULL;
    while (self->busy) pthread_cond_wait(&self->rest, &self->lock);
    pthread_mutex_unlock(&self->lock);
    if (self->mapping != NULL) PyBuffer_Release(&self->view);
    Py_CLEAR(self->mapping);
}

static PyObject *ask(PyObject *object, PyObject *args)
{
    Ahead *self = (Ahead *)object;
    PyObject *mapping;
    Py_ssize_t start, length;
    if (!PyArg_ParseTuple(args, "Onn:ask", &mapping, &start, &length)) return NULL;
    if (mapping != self->mapping) {
        drop(self);
        if (PyObject_GetBuffer(mapping, &self->view, PyBUF_WRITABLE) < 0) return NULL;
        self->mapping = Py_NewRef(mapping);
    }
    if (start < 0 || length < 0 || start > self->view.len || length > self->view.len - start || start % 4096) {
        PyErr_SetString(PyExc_ValueError, "ask: the range is not in the mapping, or begins within a page");
        return NULL;
    }
    char *first = (char *)self->view.buf + start, *end = first + length;
    pthread_mutex_lock(&self->lock);
    /* What it has done already of the new range is not done again. */
    self->at = self->end != NULL && self->at > first && self->at <= end ? self->at : first;
    self->end = end;
    pthread_cond_signal(&self->work);
    pthread_mutex_unlock(&self->lock);
    if (!self->running && start_thread(self) != 0) drop(self); /* then there is no help */
    Py_RETURN_NONE;
}

static PyObject *stop(PyObject *object, PyObject *unused)
{
    (void)unused;
    drop((Ahead *)object);
    Py_RETURN_NONE;
}

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    Ahead *self = (Ahead *)PyType_GenericNew(type, args, kwargs);
    if (self == NULL) return NULL;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->work, NULL);
    pthread_cond_init(&self->rest, NULL);
    return (PyObject *)self;
}

static void dealloc(PyObject *object)
{
    Ahead *self = (Ahead *)object;
    PyTypeObject *type = Py_TYPE(object);
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
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"ask", ask, METH_VARARGS,
     "Begin with `length` bytes of a writable mapping from `start` on, in place of what was asked before."},
    {"stop", stop, METH_NOARGS, "Forget the mapping. When this returns no page of it is being faulted in."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Faults pages in for writing, in a thread."},
    {Py_tp_new, new},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.Ahead", sizeof(Ahead), 0, Py_TPFLAGS_DEFAULT, slots};

int ahead_init(PyObject *module)
{
    PyObject *type = PyType_FromSpec(&spec);
    int added = type == NULL ? -1 : PyModule_AddObjectRef(module, "Ahead", type);
    Py_XDECREF(type);
    return added;
}

#else

int ahead_init(PyObject *module)
{
    (void)module;
    return 0;
}

#endif
