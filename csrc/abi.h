/* The kernel ABI: what generated code and the library agree on.
 *
 * The text below is both compiled here and kept as a string, so that the
 * compiler can print it at the head of every kernel: one definition, no
 * include file needed by generated code. Change it and raise SC_ABI. */
#ifndef SC_ABI_H
#define SC_ABI_H

#define SC_ABI 4

/* A source that begins with this has no product and sum made one operation. */
#define SC_EXACT "/* Rounds each operation. */\n"

/* Limits that the structures below spell out as numbers: 8 dimensions,
 * 12 levels a tensor, 8 cursors a lane, 8 shared workspaces. */
#define SC_MAXDIM 8
#define SC_MAXLEVEL 12
#define SC_MAXCURSOR 8
#define SC_MAXSHARED 8

#define SC_ABI_TEXT(...)                                                                                     \
    __VA_ARGS__                                                                                              \
    static const char sc_abi_text[] __attribute__((unused)) = #__VA_ARGS__;

/* clang-format off */
SC_ABI_TEXT(
typedef __INT64_TYPE__ sc_i64;
typedef struct { const void *pos, *crd; sc_i64 size, npos; } sc_level;
typedef struct {
    sc_level level[12];
    void *val;
    const void *perm;
    sc_i64 stride[8], dim[8], nval;
} sc_view;
typedef struct sc_call {
    unsigned abi, size;
    const sc_view *view;
    const sc_i64 *dim;
    const void *self;
    void *shared[8];
    int copies[8];
} sc_call;
typedef struct {
    int id, n;
    void *scratch;
    void *partial;
    sc_i64 slots, cursor[8];
} sc_lane;
typedef int sc_kernel(const sc_call *, sc_lane *, sc_i64, sc_i64);
typedef struct { unsigned abi, size; const char *key; int nentry; sc_kernel *entry[64]; } sc_object;
)
/* clang-format on */

/* sc_level   pos/crd arrays of the tensor's index type (null where the level
 *            has none); size: extent of the level (slots for ell); npos:
 *            positions stored in the level.
 * sc_view    one operand or result: its levels, its values (null until a
 *            result is allocated), perm: where in val the value of a position
 *            lies, of the tensor's index type (null: at the position), strides
 *            in elements (dense tensors only), extents of its dimensions,
 *            number of stored values.
 * sc_call    shared by the team and read-only during a step. view: operands
 *            in order, then results. dim: extent of each index variable, in
 *            the program's order. self: the executor's program; generated
 *            code ignores it. shared: memory of shared and private workspaces.
 *            copies: how many a private workspace has.
 * sc_lane    the thread's own. scratch: 64-byte aligned; bitmaps and hash tables
 *            in it are zero when a step starts, and kernels leave them so. partial:
 *            this lane's copy of a private workspace, or the carry slots of a split
 *            row. slots: a power of two, of every hash table in scratch. cursor:
 *            where results are assembled, one for each compressed level of theirs:
 *            the entries so far (counting), the place of the next one (filling).
 *            Else [0] the unit of a split row, [1] the number of carry slots.
 * sc_kernel  works on units [begin, end) and returns 0 or an SC_E code; after
 *            SC_EGROW, a table was full, the same units are asked for again. */
#endif
