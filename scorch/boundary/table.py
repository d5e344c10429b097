"""What torch functions mean for a SparseTensor: the table that the class consults.

The meanings are in the modules named after what they do; here is only who answers for which name, under
``torch``, as a method of ``torch.Tensor``, and in ``torch.nn.functional`` and its like.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType

import torch
import torch.nn.functional as F

from .. import _torch
from ..functions import (
    activations,
    attention,
    chance,
    choose,
    composite,
    losses,
    masks,
    order,
    places,
    pointwise,
    products,
    reduce,
    running,
    softmax,
    writing,
)
from ..tensor import conversion, index, join, layouts, rearrange
from ..tensor.sparsetensor import ALONE, HANDLERS, TOTALS, SparseTensor, partwise
from ..tensor.values import needs_grad
from . import dispatch, distributed

_HOMES = (torch, torch.Tensor)


def _of_one(handler: Callable, name: str) -> Callable:
    """A handler of a SparseTensor, the first argument; a SparseTensor elsewhere is refused."""

    def called(*args: object, out: object = None, **kwargs: object) -> object:
        first = (
            args[0]
            if args
            else next((kwargs[n] for n in ("input", "tensor", "A", "LU_data") if n in kwargs), None)
        )
        if not isinstance(first, SparseTensor):
            raise TypeError(
                f"{name} of a dense tensor takes no SparseTensor for its other arguments: use its "
                f"to_dense(), or its values()"
            )
        made = handler(*args, **kwargs)
        return made if out is None else writing.written(out, made)

    called.__wrapped__ = handler
    called.partwise = getattr(handler, "partwise", False)
    return called


def _with_out(f: Callable) -> Callable:
    """f of SparseTensors anywhere, and ``out=``."""

    def called(*args: object, out: object = None, **kwargs: object) -> object:
        made = f(*args, **kwargs)
        return made if out is None else writing.written(out, made)

    called.__wrapped__ = f
    return called


def _put_any(handler: Callable, *names: str, homes: tuple = _HOMES) -> None:
    """Of functions that take SparseTensors anywhere among their arguments."""
    for name in names:
        for home in homes:
            if (f := getattr(home, name, None)) is not None:
                HANDLERS[f] = handler


def _put(handler: Callable, *names: str, homes: tuple = _HOMES) -> None:
    """Of functions of one SparseTensor."""
    for name in names:
        _put_any(_of_one(handler, name), name, homes=homes)


def _with_second(f: Callable, name: str) -> Callable:
    """f of two, the second of which torch calls by another name."""

    def called(input: torch.Tensor, *args: object, **kwargs: object) -> object:
        return f(input, *([kwargs.pop(name)] if name in kwargs else []), *args, **kwargs)

    called.partwise = getattr(f, "partwise", False)
    return called


# ---- products ----
for _name in (
    "mm", "mv", "bmm", "dot", "inner", "matmul", "einsum", "addmm", "addmv", "addr", "addbmm",
    "baddbmm",
):  # fmt: skip
    _put_any(getattr(products, _name), _name)
_put_any(products.mm, "smm")
_put_any(_with_out(products.outer), "outer", "ger")
_put_any(_with_second(products.dot, "other"), "vdot")
_put_any(products.matmul, "__matmul__")
_put_any(products.rmatmul, "__rmatmul__")
_put_any(products.mm, "mm", homes=(torch.sparse,))
_put_any(products.addmm, "addmm", homes=(torch.sparse,))
_put_any(_with_out(products.sampled_addmm), "sampled_addmm", homes=(torch.sparse,))
_put_any(products.multi_dot, "multi_dot", homes=(torch.linalg,))
_put_any(products.matmul, "matmul", homes=(torch.linalg,))
_put_any(_with_out(products.matrix_power), "matrix_power", homes=(*_HOMES, torch.linalg))
_put_any(lambda *matrices, out=None: products.multi_dot(matrices, out=out), "chain_matmul")
HANDLERS[torch.sparse.mm] = products.sparse_mm
HANDLERS[F.linear] = products.linear
HANDLERS[F.scaled_dot_product_attention] = attention.scaled_dot_product_attention
HANDLERS[F.multi_head_attention_forward] = _torch.unasked(F.multi_head_attention_forward)
HANDLERS[torch._transformer_encoder_layer_fwd] = attention.encoder_layer
HANDLERS[torch._native_multi_head_attention] = masks.refuse

# ---- layout and type ----
_put(lambda input, *order, dims=None: input.permute(*order, dims=dims), "permute")
_put(lambda input, dim0, dim1: input.transpose(dim0, dim1), "transpose", "swapaxes", "swapdims")
_put(lambda input: input.t(), "t")
_put(lambda input: input.mT, "adjoint")
_put(partwise(conversion.view), "view")
_put(rearrange.movedim, "movedim", "moveaxis")
# Nothing is complex. torch.compile reads these attributes as operators from torch 2.14 on.
_put(partwise(lambda input: input), "resolve_conj", "resolve_neg")
_aten = torch.ops.aten
HANDLERS |= dict.fromkeys((torch.Tensor.H.__get__, _aten.numpy_T, _aten.matrix_H), lambda input: input.T)
HANDLERS |= dict.fromkeys((torch.Tensor.mH.__get__, _aten.mT, _aten.mH), lambda input: input.mT)
for _handler in HANDLERS.values():  # products and orders of dimensions
    partwise(_handler)
HANDLERS[torch.Tensor.to_dense] = SparseTensor.to_dense
HANDLERS[torch.Tensor.type_as] = partwise(lambda input, other: input.to(other.dtype))


@partwise
def _to(input: torch.Tensor, *args: object, **kwargs: object) -> torch.Tensor:
    """``Tensor.to``; a SparseTensor as the pattern of a dense tensor stands for its type."""
    if not isinstance(input, SparseTensor):
        args = (args[0].dtype, *args[1:])
    return input.to(*args, **kwargs)


HANDLERS[torch.Tensor.to] = _to
_put(partwise(dispatch.clone), "clone")
_put(partwise(dispatch.detach), "detach")

# ---- what torch.sparse calls it ----
for _name, _formats, _kind in (
    ("crow_indices", ("csr", "bsr"), "pos"),
    ("col_indices", ("csr", "bsr"), "crd"),
    ("ccol_indices", ("csc", "bsc"), "pos"),
    ("row_indices", ("csc", "bsc"), "crd"),
):
    _put(layouts.compressed(_name, _formats, _kind), _name)
_put(layouts.coordinates, "_indices")
_put(layouts.sparse_dim, "sparse_dim", "_dimI")
_put(layouts.dense_dim, "dense_dim", "_dimV")
_put(SparseTensor.values, "_values")
_put(lambda input: input._val.shape[0], "_nnz")
_put(lambda input, coalesced: input, "_coalesced_")  # the format says whether it is


# ---- indexing and joining ----
@partwise
def _setitem(a: torch.Tensor, at: object, value: object) -> None:
    """``A[at] = value``; a mask in the step of an optimizer, as Rprop's, is one of stored values."""
    masked = at.__class__ is torch.Tensor and at.dtype == torch.bool and isinstance(a, SparseTensor)
    if masked and at.shape == a.shape and _torch.caller().startswith("torch.optim."):
        at = a.detach()._with_values(writing.gather(a, at))
    index.setitem(a, at, value)


