/* The twins are wire.pop_records and server.pop.records. */

#include "pop/pop_texts.h"

#include "core/decimal.h"
#include "core/facts.h"
#include "delay/waited.h"

enum { SEVERAL = -1 }; /* the offset in an acknowledgement of several messages */

/* A literal, and a number behind it. */
#define PUT_NUMBER(p, text, number) put_decimal(PUT_TEXT(p, text), number)

static uint8_t *put_numbers(uint8_t *p, const pop_record *record)
{
    *p++ = '[';
    for (size_t i = 0; i < record->count; i++) {
        if (i > 0) *p++ = ',';
        p = put_decimal(p, record->numbers[i]);
    }
    *p++ = ']';
    return p;
}

static uint8_t *put_check_point(uint8_t *p, const pop_record *record)
{
    p = PUT_TEXT(p, "{\"bm\":0,");
    p = put_span(p, record->names.members);
    p = put_numbers(PUT_TEXT(p, "\"d\":"), record);
    p = PUT_NUMBER(p, ",\"it\":", record->invisible_time);
    p = PUT_NUMBER(p, ",\"n\":", (int64_t)record->count);
    p = PUT_NUMBER(p, ",\"pt\":", record->pop_time);
    p = PUT_NUMBER(p, ",\"q\":", record->queue);
    p = PUT_NUMBER(p, ",\"reviveTime\":", record->pop_time + record->invisible_time);
    p = put_span(PUT_TEXT(p, ","), record->renewer);
    p = PUT_NUMBER(p, "\"ro\":0,\"so\":", record->start);
    p = put_span(PUT_TEXT(p, ",\"sp\":false,"), record->names.topic_member);
    return PUT_TEXT(p, "}");
}

/* The message that an acknowledgement names. */
static int64_t offset_of(const pop_record *record) { return record->count == 1 ? record->numbers[0] : SEVERAL; }

static uint8_t *put_ack(uint8_t *p, const pop_record *record)
{
    p = PUT_NUMBER(p, "{\"ao\":", offset_of(record));
    p = PUT_TEXT(p, ",");
    if (record->count != 1) p = PUT_TEXT(put_numbers(PUT_TEXT(p, "\"aol\":"), record), ",");
    p = put_span(p, record->names.members);
    p = PUT_NUMBER(p, "\"pt\":", record->pop_time);
    p = PUT_NUMBER(p, ",\"q\":", record->queue);
    p = PUT_NUMBER(p, ",\"so\":", record->start);
    p = put_span(PUT_TEXT(p, ","), record->names.topic_member);
    return PUT_TEXT(p, "}");
}

uint8_t *put_pop_body(uint8_t *p, const pop_record *record)
{
    return record->is_ack ? put_ack(p, record) : put_check_point(p, record);
}

uint8_t *put_pop_key(uint8_t *p, const pop_record *record)
{
    p = PUT_NUMBER(put_span(p, record->names.topic), "@", record->queue);
    p = PUT_NUMBER(p, "@", record->is_ack ? offset_of(record) : record->start);
    p = put_span(PUT_TEXT(p, "@"), record->names.group);
    p = PUT_NUMBER(p, "@", record->pop_time);
    p = put_span(PUT_TEXT(p, "@"), record->names.broker);
    return record->is_ack ? PUT_TEXT(p, "@ack") : PUT_TEXT(p, "@ck");
}

uint8_t *put_pop_properties(uint8_t *p, const pop_record *record, span key, const pop_delivery *delivery)
{
    p = PUT_TEXT(p, PROPERTY_TAGS "\1");
    p = !record->is_ack ? PUT_TEXT(p, "ck") : record->count == 1 ? PUT_TEXT(p, "ack") : PUT_TEXT(p, "bAck");
    p = put_span(PUT_TEXT(p, "\2" PROPERTY_UNIQ_KEY "\1"), key);
    p = PUT_NUMBER(p, "\2" PROPERTY_TIMER_DELIVER_MS "\1", delivery->deliver);
    if (!delivery->waits) return p;
    p = PUT_NUMBER(p, "\2" PROPERTY_TIMER_OUT_MS "\1", timer_out_time(delivery->deliver));
    p = put_span(PUT_TEXT(p, "\2" PROPERTY_REAL_TOPIC "\1"), delivery->revive_topic);
    return PUT_NUMBER(p, "\2" PROPERTY_REAL_QUEUE_ID "\1", delivery->revive_queue);
}
