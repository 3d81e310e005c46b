/* One read of a channel: received or held before, cut into frames that are served, then the answers sent.
 *
 * The rules of back-pressure are the session's: answers beyond the high-water mark stall the channel, and the rest of
 * the read waits with it. Received frames are served even if the connection closes meanwhile, but not those that would
 * have waited. */

#define _GNU_SOURCE
#ifdef __linux__

#include "net/reading.h"

#include <math.h>

static int end_of_read(reading *r)
{
    if (run_finish_sends(r) < 0) {
        return -1;
    }
    return session_send_answers(r);
}

/* Whether and when the channel may be read again, after its answers were sent. */
static int settle(reading *r, serve_result found)
{
    Channel *channel = r->channel;
    if (channel->closed) {
        return 0;
    }
    if (found == SERVE_NO_FRAME) {
        PyObject *rest = PyBytes_FromStringAndSize((const char *)r->bytes + r->at, (Py_ssize_t)(r->end - r->at));
        int outcome = rest == NULL ? -1 : session_misread(r, rest);
        Py_XDECREF(rest);
        return outcome;
    }
    int waits = session_stalled(r);
    if (waits > 0) {
        channel_stall(channel);
        return 0;
    }
    return waits < 0 ? -1 : channel->whole ? hub_later(r->hub, channel) : 0;
}

/* Serve the bytes of `r`. */
static int serve_bytes(reading *r, double now)
{
    Channel *channel = r->channel;
    size_t start = r->at;
    serve_result found = frames_serve(r);
    if (found == SERVE_ERROR) {
        return -1;
    }
    channel->whole = false;
    if (r->at > start) {
        channel->began = 1;
    }
    if (!channel->closed) {
        bool part = found == SERVE_ON && r->at < r->end;
        if (!part) {
            channel->frame_started = INFINITY;
        } else if (r->at > start || isinf(channel->frame_started)) {
            channel->frame_started = now;
        }
        bool waits = found == SERVE_OTHERS || found == SERVE_STALLED;
        if ((part || waits ? reading_keep_rest(r, waits) : channel_hold(channel, NULL, 0)) < 0) {
            return -1;
        }
    }
    if (end_of_read(r) < 0) {
        return -1;
    }
    if (r->hub->timed && channel->arrived != 0) {
        latencies_note(&r->hub->latencies, r->taken, hub_nanoseconds() - channel->arrived);
    }
    return settle(r, found);
}

static int serve(reading *r)
{
    Channel *channel = r->channel;
    int waits = session_stalled(r);
    if (waits < 0) {
        return -1;
    }
    if (waits > 0) {
        channel_stall(channel);
        return 0;
    }
    if (!channel->whole) {
        int more = reading_receive(r);
        if (more <= 0) {
            return more;
        }
        channel->last_activity = r->hub->seconds;
        channel->arrived = r->hub->timed ? hub_nanoseconds() : 0;
    }
    if (r->source == NULL) {
        reading_take_held(r);
    }
    r->source = Py_NewRef(r->source);
    int result = channel->writing ? session_take_unsent(r) : 0;
    if (result == 0) {
        result = serve_bytes(r, r->hub->seconds);
    }
    Py_CLEAR(r->view);
    Py_CLEAR(r->source);
    Py_CLEAR(r->run);
    return result;
}

/* Serving one connection raised: the session logs it and closes, unless the process ends. The paths' groups are
 * finished. */
static int fail(reading *r)
{
    PyObject *type, *error, *traceback;
    PyErr_Fetch(&type, &error, &traceback);
    PyErr_NormalizeException(&type, &error, &traceback);
    if (traceback != NULL) {
        PyException_SetTraceback(error, traceback);
    }
    Py_CLEAR(r->run);
    if (run_finish_sends(r) < 0) {
        PyErr_WriteUnraisable(r->hub->sends);
    }
    if (!PyErr_GivenExceptionMatches(error, PyExc_Exception)) {
        PyErr_Restore(type, error, traceback);
        return -1;
    }
    int outcome = session_failed(r, error);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(traceback);
    return outcome;
}

static int serve_once(Channel *channel)
{
    reading r = {.hub = channel->hub, .channel = channel, .session = Py_NewRef(channel->session)};
    PyObject *born_host = channel->born_host; /* lives as long as the channel, which the hub holds */
    r.context = (path_context){
        .now = channel->hub->ms,
        .steady_ns = nanoseconds_of(channel->hub->seconds),
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
        result = serve_once(channel); /* this was only the end of a long frame: read what follows it, too */
    }
    return result;
}

#else
typedef int reading_is_empty;
#endif
