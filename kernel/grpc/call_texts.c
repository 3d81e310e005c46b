#include "grpc/call_texts.h"

#include "core/utf8.h"

/* Bytes that begin no white space and no control character of Unicode: all of that is below U+0020, at U+007F, from
 * U+0080 to U+00A0, at U+1680, from U+2000 to U+205F, and at U+3000. */
static bool begins_text(uint8_t byte)
{
    return (byte > ' ' && byte < 0x7F) || (byte > 0xC2 && byte != 0xE1 && byte != 0xE2 && byte != 0xE3);
}

/* The first byte that is not from ' ' to '~'. */
static const uint8_t *past_printable(const uint8_t *p, const uint8_t *end)
{
    const uint64_t ones = 0x0101010101010101u;
    for (; end - p >= 8; p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        uint64_t low = (word - ones * ' ') & ~word, delete = (word ^ ones * 0x7F) - ones;
        if ((low | delete | word) & ones * 0x80) break; /* a borrow may find too much, never too little */
    }
    while (p < end && *p >= ' ' && *p < 0x7F) p++;
    return p;
}

bool text_is_plain(span text)
{
    const uint8_t *end = text.at + text.len, *p = past_printable(text.at, end);
    if (p == end) return true;
    if (!utf8_valid(text)) return false;
    for (; p < end; p++) {
        if (*p < ' ' || *p == 0x7F || (*p == 0xC2 && p[1] < 0xA0)) return false;
    }
    return true;
}

bool text_is_not_blank(span text)
{
    if (!text_is_plain(text)) return false;
    for (size_t i = 0; i < text.len; i++) {
        if (begins_text(text.at[i])) return true;
    }
    return false;
}

bool pair_read(span message, uint32_t first_form, uint32_t second_form, field_pair *found)
{
    fields from = fields_of(message);
    uint32_t seen = 0;
    field one;
    fields_state state;
    *found = (field_pair){.each = {{0}}};
    while ((state = next_field(&from, &one)) == FIELDS_ONE) {
        bool known = (one.number == 1 && one.form == first_form) || (one.number == 2 && one.form == second_form);
        if (!known || !first_time(&seen, one.number)) return false;
        found->each[one.number] = one;
    }
    return state == FIELDS_END;
}

bool resource_read(span message, span *name)
{
    enum { NAMESPACE = 1, NAME = 2 };
    field_pair found;
    if (!pair_read(message, FIELD_BYTES, FIELD_BYTES, &found)) return false;
    *name = found.each[NAME].bytes;
    return name->len > 0 && text_is_plain(*name) && text_is_plain(found.each[NAMESPACE].bytes);
}
