/* wire.facts.record.RECORD and store.layout.consume_queue.ENTRY. */

#include "message/record.h"

enum { WITHOUT_HOSTS = RECORD_BODY_AT - 2 * HOST_V4_SIZE }; /* of a record's head */

static size_t properties_length(const record *from)
{
    return from->properties[0].len + from->properties[1].len + from->properties[2].len;
}

size_t record_size(const record *from)
{
    return WITHOUT_HOSTS + from->born_host.len + from->store_host.len + from->body.len + from->topic_field.len + 2 +
           properties_length(from);
}

void record_write(uint8_t *to, const record *from, size_t size, bool whole)
{
    int32_t sys_flag = from->sys_flag & ~RECORD_HOST_BITS;
    if (from->born_host.len == HOST_V6_SIZE) sys_flag |= SYS_FLAG_BORN_HOST_V6;
    if (from->store_host.len == HOST_V6_SIZE) sys_flag |= SYS_FLAG_STORE_HOST_V6;

    uint8_t *p = whole ? put32(to, (uint32_t)size) : to + RECORD_MAGIC_AT;
    p = put32(p, (uint32_t)from->magic);
    p = put32(p, crc32_of(from->body) & RECORD_CRC_MASK);
    p = put32(p, (uint32_t)from->queue_id);
    p = put32(p, (uint32_t)from->flag);
    p = put64(p, (uint64_t)from->queue_offset);
    p = put64(p, (uint64_t)from->physical_offset);
    p = put32(p, (uint32_t)sys_flag);
    p = put64(p, (uint64_t)from->born_timestamp);
    p = put_span(p, from->born_host);
    p = put64(p, (uint64_t)from->store_timestamp);
    p = put_span(p, from->store_host);
    p = put32(p, (uint32_t)from->reconsume_times);
    p = put64(p, (uint64_t)from->prepared_offset);
    p = put32(p, (uint32_t)from->body.len);
    p = put_span(p, from->body);
    p = put_span(p, from->topic_field);
    p = put16(p, (uint16_t)properties_length(from));
    for (int i = 0; i < 3; i++) p = put_span(p, from->properties[i]);
}

void queue_entry_write(uint8_t *to, int64_t physical_offset, int32_t size, int64_t tags_code)
{
    put64(put32(put64(to, (uint64_t)physical_offset), (uint32_t)size), (uint64_t)tags_code);
}
