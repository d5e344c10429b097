"""Small eager calls: what the extension does at once, and what it leaves to Python."""

import warnings
import weakref
from threading import Thread

import pytest
import torch

import scorch
from scorch import _C
from scorch.tensor.sparsetensor import ALONE, HANDLERS, TOTALS, SparseTensor

DENSE = torch.tensor([[0.0, 2.0, 0.0], [-1.0, 0.0, 3.0], [0.0, 0.0, -4.0]])
ASKED_ALONE = ALONE - {torch.nn.functional.relu}  # which asks with its inplace=


def shares(a, b):
    return all(a.__dict__[n] is b.__dict__[n] for n in a._names[:-1]) and a._fmt == b._fmt


def test_functions_of_one_tensor_ask_no_handler(monkeypatch):
    a = scorch.sparse(DENSE / 8)
    for function in ASKED_ALONE:
        monkeypatch.delitem(HANDLERS, function)
        made = function(a)
        assert shares(a, made) and made._val.dtype is function(a._val).dtype, function
        torch.testing.assert_close(made.to_dense(), function(DENSE / 8), equal_nan=True)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(3,3)", "dense", "csr of rows(<= 1) + coo"])
def test_extents_and_type_ask_no_table(format, monkeypatch):
    a = scorch.sparse(torch.ones(3, 6, dtype=torch.float64).tril()).convert(format)
    asked = []
    monkeypatch.setattr(SparseTensor, "__torch_function__", classmethod(lambda *args: asked.append(args)))
    assert a.shape == a.size() == (3, 6) and type(a.shape) is type(a.size()) is torch.Size
    assert (a.dim(), a.ndim, a.size(0), a.size(-1), a.size(dim=1)) == (2, 2, 3, 6, 6)
    assert a.dtype is torch.float64 and a.T.shape == (6, 3) and not asked
    monkeypatch.undo()
    for wrong in (2, -3):
        with pytest.raises(IndexError, match="Dimension out of range"):
            a.size(wrong)
    made = torch.ones(3, 6).as_subclass(SparseTensor)
    assert (made.shape, made.size(1), made.dim(), made.dtype) == ((3, 6), 6, 2, torch.float32)
    a.data = scorch.sparse(torch.ones(3, 6, dtype=torch.int32))
    assert a.dtype is torch.int32 and a.shape == (3, 6)


def test_products_are_written_where_out_is(monkeypatch):
    a, x, v = scorch.sparse(DENSE), torch.randn(3, 4), torch.randn(3)
    monkeypatch.delattr(_C, "evaluate")
    for f, given in ((torch.mm, x), (torch.matmul, x), (torch.mv, v)):
        out = torch.full_like(f(DENSE, given), 7)
        version = out._version
        assert f(a, given, out=out) is out and out._version > version
        torch.testing.assert_close(out, DENSE @ given)


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr", "bsr(3,3)", "dense"])
def test_values_alone(format):
    a = scorch.sparse(DENSE, format)
    made = _C.on_values(torch.relu, a)
    assert type(made) is type(a) and shares(a, made)
    assert torch.equal(made.to_dense(), DENSE.relu())
    assert torch.equal(_C.on_values(torch.mul, a, 3, 1).to_dense(), DENSE * 3)
    assert torch.equal(_C.on_values(torch.add, a, made, 2).to_dense(), DENSE + DENSE.relu())
    assert torch.equal((made @ DENSE), DENSE.relu() @ DENSE)


def test_what_is_more_than_values():
    a, other = scorch.sparse(DENSE), scorch.sparse(DENSE)
    left = [
        (torch.relu, scorch.sparse(DENSE, "ell(2)")),  # padding
        (torch.relu, DENSE),
        (torch.add, a, other, 2),  # arrays of its own
        (torch.add, a, a, 1),
        (torch.mul, a, 2, 2),
        (torch.mul, a, True, 3),
        (torch.mul, a, DENSE, 3),
    ]
    for args in left:
        assert _C.on_values(*args) is NotImplemented
    with torch.autocast("cpu"):
        assert _C.on_values(torch.relu, a) is NotImplemented
    with torch.no_grad():
        b = scorch.sparse(DENSE).requires_grad_()
        assert not _C.on_values(torch.relu, b).requires_grad


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.int16, torch.int32, torch.bool])
def test_totals_ask_no_handler(dtype, monkeypatch):
    dense = DENSE.to(dtype)
    a = scorch.sparse(dense)
    for function in TOTALS:
        monkeypatch.delitem(HANDLERS, function)
        made, wanted = function(a), function(dense)
        assert type(made) is torch.Tensor and made.dtype is wanted.dtype and torch.equal(made, wanted)


