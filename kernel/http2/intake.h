/* How much of unfinished requests a connection takes in: see rocketwire.wire.http2.intake. */
#ifndef ROCKETWIRE_INTAKE_H
#define ROCKETWIRE_INTAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct incoming incoming;

typedef struct {
    incoming *before, *after;
    bool in;
} place; /* in a list */

enum { WAITING, HOLDING, INTAKE_LISTS };

/* What the intake notes of a request. */
struct incoming {
    int32_t stream;
    size_t held;    /* bytes that have come and cannot be handed over yet */
    size_t granted; /* bytes that its client may send beyond the window of every stream */
    size_t wanted;  /* bytes to grant, while it waits */
    place places[INTAKE_LISTS];
};

typedef struct {
    size_t window, enough;
    size_t held, granted; /* of all requests */
    struct {
        incoming *first, *last;
    } lists[INTAKE_LISTS];
} intake;

void intake_begin(intake *all, size_t window, size_t stream_window);
void intake_set_held(intake *all, incoming *request, size_t held);
void intake_request_room(intake *all, incoming *request, size_t size);
/* The next request that may send its whole message from now on; NULL: none. */
incoming *intake_admit_waiting(intake *all);
void intake_release_grant(intake *all, incoming *request);
void intake_forget(intake *all, incoming *request);
/* The request to refuse since all together hold too much; NULL: they do not. */
incoming *intake_request_to_refuse(const intake *all);

#endif
