/* Numbers of the heads of records: one loop a field, which only loads, swaps bytes and stores. */

#include "records/records.h"

const record_field record_fields[RECORD_FIELDS_COUNT] = {
    {"store_size", FROM_START, 0, 4, false},
    {"body_crc", FROM_START, 8, 4, false},
    {"queue_id", FROM_START, 12, 4, false},
    {"flag", FROM_START, 16, 4, false},
    {"queue_offset", FROM_START, 20, 8, false},
    {"physical_offset", FROM_START, 28, 8, false},
    {"sys_flag", FROM_START, 36, 4, false},
    {"born_timestamp", FROM_START, 40, 8, true},
    {"store_timestamp", FROM_BORN, 0, 8, true},
    {"reconsume_times", FROM_HOSTS, 0, 4, false},
    {"prepared_transaction_offset", FROM_HOSTS, 4, 8, false},
};

/* How far behind the beginning the places are that fields are counted from, where all hosts are IPv4. */
static const uint8_t v4_places[FROM_PLACES] = {0, BORN_HOST_AT + V4_SIZE, BORN_HOST_AT + V4_SIZE + 8 + V4_SIZE};

static inline const uint8_t *const *places_of(const record_field *field, const record_heads *heads, size_t *at)
{
    *at = field->at + (heads->v4 ? v4_places[field->from] : 0u);
    return heads->from[heads->v4 ? FROM_START : field->from];
}

void record_field_copy(const record_field *field, const record_heads *heads, void *to)
{
    size_t at, i = 0, count = heads->count;
    const uint8_t *const *from = places_of(field, heads, &at);
    if (field->width == 4) {
        uint32_t *numbers = to;
        for (; i + 4 <= count; i += 4) { /* four at a time: else counting takes as long as the copies */
            for (size_t k = 0; k < 4; k++) numbers[i + k] = get32(from[i + k] + at);
        }
        for (; i < count; i++) numbers[i] = get32(from[i] + at);
    } else {
        uint64_t *numbers = to;
        for (; i + 4 <= count; i += 4) {
            for (size_t k = 0; k < 4; k++) numbers[i + k] = get64(from[i + k] + at);
        }
        for (; i < count; i++) numbers[i] = get64(from[i] + at);
    }
}

void record_times_copy(const record_field *field, const record_heads *heads, void *to)
{
    int64_t *numbers = to;
    size_t at;
    const uint8_t *const *from = places_of(field, heads, &at);
    for (size_t i = 0; i < heads->count; i++) {
        int64_t ms = (int64_t)get64(from[i] + at), us;
        numbers[i] = __builtin_mul_overflow(ms, 1000, &us) ? (ms < 0 ? INT64_MIN : INT64_MAX) : us;
    }
}
