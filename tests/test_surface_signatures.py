"""Handlers take the arguments of the function of torch that they stand for, by its names and in its order.

Signatures of functions in Python are inspected; those in C++ are read from the stubs that torch ships, and,
for what these leave out, from the schemas of the dispatcher. Overloads that name dimensions by strings, and
the deprecated ones that begin with a factor, are left out.
"""

import ast
import inspect
from pathlib import Path
from types import FunctionType, MethodWrapperType
from typing import NamedTuple

import pytest
import torch
import torch.nn.functional as F

import scorch
from scorch._torch import under_one_name
from scorch.tensor.sparsetensor import HANDLERS

STUBS = Path(torch.__file__).parent / "_C"
FACTORS = {"beta", "alpha"}  # first or second in deprecated overloads
NO_SIGNATURE = {"celu", "const_data_ptr"}  # neither stubs nor schemas have them
NO_SIGNATURE |= {"broadcast_tensors", "atleast_1d", "atleast_2d", "atleast_3d"}  # nor those of lists
WRONG_STUBS = {"requires_grad_", "map2_"}


class Signature(NamedTuple):
    positional: tuple[str, ...]
    several: str | None  # *args
    keyword: tuple[str, ...]


def stubs(body):
    found = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and not is_left_out(node.args):
            found.setdefault(node.name, []).append(signature_of(node.args))
    return found


def is_left_out(args):
    plain = [*args.posonlyargs, *args.args]
    by_name = any("Ellipsis" in ast.unparse(x.annotation) for x in (*plain, *args.kwonlyargs) if x.annotation)
    return by_name or any(x.arg in FACTORS for x in plain[:2])


def signature_of(args):
    several = args.vararg.arg if args.vararg else None
    plain = tuple(x.arg for x in (*args.posonlyargs, *args.args))
    return Signature(plain, several, tuple(x.arg for x in args.kwonlyargs))


def inspected(f):
    try:
        parameters = inspect.signature(f).parameters.values()
    except ValueError:
        return []
    kind = inspect.Parameter
    plain = kind.POSITIONAL_OR_KEYWORD, kind.POSITIONAL_ONLY
    several = [p.name for p in parameters if p.kind == kind.VAR_POSITIONAL]
    names = tuple(p.name for p in parameters if p.kind in plain)
    keyword = tuple(p.name for p in parameters if p.kind == kind.KEYWORD_ONLY)
    return [Signature(names, several[0] if several else None, keyword)]


def schemas(name):
    packet = getattr(torch.ops.aten, name, None)
    found = []
    for overload in packet.overloads() if packet else ():
        arguments = getattr(packet, overload)._schema.arguments
        if not any("Dimname" in str(x.type) for x in arguments):
            plain = ["input" if x.name == "self" else x.name for x in arguments if not x.kwarg_only]
            found.append(Signature((*plain,), None, (*(x.name for x in arguments if x.kwarg_only),)))
    return found


@pytest.fixture(scope="module")
def signatures():
    """The signatures of a function of the table."""
    if not (STUBS / "_VariableFunctions.pyi").exists():
        pytest.skip("this torch ships no stubs")
    functions = stubs(ast.parse((STUBS / "_VariableFunctions.pyi").read_text()).body)
    classes = ast.parse((STUBS / "__init__.pyi").read_text()).body
    methods = stubs(next(c for c in classes if getattr(c, "name", "") == "TensorBase").body)

    def look_up(f):
        name = f.__name__
        if isinstance(f, FunctionType):
            return inspected(f)
        if is_method(f):
            return methods.get(name, [])
        return functions.get(name, []) if f.__module__ == "torch" else schemas(name)

    return look_up


def is_method(f):
    return hasattr(f, "__objclass__") or getattr(f, "__qualname__", "").startswith("Tensor.")


def is_described(f):
    """Whether somebody says what arguments a function of the table takes."""
    if not callable(f) or isinstance(f, MethodWrapperType):
        return False
    return not f.__name__.startswith("_") and f.__name__ not in WRONG_STUBS


