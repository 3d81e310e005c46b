/* One read of a channel while it is served: what the files that receive it (receiving.c), cut it into frames
 * (serving.c), have Python serve runs of them (runs.c), and speak with its session (session_calls.c), share. Linux
 * only. */
#ifndef ROCKETWIRE_READING_H
#define ROCKETWIRE_READING_H

#include "net/hub.h"
#include "wire/frame.h"

/* How serving goes on. */
typedef enum {
    FAILED = -1, /* an exception is set */
    GO_ON = 0,   /* all that was there is served, or the frame at hand may be */
    LOOK_AGAIN,  /* a run was served in part: go on with the frame at `at` */
    WAIT_FOR_OTHERS,
    WAIT_FOR_CLIENT, /* the session stalls */
    NO_FRAME,        /* the bytes at `at` are none */
    OVER             /* the channel was closed, and what is left goes with it */
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
    int64_t until; /* others have their turn then, in ns; 0: whenever */
    PyObject *run; /* frames for Python: a list, or NULL */
    size_t run_at;
    size_t unsent;          /* bytes of answers that wait in the session */
    bool handed;            /* Python served some of it */
    latency_requests taken; /* by the kernel, where that is noted */
    int refused;            /* sends in a row that were handed over: the others of this read are not offered any more */
} reading;

/* receiving.c */
/* Receive; 1: there is something to serve, 0: nothing (more) now, -1: an exception is set. */
int reading_receive(reading *r);
/* Take what was received before, if nothing was now. */
void reading_take_held(reading *r);
/* What was not served stays with the channel; whether it begins with whole frames is told. */
int reading_keep_rest(reading *r, bool whole);

/* serving.c: serve all whole frames. */
verdict frames_serve(reading *r);

/* runs.c */
int run_add(reading *r, const frame *cut); /* the frame at hand */
verdict run_serve(reading *r);             /* have Python serve the run, if there is one */
int run_finish_sends(reading *r);          /* what the kernel took before is to be stored */

/* session_calls.c. 0, or -1 with an exception; questions also 1. */
PyObject *session_serve(const reading *r, PyObject *frames);
int session_take_unsent(reading *r);
int session_write_rest(reading *r, size_t sent); /* put what is behind so many bytes of the answers in its outbox */
int session_send_answers(reading *r);            /* those gathered so far, behind those of Python */
int session_flush(const reading *r);
int session_close(const reading *r);
int session_failed(const reading *r, PyObject *error);
int session_misread(const reading *r, PyObject *rest); /* what was received and begins with no frame */
int session_lets_others(const reading *r);
int session_stalled(const reading *r); /* whether nothing further is to be served: the client is to read first, or
                                        * Python carries out a long request of its */

#endif
