"""Random sequences of calls on a SparseTensor, and of conversions, against a dense tensor that goes
through the same.

A sequence begins with a tensor made of arrays (components.py). Each step is a function of torch or a
method, applied to both; what a step gives is compared, and where it is a tensor of the same kind the
sequence goes on with it. Values change in place on the way, kept layouts are dropped and made again, types
and formats change. A step may be refused with NotImplementedError; whatever torch's dense tensor refuses
may be refused in any way.
"""

from __future__ import annotations

import copy
import io
import pickle
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import components
import torch
import torch.nn.functional as F
from programs import Mismatch

import scorch

COMPUTED = (
    torch.float32, torch.float64, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64,
   torch.bool,
)  # fmt: skip
KEPT_ONLY = (torch.int16, torch.int8, torch.uint8)  # stored and converted, computed with by torch
COUNTED = (torch.bool, torch.int16, torch.int8, torch.uint8, torch.int32, torch.int64)
LIMIT = 1e4  # larger numbers end a sequence: sums must stay exact


@dataclass
class State:
    """The two tensors, and what was done."""

    a: scorch.SparseTensor
    d: torch.Tensor
    r: random.Random
    story: list[str] = field(default_factory=list)

    def dims(self) -> tuple[int, ...]:
        return tuple(self.d.shape)

    def matrix(self, *shape: int) -> torch.Tensor:
        """A dense tensor of small numbers."""
        x = components.random_values(self.r, torch.Size(shape).numel(), self.d.dtype, (0, 1, -1, 2))
        return x.reshape(shape)

    def other(self) -> tuple[scorch.SparseTensor, torch.Tensor]:
        """Another tensor of the same shape and type, in another format."""
        made = made_in_some_format(self.r, self.dims(), self.d.dtype)
        return made.tensor(), plain(made)


def plain(made: components.Made) -> torch.Tensor:
    return components.dense_of(components.held(made.at, made.values), made.shape, made.values.dtype)


def made_in_some_format(r: random.Random, dims: tuple[int, ...], dtype: torch.dtype) -> components.Made:
    form, index = components.random_format(r, dims), r.choice((torch.int32, torch.int64))
    return components.random_tensor(r, dims, form, dtype, index, (0, 1, -1, 2, 2))


# ---- steps: functions that give the same of both tensors ----
Both = tuple[object, object]
STEPS: dict[str, Callable[[State], Both]] = {}


def step(f: Callable[[State], Both]) -> Callable[[State], Both]:
    STEPS[f.__name__] = f
    return f


def of_both(name: str, f: Callable) -> None:
    """A step that is one function of the tensor."""
    STEPS[name] = lambda s: (f(s.a), f(s.d))


for _name, _f in {
    "times two": lambda x: x * 2, "minus": lambda x: -x, "abs": torch.abs, "relu": torch.relu,
    "sign": torch.sign, "square": torch.square, "positive": lambda x: x > 0, "not zero": lambda x: x != 0,
    "halved": lambda x: x / 2, "sum": lambda x: x.sum(), "sum of rows": lambda x: x.sum(-1),
    "sum of columns": lambda x: x.sum(0), "kept sum": lambda x: x.sum(0, keepdim=True),
    "largest": lambda x: x.amax(-1), "least": lambda x: x.amin(0), "count": lambda x: x.count_nonzero(),
    "any": lambda x: x.any(), "all": lambda x: x.all(-1),
    "mean": lambda x: x.double().mean(-1) if x.shape[-1] else None, "turned": lambda x: x.transpose(0, -1),
    "clone": lambda x: x.clone(), "flipped": lambda x: x.flip(0), "rolled": lambda x: x.roll(1, -1),
    "doubled": lambda x: torch.cat([x, x], 0), "stacked": lambda x: torch.stack([x, x]),
    "first": lambda x: x[0], "last row": lambda x: x[-1:], "every second": lambda x: x[..., ::2],
    "from one": lambda x: x[..., 1:], "flat": lambda x: x.flatten(), "with one": lambda x: x.unsqueeze(0),
    "squeezed": lambda x: x.squeeze(), "lower": torch.tril, "upper": torch.triu,
    "diagonal": lambda x: x.diagonal(), "clamped": lambda x: x.clamp(-1, 1),
    "equal": lambda x: torch.equal(x, x), "to double": lambda x: x.double(),
    "to float": lambda x: x.float(), "to long": lambda x: x.long(), "trace": torch.trace,
    "less": lambda x: x.clamp(max=0), "power": lambda x: x**2, "norm": lambda x: x.double().norm(),
}.items():  # fmt: skip
    of_both(_name, _f)


