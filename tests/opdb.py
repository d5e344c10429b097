"""The samples that torch tests its own operators with, over SparseTensors: ``python tests/opdb.py``.

Half of the numbers of a sample's input are set to zero and the input is made sparse. The call must give what
it gives on the dense tensor, or be refused. Printed is how many samples are right, refused, and why;
arguments are names of operators.
"""

import sys
import types
import unittest
import warnings
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch.utils._pytree import tree_map

import scorch

REFUSALS = (NotImplementedError, TypeError, ValueError, RuntimeError, IndexError)
BY_DESIGN = {
    "random": "normal uniform exponential nn.functional.rrelu nn.functional.dropout bernoulli multinomial "
    "cauchy geometric log_normal nn.functional.alpha_dropout",
    "unset memory": "empty empty_like new_empty empty_strided new_empty_strided empty_permuted",
    "over stored entries": "softmax log_softmax nn.functional.softmin masked.softmax masked.log_softmax "
    "masked.softmin",
    "a zero that is made sparse has no sign": "signbit",
    "of matrices without full rank torch has other numbers each time": "linalg.lstsq",
    "0 / 0 where nothing is stored is 0": "div floor_divide remainder fmod true_divide",
}
RULES = (  # of docs/tensors.md, in the words of messages
    "missing entry", "divides by zero", "larger than the result", "would be made dense", "not strided",
    "expected a real type", "of a matrix: use A.to_dense()",
)  # fmt: skip
MEANT = {name for names in BY_DESIGN.values() for name in names.split()}
# Places of equal entries are torch's to choose.
TIES = {"topk", "kthvalue", "sort", "argsort", "msort", "median", "nanmedian", "mode"}


class Said(NamedTuple):
    right: Counter
    refused: Counter
    why: dict[str, str]
    wrong: dict[str, str]
    ruled: Counter  # how many of those refused are so by a rule


def operators() -> list:
    """torch's list, which imports a package that only its expected outputs need."""
    if "expecttest" not in sys.modules:
        stub = types.ModuleType("expecttest")
        stub.TestCase, stub.assert_expected_inline = unittest.TestCase, None
        sys.modules["expecttest"] = stub
    from torch.testing._internal.common_methods_invocations import op_db

    return op_db


def takes(x: object) -> bool:
    """Whether x becomes a SparseTensor: a dense tensor of numbers."""
    plain = isinstance(x, torch.Tensor) and x.layout is torch.strided
    return plain and x.dim() > 0 and x.dtype == torch.float32


def sparse(x: object) -> object:
    return scorch.sparse(x) if takes(x) else x


def copied(x: object) -> object:
    return x.clone() if isinstance(x, torch.Tensor) else x


def thinned(x: object) -> object:
    """x with half of its numbers set to zero."""
    if not takes(x):
        return x
    keep = torch.rand(x.shape, generator=torch.Generator().manual_seed(x.numel())) < 0.5
    return torch.where(keep, x, 0)


def differ(got: object, wanted: object, ties: bool) -> str:
    if isinstance(wanted, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return f"a {type(got).__name__}"
        got = got.to_dense() if scorch.is_sparse(got) else got
        if (got.dtype, got.shape) != (wanted.dtype, wanted.shape):
            return f"{got.dtype} {tuple(got.shape)} for {wanted.dtype} {tuple(wanted.shape)}"
        if ties and wanted.dtype == torch.int64:
            return ""
        got, wanted = got.to_dense(), wanted.to_dense()
        return "" if torch.allclose(got, wanted, 1e-3, 1e-4, equal_nan=True) else "other values"
    if isinstance(wanted, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(wanted):
            return f"a {type(got).__name__}"
        return next(filter(None, (differ(g, w, ties) for g, w in zip(got, wanted, strict=True))), "")
    return "" if got == wanted else f"{got!r:.40} for {wanted!r:.40}"


def samples(op: object, most: int) -> Iterator:
    """Samples of an operator whose input is a tensor of numbers or several."""
    if torch.float32 not in op.supported_dtypes("cpu"):
        return
    for k, sample in enumerate(op.sample_inputs("cpu", torch.float32)):
        if k == most:
            return
        if isinstance(sample.input, list | tuple) or takes(sample.input):
            yield sample


def called(op: object, x: object, sample: object) -> object:
    torch.manual_seed(0)
    return op(x, *sample.args, **sample.kwargs)


def run(names: set[str], most: int = 3) -> Said:
    said = Said(Counter(), Counter(), {}, {}, Counter())
    for op in operators():
        if names and op.name not in names:
            continue
        for sample in samples(op, most):
            dense = tree_map(thinned, sample.input)
            given = tree_map(sparse, dense)
            try:
                wanted = called(op, tree_map(copied, dense), sample)
            except Exception:  # of another device, or without a package that it wants
                continue
            try:
                got = called(op, given, sample)
            except REFUSALS as error:
                said.refused[op.name] += 1
                said.ruled[op.name] += any(words in str(error) for words in RULES)
                said.why.setdefault(op.name, f"{type(error).__name__}: {error}"[:140].replace("\n", " "))
                continue
            why = "" if op.name in MEANT else differ(got, wanted, op.name in TIES)
            if why:
                said.wrong.setdefault(op.name, f"{why}: {sample.args} {sample.kwargs}"[:200])
            said.right[op.name] += not why
    return said


def main() -> int:
    warnings.simplefilter("ignore")
    said = run(set(sys.argv[1:]), most=12)
    for name, why in said.why.items():
        print(f"refused  {name} ({said.refused[name]}): {why}")
    for name, why in said.wrong.items():
        print(f"WRONG    {name}: {why}")
    right, refused, ruled = (x.total() for x in (said.right, said.refused, said.ruled))
    print(
        f"{right} samples of {len(said.right)} operators are right, {refused} are refused, {ruled} by a rule"
    )
    return bool(said.wrong)


if __name__ == "__main__":
    sys.exit(main())
