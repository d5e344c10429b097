"""Writes in place to what torch has as a view, and what is a copy here: never lost without a word."""

import pytest
import torch
from torch.nn.utils import parametrizations

import scorch

DENSE = torch.tensor([[1.0, 2, 0, 3], [0, 4, 5, 0], [6, 0, 0, 7], [0, 8, 9, 0]])
COMPOSED = "bsr(2,2) of blocks(2,2,0.9) + csr"
FORMATS = ["csr", "csc", "coo", "dcsr", "bsr(2,2)", "ell(3)", COMPOSED]
PARTS = {
    "columns": lambda a: a[:, 1:3],
    "a column": lambda a: a[:, 1],
    "a row": lambda a: a[0],
    "rows": lambda a: a[1:3],
    "every other row": lambda a: a[::2],
    "both": lambda a: a[1:, 1:],
    "all": lambda a: a[:],
    "an index of no dimension": lambda a: a[torch.tensor(1)],
    "select": lambda a: a.select(1, 1),
    "narrow": lambda a: a.narrow(1, 0, 2),
    "unbind": lambda a: a.unbind(1)[1],
    "split": lambda a: torch.split(a, 2, 1)[0],
    "chunk": lambda a: a.chunk(2)[1],
    "hsplit": lambda a: torch.hsplit(a, 2)[0],
    "for": lambda a: next(iter(a)),
    "the transpose": lambda a: a.T,
    "rows of the transpose": lambda a: a.T[1:3],
    "the transpose of columns": lambda a: a[:, 1:3].T,
    "columns, detached": lambda a: a[:, 1:3].detach(),
    "columns of columns": lambda a: a[:, 1:3][:, :1],
    "data of columns": lambda a: a[:, 1:3].data,
    "None": lambda a: a[None],
    "unsqueeze": lambda a: a.unsqueeze(0),
    "unflatten": lambda a: a.unflatten(0, (2, 2)),
    "unfold": lambda a: a.unfold(0, 2, 2),
    "reshape": lambda a: a.reshape(2, 8),
    "reshape, its own shape": lambda a: a.reshape(4, 4),
    "reshape, three dimensions": lambda a: a.reshape(2, 2, 4),
    "reshape_as": lambda a: a.reshape_as(torch.ones(8, 2)),
    "flatten": lambda a: a.flatten(),
    "flatten, one dimension": lambda a: a.flatten(1),
    "ravel": lambda a: a.ravel(),
    "squeeze": lambda a: a.squeeze(),
    "contiguous": lambda a: a.contiguous(),
    "the transpose of the transpose, contiguous": lambda a: a.T.T.contiguous(),
    "reshaped rows": lambda a: a[1:3].reshape(8),
}
COPIES = {  # of memory of their own where they are dense, too
    "the transpose, contiguous": lambda a: a.T.contiguous(),
    "the transpose, reshaped": lambda a: a.T.reshape(2, 8),
    "the transpose, flattened": lambda a: a.T.flatten(),
    "expanded, contiguous": lambda a: a.expand(2, 4, 4).contiguous(),
    "F.embedding": lambda a: torch.nn.functional.embedding(torch.tensor([[0, 1], [1, 2]]), a),
}
WRITES = {
    "mul_": lambda x: x.mul_(3),
    "neg_": lambda x: x.neg_(),
    "zero_": lambda x: x.zero_(),
    "add_": lambda x: x.add_(1),
    "fill_": lambda x: x.fill_(2),
    "copy_": lambda x: x.copy_(x.clone() * 2),
    "A[...] = 0": lambda x: x.__setitem__(Ellipsis, 0),
    "out=": lambda x: torch.mul(x.clone(), 2, out=x),
    "imul": lambda x: x.__imul__(2),
    "foreach": lambda x: torch._foreach_mul_([x], 2.0),
}


@pytest.mark.parametrize("fmt", FORMATS)
@pytest.mark.parametrize("part", PARTS)
def test_what_is_written_to_a_part_arrives_or_is_refused(fmt, part):
    a, wanted = scorch.sparse(DENSE, fmt), DENSE.clone()
    PARTS[part](wanted).mul_(3)
    try:
        PARTS[part](a).mul_(3)
    except NotImplementedError as error:
        assert "a view in torch, is a copy here" in str(error) and "clone()" in str(error)
        wanted = DENSE
    assert torch.equal(a.to_dense(), wanted)


@pytest.mark.parametrize("fmt", ("csr", "csc", "coo", "bsr(2,2)", "bitmask", "hyb(2,2)"))
@pytest.mark.parametrize("copy", COPIES)
def test_what_torch_copies_is_written_to_alone(fmt, copy):
    a = scorch.sparse(DENSE, fmt)
    made, wanted = COPIES[copy](a), 3 * COPIES[copy](DENSE)
    assert torch.equal(made.mul_(3).to_dense(), wanted) and torch.equal(a.to_dense(), DENSE)


def test_a_contiguous_tensor_is_itself():
    a = scorch.sparse(DENSE)
    assert a.contiguous() is a and (b := a * 2).contiguous() is b
    w = scorch.sparse(DENSE).requires_grad_()
    (w.T.contiguous() @ torch.arange(4.0)).sum().backward()
    assert torch.equal(w.grad.to_dense(), (DENSE != 0) * torch.arange(4.0)[:, None])


