/* bind.h: the private header of the bindings, grouped by file.
 *
 * This folder is the only place that sees Python.h or a symbol of torch. It
 * turns tensor objects into borrowed sc_tensor views, results into tensor
 * objects, and an sc_err into an exception. Nothing here computes. */
#ifndef SC_BIND_H
#define SC_BIND_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN /* lengths behind "#" */
#include <Python.h>

#include <stdio.h>
#include <stdlib.h>

#include "../base.h"
#include "dlpack.h"

#define SC_MAXGUARD 8
#define SC_REMEMBERED 8 /* operands; calls of more are looked up by a request each time (resolve.c) */
#if defined(SC_PLAIN_MEMORY)
#define SC_LARGE_RESULT 0 /* every result is a block of its own */
#else
#define SC_LARGE_RESULT ((int64_t)1 << 20) /* bytes of results whose memory is kept when they are freed */
#endif

/* ---- direct.c: what arrays of structure were found to hold ---- */
#define SC_NDIGESTED 64
typedef struct {
    PyObject *weak; /* to the tensor, as which nobody else comes while it lives; or null */
    const void *data;
    int64_t version, n;
    sc_digest digest;
} sc_digested;

/* ---- module.c: the state of the module, and errors ---- */
typedef struct {
    PyTypeObject *core_type;
    PyObject *compile_error;
    PyObject *tensor_type, *parameter_type; /* exactly these two are plain tensors */
    PyObject *dual_level;                   /* dict that holds the forward-mode level */
    PyObject *readable;                     /* callable: see sc_bind_readable */
    PyObject *alone;   /* callable: whether nothing but a tensor made here refers to its memory */
    int64_t handed;    /* counts what may have let others write to values past their versions */
    PyObject *swaps;   /* callable: whether modules swap tensors, which none may refer to */
    PyObject *repeats; /* callable: whether the same call is to give the same bits, whatever took longer */
    bool validate;     /* structures before every use, not only where they changed */
    PyObject *guard[SC_MAXGUARD]; /* callables: anything but 0 or None means a mode is on */
    int nguard;
    const sc_dl_api *dl;
    struct {
        PyTypeObject *type;    /* the class SparseTensor; null until it is adopted */
        PyObject *make, *seal; /* of torch: an object of the class; nobody may ask for its address */
        PyObject *default_type, *default_device; /* of torch: what it makes tensors of */
        PyObject *recorded;                      /* of torch: whether a tensor requires a gradient */
        PyObject *record;                        /* of Python: a function of values where one does */
        PyObject *node, *read, *derivatives[3];  /* see values_node.c */
        PyObject *core_of;                       /* of Python: the core of an object */
        PyObject *single;                        /* a dict: see values.c */
    } sparse;
    struct {
        PyObject *version, *requires_grad, *is_neg, *current_level, *dtype, *device, *is_cpu, *with_values;
        PyObject *detach, *to_save, *materialize_grads, *facts; /* of tensors, and of nodes of autograd */
        PyObject *core, *format, *ndim, *names, *shape, *values, *origin,
            *made; /* in the dict of a SparseTensor */
    } name;
    sc_digested digested[SC_NDIGESTED];
} sc_state;

void sc_bind_forget(sc_state *); /* what arrays were found to hold */
/* Warns, once in a process, when p runs in the interpreter: -1 if the warning became an exception. */
int sc_bind_warn(const sc_program *p);
/* Puts a new reference into a tuple that is being made; without one, or without a tuple, *tuple becomes null. */
void sc_bind_put(PyObject **tuple, Py_ssize_t, PyObject *item);
/* (extents) as a tuple. */
PyObject *sc_bind_shape(const int64_t *dim, int n);
/* Sets the exception of *e and returns null. */
PyObject *sc_bind_raise(const sc_state *, const sc_err *e);
/* A text as a string, or the exception of an error; frees the text. */
PyObject *sc_bind_text(const sc_state *, sc_text *, const sc_err *);

/* ---- dlpack.c: borrow and allocate ---- */
typedef struct {
    sc_tensor t;
    bool computes; /* false: a type that is stored and moved, not computed with */
    bool contiguous;
    int64_t n; /* elements */
} sc_borrowed;

