/* Lists of texts, and memory for new ones: see texts.h. */

#include "records/texts.h"

#include <stdlib.h>

bool pieces_grow(pieces *list, size_t more)
{
    size_t room = list->count + more + list->room / 2 + 64;
    piece *at = realloc(list->at, room * sizeof *at);
    if (at == NULL) return false;
    list->at = at;
    list->room = room;
    return true;
}

struct kept {
    kept *before;
    size_t used, room;
    uint8_t bytes[];
};

uint8_t *kept_room(kept **all, size_t size)
{
    kept *last = *all;
    if (last == NULL || last->room - last->used < size) {
        size_t room = size > 4096 ? size : 4096;
        last = malloc(sizeof *last + room);
        if (last == NULL) return NULL;
        *last = (kept){.before = *all, .room = room};
        *all = last;
    }
    uint8_t *at = last->bytes + last->used;
    last->used += size;
    return at;
}

void kept_free(kept **all)
{
    while (*all != NULL) {
        kept *last = *all;
        *all = last->before;
        free(last);
    }
}
