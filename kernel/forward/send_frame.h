/* The frame of a SEND_MESSAGE_V2 request to a broker, its header in JSON as wire.header writes it. */
#ifndef ROCKETWIRE_SEND_FRAME_H
#define ROCKETWIRE_SEND_FRAME_H

#include "core/span.h"

enum { SEND_FRAME_TEXTS = 6 };

/* The texts of the header around queue, sysFlag, birth, properties and opaque, which differ from send to send. */
typedef struct {
    span texts[SEND_FRAME_TEXTS];
} send_frame_texts;

typedef struct {
    int32_t queue_id, sys_flag, opaque;
    int64_t born_timestamp;
    span properties, body; /* UTF-8 */
} framed_send;

/* Bytes that the frame has at most. */
size_t send_frame_most(const send_frame_texts *around, const framed_send *send);

/* Write it; returns its end. */
uint8_t *send_frame_write(uint8_t *to, const send_frame_texts *around, const framed_send *send);

#endif
