/* CRC-32 as zlib computes it (polynomial 0xEDB88320, bits reversed): with the processor's instructions for it if it
 * has them, else by tables, 16 bytes a step. */

#include "message/record.h"

#if defined(__x86_64__) && defined(__GNUC__)
#define WITH_PCLMUL
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_FEATURE_CRC32)
#define WITH_ARM_CRC
#include <arm_acle.h>
#endif

enum { STEP = 16, WIDE_WORTH = 256 };

/* table[k][b]: what byte b becomes with k zero bytes behind it. */
static uint32_t table[STEP][256];

#ifdef WITH_PCLMUL
static bool can_fold, can_fold_wide; /* this processor can */

/* Whether the system keeps the upper halves of 256-bit registers (bits 1 and 2 of the register XCR0). */
static bool keeps_wide_registers(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & 6) == 6;
}

/* Query the processor directly: __builtin_cpu_supports needs a library that compilers for other platforms may lack. */
static void detect_instructions(void)
{
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return;
    can_fold = (c & bit_PCLMUL) && (c & bit_SSE4_1) && (c & bit_SSSE3);
    if (!can_fold || !(c & bit_OSXSAVE) || !keeps_wide_registers()) return;
    can_fold_wide = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_AVX2) && (c & bit_VPCLMULQDQ);
}
#endif

__attribute__((constructor)) static void prepare(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t value = byte;
        for (int bit = 0; bit < 8; bit++) value = value >> 1 ^ (value & 1 ? 0xEDB88320u : 0);
        table[0][byte] = value;
    }
    for (int k = 1; k < STEP; k++) {
        for (int byte = 0; byte < 256; byte++) {
            uint32_t before = table[k - 1][byte];
            table[k][byte] = before >> 8 ^ table[0][before & 0xFF];
        }
    }
#ifdef WITH_PCLMUL
    detect_instructions();
#endif
}

static inline uint32_t little32(const uint8_t *p) { return __builtin_bswap32(get32(p)); }

static inline uint32_t word_through(uint32_t word, int zeros)
{
    return table[zeros + 3][word & 0xFF] ^ table[zeros + 2][word >> 8 & 0xFF] ^ table[zeros + 1][word >> 16 & 0xFF] ^
           table[zeros][word >> 24];
}

static uint32_t by_tables(uint32_t crc, const uint8_t *p, size_t left)
{
    for (; left >= 16; p += 16, left -= 16) {
        crc = word_through(crc ^ little32(p), 12) ^ word_through(little32(p + 4), 8) ^
              word_through(little32(p + 8), 4) ^ word_through(little32(p + 12), 0);
    }
    for (; left >= 4; p += 4, left -= 4) crc = word_through(crc ^ little32(p), 0);
    for (; left > 0; p++, left--) crc = crc >> 8 ^ table[0][(crc ^ *p) & 0xFF];
    return crc;
}

#ifdef WITH_PCLMUL

/* Folding by carry-less multiplication (Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction", Intel 2009). The constants are powers of x modulo the polynomial, bits reversed: a lane that is folded
 * over n bits is multiplied by x^(n+32) and x^(n-32). */
#define FOLD_1024 _mm_set_epi64x(0x14A7FE880, 0x1E88EF372)
#define FOLD_512 _mm_set_epi64x(0x1C6E41596, 0x154442BD4)
#define FOLD_128 _mm_set_epi64x(0x0CCAA009E, 0x1751997D0)
#define FOLD_64 _mm_set_epi64x(0, 0x163CD6124)
#define BARRETT _mm_set_epi64x(0x1F7011641, 0x1DB710641)

#define FOLDING __attribute__((target("pclmul,sse4.1")))

FOLDING static inline __m128i load(const uint8_t *p) { return _mm_loadu_si128((const __m128i *)(const void *)p); }

FOLDING static inline __m128i fold(__m128i lane, __m128i by, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(lane, by, 0x00), high = _mm_clmulepi64_si128(lane, by, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

/* 128 bits down to the 32 of the CRC. */
FOLDING static inline uint32_t reduce(__m128i lane)
{
    const __m128i low_words = _mm_setr_epi32(~0, 0, ~0, 0);
    __m128i down = _mm_clmulepi64_si128(lane, FOLD_128, 0x10);
    lane = _mm_xor_si128(_mm_srli_si128(lane, 8), down);
    down = _mm_srli_si128(lane, 4);
    lane = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(lane, low_words), FOLD_64, 0x00), down);
    down = _mm_clmulepi64_si128(_mm_and_si128(lane, low_words), BARRETT, 0x10);
    down = _mm_clmulepi64_si128(_mm_and_si128(down, low_words), BARRETT, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(lane, down), 1);
}

