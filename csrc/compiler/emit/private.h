/* private.h: shared by the files that write C text. */
#ifndef SC_EMIT_PRIVATE_H
#define SC_EMIT_PRIVATE_H

#include "emit.h"

/* ---- lib.c: the functions that generated text is written with ----
 * As elements of C vectors, bool stands for signed char. */
typedef enum {
    H_SPLAT,
    H_LOAD,
    H_STORE,
    H_GATHER,
    H_SCATTER,
    H_TURN, /* turn(to, stride, from, stride): a square, transposed */
    H_SELECT,
    H_MIN,
    H_MAX,
    H_RELU,
    H_ABS,
    H_SQRT,
    H_SHL,
    H_FROM_F16, /* of the type f32 that is given or taken */
    H_FROM_BF16,
    H_TO_F16,
    H_TO_BF16,
    H_WIDE,  /* splat of a bf16 as f32 */
    H_SORT,  /* sort(keys, spare, n): i32 or i64, not negative */
    H_UNITE, /* unite(keys, values, n, most of a key): of the type of the values */
    H_MARKS, /* of 64 truth values */
    H_FIRST, /* truth values, of a mask type */
    H_BITS,
    H_HADD,
    H_HMAX,
    H_HMIN,
    H_EVEN,
    H_ODD,
    H_SEARCH,
    H_PAIR,
    H_PICK, /* by i32 coordinates, by i64 ones */
    H_PICK_FAR,
    H_MEET,
    H_SPREAD,
    H_DOT, /* dot(sum, &pair of bf16, x, y) */
    H_MASKED,
    H_EXPAND,
    H_PUT, /* put(to, bits, x) */
    H_EXTRACT,
    H_ONES,
    H_EXP,
    H_LOG,
    H_TANH,
    H_SIGMOID,
    H_COUNT
} Helper;
typedef struct { /* what a text uses; bit n: with 2^n lanes */
    uint8_t used[H_COUNT][SC_NDTYPE];
    uint8_t vector[SC_NDTYPE]; /* types */
    uint8_t loose[SC_NDTYPE];  /* their unaligned variants */
} Needs;
const char *helper_name(Helper); /* functions are called sc_<name>_<type> */
void need_helper(Needs *, Helper, Type);
void need_type(Needs *, Type);
void meet_emit(sc_text *, Helper,
               Type); /* meet.c: H_MEET, H_SPREAD, H_MASKED, H_EXPAND, H_PUT, H_EXTRACT, H_ONES */
void sort_emit(sc_text *, Helper, Type); /* sort.c: H_SORT, H_UNITE, H_MARKS */
void needs_emit(Needs *, sc_text *);     /* typedefs and functions that were asked for, in a fixed order */

/* ---- type.c ---- */
Type type_mask(int bytes, int lanes); /* integers as wide as what is compared */
const char *c_scalar(int dtype);      /* of memory: "float", "sc_i64", "signed char" for bool */
bool type_blends(Type);               /* H_SELECT chooses between two numbers of it */
void c_type(sc_text *, Type);         /* of locals: "f32x8", "float", "_Bool" */

/* ---- emit.c, value.c ---- */
typedef struct {
    const Prog *p;
    const Module *m;
    sc_text *out;
    Needs needs;
    bool param[96], buf[128]; /* used by the entry */
} Emit;

void emit_add(Emit *, const char *);
void emit_type(Emit *, Type);
void emit_helper(Emit *, Helper, Type); /* "sc_load_f32x8(" */
void emit_value(Emit *, const Val *);
void emit_below(Emit *, const Val *, int kid);  /* an operand of an infix operator */
void emit_mask(Emit *, const Val *, int width); /* truth values as integers of so many bytes */
int emit_width(const Emit *, int lanes);        /* of truth values in a local */
void emit_pointer(Emit *, const Buf *, const Val *index);

/* ---- lines.c ---- */
void lines_wrap(const sc_text *, sc_text *out); /* lines that are too long become several */

/* ---- maths.c: C text of the element-wise functions, per type ---- */
void maths_emit(sc_text *, Op, Type);
#endif
