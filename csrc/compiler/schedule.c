/* schedule.c: expression -> nest, for a product of at most one sparse operand
 * with dense ones.
 *
 * requires  check (one reduction at most, its sparse operand a factor), infer
 * sets      p->nest, or p->convert and p->converts; p->why
 *
 * The sparse operand is walked in storage order. Where all levels that the
 * result keeps come before those that are summed, the result is owned: every
 * thread writes its own part, sums live in registers. Else the sums scatter: into
 * a private copy for every thread when the result is small, and otherwise the
 * operand is converted first, so that the result is owned. Dense indices are
 * free: one becomes the vector, the others loops inside. Extents steer choices in
 * powers of two only, so that a new batch does not make a new kernel. */
#include "ir.h"

#include <string.h>

#define PRIVATE_BYTES (64 * 1024)
#define PANEL_ELEMENTS (256 * 1024)
#define MAXLOOP 32

typedef struct {
    Index ix;
    Tensor *in;
    LoopKind kind;
    int unroll;
} Step;

typedef struct {
    Prog *p;
    Expr *lhs, *rhs;
    const Expr *sum;            /* the O_REDUCE node, or null */
    Expr *product;              /* what is summed, or the right side */
    Tensor *a;                  /* the sparse operand, or null */
    uint32_t kept, stored, all; /* variables of the result, of the sparse operand, of both sides */
    int vec;                    /* the vector variable, -1: none */
    int tile;                   /* of the vector variable, 0: none */
    int nmain;                  /* levels of a in front of its dense blocks */
    int last_kept;              /* last of those whose variable is kept, -1: none */
    bool owned;
    Expr *packed;    /* a dense factor that is read along another index than the vector: packed first */
    Tensor *panel;   /* ... into this workspace, a tile of the vector at a time */
    Tensor *through; /* the workspace that takes the sums instead of the result */
} Sched;

static bool in(uint32_t set, int var) { return set >> var & 1; }

static int64_t bucket(int64_t n)
{
    int64_t b = 1;
    while (b < n) b *= 2;
    return b;
}

/* ---- what kind of expression ---- */
static void find(Sched *s, const Expr *e)
{
    if (e->op == O_REDUCE) s->sum = e;
    if (e->op == O_ACCESS && e->tensor->role == T_IN && !sc_format_is_dense(&e->tensor->format))
        s->a = e->tensor;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) find(s, e->kid[k]);
}

/* Accesses that run along v at stride 1; the result counts double, since it is written. */
static int unit_uses(const Expr *e, int v, int weight)
{
    int n = 0;
    if (e->op == O_ACCESS && sc_format_is_dense(&e->tensor->format) && e->tensor->unit >= 0)
        n = e->ix[e->tensor->unit].var == v ? weight : 0;
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) n += unit_uses(e->kid[k], v, weight);
    return n;
}

static void choose_vector(Sched *s)
{
    int best = 0;
    s->vec = -1;
    for (int v = 0; v < s->p->nvar; v++) {
        if (!in(s->all, v) || in(s->stored, v)) continue;
        int uses = unit_uses(s->rhs, v, 1) + (in(s->kept, v) ? unit_uses(s->lhs, v, 2) : 0);
        if (uses > best) best = uses, s->vec = v;
    }
    /* without a sparse operand the outermost index of the result is the parallel one */
    if (!s->a && s->vec >= 0 && s->lhs->tensor->ndim && s->lhs->ix[0].var == s->vec) s->vec = -1;
}

static int lanes_of(const Sched *s) { return s->p->vector_bytes / (int)sc_dtype_size(s->p->type); }

/* Registers hold 8 vectors of the result, 16 where the target has 32 registers. */
static void choose_tile(Sched *s, int slots)
{
    if (s->vec < 0 || !in(s->kept, s->vec) || s->panel) return;
    const Var *v = &s->p->var[s->vec];
    int lanes = lanes_of(s);
    int room = lanes * (s->p->vector_regs == 32 ? 16 : 8);
    while (slots > 1 && room > lanes) room /= 2, slots = (slots + 1) / 2;
    if (!v->fold) room = room < 64 ? room : 64;
    if (!v->fold || v->extent > room) s->tile = room;
}

