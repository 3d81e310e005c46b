/* The requests of one client that have no answer yet, by their numbers (opaque). */
#ifndef ROCKETWIRE_PENDING_H
#define ROCKETWIRE_PENDING_H

#include <stdlib.h>

#include "core/span.h"

enum { PENDING_FIRST = 16, PENDING_MOST = 4096 }; /* places */

typedef struct {
    int64_t since; /* ns */
    int32_t opaque;
    int16_t kind; /* of request: an index */
    bool used, copied;
} request_place;

typedef struct {
    request_place *places;
    uint32_t count, room; /* room is a power of two, at least twice the count */
} pending_requests;

/* Clients count up, and a run of places without a gap would be long to go through: numbers are scattered. */
static inline uint32_t pending_home(const pending_requests *all, int32_t opaque)
{
    return (uint32_t)((uint32_t)opaque * UINT64_C(0x9E3779B97F4A7C15) >> 40) & (all->room - 1);
}

/* The place of a number, or the free one where it would be. */
static inline uint32_t pending_at(const pending_requests *all, int32_t opaque)
{
    uint32_t at = pending_home(all, opaque);
    while (all->places[at].used && all->places[at].opaque != opaque) at = (at + 1) & (all->room - 1);
    return at;
}

static inline void pending_forget(pending_requests *all)
{
    free(all->places);
    *all = (pending_requests){0};
}

static inline bool pending_room(pending_requests *all)
{
    if (2 * (all->count + 1) <= all->room) {
        return true;
    }
    if (all->room == PENDING_MOST) { /* most of them get no answer: clients stopped waiting, or there was none */
        memset(all->places, 0, all->room * sizeof *all->places);
        all->count = 0;
        return true;
    }
    pending_requests grown = {.room = all->room > 0 ? 2 * all->room : PENDING_FIRST, .count = all->count};
    grown.places = calloc(grown.room, sizeof *grown.places);
    if (grown.places == NULL) {
        return false;
    }
    for (uint32_t each = 0; each < all->room; each++) {
        request_place *one = &all->places[each];
        if (one->used) grown.places[pending_at(&grown, one->opaque)] = *one;
    }
    free(all->places);
    *all = grown;
    return true;
}

/* A request replaces a former one of its number. */
static inline void pending_add(pending_requests *all, request_place request)
{
    if (!pending_room(all)) {
        return; /* only the statistics lack it */
    }
    request_place *place = &all->places[pending_at(all, request.opaque)];
    all->count += !place->used;
    *place = request;
    place->used = true;
}

/* False: there is none of this number. */
static inline bool pending_take(pending_requests *all, int32_t opaque, request_place *found)
{
    if (all->count == 0) {
        return false;
    }
    uint32_t hole = pending_at(all, opaque), mask = all->room - 1;
    if (!all->places[hole].used) {
        return false;
    }
    *found = all->places[hole];
    for (uint32_t at = (hole + 1) & mask; all->places[at].used; at = (at + 1) & mask) {
        uint32_t home = pending_home(all, all->places[at].opaque);
        if (((at - home) & mask) >= ((at - hole) & mask)) { /* it may lie in the hole as well */
            all->places[hole] = all->places[at];
            hole = at;
        }
    }
    all->places[hole].used = false;
    if (--all->count == 0 && all->room > PENDING_FIRST) {
        pending_forget(all);
    }
    return true;
}

#endif
