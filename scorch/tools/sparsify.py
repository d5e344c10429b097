"""Replacing the layers of a model by sparse ones where that is faster, and only there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize

from .._torch import HOOKS
from ..functions.pointwise import is_scalar
from ..tensor.format import Format, Layout
from ..tensor.making import sparse
from ..tensor.sparsetensor import SparseTensor
from . import suggest
from .tables import human, lines

Timer = Callable[[Mapping[str, Callable[[], object]]], Mapping[str, float]]
_TRIED = 0.7  # density above which a dense product is faster at any number of rows
_TURNS, _MOST, _SECONDS = 11, 101, 0.05  # of a measurement: at least, at most, and for each call
_BATCH = 1e-3  # seconds that a call is repeated for in a turn
_NOISY = 2.0  # how far apart the quartiles of the ratios may be
_MORE = 1.03  # what a format must gain over those in front of it


# ---- what was found ----
class Layer(NamedTuple):
    """A layer that holds a matrix: what was measured (in seconds, None: not) and what became of it."""

    name: str
    shape: tuple[int, ...]
    density: float
    rows: int | None  # of the input that was measured
    dense: float | None
    sparse: float | None
    format: str | None  # of the sparse layer, the fastest one
    replaced: bool
    reason: str
    gain: float | None = None  # the median of dense / sparse over pairs of neighbouring calls
    spread: tuple[float, float] | None = None  # the quartiles of it


class Report(Sequence):
    """The layers that :func:`scorch.sparsify` looked at, in the order of the model; prints as a table.

    Attributes:
        model: the model with its new layers: the one that was given, unless that is itself a linear layer.
        replaced: names of the layers that are sparse now.
    """

    def __init__(self, model: nn.Module, layers: Sequence[Layer], step: str) -> None:
        self.model, self._layers, self._step = model, tuple(layers), step

    def __len__(self) -> int:
        return len(self._layers)

    def __getitem__(self, at: int | slice) -> Layer | tuple[Layer, ...]:
        return self._layers[at]

    def __call__(self, *args: object, **kwargs: object) -> None:
        raise TypeError(
            "sparsify changes the model that it is given, and this is its report: call report.model"
        )

    @property
    def replaced(self) -> tuple[str, ...]:
        return tuple(x.name for x in self if x.replaced)

    def __repr__(self) -> str:
        head = ("layer", "shape", "density", "rows", "dense", "sparse", "gain", "now", "why")
        body = [_cells(x) for x in self]
        end = f"{len(self.replaced)} of {len(self)} layers are sparse; {self._step}"
        return "\n".join([*lines(head, body), end])


def _cells(x: Layer) -> list[str]:
    gain = "" if x.gain is None else f"{x.gain:.2f}x"
    rows = "" if x.rows is None else str(x.rows)
    now = x.format if x.replaced else "dense"
    name, shape = x.name or "(the model)", "x".join(map(str, x.shape))
    return [
        name,
        shape,
        f"{100 * x.density:.3g}%",
        rows,
        human(x.dense),
        human(x.sparse),
        gain,
        now,
        x.reason,
    ]


# ---- measuring ----
class _Clock:
    """A turn of calls, the seconds of each: one after the other, forwards and backwards in turn."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}  # how often each is called in a turn
        self._backwards = False

    def __call__(self, calls: Mapping[str, Callable[[], object]]) -> dict[str, float]:
        if not self._times:
            for name, call in calls.items():
                call()
                least = min(_seconds(call, 1) for _ in range(2))
                self._times[name] = max(1, min(1000, int(_BATCH / max(least, 1e-9))))
        self._backwards = not self._backwards
        names = list(calls)[:: -1 if self._backwards else 1]
        return {name: _seconds(calls[name], self._times[name]) for name in names}


def _seconds(call: Callable[[], object], times: int) -> float:
    begin = time.perf_counter()
    for _ in range(times):
        call()
    return (time.perf_counter() - begin) / times


class _Times(NamedTuple):
    """Of a sparse layer against the dense one, by pairs of calls that were neighbours."""

    dense: float
    sparse: float
    gain: float
    spread: tuple[float, float]