static void classify(Sched *s)
{
    const Tensor *a = s->a;
    s->kept = expr_vars(s->lhs);
    s->all = s->kept | expr_vars(s->rhs);
    s->last_kept = -1;
    s->owned = true;
    if (a) {
        for (int d = 0; d < a->ndim; d++) s->stored |= 1u << a->dimvar[d];
        s->nmain = a->format.nlevel;
        while (s->nmain > 0 && a->format.level[s->nmain - 1].part == SC_MOD &&
               a->format.level[s->nmain - 1].kind == SC_DENSE)
            s->nmain--;
    }
    for (int k = 0; k < s->nmain; k++)
        if (in(s->kept, level_index(a, k).var)) s->last_kept = k;
    for (int k = 0; k < s->last_kept; k++)
        if (!in(s->kept, level_index(a, k).var)) s->owned = false;
    if (a ? s->last_kept < 0 : !s->lhs->tensor->ndim) s->owned = false;
    choose_vector(s);
}

/* ---- building ---- */
static Expr *replaced(Prog *p, Expr *e, const Expr *old, Expr *by)
{
    if (e == old) return by;
    if (e->op == O_CONST || e->op == O_ACCESS) return e;
    Expr *a = replaced(p, e->kid[0], old, by), *b = e->kid[1] ? replaced(p, e->kid[1], old, by) : NULL;
    return a == e->kid[0] && b == e->kid[1] ? e : expr_new(p, e->op, a, b);
}

static Nest *wrap(Sched *s, const Step *step, int n, Nest *body)
{
    while (n-- > 0) {
        Nest *loop = nest_loop(s->p, step[n].kind, step[n].ix, step[n].in, body);
        loop->unroll = step[n].unroll;
        body = loop;
    }
    return body;
}

static Index whole(int v) { return (Index){.var = (uint8_t)v}; }

static Index vec_index(const Sched *s)
{
    Index ix = whole(s->vec);
    if (s->tile) ix.part = SC_MOD, ix.block = s->tile;
    return ix;
}

static Nest *vec_loop(Sched *s, Nest *body)
{ return s->vec < 0 ? body : nest_loop(s->p, L_VEC, vec_index(s), NULL, body); }

static Tensor *new_work(Sched *s, const char *name, Place place)
{
    Prog *p = s->p;
    char free_name[8];
    strcpy(free_name, name);
    for (char c = 'a'; prog_tensor(p, free_name) || prog_var(p, free_name, false) >= 0; c++) {
        free_name[0] = name[0];
        free_name[1] = c;
        free_name[2] = 0;
    }
    Tensor *w = NEW(p, Tensor);
    strcpy(w->name, free_name);
    w->role = T_WORK;
    w->arg = -1;
    w->place = place;
    w->dtype = p->type;
    w->unit = -1;
    p->tensor[p->ntensor++] = w;
    return w;
}

static void add_slot(Tensor *w, Index ix)
{
    w->dimvar[w->ndim] = ix.var;
    w->slot[w->ndim++] = ix;
}

static Expr *work_access(Prog *p, Tensor *w)
{
    Expr *e = expr_new(p, O_ACCESS, NULL, NULL);
    e->tensor = w;
    memcpy(e->ix, w->slot, sizeof e->ix);
    return e;
}

static bool varies(const Sched *s, const Expr *e) { return s->vec >= 0 && in(expr_vars(e), s->vec); }

static Expr *join(Prog *p, Expr *a, Expr *b) { return a ? expr_new(p, O_MUL, a, b) : b; }

/* Factors that are scalars under the vector loop come first: multiplied once, not once a lane. */
static void factors(Sched *s, Expr *e, Expr **scalar, Expr **vector)
{
    if (e->op == O_MUL) {
        factors(s, e->kid[0], scalar, vector);
        factors(s, e->kid[1], scalar, vector);
    } else {
        Expr **to = varies(s, e) ? vector : scalar;
        *to = join(s->p, *to, e);
    }
}

static Expr *arranged(Sched *s, Expr *e)
{
    Expr *scalar = NULL, *vector = NULL;
    factors(s, e, &scalar, &vector);
    return vector ? join(s->p, scalar, vector) : scalar;
}

static int add_step(Step *step, int n, Index ix, Tensor *t, LoopKind kind)
{
    step[n] = (Step){.ix = ix, .in = t, .kind = kind};
    return n + 1;
}

static int levels(Sched *s, int from, int to, Step *step, int n)
{
    for (int k = from; k < to; k++) n = add_step(step, n, level_index(s->a, k), s->a, k ? L_FOR : L_PAR);
    return n;
}

/* Dense indices that are neither the vector nor stored: the kept ones, or the summed ones. */
static int dense_loops(Sched *s, bool kept, Step *step, int n)
{
    for (int v = 0; v < s->p->nvar; v++)
        if (in(s->all & ~s->stored, v) && v != s->vec && in(s->kept, v) == kept)
            n = add_step(step, n, whole(v), NULL, L_FOR);
    return n;
}

