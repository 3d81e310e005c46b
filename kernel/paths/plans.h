/* A cache of Python's decisions, by the bytes of the header fields that they depend on. It is bounded; a full one is
 * emptied. */
#ifndef ROCKETWIRE_PLANS_H
#define ROCKETWIRE_PLANS_H

#include "core/span.h"

#define PLAN_KEY_MOST 640 /* bytes; a longer key is for Python */

typedef struct plan_slot plan_slot;

typedef struct {
    plan_slot *slots;
    size_t count, mask;
    void (*release)(void *plan);
} plan_table;

bool plans_init(plan_table *table, void (*release)(void *plan));
void *plans_find(const plan_table *table, span key);
bool plans_put(plan_table *table, span key, void *plan); /* takes the plan over; false: no memory, it was released */
void *plans_next(const plan_table *table, size_t *at);   /* one after the other, from *at == 0 on; NULL: that was all */
void plans_clear(plan_table *table);
void plans_free(plan_table *table);

#endif
