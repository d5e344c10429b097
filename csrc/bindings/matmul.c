/* matmul.c: a product of one sparse and one dense tensor, with little around it.
 *
 * Ten rows times ten columns take less time than one dictionary lookup costs in
 * the general path, so this entry does only what it must: see that nothing
 * but plain eager arithmetic is going on, look at four arrays, find the program
 * in the core's own slots, allocate, run. A matrix of one row or column is read
 * as the vector that it is. Anything unusual returns NotImplemented, and the
 * caller takes the general path. */
#include <string.h>

#include "../watch.h"
#include "bind.h"

/* A @ x, x @ A, x @ A.T (a linear layer), A.T @ x: each is another's gradient. */
enum { SPARSE_FIRST, DENSE_FIRST, LINEAR, TRANSPOSED, NKIND };

static const char *const text[NKIND][2] = {
    {"ij,j->i", "ij,jk->ik"},
    {"i,ij->j", "ij,jk->ik"},
    {"i,oi->o", "ni,oi->no"},
    {"ij,i->j", "ij,ik->jk"},
};

/* ---- may we? ---- */
static int quiet(PyObject *probe)
{
    PyObject *r = PyObject_CallNoArgs(probe);
    if (!r) return -1;
    int yes = r == Py_None || r == Py_False || (PyLong_CheckExact(r) && PyLong_AsLong(r) == 0);
    Py_DECREF(r);
    return yes;
}

int sc_bind_plain(const sc_state *s)
{
    for (int i = 0; i < s->nguard; i++) {
        int q = quiet(s->guard[i]);
        if (q != 1) return q;
    }
    PyObject *level = PyDict_GetItemWithError(s->dual_level, s->name.current_level);
    return level ? PyLong_AsLong(level) < 0 : PyErr_Occurred() ? -1 : 0;
}

bool sc_bind_is_tensor(const sc_state *s, PyObject *x)
{
    const PyObject *type = (PyObject *)Py_TYPE(x);
    return type == s->tensor_type || type == s->parameter_type;
}

int sc_bind_needs_grad(const sc_state *s, PyObject *x)
{
    if (!sc_torch_grad_enabled()) return 0;
    PyObject *r = PyObject_GetAttr(x, s->name.requires_grad);
    int yes = r ? r == Py_True : -1;
    Py_XDECREF(r);
    return yes;
}

/* ---- the program ---- */
typedef struct {
    const sc_state *s;
    int kind, sparse, dense; /* which operand is which: the sparse one is 0 or 1 */
    int inner;               /* the dimension of the sparse operand that is summed */
    int ndim;                /* of the dense operand as it was given, and of the result */
    sc_core *core;
    sc_tensor in[2], out;
    PyObject *into;      /* the tensor that takes the result, or null */
    sc_program *program; /* held for the call */
} product;

/* The program of a slot like the wanted one, held; null: none is known. */
static sc_program *find(const sc_core *c, const sc_slot *want)
{
    sc_program *p = NULL;
    for (int i = 0; i < SC_MAXSLOT && !p; i++) {
        const sc_slot *s = &c->slot[i];
        if (s->program && s->kind == want->kind && s->ndim == want->ndim && s->unit == want->unit &&
            s->dtype == want->dtype && !memcmp(&s->often, &want->often, sizeof s->often) &&
            s->dim[0] == want->dim[0] && s->dim[1] == want->dim[1])
            p = sc_program_again(s->program);
    }
    return p;
}

static int get(product *p, const sc_request *r, sc_slot *slot, sc_err *e)
{
    int rc;
    sc_program_release(p->program);
    p->program = NULL;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_program_get(r, &p->program, &slot->program, e);
    Py_END_ALLOW_THREADS;
    return rc;
}