def calls(s, f):
    """(positional, keyword) arguments of the calls that a signature allows: all by position, all by name."""
    if not isinstance(f, FunctionType):  # those hand on all by name
        yield [0] * len(s.positional) + [0, 0] * bool(s.several), dict.fromkeys(s.keyword, 0)
    if not s.several:
        own = int(is_method(f))
        yield [0] * own, dict.fromkeys((*s.positional[own:], *s.keyword), 0)


def test_handlers_take_the_arguments_of_torch(signatures):
    tried, wrong = 0, []
    for f, handler in HANDLERS.items():
        if not is_described(f):
            continue
        found = signatures(f)
        assert found or isinstance(f, FunctionType) or f.__name__ in NO_SIGNATURE, f
        for signature, args, kwargs in [(s, *call) for s in found for call in calls(s, f)]:
            tried += 1
            try:
                inspect.signature(handler).bind(*args, **under_one_name(kwargs))
            except TypeError as error:
                if "argument 'out'" not in str(error):  # which is refused by its name before
                    wrong.append(f"{'Tensor.' * is_method(f)}{f.__name__}{signature}: {error}")
    assert not wrong, "\n".join(wrong)
    assert tried > 1000


# ---- calls by name, and by place ----
def matrix(*shape, seed=0):
    g = torch.Generator().manual_seed(seed)
    return torch.randint(-8, 9, shape, generator=g) * (torch.rand(shape, generator=g) < 0.5).double()


D, E, V, W = matrix(6, 4), matrix(4, 5, seed=1), matrix(4, seed=2), matrix(6, seed=3)
CUBE, OTHER, SQUARE = matrix(3, 6, 4, seed=4), matrix(3, 4, 5, seed=5), matrix(6, 5, seed=6)
BY_NAME = [
    (torch.mm, {"input": D, "mat2": E}),
    (torch.mv, {"input": D, "vec": V}),
    (torch.bmm, {"input": CUBE, "mat2": OTHER}),
    (torch.dot, {"input": V, "tensor": V}),
    (torch.outer, {"input": W, "vec2": V}),
    (torch.addmm, {"input": SQUARE, "mat1": D, "mat2": E, "beta": 2, "alpha": 3}),
    (torch.addmv, {"input": W, "mat": D, "vec": V, "beta": 0}),
    (torch.addr, {"input": D, "vec1": W, "vec2": V, "alpha": 2}),
    (torch.baddbmm, {"input": SQUARE, "batch1": CUBE, "batch2": OTHER}),
    (torch.addbmm, {"input": SQUARE, "batch1": CUBE, "batch2": OTHER, "beta": 3}),
    (torch.sparse.mm, {"sparse": D, "dense": E}),
    (torch.sparse.addmm, {"input": SQUARE, "mat1": D, "mat2": E}),
    (F.linear, {"input": D, "weight": matrix(3, 4), "bias": matrix(3)}),
    (torch.permute, {"input": CUBE, "dims": (2, 0, 1)}),
    (torch.transpose, {"input": D, "dim0": 0, "dim1": 1}),
    (torch.swapaxes, {"input": D, "axis0": 0, "axis1": 1}),
    (torch.t, {"input": D}),
    (torch.flip, {"input": D, "dims": [0]}),
    (torch.reshape, {"input": D, "shape": (4, 6)}),
    (torch.tile, {"input": D, "dims": (2, 1)}),
    (torch.select, {"input": D, "dim": 1, "index": 2}),
    (torch.index_select, {"input": D, "dim": 0, "index": torch.tensor([1, 1])}),
    (torch.masked_select, {"input": D, "mask": D[0] > 0}),
    (torch.split, {"tensor": D, "split_size_or_sections": 4}),
    (torch.split_with_sizes, {"input": D, "split_sizes": [4, 2]}),
    (torch.tensor_split, {"input": D, "sections": 4}),
    (torch.tensor_split, {"input": D, "indices": [1, 3]}),
    (torch.tensor_split, {"input": D, "tensor_indices_or_sections": torch.tensor(4)}),
    (torch.column_stack, {"tensors": [W, D]}),
    (torch.hstack, {"tensors": [V, V]}),
    (torch.vstack, {"tensors": [V, D]}),
    (torch.dstack, {"tensors": [V, V]}),
    (torch.cat, {"tensors": [D, D], "axis": 1}),
    (torch.sum, {"x": D, "axis": 1, "keepdims": True}),
    (torch.add, {"x1": D, "x2": D, "alpha": 3}),
    (torch.isclose, {"input": D, "other": D}),
    (torch.linalg.vector_norm, {"x": D, "ord": 1}),
    (torch.linalg.norm, {"input": D, "dim": 1}),
    (torch.linalg.diagonal, {"A": CUBE, "offset": 1}),
    (torch.softmax, {"input": matrix(6, 4) ** 2 + 1, "dim": 1}),
    (torch.relu, {"input": D}),
    (torch.masked_fill, {"input": D, "mask": D > 0, "value": 3}),
    (torch.full_like, {"input": D, "fill_value": 3}),
]
METHODS = [
    lambda a: a.permute(dims=(1, 0)), lambda a: a.flip(dims=(0, 1)), lambda a: a.reshape(shape=(8, 3)),
    lambda a: a.repeat(repeats=(2, 1)), lambda a: a.tile(dims=(2, 2)), lambda a: a.select(dim=0, index=1),
    lambda a: a.tensor_split(indices=[1]), lambda a: a.split_with_sizes(split_sizes=[2, 4]),
    lambda a: a.split(split_size=2), lambda a: a.swapaxes(axis0=0, axis1=1),
    lambda a: a.unflatten(dim=0, sizes=(2, 3)),
    lambda a: torch.isclose(a, a, 1e-3, 1e-3, True), lambda a: torch.subtract(a, a, alpha=2),
    lambda a: torch.norm(a, "fro", 1, True, None, torch.float64), lambda a: a.to(torch.float32, False, True),
    lambda a: a.to("cpu", torch.float16, False, True), lambda a: a.to(torch.ones(1), True, True),
    lambda a: a.to(device="cpu", dtype=torch.int32, non_blocking=True, copy=True),
    lambda a: a[None].squeeze(0, 2), lambda a: a.count_nonzero(0, 1), lambda a: a.clone().copy_(other=2 * a),
    lambda a: torch.var(a, 1, False), lambda a: torch.float_power(a, 2),
    lambda a: torch.float_power(a.int(), 3.0),
    lambda a: a.float_power(torch.tensor(2)), lambda a: torch.pow(a.half(), 2),
]  # fmt: skip


