/* call.c: runs a program on Python objects.
 *
 * A call is looked at once (every operand becomes a borrowed view), resolved
 * (a plan may want an operand in another layout: sparse ones keep theirs on
 * their core, dense ones are packed for the call), given room for its results
 * and run without the interpreter lock. What is borrowed belongs to objects
 * that the caller's argument tuple holds. */
#include "bind.h"

#include <string.h>

/* ---- operands ---- */
typedef struct {
    const sc_state *s;
    sc_template *template;
    int nin, nextra;     /* operands; those in other layouts behind them */
    sc_request *request; /* made when the program must be looked for */
    sc_program *program; /* held for the call */
    uint64_t handle;
    sc_tensor in[SC_MAXOP];
    sc_core *core[SC_MAXOP];   /* of sparse operands */
    PyObject *given[SC_MAXOP]; /* SparseTensors that were given for them, borrowed; null: cores were */
    PyObject *temp[SC_MAXOP];
} call;

static int load_sparse(call *c, int k, sc_core *core)
{
    c->core[k] = core;
    if (!core->computes) {
        PyErr_SetString(PyExc_NotImplementedError,
                        "values of this type are stored and converted, not computed with: "
                        "use .to(torch.float32) or .to(torch.float64)");
        return -1;
    }
    if (sc_core_refresh(c->s, core)) return -1;
    c->in[k] = *sc_core_counted(core);
    return 0;
}

static int load_dense(call *c, int k, PyObject *x)
{
    sc_borrowed b;
    if (sc_bind_read(c->s, x, &b)) return -1;
    if (!b.computes) {
        PyErr_Format(PyExc_NotImplementedError,
                     "operand %d has a type that is not computed with: use "
                     ".to(torch.float32) or .to(torch.float64)",
                     k);
        return -1;
    }
    c->in[k] = b.t;
    return 0;
}

static int load(call *c, PyObject *text, PyObject *operands)
{
    sc_err e = {0};
    Py_ssize_t len, n = PyTuple_Size(operands);
    const char *s = PyUnicode_AsUTF8AndSize(text, &len);
    if (!s || n < 0) return -1;
    c->template = sc_template_get(s, (size_t)len, &e);
    if (!c->template) return sc_bind_raise(c->s, &e), -1;
    c->nin = c->template->request.nin;
    if (n != c->nin) {
        PyErr_Format(PyExc_ValueError, "the program has %d operands, got %zd", c->nin, n);
        return -1;
    }
    for (int k = 0; k < n; k++) {
        PyObject *x = PyTuple_GetItem(operands, k);
        sc_core *core = sc_bind_core(c->s, x);
        if (core && Py_TYPE(x) == c->s->sparse.type) c->given[k] = x;
        if (PyErr_Occurred() || (core ? load_sparse(c, k, core) : load_dense(c, k, x))) return -1;
    }
    return 0;
}

static void hold(call *c, int k, PyObject *x)
{
    Py_XDECREF(c->temp[k]);
    c->temp[k] = x;
}

/* A dense operand in the layout the plan wants; made for this call. */
static int convert_dense(call *c, int k, const sc_format *f)
{
    sc_sink sink = {.dl = c->s->dl};
    sc_err e = {0};
    sc_tensor to = {.format = *f, .itype = SC_I32};
    int rc = sc_convert(&c->in[k], &to, sc_sink_alloc, &sink, NULL, &e);
    PyObject *packed = rc ? sc_bind_raise(c->s, &e) : sc_core_pack(c->s, &to, &sink, NULL, 0);
    sc_sink_clear(&sink);
    if (!packed) return -1;
    hold(c, k, packed);
    c->in[k] = to;
    return 0;
}

static int convert_sparse(call *c, int k, const sc_format *f)
{
    bool given = sc_format_equal(f, &c->core[k]->t.format);
    sc_core *d = given ? (sc_core *)Py_NewRef((PyObject *)c->core[k]) : sc_core_derive(c->s, c->core[k], f);
    if (!d) return -1;
    hold(c, k, (PyObject *)d);
    c->in[k] = *sc_core_counted(d);
    return 0;
}

/* The layout that operand k was converted to, if its values are those of the operand as it was given; else null. */
static const sc_core *converted(const call *c, int k)
{
    const sc_core *d = (const sc_core *)c->temp[k];
    return c->core[k] && d && d != c->core[k] && d->perm ? d : NULL;
}

