/* private.h: shared by the lower*.c files.
 *
 * Lowering walks the nest with an environment: which coordinates are known,
 * which position every tensor has reached at each of its levels, which vector
 * piece is being written. A tensor advances through its dense levels by itself
 * as soon as their coordinates are known (resolve); through any other level
 * only by a loop over it. */
#ifndef SC_LOWER_H
#define SC_LOWER_H

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
    Val *within; /* the tile is one of a block of `outer` coordinates: its first one there */
    int outer;
} Coord;

typedef struct {               /* where a tensor stands; how many of its levels are resolved says Env.known */
    Val *pos[SC_MAXLEVEL + 1]; /* the position at level l is pos[l + 1]; pos[0] is 0 */
    Val *lo, *hi;              /* positions [lo, hi) share the coordinate of a nonunique level */
    Val *tile_lo, *tile_hi;    /* a tile of the positions of the next level */
    Local *cursor;             /* moves on through the next level as an enclosing loop does */
    const Fibre *fibre;        /* the part of that level that the cursor moves in */
    bool steps;                /* the cursor moves by single positions */
} Where;

typedef struct {
    bool on;
    Index ix;
    Val *at; /* run-time part of the coordinate that the pieces start from */
    int off, lanes;
    bool several; /* evaluations */
} Vec;

typedef struct { /* two tensors at one step of a merge, each present or not */
    const Tensor *t[2];
    Val *here[2];
} Blend;

typedef struct { /* rows summed together */
    const Nest *loop;
    const Tensor *work;
    Buf *terms;
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
    Val *at[2], *bits[2]; /* a bit for every coordinate that the tensor has; its values from here on */
    int lanes;
    double fill; /* where it has none */
} Spread;

typedef struct Rest Rest;
struct Rest { /* coordinates at which a reduction takes the same */
    Rest *around;
    Val *times;     /* how many */
    uint64_t inner; /* workspaces opened inside: they do not see them */
};

typedef struct {
    Place known;
    Coord coord[SC_MAXVAR];
    Where where[MAXTENSOR];
    Vec vec;
    uint64_t absent;    /* tensors without an entry in this case */
    const Blend *blend; /* not null: values are chosen by what is here */
    Batch *batch;       /* the rows that are summed together, or null */
    Spread *spread;     /* not null: values are lanes */
    Rest *rest;         /* what is lowered stands for many coordinates, or null */
    uint32_t rests;     /* the variables that `rest` stands for, which have no coordinate */
    int copy;           /* of the registers, inside an unrolled loop over positions */
    bool again;         /* the same statements, for other coordinates, stand in front: notes are there */
} Env;

typedef struct {
    Tensor *work;
    int key[SC_MAXDIM], lanes, copy; /* slots; the vector slot holds the offset of the piece */
    Local *local;
} Reg;

typedef struct { /* a workspace in the lane's scratch */
    const Tensor *work;
    Op reduce;
    Buf *val;
    Buf *mark, *last; /* bitmap that is only counted: when an entry was written; the last time */
    Local *tag;
    Buf *bits, *sums; /* bitmap: a bit a coordinate; a bit a word of those */
    /* Hash: keys + 1 in slots; slots in use; keys in order, and to sort them. */
    Buf *table, *used, *key, *spare;
    Buf *crd[SC_MAXDIM]; /* coordinates in order, where they are listed */
    Local *n;            /* entries; hash: so far */
    const Nest *direct;  /* the loop that takes the entries without a list, or null */
    bool counted;        /* being filled for what decides what results store */
} Lane;

typedef enum { BODY, COUNT, PART, FINISH } Mode;

