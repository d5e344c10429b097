/* scorch.h: the public header of the C library.
 *
 * A tensor is a list of levels over its dimensions; a program is an expression
 * compiled for operand formats, types and extents; running a program walks its
 * plan. The library borrows tensor memory, never owns it, never prints, never
 * exits. Every function that can fail returns 0 or an SC_E code and fills the
 * sc_err it was given; the first message wins. */
#ifndef SCORCH_H
#define SCORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi.h"

#define SC_VERSION "0.1.0"
#define SC_MAXOP 32  /* operands and results of one program */
#define SC_MAXVAR 16 /* index variables of one program */
#define SC_SLICE 16  /* rows of a slice of diagonals that is looked for */
#define SC_SIDE 16   /* rows or columns of a block that is looked for */

/* ---- errors ---- */
enum {
    SC_OK,
    SC_EVALUE,    /* ValueError */
    SC_ETYPE,     /* TypeError */
    SC_ENOMEM,    /* MemoryError */
    SC_ENOTIMPL,  /* NotImplementedError */
    SC_ECOMPILE,  /* scorch.CompileError: the C compiler or the loader failed */
    SC_EINTERNAL, /* a bug of the library */
    SC_ESTOP,     /* cancelled */
    SC_EGROW      /* kernels only: a workspace of the lane is too small; the driver grows it and repeats */
};
typedef struct {
    int code;
    int pos; /* offset in the source text, -1 if none */
    char msg[1024];
} sc_err;

/* ---- types ---- */
/* f16 and bf16 are storage: numbers of these types are computed with in f32. */
typedef enum { SC_BOOL, SC_I16, SC_I32, SC_I64, SC_F16, SC_BF16, SC_F32, SC_F64, SC_NDTYPE } sc_dtype;
size_t sc_dtype_size(sc_dtype);
const char *sc_dtype_name(sc_dtype); /* "f32", "i64", ... */

/* ---- formats ---- */
typedef enum {
    SC_DENSE,
    SC_COMPRESSED,
    SC_SINGLETON,
    SC_ELL,
    SC_DIAGONALS,
    SC_BITMASK,
    SC_PLANAR,
    SC_SELL
} sc_level_kind;
typedef enum { SC_WHOLE, SC_DIV, SC_MOD } sc_part; /* i, i/block, i%block */
typedef struct {
    uint8_t kind, unique; /* unique is 0 for compressed(nonunique) */
    uint8_t dim, part;
    int32_t block; /* of SC_DIV and SC_MOD. Of SC_SELL: rows that are sorted by length together */
    int32_t
        width; /* of SC_ELL: slots a parent position; padding has coordinate -1. Of the sliced: rows of a slice */
} sc_levelspec;
typedef struct {
    int ndim, nlevel;
    sc_levelspec level[SC_MAXLEVEL];
} sc_format;

/* Text is an alias (dense coo csr csc dcsr dcsc csf bsr(r,c) bsc(r,c) ell(w) dia(r) sell(r,w))
 * or a list of levels over dimension numbers: "dense(0), compressed(1)",
 * "compressed(0, nonunique), singleton(1)", "dense(0/2), compressed(1/3),
 * dense(0%2), dense(1%3)". Printing gives an alias where one exists. */
int sc_format_parse(sc_format *, const char *text, int ndim, sc_err *);
void sc_format_print(const sc_format *, char *out, size_t size);
void sc_format_print_levels(const sc_format *, char *out, size_t size);
bool sc_format_equal(const sc_format *, const sc_format *);
int sc_format_dense_tail(const sc_format *); /* how many levels at the end are dense and no blocks */
bool sc_format_is_dense(const sc_format *);  /* every level is */
bool sc_format_is_unique(const sc_format *); /* no combination of coordinates is stored twice */
bool sc_format_has_twins(const sc_format *); /* sparse, unique and not padded: see sc_spec.twin */

/* What was counted of the rows of a sparse tensor (sc_census_rows), all zero where nobody did. */
typedef struct {
    int64_t least, most; /* entries of the shortest row and of the longest */
    bool even;           /* three rows of four have as many entries as the one in front */
    /* log2, rounded, of E[d^2] / E[d]^2 of the entries d of a row: how much longer than on average one is that an entry
     * was chosen from. */
    uint8_t skew;
} sc_rows;

