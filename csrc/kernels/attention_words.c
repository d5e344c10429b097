/* attention_words.c: the strips of a dense mask, made anew in each call.
 *
 * A mask of truth values is read once: 64 rows of a column become a word, as many as an eighth of its bytes. From the
 * words follow the strips of every height, and how many columns those list, so that the caller can choose one. A mask
 * of tiles is not spread out. */
#include <stdatomic.h>

#include "attention_blocks.h"

enum { ROWS = SC_MAXSTRIP, SIDE = 2048 /* columns at a time */ };

typedef uint8_t bytes16 __attribute__((vector_size(16)));

typedef struct {
    const sc_dense_mask *from;
    uint64_t *words;
    int64_t blocks; /* of a matrix, ROWS rows each */
    sc_strips *to;
    int64_t *pos;
    int32_t *crd;
    uint64_t *bits;
    _Atomic int64_t next, count[4];
} words;

/* ---- the mask as words ---- */
/* A bit for each of up to eight rows, of n columns: as many streams as processors read ahead of. */
SC_INLINE void eight_rows(const uint8_t *p, int64_t stride, int rows, int64_t n, uint8_t *to)
{
    int64_t c = 0;
    for (; c + 16 <= n; c += 16) {
        bytes16 x, sum = {0};
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            memcpy(&x, p + r * stride + c, sizeof x);
            sum |= (bytes16)(x != 0) & (uint8_t)(1u << r);
        }
        memcpy(to + c, &sum, sizeof sum);
    }
    for (; c < n; c++) {
        to[c] = 0;
        for (int r = 0; r < rows; r++) to[c] |= (uint8_t)((p[r * stride + c] != 0) << r);
    }
}

/* Eight bytes that lie SIDE apart are a word. */
static void join(uint8_t part[8][SIDE], int64_t n, uint64_t *to)
{
    int64_t k = 0;
#if defined(__x86_64__)
    for (; k + 16 <= n; k += 16) {
        __m128i a[8], b[8];
        for (int g = 0; g < 8; g++) a[g] = _mm_loadu_si128((const __m128i *)(part[g] + k));
        for (int g = 0; g < 8; g += 2) {
            b[g] = _mm_unpacklo_epi8(a[g], a[g + 1]);
            b[g + 1] = _mm_unpackhi_epi8(a[g], a[g + 1]);
        }
        for (int h = 0; h < 2; h++) { /* eight columns each */
            const __m128i low = _mm_unpacklo_epi16(b[h], b[2 + h]), mid = _mm_unpackhi_epi16(b[h], b[2 + h]);
            const __m128i up = _mm_unpacklo_epi16(b[4 + h], b[6 + h]),
                          top = _mm_unpackhi_epi16(b[4 + h], b[6 + h]);
            __m128i *out = (__m128i *)(to + k + 8 * h);
            _mm_storeu_si128(out, _mm_unpacklo_epi32(low, up));
            _mm_storeu_si128(out + 1, _mm_unpackhi_epi32(low, up));
            _mm_storeu_si128(out + 2, _mm_unpacklo_epi32(mid, top));
            _mm_storeu_si128(out + 3, _mm_unpackhi_epi32(mid, top));
        }
    }
#endif
    for (; k < n; k++) {
        to[k] = 0;
        for (int g = 0; g < 8; g++) to[k] |= (uint64_t)part[g][k] << 8 * g;
    }
}

/* Entry by entry: rows of a block, the first at p. */
static void fold_entries(const sc_dense_mask *m, const uint8_t *p, int64_t rows, uint64_t *to)
{
    for (int64_t c = 0; c < m->columns; c += SIDE) {
        const int64_t n = sc_min(SIDE, m->columns - c);
        uint8_t part[8][SIDE];
        for (int64_t r = 0; r < ROWS; r += 8) {
            const uint8_t *from = p + sc_min(r, rows) * m->columns + c;
            if (r + 8 <= rows)
                eight_rows(from, m->columns, 8, n, part[r / 8]);
            else
                eight_rows(from, m->columns, (int)sc_max(0, rows - r), n, part[r / 8]);
        }
        join(part, n, to + c);
    }
}

/* Tile by tile: `first` is the block's first row in its matrix, which begins at p. */
static void fold_tiles(const sc_dense_mask *m, const uint8_t *p, int64_t first, int64_t rows, uint64_t *to)
{
    const int64_t wide = m->columns / m->tile[1];
    memset(to, 0, (size_t)m->columns * sizeof *to);
    for (int64_t r = 0, end; r < rows; r = end) {
        const int64_t row = (first + r) / m->tile[0];
        end = sc_min(rows, (row + 1) * m->tile[0] - first);
        const uint64_t bits = sc_strips_rows(end - r) << r;
        for (int64_t c = 0; c < wide; c++)
            if (p[row * wide + c])
                for (int64_t k = c * m->tile[1]; k < (c + 1) * m->tile[1]; k++) to[k] |= bits;
    }
}

