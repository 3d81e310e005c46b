/* The thread of a relay, and how others talk to it. Each round serves what epoll reports, then what was asked, and
 * tells of the pairs that ended. */

#define _GNU_SOURCE
#ifdef __linux__

#include "relay/relay.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MOST = 256 };

static void ring(int eventfd_)
{
    uint64_t one = 1;
    if (write(eventfd_, &one, sizeof one) < 0) {
        return; /* the counter is as high as it can be: it is readable */
    }
}

static void calm(int eventfd_)
{
    uint64_t counted;
    if (read(eventfd_, &counted, sizeof counted) < 0) {
        return; /* it was not rung since */
    }
}

/* Take what was asked; false: the thread shall end. */
static bool serve_asked(relay *all)
{
    pthread_mutex_lock(&all->lock);
    bool goes_on = !all->quit;
    while (goes_on && all->asked != NULL) {
        pair *one = all->asked;
        int asked = one->asked;
        all->asked = one->next_asked;
        one->asked = 0;
        pthread_mutex_unlock(&all->lock);
        if (asked & ASKED_DROP) {
            pair_drop(all, one);
        } else if (asked & ASKED_BEGIN) {
            pair_begin(all, one);
        }
        if (asked & ASKED_RELEASE) {
            pair_release(all, one);
        }
        pthread_mutex_lock(&all->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return goes_on;
}

/* Tell of the pairs that ended. One that something is asked of again is told in the next round, when that is done. */
static void tell(relay *all)
{
    pair *ended = all->ended;
    all->ended = NULL;
    pthread_mutex_lock(&all->lock);
    while (ended != NULL) {
        pair *one = ended;
        ended = one->next_ended;
        if (one->asked != 0) {
            one->next_ended = all->ended;
            all->ended = one;
            continue;
        }
        one->told = true;
        one->next_told = NULL;
        *all->told_end = one;
        all->told_end = &one->next_told;
        atomic_fetch_sub_explicit(&all->open, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&all->lock);
    ring(all->telling);
}

static void *run(void *given)
{
    relay *all = given;
    struct epoll_event events[EVENTS_MOST];
    for (bool goes_on = true; goes_on;) {
        int count = epoll_wait(all->epoll, events, EVENTS_MOST, -1);
        bool asked = false;
        all->now = relay_milliseconds();
        for (int each = 0; each < count; each++) {
            if (events[each].data.ptr == NULL) {
                asked = true;
            } else {
                pair_serve(all, events[each].data.ptr, events[each].events);
            }
        }
        if (asked) {
            calm(all->wake);
            goes_on = serve_asked(all);
        }
        if (all->ended != NULL) {
            tell(all);
        } else if (all->copies) {
            ring(all->telling);
        }
        all->copies = false;
    }
    return NULL;
}

/* --- called by others --- */

int64_t relay_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int relay_open(relay *all)
{
    all->told_end = &all->told;
    all->epoll = epoll_create1(EPOLL_CLOEXEC);
    all->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    all->telling = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    bool failed = all->epoll < 0 || all->wake < 0 || all->telling < 0 ||
                  epoll_ctl(all->epoll, EPOLL_CTL_ADD, all->wake, &event) < 0;
    return failed ? errno : pthread_mutex_init(&all->lock, NULL);
}

int relay_start(relay *all)
{
    sigset_t signals, former;
    if (all->running) {
        return 0;
    }
    all->buffer = malloc(RELAY_READ_BYTES);
    if (all->buffer == NULL) {
        return ENOMEM;
    }
    sigfillset(&signals);
    pthread_sigmask(SIG_SETMASK, &signals, &former); /* signals are for the interpreter's threads */
    int error = pthread_create(&all->thread, NULL, run, all);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    all->running = error == 0;
    return error;
}

void relay_ask(relay *all, pair *one, int what)
{
    pthread_mutex_lock(&all->lock);
    if (!one->told) {
        if (one->asked == 0) {
            one->next_asked = all->asked;
            all->asked = one;
        }
        one->asked |= what;
    }
    pthread_mutex_unlock(&all->lock);
    ring(all->wake);
}

pair *relay_told(relay *all)
{
    pthread_mutex_lock(&all->lock);
    pair *first = all->told;
    pthread_mutex_unlock(&all->lock);
    return first;
}

void relay_take_told(relay *all)
{
    pthread_mutex_lock(&all->lock);
    all->told = all->told->next_told;
    if (all->told == NULL) {
        all->told_end = &all->told;
    }
    pthread_mutex_unlock(&all->lock);
}

void relay_calm(const relay *all) { calm(all->telling); }

void relay_stop(relay *all)
{
    pthread_mutex_lock(&all->lock);
    all->quit = true;
    pthread_mutex_unlock(&all->lock);
    ring(all->wake);
    pthread_join(all->thread, NULL);
    all->running = false;
}

void relay_shut(relay *all)
{
    if (all->epoll >= 0) close(all->epoll);
    if (all->wake >= 0) close(all->wake);
    if (all->telling >= 0) close(all->telling);
    all->epoll = all->wake = all->telling = -1;
    free(all->buffer);
    all->buffer = NULL;
}

void pair_free(pair *one)
{
    for (int each = 0; each < 2; each++) {
        side *of = &one->sides[each];
        if (of->fd >= 0) close(of->fd);
        waiting_free(&of->held);
        waiting_free(&of->unsent);
    }
    under_way_forget(&one->noted.asked);
    free(one->noted.copy);
    free(one);
}

#else
typedef int relay_thread_is_empty;
#endif
