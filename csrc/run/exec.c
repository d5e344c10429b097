/* exec.c: the statements, walked.
 *
 * Values are evaluated in 64 bits whatever their type: integers wrap to their
 * width after every operation, f32 is rounded after every operation (exact for
 * + - * / and sqrt, since a double holds more than twice the digits), so results are those
 * of C without contraction. Scalars have evaluators of their own, since most
 * values are addresses; vectors are evaluated into the caller's lanes. Locals
 * live in a frame at the offsets that simplify gave them. Recursion is bounded
 * by the depth that stmt_verify allows. */
#include "exec.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAXLANES 64
#define SMALL 512 /* cells of a frame on the stack */

typedef union {
    double f;
    int64_t i;
} Cell;
typedef union {
    double f[MAXLANES];
    int64_t i[MAXLANES];
} Lanes;
typedef struct {
    const sc_call *call;
    sc_lane *lane;
    int64_t begin, end;
    Cell *frame;
} Run;

static int64_t scalar_int(const Run *, const Val *);
static double scalar_float(const Run *, const Val *);
static void lanes(const Run *, const Val *, Lanes *out);

static bool floats(Type t) { return t.dtype >= SC_F16; }

/* ---- numbers ---- */
static int64_t wrap(int dtype, int64_t x)
{
    if (dtype == SC_BOOL) return x & 1;
    return dtype == SC_I16 ? (int16_t)(uint16_t)x : dtype == SC_I32 ? (int32_t)(uint32_t)x : x;
}

static double rounded(int dtype, double x)
{
    if (dtype == SC_F64) return x;
    if (dtype == SC_F32) return (double)(float)x;
    return (double)sc_half_get((sc_dtype)dtype, sc_half_put((sc_dtype)dtype, (float)x));
}

/* What does not fit becomes the least integer. */
static int64_t truncated(int dtype, double x)
{
    double limit = dtype == SC_I64 ? 9223372036854775808.0 : dtype == SC_I32 ? 2147483648.0 : 32768.0;
    return x > -limit - 1 && x < limit ? (int64_t)x : (int64_t)-limit;
}

/* ---- places ---- */
static int64_t param_int(const Run *r, const Param *q)
{
    const sc_view *view = r->call->view;
    switch (q->origin) {
    case P_DIM: return r->call->dim[q->a];
    case P_STRIDE: return view[q->a].stride[q->b];
    case P_NPOS: return view[q->a].level[q->b].npos;
    case P_SIZE: return view[q->a].level[q->b].size;
    case P_NVAL: return view[q->a].nval;
    case P_CURSOR: return r->lane->cursor[q->a];
    case P_COPIES: return r->call->copies[q->a];
    case P_SLOTS: return r->lane->slots;
    case P_BEGIN: return r->begin;
    case P_END: return r->end;
    }
    return 0;
}

static void *base(const Run *r, const Buf *b)
{
    const sc_view *view = r->call->view;
    void *p = NULL;
    switch (b->origin) {
    case B_POS: return (void *)(uintptr_t)view[b->arg].level[b->level].pos;
    case B_CRD: return (void *)(uintptr_t)view[b->arg].level[b->level].crd;
    case B_VAL: return view[b->arg].val;
    case B_PERM: return (void *)(uintptr_t)view[b->arg].perm;
    case B_CURSORS: p = r->lane->cursor; break;
    case B_SCRATCH: p = r->lane->scratch; break;
    case B_SHARED: p = r->call->shared[b->arg]; break;
    case B_PARTIAL: p = r->lane->partial; break;
    }
    return b->offset ? (char *)p + scalar_int(r, b->offset) : p;
}

static int64_t fetch_int(sc_dtype t, const void *p, int64_t at)
{
    if (t == SC_BOOL) return ((const int8_t *)p)[at] != 0;
    if (t == SC_I16) return ((const int16_t *)p)[at];
    return sc_index(p, t, at);
}

static double fetch_float(sc_dtype t, const void *p, int64_t at)
{
    if (t == SC_F64) return ((const double *)p)[at];
    return t == SC_F32 ? (double)((const float *)p)[at] : (double)sc_half_get(t, ((const uint16_t *)p)[at]);
}

