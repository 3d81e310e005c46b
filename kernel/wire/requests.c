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

static inline bool is_bool(span text) { return span_is_text(text, "true") || span_is_text(text, "false"); }

/* Whether an unknown field can be skipped, as Python does: not if its escapes are unchecked, or if it is for access
 * control. */
static bool is_skippable(const header_field *field)
{
    return !field->escaped && !span_is_text(field->name, FIELD_ACCESS_KEY) &&
           !span_is_text(field->name, FIELD_SIGNATURE) && !span_is_text(field->name, FIELD_SECURITY_TOKEN);
}

/* The letter that a send's field has in the V2 form; 0: a name that is not known. */
static char letter_of(span name)
{
    switch (name.len) {
    case 4:
        return span_is_text(name, FIELD_FLAG) ? SHORT_FLAG : 0;
    case 5:
        return span_is_text(name, FIELD_TOPIC)   ? SHORT_TOPIC
               : span_is_text(name, FIELD_BATCH) ? SHORT_BATCH
               : span_is_text(name, FIELD_BNAME) ? SHORT_BNAME
                                                 : 0;
    case 7:
        return span_is_text(name, FIELD_QUEUE_ID)   ? SHORT_QUEUE_ID
               : span_is_text(name, FIELD_SYS_FLAG) ? SHORT_SYS_FLAG
                                                    : 0;
    case 8:
        return span_is_text(name, FIELD_UNIT_MODE) ? SHORT_UNIT_MODE : 0;
    case 10:
        return span_is_text(name, FIELD_PROPERTIES) ? SHORT_PROPERTIES : 0;
    case 12:
        return span_is_text(name, FIELD_DEFAULT_TOPIC) ? SHORT_DEFAULT_TOPIC : 0;
    case 13:
        return span_is_text(name, FIELD_PRODUCER_GROUP)   ? SHORT_PRODUCER_GROUP
               : span_is_text(name, FIELD_BORN_TIMESTAMP) ? SHORT_BORN_TIMESTAMP
                                                          : 0;
    case 14:
        return span_is_text(name, FIELD_RECONSUME_TIMES) ? SHORT_RECONSUME_TIMES : 0;
    case 17:
        return span_is_text(name, FIELD_MAX_RECONSUME_TIMES) ? SHORT_MAX_RECONSUME_TIMES : 0;
    case 21:
        return span_is_text(name, FIELD_DEFAULT_TOPIC_QUEUE_NUMS) ? SHORT_DEFAULT_TOPIC_QUEUE_NUMS : 0;
    default:
        return 0;
    }
}

static inline bool take_send_field(const header_field *field, char letter, send_request *found)
{
    span value = field->value;
    int32_t number;
    switch (letter) {
    case SHORT_PRODUCER_GROUP:
        return plain(field, &found->producer_group);
    case SHORT_TOPIC:
        return plain(field, &found->topic);
    case SHORT_DEFAULT_TOPIC:
        return plain(field, &found->default_topic);
    case SHORT_DEFAULT_TOPIC_QUEUE_NUMS:
        return read_int32(value, &found->default_topic_queue_nums);
    case SHORT_QUEUE_ID:
        return read_int32(value, &found->queue_id);
    case SHORT_SYS_FLAG:
        return read_int32(value, &found->sys_flag);
    case SHORT_BORN_TIMESTAMP:
        return read_int64(value, &found->born_timestamp);
    case SHORT_FLAG:
        return read_int32(value, &found->flag);
    case SHORT_PROPERTIES:
        found->properties = value;
        found->properties_escaped = field->escaped;
        return true;
    case SHORT_RECONSUME_TIMES:
        found->has_reconsume_times = true;
        return read_int32(value, &found->reconsume_times);
    case SHORT_UNIT_MODE:
        found->unit_mode = value;
        return is_bool(value);
    case SHORT_MAX_RECONSUME_TIMES:
        found->max_reconsume_times = value;
        return read_int32(value, &number);
    case SHORT_BATCH:
        found->batch = value.len == 4;
        return is_bool(value);
    default: /* SHORT_BNAME */
        return plain(field, &found->bname);
    }
}

