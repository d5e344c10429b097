"""SparseTensors in what surrounds computing: copies, files, processes, modules, optimizers."""

import copy
import io
import pickle
from multiprocessing.reduction import ForkingPickler

import pytest
import torch
import torch.utils.data
from torch._dynamo.utils import counters

import scorch
import scorch.nn

COMPOSED = ["csr of band(-1,1) + csr", "bsr(2,3) of blocks(2,3,0.5) + coo"]
FORMATS = ["csr", "csc", "coo", "dcsc", "bsr(2,3)", "ell(6)", *COMPOSED]
DTYPES = [torch.float32, torch.bfloat16, torch.float16, torch.int32, torch.int64, torch.bool]


def matrix(seed=0, dtype=torch.float32, rows=8, cols=6):
    g = torch.Generator().manual_seed(seed)
    values = torch.randint(1, 9, (rows, cols), generator=g)
    return (values * (torch.rand(rows, cols, generator=g) < 0.4)).to(dtype)


class Model(torch.nn.Module):
    def __init__(self, a):
        super().__init__()
        self.register_buffer("a", a)
        self.linear = torch.nn.Linear(4, 6)

    def forward(self, x):
        return self.a @ self.linear(x)


# ---- copies and files ----
@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_survives(fmt, dtype):
    d = matrix(dtype=dtype)
    a = scorch.sparse(d, fmt)
    file = io.BytesIO()
    torch.save([a, {"a": a}], file)
    file.seek(0)
    saved, _ = torch.load(file, weights_only=True)
    for b in (copy.deepcopy(a), pickle.loads(pickle.dumps(a)), saved, a.clone(), a.convert("csr")):
        assert b.dtype == dtype and torch.equal(b.to_dense(), d)
    wide = a.to(index_dtype=torch.int64)
    assert wide.index_dtype == torch.int64 and torch.equal(wide.to_dense(), d)
    for other in DTYPES:
        assert torch.equal(a.to(other).to_dense(), d.to(other))
    assert torch.equal(a.to(torch.ones(1).double()).to_dense(), d.double())
    assert (
        torch.equal(a.type_as(torch.ones(1)).to_dense(), d.float())
        and a.type(torch.float64).dtype == torch.float64
    )


@pytest.mark.parametrize("wanted", [True, False])
def test_copies_and_files_keep_the_wish_for_a_gradient(wanted):
    def saved(x):
        file = io.BytesIO()
        torch.save(x, file)
        file.seek(0)
        return torch.load(file, weights_only=True)

    a = scorch.sparse(matrix(), "csr")
    p, leaf = torch.nn.Parameter(a.clone(), requires_grad=wanted), a.clone().requires_grad_(wanted)
    module = torch.nn.Module()
    module.p = p
    for copied in (copy.deepcopy, saved, lambda x: pickle.loads(pickle.dumps(x))):
        for x in (p, leaf):
            y = copied(x)
            assert y.requires_grad == wanted and y.is_leaf and type(y) is type(x)
            assert isinstance(y, torch.nn.Parameter) == isinstance(x, torch.nn.Parameter)
    other = copy.deepcopy(module)
    assert other.p.requires_grad == wanted and next(other.parameters()) is other.p
    if wanted:
        (other.p @ torch.ones(6, 2)).sum().backward()
        assert other.p.grad is not None and p.grad is None
        with pytest.raises(RuntimeError, match="detach"):
            copy.deepcopy(p * 2)
        assert saved(p * 2).requires_grad


@pytest.mark.parametrize("fmt", FORMATS)
def test_copies_of_leaves_have_their_gradient(fmt):
    """Those of torch's parameters have none."""
    for a in (scorch.sparse(matrix(), fmt), matrix()):
        for x, kept in ((a.clone().requires_grad_(), True), (torch.nn.Parameter(a.clone()), False)):
            x.square().sum().backward()
            y, again = copy.deepcopy([x, x])
            assert y is again and (y.grad is not None) == kept
            if kept:
                assert y.grad is not x.grad and torch.equal(y.grad.to_dense(), x.grad.to_dense())