static void keep_int(sc_dtype t, void *p, int64_t at, int64_t x)
{
    if (t == SC_BOOL)
        ((int8_t *)p)[at] = (int8_t)x;
    else if (t == SC_I16)
        ((int16_t *)p)[at] = (int16_t)x;
    else if (t == SC_I32)
        ((int32_t *)p)[at] = (int32_t)x;
    else
        ((int64_t *)p)[at] = x;
}

static void keep_float(sc_dtype t, void *p, int64_t at, double x)
{
    if (t == SC_F64)
        ((double *)p)[at] = x;
    else if (t == SC_F32)
        ((float *)p)[at] = (float)x;
    else
        ((uint16_t *)p)[at] = sc_half_put(t, (float)x);
}

/* ---- scalars ---- */
/* What becomes of the lanes of kid[0], in the first one. */
static void one_of(const Run *r, const Val *v, Lanes *x)
{
    int dtype = v->type.dtype;
    lanes(r, v->kid[0], x);
    if (v->op == O_LANE) {
        x->i[0] = x->i[v->i];
        return;
    }
    for (int n = v->kid[0]->type.lanes / 2; n >= 1; n /= 2)
        for (int k = 0; k < n; k++) {
            if (floats(v->type))
                x->f[k] = rounded(dtype, op_eval(v->reduce, x->f[k], x->f[k + n]));
            else
                x->i[k] = wrap(dtype, op_eval_int(v->reduce, x->i[k], x->i[k + n]));
        }
}

static int64_t one_int(const Run *r, const Val *v)
{
    Lanes x;
    one_of(r, v, &x);
    return x.i[0];
}

static double one_float(const Run *r, const Val *v)
{
    Lanes x;
    one_of(r, v, &x);
    return x.f[0];
}

static int64_t cast_int(const Run *r, const Val *v)
{
    int dtype = v->type.dtype;
    if (floats(v->kid[0]->type)) return truncated(dtype, scalar_float(r, v->kid[0]));
    return wrap(dtype, scalar_int(r, v->kid[0]));
}

static double int_to_float(int dtype, int64_t x)
{ return dtype == SC_F64 ? (double)x : rounded(dtype, (double)(float)x); }

static double cast_float(const Run *r, const Val *v)
{
    int dtype = v->type.dtype;
    if (floats(v->kid[0]->type)) return rounded(dtype, scalar_float(r, v->kid[0]));
    return int_to_float(dtype, scalar_int(r, v->kid[0]));
}