def test_rows_of_csr_and_columns_of_csc_share_memory():
    for a, part in ((scorch.sparse(DENSE), "rows"), (scorch.sparse(DENSE, "csc"), "columns")):
        before = a.values().clone()
        PARTS[part](a).mul_(3)
        assert not torch.equal(a.values(), before)


@pytest.mark.parametrize("write", WRITES)
def test_every_write_is_refused(write):
    a = scorch.sparse(DENSE)
    with pytest.raises(NotImplementedError, match="is a copy here"):
        WRITES[write](a[:, 1:3])
    assert torch.equal(a.to_dense(), DENSE)


@pytest.mark.parametrize(
    "copy",
    [
        lambda a: a[:, [1, 2]],
        lambda a: a[torch.tensor([1, 0])],
        lambda a: a[:, torch.tensor([True, False, True, False])],
        lambda a: a[torch.tensor([[0, 1], [1, 0]])],
        lambda a: a.index_select(1, torch.tensor([0, 1])),
        lambda a: a[:, 1:3].clone(),
        lambda a: a[:, 1:3].detach().clone(),
        lambda a: a[:, 1:3] * 1,
        lambda a: scorch.map(a[:, 1:3], torch.abs),
        lambda a: torch.zeros_like(a[:, 1:3]),
        lambda a: a.tril(),
        lambda a: a.flip(0),
    ],
)
def test_copies_are_written_to(copy):
    a = scorch.sparse(DENSE)
    made = copy(a)
    wanted = 3 * made.to_dense()
    assert torch.equal(made.mul_(3).to_dense(), wanted) and torch.equal(a.to_dense(), DENSE)


def test_parts_that_are_changed_and_stored_back():
    a, d = scorch.sparse(DENSE), DENSE.clone()
    for x in (a, d):
        x[:, 1:3] *= 2
        x[:, 3] /= 4
        x[::2] *= -1
    assert torch.equal(a.to_dense(), d)
    part = a[:, 1:3]
    with pytest.raises(NotImplementedError, match="is a copy here"):
        part *= 2


@pytest.mark.parametrize("foreach", (False, True))
def test_a_parameter_made_of_columns_is_trained(foreach):
    a = scorch.sparse(DENSE)
    p = torch.nn.Parameter(a[:, 1:3])
    p.grad = torch.zeros_like(p.detach()).add_(1)
    torch.optim.SGD([p], lr=1.0, foreach=foreach).step()
    assert torch.equal(p.detach().values(), a[:, 1:3].values() - 1) and torch.equal(a.to_dense(), DENSE)


# ---- what torch writes to ----
def layers(shape, fmt="csr"):
    """A layer with a sparse weight, and one with the dense one."""
    torch.manual_seed(0)
    dense, sparse = (torch.nn.Linear(shape[1], shape[0]) for _ in range(2))
    sparse.load_state_dict(dense.state_dict())
    weight = dense.weight.detach() * (torch.rand(shape) < 0.6)
    weight[0], weight[:, 0] = 1, 1
    dense.weight, sparse.weight = (torch.nn.Parameter(w) for w in (weight, scorch.sparse(weight, fmt)))
    return sparse, dense


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (4, 4)])
@pytest.mark.parametrize("how", [None, "matrix_exp", "cayley", "householder"])
def test_orthogonal_weights_are_those_of_the_dense_parameter(how, shape):
    made, x = [], torch.ones(3, shape[1])
    for layer in layers(shape):
        torch.manual_seed(1)
        parametrizations.orthogonal(layer, orthogonal_map=how)
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)
        (layer(x) ** 3).sum().backward()
        optimizer.step()
        made.append(layer.weight.detach())
    torch.testing.assert_close(*made)
    q = made[0] if shape[0] >= shape[1] else made[0].T
    torch.testing.assert_close(q.T @ q, torch.eye(q.shape[1]))


@pytest.mark.parametrize("fmt", ["csr", "ell(6)", "csr of band(-1,1) + csr"])
@pytest.mark.parametrize("dim", (0, 1, None))
@pytest.mark.parametrize("norm", [parametrizations.weight_norm, torch.nn.utils.weight_norm])
@pytest.mark.filterwarnings("ignore:`torch.nn.utils.weight_norm` is deprecated")
def test_norms_of_a_sparse_parameter(norm, dim, fmt):
    pair = layers((6, 4), fmt)
    found, wanted = (norm(layer, dim=dim)(torch.arange(8.0).view(2, 4)) for layer in pair)
    torch.testing.assert_close(found, wanted)
    for y in (found, wanted):
        y.square().sum().backward()
    for (name, p), q in zip(pair[0].named_parameters(), pair[1].parameters(), strict=True):
        grad = p.grad
        if scorch.is_sparse(grad):
            q.grad, grad = q.grad * (p.detach().to_dense() != 0), grad.to_dense()
        torch.testing.assert_close(grad, q.grad, rtol=1e-4, atol=1e-4, msg=name)


def test_a_norm_of_a_row_without_entries():
    layer = torch.nn.Linear(2, 2)
    layer.weight = torch.nn.Parameter(scorch.sparse(torch.tensor([[3.0, 4], [0, 0]])))
    parametrizations.weight_norm(layer)
    assert torch.equal(layer.weight.to_dense(), torch.tensor([[3.0, 4], [0, 0]]))
    layer(torch.ones(1, 2)).sum().backward()
    assert all(p.grad.isfinite().all() for p in layer.parameters())
