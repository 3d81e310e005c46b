#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void prepare_pull(struct run *run)
{
    const struct options *o = run->options;
    unsigned char frame[FRAME_ROOM];
    run->max_offsets = zeroed((size_t)o->queues, sizeof *run->max_offsets);
    for (int i = 0; i < o->connections; i++) {
        char client[64];
        snprintf(client, sizeof client, "127.0.0.1@load%d-%d", (int)getpid(), i);
        size_t size = write_heartbeat(frame, 1, o->topic, o->group, client, o->sql);
        connection_ask(&run->lanes[i].connection, frame, size, 1, 0, "heartbeat");
    }
    for (int queue = 0; queue < o->queues; queue++) {
        size_t size = write_max_offset(frame, 2, o->topic, o->broker_name, queue);
        struct answer answer = connection_ask(&run->lanes[0].connection, frame, size, 2, 0, "max offset");
        if (answer.offset < o->batch)
            fail("queue %d of %s holds %lld messages: fill it first", queue, o->topic, (long long)answer.offset);
        run->max_offsets[queue] = answer.offset;
    }
    /* Slots of one queue start evenly spread over it. */
    int slots = o->connections * o->window, shares = (slots + o->queues - 1) / o->queues;
    for (int i = 0; i < slots; i++) {
        struct slot *slot = &run->lanes[i / o->window].slots[i % o->window];
        slot->queue = i % o->queues;
        slot->offset = run->max_offsets[slot->queue] / shares * (i / o->queues);
    }
}

void prepare_send(struct run *run)
{
    const struct options *o = run->options;
    struct message_shape shape = shape_of(o);
    memcpy(run->unique_prefix, shape.unique_prefix, sizeof run->unique_prefix);
    run->items = shape.batch > 0 ? shape.batch : 1;
    run->templates = zeroed((size_t)o->queues, sizeof *run->templates);
    for (int queue = 0; queue < o->queues; queue++)
        make_send_template(&run->templates[queue], &shape, queue);
}