/* What is known of a sparse operand that is multiplied again and again, so that a layout for it pays. Compared as bytes. */
typedef struct {
    bool many;             /* products are; else nobody looked, and all of this is zero */
    uint8_t diagonal;      /* entries on a diagonal of a slice of SC_SLICE rows; 0: too few */
    uint8_t full;          /* 1: a quarter of all places have entries, 2: two of five have */
    uint8_t rows, columns; /* of full blocks, at most SC_SIDE; 1 and 1: there are none */
    uint8_t reach; /* log2 of the entries from one to the next of its column, for half of them; 0: unknown */
    /* Layouts may have values of their own: 1, or the size of the cuts of the one that is there. */
    uint16_t cut;
    uint16_t
        window; /* rows that are sorted by length together, where slices of such have little padding; else 0 */
} sc_often;

/* A tensor as the caller holds it. Sparse tensors: view.level[] and view.val,
 * no strides. Dense tensors: view.val and view.stride (in elements). */
typedef struct {
    sc_format format;
    sc_dtype dtype, itype; /* itype: of pos and crd, SC_I32 or SC_I64 */
    sc_rows rows;
    sc_view view;
} sc_tensor;

/* Structure: sizes, pos monotone and ending at the next level's npos,
 * coordinates in range, sorted and unique where the level says so. The message
 * names the level and the position. */
int sc_validate(const sc_tensor *, sc_err *);

/* ---- memory of results ---- */
enum { SC_POS, SC_CRD, SC_VAL };
/* Returns memory for n elements of dtype, with an address even where n is 0; null when memory runs out.
 * what: SC_POS, SC_CRD (of `level`) or SC_VAL. The caller owns it. A run may ask for one array twice
 * (a result that is converted); the tensor says in the end which memory it uses, the rest can go. */
typedef void *sc_alloc(void *ctx, int what, int level, sc_dtype dtype, int64_t n);

/* ---- memory kept between calls (kernels/work.c) ----
 * Blocks of at least `size` bytes, not zeroed, at a multiple of 64 bytes, those above 1 MB in huge pages; null when
 * memory runs out. What is given back is kept for the next call, up to 256 MB in all. Any thread may give. */
void *sc_work_take(size_t size);
void sc_work_give(void *); /* null is fine */
void sc_work_drop(void *); /* the same, but the system gets back what is above 1 MB */
/* Frees what is kept; returns its bytes. */
int64_t sc_work_clear(void);

/* ---- conversion (kernels/convert.c) ----
 * Any format to any format: same shape, duplicates summed where the target's
 * levels are unique, explicit zeros kept (dense sources: zeros dropped, NaN
 * kept). `to` carries format and itype on entry, and is complete on return. An
 * array of the result that would equal the source's of the same kind and level
 * may be that array: the pointer is the source's and alloc was not asked.
 * perm, if not null, receives memory from alloc (what = SC_CRD, level = -1,
 * SC_I64) with the source position of every result value, so that the values
 * alone can be refreshed later; only for a sparse source without duplicates
 * to sum, else *perm stays null. */
int sc_convert(const sc_tensor *from, sc_tensor *to, sc_alloc *, void *ctx, int64_t **perm, sc_err *);
/* The same for a layout that is kept while values change: an element that is zero now is an entry too. */
int sc_convert_layout(const sc_tensor *from, sc_tensor *to, sc_alloc *, void *ctx, int64_t **perm, sc_err *);
/* A dense tensor, row-major, whose entries are where the truth values `where` of the same shape say, zeros or not; or,
 * without where, as sc_convert. Positions of the result that have no entry hold `fill`. */
int sc_convert_where(const sc_tensor *from, const uint8_t *where, double fill, sc_tensor *to, sc_alloc *,
                     void *ctx, sc_err *);
/* A matrix as csr, if no more than `most` of its values are not zero; else *over, found as early as may be, and no
 * result. */
int sc_convert_few(const sc_tensor *from, int64_t most, sc_tensor *to, sc_alloc *, void *ctx, bool *over,
                   sc_err *);
/* out[i] = in[perm[i]] for n values of one dtype, for perm of an index type, in parallel. */
void sc_gather_values(void *out, const void *in, const void *perm, sc_dtype itype, int64_t n, sc_dtype);
/* A number for n bytes: two arrays of different bytes have the same one with a chance of less than 2^-61, whatever they
 * hold (kernels/fingerprint.c). Of this process alone; in parallel, the same for any threads. */
