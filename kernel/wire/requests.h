/* The fields of the requests that the kernel serves, picked out of a header: sends (10, 310, 320), messages given
 * back (36), ends of transactions (37), pulls (11, 361), offset updates (15). False: a field is missing, duplicate,
 * unknown, or not written as by official clients. */
#ifndef ROCKETWIRE_REQUESTS_H
#define ROCKETWIRE_REQUESTS_H

#include "core/facts.h"
#include "wire/header.h"

typedef struct {
    span producer_group, topic, default_topic;  /* without escapes */
    span unit_mode, max_reconsume_times, bname; /* as text; at == NULL: not there */
    int32_t default_topic_queue_nums, queue_id, sys_flag, flag, reconsume_times;
    bool has_reconsume_times;
    bool batch;
    int64_t born_timestamp;
    span properties; /* raw; at == NULL: not there */
    bool properties_escaped;
} send_request;

typedef struct {
    span consumer_group, topic;                /* without escapes */
    span subscription, expression_type, bname; /* without escapes; at == NULL: not there */
    int32_t queue_id, max_msg_nums, sys_flag, max_msg_bytes;
    bool has_max_msg_bytes;
    int64_t queue_offset, commit_offset, suspend_timeout_millis, sub_version;
} pull_request;

typedef struct {
    span consumer_group, topic;
    int32_t queue_id;
    int64_t commit_offset;
} offset_request;

typedef struct {
    span group;
    int64_t offset;
    int32_t delay_level, max_times;
    bool unit_mode, has_max_times;
} send_back_request;

typedef struct {
    span producer_group;
    int64_t tran_state_table_offset, commit_log_offset;
    int32_t commit_or_rollback;
} end_request;

bool send_read(const header *from, send_request *found);
bool pull_read(const header *from, pull_request *found);
bool offset_read(const header *from, offset_request *found);
bool send_back_read(const header *from, send_back_request *found);
bool end_read(const header *from, end_request *found);

#endif
