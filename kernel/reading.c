/* One read of a channel: cut into frames, each for one of the paths or for Python, then the answers sent.
 *
 * Frames that no path takes gather in a run, which goes to `Session.serve` as one list: Python has groups of its own.
 * Everything happens in the order of the frames: a group of sends ends before a run is served, a run before the next
 * frame is offered to a path. The rules of waiting are the session's: answers beyond the high-water mark stall the
 * channel, and what is left of the read waits with it. What was received is served though the connection closes
 * meanwhile, but not what would have waited. */

#define _GNU_SOURCE
#ifdef __linux__

#include "hub.h"

#include <errno.h>
#include <math.h>
#include <sys/socket.h>

#include "requests.h"

/* How serving goes on. */
typedef enum {
    FAILED = -1,  /* an exception is set */
    GO_ON = 0,    /* all that was there is served, or the frame at hand may be */
    LOOK_AGAIN,   /* a run was served in part: go on with the frame at `at` */
    WAIT_FOR_OTHERS,
    WAIT_FOR_CLIENT,
    NO_FRAME,     /* the bytes at `at` are none */
    OVER          /* the channel was closed, and what is left goes with it */
} verdict;

typedef struct {
    Hub *hub;
    Channel *channel;
    PyObject *session;
    path_context context;
    PyObject *source; /* the bytearray that holds what is served */
    PyObject *view;   /* a memoryview of it, made for the first frame that goes to Python */
    const uint8_t *bytes;
    size_t at, end;
    PyObject *run; /* frames for Python: a list, or NULL */
    size_t run_at;
    size_t unsent;     /* bytes of answers that wait in the session */
    bool handed;       /* Python served some of it */
    int refused;       /* sends in a row that were handed over: the others of this read are not offered any more */
} reading;

enum { REFUSED_MOST = 2 };

static PyObject *name_serve, *name_write, *name_flush, *name_congested, *name_lets_others, *name_unsent, *name_failed,
    *name_misread, *name_close;

/* --- asking the session --- */