typedef struct {
    uint64_t low, high;
} sc_digest;
sc_digest sc_fingerprint(const void *, size_t n);
/* Of every step-th row of a matrix: how many were seen, how many of them and of their values are not zero. */
typedef struct {
    int64_t seen, rows, values;
} sc_census;
void sc_census_take(const sc_tensor *, int64_t step, sc_census *out);
/* How many entries the diagonals of a slice of SC_SLICE rows have on average, of a csr matrix, found in some of the
 * slices; 0 of any other tensor. */
double sc_census_diagonals(const sc_tensor *);
/* Slots for an entry of slices of `width` rows, where those of a window are sorted by length: 1 without padding. Of a csr
 * matrix, found in some of its windows; 0 of any other tensor. */
double sc_census_padding(const sc_tensor *, int width, int window);
/* Of blocks of side x side places, a power of two: how many entries were seen, in how many blocks, and how many of them
 * lie in blocks of which at least `share` is stored. Of a csr matrix, found in some of its rows of blocks; zeros of any
 * other tensor. False: memory ran out. */
typedef struct {
    int64_t seen, blocks, within;
} sc_blocks;
bool sc_census_blocks(const sc_tensor *, int64_t side, double share, sc_blocks *out);
/* The sides of blocks, of at most SC_SIDE rows and columns, that all entries of a matrix in csr fill; 1 and 1 if it has none
 * of two rows. Each entry is looked at until none are left. */
void sc_census_sides(const sc_tensor *, int *rows, int *columns);
/* sc_often.reach of a matrix in csr, of some of its entries; 0 of any other tensor, with more than 2^26
 * columns, and where memory is short. */
uint8_t sc_census_reach(const sc_tensor *);
/* Whether n values of so many bytes lie far from each other in the order of a permutation, so that most take a line from a far
 * cache for themselves. */
bool sc_census_far(const void *perm, sc_dtype itype, int64_t n, size_t size);
/* How many entries of a csr matrix lie in rows with more than `most` of them; 0 of any other tensor. */
int64_t sc_census_long_rows(const sc_tensor *, int64_t most);
/* Counts the entries of rows, where the last level is compressed and those above it are dense. */
void sc_census_rows(sc_tensor *);
/* out[perm[i]] = in[i], for perm of an index type; entries with a negative perm[i] go nowhere. */
void sc_scatter_values(void *out, const void *in, const void *perm, sc_dtype itype, int64_t n, sc_dtype);

/* ---- speeds: how this machine differs from the typical one that costs are told for ---- */
#define SC_NSPEED 8 /* core branch l2 l3 memory insert clear team: csrc/run/speeds.c */
typedef struct {
    int8_t step[SC_NSPEED]; /* times in steps of a quarter of an octave, 2^(step/4) times the typical ones */
} sc_speeds;
extern const char *const sc_speed_names[SC_NSPEED];
sc_speeds sc_speeds_get(void); /* zeros: typical, nothing was measured for this CPU */
/* Measures them in less than a second and keeps them, in this process and in the cache directory for those that start
 * later on this kind of CPU; with forget, goes back to the typical ones. kept: whether those will find them. */
int sc_calibrate(bool forget, sc_speeds *, bool *kept, sc_err *);

/* ---- programs (run/) ---- */
typedef struct {
    char name[32]; /* as in the expression; einsum operands may leave it empty */
    sc_format format;
    sc_dtype dtype, itype;
    int unit;       /* dense tensors: the dimension of stride 1, or -1 */
    bool perm;      /* values are read through view.perm: the structure is derived from another's */
    sc_often often; /* sparse operands */
    /* Sparse operands: log2, rounded up, of the positions of each level; 0 where unknown. Statistics that
     * schedules are chosen by; powers of two, so that new data seldom means a new kernel. */
    uint8_t positions[SC_MAXLEVEL];
    bool even; /* sparse operands: this and skew as of sc_rows */
    uint8_t skew;
    /* 1 + the operand in front whose structure this one was given with, so that their values lie side by side; 0: none,
     * or nobody looked. */
    int8_t twin;
} sc_spec;
typedef struct {
    const char *text;     /* einsum "ij,jk->ik" or index notation "C[i,k] = ..." */
    const char *schedule; /* a nest, or what is asked of the scheduler (schedule/text.c), or null */
    bool skip;            /* implicit="skip" */
    uint32_t settled;     /* bit k: operand k was converted for this program and is not to be again */
    bool nofold;          /* extents are run-time numbers: one kernel for every width */
    bool whole;           /* one step: no temporaries are made (compiler/path) */
    uint32_t wide;   /* bit r: result r is stored in the type that is computed in, f32 for 16 bit floats */
    sc_dtype narrow; /* the 16 bit float of the other results where an operand is wider; SC_BOOL: none is */
    int8_t ask_like[SC_MAXOP]; /* k + 1: result r has the structure of sparse operand k; 0: not asked */
    int nin, nask; /* operands; results whose format is asked for, in the order of the assignments */
    /* What there is of these says the line above. */
    sc_spec in[SC_MAXOP];
    int64_t dim[SC_MAXOP][SC_MAXDIM]; /* extents of each operand's dimensions */
    sc_format ask[SC_MAXOP];          /* nlevel 0: inferred */
} sc_request;