/* A result that is like an operand is made like the converted one, and put back. */
static void ask_converted(call *c)
{
    for (int r = 0; r < c->request->nask; r++) {
        int k = c->request->ask_like[r] - 1;
        if (k >= 0 && converted(c, k)) c->request->ask[r] = c->in[k].format;
    }
}

static int put_back(const call *c, int r, sc_tensor *t, sc_sink *sink)
{
    int k = sc_program_like(c->program, r);
    const sc_core *d = k < 0 ? NULL : converted(c, k);
    if (!d) return 0;
    const sc_tensor *given = &c->core[k]->t;
    void *val = d->perm_data ? sc_sink_alloc(sink, SC_VAL, -1, t->dtype, given->view.nval) : t->view.val;
    if (!val && given->view.nval) return PyErr_NoMemory(), -1;
    sc_bind_restore(t, given, d->perm_data, given->itype, val);
    return 0;
}

/* Operands in the layouts the program wants: 1 if any changed, -1 with an exception. What was inferred for the
 * operands as they were given is what is delivered, whatever they are converted to. */
static int convert(call *c)
{
    int changed = 0;
    for (int k = 0; k < c->nin; k++) {
        const sc_format *f = sc_program_convert(c->program, k);
        if (!f || sc_format_equal(f, &c->in[k].format)) continue;
        if (c->core[k] ? convert_sparse(c, k, f) : convert_dense(c, k, f)) return -1;
        if (!changed++) sc_bind_ask(c->request, c->program);
        sc_request_converted(c->request, k, &c->in[k]);
    }
    if (changed) ask_converted(c);
    return changed;
}

/* The request of the operands as they are. */
static int ask(call *c)
{
    c->request = sc_malloc(sizeof *c->request);
    if (!c->request) return PyErr_NoMemory(), -1;
    *c->request = c->template->request;
    for (int k = 0; k < c->nin; k++) {
        sc_request_operand(c->request, k, &c->in[k]);
        if (c->core[k]) c->request->in[k].often = sc_core_often(c->core[k]);
    }
    sc_request_twins(c->request, c->in);
    return 0;
}

static int look_up(call *c)
{
    sc_err e = {0};
    if (ask(c)) return -1;
    for (int round = 0; round < SC_MAXOP; round++) {
        int rc;
        sc_program_release(c->program);
        c->program = NULL;
        Py_BEGIN_ALLOW_THREADS;
        rc = sc_program_get(c->request, &c->program, &c->handle, &e);
        Py_END_ALLOW_THREADS;
        if (rc) return sc_bind_raise(c->s, &e), -1;
        if ((rc = convert(c)) < 0) return -1;
        if (!rc) return sc_bind_warn(c->program);
    }
    PyErr_SetString(PyExc_RuntimeError, "internal error: the layouts of this program do not settle");
    return -1;
}

/* ---- what calls resolved to ---- */
/* All that a request has beyond the program string, which says the formats. */
typedef struct {
    int64_t dim[SC_MAXDIM];
    int32_t often;
    uint8_t position[SC_MAXLEVEL], even, skew, dtype, itype, perm, ndim;
    int8_t unit, twin;
} facts;
enum { KNOWN = 8, FEW = 8 }; /* calls remembered for a program string, of at most so many operands */
struct sc_known {
    int next;
    struct {
        uint64_t program; /* its handle; 0: none */
        facts fact[FEW];
    } call[KNOWN];
};

static void read_facts(const call *c, facts *f)
{
    memset(f, 0, (size_t)c->nin * sizeof *f);
    for (int k = 0; k < c->nin; k++, f++) {
        const sc_tensor *t = &c->in[k];
        bool dense = sc_format_is_dense(&t->format);
        f->dtype = (uint8_t)t->dtype, f->itype = (uint8_t)t->itype;
        f->perm = t->view.perm != NULL, f->twin = (int8_t)sc_tensor_twin(c->in, k);
        f->often = c->core[k] ? sc_core_often(c->core[k]) : 0;
        f->even = t->rows.even, f->skew = t->rows.skew;
        f->ndim = (uint8_t)t->format.ndim;
        f->unit = (int8_t)(dense ? sc_dense_unit(&t->view, t->format.ndim) : -1);
        memcpy(f->dim, t->view.dim, (size_t)t->format.ndim * sizeof *f->dim);
        for (int l = 0; !dense && l < t->format.nlevel; l++)
            f->position[l] = sc_log2_up(t->view.level[l].npos);
    }
}

