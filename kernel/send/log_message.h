/* A message of the log that a request names by its place: read in the file being written, to be stored once more. */
#ifndef ROCKETWIRE_LOG_MESSAGE_H
#define ROCKETWIRE_LOG_MESSAGE_H

#include "log/tails.h"
#include "message/properties.h"

typedef struct {
    span topic, body, properties, born_host, store_host; /* in the mapping of the log; hosts of IPv4 */
    int64_t born_timestamp, queue_offset;
    int32_t flag, sys_flag, reconsume_times, queue_id;
    properties_found found; /* of the properties */
    const void *mapping;
} log_message;

/* Find the record at a place. False: it is not in the file being written, or for Python, which reads any. */
bool log_message_read(const LogTail *log, int64_t place, log_message *made);

/* Whether the message can be read still: Python, when it is called, may replace the mapping of the log. */
bool log_message_is_mapped(const LogTail *log, const log_message *message);

#endif