/* Dense blocks inside the sparse operand. */
static int block_loops(Sched *s, uint32_t which, bool unroll, Step *step, int n)
{
    for (int k = s->nmain; s->a && k < s->a->format.nlevel; k++) {
        Index ix = level_index(s->a, k);
        if (!in(which, ix.var)) continue;
        n = add_step(step, n, ix, NULL, L_FOR);
        if (unroll) step[n - 1].unroll = ix.block;
    }
    return n;
}

/* Few accumulators leave the adder waiting: take several positions at a time, two when each brings a vector
 * (long rows gain up to 1.3x, short ones lose up to 1.03x), four when it brings a number. */
static void unroll_positions(Sched *s, Step *last)
{
    if (!last->in || last->kind == L_PAR) return;
    const sc_levelspec *v = &s->a->format.level[s->nmain - 1];
    if ((v->kind != SC_COMPRESSED && v->kind != SC_SINGLETON) || !v->unique) return;
    if (s->vec < 0 || !in(s->kept, s->vec)) {
        last->unroll = 4;
        return;
    }
    int64_t lanes = lanes_of(s), extent = s->p->var[s->vec].extent;
    if (s->p->var[s->vec].fold && s->nmain == s->a->format.nlevel && extent <= 2 * lanes) last->unroll = 2;
}

/* Where a finished sum goes: into the result with what is around it, or into a workspace of its shape. */
static Nest *write_sum(Sched *s, Expr *sum, Op store)
{
    if (s->through) return nest_eval(s->p, work_access(s->p, s->through), store, sum);
    return nest_eval(s->p, s->lhs, store, replaced(s->p, s->rhs, s->sum, sum));
}

/* The registers that sum up, with one slot for every kept index inside a dense block. */
static Tensor *accumulator(Sched *s)
{
    Tensor *c = new_work(s, "c", W_REG);
    int slots = 1;
    for (int k = s->nmain; s->a && k < s->a->format.nlevel; k++) {
        Index ix = level_index(s->a, k);
        if (!in(s->kept, ix.var)) continue;
        add_slot(c, ix);
        slots *= ix.block;
    }
    choose_tile(s, slots);
    if (s->vec >= 0 && in(s->kept, s->vec)) add_slot(c, vec_index(s));
    return c;
}

/* work c { c += product over the levels from `first` and the dense summed indices } then { target op= c } */
static Nest *summed(Sched *s, int first, Op store)
{
    Prog *p = s->p;
    Step step[MAXLOOP];
    Tensor *c = accumulator(s);
    Expr *sum = work_access(p, c);
    int n = levels(s, first, s->nmain, step, 0);
    if (n) unroll_positions(s, &step[n - 1]);
    n = block_loops(s, ~s->kept, true, step, n);
    n = block_loops(s, s->kept, true, step, n);
    n = dense_loops(s, false, step, n);
    Nest *body = wrap(s, step, n, vec_loop(s, nest_eval(p, sum, s->sum->reduce, arranged(s, s->product))));
    Nest *out = write_sum(s, sum, store);
    if (s->vec >= 0 && in(s->kept, s->vec)) out = vec_loop(s, out);
    n = block_loops(s, s->kept, true, step, 0);
    body = nest_work(p, c, body, wrap(s, step, n, out));
    if (!s->tile || s->panel) return body;
    return nest_loop(p, L_FOR, (Index){.var = (uint8_t)s->vec, .part = SC_DIV, .block = s->tile}, NULL, body);
}

/* The parallel loop of an expression without a sparse operand. */
static int first_loop(Sched *s, Step *step)
{
    int v = s->lhs->tensor->ndim ? s->lhs->ix[0].var : -1;
    for (int k = 0; v < 0 && k < s->p->nvar; k++)
        if (in(s->all, k) && k != s->vec) v = k;
    if (v < 0) return 0;
    s->stored |= 1u << v;
    return add_step(step, 0, whole(v), NULL, L_PAR);
}

/* Loops down to the last level that the result keeps, then the sum in registers. */
static Nest *owned(Sched *s)
{
    Step step[MAXLOOP];
    int n = s->a ? levels(s, 0, s->last_kept + 1, step, 0) : first_loop(s, step);
    n = dense_loops(s, true, step, n);
    return wrap(s, step, n, summed(s, s->last_kept + 1, O_CONST));
}

