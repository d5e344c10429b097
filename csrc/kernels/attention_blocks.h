/* attention_blocks.h: what the files of attention share. */
#ifndef SC_ATTENTION_BLOCKS_H
#define SC_ATTENTION_BLOCKS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "../attention.h"
#include "kernels.h"

#define SC_ATTENTION_CHUNK 64 /* columns of the mask that are scored before they are summed */
#define SC_LOG2E 1.4426950408889634

/* Some blocks of rows (or, to_columns, of columns) of one head; one where they are tall. */
typedef struct {
    int64_t batch, head, first, blocks;
    const sc_strips *strips;
    bool more; /* there are results of other strips, to which these are added */
} sc_attention_unit;

/* One attention_N.c, one number type, on the calling thread. memory is 64-byte aligned and of size(..) bytes. */
typedef void sc_attention_block(const sc_attention *, char *memory, const sc_attention_unit *);
typedef struct {
    size_t (*size)(const sc_attention *, const sc_strips *, int64_t blocks);
    sc_attention_block *forward, *prepare, *to_rows, *to_columns;
} sc_attention_blocks;

extern const sc_attention_blocks sc_attention_blocks_16_f32, sc_attention_blocks_16_f64;
#if defined(__x86_64__)
extern const sc_attention_blocks sc_attention_blocks_32_f32, sc_attention_blocks_32_f64;
extern const sc_attention_blocks sc_attention_blocks_64_f32, sc_attention_blocks_64_f64;
#endif

/* For tests: vectors of at most this many bytes from now on. */
void sc_attention_use(int vector_bytes);

/* The matrix of the mask for a head. */
SC_INLINE int64_t sc_strips_matrix(const sc_strips *s, int64_t batch, int64_t head)
{ return (s->batch > 1 ? batch : 0) * s->heads + (s->heads > 1 ? head : 0); }

/* The bits of the first rows of a block. */
SC_INLINE uint64_t sc_strips_rows(int64_t rows)
{ return rows >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << rows) - 1; }

/* The keys of dropout for a row: 64 bits that look random. */
SC_INLINE uint64_t sc_attention_key(uint64_t seed, int64_t row)
{
    uint64_t x = seed + 0x9e3779b97f4a7c15u * ((uint64_t)row + 1);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* attention_turn.c: counts behind pos[0] of each matrix become positions; returns their sum. */
int64_t sc_strips_sum(const sc_strips *, int64_t *pos);
/* The strips of the mask transposed, for values of `size` bytes; free them even after an error. */
int sc_strips_turn(const sc_strips *from, int64_t columns, size_t size, sc_strips *to, sc_err *);
void sc_strips_free(sc_strips *);

/* Functions between these two are compiled for a CPU with the named features. SC_TARGET_WIDE, behind their list, asks
 * for vectors of 64 bytes; clang uses them unasked, and ignores the whole list where it holds a word it does not know. */
#if defined(__clang__)
#define SC_TARGET_WIDE
#define SC_PRAGMA(x) _Pragma(#x)
#define SC_TARGET_BEGIN(x) SC_PRAGMA(clang attribute push(__attribute__((target(x))), apply_to = function))
#define SC_TARGET_END _Pragma("clang attribute pop")
#else
#define SC_TARGET_WIDE , "prefer-vector-width=512"
#define SC_PRAGMA(x) _Pragma(#x)
#define SC_TARGET_BEGIN(x) _Pragma("GCC push_options") SC_PRAGMA(GCC target(x))
#define SC_TARGET_END _Pragma("GCC pop_options")
#endif

/* 2^f for |f| <= 1/2, relative errors 1.9e-9 and 2e-16 */
#define SC_EXP2_F32                                                                                          \
    {0x1.0000000261503p+0, 0x1.62e430c7e9221p-1,  0x1.ebfbdadcb02dcp-3, 0x1.c6aed4b952781p-5,                \
     0x1.3b2dbbc15d460p-7, 0x1.5f456a8a25c00p-10, 0x1.41d3332afba40p-13}
#define SC_EXP2_F64                                                                                          \
    {1,                                                                                                      \
     0.69314718055994529,                                                                                    \
     0.24022650695910069,                                                                                    \
     0.055504108664821576,                                                                                   \
     0.0096181291076284769,                                                                                  \
     0.0013333558146428441,                                                                                  \
     0.00015403530393381606,                                                                                 \
     1.5252733804059838e-05,                                                                                 \
     1.3215486790144305e-06,                                                                                 \
     1.0178086009239696e-07,                                                                                 \
     7.0549116008211009e-09,                                                                                 \
     4.4455382718708101e-10,                                                                                 \
     2.5678435993488196e-11}

#endif