@step
def product(s: State) -> Both:
    x = s.matrix(s.dims()[-1], s.r.choice((1, 2, 5, 16)))
    return s.a @ x, s.d @ x


@step
def product_from_the_left(s: State) -> Both:
    x = s.matrix(3, s.dims()[0]) if len(s.dims()) == 2 else s.matrix(s.dims()[0])
    return x @ s.a, x @ s.d


@step
def vector(s: State) -> Both:
    x = s.matrix(s.dims()[-1])
    return s.a @ x, s.d @ x


@step
def linear(s: State) -> Both:
    x = s.matrix(3, s.dims()[-1])
    return F.linear(x, s.a), F.linear(x, s.d)


@step
def sparse_product(s: State) -> Both:
    b, e = s.other()
    return s.a @ b.transpose(0, -1), s.d @ e.transpose(0, -1)


@step
def scaled(s: State) -> Both:
    x = s.matrix(s.dims()[-1])
    return s.a * x, s.d * x


@step
def added(s: State) -> Both:
    b, e = s.other()
    return s.a + b, s.d + e


@step
def subtracted(s: State) -> Both:
    b, e = s.other()
    return b - s.a, e - s.d


@step
def multiplied(s: State) -> Both:
    b, e = s.other()
    return s.a * b, s.d * e


@step
def larger_of_both(s: State) -> Both:
    b, e = s.other()
    return torch.maximum(s.a, b), torch.maximum(s.d, e)


@step
def joined(s: State) -> Both:
    b, e = s.other()
    dim = s.r.randrange(len(s.dims()))
    return torch.cat([s.a, b], dim), torch.cat([s.d, e], dim)


@step
def masked(s: State) -> Both:
    b, e = s.other()
    return s.a * (b != 0), s.d * (e != 0)


@step
def rows_by_number(s: State) -> Both:
    n = s.dims()[0]
    at = torch.tensor([s.r.randrange(n) for _ in range(s.r.randrange(4) if n else 0)], dtype=torch.int64)
    return s.a[at], s.d[at]


@step
def permuted(s: State) -> Both:
    order = s.r.sample(range(len(s.dims())), len(s.dims()))
    return s.a.permute(*order), s.d.permute(*order)


@step
def reshaped(s: State) -> Both:
    n = s.d.numel()
    first = s.r.choice([k for k in range(1, n + 1) if n % k == 0]) if n else 1
    return s.a.reshape(first, -1), s.d.reshape(first, -1)


@step
def einsum(s: State) -> Both:
    letters = "abcd"[: len(s.dims())]
    out = "".join(s.r.sample(letters, s.r.randrange(len(letters) + 1)))
    return scorch.einsum(f"{letters}->{out}", s.a), torch.einsum(f"{letters}->{out}", s.d)


# ---- steps that leave the tensor what it is ----
def same(f: Callable[[State], object]) -> Callable[[State], object]:
    def kept(s: State) -> Both:
        found = f(s)
        return (found if scorch.is_sparse(found) else s.a), s.d

    STEPS[f.__name__] = kept
    return f


@same
def converted(s: State) -> object:
    form = components.random_format(s.r, s.dims())
    if "ell" in form or "singleton" in form.replace("nonunique), singleton", ""):
        form = "coo"  # others may be too narrow
    return s.a.convert(form, index_dtype=s.r.choice((None, torch.int32, torch.int64)))


@same
def released(s: State) -> None:
    s.a.release()


@same
def prepared(s: State) -> None:
    if s.a.dtype.is_floating_point and len(s.dims()) == 2:
        s.a.optimize(calls=[lambda a: a @ torch.ones(a.shape[1], 4, dtype=a.dtype)])


