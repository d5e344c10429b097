/* private.h: shared by the files of this folder.
 *
 * Lowering walks the nest with an environment: which coordinates are known,
 * which position every tensor has reached at each of its levels, which vector
 * piece is being written. A tensor advances through its dense levels by itself
 * as soon as their coordinates are known (resolve); through any other level
 * only by a loop over it. */
#ifndef SC_LOWER_PRIVATE_H
#define SC_LOWER_PRIVATE_H

#include "../nest/place.h"
#include "../stmt/stmt.h"
#include "lower.h"

typedef struct Fibre Fibre;

typedef struct { /* what is known of an index variable */
    Val *whole, *div, *mod;
    Val *base;   /* with div: the first coordinate of the block */
    Val *modext; /* with div: coordinates in the block */
    Val *slot;   /* position inside a tile of positions */
    bool inner;  /* a tile opened inside the parallel loop */
    Val *within; /* where a tile begins in the block of `outer` coordinates that it is a part of, or null */
    int outer;
} Coord;

typedef struct {               /* where a tensor stands; Env.known says how many of its levels are resolved */
    Val *pos[SC_MAXLEVEL + 1]; /* the position at level l is pos[l + 1]; pos[0] is 0 */
    Val *lo, *hi;              /* positions [lo, hi) share the coordinate of a nonunique level */
    Val *first, *beyond; /* those of the fibre of a compressed level that the last one stands in, or null */
    Val *tile_lo, *tile_hi; /* a tile of the positions of the next level */
    Local *cursor;          /* where a search in the next level goes on from, or null */
    const Fibre *fibre;     /* with a cursor: the part of that level that it moves in */
    bool steps;             /* the cursor moves position by position, without jumps */
} Where;

typedef struct {
    bool on;
    Index ix;
    Val *at; /* run-time part of the coordinate that the pieces start from */
    int off, lanes;
    bool several; /* the loop holds several evaluations, and each gets a note */
    bool rows;    /* lanes are rows of a slice: the nest has no vec loop, and notes are as for one row */
    const Fibre *fibre; /* the entries that the loop runs over, or null: a dense index */
    Val *bits;          /* which lanes there are, of what is read outside of the fibre; null: all */
    Val *coords;        /* where the coordinates of these entries begin, or null: at their positions */
    Val *entry;         /* in the lanes of a word: the values of the fibre's tensor */
} Vec;

typedef struct { /* two tensors at one step of a merge */
    const Tensor *t[2];
    Val *here[2]; /* whether each has an entry at this coordinate */
} Blend;

typedef struct { /* rows summed together */
    const Nest *loop;
    const Tensor *work;
    Buf *terms;
    int lanes;  /* of the vectors that a row is summed in */
    Val *first; /* position of the first term */
    Val *sum;   /* of the row the walk is at; null while terms are computed */
    Val *count; /* the number of terms of that row */
    struct {    /* computed, not yet stored */
        Val *at, *value;
    } term[MAXTERM];
    int nterm;
} Batch;

typedef struct { /* the values of two tensors at several coordinates of a merge, a lane each */
    Blend both;
    Fibre *f[2];
    Val *at[2], *bits[2]; /* the position of its next entry; a bit for every coordinate that it has */
    int lanes;
    double fill; /* the value in lanes of coordinates that it does not have */
} Spread;

typedef struct Rest Rest;
struct Rest { /* coordinates that are done at once, since a reduction takes the same value at each */
    Rest *around;
    Val *times;     /* how many they are */
    uint64_t inner; /* workspaces opened inside: what reduces into them takes the value once */
};

typedef struct {
    Place known;
    Coord coord[SC_MAXVAR];
    Vec vec;
    uint64_t absent;    /* tensors without an entry in this case */
    const Blend *blend; /* not null: terms of a tensor without an entry here are replaced by zeros */
    Batch *batch;       /* the rows that are summed together, or null */
    Spread *spread;     /* not null: its tensors are read as vectors, one coordinate of the merge a lane */
    Rest *rest;         /* what is lowered stands for many coordinates, or null */
    uint32_t rests;     /* the variables that `rest` stands for, which have no coordinate */
    int copy;           /* inside an unrolled loop over positions: which copy of the registers is summed in */
    bool again;         /* a repetition of statements in front, which have the notes */
    Where where[MAXTENSOR]; /* last: of these, only those that the program has are kept */
} Env;

