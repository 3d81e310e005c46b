/* The thread of a relay, and how others talk to it. Each round serves what epoll reports, then the requests, and
 * reports the pairs that ended. */

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

/* Serve the requests; false: the thread shall end. */
static bool serve_requests(relay *all)
{
    pthread_mutex_lock(&all->lock);
    bool continues = !all->quit;
    while (continues && all->requested != NULL) {
        pair *one = all->requested;
        int requested = one->requested;
        all->requested = one->next_requested;
        one->requested = 0;
        pthread_mutex_unlock(&all->lock);
        if (requested & REQUEST_DROP) {
            pair_drop(all, one);
        } else if (requested & REQUEST_BEGIN) {
            pair_begin(all, one);
        }
        if (requested & REQUEST_RELEASE) {
            pair_release(all, one);
        }
        pthread_mutex_lock(&all->lock);
    }
    pthread_mutex_unlock(&all->lock);
    return continues;
}

/* Report the pairs that ended. One with a new request is reported in the next round, when that is done. */
static void report_ended(relay *all)
{
    pair *ended = all->ended;
    all->ended = NULL;
    pthread_mutex_lock(&all->lock);
    while (ended != NULL) {
        pair *one = ended;
        ended = one->next_ended;
        if (one->requested != 0) {
            one->next_ended = all->ended;
            all->ended = one;
            continue;
        }
        one->reported = true;
        one->next_reported = NULL;
        *all->reported_end = one;
        all->reported_end = &one->next_reported;
        atomic_fetch_sub_explicit(&all->open, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&all->lock);
    ring(all->reports);
}

static void *run(void *given)
{
    relay *all = given;
    struct epoll_event events[EVENTS_MOST];
    for (bool continues = true; continues;) {
        int count = epoll_wait(all->epoll, events, EVENTS_MOST, -1);
        bool requested = false;
        all->now = relay_milliseconds();
        for (int each = 0; each < count; each++) {
            if (events[each].data.ptr == NULL) {
                requested = true;
            } else {
                pair_serve(all, events[each].data.ptr, events[each].events);
            }
        }
        if (requested) {
            calm(all->wake);
            continues = serve_requests(all);
        }
        if (all->ended != NULL) {
            report_ended(all);
        } else if (all->copies) {
            ring(all->reports);
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
    all->reported_end = &all->reported;
    all->epoll = epoll_create1(EPOLL_CLOEXEC);
    all->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    all->reports = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    bool failed = all->epoll < 0 || all->wake < 0 || all->reports < 0 ||
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

void relay_request(relay *all, pair *one, int what)
{
    pthread_mutex_lock(&all->lock);
    if (!one->reported) {
        if (one->requested == 0) {
            one->next_requested = all->requested;
            all->requested = one;
        }
        one->requested |= what;
    }
    pthread_mutex_unlock(&all->lock);
    ring(all->wake);
}

pair *relay_reported(relay *all)
{
    pthread_mutex_lock(&all->lock);
    pair *first = all->reported;
    pthread_mutex_unlock(&all->lock);
    return first;
}

void relay_remove_reported(relay *all)
{
    pthread_mutex_lock(&all->lock);
    all->reported = all->reported->next_reported;
    if (all->reported == NULL) {
        all->reported_end = &all->reported;
    }
    pthread_mutex_unlock(&all->lock);
}

void relay_calm(const relay *all) { calm(all->reports); }

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
    if (all->reports >= 0) close(all->reports);
    all->epoll = all->wake = all->reports = -1;
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
    pending_forget(&one->noted.unanswered);
    free(one->noted.copy);
    free(one);
}

#else
typedef int relay_thread_is_empty;
#endif
