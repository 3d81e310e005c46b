#include "http2/frame_guard.h"

#include <stdio.h>

static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum {
    PREFACE_LENGTH = sizeof preface - 1,
    MOST_PAYLOAD = 16384,
    MOST_CREDIT = 4000,
    MOST_CONTINUATIONS = 8,
    GIVEN_BACK = 4,
    RESET_COST = 4,
    MOST_SETTINGS = 32,
    SETTING_LENGTH = 6,
    SETTINGS_COST = 40,
    FEW = 64,
};

void guard_begin(frame_guard *guard, size_t most_headers)
{
    *guard = (frame_guard){.most_headers = most_headers, .credit = MOST_CREDIT};
}

void guard_restore_credit(frame_guard *guard)
{
    guard->credit += GIVEN_BACK;
    if (guard->credit > MOST_CREDIT) guard->credit = MOST_CREDIT;
}

void guard_charge_reset(frame_guard *guard) { guard->credit -= RESET_COST; }

static bool violated(frame_guard *guard, uint32_t code, const char *text)
{
    guard->code = code;
    snprintf(guard->text, sizeof guard->text, "%s", text);
    return false;
}

static bool violated_by(frame_guard *guard, uint32_t code, const char *format, uint32_t number)
{
    guard->code = code;
    snprintf(guard->text, sizeof guard->text, format, number);
    return false;
}

static bool continue_block(frame_guard *guard, uint8_t kind, uint8_t flags, uint32_t stream, size_t length)
{
    if (kind != FRAME_CONTINUATION || stream != guard->block_of) {
        return violated(guard, PROTOCOL_ERROR, "a block of headers is interrupted");
    }
    guard->block += length;
    guard->continuations++;
    if (guard->block > guard->most_headers || guard->continuations > MOST_CONTINUATIONS) {
        return violated(guard, ENHANCE_YOUR_CALM, "a block of headers is too long");
    }
    if (flags & FLAG_END_HEADERS) guard->block_of = 0;
    return true;
}

static int cost(uint8_t kind, uint8_t flags, size_t length)
{
    switch (kind) {
    case FRAME_HEADERS:
    case FRAME_CONTINUATION:
        return 0;
    case FRAME_DATA:
        return length < FEW && !(flags & FLAG_END_STREAM);
    case FRAME_SETTINGS:
        return flags & FLAG_ACK ? 1 : SETTINGS_COST;
    case FRAME_RST_STREAM:
    case FRAME_GOAWAY:
        return RESET_COST;
    default:
        return 1;
    }
}

static bool check(frame_guard *guard)
{
    size_t length = get32(guard->header) >> 8;
    uint8_t kind = guard->header[3], flags = guard->header[4];
    uint32_t stream = get32(guard->header + 5) & INT32_MAX;
    if (length > MOST_PAYLOAD) {
        return violated_by(guard, FRAME_SIZE_ERROR, "frame of %u bytes", (uint32_t)length);
    }
    if (!guard->begun && (kind != FRAME_SETTINGS || flags & FLAG_ACK)) {
        return violated(guard, PROTOCOL_ERROR, "the first frame is not SETTINGS");
    }
    guard->begun = true;
    if (guard->block_of) {
        if (!continue_block(guard, kind, flags, stream, length)) return false;
    } else if (kind == FRAME_HEADERS && !(flags & FLAG_END_HEADERS)) {
        guard->block_of = stream;
        guard->block = length;
        guard->continuations = 0;
    }
    if (kind == FRAME_SETTINGS && length > MOST_SETTINGS * SETTING_LENGTH) {
        return violated_by(guard, ENHANCE_YOUR_CALM, "SETTINGS of %u bytes", (uint32_t)length);
    }
    guard->credit -= cost(kind, flags, length);
    if (guard->credit < 0) return violated(guard, ENHANCE_YOUR_CALM, "too many frames that carry no request");
    guard->rest = length;
    return true;
}

size_t guard_pass(frame_guard *guard, span data)
{
    guard_restore_credit(guard);
    size_t at = 0, passed = 0; /* up to the end of the last piece that nghttp2 may have */
    while (at < data.len) {
        if (guard->preface < PREFACE_LENGTH) {
            if (data.at[at] != (uint8_t)preface[guard->preface]) {
                violated(guard, PROTOCOL_ERROR, "no HTTP/2 connection preface");
                return passed;
            }
            at++;
            guard->preface++;
        } else if (guard->rest > 0) {
            size_t part = data.len - at < guard->rest ? data.len - at : guard->rest;
            at += part;
            guard->rest -= part;
        } else {
            size_t lacks = FRAME_HEADER - guard->header_length, part = data.len - at < lacks ? data.len - at : lacks;
            memcpy(guard->header + guard->header_length, data.at + at, part);
            guard->header_length += part;
            at += part;
            if (guard->header_length == FRAME_HEADER) {
                guard->header_length = 0;
                if (!check(guard)) return passed;
            }
        }
        if (guard->header_length == 0) passed = at;
    }
    return at;
}
