#include "header.h"

#include "scan.h"

typedef struct {
    const uint8_t *at, *end;
    bool high; /* bytes that are not ASCII were passed */
} reader;

static inline bool take(reader *from, uint8_t wanted)
{
    if (from->at == from->end || *from->at != wanted) {
        return false;
    }
    from->at++;
    return true;
}

/* The string whose opening quote is behind us. What its escapes say is looked at by whoever needs it. */
static inline bool take_string(reader *from, span *text, bool *escaped)
{
    const uint8_t *at = from->at;
    *escaped = false;
    for (;;) {
        if (from->end - at >= WINDOW) {
            window in = window_at(at);
            window_mask special = window_special(in), high = window_high(in);
            if (special == 0) {
                from->high |= high != 0;
                at += WINDOW;
                continue;
            }
            from->high |= (high & (special ^ (special - 1))) != 0;
            at += window_before(special);
        } else {
            while (at != from->end && *at >= 0x20 && *at != '"' && *at != '\\') {
                from->high |= *at++ >= 0x80;
            }
            if (at == from->end) {
                return false;
            }
        }
        if (*at == '"') {
            *text = span_of(from->at, (size_t)(at - from->at));
            from->at = at + 1;
            return true;
        }
        if (*at != '\\' || from->end - at < 2 || at[1] < 0x20 || at[1] >= 0x80) {
            return false;
        }
        *escaped = true;
        at += 2;
    }
}

static bool take_plain_string(reader *from, span *text)
{
    bool escaped;
    return take(from, '"') && take_string(from, text, &escaped) && !escaped;
}

static bool take_number(reader *from, int32_t *value)
{
    const uint8_t *start = from->at;
    while (from->at != from->end && (*from->at == '-' || (*from->at >= '0' && *from->at <= '9'))) {
        from->at++;
    }
    return read_int32(span_of(start, (size_t)(from->at - start)), value);
}

/* `"x":"`, as nearly all fields of a send begin: the name without a search for its end. */
static inline bool take_letter(reader *from, span *name)
{
    const uint8_t *at = from->at;
    if (from->end - at < 5 || at[0] != '"' || at[1] < 'a' || at[1] > 'z' || memcmp(at + 2, "\":\"", 3) != 0) {
        return false;
    }
    *name = span_of(at + 1, 1);
    from->at = at + 5;
    return true;
}

static bool take_fields(reader *from, header *found)
{
    if (!take(from, '{')) {
        return false;
    }
    if (take(from, '}')) {
        return true;
    }
    do {
        if (found->count == HEADER_FIELDS_MOST) {
            return false;
        }
        header_field *field = &found->fields[found->count++];
        if (!take_letter(from, &field->name) &&
            !(take_plain_string(from, &field->name) && take(from, ':') && take(from, '"'))) {
            return false;
        }
        if (!take_string(from, &field->value, &field->escaped)) {
            return false;
        }
    } while (take(from, ','));
    return take(from, '}');
}

enum { CODE = 1, EXT_FIELDS = 2, FLAG = 4, LANGUAGE = 8, OPAQUE = 16, REMARK = 32, SERIALIZE_TYPE = 64, VERSION = 128 };

static int key_of(span name)
{
    switch (name.len) {
    case 4:
        return span_is(name, "code", 4) ? CODE : span_is(name, "flag", 4) ? FLAG : 0;
    case 6:
        return span_is(name, "opaque", 6) ? OPAQUE : span_is(name, "remark", 6) ? REMARK : 0;
    case 7:
        return span_is(name, "version", 7) ? VERSION : 0;
    case 8:
        return span_is(name, "language", 8) ? LANGUAGE : 0;
    case 9:
        return span_is(name, "extFields", 9) ? EXT_FIELDS : 0;
    case 23:
        return span_is(name, "serializeTypeCurrentRPC", 23) ? SERIALIZE_TYPE : 0;
    default:
        return 0;
    }
}

static bool take_value(reader *from, int key, header *found)
{
    int32_t version;
    span text;
    switch (key) {
    case CODE:
        return take_number(from, &found->code);
    case FLAG:
        return take_number(from, &found->flag);
    case OPAQUE:
        return take_number(from, &found->opaque);
    case VERSION:
        return take_number(from, &version);
    case EXT_FIELDS:
        return take_fields(from, found);
    case 0:
        return false;
    default:
        return take_plain_string(from, &text);
    }
}

static bool read_json(span data, header *found)
{
    reader from = {data.at, data.at + data.len, false};
    int seen = 0;
    found->flag = 0;
    found->count = 0;
    if (!take(&from, '{')) {
        return false;
    }
    do {
        span name;
        if (!take_plain_string(&from, &name) || !take(&from, ':')) {
            return false;
        }
        int key = key_of(name);
        if ((seen & key) || !take_value(&from, key, found)) {
            return false;
        }
        seen |= key;
    } while (take(&from, ','));
    if (!take(&from, '}') || (seen & (CODE | OPAQUE)) != (CODE | OPAQUE)) {
        return false;
    }
    take(&from, '\n'); /* the C++ client ends its header so */
    return from.at == from.end && (!from.high || utf8_valid(data));
}

bool header_read(span data, uint8_t serialize_type, header *found)
{
    found->serialize_type = serialize_type;
    return serialize_type == 0 ? read_json(data, found) : serialize_type == 1 && header_read_binary(data, found);
}