typedef struct {
    Tensor *work;
    int key[SC_MAXDIM]; /* the number in each slot; in the vector slot, where the piece begins */
    int lanes, copy;
    Local *local;
} Reg;

/* How a bitmap workspace that is looked ahead for is filled and read (span.c). */
typedef enum {
    W_BITS,  /* anywhere */
    W_BYTES, /* where entries lie close together: a byte for each coordinate, in place of bits */
    W_LIST   /* where few lie far apart: coordinates and values in the order of filling */
} Way;

typedef struct { /* what filling a workspace would write: how much, from which coordinate to which */
    Local *n, *first, *last;
    Local *runs; /* fibres, each of which is in order */
} Span;

typedef struct { /* a workspace in the lane's scratch */
    const Tensor *work;
    Op reduce;
    Buf *val;
    /* A bitmap whose entries are only counted: the number of the filling that wrote a coordinate last; the number of
     * the last filling of all, as the kernel begins and now. */
    Buf *mark, *last;
    Local *tag;
    Buf *bits,
        *filled; /* bitmap: a bit a coordinate; a byte for every word of those: there may be bits in it */
    /* Hash: keys + 1 in slots; slots in use; keys in order, and to sort them. */
    Buf *table, *used, *key, *spare;
    Buf *crd[SC_MAXDIM]; /* coordinates in order, where they are listed */
    Local *n;            /* entries; hash: so far */
    const Nest *direct;  /* the loop that takes the entries without a list, or null */
    bool spans;          /* it is looked ahead for */
    Way way;
    Span span;
    Buf *bytes, *terms; /* W_BYTES: whether there is an entry; W_LIST: values beside `key` */
    Val *at;            /* W_LIST: the position that is read */
    bool counted;       /* it is being filled, and what it stores decides what results store */
} Lane;

typedef struct { /* a row that a merge meets in every turn of the loop around it (noted.c) */
    const Nest *merge;
    int row;     /* which of its tensors, 0 or 1, has it */
    Buf *places; /* the position of each coordinate */
    Local *held; /* where the row begins that is noted, -1: none is */
    /* The same of the row that was met last, and how many entries of others it has met. */
    Local *row_met, *met;
} Noted;

/* COUNT: how many entries results store, MOST: how many they store at most; neither computes a value. */
typedef enum { BODY, COUNT, MOST, PART, FINISH } Mode;

typedef struct {
    Prog *p;
    Module *m;
    Mode mode;
    Env e;
    Stmt **tail; /* where the next statement goes */
    Reg reg[MAXREG];
    int nreg;
    struct {
        const Expr *e;
        Val *v;
    } memo[MAXMEMO];
    int nmemo;
    const Nest *kernel; /* the nest of the kernel being lowered */
    const Nest *fills;  /* the private or shared workspace that it fills, or null */
    sc_step *step;
    Lane lane[SC_MAXWORK];
    int nlane, nplace, nlocal;
    Noted noted[MAXNOTED];
    int nnoted;
    struct { /* private and shared workspaces, by their slot */
        const Tensor *work;
        Op reduce;
    } shared[SC_MAXSHARED];
    int nshared;
    const Tensor *filling; /* the private workspace of this kernel's lanes, or null */
    uint32_t assigned;     /* results that kernels assigned so far, by arg */
    Val *scratch;          /* bytes of lane scratch so far */
    Tensor *split;         /* PART, FINISH: the tensor whose level 1 is cut */
    const Nest *carried;   /* with `split`: the work node whose registers PART leaves to FINISH */
    bool unit;             /* inside the parallel loop */
    /* result.c: results that the kernel assembles, and what surrounds the loops over their levels */
    int ncursor, nfibre;
    Lane *looking;  /* what filling this workspace would write is found out, or null */
    bool unbounded; /* of the search whether the kernel has an entry of mode MOST */
    bool leaves;    /* the entry that fills leaves its cursors: it may run without anything being counted */
    bool slack;     /* nothing is counted first; SC_SLACK elements may be written behind what is appended */
    Val *times;     /* COUNT, MOST: entries that an assignment stands for, null: one */
    struct {
        const Tensor *result;
        int level;
        Local *next; /* position of the next entry */
    } cursor[SC_MAXCURSOR];
    struct {
        const Nest *body; /* of the loop over this level */
        const Tensor *result;
        int level;
        Val *first; /* next entry of the level below when the body began */
    } fibre[SC_MAXCURSOR * SC_MAXLEVEL];
} Low;