/* Operands in the layouts that a program reads: 1 if it reads such, 0 if others, as where one of them lies in order and
 * another did not; -1 with an exception. */
static int convert_to(call *c, const sc_program *p)
{
    bool all = true;
    for (int k = 0; k < c->nin; k++) {
        const sc_format *as = sc_program_operand(p, k);
        if (c->core[k] && !sc_format_equal(as, &c->in[k].format) && convert_sparse(c, k, as)) return -1;
        all &= sc_program_reads(p, k, &c->in[k]);
    }
    return all;
}

static void convert_back(call *c)
{
    for (int k = 0; k < c->nin; k++) {
        if (!c->core[k] || !c->temp[k]) continue;
        hold(c, k, NULL);
        c->in[k] = *sc_core_counted(c->core[k]);
    }
}

/* 1 if the call was resolved before, -1 with an exception. */
static int recall(call *c, const facts *f)
{
    const struct sc_known *known = c->template->known;
    for (int i = 0; known && i < KNOWN; i++) {
        if (!known->call[i].program || memcmp(known->call[i].fact, f, (size_t)c->nin * sizeof *f)) continue;
        if (!(c->program = sc_program_again(known->call[i].program))) continue;
        const int rc = convert_to(c, c->program);
        if (rc) return rc;
        convert_back(c);
        sc_program_release(c->program);
        c->program = NULL;
    }
    return 0;
}

static void remember(call *c, const facts *f)
{
    struct sc_known *known = c->template->known;
    for (int k = 0; k < c->nin; k++)
        if (c->temp[k] && !c->core[k]) return; /* dense operands are packed for every call */
    if (!known) known = c->template->known = sc_zalloc(sizeof *known);
    if (!known) return;
    int at = known->next++ % KNOWN;
    known->call[at].program = c->handle;
    memcpy(known->call[at].fact, f, (size_t)c->nin * sizeof *f);
}

/* Whether operands have the formats that the program string says, as all but gradients that users give have. */
static bool as_written(const call *c)
{
    for (int k = 0; k < c->nin; k++)
        if (c->core[k] && !sc_format_equal(&c->template->request.in[k].format, &c->in[k].format))
            return false;
    return true;
}

static int resolve(call *c)
{
    facts fact[FEW];
    if (c->nin > FEW || !as_written(c)) return look_up(c);
    read_facts(c, fact);
    int rc = recall(c, fact);
    if (rc) return rc < 0 ? -1 : 0;
    rc = look_up(c);
    if (!rc) remember(c, fact);
    return rc;
}

static void count_products(const call *c)
{
    for (int k = 0; k < c->nin; k++)
        if (c->core[k]) sc_core_count(c->core[k], sc_bind_products(c->in, c->nin, k));
}

static void unload(call *c)
{
    for (int k = 0; k < c->nin + c->nextra; k++) {
        Py_XDECREF(c->temp[k]);
        Py_XDECREF((PyObject *)c->core[k]);
    }
    free(c->request);
    sc_program_release(c->program);
    sc_template_put(c->template);
}

/* ---- results ---- */
typedef struct {
    int n;
    sc_tensor t[SC_MAXOP];
    sc_sink sink[SC_MAXOP];
    PyObject *object[SC_MAXOP]; /* of dense results */
} results;

/* From the first element of a dense tensor to behind its last one. */
static int64_t reach(const sc_tensor *t)
{
    int64_t last = 0;
    for (int i = 0; i < t->format.ndim; i++) last += (t->view.dim[i] - 1) * t->view.stride[i];
    return t->view.nval > 0 ? (last + 1) * (int64_t)sc_dtype_size(t->dtype) : 0;
}

/* out may not lie over an operand, or over another out: results are written while operands are read. */
static bool overlaps(const call *c, const results *r, int n, const sc_borrowed *b)
{
    const int64_t bytes = b->n * (int64_t)sc_dtype_size(b->t.dtype);
    bool over = false;
    for (int k = 0; k < c->nin; k++)
        over |= c->core[k] ? sc_core_overlaps(c->core[k], b->t.view.val, bytes)
                           : sc_bind_overlap(b->t.view.val, bytes, c->in[k].view.val, reach(&c->in[k]));
    for (int k = 0; k < n; k++)
        over |= r->object[k] && sc_bind_overlap(b->t.view.val, bytes, r->t[k].view.val, reach(&r->t[k]));
    return over;
}