@same
def described(s: State) -> None:
    repr(s.a), s.a.memory(), s.a.nnz, s.a.density, hash(s.a.format)


@same
def copied(s: State) -> object:
    return copy.deepcopy(s.a) if s.r.random() < 0.5 else pickle.loads(pickle.dumps(s.a))


@same
def saved(s: State) -> object:
    file = io.BytesIO()
    torch.save(s.a, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@same
def through_torch(s: State) -> object:
    return scorch.sparse(s.a.to_torch(torch.sparse_coo), s.r.choice(("coo", "csf")))


@same
def threads(s: State) -> None:
    torch.set_num_threads(s.r.choice((1, 2, 3)))


# ---- steps that change values in place, of both ----
@step
def scaled_in_place(s: State) -> Both:
    s.d.mul_(-1)  # first: what torch refuses, as of truth values, changes neither
    try:
        s.a.mul_(-1)
    except NotImplementedError:  # a copy of what torch has as a view
        s.d.mul_(-1)
        raise
    return s.a, s.d


@step
def values_written(s: State) -> Both:
    """A stored value changes, through the array that holds the values."""
    at = [(c, k) for c, k in components.entries(s.a) if c is not None]
    if at:
        c, k = s.r.choice(at)
        new = components.random_values(s.r, 1, s.a.dtype, (0, 1, -1, 2))[0]
        s.a.values()[k] = new
        same = [j for e, j in at if e == c]
        s.d[c] = components.held([c] * len(same), s.a.values()[same])[c]
    return s.a, s.d


@step
def values_zeroed(s: State) -> Both:
    s.a.zero_()
    s.d.zero_()
    return s.a, s.d


@step
def stepped(s: State) -> Both:
    """A step of an optimizer: stored values go down by twice the gradient of their sum."""
    if (
        s.a.dtype not in (torch.float32, torch.float64)
        or "ell" in str(s.a.format)
        or "dia" in str(s.a.format)
        or "nonunique" in str(s.a.format)
    ):
        return s.a, s.d
    p = torch.nn.Parameter(s.a)
    (p * 2).to_dense().sum().backward()
    torch.optim.SGD([p], lr=0.5).step()
    for c, _ in components.entries(s.a):
        s.d[c] -= 1
    return p.detach(), s.d


@step
def from_two_threads(s: State) -> Both:
    """Two threads compute with the tensor at once."""
    x, found = s.matrix(s.dims()[-1], 4), [None, None]

    def work(k: int) -> None:
        try:
            for _ in range(4):
                found[k] = s.a @ x if k else s.a.transpose(0, -1).to_dense()
        except Exception as error:
            found[k] = error

    running = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for t in running:
        t.start()
    for t in running:
        t.join()
    for error in found:
        if isinstance(error, Exception):
            raise error
    difference(found[0], s.d.transpose(0, -1))
    return found[1], s.d @ x


# ---- comparing ----
def difference(got: object, want: object) -> None:
    """Raises Mismatch where the two are not the same."""
    if scorch.is_sparse(got):
        shape = tuple(got.shape)
        try:
            core = scorch.from_components(got.format, shape, *components.arrays(got))
        except ValueError as error:
            raise Mismatch(f"the result is malformed: {error}") from error
        found = components.holds(got)
        if not torch.equal(core.to_dense(), got.to_dense()):
            raise Mismatch("to_dense() depends on how the tensor was made")
        got = components.dense_of(found, shape, got.dtype)
    if not isinstance(want, torch.Tensor) or not isinstance(got, torch.Tensor):
        if got != want:
            raise Mismatch(f"expected {want}, got {got}")
        return
    if got.shape != want.shape:
        raise Mismatch(f"expected shape {tuple(want.shape)}, got {tuple(got.shape)}")
    counts = got.dtype in COUNTED and want.dtype in COUNTED  # torch widens sums of these by rules of its own
    if got.dtype != want.dtype and not counts:
        raise Mismatch(f"expected {want.dtype}, got {got.dtype}")
    if not torch.allclose(got.double(), want.double(), rtol=1e-6, atol=1e-9, equal_nan=True):
        raise Mismatch(f"expected {want.tolist()}, got {got.tolist()}"[:600])


# ---- sequences ----
def take(s: State, name: str) -> None:
    """One step."""
    s.story.append(name)
    try:
        a, d = STEPS[name](s)
    except NotImplementedError:
        return
    except Mismatch:
        raise
    except Exception as error:
        try:
            STEPS[name](State(s.d, s.d, copy.copy(s.r)))
        except Exception:
            return  # torch refuses it too
        raise Mismatch(f"{type(error).__name__}: {error}") from error
    difference(a, d)
    if scorch.is_sparse(a) and a.dim() and a.dtype == d.dtype and d.numel() < 5000:
        s.a, s.d = a, d


def sequence(seed: int, steps: int = 12) -> list[str]:
    """Runs a sequence; raises Mismatch with what was done. Returns the names of the steps."""
    r = random.Random(f"sequence {seed}")
    dims = tuple(r.choice((0, 1, 2, 3, 4, 6, 8)) for _ in range(r.choice((1, 2, 2, 2, 2, 3))))
    made = made_in_some_format(r, dims, r.choice(COMPUTED if r.random() < 0.8 else KEPT_ONLY))
    s = State(made.tensor(), plain(made), r)
    before = torch.get_num_threads()
    try:
        for _ in range(steps):
            take(s, r.choice(list(STEPS)))
            if s.d.numel() and s.d.double().abs().max() > LIMIT:
                break
    except Mismatch as wrong:
        raise Mismatch(f"{made.script('A')}then {', '.join(s.story)}: {wrong}") from wrong
    finally:
        torch.set_num_threads(before)
    return s.story


# ---- conversions ----
def conversion(seed: int) -> None:
    """A tensor of any type, also of huge extents, from format to format; what it holds stays the same."""
    r = random.Random(f"conversion {seed}")
    sizes = (0, 1, 2, 3, 4, 6, 6, 8, 12) if r.random() < 0.9 else components.HUGE[:3]
    dims = tuple(r.choice(sizes) for _ in range(r.choice((1, 2, 2, 2, 3))))
    if torch.Size(dims).numel() >= 2**62 or (max(dims) > 100 and len(dims) > 2):
        dims = dims[:2]
    wide = max(dims, default=0) > 2**31 - 1
    index = torch.int64 if wide else r.choice((torch.int32, torch.int64))
    made = components.random_tensor(
        r, dims, components.random_format(r, dims), r.choice(components.TYPES), index
    )
    a, want = made.tensor(), components.held(made.at, made.values)
    for _ in range(3):
        form = components.random_format(r, dims)
        try:
            b = a.convert(form, index_dtype=r.choice((None, torch.int64)))
        except ValueError as error:
            if not any(text in str(error) for text in ("too narrow", "singleton", "int32", "i32")):
                raise Mismatch(f"{made.script('A')}A.convert({form!r}): {error}") from error
            continue
        said = _differ(a, b, want)
        if said:
            raise Mismatch(f"{made.script('A')}from {a.format} to {form!r}: {said}")
        a, want = b, components.holds(b)
    if max(dims, default=0) < 100 and torch.Size(dims).numel() < 5000:
        difference(a.to_dense(), components.dense_of(want, dims, a.dtype))


def _differ(a: scorch.SparseTensor, b: scorch.SparseTensor, want: dict) -> str:
    """What is wrong with b, made from a, which holds what is wanted."""
    scorch.from_components(b.format, b.shape, *components.arrays(b))  # validates
    found, levels = components.holds(b), a.format.bind(a.dim()).levels
    drops = all(level[0] == "dense" for level in levels)  # zeros of dense levels are no entries
    for c, v in want.items():
        if not (drops and v == 0) and found.get(c) != v:
            return f"at {c}: expected {v}, got {found.get(c)}"
    extra = [c for c, v in found.items() if c not in want and v != 0]
    return f"at {extra[0]}: {found[extra[0]]} was not there" if extra else ""
