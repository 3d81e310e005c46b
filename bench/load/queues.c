#include "queues.h"

#include <poll.h>

#include "frames.h"

enum { PATIENCE_MS = 15000 };

static const char WHAT[] = "max offset";

int64_t queue_ends(struct connection *connection, const struct options *o, int64_t *ends)
{
    int64_t sum = 0;
    int open = o->queues;
    for (int queue = 0; queue < o->queues; queue++) {
        unsigned char *room = connection_room(connection, FRAME_ROOM);
        connection->out_end +=
            write_max_offset(room, FIRST_OPAQUE + (uint32_t)queue, o->topic, o->broker_name, queue);
    }
    while (connection_flush(connection))
        poll(&(struct pollfd){.fd = connection->fd, .events = POLLOUT}, 1, PATIENCE_MS);
    while (open > 0) {
        struct answer answer;
        if (!connection_next(connection, &answer)) {
            if (poll(&(struct pollfd){.fd = connection->fd, .events = POLLIN}, 1, PATIENCE_MS) == 0)
                fail("%s: no answer for %d s", WHAT, PATIENCE_MS / 1000);
            connection_receive(connection);
        } else if (answer.flag & FLAG_RESPONSE) {
            int64_t queue = answer.opaque - FIRST_OPAQUE;
            require_success(&answer, WHAT);
            if (queue < 0 || queue >= o->queues)
                fail("%s: answer to another request", WHAT);
            sum += ends[queue] = answer.offset;
            open--;
        }
    }
    return sum;
}