/* A copy of what is in use. */
void sc_request_copy(sc_request *, const sc_request *);
/* Operand k is this tensor: all of its sc_spec but the name, and its extents. */
void sc_request_operand(sc_request *, int k, const sc_tensor *);
/* Finds the operands that have one structure: the same arrays. Those of a request as they were given. */
void sc_request_twins(sc_request *, const sc_tensor *in);
void sc_request_apart(sc_request *, int k); /* the structure of operand k is its own */
/* Operand k is this tensor now, converted for the program, and not to be again. */
void sc_request_converted(sc_request *, int k, const sc_tensor *);
/* The first operand in front of k that has the same arrays of structure, where each coordinate stands once; or -1. */
int sc_tensor_twin(const sc_tensor *in, int k);
/* The dimension of stride 1 (the last one, if several), or -1. */
int sc_dense_unit(const sc_view *, int ndim);

typedef struct sc_program sc_program;
enum { SC_WAY_BUNDLE, SC_WAY_JIT, SC_WAY_EXECUTOR };

/* The compiled program for a request: found among those that this process keeps, or compiled; the caller releases it.
 * handle, if not null, finds it again, for less, while it is kept. Threads that ask for one program wait for one
 * compilation. */
int sc_program_get(const sc_request *, sc_program **, uint64_t *handle, sc_err *);
/* Null: it is kept no longer, or was made for another number of threads; 0 is a handle of nothing. */
sc_program *sc_program_again(uint64_t handle);
sc_program *sc_program_retain(sc_program *);
void sc_program_release(sc_program *); /* null is fine */
int sc_program_nresult(const sc_program *);
int sc_program_nreturned(const sc_program *); /* the first of them; a "tmp" is not returned */
/* Result r as it is delivered: its format and types; its shape for operands of these extents. */
const sc_spec *sc_program_result(const sc_program *, int r);
void sc_program_shape(const sc_program *, int r, const sc_tensor *in, int64_t *dim);
/* The operand whose structure result r is delivered with, or -1. */
int sc_program_like(const sc_program *, int r);
/* Format that operand k should be converted to first, or null: the plan's
 * CONVERT step, carried out (and cached) by the caller, who then asks for the
 * program of the converted operand. */
const sc_format *sc_program_convert(const sc_program *, int k);
/* Operands in layouts that some of the steps of a program want beside the one that was given: number j is operand *k in
 * the format returned, and stands in `in` behind the operands; null from the last one on. */
const sc_format *sc_program_extra(const sc_program *, int j, int *k);
int sc_program_way(const sc_program *);
const char *sc_program_why(const sc_program *); /* why it has no code, where it is SC_WAY_EXECUTOR */
/* The format that operand k is read in. */
const sc_format *sc_program_operand(const sc_program *, int k);
/* Whether operand k may be this: its format, and a permutation that its values are found through or none, as layouts of one
 * format have where entries lie in another order or in the same. */
bool sc_program_reads(const sc_program *, int k, const sc_tensor *);
const char *sc_program_stage(int k); /* what stages there are; null behind the last */
/* A stage of the program of a request, to be freed. */
int sc_program_text(const sc_request *, const char *stage, char **, sc_err *);
/* Runs: operands as in the request; dense results are allocated by the caller, row-major where the format asked
 * for is not the one the kernels write; sparse ones through alloc, ctx[r] for result r (ctx may be null where no
 * result is sparse or converted). */
