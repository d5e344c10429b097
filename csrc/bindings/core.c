/* core.c: the components of one sparse tensor, as C sees them.
 *
 * A core belongs to one SparseTensor object and never changes hands: it holds
 * the component tensors, the view made of their pointers, the programs that
 * products with it resolved to, and layouts derived from it (layouts.c). Before each use it
 * looks again: a pointer or version that moved means that somebody wrote into
 * pos or crd, and then the structure is validated anew, because kernels trust
 * it. The components of a sparse tensor of torch have one version in common, which writes to values move too: so
 * from the second time on it is compared what the structure was. Writes that move no version go unseen, unless the
 * state says that structures are validated before every use. Values may change freely. */
#include "bind.h"

#include <string.h>

static int64_t bytes_of(const sc_component *c) { return c->n * (c->dtype.bits / 8); }

/* Arrays of its own: a derived layout has a permutation instead of values, or nothing where they are in order. */
int64_t sc_core_bytes(const sc_core *c)
{
    int64_t n = 0;
    for (int i = 0; i < c->ncomp - 1; i++) n += bytes_of(&c->comp[i]);
    if (c->perm && !c->perm_data) return n;
    if (c->perm) return n + c->t.view.nval * (int64_t)sc_dtype_size(c->t.itype);
    return n + bytes_of(&c->comp[c->ncomp - 1]);
}

/* ---- looking at components ---- */
static void point(sc_core *c)
{
    sc_view *v = &c->t.view;
    int at = 0;
    for (int l = 0; l < c->t.format.nlevel; l++) {
        const sc_levelspec *spec = &c->t.format.level[l];
        if (sc_level_has_pos(spec)) v->level[l].pos = c->comp[at++].data;
        if (sc_level_has_crd(spec)) v->level[l].crd = c->comp[at++].data;
    }
    v->val = (void *)(uintptr_t)c->comp[at].data;
    v->perm = c->perm_data;
}

static int changed_shape(int i)
{
    PyErr_Format(PyExc_ValueError,
                 "component array %d was resized, moved to another device or changed its type after it "
                 "was wrapped: wrap the arrays again with scorch.from_components",
                 i);
    return -1;
}

enum { STAYED, WRITTEN, MOVED }; /* what became of an array of the structure; WRITTEN: perhaps */

/* That of component i, or -1 with an exception. */
static int look(const sc_state *s, sc_core *core, int i)
{
    static const char nothing[64];
    sc_component *c = &core->comp[i];
    sc_dl_tensor d;
    if (s->dl->borrow(c->seen, &d)) return -1;
    if (d.ndim != 1 || d.shape[0] != c->n || d.dtype.code != c->dtype.code || d.dtype.bits != c->dtype.bits ||
        d.device.type != SC_DL_CPU || (d.strides && c->n > 1 && d.strides[0] != 1))
        return changed_shape(i);
    const void *data = d.data ? (char *)d.data + d.byte_offset : nothing;
    if (!d.data && c->n) return changed_shape(i);
    bool values = i == core->ncomp - 1;
    int64_t version = values ? c->version : sc_bind_version(s, c->tensor);
    const int found = data != c->data ? MOVED : version != c->version || version < 0 ? WRITTEN : STAYED;
    c->data = data;
    c->version = version;
    return values ? STAYED : found;
}

static sc_digest content_of(const sc_core *c)
{
    sc_digest all = {0};
    Py_BEGIN_ALLOW_THREADS;
    for (int i = 0; i < c->ncomp - 1; i++) {
        const sc_digest one = sc_fingerprint(c->comp[i].data, (size_t)bytes_of(&c->comp[i]));
        all.low = all.low * 0x9e3779b97f4a7c15u + one.low;
        all.high = all.high * 0x9e3779b97f4a7c15u + one.high;
    }
    Py_END_ALLOW_THREADS;
    return all;
}

/* Whether the structure is another one. What it was is known from the second write on. */
static bool changed(sc_core *c, int found)
{
    const sc_digest before = c->content;
    if (found == WRITTEN) c->content = content_of(c);
    if (found == MOVED) c->content = (sc_digest){0};
    return found == MOVED || (found == WRITTEN && !sc_digest_equal(before, c->content));
}

