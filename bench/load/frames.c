#include "frames.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/facts.h"

#define NAMED(field) "\"" field "\":\"" /* a field of the JSON, up to its value */

enum { MAX_RECONSUME_TIMES = 16, PROPERTIES_ROOM = 600, PULL_TEXT = 480 /* more than all of a pull but its names */ };

#define TAIL_BEFORE_OPAQUE ",\"flag\":0,\"language\":\"JAVA\",\"opaque\":"
#define TAIL_AFTER_OPAQUE ",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":407}"
#define TAIL TAIL_BEFORE_OPAQUE "%010u" TAIL_AFTER_OPAQUE

static void put32(unsigned char *p, uint32_t value)
{
    p[0] = (unsigned char)(value >> 24);
    p[1] = (unsigned char)(value >> 16);
    p[2] = (unsigned char)(value >> 8);
    p[3] = (unsigned char)value;
}

static void put_digits(unsigned char *p, uint64_t value, int digits, unsigned base)
{
    while (digits-- > 0) {
        p[digits] = (unsigned char)"0123456789ABCDEF"[value % base];
        value /= base;
    }
}

/* Frame = length, header mark (serialise type 0), header text as formatted, body. */
__attribute__((format(printf, 5, 6)))
static size_t frame(unsigned char *out, size_t room, const char *body, size_t body_size, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    int header = vsnprintf((char *)out + 8, room - 8, format, values);
    va_end(values);
    if (header < 0 || (size_t)header + 8 + body_size >= room) {
        fprintf(stderr, "load: a request does not fit its buffer (topic or group name too long)\n");
        exit(2);
    }
    memcpy(out + 8 + header, body, body_size);
    put32(out, (uint32_t)(4 + (size_t)header + body_size));
    put32(out + 4, (uint32_t)header);
    return 8 + (size_t)header + body_size;
}

void make_unique_prefix(char prefix[21], int process_id, uint64_t start)
{
    snprintf(prefix, 21, "7F000001%04X%08X", (unsigned)process_id & 0xFFFF, (unsigned)start);
}

void write_born(char born[BORN_DIGITS + 1])
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    snprintf(born, BORN_DIGITS + 1, "%013lld", (long long)wall.tv_sec * 1000 + wall.tv_nsec / 1000000);
}

/* Message properties in the order of the client's map; `sep` is the pair of separators as text of the place
 * (escaped in a JSON header, raw in a batch's body). Returns the length. */
static int properties(char *out, size_t room, const struct message_shape *shape, const char *name_sep,
                      const char *item_sep)
{
    char numbers[64] = "", keys[64] = "", prepared[64] = "", due[64] = "", delay[64] = "", producer[160] = "", tags[160] = "";
    if (shape->numbered)
        snprintf(numbers, sizeof numbers, "a%s0%sb%sx%s", name_sep, item_sep, name_sep, item_sep);
    if (shape->with_keys)
        snprintf(keys, sizeof keys, PROPERTY_KEYS "%sk%012d%s", name_sep, 0, item_sep);
    if (shape->prepared) {
        snprintf(prepared, sizeof prepared, PROPERTY_TRANSACTION_PREPARED "%strue%s", name_sep, item_sep);
        snprintf(producer, sizeof producer, "%s" PROPERTY_PRODUCER_GROUP "%s%s", item_sep, name_sep, shape->group);
    }
    if (shape->with_due)
        snprintf(due, sizeof due, PROPERTY_TIMER_DELIVER_MS "%s%013d%s", name_sep, 0, item_sep);
    if (shape->delay_level > 0)
        snprintf(delay, sizeof delay, "%s" PROPERTY_DELAY "%s%d", item_sep, name_sep, shape->delay_level);
    if (shape->tags != NULL)
        snprintf(tags, sizeof tags, "%s" PROPERTY_TAGS "%s%s", item_sep, name_sep, shape->tags);
    return snprintf(out, room, "%s%s%s%s" PROPERTY_UNIQ_KEY "%s%s%012d%s" PROPERTY_WAIT "%strue%s%s%s", numbers, keys, prepared, due, name_sep,
                    shape->unique_prefix, 0, item_sep, name_sep, delay, producer, tags);
}

