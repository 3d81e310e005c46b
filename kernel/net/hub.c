/* `Hub`: one epoll for many connections, which are served one after the other (turns.c). `ready` begins one, `round`
 * serves it; if that takes long, `round` returns and continues at its next call. */

#define _GNU_SOURCE
#ifdef __linux__

#include "net/hub.h"

#include <stddef.h>
#include <stdlib.h>
#include <structmember.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "wire/frame.h"

enum { ROUND_NS = 1000 * 1000 };

static PyTypeObject *Hub_Type;

static PyObject *ready(PyObject *self, PyObject *unused)
{
    int found = turn_begin((Hub *)self);
    (void)unused;
    return found < 0 ? NULL : PyBool_FromLong(found);
}

int64_t hub_nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static PyObject *round_method(PyObject *self, PyObject *args)
{
    Hub *hub = (Hub *)self;
    long long ms;
    if (!PyArg_ParseTuple(args, "Ld:round", &ms, &hub->seconds)) {
        return NULL;
    }
    if (hub->serving) {
        PyErr_SetString(PyExc_RuntimeError, "a round is being served");
        return NULL;
    }
    hub->serving = true;
    hub->ms = ms;
    hub->took_sends = hub->took_pulls = 0;
    int64_t until = hub_nanoseconds() + ROUND_NS;
    int failed = 0;
    while (hub->turn_at < hub->turn_end && failed == 0) {
        Channel *channel = hub->turn[hub->turn_at++];
        channel->listed = false;
        failed = channel_serve(channel);
        Py_DECREF((PyObject *)channel);
        if (hub_nanoseconds() > until) {
            break;
        }
    }
    hub->serving = false;
    if (failed) {
        return NULL;
    }
    if (hub->turn_at < hub->turn_end) {
        hub_wake(hub); /* those from `later` have frames, but their sockets may have nothing more */
    }
    return PyBool_FromLong(hub->turn_at == hub->turn_end && hub->later_count == 0);
}

static PyObject *unfinished(PyObject *self, void *unused)
{
    Hub *hub = (Hub *)self;
    (void)unused;
    return PyBool_FromLong(hub->turn_at < hub->turn_end);
}

static PyObject *take_latencies(PyObject *self, PyObject *unused)
{
    (void)unused;
    return latencies_take(&((Hub *)self)->latencies);
}

static PyObject *add(PyObject *self, PyObject *args)
{
    int fd;
    PyObject *session, *born_host;
    if (!PyArg_ParseTuple(args, "iOS:add", &fd, &session, &born_host)) {
        return NULL;
    }
    return (PyObject *)channel_new((Hub *)self, fd, session, born_host);
}

static PyObject *fileno_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(((Hub *)self)->epoll);
}

static void shut(Hub *hub)
{
    if (hub->epoll >= 0) close(hub->epoll);
    if (hub->wake >= 0) close(hub->wake);
    hub->epoll = hub->wake = -1;
}

static PyObject *close_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    turns_drop((Hub *)self);
    shut((Hub *)self);
    return Py_NewRef(Py_None);
}

/* --- making and unmaking --- */