int sc_core_refresh(const sc_state *s, sc_core *c)
{
    int most = STAYED;
    for (int i = 0; i < c->ncomp; i++) {
        const int found = look(s, c, i);
        if (found < 0) return -1;
        if (found > most) most = found;
    }
    point(c);
    const bool moved = changed(c, most);
    if (moved) c->generation++, c->t.rows = (sc_rows){0};
    if (!c->validate || (!moved && !s->validate)) return 0;
    sc_err e = {0};
    int rc;
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_validate(&c->t, &e);
    Py_END_ALLOW_THREADS;
    if (!rc) return 0;
    c->comp[0].data = NULL; /* look again next time */
    return sc_bind_raise(s, &e), -1;
}

/* Whether two cores last saw the same arrays of structure in the same state. */
static bool saw_same(const sc_core *a, const sc_core *b)
{
    bool same = a->ncomp == b->ncomp;
    for (int i = 0; same && i < a->ncomp - 1; i++)
        same = a->comp[i].data == b->comp[i].data && a->comp[i].version == b->comp[i].version;
    return same;
}

const sc_tensor *sc_core_counted(sc_core *c)
{
    if (c->t.rows.most) return &c->t;
    sc_core *all = sc_core_root(c);
    const bool same = saw_same(all, c);
    if (same) c->t.rows = all->t.rows;
    if (!c->t.rows.most) sc_census_rows(&c->t);
    if (same) all->t.rows = c->t.rows;
    return &c->t;
}

/* ---- making ---- */
static int read_shape(sc_core *c, PyObject *shape)
{
    Py_ssize_t n = PyTuple_Size(shape);
    if (n < 0) return -1;
    if (n > SC_MAXDIM)
        return PyErr_Format(PyExc_ValueError, "expected at most %d dimensions, got %zd", SC_MAXDIM, n), -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        int64_t d = c->t.view.dim[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
        if (d == -1 && PyErr_Occurred()) return -1;
        if (d < 0) return PyErr_Format(PyExc_ValueError, "expected a shape without negative extents"), -1;
    }
    return 0;
}

static int add_component(const sc_state *s, sc_core *c, int i, bool values, PyObject *x)
{
    sc_borrowed b;
    PyObject *seen = sc_bind_readable(s, x);
    if (!seen) return -1;
    c->comp[i] = (sc_component){.tensor = Py_NewRef(x), .seen = seen, .version = -2};
    c->ncomp = i + 1;
    if (sc_bind_borrow(s, seen, &b)) return -1;
    if (b.t.format.ndim != 1 || !b.contiguous)
        return PyErr_Format(PyExc_ValueError,
                            "component array %d: expected one contiguous dimension, got %d dimensions "
                            "with other strides: call .contiguous() or .reshape(-1)",
                            i, b.t.format.ndim),
               -1;
    if (!values && b.t.dtype != SC_I32 && b.t.dtype != SC_I64)
        return PyErr_Format(PyExc_TypeError, "component array %d: expected int32 or int64 indices", i), -1;
    if (!values && i && b.t.dtype != c->t.itype)
        return PyErr_Format(PyExc_TypeError,
                            "component array %d: expected the index type of the others (%s), got %s", i,
                            sc_dtype_name(c->t.itype), sc_dtype_name(b.t.dtype)),
               -1;
    if (values)
        c->t.dtype = b.t.dtype, c->computes = b.computes;
    else
        c->t.itype = b.t.dtype;
    sc_dl_tensor d;
    if (s->dl->borrow(seen, &d)) return -1;
    c->comp[i].n = b.n;
    c->comp[i].dtype = d.dtype;
    return 0;
}

static int read_components(const sc_state *s, sc_core *c, PyObject *components)
{
    Py_ssize_t n = PyTuple_Size(components);
    if (n < 1 || n > SC_MAXCOMP)
        return n < 0 ? -1
                     : (PyErr_Format(PyExc_ValueError, "expected 1 to %d component arrays, got %zd",
                                     SC_MAXCOMP, n),
                        -1);
    int64_t length[SC_MAXCOMP];
    for (int i = 0; i < n; i++) {
        if (add_component(s, c, i, i == n - 1, PyTuple_GetItem(components, i))) return -1;
        length[i] = c->comp[i].n;
    }
    sc_err e = {0};
    return sc_bind_layout(&c->t, length, (int)n, &e) ? (sc_bind_raise(s, &e), -1) : 0;
}

