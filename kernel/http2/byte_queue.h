/* Bytes that are put in at one end and taken at the other. */
#ifndef ROCKETWIRE_BYTE_QUEUE_H
#define ROCKETWIRE_BYTE_QUEUE_H

#include "core/kernel.h"

#include "core/span.h"

typedef struct {
    uint8_t *bytes;
    size_t at, end, room; /* bytes[at:end] are in it */
} byte_queue;

static inline size_t queue_length(const byte_queue *queue) { return queue->end - queue->at; }

static inline span queue_span(const byte_queue *queue)
{
    return span_of(queue->bytes + queue->at, queue_length(queue));
}

/* Room for so many bytes behind the last. NULL: there is no memory, and an exception is set. */
static inline uint8_t *queue_room(byte_queue *queue, size_t more)
{
    if (queue->room - queue->end < more && queue->at > 0 && queue->at >= queue_length(queue)) {
        memcpy(queue->bytes, queue->bytes + queue->at, queue_length(queue));
        queue->end -= queue->at;
        queue->at = 0;
    }
    if (queue->room - queue->end < more) {
        size_t least = queue->end + more, twice = queue->room * 2;
        size_t room = least > twice ? least : twice;
        uint8_t *bytes = PyMem_Realloc(queue->bytes, room);
        if (bytes == NULL) {
            PyErr_NoMemory();
            return NULL;
        }
        queue->bytes = bytes;
        queue->room = room;
    }
    return queue->bytes + queue->end;
}

static inline bool queue_add(byte_queue *queue, span text)
{
    uint8_t *to = queue_room(queue, text.len);
    if (to == NULL) return false;
    if (text.len > 0) memcpy(to, text.at, text.len);
    queue->end += text.len;
    return true;
}

static inline void queue_free(byte_queue *queue)
{
    PyMem_Free(queue->bytes);
    *queue = (byte_queue){NULL, 0, 0, 0};
}

/* Large memory is given back when the last byte is taken. */
static inline void queue_take(byte_queue *queue, size_t count)
{
    enum { KEPT = 64 * 1024 };
    queue->at += count;
    if (queue->at < queue->end) return;
    queue->at = queue->end = 0;
    if (queue->room > KEPT) queue_free(queue);
}

#endif