@pytest.mark.parametrize("format", ["ell(4)", "sell(2,4)", "csr of rows(<= 1) + coo"])
def test_totals_of_formats_that_hold_more(format):
    dense = torch.arange(12.0).view(3, 4).clone()
    for function in TOTALS:
        a = scorch.sparse(dense, format)
        assert _C.of_values(function, a) is NotImplemented or "ell" not in format
        assert torch.equal(function(a), function(dense))
        half = scorch.sparse(dense.half())
        assert _C.of_values(function, half) is NotImplemented  # torch rounds their sums more than once


@pytest.mark.parametrize("default", [torch.float32, torch.float64])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
def test_types_whatever_torch_makes_tensors_of(default, dtype):
    a, before = scorch.sparse(DENSE.to(dtype)), torch.get_default_dtype()
    torch.set_default_dtype(default)
    try:
        made = torch.relu(a)
        with torch.device("meta"):
            other = a._with_values(a.values())
    finally:
        torch.set_default_dtype(before)
    for x in (made, other):
        with torch._C.DisableTorchFunctionSubclass():
            assert torch.Tensor.dtype.__get__(x) is dtype and torch.Tensor.device.__get__(x).type == "cpu"


# ---- what is recorded ----
def test_known_derivatives_are_recorded_by_the_extension(monkeypatch):
    monkeypatch.setattr("scorch.tensor.derivatives.on_values", None)
    a = leaf()
    for made in (torch.relu(a), -a, 2 * a, a + a, a - torch.sin(a).detach()):
        assert made.requires_grad and type(made) is SparseTensor


def test_totals_are_recorded_without_a_handler(monkeypatch):
    for function in TOTALS:
        monkeypatch.delitem(HANDLERS, function)
        a = leaf()
        made = function(a)
        assert made.requires_grad == made.dtype.is_floating_point
        if made.requires_grad:
            made.square().backward()
            assert shares(a, a.grad)
            assert torch.equal(a.grad.to_dense(), 2 * DENSE.sum() * (DENSE != 0))
    a = leaf()
    (once,) = torch.autograd.grad(torch.sum(a).square(), a, create_graph=True)
    (twice,) = torch.autograd.grad(once.to_dense().sum(), a)
    assert torch.equal(twice.to_dense(), 8.0 * (DENSE != 0))


def test_arguments_of_grad_are_looked_through_once(monkeypatch):
    a, given = leaf(), scorch.map(scorch.sparse(DENSE), torch.ones_like)
    made, total = torch.relu(a), torch.sum(a)
    with monkeypatch.context() as m:
        m.setattr("torch.autograd._make_grads", None)
        (grad,) = torch.autograd.grad(made, a, given, retain_graph=True)
        assert torch.equal(grad.to_dense(), (DENSE > 0).float())
        (grad,) = torch.autograd.grad([made, total], [a], [given, torch.tensor(2.0)], retain_graph=True)
        assert torch.equal(grad.to_dense(), (DENSE > 0).float() + 2.0 * (DENSE != 0))
    (grad,) = torch.autograd.grad(total, a, retain_graph=True)
    assert torch.equal(grad.to_dense(), (DENSE != 0).float())
    with pytest.raises(RuntimeError, match="Mismatch in shape"):
        torch.autograd.grad(total, a, torch.ones(2), retain_graph=True)
    with pytest.raises(RuntimeError, match="implicitly"):
        torch.autograd.grad(made, a, retain_graph=True)
    with pytest.raises(RuntimeError, match="not have been used"):
        torch.autograd.grad(total, [a, leaf()], torch.tensor(1.0), retain_graph=True)
    assert torch.autograd.grad(total, [a, leaf()], torch.tensor(1.0), allow_unused=True)[1] is None
    with pytest.raises(RuntimeError, match="second time"):
        torch.autograd.grad(torch.square(made).sum(), a, retain_graph=False)
        torch.autograd.grad(made, a, given)
        torch.autograd.grad(made, a, given)