/* How many columns strips of 64, 32, 16 rows and of one list. */
static void count_words(words *s, const uint64_t *w)
{
    int64_t n[4] = {0};
    for (int64_t c = 0; c < s->from->columns; c++) {
        if (!w[c]) continue;
        n[0]++;
        n[1] += ((uint32_t)w[c] != 0) + (w[c] >> 32 != 0);
        for (int k = 0; k < ROWS; k += 16) n[2] += (uint16_t)(w[c] >> k) != 0;
        n[3] += __builtin_popcountll(w[c]);
    }
    for (int k = 0; k < 4; k++) atomic_fetch_add_explicit(&s->count[k], n[k], memory_order_relaxed);
}

static void fold_units(void *arg, int id, int n)
{
    words *s = arg;
    const sc_dense_mask *m = s->from;
    const bool tiles = m->tile[0] > 1 || m->tile[1] > 1;
    (void)id, (void)n;
    for (int64_t u; (u = atomic_fetch_add(&s->next, 1)) < m->matrices * s->blocks;) {
        const int64_t first = u % s->blocks * ROWS, rows = sc_min(ROWS, m->rows - first);
        const uint8_t *p = m->p + u / s->blocks * (m->rows / m->tile[0]) * (m->columns / m->tile[1]);
        uint64_t *to = s->words + u * m->columns;
        if (tiles)
            fold_tiles(m, p, first, rows, to);
        else
            fold_entries(m, p + first * m->columns, rows, to);
        count_words(s, to);
    }
}

static int lanes_for(const words *s)
{
    const double work = (double)s->from->matrices * (double)s->from->rows * (double)s->from->columns / 16;
    return (int)sc_max(1, sc_min(sc_team_lanes(work), s->from->matrices * s->blocks));
}

void sc_attention_words(const sc_dense_mask *m, uint64_t *to, int64_t count[4])
{
    words s = {.from = m, .words = to, .blocks = (m->rows + ROWS - 1) / ROWS};
    sc_parallel(lanes_for(&s), fold_units, &s);
    for (int k = 0; k < 4; k++) count[k] = atomic_load(&s.count[k]);
}

/* ---- words as strips ---- */
/* The columns that the blocks of a unit see, in order: at[k] is where the list of block k goes on. */
static void list(const words *s, const uint64_t *w, int64_t *at)
{
    const int shift = __builtin_ctzll((uint64_t)s->to->height);
    const uint64_t block = sc_strips_rows(s->to->height);
    for (int64_t c = 0; c < s->from->columns; c++)
        for (uint64_t left = w[c]; left;) {
            const int k = __builtin_ctzll(left) >> shift;
            const uint64_t rows = block << (k << shift), bits = left & rows;
            if (s->crd) s->crd[at[k]] = (int32_t)c, s->bits[at[k]] = bits >> (k << shift);
            at[k]++;
            left &= ~rows;
        }
}

static void list_units(void *arg, int id, int n)
{
    words *s = arg;
    const int64_t height = s->to->height;
    (void)id, (void)n;
    for (int64_t u; (u = atomic_fetch_add(&s->next, 1)) < s->from->matrices * s->blocks;) {
        const int64_t matrix = u / s->blocks, first = u % s->blocks * ROWS;
        const int64_t blocks = (sc_min(ROWS, s->from->rows - first) + height - 1) / height;
        int64_t *pos = s->pos + matrix * (s->to->blocks + 1) + first / height, at[ROWS] = {0};
        for (int64_t k = 0; s->crd && k < blocks; k++) at[k] = pos[k];
        list(s, s->words + u * s->from->columns, at);
        for (int64_t k = 0; !s->crd && k < blocks; k++) pos[k + 1] = at[k];
    }
}

int sc_attention_listed(const sc_dense_mask *m, const uint64_t *from, sc_strips *to, sc_alloc *alloc,
                        void *ctx, sc_err *e)
{
    words s = {
        .from = m, .words = (uint64_t *)(uintptr_t)from, .blocks = (m->rows + ROWS - 1) / ROWS, .to = to};
    int64_t places;
    to->blocks = (m->rows + to->height - 1) / to->height;
    if (!sc_mul(m->matrices, to->blocks + 1, &places)) return sc_error(e, SC_EVALUE, "mask: too large");
    if (!(s.pos = alloc(ctx, SC_POS, 0, SC_I64, places))) return sc_error(e, SC_ENOMEM, "out of memory");
    sc_parallel(lanes_for(&s), list_units, &s);
    to->batch = m->matrices, to->heads = 1;
    to->n = sc_strips_sum(to, s.pos);
    s.crd = alloc(ctx, SC_CRD, 0, SC_I32, to->n);
    s.bits = s.crd ? alloc(ctx, SC_CRD, 1, SC_I64, to->n) : NULL;
    if (!s.bits) return sc_error(e, SC_ENOMEM, "out of memory");
    atomic_store(&s.next, 0);
    sc_parallel(lanes_for(&s), list_units, &s);
    to->pos = s.pos, to->crd = s.crd, to->bits = s.bits;
    return SC_OK;
}
