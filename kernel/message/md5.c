/* RFC 1321. */

#include "message/md5.h"

#include "core/hex.h"

enum { BLOCK = 64, LENGTH_AT = 56, ROUNDS = 4, WORDS = 4 };

/* The whole parts of 2**32 * abs(sin(1)), abs(sin(2)) and so on. */
static const uint32_t sines[BLOCK] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};

static inline uint32_t turned(uint32_t value, int bits) { return value << bits | value >> (32 - bits); }

/* One step; the next one has the four words in another order. */
#define STEP(f, a, b, c, d, word, number, bits) a = b + turned(a + (f) + words[word] + sines[number], bits)
#define FOUR(f, first, n0, n1, n2, n3, b0, b1, b2, b3) \
    STEP(f(b, c, d), a, b, c, d, n0, first, b0);       \
    STEP(f(a, b, c), d, a, b, c, n1, first + 1, b1);   \
    STEP(f(d, a, b), c, d, a, b, n2, first + 2, b2);   \
    STEP(f(c, d, a), b, c, d, a, n3, first + 3, b3)
#define F(x, y, z) (((x) & ((y) ^ (z))) ^ (z))
#define G(x, y, z) (((z) & ((x) ^ (y))) ^ (y))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))

static void take_block(uint32_t state[WORDS], const uint8_t *block)
{
    uint32_t words[16], a = state[0], b = state[1], c = state[2], d = state[3];
    memcpy(words, block, sizeof words); /* little-endian, as all that the kernel runs on */
    FOUR(F, 0, 0, 1, 2, 3, 7, 12, 17, 22);
    FOUR(F, 4, 4, 5, 6, 7, 7, 12, 17, 22);
    FOUR(F, 8, 8, 9, 10, 11, 7, 12, 17, 22);
    FOUR(F, 12, 12, 13, 14, 15, 7, 12, 17, 22);
    FOUR(G, 16, 1, 6, 11, 0, 5, 9, 14, 20);
    FOUR(G, 20, 5, 10, 15, 4, 5, 9, 14, 20);
    FOUR(G, 24, 9, 14, 3, 8, 5, 9, 14, 20);
    FOUR(G, 28, 13, 2, 7, 12, 5, 9, 14, 20);
    FOUR(H, 32, 5, 8, 11, 14, 4, 11, 16, 23);
    FOUR(H, 36, 1, 4, 7, 10, 4, 11, 16, 23);
    FOUR(H, 40, 13, 0, 3, 6, 4, 11, 16, 23);
    FOUR(H, 44, 9, 12, 15, 2, 4, 11, 16, 23);
    FOUR(I, 48, 0, 7, 14, 5, 6, 10, 15, 21);
    FOUR(I, 52, 12, 3, 10, 1, 6, 10, 15, 21);
    FOUR(I, 56, 8, 15, 6, 13, 6, 10, 15, 21);
    FOUR(I, 60, 4, 11, 2, 9, 6, 10, 15, 21);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

/* The rest behind whole blocks, with the end mark and the length in bits. */
static void take_rest(uint32_t state[WORDS], span rest, uint64_t length)
{
    uint8_t block[2 * BLOCK] = {0};
    size_t size = rest.len < LENGTH_AT ? BLOCK : 2 * BLOCK;
    uint64_t bits = length * 8;
    put_span(block, rest)[0] = 0x80;
    memcpy(block + size - sizeof bits, &bits, sizeof bits);
    for (size_t at = 0; at < size; at += BLOCK) take_block(state, block + at);
}

uint8_t *put_md5(uint8_t *to, span data)
{
    uint32_t state[WORDS] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint8_t sum[sizeof state];
    size_t at = 0;
    for (; data.len - at >= BLOCK; at += BLOCK) take_block(state, data.at + at);
    take_rest(state, span_of(data.at + at, data.len - at), data.len);
    memcpy(sum, state, sizeof sum);
    return put_hex(to, span_of(sum, sizeof sum));
}