int sc_bind_connect(sc_state *, PyObject *capsule); /* 0, or -1 with an exception */
/* Looks at a plain dense CPU tensor. 0, or -1 with an exception (TypeError for
 * what is no plain tensor, ValueError for what must be resolved first). */
int sc_bind_borrow(const sc_state *, PyObject *x, sc_borrowed *out);
/* The tensor to look at for x, a new reference: x itself, or one over its memory where torch lets nobody write that. */
PyObject *sc_bind_readable(const sc_state *, PyObject *x);
/* As sc_bind_borrow, for reading alone. */
int sc_bind_read(const sc_state *, PyObject *x, sc_borrowed *out);
int sc_bind_read_vector(const sc_state *, PyObject *x, sc_borrowed *out); /* the same, contiguous */
int sc_bind_refuse(const char *what);                                     /* ValueError; -1 */
/* pos [rows + 1], crd and values of csr, pos and crd of one index type. */
int sc_bind_read_csr(const sc_state *, PyObject *const *x, sc_borrowed out[3]);
/* The version counter, or -1 where torch keeps none. */
int64_t sc_bind_version(const sc_state *, PyObject *x);

/* Arrays allocated during a run, for a result and what it is converted from; owned until sc_sink_take hands one
 * over. Start with dl set and n 0. */
#define SC_MAXARRAY (4 * SC_MAXLEVEL + 4)
typedef struct {
    const sc_dl_api *dl;
    int n;
    sc_dl_managed *array[SC_MAXARRAY];
} sc_sink;
void *sc_sink_alloc(void *sink, int what, int level, sc_dtype, int64_t n);
/* The object of the array at p, of its first n elements, a new reference; null without an exception where the sink
 * has none. */
PyObject *sc_sink_take(sc_sink *, const void *p, int64_t n);
/* Strides and sizes of a dense tensor whose extents and format are set. */
void sc_bind_contiguous(sc_tensor *);
/* A tensor of its own, not zeroed, with an address even where it has no elements, and its object. */
sc_dl_managed *sc_dense_alloc(const sc_dl_api *, sc_dtype, int ndim, const int64_t *dim);
/* Raises MemoryError for a dense result of this size; null. */
PyObject *sc_dense_nomem(sc_dtype, int ndim, const int64_t *dim);
PyObject *sc_dense_object(const sc_dl_api *, sc_dl_managed *);
void sc_sink_clear(sc_sink *);

/* ---- program.c: program strings ----
 * "expression\tname:ndim:format\t...": one part an operand; dense operands have
 * neither ndim nor format ("b::"). Parts "!schedule TEXT", "!skip" and, one a result, "!ask ndim:format" or
 * "!ask" (as inferred) may follow; "!like R K" gives result R the structure of operand K, "!wide R" stores it in the
 * type that is computed in. */
typedef struct {
    sc_request request; /* names and formats are set; types and extents are not */
    bool sparse[SC_MAXOP];
    struct sc_known *known; /* of call.c, under the interpreter lock: what calls resolved to */
    _Atomic(struct sc_declared *) declared; /* of graph.c: what graphs take the results for; or null */
} sc_template;
/* Kept, the latest thousand; the caller gives it back. */
sc_template *sc_template_get(const char *text, size_t len, sc_err *);
void sc_template_put(sc_template *); /* null is fine */
/* Operand k of a request, as far as graphs know it: of so many dimensions and this type. */
int sc_template_operand(const sc_template *, int k, int ndim, sc_dtype, sc_request *, sc_err *);
/* Components of a format: level l has pos, crd. */
bool sc_level_has_pos(const sc_levelspec *);
bool sc_level_has_crd(const sc_levelspec *);
/* Extents and array sizes of a sparse operand whose component arrays have
 * these lengths, in order. Fills view.level[].size and npos, nval; the pointers
 * are the caller's. */
int sc_bind_layout(sc_tensor *, const int64_t *length, int n, sc_err *);
/* Asks for the results of p as they are, before operands are converted. */
void sc_bind_ask(sc_request *, const sc_program *p);
/* Result *t has the structure of *derived, whose entries lie at perm in *given: gives it that of *given, and
 * `val`, room for its values. No perm: the entries lie where they do in *given, and `val` is where its values are. */