/* No values are computed: only what decides how many entries results store. */
static inline bool counting(const Low *l) { return l->mode == COUNT || l->mode == MOST || l->looking; }
static inline Val *num(Low *l, int64_t i) { return val_int(l->p, i); }
static inline Val *plus(Low *l, Val *a, Val *b) { return val_op(l->p, O_ADD, a, b); }
static inline Val *times(Low *l, Val *a, Val *b) { return val_op(l->p, O_MUL, a, b); }

typedef struct {
    Buf *buf;
    Val *base, *stride; /* stride of the vector index; null: 1 */
} Address;

/* put.c: statements, and what they declare */
Stmt *lower_put(Low *, StmtOp);
void lower_note(Low *, const Nest *);   /* a comment: the line of the nest that the next statements compute */
void lower_remark(Low *, const char *); /* any comment; the text must live as long as the program */
Local *lower_declare(Low *, const char *stem, Val *, bool mutable);
Val *lower_let(Low *, const char *stem, Val *); /* a constant; the value itself if it is a name or a number */
Local *lower_mut(Low *, const char *stem, Val *);
void lower_set(Low *, Local *, Val *);
Stmt *lower_for(Low *, const char *stem, Val *lo, Val *hi, int64_t step, Stmt ***outer);
Stmt **lower_block(Low *); /* opens a block for the names inside; returns the tail behind it */
void lower_store(Low *, const Address *, Val *at, Op, Val *);
/* An element of an array that is no tensor, and the value of a variable. */
static inline Val *load(Low *l, Buf *b, Val *at) { return val_load(l->p, b, 1, at, NULL); }
static inline void keep(Low *l, Buf *b, Val *at, Val *v)
{ lower_store(l, &(Address){.buf = b}, at, O_CONST, v); }
static inline Val *now(Low *l, Local *x) { return val_local(l->p, x); }

/* env.c: coordinates, positions, extents and buffers of a place in the nest */
/* What is known here, to come back to it. It lies in the arena: loops are inside of each other, and a thread's stack may
 * be small. */
const Env *lower_keep(Low *);
void lower_back(Low *, const Env *);
Val *lower_dim(Low *, int var);                   /* extent: a constant where it is folded */
Val *lower_slot_extent(Low *, const Index *);     /* of a workspace's dimension */
int64_t lower_const_extent(Low *, const Index *); /* -1 when it is not a constant here */
/* Of a result that is like an operand, these three say where the operand stands. */
Where *lower_where(Low *, const Tensor *);
int lower_level(Low *, const Tensor *);     /* the next level: how many are resolved */
Val *lower_position(Low *, const Tensor *); /* at the last level that is resolved */
Buf *lower_buf(Low *, BufOrigin, const Tensor *, int level);
bool results_need(const Low *, const Nest *); /* something inside decides what is stored */
void lower_bind(Low *, Index, Val *coord);
void lower_resolve(Low *); /* every tensor walks down its dense levels as far as coordinates are known */
const char *lower_index_name(Low *, Index);
Val *lower_load_index(Low *, Buf *, Val *at); /* an element of an index array, as i64 */
/* The tensor stands at position `first` of its next level, or at the run [first, last). */
void level_enter(Low *, const Tensor *, Val *first, Val *last);
sc_size batch_size(const Low *, const Nest *loop); /* of the memory for terms, or for the sums of a window */
int64_t batch_most_terms(const Tensor *);          /* that this memory takes */
sc_size work_size(const Tensor *);                 /* bytes of a workspace */
void lower_size_times(sc_size *, Index);           /* by the extent of the index */
Buf *work_buf(Low *, const Tensor *);
int work_shared_slot(Low *, const Tensor *); /* of a private or shared workspace */
Val *work_elements(Low *, const Tensor *);   /* of one copy */
/* An array of the lane, in the order of sc_step.scratch; `clean`: kernels find zeros in it, and leave them. A part of
 * one, from a byte on. */