def test_data_is_replaced_as_a_whole():
    a, x = scorch.sparse(matrix(), "csr"), torch.ones(6, 2)
    p = torch.nn.Parameter(a.clone())
    before = p @ x
    for b in (2 * a, scorch.sparse(matrix(seed=1), "coo"), a.double()):
        p.data = b
        assert p.format == b.format and p.dtype == b.dtype and p.nnz == b.nnz and p.requires_grad
        assert torch.equal((p @ x.to(b.dtype)).detach(), b @ x.to(b.dtype))
        assert torch.equal(p.T.detach().to_dense(), b.to_dense().T)
    assert isinstance(p, torch.nn.Parameter) and torch.equal(before.detach(), a @ x)
    for wrong in (matrix(), scorch.sparse(matrix()[1:])):
        with pytest.raises(NotImplementedError, match="of one shape"):
            p.data = wrong


def test_types_under_their_names():
    a = scorch.sparse(matrix(), "csr")
    for name in ("float", "double", "half", "bfloat16", "int", "long", "short", "char", "byte", "bool"):
        assert torch.equal(getattr(a, name)().to_dense(), getattr(matrix(), name)())
    for refused in (
        lambda: a.to("meta"),
        lambda: a.cuda(),
        lambda: a.to(torch.complex64),
        lambda: a.cfloat(),
    ):
        with pytest.raises((NotImplementedError, TypeError)):
            refused()


def test_deepcopy_of_a_module_with_a_sparse_buffer():
    model = Model(scorch.sparse(matrix(), "csr"))
    other = copy.deepcopy(model)
    other.a.mul_(2)
    assert torch.equal(model.a.to_dense(), matrix()) and torch.equal(other.a.to_dense(), 2 * matrix())
    assert torch.equal(
        model.double()(torch.ones(3, 6, 4).double()[0]), model.a @ model.linear(torch.ones(6, 4).double())
    )


def test_state_dict_of_another_pattern_is_refused():
    one, two = Model(scorch.sparse(matrix(), "csr")), Model(scorch.sparse(3 * matrix(), "csr"))
    file = io.BytesIO()
    torch.save(one.state_dict(), file)
    file.seek(0)
    two.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(two.a.to_dense(), matrix())
    moved = matrix().roll(1, 1)  # as many entries, elsewhere
    three = Model(scorch.sparse(moved, "csr"))
    with pytest.raises(RuntimeError, match="structure"):
        three.load_state_dict(one.state_dict())
    assert torch.equal(three.a.to_dense(), moved)
    three.load_state_dict(one.state_dict(), assign=True)
    assert torch.equal(three.a.to_dense(), matrix())
    with pytest.raises(RuntimeError):
        Model(scorch.sparse(matrix(), "csc")).load_state_dict(one.state_dict())


# ---- processes ----
class Graphs(torch.utils.data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, k):
        return scorch.sparse(matrix(seed=k), "csr"), torch.full((2,), float(k)), k


@pytest.mark.parametrize("how", ["fork", "spawn"])
def test_workers_of_a_loader(how):
    torch.mm(torch.ones(200, 200), torch.ones(200, 200))
    scorch.sparse(matrix(), "csr") @ torch.ones(6, 2)
    options = {"num_workers": 1, "multiprocessing_context": how, "timeout": 60}
    loader = torch.utils.data.DataLoader(Graphs(), batch_size=2, collate_fn=scorch.collate, **options)
    seen = 0
    for batch, dense, k in loader:
        wanted = torch.stack([matrix(seed=int(i)) for i in k])
        assert torch.equal(batch.to_dense(), wanted) and dense.shape == (2, 2)
        assert torch.equal(batch @ torch.ones(2, 6, 3), wanted @ torch.ones(2, 6, 3))
        seen += 1
    assert seen == 3


def test_default_collate_stacks():
    batch, dense, k = next(iter(torch.utils.data.DataLoader(Graphs(), batch_size=3)))
    assert (
        scorch.is_sparse(batch)
        and batch.shape == (3, 8, 6)
        and k.tolist() == [0, 1, 2]
        and dense.shape == (3, 2)
    )


def double_in_place(a):
    a.mul_(2)


def test_shared_memory_reaches_another_process():
    a = scorch.sparse(matrix(), "csr").share_memory_()
    assert a.is_shared() and Model(a).share_memory().a.is_shared()
    context = torch.multiprocessing.get_context("fork")
    worker = context.Process(target=double_in_place, args=(a,))
    worker.start()
    worker.join(60)
    assert torch.equal(a.to_dense(), 2 * matrix())


@pytest.mark.parametrize("fmt", FORMATS)
def test_results_with_a_graph_go_to_no_other_process(fmt):
    a = scorch.sparse(matrix(), fmt)
    for x in (a, torch.nn.Parameter(a), a * 2):
        assert torch.equal(pickle.loads(ForkingPickler.dumps(x)).to_dense(), x.detach().to_dense())
    with pytest.raises(RuntimeError, match="detach"):
        ForkingPickler.dumps(a.requires_grad_() * 2)


