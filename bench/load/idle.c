#include "runs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "connection.h"
#include "frames.h"

void run_idle(const struct options *o)
{
    struct connection connection;
    unsigned char *frame = zeroed(1, FRAME_ROOM + (size_t)o->size);
    struct message_shape shape = shape_of(o);
    struct request_template request;
    char born[BORN_DIGITS + 1];
    write_born(born);
    make_send_template(&request, &shape, 0);
    for (int i = 0; i < o->connections; i++) {
        connection_open(&connection, o->host, o->port, i);
        size_t size = write_send(frame, &request, FIRST_OPAQUE, born, (uint64_t)i);
        connection_ask(&connection, frame, size, FIRST_OPAQUE, 0, "send");
        connection_forget(&connection);
    }
    printf("{\"mode\": \"idle\", \"connections\": %d, \"errors\": 0}\n", o->connections);
    fflush(stdout);
    for (char byte; read(STDIN_FILENO, &byte, 1) > 0;)
        ;
}
