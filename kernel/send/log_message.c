#include "send/log_message.h"

#include "core/facts.h"

bool log_message_read(const LogTail *log, int64_t place, log_message *made)
{
    if (!log->has_view || place < log->base || place > log->position - RECORD_BODY_AT) return false;
    const uint8_t *at = (const uint8_t *)log->view.buf + (place - log->base);
    int64_t size = (int32_t)get32(at), there = log->position - place;
    if (size < RECORD_SMALLEST || size > there || (int32_t)get32(at + RECORD_MAGIC_AT) != RECORD_MAGIC_V1) return false;
    *made = (log_message){
        .queue_id = (int32_t)get32(at + RECORD_QUEUE_ID_AT),
        .flag = (int32_t)get32(at + RECORD_FLAG_AT),
        .queue_offset = (int64_t)get64(at + RECORD_QUEUE_OFFSET_AT),
        .sys_flag = (int32_t)get32(at + RECORD_SYS_FLAG_AT),
        .born_timestamp = (int64_t)get64(at + RECORD_BORN_TIMESTAMP_AT),
        .born_host = span_of(at + RECORD_BORN_HOST_AT, HOST_V4_SIZE),
        .store_host = span_of(at + RECORD_STORE_HOST_AT, HOST_V4_SIZE),
        .reconsume_times = (int32_t)get32(at + RECORD_RECONSUME_TIMES_AT),
        .mapping = log->view.buf,
    };
    if (made->sys_flag & RECORD_HOST_BITS || (int64_t)get64(at + RECORD_PHYSICAL_OFFSET_AT) != place) return false;
    int64_t body = (int32_t)get32(at + RECORD_BODY_LENGTH_AT), left = size - RECORD_BODY_AT - 1 - 2;
    if (body < 0 || body > left) return false;
    const uint8_t *topic = at + RECORD_BODY_AT + body;
    int64_t properties = left - body - topic[0];
    if (properties <= 0 || properties > MAX_PROPERTIES_LENGTH) return false;
    const uint8_t *behind = topic + 1 + topic[0];
    if (get16(behind) != properties) return false;
    made->body = span_of(at + RECORD_BODY_AT, (size_t)body);
    made->topic = span_of(topic + 1, topic[0]);
    made->properties = span_of(behind + 2, (size_t)properties);
    properties_look(made->properties, &made->found);
    return true;
}

bool log_message_is_mapped(const LogTail *log, const log_message *message)
{
    return log->has_view && log->view.buf == message->mapping;
}