HANDLERS[torch.Tensor.__getitem__] = index.getitem
HANDLERS[torch.Tensor.__setitem__] = _setitem
for _name in ("narrow", "index_select", "unbind", "chunk", "tensor_split"):
    _put(getattr(index, _name), _name)
_put_any(_with_out(index.masked_select), "masked_select")
for _name in (
    "scatter", "scatter_add", "scatter_reduce", "index_add", "index_copy", "index_fill", "index_reduce",
    "index_put", "put", "masked_scatter", "select_scatter", "slice_scatter", "diagonal_scatter",
):  # fmt: skip
    _put_any(_with_out(places.into(_name)), _name)
_put(choose.nonzero, "nonzero", "argwhere")
_put_any(_with_out(choose.where), "where", homes=(torch,))
HANDLERS[torch.Tensor.where] = lambda input, condition, other: choose.where(condition, input, other)
_put_any(choose.sparse_mask, "sparse_mask", homes=(torch.Tensor,))
_put(index.along, "select")


def _split(
    tensor: SparseTensor, split_size: int | Sequence[int] | None = None, dim: int = 0, **named: object
) -> tuple[torch.Tensor, ...]:
    """``torch.split``; ``named`` are the other names that torch has for the sizes."""
    return index.split(tensor, *(named.values() if split_size is None else (split_size,)), dim)


