#include "http2/intake.h"

enum { MOST_HELD = 4 /* windows */ };

void intake_begin(intake *all, size_t window, size_t stream_window)
{
    all->window = window;
    all->enough = stream_window / 4;
}

static void enter(intake *all, int list, incoming *request)
{
    place *here = &request->places[list];
    if (here->in) return;
    *here = (place){all->lists[list].last, NULL, true};
    if (here->before) {
        here->before->places[list].after = request;
    } else {
        all->lists[list].first = request;
    }
    all->lists[list].last = request;
}

static void leave(intake *all, int list, incoming *request)
{
    place *here = &request->places[list];
    if (!here->in) return;
    if (here->before) {
        here->before->places[list].after = here->after;
    } else {
        all->lists[list].first = here->after;
    }
    if (here->after) {
        here->after->places[list].before = here->before;
    } else {
        all->lists[list].last = here->before;
    }
    *here = (place){NULL, NULL, false};
}

void intake_set_held(intake *all, incoming *request, size_t held)
{
    all->held += held - request->held;
    request->held = held;
    if (held > 0) {
        enter(all, HOLDING, request);
    } else {
        leave(all, HOLDING, request);
    }
}

void intake_request_room(intake *all, incoming *request, size_t size)
{
    if (size <= all->enough || request->granted > 0 || request->places[WAITING].in) return;
    request->wanted = size - all->enough;
    enter(all, WAITING, request);
}

incoming *intake_admit_waiting(intake *all)
{
    incoming *request = all->lists[WAITING].first;
    if (request == NULL || (all->granted > 0 && all->granted + request->wanted > all->window)) return NULL;
    leave(all, WAITING, request);
    request->granted = request->wanted;
    all->granted += request->granted;
    return request;
}

void intake_release_grant(intake *all, incoming *request)
{
    all->granted -= request->granted;
    request->granted = 0;
}

void intake_forget(intake *all, incoming *request)
{
    intake_release_grant(all, request);
    intake_set_held(all, request, 0);
    leave(all, WAITING, request);
}

incoming *intake_request_to_refuse(const intake *all)
{
    return all->held > MOST_HELD * all->window ? all->lists[HOLDING].last : NULL;
}
