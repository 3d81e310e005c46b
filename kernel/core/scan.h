/* Scanning text by many bytes at a time: finds where a JSON string ends, or has bytes that need a closer look.
 *
 * A window is the next bytes of a text. Its masks have a bit (or several, see STEP) for each byte, the first byte
 * lowest. SSE2 where there is one, words of 8 bytes elsewhere. */
#ifndef ROCKETWIRE_SCAN_H
#define ROCKETWIRE_SCAN_H

#include "core/span.h"

#if defined(__SSE2__) && !defined(ROCKETWIRE_PORTABLE)
#include <emmintrin.h>

enum { WINDOW = 16, STEP = 1 }; /* bytes in a window, and bits of a mask for each of them */

typedef __m128i window;
typedef uint32_t window_mask;

static inline window window_at(const uint8_t *at) { return _mm_loadu_si128((const __m128i *)at); }
static inline void window_copy(uint8_t *to, window from) { _mm_storeu_si128((__m128i *)to, from); }

/* Quotes, backslashes and control characters. */
static inline window_mask window_special(window in)
{
    __m128i quote = _mm_cmpeq_epi8(in, _mm_set1_epi8('"'));
    __m128i backslash = _mm_cmpeq_epi8(in, _mm_set1_epi8('\\'));
    __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(in, _mm_set1_epi8(0x1F)), in);
    return (window_mask)_mm_movemask_epi8(_mm_or_si128(_mm_or_si128(quote, backslash), control));
}

/* Bytes that are not ASCII. */
static inline window_mask window_high(window in) { return (window_mask)_mm_movemask_epi8(in); }

/* Bytes that are one of two, each with one bit. */
static inline window_mask window_either(window in, uint8_t one, uint8_t other)
{
    __m128i first = _mm_cmpeq_epi8(in, _mm_set1_epi8((char)one)),
            second = _mm_cmpeq_epi8(in, _mm_set1_epi8((char)other));
    return (window_mask)_mm_movemask_epi8(_mm_or_si128(first, second));
}

#else

enum { WINDOW = 8, STEP = 8 };

typedef uint64_t window;
typedef uint64_t window_mask;

#define EACH_BYTE(value) ((uint64_t)(value) * 0x0101010101010101u)

static inline window window_at(const uint8_t *at)
{
    window in;
    memcpy(&in, at, sizeof in);
    return in;
}

static inline void window_copy(uint8_t *to, window from) { memcpy(to, &from, sizeof from); }

/* A borrow may set bits above a byte that is found, never below it: the lowest bit is right. */
static inline window_mask window_special(window in)
{
    uint64_t quote = in ^ EACH_BYTE('"');
    uint64_t backslash = in ^ EACH_BYTE('\\');
    uint64_t found =
        ((quote - EACH_BYTE(1)) & ~quote) | ((backslash - EACH_BYTE(1)) & ~backslash) | ((in - EACH_BYTE(0x20)) & ~in);
    return found & EACH_BYTE(0x80);
}

static inline window_mask window_high(window in) { return in & EACH_BYTE(0x80); }

/* Exact for every byte: nothing is carried from one into the next. */
static inline window_mask window_either(window in, uint8_t one, uint8_t other)
{
    uint64_t first = in ^ EACH_BYTE(one), second = in ^ EACH_BYTE(other), low = EACH_BYTE(0x7F);
    return ~((((first & low) + low) | first) & (((second & low) + low) | second)) & EACH_BYTE(0x80);
}

#endif

/* How many bytes come before the first one that a mask (not 0) marks. */
static inline size_t window_before(window_mask mask) { return (size_t)__builtin_ctzll(mask) / STEP; }

#endif