Buf *lane_array(Low *, const Tensor *, const char *what, sc_dtype, sc_size, bool clean);
Buf *lane_buf(Low *, const Tensor *, const char *what, sc_dtype, Val *offset);
Lane *lane_of(Low *, const Tensor *);
Val *lower_index(Low *, Index);
Val *lower_stride(Low *, const Tensor *, int d); /* of a dense operand or result */

/* result.c: sparse results that the nest assembles */
/* Finds the results that l->kernel assembles, and returns how many cursors they have. Gives the step over the units of
 * the kernel the bound of what is appended, where there is one. */
int results_find(Low *, sc_step *units);
bool results_alone(const Low *); /* there is one */
void results_open(Low *);        /* at the head of an entry */
void results_close(Low *);       /* at its end */
void fibres_open(Low *, const Nest *body);
void fibres_close(Low *, const Nest *body);
Local *result_cursor(const Low *, const Tensor *, int level);
void result_put_index(Low *, BufOrigin, const Tensor *, int level, Val *at, Val *);
/* Vectors of coordinates and values are stored behind the last entry, then some of those entries are appended. The first
 * stores whole ones (null: none), `off` entries on, only with l->slack; the second the lanes of the bits. */
void result_append_lanes(Low *, const Tensor *, int off, Val *coords, Val *values);
void result_append_some(Low *, const Tensor *, Val *bits, Val *coords, Val *values);
void result_append_count(Low *, const Tensor *, Val *n);

/* loop.c */
void lower_body(Low *, const Nest *);

/* level.c: the next level of a tensor, where it stores coordinates */
struct Fibre {
    const Tensor *t;
    Buf *crd;
    Val *lo, *hi;     /* its positions [lo, hi) below where the tensor stands, in the order of coordinates */
    bool unique, one; /* one: there is one position */
    Val *place;       /* of the row among those that are sorted by length, or null */
};
typedef struct {
    Val *pos, *end; /* end: of the run of equal coordinates, null where they are unique */
    Val *here;      /* whether there is an entry */
} Found;
Fibre level_fibre(Low *, const Tensor *); /* without padding */
Found level_look_up(Low *, const Fibre *, Val *coord);
/* The body at one position; slot: its place in the tile around, or null. */
void level_at_position(Low *, const Nest *loop, const Fibre *, Val *pos, Val *slot);
Val *level_walk(Low *, const Nest *loop,
                const Fibre *);           /* the body at every coordinate; returns how many they are */
Val *level_stored(Low *, const Tensor *); /* how many coordinates the next level has, compressed and unique */
void level_loop(Low *, const Nest *);
void lower_times(Low *, const Nest *loop,
                 Val *turns);                   /* the body of a loop that only appends or writes, at once */
Stmt **level_unless_padding(Low *, Val *coord); /* opens a block; returns the tail behind it */
/* Declares, in front of a loop, a cursor for every lookup inside that can move on with it. from: the first
 * coordinate where it is not the first of all, or null. */
void level_open_cursors(Low *, const Nest *loop, Val *from);

/* slices.c: levels of sliced diagonals */
void slices_range(Low *, Fibre *); /* the diagonals of the slice that the tensor's position lies in */
Val *slices_loop(Low *, const Nest *loop, const Fibre *); /* entries of the row; returns how many they are */
void slices_refuse_tiles(Low *, const Tensor *);          /* if the next level is such a one */
/* A loop over rows that sum the entries of such a level, from unit lo to hi: a slice at a time, a lane each row. */
bool slices_below(Low *, const Nest *loop);
void slices_batch(Low *, const Nest *loop, Val *lo, Val *hi);
typedef struct Slices Slices;
/* Column q of a slice: says in l->e.vec and in the entries where its coordinates and values lie, and which rows have it. */
typedef void SlicesColumn(Low *, const Slices *, Fibre *entries, Val *q, Val **bits);
struct Slices {
    const Nest *in; /* the loop over the entries of a row */
    const Tensor *t;
    SlicesColumn *column;
    Buf *sums;
    Op reduce;
    int level, width, lanes;
    bool masked; /* coordinates of rows without an entry are not to be read at */
};
Slices slices_of(Low *, const Nest *loop, SlicesColumn *, bool masked);
Val *slices_apart(Low *, const Nest *loop,
                  Val *unit); /* how far positions are ahead of the units of the loop */