def test_recorded_reductions_are_found_again(monkeypatch):
    a = leaf()
    first = a.sum(1)
    monkeypatch.setattr("scorch.functions.expressions.compute", None)
    again = a.sum(1)
    again.sum().backward()
    assert torch.equal(first, again) and torch.equal(a.grad.to_dense(), (DENSE != 0).float())


def leaf(dense=DENSE):
    return scorch.sparse(dense).requires_grad_()


def test_recorded_functions_ask_no_handler(monkeypatch):
    for function in ASKED_ALONE:
        monkeypatch.delitem(HANDLERS, function)
        a, values = leaf(DENSE / 8), scorch.sparse(DENSE / 8).values().requires_grad_()
        made, wanted = function(a), function(values)
        assert shares(a, made) and made.requires_grad == wanted.requires_grad, function
        assert not made._val.requires_grad
        if made.requires_grad:
            (grad,) = torch.autograd.grad(made, a, scorch.map(a.detach(), torch.ones_like))
            assert shares(a, grad), function
            torch.testing.assert_close(
                grad.values(), torch.autograd.grad(wanted.sum(), values)[0], equal_nan=True
            )


@pytest.mark.parametrize("which", [(True, True), (True, False), (False, True)])
def test_recorded_functions_of_two(which, monkeypatch):
    for function in (torch.add, torch.sub, torch.mul, torch.maximum):
        monkeypatch.setattr("scorch.functions.kernels.quickly", None)
        monkeypatch.setattr("scorch.functions.pointwise._operand", None)
        a = scorch.sparse(DENSE)
        b = torch.tanh(a)
        given = [x.requires_grad_(grad) for x, grad in zip((a, b), which, strict=True)]
        dense = [x.detach().to_dense().requires_grad_(grad) for x, grad in zip(given, which, strict=True)]
        made, wanted = function(*given), function(*dense)
        assert made.requires_grad and shares(a, made)
        monkeypatch.undo()
        made.to_dense().square().sum().backward()
        wanted.square().sum().backward()
        for x, y in zip(given, dense, strict=True):
            assert (x.grad is None) == (y.grad is None)
            if x.grad is not None:
                torch.testing.assert_close(x.grad.to_dense(), torch.where(DENSE != 0, y.grad, 0))


def test_numbers_before_a_tensor(monkeypatch):
    monkeypatch.setattr("scorch.functions.pointwise._operand", None)
    assert torch.equal((2 * leaf()).detach().to_dense(), 2 * DENSE)
    assert torch.equal((-1.5 * scorch.sparse(DENSE)).to_dense(), -1.5 * DENSE)


def test_recorded_with_numbers_and_itself():
    a = leaf()
    ((a * 3 + a * a) / 2).to_dense().sum().backward()
    torch.testing.assert_close(a.grad.to_dense(), (1.5 + DENSE) * (DENSE != 0))


def test_derivatives_of_derivatives():
    a = leaf(DENSE / 8)
    (once,) = torch.autograd.grad(torch.sin(a).to_dense().sum(), a, create_graph=True)
    (twice,) = torch.autograd.grad((once * once).to_dense().sum(), a)
    v = a.detach().values()
    torch.testing.assert_close(twice.values(), -2 * v.cos() * v.sin())