_put(_split, "split")
_put(lambda input, split_sizes, dim=0: index.split(input, split_sizes, dim), "split_with_sizes")
for _name in (
    "reshape", "flatten", "unflatten", "squeeze", "unsqueeze", "flip", "roll", "repeat", "tile", "tril",
    "triu", "diagonal", "diag", "diag_embed", "trace",
):  # fmt: skip
    _put(getattr(rearrange, _name), _name)


for _name in ("stack", "hstack", "vstack", "dstack", "column_stack", "block_diag", "cat"):
    _put_any(_with_out(getattr(join, _name)), _name)
_put_any(_with_out(rearrange.kron), "kron")
_put(pointwise.expand, "expand", "broadcast_to")
_put(rearrange.rot90, "rot90")
_put(lambda input, offset=0: rearrange.diag(rearrange.reshape(input, (-1,)), offset), "diagflat")
for _name in ("pixel_shuffle", "pixel_unshuffle", "channel_shuffle"):
    _put(getattr(rearrange, _name), _name, homes=(torch, F))
_put(rearrange.unfold, "unfold", homes=(torch.Tensor,))
_put(rearrange.unfold, "unfold_copy", homes=(torch,))
_put_any(index.embedding, "embedding", homes=(F,))
_put(rearrange.pad, "pad", homes=(F, _torch.nn))
_put(lambda input, pad, value=0: rearrange.pad(input, pad, value=value), "constant_pad_nd", homes=(torch,))
_put_any(_with_out(join.cat), "concat", "concatenate")
_put_any(_with_out(join.vstack), "row_stack")
_put_any(rearrange.reshape_as, "reshape_as")
_put(lambda input: rearrange.flip(input, 0), "flipud")
_put(lambda input: rearrange.flip(input, 1), "fliplr")
_put(partwise(lambda input: rearrange.flatten(input)), "ravel")
_put(
    lambda A, *, offset=0, dim1=-2, dim2=-1: rearrange.diagonal(A, offset, dim1, dim2),
    "diagonal", homes=(torch.linalg,),
)  # fmt: skip

for _dim, _name in enumerate(("vsplit", "hsplit", "dsplit")):
    _put(composite.split_along(_name, _dim), _name)
_WITH_LISTS = (torch, torch._VF)  # that of lists is called below that of tensors one by one
_put_any(composite.broadcast_tensors, "broadcast_tensors", homes=_WITH_LISTS)
for _dim in (1, 2, 3):
    _put_any(composite.at_least(_dim), f"atleast_{_dim}d", homes=_WITH_LISTS)
    _put(chance.feature_dropout(_dim), f"dropout{_dim}d", homes=(F,))
_put(composite.sum_to_size, "sum_to_size")
_put_any(composite.norm_except_dim, "norm_except_dim")
_put_any(composite.weight_norm, "_weight_norm")
for _name in ("bernoulli", "poisson", "multinomial", "unique", "histc"):
    _put(getattr(chance, _name), _name)
_put_any(composite.repeat_interleave, "repeat_interleave")
_put_any(composite.tensordot, "tensordot")
_put_any(_torch.svd_lowrank, "svd_lowrank")  # torch's own code, over the functions of this table
_put_any(composite.pca_lowrank, "pca_lowrank")
for _name in ("fftshift", "ifftshift"):
    _put(partial(composite.shifted, back=_name == "ifftshift"), _name, homes=(torch.fft,))

# ---- reductions ----
for _name in (
    "nansum",
    "nanmean",
    "mean",
    "var",
    "std",
    "count_nonzero",
    "amax",
    "amin",
    "aminmax",
    "prod",
    "norm",
    "renorm",
):
    _put(getattr(reduce, _name), _name)
_put(reduce.with_mean(reduce.var), "var_mean")
_put(reduce.with_mean(reduce.std), "std_mean")
_put_any(_with_out(reduce.dist), "dist")
for _name in ("sum", "any", "all"):
    _put(getattr(reduce, f"{_name}_"), _name)