/* Fills a slot: 1 done, 0 take the general path, -1 with an exception. */
static int resolve(product *p, sc_slot *slot)
{
    sc_err e = {0};
    sc_request *r = sc_malloc(sizeof *r);
    if (!r) return PyErr_NoMemory(), -1;
    memset(r, 0, sizeof *r);
    r->text = text[p->kind][slot->ndim - 1];
    r->nin = 2;
    for (int k = 0; k < 2; k++) sc_request_operand(r, k, &p->in[k]);
    r->in[p->sparse].often = slot->often;
    int rc = get(p, r, slot, &e), done = 0;
    const sc_format *f = rc ? NULL : sc_program_convert(p->program, p->sparse);
    if (f) {
        sc_core *d = sc_core_derive_near(p->s, p->core, f);
        if (!d) return free(r), -1;
        sc_request_converted(r, p->sparse, &d->t);
        Py_DECREF((PyObject *)d);
        rc = get(p, r, slot, &e);
        done = !rc && sc_program_convert(p->program, p->sparse);
    }
    done = !rc && !done && !sc_program_convert(p->program, p->dense) &&
           sc_format_is_dense(&sc_program_result(p->program, 0)->format);
    free(r);
    if (rc) sc_bind_raise(p->s, &e);
    if (!rc && done && sc_bind_warn(p->program)) return -1;
    return rc ? -1 : done;
}

/* Where programs are kept: what they are does not depend on values, but on their type. */
static sc_core *keeper(sc_core *c)
{
    sc_core *all = sc_core_root(c);
    return all->t.dtype == c->t.dtype ? all : c;
}

static int prepare(product *p)
{
    const sc_tensor *x = &p->in[p->dense];
    sc_slot want = {.kind = p->kind, .ndim = x->format.ndim, .dtype = x->dtype};
    want.often = sc_core_often(p->core);
    want.unit = sc_dense_unit(&x->view, want.ndim);
    memcpy(want.dim, x->view.dim, sizeof want.dim);
    sc_core *c = keeper(p->core);
    p->program = find(c, &want);
    if (p->program) return 1;
    int done = resolve(p, &want);
    if (done == 1) c->slot[c->nextslot++ % SC_MAXSLOT] = want;
    return done;
}

/* ---- the result ---- */
static void shape_out(product *p)
{
    const sc_view *a = &p->core->t.view, *x = &p->in[p->dense].view;
    int64_t rows = a->dim[!p->inner];
    sc_tensor *o = &p->out;
    *o = (sc_tensor){.format = p->in[p->dense].format, .dtype = p->in[p->dense].dtype};
    const sc_spec *spec = p->program ? sc_program_result(p->program, 0) : NULL; /* null: of dense ones */
    if (spec) o->format = spec->format, o->dtype = spec->dtype, o->itype = spec->itype;
    if (p->in[p->dense].format.ndim == 1) {
        o->view.dim[0] = rows;
    } else {
        o->view.dim[p->sparse] = rows;
        o->view.dim[!p->sparse] = x->dim[!p->sparse];
    }
    sc_bind_contiguous(o);
}

/* The shape of the result, as the caller sees it. */
static void shape_seen(const product *p, int64_t *dim)
{
    const bool one = p->ndim > p->out.format.ndim;
    dim[0] = dim[1] = 1;
    dim[one && p->sparse] = p->out.view.dim[0];
    if (p->out.format.ndim > 1) dim[1] = p->out.view.dim[1];
}

/* Whether p->into is what shape_out asks for, and touches no operand; if so the result goes there. */
static bool place(product *p)
{
    sc_borrowed b;
    if (sc_bind_borrow(p->s, p->into, &b)) return PyErr_Clear(), false;
    int64_t dim[2];
    shape_seen(p, dim);
    if (b.t.format.ndim != p->ndim || b.t.dtype != p->out.dtype || !b.contiguous ||
        memcmp(b.t.view.dim, dim, sizeof *dim * (size_t)p->ndim))
        return false;
    int64_t bytes = b.n * (int64_t)sc_dtype_size(b.t.dtype);
    if (sc_core_overlaps(p->core, b.t.view.val, bytes)) return false;
    const sc_view *x = &p->in[p->dense].view;
    int64_t reach = 1;
    for (int d = 0; d < p->in[p->dense].format.ndim; d++) {
        if (x->stride[d] < 0) return false;
        reach += (x->dim[d] > 0 ? x->dim[d] - 1 : 0) * x->stride[d];
    }
    if (sc_bind_overlap(b.t.view.val, bytes, x->val, reach * (int64_t)sc_dtype_size(b.t.dtype))) return false;
    p->out.view.val = b.t.view.val;
    return true;
}

