/* `Relay`: pairs of sockets that one thread relays between, in Python. */

#define _GNU_SOURCE

#include "core/kernel.h"

#ifdef __linux__

#include "relay/pair_table.h"

#include <errno.h>
#include <limits.h>

#include "wire/frame.h"

typedef struct {
    PyObject_HEAD
    relay all;
    bool closed;
    pair_table table;
} Relay;

static const char *const end_causes[] = {
    [BY_CLIENT] = "client",          [BY_UPSTREAM] = "upstream",
    [BAD_CLIENT] = "client misread", [BAD_UPSTREAM] = "upstream misread",
    [DROPPED] = "dropped",           [RELEASED] = "released",
};

/* --- pairs --- */

static pair *pair_new(int client, int upstream, Py_buffer *to_upstream, Py_buffer *to_client)
{
    pair *one = calloc(1, sizeof *one);
    if (one == NULL) {
        return NULL;
    }
    one->sides[CLIENT].of = one->sides[UPSTREAM].of = one;
    one->sides[CLIENT].fd = one->sides[UPSTREAM].fd = -1; /* theirs only when the thread has them */
    one->moved = relay_milliseconds();
    if (!waiting_add(&one->sides[CLIENT].held, to_upstream->buf, (size_t)to_upstream->len) ||
        !waiting_add(&one->sides[UPSTREAM].held, to_client->buf, (size_t)to_client->len)) {
        pair_free(one);
        return NULL;
    }
    one->sides[CLIENT].fd = client;
    one->sides[UPSTREAM].fd = upstream;
    return one;
}