_put(reduce.sparse_sum, "_sparse_sum")
TOTALS.update(getattr(home, name) for name in ("sum", "nansum", "count_nonzero") for home in _HOMES)
_put(running.diff, "diff")
_DENSE = {  # functions whose results, or what they sort, are dense and as large as the first tensor, by place
    torch: "quantile nanquantile bucketize isin cumsum cumprod cummax cummin logcumsumexp batch_norm "
    "group_norm instance_norm layer_norm rms_norm native_batch_norm native_group_norm native_layer_norm "
    "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d max_pool1d max_pool2d "
    "max_pool3d avg_pool1d grid_sampler_2d grid_sampler_3d adaptive_avg_pool1d adaptive_max_pool1d stft "
    "inverse pinverse qr svd lu lu_unpack lu_solve cholesky cholesky_inverse cholesky_solve triangular_solve "
    "ormqr geqrf orgqr matrix_exp cross combinations lstm",
    torch.linalg: "inv inv_ex pinv qr svd lu lu_factor lu_factor_ex cholesky cholesky_ex eigh eig "
    "ldl_factor ldl_factor_ex householder_product tensorinv matrix_exp cross",
    F: "batch_norm group_norm instance_norm layer_norm rms_norm local_response_norm interpolate upsample "
    "upsample_nearest upsample_bilinear grid_sample unfold fold max_pool1d max_pool2d max_pool3d avg_pool1d "
    "avg_pool2d avg_pool3d lp_pool1d lp_pool2d lp_pool3d adaptive_avg_pool1d adaptive_avg_pool2d "
    "adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d max_unpool1d "
    "max_unpool2d max_unpool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices "
    "adaptive_max_pool1d_with_indices adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices "
    "fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices "
    "fractional_max_pool3d_with_indices",
    torch.fft: "fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn irfft irfft2 irfftn hfft hfft2 hfftn ihfft "
    "ihfft2 ihfftn",
}
for _home, _names in _DENSE.items():
    for _name in _names.split():
        if (_f := getattr(_home, _name, None)) is not None:
            _put(running.dense_result(_f), _name, homes=(*_HOMES, _home) if _home is torch else (_home,))
_put_any(running.dense_result(torch.cartesian_prod), "cartesian_prod")
_BESIDE = {  # functions that compute densely, beside a dense operand that is as large
    torch: "searchsorted",
    torch.linalg: "lu_solve ldl_solve solve solve_ex solve_triangular lstsq tensorsolve",
    F: "bilinear binary_cross_entropy binary_cross_entropy_with_logits hinge_embedding_loss "
    "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss poisson_nll_loss soft_margin_loss",
}
for _home, _names in _BESIDE.items():
    for _name in _names.split():
        _put_any(_with_out(running.beside_dense(getattr(_home, _name), _name)), _name, homes=(_home,))
_cdist = running.beside_dense(torch.cdist, "cdist")
_put_any(lambda input, other, *more, **how: _cdist(input, other, *more, **how), "cdist")
for _name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"):
    _put_any(losses.of_difference(_name), _name, homes=(F,))
for _name in ("nll_loss", "cross_entropy"):
    _put_any(getattr(losses, _name), _name, homes=(F,))
for _name in ("pairwise_distance", "triplet_margin_loss", "cosine_embedding_loss", "kl_div"):
    _put_any(getattr(composite, _name), _name, homes=(F,))
for _name in ("max", "min"):
    _put_any(_with_out(order.max_or_min(_name)), _name)
    _put(order.arg(_name), f"arg{_name}")
for _name in (
    "sort", "argsort", "kthvalue", "logsumexp", "median", "nanmedian", "mode", "gather", "take",
    "take_along_dim",
):  # fmt: skip
    _put(getattr(order, _name), _name)
_put(order.topk_along, "topk")
_put(lambda input: order.sort(input, 0)[0], "msort")
_put(order.logsumexp, "logsumexp", homes=(torch.special,))
_put(reduce.vector_norm, "vector_norm", homes=(torch.linalg,))
_put(reduce.matrix_norm, "matrix_norm", homes=(torch.linalg,))
_put_any(_with_out(reduce.cosine_similarity), "cosine_similarity", homes=(torch, F))
_put_any(_with_out(reduce.vecdot), "vecdot", homes=(torch.linalg,))
_put(reduce.linalg_norm, "norm", homes=(torch.linalg,))
_put(reduce.normalize, "normalize", homes=(F,))
for _name in ("softmax", "log_softmax"):
    _f = getattr(softmax, _name)
    _put(_f, _name, homes=(F,))
    _put(
        lambda input, dim, dtype=None, f=_f: f(input, dim, dtype=dtype), _name,
        homes=(*_HOMES, torch.special, torch.sparse),
    )  # fmt: skip