void sc_bind_restore(sc_tensor *t, const sc_tensor *given, const void *perm, sc_dtype itype, void *val);
/* ---- call.c, direct.c, gradient.c, conv_map.c, kron.c, ranked.c, sampling.c, select.c, topk.c, tuned.c, watch.c ---- */
extern PyMethodDef sc_call_methods[], sc_direct_methods[], sc_gradient_methods[], sc_conv_map_methods[],
    sc_select_methods[], sc_ranked_methods[], sc_kron_methods[], sc_sampling_methods[], sc_topk_methods[],
    sc_sample_methods[], sc_tuned_methods[], sc_watch_methods[];

/* ---- core.c: the components of one sparse tensor, as C sees them ---- */
#define SC_MAXCOMP (2 * SC_MAXLEVEL + 1)
#define SC_MAXSLOT 8
typedef struct {
    PyObject *tensor, *seen; /* seen: what is looked at for it, see sc_bind_readable */
    const void *data;        /* as of the last look */
    int64_t version, n;
    sc_dl_dtype dtype;
} sc_component;

/* A product with one dense tensor, resolved. */
typedef struct {
    uint64_t program; /* its handle; 0: free */
    int kind, ndim, unit;
    sc_often often;
    sc_dtype dtype;
    int64_t dim[2];
} sc_slot;

/* A product of a matrix by its entries, or as of a dense one; what both took. */
typedef enum { SC_ENTRIES, SC_FILLED } sc_way;
typedef struct {
    float ns[2]; /* of each way */
    int turns;
} sc_pair;
enum {
    SC_FILLINGS = 4,
    SC_SUMS = 12
}; /* kinds of products; numbers of sums that share an entry, in powers of two */
typedef struct {
    int64_t generation; /* of the structure that was timed */
    sc_pair pair[SC_FILLINGS][SC_SUMS];
} sc_filling;

typedef struct sc_derived sc_derived;
typedef struct sc_core {
    PyObject ob_base;
    sc_tensor t;
    int ncomp; /* the last one is the values */
    sc_component comp[SC_MAXCOMP];
    bool validate, computes;
    /* A derived layout: where its values lie among those of the tensor it came from; True, and no data: each at its own
     * place. */
    PyObject *perm;
    const void *perm_data;
    int64_t serial;         /* another one for each core */
    int64_t generation;     /* counts changes of the structure */
    sc_digest content;      /* of the structure as it was when versions last moved; zero: they never did */
    sc_derived *derived;    /* newest first */
    struct sc_core *origin; /* null, or the core of the same structure that keeps the derived layouts */
    PyObject *shared_by;    /* null, or a dict: what the tensors of this structure share */
    double products;        /* multiplied and added with it so far, with values of its own or of others */
    /* sc_often.cut, for all tensors of this structure; -1: only what leaves values in place. */
    int32_t often;
    /* Counted, of the structure numbered counted_of: entries on diagonals, -1: too few; what leaves values in place. */
    int32_t shared;
    uint16_t window; /* rows to sort by length together, 0: that does not pay */
    sc_often in_place;
    int64_t counted_of;
    sc_filling *filling; /* of filled.c: null, or what products took both ways */
    sc_slot slot[SC_MAXSLOT];
    int nextslot;
} sc_core;

/* The core that knows what tensors of its structure have in common. */
static inline sc_core *sc_core_root(sc_core *c) { return c->origin ? c->origin : c; }
int sc_core_register(PyObject *module, sc_state *);
/* Looks at the components again; validates if the structure changed. */
int sc_core_refresh(const sc_state *, sc_core *);
const sc_tensor *sc_core_counted(sc_core *); /* the tensor, its rows counted */
/* Of arrays made in a run, sharing those of `from` where the pointers are the same. */
sc_core *sc_core_wrap(const sc_state *, const sc_tensor *, sc_sink *, sc_core *from);
/* The structure of c with other values; what c knows of its structure holds. */
sc_core *sc_core_with_values(const sc_state *, sc_core *, PyObject *values);
/* Whether n bytes at a and m bytes at b have one in common; whether n bytes at a and an array of the core do. */
bool sc_bind_overlap(const void *a, int64_t n, const void *b, int64_t m);
/* Whether entry k comes from k, for all of so many entries. */
bool sc_bind_in_place(const int64_t *perm, int64_t n, int64_t of);
bool sc_core_overlaps(const sc_core *, const void *a, int64_t n);
int64_t sc_core_bytes(const sc_core *); /* of arrays of its own: a permutation may stand for values */