static PyObject *begin(Relay *self, pair *one)
{
    int error = one == NULL || !table_room(&self->table) ? ENOMEM : relay_start(&self->all);
    if (error != 0) {
        if (one != NULL) {
            one->sides[CLIENT].fd = one->sides[UPSTREAM].fd = -1;
            pair_free(one);
        }
        errno = error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    table_add(&self->table, one);
    atomic_fetch_add_explicit(&self->all.open, 1, memory_order_relaxed);
    relay_request(&self->all, one, REQUEST_BEGIN);
    return PyLong_FromLongLong(one->number);
}

static PyObject *add(PyObject *object, PyObject *args)
{
    Relay *self = (Relay *)object;
    int client, upstream;
    Py_buffer to_upstream, to_client, old, new_;
    Py_ssize_t longest_frame;
    if (!PyArg_ParseTuple(args, "iiy*y*y*y*n:add", &client, &upstream, &to_upstream, &to_client, &old, &new_,
                          &longest_frame)) {
        return NULL;
    }
    PyObject *number = NULL;
    id_hosts hosts;
    if (self->closed) {
        PyErr_SetString(PyExc_ValueError, "the relay is closed");
    } else if (longest_frame < FRAME_WORDS || longest_frame > MAX_FRAME_LENGTH) {
        PyErr_SetString(PyExc_ValueError, "no frame is so long");
    } else if (!id_hosts_set(&hosts, span_of(old.buf, (size_t)old.len), span_of(new_.buf, (size_t)new_.len))) {
        PyErr_SetString(PyExc_ValueError, UNEQUAL_HOSTS);
    } else {
        pair *one = pair_new(client, upstream, &to_upstream, &to_client);
        if (one != NULL) {
            one->hosts = hosts;
            one->longest_frame = (size_t)longest_frame;
        }
        number = begin(self, one);
    }
    Py_buffer *given[] = {&to_upstream, &to_client, &old, &new_};
    for (int each = 0; each < 4; each++) PyBuffer_Release(given[each]);
    return number;
}

static PyObject *add_request(PyObject *object, PyObject *number, int what)
{
    Relay *self = (Relay *)object;
    long long wanted = PyLong_AsLongLong(number);
    if (wanted == -1 && PyErr_Occurred()) {
        return NULL;
    }
    pair *one = table_find(&self->table, wanted);
    if (one != NULL) {
        relay_request(&self->all, one, what);
    }
    Py_RETURN_NONE;
}

static PyObject *release(PyObject *self, PyObject *number) { return add_request(self, number, REQUEST_RELEASE); }

static PyObject *drop(PyObject *self, PyObject *number) { return add_request(self, number, REQUEST_DROP); }

/* --- pairs that ended --- */

static PyObject *bytes_of(const waiting_bytes *some)
{
    size_t size = waiting_size(some);
    return PyBytes_FromStringAndSize(size > 0 ? (const char *)some->bytes + some->at : NULL, (Py_ssize_t)size);
}

static PyObject *event_of(const pair *one)
{
    const side *client = &one->sides[CLIENT], *upstream = &one->sides[UPSTREAM];
    PyObject *handed = one->because != RELEASED ? Py_NewRef(Py_None)
                                                : Py_BuildValue("(iiNNNN)", client->fd, upstream->fd,
                                                                bytes_of(&client->unsent), bytes_of(&upstream->unsent),
                                                                bytes_of(&client->held), bytes_of(&upstream->held));
    return handed == NULL ? NULL : Py_BuildValue("(LsN)", (long long)one->number, end_causes[one->because], handed);
}

static PyObject *events(PyObject *object, PyObject *unused)
{
    Relay *self = (Relay *)object;
    PyObject *list = PyList_New(0);
    pair *one;
    (void)unused;
    relay_calm(&self->all);
    while (list != NULL && (one = relay_reported(&self->all)) != NULL) {
        PyObject *event = event_of(one);
        if (event == NULL || PyList_Append(list, event) < 0) {
            Py_XDECREF(event);
            Py_CLEAR(list);
            break;
        }
        Py_DECREF(event);
        relay_remove_reported(&self->all);
        table_remove(&self->table, one);
        if (one->because == RELEASED) {
            one->sides[CLIENT].fd = one->sides[UPSTREAM].fd = -1;
        }
        pair_free(one);
    }
    return list;
}

static PyObject *idle(PyObject *object, PyObject *seconds)
{
    Relay *self = (Relay *)object;
    double least = PyFloat_AsDouble(seconds);
    if (PyErr_Occurred()) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    int64_t now = relay_milliseconds();
    for (size_t each = 0; list != NULL && each < self->table.room; each++) {
        pair *one = self->table.pairs[each];
        if (one == NULL || (double)(now - atomic_load_explicit(&one->moved, memory_order_relaxed)) < least * 1000) {
            continue;
        }
        PyObject *number = PyLong_FromLongLong(one->number);
        if (number == NULL || PyList_Append(list, number) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(number);
    }
    return list;
}

static PyObject *counts(PyObject *self, PyObject *unused)
{
    (void)unused;
    return relay_counts(&((Relay *)self)->all);
}

static PyObject *bound(PyObject *object, PyObject *bytes)
{
    long long most = PyLong_AsLongLong(bytes);
    if (most == -1 && PyErr_Occurred()) {
        return NULL;
    }
    atomic_store_explicit(&((Relay *)object)->all.most_unsent, most, memory_order_relaxed);
    Py_RETURN_NONE;
}

/* --- the relay --- */

static PyObject *fileno_method(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLong(((Relay *)self)->all.reports);
}

/* Without the thread: no call of Python can run any more. */
static void drop_all(Relay *self)
{
    for (size_t each = 0; each < self->table.room; each++) {
        if (self->table.pairs[each] != NULL) pair_free(self->table.pairs[each]);
    }
    free(self->table.pairs);
    self->table.pairs = NULL;
    self->table.room = self->table.count = 0;
    self->all.reported = NULL;
    self->all.reported_end = &self->all.reported;
    atomic_store_explicit(&self->all.open, 0, memory_order_relaxed);
}

static PyObject *close_method(PyObject *object, PyObject *unused)
{
    Relay *self = (Relay *)object;
    (void)unused;
    if (self->closed) Py_RETURN_NONE;
    self->closed = true;
    if (self->all.running) {
        Py_BEGIN_ALLOW_THREADS
        relay_stop(&self->all);
        Py_END_ALLOW_THREADS
    }
    drop_all(self);
    relay_shut(&self->all);
    Py_RETURN_NONE;
}

static PyObject *times(PyObject *self, PyObject *unused)
{
    (void)unused;
    return notes_times(&((Relay *)self)->all.notes);
}

static PyObject *copies(PyObject *self, PyObject *unused)
{
    (void)unused;
    return notes_copied(&((Relay *)self)->all.notes);
}

static bool opened(Relay *self, size_t high_water, const Py_buffer *codes, uint32_t chance, uint64_t seed)
{
    self->all.high_water = high_water;
    atomic_store_explicit(&self->all.most_unsent, LLONG_MAX, memory_order_relaxed);
    errno = relay_open(&self->all);
    if (errno == 0 &&
        !notes_open(&self->all.notes, codes->buf, (int)((size_t)codes->len / sizeof(int32_t)), chance, seed)) {
        errno = ENOMEM;
    }
    return errno == 0 || PyErr_SetFromErrno(PyExc_OSError) != NULL;
}

static PyObject *new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    Py_ssize_t high_water;
    Py_buffer codes = {0};
    unsigned int chance = 0;
    unsigned long long seed = 0;
    static char *names[] = {"high_water", "codes", "chance", "seed", NULL};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "n|y*IK:Relay", names, &high_water, &codes, &chance, &seed)) {
        return NULL;
    }
    Relay *self = NULL;
    if (high_water < 0 || codes.len / (Py_ssize_t)sizeof(int32_t) > INT16_MAX) {
        PyErr_SetString(PyExc_ValueError, "high_water is negative, or there are too many codes");
    } else {
        self = object_new(type);
    }
    if (self != NULL && !opened(self, (size_t)high_water, &codes, chance, seed)) {
        Py_CLEAR(self);
    }
    if (codes.obj != NULL) PyBuffer_Release(&codes);
    return (PyObject *)self;
}

