"""Edges of several relations, and sums over them in traced code: one operator.

The matrices of all relations lie side by side, [N, R * N]; what sums over relations and neighbours reads
them as a tensor [N, R, N]. Its structure is found once, by what the arrays of the matrix hold, and never
leaves the operator: traced, its lengths would be sizes that nobody knows, its arrays copies in every call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

from .._torch import admit_nodes, apart, is_compiling, node, surely
from ..functions.gradients import gradients_of_sum
from ..functions.program import known_program
from ..functions.run import run
from ..tensor.coordinates import coo
from ..tensor.entries import coordinates, unfilled
from ..tensor.format import layout
from ..tensor.sparsetensor import SparseTensor
from ..tensor.values import values_of
from ..tensor.wrapping import wrap
from ._edges import shares, unknown_csr
from ._recent import Recent

_CSR, _CSF = layout("csr", 2), layout("csf", 3)
_CALL = "str text, Tensor[] matrix, SymInt[] sizes, int count, Tensor[] operands, SymInt[] shape"
_lib = torch.library.Library("scorch", "FRAGMENT")
_lib.define(
    "relations(Tensor edge_index, Tensor edge_type, SymInt nodes, int count, bool mean, ScalarType dtype) -> "
    "(Tensor, Tensor, Tensor)"
)
_lib.define(f"relational({_CALL}) -> Tensor")
_lib.define(f"relational_gradient({_CALL}, Tensor grad, bool[] wanted) -> Tensor[]")
_lists, _cubes = Recent(), Recent()


def cube_of(matrix: SparseTensor, count: int) -> SparseTensor:
    """Relations side by side [N, R * N] as a tensor [N, R, N]."""
    return matrix.unflatten(1, (count, -1)).convert("csf")


def side_by_side(cube: SparseTensor) -> SparseTensor:
    """Relations [R, N, N] as they lie side by side, [N, R * N]."""
    return cube.permute(1, 0, 2).reshape(cube.shape[1], -1)


def beside_of(
    edge_index: torch.Tensor,
    edge_type: torch.Tensor,
    nodes: int,
    count: int,
    mean: bool,
    dtype: torch.dtype,
) -> SparseTensor:
    """Edges [2, E] of types [E] as relations side by side, [N, R * N], rows of each with sum 1 for a mean."""
    options = nodes, count, mean, dtype
    if is_compiling():  # an operator, because the number of edges decides sizes
        arrays = torch.ops.scorch.relations(edge_index, edge_type, *options)
        return wrap(_CSR, (nodes, count * nodes), arrays)
    return _beside(edge_index, edge_type, options)


def _beside(
    edge_index: torch.Tensor, edge_type: torch.Tensor, options: tuple[int, int, bool, torch.dtype]
) -> SparseTensor:
    nodes, count, mean, dtype = options
    edge_index, edge_type = edge_index.long(), edge_type.long()
    for name, index, n in (("edge_index", edge_index, nodes), ("edge_type", edge_type, count)):
        if index.numel() and (int(index.min()) < 0 or int(index.max()) >= n):
            raise ValueError(
                f"{name}: expected integers in 0..{n - 1}, got {int(index.min())}..{int(index.max())}"
            )
    source, target = edge_index
    if mean:
        weight = shares(target * count + edge_type, dtype)
    else:
        weight = torch.ones(len(target), dtype=dtype, device="cpu")
    return coo((target, edge_type * nodes + source), weight, (nodes, count * nodes), "csr")


def means_of(cube: SparseTensor, dtype: torch.dtype) -> SparseTensor:
    """[R, N, N] in a type, rows of each relation divided by the number of their entries."""
    if torch.compiler.is_dynamo_compiling():
        admit_nodes()
        return _means_in_graph(cube, dtype)
    return _means(cube, dtype)


def _means(cube: SparseTensor, dtype: torch.dtype) -> SparseTensor:
    cube = unfilled(cube._whole())
    relation, target, _ = coordinates(cube)[0]
    wide = torch.promote_types(dtype, torch.float32)
    share = shares(relation * cube.shape[1] + target, wide)
    return cube._with_values((cube.values() * share).to(dtype))


_means_in_graph = node(_means)


# ---- block-diagonal weights ----
def blocks_of(channels: tuple[int, int], bases: int | None, blocks: int | None) -> tuple[int, ...]:
    """What follows the relations in the shape of their weights."""
    if blocks is None:
        return channels
    if isinstance(blocks, bool) or not isinstance(blocks, int) or blocks < 1:
        raise ValueError(f"num_blocks: expected an integer from 1 on, or None, got {blocks!r}")
    if bases is not None:
        raise ValueError("num_bases, num_blocks: expected one of them, got both")
    if any(n % blocks for n in channels):
        raise ValueError(f"num_blocks: expected a divisor of the channels {channels}, got {blocks}")
    return blocks, *(n // blocks for n in channels)


def sum_of_blocks(
    along: Callable, matrix: SparseTensor, x: torch.Tensor, weight: torch.Tensor
) -> torch.Tensor:
    """sum_r A_r X W_r -> [N, out] of block-diagonal W_r, weight [R, blocks, in / blocks, out / blocks].

    By rows of features of each relation or along edges, as sums with full weights are.
    """
    (relations, blocks, into, out), nodes = weight.shape, matrix.shape[0]
    parts = x.unflatten(1, (blocks, into))
    if not surely(nodes * relations <= matrix._val.shape[0]):
        return along("jnc,bnco->ino", (parts, weight), (nodes, blocks, out)).flatten(1)
    if out < into or is_compiling():
        messages = torch.einsum("jnc,rnco->rjno", parts, weight)
        return matrix @ messages.reshape(-1, blocks * out)
    sums = along("jk->ibk", (x,), (nodes, relations, blocks * into))
    return torch.einsum("irnc,rnco->ino", sums.unflatten(2, (blocks, into)), weight).flatten(1)


def relational(
    text: str, matrix: SparseTensor, count: int, operands: Sequence[torch.Tensor], shape: Sequence[int]
) -> torch.Tensor:
    """``einsum(text, cube_of(matrix, count), *operands)`` of a matrix in csr, dense and of a known shape."""
    arrays = [*matrix._arrays()[:-1], values_of(matrix)]
    return torch.ops.scorch.relational(text, arrays, list(matrix.shape), count, list(operands), list(shape))


# ---- the operators ----
def _program(text: str) -> str:
    return known_program(text, (), ((3, _CSF.text), *[None] * text.count(",")), "dense", None, "zero")


def _cube(
    matrix: list[torch.Tensor], sizes: list[int], count: int
) -> tuple[SparseTensor, torch.Tensor, torch.Tensor]:
    """A cube with values of the type, whose layouts others of its structure share; the place in the matrix of
    each of its entries, and the other way round."""
    *structure, values = matrix

    def make() -> tuple[torch.Tensor, ...]:
        numbers = torch.arange(1, len(values) + 1, device="cpu")
        cube = cube_of(wrap(_CSR, tuple(sizes), (*structure, numbers)), count)
        place = cube.values() - 1
        arrays = (*cube._arrays()[:-1], values.detach().index_select(0, place))
        return wrap(_CSF, tuple(cube.shape), arrays), place, place.argsort()

    return _cubes(structure, (*sizes, count, values.dtype), make)


@torch.library.impl(_lib, "relations", "CPU")
@apart
@torch.no_grad()
def _relations(edge_index, edge_type, nodes, count, mean, dtype):
    options = nodes, count, mean, dtype

    def make() -> tuple[torch.Tensor, ...]:
        return _beside(edge_index, edge_type, options).to(index_dtype=torch.int64)._arrays()

    return tuple([a.clone() for a in _lists((edge_index, edge_type), options, make)])


@torch.library.register_fake("scorch::relations", lib=_lib)
def _relations_fake(edge_index, edge_type, nodes, count, mean, dtype):
    return unknown_csr(edge_index, nodes, dtype)


@torch.library.impl(_lib, "relational", "CPU")
@apart
@torch.no_grad()
def _relational(text, matrix, sizes, count, operands, shape):
    cube, place, _ = _cube(matrix, sizes, count)
    return run(_program(text), [cube._with_values(matrix[-1].index_select(0, place)), *operands])[0]


@torch.library.impl(_lib, "relational_gradient", "CPU")
@apart
@torch.no_grad()
def _relational_gradient(text, matrix, sizes, count, operands, shape, grad, wanted):
    cube, place, back = _cube(matrix, sizes, count)
    given = [cube._with_values(matrix[-1].index_select(0, place)), *operands]
    found = gradients_of_sum(_program(text), given, grad, wanted, run)
    if wanted[0]:
        found[0] = found[0].values().index_select(0, back)
    return [x for x, flag in zip(found, wanted, strict=True) if flag]


@torch.library.register_fake("scorch::relational", lib=_lib)
def _relational_fake(text, matrix, sizes, count, operands, shape):
    return operands[-1].new_empty(shape)


@torch.library.register_fake("scorch::relational_gradient", lib=_lib)
def _relational_gradient_fake(text, matrix, sizes, count, operands, shape, grad, wanted):
    return [x.new_empty(x.shape) for x, flag in zip([matrix[-1], *operands], wanted, strict=True) if flag]


def _setup(ctx, inputs, output):
    text, matrix, sizes, count, operands, shape = inputs
    ctx.save_for_backward(*matrix, *operands)
    ctx.call = text, len(matrix), sizes, count, shape


def _backward(ctx, grad):
    text, n, sizes, count, shape = ctx.call
    saved = list(ctx.saved_tensors)  # read once: non-reentrant checkpoints refuse another time
    matrix, operands = saved[:n], saved[n:]
    wanted = [x.requires_grad for x in (matrix[-1], *operands)]
    given = torch.ops.scorch.relational_gradient(
        text, matrix, sizes, count, operands, shape, grad.contiguous(), wanted
    )
    found = iter(given)
    of_values, *of_operands = [next(found) if flag else None for flag in wanted]
    return None, [*[None] * (n - 1), of_values], None, None, of_operands, None


torch.library.register_autograd("scorch::relational", _backward, setup_context=_setup, lib=_lib)
