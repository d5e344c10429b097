/* module.c: the extension module scorch._C.
 *
 * Multi-phase initialisation, the limited API, heap types, all state in one
 * struct. Loading the module does nothing but make types; `connect`, called once
 * by the Python side, hands in what belongs to torch: its tensor types, the
 * exchange table, the path of the loaded library, and the probes that say
 * whether anything but plain eager arithmetic is going on. */
#include "bind.h"

#include <stdatomic.h>

#include <dlfcn.h>
#include <string.h>

/* ---- connect ---- */
static int read_guards(sc_state *s, PyObject *guards)
{
    Py_ssize_t n = PyTuple_Size(guards);
    if (n > SC_MAXGUARD) return PyErr_Format(PyExc_ValueError, "expected at most %d guards", SC_MAXGUARD), -1;
    for (; s->nguard < n; s->nguard++) s->guard[s->nguard] = Py_NewRef(PyTuple_GetItem(guards, s->nguard));
    return 0;
}

/* The strings of s->name, in its order. */
static const char *const name_text[] = {
    "_version",
    "requires_grad",
    "is_neg",
    "_current_level",
    "dtype",
    "device",
    "is_cpu",
    "_with_values",
    "detach",
    "to_save",
    "materialize_grads",
    "facts",
    "_core",
    "_fmt",
    "_ndim",
    "_names",
    "_shape",
    "_val",
    "_origin",
    "_made",
};

static int names(sc_state *s)
{
    PyObject **name = (PyObject **)&s->name;
    _Static_assert(sizeof s->name == SC_LEN(name_text) * sizeof *name, "a string for each name");
    for (int i = 0; i < SC_LEN(name_text); i++)
        if (!(name[i] = PyUnicode_InternFromString(name_text[i]))) return -1;
    return 0;
}

static int join_library(sc_state *s, const char *path, int threads)
{
    sc_err e = {0};
    void *lib = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (!lib)
        return PyErr_Format(PyExc_ImportError, "scorch expected torch's library to be loaded from %s", path),
               -1;
    if (sc_torch_connect(lib, &e)) return PyErr_SetString(PyExc_ImportError, e.msg), -1;
    (void)s;
    (void)sc_team_connect(lib, threads, &e); /* without OpenMP: one thread */
    sc_stop_connect();
    sc_bundle_register();
    return 0;
}

