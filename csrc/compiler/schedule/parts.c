/* parts.c: what the builders of nests share: levels that loops run in, workspaces, register tiles. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "private.h"

int64_t schedule_bucket(int64_t n)
{
    int64_t b = 1;
    while (b < n && b <= INT64_MAX / 2) b *= 2;
    return b;
}

int64_t schedule_extent(const Prog *p, Index ix)
{
    if (ix.slot || ix.part == SC_MOD) return ix.block ? ix.block : 1;
    const int64_t n = schedule_bucket(p->var[ix.var].extent);
    if (ix.part == SC_WHOLE) return n;
    return ix.block < n ? n / ix.block : 1;
}

int64_t schedule_bytes(const Prog *p, const Expr *access, sc_dtype type)
{
    int64_t bytes = (int64_t)sc_dtype_size(type);
    for (int d = 0; d < access->tensor->ndim; d++)
        if (!sc_mul(bytes, schedule_extent(p, access->ix[d]), &bytes)) return INT64_MAX;
    return bytes;
}

bool schedule_is_far(const Prog *p, const Tensor *t, int v, double row)
{
    const double rows = fmin(ldexp(1, t->often.reach), (double)schedule_bucket(p->var[v].extent));
    return t->often.reach && rows * row >= (double)machine_cache(p, 2);
}

/* ---- what loops run in ---- */
bool source_is_sparse(const Tensor *t) { return t->role == T_IN ? tensor_is_sparse(t) : tensor_gathers(t); }

int source_levels(const Tensor *t) { return t->role == T_IN ? t->format.nlevel : t->ndim; }

const sc_kind *source_kind(const Tensor *t, int level)
{ return t->role == T_IN ? sc_kind_of(&t->format.level[level]) : &sc_kinds[SC_COMPRESSED]; }

Index index_whole(int var) { return (Index){.var = (uint8_t)var}; }

Index source_index(const Tensor *t, int level)
{ return t->role == T_IN ? tensor_level_index(t, level) : index_whole(t->dimvar[level]); }

int expr_unit_var(const Expr *e) { return e->tensor->unit < 0 ? -1 : e->ix[e->tensor->unit].var; }

/* Most coordinates of dimension d have no entry: a level that has them all would outweigh the entries. */
static bool is_hypersparse(const Tensor *t, int d, int tail)
{
    const int last = t->format.nlevel - 1 - tail, bits = last >= 0 ? t->positions[last] : 0;
    return bits ? t->extent[d] >> bits > 64 : t->extent[d] > INT32_MAX;
}

void schedule_plain_level(sc_format *f, const Tensor *t, int d)
{
    const int tail = sc_format_dense_tail(&t->format);
    const bool top = !f->nlevel && f->ndim - tail == 2 && !is_hypersparse(t, d, tail);
    const uint8_t kind = top ? SC_DENSE : SC_COMPRESSED;
    f->level[f->nlevel++] = (sc_levelspec){.kind = kind, .unique = 1, .dim = (uint8_t)d};
}

bool source_may_repeat(const Tensor *t)
{
    for (int l = 0; t->role == T_IN && l < t->format.nlevel; l++)
        if (!t->format.level[l].unique &&
            (l + 1 == t->format.nlevel || !sc_kind_of(&t->format.level[l + 1])->one))
            return true;
    return false;
}

/* ---- workspaces ---- */
void work_add(Prog *p, Tensor *w, const char *name)
{
    char free_name[32];
    snprintf(free_name, sizeof free_name, "%s", name);
    for (int n = 0; prog_tensor(p, free_name) || prog_var(p, free_name, false) >= 0; n++)
        if (n < 26)
            snprintf(free_name, sizeof free_name, "%.30s%c", name, 'a' + n);
        else
            snprintf(free_name, sizeof free_name, "%.20s%c%d", name, 'a' + n % 26, n / 26);
    if (p->ntensor == SC_LEN(p->tensor))
        fail(p, SC_ENOTIMPL, -1, "the program needs more than %d tensors and workspaces: split it",
             SC_LEN(p->tensor));
    strcpy(w->name, free_name);
    prog_keep(p, w);
}

Tensor *work_new(Prog *p, const char *name, Storage place)
{
    Tensor *w = NEW(p, Tensor);
    w->role = T_WORK;
    w->arg = -1;
    w->place = place;
    w->dtype = p->type;
    w->unit = -1;
    work_add(p, w, name);
    return w;
}