static int64_t next_serial(void)
{
    static int64_t serial; /* under the interpreter lock */
    return ++serial;
}

static sc_core *make(const sc_state *s, const sc_format *f, PyObject *shape, PyObject *components,
                     bool validate)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(s->core_type, Py_tp_alloc);
    sc_core *c = (sc_core *)alloc(s->core_type, 0);
    if (!c) return NULL;
    c->serial = next_serial();
    c->t.format = *f;
    c->t.itype = SC_I64;
    c->validate = validate;
    if (!read_shape(c, shape) && !read_components(s, c, components) && !sc_core_refresh(s, c)) return c;
    Py_DECREF(c);
    return NULL;
}

/* Whether nobody has written to the structure since it was made. */
static bool untouched(const sc_core *c)
{
    for (int i = 0; i < c->ncomp - 1; i++)
        if (c->comp[i].version) return false;
    return true;
}

/* A core of arrays that the library made itself: they are looked through only where somebody wrote to them. */
static PyObject *trust(const sc_state *s, sc_core *c)
{
    if (!c) return NULL;
    c->validate = true;
    if (untouched(c)) return (PyObject *)c;
    c->comp[0].data = NULL;
    if (!sc_core_refresh(s, c)) return (PyObject *)c;
    Py_DECREF(c);
    return NULL;
}

static PyObject *core_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    const sc_state *s = PyType_GetModuleState(type);
    const char *text;
    PyObject *shape, *components;
    int validate = 1, made = 0;
    if (!s || (kwargs && PyDict_Size(kwargs))) return PyErr_Format(PyExc_TypeError, "Core takes no keywords");
    if (!PyArg_ParseTuple(args, "sO!O!|pp", &text, &PyTuple_Type, &shape, &PyTuple_Type, &components,
                          &validate, &made))
        return NULL;
    sc_err e = {0};
    sc_format f;
    if (sc_format_parse(&f, text, (int)PyTuple_Size(shape), &e)) return sc_bind_raise(s, &e);
    if (made) return trust(s, make(s, &f, shape, components, false));
    return (PyObject *)make(s, &f, shape, components, validate);
}

/* ---- results as Python objects ---- */
/* The component of n elements at p: of the sink, or one of the last ones, values, or one of the others. Arrays of
 * no elements may all lie at one place: types tell them apart. */
static PyObject *share(const sc_tensor *t, sc_sink *sink, const void *p, int64_t n, bool values,
                       sc_core *const *from, int nfrom)
{
    PyObject *own = sc_sink_take(sink, p, n);
    const bool large = n * (int64_t)sc_dtype_size(t->dtype) >= SC_LARGE;
    if (own && values && large && PyObject_SetAttrString(own, "_scorch_own", Py_True)) Py_CLEAR(own);
    if (own || PyErr_Occurred()) return own;
    for (int k = 0; p && k < nfrom; k++)
        for (int i = 0; from[k] && i < from[k]->ncomp; i++) {
            const sc_component *c = &from[k]->comp[i];
            const bool type = values ? from[k]->t.dtype == t->dtype : from[k]->t.itype == t->itype;
            if (c->data == p && c->n == n && type && values == (i == from[k]->ncomp - 1))
                return Py_NewRef(c->tensor);
        }
    return PyErr_Format(PyExc_RuntimeError, "internal error: a result array was not allocated"), NULL;
}

static int append(PyObject *list, PyObject *x)
{
    int rc = x ? PyList_Append(list, x) : -1;
    Py_XDECREF(x);
    return rc;
}

