/* `Bucket`: whole numbers only, so that it is exact over any time. */

#include "quota/bucket.h"

#include <limits.h>
#include <stddef.h>
#include <structmember.h>

PyTypeObject *Bucket_Type;

static const int64_t nano = 1000000000, debt_most = (int64_t)1 << 62;

enum { RATE_MOST = INT32_MAX, DEBT_SECONDS = 10 };

bool bucket_ready(Bucket *bucket, int64_t now_ns)
{
    if (now_ns > bucket->last) {
        uint64_t elapsed = (uint64_t)now_ns - (uint64_t)bucket->last;
        int64_t lacks = bucket->capacity - bucket->level;
        bucket->last = now_ns;
        if (bucket->rate > 0) {
            bool full = elapsed > (uint64_t)(lacks / bucket->rate);
            bucket->level = full ? bucket->capacity : bucket->level + bucket->rate * (int64_t)elapsed;
        }
    }
    return bucket->level > 0;
}

void bucket_take(Bucket *bucket, uint64_t cost)
{
    uint64_t left = (uint64_t)(bucket->level - bucket->lowest); /* of what may be taken */
    bucket->taken = cost > (uint64_t)(LLONG_MAX - bucket->taken) ? LLONG_MAX : bucket->taken + (long long)cost;
    bucket->level = cost > left / (uint64_t)nano ? bucket->lowest : bucket->level - (int64_t)cost * nano;
}

static PyObject *make(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"rate", "now_ns", NULL};
    long long rate, now_ns;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "LL:Bucket", names, &rate, &now_ns)) return NULL;
    if (rate < 0 || rate > RATE_MOST) {
        PyErr_Format(PyExc_ValueError, "a rate is between 0 and %d", RATE_MOST);
        return NULL;
    }
    Bucket *self = object_new(type);
    if (self == NULL) return NULL;
    self->rate = rate;
    self->level = self->capacity = rate * nano;
    self->lowest = self->capacity > debt_most / DEBT_SECONDS ? -debt_most : -DEBT_SECONDS * self->capacity;
    self->last = now_ns;
    return (PyObject *)self;
}

static void dealloc(PyObject *self) { object_free(self); }

static PyObject *ready(PyObject *self, PyObject *now)
{
    long long now_ns = PyLong_AsLongLong(now);
    if (now_ns == -1 && PyErr_Occurred()) return NULL;
    return PyBool_FromLong(bucket_ready((Bucket *)self, now_ns));
}

static PyObject *take(PyObject *self, PyObject *messages)
{
    long long cost = PyLong_AsLongLong(messages);
    if (cost == -1 && PyErr_Occurred()) return NULL;
    if (cost < 0) {
        PyErr_SetString(PyExc_ValueError, "a cost is not negative");
        return NULL;
    }
    bucket_take((Bucket *)self, (uint64_t)cost);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"ready", ready, METH_O, "Whether a request may pass at this time in ns."},
    {"take", take, METH_O, "Charge so many converted messages."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"rate", T_LONGLONG, offsetof(Bucket, rate), READONLY, "Converted messages a second."},
    {"level", T_LONGLONG, offsetof(Bucket, level), READONLY, "Nano-messages that may pass; below zero: a debt."},
    {"taken", T_LONGLONG, offsetof(Bucket, taken), READONLY, "Converted messages charged since it was made."},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A token bucket; see rocketwire.server.throttle.bucket."},
    {Py_tp_new, make},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Spec spec = {"rocketwire._kernel.Bucket", sizeof(Bucket), 0, Py_TPFLAGS_DEFAULT, slots};

int bucket_init(PyObject *module) { return add_type(module, &spec, &Bucket_Type); }
