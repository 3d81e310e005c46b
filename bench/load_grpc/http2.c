#include "http2.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DATA = 0, HEADERS = 1, RST_STREAM = 3, SETTINGS = 4, PUSH_PROMISE = 5, PING = 6, GOAWAY = 7, WINDOW_UPDATE = 8, CONTINUATION = 9 };
enum { ACK = 1, END_STREAM = 1, END_HEADERS = 4, PADDED = 8 };
enum { HEADER_TABLE_SIZE = 1, ENABLE_PUSH = 2, MAX_CONCURRENT_STREAMS = 3, INITIAL_WINDOW_SIZE = 4 };
enum {
    FRAME_HEADER = 9,
    MESSAGE_PREFIX = 5,
    FRAME_MOST = 16384,
    BLOCK_ROOM = 1500,
    WINDOW = 65535,          /* of connection and streams, as the protocol begins */
    OWN_STREAM_WINDOW = 16 << 20,
    OWN_WINDOW = 1 << 30,
    TABLE = 4096,
    STATIC_ENTRIES = 61,
    POST = 0x83,             /* the static table's `:method: POST` and `:scheme: http` */
    HTTP = 0x86,
    KEEP = 0x40,             /* first bits of a field that the server is to keep, of an indexed one, of a table's size */
    KNOWN = 0x80,
    TABLE_SIZE = 0x20,
    SETTINGS_TIMEOUT_MS = 15000
};

static uint32_t get32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void put32(unsigned char *p, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        p[i] = (unsigned char)(value >> (24 - 8 * i));
}

static void put_frame_header(unsigned char *p, size_t length, int type, int flags, uint32_t stream)
{
    p[0] = (unsigned char)(length >> 16);
    p[1] = (unsigned char)(length >> 8);
    p[2] = (unsigned char)length;
    p[3] = (unsigned char)type;
    p[4] = (unsigned char)flags;
    put32(p + 5, stream);
}

static void post(struct http2 *http2, int type, int flags, uint32_t stream, const unsigned char *payload, size_t length)
{
    unsigned char *room = connection_room(&http2->connection, FRAME_HEADER + length);
    put_frame_header(room, length, type, flags, stream);
    memcpy(room + FRAME_HEADER, payload, length);
    http2->connection.out_end += FRAME_HEADER + length;
}

/* An integer of HPACK whose first byte has `bits` bits left beside `first`. */
static unsigned char *put_integer(unsigned char *p, unsigned first, int bits, size_t value)
{
    size_t most = (1u << bits) - 1;
    if (value < most) {
        *p++ = (unsigned char)(first | value);
        return p;
    }
    *p++ = (unsigned char)(first | most);
    for (value -= most; value >= 128; value >>= 7)
        *p++ = (unsigned char)(value | 128);
    *p++ = (unsigned char)value;
    return p;
}

static unsigned char *put_text(unsigned char *p, const char *text, size_t length)
{
    p = put_integer(p, 0, 7, length);
    memcpy(p, text, length);
    return p + length;
}

/* A field that no table keeps. */
static unsigned char *put_field(unsigned char *p, const char *name, const char *value)
{
    *p++ = 0;
    p = put_text(p, name, strlen(name));
    return put_text(p, value, strlen(value));
}

static unsigned char *put_kept(struct http2 *http2, unsigned char *p, struct kept_field *field)
{
    if (field->place > 0)
        return put_integer(p, KNOWN, 7, (size_t)(STATIC_ENTRIES + 1 + http2->kept - field->place));
    if (!http2->keeps)
        return put_field(p, field->name, field->value);
    field->place = ++http2->kept;
    *p++ = KEEP;
    p = put_text(p, field->name, strlen(field->name));
    return put_text(p, field->value, strlen(field->value));
}

static struct kept_field *field_of(struct http2 *http2, const char *name, const char *value)
{
    for (int i = 0; i < http2->known; i++)
        if (http2->fields[i].value == value)
            return &http2->fields[i];
    if (http2->known == HTTP2_FIELDS)
        fail("too many header fields");
    http2->fields[http2->known] = (struct kept_field){.name = name, .value = value};
    return &http2->fields[http2->known++];
}

