/* fingerprint.c: a number for the bytes of an array.
 *
 * Where two arrays have one number, what was found out about the one is taken for the other, so a collision would be
 * wrong numbers, and it must not depend on what the arrays hold. The number is a universal hash under keys that the
 * process draws: the sum over pairs of 64-bit words of (w0 + k0) * (w1 + k1), all 128 bits of it. Whatever two arrays
 * of different bytes are, and whoever made them, at most one key in 2^64 gives them the same sum. Sums of blocks are
 * hashed again under other keys, and the length with them, five levels up to 128 MB and one for each 128 MB more, so
 * 5 in 2^64: a process that compares a million pairs of different arrays a second meets a collision in a hundred
 * thousand years. Where the CPU multiplies without carry, which takes a quarter of the time, the sums are those of
 * polynomials over bits, of which the same holds.
 *
 * Pieces of a fixed size are hashed for themselves, so threads do not matter. A number means something in the process
 * that made it. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include "kernels.h"

enum { WORDS = 1024, BLOCK = 8 * WORDS, DIGESTS = 8, PIECE = BLOCK * DIGESTS, PIECES = PIECE / 32 };
enum { BYTES, BLOCKS, OF_PIECES, BLOCKS_OF_PIECES, ALL, LEVELS };

typedef unsigned __int128 wide;

static _Alignas(64) uint64_t key[LEVELS][WORDS];
static bool carryless, four; /* the processor multiplies without carry, and four pairs at once */

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

/* ---- keys ---- */
static void draw(void)
{
    char *p = (char *)key;
    uint64_t state = (uint64_t)(uintptr_t)&state ^ (uint64_t)getpid();
    for (size_t i = 0; i < sizeof key; i += 256)
        if (getentropy(p + i, 256)) /* a system without: the place of the stack is all there is */
            for (size_t k = 0; k < 256; k += 8) {
                state = (state ^ state >> 31) * 0x9e3779b97f4a7c15u + 1;
                memcpy(p + i + k, &state, 8);
            }
#if defined(__x86_64__)
    carryless = __builtin_cpu_supports("pclmul");
    four = carryless && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
#endif
}

/* ---- sums of products ---- */
static wide sum(const char *p, int words, const uint64_t *k)
{
    wide a = 0, b = 0;
    for (int i = 0; i < words; i += 4) {
        uint64_t w[4];
        memcpy(w, p + 8 * i, sizeof w);
        a += (wide)(w[0] + k[i]) * (w[1] + k[i + 1]);
        b += (wide)(w[2] + k[i + 2]) * (w[3] + k[i + 3]);
    }
    return a + b;
}

#if defined(__x86_64__)
#include <immintrin.h>
#define TERM(i)                                                                                              \
    _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(p + 8 * (i))),                             \
                  _mm_loadu_si128((const __m128i *)(const void *)(k + (i))))

__attribute__((target("pclmul"))) static wide sum_carryless(const char *p, int words, const uint64_t *k)
{
    __m128i a = _mm_setzero_si128(), b = a;
    for (int i = 0; i < words; i += 4) {
        const __m128i x = TERM(i), y = TERM(i + 2);
        a = _mm_xor_si128(a, _mm_clmulepi64_si128(x, x, 1));
        b = _mm_xor_si128(b, _mm_clmulepi64_si128(y, y, 1));
    }
    a = _mm_xor_si128(a, b);
    wide both;
    memcpy(&both, &a, sizeof both);
    return both;
}

#define TERMS(i)                                                                                             \
    _mm512_xor_si512(_mm512_loadu_si512((const void *)(p + 8 * (i))),                                        \
                     _mm512_loadu_si512((const void *)(k + (i))))
#define ADD(sum, i)                                                                                          \
    x = TERMS(i);                                                                                            \
    sum = _mm512_xor_si512(sum, _mm512_clmulepi64_epi128(x, x, 1))

/* The same sum: its terms may be added in any order. Four by name, as gcc keeps an array of them in memory. */
__attribute__((target("pclmul,avx512f,vpclmulqdq"))) static wide sum_four(const char *p, int words,
                                                                          const uint64_t *k)
{
    __m512i a = _mm512_setzero_si512(), b = a, c = a, d = a, x;
    wide part[4];
    int i = 0;
    for (; i + 32 <= words; i += 32) {
        ADD(a, i);
        ADD(b, i + 8);
        ADD(c, i + 16);
        ADD(d, i + 24);
    }
    a = _mm512_xor_si512(_mm512_xor_si512(a, b), _mm512_xor_si512(c, d));
    memcpy(part, &a, sizeof part);
    return part[0] ^ part[1] ^ part[2] ^ part[3] ^ sum_carryless(p + 8 * i, words - i, k + i);
}
#else
#define sum_carryless sum
#define sum_four sum
#endif

/* Of one block, or the beginning of one, as if zeros followed. */
static wide block(const char *p, size_t n, int level)
{
    wide (*const f)(const char *, int, const uint64_t *) = four ? sum_four : carryless ? sum_carryless : sum;
    const size_t whole = n & ~(size_t)31;
    wide all = f(p, (int)(whole / 8), key[level]);
    if (whole < n) {
        char rest[32] = {0};
        memcpy(rest, p + whole, n - whole);
        const wide last = f(rest, 4, key[level] + whole / 8);
        all = carryless ? all ^ last : all + last;
    }
    return all;
}

/* Of up to a piece, at two levels. */
static wide piece(const char *p, size_t n, int level)
{
    wide digest[DIGESTS];
    int count = 0;
    for (size_t at = 0; at < n; at += BLOCK) digest[count++] = block(p + at, least(n - at, BLOCK), level);
    return count == 1 ? digest[0] : block((const char *)digest, (size_t)count * sizeof *digest, level + 1);
}

/* ---- arrays ---- */
typedef struct {
    const char *p;
    size_t n;
    wide piece[PIECES];
} hashing;

static void hash_range(void *arg, int lane, int64_t begin, int64_t end)
{
    hashing *h = arg;
    (void)lane;
    for (int64_t k = begin; k < end; k++) {
        const size_t at = (size_t)k * PIECE;
        h->piece[k] = piece(h->p + at, least(h->n - at, PIECE), BYTES);
    }
}

static wide hash_pieces(const char *p, size_t n)
{
    const int64_t count = (int64_t)((n + PIECE - 1) / PIECE);
    hashing h = {.p = p, .n = n};
    sc_parallel_ranges(sc_team_lanes((double)n / 8), count, hash_range, &h);
    return piece((const char *)h.piece, (size_t)count * sizeof *h.piece, OF_PIECES);
}

sc_digest sc_fingerprint(const void *data, size_t n)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const char *p = data;
    wide all = 0;
    pthread_once(&once, draw);
    for (size_t at = 0, m; at < n; at += m) {
        m = least(n - at, (size_t)PIECE * PIECES);
        const struct {
            wide all, here;
            uint64_t n, none[3];
        } part = {all, m <= PIECE ? piece(p + at, m, BYTES) : hash_pieces(p + at, m), n, {0}};
        all = block((const char *)&part, sizeof part, ALL);
    }
    return (sc_digest){(uint64_t)all, (uint64_t)(all >> 64)};
}
