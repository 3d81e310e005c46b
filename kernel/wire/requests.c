#include "wire/requests.h"

#include "core/decimal.h"

/* The fields of a request that were found, as bits. */
typedef uint32_t fields_seen;

static bool is_request(const header *from) { return (from->flag & ~FLAG_ONEWAY) == 0; }

/* A field that is text, and one that is a number. */
static inline bool plain(const header_field *field, span *value)
{
    *value = field->value;
    return !field->escaped;
}

static inline bool is_bool(span text)
{
    return text.len == 5 ? memcmp(text.at, "false", 5) == 0 : text.len == 4 && memcmp(text.at, "true", 4) == 0;
}

/* Whether an unknown field can be skipped, as Python does: not if its escapes are unchecked, or if it is for access
 * control. */
static bool passed_over(const header_field *field)
{
    return !field->escaped && !span_is(field->name, "AccessKey", 9) && !span_is(field->name, "Signature", 9) &&
           !span_is(field->name, "SecurityToken", 13);
}

/* The letter that a send's field has in the V2 form; 0: a name that is not known. */
static char letter_of(span name)
{
    switch (name.len) {
    case 4:
        return span_is(name, "flag", 4) ? 'h' : 0;
    case 5:
        return span_is(name, "topic", 5) ? 'b' : span_is(name, "batch", 5) ? 'm' : span_is(name, "bname", 5) ? 'n' : 0;
    case 7:
        return span_is(name, "queueId", 7) ? 'e' : span_is(name, "sysFlag", 7) ? 'f' : 0;
    case 8:
        return span_is(name, "unitMode", 8) ? 'k' : 0;
    case 10:
        return span_is(name, "properties", 10) ? 'i' : 0;
    case 12:
        return span_is(name, "defaultTopic", 12) ? 'c' : 0;
    case 13:
        return span_is(name, "producerGroup", 13) ? 'a' : span_is(name, "bornTimestamp", 13) ? 'g' : 0;
    case 14:
        return span_is(name, "reconsumeTimes", 14) ? 'j' : 0;
    case 17:
        return span_is(name, "maxReconsumeTimes", 17) ? 'l' : 0;
    case 21:
        return span_is(name, "defaultTopicQueueNums", 21) ? 'd' : 0;
    default:
        return 0;
    }
}

static inline bool take_send_field(const header_field *field, char letter, send_request *found)
{
    span value = field->value;
    int32_t number;
    switch (letter) {
    case 'a':
        return plain(field, &found->producer_group);
    case 'b':
        return plain(field, &found->topic);
    case 'c':
        return plain(field, &found->default_topic);
    case 'd':
        return read_int32(value, &found->default_topic_queue_nums);
    case 'e':
        return read_int32(value, &found->queue_id);
    case 'f':
        return read_int32(value, &found->sys_flag);
    case 'g':
        return read_int64(value, &found->born_timestamp);
    case 'h':
        return read_int32(value, &found->flag);
    case 'i':
        found->properties = value;
        found->properties_escaped = field->escaped;
        return true;
    case 'j':
        found->has_reconsume_times = true;
        return read_int32(value, &found->reconsume_times);
    case 'k':
        found->unit_mode = value;
        return is_bool(value);
    case 'l':
        found->max_reconsume_times = value;
        return read_int32(value, &number);
    case 'm':
        found->batch = value.len == 4;
        return is_bool(value);
    default: /* 'n' */
        return plain(field, &found->bname);
    }
}

bool send_read(const header *from, send_request *found)
{
    bool shortened = from->code == CODE_SEND_V2 || from->code == CODE_SEND_BATCH;
    if ((!shortened && from->code != CODE_SEND) || !is_request(from)) {
        return false;
    }
    memset(found, 0, sizeof *found);
    fields_seen seen = 0;
    for (const header_field *field = from->fields; field != from->fields + from->count; field++) {
        char letter;
        if (!shortened) {
            letter = letter_of(field->name);
        } else {
            letter =
                field->name.len == 1 && field->name.at[0] >= 'a' && field->name.at[0] <= 'n' ? field->name.at[0] : 0;
        }
        if (letter == 0) {
            if (!passed_over(field)) {
                return false;
            }
            continue;
        }
        fields_seen bit = 1u << (letter - 'a');
        if ((seen & bit) || !take_send_field(field, letter, found)) {
            return false;
        }
        seen |= bit;
    }
    return (seen & 0xFF) == 0xFF; /* a to h must be there */
}