void work_slot(Tensor *w, Index ix)
{
    w->dimvar[w->ndim] = ix.var;
    w->slot[w->ndim++] = ix;
}

Expr *work_access(Prog *p, Tensor *w) { return expr_access(p, w, w->slot); }

void schedule_rename(Prog *p, Nest *n, const Tensor *t, Tensor *w)
{
    if (n->op == N_EVAL) {
        if (n->eval.lhs->tensor == t) n->eval.lhs = work_access(p, w);
        n->eval.rhs = expr_reading(p, n->eval.rhs, t, w);
    }
    if (n->body) schedule_rename(p, n->body, t, w);
    if (n->then) schedule_rename(p, n->then, t, w);
    for (int k = 0; k < n->n; k++) schedule_rename(p, n->kid[k], t, w);
}

Expr *expr_stored_access(Prog *p, Tensor *t)
{
    Index ix[SC_MAXDIM];
    for (int d = 0; d < t->ndim; d++) ix[d] = index_whole(t->dimvar[d]);
    return expr_new(p, O_STORED, expr_access(p, t, ix), NULL);
}

enum { SUMS = 4 };

int source_unroll(const Prog *p, const Tensor *t, int level, int64_t wide)
{
    const sc_kind *is = source_kind(t, level);
    if ((!is->pos && !is->one) || !t->format.level[level].unique) return 0;
    if (!wide || tensor_short_fibres(t, level, wide == 1 ? 4 : 5)) return 0;
    const int lanes = p->vector_bytes / (int)sc_dtype_size(p->type);
    const int64_t n = SUMS / ((wide + lanes - 1) / lanes);
    return n > 1 ? (int)n : 0;
}

bool sums_nothing(const Prog *p, const Expr *sum)
{
    bool empty = false;
    for (int v = 0; v < p->nvar; v++) empty |= in(sum->vars, v) && !p->var[v].extent;
    return empty;
}

bool sums_a_vector(const Prog *p, const Expr *sum)
{
    int64_t n = (int64_t)sc_dtype_size(p->type);
    for (int v = 0; v < p->nvar; v++)
        if (in(sum->vars, v) && !sc_mul(n, p->var[v].extent, &n)) return false;
    return n <= p->vector_bytes;
}

/* ---- vectors ---- */
/* Registers hold 8 vectors of the result, 16 where the target has 32 registers. */
int schedule_register_tile(const Prog *p, int v, int slots)
{
    const Var *x = &p->var[v];
    if (p->draft.wish && p->draft.wish->tile[v]) return p->draft.wish->tile[v];
    const int lanes = p->vector_bytes / (int)sc_dtype_size(p->type);
    int room = lanes * (prog_vector_regs(p) == 32 ? 16 : 8);
    while (slots > 1 && room > lanes) room /= 2, slots = (slots + 1) / 2;
    const bool waste = x->extent % 128 && x->extent < 512; /* the last tile overlaps the one before it */
    const int most = p->nofold || waste ? 64 : 128;        /* nofold: one text serves every extent */
    if (!x->fold) room = room < most ? room : most;
    return !x->fold || x->extent > room ? room : 0;
}

static Expr *join(Prog *p, Expr *a, Expr *b) { return a ? expr_new(p, O_MUL, a, b) : b; }

static void split_factors(Prog *p, Expr *e, int vec, Expr **scalar, Expr **vector)
{
    if (e->op == O_MUL) {
        split_factors(p, e->kid[0], vec, scalar, vector);
        split_factors(p, e->kid[1], vec, scalar, vector);
    } else {
        Expr **to = vec >= 0 && expr_vars(e) >> vec & 1 ? vector : scalar;
        *to = join(p, *to, e);
    }
}

Expr *schedule_scalars_first(Prog *p, Op reduce, Expr *e, int vec)
{
    if (reduce == O_MAX || reduce == O_MIN) return e;
    Expr *scalar = NULL, *vector = NULL;
    split_factors(p, e, vec, &scalar, &vector);
    return vector ? join(p, scalar, vector) : scalar;
}

/* ---- nests in a row ---- */
Nest *schedule_before_rest(Prog *p, Nest *first, Tensor *w, Nest *rest)
{
    const bool outer =
        first->op == N_WORK && (first->work->place == W_PRIVATE || first->work->place == W_SHARED);
    if (!outer) return nest_work(p, w, first, rest);
    first->then = schedule_before_rest(p, first->then, w, rest);
    return first;
}