RECORDED = {
    "neg": torch.neg, "abs": torch.abs, "log1p": torch.log1p, "relu": torch.relu, "sin": torch.sin,
    "square": torch.square, "by number": lambda x: 3 * x, "over number": lambda x: x / 4,
    "sum": lambda x: x + torch.square(x), "difference": lambda x: torch.sin(x) - x,
    "product": lambda x: torch.sin(x) * torch.square(x), "twice": lambda x: x + x, "itself": lambda x: x * x,
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_derivatives_of_known_functions(name):
    f, dense = RECORDED[name], DENSE.double() / 8
    a, v = leaf(dense), dense[dense != 0].requires_grad_()
    weights = torch.arange(1.0, 5, dtype=torch.float64)
    given = scorch.map(a.detach(), lambda _: weights)
    once, wanted = (
        torch.autograd.grad(f(x), x, g, create_graph=True)[0] for x, g in ((a, given), (v, weights))
    )
    torch.testing.assert_close(once.detach().values(), wanted.detach())
    assert shares(a, once)
    if wanted.requires_grad:
        twice, of_values = (torch.autograd.grad((x * x).sum(), y)[0] for x, y in ((once, a), (wanted, v)))
        torch.testing.assert_close(twice.values(), of_values)


@pytest.mark.parametrize("name", ["sum", "difference", "product", "chain", "parts"])
def test_gradients_that_share_values_are_added_up_apart(name):
    f = {
        "sum": lambda x, y: x + y,
        "difference": lambda x, y: y - x,
        "product": lambda x, y: x * y,
        "chain": lambda x, y: (x * 1.0 + y) + x,
        "parts": lambda x, y: scorch.map(x, torch.clone) + scorch.map(y, torch.clone),
    }[name]
    a = leaf()
    b = scorch.map(a.detach(), lambda v: 2 * v).requires_grad_()
    x, y = (t.detach().values().clone().requires_grad_() for t in (a, b))
    given = scorch.map(a.detach(), torch.ones_like)
    for _ in range(3):
        f(a, b).sum().backward()
        f(a, b).backward(given)
        (x + y if name == "parts" else f(x, y)).sum().backward()
    assert torch.equal(given.values(), torch.ones(4))
    for grad, wanted in ((a.grad, x.grad), (b.grad, y.grad)):
        assert torch.equal(grad.values(), 2 * wanted)


@pytest.mark.parametrize("format", ["csr", "ell(2)", "sell(4,8)", "csr of rows(> 1) + csr"])
def test_a_gradient_from_outside_is_not_added_to(format):
    a, given = scorch.sparse(DENSE, format), scorch.sparse((DENSE != 0).float(), format)
    ones = given.values().clone()
    v, w = (torch.ones_like(ones).requires_grad_() for _ in range(2))
    for _ in range(3):
        scorch.map(a, lambda _: v).backward(given)
        (scorch.map(a, lambda _: v) + scorch.map(a, lambda _: w)).backward(given)
    assert torch.equal(given.values(), ones)
    assert torch.equal(v.grad * (ones != 0), 6 * ones) and torch.equal(w.grad * (ones != 0), 3 * ones)


def test_a_gradient_of_its_own_is_taken_as_it_is(monkeypatch):
    made, a = [], leaf()
    like = _C.like
    monkeypatch.setattr(_C, "like", lambda a, values: made.append(values.data_ptr()) or like(a, values))
    (3 * a).sum().backward()
    assert a.grad._val.data_ptr() in made


def test_values_written_behind_a_recorded_call_are_noticed():
    a = leaf()
    made = torch.sin(a)
    a.detach().values().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.to_dense().sum().backward()
    made = torch.tanh(a)
    made.detach().values().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.to_dense().sum().backward()
    made = -a  # whose gradient reads no values
    a.detach().values().mul_(2)
    made.to_dense().sum().backward()
    assert torch.equal(a.grad.values(), -torch.ones(4))


def test_hooks_of_recorded_calls():
    a, seen, packed = leaf(), [], []
    a.register_hook(lambda grad: seen.append(grad) or grad * 2)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: packed.append(x) or x, lambda x: x):
        made = torch.relu(a)
    made.register_hook(lambda grad: seen.append(grad) or grad * 3)
    made.to_dense().sum().backward()
    assert torch.equal(a.grad.to_dense(), 6 * (DENSE > 0).float())
    assert all(shares(a, grad) for grad in seen) and len(seen) == 2
    assert len(packed) == 2 and torch.equal(packed[1], a.detach().values())


def test_recorded_calls_hold_no_values_that_gradients_do_not_read():
    a = leaf()
    values = weakref.ref((middle := a * 2)._val)
    made = middle * 3
    del middle
    assert values() is None
    made.to_dense().sum().backward()
    assert torch.equal(a.grad.to_dense(), 6.0 * (DENSE != 0))


def test_a_graph_is_walked_once_unless_kept():
    made = torch.relu(a := leaf()).to_dense().sum()
    made.backward(retain_graph=True)
    made.backward()
    assert torch.equal(a.grad.to_dense(), 2.0 * (DENSE > 0))
    with pytest.raises(RuntimeError, match="second time"):
        made.backward()


def test_anomalies_are_found_in_recorded_calls():
    a = leaf()
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("ignore")
        with pytest.raises(RuntimeError, match="SqrtBackward0"):
            torch.sqrt(-a.abs()).to_dense().sum().backward()