def test_vectors_of_parameters():
    """torch counts the zeros of a SparseTensor."""
    utils, layer = torch.nn.utils, scorch.nn.Linear(4, 3, density=0.5)
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.numel() == layer.values.numel() + 3
    utils.vector_to_parameters(2 * vector, layer.parameters())
    torch.testing.assert_close(utils.parameters_to_vector(layer.parameters()), 2 * vector)
    for fmt in ("csr", COMPOSED[0]):
        with pytest.raises(NotImplementedError, match="hold the values"):
            utils.parameters_to_vector([torch.nn.Parameter(scorch.sparse(matrix(), fmt))])


# ---- optimizers ----
OPTIMIZERS = [
    ("SGD", {}), ("SGD", {"momentum": 0.9}), ("SGD", {"foreach": True}), ("SGD", {"fused": True}),
    ("Adam", {}),
    ("Adam", {"foreach": True}), ("Adam", {"fused": True}), ("Adam", {"amsgrad": True}), ("AdamW", {}),
    ("RMSprop", {}),
    ("Adagrad", {}), ("NAdam", {}), ("RAdam", {}), ("RAdam", {"foreach": True}), ("ASGD", {}), ("Adamax", {}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options"), [*OPTIMIZERS, ("RMSprop", {"centered": True})])
def test_optimizers_step_as_on_the_values(name, options):
    a = scorch.sparse(matrix(), "csr")
    p = torch.nn.Parameter(a.clone(), requires_grad=False)
    q = torch.nn.Parameter(a.values().clone())
    sparse, plain = (getattr(torch.optim, name)([x], lr=0.1, **options) for x in (p, q))
    for step in range(8):
        g = torch.randn(a.nnz, generator=torch.Generator().manual_seed(step))
        p.grad, q.grad = scorch.map(a, lambda v, g=g: g.clone()), g.clone()
        norms = [torch.nn.utils.clip_grad_norm_([x], 2.0) for x in (p, q)]
        torch.testing.assert_close(*norms)
        q.grad.copy_(p.grad.values())
        sparse.step()
        plain.step()
    assert torch.equal(p.values(), q.detach()) and torch.equal(p.crd(1), a.crd(1))


@pytest.mark.sampled
@pytest.mark.parametrize("fmt", ["csr", "csr of band(-1,1) + csr"])
@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_compiled_steps_of_optimizers(name, options, fmt):
    torch.compiler.reset()
    ps = [torch.nn.Parameter(scorch.sparse(matrix(), fmt)) for _ in range(2)]
    first, second = (getattr(torch.optim, name)([p], lr=0.1, **options) for p in ps)
    step = torch.compile(lambda: first.step(), backend="aot_eager")
    for _ in range(3):
        for p in ps:
            (p @ torch.ones(6, 2)).square().sum().backward()
        step()
        second.step()
    torch.testing.assert_close(ps[0].values(), ps[1].values())


WHOLE = [
    ("SGD", {"momentum": 0.5, "nesterov": True}), ("Adam", {}), ("Adam", {"amsgrad": True}), ("AdamW", {}),
    ("RMSprop", {"centered": True}), ("Adagrad", {}), ("NAdam", {}), ("NAdam", {"foreach": True}),
    ("ASGD", {}), ("Adadelta", {}), ("Adamax", {}), ("RAdam", {"foreach": True}),
]  # fmt: skip


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "options"), WHOLE)
def test_compiled_steps_break_no_graph_that_a_dense_parameter_does_not_break(name, options):
    counted = []
    for make in (lambda d: d.clone(), scorch.sparse):
        torch.compiler.reset()
        counters.clear()
        ps = [torch.nn.Parameter(make(matrix())) for _ in range(2)]
        first, second = (getattr(torch.optim, name)([p], lr=0.1, weight_decay=0.5, **options) for p in ps)
        step = torch.compile(lambda step=first.step: step(), backend="aot_eager")
        for _ in range(3):
            for p in ps:
                p.grad = None
                (p @ torch.ones(6, 2)).square().sum().backward()
            step()
            second.step()
        dense = [p.detach().to_dense() if scorch.is_sparse(p) else p.detach() for p in ps]
        torch.testing.assert_close(*dense)
        assert counters["aot_autograd"]["ok"] == counters["aot_autograd"]["total"] > 0
        counted.append(sum(counters["graph_break"].values()))
    assert counted[0] == counted[1]


