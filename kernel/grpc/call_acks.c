#include "grpc/call_acks.h"

#include "grpc/call_texts.h"
#include "wire/fields.h"

enum { REQUEST_GROUP = 1, REQUEST_TOPIC = 2, REQUEST_ENTRIES = 3 };
enum { ENTRY_MESSAGE_ID = 1, ENTRY_HANDLE = 2, ENTRY_STATUS = 3, ENTRIES = 2 };
enum { BITS_MOST = 1 << 15 }; /* as wire.bodies.pop has it */
enum { DIGITS_MOST = 18 };    /* always fit 63 bits */

/* --- handles --- */

/* The part of a handle up to the next blank, which is dropped; at == NULL: there is none. */
static span next_part(span *rest)
{
    if (rest->at == NULL) return *rest;
    const uint8_t *end = rest->at + rest->len, *blank = rest->len == 0 ? NULL : memchr(rest->at, ' ', rest->len);
    span part = span_of(rest->at, blank == NULL ? rest->len : (size_t)(blank - rest->at));
    *rest = blank == NULL ? span_of(NULL, 0) : span_of(blank + 1, (size_t)(end - blank - 1));
    return part;
}

static bool next_number(span *rest, int64_t *number)
{
    span part = next_part(rest);
    if (part.len == 0 || part.len > DIGITS_MOST) return false;
    for (*number = 0; part.len > 0; part.at++, part.len--) {
        if ((uint8_t)(*part.at - '0') > 9) return false;
        *number = *number * 10 + (*part.at - '0');
    }
    return true;
}

static bool next_int32(span *rest, int32_t *number)
{
    int64_t wide;
    if (!next_number(rest, &wide) || wide > INT32_MAX) return false;
    *number = (int32_t)wide;
    return true;
}

/* Cut the mark of a renewed delivery off; false: there is none. */
static bool mark_taken(span *text)
{
    if (text->len < 2 || memcmp(text->at + text->len - 2, " R", 2) != 0) return false;
    text->len -= 2;
    return true;
}

bool ack_handle_read(span text, ack_handle *found)
{
    span rest = text;
    found->renewed = mark_taken(&rest);
    int64_t place;
    if (!next_number(&rest, &found->start) || !next_number(&rest, &found->pop_time) ||
        !next_number(&rest, &found->invisible_time) || !next_int32(&rest, &found->revive_queue)) {
        return false;
    }
    span kind = next_part(&rest);
    found->broker = next_part(&rest);
    if (kind.len != 1 || *kind.at < '0' || *kind.at > '2' || !text_is_not_blank(found->broker)) return false;
    found->kind = (char)*kind.at;
    if (!next_int32(&rest, &found->queue) || !next_number(&rest, &found->offset)) return false;
    return rest.at == NULL || (next_number(&rest, &place) && rest.at == NULL);
}

bool ack_handles_match(const ack_handle *a, const ack_handle *b)
{
    return a->start == b->start && a->pop_time == b->pop_time && a->invisible_time == b->invisible_time &&
           a->revive_queue == b->revive_queue && a->queue == b->queue && a->kind == b->kind &&
           a->broker.len == b->broker.len && memcmp(a->broker.at, b->broker.at, a->broker.len) == 0;
}

static bool is_near(const ack_handle *handle)
{
    return handle->offset >= handle->start && handle->offset - handle->start < BITS_MOST;
}

/* --- the request --- */

static bool entry_read(span entry, call_acks *found)
{
    field_pair pair;
    if (found->count == ACKS_MOST || !pair_read(entry, FIELD_BYTES, FIELD_BYTES, &pair)) return false;
    call_ack *ack = &found->acks[found->count++];
    ack->message_id = pair.each[ENTRY_MESSAGE_ID].bytes;
    ack->text = pair.each[ENTRY_HANDLE].bytes;
    if (!text_is_plain(ack->message_id) || ack->text.len == 0 || !ack_handle_read(ack->text, &ack->handle)) {
        return false;
    }
    int64_t due = ack->handle.pop_time + ack->handle.invisible_time;
    if (due < found->until) found->until = due;
    span broker = ack->handle.broker, first = found->acks[0].handle.broker;
    return is_near(&ack->handle) && broker.len == first.len && memcmp(broker.at, first.at, broker.len) == 0;
}

bool call_acks_read(span request, call_acks *found)
{
    fields from = fields_of(request);
    uint32_t seen = 0;
    field one;
    fields_state state;
    found->topic = found->group = span_of(NULL, 0);
    found->count = 0;
    found->until = INT64_MAX;
    while ((state = next_field(&from, &one)) == FIELDS_ONE) {
        if (one.form != FIELD_BYTES || one.number > REQUEST_ENTRIES) return false;
        if (one.number != REQUEST_ENTRIES && !first_time(&seen, one.number)) return false;
        bool taken = one.number == REQUEST_ENTRIES ? entry_read(one.bytes, found)
                     : one.number == REQUEST_TOPIC ? resource_read(one.bytes, &found->topic)
                                                   : resource_read(one.bytes, &found->group);
        if (!taken) return false;
    }
    return state == FIELDS_END && found->topic.len > 0 && found->group.len > 0 && found->count > 0;
}

/* --- the response --- */

/* A status with the code 20000 and the text OK. */
static const uint8_t ok[] = {0x08, 0xA0, 0x9C, 0x01, 0x12, 0x02, 'O', 'K'};

static span status(void) { return span_of(ok, sizeof ok); }

static size_t entry_size(const call_ack *ack)
{
    size_t id = ack->message_id.len > 0 ? bytes_field_size(ack->message_id) : 0;
    return id + bytes_field_size(ack->text) + bytes_field_size(status());
}

size_t call_acks_answer_size(const call_acks *from)
{
    size_t size = bytes_field_size(status());
    for (size_t i = 0; i < from->count; i++) size += bytes_field_size(span_of(NULL, entry_size(&from->acks[i])));
    return size;
}

uint8_t *call_acks_answer_write(uint8_t *to, const call_acks *from)
{
    uint8_t *p = put_bytes_field(to, 1, status());
    for (size_t i = 0; i < from->count; i++) {
        const call_ack *ack = &from->acks[i];
        *p++ = ENTRIES << 3 | FIELD_BYTES;
        p = put_varint(p, entry_size(ack));
        if (ack->message_id.len > 0) p = put_bytes_field(p, ENTRY_MESSAGE_ID, ack->message_id);
        p = put_bytes_field(p, ENTRY_HANDLE, ack->text);
        p = put_bytes_field(p, ENTRY_STATUS, status());
    }
    return p;
}