_put(softmax.softmin, "softmin", homes=(F,))

# ---- functions of one tensor ----
_KEEP_ZERO = (
    "abs absolute arcsin arcsinh arctan arctanh asin asinh atan atanh ceil conj_physical deg2rad erf erfinv "
    "expm1 fix floor isinf isnan isneginf isposinf log1p neg negative positive rad2deg real relu round sgn "
    "sign signbit sin sinh sqrt square tan tanh trunc"
)
_PROBED = (
    "acos acosh angle arccos arccosh bitwise_not cos cosh digamma erfc exp "
    "exp2 frac i0 isreal lgamma log log10 log2 logical_not logit mvlgamma nan_to_num "
    "reciprocal rsqrt selu celu sigmoid sinc threshold airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 entr "
    "erfcx i0e i1 i1e log_ndtr modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 "
    "ndtr ndtri scaled_modified_bessel_k0 scaled_modified_bessel_k1 spherical_bessel_j0"
)
_ACTIVATIONS = (
    "celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 rrelu selu "
    "sigmoid silu softplus softshrink softsign tanhshrink threshold"
)


for _names, _keeps, _homes in (
    (_PROBED, False, (*_HOMES, torch.special)),
    (_KEEP_ZERO, True, (*_HOMES, torch.special)),
    (_ACTIVATIONS, False, (F,)),
    ("relu tanh", True, (F,)),
):
    for _name in _names.split():
        for _home in _homes:
            if (_f := getattr(_home, _name, None)) is not None:
                _put(pointwise.unary(_f, _name, _keeps), _name, homes=(_home,))
                ALONE.update([_f] if _keeps and callable(_f) else [])
_polygamma = pointwise.unary(lambda values, n: torch.polygamma(n, values), "polygamma", False)
for _home in (torch, torch.special):
    _put_any(_with_out(lambda n, input: _polygamma(input, n)), "polygamma", homes=(_home,))
_put(lambda input, n: _polygamma(input, n), "polygamma", homes=(torch.Tensor,))
for _name, _function in (
    ("neg", torch.neg),
    ("abs", torch.abs),
    ("pos", torch.positive),
    ("invert", torch.bitwise_not),
):
    _put(pointwise.unary(_function, _name, _name != "invert"), f"__{_name}__")
ALONE.update([torch.Tensor.__neg__, torch.Tensor.__abs__, torch.Tensor.__pos__])
_put(pointwise.dropout, "dropout", homes=(F,))
_put(partwise(lambda input, p, train: pointwise.dropout(input, p, train)), "dropout", homes=(torch,))

# ---- functions of two ----
_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "div": "div",
    "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "eq": "eq",
    "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
for _name, _f in pointwise.BINARY.items():
    _put_any(_f, _name)
for _name, _f in pointwise.SPECIAL.items():
    _put_any(_with_second(_f, "n") if "polynomial" in _name else _f, _name, homes=(torch.special,))
_put_any(_with_second(pointwise.BINARY["heaviside"], "values"), "heaviside")
for _name in ("clamp", "clamp_max", "clamp_min", "clip"):
    _put_any(partwise(_with_out(pointwise.clamp(getattr(torch, _name), _name))), _name)
_put(activations.prelu, "prelu", homes=(torch, F))
_put(activations.isfinite, "isfinite")
for _operator, _name in _OPERATORS.items():
    _f = pointwise.BINARY[_name]
    _put_any(_f, f"__{_operator}__")
    _put_any(pointwise.reversed_(_f), f"__r{_operator}__")
_put_any(pointwise.reversed_(pointwise.BINARY["sub"]), "rsub")
_put_any(
    lambda input, other, rtol=1e-5, atol=1e-8, equal_nan=False: pointwise.BINARY["isclose"](
        input, other, rtol=rtol, atol=atol, equal_nan=equal_nan
    ),
    "isclose",
)
_put_any(partwise(_with_out(pointwise.power)), "pow", "__pow__")
_put_any(partwise(_with_out(pointwise.float_power)), "float_power")
_put_any(pointwise.reversed_(pointwise.power), "__rpow__")
_put_any(pointwise.masked_fill, "masked_fill")
for _name in ("lerp", "addcmul", "addcdiv"):
    _put_any(_with_out(getattr(composite, _name)), _name)