bool send_read(const header *from, send_request *found)
{
    bool shortened = from->code == CODE_SEND_MESSAGE_V2 || from->code == CODE_SEND_BATCH_MESSAGE;
    if ((!shortened && from->code != CODE_SEND_MESSAGE) || !is_request(from)) {
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
                field->name.len == 1 && field->name.at[0] >= SHORT_PRODUCER_GROUP && field->name.at[0] <= SHORT_BNAME
                    ? (char)field->name.at[0]
                    : 0;
        }
        if (letter == 0) {
            if (!is_skippable(field)) {
                return false;
            }
            continue;
        }
        fields_seen bit = 1u << (letter - SHORT_PRODUCER_GROUP);
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
        return span_is_text(name, FIELD_TOPIC) ? TOPIC : span_is_text(name, FIELD_BNAME) ? BNAME : 0;
    case 7:
        return span_is_text(name, FIELD_QUEUE_ID) ? QUEUE_ID : span_is_text(name, FIELD_SYS_FLAG) ? SYS_FLAG : 0;
    case 10:
        return span_is_text(name, FIELD_MAX_MSG_NUMS)  ? MAX_MSG_NUMS
               : span_is_text(name, FIELD_SUB_VERSION) ? SUB_VERSION
                                                       : 0;
    case 11:
        return span_is_text(name, FIELD_QUEUE_OFFSET)    ? QUEUE_OFFSET
               : span_is_text(name, FIELD_MAX_MSG_BYTES) ? MAX_MSG_BYTES
                                                         : 0;
    case 12:
        return span_is_text(name, FIELD_COMMIT_OFFSET)  ? COMMIT_OFFSET
               : span_is_text(name, FIELD_SUBSCRIPTION) ? SUBSCRIPTION
                                                        : 0;
    case 13:
        return span_is_text(name, FIELD_CONSUMER_GROUP) ? CONSUMER_GROUP : 0;
    case 14:
        return span_is_text(name, FIELD_EXPRESSION_TYPE) ? EXPRESSION_TYPE : 0;
    case 20:
        return span_is_text(name, FIELD_SUSPEND_TIMEOUT_MILLIS) ? SUSPEND_TIMEOUT_MILLIS : 0;
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
            if (!is_skippable(field)) {
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
    return (from->code == CODE_PULL_MESSAGE || from->code == CODE_LITE_PULL_MESSAGE) &&
           take_pull_fields(from, ~0u, OF_PULLS, found);
}

bool offset_read(const header *from, offset_request *found)
{
    pull_request fields; /* an update has some of a pull's fields, under the same names */
    if (from->code != CODE_UPDATE_CONSUMER_OFFSET || !take_pull_fields(from, OF_OFFSETS | BNAME, OF_OFFSETS, &fields)) {
        return false;
    }
    *found = (offset_request){fields.consumer_group, fields.topic, fields.queue_id, fields.commit_offset};
    return true;
}

/* Fill in a request with its fields, each once; every one of `needed` must be there. `take` reads one field, and gives
 * its bit, or 0 for one that is skipped. */
static bool take_fields(const header *from, bool (*take)(const header_field *field, void *request, fields_seen *which),
                        fields_seen needed, void *request)
{
    fields_seen seen = 0;
    for (const header_field *field = from->fields; field != from->fields + from->count; field++) {
        fields_seen which;
        if (!take(field, request, &which) || (seen & which)) {
            return false;
        }
        seen |= which;
    }
    return (seen & needed) == needed;
}

enum {
    BACK_GROUP = 1,
    BACK_OFFSET = 1 << 1,
    BACK_DELAY_LEVEL = 1 << 2,
    BACK_UNIT_MODE = 1 << 3,
    BACK_MAX_TIMES = 1 << 4,
    BACK_ORIGIN_MSG_ID = 1 << 5,
    BACK_ORIGIN_TOPIC = 1 << 6,
    BACK_BNAME = 1 << 7,
    BACK_NEEDED = BACK_GROUP | BACK_OFFSET | BACK_DELAY_LEVEL
};

static bool take_back_field(const header_field *field, void *request, fields_seen *which)
{
    send_back_request *found = request;
    span name = field->name, unused;
    if (span_is_text(name, FIELD_GROUP)) {
        *which = BACK_GROUP;
        return plain(field, &found->group);
    }
    if (span_is_text(name, FIELD_OFFSET)) {
        *which = BACK_OFFSET;
        return read_int64(field->value, &found->offset);
    }
    if (span_is_text(name, FIELD_DELAY_LEVEL)) {
        *which = BACK_DELAY_LEVEL;
        return read_int32(field->value, &found->delay_level);
    }
    if (span_is_text(name, FIELD_UNIT_MODE)) {
        *which = BACK_UNIT_MODE;
        found->unit_mode = span_is_text(field->value, "true");
        return is_bool(field->value);
    }
    if (span_is_text(name, FIELD_MAX_RECONSUME_TIMES)) {
        *which = BACK_MAX_TIMES;
        found->has_max_times = true;
        return read_int32(field->value, &found->max_times);
    }
    *which = span_is_text(name, FIELD_ORIGIN_MSG_ID)  ? BACK_ORIGIN_MSG_ID
             : span_is_text(name, FIELD_ORIGIN_TOPIC) ? BACK_ORIGIN_TOPIC
             : span_is_text(name, FIELD_BNAME)        ? BACK_BNAME
                                                      : 0;
    return *which != 0 ? plain(field, &unused) : is_skippable(field);
}

bool send_back_read(const header *from, send_back_request *found)
{
    if (from->code != CODE_CONSUMER_SEND_MSG_BACK || !is_request(from)) {
        return false;
    }
    memset(found, 0, sizeof *found);
    return take_fields(from, take_back_field, BACK_NEEDED, found);
}

enum {
    END_GROUP = 1,
    END_TABLE_OFFSET = 1 << 1,
    END_LOG_OFFSET = 1 << 2,
    END_DECISION = 1 << 3,
    END_FROM_CHECK = 1 << 4,
    END_MSG_ID = 1 << 5,
    END_TRANSACTION_ID = 1 << 6,
    END_BNAME = 1 << 7,
    END_NEEDED = END_GROUP | END_TABLE_OFFSET | END_LOG_OFFSET | END_DECISION
};

static bool take_end_field(const header_field *field, void *request, fields_seen *which)
{
    end_request *found = request;
    span name = field->name, unused;
    if (span_is_text(name, FIELD_PRODUCER_GROUP)) {
        *which = END_GROUP;
        return plain(field, &found->producer_group);
    }
    if (span_is_text(name, FIELD_TRAN_STATE_TABLE_OFFSET)) {
        *which = END_TABLE_OFFSET;
        return read_int64(field->value, &found->tran_state_table_offset);
    }
    if (span_is_text(name, FIELD_COMMIT_LOG_OFFSET)) {
        *which = END_LOG_OFFSET;
        return read_int64(field->value, &found->commit_log_offset);
    }
    if (span_is_text(name, FIELD_COMMIT_OR_ROLLBACK)) {
        *which = END_DECISION;
        return read_int32(field->value, &found->commit_or_rollback);
    }
    if (span_is_text(name, FIELD_FROM_TRANSACTION_CHECK)) {
        *which = END_FROM_CHECK;
        return is_bool(field->value);
    }
    *which = span_is_text(name, FIELD_MSG_ID)           ? END_MSG_ID
             : span_is_text(name, FIELD_TRANSACTION_ID) ? END_TRANSACTION_ID
             : span_is_text(name, FIELD_BNAME)          ? END_BNAME
                                                        : 0;
    return *which != 0 ? plain(field, &unused) : is_skippable(field);
}

bool end_read(const header *from, end_request *found)
{
    if (from->code != CODE_END_TRANSACTION || !is_request(from)) {
        return false;
    }
    memset(found, 0, sizeof *found);
    return take_fields(from, take_end_field, END_NEEDED, found);
}
