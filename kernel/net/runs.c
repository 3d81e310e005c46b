/* Frames for Python: consecutive ones that no path takes form a run, which goes to `Session.serve` as one list, so that
 * Python can group them, too. */

#define _GNU_SOURCE
#ifdef __linux__

#include "net/reading.h"

#include "send/send_path.h"

static PyObject *slice(reading *r, span part)
{
    Py_ssize_t at = part.at - r->bytes;
    return PySequence_GetSlice(r->view, at, at + (Py_ssize_t)part.len);
}

/* Like RawFrame(type, header, body), without its slow constructor. */
static PyObject *raw_frame(reading *r, const frame *cut)
{
    static newfunc make = NULL;
    if (make == NULL) {
        make = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
    }
    if (r->view == NULL && (r->view = PyMemoryView_FromObject(r->source)) == NULL) {
        return NULL;
    }
    PyObject *header = slice(r, cut->header);
    PyObject *body = header == NULL ? NULL : slice(r, cut->body);
    PyObject *fields = body == NULL ? NULL : Py_BuildValue("((iOO))", (int)cut->serialize_type, header, body);
    Py_XDECREF(header);
    Py_XDECREF(body);
    PyObject *made = fields == NULL ? NULL : make((PyTypeObject *)r->hub->frame_type, fields, NULL);
    Py_XDECREF(fields);
    return made;
}

int run_add(reading *r, const frame *cut)
{
    if (r->run == NULL) {
        r->run = PyList_New(0);
        r->run_at = r->at;
    }
    PyObject *made = r->run == NULL ? NULL : raw_frame(r, cut);
    int added = made == NULL ? -1 : PyList_Append(r->run, made);
    Py_XDECREF(made);
    return added;
}

/* The beginning of the run's frame with this number. */
static size_t run_position(const reading *r, Py_ssize_t number)
{
    size_t at = r->run_at;
    frame cut;
    while (number-- > 0 && frame_next(span_of(r->bytes + at, r->end - at), &cut) == FRAME_WHOLE) {
        at += cut.size;
    }
    return at;
}

int run_finish_sends(reading *r) { return r->hub->sends == NULL ? 0 : sends_finish(r->hub->sends, &r->context); }

/* Python may have appended at a later time than the round's: the kernel must not append at an earlier one. */
static int read_clock(reading *r)
{
    PyObject *value = PyObject_CallNoArgs(r->hub->clock);
    int64_t now = value == NULL ? -1 : PyLong_AsLongLong(value);
    Py_XDECREF(value);
    if (PyErr_Occurred()) {
        return -1;
    }
    if (now > r->hub->ms) { /* whether sends may be stored was decided for the round's time: never go back before it */
        r->context.now = r->hub->ms = now;
    }
    return 0;
}

serve_result run_serve(reading *r)
{
    if (r->run == NULL) {
        return SERVE_ON;
    }
    if (run_finish_sends(r) < 0 || (out_size(&r->hub->out) > 0 && session_write_rest(r, 0) < 0)) {
        return SERVE_ERROR;
    }
    PyObject *frames = r->run;
    r->run = NULL;
    r->handed = true;
    Py_ssize_t count = PyList_Size(frames);
    PyObject *result = session_serve(r, frames);
    Py_DECREF(frames);
    Py_ssize_t served = result == NULL ? -1 : PyLong_AsSsize_t(result);
    Py_XDECREF(result);
    if (PyErr_Occurred() || (r->hub->sends != NULL && read_clock(r) < 0)) {
        return SERVE_ERROR;
    }
    if (served < count) {
        r->at = run_position(r, served);
    }
    int waits = session_should_yield(r);
    if (waits < 0) {
        return SERVE_ERROR;
    }
    if (r->channel->closed && (waits || served < count)) {
        return SERVE_CLOSED;
    }
    if (waits) {
        return SERVE_OTHERS;
    }
    if (served < count) { /* too many answers wait: try to send them */
        if (session_flush(r) < 0 || (waits = r->channel->closed ? 0 : session_stalled(r)) < 0) {
            return SERVE_ERROR;
        }
        if (r->channel->closed) {
            return SERVE_CLOSED;
        }
        if (waits) {
            return SERVE_STALLED;
        }
    }
    return session_take_unsent(r) < 0 ? SERVE_ERROR : served < count ? SERVE_AGAIN : SERVE_ON;
}

#else
typedef int runs_is_empty;
#endif
