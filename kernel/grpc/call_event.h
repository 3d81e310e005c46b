/* A plain SendMessage call among the events of a read, as the HTTP/2 layer gives them. */
#ifndef ROCKETWIRE_CALL_EVENT_H
#define ROCKETWIRE_CALL_EVENT_H

#include "core/kernel.h"

#include "grpc/call_answer.h"
#include "grpc/call_message.h"

typedef struct {
    PyObject *path, *client_id; /* of SendMessage; the header with the client's id */
    reserved_names reserved;
    call_limits limits;
    call_message message; /* the one read last; it points into its event */
    uint8_t *text;        /* its properties */
    size_t text_room;
} call_reader;

/* Begin with the path, the name of the header, and a tuple of the names of properties that are Python's. False: an
 * exception is set; `end` is to be called nevertheless. */
bool call_reader_begin(call_reader *self, PyObject *path, PyObject *client_id, PyObject *reserved);
void call_reader_end(call_reader *self);

/* Read an event at a time in ms. False: it is for Python. */
bool call_event_read(call_reader *self, PyObject *event, int64_t now);

/* The number of the stream of such an event (borrowed). */
PyObject *call_event_stream(PyObject *event);

/* Write the property text of the message; `remote` is the client's address. False: there is no memory. */
bool call_text_write(call_reader *self, span remote, int64_t born, span *text);

/* The payload of an answer (new reference). */
PyObject *call_answer_payload(const call_answer *answer);

#define CALL_LIMIT(type, name, text) {#name, T_LONGLONG, offsetof(type, reader.limits.name), 0, text}
/* The members of a type that has a `reader`: they are its limits. */
#define CALL_LIMITS(type)                                                                  \
    CALL_LIMIT(type, user_properties, "How many a message has at most; 0: no limit."),     \
        CALL_LIMIT(type, property_bytes, "Of the user properties, the tag and the keys."), \
        CALL_LIMIT(type, message_group_bytes, "A message group is shorter."),              \
        CALL_LIMIT(type, delay_ms, "How far ahead a message may be delivered.")

#endif