void http2_open(struct http2 *http2, const char *host, int port, const char *authority, const char *client_id)
{
    static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    unsigned char settings[12] = {0, ENABLE_PUSH, 0, 0, 0, 0, 0, INITIAL_WINDOW_SIZE}, update[4];
    struct http2_event event;
    time_t now = time(NULL);
    struct tm utc;
    memset(http2, 0, sizeof *http2);
    connection_open(&http2->connection, host, port, 0);
    http2->window = http2->stream_window = WINDOW;
    http2->most_streams = INT64_MAX;
    http2->next_stream = 1;
    http2->keeps = true;
    gmtime_r(&now, &utc);
    strftime(http2->date_time, sizeof http2->date_time, "%Y%m%dT%H%M%SZ", &utc);
    field_of(http2, ":authority", authority);
    field_of(http2, "content-type", "application/grpc");
    field_of(http2, "te", "trailers");
    field_of(http2, "user-agent", "rocketwire-bench");
    field_of(http2, "grpc-accept-encoding", "gzip");
    field_of(http2, "x-mq-language", "JAVA");
    field_of(http2, "x-mq-protocol", "GRPC_V2");
    field_of(http2, "x-mq-client-version", "5.2.0");
    field_of(http2, "x-mq-client-id", client_id);
    memcpy(connection_room(&http2->connection, sizeof preface - 1), preface, sizeof preface - 1);
    http2->connection.out_end += sizeof preface - 1;
    put32(settings + 8, OWN_STREAM_WINDOW);
    post(http2, SETTINGS, 0, 0, settings, sizeof settings);
    put32(update, OWN_WINDOW - WINDOW);
    post(http2, WINDOW_UPDATE, 0, 0, update, sizeof update);
    while (!http2->settled) {
        struct pollfd wait = {.fd = http2->connection.fd, .events = POLLIN};
        connection_flush(&http2->connection);
        if (poll(&wait, 1, SETTINGS_TIMEOUT_MS) == 0)
            fail("no HTTP/2 settings for %d s", SETTINGS_TIMEOUT_MS / 1000);
        connection_receive(&http2->connection);
        while (http2_next(http2, &event))
            fail("the server answers before a request");
    }
}

void http2_close(struct http2 *http2)
{
    connection_close(&http2->connection);
}

bool http2_may_send(const struct http2 *http2, size_t size)
{
    return (int64_t)size + MESSAGE_PREFIX <= http2->window;
}

static void write_request_id(char id[REQUEST_ID_DIGITS + 1], uint64_t number)
{
    snprintf(id, REQUEST_ID_DIGITS + 1, "b0e6c2d4-3a1f-4c58-9d7b-%012llx", (unsigned long long)(number & 0xFFFFFFFFFFFF));
}

uint32_t http2_call(struct http2 *http2, const char *path, const char *timeout, const unsigned char *message, size_t size,
                    bool ended)
{
    uint32_t stream = http2->next_stream;
    unsigned char *start = connection_room(&http2->connection, BLOCK_ROOM + 2 * FRAME_HEADER + MESSAGE_PREFIX + size);
    unsigned char *p = start + FRAME_HEADER;
    char id[REQUEST_ID_DIGITS + 1];
    if (size + MESSAGE_PREFIX > FRAME_MOST || (int64_t)size + MESSAGE_PREFIX > http2->stream_window)
        fail("a request of %zu bytes is too long for one frame", size);
    http2->next_stream += 2;
    if (http2->resize)
        *p++ = TABLE_SIZE;
    http2->resize = false;
    *p++ = POST;
    *p++ = HTTP;
    p = put_kept(http2, p, field_of(http2, ":path", path));
    for (int i = 0; i < http2->known; i++)
        if (strcmp(http2->fields[i].name, ":path") != 0)
            p = put_kept(http2, p, &http2->fields[i]);
    if (timeout != NULL)
        p = put_field(p, "grpc-timeout", timeout);
    write_request_id(id, ++http2->calls);
    p = put_field(p, "x-mq-request-id", id);
    p = put_field(p, "x-mq-date-time", http2->date_time);
    if (p - start > BLOCK_ROOM)
        fail("the header fields of a request are too long");
    put_frame_header(start, (size_t)(p - start) - FRAME_HEADER, HEADERS, END_HEADERS, stream);
    put_frame_header(p, MESSAGE_PREFIX + size, DATA, ended ? END_STREAM : 0, stream);
    p += FRAME_HEADER;
    *p++ = 0;
    put32(p, (uint32_t)size);
    memcpy(p + 4, message, size);
    http2->connection.out_end += (size_t)(p + 4 + size - start);
    http2->window -= (int64_t)size + MESSAGE_PREFIX;
    return stream;
}