int sc_program_run(const sc_program *, const sc_tensor *in, sc_tensor *out, sc_alloc *, void *const *ctx,
                   sc_err *);

/* ---- tuning: what a schedule is chosen by measuring it (run/tuned.c, run/noted.c) ----
 * A choice is kept for a class of requests and found by every process where a program is made. */
typedef enum { SC_NOTED_NEST, SC_NOTED_ASKS, SC_NOTED_STEPS } sc_noted_kind; /* asks: for conversions */
/* Requests without a schedule that programs are asked for are noted from now on, beside the earlier ones or anew; or no
 * longer. Callers ask again for all of them. */
void sc_note(bool on, bool anew);
bool sc_is_noting(void);
int sc_noted_count(void);
int sc_note_often(int k); /* notes number k for operands that are multiplied often; -1: there is no room */
const sc_request *sc_noted(int k, sc_noted_kind *);
/* A schedule is used for all requests of this class, in this process, null: the one of the scheduler, until one is
 * kept or no longer tried. An error: there is no such program. */
int sc_tuned_try(const sc_request *, const char *schedule, sc_err *);
void sc_tuned_untry(const sc_request *);
int64_t sc_tuned_clear(void); /* forgets all of them; returns how many files there were */
void sc_tuned_forget(void);   /* what this process knows: the cache directory has changed */

/* ---- gradients ---- */
typedef enum { SC_FROM_OPERAND, SC_FROM_RESULT, SC_FROM_GRADIENT, SC_FROM_IDENTITY } sc_origin;
typedef struct {
    sc_request request; /* the program that computes the gradients; its text is owned */
    struct {
        /* Operand or result index, the gradient of result index, or the csr identity. */
        uint8_t from, index, dim;
    } source[SC_MAXOP]; /* matrix of the extent of dimension dim of operand index */
    int nresult;
    struct {
        char name[32];  /* in the text */
        uint8_t number; /* among the results of the program; the others are temporaries */
        /* Whose gradient result r is: sparse with the structure of a sparse operand, else dense. */
        uint8_t operand;
        uint8_t lacks; /* bit d: without dimension d, along which the gradient is constant */
    } result[SC_MAXOP];
} sc_gradient;

/* The program of the gradients to the operands in `wanted` (bit k: operand k), given gradients of the results in
 * `given` (bit r: result r), dense or of the structure of the result as the results are. A wanted operand that is
 * not among the results has the gradient zero. Extents do not matter, 0 will do. max=, min= share a gradient
 * evenly among what attains the extremum, max, min among both sides if equal; relu and abs have slope 0 at 0. */
int sc_gradient_make(const sc_request *, uint32_t wanted, uint32_t given, sc_gradient *, sc_err *);
void sc_gradient_free(sc_gradient *);

/* A request over composed operands, each of which is the sum of its parts, as index notation over the parts. */
typedef struct {
    char *text;
    int nin, nout;
    struct {
        char name[32]; /* in the text */
        uint8_t operand;
        int8_t part; /* or -1: the operand as it is, a composed one as one sparse tensor */
    } in[SC_MAXOP];
    struct {
        uint8_t result;
        int8_t part; /* of the composed operand whose structure the result has, or -1 */
        int8_t like; /* that operand */
    } out[SC_MAXOP]; /* results of the text that are returned, in order */
    int nindex;
    struct {
        char name[24], of[24];
    } index[SC_MAXVAR]; /* of the text, and of what was given, in the place of which it stands in a term */
} sc_composed;

#define SC_MAXPARTS 8
/* Composed operands are csr in the request. Sums are distributed over parts where steps are faster than one nest over
 * all of them; what is not, reads the operand as it is. parts: how many each operand has; 0: it is not composed. */
int sc_compose(const sc_request *, const uint8_t *parts, sc_composed *, sc_err *);
void sc_composed_free(sc_composed *);

/* What the results of a request are: formats and types, by their text alone, and where extents come from. */
typedef struct {
    sc_spec spec;
    int like; /* the operand whose structure it shares, or -1 */
    struct {
        int8_t operand, dim;
    } extent[SC_MAXDIM];
} sc_outcome;
/* Of the results that are returned; room for SC_MAXOP. */
int sc_outcomes(const sc_request *, int *n, sc_outcome *out, sc_err *);

