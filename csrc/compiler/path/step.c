/* step.c: assignments as a request of their own.
 *
 * A step is told to the compiler as a user would tell it: a text, and what its operands are. Operands that are read at
 * several tuples of indices go in once for each, so that each may have a layout of its own. Reductions are not written
 * in the text: where nothing is reduced inside, "+=" reduces the whole right side, else "=" must find the same ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "private.h"

/* ---- values ---- */
static int value_of(const Planner *pl, const Tensor *t)
{
    if (t->role == T_IN) return t->arg;
    for (int v = pl->p->nin; v < pl->path->nvalue; v++)
        if (pl->value[v] == t) return v;
    return -1;
}

static bool is_taken(Planner *pl, const char *name)
{
    for (int v = pl->p->nin; v < pl->path->nvalue; v++)
        if (!strcmp(pl->value[v]->name, name)) return true;
    return prog_tensor(pl->p, name) || prog_var(pl->p, name, false) >= 0;
}

Tensor *step_temporary(Planner *pl, const Index *ix, int n, bool sparse, double entries)
{
    Prog *p = pl->p;
    Tensor *t = NEW(p, Tensor);
    do snprintf(t->name, sizeof t->name, "t%d", ++pl->ntemp);
    while (is_taken(pl, t->name));
    t->role = T_WORK;
    t->arg = -1;
    t->ndim = n;
    t->dtype = p->type;
    t->unit = -1;
    for (int d = 0; d < n; d++) {
        t->dimvar[d] = ix[d].var;
        t->extent[d] = p->var[ix[d].var].extent;
    }
    if (!sparse) expr_make_dense(p, t);
    pl->entries = entries;
    return t;
}

/* ---- operands ---- */
static bool is_temporary(const Planner *pl, int value)
{ return value >= pl->p->nin && pl->value[value]->role == T_WORK; }

/* Made on the way, where the operands of the program are narrower. */
static bool is_wider(const Planner *pl, int value)
{
    const sc_dtype type = pl->p->type;
    return value >= pl->p->nin && type != pl->p->result_type && pl->value[value]->dtype == type;
}

/* An operand of the step is such a value. */
static bool reads(const Planner *pl, const Step *s, bool (*such)(const Planner *, int value))
{
    bool any = false;
    for (int q = 0; q < s->request.nin; q++) any |= such(pl, s->from[q]);
    return any;
}

/* A result is as dense as it is to a program that reads it. */
static bool has_holes(const Planner *pl, int value)
{
    return value >= pl->p->nin && pl->holes[value] && (is_temporary(pl, value) || pl->reused[value]) &&
           sc_format_is_dense(&pl->value[value]->format);
}

/* factor: it stands in a product, where a zero is not the same as nothing. */
static bool add_operand(Planner *pl, Step *s, const Tensor *t, bool factor)
{
    sc_request *rq = &s->request;
    const int value = value_of(pl, t);
    const bool holes = factor && has_holes(pl, value);
    for (int k = 0; k < rq->nin; k++)
        if (!strcmp(rq->in[k].name, t->name)) return s->holes |= (uint32_t)holes << k, true;
    if (value < 0 || rq->nin == SC_MAXOP) return false;
    tensor_spec(t, &rq->in[rq->nin]);
    memcpy(rq->dim[rq->nin], t->extent, sizeof t->extent);
    if (t->role == T_IN && pl->p->settled >> t->arg & 1) rq->settled |= 1u << rq->nin;
    s->holes |= (uint32_t)holes << rq->nin;
    s->from[rq->nin++] = (uint8_t)value;
    return true;
}

/* What e reads becomes operands of the step, but for what its n assignments make themselves. */
static bool add_operands(Planner *pl, Step *s, const Expr *e, bool factor, int n, const Assign *a)
{
    bool all = true;
    factor |= e->op == O_MUL || e->op == O_DIV;
    for (int k = 0; e->op == O_ACCESS && k < n; k++)
        if (a[k].lhs->tensor == e->tensor) return true;
    if (e->op == O_ACCESS) return add_operand(pl, s, e->tensor, factor);
    for (int k = 0; k < 2; k++)
        if (e->kid[k]) all &= add_operands(pl, s, e->kid[k], factor, n, a);
    return all;
}

