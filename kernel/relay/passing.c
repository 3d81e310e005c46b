/* Passes what comes from one side of a pair to the other: whole headers, and bodies as they come. */

#define _GNU_SOURCE
#ifdef __linux__

#include "relay/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "wire/frame.h"

bool waiting_add(waiting_bytes *some, const uint8_t *bytes, size_t size)
{
    size_t length = waiting_size(some);
    if (size == 0) {
        return true;
    }
    if (some->room - some->end < size && some->at > 0 && some->at >= length) {
        memcpy(some->bytes, some->bytes + some->at, length); /* to the beginning, if it does not overlap */
        some->at = 0;
        some->end = length;
    }
    if (some->room - some->end < size) {
        size_t least = some->end + size, twice = some->room * 2;
        size_t room = least > twice ? least : twice;
        uint8_t *grown = realloc(some->bytes, room);
        if (grown == NULL) {
            return false;
        }
        some->bytes = grown;
        some->room = room;
    }
    memcpy(some->bytes + some->end, bytes, size);
    some->end += size;
    return true;
}

void waiting_free(waiting_bytes *some)
{
    free(some->bytes);
    *some = (waiting_bytes){0};
}

/* The side is of no use any more. */
static void lose(side *one)
{
    one->over = one->send_failed = true;
    one->remaining = 0;
    waiting_free(&one->held);
    waiting_free(&one->unsent);
}

static void blame(side *one, end_cause client, end_cause upstream)
{
    if (one->of->because == STAYS) {
        one->of->because = one == &one->of->sides[CLIENT] ? client : upstream;
    }
}

/* How much the socket took; none if it failed. */
static size_t send_some(side *to, const uint8_t *bytes, size_t size)
{
    ssize_t sent = send(to->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
        return (size_t)sent;
    }
    if (errno != EAGAIN && errno != EINTR) {
        blame(to, BY_CLIENT, BY_UPSTREAM);
        to->send_failed = true; /* what it sent before is still read */
        waiting_free(&to->unsent);
    }
    return 0;
}

static void pass_on(side *to, const uint8_t *bytes, size_t size)
{
    if (size == 0 || to->send_failed) {
        return;
    }
    size_t sent = waiting_size(&to->unsent) == 0 ? send_some(to, bytes, size) : 0;
    if (!to->send_failed && !waiting_add(&to->unsent, bytes + sent, size - sent)) {
        blame(to, BY_CLIENT, BY_UPSTREAM);
        lose(to);
    }
}

void side_send(side *to)
{
    to->unsent.at += send_some(to, to->unsent.bytes + to->unsent.at, waiting_size(&to->unsent));
    if (waiting_size(&to->unsent) == 0) {
        waiting_free(&to->unsent);
    }
}

/* --- by frames --- */

static void count(atomic_llong *counter, size_t more)
{
    long long before = atomic_load_explicit(counter, memory_order_relaxed); /* no other thread writes */
    atomic_store_explicit(counter, before + (long long)more, memory_order_relaxed);
}

/* Go over what came, note it, and rewrite its headers. Returns how many of the bytes may pass on. Either these are all,
 * or the rest begins a frame and `needed` of it must be there, or (`bad`) no frame begins so. */
static size_t walk(relay *all, side *from, uint8_t *bytes, size_t size, size_t *frames, bool *bad)
{
    pair *of = from->of;
    bool of_client = from == &of->sides[CLIENT], rewrites = of->hosts.digits > 0 && !of_client;
    bool noted = notes_any(&all->notes);
    size_t at = 0;
    *frames = 0;
    *bad = false;
    for (;;) {
        size_t there = size - at < from->remaining ? size - at : from->remaining;
        from->remaining -= there;
        if (of_client && notes_bytes(&all->notes, &of->noted, bytes + at, there)) {
            all->copies = true;
        }
        at += there;
        if (at == size) {
            return at;
        }
        frame next;
        *bad = frame_next(span_of(bytes + at, size - at), &next) == FRAME_BAD ||
               (size - at >= FRAME_WORDS && next.size > of->longest_frame);
        if (*bad || size - at < FRAME_WORDS) {
            from->needed = FRAME_WORDS;
            return at;
        }
        uint32_t word = get32(bytes + at + 4);
        size_t header = word & 0xFFFFFF;
        if ((rewrites || noted) && header <= REWRITTEN_MOST) {
            if (size - at < FRAME_WORDS + header) {
                from->needed = FRAME_WORDS + header;
                return at;
            }
            span begin = span_of(bytes + at, FRAME_WORDS + header);
            if (rewrites) {
                id_hosts_rewrite(bytes + at + FRAME_WORDS, header, (uint8_t)(word >> 24), &of->hosts);
            }
            if (noted && of_client) {
                notes_request(&all->notes, &of->noted, of->number, begin, next.size);
            } else if (noted && notes_answer(&all->notes, &of->noted, of->number, begin)) {
                all->copies = true;
            }
        }
        from->remaining = next.size;
        ++*frames;
    }
}