static PyObject *components_of(const sc_tensor *t, sc_sink *sink, sc_core *const *from, int nfrom)
{
    PyObject *list = PyList_New(0);
    int bad = !list;
    for (int l = 0; !bad && l < t->format.nlevel; l++) {
        const sc_levelspec *spec = &t->format.level[l];
        const sc_level *at = &t->view.level[l];
        int64_t above = l ? at[-1].npos : 1;
        if (sc_level_has_pos(spec))
            bad = append(list,
                         share(t, sink, at->pos, sc_pos_length(spec, at->size, above), false, from, nfrom));
        if (!bad && sc_level_has_crd(spec))
            bad = append(list, share(t, sink, at->crd, sc_crd_length(spec, at->size, above, at->npos), false,
                                     from, nfrom));
    }
    if (!bad) bad = append(list, sc_core_values(t, sink, from, nfrom));
    PyObject *tuple = bad ? NULL : PyList_AsTuple(list);
    Py_XDECREF(list);
    return tuple;
}

PyObject *sc_core_pack(const sc_tensor *t, sc_sink *sink, sc_core *const *from, int nfrom)
{
    char text[512];
    sc_format_print(&t->format, text, sizeof text);
    PyObject *components = components_of(t, sink, from, nfrom),
             *shape = components ? sc_bind_shape(t->view.dim, t->format.ndim) : NULL;
    if (!shape) return Py_XDECREF(components), NULL;
    return Py_BuildValue("(sNN)", text, shape, components);
}

bool sc_core_has(const sc_core *c, const sc_tensor *t)
{
    const size_t extents = sizeof *t->view.dim * (size_t)t->format.ndim;
    if (c->ncomp < 2 || !sc_format_equal(&c->t.format, &t->format) || c->t.itype != t->itype ||
        c->t.view.nval != t->view.nval || memcmp(c->t.view.dim, t->view.dim, extents))
        return false;
    for (int l = 0; l < t->format.nlevel; l++) {
        const sc_level *own = &c->t.view.level[l], *other = &t->view.level[l];
        const sc_levelspec *spec = &t->format.level[l];
        if ((sc_level_has_pos(spec) && own->pos != other->pos) ||
            (sc_level_has_crd(spec) && own->crd != other->crd))
            return false;
    }
    return true;
}

PyObject *sc_core_values(const sc_tensor *t, sc_sink *sink, sc_core *const *from, int nfrom)
{ return share(t, sink, t->view.val, t->view.nval, true, from, nfrom); }

sc_core *sc_core_wrap(const sc_state *s, const sc_tensor *t, sc_sink *sink, sc_core *from)
{
    PyObject *components = components_of(t, sink, &from, 1),
             *shape = components ? sc_bind_shape(t->view.dim, t->format.ndim) : NULL;
    sc_core *c = shape ? make(s, &t->format, shape, components, false) : NULL;
    Py_XDECREF(shape);
    Py_XDECREF(components);
    return c;
}

/* The structure of c with other values; what c knows of its structure holds. */
sc_core *sc_core_with_values(const sc_state *s, sc_core *c, PyObject *values)
{
    allocfunc alloc = (allocfunc)PyType_GetSlot(s->core_type, Py_tp_alloc);
    sc_core *new = (sc_core *)alloc(s->core_type, 0);
    if (!new) return NULL;
    new->serial = next_serial();
    new->t = c->t;
    new->validate = c->validate;
    new->generation = c->generation;
    new->content = c->content;
    new->perm_data = c->perm_data;
    if (c->perm) new->perm = Py_NewRef(c->perm);
    const int last = c->ncomp - 1;
    for (int i = 0; i < last; i++, new->ncomp++) {
        new->comp[i] = c->comp[i];
        Py_INCREF(new->comp[i].tensor);
        Py_INCREF(new->comp[i].seen);
    }
    if (!add_component(s, new, last, true, values)) {
        if (new->comp[last].n == c->comp[last].n && !sc_core_refresh(s, new)) return new;
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "values: expected %lld, one an entry, got %lld",
                         (long long)c->comp[last].n, (long long)new->comp[last].n);
    }
    Py_DECREF(new);
    return NULL;
}

/* ---- methods ---- */
int64_t sc_derived_bytes(const sc_derived *d)
{
    const int64_t source = d->source && d->source != Py_True
                               ? d->core->t.view.nval * (int64_t)sc_dtype_size(d->core->t.itype)
                               : 0;
    return sc_core_bytes(d->core) + source;
}

