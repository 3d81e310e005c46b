/* Message ids with another host in place of the broker's: the same rules as wire.message_id_hosts. */
#ifndef ROCKETWIRE_ID_HOSTS_H
#define ROCKETWIRE_ID_HOSTS_H

#include "core/span.h"

enum { HOST_DIGITS_MOST = 40 }; /* of an IPv6 address and its port */

typedef struct {
    uint8_t old[HOST_DIGITS_MOST], new[HOST_DIGITS_MOST];
    size_t digits; /* of each of both; 0: nothing is replaced */
} id_hosts;

#define UNEQUAL_HOSTS "hosts of message ids are of one length, at most 40 digits"

/* False: they are of two lengths, or too long. */
bool id_hosts_set(id_hosts *hosts, span old, span new_);

/* In place, in the header of a frame. */
void id_hosts_rewrite(uint8_t *header, size_t size, uint8_t serialize_type, const id_hosts *hosts);

#endif
