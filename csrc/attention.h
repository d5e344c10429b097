/* attention.h: attention under a sparse mask, as the library offers it.
 *
 *   out[i] = sum_j p[i,j] v[j],  p[i,:] = softmax over the stored j of mask[i,j] scale q[i].k[j]
 *
 * An entry of the mask counts where its value is not zero. A row that sees
 * nothing, or only scores of minus infinity, gives zeros. What is not seen takes
 * no part, not even where k or v hold NaN.
 *
 * The kernels take the mask as strips: blocks of 1, 16, 32 or 64 rows, each with the sorted list of the columns
 * that any of its rows sees, and a word a column that says which rows do. A column of K is read once for a whole
 * block, in registers of rows, wherever it lies: bands, blocks and scattered entries take the same loops.
 *
 * A mask can be two sets of strips, of entries apart: those of a band, say, in blocks of neighbours, and the others in
 * blocks of rows that see the same columns, wherever these rows lie. The sums of both are merged by their logarithms. */
#ifndef SC_ATTENTION_H
#define SC_ATTENTION_H

#include "scorch.h"

#define SC_MAXSTRIP 64
#define SC_MASKPARTS 2

typedef struct {
    int64_t height;       /* rows of a block: 1, 16, 32 or 64 */
    int64_t batch, heads; /* matrices; 1 of either is for all */
    int64_t blocks, n;    /* blocks of a matrix; columns listed in all */
    const int64_t *pos;   /* [batch, heads, blocks + 1] */
    const int32_t *crd;   /* [n] */
    const uint64_t *bits; /* [n] bit r: row r of the block sees it */
    const void *val;      /* [n, height] of the type computed in, null: scores are left as they are */
    const int32_t *order; /* [rows] which rows the blocks take, one after the other; null: as they lie */
} sc_strips;

/* [batch, heads, rows, width] */
typedef struct {
    const void *p;
    int64_t stride[4];
} sc_heads;

typedef struct {
    sc_dtype dtype;                      /* f16, bf16 (computed in f32), f32, f64 */
    int64_t batch, heads, shared;        /* shared: heads of k and v, a divisor of heads */
    int64_t rows, columns, width, depth; /* width of q and k, depth of v */
    double scale;
    bool added;     /* values of the mask are added to scaled scores, instead of multiplying them */
    double dropout; /* the share of weights that become 0, the others grow by 1 / (1 - dropout) */
    uint64_t seed;
    sc_heads q, k, v;
    sc_strips
        mask[SC_MASKPARTS]; /* those of a second one are of one matrix for all, as those of the first, */
    int parts;              /* and have no val */
    void *out;              /* [batch, heads, rows, depth] */
    /* [batch, heads, rows] f32 or f64: log sum exp of the scores, minus infinity for rows of zeros */
    void *lse;
    /* backward only */
    sc_heads grad;                  /* of out */
    void *dq, *dk, *dv;             /* as q, k, v, contiguous */
    void *dval;                     /* as the mask's val; null: not wanted */
    sc_strips turned[SC_MASKPARTS]; /* the mask transposed: */
    int turned_parts;               /* 0: the library transposes it, which must be of one part */
    const void *base, *delta;       /* the library's own: what gradients need of each row */
} sc_attention;

/* The strips, of the height that is set, of matrices [rows, columns] in csr, one after the other: pos has matrices *
 * rows + 1 entries. Values of zero are dropped, unless `zeros`, where minus infinity is refused. Arrays come from
 * alloc: pos, crd, bits and, unless all values are one, val; or instead of val, with `places`, where in val each entry
 * belongs, behind its end for those that are dropped. The structure is checked. */
typedef struct {
    int64_t matrices, rows, columns;
    const void *pos, *crd, *val;
    sc_dtype itype, dtype;
    int64_t nnz;
    sc_dtype computed; /* of the values made: f32 or f64 */
    bool zeros, places;
} sc_strip_source;
bool sc_strips_height(int64_t); /* whether blocks can be so high */
int sc_attention_strips(const sc_strip_source *, sc_strips *, sc_alloc *, void *ctx, sc_err *);

/* A dense mask of truth values, [matrices, rows, columns], or of tiles of so many rows and columns, which divide
 * those. */
typedef struct {
    const uint8_t *p;
    int64_t matrices, rows, columns, tile[2];
} sc_dense_mask;
/* A word for each column of 64 rows, [matrices, rows / 64 rounded up, columns]: bit r, row r sees it. *count: how many
 * columns strips of 64, 32, 16 rows and of one would list. */
void sc_attention_words(const sc_dense_mask *, uint64_t *words, int64_t count[4]);
/* The strips of the height that is set from words, of which the mask says the extents; as sc_attention_strips. */
int sc_attention_listed(const sc_dense_mask *, const uint64_t *words, sc_strips *, sc_alloc *, void *ctx,
                        sc_err *);

/* Strips may come from anybody: they are checked. */
int sc_attention_forward(const sc_attention *, sc_err *);
int sc_attention_backward(const sc_attention *, sc_err *);

#endif
