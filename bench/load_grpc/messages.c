#include "messages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "connection.h"

const char SEND_MESSAGE[] = "/apache.rocketmq.v2.MessagingService/SendMessage";
const char RECEIVE_MESSAGE[] = "/apache.rocketmq.v2.MessagingService/ReceiveMessage";
const char ACK_MESSAGE[] = "/apache.rocketmq.v2.MessagingService/AckMessage";
const char TELEMETRY[] = "/apache.rocketmq.v2.MessagingService/Telemetry";

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { SIMPLE_CONSUMER = 3, IPV4 = 1, IDENTITY = 1, NORMAL = 1, JAVA = 1, TAG = 1 };
enum { NAME_ROOM = 600, PREFIX = 5, ENTRY_OVERHEAD = 16 };

/* --- writing */

static unsigned char *put_varint(unsigned char *p, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        *p++ = (unsigned char)(value | 128);
    *p++ = (unsigned char)value;
    return p;
}

static unsigned char *put_number(unsigned char *p, unsigned field, uint64_t value)
{
    return put_varint(put_varint(p, field << 3 | VARINT), value);
}

static unsigned char *put_bytes(unsigned char *p, unsigned field, const void *data, size_t length)
{
    p = put_varint(put_varint(p, field << 3 | BYTES), length);
    memcpy(p, data, length);
    return p + length;
}

static unsigned char *put_string(unsigned char *p, unsigned field, const char *text)
{
    return put_bytes(p, field, text, strlen(text));
}

/* A message that has but a number, or a text, in one field. */
static unsigned char *put_with_number(unsigned char *p, unsigned field, unsigned inner, uint64_t value)
{
    unsigned char nested[16];
    return put_bytes(p, field, nested, (size_t)(put_number(nested, inner, value) - nested));
}

static unsigned char *put_with_string(unsigned char *p, unsigned field, unsigned inner, const char *text)
{
    unsigned char nested[NAME_ROOM];
    if (strlen(text) + ENTRY_OVERHEAD > sizeof nested)
        fail("a name is too long: %s", text);
    return put_bytes(p, field, nested, (size_t)(put_string(nested, inner, text) - nested));
}

static unsigned char *put_resource(unsigned char *p, unsigned field, const char *name)
{
    return put_with_string(p, field, 2, name);
}

static void put_counter(unsigned char *p, uint64_t value)
{
    for (int i = ID_COUNTER_DIGITS; i-- > 0; value >>= 4)
        p[i] = (unsigned char)"0123456789ABCDEF"[value & 15];
}

void make_send(struct send_template *out, const char *topic, size_t body_size, uint64_t process)
{
    char id[ID_DIGITS + 1];
    unsigned char system[200], *p = system;
    unsigned char *body = malloc(body_size), *message = malloc(body_size + REQUEST_ROOM), *end;
    out->bytes = malloc(body_size + REQUEST_ROOM);
    if (body == NULL || message == NULL || out->bytes == NULL)
        abort();
    /* Version 1, six bytes of an address, two of a process; what follows is the counter. */
    snprintf(id, sizeof id, "01%016llX%016X", (unsigned long long)process, 0u);
    memset(body, 'x', body_size);
    p = put_bytes(p, 3, id, ID_DIGITS);
    size_t id_behind = (size_t)(p - system) - ID_DIGITS;
    p = put_number(p, 5, IDENTITY);
    p = put_number(p, 6, NORMAL);
    p = put_with_number(p, 7, 1, (uint64_t)time(NULL));
    p = put_string(p, 8, "bench");
    p = put_number(p, 13, 0);
    end = put_resource(message, 1, topic);
    end = put_bytes(end, 3, system, (size_t)(p - system));
    size_t system_at = (size_t)(end - message) - (size_t)(p - system);
    end = put_bytes(end, 4, body, body_size);
    size_t size = (size_t)(end - message);
    end = put_bytes(out->bytes, 1, message, size);
    out->length = (size_t)(end - out->bytes);
    out->id_at = out->length - size + system_at + id_behind;
    free(body);
    free(message);
}

void free_send(struct send_template *send)
{
    free(send->bytes);
}