static int compute(product *p, sc_err *e)
{
    sc_span span;
    const bool is_watched = !p->program && sc_is_watched();
    if (p->program) return sc_program_run(p->program, p->in, &p->out, NULL, NULL, e);
    if (is_watched) sc_span_begin(&span, text[p->kind][p->out.format.ndim - 1], p->in, 2);
    const int rc = sc_filled_run(&p->in[p->sparse].view, p->inner, &p->in[p->dense], p->sparse, &p->out, e);
    if (is_watched) sc_span_end(&span, "library", &p->out, 1, !rc);
    return rc;
}

static PyObject *run(product *p)
{
    shape_out(p);
    sc_err e = {0};
    sc_dl_managed *m = NULL;
    if (p->into) {
        if (!place(p)) return Py_NewRef(Py_NotImplemented);
    } else {
        int64_t dim[2];
        shape_seen(p, dim);
        m = sc_dense_alloc(p->s->dl, p->out.dtype, p->ndim, dim);
        if (!m) return sc_dense_nomem(p->out.dtype, p->ndim, dim);
        p->out.view.val = m->tensor.data;
    }
    int64_t work = p->in[p->sparse].view.nval *
                   (p->in[p->dense].format.ndim == 1 ? 1 : p->in[p->dense].view.dim[!p->sparse]);
    int rc;
    if (work < 8192) {
        rc = compute(p, &e);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        rc = compute(p, &e);
        Py_END_ALLOW_THREADS;
    }
    if (!rc) return m ? sc_dense_object(p->s->dl, m) : Py_NewRef(p->into);
    if (m) m->deleter(m);
    return sc_bind_raise(p->s, &e);
}

static PyObject *mismatch(const int64_t *a, int64_t got, int64_t want)
{
    return PyErr_Format(
        PyExc_ValueError,
        "cannot multiply: the sparse operand is %lld x %lld, and the dense one has %lld where "
        "%lld is needed",
        (long long)a[0], (long long)a[1], (long long)got, (long long)want);
}

/* Reads a matrix of one row or column as a vector. */
static void drop_one(product *p)
{
    sc_view *x = &p->in[p->dense].view;
    p->ndim = p->in[p->dense].format.ndim;
    if (p->ndim < 2 || x->dim[!p->sparse] != 1) return;
    x->dim[0] = x->dim[p->sparse];
    x->stride[0] = x->stride[p->sparse];
    x->level[0].size = x->dim[0];
    p->in[p->dense].format.ndim = p->in[p->dense].format.nlevel = 1;
}

static PyObject *by_entries(product *p)
{
    int ready = prepare(p);
    if (ready < 0) return NULL;
    if (!ready) return Py_NewRef(Py_NotImplemented);
    const sc_format *as = sc_program_operand(p->program, p->sparse);
    if (sc_format_equal(as, &p->core->t.format)) return run(p);
    sc_core *derived = sc_core_derive_near(p->s, p->core, as);
    if (!derived) return NULL;
    p->in[p->sparse] = *sc_core_counted(derived);
    /* It does, but where another thread said meanwhile that products will be many. */
    const bool reads = sc_program_reads(p->program, p->sparse, &p->in[p->sparse]);
    PyObject *y = reads ? run(p) : Py_NewRef(Py_NotImplemented);
    Py_DECREF(derived);
    return y;
}

/* By the dense matrix; NotImplemented where that would not be the same, or there is no memory for it. */
static PyObject *filled(product *p, sc_pair *pair)
{
    const sc_tensor *x = &p->in[p->dense];
    if (!sc_filled_finite(x)) return Py_NewRef(Py_NotImplemented);
    sc_core *dense = sc_core_spread(p->s, p->core);
    if (!dense) {
        if (!PyErr_ExceptionMatches(PyExc_MemoryError)) return NULL;
        PyErr_Clear();
        sc_filled_give_up(pair);
        return Py_NewRef(Py_NotImplemented);
    }
    p->in[p->sparse] = dense->t;
    PyObject *y = run(p);
    Py_DECREF((PyObject *)dense);
    return y;
}