def test_recorded_calls_of_threads():
    a = leaf()
    threads = [Thread(target=lambda: torch.relu(a).to_dense().sum().backward()) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert torch.equal(a.grad.to_dense(), 4.0 * (DENSE > 0))


def test_nothing_is_recorded_in_inference_mode():
    a = leaf()
    with torch.inference_mode():
        made = torch.relu(a)
        assert shares(a, made) and not made.requires_grad
    assert torch.relu(a).requires_grad


def test_recorded_calls_on_what_is_padded_and_repeated():
    a = scorch.sparse(DENSE, "ell(2)").requires_grad_()
    assert _C.on_values(torch.relu, a) is NotImplemented
    torch.relu(a).to_dense().sum().backward()
    assert torch.equal(a.grad.to_dense(), (DENSE > 0).float())


@pytest.mark.parametrize("function", [torch.mul, torch.div, torch.add, torch.sub, torch.maximum])
def test_recorded_kernels_of_two(function, monkeypatch):
    monkeypatch.setattr("scorch.functions.kernels.evaluated", None)
    second = DENSE.T.contiguous() / 2
    of_dense = function in (torch.mul, torch.div)
    b = torch.nn.Parameter(second + 5) if of_dense else leaf(second)
    x = DENSE.clone().requires_grad_()
    y = b.detach().clone().requires_grad_() if of_dense else second.clone().requires_grad_()
    made, wanted = function(a := leaf(), b), function(x, y)
    torch.testing.assert_close(made.detach().to_dense(), wanted)
    weight, places = torch.rand(3, 3), (DENSE != 0, torch.ones(3, 3) if of_dense else second != 0)
    for result, operands in ((made, (a, b)), (wanted, (x, y))):
        total = (result * weight).square().to_dense().sum()
        first = torch.autograd.grad(total, operands, create_graph=True)
        kept = [g.to_dense() * stored for g, stored in zip(first, places, strict=True)]
        torch.autograd.backward([g.square().sum() for g in kept])
    for sparse, dense, stored in zip((a, b), (x, y), places, strict=True):
        torch.testing.assert_close(sparse.grad.to_dense(), dense.grad * stored)


def test_recorded_tests_of_two_have_no_gradient():
    assert not torch.ne(leaf(), leaf(DENSE.T.contiguous())).requires_grad


# ---- dense tensors ----
@pytest.mark.parametrize(
    "format", ["csr", "csc", "coo", "ell(2)", "bsr(3,3)", "dense", "csr of rows(> 1) + csr"]
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_dense_tensors_are_recorded_by_one_node(format, dtype, monkeypatch):
    monkeypatch.setattr("scorch.tensor.conversion._scattered", None)
    dense = DENSE.to(dtype)
    a = scorch.sparse(dense, "csr").convert(format).requires_grad_()
    made = a.to_dense()
    assert made.dtype is dtype and made.is_contiguous() and torch.equal(made, dense)
    weight = torch.arange(9, dtype=dtype).view(3, 3)
    (grad,) = torch.autograd.grad((made * made * weight).sum(), a, create_graph=True)
    torch.testing.assert_close(grad.to_dense(), 2 * dense * weight)
    (second,) = torch.autograd.grad(grad.to_dense().sum(), a)
    torch.testing.assert_close(second.to_dense()[dense != 0], (2 * weight)[dense != 0])


# ---- sums ----
def test_a_sum_leaves_out_what_padding_holds():
    """Positions without an entry may have values, as users give them."""
    a = scorch.from_components(
        "ell(2)", (2, 3), [None] * 2, [None, torch.tensor([0, -1, 1, 2])], torch.ones(4)
    )
    assert a.sum() == a.to_dense().sum() == 3 and a.mean() == 0.5


@pytest.mark.parametrize("format", ["csr", "coo", "bsr(3,3)", "dense", "csr of rows(> 1) + csr"])
def test_sums_of_all_entries_are_those_of_values(format, monkeypatch):
    monkeypatch.setattr("scorch.functions.reduce.kernel", None)
    a = scorch.sparse(DENSE, "csr").convert(format).requires_grad_()
    total = a.sum()
    assert total.shape == () and torch.equal(total, DENSE.sum())
    (grad,) = torch.autograd.grad(total * 2, a)
    monkeypatch.undo()
    assert torch.equal(grad.to_dense()[DENSE != 0], torch.full((4,), 2.0))
    assert torch.equal(a.detach().sum((0, 1), keepdim=True), DENSE.sum((0, 1), keepdim=True))
    assert a.detach().bool().sum().item() == 4 and a.detach().bool().sum().dtype == torch.int64


def test_sums_of_what_is_stored_twice():
    levels = "compressed(0, nonunique), singleton(1, nonunique)"
    crd = [torch.tensor([0, 0, 1]), torch.tensor([1, 1, 2])]
    for values, total in ((torch.ones(3), 3), (torch.ones(3, dtype=torch.bool), 2)):  # bool: "or"
        a = scorch.from_components(levels, (2, 3), [torch.tensor([0, 3]), None], crd, values)
        assert not a.is_coalesced() and a.sum().item() == total


# ---- errors and programs ----
def test_errors_of_functions_are_theirs():
    a = scorch.sparse(DENSE)
    with pytest.raises(ZeroDivisionError):
        _C.on_values(lambda v: 1 / 0, a)


def test_programs_give_tensors_of_the_structure_of_an_operand():
    a, x = scorch.sparse(DENSE), torch.rand(3, 3)
    (made,) = _C.run("C[i,j] = A[i,j] * B[i,j]\tA:2:csr\tB::", (a, x))
    assert isinstance(made, scorch.SparseTensor) and shares(a, made)
    torch.testing.assert_close(made.to_dense(), DENSE * x)
    (text, shape, arrays) = _C.run("C[i,j] = A[i,k] * B[k,j]\tA:2:csr\tB:2:csr", (a, a))[0]
    assert text == "csr" and shape == (3, 3) and len(arrays) == 3


def test_gradient_of_a_product_has_its_structure():
    a, x = scorch.sparse(DENSE).requires_grad_(), torch.rand(3, 2, requires_grad=True)
    to_a, to_x = torch.autograd.grad((a @ x).sum(), (a, x))
    assert shares(a, to_a)
    torch.testing.assert_close(to_a.to_dense(), (torch.ones(3, 2) @ x.T).detach() * (DENSE != 0))
    torch.testing.assert_close(to_x, DENSE.T @ torch.ones(3, 2))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
def test_rows(dtype):
    pos = torch.tensor([0, 2, 2, 5, 9], dtype=dtype)
    cut, low, high = _C.rows(pos, 1, 3)
    assert cut.tolist() == [0, 0, 3] and cut.dtype is dtype and (low, high) == (2, 5)
    for start, stop in ((-1, 2), (2, 1), (0, 5)):
        with pytest.raises(ValueError, match="rows inside"):
            _C.rows(pos, start, stop)


@pytest.mark.parametrize("n", [10, 5000])
def test_slices_of_rows(n):
    a = scorch.sparse(torch.eye(n), "csr")
    assert torch.equal(a[2 : n - 1].to_dense(), torch.eye(n)[2 : n - 1])


# ---- softmax ----
def softmax_of_stored(x, log):
    """Of a dense tensor, by its numbers that are not zero."""
    scores = torch.where(DENSE != 0, x, -torch.inf)
    made = torch.log_softmax(scores, 1) if log else torch.softmax(scores, 1)
    return torch.where(DENSE != 0, made, 0)


@pytest.mark.parametrize("log", [False, True])
def test_softmax_is_recorded_by_one_node(log):
    f, weights = (torch.log_softmax if log else torch.softmax), torch.arange(9.0).view(3, 3)
    a, x = leaf(), DENSE.clone().requires_grad_()
    made = f(a, 1)
    assert shares(a, made) and "AccumulateGrad" in type(made.grad_fn.next_functions[0][0]).__name__
    once = torch.autograd.grad((made * weights).sum(), a, create_graph=True)[0]
    wanted = torch.autograd.grad((softmax_of_stored(x, log) * weights).sum(), x, create_graph=True)[0]
    torch.testing.assert_close(once.detach().to_dense(), wanted.detach())
    twice = torch.autograd.grad((once * once).sum(), a)[0]
    torch.testing.assert_close(twice.to_dense(), torch.autograd.grad((wanted * wanted).sum(), x)[0])


def test_softmax_reads_its_result_and_no_other_values():
    a = leaf()
    made = torch.softmax(a, 1)
    a.detach().values().mul_(2)
    (made * made).sum().backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(made.square().sum(), a, create_graph=True)
    made.detach().values().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()
