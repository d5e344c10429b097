"""What torch functions mean for a SparseTensor: the table that the class consults.

The meanings are in the modules named after what they do; here is only who answers for which name, under
``torch``, as a method of ``torch.Tensor``, and in ``torch.nn.functional`` and its like.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType

import torch
import torch.nn.functional as F

from . import _attention, _dispatch, _index, _join, _ops, _pointwise, _products, _reduce, _torch
from ._pointwise import DENSE, PRODUCT, QUOTIENT, UNION
from ._tensor import HANDLERS, SparseTensor

_HOMES = (torch, torch.Tensor)


def _put(handler: Callable, *names: str, homes: tuple = _HOMES) -> None:
    for name in names:
        for home in homes:
            if (f := getattr(home, name, None)) is not None:
                HANDLERS[f] = handler


def _numpy_names(f: Callable) -> Callable:
    """Accepts ``axis=`` and ``keepdims=``, as torch does."""

    def named(*args: object, **kwargs: object) -> torch.Tensor:
        for name, other in (("axis", "dim"), ("keepdims", "keepdim")):
            if name in kwargs:
                kwargs[other] = kwargs.pop(name)
        if kwargs.get("out") is not None:
            raise NotImplementedError("out= with a SparseTensor is not available: use the result")
        kwargs.pop("out", None)
        return f(*args, **kwargs)

    return named


# ---- products ----
for _name in ("mm", "mv", "bmm", "dot", "inner", "matmul", "einsum"):
    _put(getattr(_products, _name), _name)
_put(_products.mm, "smm")
_put(_products.matmul, "__matmul__")
_put(_products.rmatmul, "__rmatmul__")
_put(_products.mm, "mm", homes=(torch.sparse,))
_put(_products.sampled_addmm, "sampled_addmm", homes=(torch.sparse,))
_put(_products.multi_dot, "multi_dot", homes=(torch.linalg,))
_put(_products.matmul, "matmul", homes=(torch.linalg,))
_put(lambda *tensors, out=None: _products.multi_dot(tensors, out=out), "chain_matmul")
_put(_products.added("addmm", 2, 2), "addmm", homes=(*_HOMES, torch.sparse))
_put(_products.added("addmv", 2, 1), "addmv")
_put(_products.added("baddbmm", 3, 3), "baddbmm")
HANDLERS[torch.sparse.mm] = _products.sparse_mm
HANDLERS[F.linear] = _ops.linear
HANDLERS[F.scaled_dot_product_attention] = _attention.scaled_dot_product_attention

# ---- layout and type ----
for _name in ("permute", "transpose", "t"):
    _put(getattr(SparseTensor, _name), _name)
_put(SparseTensor.transpose, "swapaxes", "swapdims")
_put(lambda a: a.mT, "adjoint")
_put(_join.movedim, "movedim", "moveaxis")
HANDLERS[torch.Tensor.H.__get__] = lambda a: a.T
HANDLERS[torch.Tensor.mH.__get__] = lambda a: a.mT
HANDLERS[torch.Tensor.to_dense] = SparseTensor.to_dense
HANDLERS[torch.Tensor.type_as] = lambda a, other: a.to(other.dtype)

# ---- indexing and joining ----
HANDLERS[torch.Tensor.__getitem__] = _index.getitem
HANDLERS[torch.Tensor.__setitem__] = _index.setitem
HANDLERS[torch.Tensor.__iter__] = lambda a: iter(_index.unbind(a))
for _name in ("narrow", "index_select", "masked_select", "unbind", "chunk", "tensor_split"):
    _put(getattr(_index, _name), _name)
_put(_index.along, "select")
_put(
    lambda tensor, split_size=None, dim=0, *, split_size_or_sections=None: _index.split(
        tensor, split_size if split_size_or_sections is None else split_size_or_sections, dim
    ),
    "split", "split_with_sizes",
)  # fmt: skip
for _name in (
    "stack", "hstack", "vstack", "dstack", "block_diag", "reshape", "flatten", "unflatten", "squeeze",
    "unsqueeze", "flip", "roll", "repeat", "tile", "kron", "tril", "triu", "diagonal", "diag", "trace",
):  # fmt: skip
    _put(_numpy_names(getattr(_join, _name)), _name)
_put(_numpy_names(_join.cat), "cat", "concat", "concatenate")
_put(_join.hstack, "column_stack")
_put(_join.vstack, "row_stack")
_put(lambda a: _join.flip(a, 0), "flipud")
_put(lambda a: _join.flip(a, 1), "fliplr")
_put(lambda a, other: _join.reshape(a, tuple(other.shape)), "reshape_as")
_put(lambda a: _join.flatten(a), "ravel")
HANDLERS[torch.linalg.diagonal] = lambda A, *, offset=0, dim1=-2, dim2=-1: _join.diagonal(
    A, offset, dim1, dim2
)

# ---- reductions ----
for _name in ("mean", "var", "std", "count_nonzero", "amax", "amin", "aminmax", "prod", "norm"):
    _put(_numpy_names(getattr(_reduce, _name)), _name)
for _name in ("sum", "any", "all", "max", "min"):
    _put(_numpy_names(getattr(_reduce, f"{_name}_")), _name)
HANDLERS[torch.linalg.vector_norm] = _numpy_names(_reduce.vector_norm)
HANDLERS[torch.linalg.norm] = _numpy_names(_reduce.linalg_norm)
HANDLERS[F.normalize] = _reduce.normalize
HANDLERS[F.softmax], HANDLERS[F.log_softmax] = _reduce.softmax, _reduce.log_softmax
for _name in ("softmax", "log_softmax"):
    _f = getattr(_reduce, _name)
    _put(
        lambda input, dim, dtype=None, f=_f: f(input, dim, dtype=dtype), _name,
        homes=(*_HOMES, torch.special, torch.sparse),
    )  # fmt: skip

# ---- functions of one tensor ----
_KEEP_ZERO = (
    "abs absolute arcsin arcsinh arctan arctanh asin asinh atan atanh ceil conj_physical deg2rad erf erfinv "
    "expm1 fix floor isinf isnan isneginf isposinf log1p neg negative positive rad2deg real relu round sgn "
    "sign signbit sin sinh sqrt square tan tanh trunc"
)
_PROBED = (
    "acos acosh angle arccos arccosh bitwise_not clamp clamp_max clamp_min clip cos cosh digamma erfc exp "
    "exp2 frac i0 isfinite isreal lgamma log log10 log2 logical_not logit mvlgamma nan_to_num polygamma "
    "reciprocal rsqrt selu celu sigmoid sinc threshold xlogy"
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
                HANDLERS[_f] = _pointwise.unary(_f, _name, _keeps)
for _name, _function in (
    ("neg", torch.neg),
    ("abs", torch.abs),
    ("pos", torch.positive),
    ("invert", torch.bitwise_not),
):
    HANDLERS[getattr(torch.Tensor, f"__{_name}__")] = _pointwise.unary(_function, _name, _name != "invert")
HANDLERS[F.dropout] = _pointwise.dropout
_put(lambda input, p, train: _pointwise.dropout(input, p, train), "dropout", homes=(torch,))

# ---- functions of two ----
_KINDS = {
    UNION: "add sub subtract maximum minimum fmax fmin ne not_equal lt less gt greater logical_or "
    "logical_xor bitwise_or bitwise_xor hypot",
    PRODUCT: "mul multiply logical_and bitwise_and",
    QUOTIENT: "div divide true_divide floor_divide remainder fmod",
    DENSE: "eq le less_equal ge greater_equal isclose",
}
_OPERATORS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "floor_divide", "div": "div",
    "mod": "remainder", "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "eq": "eq",
    "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge",
}  # fmt: skip
_BINARY = {
    name: _pointwise.binary(getattr(torch, name), name, kind)
    for kind, names in _KINDS.items()
    for name in names.split()
}
for _name, _f in _BINARY.items():
    _put(_f, _name)
for _operator, _name in _OPERATORS.items():  # methods too: torch's own refuse arrays
    for _method, _f in ("__{}__", _BINARY[_name]), ("__r{}__", _pointwise.reversed_(_BINARY[_name])):
        setattr(SparseTensor, _method.format(_operator), _f)
        _put(_f, _method.format(_operator))
_put(_pointwise.reversed_(_BINARY["sub"]), "rsub")
_put(_pointwise.power, "pow", "float_power", "__pow__")
_put(_pointwise.reversed_(_pointwise.power), "__rpow__")
_put(_pointwise.masked_fill, "masked_fill")
_put(_pointwise.equal, "equal")
_put(_pointwise.allclose, "allclose")

# ---- in place ----
_IN_PLACE = (
    "abs add addcdiv addcmul bernoulli ceil clamp clamp_max clamp_min clip copysign cos div divide exp expm1 "
    "fill floor lerp log log1p mul multiply nan_to_num neg negative normal pow random reciprocal relu "
    "round rsqrt sigmoid sign sin sqrt square sub subtract tanh true_divide trunc uniform zero"
)
for _name in _IN_PLACE.split():
    _put(_pointwise.in_place(getattr(torch.Tensor, f"{_name}_"), f"{_name}_"), f"{_name}_")
for _name, _function in (
    ("add", "add_"),
    ("sub", "sub_"),
    ("mul", "mul_"),
    ("truediv", "div_"),
    ("pow", "pow_"),
):
    _put(_pointwise.in_place(getattr(torch.Tensor, _function), f"__i{_name}__"), f"__i{_name}__")
HANDLERS[torch.Tensor.copy_] = _dispatch.copy_


# ---- making others ----
def _dense_new(name: str) -> Callable:
    return lambda a, *args, **kwargs: getattr(a._val, name)(*args, **kwargs)


def _zeros_like(input: SparseTensor, *, dtype: torch.dtype | None = None, **_: object) -> SparseTensor:
    return _dispatch.filled(input, 0, dtype)


for _name in ("new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"):
    _put(_dense_new(_name), _name)
_put(_zeros_like, "zeros_like", "empty_like")


def _dense_like(f: Callable) -> Callable:
    def made(
        input: SparseTensor, *args: object, dtype: torch.dtype | None = None, **_: object
    ) -> torch.Tensor:
        return f(input._val.new_empty(input.shape, dtype=dtype), *args)

    return made


def _full_like(
    input: SparseTensor, fill_value: float, *, dtype: torch.dtype | None = None, **_: object
) -> torch.Tensor:
    """Zeros keep the structure."""
    if fill_value == 0:
        return _dispatch.filled(input, 0, dtype)
    return _dense_like(torch.full_like)(input, fill_value, dtype=dtype)


HANDLERS[torch.full_like] = _full_like
for _name in ("ones_like", "rand_like", "randn_like"):
    HANDLERS[getattr(torch, _name)] = _dense_like(getattr(torch, _name))


# ---- methods of the class, called under the name of torch's ----
for _name, _f in vars(SparseTensor).items():
    _torchs = getattr(torch.Tensor, _name, None)
    if isinstance(_f, FunctionType) and _torchs is not None and not _name.startswith("__torch"):
        HANDLERS.setdefault(_torchs, _f)


# ---- refused ----
def _refused(name: str, hint: str) -> Callable:
    def refuse(*args: object, **kwargs: object) -> None:
        raise NotImplementedError(f"{name} of a SparseTensor is not available: {hint}")

    return refuse


_HINTS = {
    "const_data_ptr data_ptr set_ storage": "it has no memory of its own: see "
    "A.values(), A.pos(level) and A.crd(level)",
    "numpy tolist __array__ __dlpack__ __dlpack_device__": "use A.to_dense() or A.to_scipy()",
    "crow_indices ccol_indices": "use A.pos(level), or A.to_sparse_csr()",
    "col_indices row_indices": "use A.crd(level), or A.indices()",
    "_nnz": "use A.nnz",
    "view view_as expand expand_as broadcast_to as_strided": "its entries are not strided: use A.reshape, "
    "A.repeat or A.to_dense()",
    "matrix_power matrix_exp": "use products, or A.to_dense()",
    "where": "use A.masked_fill or a product with a mask, or A.to_dense()",
    "argmax argmin argsort sort topk kthvalue median mode cummax cummin cumsum cumprod": "orders and "
    "positions count missing entries: use A.to_dense(), or A.values() for the stored ones",
}
for _names, _hint in _HINTS.items():
    for _name in _names.split():
        _put(_refused(_name, _hint), _name)


def _set_requires_grad(a: SparseTensor, value: bool) -> None:
    a.requires_grad_(value)


HANDLERS[torch.Tensor.requires_grad.__set__] = _set_requires_grad


def _set_data(a: SparseTensor, other: torch.Tensor) -> None:
    """``A.data = B``: A holds what B holds, format and structure included; the shape stays."""
    if not isinstance(a, SparseTensor) or not isinstance(other, SparseTensor) or a.shape != other.shape:
        kinds = " and ".join(f"a {type(x).__name__} {list(x.shape)}" for x in (a, other))
        raise NotImplementedError(
            f"A.data = B: expected two SparseTensors of one shape, got {kinds}: see scorch.sparse"
        )
    with _torch.DisableTorchFunctionSubclass():
        torch.Tensor.data.__set__(a, other)
    kept = {name: x for name, x in a.__dict__.items() if name == "_is_param"}
    facts = {name: other.__dict__[name] for name in ("_fmt", "_names", "_ndim", "_shape", *other._names)}
    a.__dict__.clear()
    a.__dict__.update(facts | kept)


HANDLERS[torch.Tensor.data.__set__] = _set_data