/* The same, adding to memory: what is summed lies outside of what is kept. */
static Nest *scattered(Sched *s)
{
    Step step[MAXLOOP];
    int first = s->last_kept + 1 > 1 ? s->last_kept + 1 : 1, n;
    bool blocks = s->a && s->nmain < s->a->format.nlevel;
    if (!blocks) {
        n = s->a ? levels(s, 0, first, step, 0) : first_loop(s, step);
        n = dense_loops(s, true, step, n);
        return wrap(s, step, n, summed(s, first, s->sum->reduce));
    }
    n = levels(s, 0, s->nmain, step, 0);
    n = block_loops(s, ~0u, false, step, n);
    n = dense_loops(s, true, step, n);
    n = dense_loops(s, false, step, n);
    Expr *to = work_access(s->p, s->through);
    return wrap(s, step, n, vec_loop(s, nest_eval(s->p, to, s->sum->reduce, arranged(s, s->product))));
}

/* No sum: every stored entry is written once (or added, where coordinates may repeat). */
static Nest *elementwise(Sched *s)
{
    Step step[MAXLOOP];
    Op store = O_CONST;
    for (int k = 0; k < s->nmain; k++)
        if (!s->a->format.level[k].unique) store = O_ADD;
    int n = s->a ? levels(s, 0, s->nmain, step, 0) : first_loop(s, step);
    n = block_loops(s, ~0u, false, step, n);
    n = dense_loops(s, true, step, n);
    return wrap(s, step, n, vec_loop(s, nest_eval(s->p, s->lhs, store, arranged(s, s->rhs))));
}

/* ---- a result through a workspace of its shape ---- */
/* work w { f } then { par over the result, its last index as a vector: C = ... w ... } */
static Nest *through(Sched *s, Place place, Nest *f(Sched *))
{
    Prog *p = s->p;
    Tensor *w = new_work(s, "w", place);
    Step step[MAXLOOP];
    int n = 0, ndim = s->lhs->tensor->ndim;
    for (int d = 0; d < ndim; d++) add_slot(w, s->lhs->ix[d]);
    s->through = w;
    Nest *body = f(s);
    for (int d = 0; d < ndim; d++)
        n = add_step(step, n, whole(s->lhs->ix[d].var), NULL, !d ? L_PAR : d == ndim - 1 ? L_VEC : L_FOR);
    Expr *out = replaced(p, s->rhs, s->sum, work_access(p, w));
    return nest_work(p, w, body, wrap(s, step, n, nest_eval(p, s->lhs, O_CONST, out)));
}

/* ---- packing ----
 * F.linear(x, W) and x @ A: nothing runs along the one dense index n at stride 1, so no vector is at hand. A tile
 * of x transposed into the thread's scratch makes one, and each of its rows is read many times; blocks of the
 * result are transposed back as they are stored. */
enum { STRIP = 16 };

static int uses(const Expr *e, int v, Expr **found)
{
    int n = 0;
    if (e->op == O_ACCESS && in(expr_vars(e), v)) {
        *found = (Expr *)e;
        n = 1;
    }
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) n += uses(e->kid[k], v, found);
    return n;
}

static int unit_var(const Expr *e) { return e->tensor->unit < 0 ? -1 : e->ix[e->tensor->unit].var; }

static bool choose_panel(Sched *s)
{
    if (!s->a || s->vec >= 0 || s->last_kept != 0 || s->nmain < s->a->format.nlevel) return false;
    Index root = level_index(s->a, 0);
    uint32_t free = s->kept & ~s->stored;
    if (s->a->format.level[0].kind != SC_DENSE || root.part != SC_WHOLE || unit_var(s->lhs) != root.var)
        return false;
    if (__builtin_popcount(free) != 1) return false;
    int v = __builtin_ctz(free);
    Expr *x = NULL;
    if (uses(s->product, v, &x) != 1 || x->tensor->ndim != 2 || unit_var(x) < 0 || unit_var(x) == v)
        return false;
    int64_t n = s->p->var[v].extent, rows = bucket(s->p->var[unit_var(x)].extent);
    if (n < 2) return false;
    s->vec = v;
    s->packed = x;
    for (s->tile = 64; s->tile > n || (s->tile > STRIP && s->tile * rows > PANEL_ELEMENTS);) s->tile /= 2;
    return true;
}

static Index block(int v, sc_part part, int size)
{ return (Index){.var = (uint8_t)v, .part = part, .block = size}; }

/* for n/T { work t { t[i, n%T] = x[n,i] } then { par o/16 { work y { for o%16: y[o%16, n%T] = the sum } then
 * { C[n,o] = y } } } } */
