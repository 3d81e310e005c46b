/* Serves the frames of one read in their order, each by one of the paths or by Python: a group of sends ends before a
 * run is served, a run before the next frame is offered to a path. */

#define _GNU_SOURCE
#ifdef __linux__

#include "net/reading.h"

#include "pull/pull_path.h"
#include "send/send_path.h"
#include "wire/header.h"
#include "wire/requests.h"

enum { REFUSED_MOST = 2 };

typedef enum { FOR_PYTHON, FOR_SENDS, FOR_PULLS } destination;

static destination destination_of(const reading *r, const frame *cut, header *head)
{
    bool sends = r->hub->sends != NULL && r->refused < REFUSED_MOST && sends_ready(r->hub->sends);
    bool pulls = r->hub->pulls != NULL && pulls_ready(r->hub->pulls);
    if (!sends && !pulls) {
        return FOR_PYTHON;
    }
    if (!header_read(cut->header, cut->serialize_type, head) || head->flag & FLAG_RESPONSE) {
        return FOR_PYTHON;
    }
    switch (head->code) {
    case CODE_SEND_MESSAGE:
    case CODE_SEND_MESSAGE_V2:
    case CODE_SEND_BATCH_MESSAGE:
    case CODE_CONSUMER_SEND_MSG_BACK:
    case CODE_END_TRANSACTION:
        return sends ? FOR_SENDS : FOR_PYTHON;
    case CODE_PULL_MESSAGE:
    case CODE_LITE_PULL_MESSAGE:
    case CODE_UPDATE_CONSUMER_OFFSET:
        return pulls ? FOR_PULLS : FOR_PYTHON;
    default:
        return FOR_PYTHON;
    }
}

/* Send the answers if there are enough, before more are made. They stay behind those that Python has begun to send. */
static serve_result relieve(reading *r)
{
    int stalled = r->handed ? session_stalled(r) : 0;
    if (stalled != 0) {
        return stalled < 0 ? SERVE_ERROR : SERVE_STALLED;
    }
    if (r->unsent + out_size(&r->hub->out) <= HIGH_WATER) {
        return SERVE_ON;
    }
    bool was_closed = r->channel->closed;
    if (run_finish_sends(r) < 0 || session_send_answers(r) < 0) {
        return SERVE_ERROR;
    }
    if (r->channel->closed && !was_closed) {
        return SERVE_CLOSED;
    }
    int waits = session_stalled(r);
    if (waits != 0) {
        return waits < 0 ? SERVE_ERROR : SERVE_STALLED;
    }
    return session_take_unsent(r) < 0 ? SERVE_ERROR : SERVE_ON;
}

/* A path may have taken long: it made a plan, or examined many messages with a filter in Python. */
static serve_result request_yield(reading *r)
{
    if (r->until == 0 || hub_nanoseconds() <= r->until) {
        return SERVE_ON;
    }
    serve_result before = run_serve(r);
    return before == SERVE_ON ? SERVE_OTHERS : before;
}

/* Serve the present frame, which begins at `at`; advances behind it if it was taken. */
static serve_result serve_frame(reading *r, const frame *cut)
{
    header head;
    path_result result = PATH_HANDED_OVER;
    destination to = destination_of(r, cut, &head);
    if (to != FOR_PYTHON) {
        serve_result before = run_serve(r);
        if (before == SERVE_ON) {
            before = relieve(r);
        }
        if (before != SERVE_ON) {
            return before;
        }
        if (to == FOR_SENDS) {
            result = sends_offer(r->hub->sends, cut, &head, &r->context);
            r->refused = result == PATH_HANDED_OVER ? r->refused + 1 : 0;
        } else {
            result = run_finish_sends(r) < 0 ? PATH_ERROR : pulls_offer(r->hub->pulls, cut, &head, &r->context);
        }
        if (result == PATH_ERROR) {
            return SERVE_ERROR;
        }
        if (result == PATH_TAKEN) {
            *(to == FOR_SENDS ? &r->hub->took_sends : &r->hub->took_pulls) = 1;
            if (r->hub->timed) {
                latency_request(r->taken, head.code);
            }
        }
    }
    if (result == PATH_HANDED_OVER && run_add(r, cut) < 0) {
        return SERVE_ERROR;
    }
    r->at += cut->size;
    return to == FOR_PYTHON ? SERVE_ON : request_yield(r); /* Python reads the clock itself */
}

/* The frame at `at`; one beyond the limit is refused as soon as both words are read. */
static frame_state next(const reading *r, frame *cut)
{
    size_t there = r->end - r->at;
    frame_state state = frame_next(span_of(r->bytes + r->at, there), cut);
    return there >= FRAME_WORDS && (long long)cut->size > r->hub->max_frame ? FRAME_BAD : state;
}

serve_result frames_serve(reading *r)
{
    r->until = r->hub->read_ns > 0 ? hub_nanoseconds() + r->hub->read_ns : 0;
    for (;;) {
        frame cut;
        frame_state state = next(r, &cut);
        serve_result found = state == FRAME_WHOLE ? serve_frame(r, &cut) : run_serve(r);
        if (found == SERVE_AGAIN) {
            continue;
        }
        if (found != SERVE_ON || state == FRAME_PART) {
            return found;
        }
        if (state == FRAME_BAD) {
            return SERVE_NO_FRAME;
        }
    }
}

#else
typedef int serving_is_empty;
#endif