def agree(f, spread, **dense):
    """f of SparseTensors for the tensors named in ``spread`` gives what it gives of dense ones."""

    def sparse(x):
        if isinstance(x, list):
            return [sparse(y) for y in x]
        return scorch.sparse(x, "coo" if x.dim() == 1 else "csr")

    def compare(got, wanted):
        if isinstance(wanted, tuple | list):
            assert len(got) == len(wanted)
            return [compare(g, w) for g, w in zip(got, wanted, strict=True)]
        got = got.to_dense() if scorch.is_sparse(got) else got
        assert got.dtype == wanted.dtype and got.shape == wanted.shape, (got.dtype, got.shape)
        torch.testing.assert_close(got, wanted)

    given = {name: sparse(x) if name in spread else x for name, x in dense.items()}
    compare(f(**given), f(**dense))


@pytest.mark.parametrize(("f", "arguments"), BY_NAME, ids=lambda x: getattr(x, "__name__", ""))
def test_arguments_by_name(f, arguments):
    first, *others = arguments
    agree(f, {first}, **arguments)
    if f in (torch.addmm, torch.addmv, torch.addr, torch.addbmm, torch.baddbmm, torch.sparse.addmm):
        agree(f, {first, *others} - {"alpha", "beta"}, **arguments)
        for other in set(others) - {"alpha", "beta"}:
            agree(f, {other}, **arguments)


@pytest.mark.parametrize("f", METHODS)
def test_methods_by_name(f):
    agree(f, {"a"}, a=D)