static PyObject *module_connect(PyObject *module, PyObject *args)
{
    sc_state *s = PyModule_GetState(module);
    const char *path;
    PyObject *tensor, *parameter, *capsule, *guards, *dual, *readable, *swaps, *alone, *repeats;
    int threads, validate;
    if (!PyArg_ParseTuple(args, "sOOOO!O!iOOOOp", &path, &tensor, &parameter, &capsule, &PyTuple_Type,
                          &guards, &PyDict_Type, &dual, &threads, &readable, &swaps, &alone, &repeats,
                          &validate))
        return NULL;
    if (s->dl) Py_RETURN_NONE;
    s->readable = Py_NewRef(readable);
    s->swaps = Py_NewRef(swaps);
    s->alone = Py_NewRef(alone);
    s->repeats = Py_NewRef(repeats);
    s->validate = validate;
    s->tensor_type = Py_NewRef(tensor);
    s->parameter_type = Py_NewRef(parameter);
    s->dual_level = Py_NewRef(dual);
    if (names(s) || read_guards(s, guards) || join_library(s, path, threads) || sc_bind_connect(s, capsule))
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *module_configure(PyObject *module, PyObject *args)
{
    sc_config c = {0};
    sc_err e = {0};
    int jit;
    Py_ssize_t n[3];
    long long memory;
    if (!PyArg_ParseTuple(args, "iz#z#z#L", &jit, &c.cc, &n[0], &c.cflags, &n[1], &c.cache_dir, &n[2],
                          &memory))
        return NULL;
    c.jit = (sc_jit_mode)jit;
    c.memory = memory;
    if (sc_configure(&c, &e)) return sc_bind_raise(PyModule_GetState(module), &e);
    Py_RETURN_NONE;
}

/* ---- formats and conversion ---- */

static PyObject *level_tuple(const sc_levelspec *l)
{
    return Py_BuildValue("(siiiii)", sc_kinds[l->kind].name, (int)l->unique, (int)l->dim, (int)l->part,
                         (int)l->block, (int)l->width);
}

/* format(text, ndim) -> (canonical text, levels as text, ((kind, unique, dim, part, block, width), ...)) */
static PyObject *module_format(PyObject *module, PyObject *args)
{
    const char *text;
    int ndim;
    sc_err e = {0};
    sc_format f;
    char name[512], levels[1024];
    if (!PyArg_ParseTuple(args, "si", &text, &ndim)) return NULL;
    if (sc_format_parse(&f, text, ndim, &e)) return sc_bind_raise(PyModule_GetState(module), &e);
    sc_format_print(&f, name, sizeof name);
    sc_format_print_levels(&f, levels, sizeof levels);
    PyObject *list = PyTuple_New(f.nlevel);
    for (int l = 0; list && l < f.nlevel; l++) sc_bind_put(&list, l, level_tuple(&f.level[l]));
    return list ? Py_BuildValue("(ssN)", name, levels, list) : NULL;
}

static int read_source(const sc_state *s, PyObject *x, sc_tensor *from, sc_core **core)
{
    sc_borrowed b;
    *core = NULL;
    if (Py_TYPE(x) == s->core_type) {
        *core = (sc_core *)x;
        if (sc_core_refresh(s, *core)) return -1;
        *from = (*core)->t;
        return 0;
    }
    if (sc_bind_read(s, x, &b)) return -1;
    *from = b.t;
    return 0;
}

/* few(matrix, most) -> the core of a dense matrix as csr, None where it has more values than that. */
static PyObject *module_few(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x;
    long long most;
    bool over;
    int rc;
    sc_borrowed b;
    sc_err e = {0};
    sc_sink sink = {.dl = s->dl};
    if (!PyArg_ParseTuple(args, "OL", &x, &most) || sc_bind_read(s, x, &b)) return NULL;
    const bool wide = b.n > INT32_MAX || b.t.view.dim[0] > INT32_MAX || b.t.view.dim[1] > INT32_MAX;
    sc_tensor to = {.itype = wide ? SC_I64 : SC_I32};
    if (sc_format_parse(&to.format, "csr", b.t.format.ndim, &e)) return sc_bind_raise(s, &e);
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_convert_few(&b.t, most, &to, sc_sink_alloc, &sink, &over, &e);
    Py_END_ALLOW_THREADS;
    PyObject *r = rc     ? sc_bind_raise(s, &e)
                  : over ? Py_NewRef(Py_None)
                         : (PyObject *)sc_core_wrap(s, &to, &sink, NULL);
    sc_sink_clear(&sink);
    return r;
}

/* room(like, rows, columns) -> a matrix of its type, not zeroed, whose memory is kept when it is freed. */
static PyObject *module_room(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x;
    long long rows, columns;
    sc_borrowed b;
    if (!PyArg_ParseTuple(args, "OLL", &x, &rows, &columns) || sc_bind_read(s, x, &b)) return NULL;
    const int64_t dim[] = {rows, columns};
    sc_dl_managed *m = sc_dense_alloc(s->dl, b.t.dtype, 2, dim);
    return m ? sc_dense_object(s->dl, m) : sc_dense_nomem(b.t.dtype, 2, dim);
}

static PyObject *module_fits(PyObject *module, PyObject *bytes)
{
    (void)module;
    const double n = PyFloat_AsDouble(bytes);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(sc_fits(n));
}

/* convert(source, format, wide, perm=False) -> (format, shape, components), and with perm: the source
 * position of each value, or None. wide: int64 indices. */
static PyObject *module_convert(PyObject *module, PyObject *args)
{
    const sc_state *s = PyModule_GetState(module);
    PyObject *x;
    const char *text;
    int wide, rc, want = 0;
    if (!PyArg_ParseTuple(args, "Osp|p", &x, &text, &wide, &want)) return NULL;
    sc_err e = {0};
    sc_core *core;
    sc_sink sink = {.dl = s->dl};
    sc_tensor from, to = {.itype = wide ? SC_I64 : SC_I32};
    int64_t *perm = NULL;
    if (read_source(s, x, &from, &core)) return NULL;
    if (sc_format_parse(&to.format, text, from.format.ndim, &e)) return sc_bind_raise(s, &e);
    Py_BEGIN_ALLOW_THREADS;
    rc = sc_convert(&from, &to, sc_sink_alloc, &sink, want ? &perm : NULL, &e);
    Py_END_ALLOW_THREADS;
    PyObject *r = rc ? sc_bind_raise(s, &e) : sc_core_pack(&to, &sink, &core, core != NULL);
    if (r && want) {
        PyObject *order = perm ? sc_sink_take(&sink, perm, to.view.nval) : Py_NewRef(Py_None);
        PyObject *both = order ? Py_BuildValue("(NN)", r, order) : NULL;
        if (!order) Py_DECREF(r);
        r = both;
    }
    sc_sink_clear(&sink);
    return r;
}

/* fingerprint(tensors) -> bytes */
static PyObject *module_fingerprint(PyObject *module, PyObject *list)
{
    const sc_state *s = PyModule_GetState(module);
    const Py_ssize_t n = PyTuple_Size(list);
    sc_digest all = {.low = (uint64_t)n};
    for (Py_ssize_t i = 0; i < n; i++) {
        sc_borrowed b;
        if (sc_bind_read(s, PyTuple_GetItem(list, i), &b)) return NULL;
        if (!b.contiguous) return PyErr_Format(PyExc_ValueError, "expected contiguous tensors");
        const sc_digest part[] = {all,
                                  {.low = (uint64_t)b.t.dtype},
                                  sc_fingerprint(b.t.view.dim, sizeof b.t.view.dim),
                                  sc_fingerprint(b.t.view.val, (size_t)b.n * sc_dtype_size(b.t.dtype))};
        all = sc_fingerprint(part, sizeof part);
    }
    return n < 0 ? NULL : PyBytes_FromStringAndSize((const char *)&all, sizeof all);
}

/* ---- the process ---- */
static PyObject *module_stats(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    sc_stats t;
    sc_stats_get(&t);
    return Py_BuildValue(
        "{sLsLsLsLsLsLsLs{sLsLsL}sdsdsds{sLsLsLsL}}", "tuned", (long long)t.tuned, "programs",
        (long long)t.programs, "compiled", (long long)t.compiled, "from_memory", (long long)t.from_memory,
        "from_disk", (long long)t.from_disk, "from_bundle", (long long)t.from_bundle, "executor",
        (long long)t.executor, "runs", "bundle", (long long)t.runs[SC_WAY_BUNDLE], "jit",
        (long long)t.runs[SC_WAY_JIT], "executor", (long long)t.runs[SC_WAY_EXECUTOR], "path_seconds",
        (double)t.path_ns * 1e-9, "compile_seconds", (double)t.compile_ns * 1e-9, "load_seconds",
        (double)t.load_ns * 1e-9, "kept", "keys", (long long)t.kept_keys, "bytes", (long long)t.kept_bytes,
        "limit", (long long)t.kept_limit, "forgotten", (long long)t.forgotten);
}

static PyObject *module_info(PyObject *module, PyObject *unused)
{
    (void)unused;
    sc_err e = {0};
    char text[8192] = "";
    if (sc_info(text, sizeof text, &e)) return sc_bind_raise(PyModule_GetState(module), &e);
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *module_width(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyLong_FromLong(sc_team_width());
}

static PyObject *module_clear_cache(PyObject *module, PyObject *unused)
{
    (void)unused;
    int64_t removed = 0;
    sc_err e = {0};
    if (sc_clear_cache(&removed, &e)) return sc_bind_raise(PyModule_GetState(module), &e);
    return PyLong_FromLongLong(removed);
}

static PyObject *module_release(PyObject *module, PyObject *unused)
{
    (void)unused;
    sc_bind_forget(PyModule_GetState(module));
    const int64_t layouts = sc_kept_clear();
    return PyLong_FromLongLong(layouts + sc_work_clear());
}

static PyObject *module_calibrate(PyObject *module, PyObject *forget)
{
    sc_speeds s;
    sc_err e = {0};
    const int yes = PyObject_IsTrue(forget);
    bool kept = false;
    int rc;
    if (yes < 0) return NULL;
    Py_BEGIN_ALLOW_THREADS rc = sc_calibrate(yes, &s, &kept, &e);
    Py_END_ALLOW_THREADS if (rc) return sc_bind_raise(PyModule_GetState(module), &e);
    PyObject *out = PyDict_New();
    for (int k = 0; out && k < SC_NSPEED; k++) {
        PyObject *step = PyLong_FromLong(s.step[k]);
        if (!step || PyDict_SetItemString(out, sc_speed_names[k], step)) Py_CLEAR(out);
        Py_XDECREF(step);
    }
    return out ? Py_BuildValue("NO", out, kept ? Py_True : Py_False) : NULL;
}

static PyObject *module_hand_out(PyObject *module, PyObject *none)
{
    sc_state *s = PyModule_GetState(module);
    (void)none;
    s->handed++;
    Py_RETURN_NONE;
}

/* For tests, which make every allocation fail in turn. */
static PyObject *module_fail_alloc(PyObject *module, PyObject *args)
{
    long first, n;
    (void)module;
    if (!PyArg_ParseTuple(args, "ll", &first, &n)) return NULL;
    return PyLong_FromLong(sc_fail_alloc(first, n));
}

static PyMethodDef methods[] = {
    {"connect", module_connect, METH_VARARGS,
     "connect(library, Tensor, Parameter, exchange, guards, dual, threads, readable, swaps, alone, "
     "repeats, validate)"},
    {"configure", module_configure, METH_VARARGS,
     "configure(jit, cc, cflags, cache_dir, memory): bytes, as the environment has them"},
    {"format", module_format, METH_VARARGS, "format(text, ndim) -> (name, levels as text, levels)"},
    {"convert", module_convert, METH_VARARGS, "convert(source, format, wide) -> (format, shape, components)"},
    {"few", module_few, METH_VARARGS, "few(matrix, most) -> its core as csr, None where it has more values"},
    {"room", module_room, METH_VARARGS, "room(like, rows, columns) -> a matrix of its type, not zeroed"},
    {"fits", module_fits, METH_O, "fits(bytes) -> whether the system has so much memory left"},
    {"hand_out", module_hand_out, METH_NOARGS, "from now on others may write to values past their versions"},
    {"fingerprint", module_fingerprint, METH_O,
     "fingerprint(tensors) -> bytes that change with any byte, of this process alone"},
    {"stats", module_stats, METH_NOARGS, "counts of this process"},
    {"info", module_info, METH_NOARGS, "facts about this process, one a line"},
    {"width", module_width, METH_NOARGS, "threads a region may use now"},
    {"release", module_release, METH_NOARGS, "frees memory kept between calls; returns its bytes"},
    {"calibrate", module_calibrate, METH_O, "calibrate(forget) -> steps of the speeds, kept"},
    {"fail_alloc", module_fail_alloc, METH_VARARGS,
     "fail_alloc(first, n) -> failed: the first-th request for memory from now on and n - 1 behind it fail"},
    {"clear_cache", module_clear_cache, METH_NOARGS, "removes cached kernels; returns their number"},
    {NULL, NULL, 0, NULL},
};

/* ---- life and death ---- */
static int add_stages(PyObject *module)
{
    int n = 0;
    while (sc_program_stage(n)) n++;
    PyObject *stages = PyTuple_New(n);
    for (int k = 0; stages && k < n; k++) {
        PyObject *name = PyUnicode_FromString(sc_program_stage(k));
        if (!name || PyTuple_SetItem(stages, k, name)) Py_CLEAR(stages);
    }
    const int rc = stages ? PyModule_AddObjectRef(module, "stages", stages) : -1;
    Py_XDECREF(stages);
    return rc;
}

static int add_constants(PyObject *module)
{
    if (PyModule_AddStringConstant(module, "version", SC_VERSION) || add_stages(module)) return -1;
    if (PyModule_AddIntConstant(module, "slice_rows", SC_SLICE)) return -1;
    if (PyModule_AddIntConstant(module, "large", SC_LARGE)) return -1;
    return PyModule_AddIntConstant(module, "remembered", SC_REMEMBERED);
}

static int module_exec(PyObject *module)
{
    sc_state *s = PyModule_GetState(module);
    s->compile_error = PyErr_NewExceptionWithDoc(
        "scorch.CompileError",
        "The C compiler, or loading what it made, failed.\n\n"
        ">>> A = scorch.sparse(torch.eye(3))\n"
        ">>> try:\n"
        "...     y = scorch.evaluate(\"y[i] = A[i,j] * x[j]\", A=A, x=torch.ones(3))\n"
        "... except scorch.CompileError as error:\n"
        "...     print(\"install a C compiler, or set SCORCH_JIT=off:\", error)\n",
        PyExc_RuntimeError, NULL);
    if (!s->compile_error || PyModule_AddObjectRef(module, "CompileError", s->compile_error)) return -1;
    if (PyModule_AddFunctions(module, methods) || PyModule_AddFunctions(module, sc_call_methods) ||
        PyModule_AddFunctions(module, sc_gradient_methods) ||
        PyModule_AddFunctions(module, sc_conv_map_methods) ||
        PyModule_AddFunctions(module, sc_select_methods) || PyModule_AddFunctions(module, sc_topk_methods) ||
        PyModule_AddFunctions(module, sc_sample_methods) ||
        PyModule_AddFunctions(module, sc_matmul_methods) || PyModule_AddFunctions(module, sc_again_methods) ||
        PyModule_AddFunctions(module, sc_tuned_methods) || PyModule_AddFunctions(module, sc_watch_methods) ||
        PyModule_AddFunctions(module, sc_sampling_methods) ||
        PyModule_AddFunctions(module, sc_values_methods) ||
        PyModule_AddFunctions(module, sc_values_node_methods) ||
        PyModule_AddFunctions(module, sc_direct_methods) || add_constants(module))
        return -1;
    return sc_core_register(module, s);
}

static int module_traverse(PyObject *module, visitproc visit, void *arg)
{
    sc_state *s = PyModule_GetState(module);
    if (!s) return 0;
    Py_VISIT(s->core_type);
    Py_VISIT(s->compile_error);
    Py_VISIT(s->tensor_type);
    Py_VISIT(s->parameter_type);
    Py_VISIT(s->dual_level);
    Py_VISIT(s->readable);
    Py_VISIT(s->swaps);
    Py_VISIT(s->repeats);
    Py_VISIT(s->alone);
    Py_VISIT(s->sparse.type);
    Py_VISIT(s->sparse.core_of);
    Py_VISIT(s->sparse.record);
    Py_VISIT(s->sparse.node);
    Py_VISIT(s->sparse.read);
    for (int i = 0; i < SC_LEN(s->sparse.derivatives); i++) Py_VISIT(s->sparse.derivatives[i]);
    Py_VISIT(s->sparse.single);
    for (int i = 0; i < s->nguard; i++) Py_VISIT(s->guard[i]);
    return 0;
}

static int module_clear(PyObject *module)
{
    sc_state *s = PyModule_GetState(module);
    if (!s) return 0;
    Py_CLEAR(s->core_type);
    Py_CLEAR(s->compile_error);
    Py_CLEAR(s->tensor_type);
    Py_CLEAR(s->parameter_type);
    Py_CLEAR(s->dual_level);
    Py_CLEAR(s->readable);
    Py_CLEAR(s->swaps);
    Py_CLEAR(s->repeats);
    Py_CLEAR(s->alone);
    for (; s->nguard; s->nguard--) Py_CLEAR(s->guard[s->nguard - 1]);
    Py_CLEAR(s->sparse.type);
    Py_CLEAR(s->sparse.make);
    Py_CLEAR(s->sparse.seal);
    Py_CLEAR(s->sparse.default_type);
    Py_CLEAR(s->sparse.default_device);
    Py_CLEAR(s->sparse.recorded);
    Py_CLEAR(s->sparse.record);
    Py_CLEAR(s->sparse.node);
    Py_CLEAR(s->sparse.read);
    for (int i = 0; i < SC_LEN(s->sparse.derivatives); i++) Py_CLEAR(s->sparse.derivatives[i]);
    Py_CLEAR(s->sparse.core_of);
    Py_CLEAR(s->sparse.single);
    for (int i = 0; i < SC_LEN(name_text); i++) Py_CLEAR(((PyObject **)&s->name)[i]);
    sc_bind_forget(s);
    return 0;
}

static void module_free(void *module) { (void)module_clear(module); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)(uintptr_t)module_exec}, {0, NULL}};

static PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "scorch._C",
    .m_doc = "The C side of scorch: private, its names may change.",
    .m_size = sizeof(sc_state),
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
    .m_free = module_free,
};

PyMODINIT_FUNC PyInit__C(void);
PyMODINIT_FUNC PyInit__C(void) { return PyModuleDef_Init(&definition); }
