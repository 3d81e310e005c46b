/* A commit log record and a consume queue entry, as wire.facts.record.RECORD and store.layout.consume_queue declare
 * them. */
#ifndef ROCKETWIRE_RECORD_H
#define ROCKETWIRE_RECORD_H

#include "core/facts.h"
#include "core/span.h"

typedef struct {
    span topic_field; /* length and UTF-8, as ConsumeQueue.topic_field */
    int32_t magic, queue_id, flag, sys_flag, reconsume_times;
    int64_t queue_offset, physical_offset, born_timestamp, store_timestamp, prepared_offset;
    span born_host, store_host; /* 8 or 20 bytes each; the sysFlag's bits for them are set by record_write */
    span body;
    span properties[3]; /* written one behind the other; their lengths together fit 15 bits */
} record;

size_t record_size(const record *from);

/* Write it. With `whole` false the size word stays as it is: the caller publishes the group by writing the first
 * record's size last (see store.log.commit_log). */
void record_write(uint8_t *to, const record *from, size_t size, bool whole);

void queue_entry_write(uint8_t *to, int64_t physical_offset, int32_t size, int64_t tags_code);

uint32_t crc32_of(span data); /* zlib's CRC-32 */

#endif