/* ---- the process ---- */
typedef enum { SC_JIT_OFF, SC_JIT_LOAD, SC_JIT_ON, SC_JIT_AUTO } sc_jit_mode;
typedef struct {
    sc_jit_mode jit;       /* AUTO: compile where there is a compiler, else fall back and say so;
                              ON: an error where there is none; LOAD: only what the cache holds; OFF: bundle
                              or executor */
    const char *cc;        /* SCORCH_CC, or sysconfig's CC; null: search PATH */
    const char *cflags;    /* SCORCH_CFLAGS or null */
    const char *cache_dir; /* null: XDG_CACHE_HOME/scorch, HOME/.cache/scorch */
    int64_t memory;        /* bytes of programs that are kept, the least recently used go first; 0: 256 MB */
} sc_config;
int sc_configure(const sc_config *, sc_err *); /* once, before the first program; strings are copied */

typedef struct {
    int64_t programs, compiled, from_memory, from_disk, from_bundle, executor; /* how programs were found */
    int64_t runs[3];                                                           /* calls by way */
    int64_t tuned;                                        /* programs made by a schedule that was measured */
    int64_t path_ns, compile_ns, load_ns;                 /* orders of contraction; the C compiler; loading */
    int64_t kept_keys, kept_bytes, kept_limit, forgotten; /* what is kept now; keys that made room */
} sc_stats;
void sc_stats_get(sc_stats *);
/* Facts about this process as lines "key: value": cpu, features, vector bytes,
 * compiler, cache directory and its state, bundle, threads. Truncated to size. */
int sc_info(char *out, size_t size, sc_err *);
int sc_vector_bytes(void); /* of the vectors that kernels are compiled for: 16, 32 or 64 */
/* Kernels built into the library (written by scorchc --bundle): registers them, once. */
void sc_bundle_register(void);
int sc_clear_cache(int64_t *removed, sc_err *);

/* ---- threads (kernels/team.c) ----
 * body(arg, id, n) on n threads. The bindings install a team over the OpenMP
 * pool that torch uses; without one everything runs on the calling thread. */
typedef void sc_body(void *arg, int id, int n);
typedef struct {
    void (*fork)(sc_body *, void *arg, int n); /* runs body on n threads and returns when all are done */
    int (*width)(void);                        /* threads a region may use now (torch.get_num_threads) */
} sc_team;
void sc_team_install(const sc_team *);
int sc_team_width(void);
/* Runs body on at most n threads; on one if the team is busy, after fork, or
 * inside a region. */
void sc_parallel(int n, sc_body *, void *arg);

/* ---- dense products: those of the library that the bindings install (run/dense.c) ----
 * out = the sum over axes that a and b have and out has not of a * b, all of one type: axes that all three have are a
 * batch, those of a and out rows, those of b and out columns. Outermost first; what lies as one axis in all tensors that
 * have it is one. Strides in elements, 0 where a tensor has no such axis; the output is apart from the operands. */
enum { SC_BATCH, SC_ROWS, SC_COLUMNS, SC_SUMMED, SC_NGROUP };
typedef struct {
    int64_t size, a, b, out;
} sc_dense_axis;
typedef struct {
    const void *a, *b;
    void *out;
    sc_dtype dtype;
    int n[SC_NGROUP];
    sc_dense_axis axis[SC_NGROUP][SC_MAXDIM];
} sc_dense_product;
typedef int sc_dense_multiply(const sc_dense_product *, sc_err *);
/* swift: it multiplies float32 as fast as the CPU can. */
void sc_dense_install(sc_dense_multiply *, bool swift);
bool sc_dense_takes(sc_dtype); /* whether one is installed, and this CPU fast with such numbers */

/* ---- stopping (kernels/team.c) ----
 * The bindings install what says whether the user wants the running call to end, by Ctrl-C; long work asks now and
 * then, and ends with SC_ESTOP. */
void sc_stop_install(bool (*)(void));
bool sc_stopped(void);

/* ---- progress (kernels/progress.c) ----
 * The bindings install who is told how far a long conversion is: from `after` nanoseconds on, at most twenty times in as
 * long, by the thread that was called: this share of this step, steps counted from 1; after the end, if anything was
 * told, of step 0. What returns true wants the call to end. */
typedef bool sc_progress(int step, double share, int64_t ns);
void sc_progress_install(sc_progress *, int64_t after);

#endif