/* The value whose structure this one has: of an operand, the first that was given with it. */
static int root_of(const Planner *pl, int value)
{
    const Tensor *t = value < pl->p->nin ? pl->p->tensor[value] : pl->value[value];
    return t->twin ? t->twin - 1 : value;
}

static void note_twins(const Planner *pl, Step *s)
{
    sc_request *rq = &s->request;
    for (int k = 0; k < rq->nin; k++) rq->in[k].twin = 0;
    for (int k = 1; k < rq->nin; k++)
        for (int q = 0; q < k && !rq->in[k].twin && sc_format_has_twins(&rq->in[k].format); q++)
            if (root_of(pl, s->from[q]) == root_of(pl, s->from[k])) rq->in[k].twin = (int8_t)(1 + q);
}

/* ---- text ---- */
/* "+=", "max=" or "min=" says all of its reductions. */
static bool reduces_whole(const Expr *e) { return e->op == O_REDUCE && !expr_has(e->kid[0], O_REDUCE); }

static Expr *without_sums(Prog *p, Expr *e)
{
    if (e->op == O_REDUCE) return without_sums(p, e->kid[0]);
    Expr *a = e->kid[0] ? without_sums(p, e->kid[0]) : NULL;
    return expr_with_kids(p, e, a, e->kid[1] ? without_sums(p, e->kid[1]) : NULL);
}

/* Whether the text means the assignment: "=" finds the sums that it has, where they stand. */
static bool is_said(Prog *p, const Assign *a)
{
    uint32_t unsummed;
    if (reduces_whole(a->rhs) || !expr_has(a->rhs, O_REDUCE)) return true;
    const Expr *e = expr_explicit(p, a->lhs, without_sums(p, a->rhs), &unsummed);
    return !unsummed && expr_equal(e, a->rhs);
}

static void print(const Prog *p, const Assign *a, sc_text *out)
{
    const Op op = reduces_whole(a->rhs) ? a->rhs->reduce : O_CONST;
    sc_text_add(out, "%s", out->n ? "; " : "");
    expr_print(p, a->lhs, out);
    sc_text_add(out, " %s= ", op == O_CONST ? "" : op == O_ADD ? "+" : op_info(op)->text);
    expr_print(p, a->rhs, out);
}

static const char *text_of(Planner *pl, int n, const Assign *a)
{
    sc_text t = prog_text(pl->p);
    for (int k = 0; k < n; k++) print(pl->p, &a[k], &t);
    return t.s;
}

/* ---- results ---- */
/* A sparse temporary that has no entry but where an operand has one takes its structure: all of that is computed. */
static void ask_structure(Prog *p, Step *s, int k, const Expr *lhs, const Expr *rhs)
{
    sc_request *rq = &s->request;
    for (int q = 0; q < rq->nin && !rq->ask_like[k]; q++) {
        const Tensor *t = s->from[q] < p->nin ? prog_tensor(p, rq->in[q].name) : NULL;
        bool same = t && tensor_is_sparse(t) && t->ndim == lhs->tensor->ndim && expr_kills(p, rhs, t);
        for (int d = 0; same && d < t->ndim; d++) same = t->dimvar[d] == lhs->ix[d].var;
        for (int o = 0; same && o < rq->nin; o++)
            same = sc_format_is_dense(&rq->in[o].format) || sc_request_root(rq, o) == sc_request_root(rq, q);
        if (same) rq->ask_like[k] = (int8_t)(q + 1);
    }
}