@pytest.mark.parametrize("options", [{"foreach": True}, {"weight_decay": 0.0}, {"weight_decay": 1.0}])
def test_compiled_steps_look_at_the_structure_of_gradients(options):
    """It may be another one with as many entries."""
    torch.compiler.reset()
    p, compiled = (
        torch.nn.Parameter(scorch.sparse(torch.eye(4))),
        torch.compile(lambda: step(), backend="aot_eager"),
    )
    step = torch.optim.SGD([p], lr=0.1, **options).step
    for grad in (torch.eye(4), 2 * torch.eye(4)):
        p.grad = scorch.sparse(grad)
        compiled()
    left = 0.9 * 0.8 - 0.2 if options.get("weight_decay") else 0.7
    torch.testing.assert_close(p.to_dense(), left * torch.eye(4))
    p.grad = scorch.sparse(torch.eye(4).flip(0))
    with pytest.raises(ValueError, match="structure"):
        compiled()


@pytest.mark.parametrize("fmt", FORMATS)
def test_compiled_changes_by_tensors_from_outside(fmt):
    torch.compiler.reset()
    changed = torch.compile(lambda a, b: a.add_(b).sub_(b, alpha=3), backend="aot_eager", fullgraph=True)
    a, b = scorch.sparse(matrix(), fmt), scorch.sparse(matrix(), fmt)
    changed(a, b)
    torch.testing.assert_close(a.to_dense(), -matrix())


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS[:-1])  # a maximum with a dense tensor is dense
def test_optimizers_take_dense_gradients_at_stored_entries(name, options):
    """As a hook of a user may give them."""
    ps = [torch.nn.Parameter(scorch.sparse(matrix(), "csr")) for _ in range(2)]
    sparse, dense = (getattr(torch.optim, name)([p], lr=0.1, **options) for p in ps)
    for step in range(3):
        g = torch.randn(matrix().shape, generator=torch.Generator().manual_seed(step))
        ps[0].grad, ps[1].grad = g.sparse_mask(ps[0].detach()), g
        sparse.step()
        dense.step()
    assert torch.equal(ps[0].values(), ps[1].values()) and not torch.equal(ps[0].to_dense(), matrix())


def twice() -> scorch.SparseTensor:
    """Each entry of the matrix is stored twice."""
    return scorch.parts(*[scorch.sparse(matrix(), "csr")] * 2)


@pytest.mark.parametrize(("name", "options"), OPTIMIZERS)
def test_entries_that_are_stored_twice_are_not_stepped(name, options):
    p = torch.nn.Parameter(twice())
    (p @ torch.ones(6, 2)).square().sum().backward()
    norms = [torch.nn.utils.clip_grad_norm_([p], 1e9, foreach=foreach) for foreach in (False, True)]
    torch.testing.assert_close(norms, [p.grad.to_dense().norm()] * 2)
    with pytest.raises(ValueError, match="several times"):
        getattr(torch.optim, name)([p], lr=0.1, **options).step()
    torch.testing.assert_close(p.to_dense(), 2 * matrix(), rtol=2e-3, atol=0)  # weights may have decayed
    torch._foreach_mul_([p.grad], 2)
    torch.testing.assert_close(p.grad.to_dense().norm(), 2 * norms[0])


@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"fused": True}])
def test_steps_count_as_changes(options):
    """So that what a backward pass needs of before is missed, and memory that is only read stays as it is."""
    p, x = torch.nn.Parameter(scorch.sparse(matrix(), "csr")), torch.ones(6, 2, requires_grad=True)
    losses = [(p @ x).square().sum() for _ in range(2)]
    losses[0].backward()
    step = torch.optim.SGD([p], lr=0.1, **options).step
    step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        losses[1].backward()
    values = p.values().detach().numpy().copy()
    values.flags.writeable = False
    p.data = scorch.from_components("csr", p.shape, [None, p.pos(1)], [None, p.crd(1)], values)
    with pytest.raises(ValueError, match="read-only"):
        step()


@pytest.mark.parametrize("options", [{}, {"foreach": True}, {"fused": True}])
def test_steps_leave_padding_zero(options):
    """Adam divides zero by zero there."""
    p = torch.nn.Parameter(scorch.sparse(matrix().triu(), "dia(4)"))
    (p @ torch.rand(6, 2)).square().sum().backward()
    torch.optim.Adam([p], lr=0.1, eps=0.0, **options).step()
    moved = matrix().triu() - 0.1 * p.grad.to_dense().sign()
    torch.testing.assert_close(p.values()[p.values() != 0].sum(), moved.sum())


