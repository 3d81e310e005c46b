/* Calls of a read to its session in Python: see reading.h. */

#define _GNU_SOURCE
#ifdef __linux__

#include "net/reading.h"

static PyObject *name_serve, *name_write, *name_flush, *name_stalled, *name_should_yield, *name_unsent, *name_failed,
    *name_misread, *name_close;

static int call(const reading *r, PyObject *name, PyObject *argument)
{
    PyObject *result = PyObject_CallMethodObjArgs(r->session, name, argument, NULL);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* 1, 0, or -1 with an exception. */
static int is(const reading *r, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(r->session, name);
    int truth = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return truth;
}

int session_flush(const reading *r) { return call(r, name_flush, NULL); }
int session_close(const reading *r) { return call(r, name_close, NULL); }
int session_failed(const reading *r, PyObject *error) { return call(r, name_failed, error); }
int session_misread(const reading *r, PyObject *rest) { return call(r, name_misread, rest); }
int session_should_yield(const reading *r) { return is(r, name_should_yield); }

PyObject *session_serve(const reading *r, PyObject *frames)
{
    return PyObject_CallMethodObjArgs(r->session, name_serve, frames, NULL);
}

int session_take_unsent(reading *r)
{
    PyObject *value = PyObject_GetAttr(r->session, name_unsent);
    r->unsent = value == NULL ? 0 : PyLong_AsSize_t(value);
    Py_XDECREF(value);
    return PyErr_Occurred() ? -1 : 0;
}

int session_write_rest(reading *r, size_t sent)
{
    PyObject *chunks = out_rest(&r->hub->out, sent);
    PyObject *method = chunks == NULL ? NULL : PyObject_GetAttr(r->session, name_write);
    PyObject *result = method == NULL ? NULL : PyObject_Call(method, chunks, NULL);
    Py_XDECREF(method);
    Py_XDECREF(chunks);
    Py_XDECREF(result);
    out_clear(&r->hub->out);
    return result == NULL ? -1 : 0;
}

int session_send_answers(reading *r)
{
    outbox *out = &r->hub->out;
    size_t size = out_size(out);
    if (r->channel->closed) {
        out_clear(out);
        return 0;
    }
    if (r->handed || r->channel->writing) {
        if (size > 0 && session_write_rest(r, 0) < 0) {
            return -1;
        }
        return session_flush(r);
    }
    if (size == 0) {
        return 0;
    }
    ptrdiff_t sent = out_send(out, r->channel->fd);
    if (sent == (ptrdiff_t)size) {
        out_clear(out);
        return 0;
    }
    if (sent < 0) {
        out_clear(out);
        return session_close(r);
    }
    return session_write_rest(r, (size_t)sent) < 0 ? -1 : session_flush(r);
}

/* It can be so only if its socket did not take all answers, or if Python served something. */
int session_stalled(const reading *r) { return r->channel->writing || r->handed ? is(r, name_stalled) : 0; }

int session_calls_init(void)
{
    static const struct {
        PyObject **name;
        const char *text;
    } names[] = {
        {&name_serve, "serve"},     {&name_write, "write"},     {&name_flush, "flush"},
        {&name_stalled, "stalled"}, {&name_unsent, "unsent"},   {&name_should_yield, "should_yield"},
        {&name_failed, "failed"},   {&name_misread, "misread"}, {&name_close, "close"},
    };
    for (size_t each = 0; each < sizeof names / sizeof *names; each++) {
        *names[each].name = PyUnicode_InternFromString(names[each].text);
        if (*names[each].name == NULL) {
            return -1;
        }
    }
    return 0;
}

#else
typedef int session_calls_is_empty;
#endif