/* How explain begins where operands were converted for the request `now`: what was measured for them as given. */
void sc_bind_said(const sc_request *now, const sc_request *given, const sc_tensor *in, sc_core *const *core,
                  sc_text *);

/* ---- layouts.c: layouts derived from a tensor ---- */
#define SC_LARGE                                                                                             \
    (1 << 17) /* bytes of values which it takes longer to look through than to ask who could write to them */
/* What the values of a core were; and where nobody else could write to them (version 0 and more), as of when. */
typedef struct {
    sc_digest digest;
    int64_t serial, version, handed;
} sc_seen;
struct sc_derived {
    sc_derived *next;
    sc_core *core;
    int64_t generation;
    /* with values of its own, else null: where these lie in the tensor; of which they were made; how often made
     * anew; the products that were counted before */
    PyObject *source;
    sc_seen seen;
    int64_t renewed;
    double before;
    bool unpaid; /* slices that are to be dropped by the next product */
    int8_t far;  /* whether a permutation leads to values far from each other; 0: not known yet, -1: no */
};
void sc_derived_free(sc_derived *);
void sc_derived_drop(sc_core *);
int64_t sc_derived_bytes(const sc_derived *);
/* The same tensor in another layout, with the same values; a new reference. */
sc_core *sc_core_derive(const sc_state *, sc_core *, const sc_format *);
/* The same for products: what is multiplied often has values of its own where those of c lie in another order. */
sc_core *sc_core_derive_near(const sc_state *, sc_core *, const sc_format *);
/* The same for what reads each value once: only where those of neighbours lie far from each other in c. */
sc_core *sc_core_derive_far(const sc_state *, sc_core *, const sc_format *);
/* Counts products with c; many of them, or somebody who says that there will be, make a layout of its own pay. */
void sc_core_count(sc_core *, double products);
/* Whoever times calls again and again wants each like the one before: nothing is counted meanwhile; or, moreover, all
 * operands are taken for such as were not multiplied often yet. */
typedef enum { SC_COUNTS, SC_COUNTS_NOTHING, SC_COUNTS_AS_NEW } sc_counting;
void sc_count_as(sc_counting);
sc_counting sc_counted_as(void);
#define SC_MANY 4294967296.0 /* products that take as long as converting a tensor and compiling for it */
enum { SC_FEW = 16 };        /* columns that take as long as one: the entries are read for each of them */
double sc_bind_products(const sc_tensor *in, int nin, int k); /* with sparse operand k */
/* What sc_spec.often says of layouts that read values where they are. */
sc_often sc_bind_in_place_facts(const sc_tensor *);
sc_often sc_core_often(sc_core *);
/* (format, shape, components) of a result; components are shared with `from`
 * where the pointers are the same. */
PyObject *sc_core_pack(const sc_tensor *, sc_sink *, sc_core *const *from, int nfrom);

/* Whether a tensor has the structure of the core: the same arrays, of which there is one at least. */
bool sc_core_has(const sc_core *, const sc_tensor *);
/* The values of a result, as sc_core_pack finds them. */
PyObject *sc_core_values(const sc_tensor *, sc_sink *, sc_core *const *from, int nfrom);

/* A matrix as a dense one, row-major, with values of its own; a new reference. And without it again. */
sc_core *sc_core_spread(const sc_state *, sc_core *);
void sc_core_unspread(sc_core *);

/* ---- filled.c: products of a matrix of few zeros as of a dense one ---- */
int sc_core_fills(sc_core *); /* how many products of a kind it takes to compare both ways; 0: there is one */
/* The times of products of a kind where so many sums share an entry, as long as the core lives; null: there is one way. */
sc_pair *sc_filled_pair(const sc_state *, sc_core *, int kind, int64_t sums);
sc_way sc_filled_turn(const sc_pair *);                        /* the next one to take */
void sc_filled_note(sc_core *, sc_pair *, sc_way, int64_t ns); /* what it took */
void sc_filled_give_up(sc_pair *);                             /* entries it is from now on */
/* Whether a dense vector or matrix holds nothing but finite numbers, side by side in rows or columns. */
bool sc_filled_finite(const sc_tensor *);
/* out = a x, a summed over its dimension `inner`, as the dense matrix that it is; or out = x a if it is the last one. */
int sc_filled_run(const sc_view *a, int inner, const sc_tensor *x, bool last, const sc_tensor *out, sc_err *);