static bool ask(const Planner *pl, Step *s, int k, const Expr *lhs, const Expr *rhs, int result)
{
    const Prog *p = pl->p;
    sc_request *rq = &s->request;
    rq->nask = k + 1;
    if (result < 0 ? lhs->tensor->dtype == p->type : p->wide >> result & 1)
        rq->wide |= 1u << k;
    else if (reads(pl, s, is_wider))
        rq->narrow = p->result_type;
    if (result < 0)
        rq->ask[k] = lhs->tensor->format;
    else if (!pl->infers || p->asked >> result & 1)
        rq->ask[k] = p->ask[result];
    const Tensor *made = result < 0 ? NULL : prog_result(p, result);
    const bool shares = made ? tensor_shares_all(made) && !p->ask_like[result] : !lhs->tensor->format.nlevel;
    if (shares) ask_structure(pl->p, s, k, lhs, rhs);
    if (!made || !p->ask_like[result]) return true;
    for (int q = 0; q < rq->nin; q++) {
        const Tensor *t = s->from[q] < p->nin ? prog_tensor(pl->p, rq->in[q].name) : NULL;
        bool same = t && s->from[q] == p->ask_like[result] - 1;
        for (int d = 0; same && d < t->ndim; d++) same = t->dimvar[d] == lhs->ix[d].var;
        if (same) rq->ask_like[k] = (int8_t)(q + 1);
    }
    return rq->ask_like[k] != 0;
}

/* The result comes out as the program says that it is. */
static bool is_promised(const Planner *pl, const Step *s, const sc_outcome *o, int result)
{
    const Tensor *t = prog_result(pl->p, result);
    const int like = o->like < 0 || s->from[o->like] >= pl->p->nin ? -1 : s->from[o->like];
    return sc_format_equal(&o->spec.format, &pl->p->ask[result]) && o->spec.dtype == t->dtype &&
           like == (tensor_shares_all(t) ? t->like->arg : -1);
}

/* A sparse result stores what the operands of the program cover, zeros too. A dense temporary does not say where it has
 * a term, so the step would store less, or more. */
static bool keeps_entries(const Planner *pl, const Step *s, const Assign *a, int result)
{
    if (sc_format_is_dense(&pl->p->ask[result])) return true;
    return !reads(pl, s, has_holes) && !(expr_vars(a->lhs) & ~path_covered(pl->p, a->rhs));
}

/* What later steps know of a value. */
static void settle(Planner *pl, const Assign *a, const sc_outcome *o)
{
    Tensor *t = a->lhs->tensor;
    const double entries = t->role == T_WORK ? pl->entries : tree_entries(pl->p, a->rhs);
    t->format = o->spec.format;
    t->dtype = o->spec.dtype;
    t->itype = o->spec.itype;
    t->even = o->spec.even;
    t->skew = o->spec.skew;
    t->unit = sc_format_is_dense(&t->format) ? t->ndim - 1 : -1;
    if (t->unit < 0 && t->format.nlevel)
        t->positions[t->format.nlevel - 1] = sc_log2_up((int64_t)fmin(0x1p62, ceil(entries)));
}

/* The result is what the step says, if that is of the type that the program has. */
static bool take_outcome(const Planner *pl, const Step *s, const sc_outcome *o, int result)
{
    Prog *p = pl->p;
    Tensor *t = prog_result(p, result);
    if (o->spec.dtype != t->dtype) return false;
    t->like = NULL;
    for (int k = 0; o->like >= 0 && !t->like && k < p->ntensor; k++) {
        Tensor *x = p->tensor[k];
        const bool same = x->role == T_IN && x->arg == s->from[o->like];
        if (same && !memcmp(x->dimvar, t->dimvar, (size_t)t->ndim * sizeof *t->dimvar)) t->like = x;
    }
    t->format = p->ask[result] = o->spec.format;
    return true;
}

/* ---- costs ---- */
static bool same_request(const sc_request *a, const sc_request *b)
{
    return !strcmp(a->text, b->text) && a->nin == b->nin && a->nask == b->nask && a->wide == b->wide &&
           a->narrow == b->narrow && a->settled == b->settled && a->schedule == b->schedule &&
           !memcmp(a->in, b->in, (size_t)a->nin * sizeof *a->in) &&
           !memcmp(a->dim, b->dim, (size_t)a->nin * sizeof *a->dim) &&
           !memcmp(a->ask, b->ask, (size_t)a->nask * sizeof *a->ask) &&
           !memcmp(a->ask_like, b->ask_like, sizeof a->ask_like);
}