/* Place in `data` right after `mark`, which it holds. */
static size_t after(const unsigned char *data, size_t length, const char *mark)
{
    const unsigned char *found = memmem(data, length, mark, strlen(mark));
    return found == NULL ? 0 : (size_t)(found - data) + strlen(mark);
}

/* Body of code 320: messages of the same size, each total size, magic 0, CRC 0, flag 0, body, properties. */
static char *batch_body(const struct message_shape *shape, const char *text, size_t *size, size_t *stride)
{
    char raw[PROPERTIES_ROOM];
    size_t length = (size_t)properties(raw, sizeof raw, shape, "\001", "\002");
    *stride = BATCH_ITEM_BODY_AT + shape->body_size + 2 + length;
    *size = *stride * (size_t)shape->batch;
    char *body = calloc(1, *size);
    for (int i = 0; body != NULL && i < shape->batch; i++) {
        unsigned char *item = (unsigned char *)body + (size_t)i * *stride;
        put32(item, (uint32_t)*stride);
        put32(item + BATCH_ITEM_BODY_LENGTH_AT, (uint32_t)shape->body_size);
        memcpy(item + BATCH_ITEM_BODY_AT, text, shape->body_size);
        unsigned char *behind = item + BATCH_ITEM_BODY_AT + shape->body_size;
        behind[0] = (unsigned char)(length >> 8);
        behind[1] = (unsigned char)length;
        memcpy(behind + 2, raw, length);
    }
    return body;
}

void make_send_template(struct request_template *out, const struct message_shape *shape, int queue)
{
    char props[PROPERTIES_ROOM];
    size_t body_size = shape->body_size;
    char *text = malloc(shape->body_size + 1), *body = text;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; text != NULL && i < shape->body_size; i++)
        text[i] = (char)('a' + i % 26);
    if (shape->batch > 0) {
        body = batch_body(shape, text, &body_size, &out->item_stride);
        snprintf(props, sizeof props, PROPERTY_WAIT "\\u0001true");
    } else {
        properties(props, sizeof props, shape, "\\u0001", "\\u0002");
    }
    out->items = shape->batch > 0 ? shape->batch : 1;
    out->bytes = malloc(FRAME_ROOM + body_size);
    if (text == NULL || body == NULL || out->bytes == NULL)
        abort();
    out->length = frame(out->bytes, FRAME_ROOM + body_size, body, body_size,
                        "{\"code\":%d,\"extFields\":{\"a\":\"%s\",\"b\":\"%s\",\"c\":\"" AUTO_CREATE_TOPIC "\",\"d\":\"%d\",\"e\":\"%d\","
                        "\"f\":\"%d\",\"g\":\"%013d\",\"h\":\"0\",\"i\":\"%s\",\"j\":\"0\",\"k\":\"false\",\"m\":\"%s\","
                        "\"n\":\"%s\"}" TAIL,
                        shape->batch > 0 ? CODE_SEND_BATCH_MESSAGE : CODE_SEND_MESSAGE_V2, shape->group, shape->topic, shape->queues, queue,
                        shape->prepared ? SYS_FLAG_TRANSACTION_PREPARED : 0, 0, props,
                        shape->batch > 0 ? "true" : "false", shape->broker_name, FIRST_OPAQUE);
    out->opaque_at = after(out->bytes, out->length, "\"opaque\":");
    out->born_at = after(out->bytes, out->length, "\"g\":\"");
    out->unique_at = after(out->bytes, out->length, shape->unique_prefix);
    if (shape->with_keys)
        out->keys_at = after(out->bytes, out->length, shape->batch > 0 ? PROPERTY_KEYS "\001k" : PROPERTY_KEYS "\\u0001k");
    if (shape->numbered) {
        out->a_at = after(out->bytes, out->length, shape->batch > 0 ? "a\001" : "\"a\\u0001");
        out->b_at = after(out->bytes, out->length, shape->batch > 0 ? "\002b\001" : "\\u0002b\\u0001");
    }
    if (shape->with_due)
        out->due_at = after(out->bytes, out->length, PROPERTY_TIMER_DELIVER_MS "\\u0001");
    out->queues = (uint64_t)shape->queues;
    if (body != text)
        free(body);
    free(text);
}