static Nest *paneled(Sched *s)
{
    Prog *p = s->p;
    int i = unit_var(s->packed), o = level_index(s->a, 0).var;
    Index tile = vec_index(s), strip = block(o, SC_MOD, STRIP);
    Tensor *t = s->panel = new_work(s, "t", W_LANE), *y = s->through = new_work(s, "y", W_LANE);
    add_slot(t, whole(i));
    add_slot(t, tile);
    add_slot(y, strip);
    add_slot(y, tile);
    Nest *pack = nest_loop(p, L_VEC, block(i, SC_MOD, STRIP), NULL,
                           nest_eval(p, work_access(p, t), O_CONST, s->packed));
    pack = nest_loop(p, L_FOR, block(i, SC_DIV, STRIP), NULL, nest_loop(p, L_FOR, tile, NULL, pack));
    s->product = replaced(p, s->product, s->packed, work_access(p, t));
    Nest *sum = nest_loop(p, L_FOR, strip, NULL, summed(s, 1, O_CONST));
    Expr *result = replaced(p, s->rhs, s->sum, work_access(p, y));
    Nest *store = nest_loop(p, L_VEC, strip, NULL, nest_eval(p, s->lhs, O_CONST, result));
    Nest *rows = nest_work(p, y, sum, nest_loop(p, L_FOR, tile, NULL, store));
    rows = nest_loop(p, L_PAR, block(o, SC_DIV, STRIP), NULL, rows);
    return nest_loop(p, L_FOR, block(s->vec, SC_DIV, s->tile), NULL, nest_work(p, t, pack, rows));
}

/* Every coordinate of the result is visited, stored or not. */
static bool covers(const Sched *s)
{
    for (int k = 0; s->a && k <= s->last_kept; k++)
        if (s->a->format.level[k].kind != SC_DENSE) return false;
    return true;
}

/* ---- conversion ---- */
static int64_t result_bytes(const Sched *s)
{
    int64_t n = (int64_t)sc_dtype_size(s->lhs->tensor->dtype);
    for (int d = 0; d < s->lhs->tensor->ndim; d++)
        if (!sc_mul(n, bucket(s->p->var[s->lhs->ix[d].var].extent), &n)) return INT64_MAX;
    return n;
}

/* The sparse operand with its kept dimensions first. */
static void convert(Sched *s)
{
    const Tensor *a = s->a;
    sc_format *f = &s->p->convert[a->arg];
    *f = (sc_format){.ndim = a->ndim};
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < a->ndim; d++) {
            if (in(s->kept, a->dimvar[d]) == (pass == 1)) continue;
            bool dense = f->nlevel == 0 && a->ndim == 2;
            f->level[f->nlevel++] =
                (sc_levelspec){.kind = dense ? SC_DENSE : SC_COMPRESSED, .unique = 1, .dim = (uint8_t)d};
        }
    s->p->converts = true;
    char from[200], to[200];
    sc_format_print(&a->format, from, sizeof from);
    sc_format_print(f, to, sizeof to);
    sc_text_add(&s->p->why,
                "%s is converted from %s to %s: in storage order its sums would scatter over a result of "
                "more than %d bytes\n",
                a->name, from, to, PRIVATE_BYTES);
}

static void explain(Sched *s)
{
    sc_text *why = &s->p->why;
    if (s->a) sc_text_add(why, "loops over %s follow its storage order\n", s->a->name);
    if (s->panel)
        sc_text_add(
            why, "%s is the vector, though nothing runs along it at stride 1: tiles of %d are packed first\n",
            s->p->var[s->vec].name, s->tile);
    else if (s->vec >= 0)
        sc_text_add(why, "%s is the vector: it runs at stride 1 in most operands%s\n", s->p->var[s->vec].name,
                    s->tile ? ", tiled so that a tile of sums fits the registers" : "");
    if (s->through && !s->panel)
        sc_text_add(why,
                    s->through->place == W_PRIVATE
                        ? "sums scatter over a small result: every thread has a copy, added up in order\n"
                        : "rows without entries need their value too: sums go through a workspace\n");
}

void schedule(Prog *p)
{
    Sched *s = NEW(p, Sched);
    *s = (Sched){.p = p, .lhs = p->assign[0].lhs, .rhs = p->assign[0].rhs};
    find(s, s->rhs);
    s->product = s->sum ? s->sum->kid[0] : s->rhs;
    classify(s);
    if (!s->sum)
        p->nest = elementwise(s);
    else if (s->owned && (covers(s) || s->rhs == s->sum))
        p->nest = choose_panel(s) ? paneled(s) : owned(s);
    else if (s->owned)
        p->nest = through(s, W_SHARED, owned);
    else if (s->a && s->last_kept >= 0 && result_bytes(s) > PRIVATE_BYTES)
        convert(s);
    else
        p->nest = through(s, W_PRIVATE, scattered);
    explain(s);
}
