/* torch_abi.c: the operators torch.compile and torch.export see.
 *
 *   scorch::evaluate(str program, Tensor[] operands, SymInt[] sizes) -> Tensor
 *   scorch::program(str program, Tensor[] operands, SymInt[] sizes) -> Tensor[]
 *   scorch::run and scorch::run_many, the same without derivatives: what graphs of torch.compile hold
 *
 * operands are plain tensors: the components of each sparse operand (per level
 * pos, crd; then values) and the dense operands as they are, in the order of the
 * program string. sizes are the extents of the sparse operands, one after the
 * other. evaluate returns one dense result, whatever the program infers; program returns all results in order: a
 * dense one as it is, a sparse one as its components, one with the structure of an operand as its values, in the
 * operand's order. A kernel is called with handles it owns, and can
 * report an error only by a function that throws a C++ exception through it: so everything is released first,
 * and the throw is the last statement. This file is compiled with -fexceptions. */
#include "torch_graph.h"

#define torch sc_torch

bool sc_torch_grad_enabled(void) { return torch.aoti_torch_grad_mode_is_enabled(); }

/* ---- what a kernel is called with ---- */
typedef struct {
    StringHandle program;
    StableListHandle operands, sizes;
    AtenTensorHandle *handle; /* of every operand tensor */
    sc_graph_call call;
} arguments;

static int open_sizes(arguments *a, sc_err *e)
{
    for (size_t i = 0; i < a->call.nsize; i++) {
        StableIValue v;
        if (torch.torch_list_get_item(a->sizes, i, &v)) return sc_torch_broken(e);
        a->call.size[i] = (int64_t)v;
    }
    return SC_OK;
}

static int open_operands(arguments *a, sc_err *e)
{
    for (size_t i = 0; i < a->call.noperand; i++) {
        StableIValue v;
        if (torch.torch_list_get_item(a->operands, i, &v)) return sc_torch_broken(e);
        a->handle[i] = (AtenTensorHandle)(uintptr_t)v;
        if (sc_torch_view(a->handle[i], &a->call.operand[i], e)) return e->code;
    }
    return SC_OK;
}

static int open_arguments(arguments *a, sc_err *e)
{
    size_t n, nsize;
    if (torch.torch_string_length(a->program, &a->call.length) ||
        torch.torch_string_c_str(a->program, &a->call.text) || torch.torch_list_size(a->operands, &n) ||
        torch.torch_list_size(a->sizes, &nsize))
        return sc_torch_broken(e);
    if (!sc_graph_open(&a->call, n, nsize) || !(a->handle = sc_zalloc((n + 1) * sizeof *a->handle)))
        return sc_error(e, SC_ENOMEM, "out of memory");
    return open_sizes(a, e) || open_operands(a, e) ? e->code : SC_OK;
}

static void close_arguments(arguments *a)
{
    for (size_t i = 0; a->handle && i < a->call.noperand; i++) sc_torch_drop(&a->handle[i]);
    free(a->handle);
    sc_work_give(a->call.operand);
    torch.torch_delete_string(a->program);
    torch.torch_delete_list(a->operands);
    torch.torch_delete_list(a->sizes);
}

/* ---- results ---- */
static void *room(void *ctx, sc_dtype t, int ndim, const int64_t *dim)
{
    static char nothing[64];
    AtenTensorHandle *made = ctx;
    void *p = NULL;
    if (!(*made = sc_torch_empty(t, ndim, dim)) || torch.aoti_torch_get_data_ptr(*made, &p)) return NULL;
    return p ? p : nothing;
}

static int give(void *ctx, AtenTensorHandle array)
{ return torch.torch_list_push_back(*(StableListHandle *)ctx, (StableIValue)(uintptr_t)array); }

/* ---- the operators ---- */
static arguments arguments_of(const StableIValue *stack)
{
    return (arguments){.program = (StringHandle)(uintptr_t)stack[0],
                       .operands = (StableListHandle)(uintptr_t)stack[1],
                       .sizes = (StableListHandle)(uintptr_t)stack[2]};
}

static void evaluate(StableIValue *stack, uint64_t nin, uint64_t nout)
{
    sc_err e = {0};
    AtenTensorHandle made = NULL;
    arguments a = arguments_of(stack);
    a.call.room = room, a.call.ctx = &made;
    (void)nin, (void)nout;
    if (open_arguments(&a, &e) || sc_graph_run(&a.call, &e)) sc_torch_drop(&made);
    close_arguments(&a);
    stack[0] = (StableIValue)(uintptr_t)made;
    if (e.code) sc_torch_throw(&e);
}

static void program(StableIValue *stack, uint64_t nin, uint64_t nout)
{
    sc_err e = {0};
    StableListHandle list = NULL;
    arguments a = arguments_of(stack);
    a.call.give = give, a.call.ctx = &list;
    (void)nin, (void)nout;
    if (torch.torch_new_list_reserve_size(0, &list)) sc_torch_broken(&e);
    if (e.code || open_arguments(&a, &e) || sc_graph_run(&a.call, &e))
        torch.torch_delete_list(list), list = NULL;
    close_arguments(&a);
    stack[0] = (StableIValue)(uintptr_t)list;
    if (e.code) sc_torch_throw(&e);
}

/* ---- registration ---- */
static int define(void)
{
    TorchLibraryHandle def = NULL, impl = NULL; /* live as long as the process */
    return torch.aoti_torch_library_init_fragment("scorch", __FILE__, __LINE__, &def) ||
           torch.aoti_torch_library_def(
               def, "evaluate(str program, Tensor[] operands, SymInt[] sizes) -> Tensor") ||
           torch.aoti_torch_library_def(
               def, "program(str program, Tensor[] operands, SymInt[] sizes) -> Tensor[]") ||
           torch.aoti_torch_library_def(def,
                                        "run(str program, Tensor[] operands, SymInt[] sizes) -> Tensor") ||
           torch.aoti_torch_library_def(
               def, "run_many(str program, Tensor[] operands, SymInt[] sizes) -> Tensor[]") ||
           torch.aoti_torch_library_init_impl("scorch", "CPU", __FILE__, __LINE__, &impl) ||
           torch.torch_library_impl(impl, "evaluate", evaluate, SC_TORCH_BUILD) ||
           torch.torch_library_impl(impl, "program", program, SC_TORCH_BUILD) ||
           torch.torch_library_impl(impl, "run", evaluate, SC_TORCH_BUILD) ||
           torch.torch_library_impl(impl, "run_many", program, SC_TORCH_BUILD) ||
           sc_torch_define_attention(def, impl);
}

int sc_torch_connect(void *lib, sc_err *e)
{
    static bool done;
    if (done) return 0;
    const int rc = sc_torch_find(lib, e);
    if (rc) return rc;
    if (define()) return sc_error(e, SC_EINTERNAL, "torch refused to register the operators of scorch");
    sc_dense_install(sc_torch_multiply, sc_torch_is_swift());
    sc_watch_connect();
    done = true;
    return 0;
}
