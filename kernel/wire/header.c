#include "wire/header.h"

#include "core/decimal.h"
#include "core/scan.h"
#include "core/utf8.h"

/* Each reader takes a position in the text and returns the one behind the part it read; NULL: refused. So positions
 * stay in registers, which is half of the speed. */
typedef const uint8_t *place;

enum { HIGH = 1, ESCAPED = 2 }; /* whether strings had bytes that are not ASCII, or backslashes */

static inline place take(place at, place end, uint8_t wanted) { return at != end && *at == wanted ? at + 1 : NULL; }

/* The position behind the escape at `at`; it is decoded only when needed. */
static inline place behind_escape(place at, place end)
{
    return end - at >= 2 && at[1] >= 0x20 && at[1] < 0x80 ? at + 2 : NULL;
}

/* The closing quote of the string that begins at `at`, behind its opening quote. */
static inline place string_end(place at, place end, int *seen)
{
    while (end - at >= WINDOW) {
        window in = window_at(at);
        window_mask special = window_special(in), high = window_high(in);
        place next = at + WINDOW;
        while (special != 0) {
            place found = at + window_before(special);
            if (*found == '"') {
                *seen |= (high & (special ^ (special - 1))) != 0 ? HIGH : 0;
                return found;
            }
            if (*found == '\\') {
                place behind = behind_escape(found, end);
                if (behind == NULL) {
                    return NULL;
                }
                *seen |= ESCAPED;
                if (behind >= next) {
                    next = behind;
                    break;
                }
                special &= ~(window_mask)0 << ((behind - at) * STEP);
            } else if (*found < 0x20) {
                return NULL;
            } else {
                special &= special - 1;
            }
        }
        *seen |= high != 0 ? HIGH : 0;
        at = next;
    }
    while (at != end && *at >= 0x20 && *at != '"') {
        *seen |= *at >= 0x80 ? HIGH : *at == '\\' ? ESCAPED : 0;
        at = *at == '\\' ? behind_escape(at, end) : at + 1;
        if (at == NULL) {
            return NULL;
        }
    }
    return at != end && *at == '"' ? at : NULL;
}

/* A string without escapes whose opening quote is behind us; `high` is set where it is not ASCII. */
static inline place take_plain_string(place at, place end, span *text, int *seen)
{
    int here = 0;
    place stop = string_end(at, end, &here);
    if (stop == NULL || (here & ESCAPED)) {
        return NULL;
    }
    *seen |= here;
    *text = span_of(at, (size_t)(stop - at));
    return stop + 1;
}

static place take_number(place at, place end, int32_t *value)
{
    place start = at;
    while (at != end && (*at == '-' || (*at >= '0' && *at <= '9'))) {
        at++;
    }
    return read_int32(span_of(start, (size_t)(at - start)), value) ? at : NULL;
}

/* A field's name and the opening quote of its value; nearly all of a send's begin `"x":"`, and need no search. */
static inline place take_name(place at, place end, span *name, int *seen)
{
    if (end - at >= 5 && at[0] == '"' && at[1] >= 'a' && at[1] <= 'z' && memcmp(at + 2, "\":\"", 3) == 0) {
        *name = span_of(at + 1, 1);
        return at + 5;
    }
    if (at == end || *at != '"' || (at = take_plain_string(at + 1, end, name, seen)) == NULL) {
        return NULL;
    }
    return end - at >= 2 && memcmp(at, ":\"", 2) == 0 ? at + 2 : NULL;
}

/* The fields of an object, whose brace is behind us. */
static place take_fields(place at, place end, header *found, int *seen)
{
    if (at != end && *at == '}') {
        return at + 1;
    }
    for (;;) {
        if (found->count == HEADER_FIELDS_MOST) {
            return NULL;
        }
        header_field *field = &found->fields[found->count++];
        place start = take_name(at, end, &field->name, seen);
        int here = 0;
        if (start == NULL || (at = string_end(start, end, &here)) == NULL) {
            return NULL;
        }
        field->value = span_of(start, (size_t)(at - start));
        field->escaped = (here & ESCAPED) != 0;
        *seen |= here;
        at++;
        if (at == end || *at != ',') {
            return take(at, end, '}');
        }
        at++;
    }
}

enum { CODE = 1, EXT_FIELDS = 2, FLAG = 4, LANGUAGE = 8, OPAQUE = 16, REMARK = 32, SERIALIZE_TYPE = 64, VERSION = 128 };

#define BEGINS(text) ((size_t)(end - at) >= sizeof(text) - 1 && memcmp(at, text, sizeof(text) - 1) == 0)
#define KEY(key, text) (BEGINS(text) ? (*value = at + sizeof(text) - 1, key) : 0)

/* The key at `at`, and where its value begins: behind the opening quote or brace, if it has one. 0: none. */
static inline int key_at(place at, place end, place *value)
{
    if (end - at < 2) {
        return 0;
    }
    switch (at[1]) {
    case 'c':
        return KEY(CODE, "\"code\":");
    case 'e':
        return KEY(EXT_FIELDS, "\"extFields\":{");
    case 'f':
        return KEY(FLAG, "\"flag\":");
    case 'l':
        return KEY(LANGUAGE, "\"language\":\"");
    case 'o':
        return KEY(OPAQUE, "\"opaque\":");
    case 'r':
        return KEY(REMARK, "\"remark\":\"");
    case 's':
        return KEY(SERIALIZE_TYPE, "\"serializeTypeCurrentRPC\":\"");
    case 'v':
        return KEY(VERSION, "\"version\":");
    default:
        return 0;
    }
}

static inline place take_value(place at, place end, int key, header *found, int *seen)
{
    int32_t version;
    span text;
    switch (key) {
    case CODE:
        return take_number(at, end, &found->code);
    case FLAG:
        return take_number(at, end, &found->flag);
    case OPAQUE:
        return take_number(at, end, &found->opaque);
    case VERSION:
        return take_number(at, end, &version);
    case EXT_FIELDS:
        return take_fields(at, end, found, seen);
    default:
        return take_plain_string(at, end, &text, seen);
    }
}

static bool read_json(span data, header *found)
{
    place at = data.at, end = data.at + data.len;
    int keys = 0, seen = 0;
    found->flag = 0;
    found->count = 0;
    if ((at = take(at, end, '{')) == NULL) {
        return false;
    }
    for (;;) {
        int key = key_at(at, end, &at);
        if (key == 0 || (keys & key) || (at = take_value(at, end, key, found, &seen)) == NULL) {
            return false;
        }
        keys |= key;
        if (at == end || *at != ',') {
            break;
        }
        at++;
    }
    if ((at = take(at, end, '}')) == NULL || (keys & (CODE | OPAQUE)) != (CODE | OPAQUE)) {
        return false;
    }
    if (at != end && *at == '\n') {
        at++; /* the C++ client ends its header so */
    }
    return at == end && (!(seen & HIGH) || utf8_valid(data));
}

bool header_read(span data, uint8_t serialize_type, header *found)
{
    found->serialize_type = serialize_type;
    if (data.len > MAX_HEADER_BYTES) {
        return false;
    }
    if (serialize_type == SERIALIZE_JSON) return read_json(data, found);
    return serialize_type == SERIALIZE_ROCKETMQ && header_read_binary(data, found);
}