/* In the steps of the generated function. */
static int64_t search(const Run *r, const Val *v)
{
    const void *crd = base(r, v->buf);
    int64_t lo = scalar_int(r, v->kid[0]), hi = scalar_int(r, v->kid[1]), x = scalar_int(r, v->kid[2]);
    int64_t at = lo;
    for (int64_t step = 1; at < hi && fetch_int(v->buf->dtype, crd, at) < x; step += step) {
        lo = at + 1;
        at += step;
    }
    if (at < hi) hi = at;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (fetch_int(v->buf->dtype, crd, mid) < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* In single steps; the generated function may go further at once. */
static int64_t meet(const Run *r, const Val *v)
{
    const Val *a = v->kid[0], *b = v->kid[1];
    const sc_dtype t = a->buf->dtype;
    const void *p = base(r, a->buf), *q = base(r, b->buf);
    int64_t lo = scalar_int(r, a->kid[0]), hi = scalar_int(r, a->kid[1]);
    int64_t from = scalar_int(r, b->kid[0]), to = scalar_int(r, b->kid[1]), in = 0;
    for (int k = 0; k < 64 / (int)sc_dtype_size(t) && (lo < hi || from < to); k++) {
        int64_t x = lo < hi ? fetch_int(t, p, lo) : INT64_MAX,
                y = from < to ? fetch_int(t, q, from) : INT64_MAX;
        in |= (int64_t)(x <= y) << k | (int64_t)((uint64_t)(y <= x) << (k + 32));
        lo += x <= y;
        from += y <= x;
    }
    return in;
}

static int64_t marks(const Run *r, const Val *v)
{
    const int8_t *at = (const int8_t *)base(r, v->buf) + scalar_int(r, v->kid[0]);
    uint64_t bits = 0;
    for (int k = 0; k < 64; k++) bits |= (uint64_t)(at[k] != 0) << k;
    return (int64_t)bits;
}

static int64_t pair(const Run *r, const Val *v)
{
    const int32_t *at = (const int32_t *)base(r, v->buf) + scalar_int(r, v->kid[0]);
    return (int64_t)((uint64_t)(uint32_t)at[0] | (uint64_t)(uint32_t)at[1] << 32);
}

static int64_t scalar_int(const Run *r, const Val *v)
{
    switch (v->op) {
    case O_CONST: return v->i;
    case O_VAR: return r->frame[v->local->slot].i;
    case O_PARAM: return param_int(r, v->param);
    case O_LOAD: return fetch_int(v->buf->dtype, base(r, v->buf), scalar_int(r, v->kid[0]));
    case O_CAST: return cast_int(r, v);
    case O_LANE:
    case O_HRED: return one_int(r, v);
    case O_SEARCH: return search(r, v);
    case O_MARKS: return marks(r, v);
    case O_PAIR: return pair(r, v);
    case O_MEET: return meet(r, v);
    case O_SELECT: return scalar_int(r, v->kid[scalar_int(r, v->kid[0]) ? 1 : 2]);
    default: break;
    }
    if (floats(v->kid[0]->type))
        return op_eval(v->op, scalar_float(r, v->kid[0]), scalar_float(r, v->kid[1])) != 0;
    int64_t a = scalar_int(r, v->kid[0]);
    if (v->op == O_AND && v->type.dtype == SC_BOOL && !a) return 0; /* the right side may rely on the left */
    int64_t b = v->kid[1] ? scalar_int(r, v->kid[1]) : 0;
    return wrap(v->type.dtype, op_eval_int(v->op, a, b));
}

static double scalar_float(const Run *r, const Val *v)
{
    switch (v->op) {
    case O_CONST: return v->f;
    case O_VAR: return r->frame[v->local->slot].f;
    case O_LOAD: return fetch_float(v->buf->dtype, base(r, v->buf), scalar_int(r, v->kid[0]));
    case O_CAST: return cast_float(r, v);
    case O_LANE:
    case O_HRED: return one_float(r, v);
    case O_SELECT: return scalar_float(r, v->kid[scalar_int(r, v->kid[0]) ? 1 : 2]);
    default: break;
    }
    double a = scalar_float(r, v->kid[0]), b = v->kid[1] ? scalar_float(r, v->kid[1]) : 0;
    return rounded(v->type.dtype, op_eval(v->op, a, b));
}

/* ---- vectors ---- */
static void splat(const Run *r, const Val *v, bool constant, Lanes *out)
{
    int n = v->type.lanes;
    if (floats(v->type)) {
        double x = constant ? v->f : scalar_float(r, v->kid[0]);
        for (int k = 0; k < n; k++) out->f[k] = x;
    } else {
        int64_t x = constant ? v->i : scalar_int(r, v->kid[0]);
        for (int k = 0; k < n; k++) out->i[k] = x;
    }
}

static void load(const Run *r, const Val *v, Lanes *out)
{
    sc_dtype t = v->buf->dtype;
    const void *p = base(r, v->buf);
    int64_t at = scalar_int(r, v->kid[0]), step = v->kid[1] ? scalar_int(r, v->kid[1]) : 1;
    for (int k = 0; k < v->type.lanes; k++, at += step) {
        if (floats(v->type))
            out->f[k] = fetch_float(t, p, at);
        else
            out->i[k] = fetch_int(t, p, at);
    }
}

static void picks(const Run *r, const Val *v, Lanes *out)
{
    const Val *crd = v->kid[2];
    const void *p = base(r, v->buf), *c = base(r, crd->buf);
    int64_t at = scalar_int(r, v->kid[0]), step = v->kid[1] ? scalar_int(r, v->kid[1]) : 1;
    int64_t from = scalar_int(r, crd->kid[0]);
    for (int k = 0; k < v->type.lanes; k++) {
        const int64_t place = at + step * fetch_int(crd->buf->dtype, c, from + k);
        if (floats(v->type))
            out->f[k] = fetch_float(v->buf->dtype, p, place);
        else
            out->i[k] = fetch_int(v->buf->dtype, p, place);
    }
}

static void spread(const Run *r, const Val *v, Lanes *out)
{
    sc_dtype t = v->buf->dtype;
    const void *p = base(r, v->buf);
    int64_t at = scalar_int(r, v->kid[0]), bits = scalar_int(r, v->kid[1]);
    for (int k = 0; k < v->type.lanes; k++) {
        bool here = bits >> k & 1;
        if (floats(v->type))
            out->f[k] = here ? fetch_float(t, p, at) : v->kid[2] ? v->kid[2]->f : 0;
        else
            out->i[k] = here ? fetch_int(t, p, at) : v->kid[2] ? v->kid[2]->i : 0;
        at += here;
    }
}

static void masked(const Run *r, const Val *v, Lanes *out)
{
    const sc_dtype t = v->buf->dtype;
    const void *p = base(r, v->buf);
    const int64_t at = scalar_int(r, v->kid[0]), bits = scalar_int(r, v->kid[1]);
    for (int k = 0; k < v->type.lanes; k++) {
        const bool here = bits >> k & 1;
        if (floats(v->type))
            out->f[k] = here ? fetch_float(t, p, at + k) : 0;
        else
            out->i[k] = here ? fetch_int(t, p, at + k) : 0;
    }
}

/* The pair of products is rounded to f32 as one number. */
static void dot(const Run *r, const Val *v, Lanes *out)
{
    const int64_t at = scalar_int(r, v->kid[0]);
    const void *p = base(r, v->buf);
    Lanes y;
    lanes(r, v->kid[1], out);
    lanes(r, v->kid[2], &y);
    const double a = fetch_float(SC_BF16, p, at), b = fetch_float(SC_BF16, p, at + 1);
    for (int k = 0; k < v->type.lanes; k++) out->f[k] = (double)(float)(a * out->f[k] + b * y.f[k]);
}

static void cast(const Run *r, const Val *v, Lanes *x)
{
    int n = v->type.lanes, to = v->type.dtype;
    bool from = floats(v->kid[0]->type);
    lanes(r, v->kid[0], x);
    for (int k = 0; k < n; k++) {
        if (floats(v->type))
            x->f[k] = from ? rounded(to, x->f[k]) : int_to_float(to, x->i[k]);
        else
            x->i[k] = from ? truncated(to, x->f[k]) : wrap(to, x->i[k]);
    }
}

static void choose(const Run *r, const Val *v, Lanes *out)
{
    Lanes pick, other;
    lanes(r, v->kid[0], &pick);
    lanes(r, v->kid[1], out);
    lanes(r, v->kid[2], &other);
    for (int k = 0; k < v->type.lanes; k++)
        if (!pick.i[k]) out->i[k] = other.i[k];
}

/* Every other lane of two vectors. */
static void every_other(const Run *r, const Val *v, Lanes *out)
{
    const int n = v->type.lanes;
    Lanes x[2];
    for (int k = 0; k < 2; k++) lanes(r, v->kid[k], &x[k]);
    for (int k = 0; k < n; k++) out->i[k] = x[2 * k >= n].i[(2 * k + (v->op == O_ODD)) % n];
}

/* x := x op y, in double. */
static void float_lanes(Op op, int dtype, int n, Lanes *x, const Lanes *y)
{
    if (op == O_ADD)
        for (int k = 0; k < n; k++) x->f[k] += y->f[k];
    else if (op == O_MUL)
        for (int k = 0; k < n; k++) x->f[k] *= y->f[k];
    else
        for (int k = 0; k < n; k++) x->f[k] = op_eval(op, x->f[k], y->f[k]);
    for (int k = 0; k < n && dtype == SC_F32; k++) x->f[k] = (double)(float)x->f[k];
}

static void operate(const Run *r, const Val *v, Lanes *x)
{
    Type t = v->kid[0]->type;
    Lanes y;
    lanes(r, v->kid[0], x);
    if (v->kid[1])
        lanes(r, v->kid[1], &y);
    else
        memset(&y, 0, sizeof y.i[0] * t.lanes);
    if (!floats(t)) {
        for (int k = 0; k < t.lanes; k++) x->i[k] = wrap(v->type.dtype, op_eval_int(v->op, x->i[k], y.i[k]));
    } else if (v->type.dtype == SC_BOOL) {
        for (int k = 0; k < t.lanes; k++) x->i[k] = op_eval(v->op, x->f[k], y.f[k]) != 0;
    } else {
        float_lanes(v->op, t.dtype, t.lanes, x, &y);
    }
}

static void lanes(const Run *r, const Val *v, Lanes *out)
{
    switch (v->op) {
    case O_CONST: splat(r, v, true, out); break;
    case O_VAR: memcpy(out, &r->frame[v->local->slot], sizeof(Cell) * v->type.lanes); break;
    case O_LOAD: load(r, v, out); break;
    case O_EXPAND:
    case O_SPREAD: spread(r, v, out); break;
    case O_MASKED: masked(r, v, out); break;
    case O_DOT: dot(r, v, out); break;
    case O_BITS:
        splat(r, v, false, out);
        for (int k = 0; k < v->type.lanes; k++) out->i[k] = out->i[k] >> k & 1;
        break;
    case O_PICK: picks(r, v, out); break;
    case O_CAST:
        if (v->kid[0]->type.lanes == 1)
            splat(r, v, false, out);
        else
            cast(r, v, out);
        break;
    case O_SELECT: choose(r, v, out); break;
    case O_EVEN:
    case O_ODD: every_other(r, v, out); break;
    case O_FIRST:
        splat(r, v, false, out);
        for (int k = 0; k < v->type.lanes; k++) out->i[k] = k < out->i[k];
        break;
    default: operate(r, v, out);
    }
}

/* ---- statements ---- */
enum { GO_ON = -1 };

static void assign(const Run *r, const Local *l, const Val *v)
{
    Cell *cell = &r->frame[l->slot];
    Lanes x;
    if (l->type.lanes > 1) {
        lanes(r, v, &x);
        memcpy(cell, &x, sizeof(Cell) * l->type.lanes);
    } else if (floats(l->type)) {
        cell->f = scalar_float(r, v);
    } else {
        cell->i = scalar_int(r, v);
    }
}

static void store(const Run *r, const Stmt *s)
{
    sc_dtype t = s->buf->dtype;
    void *p = base(r, s->buf);
    const int64_t bits = s->op == S_PUT ? scalar_int(r, s->c) : -1;
    int64_t at = scalar_int(r, s->a), step = s->op == S_STORE && s->c ? scalar_int(r, s->c) : 1;
    Lanes x;
    if (s->b->type.lanes > 1)
        lanes(r, s->b, &x);
    else if (floats(s->b->type))
        x.f[0] = scalar_float(r, s->b);
    else
        x.i[0] = scalar_int(r, s->b);
    for (int k = 0; k < s->b->type.lanes; k++, at += step) {
        if (!(bits >> k & 1)) continue;
        if (floats(s->b->type))
            keep_float(t, p, at, x.f[k]);
        else
            keep_int(t, p, at, x.i[k]);
    }
}

/* A column of the square that is read is a row of the one that is written. */
static void turn(const Run *r, const Stmt *s)
{
    const size_t size = sc_dtype_size((sc_dtype)s->buf->dtype);
    const Val *from = s->b;
    char *to = base(r, s->buf);
    const char *p = base(r, from->buf);
    const int64_t at = scalar_int(r, s->a), step = scalar_int(r, s->c);
    const int64_t first = scalar_int(r, from->kid[0]), apart = scalar_int(r, from->kid[1]);
    for (int64_t k = 0; k < from->type.lanes; k++)
        for (int64_t l = 0; l < from->type.lanes; l++)
            memcpy(to + (at + k * step + l) * (int64_t)size, p + (first + l * apart + k) * (int64_t)size,
                   size);
}

static int ascending(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int ascending_narrow(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Each in its place among those in front: its value is added to one of the same coordinate, or it goes in between. */
static void unite(const Run *r, const Stmt *s)
{
    const sc_dtype t = s->spare->dtype;
    const size_t size = sc_dtype_size(t);
    int32_t *key = base(r, s->buf);
    char *value = base(r, s->spare);
    int64_t n = 0;
    for (int64_t i = 0; i < r->frame[s->local->slot].i; i++) {
        const int32_t k = key[i];
        char v[8];
        int64_t at = n;
        while (at > 0 && key[at - 1] >= k) at--;
        memcpy(v, value + i * (int64_t)size, size);
        if (at < n && key[at] == k) {
            if (t == SC_F32 || t == SC_F64)
                keep_float(t, value, at, fetch_float(t, value, at) + fetch_float(t, v, 0));
            else
                keep_int(t, value, at, op_eval_int(O_ADD, fetch_int(t, value, at), fetch_int(t, v, 0)));
            continue;
        }
        memmove(key + at + 1, key + at, sizeof *key * (size_t)(n - at));
        memmove(value + (at + 1) * (int64_t)size, value + at * (int64_t)size, size * (size_t)(n - at));
        key[at] = k;
        memcpy(value + at * (int64_t)size, v, size);
        n++;
    }
    r->frame[s->local->slot].i = n;
}

static int block(const Run *, const Stmt *);

static int loop(const Run *r, const Stmt *s)
{
    int64_t at = scalar_int(r, s->a), end = scalar_int(r, s->b);
    for (; at < end; at += s->step) {
        r->frame[s->local->slot].i = at;
        int code = block(r, s->body);
        if (code != GO_ON) return code;
    }
    return GO_ON;
}

static int statement(const Run *r, const Stmt *s)
{
    int code = GO_ON;
    switch (s->op) {
    case S_LET:
    case S_SET: assign(r, s->local, s->a); break;
    case S_STORE:
    case S_PUT: store(r, s); break;
    case S_TURN: turn(r, s); break;
    case S_FOR: return loop(r, s);
    case S_WHILE:
        while (code == GO_ON && scalar_int(r, s->a)) code = block(r, s->body);
        return code;
    case S_IF: return block(r, scalar_int(r, s->a) ? s->body : s->other);
    case S_RETURN: return (int)s->step;
    case S_SORT:
        qsort(base(r, s->buf), (size_t)scalar_int(r, s->a), sc_dtype_size((sc_dtype)s->buf->dtype),
              s->buf->dtype == SC_I64 ? ascending : ascending_narrow);
        break;
    case S_UNITE: unite(r, s); break;
    case S_FETCH:
    case S_NOTE: break;
    }
    return code;
}

static int block(const Run *r, const Stmt *s)
{
    int code = GO_ON;
    for (; s && code == GO_ON; s = s->next)
        if (s->op != S_NOTE) code = statement(r, s);
    return code;
}

int sc_exec_entry(const Module *m, int entry, const sc_call *call, sc_lane *lane, int64_t begin, int64_t end)
{
    const Entry *e = &m->entry[entry];
    Cell small[SMALL];
    Run r = {call, lane, begin, end, small};
    if (e->nlocal > SMALL) r.frame = sc_malloc(sizeof(Cell) * (size_t)e->nlocal);
    if (!r.frame) return SC_ENOMEM;
    int code = block(&r, e->body);
    if (r.frame != small) free(r.frame);
    return code == GO_ON ? SC_OK : code;
}

#define KERNEL(k)                                                                                            \
    static int run##k(const sc_call *call, sc_lane *lane, sc_i64 begin, sc_i64 end)                          \
    { return sc_exec_entry(call->self, k, call, lane, begin, end); }
/* clang-format off */
#define KERNELS(X)                                                                                           \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)                    \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)          \
    X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47)          \
    X(48) X(49) X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63)
/* clang-format on */
KERNELS(KERNEL)

#define NAME(k) run##k,
sc_kernel *const sc_exec_kernels[SC_MAXENTRY] = {KERNELS(NAME)};
