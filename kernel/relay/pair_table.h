/* Pairs by their numbers, for requests to one. */
#ifndef ROCKETWIRE_PAIR_TABLE_H
#define ROCKETWIRE_PAIR_TABLE_H

#include <stdlib.h>

#include "relay/relay.h"

enum { ROOM_FIRST = 64 };

/* Each pair has the place of its number, modulo the room, which is a power of two. */
typedef struct {
    pair **pairs;
    size_t count, room;
    int64_t next; /* number */
} pair_table;

static inline pair **place_of(const pair_table *all, int64_t number)
{
    return &all->pairs[(size_t)number & (all->room - 1)];
}

/* With twice as many places as pairs the next free number is near. */
static inline bool table_room(pair_table *all)
{
    if (2 * all->count < all->room) {
        return true;
    }
    pair_table grown = {.room = all->room > 0 ? 2 * all->room : ROOM_FIRST};
    grown.pairs = calloc(grown.room, sizeof *grown.pairs);
    if (grown.pairs == NULL) {
        return false;
    }
    for (size_t each = 0; each < all->room; each++) {
        pair *one = all->pairs[each];
        if (one != NULL) *place_of(&grown, one->number) = one;
    }
    free(all->pairs);
    all->pairs = grown.pairs;
    all->room = grown.room;
    return true;
}

static inline void table_add(pair_table *all, pair *one)
{
    do one->number = ++all->next;
    while (*place_of(all, one->number) != NULL);
    *place_of(all, one->number) = one;
    all->count++;
}

static inline void table_remove(pair_table *all, const pair *one)
{
    *place_of(all, one->number) = NULL;
    all->count--;
}

/* NULL: its end was reported, or there never was one. */
static inline pair *table_find(const pair_table *all, int64_t number)
{
    pair *one = all->room > 0 ? *place_of(all, number) : NULL;
    return one != NULL && one->number == number ? one : NULL;
}

#endif