def _measured(calls: Mapping[str, Callable[[], object]], timer: Timer) -> dict[str, _Times]:
    """What each format takes. Load that comes and goes meets both calls of a pair, and few of the pairs."""
    from statistics import median, quantiles

    turns: list[Mapping[str, float]] = []
    while len(turns) < _TURNS or (
        len(turns) < _MOST and sum(map(sum, (t.values() for t in turns))) < _SECONDS * len(calls)
    ):
        turns.append(timer(calls))
    found = {}
    for format in calls.keys() - {"dense"}:
        ratios = [t["dense"] / max(t[format], 1e-12) for t in turns]
        low, _, high = quantiles(ratios, n=4)
        times = [median([t[name] for t in turns]) for name in ("dense", format)]
        found[format] = _Times(*times, median(ratios), (low, high))
    return found


def _call(layer: nn.Module, x: torch.Tensor, train: bool) -> Callable[[], object]:
    """What is timed: a forward pass, or one that is followed by a backward pass."""
    if not train:
        return torch.no_grad()(lambda: layer(x))
    x = x.detach().requires_grad_(x.requires_grad)
    if not x.requires_grad and not any(p.requires_grad for p in layer.parameters()):
        return _call(layer, x, False)
    with torch.no_grad():
        grad = torch.ones_like(layer(x))
    wanted = [p for p in (x, *layer.parameters()) if p.requires_grad]
    return torch.enable_grad()(lambda: torch.autograd.grad(layer(x), wanted, grad))


class _Kept:
    """Leaves a model as it was: modes, buffers, and the random numbers of torch."""

    def __init__(self, model: nn.Module) -> None:
        self.modes = [(m, m.training) for m in model.modules()]
        self.buffers = [(b, b.detach().clone()) for b in model.buffers()]
        self.random = torch.get_rng_state()

    def restore(self) -> None:
        for module, training in self.modes:
            module.training = training
        with torch.no_grad():
            for buffer, value in self.buffers:
                if not torch.equal(buffer, value):
                    buffer.copy_(value)
        torch.set_rng_state(self.random)


def _arguments(example: object) -> tuple[tuple, Mapping[str, object]]:
    """Those of the call that an example says, by place and by name."""
    if isinstance(example, list | set | frozenset):
        raise TypeError(
            "sparsify: expected an example that is a tensor, a tuple of arguments or a dict of keyword "
            f"arguments, got a {type(example).__name__}: write (x,) where x is one argument of the model"
        )
    if isinstance(example, Mapping):
        return (), example
    return (example if isinstance(example, tuple) else (example,)), {}


def _inputs(
    model: nn.Module, layers: Sequence[nn.Module], args: tuple, kwargs: Mapping[str, object]
) -> dict[nn.Module, torch.Tensor]:
    """The first input of each layer when the model is called, in eval mode."""
    found: dict[nn.Module, torch.Tensor] = {}

    def look(module: nn.Module, args: tuple, kwargs: dict) -> None:
        x = args[0] if args else kwargs.get("input")
        if isinstance(x, torch.Tensor):
            found.setdefault(module, x)

    kept = _Kept(model)
    hooks = [layer.register_forward_pre_hook(look, with_kwargs=True) for layer in layers]
    try:
        model.eval()
        model(*args, **kwargs)
    finally:
        for hook in hooks:
            hook.remove()
        kept.restore()
    return found


# ---- layers ----
def _layers(model: nn.Module) -> dict[nn.Module, list[str]]:
    """Each layer that holds a matrix, or more dimensions, once, with all the names it has."""
    found: dict[nn.Module, list[str]] = {}
    for name, module in model.named_modules(remove_duplicate=False):
        if isinstance(module, nn.Linear) or _weights(module):
            found.setdefault(module, []).append(name)
    return found


def _weights(layer: nn.Module) -> list[torch.Tensor]:
    """What a layer multiplies with: ``weight``, as pruning and parametrizations leave it, or parameters."""
    if isinstance(layer, parametrize.ParametrizationList):
        return []  # of another layer
    own = [p for p in layer._parameters.values() if p is not None and (is_lazy(p) or p.dim() > 1)]
    if own or parametrize.is_parametrized(layer, "weight"):
        weight = getattr(layer, "weight", None)
        return [weight] if isinstance(weight, torch.Tensor) else own
    sparse = getattr(layer, "weight", None) if isinstance(getattr(layer, "layout", None), Layout) else None
    return [] if sparse is None else [sparse]


