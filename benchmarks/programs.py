"""Whole programs as one expression, against the same split by hand and against what people write otherwise.

A row says a program: its text, the operands it names, the best sequence of Scorch's calls that we know, and
torch or SciPy. The arguments of a function are names of operands: for the sequence those of the expression,
for torch plain tensors with CSR matrices, for SciPy (`scipy=True`) its matrices and NumPy's arrays. A program
of several assignments is what its last one says. `leaves` are the operands that gradients are taken of.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from inspect import signature

import numpy as np
import torch

import scorch
from benchmarks.data import Case
from benchmarks.operands import Operands, plain, scientific, sets
from benchmarks.peers import scipy_sparse

ONE, HAND, OTHER = "expression", "by hand", "others"


@dataclass(frozen=True)
class Program:
    name: str
    kind: str  # of operands: see operands.py
    text: str  # an einsum string, or index notation
    operands: str  # in the order of the einsum string
    hand: Callable
    other: Callable
    leaves: str = ""
    scipy: bool = False


# ---- what takes more than a line by hand ----
def _softmax_rows(scores: scorch.SparseTensor) -> scorch.SparseTensor:
    return scorch.softmax(scores, 1)


def _attention(M, Q, K, V):
    return _softmax_rows(scorch.einsum("ij,id,jd->ij", M, Q, K)) @ V


def _attention_torch(M, Q, K, V):
    rows = torch.repeat_interleave(torch.arange(len(M)), M.crow_indices().diff())
    columns = M.col_indices()
    scores = (Q[rows] * K[columns]).sum(1)
    return _weighted(scores.exp(), rows, columns, V)


def _weighted(weight, rows, columns, V):
    """Sums of the rows of V that entries choose, over the sum of their weights."""
    total = weight.new_zeros(len(V), *weight.shape[1:]).index_add(0, rows, weight)
    share = (weight / total[rows])[..., None]
    return V.new_zeros(V.shape).index_add(0, rows, share * V[columns])


def _gat(M, s, t, H):
    heads = []
    for h in range(H.shape[1]):
        u = scorch.evaluate(
            "u[i,j] = M[i,j] * max(s[j] + t[i], 0.2 * (s[j] + t[i]))", M=M, s=s[:, h], t=t[:, h]
        )
        heads.append(_softmax_rows(u) @ H[:, h])
    return torch.stack(heads, 1)


def _gat_torch(M, s, t, H):
    rows = torch.repeat_interleave(torch.arange(len(M)), M.crow_indices().diff())
    columns = M.col_indices()
    weight = torch.nn.functional.leaky_relu(s[columns] + t[rows], 0.2).exp()
    return _weighted(weight, rows, columns, H)


def _katz(A, x, y):
    for _ in range(3):
        x = 0.3 * (A @ x) + y
    return x


def _appnp(A, X, Y):
    for _ in range(3):
        X = 0.9 * (A @ X) + 0.1 * Y
    return X


def _machine(X, w, V, squared):
    return X @ w + 0.5 * ((X @ V).square().sum(1) - squared @ V.square().sum(1))


def _relations(beside, X, c, basis):
    weight = torch.einsum("rb,bkn->rkn", c, basis)
    return beside @ torch.einsum("jk,rkn->rjn", X, weight).flatten(0, 1)


def _routed_torch(G, x, W, V):
    y, token = torch.zeros_like(x), torch.repeat_interleave(torch.arange(len(x)), G.crow_indices().diff())
    for e in range(len(W)):
        at = (G.col_indices() == e).nonzero()[:, 0]
        rows = token[at]
        y = y.index_add(0, rows, x[rows] @ W[e] @ V[e] * G.values()[at, None])
    return y


def _fibres_torch(T, A, B, C):
    i, j, k = T.indices()
    outer = B[j][:, :, None] * C[k][:, None, :] * T.values()[:, None, None]
    rows = outer.new_zeros(len(A), B.shape[1], C.shape[1]).index_add(0, i, outer)
    return torch.einsum("ia,ibc->abc", A, rows)


def _mttkrp_hand(T, B, C):
    return scorch.einsum("ijr,jr->ir", scorch.einsum("ijk,kr->ijr", T, C), B, format="dense")


def _mttkrp_torch(T, B, C):
    i, j, k = T.indices()
    return B.new_zeros(T.shape[0], B.shape[1]).index_add(0, i, B[j] * C[k] * T.values()[:, None])


def _cliques_hand(A):
    triangles = scorch.einsum("ij,ik,jk->ijk", A, A, A)
    return scorch.einsum("ijk,il,jl,kl->", triangles, A, A, A)


def _cliques_scipy(A):
    i, j = A.nonzero()
    common = A[i].multiply(A[j]).tocsr()
    return (A.data * np.asarray((common @ A).multiply(common).sum(1))[:, 0]).sum()


def _roughness_torch(A, X):
    rows = torch.repeat_interleave(torch.arange(len(X)), A.crow_indices().diff())
    return (A.values() * (X[rows] - X[A.col_indices()]).square().sum(1)).sum()


# ---- the programs ----
CHAINS = (
    Program("A A X", "graphs", "ij,jk,kf->if", "A A X",
            lambda A, X: A @ (A @ X), lambda A, X: A @ (A @ X), "X"),
    Program("A A A X", "graphs", "ij,jk,kl,lf->if", "A A A X",
            lambda A, X: A @ (A @ (A @ X)), lambda A, X: A @ (A @ (A @ X)), "X"),
    Program("A A x", "graphs", "ij,jk,k->i", "A A x",
            lambda A, x: A @ (A @ x), lambda A, x: A @ (A @ x), "x"),
    Program("A' A X", "graphs", "ji,jk,kf->if", "A A X",
            lambda A, X: A.T @ (A @ X), lambda A, T, X: T @ (A @ X), "X"),
    Program("A' A x + x", "graphs", "y[i] = A[j,i] * A[j,k] * x[k] + 0.1 * x[i]", "A x",
            lambda A, x: A.T @ (A @ x) + 0.1 * x, lambda A, T, x: T @ (A @ x) + 0.1 * x, "x"),
    Program("scaled A A", "graphs", "i,ij,j,jk->ik", "x A y A",
            lambda A, x, y: scorch.einsum("i,ij,j->ij", x, A, y) @ A,
            lambda A, x, y: A.multiply(x[:, None]).multiply(y).tocsr() @ A, scipy=True),
    Program("x' A y", "graphs", "i,ij,j->", "x A y",
            lambda A, x, y: x @ (A @ y), lambda A, x, y: x @ (A @ y), "x y"),
    Program("A B Z", "graphs", "ij,jk,kl->il", "A B Z",
            lambda A, B, Z: A @ (B @ Z), lambda A, B, Z: A @ (B @ Z), "Z"),
    Program("A B A", "small graphs", "ij,jk,kl->il", "A B A",
            lambda A, B: (A @ B) @ A, lambda A, B: (A @ B) @ A, scipy=True),
    Program("A S F, sparse features", "graphs", "ij,jk,kl->il", "A S F",
            lambda A, S, F: A @ (S @ F), lambda A, S, F: A @ (S @ F), "F"),
    Program("A X W, wider", "graphs", "ij,jk,kl->il", "A X wide",
            lambda A, X, wide: (A @ X) @ wide, lambda A, X, wide: (A @ X) @ wide, "X wide"),
    Program("A X W, narrower", "graphs", "ij,jk,kl->il", "A X W",
            lambda A, X, W: A @ (X @ W), lambda A, X, W: A @ (X @ W), "X W"),
    Program("A A X W", "graphs", "ij,jk,kl,lm->im", "A A X W",
            lambda A, X, W: A @ (A @ (X @ W)), lambda A, X, W: A @ (A @ (X @ W)), "X W"),
    Program("A X W V", "graphs", "ij,jk,kl,lm->im", "A X W V",
            lambda A, X, W, V: A @ (X @ (W @ V)), lambda A, X, W, V: A @ (X @ (W @ V)), "X W V"),
    Program("A S F V", "graphs", "ij,jk,kl,lm->im", "A S F V",
            lambda A, S, F, V: A @ (S @ (F @ V)), lambda A, S, F, V: A @ (S @ (F @ V)), "F V"),
    Program("A B A Z", "graphs", "ij,jk,kl,lm->im", "A B A Z",
            lambda A, B, Z: A @ (B @ (A @ Z)), lambda A, B, Z: A @ (B @ (A @ Z)), "Z"),
    Program("x W1 W2 W3, pruned", "weights", "bi,ij,jk,kl->bl", "x W1 W2 W3",
            lambda x, W1, W2, W3: ((x @ W1) @ W2) @ W3,
            lambda x, W1, W2, W3: (W3.t() @ (W2.t() @ (W1.t() @ x.T))).T, "x"),
    Program("sparse plus low rank", "weights", "y[b,o] = x[b,i] * W[o,i] + x[b,j] * V[k,j] * U[o,k]",
            "x W1:W V U", lambda x, W, U, V: torch.nn.functional.linear(x, W) + x @ V.T @ U.T,
            lambda x, W, U, V: (W @ x.T).T + x @ V.T @ U.T, "x U V"),
)  # fmt: skip

GRAPHS = (
    Program("PageRank step", "graphs", "y[i] = 0.85 * M[i,j] * x[j] / degree[j] + 0.15 * y0[i]",
            "M x degree y:y0",
            lambda M, x, degree, y0: 0.85 * (M @ (x / degree)) + 0.15 * y0,
            lambda M, x, degree, y0: 0.85 * (M @ (x / degree)) + 0.15 * y0, "x"),
    Program("Katz, three steps", "graphs",
            "s[i] = 0.3 * (A[i,j] * x[j]) + y[i]; t[i] = 0.3 * (A[i,j] * s[j]) + y[i];"
            " z[i] = 0.3 * (A[i,j] * t[j]) + y[i]",
            "A x y", _katz, _katz, "x y"),
    Program("Katz, nested", "graphs",
            "z[i] = 0.3 * A[i,j] * (0.3 * A[j,k] * (0.3 * A[k,l] * x[l] + y[k]) + y[j]) + y[i]",
            "A x y", _katz, _katz, "x y"),
    Program("APPNP, three steps", "graphs",
            "s[i,f] = 0.9 * (A[i,j] * X[j,f]) + 0.1 * Y[i,f];"
            " t[i,f] = 0.9 * (A[i,j] * s[j,f]) + 0.1 * Y[i,f];"
            " z[i,f] = 0.9 * (A[i,j] * t[j,f]) + 0.1 * Y[i,f]",
            "A X Y", _appnp, _appnp, "X Y"),
    Program("label propagation step", "graphs", "z[i,f] = 0.9 * x[i] * A[i,j] * x[j] * X[j,f] + 0.1 * Y[i,f]",
            "x A X Y", lambda x, A, X, Y: 0.9 * x[:, None] * (A @ (x[:, None] * X)) + 0.1 * Y,
            lambda x, A, X, Y: 0.9 * x[:, None] * (A @ (x[:, None] * X)) + 0.1 * Y, "X Y"),
    Program("D A D X", "graphs", "i,ij,j,jf->if", "x A x X",
            lambda x, A, X: x[:, None] * (A @ (x[:, None] * X)),
            lambda x, A, X: x[:, None] * (A @ (x[:, None] * X)), "X"),
    Program("Laplacian times X", "graphs", "z[i,f] = degree[i] * X[i,f] - A[i,j] * X[j,f]", "degree X A",
            lambda degree, A, X: degree[:, None] * X - A @ X,
            lambda degree, A, X: degree[:, None] * X - A @ X, "X"),
    Program("A over roots of degrees, times X", "graphs",
            "z[i,f] = A[i,j] / sqrt(degree[i]) / sqrt(degree[j]) * X[j,f]", "A degree X",
            lambda A, degree, X: degree.rsqrt()[:, None] * (A @ (degree.rsqrt()[:, None] * X)),
            lambda A, degree, X: degree.rsqrt()[:, None] * (A @ (degree.rsqrt()[:, None] * X)), "X"),
    Program("A tanh(X)", "graphs", "z[i,f] = A[i,j] * tanh(X[j,f])", "A X",
            lambda A, X: A @ torch.tanh(X), lambda A, X: A @ torch.tanh(X), "X"),
    Program("y = A exp(x)", "graphs", "z[i] = A[i,j] * exp(x[j])", "A x",
            lambda A, x: A @ torch.exp(x), lambda A, x: A @ torch.exp(x), "x"),
    Program("(A + B) X", "graphs", "z[i,f] = (A[i,j] + B[i,j]) * X[j,f]", "A B X",
            lambda A, B, X: A @ X + B @ X, lambda A, B, X: A @ X + B @ X, "X"),
    Program("two layers of GCN, nested", "graphs",
            "z[i,c] = A[i,j] * (relu(A[j,k] * (X[k,f] * W[f,h])) * V[h,c])", "A X W V",
            lambda A, X, W, V: A @ (torch.relu(A @ (X @ W)) @ V),
            lambda A, X, W, V: A @ (torch.relu(A @ (X @ W)) @ V), "X W V"),
    Program("two layers of GCN, in turn", "graphs",
            "h[j,d] = relu(A[j,k] * X[k,f] * W[f,d]); z[i,c] = A[i,j] * h[j,d] * V[d,c]", "A X W V",
            lambda A, X, W, V: A @ (torch.relu(A @ (X @ W)) @ V),
            lambda A, X, W, V: A @ (torch.relu(A @ (X @ W)) @ V), "X W V"),
    Program("relations with bases", "graphs", "rij,jk,rb,bkn->in", "R X c basis",
            _relations, _relations, "X c basis"),
    Program("GAT, a head", "graphs",
            "e[i] = M[i,j] * exp(max(s[j] + t[i], 0.2 * (s[j] + t[i])));"
            " z[i,f] = M[i,j] * exp(max(s[j] + t[i], 0.2 * (s[j] + t[i]))) * X[j,f] / e[i]",
            "M x:s y:t X",
            lambda M, s, t, X: _gat(M, s[:, None], t[:, None], X[:, None])[:, 0],
            lambda M, s, t, X: _gat_torch(M, s[:, None], t[:, None], X[:, None])[:, 0], "s t X"),
    Program("GAT, four heads", "graphs",
            "e[i,h] = M[i,j] * exp(max(s[j,h] + t[i,h], 0.2 * (s[j,h] + t[i,h])));"
            " z[i,h,f] = M[i,j] * exp(max(s[j,h] + t[i,h], 0.2 * (s[j,h] + t[i,h]))) * H[j,h,f] / e[i,h]",
            "M s t H", _gat, _gat_torch, "s t H"),
    Program("roughness", "graphs", "r = A[i,j] * (X[i,f] - X[j,f]) * (X[i,f] - X[j,f])", "A X",
            lambda A, X: scorch.einsum("ij,ij->", A, scorch.evaluate(
                "d[i,j] = A[i,j] * (X[i,f] - X[j,f]) * (X[i,f] - X[j,f])",
                A=A._with_values(torch.ones_like(A.values())), X=X)),
            _roughness_torch, "X"),
)  # fmt: skip

COUNTS = (
    Program("triangles", "graphs", "ij,jk,ik->", "A A A",
            lambda A: scorch.einsum("ij,ij->", A @ A, A), lambda A: (A @ A).multiply(A).sum(), scipy=True),
    Program("common neighbours", "graphs", "ij,ik,jk->ij", "A A A",
            lambda A: (A @ A.T) * A, lambda A: (A @ A.T).multiply(A), scipy=True),
    Program("cycles of four", "small graphs", "ij,jk,kl,li->", "A A A A",
            lambda A: (lambda S: scorch.einsum("ij,ji->", S, S))(A @ A),
            lambda A: (lambda S: S.multiply(S.T).sum())(A @ A), scipy=True),
    Program("cycles of five", "small graphs", "ij,jk,kl,lm,mi->", "A A A A A",
            lambda A: (lambda S: scorch.einsum("ki,ij,jk->", A, S, S))(A @ A),
            lambda A: (lambda S: (S @ S).multiply(A.T).sum())(A @ A), scipy=True),
    Program("cliques of four", "small graphs", "ij,ik,il,jk,jl,kl->", "A A A A A A",
            _cliques_hand, _cliques_scipy, scipy=True),
    Program("masked product", "graphs", "ij,ik,kj->ij", "M A B",
            lambda M, A, B: M * (A @ B), lambda M, A, B: (A @ B).multiply(M), scipy=True),
    Program("masked product times X", "graphs", "ij,ik,kj,jf->if", "M A B X",
            lambda M, A, B, X: (M * (A @ B)) @ X, lambda M, A, B, X: (A @ B).multiply(M) @ X, scipy=True),
    Program("P = A B; D = P M; Y = D X", "small graphs",
            "P[i,j] = A[i,k] * B[k,j]; D[i,j] = P[i,j] * M[i,j]; Y[i,f] = D[i,j] * X[j,f]", "M A B X",
            lambda M, A, B, X: (M * (A @ B)) @ X, lambda M, A, B, X: (A @ B).multiply(M) @ X, scipy=True),
)  # fmt: skip

FORMS = (
    Program("sampled product", "graphs", "ij,if,jf->ij", "M X Y",
            lambda M, X, Y: scorch.sddmm(M, X, Y),
            lambda M, X, Y: torch.sparse.sampled_addmm(M, X, Y.T, beta=0)),
    Program("sampled bilinear form", "graphs", "ij,if,fg,jg->ij", "M X U Y",
            lambda M, X, U, Y: scorch.sddmm(M, X @ U, Y),
            lambda M, X, U, Y: torch.sparse.sampled_addmm(M, X @ U, Y.T, beta=0)),
    Program("X' A Y", "graphs", "if,ij,jg->fg", "X A Y",
            lambda X, A, Y: X.T @ (A @ Y), lambda X, A, Y: X.T @ (A @ Y), "X Y"),
    Program("trace of X' A X", "graphs", "if,ij,jf->", "X A X",
            lambda X, A: (X * (A @ X)).sum(), lambda X, A: (X * (A @ X)).sum(), "X"),
    Program("pairs of features", "features", "bi,if,bj,jf->b", "X V X V",
            lambda X, V: (X @ V).square().sum(1), lambda X, V: (X @ V).square().sum(1), "V"),
    Program("factorisation machine", "features",
            "y[b] = X[b,i] * w[i] + 0.5 * X[b,j] * V[j,f] * X[b,k] * V[k,f]"
            " - 0.5 * X[b,l] * X[b,l] * V[l,g] * V[l,g]",
            "X w V", _machine, _machine, "w V"),
    Program("attention", "tokens",
            "e[i] = M[i,j] * exp(Q[i,d] * K[j,d]); y[i,f] = M[i,j] * exp(Q[i,d] * K[j,d]) * V[j,f] / e[i]",
            "M Q K V", _attention, _attention_torch, "Q K V"),
    Program("attention, scores named", "tokens",
            "S[i,j] = M[i,j] * exp(Q[i,d] * K[j,d]); e[i] += S[i,j]; y[i,f] = S[i,j] * V[j,f] / e[i]",
            "M Q K V", _attention, _attention_torch, "Q K V"),
    Program("experts, two layers", "experts", "te,tk,ekn,enm->tm", "G x W V",
            lambda G, x, W, V: scorch.einsum("ten,enm->tm", scorch.einsum("te,tk,ekn->ten", G, x, W), V),
            _routed_torch, "x W V"),
)  # fmt: skip

TENSORS = (
    Program("TTMc, all modes", "tensor", "ijk,ia,jb,kc->abc", "T A B C",
            lambda T, A, B, C: torch.einsum("ibc,ia->abc", scorch.einsum("ijk,jb,kc->ibc", T, B, C), A),
            _fibres_torch, "A B C"),
    Program("MTTKRP", "tensor", "ijk,jr,kr->ir", "T B C",
            _mttkrp_hand, _mttkrp_torch, "B C"),
    Program("inner product with a CP model", "tensor", "ijk,ir,jr,kr->", "T A B C",
            lambda T, A, B, C: (scorch.einsum("ijk,jr,kr->ir", T, B, C) * A).sum(),
            lambda T, A, B, C: (_mttkrp_torch(T, B, C) * A).sum(), "A B C"),
    Program("TTV, two modes", "tensor", "ijk,j,k->i", "T b c",
            lambda T, b, c: scorch.einsum("ij,j->i", scorch.einsum("ijk,k->ij", T, c), b),
            lambda T, b, c: _mttkrp_torch(T, b[:, None], c[:, None])[:, 0], "b c"),
)  # fmt: skip

PROGRAMS = CHAINS + GRAPHS + COUNTS + FORMS + TENSORS


# ---- running ----
def last(result: object) -> object:
    return result[-1] if isinstance(result, tuple) else result


def named(program: Program, operands: Operands) -> Operands:
    """The operands by the names that the text gives them: `W1:W` is W1, called W."""
    pairs = [word.split(":") for word in program.operands.split()]
    return operands | {pair[-1]: operands[pair[0]] for pair in pairs}


def expression(program: Program, operands: Operands) -> Callable[[], object]:
    names = [word.split(":")[-1] for word in program.operands.split()]
    if "=" in program.text:
        given = {name: operands[name] for name in names}
        return lambda: last(scorch.evaluate(program.text, **given))
    given = [operands[name] for name in names]
    return lambda: scorch.einsum(program.text, *given)


def bound(function: Callable, operands: Operands, form: Callable = lambda x: x) -> Callable[[], object]:
    """The function with the operands that its arguments name, in a form."""
    given = [form(operands[name]) for name in signature(function).parameters]
    return lambda: function(*given)


def forward(program: Program, operands: Operands) -> dict[str, Callable[[], object]]:
    calls = {ONE: expression(program, operands), HAND: bound(program.hand, operands)}
    if program.scipy and scipy_sparse is None:
        return calls
    return calls | {OTHER: bound(program.other, operands, scientific if program.scipy else plain)}


def backward(program: Program, operands: Operands) -> dict[str, Callable[[], object]]:
    """Forward and backward: gradients of the leaves, in one vector."""
    leaves = {name: operands[name].detach().clone().requires_grad_() for name in program.leaves.split()}
    calls = forward(program, operands | leaves)
    grad = torch.randn(calls[HAND]().shape, generator=torch.Generator().manual_seed(0))

    def step(call: Callable[[], torch.Tensor]) -> torch.Tensor:
        found = torch.autograd.grad(call(), list(leaves.values()), grad)
        return torch.cat([g.flatten() for g in found])

    return {f"{name}, back": (lambda call=call: step(call)) for name, call in calls.items()}


def cases(root: str | None, quick: bool = False) -> Iterator[Case]:
    for way in (forward, backward):
        for program in PROGRAMS:
            if way is backward and not program.leaves:
                continue
            for name, make in sets(program.kind, quick, root):
                calls = way(program, named(program, make()))
                one, *others = calls
                yield Case(f"{program.name}, {name}", calls, {one: tuple(others)}, each=True)


def programs(root: str | None) -> Iterator[Case]:
    """Programs of several steps. The ratio to those split by hand is what an expression reaches."""
    return cases(root)


SUITES, QUICK = {"programs": programs}, {"programs": partial(cases, quick=True)}