void sc_derived_free(sc_derived *d)
{
    Py_XDECREF((PyObject *)d->core);
    Py_XDECREF(d->source);
    free(d);
}

void sc_derived_drop(sc_core *c)
{
    sc_derived *d = c->derived, *next;
    c->derived = NULL;
    for (; d; d = next) next = d->next, sc_derived_free(d);
}

static PyObject *core_refresh(PyObject *self, PyObject *unused)
{
    sc_core *c = (sc_core *)self;
    (void)unused;
    const bool uncounted = c->comp[0].version < 0 && c->comp[0].data;
    if (!uncounted && sc_core_refresh(PyType_GetModuleState(Py_TYPE(self)), c)) return NULL;
    Py_RETURN_NONE;
}

static PyObject *core_release(PyObject *self, PyObject *unused)
{
    (void)unused;
    sc_core *root = sc_core_root((sc_core *)self);
    sc_derived_drop(root);
    Py_CLEAR(root->shared_by);
    if (root->filling) root->filling->generation = -1;
    root->often = 0;
    root->products = 0;
    Py_RETURN_NONE;
}

static PyObject *core_expect(PyObject *self, PyObject *unused)
{
    (void)unused;
    sc_core *root = sc_core_root((sc_core *)self);
    if (!root->often) root->often = 1;
    Py_RETURN_NONE;
}

static PyObject *core_with_values(PyObject *self, PyObject *values)
{
    sc_core *c = (sc_core *)self;
    sc_core *new = sc_core_with_values(PyType_GetModuleState(Py_TYPE(self)), c, values);
    if (!new) return NULL;
    new->origin = (sc_core *)Py_NewRef((PyObject *)sc_core_root(c));
    return (PyObject *)new;
}

static PyObject *core_many(PyObject *self, PyObject *unused)
{
    (void)unused;
    return PyBool_FromLong(sc_core_root((sc_core *)self)->often);
}

static PyObject *core_shared(PyObject *self, PyObject *unused)
{
    (void)unused;
    sc_core *root = sc_core_root((sc_core *)self);
    if (!root->shared_by) root->shared_by = PyDict_New();
    return Py_XNewRef(root->shared_by);
}

/* blocks(side, share) -> (entries seen, blocks that hold them, entries in blocks that are full enough) */
static PyObject *core_blocks(PyObject *self, PyObject *args)
{
    sc_core *c = (sc_core *)self;
    long long side;
    double share;
    sc_blocks found;
    if (!PyArg_ParseTuple(args, "Ld", &side, &share)) return NULL;
    if (side < 1 || side & (side - 1)) return PyErr_Format(PyExc_ValueError, "expected a power of two");
    if (sc_core_refresh(PyType_GetModuleState(Py_TYPE(self)), c)) return NULL;
    if (!sc_census_blocks(&c->t, side, share, &found)) return PyErr_NoMemory();
    return Py_BuildValue("(LLL)", (long long)found.seen, (long long)found.blocks, (long long)found.within);
}

/* diagonals() -> entries that one of a slice of rows has */
static PyObject *core_diagonals(PyObject *self, PyObject *unused)
{
    (void)unused;
    if (sc_core_refresh(PyType_GetModuleState(Py_TYPE(self)), (sc_core *)self)) return NULL;
    return PyFloat_FromDouble(sc_census_diagonals(&((sc_core *)self)->t));
}

/* long_rows(most) -> entries in rows of more */
static PyObject *core_long_rows(PyObject *self, PyObject *most)
{
    sc_core *c = (sc_core *)self;
    const long long n = PyLong_AsLongLong(most);
    if (PyErr_Occurred() || sc_core_refresh(PyType_GetModuleState(Py_TYPE(self)), c)) return NULL;
    return PyLong_FromLongLong(sc_census_long_rows(&c->t, n));
}

