/* A relay: one thread passes frames between pairs of sockets, each a client and the upstream broker that it has to
 * itself. It runs no Python. Linux only.
 *
 * A pair belongs to the thread until its end is reported; other threads only add a request (relay_request). passing.c
 * passes bytes, notes.c notes what passes, pairs.c decides when a pair ends, relay_thread.c is the thread, requests to
 * it and its reports, relay_type.c is Python's view. */
#ifndef ROCKETWIRE_RELAY_H
#define ROCKETWIRE_RELAY_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/kernel.h"
#include "core/span.h"
#include "relay/id_hosts.h"
#include "relay/notes.h"

enum {
    RELAY_READ_BYTES = 256 * 1024, /* of one socket at a time; as server.net.reader */
    RELAY_READ_FULL = 16 * 1024,   /* likewise, while more is unsent than may be */
    REWRITTEN_MOST = 1 << 20       /* bytes of a header; a longer one passes as it is */
};

/* Bytes that wait; memory only while there are some. */
typedef struct {
    uint8_t *bytes;
    size_t at, end, room;
} waiting_bytes;

enum { CLIENT, UPSTREAM };

typedef struct pair pair;

typedef struct {
    pair *of;
    int fd;
    uint32_t watched;     /* events that epoll reports of it; 0: it is not in epoll */
    bool more;            /* there may be more to read, which epoll has reported already */
    bool ending;          /* epoll has reported that its stream ends or has failed, behind what is still to be read */
    bool over;            /* nothing more comes from it */
    bool send_failed;     /* nothing more can be sent to it */
    bool shut;            /* nothing more will be sent to it, and it knows */
    size_t remaining;     /* bytes of the present frame that have not come yet; all before them were passed on */
    size_t needed;        /* so many bytes `held` must have */
    waiting_bytes held;   /* from it: the beginning of a frame, up to the end of its header */
    waiting_bytes unsent; /* for it */
} side;

/* How a pair ended: by a client or an upstream that closed, by what came from it, or on request. */
typedef enum { STAYS, BY_CLIENT, BY_UPSTREAM, BAD_CLIENT, BAD_UPSTREAM, DROPPED, RELEASED } end_cause;

enum { REQUEST_BEGIN = 1, REQUEST_DROP = 2, REQUEST_RELEASE = 4 };

struct pair {
    int64_t number;
    side sides[2];
    id_hosts hosts; /* in what comes from upstream */
    pair_notes noted;
    size_t longest_frame;
    end_cause because; /* what happened first */
    size_t unsent;     /* for both sides, as it is counted in the relay's */
    bool releasing;
    bool ended;
    pair *next_ended;
    atomic_llong moved; /* when bytes came last, in ms */
    /* under the lock */
    int requested;
    bool reported;
    pair *next_requested, *next_reported;
};

typedef struct {
    int epoll, wake, reports; /* `wake` and `reports` are eventfds: there are requests, there are reports */
    size_t high_water;        /* with more bytes unsent for one side the other is not read */
    uint8_t *buffer;
    pthread_t thread;
    bool running;
    int64_t now;                      /* ms */
    pair *ended;                      /* in this round */
    atomic_llong frames[2], bytes[2]; /* by where they came from */
    atomic_llong open;
    atomic_llong unsent, most_unsent; /* bytes for all sides; with more, none is read that has some to take */
    notes notes;
    bool copies;          /* are to be fetched, since this round */
    pthread_mutex_t lock; /* for: */
    pair *requested, *reported, **reported_end;
    bool quit;
} relay;

static inline side *other_side(side *one)
{
    pair *of = one->of;
    return one == &of->sides[CLIENT] ? &of->sides[UPSTREAM] : &of->sides[CLIENT];
}

static inline bool relay_full(const relay *all)
{
    return atomic_load_explicit(&all->unsent, memory_order_relaxed) >
           atomic_load_explicit(&all->most_unsent, memory_order_relaxed);
}

static inline size_t waiting_size(const waiting_bytes *some) { return some->end - some->at; }

/* passing.c */
bool waiting_add(waiting_bytes *some, const uint8_t *bytes, size_t size); /* false: there is no memory */
void waiting_free(waiting_bytes *some);
bool side_may_read(const relay *all, const side *from);
void side_read(relay *all, side *from);
void side_take(relay *all, side *from, uint8_t *bytes, size_t size); /* what came from it; the bytes may change */
void side_send(side *to);                                            /* what is unsent */

/* pairs.c; each of them leaves the pair either watched or ended */
void pair_begin(relay *all, pair *one);
void pair_serve(relay *all, side *at, uint32_t events);
void pair_drop(relay *all, pair *one);
void pair_release(relay *all, pair *one);

/* relay_thread.c. Of these, relay_request and those below it are called by one other thread at a time. */
int64_t relay_milliseconds(void); /* of a clock that never goes back */
int relay_open(relay *all);       /* 0, or an error's number */
int relay_start(relay *all);      /* unless it runs; 0, or an error's number */
void relay_request(relay *all, pair *one, int what);
pair *relay_reported(relay *all);         /* the first one that ended, or NULL */
void relay_remove_reported(relay *all);   /* it is the caller's now */
void relay_calm(const relay *all);        /* before that: `reports` is no longer readable */
void relay_stop(relay *all);              /* returns when the thread has ended */
void relay_shut(relay *all);              /* the descriptors of a relay without a thread */
PyObject *relay_counts(const relay *all); /* notes_view.c; NULL: an exception is set */
void pair_free(pair *one);                /* also its sockets, unless they are -1 */

#endif