/* ---- seen.c: structures that the operators have met, by their fingerprints ---- */
bool sc_seen_valid(sc_digest, sc_tensor *); /* whether it was noted; then its rows are counted */
void sc_seen_note(sc_digest, sc_tensor *);  /* which is valid: counts its rows */
/* Counts products with it. As sc_bind_in_place_facts, once they are many; zero before. */
sc_often sc_seen_often(sc_digest, double products, const sc_tensor *);

/* ---- kept.c: layouts derived from operands of the operators ---- */
typedef struct sc_kept {
    struct sc_kept *next;
    sc_digest key; /* of the structure it was derived from */
    int refs;
    sc_tensor
        t; /* its values are those of the operand if `same` or where it has a permutation, else its own */
    const void *perm; /* where its values were, of type ptype; null where entries were summed, or if `same` */
    bool same;        /* each of its values is at its own place in the operand */
    sc_dtype ptype;
    int n;
    void *array[SC_MAXARRAY];
    int64_t size[SC_MAXARRAY];
} sc_kept;
/* The layout `as` of a sparse tensor whose structure has this fingerprint; to be released. Null: see *e. */
sc_kept *sc_kept_derive(sc_digest key, const sc_tensor *from, const sc_format *as, sc_err *e);
void sc_kept_release(sc_kept *);
/* Drops what no call is using; returns its bytes. */
int64_t sc_kept_clear(void);

/* ---- call.c, again.c ---- */
extern PyMethodDef sc_again_methods[];
PyObject *sc_bind_run(PyObject *module, PyObject *program, PyObject *operands,
                      PyObject *out); /* a list of results */

/* ---- values.c ---- */
extern PyMethodDef sc_values_methods[];
/* The dict of an object, borrowed. */
PyObject *sc_bind_facts(PyObject *x);
/* The core of a SparseTensor, or a core itself, a new reference; null, perhaps with an exception: x is neither. */
sc_core *sc_bind_core(const sc_state *, PyObject *x);
/* A SparseTensor with the structure of another one; values: a contiguous vector. */
PyObject *sc_bind_like(const sc_state *, PyObject *a, PyObject *values);
/* Format, shape and arrays of a SparseTensor and what is known of them, a dict. */
PyObject *sc_bind_structure(const sc_state *, PyObject *a);
PyObject *sc_bind_values(const sc_state *, PyObject *a); /* of a SparseTensor itself, borrowed */
/* The values of a, borrowed, each once and none of them padding, and whether calls on them are recorded, if it is
 * not known that some are; else null, perhaps with an exception. That eager arithmetic is plain is asked once by the
 * caller. */
PyObject *sc_values_alone(const sc_state *, PyObject *a, bool *recorded);
/* Whether two tensors with these facts were made with the same structure, arrays and all. */
bool sc_values_share(const sc_state *, PyObject *one, PyObject *other);
/* f(x[, y]) in the structure of a, whose values x are. */
PyObject *sc_values_applied(const sc_state *, PyObject *f, PyObject *a, PyObject *x, PyObject *y);

/* ---- values_node.c ---- */
extern PyMethodDef sc_values_node_methods[];

/* ---- matmul.c ---- */
extern PyMethodDef sc_matmul_methods[];
/* True when plain eager arithmetic is all there is: no mode, transform, dual level. */
int sc_bind_plain(const sc_state *);
/* Whether an object is a tensor or a parameter itself, and no other class. */
bool sc_bind_is_tensor(const sc_state *, PyObject *);
/* 1 if x requires a gradient and gradients are on, -1 with an exception. */
int sc_bind_needs_grad(const sc_state *, PyObject *x);

/* ---- stop.c, team.c, torch_abi.c ---- */
void sc_stop_connect(void);
void sc_watch_connect(void); /* when torch's functions are found */
/* What a signal has raised is raised again as soon as Python runs: where no exception of Python can be handed up. */
void sc_stop_again(void);
int sc_team_connect(void *libtorch, int cap, sc_err *);
int sc_torch_connect(void *libtorch, sc_err *); /* finds the symbols and registers the operators */
bool sc_torch_grad_enabled(void);

#endif
