/* Turns of a hub. A turn is everything that is readable at one moment, each channel once, and those that had frames
 * left from the turn before. */

#define _GNU_SOURCE
#ifdef __linux__

#include "net/hub.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { EVENTS_MOST = 1024 };

/* Append to an array of references. */
static int list_add(Channel ***list, size_t *count, size_t *room, Channel *channel)
{
    if (*count == *room) {
        size_t more = *room > 0 ? 2 * *room : 64;
        Channel **grown = realloc(*list, more * sizeof *grown);
        if (grown == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        *list = grown;
        *room = more;
    }
    (*list)[(*count)++] = (Channel *)Py_NewRef((PyObject *)channel);
    return 0;
}

void hub_wake(const Hub *hub)
{
    uint64_t one = 1;
    if (write(hub->wake, &one, sizeof one) < 0) {
        return; /* the counter is as high as it can be: it is readable */
    }
}

int hub_later(Hub *hub, Channel *channel)
{
    if (channel->listed) {
        return 0;
    }
    if (list_add(&hub->later, &hub->later_count, &hub->later_room, channel) < 0) {
        return -1;
    }
    channel->listed = true;
    if (hub->later_count == 1) {
        hub_wake(hub);
    }
    return 0;
}

static void calm(Hub *hub)
{
    uint64_t counted;
    if (read(hub->wake, &counted, sizeof counted) < 0) {
        return; /* the hub was not woken since */
    }
}

int turn_begin(Hub *hub)
{
    struct epoll_event events[EVENTS_MOST];
    if (hub->turn_at < hub->turn_end) {
        return 1;
    }
    hub->turn_at = hub->turn_end = 0;
    int count = epoll_wait(hub->epoll, events, EVENTS_MOST, 0);
    for (int each = 0; each < count; each++) {
        Channel *channel = events[each].data.ptr;
        if (channel == NULL) {
            calm(hub);
        } else if (!channel->listed && list_add(&hub->turn, &hub->turn_end, &hub->turn_room, channel) < 0) {
            return -1;
        }
    }
    while (hub->later_count > 0) {
        Channel *channel = hub->later[hub->later_count - 1];
        if (list_add(&hub->turn, &hub->turn_end, &hub->turn_room, channel) < 0) {
            return -1;
        }
        hub->later_count--;
        Py_DECREF((PyObject *)channel);
    }
    return hub->turn_end > 0;
}

void turns_drop(Hub *hub)
{
    while (hub->turn_at < hub->turn_end) {
        Py_DECREF((PyObject *)hub->turn[hub->turn_at++]);
    }
    while (hub->later_count > 0) {
        Py_DECREF((PyObject *)hub->later[--hub->later_count]);
    }
}

#else
typedef int turns_is_empty;
#endif