def _size(layer: nn.Module) -> tuple[tuple[int, ...], float]:
    """The shape of the weight of a layer, of the first if there are several, and the density of all."""
    weights = [w for w in _weights(layer) if not is_lazy(w)]
    if not weights:
        return ((layer.out_features, layer.in_features) if isinstance(layer, nn.Linear) else ()), 1.0
    if not all(w.is_cpu for w in weights):
        return tuple(weights[0].shape), 1.0
    kept = sum(w.nnz if isinstance(w, SparseTensor) else int(w.count_nonzero()) for w in weights)
    return tuple(weights[0].shape), kept / max(1, sum(w.numel() for w in weights))


def _pruning(layer: nn.Linear) -> bool:
    return "weight_orig" in layer._parameters and "weight_mask" in layer._buffers


def _owners(model: nn.Module) -> dict[int, list[str]]:
    """Names of each parameter, by identity, under which modules hold it."""
    found: dict[int, list[str]] = {}
    for prefix, module in model.named_modules():
        for name, p in module._parameters.items():
            if p is not None:
                found.setdefault(id(p), []).append(f"{prefix}.{name}" if prefix else name)
    return found


def _refusal(layer: nn.Module, owners: Mapping[int, list[str]]) -> str | None:
    """Why a layer must stay as it is."""
    if any(isinstance(w, SparseTensor) for w in _weights(layer)):
        return "sparse already"
    if not isinstance(layer, nn.Linear):
        return f"{type(layer).__name__}, not a linear layer"
    if type(layer) is not nn.Linear:
        if parametrize.is_parametrized(layer):
            return "its weight is computed by a parametrization"
        return f"a {type(layer).__name__}, not torch.nn.Linear itself"
    own = [p for p in layer._parameters.values() if p is not None]
    if "weight" not in layer._parameters and not _pruning(layer):
        return "its weight is computed by a hook"
    if any(p.device.type != "cpu" for p in own):
        return f"on {own[0].device}: scorch computes on the CPU"
    for p in own:
        if len(owners[id(p)]) > 1:
            return f"shares a parameter: {' and '.join(owners[id(p)])}"
    return None


def _mask(layer: nn.Linear, density: float | None) -> torch.Tensor:
    """The entries a sparse layer keeps: those of torch's pruning, or that are not zero, or the largest."""
    weight, mask = layer.weight.detach(), None
    if _pruning(layer):
        weight, mask = layer.weight_orig.detach(), layer.weight_mask != 0
    kept = weight != 0 if mask is None else mask
    if density is None or not weight.numel():
        return kept
    from ..nn._linear import largest, most

    if int(kept.sum()) <= most(density, weight.numel()):
        return kept
    return largest(torch.where(kept, weight.abs(), -1.0), density)


def _formats(mask: torch.Tensor, format: str | Sequence[str], measure: bool) -> list[str]:
    """The formats to try: csr, and what the entries suggest; compositions where they are measured."""
    if format != "auto":
        return [format] if isinstance(format, str) else list(format)
    pattern = sparse(mask, "csr")
    alone = filter(None, (suggest.blocks(pattern), suggest.slabs(pattern)))
    return ["csr", *alone, *(suggest.compositions(pattern) if measure else [])]


def _twin(layer: nn.Linear, mask: torch.Tensor, format: str) -> nn.Module:
    """The sparse layer: same numbers, mode, hooks and wishes for gradients."""
    from ..nn import Linear

    twin = Linear.from_dense(layer, format, mask=mask)
    twin.training = layer.training
    return twin


def _move_hooks(old: nn.Module, new: nn.Module) -> None:
    """The hooks of a layer, but for those of torch's pruning, which are done."""
    from torch.nn.utils.prune import BasePruningMethod

    for name in HOOKS:
        hooks = getattr(old, name)
        if isinstance(hooks, dict) and any(isinstance(h, BasePruningMethod) for h in hooks.values()):
            hooks = type(hooks)((k, h) for k, h in hooks.items() if not isinstance(h, BasePruningMethod))
        setattr(new, name, hooks)  # the same dictionaries: handles go on removing