static PyObject *core_memory(PyObject *self, PyObject *unused)
{
    (void)unused;
    sc_core *c = (sc_core *)self;
    PyObject *list = PyList_New(0);
    for (sc_derived *d = sc_core_root(c)->derived; list && d; d = d->next) {
        char text[512];
        sc_format_print(&d->core->t.format, text, sizeof text);
        if (append(list, Py_BuildValue("(sL)", text, (long long)sc_derived_bytes(d)))) Py_CLEAR(list);
    }
    return list ? Py_BuildValue("(LN)", (long long)sc_core_bytes(c), list) : NULL;
}

/* Whether a shape is that of the last dimensions; also of another core. */
static PyObject *core_ends_with(PyObject *self, PyObject *x)
{
    const sc_core *c = (const sc_core *)self, *d = (const sc_core *)x;
    bool core = Py_TYPE(x) == Py_TYPE(self);
    if (!core && !PyTuple_Check(x)) return PyErr_Format(PyExc_TypeError, "expected a core or a shape");
    int n = core ? d->t.format.ndim : (int)PyTuple_Size(x), skip = c->t.format.ndim - n;
    for (int i = 0; skip >= 0 && i < n; i++) {
        int64_t extent = core ? d->t.view.dim[i] : PyLong_AsLongLong(PyTuple_GetItem(x, i));
        if (extent != c->t.view.dim[skip + i]) skip = -1;
    }
    return PyErr_Occurred() ? NULL : PyBool_FromLong(skip >= 0);
}

static void core_dealloc(PyObject *self)
{
    sc_core *c = (sc_core *)self;
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    sc_derived_drop(c);
    for (int i = 0; i < c->ncomp; i++) {
        Py_XDECREF(c->comp[i].tensor);
        Py_XDECREF(c->comp[i].seen);
    }
    Py_XDECREF(c->perm);
    Py_XDECREF((PyObject *)c->origin);
    Py_XDECREF(c->shared_by);
    free(c->filling);
    release(self);
    Py_DECREF(type);
}

bool sc_bind_overlap(const void *a, int64_t n, const void *b, int64_t m)
{
    const char *x = a, *y = b;
    return n > 0 && m > 0 && x < y + m && y < x + n;
}

bool sc_core_overlaps(const sc_core *core, const void *a, int64_t n)
{
    for (int i = 0; i < core->ncomp; i++) {
        const sc_component *c = &core->comp[i];
        if (sc_bind_overlap(a, n, c->data, c->n * (c->dtype.bits / 8))) return true;
    }
    return false;
}

static PyMethodDef core_methods[] = {
    {"refresh", core_refresh, METH_NOARGS,
     "looks at components again but inference tensors, whose writes nobody counts; ValueError if malformed"},
    {"with_values", core_with_values, METH_O,
     "a core of the same structure with other values, sharing derived layouts"},
    {"shared", core_shared, METH_NOARGS, "a dict that tensors of this structure share"},
    {"release", core_release, METH_NOARGS, "drops derived layouts, and what was counted"},
    {"expect", core_expect, METH_NOARGS, "says that products with it will be many: a layout of its own pays"},
    {"many", core_many, METH_NOARGS, "whether products with it are many, as was counted or said"},
    {"blocks", core_blocks, METH_VARARGS,
     "blocks(side, share) -> (entries seen, blocks, entries in full ones)"},
    {"diagonals", core_diagonals, METH_NOARGS, "diagonals() -> entries that a diagonal of 16 rows has"},
    {"long_rows", core_long_rows, METH_O, "long_rows(most) -> entries in rows of more"},
    {"memory", core_memory, METH_NOARGS, "(bytes, [(format, bytes)])"},
    {"ends_with", core_ends_with, METH_O, "whether the last extents are those of a shape or a core"},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot core_slots[] = {
    {Py_tp_new, (void *)(uintptr_t)core_new},
    {Py_tp_dealloc, (void *)(uintptr_t)core_dealloc},
    {Py_tp_methods, core_methods},
    {0, NULL},
};

int sc_core_register(PyObject *module, sc_state *s)
{
    static PyType_Spec spec = {"scorch._C.Core", sizeof(sc_core), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, core_slots};
    s->core_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return s->core_type ? PyModule_AddObjectRef(module, "Core", (PyObject *)s->core_type) : -1;
}