void free_template(struct request_template *request)
{
    free(request->bytes);
    request->bytes = NULL;
}

size_t write_send(unsigned char *out, const struct request_template *request, uint32_t opaque, const char *born,
                  uint64_t counter)
{
    memcpy(out, request->bytes, request->length);
    put_digits(out + request->opaque_at, opaque, OPAQUE_DIGITS, 10);
    memcpy(out + request->born_at, born, BORN_DIGITS);
    for (int i = 0; i < request->items; i++) {
        size_t shift = (size_t)i * request->item_stride;
        put_digits(out + request->unique_at + shift, counter + (uint64_t)i, COUNTER_DIGITS, 16);
        if (request->keys_at != 0)
            put_digits(out + request->keys_at + shift, counter + (uint64_t)i, COUNTER_DIGITS, 16);
        if (request->a_at != 0) {
            uint64_t number = (counter + (uint64_t)i) / request->queues;
            put_digits(out + request->a_at + shift, number, 1, 10);
            out[request->b_at + shift] = number / 10 % 2 == 0 ? 'x' : 'y';
        }
    }
    return request->length;
}

void write_due(unsigned char *out, const struct request_template *request, int64_t due_ms)
{
    put_digits(out + request->due_at, (uint64_t)due_ms, DUE_DIGITS, 10);
}

/* Pieces of a text, put one after the other: a pull is written some hundred thousand times a second. */
static inline char *put_text(char *p, const char *text)
{
    size_t length = strlen(text);
    memcpy(p, text, length);
    return p + length;
}

static char *put_number(char *p, uint64_t value)
{
    int digits = 1;
    for (uint64_t rest = value; rest >= 10; rest /= 10)
        digits++;
    put_digits((unsigned char *)p, value, digits, 10);
    return p + digits;
}

size_t write_pull(unsigned char *out, uint32_t opaque, const char *topic, const char *group, const char *broker_name,
                  int queue, int64_t offset, int max_messages, const char *sql)
{
    char *const header = (char *)out + 8, *p = header;
    if (strlen(topic) + strlen(group) + strlen(broker_name) > FRAME_ROOM - PULL_TEXT) {
        fprintf(stderr, "load: a pull does not fit its buffer (topic or group name too long)\n");
        exit(2);
    }
    p = put_number(put_text(p, "{\"code\":"), CODE_PULL_MESSAGE);
    p = put_number(put_text(p, ",\"extFields\":{" NAMED(FIELD_QUEUE_ID)), (uint64_t)queue);
    p = put_number(put_text(p, "\"," NAMED(FIELD_MAX_MSG_NUMS)), (uint64_t)max_messages);
    p = put_number(put_text(p, "\"," NAMED(FIELD_SYS_FLAG)), PULL_SYS_FLAG_COMMIT_OFFSET | PULL_SYS_FLAG_SUSPEND);
    p = put_number(put_text(p, "\"," NAMED(FIELD_SUSPEND_TIMEOUT_MILLIS) "15000\"," NAMED(FIELD_COMMIT_OFFSET)), (uint64_t)offset);
    p = put_text(put_text(p, "\"," NAMED(FIELD_BNAME)), broker_name);
    p = put_text(put_text(p, "\"," NAMED(FIELD_TOPIC)), topic);
    p = put_number(put_text(p, "\"," NAMED(FIELD_QUEUE_OFFSET)), (uint64_t)offset);
    p = put_text(put_text(p, "\"," NAMED(FIELD_EXPRESSION_TYPE)), sql == NULL ? "TAG" : "SQL92");
    p = put_text(put_text(p, "\"," NAMED(FIELD_SUB_VERSION) "0\"," NAMED(FIELD_CONSUMER_GROUP)), group);
    p = put_number(put_text(p, "\"}" TAIL_BEFORE_OPAQUE), opaque);
    p = put_text(p, TAIL_AFTER_OPAQUE);
    put32(out, (uint32_t)(4 + (p - header)));
    put32(out + 4, (uint32_t)(p - header));
    return 8 + (size_t)(p - header);
}