def gradients(scale=1.0):
    a = scorch.sparse(matrix(), "csr")
    p, q = torch.nn.Parameter(a.clone()), torch.nn.Parameter(a.values().clone())
    p.grad = scorch.map(a, lambda v: scale * v)
    q.grad = scale * a.values()
    return p, q


def test_clipping_of_lists_at_once():
    for foreach in (None, True, False):
        p, q = gradients()
        others = [torch.nn.Parameter(torch.ones(3)) for _ in (p, q)]
        for x in others:
            x.grad = torch.full((3,), 5.0)
        norms = [
            torch.nn.utils.clip_grad_norm_(xs, 2.0, foreach=foreach)
            for xs in zip((p, q), others, strict=True)
        ]
        torch.testing.assert_close(*norms)
        torch.testing.assert_close(p.grad.values(), q.grad)
        for x in (p, q):
            torch.nn.utils.clip_grad_value_([x], 0.05, foreach=foreach)
        torch.testing.assert_close(p.grad.values(), q.grad)


@pytest.mark.parametrize("scale", [1.0, float("inf")])
def test_scaled_gradients(scale):
    p, q = gradients(scale)
    before = p.values().detach().clone()
    for x in (p, q):
        optimizer, scaler = torch.optim.SGD([x], lr=0.1), torch.amp.GradScaler("cpu", init_scale=8.0)
        scaler.scale(torch.ones(()))
        scaler.step(optimizer)
        scaler.update()
        assert scaler.get_scale() == (8 if scale == 1 else 4)
    torch.testing.assert_close(p.values(), q)
    assert torch.equal(p.values(), before) == (scale != 1)


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("SparseAdam", {}, "dense gradients"),
        ("Muon", {}, "Muon steps on all of a matrix"),
    ],
)
def test_other_optimizers_are_refused(name, options, said):
    p = torch.nn.Parameter(scorch.sparse(matrix()))
    (p @ torch.ones(6, 2)).square().sum().backward()
    with pytest.raises((NotImplementedError, RuntimeError, ValueError), match=said):
        getattr(torch.optim, name)([p], **options).step()


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("name", ["Adadelta", "Adafactor", "Rprop"])
def test_optimizers_with_arithmetic_of_their_own(name, foreach):
    """Adafactor, of rows and columns, steps as the dense matrix; the others as the values alone would."""
    dense = matrix().float()
    p = torch.nn.Parameter(scorch.sparse(dense, "csr"))
    q = torch.nn.Parameter(p.values().detach().clone() if name != "Adafactor" else dense.clone())
    x = torch.rand(6, 3, generator=torch.Generator().manual_seed(1))
    optimizers = [getattr(torch.optim, name)([w], lr=0.1, foreach=foreach) for w in (p, q)]
    for _ in range(4):
        for w, optimizer in zip((p, q), optimizers, strict=True):
            a = w if w.dim() == 2 else p.detach()._with_values(w)
            optimizer.zero_grad()
            (a @ x).square().sum().backward()
            if w is q and w.dim() == 2:
                w.grad *= dense != 0
            optimizer.step()
    torch.testing.assert_close(p.values(), q if q.dim() == 1 else q[dense != 0])


@pytest.mark.parametrize("how", [{"foreach": False}, {"foreach": True}, {"fused": True}], ids=str)
@pytest.mark.parametrize(
    ("name", "options"),
    [("SGD", {"lr": 0.1, "momentum": 0.9}), ("AdamW", {"amsgrad": True}), ("Adagrad", {}), ("Adadelta", {})],
)
@pytest.mark.parametrize("format", ["csr", "bsr(2,2)"])
def test_states_of_dense_training_are_stepped_as_those_of_the_values(format, name, options, how):
    if name == "Adadelta" and "fused" in how:
        pytest.skip("torch has none")
    kind, a = getattr(torch.optim, name), scorch.sparse(matrix(), format)
    p, where = torch.nn.Parameter(a), tuple(a.indices())
    ones, dense = torch.ones_like(a.values()), torch.nn.Parameter(a.to_dense())
    before = kind([dense], **options, **how)
    dense.grad = torch.rand(8, 6, generator=torch.Generator().manual_seed(1))
    before.step()
    at = lambda x: x[where].clone() if x.shape == a.shape else x.clone()  # noqa: E731
    q = torch.nn.Parameter(at(a.to_dense()))
    states = []
    for w, taken in ((p, torch.clone), (q, at)):
        optimizer, state = kind([w], **options, **how), before.state_dict()
        state["state"] = {0: {key: taken(x) for key, x in state["state"][0].items()}}
        optimizer.load_state_dict(state)
        for n in range(3):
            w.grad = p.detach()._with_values(ones * (n - 1.5)) if w is p else torch.full_like(w, n - 1.5)
            optimizer.step()
        states.append({key: x if w is q else at(x) for key, x in optimizer.state[w].items()})
    torch.testing.assert_close(at(p.to_dense()), q)
    torch.testing.assert_close(*states)


