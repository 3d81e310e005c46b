/* Receives into one buffer for all channels, where the bytes are served at once. The channel holds the rest, a part of
 * a frame or frames that wait; a long frame is received there in place. */

#define _GNU_SOURCE
#ifdef __linux__

#include "net/reading.h"

#include <errno.h>
#include <sys/socket.h>

/* Receive; 1: there is something to serve, 0: nothing (more) now, -1: an exception is set. */
static int received(reading *r, ssize_t size)
{
    if (size > 0) {
        return 1;
    }
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    return session_close(r); /* the other end closed it, or it broke */
}

/* Receive behind the held part of a long frame: no more than its rest, in memory that grows with it. */
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
    channel_count(channel);
    if (PyByteArray_Resize(channel->held, (Py_ssize_t)channel->held_end) < 0) {
        return -1;
    }
    errno = error;
    return received(r, size);
}

/* Receive into the common buffer, behind the held part of a frame. */
int reading_receive(reading *r)
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

void reading_take_held(reading *r)
{
    Channel *channel = r->channel;
    r->source = channel->held;
    r->bytes = (const uint8_t *)PyByteArray_AsString(channel->held);
    r->at = channel->held_at;
    r->end = channel->held_end;
}

int reading_keep_rest(reading *r, bool whole)
{
    Channel *channel = r->channel;
    channel->whole = whole && r->at < r->end;
    if (r->source == channel->held && (channel->whole || (r->at == 0 && r->end > 0))) {
        channel->held_at = r->at;
        return 0;
    }
    return channel_hold(channel, r->bytes + r->at, r->end - r->at);
}

#else
typedef int receiving_is_empty;
#endif
