/* What comes of a pair: the end of one side is passed on to the other behind all that came before it, and with both
 * ends, or one that came by force, the pair has ended. */

#define _GNU_SOURCE
#ifdef __linux__

#include "relay/relay.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READABLE = EPOLLIN | EPOLLRDHUP, FAILED = EPOLLHUP | EPOLLERR };

/* What epoll is to report of it, once for each time that something comes (EPOLLET): otherwise each wait would check all
 * sockets again that were readable at the last one. What may not be read yet is requested again. A socket with nothing
 * to report is taken out. False: epoll refuses. */
static bool watch(relay *all, side *one)
{
    uint32_t events = side_may_read(all, one) ? READABLE : 0;
    events |= waiting_size(&one->unsent) > 0 ? EPOLLOUT : 0;
    if (events == one->watched && !(one->more && events & READABLE)) {
        return true;
    }
    int change = one->watched == 0 ? EPOLL_CTL_ADD : events == 0 ? EPOLL_CTL_DEL : EPOLL_CTL_MOD;
    struct epoll_event event = {.events = events | EPOLLET, .data.ptr = one};
    one->watched = events;
    one->more = false;
    return epoll_ctl(all->epoll, change, one->fd, &event) == 0;
}

/* Count what is unsent of a pair. */
static void count_unsent(relay *all, pair *one, size_t unsent)
{
    long long more = (long long)unsent - (long long)one->unsent;
    if (more != 0) {
        atomic_fetch_add_explicit(&all->unsent, more, memory_order_relaxed);
        one->unsent = unsent;
    }
}

static void end(relay *all, pair *one, end_cause because)
{
    for (int each = 0; each < 2; each++) {
        side *of = &one->sides[each];
        if (of->watched != 0) {
            epoll_ctl(all->epoll, EPOLL_CTL_DEL, of->fd, NULL);
        }
        if (because != RELEASED) {
            close(of->fd);
            of->fd = -1;
        }
    }
    count_unsent(all, one, 0);
    notes_end(&all->notes, &one->noted);
    one->because = because;
    one->ended = true;
    one->next_ended = all->ended;
    all->ended = one;
}

/* Nothing more comes from it, and the other has all that came. */
static bool settled(side *from) { return from->over && waiting_size(&other_side(from)->unsent) == 0; }

/* What follows from what has happened to either side. */
static void settle(relay *all, pair *one)
{
    side *client = &one->sides[CLIENT], *upstream = &one->sides[UPSTREAM];
    for (int each = 0; each < 2; each++) {
        side *from = &one->sides[each], *to = other_side(from);
        if (settled(from) && !to->shut && !to->send_failed) {
            to->shut = true;
            shutdown(to->fd, SHUT_WR);
        }
    }
    count_unsent(all, one, waiting_size(&client->unsent) + waiting_size(&upstream->unsent));
    if (one->because != STAYS) {
        one->releasing = false;
    }
    bool client_settled = settled(client), upstream_settled = settled(upstream);
    if ((client_settled && (client->send_failed || upstream_settled)) || (upstream_settled && upstream->send_failed)) {
        end(all, one, one->because);
    } else if (one->releasing && client->remaining == 0 && upstream->remaining == 0) {
        end(all, one, RELEASED);
    } else if (!watch(all, client) || !watch(all, upstream)) {
        end(all, one, DROPPED);
    }
}

void pair_begin(relay *all, pair *one)
{
    for (int each = 0; each < 2; each++) {
        waiting_bytes first = one->sides[each].held; /* what the caller had read already */
        if (first.end > 0) {
            one->sides[each].held = (waiting_bytes){0};
            side_take(all, &one->sides[each], first.bytes, first.end);
            waiting_free(&first);
        }
    }
    settle(all, one);
}

void pair_serve(relay *all, side *at, uint32_t events)
{
    if (at->of->ended) {
        return; /* in this round */
    }
    if (events & (EPOLLRDHUP | FAILED)) {
        at->ending = true;
    }
    if (events & (EPOLLOUT | FAILED) && waiting_size(&at->unsent) > 0) {
        side_send(at);
    }
    if (events & (READABLE | FAILED)) {
        at->more = true; /* unless a read changes it: it may have to wait */
        side_read(all, at);
    }
    settle(all, at->of);
}

void pair_drop(relay *all, pair *one)
{
    if (!one->ended) {
        end(all, one, DROPPED);
    }
}

void pair_release(relay *all, pair *one)
{
    if (!one->ended) {
        one->releasing = true;
        settle(all, one);
    }
}

#else
typedef int pairs_is_empty;
#endif