/* What out is to be, and what it is. */
static int not_out(const sc_spec *spec, const int64_t *dim, const sc_borrowed *b)
{
    sc_text want = {0}, got = {0};
    for (int d = 0; d < spec->format.ndim; d++) sc_text_add(&want, d ? ", %lld" : "%lld", (long long)dim[d]);
    for (int d = 0; d < b->t.format.ndim; d++)
        sc_text_add(&got, d ? ", %lld" : "%lld", (long long)b->t.view.dim[d]);
    PyErr_Format(PyExc_ValueError,
                 "out: expected a contiguous tensor of shape (%s) and type %s, got %s(%s) of %s",
                 want.s ? want.s : "", sc_dtype_name(spec->dtype), b->contiguous ? "" : "a strided one of ",
                 got.s ? got.s : "", sc_dtype_name(b->t.dtype));
    sc_text_free(&want);
    sc_text_free(&got);
    return -1;
}

static int place_dense(const call *c, results *r, int k, PyObject *out)
{
    sc_tensor *t = &r->t[k];
    const sc_spec *spec = sc_program_result(c->program, k);
    sc_borrowed b;
    if (!out) {
        sc_dl_managed *m = sc_dense_alloc(c->s->dl, spec->dtype, spec->format.ndim, t->view.dim);
        if (!m) return sc_dense_nomem(spec->dtype, spec->format.ndim, t->view.dim), -1;
        out = r->object[k] = sc_dense_object(c->s->dl, m);
    } else {
        r->object[k] = Py_NewRef(out);
    }
    if (!out || sc_bind_borrow(c->s, out, &b)) return -1;
    if (b.t.format.ndim != spec->format.ndim || b.t.dtype != spec->dtype || !b.contiguous ||
        memcmp(b.t.view.dim, t->view.dim, sizeof(int64_t) * (size_t)spec->format.ndim))
        return not_out(spec, t->view.dim, &b);
    if (overlaps(c, r, k, &b)) {
        PyErr_SetString(
            PyExc_ValueError,
            "out: expected memory apart from the operands and other results, got one that overlaps");
        return -1;
    }
    b.t.format = spec->format;
    *t = b.t;
    return 0;
}

/* What takes result k, or null; out is null, a tensor, or a tuple with one entry (which may be None) a result. */
static int out_of(PyObject *out, int k, int n, PyObject **one)
{
    const bool several = out && PyTuple_Check(out);
    if (out && (several ? PyTuple_Size(out) : 1) != n) {
        PyErr_Format(
            PyExc_ValueError,
            "out: expected a tuple of %d tensors, one a result (None where it is to be made), got %zd", n,
            several ? PyTuple_Size(out) : 1);
        return -1;
    }
    *one = several ? PyTuple_GetItem(out, k) : out;
    if (*one == Py_None) *one = NULL;
    return 0;
}

static int place(const call *c, results *r, PyObject *out)
{
    const int nreturned = sc_program_nreturned(c->program);
    for (int k = 0; k < r->n; k++) {
        PyObject *one;
        const sc_spec *spec = sc_program_result(c->program, k);
        sc_tensor *t = &r->t[k];
        t->format = spec->format;
        t->dtype = spec->dtype;
        t->itype = spec->itype;
        sc_program_shape(c->program, k, c->in, t->view.dim);
        if (out_of(k < nreturned ? out : NULL, k, nreturned, &one)) return -1;
        if (sc_format_is_dense(&spec->format)) {
            if (place_dense(c, r, k, one)) return -1;
        } else if (one) {
            PyErr_SetString(PyExc_ValueError,
                            "out: expected a dense result, and this one is sparse: ask for format=\"dense\"");
            return -1;
        }
    }
    return 0;
}

static int64_t work(const call *c)
{
    int64_t n = 1;
    for (int k = 0; k < c->nin; k++) n = sc_max(n, c->in[k].view.nval);
    return n;
}

