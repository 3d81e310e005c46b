#include "grpc/call_answer.h"

#include "wire/fields.h"

enum { ENTRIES = 2 };
enum { ENTRY_MESSAGE_ID = 2, ENTRY_OFFSET = 4, ENTRY_RECALL_HANDLE = 5 };

/* The field 1, of the response and of the entry: a status with the code 20000 and the text OK. */
static const uint8_t status_ok[] = {0x0A, 0x08, 0x08, 0xA0, 0x9C, 0x01, 0x12, 0x02, 'O', 'K'};

static size_t entry_size(const call_answer *from)
{
    size_t size = sizeof status_ok + bytes_field_size(from->message_id);
    if (from->queue_offset > 0) size += 1 + varint_size((uint64_t)from->queue_offset);
    if (from->recall_handle.len > 0) size += bytes_field_size(from->recall_handle);
    return size;
}

size_t call_answer_size(const call_answer *from)
{
    return sizeof status_ok + bytes_field_size(span_of(NULL, entry_size(from)));
}

uint8_t *call_answer_write(uint8_t *to, const call_answer *from)
{
    to = put_span(to, span_of(status_ok, sizeof status_ok));
    *to++ = ENTRIES << 3 | FIELD_BYTES;
    to = put_span(put_varint(to, entry_size(from)), span_of(status_ok, sizeof status_ok));
    to = put_bytes_field(to, ENTRY_MESSAGE_ID, from->message_id);
    if (from->queue_offset > 0) {
        *to++ = ENTRY_OFFSET << 3 | FIELD_NUMBER;
        to = put_varint(to, (uint64_t)from->queue_offset);
    }
    return from->recall_handle.len > 0 ? put_bytes_field(to, ENTRY_RECALL_HANDLE, from->recall_handle) : to;
}
