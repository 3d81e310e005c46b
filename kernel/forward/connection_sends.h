/* ConnectionSends: the sends of calls that wait for their answers on one connection to a broker. */
#ifndef ROCKETWIRE_CONNECTION_SENDS_H
#define ROCKETWIRE_CONNECTION_SENDS_H

#include "core/kernel.h"

#include "forward/send_frame.h"

enum { WAITING_ID_MOST = 79 }; /* bytes of a message id; sends with longer ones are for Python */

/* A send whose frame is written. */
typedef struct {
    PyObject *connection; /* of the call; NULL: it is answered */
    double deadline;      /* in seconds, of Python's choice; that of later sends is not sooner */
    int32_t stream;       /* of the call */
    uint32_t size;        /* bytes that are counted until it is answered */
    uint8_t id_size, id[WAITING_ID_MOST];
} waiting_send;

typedef struct ConnectionSends {
    PyObject_HEAD
    PyObject *owner;    /* what Python has for the connection */
    waiting_send *ring; /* the one with the number n is at n & mask */
    uint32_t mask, first, count;
    int64_t held; /* bytes of all that wait */
    bool closed;
    uint8_t *out; /* frames to be sent */
    size_t used, room;
    struct ConnectionSends *next; /* in the list of those with frames to be sent, while calls are served */
    bool listed;
} ConnectionSends;

extern PyTypeObject *ConnectionSends_Type;

/* What a send is to be answered with. */
typedef struct {
    PyObject *connection;
    int32_t stream;
    span message_id;
    double deadline;
} sent_call;

/* Whether one more send may wait; if not, it is for Python. */
bool connection_sends_open(const ConnectionSends *self, span message_id);

/* Write the frame of a send, whose opaque is set here; `size` gets what is counted. False: there is no memory. */
bool connection_sends_put(ConnectionSends *self, const send_frame_texts *around, framed_send *send,
                          const sent_call *call, uint32_t *size);

/* The frames since the last time (new reference). */
PyObject *connection_sends_written(ConnectionSends *self);

#endif