_put(activations.glu, "glu", homes=(F,))
_put_any(pointwise.equal, "equal")
_put_any(pointwise.allclose, "allclose")

# ---- in place ----
_IN_PLACE = (
    "addcdiv addcmul bernoulli clamp clamp_max clamp_min clip exponential fill lerp masked_fill normal pow "
    "random uniform zero"
)
for _name in [*pointwise.BINARY, *f"{_IN_PLACE} {_KEEP_ZERO} {_PROBED}".split()]:
    if hasattr(torch.Tensor, f"{_name}_"):
        _put_any(pointwise.in_place(getattr(torch.Tensor, f"{_name}_"), f"{_name}_"), f"{_name}_")
for _name in ("pow", *(name for name in _OPERATORS if hasattr(torch.Tensor, f"__i{name}__"))):
    _f = getattr(torch.Tensor, f"{_OPERATORS.get(_name, _name)}_")
    _put_any(pointwise.in_place(_f, f"__i{_name}__"), f"__i{_name}__")
_put(writing.cut(torch.le, "tril_"), "tril_")
_put(writing.cut(torch.ge, "triu_"), "triu_")
for _name in (
    "addmm", "addmv", "addr", "addbmm", "baddbmm", "index_add", "index_copy", "index_reduce",
    "masked_scatter", "scatter", "scatter_add", "scatter_reduce",
):  # fmt: skip
    _put_any(pointwise.changing(HANDLERS[getattr(torch, _name)], f"{_name}_"), f"{_name}_")
for _name in ("fill_diagonal_", "index_fill_", "index_put_"):
    _put(getattr(writing, _name), _name)


@partwise
def _copy_(input: torch.Tensor, other: torch.Tensor, non_blocking: bool = False) -> torch.Tensor:
    if isinstance(input, SparseTensor):
        writing.refuse_recorded("copy_", input, other)
    return dispatch.copy_(input, other, non_blocking)


HANDLERS[torch.Tensor.copy_] = _copy_


# ---- making others ----
def _dense_new(name: str) -> Callable:
    return partwise(lambda input, *args, **kwargs: getattr(input._val, name)(*args, **kwargs))


# A mask, in which whole rows or columns are set; minus an identity, of which all of a dense weight is made.
_WRITES_TO_ZEROS = ("torch.nn.utils.prune", "torch.nn.utils.parametrizations")


@partwise
def _zeros_like(
    input: SparseTensor,
    *,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    requires_grad: bool = False,
    **_: object,
) -> SparseTensor:
    if torch.device(device or "cpu").type != "cpu":
        raise NotImplementedError(f"scorch computes on the CPU, got device {device}")
    caller = _torch.caller()
    if caller == "torch.optim._muon":
        raise NotImplementedError(
            "torch.optim.Muon steps on all of a matrix, and only what a SparseTensor stores can change: hold "
            "A.to_dense() as its parameter, or take another optimizer"
        )
    if caller in _WRITES_TO_ZEROS:
        return input._val.new_zeros(input.shape, dtype=dtype)
    zeros = dispatch.filled(input, 0, dtype)
    return zeros.requires_grad_() if requires_grad else zeros


for _name in ("new_ones", "new_full", "new_empty", "new_tensor"):
    _put(_dense_new(_name), _name)
_put(distributed.new_zeros, "new_zeros")
_put(_zeros_like, "zeros_like", "empty_like")


def _dense_like(f: Callable) -> Callable:
    def made(
        input: SparseTensor, *args: object, dtype: torch.dtype | None = None, **options: object
    ) -> torch.Tensor:
        return f(input._val.new_empty(input.shape, dtype=dtype), *args, **options)

    return partwise(made)


@partwise
def _full_like(input: SparseTensor, fill_value: float, **options: object) -> torch.Tensor:
    """Zeros keep the structure, and so does what an optimizer begins with."""
    if fill_value == 0:
        return _zeros_like(input, **options)
    if _torch.caller().startswith("torch.optim."):
        return dispatch.filled(input, fill_value, options.get("dtype"))
    return _dense_like(torch.full_like)(input, fill_value, **options)