typedef struct {
    Prog *p;
    Module *m;
    Mode mode;
    Env e;
    Stmt **tail;
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
    struct { /* private and shared workspaces, by their slot */
        const Tensor *work;
        Op reduce;
    } shared[SC_MAXSHARED];
    int nshared;
    const Tensor *filling; /* the private workspace of this kernel's lanes, or null */
    uint32_t assigned;     /* results that kernels assigned so far, by arg */
    Val *scratch;          /* bytes of lane scratch so far */
    Tensor *split;         /* PART, FINISH: the tensor whose level 1 is cut */
    const Nest *carried;   /* with `split`: the work node whose registers travel through carry slots */
    bool unit;             /* inside the parallel loop */
    /* result.c: results that the kernel assembles, and what surrounds the loops over their levels */
    int ncursor, nfibre;
    bool slack; /* this entry makes the result alone, and one more entry may be written than is appended */
    Val *times; /* COUNT: entries that an assignment stands for, null: one */
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

static inline Val *num(Low *l, int64_t i) { return val_int(l->p, i); }
static inline Val *plus(Low *l, Val *a, Val *b) { return val_op(l->p, O_ADD, a, b); }
static inline Val *times(Low *l, Val *a, Val *b) { return val_op(l->p, O_MUL, a, b); }

/* lower.c */
Stmt *lower_put(Low *, StmtOp);
void lower_note(Low *, const Nest *);   /* a comment: the line of the nest that the next statements compute */
void lower_remark(Low *, const char *); /* any comment; the text must live as long as the program */
Local *lower_declare(Low *, const char *stem, Val *, bool mutable);
Val *lower_let(Low *, const char *stem, Val *); /* a constant, unless v is a name already */
Local *lower_mut(Low *, const char *stem, Val *);
void lower_set(Low *, Local *, Val *);
Stmt *lower_for(Low *, const char *stem, Val *lo, Val *hi, int64_t step, Stmt ***outer);
Stmt **lower_block(Low *); /* opens a block for the names inside; returns where the walk goes on behind it */
void lower_body(Low *, const Nest *);
Val *lower_dim(Low *, int var);                   /* extent: a constant where it is folded */
Val *lower_slot_extent(Low *, const Index *);     /* of a workspace's dimension */
int64_t lower_const_extent(Low *, const Index *); /* -1 when it is not a constant here */
Where *lower_where(Low *, const Tensor *);        /* follows `like`, as do the next two */
int lower_level(Low *, const Tensor *);           /* the next level: how many are resolved */
Val *lower_position(Low *, const Tensor *);       /* at the last level that is resolved */
Buf *lower_buf(Low *, BufOrigin, const Tensor *, int level);

/* result.c: sparse results that the nest assembles */
/* Finds the results that l->kernel assembles: how many cursors they have. Sets the bound of a step over its units,
 * where there is one. */
int results_find(Low *, sc_step *units);
void results_open(Low *);                     /* at the head of an entry */
void results_close(Low *);                    /* at its end */
bool results_need(const Low *, const Nest *); /* something inside decides what is stored */
void fibres_open(Low *, const Nest *body);
void fibres_close(Low *, const Nest *body);
Local *result_cursor(const Low *, const Tensor *, int level);
void result_put_index(Low *, BufOrigin, const Tensor *, int level, Val *at, Val *);
/* Only with l->slack: whole vectors of coordinates or values (null: none), `off` entries further on; then how many
 * entries it were. */
void result_append_lanes(Low *, const Tensor *, int off, Val *coords, Val *values);
void result_append_count(Low *, const Tensor *, Val *n);

/* loop.c */
void lower_bind(Low *, Index, Val *coord);
void lower_resolve(Low *); /* every tensor walks down its dense levels as far as coordinates are known */
const char *lower_index_name(Low *, Index);

/* level.c: the next level of a tensor, where it stores coordinates */
struct Fibre {
    const Tensor *t;
    Buf *crd;
    Val *lo, *hi;     /* its positions under where the tensor stands, by coordinate, without padding */
    bool unique, one; /* one: there is one position */
};
typedef struct {
    Val *pos, *end; /* end: of the run of equal coordinates, null where they are unique */
    Val *here;      /* whether there is an entry */
} Found;
Val *lower_load_index(Low *, Buf *, Val *at); /* an entry of pos or crd, as an address */
Fibre level_fibre(Low *, const Tensor *);
/* The tensor stands at position `first` of its next level, or at the run [first, last). */
void level_enter(Low *, const Tensor *, Val *first, Val *last);
Found level_look_up(Low *, const Fibre *, Val *coord);
/* The body at one position; slot: its place in the tile around, or null. */
void level_at_position(Low *, const Nest *loop, const Fibre *, Val *pos, Val *slot);
Val *level_walk(Low *, const Nest *loop,
                const Fibre *);           /* the body at every coordinate; how many they were */
Val *level_stored(Low *, const Tensor *); /* coordinates of the next level, which is compressed and unique */
void level_loop(Low *, const Nest *);
Stmt **level_unless_padding(Low *, Val *coord); /* opens a block; returns where the walk goes on behind it */
/* Declares, in front of a loop, a cursor for every lookup inside that can move on with it. from: the first
 * coordinate where it is not the first of all, or null. */
void level_open_cursors(Low *, const Nest *loop, Val *from);

/* batch.c: the loop in batches, from unit lo to hi, positions or coordinates as its level has them */
bool batch_wanted(Low *, const Nest *loop);
void batch_lower(Low *, const Nest *loop, Val *lo, Val *hi);
sc_size batch_size(const Low *);          /* of the memory for terms */
int64_t batch_most_terms(const Tensor *); /* that this memory takes */

/* merge.c */
void lower_merge(Low *, const Nest *);

/* rest.c */
/* Behind a loop that visited so many coordinates: what is left to do at the others, if it is to do that. */
void rest_of(Low *, const Nest *loop, Val *visited);
bool rest_loop(Low *, const Nest *loop); /* done as the rest of no visit: all its turns are the same here */
Val *rest_times(Low *, const Tensor *, Op,
                Val *);                   /* what the reduction into the tensor takes in their place */
bool rest_skips(Low *, const Nest *work); /* nobody needs what fills the workspace */

/* blend.c */
/* Absence of either may be a zero in place of its terms. */
bool blend_applies(Low *, const Blend *, const Expr *);
Val *blend_value(Low *, const Expr *); /* the value where l->e.blend says which tensors are here */
/* The evaluation can append vectors of entries, and does for the coordinates that in[k] has bits for. */
bool spread_applies(Low *, const Spread *, const Nest *eval);
void spread_eval(Low *, Spread *, const Nest *eval, Val *const in[2]);
Val *spread_access(Low *, const Tensor *); /* null: it is none of l->e.spread */

/* work.c */
void lower_work(Low *, const Nest *);
typedef struct {
    int off, lanes;
} Piece;
sc_size work_size(const Tensor *);               /* bytes of a workspace */
void lower_size_times(sc_size *, Index);         /* by the extent of the index */
bool register_adds_along(const Nest *, int var); /* something inside adds to memory, or reduces, along var */
int register_pieces(Low *, sc_dtype, int64_t n, int var, Piece *out);
Buf *work_buf(Low *, const Tensor *);
int work_shared_slot(Low *, const Tensor *);          /* of a private or shared workspace */
Val *work_elements(Low *, const Tensor *);            /* of one copy */
void register_open(Low *, const Tensor *, Val *init); /* a workspace of one number */
Reg *register_find(Low *, const Tensor *, const Expr *access, int copy);
void register_open_all(Low *, const Nest *work); /* a workspace of a few numbers */
void register_open_copies(Low *, const Nest *loop);
void register_close_copies(Low *, const Nest *loop);

/* sparse.c: bitmaps and hash tables, and where the lane's workspaces lie */
void lanes_place(Low *); /* all of the kernel, at the head of an entry */
void lanes_close(Low *); /* at its end */
Lane *lane_of(Low *, const Tensor *);
void sparse_open(Low *, const Tensor *);              /* before it is filled */
void sparse_read(Low *, const Tensor *);              /* behind that */
void sparse_close(Low *, const Tensor *);             /* in the end */
void sparse_store(Low *, const Expr *lhs, Op, Val *); /* a null value only marks the coordinate */
Val *sparse_slot(Low *, const Expr *access);          /* hash: where the value of an entry lies */
/* The loop takes the entries straight from the bitmap; every other one runs over the list: positions of level 0
 * and, from tensor_buf, coordinates. */
bool sparse_direct(Low *, const Nest *loop);
Val *sparse_count(Low *, const Tensor *); /* of the entries */
/* Opens loops over the entries of a bitmap: the coordinate. *outer: where the walk goes on behind them. */
Val *sparse_bits(Low *, const Tensor *, const char *name, Stmt ***outer);
void sparse_clear(Low *, const Tensor *, Val *coord); /* behind the last use of an entry of a bitmap */
void sparse_range(Low *, const Tensor *, Val **lo, Val **hi);

/* ahead.c: asks for the rows that position pos + n->ahead of the loop needs; the level is entered */
void ahead_fetch(Low *, const Nest *n, Buf *crd, Val *pos);

/* eval.c */
typedef struct {
    Buf *buf;
    Val *base, *stride; /* stride of the vector index; null: 1 */
} Address;
Val *lower_value(Low *, const Expr *);
void lower_store(Low *, const Address *, Val *at, Op, Val *);
void lower_eval(Low *, const Nest *);
void lower_vec(Low *, const Nest *);
Val *lower_index(Low *, Index);
Val *lower_stride(Low *, const Tensor *, int d); /* of a dense operand or result */
#endif