void side_take(relay *all, side *from, uint8_t *bytes, size_t size)
{
    size_t frames;
    bool bad;
    notes_clock(&all->notes);
    size_t passed = walk(all, from, bytes, size, &frames, &bad);
    int which = from == &from->of->sides[CLIENT] ? CLIENT : UPSTREAM;
    count(&all->frames[which], frames);
    count(&all->bytes[which], passed);
    pass_on(other_side(from), bytes, passed);
    if (bad) {
        blame(from, BAD_CLIENT, BAD_UPSTREAM);
        lose(from);
    } else if (bytes == from->held.bytes && passed == size) {
        waiting_free(&from->held);
    } else if (bytes != from->held.bytes && !waiting_add(&from->held, bytes + passed, size - passed)) {
        blame(from, BY_CLIENT, BY_UPSTREAM);
        lose(from);
    }
}

/* --- reading --- */

/* While it is being released, a pair is read to the end of the client's present frame, then to that of the upstream's:
 * answers still come while the client's takes its time. */
static bool limited(const side *from)
{
    const pair *of = from->of;
    return of->releasing && (from == &of->sides[CLIENT] || of->sides[CLIENT].remaining == 0);
}

bool side_may_read(const relay *all, const side *from)
{
    const side *to = other_side((side *)(uintptr_t)from);
    return !from->over && waiting_size(&to->unsent) <= (relay_full(all) ? 0 : all->high_water) &&
           !(limited(from) && from->remaining == 0);
}

static ssize_t receive(const relay *all, side *from, size_t most)
{
    size_t room = relay_full(all) ? RELAY_READ_FULL : RELAY_READ_BYTES;
    size_t wanted = most < room ? most : room;
    ssize_t came = recv(from->fd, all->buffer, wanted, MSG_DONTWAIT);
    from->more = from->ending || came == (ssize_t)wanted || (came < 0 && errno == EINTR);
    if (came > 0) {
        atomic_store_explicit(&from->of->moved, all->now, memory_order_relaxed);
    }
    return came;
}

/* The rest of a header whose beginning is held, and no more: it is in one piece then. */
static ssize_t receive_held(relay *all, side *from)
{
    waiting_bytes *held = &from->held;
    ssize_t came = receive(all, from, from->needed - held->end);
    if (came <= 0) {
        return came;
    }
    if (!waiting_add(held, all->buffer, (size_t)came)) {
        errno = ENOMEM;
        return -1;
    }
    if (held->end == from->needed) {
        side_take(all, from, held->bytes, held->end);
    }
    return came;
}

static ssize_t receive_frames(relay *all, side *from)
{
    ssize_t came = receive(all, from, limited(from) ? from->remaining : RELAY_READ_BYTES);
    if (came > 0) {
        side_take(all, from, all->buffer, (size_t)came);
    }
    return came;
}

void side_read(relay *all, side *from)
{
    bool more = true;
    while (more && side_may_read(all, from)) {
        more = waiting_size(&from->held) > 0; /* what follows a header has mostly come, too */
        ssize_t came = more ? receive_held(all, from) : receive_frames(all, from);
        if (came == 0) {
            blame(from, BY_CLIENT, BY_UPSTREAM);
            from->over = true;
            pass_on(other_side(from), from->held.bytes, waiting_size(&from->held)); /* a frame that has no end */
            waiting_free(&from->held);
        } else if (came < 0) {
            if (errno != EAGAIN && errno != EINTR) {
                blame(from, BY_CLIENT, BY_UPSTREAM);
                lose(from);
            }
            return;
        }
    }
}

#else
typedef int passing_is_empty;
#endif