static int run(call *c, results *r)
{
    sc_err e = {0};
    void *sink[SC_MAXOP];
    for (int k = 0; k < r->n; k++) sink[k] = &r->sink[k];
    int rc;
    if (work(c) < 256) {
        rc = sc_program_run(c->program, c->in, r->t, sc_sink_alloc, sink, &e);
    } else {
        Py_BEGIN_ALLOW_THREADS;
        rc = sc_program_run(c->program, c->in, r->t, sc_sink_alloc, sink, &e);
        Py_END_ALLOW_THREADS;
    }
    if (rc) return sc_bind_raise(c->s, &e), -1;
    for (int k = 0; k < r->n; k++)
        if (put_back(c, k, &r->t[k], &r->sink[k])) return -1;
    return 0;
}

/* Result k, a sparse one: a SparseTensor where it has the structure of one that was given, else what makes one. */
static PyObject *sparse_result(call *c, results *r, int k, sc_core *const *from, int nfrom)
{
    for (int j = 0; j < c->nin; j++)
        if (c->given[j] && sc_core_has(c->core[j], &r->t[k])) {
            PyObject *values = sc_core_values(&r->t[k], &r->sink[k], from, nfrom),
                     *made = values ? sc_bind_like(c->s, c->given[j], values) : NULL;
            Py_XDECREF(values);
            return made;
        }
    return sc_core_pack(c->s, &r->t[k], &r->sink[k], from, nfrom);
}

static PyObject *collect(call *c, results *r)
{
    sc_core *from[2 * SC_MAXOP]; /* whose arrays results may share: operands, as given and in other layouts */
    const int n = c->nin + c->nextra;
    PyObject *list = PyList_New(0);
    for (int k = 0; k < n; k++) {
        from[2 * k] = c->core[k];
        from[2 * k + 1] = c->core[k] || k >= c->nin ? (sc_core *)c->temp[k] : NULL;
    }
    for (int k = 0; list && k < sc_program_nreturned(c->program); k++) {
        PyObject *x = r->object[k];
        r->object[k] = NULL;
        if (!x) x = sparse_result(c, r, k, from, 2 * n);
        if (!x || PyList_Append(list, x)) Py_CLEAR(list);
        Py_XDECREF(x);
    }
    return list;
}

/* Room for so many results; only these are cleared, because the whole would cost more than a small call. */
static results *new_results(const sc_dl_api *dl, int n)
{
    results *r = sc_work_take(sizeof *r);
    if (!r) return NULL;
    r->n = n;
    memset(r->t, 0, (size_t)n * sizeof *r->t);
    memset(r->object, 0, (size_t)n * sizeof *r->object);
    for (int k = 0; k < n; k++) r->sink[k].dl = dl, r->sink[k].n = 0;
    return r;
}

/* Operands in the other layouts that steps of the program read. */
static int load_extra(call *c)
{
    const sc_format *f;
    for (int k; (f = sc_program_extra(c->program, c->nextra, &k)); c->nextra++) {
        const int at = c->nin + c->nextra;
        if (at == SC_MAXOP || !c->core[k])
            return PyErr_SetString(PyExc_RuntimeError, "internal error: no room for a layout"), -1;
        sc_core *d = sc_core_derive(c->s, c->core[k], f);
        if (!d) return -1;
        hold(c, at, (PyObject *)d);
        c->in[at] = *sc_core_counted(d);
    }
    return 0;
}

static PyObject *evaluate(call *c, PyObject *out)
{
    results *r = new_results(c->s->dl, sc_program_nresult(c->program));
    if (!r) return PyErr_NoMemory();
    count_products(c);
    PyObject *list = load_extra(c) || place(c, r, out) || run(c, r) ? NULL : collect(c, r);
    for (int k = 0; k < r->n; k++) Py_XDECREF(r->object[k]), sc_sink_clear(&r->sink[k]);
    sc_work_give(r);
    return list;
}

static PyObject *describe_results(call *c)
{
    PyObject *list = PyList_New(0);
    for (int k = 0; list && k < sc_program_nresult(c->program); k++) {
        const sc_spec *spec = sc_program_result(c->program, k);
        int64_t dim[SC_MAXDIM];
        char text[512];
        sc_program_shape(c->program, k, c->in, dim);
        sc_format_print(&spec->format, text, sizeof text);
        PyObject *shape = sc_bind_shape(dim, spec->format.ndim);
        PyObject *x = shape ? Py_BuildValue("(sNss)", text, shape, sc_dtype_name(spec->dtype),
                                            sc_dtype_name(spec->itype))
                            : NULL;
        if (!x || PyList_Append(list, x)) Py_CLEAR(list);
        Py_XDECREF(x);
    }
    return list;
}

