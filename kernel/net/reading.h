/* One read of a channel while it is served, shared by the files that receive it (receiving.c), cut it into frames
 * (serving.c), pass runs of frames to Python (runs.c), and call its session (session_calls.c). Linux only. */
#ifndef ROCKETWIRE_READING_H
#define ROCKETWIRE_READING_H

#include "net/hub.h"
#include "wire/frame.h"

/* How to continue. */
typedef enum {
    SERVE_ERROR = -1, /* an exception is set */
    SERVE_ON = 0,     /* all frames are served, or the present frame may be */
    SERVE_AGAIN,      /* a run was served in part: continue with the frame at `at` */
    SERVE_OTHERS,
    SERVE_STALLED,  /* the session stalls */
    SERVE_NO_FRAME, /* the bytes at `at` are not a frame */
    SERVE_CLOSED    /* the channel was closed, and the rest is dropped */
} serve_result;

typedef struct {
    Hub *hub;
    Channel *channel;
    PyObject *session;
    path_context context;
    PyObject *source; /* the bytearray that holds the bytes served */
    PyObject *view;   /* a memoryview of it, made for the first frame that goes to Python */
    const uint8_t *bytes;
    size_t at, end;
    int64_t until; /* the end of this channel's time, in ns; 0: no limit */
    PyObject *run; /* frames for Python: a list, or NULL */
    size_t run_at;
    size_t unsent;          /* bytes of answers that wait in the session */
    bool handed;            /* Python served some of it */
    latency_requests taken; /* by the kernel, if latencies are measured */
    int refused; /* consecutive sends that were handed over: after some, the others of this read are not offered */
} reading;

/* receiving.c */
/* Receive; 1: there is something to serve, 0: nothing (more) now, -1: an exception is set. */
int reading_receive(reading *r);
/* Take the bytes received before, if there are no new ones. */
void reading_take_held(reading *r);
/* The channel keeps the bytes that were not served; `whole`: they begin with whole frames. */
int reading_keep_rest(reading *r, bool whole);

/* serving.c: serve all whole frames. */
serve_result frames_serve(reading *r);

/* runs.c */
int run_add(reading *r, const frame *cut); /* the frame at hand */
serve_result run_serve(reading *r);        /* have Python serve the run, if there is one */
int run_finish_sends(reading *r);          /* store the sends that the kernel took before */

/* session_calls.c. 0, or -1 with an exception; those that decide also 1. */
PyObject *session_serve(const reading *r, PyObject *frames);
int session_take_unsent(reading *r);
int session_write_rest(reading *r, size_t sent); /* put the answers behind the first `sent` bytes in its outbox */
int session_send_answers(reading *r);            /* the answers so far, behind those of Python */
int session_flush(const reading *r);
int session_close(const reading *r);
int session_failed(const reading *r, PyObject *error);
int session_misread(const reading *r, PyObject *rest); /* received bytes that do not begin with a frame */
int session_should_yield(const reading *r);
int session_stalled(const reading *r); /* whether serving has to stop: until the client reads, or until Python
                                        * has finished a long request of it */

#endif