void write_send(unsigned char *out, const struct send_template *send, uint64_t counter)
{
    memcpy(out, send->bytes, send->length);
    put_counter(out + send->id_at + ID_DIGITS - ID_COUNTER_DIGITS, counter);
}

const char *id_of(const unsigned char *request, const struct send_template *send)
{
    return (const char *)request + send->id_at;
}

static unsigned char *put_filter(unsigned char *p, unsigned field)
{
    unsigned char filter[8];
    unsigned char *end = put_string(put_number(filter, 1, TAG), 2, "*");
    return put_bytes(p, field, filter, (size_t)(end - filter));
}

size_t write_settings(unsigned char *out, const char *group, const char *topic)
{
    unsigned char settings[REQUEST_ROOM], subscription[REQUEST_ROOM], nested[NAME_ROOM + ENTRY_OVERHEAD], address[64];
    unsigned char *p, *end;
    p = put_resource(subscription, 1, group);
    end = put_filter(put_resource(nested, 1, topic), 2);
    p = put_bytes(p, 2, nested, (size_t)(end - nested));
    size_t size = (size_t)(p - subscription);
    end = put_number(put_string(address, 1, "127.0.0.1"), 2, 8081);
    p = put_bytes(put_number(nested, 1, IPV4), 2, address, (size_t)(end - address));
    end = put_bytes(put_number(settings, 1, SIMPLE_CONSUMER), 2, nested, (size_t)(p - nested));
    end = put_with_number(end, 4, 1, 3);
    end = put_bytes(end, 6, subscription, size);
    p = put_string(put_number(nested, 1, JAVA), 2, "5.2.0");
    end = put_bytes(end, 7, nested, (size_t)(p - nested));
    return (size_t)(put_bytes(out, 2, settings, (size_t)(end - settings)) - out);
}

size_t write_receive(unsigned char *out, const char *group, const char *topic, const char *broker_name, int batch,
                     int invisible_seconds, int polling_seconds)
{
    unsigned char queue[REQUEST_ROOM], *p;
    p = put_number(put_resource(queue, 1, topic), 2, UINT64_MAX); /* -1: any queue of the broker */
    p = put_with_string(p, 4, 1, broker_name);
    size_t size = (size_t)(p - queue);
    p = put_resource(out, 1, group);
    p = put_bytes(p, 2, queue, size);
    p = put_filter(p, 3);
    p = put_number(p, 4, (uint64_t)batch);
    p = put_with_number(p, 5, 1, (uint64_t)invisible_seconds);
    return (size_t)(put_with_number(p, 7, 1, (uint64_t)polling_seconds) - out);
}

size_t ack_room(const char *group, const char *topic, const struct delivered *messages, int count)
{
    size_t room = strlen(group) + strlen(topic) + 4 * ENTRY_OVERHEAD;
    for (int i = 0; i < count; i++)
        room += messages[i].id.length + messages[i].handle.length + ENTRY_OVERHEAD;
    return room;
}

size_t write_ack(unsigned char *out, const char *group, const char *topic, const struct delivered *messages, int count)
{
    unsigned char entry[REQUEST_ROOM], *p = put_resource(put_resource(out, 1, group), 2, topic);
    for (int i = 0; i < count; i++) {
        const struct delivered *one = &messages[i];
        if (one->id.length + one->handle.length + ENTRY_OVERHEAD > sizeof entry)
            fail("a receipt handle of %zu bytes is too long", one->handle.length);
        unsigned char *end = put_bytes(entry, 1, one->id.start, one->id.length);
        end = put_bytes(end, 2, one->handle.start, one->handle.length);
        p = put_bytes(p, 3, entry, (size_t)(end - entry));
    }
    return (size_t)(p - out);
}

/* --- reading */

struct field {
    unsigned number;
    uint64_t value;            /* of a number */
    const unsigned char *data; /* of anything that has a length, else NULL */
    size_t length;
};

static bool get_varint(const unsigned char **p, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && *p < end; shift += 7) {
        *value |= (uint64_t)(**p & 127) << shift;
        if (*(*p)++ < 128)
            return true;
    }
    return false;
}