size_t write_heartbeat(unsigned char *out, uint32_t opaque, const char *topic, const char *group, const char *client_id,
                       const char *sql)
{
    char body[FRAME_ROOM];
    int length = snprintf(body, sizeof body,
                          "{\"clientID\":\"%s\",\"consumerDataSet\":[{\"consumeFromWhere\":\"CONSUME_FROM_FIRST_OFFSET\","
                          "\"consumeType\":\"CONSUME_PASSIVELY\",\"groupName\":\"%s\",\"messageModel\":\"CLUSTERING\","
                          "\"subscriptionDataSet\":[{\"classFilterMode\":false,\"codeSet\":[]," NAMED(FIELD_EXPRESSION_TYPE) "%s\","
                          "\"subString\":\"%s\",\"subVersion\":0,\"tagsSet\":[]," NAMED(FIELD_TOPIC) "%s\"}],\"unitMode\":false}],"
                          "\"producerDataSet\":[{\"groupName\":\"CLIENT_INNER_PRODUCER\"}]}",
                          client_id, group, sql == NULL ? "TAG" : "SQL92", sql == NULL ? "*" : sql, topic);
    return frame(out, FRAME_ROOM, body, (size_t)length, "{\"code\":%d" TAIL, CODE_HEART_BEAT, opaque);
}

size_t write_create_topic(unsigned char *out, uint32_t opaque, const char *topic, int queues)
{
    return frame(out, FRAME_ROOM, "", 0,
                 "{\"code\":%d,\"extFields\":{\"readQueueNums\":\"%d\",\"perm\":\"6\",\"writeQueueNums\":\"%d\","
                 "\"topicFilterType\":\"SINGLE_TAG\"," NAMED(FIELD_TOPIC) "%s\"," NAMED(FIELD_DEFAULT_TOPIC) AUTO_CREATE_TOPIC "\",\"topicSysFlag\":\"0\","
                 "\"order\":\"false\"}" TAIL,
                 CODE_UPDATE_AND_CREATE_TOPIC, queues, queues, topic, opaque);
}

size_t write_max_offset(unsigned char *out, uint32_t opaque, const char *topic, const char *broker_name, int queue)
{
    return frame(out, FRAME_ROOM, "", 0,
                 "{\"code\":%d,\"extFields\":{" NAMED(FIELD_QUEUE_ID) "%d\"," NAMED(FIELD_BNAME) "%s\"," NAMED(FIELD_TOPIC) "%s\"}" TAIL,
                 CODE_GET_MAX_OFFSET, queue, broker_name, topic, opaque);
}

size_t write_commit(unsigned char *out, uint32_t opaque, const char *group, const char *broker_name,
                    const struct sent_message *message)
{
    return frame(out, FRAME_ROOM, "", 0,
                 "{\"code\":%d,\"extFields\":{" NAMED(FIELD_PRODUCER_GROUP) "%s\"," NAMED(FIELD_BNAME) "%s\",\"commitLogOffset\":\"%lld\","
                 NAMED(FIELD_MSG_ID) "%s%012llX\",\"tranStateTableOffset\":\"%lld\",\"commitOrRollback\":\"%d\","
                 "\"fromTransactionCheck\":\"false\"}" TAIL,
                 CODE_END_TRANSACTION, group, broker_name, (long long)message->physical_offset, message->unique_prefix,
                 (unsigned long long)message->counter, (long long)message->queue_offset, SYS_FLAG_TRANSACTION_COMMIT, opaque);
}

size_t write_send_back(unsigned char *out, uint32_t opaque, const char *topic, const char *group,
                       const char *broker_name, const struct sent_message *message, int delay_level)
{
    return frame(out, FRAME_ROOM, "", 0,
                 "{\"code\":%d,\"extFields\":{" NAMED(FIELD_MAX_RECONSUME_TIMES) "%d\",\"offset\":\"%lld\"," NAMED(FIELD_BNAME) "%s\","
                 "\"delayLevel\":\"%d\",\"originTopic\":\"%s\",\"originMsgId\":\"%s%012llX\"," NAMED(FIELD_UNIT_MODE) "false\","
                 "\"group\":\"%s\"}" TAIL,
                 CODE_CONSUMER_SEND_MSG_BACK, MAX_RECONSUME_TIMES, (long long)message->physical_offset, broker_name, delay_level, topic,
                 message->unique_prefix, (unsigned long long)message->counter, group, opaque);
}
