#include "grpc/bounds/request_scan.h"

#include "wire/fields.h"

enum { EIGHT_BYTES = 1, GROUP = 3, GROUP_END = 4, FOUR_BYTES = 5 }; /* further forms of a value */
enum { MOST_DEPTH = 16 };                                           /* messages within each other */
enum { MOST_GROUPS = 100 };                                         /* groups within each other, as for protobuf */

typedef struct {
    const scan_message *messages;
    size_t left; /* fields */
    unsigned depth;
} scan;

/* The groups that are open. No request has any: they are skipped as unknown fields. */
typedef struct {
    uint32_t numbers[MOST_GROUPS];
    size_t count;
} open_groups;

/* Open a group, or close the last one. False: there are too many, or it is not the last that ends. */
static bool pass_group(open_groups *groups, uint32_t form, uint32_t field_number)
{
    if (form == GROUP_END) return groups->count > 0 && groups->numbers[--groups->count] == field_number;
    if (groups->count == MOST_GROUPS) return false;
    groups->numbers[groups->count++] = field_number;
    return true;
}

/* Skip a value; `bytes` is its content. False: it is none. */
static bool skip_value(fields *from, uint32_t form, span *bytes)
{
    uint64_t value;
    size_t left = (size_t)(from->end - from->at);
    if (form == FIELD_NUMBER) return read_varint(from, &value);
    if (form == FIELD_BYTES) {
        if (!read_varint(from, &value) || value > (uint64_t)(from->end - from->at)) return false;
    } else {
        value = form == EIGHT_BYTES ? 8 : 4;
        if ((form != EIGHT_BYTES && form != FOUR_BYTES) || value > left) return false;
    }
    *bytes = span_of(from->at, (size_t)value);
    from->at += value;
    return true;
}

/* Packed numbers, `most` and one at most: their last bytes are below 0x80. */
static size_t packed_entries(span bytes, size_t most)
{
    size_t found = 0;
    for (size_t i = 0; i < bytes.len && found <= most; i++) found += bytes.at[i] < 0x80;
    return found;
}

static int scan_one(scan *all, size_t number, span message);

static int scan_deeper(scan *all, size_t number, span message)
{
    if (all->depth == MOST_DEPTH) return SCAN_MALFORMED;
    all->depth++;
    int wrong = scan_one(all, number, message);
    all->depth--;
    return wrong;
}

static int scan_one(scan *all, size_t number, span message)
{
    const scan_message *rules = &all->messages[number];
    size_t counts[SCAN_COUNTERS] = {0};
    open_groups groups;
    groups.count = 0;
    fields from = fields_of(message);
    while (from.at < from.end) {
        uint64_t tag;
        span bytes = {0};
        if (!read_varint(&from, &tag) || tag < 8 || tag > UINT32_MAX) return SCAN_MALFORMED;
        uint32_t form = tag & 7, field_number = (uint32_t)tag >> 3;
        if (form != GROUP_END) {
            if (all->left == 0) return SCAN_FIELDS;
            all->left--;
        }
        if (form == GROUP || form == GROUP_END) {
            if (!pass_group(&groups, form, field_number)) return SCAN_MALFORMED;
            continue;
        }
        if (!skip_value(&from, form, &bytes)) return SCAN_MALFORMED;
        if (groups.count > 0 || field_number >= SCAN_NUMBERS) continue;
        const scan_field *rule = &rules->fields[field_number];
        if (rule->most > 0) {
            size_t *count = &counts[rule->counter];
            *count += rule->packed && form == FIELD_BYTES ? packed_entries(bytes, rule->most) : 1;
            if (*count > rule->most) return (int)((number << 8 | field_number) + 1);
        }
        if (rule->message != SCAN_NO_MESSAGE && form == FIELD_BYTES) {
            int wrong = scan_deeper(all, (size_t)rule->message, bytes);
            if (wrong != SCAN_WITHIN) return wrong;
        }
    }
    return groups.count > 0 ? SCAN_MALFORMED : SCAN_WITHIN;
}

int request_scan(const scan_message *messages, size_t message, span request, size_t most_fields)
{
    scan all = {messages, most_fields, 0};
    return scan_deeper(&all, message, request);
}
