/* What a relay has to know of a frame: three numbers of its header, found without reading the rest. */
#ifndef ROCKETWIRE_HEAD_H
#define ROCKETWIRE_HEAD_H

#include "core/span.h"

typedef struct {
    int32_t code, opaque, flag;
} head;

/* False: they are not there in a usual form. */
bool head_read(span header, uint8_t serialize_type, head *found);

#endif