/* The last `left` bytes, fewer than 16, behind a lane: the lane moves up by so many, and what falls out is folded. */
FOLDING static inline __m128i fold_rest(__m128i lane, const uint8_t *end, size_t left)
{
#define NOTHING 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80
    static const uint8_t places[48] = {NOTHING, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, NOTHING};
#undef NOTHING
    __m128i fallen = load(places + left), new_bytes = _mm_cmpgt_epi8(fallen, _mm_set1_epi8(-1));
    __m128i moved = _mm_shuffle_epi8(lane, load(places + 16 + left));
    return fold(_mm_shuffle_epi8(lane, fallen), FOLD_128,
                _mm_or_si128(moved, _mm_and_si128(load(end - 16), new_bytes)));
}

/* Continue one lane over the rest, which has at least 16 bytes before it. */
FOLDING static inline uint32_t by_lane(__m128i lane, const uint8_t *p, size_t left)
{
    for (; left >= 16; p += 16, left -= 16) lane = fold(lane, FOLD_128, load(p));
    return reduce(left == 0 ? lane : fold_rest(lane, p + left, left));
}

/* Continue four lanes, which cover 64 bytes, over the following ones. */
FOLDING static inline uint32_t by_lanes(__m128i lane, __m128i lane1, __m128i lane2, __m128i lane3, const uint8_t *p,
                                        size_t left)
{
    for (; left >= 64; p += 64, left -= 64) {
        lane = fold(lane, FOLD_512, load(p));
        lane1 = fold(lane1, FOLD_512, load(p + 16));
        lane2 = fold(lane2, FOLD_512, load(p + 32));
        lane3 = fold(lane3, FOLD_512, load(p + 48));
    }
    lane = fold(lane, FOLD_128, lane1);
    lane = fold(lane, FOLD_128, lane2);
    lane = fold(lane, FOLD_128, lane3);
    return by_lane(lane, p, left);
}

/* `left` is 16 at least. */
FOLDING static uint32_t by_folding(uint32_t crc, const uint8_t *p, size_t left)
{
    __m128i lane = _mm_xor_si128(load(p), _mm_cvtsi32_si128((int)crc));
    if (left >= 128) return by_lanes(lane, load(p + 16), load(p + 32), load(p + 48), p + 64, left - 64);
    return by_lane(lane, p + 16, left - 16);
}

/* The same with two lanes an instruction. */
#define FOLDING_WIDE __attribute__((target("pclmul,sse4.1,avx2,vpclmulqdq")))

FOLDING_WIDE static inline __m256i load_wide(const uint8_t *p)
{
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

FOLDING_WIDE static inline __m256i fold_wide(__m256i lanes, __m256i by, __m256i next)
{
    __m256i low = _mm256_clmulepi64_epi128(lanes, by, 0x00), high = _mm256_clmulepi64_epi128(lanes, by, 0x11);
    return _mm256_xor_si256(_mm256_xor_si256(low, high), next);
}

/* `left` is 128 at least. */
FOLDING_WIDE static uint32_t by_folding_wide(uint32_t crc, const uint8_t *p, size_t left)
{
    const __m256i by_1024 = _mm256_broadcastsi128_si256(FOLD_1024), by_512 = _mm256_broadcastsi128_si256(FOLD_512);
    __m256i begun = _mm256_zextsi128_si256(_mm_cvtsi32_si128((int)crc)), lanes = _mm256_xor_si256(load_wide(p), begun);
    __m256i lanes1 = load_wide(p + 32), lanes2 = load_wide(p + 64), lanes3 = load_wide(p + 96);
    for (p += 128, left -= 128; left >= 128; p += 128, left -= 128) {
        lanes = fold_wide(lanes, by_1024, load_wide(p));
        lanes1 = fold_wide(lanes1, by_1024, load_wide(p + 32));
        lanes2 = fold_wide(lanes2, by_1024, load_wide(p + 64));
        lanes3 = fold_wide(lanes3, by_1024, load_wide(p + 96));
    }
    lanes = fold_wide(lanes, by_512, lanes2);
    lanes1 = fold_wide(lanes1, by_512, lanes3);
    return by_lanes(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1), _mm256_castsi256_si128(lanes1),
                    _mm256_extracti128_si256(lanes1, 1), p, left);
}

static uint32_t by_processor(uint32_t crc, const uint8_t *p, size_t left)
{
    if (left >= WIDE_WORTH && can_fold_wide) return by_folding_wide(crc, p, left);
    return left >= 32 ? by_folding(crc, p, left) : by_tables(crc, p, left);
}

#elif defined(WITH_ARM_CRC)

static uint32_t by_processor(uint32_t crc, const uint8_t *p, size_t left)
{
    for (uint64_t word; left >= 8; p += 8, left -= 8) {
        memcpy(&word, p, 8);
        crc = __crc32d(crc, word);
    }
    for (; left > 0; p++, left--) crc = __crc32b(crc, *p);
    return crc;
}

#endif

uint32_t crc32_of(span data)
{
#if defined(WITH_ARM_CRC)
    return ~by_processor(~0u, data.at, data.len);
#elif defined(WITH_PCLMUL)
    if (can_fold) return ~by_processor(~0u, data.at, data.len);
#endif
    return ~by_tables(~0u, data.at, data.len);
}