/* What the scheduler says, which is asked once for all requests that say the same. */
static const Said *ask_scheduler(Planner *pl, const sc_request *rq)
{
    sc_request common = *rq;
    sc_text text = prog_text(pl->p);
    if (!rq->schedule && !pl->infers) path_common(&common, &text); /* refused in the names of the program */
    for (int k = 0; k < pl->nsaid; k++)
        if (same_request(&pl->said[k]->request, &common)) return pl->said[k];
    Said *s = NEW(pl->p, Said);
    s->request = common;
    sc_err *why = NEW(pl->p, sc_err);
    s->cost = pl->costs->of(pl->costs->ctx, &s->request, s->made, why);
    s->why = s->cost < 0 ? why : NULL;
    if (pl->nsaid < MAXSAID) pl->said[pl->nsaid++] = s;
    return s;
}

/* Operands whose structure a result has stay as they are, so the costs are those of orders that do not convert them. */
static const Said *ask_as_shared(Planner *pl, int n, Step *s)
{
    uint32_t shared = 0;
    const Said *said = ask_scheduler(pl, &s->request);
    for (int k = 0; k < n && said->cost >= 0; k++)
        if (said->made[k].like >= 0) shared |= 1u << said->made[k].like;
    if (!(shared & ~s->request.settled)) return said;
    s->request.settled |= shared;
    return ask_scheduler(pl, &s->request);
}

Point step_mark(const Planner *pl)
{ return (Point){pl->path->n, pl->path->nvalue, pl->ntemp, pl->path->cost, pl->tree, pl->next}; }

void step_rewind(Planner *pl, Point m)
{
    pl->path->n = m.n;
    pl->path->nvalue = m.nvalue;
    pl->path->cost = m.cost;
    pl->ntemp = m.ntemp;
    pl->tree = m.tree;
    pl->next = m.next;
}

bool step_add_range(Planner *pl, int from, int to)
{
    int result[SC_MAXOP];
    for (int k = from; k < to; k++) result[k - from] = path_result(pl->p, k);
    return from == to || step_add(pl, to - from, &pl->p->assign[from], result);
}

/* Memory of a temporary: its elements, or its entries with their coordinates. */
static double bytes_of(const Prog *p, const Step *s, const Expr *lhs)
{
    const sc_spec *made = &s->made[0];
    const double value = (double)sc_dtype_size(made->dtype);
    if (sc_format_is_dense(&made->format)) return tree_cells(p, expr_vars(lhs)) * value;
    return s->entries * (value + made->format.ndim * (double)sc_dtype_size(made->itype));
}

/* A result has the structure of an operand, which must stay as it is for that. */
static bool shares(int n, const sc_outcome *made)
{
    bool any = false;
    for (int k = 0; k < n; k++) any |= made[k].like >= 0;
    return any;
}

/* Which dimensions of operands are there behind the sums of a product. */
static void note_kept(const Planner *pl, Step *s, const Expr *e, uint32_t kept)
{
    if (e->op != O_ACCESS) {
        for (int k = 0; k < 2; k++)
            if (e->kid[k]) note_kept(pl, s, e->kid[k], kept);
        return;
    }
    for (int q = 0; q < s->request.nin; q++)
        for (int d = 0; d < e->tensor->ndim && s->from[q] == value_of(pl, e->tensor); d++)
            s->kept[q] |= (uint8_t)(in(kept, e->ix[d].var) << d);
}

static bool has_operand(const sc_request *rq, const char *name)
{
    bool any = false;
    for (int q = 0; q < rq->nin; q++) any |= !strcmp(rq->in[q].name, name);
    return any;
}

bool step_heeds(const Step *s, const char *operand)
{ return s->request.schedule && has_operand(&s->request, operand); }

/* What the user says of the step that reads one of these operands; false: of several of them. */
static bool take_wish(const Planner *pl, sc_request *rq, int n, const Assign *a)
{
    bool one = true;
    uint32_t vars = 0;
    for (int k = 0; k < n; k++) vars |= expr_vars(a[k].lhs) | expr_vars(a[k].rhs);
    for (int w = 0; w < pl->nwish; w++) {
        if (!has_operand(rq, pl->wish[w].operand)) continue;
        one &= !rq->schedule;
        rq->schedule = wish_of_step(pl->p, vars, pl->wish[w].text);
    }
    return one;
}