/* The next field of a message; false at its end, where *p is then, and in front of what is none. */
static bool next_field(const unsigned char **p, const unsigned char *end, struct field *out)
{
    const unsigned char *at = *p;
    uint64_t key, size;
    if (at == end || !get_varint(&at, end, &key))
        return false;
    *out = (struct field){.number = (unsigned)(key >> 3)};
    switch (key & 7) {
    case VARINT:
        if (!get_varint(&at, end, &out->value))
            return false;
        break;
    case BYTES:
        if (!get_varint(&at, end, &size) || size > (uint64_t)(end - at))
            return false;
        out->data = at;
        out->length = (size_t)size;
        at += size;
        break;
    case FIXED64:
    case FIXED32:
        size = (key & 7) == FIXED64 ? 8 : 4;
        if (size > (uint64_t)(end - at))
            return false;
        at += size;
        break;
    default:
        return false;
    }
    *p = at;
    return true;
}

static struct text text_of(const struct field *field)
{
    return (struct text){.start = (const char *)field->data, .length = field->length};
}

static struct verdict read_status(const unsigned char *p, size_t length)
{
    struct verdict verdict = {0};
    struct field field;
    for (const unsigned char *end = p + length; next_field(&p, end, &field);) {
        if (field.number == 1)
            verdict.code = (int64_t)field.value;
        if (field.number == 2)
            verdict.text = text_of(&field);
    }
    return verdict;
}

struct verdict read_verdict(const unsigned char *message, size_t length, int *refused)
{
    struct verdict verdict = {0}, one;
    struct field field, inner;
    const unsigned char *p = message, *end = message + length;
    *refused = 0;
    while (next_field(&p, end, &field)) {
        if (field.data == NULL)
            continue;
        if (field.number == 1)
            verdict = read_status(field.data, field.length);
        if (field.number != 2)
            continue;
        /* An entry: its status is field 1 of a send's, 3 of an acknowledgement's, where a string stands in the other. */
        for (const unsigned char *q = field.data; next_field(&q, field.data + field.length, &inner);) {
            if (inner.data == NULL || inner.length == 0 || inner.data[0] != (1 << 3 | VARINT))
                continue;
            one = read_status(inner.data, inner.length);
            *refused += one.code != GRPC_CODE_OK;
        }
    }
    return verdict;
}

static bool read_delivered(const unsigned char *p, size_t length, struct delivered *out)
{
    struct field field, inner;
    *out = (struct delivered){0};
    for (const unsigned char *end = p + length; next_field(&p, end, &field);) {
        if (field.number != 3 || field.data == NULL)
            continue;
        for (const unsigned char *q = field.data; next_field(&q, field.data + field.length, &inner);) {
            if (inner.number == 3)
                out->id = text_of(&inner);
            if (inner.number == 12)
                out->handle = text_of(&inner);
        }
    }
    return out->id.length > 0 && out->handle.length > 0;
}

static size_t message_size(const unsigned char *data, size_t have)
{
    if (have < PREFIX || data[0] != 0)
        return SIZE_MAX;
    return (size_t)data[1] << 24 | (size_t)data[2] << 16 | (size_t)data[3] << 8 | data[4];
}

int read_received(const unsigned char *data, size_t length, struct delivered *out, int most, struct verdict *verdict)
{
    int count = 0;
    struct field field;
    *verdict = (struct verdict){0};
    while (length > 0) {
        size_t size = message_size(data, length);
        if (size > length - PREFIX)
            return -1;
        const unsigned char *p = data + PREFIX, *end = p + size;
        while (next_field(&p, end, &field)) {
            if (field.number == 1 && field.data != NULL)
                *verdict = read_status(field.data, field.length);
            if (field.number != 2 || field.data == NULL)
                continue;
            if (count == most || !read_delivered(field.data, field.length, &out[count]))
                return -1;
            count++;
        }
        data += PREFIX + size;
        length -= PREFIX + size;
    }
    return count;
}

bool one_message(const unsigned char *data, size_t length, const unsigned char **message, size_t *size)
{
    *size = message_size(data, length);
    *message = data + PREFIX;
    return length >= PREFIX && *size == length - PREFIX;
}