enum {
    CONSUMER_GROUP = 1,
    TOPIC = 1 << 1,
    QUEUE_ID = 1 << 2,
    COMMIT_OFFSET = 1 << 3,
    QUEUE_OFFSET = 1 << 4,
    MAX_MSG_NUMS = 1 << 5,
    SYS_FLAG = 1 << 6,
    SUSPEND_TIMEOUT_MILLIS = 1 << 7,
    SUB_VERSION = 1 << 8,
    SUBSCRIPTION = 1 << 9,
    EXPRESSION_TYPE = 1 << 10,
    BNAME = 1 << 11,
    MAX_MSG_BYTES = 1 << 12,
    OF_OFFSETS = CONSUMER_GROUP | TOPIC | QUEUE_ID | COMMIT_OFFSET,
    OF_PULLS = OF_OFFSETS | QUEUE_OFFSET | MAX_MSG_NUMS | SYS_FLAG | SUSPEND_TIMEOUT_MILLIS | SUB_VERSION
};

/* Which field of a pull it is; 0: none that is known. */
static fields_seen pull_field(span name)
{
    switch (name.len) {
    case 5:
        return span_is(name, "topic", 5) ? TOPIC : span_is(name, "bname", 5) ? BNAME : 0;
    case 7:
        return span_is(name, "queueId", 7) ? QUEUE_ID : span_is(name, "sysFlag", 7) ? SYS_FLAG : 0;
    case 10:
        return span_is(name, "maxMsgNums", 10) ? MAX_MSG_NUMS : span_is(name, "subVersion", 10) ? SUB_VERSION : 0;
    case 11:
        return span_is(name, "queueOffset", 11) ? QUEUE_OFFSET : span_is(name, "maxMsgBytes", 11) ? MAX_MSG_BYTES : 0;
    case 12:
        return span_is(name, "commitOffset", 12) ? COMMIT_OFFSET : span_is(name, "subscription", 12) ? SUBSCRIPTION : 0;
    case 13:
        return span_is(name, "consumerGroup", 13) ? CONSUMER_GROUP : 0;
    case 14:
        return span_is(name, "expressionType", 14) ? EXPRESSION_TYPE : 0;
    case 20:
        return span_is(name, "suspendTimeoutMillis", 20) ? SUSPEND_TIMEOUT_MILLIS : 0;
    default:
        return 0;
    }
}

static bool take_pull_field(const header_field *field, fields_seen which, pull_request *found)
{
    switch (which) {
    case CONSUMER_GROUP:
        return plain(field, &found->consumer_group);
    case TOPIC:
        return plain(field, &found->topic);
    case QUEUE_ID:
        return read_int32(field->value, &found->queue_id);
    case COMMIT_OFFSET:
        return read_int64(field->value, &found->commit_offset);
    case QUEUE_OFFSET:
        return read_int64(field->value, &found->queue_offset);
    case MAX_MSG_NUMS:
        return read_int32(field->value, &found->max_msg_nums);
    case SYS_FLAG:
        return read_int32(field->value, &found->sys_flag);
    case SUSPEND_TIMEOUT_MILLIS:
        return read_int64(field->value, &found->suspend_timeout_millis);
    case SUB_VERSION:
        return read_int64(field->value, &found->sub_version);
    case SUBSCRIPTION:
        return plain(field, &found->subscription);
    case EXPRESSION_TYPE:
        return plain(field, &found->expression_type);
    case BNAME:
        return plain(field, &found->bname);
    default: /* MAX_MSG_BYTES */
        found->has_max_msg_bytes = true;
        return read_int32(field->value, &found->max_msg_bytes);
    }
}

/* Fill `found` with the fields of `known`; every one of `needed` must be there. */
static bool take_pull_fields(const header *from, fields_seen known, fields_seen needed, pull_request *found)
{
    if (!is_request(from)) {
        return false;
    }
    memset(found, 0, sizeof *found);
    fields_seen seen = 0;
    for (const header_field *field = from->fields; field != from->fields + from->count; field++) {
        fields_seen which = pull_field(field->name) & known;
        if (which == 0) {
            if (!passed_over(field)) {
                return false;
            }
            continue;
        }
        if ((seen & which) || !take_pull_field(field, which, found)) {
            return false;
        }
        seen |= which;
    }
    return (seen & needed) == needed;
}

bool pull_read(const header *from, pull_request *found)
{
    return (from->code == CODE_PULL || from->code == CODE_LITE_PULL) && take_pull_fields(from, ~0u, OF_PULLS, found);
}

bool offset_read(const header *from, offset_request *found)
{
    pull_request fields; /* an update has some of a pull's fields, under the same names */
    if (from->code != CODE_UPDATE_OFFSET || !take_pull_fields(from, OF_OFFSETS | BNAME, OF_OFFSETS, &fields)) {
        return false;
    }
    *found = (offset_request){fields.consumer_group, fields.topic, fields.queue_id, fields.commit_offset};
    return true;
}
