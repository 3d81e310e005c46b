/* The types of the files that drive connections: `Hub` (hub.c) and its `Channel`s (channel.c). reading.c serves one
 * read of a channel, sending.c sends its answers, turns.c orders the turns. Linux only. */
#ifndef ROCKETWIRE_HUB_H
#define ROCKETWIRE_HUB_H

#include "core/kernel.h"

#include "net/latencies.h"
#include "paths/paths.h"

enum {
    READ_BYTES = 256 * 1024,      /* of one channel at a time; as server.net.reader */
    HIGH_WATER = 4 * 1024 * 1024, /* bytes of unsent answers; with more a channel is not read, as server.net.outgoing */
    BEGINNING_MOST = 64 * 1024,   /* of a frame, from which it is refused; as server.net.admission.refusals */
    COPIED_AGAIN_MOST = 16 * 1024, /* of a frame; behind a longer beginning its rest is received in place */
};

typedef struct Channel Channel;

typedef struct {
    PyObject_HEAD
    int epoll, wake; /* descriptors; `wake` is an eventfd that makes `epoll` readable when `later` is no longer empty */
    bool serving;
    PyObject *buffer, *view; /* a bytearray that all channels read into, and a memoryview of it */
    uint8_t *bytes;
    PyObject *sends, *pulls;     /* NULL: frames for them are Python's */
    PyObject *frame_type;        /* wire.connection.RawFrame */
    PyObject *clock;             /* returns ms since 1970 */
    int64_t ms;                  /* the time of this round, or later */
    double seconds;              /* of the event loop, in this round */
    char took_sends, took_pulls; /* in this round */
    long long held;              /* bytes that the channels hold, all together */
    long long max_frame;         /* bytes of the longest frame that is taken, with both words */
    long long read_ns;           /* frames of one read are served for so long before other channels; 0: no limit */
    char timed;                  /* whether `latencies` are kept */
    latencies latencies;         /* of requests that the kernel served */
    outbox out;
    Channel **turn; /* the channels of this turn (references) */
    size_t turn_at, turn_end, turn_room;
    Channel **later; /* channels with frames left for the next turn (references) */
    size_t later_count, later_room;
} Hub;

struct Channel {
    PyObject_HEAD
    Hub *hub;
    PyObject *session;   /* NULL once closed */
    PyObject *born_host; /* bytes */
    int fd;
    bool closed;
    bool stalled;                        /* not read, because its client does not read either */
    bool whole;                          /* `held` begins with whole frames: they come before anything is read */
    bool listed;                         /* is in hub->later, or came from there into this turn */
    char began;                          /* a whole frame came: what follows is not the beginning of another protocol */
    char writing;                        /* a task of the session's is writing: more answers go behind what it has */
    int64_t arrived;                     /* when the bytes served or held were received, in ns; 0: not measured */
    double last_activity, frame_started; /* seconds; when the last bytes came, and the first of an unfinished frame */
    PyObject *held;                      /* a bytearray: received, not served yet; or NULL */
    size_t held_at, held_end;
    size_t counted; /* bytes of it in hub->held */
};

int64_t hub_nanoseconds(void);

/* channel.c */
extern PyTypeObject *Channel_Type;
Channel *channel_new(Hub *hub, int fd, PyObject *session, PyObject *born_host);
void channel_close(Channel *channel);
void channel_stall(Channel *channel);
int channel_hold(Channel *channel, const uint8_t *bytes, size_t size); /* in place of what it held */
void channel_count(Channel *channel);                                  /* the bytes it holds have changed */
int channel_types(PyObject *module);

/* turns.c */
int hub_later(Hub *hub, Channel *channel); /* it is served in the next turn */
void hub_wake(const Hub *hub);             /* make the hub readable until a turn begins */
int turn_begin(Hub *hub);                  /* unless one is in progress; whether there is a channel to serve, or -1 */
void turns_drop(Hub *hub);

/* reading.c: read once, or take the held bytes, and serve them. -1: an exception that concerns more than the
 * connection. */
int channel_serve(Channel *channel);

/* session_calls.c */
int session_calls_init(void);

/* sending.c */
/* Send the answers in `out`; returns how much the socket took, or -1 and errno. */
ptrdiff_t out_send(const outbox *out, int fd);
/* The bytes behind the first `sent`, as a tuple of objects that own them. */
PyObject *out_rest(const outbox *out, size_t sent);

#endif