/* A step means nothing, or does not run as a user says. */
static void note_refusal(Planner *pl, const Said *said)
{
    const sc_request *rq = &said->request;
    if (said->why) pl->meaningless = said->why;
    if (!rq->schedule || (said->cost >= 0 && !isinf(said->cost))) return;
    pl->refused = said->why ? said->why->msg
                            : sc_arena_printf(&pl->p->arena, "schedule: no loops for %s are as '%s' asks",
                                              rq->text, rq->schedule);
}

static bool add(Planner *pl, int n, const Assign *a, const int *result)
{
    Path *path = pl->path;
    if (path->n == MAXPATHSTEP || path->nvalue + n > MAXTENSOR) return false;
    Step *s = path->step[path->n] = NEW(pl->p, Step);
    *s = (Step){.first = path->nvalue, .n = n, .entries = pl->entries};
    s->request.nofold = pl->p->nofold;
    s->request.whole = true;
    for (int k = 0; k < n; k++) {
        s->result[k] = (int8_t)result[k];
        pl->value[path->nvalue + k] = a[k].lhs->tensor;
        if (!is_said(pl->p, &a[k]) || !add_operands(pl, s, a[k].rhs, false, k, a)) return false;
    }
    note_twins(pl, s);
    if (!take_wish(pl, &s->request, n, a)) return false;
    for (int k = 0; k < n; k++)
        if (!ask(pl, s, k, a[k].lhs, a[k].rhs, result[k])) return false;
    s->plain = n == 1 && path_is_product(a->rhs);
    if (s->plain) note_kept(pl, s, a->rhs, expr_vars(a->lhs));
    s->request.text = text_of(pl, n, a);
    const Said *said = ask_as_shared(pl, n, s);
    s->cost = said->cost;
    note_refusal(pl, said);
    const bool stays = isinf(s->cost) && shares(n, said->made);
    pl->stays |= stays;
    if (s->cost < 0 || stays || (isinf(s->cost) && !pl->must)) return false;
    if (isinf(s->cost)) s->cost = 0;
    if (n == 1 && !s->request.schedule) library_choose(pl->p, s, a, said->made[0].like);
    for (int k = 0; k < n; k++) {
        if (pl->infers && !take_outcome(pl, s, &said->made[k], result[k])) return false;
        if (result[k] >= 0 && !is_promised(pl, s, &said->made[k], result[k])) return false;
        if (result[k] >= 0 && reads(pl, s, is_temporary) && !keeps_entries(pl, s, &a[k], result[k]))
            return false;
        settle(pl, &a[k], &said->made[k]);
        pl->how[path->nvalue + k] =
            result[k] < 0 || sc_format_is_dense(&said->made[k].spec.format) ? a[k].rhs : NULL;
        const int like = said->made[k].like;
        if (like >= 0) a[k].lhs->tensor->twin = 1 + root_of(pl, s->from[like]);
        pl->holes[path->nvalue + k] = reads(pl, s, has_holes) || !expr_sure(a[k].rhs);
        s->made[k] = said->made[k].spec;
        memcpy(s->made[k].name, a[k].lhs->tensor->name, sizeof s->made[k].name);
        s->request.ask[k] = said->made[k].spec.format; /* whatever its operands are converted to */
        s->like[k] = (int8_t)said->made[k].like;
    }
    if (result[0] < 0) s->bytes = bytes_of(pl->p, s, a->lhs);
    path->n++;
    path->nvalue += n;
    path->cost += s->cost;
    return true;
}

/* Whether the library may make a factor of a product, which is rounded to 16 bits then, as where it is asked for one
 * product after the other. */
static bool is_narrow(const Planner *pl, int n, const Assign *a, const int *result)
{
    const sc_dtype type = pl->p->result_type;
    return pl->factor && n == 1 && result[0] < 0 && type != pl->p->type &&
           library_multiplies(pl->p, a->rhs, type);
}

bool step_add(Planner *pl, int n, const Assign *a, const int *result)
{
    const Point m = step_mark(pl);
    if (is_narrow(pl, n, a, result)) {
        Tensor *t = a->lhs->tensor;
        const Tensor wide = *t;
        t->dtype = pl->p->result_type;
        if (add(pl, 1, a, result) && pl->path->step[m.n]->dense.is) return true;
        step_rewind(pl, m);
        *t = wide;
    }
    return add(pl, n, a, result);
}
