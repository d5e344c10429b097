"""A linear layer with a sparse weight."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import torch
from torch import nn
from torch.nn import functional as F

from .._torch import apart, is_compiling, is_tracing, noted, symbol_in
from ..functions import autocast
from ..functions.pointwise import is_scalar
from ..functions.products import linear_of_values
from ..functions.program import TAB
from ..tensor.format import Format, Layout
from ..tensor.making import sparse, traced_layout
from ..tensor.sparsetensor import REMADE, SparseTensor, core_of
from ..tensor.values import assemble
from ..tensor.wrapping import wrap
from ._pattern import carried, carried_state, entries_of, exchange, keep_state, origins, pattern_of, starts


def _random_pattern(
    rows: int, columns: int, density: float, layout: Layout, dtype: torch.dtype | None
) -> torch.Tensor:
    """Ones [rows, columns] where entries are stored: equally many a row, or a row of blocks."""
    block = [1, 1]
    for _, _, dim, part, size, _ in layout.levels:
        block[dim] = size if part else block[dim]
    tall, wide = -(-rows // block[0]), -(-columns // block[1])
    keep = max(1, round(density * wide))
    chosen = torch.rand(tall, wide, device="cpu").argsort(1)[:, :keep]
    pattern = torch.zeros(tall, wide, dtype=dtype or torch.get_default_dtype(), device="cpu").scatter_(
        1, chosen, 1
    )
    return pattern.repeat_interleave(block[0], 0).repeat_interleave(block[1], 1)[:rows, :columns].contiguous()


def most(density: float, n: int) -> int:
    """How many of n entries are no more than this share, at least one."""
    k = round(density * n)
    return max(1, k - (k / n > density))


def largest(size: torch.Tensor, density: float) -> torch.Tensor:
    """A mask of the largest entries up to this share, at least one; of equal ones, any."""
    if not 0 <= density <= 1:
        raise ValueError(f"density: expected a number between 0 and 1, got {density}")
    chosen = torch.zeros(size.numel(), dtype=torch.bool, device="cpu")
    if size.numel():
        chosen[size.flatten().topk(most(density, size.numel())).indices] = True
    return chosen.view_as(size)


def _assembled(text: str, shape: tuple[int, int], *arrays: torch.Tensor) -> SparseTensor:
    """The weight, as a node of graphs of torch.fx."""
    return assemble(traced_layout(text, 2), shape, arrays)


class Linear(nn.Module):
    """``torch.nn.Linear`` with a sparse weight [out_features, in_features].

    The stored values are the parameter ``values`` [nnz]; the pattern is in buffers (``pos1``, ``crd1``, ...
    by level), so optimizers, state_dict, DistributedDataParallel and torch.export see plain tensors. The
    pattern is looked through once; layouts that backward passes need are derived from it once. It is fixed
    but for :meth:`set_pattern` and state dicts: one of a layer of this format brings its pattern; one of a
    torch.nn.Linear loads where its weight is zero outside of the pattern.

    Args:
        in_features, out_features: sizes of the last dimension of input and output.
        bias: adds a learnt bias [out_features].
        density: share of the entries that is stored; each row stores the same number, at random columns
            (blocks of a block format likewise).
        format: of the weight, any format of two dimensions.
        device, dtype: as in torch.nn.Linear; the device is the CPU.

    When a dense layer is faster (1024 x 1024, float32, csr, two cores): above a density of 0.2 for one row of
    input, 0.4 for 8 rows, 0.6 for 64 rows and more; with gradients above 0.1, 0.5 and 0.5.
    :func:`scorch.sparsify` measures it for the layers at hand; ``weight.to_dense()`` makes the dense layer.

    Values start uniform in +-1/sqrt(n), n the stored entries a row: torch.nn.Linear's rule for that fan-in.

    Raises: ValueError: density outside (0, 1], or the format does not fit.

    >>> layer = scorch.nn.Linear(64, 32, density=0.1)
    >>> layer.values.shape, layer(torch.rand(5, 64)).shape
    (torch.Size([192]), torch.Size([5, 32]))
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        density: float = 0.1,
        format: str | Format = "csr",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        if not (is_scalar(density) and 0 < density <= 1):
            raise ValueError(f"density: expected a number in (0, 1], got {density!r}")
        if torch.device(device or "cpu").type != "cpu":
            raise NotImplementedError(f"scorch computes on the CPU, got device {device}")
        super().__init__()
        pattern = _random_pattern(out_features, in_features, density, Format(format).bind(2), dtype)
        self._adopt(sparse(pattern, format=format), bias)
        self.reset_parameters()

    def _adopt(self, weight: SparseTensor, bias: bool | torch.Tensor | None) -> None:
        if not weight._is_unique():
            raise ValueError(
                f"format: expected one that stores an entry once, got {weight.format}: begin with blocks"
            )
        self.out_features, self.in_features = weight.shape
        *structure, values = weight._arrays()
        self.layout = weight.format.bind(2)
        self._structure = [name.lstrip("_") for name in self.layout.names[:-1]]
        for name, array in zip(self._structure, structure, strict=True):
            self.register_buffer(name, array)
        self.values = nn.Parameter(values.detach().clone())
        self._structured: SparseTensor | None = None
        if isinstance(bias, torch.Tensor):
            self.bias = nn.Parameter(bias.detach().clone())
        elif bias:
            self.bias = nn.Parameter(values.new_zeros(self.out_features))
        else:
            self.register_parameter("bias", None)

    @classmethod
    def from_dense(
        cls,
        linear: nn.Linear,
        format: str | Format = "csr",
        *,
        density: float | None = None,
        mask: torch.Tensor | None = None,
    ) -> Linear:
        """The sparse twin of a torch.nn.Linear.

        Numbers, and whether they are trained, stay. What is kept: where ``mask`` [out, in] is not zero; else
        the mask of torch.nn.utils.prune if the layer has one; else the largest entries up to ``density``;
        else the entries that are not zero.
        """
        given = getattr(linear, "weight", None)
        if not isinstance(given, torch.Tensor) or given.dim() != 2:
            raise TypeError(f"expected a torch.nn.Linear, got {type(linear).__name__}")
        weight = given.detach()
        if hasattr(linear, "weight_orig"):  # a step of an optimizer may not have reached .weight yet
            given = linear.weight_orig
            weight = given.detach() * linear.weight_mask
        if mask is None:
            mask = getattr(linear, "weight_mask", None)
        if mask is None and density is not None:
            mask = largest(weight.abs(), density)
        if mask is None:
            mask = weight != 0
        if mask.shape != weight.shape:
            raise ValueError(f"mask: expected shape {list(weight.shape)}, got {list(mask.shape)}")
        kept = sparse((mask != 0).to(weight.dtype), format=format)
        index = kept.indices()
        self = cls.__new__(cls)
        nn.Module.__init__(self)
        self._adopt(kept, linear.bias)
        with torch.no_grad():
            self.values.copy_(weight[index[0], index[1]] * (mask != 0)[index[0], index[1]])
        self.values.requires_grad_(given.requires_grad)
        if linear.bias is not None:
            self.bias.requires_grad_(linear.bias.requires_grad)
        return self

    @apart
    @torch.inference_mode(False)
    @torch.no_grad()
    def set_pattern(
        self,
        mask: torch.Tensor,
        optimizer: torch.optim.Optimizer | None = None,
        *,
        values: torch.Tensor | float = 0.0,
    ) -> None:
        """Stores other entries of the weight, as dynamic sparse training does (SET, RigL), between steps.

        Entries that stay keep their values, new ones start at ``values``. The parameter stays the same
        object, with as many values as are stored now, and without a gradient. Formats of blocks store a block
        whole if the mask has any entry of it; all of it stays if the block was stored before.

        Args:
            mask: [out_features, in_features], dense or sparse: entries are stored where it is not zero.
            optimizer: the one that trains the values. What it keeps for each value (momentum, squares ...)
                stays for entries that stay and starts anew for new ones; step counts stay. Without it, an
                optimizer that has taken a step must be made again.
            values: a number, or a dense tensor [out_features, in_features] with the numbers of new entries.

        Results computed before can no longer be differentiated: their backward passes raise. Wrap the layer
        in DistributedDataParallel again, which knows the parameter as it was. Set the pattern of the copy in
        an AveragedModel, too, before its next update: it averages values by their position.

        Raises: ValueError, TypeError: mask or values do not fit, or the optimizer does not train this layer.
            NotImplementedError: the optimizer keeps what is no number for each value (LBFGS), or fully_shard
            has cut the values.
            RuntimeError: the values are computed from another parameter, as under torch.nn.utils.prune. Where
            it raises, nothing has changed.
        """
        if "values" not in self._parameters:
            raise RuntimeError(
                "set_pattern: expected values that are a parameter of this layer, got some that are computed "
                "from another one, as torch.nn.utils.prune does: call prune.remove(layer, 'values') first"
            )
        if hasattr(self.values, "full_tensor"):
            raise NotImplementedError(
                "set_pattern: expected all values, got a DTensor of them, as fully_shard leaves it: make the "
                "layer anew and set the pattern before fully_shard"
            )
        shape = (self.out_features, self.in_features)
        index_dtype = getattr(self, self._structure[-1]).dtype if self._structure else None
        pattern = pattern_of(mask, self.layout, shape, self.values.dtype, index_dtype)
        entries = entries_of(pattern)
        origin = origins(entries_of(self._over(self.values)), entries)
        made = carried(self.values.detach(), origin, starts(values, shape, entries))
        state = {} if optimizer is None else carried_state(optimizer, self.values, origin)
        self._store(pattern._arrays()[:-1], made)
        if state:
            keep_state(optimizer.state[self.values], state)

    def _store(self, structure: Sequence[torch.Tensor], values: torch.Tensor) -> None:
        """Another pattern, and its values, in the buffers and the parameter that there are."""
        exchange(self.values, values)
        for name, array in zip(self._structure, structure, strict=True):
            self._buffers[name] = array
        self._structured = None

    def register_parameter(self, name: str, param: nn.Parameter | None) -> None:
        """As in torch.nn.Module, which comes here where a parameter is assigned to a name."""
        if name in ("weight", "weight_orig"):  # the latter of torch.nn.utils.prune
            raise AttributeError(
                "weight: is made from values and the pattern, and cannot be set: write to the parameter "
                "values, or change the torch.nn.Linear, as fuse_linear_bn_eval does, before it is made "
                "sparse; torch.nn.utils.prune takes the name values"
            )
        super().register_parameter(name, param)

    def reset_parameters(self) -> None:
        """Draws the values and the bias again."""
        bound = 1 / math.sqrt(max(1.0, self.values.numel() / max(1, self.out_features)))
        nn.init.uniform_(self.values, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    @property
    def weight(self) -> SparseTensor:
        """The weight [out_features, in_features] over the parameter ``values``; gradients reach it.

        Made at each access: what is written in place, also to ``weight.data``, reaches the values, and so
        does ``weight.data = X`` of the same type and structure. Another X, ``weight.grad = g``, hooks and
        ``retain_grad`` are errors: they belong on ``values``.
        """
        values = self.values
        if is_compiling() or is_tracing(values):
            arrays = [*(getattr(self, name) for name in self._structure), values]
            shape = (self.out_features, self.in_features)
            if not is_compiling() and symbol_in([values]) is not None:
                return noted(values, _assembled, (self.layout.text, shape, *arrays), {})
            return assemble(self.layout, shape, arrays)
        weight = self._over(values)._with_values(values)
        weight.__dict__[REMADE] = True
        return weight

    def _over(self, values: torch.Tensor) -> SparseTensor:
        """The weight over the memory of values, without a gradient; the pattern is looked through once."""
        kept, arrays = self._structured, [self._buffers[name] for name in self._structure]
        if kept is None or any(map(operator.is_not, kept._arrays(), arrays)):
            shape = (self.out_features, self.in_features)
            kept = wrap(self.layout, shape, [*arrays, values.detach()])
        elif kept._val.dtype != values.dtype or kept._val.data_ptr() != values.data_ptr():
            kept = kept._with_values(values.detach())
        self._structured = kept
        return kept

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """x [..., in_features] -> [..., out_features]"""
        if not is_compiling():
            return self._eager(x)
        if self.layout.parts or x.is_nested:
            return F.linear(x, self.weight, self.bias)
        rows = x.reshape(math.prod(x.shape[:-1]), self.in_features)
        structure = [getattr(self, name) for name in self._structure]
        program = TAB.join(("ni,oi->no", "::", f":2:{self.layout.text}"))
        sizes = [self.out_features, self.in_features]
        values, bias = self.values, self.bias
        if autocast.is_on():
            rows, values, bias = autocast.cast(rows, values, bias)
        y = torch.ops.scorch.evaluate(program, [rows, *structure, values], sizes)
        y = y if bias is None else y + bias
        return y.reshape(*x.shape[:-1], self.out_features)

    def _eager(self, x: torch.Tensor) -> torch.Tensor:
        values, bias = self.values, self.bias
        if x.is_nested or is_tracing(values, x, *([] if bias is None else [bias])):
            return F.linear(x, self.weight, bias)
        rows = x if x.dim() == 2 else x.reshape(math.prod(x.shape[:-1]), self.in_features)
        y = linear_of_values(self._over(values), values, rows, bias)
        return y if rows is x else y.view(*x.shape[:-1], self.out_features)

    def __getstate__(self) -> dict:
        return {**self.__dict__, "_structured": None}

    def _take_dense(self, state: dict, prefix: str) -> None:
        """Puts what this layer stores of a dense ``weight``, as torch.nn.Linear saves it, in its place."""
        weight = state.pop(prefix + "weight")
        shape = [self.out_features, self.in_features]
        if list(weight.shape) != shape:
            raise ValueError(f"{prefix}weight: expected shape {shape}, got {list(weight.shape)}")
        row, column = self.weight.detach().indices().long()
        values = torch.where(row >= 0, weight[row, column], 0)  # -1 is padding
        if int(weight.count_nonzero()) > int(values.count_nonzero()):
            raise ValueError(
                f"{prefix}weight: has entries outside of this layer's pattern, which would be lost: multiply "
                f"it by the mask, or make the layer from it with from_dense"
            )
        state[prefix + "values"] = values
        state.update((prefix + name, getattr(self, name)) for name in self._structure)

    @torch.inference_mode(False)
    def _take_pattern(self, state: dict, prefix: str, format: str | None) -> None:
        """The pattern of a state, which may be another one than this layer's, in memory of its own.

        A layer on the meta device gets the sizes alone; numbers are assigned by torch, if they are.
        """
        if prefix + "values" in state and format not in (None, self.layout.text):
            raise ValueError(
                f"{prefix}values: expected a weight of the format {self.layout.text}, the state has one of "
                f"{format}: make the layer with that format"
            )
        own = [getattr(self, name) for name in self._structure]
        given = [state.get(prefix + name) for name in self._structure]
        if any(x is None for x in given):
            return  # torch names what is missing
        given = [x.to(y.dtype) for x, y in zip(given, own, strict=True)]
        values, on_meta = state.get(prefix + "values", self.values), self.values.is_meta
        if any(x.is_meta for x in (*given, values)) or (not on_meta and all(map(torch.equal, given, own))):
            return  # torch says what becomes of a state without numbers
        if hasattr(self.values, "full_tensor"):
            raise NotImplementedError(
                f"{prefix}values: the state has another pattern than this layer, whose values are a DTensor, "
                f"as fully_shard leaves them: load the state before fully_shard"
            )
        arrays = [*(x.clone() for x in given), values.detach().to(self.values.dtype, copy=True)]
        try:
            for part in wrap(self.layout, (self.out_features, self.in_features), arrays).parts:
                core_of(part)
        except (ValueError, TypeError) as error:
            raise ValueError(
                f"{prefix}values: the state has no pattern of a weight "
                f"{[self.out_features, self.in_features]} in {self.layout.text}: {error}"
            ) from None
        if on_meta:
            arrays = [x.to("meta") for x in arrays]
        self._store(arrays[:-1], arrays[-1])

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        facts = getattr(destination, "_metadata", {}).get(prefix[:-1])
        if facts is not None:  # arrays of other formats have the same names
            facts["format"] = self.layout.text

    def _load_from_state_dict(self, state: dict, prefix: str, facts: dict, *args: object) -> None:
        if prefix + "weight" in state and prefix + "values" not in state:
            self._take_dense(state, prefix)
        else:
            self._take_pattern(state, prefix, facts.get("format"))
        super()._load_from_state_dict(state, prefix, facts, *args)

    def extra_repr(self) -> str:
        size = self.in_features * self.out_features
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}, format={self.layout.text}, "
            f"density={self.values.numel() / max(1, size):.3g}"
        )
