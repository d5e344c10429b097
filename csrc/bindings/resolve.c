/* resolve.c: the operands of a call, and the program that reads them: a plan may want an operand in another layout, sparse
 * ones keep theirs on their core, dense ones are packed for the call. What is borrowed belongs to objects that the caller's
 * argument tuple holds. */
#include "call.h"

#include <string.h>

/* ---- operands ---- */
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

int sc_call_load(call *c, PyObject *text, PyObject *operands)
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

void sc_call_hold(call *c, int k, PyObject *x)
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
    PyObject *packed = rc ? sc_bind_raise(c->s, &e) : sc_core_pack(&to, &sink, NULL, 0);
    sc_sink_clear(&sink);
    if (!packed) return -1;
    sc_call_hold(c, k, packed);
    c->in[k] = to;
    return 0;
}

/* Whether a result of p is to have the structure of operand k, whose entries it is then led back to. */
static bool is_followed(const call *c, const sc_program *p, int k)
{
    for (int r = 0; c->request && r < c->request->nask; r++)
        if (c->request->ask_like[r] == k + 1) return true;
    for (int r = 0; r < sc_program_nresult(p); r++)
        if (sc_program_like(p, r) == k) return true;
    return false;
}

/* For p. What is read often has values of its own where nothing is led back, and they would lie far from each other. */
static sc_core *derive(const call *c, const sc_program *p, int k, const sc_format *f)
{
    sc_core *core = c->core[k];
    if (sc_format_equal(f, &core->t.format)) return (sc_core *)Py_NewRef((PyObject *)core);
    return is_followed(c, p, k) ? sc_core_derive(c->s, core, f) : sc_core_derive_far(c->s, core, f);
}

static int convert_sparse(call *c, const sc_program *p, int k, const sc_format *f)
{
    sc_core *d = derive(c, p, k, f);
    if (!d) return -1;
    sc_call_hold(c, k, (PyObject *)d);
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

int sc_call_put_back(const call *c, int r, sc_tensor *t, sc_sink *sink)
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
        if (c->core[k] ? convert_sparse(c, c->program, k, f) : convert_dense(c, k, f)) return -1;
        if (!changed++) sc_bind_ask(c->request, c->program);
        sc_request_converted(c->request, k, &c->in[k]);
    }
    if (changed) ask_converted(c), sc_request_twins(c->request, c->in);
    return changed;
}

/* The request of the operands as they are. */
int sc_call_ask(call *c)
{
    c->request = sc_malloc(sizeof *c->request);
    if (!c->request) return PyErr_NoMemory(), -1;
    sc_request_copy(c->request, &c->template->request);
    for (int k = 0; k < c->nin; k++) {
        sc_request_operand(c->request, k, &c->in[k]);
        if (c->core[k]) c->request->in[k].often = sc_core_often(c->core[k]);
    }
    sc_request_twins(c->request, c->in);
    return 0;
}

int sc_call_look_up(call *c)
{
    sc_err e = {0};
    if (sc_call_ask(c)) return -1;
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
    sc_often often;
    uint8_t position[SC_MAXLEVEL], even, skew, dtype, itype, perm, ndim;
    int8_t unit, twin;
} facts;
enum { KNOWN = 8 }; /* calls remembered for a program string, of at most SC_REMEMBERED operands */
struct sc_known {
    int next;
    struct {
        uint64_t program; /* its handle; 0: none */
        facts fact[SC_REMEMBERED];
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
        if (c->core[k]) f->often = sc_core_often(c->core[k]);
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
        if (c->core[k] && !sc_format_equal(as, &c->in[k].format) && convert_sparse(c, p, k, as)) return -1;
        all &= sc_program_reads(p, k, &c->in[k]);
    }
    return all;
}

static void convert_back(call *c)
{
    for (int k = 0; k < c->nin; k++) {
        if (!c->core[k] || !c->temp[k]) continue;
        sc_call_hold(c, k, NULL);
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

int sc_call_resolve(call *c)
{
    facts fact[SC_REMEMBERED];
    if (c->nin > SC_REMEMBERED || !as_written(c)) return sc_call_look_up(c);
    read_facts(c, fact);
    int rc = recall(c, fact);
    if (rc) return rc < 0 ? -1 : 0;
    rc = sc_call_look_up(c);
    if (!rc) remember(c, fact);
    return rc;
}

void sc_call_count(const call *c)
{
    for (int k = 0; k < c->nin; k++)
        if (c->core[k]) sc_core_count(c->core[k], sc_bind_products(c->in, c->nin, k));
}

void sc_call_unload(call *c)
{
    for (int k = 0; k < c->nin + c->nextra; k++) {
        Py_XDECREF(c->temp[k]);
        Py_XDECREF((PyObject *)c->core[k]);
    }
    free(c->request);
    sc_program_release(c->program);
    sc_template_put(c->template);
}
