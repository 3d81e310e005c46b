#include "wire/header.h"

#include "core/utf8.h"

/* Lengths on the way; a negative one is larger than anything. */
enum { NAME_LENGTH = 2, VALUE_LENGTH = 4 };

typedef struct {
    const uint8_t *at, *end;
} reader;

static inline size_t left(const reader *from) { return (size_t)(from->end - from->at); }

static inline bool take_text(reader *from, size_t length, span *text)
{
    if (length > left(from)) {
        return false;
    }
    *text = span_of(from->at, length);
    from->at += length;
    return true;
}

static inline bool take_name(reader *from, span *name)
{
    if (left(from) < NAME_LENGTH) {
        return false;
    }
    uint16_t length = get16(from->at);
    from->at += NAME_LENGTH;
    return length <= INT16_MAX && take_text(from, length, name);
}

static inline bool take_value(reader *from, span *value)
{
    if (left(from) < VALUE_LENGTH) {
        return false;
    }
    uint32_t length = get32(from->at);
    from->at += VALUE_LENGTH;
    return take_text(from, length, value); /* no header is so long that a negative length would fit */
}

bool header_read_binary(span data, header *found)
{
    if (data.len < HEADER_REMARK_AT || data.len > INT32_MAX) {
        return false;
    }
    found->code = (int16_t)get16(data.at + HEADER_CODE_AT); /* then language and version, which are not used */
    found->opaque = (int32_t)get32(data.at + HEADER_OPAQUE_AT);
    found->flag = (int32_t)get32(data.at + HEADER_FLAG_AT);
    found->count = 0;
    reader from = {data.at + HEADER_REMARK_LENGTH_AT, data.at + data.len};
    span remark;
    if (!take_value(&from, &remark) || left(&from) < VALUE_LENGTH || get32(from.at) != left(&from) - VALUE_LENGTH) {
        return false;
    }
    from.at += VALUE_LENGTH;
    while (left(&from) > 0) {
        if (found->count == HEADER_FIELDS_MOST) {
            return false;
        }
        header_field *field = &found->fields[found->count++];
        field->escaped = false;
        if (!take_name(&from, &field->name) || !take_value(&from, &field->value)) {
            return false;
        }
        if (field->value.len == 0 || !utf8_valid(field->name) || !utf8_valid(field->value)) {
            return false; /* Python takes empty ones for none, and replaces what is wrong */
        }
    }
    return true;
}