/* The sums of a slice whose columns are those of f, to elements `to` on; the tensor stands above its rows. */
void slices_sum(Low *, const Slices *, const Fibre *f, Val *to);
/* The rows from unit `from` to `to` take their sums, as many at a time as lanes where that suits. */
typedef struct {
    Buf *buf;
    Buf *place; /* null, or where it says in which element of buf the sum of a row is */
    Val *first; /* unit u has element u - first, of buf or of place */
} Sums;
void slices_take(Low *, const Nest *loop, int lanes, Val *from, Val *to, const Sums *);

/* sell.c: the same of slices of rows that are sorted by length */
void sell_range(Low *, Fibre *);
Val *sell_loop(Low *, const Nest *loop, const Fibre *);
void sell_batch(Low *, const Nest *loop, Val *lo, Val *hi);

/* words.c: levels of bit masks */
void words_range(Low *, Fibre *);        /* the words of the position that the tensor is at */
Val *words_length(Low *, const Fibre *); /* how many entries they have */
void words_loop(Low *, const Nest *loop, const Fibre *);
void words_vec(Low *, const Nest *loop, const Fibre *);

/* batch.c: the loop in batches, from unit lo to hi, positions or coordinates as its level has them */
bool batch_wanted(Low *, const Nest *loop);
void batch_lower(Low *, const Nest *loop, Val *lo, Val *hi);
void batch_enter(Low *, const Nest *loop, Val *unit); /* the unit becomes known */

/* merge.c */
void lower_merge(Low *, const Nest *);

/* rest.c */
/* Behind a loop with `rest` that visited so many coordinates: what is left to do at the others, at once. */
void rest_of(Low *, const Nest *loop, Val *visited);
/* Inside a rest: a dense loop that does the same in all its turns does them at once. False: it has to run. */
bool rest_loop(Low *, const Nest *loop);
/* A workspace is opened; true inside a rest where nothing that is left reads it, so that it need not be filled. */
bool rest_skips(Low *, const Nest *work);

/* blend.c */
/* Where either tensor is absent, zeros in place of its terms give the same value. */
bool blend_applies(Low *, const Blend *, const Expr *);
Val *blend_value(Low *, const Expr *); /* the value, with l->e.blend */
/* The evaluation can append vectors of entries. */
bool spread_applies(Low *, const Spread *, const Nest *eval);
/* It does so, for the coordinates that the tensors have by the bits in[0] and in[1]. */
void spread_eval(Low *, Spread *, const Nest *eval, Val *const in[2]);
Val *spread_access(Low *, const Tensor *); /* null: the tensor is none of l->e.spread */

/* work.c */
void lower_work(Low *, const Nest *);

/* registers.c: workspaces in registers */
typedef struct {
    int off, lanes;
} Piece;
/* Something inside adds to memory along var, reduces over it or uses var/N: no coordinate may be taken twice. */
bool register_adds_along(const Nest *, int var);
int register_pieces(Low *, sc_dtype, int64_t n, int var, Piece *out);
void register_open(Low *, const Tensor *, Val *init); /* a workspace of one number, which is init */
Reg *register_find(Low *, const Tensor *, const Expr *access, int copy);
void register_open_all(Low *, const Nest *work); /* all registers of a workspace */
void register_open_copies(Low *, const Nest *loop);
void register_close_copies(Low *, const Nest *loop);

/* noted.c: rows that merges meet again and again */
void noted_place(Low *);                               /* at the head of an entry */
const Noted *noted_of(const Low *, const Nest *merge); /* null: no row of it is */
/* Counts the entries of another row that this one meets; whether those so far are worth to note it. */
Val *noted_pays(Low *, const Noted *, const Fibre *row, Val *size, Val *other);
void noted_fill(Low *, const Noted *, const Fibre *);

/* sparse.c: bitmaps and hash tables, and where the lane's workspaces lie */
/* Mode MOST applies to the kernel: workspaces are read entry by entry as they come, so that they append no more than is
 * written to them, and some loop over stored entries only writes, so that its turns need not run. */
bool lanes_bound(Low *);
bool lanes_only_fills(
    const Nest *);       /* all that is done is to write to workspaces that gather, or to append */
