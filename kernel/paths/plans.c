/* A hash table with open addressing. It never grows past its bound: a client that fills it with new keys only causes
 * old plans to be made again. */

#include "paths/plans.h"

#include <stdlib.h>

#define SLOTS_FIRST 256
#define PLANS_MOST 16384

struct plan_slot {
    uint8_t *key; /* NULL: free */
    size_t length;
    uint64_t hash;
    void *plan;
};

/* Eight bytes at a time, each multiplied in; the upper half, which depends on all bits, is folded back. */
static uint64_t hash_of(span key)
{
    const uint64_t factor = 0x9E3779B97F4A7C15u;
    uint64_t hash = key.len * factor, word;
    size_t at = 0;
    for (; at + 8 <= key.len; at += 8) {
        memcpy(&word, key.at + at, 8);
        hash = (hash ^ word) * factor;
        hash ^= hash >> 32;
    }
    for (word = 0; at < key.len; at++) word = word << 8 | key.at[at];
    hash = (hash ^ word) * factor;
    return hash ^ hash >> 32;
}

static plan_slot *slot_of(const plan_table *table, span key, uint64_t hash)
{
    size_t at = (size_t)hash & table->mask;
    for (;; at = (at + 1) & table->mask) {
        plan_slot *slot = &table->slots[at];
        if (slot->key == NULL) return slot;
        if (slot->hash == hash && slot->length == key.len && memcmp(slot->key, key.at, key.len) == 0) return slot;
    }
}

static bool set_room(plan_table *table, size_t slots)
{
    table->slots = calloc(slots, sizeof *table->slots);
    table->mask = slots - 1;
    return table->slots != NULL;
}

bool plans_init(plan_table *table, void (*release)(void *plan))
{
    table->count = 0;
    table->release = release;
    return set_room(table, SLOTS_FIRST);
}

void *plans_find(const plan_table *table, span key) { return slot_of(table, key, hash_of(key))->plan; }

static bool grow(plan_table *table)
{
    plan_slot *former = table->slots;
    size_t slots = table->mask + 1;
    if (!set_room(table, 2 * slots)) {
        table->slots = former;
        table->mask = slots - 1;
        return false;
    }
    for (size_t at = 0; at < slots; at++) {
        if (former[at].key != NULL) {
            *slot_of(table, span_of(former[at].key, former[at].length), former[at].hash) = former[at];
        }
    }
    free(former);
    return true;
}

bool plans_put(plan_table *table, span key, void *plan)
{
    if (table->count >= PLANS_MOST) plans_clear(table);
    uint64_t hash = hash_of(key);
    plan_slot *slot = slot_of(table, key, hash);
    if (slot->key != NULL) {
        void *former = slot->plan;
        slot->plan = plan;
        table->release(former);
        return true;
    }
    uint8_t *copy = NULL;
    if (2 * table->count < table->mask || grow(table)) copy = malloc(key.len ? key.len : 1);
    if (copy == NULL) {
        table->release(plan);
        return false;
    }
    put_span(copy, key);
    *slot_of(table, key, hash) = (plan_slot){copy, key.len, hash, plan};
    table->count++;
    return true;
}

void *plans_next(const plan_table *table, size_t *at)
{
    while (table->slots != NULL && *at <= table->mask) {
        const plan_slot *slot = &table->slots[(*at)++];
        if (slot->key != NULL) return slot->plan;
    }
    return NULL;
}

void plans_clear(plan_table *table)
{
    if (table->slots == NULL) return;
    /* A plan's release may run code that uses this table, so each is removed first. */
    for (size_t at = 0; at <= table->mask && table->count > 0; at++) {
        plan_slot removed = table->slots[at];
        if (removed.key == NULL) continue;
        table->slots[at] = (plan_slot){NULL, 0, 0, NULL};
        table->count--;
        free(removed.key);
        table->release(removed.plan);
    }
}

void plans_free(plan_table *table)
{
    if (table->slots == NULL) return;
    plans_clear(table);
    free(table->slots);
    table->slots = NULL;
}