/* It holds no objects, so the collector need not know it. */
static void dealloc(PyObject *object)
{
    Relay *self = (Relay *)object;
    if (self->all.running) {
        relay_stop(&self->all); /* it needs nothing that this thread has */
    }
    drop_all(self);
    relay_shut(&self->all);
    notes_close(&self->all.notes);
    pthread_mutex_destroy(&self->all.lock);
    object_free(object);
}

static PyMethodDef methods[] = {
    {"fileno", fileno_method, METH_NOARGS,
     "The descriptor that is readable while `events` or `copies` has something. `events` must be called then."},
    {"add", add, METH_VARARGS,
     "Relay between a client's socket and an upstream's (their descriptors, which are the relay's from now on), and "
     "return the pair's number. The bytes given, first for the upstream and then for the client, were read before from "
     "the other; each begin with a frame. In ids of messages from upstream the first host becomes the second (both as "
     "hexadecimal digits; empty: none does). The last argument is the most bytes of a frame.\n\n"
     "Raises:\n"
     "    OSError: there is no thread or no memory; the sockets are still the caller's.\n"
     "    ValueError: the relay is closed, or hosts or the length cannot be."},
    {"release", release, METH_O,
     "Stop at the end of the frames that both sides are sending, and hand the pair back by an event. One that ends "
     "meanwhile has its own event."},
    {"drop", drop, METH_O, "Close both sockets of a pair at once; its event follows."},
    {"events", events, METH_NOARGS,
     "Pairs that ended since the last call: number, who ended it, and None, or of a released one its descriptors "
     "(client, upstream) and bytes: unsent for the client, unsent for the upstream, and the beginning of a frame that "
     "came from the client, and from the upstream."},
    {"idle", idle, METH_O, "The numbers of pairs of which neither side has sent anything for so many seconds."},
    {"counts", counts, METH_NOARGS,
     "Frames and bytes from clients, frames and bytes from upstreams, how many pairs are open, and the bytes that wait "
     "for sides that do not take them."},
    {"bound", bound, METH_O,
     "So many bytes may wait for all sides together. While there are more, no side is read whose other has some to "
     "take, "
     "and little of the others. At first there is no bound."},
    {"times", times, METH_NOARGS,
     "Since the start, of each code that was given and had requests (-1: of all others): how many requests, those that "
     "were answered by buckets of the time until then, as LATENCY_BOUNDS_NS has them and one for all above, and the "
     "sum "
     "of these times in ns."},
    {"copies", copies, METH_NOARGS,
     "Frames that were copied since the last call, with the numbers of their pairs, in their order: sends, and of the "
     "answers to them the two words and the header; and how many sends were chosen when too many copies waited."},
    {"close", close_method, METH_NOARGS, "Drop all pairs, without events, and end the thread."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Relays frames between pairs of sockets, in a separate thread. With more than `high_water` bytes "
                "that a socket does not take, the other of the pair is not read. Requests are timed by their `codes` "
                "(int32 in order; none: they are not). Of a million sends `chance` are copied."},
    {Py_tp_new, new},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.Relay", sizeof(Relay), 0, Py_TPFLAGS_DEFAULT, slots};

int relay_type_init(PyObject *module) { return add_type(module, &spec, NULL); }

#else

int relay_type_init(PyObject *module)
{
    (void)module;
    return 0;
}

#endif
