/* The requests of one client that have no answer yet, by their numbers (opaque). */
#ifndef ROCKETWIRE_UNDER_WAY_H
#define ROCKETWIRE_UNDER_WAY_H

#include <stdlib.h>

#include "core/span.h"

enum { UNDER_WAY_FIRST = 16, UNDER_WAY_MOST = 4096 }; /* places */

typedef struct {
    int64_t since; /* ns */
    int32_t opaque;
    int16_t kind; /* of request: an index */
    bool used, copied;
} request_place;

typedef struct {
    request_place *places;
    uint32_t count, room; /* room is a power of two, at least twice the count */
} under_way;

/* Clients count up, and a run of places without a gap would be long to go through: numbers are scattered. */
static inline uint32_t under_way_home(const under_way *all, int32_t opaque)
{
    return (uint32_t)((uint32_t)opaque * UINT64_C(0x9E3779B97F4A7C15) >> 40) & (all->room - 1);
}

/* The place of a number, or the free one where it would be. */
static inline uint32_t under_way_at(const under_way *all, int32_t opaque)
{
    uint32_t at = under_way_home(all, opaque);
    while (all->places[at].used && all->places[at].opaque != opaque) at = (at + 1) & (all->room - 1);
    return at;
}

static inline void under_way_forget(under_way *all)
{
    free(all->places);
    *all = (under_way){0};
}

static inline bool under_way_room(under_way *all)
{
    if (2 * (all->count + 1) <= all->room) {
        return true;
    }
    if (all->room == UNDER_WAY_MOST) { /* most of them get no answer: clients gave up, or there was none */
        memset(all->places, 0, all->room * sizeof *all->places);
        all->count = 0;
        return true;
    }
    under_way grown = {.room = all->room > 0 ? 2 * all->room : UNDER_WAY_FIRST, .count = all->count};
    grown.places = calloc(grown.room, sizeof *grown.places);
    if (grown.places == NULL) {
        return false;
    }
    for (uint32_t each = 0; each < all->room; each++) {
        request_place *one = &all->places[each];
        if (one->used) grown.places[under_way_at(&grown, one->opaque)] = *one;
    }
    free(all->places);
    *all = grown;
    return true;
}

/* A request replaces a former one of its number. */
static inline void under_way_add(under_way *all, request_place request)
{
    if (!under_way_room(all)) {
        return; /* nobody misses it but the statistics */
    }
    request_place *place = &all->places[under_way_at(all, request.opaque)];
    all->count += !place->used;
    *place = request;
    place->used = true;
}

/* False: there is none of this number. */
static inline bool under_way_take(under_way *all, int32_t opaque, request_place *found)
{
    if (all->count == 0) {
        return false;
    }
    uint32_t hole = under_way_at(all, opaque), mask = all->room - 1;
    if (!all->places[hole].used) {
        return false;
    }
    *found = all->places[hole];
    for (uint32_t at = (hole + 1) & mask; all->places[at].used; at = (at + 1) & mask) {
        uint32_t home = under_way_home(all, all->places[at].opaque);
        if (((at - home) & mask) >= ((at - hole) & mask)) { /* it may lie in the hole as well */
            all->places[hole] = all->places[at];
            hole = at;
        }
    }
    all->places[hole].used = false;
    if (--all->count == 0 && all->room > UNDER_WAY_FIRST) {
        under_way_forget(all);
    }
    return true;
}

#endif
