/* Bytes with another owner, and the order of bytes on the wire and in the files (big-endian). */
#ifndef ROCKETWIRE_SPAN_H
#define ROCKETWIRE_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "the kernel is written for little-endian processors; on others its Python twin runs"
#endif

typedef struct {
    const uint8_t *at;
    size_t len;
} span;

static inline span span_of(const void *at, size_t len) { return (span){(const uint8_t *)at, len}; }

static inline bool span_is(span a, const char *text, size_t len)
{
    return a.len == len && memcmp(a.at, text, len) == 0;
}

/* Compilers make one load of these, but not of bytes that are put together where one of them is also used alone. */
static inline uint16_t get16(const uint8_t *p)
{
    uint16_t big;
    memcpy(&big, p, 2);
    return __builtin_bswap16(big);
}
static inline uint32_t get32(const uint8_t *p)
{
    uint32_t big;
    memcpy(&big, p, 4);
    return __builtin_bswap32(big);
}
static inline uint64_t get64(const uint8_t *p)
{
    uint64_t big;
    memcpy(&big, p, 8);
    return __builtin_bswap64(big);
}
static inline uint8_t *put16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
    return p + 2;
}
static inline uint8_t *put32(uint8_t *p, uint32_t v)
{
    uint32_t big = __builtin_bswap32(v);
    memcpy(p, &big, 4);
    return p + 4;
}
static inline uint8_t *put64(uint8_t *p, uint64_t v)
{
    uint64_t big = __builtin_bswap64(v);
    memcpy(p, &big, 8);
    return p + 8;
}
static inline uint8_t *put_span(uint8_t *p, span s)
{
    if (s.len) memcpy(p, s.at, s.len);
    return p + s.len;
}

/* A literal, without the zero behind it. */
#define span_is_text(a, text) span_is(a, text, sizeof(text) - 1)
#define PUT_TEXT(p, text) put_span(p, span_of(text, sizeof(text) - 1))

#endif
