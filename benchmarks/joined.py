"""Suite of functions under torch.compile, with neighbouring calls joined into one program and without.

Both end in inductor; the functions are what people write. With gradients a call is forward and backward.
"""

from collections.abc import Callable, Iterator
from types import FunctionType

import torch
import torch.nn.functional as F

import scorch
from benchmarks.data import Case

PLAIN, JOINED = "torch.compile", "joined"
GRAPHS = ((512, 0.03), (3000, 0.002), (20_000, 0.0005))  # rows, density


# ---- what is compiled ----
def attention(m, q, k, v):
    return torch.softmax(m * (q @ k.T), -1) @ v


def sampled_attention(m, q, k, v):
    return torch.softmax(scorch.sddmm(m, q, k), -1) @ v


def graph_attention(m, s, t, h):
    scores = scorch.evaluate("e[i,j,h] = stored(M[i,j]) * (s[j,h] + t[i,h])", M=m, s=s, t=t)
    weights = torch.softmax(F.leaky_relu(scores, 0.2), 1)
    return scorch.einsum("ijh,jhf->ihf", weights, h)


def layer(m, x, w, b):
    return torch.relu(m @ x @ w + b)


def narrow(m, x, w, b):
    return torch.relu(m @ x @ w[:, :8] + b[:8])


def layer_from_behind(m, x, w, b):
    return torch.relu(m @ (x @ w) + b)


def bias(m, x, w, b):
    return torch.relu(m @ x + b)


def two_layers(m, x, w, b):
    return m @ torch.relu(m @ x @ w + b) @ w + b


def twice(m, x, w, b):
    return m @ (m @ x)


def squared(m, x, w, b):
    return (m @ m) @ x


def _operands(f: Callable, n: int, density: float, width: int) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(0)
    count = int(n * n * density)
    at = torch.randint(n, (2, count))
    values = torch.rand(count) / (n * density)
    m = scorch.sparse(torch.sparse_coo_tensor(at, values, (n, n)).coalesce(), format="csr")
    if f is graph_attention:
        return m, torch.randn(n, 4), torch.randn(n, 4), torch.randn(n, 4, width // 4)
    if f in (attention, sampled_attention):
        return m, *(torch.randn(n, width) * width**-0.5 for _ in range(3))
    return m, torch.randn(n, width), torch.randn(width, width) * width**-0.5, torch.randn(width)


def _compiled(f: Callable, backend: str) -> Callable:
    """Of code of its own, so that compiled functions do not count as versions of one."""
    own = FunctionType(f.__code__.replace(), f.__globals__, f.__name__)
    return torch.compile(own, backend=backend, fullgraph=True, dynamic=False)


def _call(f: Callable, operands: tuple[torch.Tensor, ...], train: bool) -> Callable:
    if not train:
        return torch.no_grad()(lambda: f(*operands))
    own = [operands[0], *(x.clone().requires_grad_() for x in operands[1:])]

    def step() -> torch.Tensor:
        y = f(*own)
        torch.autograd.grad(y.sum(), own[1:], allow_unused=True)
        return y.detach()

    return step


ALL = (
    attention, sampled_attention, graph_attention, layer, narrow, layer_from_behind, bias, two_layers, twice,
    squared,
)  # fmt: skip


def joined(root: str | None, graphs: tuple = GRAPHS) -> Iterator[Case]:
    for f in ALL:
        for train in (False, True):
            for n, density in graphs:
                if f is attention and n > 10_000:
                    continue  # the dense product does not fit
                operands = _operands(f, n, density, 32)
                calls = {
                    name: _call(_compiled(f, backend), operands, train)
                    for name, backend in ((PLAIN, "inductor"), (JOINED, "scorch"))
                }
                name = f"{f.__name__.replace('_', ' ')}, {n}{', gradients' * train}"
                yield Case(name, calls, {JOINED: (PLAIN,)})


SUITES = {"joined": joined}
QUICK = {"joined": lambda root: joined(root, GRAPHS[:1])}