static PyObject *multiply(product *p)
{
    p->in[p->sparse] = *sc_core_counted(p->core);
    drop_one(p);
    const sc_tensor *x = &p->in[p->dense];
    int64_t want = p->core->t.view.dim[p->inner], got = x->view.dim[p->sparse ? x->format.ndim - 1 : 0];
    if (got != want) return mismatch(p->core->t.view.dim, got, want);
    int64_t columns = x->format.ndim == 1 ? 1 : x->view.dim[!p->sparse];
    sc_core_count(p->core, (double)p->core->t.view.nval * (double)(sc_max(columns, SC_FEW)));
    sc_pair *pair = sc_filled_pair(p->s, p->core, p->kind, columns);
    if (!pair) return by_entries(p);
    const int64_t start = sc_now();
    const sc_way way = sc_filled_turn(pair);
    PyObject *y = way == SC_FILLED ? filled(p, pair) : by_entries(p);
    if (y != Py_NotImplemented) return y ? sc_filled_note(p->core, pair, way, sc_now() - start), y : NULL;
    if (way == SC_ENTRIES) return y;
    Py_DECREF(y);
    p->in[p->sparse] = *sc_core_counted(p->core);
    return by_entries(p);
}

/* matmul(core, x, kind, out): NotImplemented means: take the general path. */
static PyObject *matmul(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    product p = {.s = PyModule_GetState(module)};
    if (n < 3 || n > 4 || Py_TYPE(args[0]) != p.s->core_type)
        return PyErr_Format(PyExc_TypeError, "expected matmul(core, x, kind, out=None)");
    if (n == 4 && args[3] != Py_None) p.into = args[3];
    p.core = (sc_core *)args[0];
    p.kind = (int)PyLong_AsLong(args[2]);
    if (p.kind < 0 || p.kind >= NKIND)
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "kind: 0 to 3");
    p.sparse = p.kind == DENSE_FIRST || p.kind == LINEAR;
    p.dense = !p.sparse;
    p.inner = p.kind == SPARSE_FIRST || p.kind == LINEAR;
    if (!sc_bind_is_tensor(p.s, args[1]) || (p.into && !sc_bind_is_tensor(p.s, p.into)) ||
        !p.core->computes || p.core->t.dtype == SC_BOOL || p.core->t.format.ndim != 2)
        return Py_NewRef(Py_NotImplemented);
    int plain = sc_bind_plain(p.s), grad = plain == 1 ? sc_bind_needs_grad(p.s, args[1]) : 0;
    if (plain < 0 || grad < 0) return NULL;
    if (plain && !grad && p.into && (grad = sc_bind_needs_grad(p.s, p.into)) < 0) return NULL;
    if (!plain || grad) return Py_NewRef(Py_NotImplemented);
    sc_borrowed x;
    if (sc_bind_borrow(p.s, args[1], &x)) {
        PyErr_Clear();
        return Py_NewRef(Py_NotImplemented);
    }
    int ndim = x.t.format.ndim;
    if (!x.computes || ndim < 1 || ndim > 2 || x.t.dtype != p.core->t.dtype)
        return Py_NewRef(Py_NotImplemented);
    if (sc_core_refresh(p.s, p.core)) return NULL;
    p.in[p.dense] = x.t;
    PyObject *y = multiply(&p);
    sc_program_release(p.program);
    return y;
}

static PyObject *plain(PyObject *module, PyObject *unused)
{
    (void)unused;
    int yes = sc_bind_plain(PyModule_GetState(module));
    return yes < 0 ? NULL : PyBool_FromLong(yes);
}

static PyObject *fills(PyObject *module, PyObject *core)
{
    if (Py_TYPE(core) != ((sc_state *)PyModule_GetState(module))->core_type)
        return PyErr_Format(PyExc_TypeError, "expected fills(core)");
    return PyLong_FromLong(sc_core_fills((sc_core *)core));
}

PyMethodDef sc_matmul_methods[] = {
    {"fills", fills, METH_O,
     "fills(core): how many products of a kind tell whether those of a dense matrix are faster; 0: they are "
     "not"},
    {"plain", plain, METH_NOARGS, "whether nothing but plain eager arithmetic is going on"},
    {"matmul", (PyCFunction)(void (*)(void))matmul, METH_FASTCALL,
     "matmul(core, x, kind, out=None) -> tensor or NotImplemented; kind 0: A @ x, 1: x @ A, 2: x @ A.T, 3: "
     "A.T @ x"},
    {NULL, NULL, 0, NULL},
};