_put(_full_like, "full_like")


@partwise
def _fill(input: SparseTensor, value: float) -> torch.Tensor:
    """``torch.fill``: recorded, as torch does, though its gradient is zero."""
    if not needs_grad(input):
        return _full_like(input, value)
    if isinstance(value, int | float) and value == 0:
        return input._with_values(torch.fill(input.values(), 0))
    return torch.fill(input.to_dense(), value)


_put(_fill, "fill")
for _name in ("ones_like", "rand_like", "randn_like", "randint_like"):
    _put(_dense_like(getattr(torch, _name)), _name)


# ---- methods of the class, called under the name of torch's ----
for _name, _f in vars(SparseTensor).items():
    _torchs, _own = getattr(torch.Tensor, _name, None), isinstance(_f, FunctionType)
    if _own and _torchs not in (None, _f) and _torchs not in HANDLERS and not _name.startswith("__torch"):
        HANDLERS[_torchs] = _of_one(_f, _name)
        HANDLERS[_torchs].method = _name


# ---- copies of what others view ----
def _copied(view: Callable) -> Callable:
    def copy(*args: object, **kwargs: object) -> object:
        found = view(*args, **kwargs)
        return tuple([x.clone() for x in found]) if isinstance(found, tuple | list) else found.clone()

    return copy


for _name in (
    "alias", "detach", "diagonal", "expand", "narrow", "permute", "select", "slice", "split",
    "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unsqueeze",
):  # fmt: skip
    _f = HANDLERS.get(getattr(torch, _name, None)) or HANDLERS.get(getattr(torch.Tensor, _name, None))
    if _f is not None:
        _put(_copied(_f), f"{_name}_copy")
_put(index.chunk, "unsafe_chunk")
_put(lambda input, split_size, dim=0: index.split(input, split_size, dim), "unsafe_split")
_put(HANDLERS[torch.Tensor.split_with_sizes], "unsafe_split_with_sizes")


# ---- refused ----
def _refused(name: str, hint: str) -> Callable:
    def refuse(*args: object, **kwargs: object) -> None:
        raise NotImplementedError(f"{name} of a SparseTensor is not available: {hint}")

    return refuse


_MEMORY = "it has no memory of its own: see A.values(), A.pos(level) and A.crd(level)"
_HINTS = {
    "const_data_ptr set_ storage": _MEMORY,
    "numpy tolist __array__ __dlpack__ __dlpack_device__": "use A.to_dense() or A.to_scipy()",
    "as_strided": "its entries are not strided: use A.reshape, A.repeat or A.to_dense()",
    "t_ transpose_ swapaxes_ swapdims_ squeeze_ unsqueeze_": "a format is of its dimensions: "
    "use the function that returns a new tensor, A.T for A.t_()",
    "hspmm": "use A @ X",
    "sspaddmm": "use input + A @ X, or scorch.evaluate for a result at some entries",
}
for _names, _hint in _HINTS.items():
    for _name in _names.split():
        _put_any(_refused(_name, _hint), _name)


_refuse_address = _refused("data_ptr", _MEMORY)


def _address(input: SparseTensor) -> int:
    """Refused, but for torch.distributed, which asks whether there is memory: 0 means none."""
    return 0 if _torch.caller().startswith("torch.distributed.") else _refuse_address()


_put(partwise(_address), "data_ptr")


_FACTORISED = "it factorises the dense matrix, which is larger than the result: use A.to_dense()"
for _name in ["det", "logdet", "slogdet", "svdvals", "eigvals", "eigvalsh", "matrix_rank", "cond"]:
    _put_any(_refused(_name, _FACTORISED), _name, homes=(*_HOMES, torch.linalg))


def _as_other(name: str) -> Callable:
    """``view_as`` and ``expand_as``: a SparseTensor may say the shape of a dense tensor."""
    return partwise(lambda input, other: getattr(input, name)(tuple(other.shape)))


for _name in ("view", "expand"):
    _put_any(_as_other(_name), f"{_name}_as")


@partwise
def _set_requires_grad(a: SparseTensor, value: bool) -> None:
    a.requires_grad_(value)


HANDLERS[torch.Tensor.requires_grad.__set__] = _set_requires_grad