static int open_descriptors(Hub *hub)
{
    hub->epoll = epoll_create1(EPOLL_CLOEXEC);
    hub->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    if (hub->epoll < 0 || hub->wake < 0 || epoll_ctl(hub->epoll, EPOLL_CTL_ADD, hub->wake, &event) < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    return 0;
}

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *sends, *pulls, *frame_type, *clock;
    static char *names[] = {"sends", "pulls", "frame_type", "clock", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "OOO!O:Hub", names, &sends, &pulls, &PyType_Type, &frame_type,
                                     &clock)) {
        return NULL;
    }
    Hub *hub = object_new(type);
    if (hub == NULL) {
        return NULL;
    }
    hub->epoll = hub->wake = -1;
    hub->max_frame = MAX_FRAME_LENGTH;
    hub->sends = sends == Py_None ? NULL : Py_NewRef(sends);
    hub->pulls = pulls == Py_None ? NULL : Py_NewRef(pulls);
    hub->frame_type = Py_NewRef(frame_type);
    hub->clock = Py_NewRef(clock);
    hub->buffer = PyByteArray_FromStringAndSize(NULL, READ_BYTES);
    hub->view = hub->buffer == NULL ? NULL : PyMemoryView_FromObject(hub->buffer);
    if (hub->view == NULL || open_descriptors(hub) < 0) {
        Py_DECREF((PyObject *)hub);
        return NULL;
    }
    hub->bytes = (uint8_t *)PyByteArray_AsString(hub->buffer);
    return (PyObject *)hub;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Hub *hub = (Hub *)self;
    Py_VISIT(hub->sends);
    Py_VISIT(hub->pulls);
    Py_VISIT(hub->frame_type);
    Py_VISIT(hub->clock);
    for (size_t each = hub->turn_at; each < hub->turn_end; each++) {
        Py_VISIT((PyObject *)hub->turn[each]);
    }
    for (size_t each = 0; each < hub->later_count; each++) {
        Py_VISIT((PyObject *)hub->later[each]);
    }
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int clear(PyObject *self)
{
    Hub *hub = (Hub *)self;
    turns_drop(hub);
    Py_CLEAR(hub->sends);
    Py_CLEAR(hub->pulls);
    Py_CLEAR(hub->frame_type);
    Py_CLEAR(hub->clock);
    return 0;
}

static void dealloc(PyObject *self)
{
    Hub *hub = (Hub *)self;
    PyObject_GC_UnTrack(self);
    clear(self);
    shut(hub);
    out_free(&hub->out);
    free(hub->turn);
    free(hub->later);
    Py_CLEAR(hub->view);
    Py_CLEAR(hub->buffer);
    object_free(self);
}

static PyMethodDef methods[] = {
    {"fileno", fileno_method, METH_NOARGS, "The descriptor that is readable while a channel has something to serve."},
    {"add", add, METH_VARARGS, "Read a socket (its descriptor) for a session, whose address in records is given."},
    {"ready", ready, METH_NOARGS, "Whether there is something to serve now."},
    {"round", round_method, METH_VARARGS,
     "Serve it; ms since 1970 and the loop's seconds are given. False: others should have their turn first."},
    {"take_latencies", take_latencies, METH_NOARGS,
     "Of requests that the kernel served while `timed`, since the last call, by code: how many within each of "
     "LATENCY_BOUNDS_NS and above, and their sum in ns."},
    {"close", close_method, METH_NOARGS, "Release the descriptors; no channel is read any more."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"held", T_LONGLONG, offsetof(Hub, held), READONLY, "Bytes that were received and wait, of all channels."},
    {"max_frame", T_LONGLONG, offsetof(Hub, max_frame), 0, "Bytes of the longest frame that is taken, 16 MiB at most."},
    {"read_ns", T_LONGLONG, offsetof(Hub, read_ns), 0,
     "How long frames of one read are served before others have their turn, in ns; 0: however long it takes."},
    {"timed", T_BOOL, offsetof(Hub, timed), 0, "Whether it is noted how long requests take."},
    {"took_sends", T_BOOL, offsetof(Hub, took_sends), READONLY, "Whether the kernel took sends in the last round."},
    {"took_pulls", T_BOOL, offsetof(Hub, took_pulls), READONLY, "Whether the kernel took pulls in the last round."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"unfinished", unfinished, NULL, "Whether the last round stopped within a turn.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Reads many connections and serves what they bring."},
    {Py_tp_new, new},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.Hub", sizeof(Hub), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

int hub_init(PyObject *module)
{
    if (add_type(module, &spec, &Hub_Type) < 0 || PyModule_AddIntConstant(module, "HIGH_WATER", HIGH_WATER) < 0 ||
        PyModule_AddIntConstant(module, "READ_BYTES", READ_BYTES) < 0) {
        return -1;
    }
    return channel_types(module) < 0 ? -1 : session_calls_init();
}

#else

#include "core/kernel.h"

int hub_init(PyObject *module)
{
    (void)module;
    return 0;
}

#endif
