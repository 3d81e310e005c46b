/* `Channel`: one connection of a hub. Its session owns the socket and closes it. Session and channel refer to each
 * other until the channel is closed. */

#define _GNU_SOURCE
#ifdef __linux__

#include "net/hub.h"

#include <math.h>
#include <stddef.h>
#include <structmember.h>
#include <sys/epoll.h>

PyTypeObject *Channel_Type;

/* Register the socket in the hub's epoll. */
static int watch(Channel *channel)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = channel};
    if (channel->hub->epoll < 0) {
        return 0; /* the hub is closed, as the session will be */
    }
    if (epoll_ctl(channel->hub->epoll, EPOLL_CTL_ADD, channel->fd, &event) < 0) {
        PyErr_SetFromErrno(PyExc_OSError);
        return -1;
    }
    return 0;
}

static void ignore(Channel *channel)
{
    /* If the hub is closed, the registration has ended anyway. */
    epoll_ctl(channel->hub->epoll, EPOLL_CTL_DEL, channel->fd, NULL);
}

Channel *channel_new(Hub *hub, int fd, PyObject *session, PyObject *born_host)
{
    Channel *channel = object_new(Channel_Type);
    if (channel == NULL) {
        return NULL;
    }
    channel->hub = (Hub *)Py_NewRef((PyObject *)hub);
    channel->fd = fd;
    channel->session = Py_NewRef(session);
    channel->born_host = Py_NewRef(born_host);
    channel->frame_started = INFINITY;
    if (watch(channel) < 0) {
        channel->closed = true;
        Py_DECREF((PyObject *)channel);
        return NULL;
    }
    return channel;
}

void channel_close(Channel *channel)
{
    if (channel->closed) {
        return;
    }
    channel->closed = true;
    if (!channel->stalled) {
        ignore(channel);
    }
    channel->whole = false;
    Py_CLEAR(channel->held);
    channel_count(channel);
    Py_CLEAR(channel->session);
}

void channel_stall(Channel *channel)
{
    if (!channel->stalled) {
        channel->stalled = true;
        ignore(channel);
    }
}

void channel_count(Channel *channel)
{
    size_t now = channel->held == NULL ? 0 : channel->held_end;
    channel->hub->held += (long long)now - (long long)channel->counted;
    channel->counted = now;
}

int channel_hold(Channel *channel, const uint8_t *bytes, size_t size)
{
    PyObject *held = NULL;
    if (size > 0) {
        held = PyByteArray_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
        if (held == NULL) {
            return -1;
        }
    }
    PyObject *former = channel->held;
    channel->held = held;
    channel->held_at = 0;
    channel->held_end = size;
    channel_count(channel);
    Py_XDECREF(former);
    return 0;
}

static PyObject *close_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    channel_close((Channel *)self);
    return Py_NewRef(Py_None);
}

static PyObject *beginning_method(PyObject *self, PyObject *unused)
{
    Channel *channel = (Channel *)self;
    (void)unused;
    if (channel->held == NULL) {
        return PyBytes_FromStringAndSize(NULL, 0);
    }
    size_t size = channel->held_end - channel->held_at;
    const char *bytes = PyByteArray_AsString(channel->held) + channel->held_at;
    return PyBytes_FromStringAndSize(bytes, (Py_ssize_t)(size < BEGINNING_MOST ? size : BEGINNING_MOST));
}

static PyObject *held_now(PyObject *self, void *unused)
{
    (void)unused;
    return PyLong_FromSize_t(((Channel *)self)->counted);
}

static PyObject *resume_method(PyObject *self, PyObject *unused)
{
    Channel *channel = (Channel *)self;
    (void)unused;
    if (channel->stalled && !channel->closed) {
        if (watch(channel) < 0) {
            return NULL;
        }
        channel->stalled = false;
        if (channel->whole && hub_later(channel->hub, channel) < 0) {
            return NULL;
        }
    }
    return Py_NewRef(Py_None);
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    Channel *channel = (Channel *)self;
    Py_VISIT((PyObject *)channel->hub);
    Py_VISIT(channel->session);
    Py_VISIT(Py_TYPE(self));
    return 0;
}

static int clear(PyObject *self)
{
    channel_close((Channel *)self);
    return 0;
}

static void dealloc(PyObject *self)
{
    Channel *channel = (Channel *)self;
    PyObject_GC_UnTrack(self);
    channel_close(channel);
    Py_CLEAR(channel->session);
    Py_CLEAR(channel->held);
    Py_CLEAR(channel->born_host);
    PyObject *hub = (PyObject *)channel->hub;
    channel->hub = NULL;
    Py_XDECREF(hub);
    object_free(self);
}

static PyMemberDef members[] = {
    {"last_activity", T_DOUBLE, offsetof(Channel, last_activity), 0, "When bytes last came or went, in seconds."},
    {"frame_started", T_DOUBLE, offsetof(Channel, frame_started), 0,
     "When the unfinished frame began; infinite: none."},
    {"began", T_BOOL, offsetof(Channel, began), READONLY, "Whether a whole frame has come."},
    {"writing", T_BOOL, offsetof(Channel, writing), 0, "Whether the session's writing task is at work."},
    {"stalled", T_BOOL, offsetof(Channel, stalled), READONLY, "Whether nothing is read, as the client reads nothing."},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef methods[] = {
    {"resume", resume_method, METH_NOARGS, "Continue reading: the client has read its answers."},
    {"close", close_method, METH_NOARGS, "Read nothing more. Comes before the socket is closed."},
    {"beginning", beginning_method, METH_NOARGS, "The first bytes of what is held: enough for a frame's header."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef properties[] = {
    {"held", held_now, NULL, "Bytes that were received and wait: of an unfinished frame, or whole ones.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "One connection of a hub: reads its socket and has the session serve what it brings."},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, dealloc},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {Py_tp_getset, properties},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.Channel", sizeof(Channel), 0,
                           Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

int channel_types(PyObject *module) { return add_type(module, &spec, &Channel_Type); }

#else
typedef int channel_is_empty;
#endif