@pytest.mark.parametrize("how", [{"foreach": False}, {"foreach": True}, {"fused": True}], ids=str)
def test_what_adagrad_begins_with_is_of_stored_values(how):
    a = scorch.sparse(matrix(), "csr")
    p, q = torch.nn.Parameter(a), torch.nn.Parameter(a.values().clone())
    for w in (p, q):
        optimizer = torch.optim.Adagrad([w], initial_accumulator_value=10.0, **how)
        w.grad = torch.ones_like(w) if w is q else a._with_values(torch.ones_like(a.values()))
        optimizer.step()
        total = optimizer.state[w]["sum"]
        assert torch.equal(total.values() if w is p else total, torch.full_like(q, 11.0))
    torch.testing.assert_close(p.values(), q)
    assert not scorch.is_sparse(torch.full_like(a, 10.0))


# ---- what it shows and what others bring ----
def test_plan_and_optimize():
    a = scorch.sparse(matrix(), "csr")
    assert "par i in A" in a.plan(columns=4)
    g = torch.ones(8, 2)
    assert a.optimize(calls=[lambda a: a @ torch.ones(6, 2), lambda a: a.T @ g]) is a
    a.release()
    assert a.memory()["derived"] == {}


@pytest.mark.parametrize("format", ["csr", "coo", "bsr(2,2)"])
def test_what_becomes_of_a_transpose_leaves_the_tensor_alone(format):
    """A keeps its transpose, which is handed out as it is."""
    d = matrix()
    a, x = scorch.sparse(d, format), torch.ones(8)
    a.T.data = scorch.sparse(matrix(1, rows=6, cols=8), format)
    assert torch.equal(a.to_dense(), d) and torch.equal(a.T.to_dense(), d.T)
    leaf = a.T.requires_grad_()
    (leaf @ x).sum().backward()
    assert leaf.grad is not None
    assert not a.T.requires_grad and not (a.T @ x).requires_grad and a.T.grad is None
    torch.utils.swap_tensors(a.T, scorch.sparse(torch.eye(8, 6), format))
    assert torch.equal(a.T @ x, d.T @ x)
    assert a.T is a.T


def test_repr():
    text = repr(scorch.sparse(matrix(), "csr"))
    assert text.startswith("SparseTensor(csr, 8x6, nnz=") and "density=" in text and "float32" in text
    assert "density=0.1%" in repr(scorch.sparse(torch.eye(1000), "csc"))
    assert "Parameter" in repr(torch.nn.Parameter(scorch.sparse(matrix()), requires_grad=False))


def test_graphs_of_other_libraries():
    networkx = pytest.importorskip("networkx")
    g = networkx.DiGraph()
    g.add_weighted_edges_from([(0, 1, 2.0), (2, 0, 3.0), (1, 1, 1.0)])
    a = scorch.sparse(g)
    assert a.dtype == torch.float32 and a[0, 1] == 2 and a[2, 0] == 3 and a[1, 1] == 1 and a.nnz == 3
    assert torch.equal(a @ torch.ones(3, 1), a.to_dense() @ torch.ones(3, 1))
    b = scorch.sparse(matrix().numpy(), "coo")
    assert torch.equal(b.to_dense(), matrix())


def test_edge_index_of_pyg():
    pyg = pytest.importorskip("torch_geometric.utils")
    edge, weight = torch.tensor([[0, 1, 2, 2], [1, 0, 1, 0]]), torch.tensor([1.0, 2, 3, 4])
    a = scorch.from_edge_index(edge, weight, num_nodes=3)
    assert torch.equal(a.to_dense(), pyg.to_dense_adj(edge, edge_attr=weight)[0].T)
    back, values = pyg.from_scipy_sparse_matrix(a.T.to_scipy().tocoo())
    assert torch.equal(scorch.from_edge_index(back, values.float(), num_nodes=3).to_dense(), a.to_dense())