static int call(PyObject *session, PyObject *name, PyObject *argument)
{
    PyObject *result = PyObject_CallMethodObjArgs(session, name, argument, NULL);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

/* 1, 0, or -1 with an exception. */
static int is(PyObject *session, PyObject *name)
{
    PyObject *value = PyObject_GetAttr(session, name);
    int truth = value == NULL ? -1 : PyObject_IsTrue(value);
    Py_XDECREF(value);
    return truth;
}

static int take_unsent(reading *r)
{
    PyObject *value = PyObject_GetAttr(r->session, name_unsent);
    r->unsent = value == NULL ? 0 : PyLong_AsSize_t(value);
    Py_XDECREF(value);
    return PyErr_Occurred() ? -1 : 0;
}

/* --- answers --- */

/* Put what is behind the first `sent` bytes of the answers into the session's outbox. */
static int write_rest(reading *r, size_t sent)
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

/* Send the answers gathered so far, behind those of Python. */
static int send_answers(reading *r)
{
    outbox *out = &r->hub->out;
    size_t size = out_size(out);
    if (r->channel->closed) {
        out_clear(out);
        return 0;
    }
    if (r->handed || r->channel->writing) {
        if (size > 0 && write_rest(r, 0) < 0) {
            return -1;
        }
        return call(r->session, name_flush, NULL);
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
        return call(r->session, name_close, NULL);
    }
    return write_rest(r, (size_t)sent) < 0 ? -1 : call(r->session, name_flush, NULL);
}

/* Whether the client is to read first; only answers that its socket did not take can make it so. */
static int congested(const reading *r)
{
    return r->channel->writing ? is(r->session, name_congested) : 0;
}

/* --- frames for Python --- */

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

/* Put the frame at hand into the run. */
static int hand_over(reading *r, const frame *cut)
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

/* Where the run's frame of that number begins. */
static size_t run_position(const reading *r, Py_ssize_t number)
{
    size_t at = r->run_at;
    frame cut;
    while (number-- > 0 && frame_next(span_of(r->bytes + at, r->end - at), &cut) == FRAME_WHOLE) {
        at += cut.size;
    }
    return at;
}

static int finish_sends(reading *r)
{
    return r->hub->sends == NULL ? 0 : sends_finish(r->hub->sends, &r->context);
}

/* Python may have appended at a later time than the round's: what the kernel appends comes after it. */
static int look_at_clock(reading *r)
{
    PyObject *value = PyObject_CallNoArgs(r->hub->clock);
    int64_t now = value == NULL ? -1 : PyLong_AsLongLong(value);
    Py_XDECREF(value);
    if (PyErr_Occurred()) {
        return -1;
    }
    if (now > r->hub->ms) { /* what may be stored was asked for the round's time: not for one before it */
        r->context.now = r->hub->ms = now;
    }
    return 0;
}

/* Have Python serve the run, if there is one. */
static verdict serve_run(reading *r)
{
    if (r->run == NULL) {
        return GO_ON;
    }
    if (finish_sends(r) < 0 || (out_size(&r->hub->out) > 0 && write_rest(r, 0) < 0)) {
        return FAILED;
    }
    PyObject *frames = r->run;
    r->run = NULL;
    r->handed = true;
    Py_ssize_t count = PyList_Size(frames);
    PyObject *result = PyObject_CallMethodObjArgs(r->session, name_serve, frames, NULL);
    Py_DECREF(frames);
    Py_ssize_t served = result == NULL ? -1 : PyLong_AsSsize_t(result);
    Py_XDECREF(result);
    if (PyErr_Occurred() || (r->hub->sends != NULL && look_at_clock(r) < 0)) {
        return FAILED;
    }
    if (served < count) {
        r->at = run_position(r, served);
    }
    int waits = is(r->session, name_lets_others);
    if (waits < 0) {
        return FAILED;
    }
    if (r->channel->closed && (waits || served < count)) {
        return OVER;
    }
    if (waits) {
        return WAIT_FOR_OTHERS;
    }
    if (served < count) { /* too many answers wait: try to get rid of them */
        if (call(r->session, name_flush, NULL) < 0 || (waits = r->channel->closed ? 0 : congested(r)) < 0) {
            return FAILED;
        }
        if (r->channel->closed) {
            return OVER;
        }
        if (waits) {
            return WAIT_FOR_CLIENT;
        }
    }
    return take_unsent(r) < 0 ? FAILED : served < count ? LOOK_AGAIN : GO_ON;
}

/* --- frames for a path --- */

typedef enum { FOR_PYTHON, FOR_SENDS, FOR_PULLS } destination;

static destination destination_of(const reading *r, const frame *cut, header *head)
{
    if (r->hub->sends == NULL && r->hub->pulls == NULL) {
        return FOR_PYTHON;
    }
    if (!header_read(cut->header, cut->serialize_type, head) || head->flag & FLAG_RESPONSE) {
        return FOR_PYTHON;
    }
    switch (head->code) {
    case CODE_SEND:
    case CODE_SEND_V2:
    case CODE_SEND_BATCH:
        if (r->hub->sends == NULL || r->refused == REFUSED_MOST || !sends_ready(r->hub->sends)) {
            return FOR_PYTHON;
        }
        return FOR_SENDS;
    case CODE_PULL:
    case CODE_LITE_PULL:
    case CODE_UPDATE_OFFSET:
        return r->hub->pulls == NULL ? FOR_PYTHON : FOR_PULLS;
    default:
        return FOR_PYTHON;
    }
}

/* If enough answers are gathered, send them before more are made. */
static verdict relieve(reading *r)
{
    if (r->unsent + out_size(&r->hub->out) <= HIGH_WATER) {
        return GO_ON;
    }
    bool was_closed = r->channel->closed;
    if (finish_sends(r) < 0 || send_answers(r) < 0) {
        return FAILED;
    }
    if (r->channel->closed && !was_closed) {
        return OVER;
    }
    int waits = congested(r);
    if (waits != 0) {
        return waits < 0 ? FAILED : WAIT_FOR_CLIENT;
    }
    return take_unsent(r) < 0 ? FAILED : GO_ON;
}

/* Serve the frame at hand, which begins at `at`; behind it if it was taken. */
static verdict serve_frame(reading *r, const frame *cut)
{
    header head;
    path_result result = PATH_HANDED_OVER;
    destination to = destination_of(r, cut, &head);
    if (to != FOR_PYTHON) {
        verdict before = serve_run(r);
        if (before == GO_ON) {
            before = relieve(r);
        }
        if (before != GO_ON) {
            return before;
        }
        if (to == FOR_SENDS) {
            result = sends_offer(r->hub->sends, cut, &head, &r->context);
            r->refused = result == PATH_HANDED_OVER ? r->refused + 1 : 0;
        } else {
            result = finish_sends(r) < 0 ? PATH_ERROR : pulls_offer(r->hub->pulls, cut, &head, &r->context);
        }
        if (result == PATH_ERROR) {
            return FAILED;
        }
        if (result == PATH_TAKEN) {
            *(to == FOR_SENDS ? &r->hub->took_sends : &r->hub->took_pulls) = 1;
        }
    }
    if (result == PATH_HANDED_OVER && hand_over(r, cut) < 0) {
        return FAILED;
    }
    r->at += cut->size;
    return GO_ON;
}

/* Serve all whole frames. */
static verdict serve_frames(reading *r)
{
    for (;;) {
        frame cut;
        frame_state state = frame_next(span_of(r->bytes + r->at, r->end - r->at), &cut);
        verdict found = state == FRAME_WHOLE ? serve_frame(r, &cut) : serve_run(r);
        if (found == LOOK_AGAIN) {
            continue;
        }
        if (found != GO_ON || state == FRAME_PART) {
            return found;
        }
        if (state == FRAME_BAD) {
            return NO_FRAME;
        }
    }
}

/* --- the whole read --- */

/* What was not served stays with the channel. */
static int keep_rest(reading *r, bool whole)
{
    Channel *channel = r->channel;
    channel->whole = whole && r->at < r->end;
    if (r->source == channel->held && (channel->whole || (r->at == 0 && r->end > 0))) {
        channel->held_at = r->at;
        return 0;
    }
    return channel_hold(channel, r->bytes + r->at, r->end - r->at);
}

static int end_of_read(reading *r)
{
    if (r->hub->sends != NULL
        && (finish_sends(r) < 0 || sends_end_read(r->hub->sends, &r->context) < 0)) {
        return -1;
    }
    return send_answers(r);
}

/* After its answers are sent: may the channel be read again, and when? */
static int settle(reading *r, verdict found)
{
    Channel *channel = r->channel;
    if (channel->closed) {
        return 0;
    }
    if (found == NO_FRAME) {
        PyObject *start = PyBytes_FromStringAndSize((const char *)r->bytes + r->at, 8);
        int told = start == NULL ? -1 : call(r->session, name_misread, start);
        Py_XDECREF(start);
        return told;
    }
    int waits = congested(r);
    if (waits > 0) {
        return channel_stall(channel);
    }
    return waits < 0 ? -1 : channel->whole ? hub_later(r->hub, channel) : 0;
}

/* Serve the bytes of `r`. */
static int serve_bytes(reading *r, double now)
{
    Channel *channel = r->channel;
    size_t start = r->at;
    verdict found = serve_frames(r);
    if (found == FAILED) {
        return -1;
    }
    channel->whole = false;
    if (!channel->closed) {
        bool part = found == GO_ON && r->at < r->end;
        if (!part) {
            channel->frame_started = INFINITY;
        } else if (r->at > start || isinf(channel->frame_started)) {
            channel->frame_started = now;
        }
        bool waits = found == WAIT_FOR_OTHERS || found == WAIT_FOR_CLIENT;
        if ((part || waits ? keep_rest(r, waits) : channel_hold(channel, NULL, 0)) < 0) {
            return -1;
        }
    }
    return end_of_read(r) < 0 ? -1 : settle(r, found);
}

/* Receive; 1: there is something to serve, 0: nothing (more) now, -1: an exception is set. */
static int received(reading *r, ssize_t size)
{
    if (size > 0) {
        return 1;
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    return call(r->session, name_close, NULL); /* the other end closed it, or it broke */
}

/* Receive behind what is held of a long frame: no more than its rest, in memory that grows with what came. */
static int receive_in_place(reading *r)
{
    Channel *channel = r->channel;
    frame cut;
    size_t there = channel->held_end;
    frame_next(span_of(PyByteArray_AsString(channel->held), there), &cut);
    size_t missing = cut.size - there;
    size_t room = missing < READ_BYTES ? missing : READ_BYTES;
    if (PyByteArray_Resize(channel->held, (Py_ssize_t)(there + room)) < 0) {
        return -1;
    }
    ssize_t size = recv(channel->fd, PyByteArray_AsString(channel->held) + there, room, MSG_DONTWAIT);
    int error = errno;
    channel->held_end = there + (size > 0 ? (size_t)size : 0);
    if (PyByteArray_Resize(channel->held, (Py_ssize_t)channel->held_end) < 0) {
        return -1;
    }
    errno = error;
    return received(r, size);
}

/* Receive into the buffer of all, behind what is held of a frame. */
static int receive(reading *r)
{
    Channel *channel = r->channel;
    Hub *hub = r->hub;
    size_t there = channel->held == NULL ? 0 : channel->held_end;
    if (there > COPIED_AGAIN_MOST) {
        return receive_in_place(r);
    }
    if (there > 0) {
        memcpy(hub->bytes, PyByteArray_AsString(channel->held), there);
    }
    ssize_t size = recv(channel->fd, hub->bytes + there, READ_BYTES - there, MSG_DONTWAIT);
    int more = received(r, size);
    if (more > 0) {
        r->source = hub->buffer;
        r->view = Py_NewRef(hub->view);
        r->bytes = hub->bytes;
        r->end = there + (size_t)size;
    }
    return more;
}

static void take_held(reading *r)
{
    Channel *channel = r->channel;
    r->source = channel->held;
    r->bytes = (const uint8_t *)PyByteArray_AsString(channel->held);
    r->at = channel->held_at;
    r->end = channel->held_end;
}

static int serve(reading *r)
{
    Channel *channel = r->channel;
    int waits = congested(r);
    if (waits != 0) {
        return waits < 0 ? -1 : channel_stall(channel);
    }
    if (!channel->whole) {
        int more = receive(r);
        if (more <= 0) {
            return more;
        }
        channel->last_activity = r->hub->seconds;
    }
    if (r->source == NULL) {
        take_held(r);
    }
    r->source = Py_NewRef(r->source);
    int result = channel->writing ? take_unsent(r) : 0;
    if (result == 0) {
        result = serve_bytes(r, r->hub->seconds);
    }
    Py_CLEAR(r->view);
    Py_CLEAR(r->source);
    Py_CLEAR(r->run);
    return result;
}

/* Serving one connection raised: the session logs it and closes, unless all is to end. What paths have begun is ended. */
static int fail(reading *r)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    Py_CLEAR(r->run);
    if (r->hub->sends != NULL && (finish_sends(r) < 0 || sends_end_read(r->hub->sends, &r->context) < 0)) {
        PyErr_WriteUnraisable(r->hub->sends);
    }
    if (!PyErr_GivenExceptionMatches(error, PyExc_Exception)) {
        PyErr_Restore(type, error, traceback);
        return -1;
    }
    int told = call(r->session, name_failed, error);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return told;
}

static int serve_once(Channel *channel)
{
    reading r = {.hub = channel->hub, .channel = channel, .session = Py_NewRef(channel->session)};
    PyObject *born_host = channel->born_host; /* as long as the channel, which the hub holds */
    r.context = (path_context){
        .now = channel->hub->ms,
        .session = r.session,
        .born_host = span_of(PyBytes_AsString(born_host), (size_t)PyBytes_Size(born_host)),
        .out = &channel->hub->out,
    };
    int result = serve(&r);
    if (result < 0) {
        result = fail(&r);
    }
    out_clear(&channel->hub->out); /* empty, but where the connection was closed */
    Py_DECREF(r.session);
    return result;
}

int channel_serve(Channel *channel)
{
    if (channel->closed || channel->stalled) {
        return 0;
    }
    bool in_place = !channel->whole && channel->held != NULL && channel->held_end > COPIED_AGAIN_MOST;
    int result = serve_once(channel);
    if (result == 0 && in_place && channel->held == NULL && !channel->closed && !channel->stalled) {
        result = serve_once(channel); /* that was but the end of a long frame: what follows it is read, too */
    }
    return result;
}

int reading_init(PyObject *module)
{
    static const struct {
        PyObject **name;
        const char *text;
    } names[] = {
        {&name_serve, "serve"},         {&name_write, "write"},       {&name_flush, "flush"},
        {&name_congested, "congested"}, {&name_unsent, "unsent"},     {&name_lets_others, "lets_others"},
        {&name_failed, "failed"},       {&name_misread, "misread"},   {&name_close, "close"},
    };
    (void)module;
    for (size_t each = 0; each < sizeof names / sizeof *names; each++) {
        *names[each].name = PyUnicode_InternFromString(names[each].text);
        if (*names[each].name == NULL) {
            return -1;
        }
    }
    return 0;
}

#else
typedef int reading_is_empty;
#endif
