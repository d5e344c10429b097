/* fingerprint.c: a number for the bytes of an array.
 *
 * Pieces of a fixed size are hashed for themselves, in lanes that a vector unit runs side by side, and their numbers
 * are hashed again; so threads do not matter. */
#include <string.h>

#include "kernels.h"

enum { LANES = 8, PIECE = 1 << 18, PIECES = 1 << 12 };

static const uint64_t odd = 0x9e3779b97f4a7c15u;

static uint64_t serial(const char *p, size_t n)
{
    uint64_t h[LANES], w[LANES], all = n;
    size_t i = 0;
    for (int k = 0; k < LANES; k++) h[k] = odd * (uint64_t)(k + 1);
    for (; i + sizeof w <= n; i += sizeof w) {
        memcpy(w, p + i, sizeof w);
        for (int k = 0; k < LANES; k++) {
            const uint64_t x = h[k] ^ w[k];
            h[k] = (x << 29 | x >> 35) * odd;
        }
    }
    memset(w, 0, sizeof w);
    if (i < n) memcpy(w, p + i, n - i);
    for (int k = 0; k < LANES; k++) {
        const uint64_t x = all ^ h[k] ^ (w[k] << 31 | w[k] >> 33) * odd;
        all = (x << 27 | x >> 37) * odd;
    }
    return all;
}

typedef struct {
    const char *p;
    size_t n;
    uint64_t piece[PIECES];
} hashing;

static void hash_range(void *arg, int lane, int64_t begin, int64_t end)
{
    hashing *h = arg;
    (void)lane;
    for (int64_t k = begin; k < end; k++) {
        const size_t at = (size_t)k * PIECE;
        h->piece[k] = serial(h->p + at, h->n - at < PIECE ? h->n - at : PIECE);
    }
}

uint64_t sc_fingerprint(const void *data, size_t n)
{
    const char *p = data;
    uint64_t all = n;
    if (n <= PIECE) return serial(p, n);
    for (size_t at = 0; at < n; at += (size_t)PIECE * PIECES) {
        const size_t m = n - at < (size_t)PIECE * PIECES ? n - at : (size_t)PIECE * PIECES;
        const int64_t count = (int64_t)((m + PIECE - 1) / PIECE);
        hashing h = {.p = p + at, .n = m};
        sc_parallel_ranges(sc_team_lanes((double)m / 8), count, hash_range, &h);
        all = (all ^ serial((const char *)h.piece, (size_t)count * sizeof *h.piece)) * odd;
    }
    return all;
}