static void take_settings(struct http2 *http2, const unsigned char *p, size_t length)
{
    for (; length >= 6; p += 6, length -= 6) {
        uint32_t value = get32(p + 2);
        if (p[1] == HEADER_TABLE_SIZE && value < TABLE) {
            http2->keeps = false;
            http2->resize = true;
        }
        if (p[1] == MAX_CONCURRENT_STREAMS)
            http2->most_streams = value;
        if (p[1] == INITIAL_WINDOW_SIZE)
            http2->stream_window = value;
    }
    http2->settled = true;
    post(http2, SETTINGS, ACK, 0, p, 0);
}

/* What was received is granted again at once, in large steps: this client reads as fast as it can. */
static void grant(struct http2 *http2, size_t length)
{
    unsigned char update[4];
    http2->taken += (int64_t)length;
    if (http2->taken < OWN_WINDOW / 2)
        return;
    put32(update, (uint32_t)http2->taken);
    post(http2, WINDOW_UPDATE, 0, 0, update, sizeof update);
    http2->taken = 0;
}

static int take_frame(struct http2 *http2, int type, int flags, const unsigned char *p, size_t length, struct http2_event *out)
{
    switch (type) {
    case DATA:
        grant(http2, length);
        out->data = p + (flags & PADDED ? 1 : 0);
        out->length = length - (flags & PADDED ? 1u + p[0] : 0);
        out->ended = flags & END_STREAM;
        return 1;
    case HEADERS:
        out->ended = flags & END_STREAM;
        return out->ended;
    case RST_STREAM:
        out->reset = true;
        out->code = get32(p);
        return 1;
    case SETTINGS:
        if (!(flags & ACK))
            take_settings(http2, p, length);
        return 0;
    case PING:
        if (!(flags & ACK))
            post(http2, PING, ACK, 0, p, length);
        return 0;
    case GOAWAY:
        fail("the server goes away: code %u, %.*s", get32(p + 4), (int)(length - 8), (const char *)p + 8);
    case WINDOW_UPDATE:
        if (out->stream == 0)
            http2->window += get32(p) & 0x7FFFFFFF;
        return 0;
    case PUSH_PROMISE:
        fail("the server pushes");
    default:
        return 0;
    }
}

int http2_next(struct http2 *http2, struct http2_event *out)
{
    struct connection *connection = &http2->connection;
    while (connection->in_end - connection->in_start >= FRAME_HEADER) {
        const unsigned char *frame = connection->in + connection->in_start;
        size_t length = (size_t)frame[0] << 16 | (size_t)frame[1] << 8 | frame[2];
        if (length > FRAME_MOST)
            fail("the server sent a frame of %zu bytes", length);
        if (connection->in_end - connection->in_start < FRAME_HEADER + length)
            return 0;
        connection->in_start += FRAME_HEADER + length;
        *out = (struct http2_event){.stream = get32(frame + 5) & 0x7FFFFFFF};
        if (take_frame(http2, frame[3], frame[4], frame + FRAME_HEADER, length, out))
            return 1;
    }
    return 0;
}
