#include "wire/frame.h"

enum { PREFIX_SIZE = FRAME_WORDS, LENGTH_SIZE = 4 };

frame_state frame_next(span data, frame *found)
{
    found->size = 0;
    if (data.len < LENGTH_SIZE) {
        return FRAME_PART;
    }
    int32_t length = (int32_t)get32(data.at);
    bool possible = length >= PREFIX_SIZE - LENGTH_SIZE && length <= MAX_FRAME_LENGTH - LENGTH_SIZE;
    if (possible) {
        found->size = (size_t)length + LENGTH_SIZE;
    }
    if (data.len < PREFIX_SIZE) {
        return FRAME_PART; /* Python reports a wrong length when it has both words, too */
    }
    uint32_t word = get32(data.at + LENGTH_SIZE);
    uint32_t header_length = word & 0xFFFFFF;
    if (!possible || header_length > (uint32_t)length - LENGTH_SIZE) {
        return FRAME_BAD;
    }
    if (data.len < found->size) {
        return FRAME_PART;
    }
    found->serialize_type = (uint8_t)(word >> 24);
    found->header = span_of(data.at + PREFIX_SIZE, header_length);
    found->body = span_of(data.at + PREFIX_SIZE + header_length, found->size - PREFIX_SIZE - header_length);
    return FRAME_WHOLE;
}

void frame_words_write(uint8_t *to, uint8_t serialize_type, size_t header, size_t body)
{
    put32(to, (uint32_t)(LENGTH_SIZE + header + body));
    put32(to + LENGTH_SIZE, (uint32_t)serialize_type << 24 | (uint32_t)header);
}
