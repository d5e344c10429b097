"""The layouts of torch and SciPy that a SparseTensor turns into; equal arrays are shared."""

from __future__ import annotations

import torch

from ._tensor import SparseTensor


def _to_coo(a: SparseTensor) -> torch.Tensor:
    """The COO tensor of torch, coalesced."""
    coo = a.coalesce() if a._fmt.startswith("compressed(0, nonunique)") else a.convert("coo")
    *_, values = coo._arrays()
    indices = torch.stack([coo.crd(d) for d in range(a._ndim)]).long()
    return torch.sparse_coo_tensor(indices, values, a.shape, is_coalesced=True, check_invariants=False)


def to_torch(
    a: SparseTensor, layout: torch.layout = torch.sparse_csr, blocksize: tuple[int, int] | None = None
) -> torch.Tensor:
    """The tensor in a layout of torch; memory is shared where the format is that layout."""
    if layout is torch.strided:
        return a.to_dense()
    if layout is torch.sparse_coo:
        return _to_coo(a)
    names = {
        torch.sparse_csr: "csr",
        torch.sparse_csc: "csc",
        torch.sparse_bsr: "bsr",
        torch.sparse_bsc: "bsc",
    }
    if layout not in names:
        raise ValueError(f"expected a layout of torch, got {layout}")
    if a._ndim != 2:
        raise NotImplementedError(f"{layout} of {a._ndim} dimensions: use torch.sparse_coo")
    name = names[layout]
    if name.startswith("b"):
        if blocksize is None and not a._fmt.startswith(name):
            raise ValueError(f"{layout} needs blocksize=(rows, columns)")
        name = f"{name}({blocksize[0]},{blocksize[1]})" if blocksize else a._fmt
        blocksize = tuple(int(n) for n in name[4:-1].split(","))
        if any(n % b for n, b in zip(a.shape, blocksize, strict=True)):
            raise ValueError(
                f"{layout}: expected a shape that blocks of {blocksize} divide, got {tuple(a.shape)}"
            )
    b = a.convert(name)
    values = b.values().view(-1, *blocksize) if blocksize else b.values()
    return torch.sparse_compressed_tensor(
        b.pos(1), b.crd(1), values, a.shape, layout=layout, check_invariants=False
    )


def _to_sparse(
    a: SparseTensor, *args, layout: torch.layout | None = None, blocksize=None, dense_dim=None
) -> torch.Tensor:
    """The tensor in a sparse layout of torch, COO by default; as :func:`to_torch`."""
    return to_torch(a, layout or torch.sparse_coo, blocksize)


def to_scipy(a: SparseTensor):
    """The SciPy sparse array of the nearest format (csr, csc, bsr, else coo), sharing memory if it can."""
    import scipy.sparse

    name = a._fmt.partition("(")[0]
    if name in ("csr", "csc") and a._ndim == 2:
        make = getattr(scipy.sparse, f"{name}_array")
        return make((a.values().numpy(), a.crd(1).numpy(), a.pos(1).numpy()), shape=tuple(a.shape))
    if name == "bsr":
        block = tuple(int(n) for n in a._fmt[4:-1].split(","))
        data = a.values().view(-1, *block).numpy()
        return scipy.sparse.bsr_array((data, a.crd(1).numpy(), a.pos(1).numpy()), shape=tuple(a.shape))
    if a._ndim > 2:
        raise ValueError(f"SciPy has matrices and vectors only, got {a._ndim} dimensions")
    coo = a.convert("coo")
    return scipy.sparse.coo_array(
        (coo.values().numpy(), tuple(coo.crd(d).numpy() for d in range(a._ndim))), shape=tuple(a.shape)
    )


SparseTensor.to_torch, SparseTensor.to_scipy = to_torch, to_scipy
SparseTensor.to_sparse, SparseTensor.to_sparse_coo = _to_sparse, _to_coo


def _layout_method(layout: torch.layout, blocked: bool):
    if blocked:
        method = lambda a, blocksize=None, dense_dim=None: to_torch(a, layout, blocksize)  # noqa: E731
    else:
        method = lambda a, dense_dim=None: to_torch(a, layout)  # noqa: E731
    method.__doc__ = f"The tensor in {layout}; as :func:`to_torch`."
    return method


for _name in ("csr", "csc", "bsr", "bsc"):
    _method = _layout_method(getattr(torch, f"sparse_{_name}"), _name.startswith("b"))
    setattr(SparseTensor, f"to_sparse_{_name}", _method)