/* Operands are written as they are loaded; the rest starts empty. */
static call *new_call(const sc_state *s)
{
    call *c = sc_work_take(sizeof *c);
    if (!c) return NULL;
    c->s = s;
    c->template = NULL;
    c->nin = c->nextra = 0;
    c->request = NULL;
    c->program = NULL;
    memset(c->core, 0, sizeof c->core);
    memset(c->given, 0, sizeof c->given);
    memset(c->temp, 0, sizeof c->temp);
    return c;
}

static PyObject *with_call(PyObject *module, PyObject *text, PyObject *operands, int ready(call *),
                           PyObject *(*body)(call *, PyObject *), PyObject *arg)
{
    call *c = new_call(PyModule_GetState(module));
    if (!c) return PyErr_NoMemory();
    PyObject *r = load(c, text, operands) || ready(c) ? NULL : body(c, arg);
    unload(c);
    sc_work_give(c);
    return r;
}

/* ---- what Python sees ---- */
static PyObject *take_stage(call *c, PyObject *stage)
{
    sc_err e = {0};
    sc_text said = {0};
    char *text = NULL;
    const char *name = PyUnicode_AsUTF8AndSize(stage, NULL);
    if (!name) return NULL;
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_program_text(c->request, name, &text, &e);
    Py_END_ALLOW_THREADS;
    if (!rc && !strcmp(name, "explain"))
        sc_bind_said(c->request, &c->template->request, c->in, c->core, &said);
    sc_text_add(&said, "%s", text ? text : "");
    free(text);
    return sc_bind_text(c->s, &said, &e);
}

static PyObject *take_way(call *c, PyObject *unused)
{
    static const char *const name[] = {"bundle", "jit", "executor"};
    (void)unused;
    return PyUnicode_FromString(name[sc_program_way(c->program)]);
}

static PyObject *take_results(call *c, PyObject *unused)
{
    (void)unused;
    return describe_results(c);
}

PyObject *sc_bind_run(PyObject *module, PyObject *text, PyObject *operands, PyObject *out)
{ return with_call(module, text, operands, resolve, evaluate, out == Py_None ? NULL : out); }

static PyObject *program_run(PyObject *module, PyObject *args)
{
    PyObject *text, *operands, *out = Py_None;
    if (!PyArg_ParseTuple(args, "UO!|O", &text, &PyTuple_Type, &operands, &out)) return NULL;
    return sc_bind_run(module, text, operands, out);
}

static PyObject *program_text(PyObject *module, PyObject *args)
{
    PyObject *text, *operands, *stage;
    if (!PyArg_ParseTuple(args, "UO!U", &text, &PyTuple_Type, &operands, &stage)) return NULL;
    const bool given =
        !PyUnicode_CompareWithASCIIString(stage, "orders"); /* of operands as they were given */
    return with_call(module, text, operands, given ? ask : look_up, take_stage, stage);
}

static PyObject *program_way(PyObject *module, PyObject *args)
{
    PyObject *text, *operands;
    if (!PyArg_ParseTuple(args, "UO!", &text, &PyTuple_Type, &operands)) return NULL;
    return with_call(module, text, operands, resolve, take_way, NULL);
}

static PyObject *program_results(PyObject *module, PyObject *args)
{
    PyObject *text, *operands;
    if (!PyArg_ParseTuple(args, "UO!", &text, &PyTuple_Type, &operands)) return NULL;
    return with_call(module, text, operands, resolve, take_results, NULL);
}

PyMethodDef sc_call_methods[] = {
    {"run", program_run, METH_VARARGS, "run(program, operands, out=None) -> list of results"},
    {"text", program_text, METH_VARARGS, "text(program, operands, stage) -> str"},
    {"way", program_way, METH_VARARGS, "way(program, operands) -> 'bundle', 'jit' or 'executor'"},
    {"results", program_results, METH_VARARGS,
     "results(program, operands) -> [(format, shape, dtype, itype)]"},
    {NULL, NULL, 0, NULL},
};