def _put(model: nn.Module, names: Sequence[str], layer: nn.Module) -> None:
    for name in names:
        parent, _, last = name.rpartition(".")
        setattr(model.get_submodule(parent), last, layer)


# ---- the verb ----
class _Decision(NamedTuple):
    """About one layer; without a twin it stays dense."""

    reason: str
    rows: int | None = None
    times: _Times | None = None
    twin: nn.Module | None = None
    format: str | None = None


def _by_density(layer: nn.Linear, mask: torch.Tensor, formats: Sequence[str], threshold: float) -> _Decision:
    density = int(mask.sum()) / max(1, mask.numel())
    if density > threshold:
        return _Decision(f"density above {threshold:g}")
    return _Decision(
        f"density at most {threshold:g}", twin=_twin(layer, mask, formats[-1]), format=formats[-1]
    )


def _by_time(
    layer: nn.Linear, mask: torch.Tensor, formats: Sequence[str], x: torch.Tensor, gain: float, timer: Timer
) -> _Decision:
    if int(mask.sum()) > _TRIED * mask.numel():
        return _Decision(f"density above {_TRIED:g}, not tried")
    twins = {format: _twin(layer, mask, format) for format in formats}
    calls = {"dense": _call(layer, x, layer.training)}
    calls |= {format: _call(twin, x, layer.training) for format, twin in twins.items()}
    found = _measured(calls, timer)
    best = _simplest(found, formats)
    times = found[best]
    reason = _verdict(times, gain)
    twin = twins[best] if reason == "faster" else None
    return _Decision(reason, x.numel() // max(1, x.shape[-1]), times, twin, best)


def _simplest(found: Mapping[str, _Times], formats: Sequence[str]) -> str:
    """The first format that none behind it is surely faster than."""
    best = max(times.gain for times in found.values())
    return next(f for f in formats if found[f].gain * _MORE >= best)


def _verdict(times: _Times, gain: float) -> str:
    """Whether most pairs of calls say that sparse is faster, and say how much about alike."""
    low, high = times.spread
    if times.gain < gain:
        return f"less than {gain:g}x as fast" if gain > 1 else "slower"
    if high > _NOISY * low:
        return f"too noisy, kept dense: {low:.2g}x to {high:.2g}x"
    return "faster" if low >= gain else f"not surely {gain:g}x as fast: {low:.2g}x to {high:.2g}x"


def _check(density: float | None, threshold: float, gain: float, measure: bool, example: object) -> None:
    for name, x in (("density", density), ("threshold", threshold)):
        if x is not None and not (is_scalar(x) and 0 <= x <= 1):
            raise ValueError(f"sparsify: expected {name} between 0 and 1, got {x}")
    if not gain > 0:
        raise ValueError(f"sparsify: expected a positive gain, got {gain}")
    if measure and example is None:
        raise ValueError(
            "sparsify: layers are measured on the input of a call: give an example, as the model takes it "
            "(a tensor, a tuple of arguments or a dict of them by name), or decide by density with "
            "measure=False"
        )


def _check_formats(format: str | Sequence[str]) -> None:
    names = [format] if isinstance(format, str) else format
    if not isinstance(names, Sequence) or not all(isinstance(name, (str, Format)) for name in names):
        raise TypeError(f"sparsify: expected a format as a string, or several, got {format!r}")
    if not names:
        raise ValueError("sparsify: expected at least one format, got none")
    for name in names:
        Format(name)  # which names those that there are


def _decisions(model: nn.Module, layers: Mapping, call: tuple | None, decide: Callable) -> Iterator[tuple]:
    """(layer, names, density, decision) of each layer; nothing is replaced yet."""
    owners = _owners(model)
    refusals = {layer: _refusal(layer, owners) for layer in layers}
    tried = [layer for layer, refusal in refusals.items() if refusal is None]
    inputs = _inputs(model, tried, *call) if call is not None else {}
    for layer, names in layers.items():
        refusal = refusals[layer]
        if refusal is None and call is not None and layer not in inputs:
            refusal = "the example does not reach it"
        if refusal is not None:
            yield layer, names, _size(layer)[1], _Decision(refusal)
        else:
            yield layer, names, *decide(layer, inputs.get(layer))


def sparsify(
    model: nn.Module,
    example: torch.Tensor | tuple | Mapping[str, object] | None = None,
    *,
    density: float | None = None,
    format: str | Sequence[str] = "auto",
    measure: bool = True,
    gain: float = 1.1,
    threshold: float = 0.1,
    timer: Timer | None = None,
) -> Report:
    """Replaces linear layers with sparse weights by :class:`scorch.nn.Linear` where that is faster; in place.

    The zeros of a weight, or the mask that torch.nn.utils.prune gave it, are its pattern. Each layer with a
    density of at most 0.7 is timed as it is and sparse, call after call in turns, on the input that it gets
    when the model is called on the example: a forward pass in eval mode, and forward and backward where the
    layer is in training mode. What counts is the ratio of neighbouring calls: its median, and its lower
    quartile, must be a gain, and the upper one at most twice that, or else the machine is too busy to say.
    Whatever is not surely faster stays as it was. What stays the same in a layer that is replaced: type,
    mode, ``requires_grad``, hooks (of forward and backward), and all places of the model where it stands. Its
    parameters are new ones: make the optimizer afterwards.

    Not replaced: layers of other kinds, such as convolutions, subclasses of torch.nn.Linear, layers whose
    weight is computed or is shared with another layer, layers that the example does not reach. The report
    lists all that hold a matrix, with the reason.

    Args:
        example: the input of a call: a tensor, a tuple of arguments, or a dict of arguments by name, as what
            tokenizers return. The call is made in eval mode without gradients; buffers, modes and random
            numbers are put back.
        density: prunes: of each weight that is replaced, the largest entries up to this share are kept.
            Layers that stay dense keep all of theirs.
        format: of the weights: one, several to choose from, or "auto": csr, blocks where entries come in
            blocks, and compositions where many of them do or rows are long; compositions only if measured.
        measure: False decides without a clock, and without an example: sparse from ``threshold`` downwards,
            in the last of the formats.
        gain: how many times as fast a sparse layer must be, in at least three of four pairs of calls.
        threshold: the largest density of a sparse weight where nothing is measured.
        timer: replaces the clock: from calls by name ("dense", and each format) to the seconds of each in
            one turn; it is asked for 11 turns or more.

    Returns:
        A :class:`Report`: a sequence of layers with times and reasons, which prints as a table; ``.model`` is
        the model.

    Raises:
        ValueError: no example to measure on; density, threshold or gain out of range; an unknown format, or
            one that does not fit a weight that is tried.
        TypeError: no module, an example that is a list, or formats that are no strings.

    >>> model = torch.nn.Sequential(torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 8))
    >>> report = scorch.sparsify(model, density=0.05, measure=False)  # or on an example, measured
    >>> report.replaced
    ('0', '2')
    """
    if not isinstance(model, nn.Module):
        raise TypeError(f"sparsify: expected a torch.nn.Module, got {type(model).__name__}")
    _check(density, threshold, gain, measure, example)
    _check_formats(format)
    arguments = _arguments(example) if measure else None

    def decide(layer: nn.Linear, x: torch.Tensor | None) -> tuple[float, _Decision]:
        mask = _mask(layer, density)
        formats = _formats(mask, format, measure)
        if measure:
            found = _by_time(layer, mask, formats, x, gain, timer or _Clock())
        else:
            found = _by_density(layer, mask, formats, threshold)
        return int(mask.sum()) / max(1, mask.numel()), found

    with torch.no_grad():
        decisions = list(_decisions(model, _layers(model), arguments, decide))
    layers = []
    for layer, names, share, found in decisions:
        layers += [_entry(name, layer, share, found) for name in names]
        if found.twin is None:
            continue
        _move_hooks(layer, found.twin)
        if names == [""]:
            model = found.twin
        else:
            _put(model, names, found.twin)
    step = "times are medians of a call" if measure else "nothing was measured"
    return Report(model, layers, step)


def _entry(name: str, layer: nn.Module, density: float, found: _Decision) -> Layer:
    t = found.times
    measured = (None,) * 4 if t is None else t
    dense, sparse, gain, spread = measured
    return Layer(
        name, _size(layer)[0], density, found.rows, dense, sparse, found.format, found.twin is not None,
        found.reason, gain, spread,
    )  # fmt: skip
