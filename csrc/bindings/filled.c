/* filled.c: products of a matrix of few zeros as of the dense one that it stands for.
 *
 * With a quarter of the entries or more, a dense product may take less time than one over entries: how much less depends
 * on the machine's library, the type and the rows, so both are timed while such products go on, in turns, and the faster
 * one stays. Zeros times what is not finite would be NaN where the matrix has no entry, so who asks for the dense product
 * looks through the other operand. */
#include "bind.h"
#include "torch_call.h"

#include <math.h>
#include <string.h>

enum {
    SHARE = 4,       /* places for each entry, at most; */
    SHARE_16 = 8,    /* of 16 bits, whose dense products are faster */
    LEAST = 1 << 16, /* entries of a matrix of which products take longer than asking the clock */
    FIRST = 2,       /* products of each way that are not compared: what they need is made in them */
    TURNS = 4        /* of each that are */
};
#define NEW .125F /* of a time that is longer than those before it, which is believed */

static bool is_full(const sc_core *c)
{
    const double places = (double)c->t.view.dim[0] * (double)c->t.view.dim[1];
    const int share = c->t.dtype == SC_BF16 ? SHARE_16 : SHARE;
    return c->t.view.nval >= LEAST && places <= share * (double)c->t.view.nval;
}

int sc_core_fills(sc_core *c)
{
    const sc_core *all = sc_core_root(c);
    const bool alone = sc_counted_as() == SC_COUNTS && !sc_is_noting(); /* nobody else compares ways */
    const bool may = all->often && alone && c->t.format.ndim == 2 && !c->t.view.perm &&
                     sc_dense_takes(c->t.dtype) && is_full(c);
    return may ? 2 * (FIRST + TURNS) : 0;
}

/* ---- which of the two ---- */
static bool must_repeat(const sc_state *s)
{
    PyObject *r = PyObject_CallNoArgs(s->repeats);
    const bool must = r != Py_False;
    if (!r) PyErr_Clear();
    Py_XDECREF(r);
    return must;
}

sc_pair *sc_filled_pair(const sc_state *s, sc_core *c, int kind, int64_t sums)
{
    sc_core *all = sc_core_root(c);
    int size = 0;
    if (!sc_core_fills(c) || must_repeat(s)) return NULL;
    while (size < SC_SUMS - 1 && sums >> (size + 1)) size++;
    if (!all->filling) all->filling = sc_zalloc(sizeof *all->filling);
    if (!all->filling) return NULL;
    if (all->filling->generation != all->generation) memset(all->filling, 0, sizeof *all->filling);
    all->filling->generation = all->generation;
    return &all->filling->pair[kind][size];
}

static bool is_compared(const sc_pair *p) { return p->turns >= 2 * (FIRST + TURNS); }

sc_way sc_filled_turn(const sc_pair *p)
{
    if (!is_compared(p)) return p->turns % 2 ? SC_FILLED : SC_ENTRIES;
    return p->ns[SC_FILLED] < p->ns[SC_ENTRIES] ? SC_FILLED : SC_ENTRIES;
}

void sc_filled_give_up(sc_pair *p)
{ *p = (sc_pair){.ns[SC_FILLED] = INFINITY, .turns = 2 * (FIRST + TURNS)}; }

/* Of all that was compared entries took less time, and nothing else is being compared. */
static bool is_idle(const sc_filling *f)
{
    const sc_pair *p = f->pair[0];
    bool idle = true;
    for (int i = 0; i < SC_FILLINGS * SC_SUMS; i++)
        idle &= !p[i].turns || (is_compared(&p[i]) && sc_filled_turn(&p[i]) == SC_ENTRIES);
    return idle;
}

/* The shortest of the first times. Later ones may be longer for good, as where values change with every product; one
 * that is much longer is somebody else's. */
void sc_filled_note(sc_core *c, sc_pair *p, sc_way way, int64_t taken)
{
    const float ns = (float)taken, best = p->ns[way];
    if (p->ns[SC_FILLED] == INFINITY) return;
    if (is_compared(p))
        p->ns[way] = ns < best ? ns : best + NEW * fminf(ns - best, best);
    else if (p->turns++ >= 2 * FIRST && (!best || ns < best))
        p->ns[way] = ns;
    if (way == SC_FILLED && is_idle(sc_core_root(c)->filling)) sc_core_unspread(c);
}

/* ---- the dense product ---- */
#define FINITE(BITS, MASK)                                                                                   \
    static bool finite_##BITS(const void *data, int64_t n)                                                   \
    {                                                                                                        \
        const uint##BITS##_t *x = data;                                                                      \
        unsigned char all = 1;                                                                               \
        for (int64_t i = 0; i < n; i++) all &= (x[i] & (MASK)) != (MASK);                                    \
        return all;                                                                                          \
    }
FINITE(16, 0x7f80)
FINITE(32, 0x7f800000)
FINITE(64, 0x7ff0000000000000)

static bool is_finite(const void *data, int64_t n, sc_dtype t)
{ return t == SC_F64 ? finite_64(data, n) : t == SC_F32 ? finite_32(data, n) : finite_16(data, n); }

bool sc_filled_finite(const sc_tensor *x)
{
    const bool one = x->format.ndim == 1;
    const int by = !one && x->view.stride[1] == 1;
    const int64_t n = x->view.dim[by], rows = one ? 1 : x->view.dim[!by];
    const int64_t step = one ? 0 : x->view.stride[!by] * (int64_t)sc_dtype_size(x->dtype);
    bool all = x->view.stride[by] == 1;
    for (int64_t i = 0; i < rows && all; i++)
        all = is_finite((const char *)x->view.val + i * step, n, x->dtype);
    return all;
}

/* A vector as a row. */
static void make_row(sc_view *v)
{
    v->dim[1] = v->dim[0], v->stride[1] = v->stride[0];
    v->dim[0] = 1, v->stride[0] = v->dim[1];
}

int sc_filled_run(const sc_view *a, int inner, const sc_tensor *with, bool last, const sc_tensor *out,
                  sc_err *e)
{
    sc_view x = with->view, o = out->view;
    if (with->format.ndim == 1) make_row(&x), make_row(&o), last = true;
    const sc_dense_axis mine = {a->dim[!inner], last ? 0 : a->stride[!inner], last ? a->stride[!inner] : 0,
                                o.stride[last]},
                        other = {x.dim[!last], last ? x.stride[!last] : 0, last ? 0 : x.stride[!last],
                                 o.stride[!last]},
                        summed = {a->dim[inner], last ? x.stride[last] : a->stride[inner],
                                  last ? a->stride[inner] : x.stride[last], 0};
    sc_dense_product p = {.a = last ? x.val : a->val,
                          .b = last ? a->val : x.val,
                          .out = o.val,
                          .dtype = out->dtype,
                          .n = {[SC_ROWS] = 1, [SC_COLUMNS] = 1, [SC_SUMMED] = 1}};
    p.axis[SC_ROWS][0] = last ? other : mine;
    p.axis[SC_COLUMNS][0] = last ? mine : other;
    p.axis[SC_SUMMED][0] = summed;
    return sc_torch_multiply(&p, e);
}