void lanes_place(Low *); /* gives all lane workspaces of the kernel their places, at the head of an entry */
void lanes_close(Low *); /* at its end */
void sparse_open(Low *, const Tensor *);              /* before it is filled */
void sparse_read(Low *, const Tensor *);              /* behind that */
void sparse_close(Low *, const Tensor *);             /* in the end */
void sparse_store(Low *, const Expr *lhs, Op, Val *); /* a null value only marks the coordinate */
Val *sparse_slot(Low *, const Expr *access);          /* hash: where the value of an entry lies */
/* The loop takes the entries straight from the bitmap, or only counts them. Every other loop runs over the list:
 * positions of level 0, and the coordinates that lower_buf finds. */
bool sparse_direct(Low *, const Nest *loop);
Val *sparse_count(Low *, const Tensor *); /* of the entries */
/* Opens loops over the entries of a bitmap and returns the coordinate. *outer: the tail behind them. */
Val *sparse_bits(Low *, const Tensor *, const char *name, Stmt ***outer);
void sparse_clear(Low *, const Tensor *, Val *coord); /* the value of a bitmap there, behind its last use */
void sparse_range(Low *, const Tensor *, Val **lo, Val **hi);

/* list.c: W_LIST by vectors */
bool list_fills(Low *, const Nest *loop, const Fibre *); /* the loop over the fibre can fill it so */
void list_fill(Low *, const Nest *loop, const Fibre *);
bool list_copy(Low *, const Nest *loop); /* where the loop appends the entries as they are, it does so */

/* span.c: bitmaps of which it is known, before a filling, how much it writes from where to where */
bool span_applies(Low *, const Nest *work);
bool span_lists(const Low *, const Lane *);  /* a list is one of the ways: vectors are wide enough to sort */
void span_place(Low *, Lane *);              /* the memory of the other ways */
Lane *span_look(Low *, const Nest *work);    /* what filling it would write is counted from here on */
void span_fibre(Low *, const Fibre *);       /* a loop over the fibre would */
Val *span_prefers(Low *, const Lane *, Way); /* whether the filling lies so */
void span_store(Low *, const Lane *, Val *k, Op, Val *v); /* W_BYTES, W_LIST */
void span_read(Low *, Lane *);                            /* W_LIST: sorts and sums */
Val *span_open(Low *, Lane *, const char *name,
               Stmt ***outer); /* W_BYTES, W_LIST: the loop over the entries */

/* weigh.c; dense: the indices of what is assigned everywhere */
/* Whether the entries of t say what a unit takes: in it, nothing is assigned at every coordinate of t. */
bool weigh_by_entries(const Tensor *t, int unit, uint32_t dense);
/* What an entry takes; units null: they are coordinates. */
void weigh_step(Low *, sc_step *, const Tensor *units, uint32_t dense);

/* ahead.c: prefetches the rows that position pos + n->ahead of the loop reads; the tensor has entered the level */
void ahead_fetch(Low *, const Nest *n, Val *pos);
void ahead_values(Low *, const Tensor *, Val *at, int64_t n); /* the lines of n values, MAXLINES at most */
void ahead_planes(Low *, const Tensor *, Val *pos);           /* before the tensor enters */
Val *ahead_last(Low *, const Tensor *, int level);            /* the last position of a level */

/* turn.c: a dense loop, by squares where it copies to where they lie across, and else in order */
bool turn_applies(Low *, const Nest *loop);
void turn_lower(Low *, const Nest *loop, void (*in_order)(Low *, const Nest *));

/* eval.c */
Address lower_address(Low *, const Expr *, bool twice); /* twice: it stands in a load and in a store */
Val *lower_piece_at(Low *, const Address *);            /* of the current piece */
Val *lower_value(Low *, const Expr *);
Val *lower_value_place(Low *, const Tensor *, Val *pos); /* where the value at a position lies */
void lower_eval(Low *, const Nest *);
void lower_assign(Low *, const Expr *lhs, Op, Val *);
void lower_hoist(Low *, const Expr *); /* what a vector loop takes in every turn is computed in front of it */
/* Reads in front of a loop with this body what every turn takes: a C compiler does not know that the stores inside leave
 * it as it is. */
void lower_known(Low *, const Nest *body);
void lower_vec(Low *, const Nest *, const Fibre *); /* the fibre: of the entries it runs over, or null */
#endif
