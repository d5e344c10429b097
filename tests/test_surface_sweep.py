"""Every function that torch lets subclasses override: the right answer or a clear refusal, never garbage.

Calls run in a process of their own, so that a crash is a failure and not the end of the tests. What a call on
the dense tensor gives is what the call on the SparseTensor must give,
unless it is refused; where the two mean
different things by design, ``BY_DESIGN`` says why.
"""

import json
import os
import re
import subprocess
import sys
import warnings

BY_DESIGN = {
    r"(log_)?softm(ax|in)$|softmax\.<": "over stored entries",
    r"div|mod$|mod__$|remainder": "a missing entry annihilates, also 0 / 0",
    r"_$|__i\w+__$|init\.": "in place, only stored values change",
    r"(empty|rand|randn)_like$|dropout|_lowrank$|lobpcg": "random or unset",
    r"_cdata|storage|module_load|__reduce_ex__|__(hash|format|repr|dir)__": "not about entries",
    r"is_coalesced|(sparse|dense)_dim|_dim[IV]$|nbytes": "what a SparseTensor has of its own",
    r"values$|indices$|crow_indices|col_indices": "what a SparseTensor has of its own",
    r"chain_matmul": "torch does not pass out= on",
    r"__r(sub|pow)__": "called with a number as self",
}
ERRORS = (
    NotImplementedError, TypeError, ValueError, RuntimeError, IndexError, AttributeError, AssertionError,
    BufferError, ZeroDivisionError,
)  # fmt: skip
LIMIT = 300


def _differ(got, wanted):
    import torch

    import scorch

    if isinstance(wanted, torch.Tensor):
        if not isinstance(got, torch.Tensor):
            return f"a {type(got).__name__}"
        got = got.to_dense() if scorch.is_sparse(got) else got
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            return f"{got.dtype} {tuple(got.shape)} for {wanted.dtype} {tuple(wanted.shape)}"
        if got.layout != wanted.layout:
            return f"{got.layout} for {wanted.layout}"
        if wanted.layout is not torch.strided:  # of torch
            got, wanted = got.to_dense(), wanted.to_dense()
        return "" if torch.allclose(got, wanted, equal_nan=True) else "other values"
    if isinstance(wanted, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(wanted):
            return f"a {type(got).__name__}"
        return next(filter(None, map(_differ, got, wanted)), "")
    if isinstance(got, type(wanted)) and got == wanted:
        return ""
    return (
        f"{got!r:.60} for {wanted!r:.60}" if isinstance(got, str | int | float) else f"a {type(got).__name__}"
    )


def _differ_out(f, call, wanted):
    """A call with ``out=`` a dense tensor writes there, or is refused."""
    import torch

    out = torch.full_like(wanted, 7)
    try:
        got = f(*_arguments(call, True), out=out)
    except ERRORS:
        return ""
    return "" if got is out and not _differ(out, wanted) else "what was passed does not hold the result"


CALLS = [
    "a",
    "a 0",
    "a 2.0",
    "a dims",
    "a a",
    "a d",
    "d a",
    "list",
    "a mask",
    "a 0 index",
    "a 0 1",
    "a a a",
    "mask a d",
]


def _arguments(call, sparse):
    """The arguments of a call, ``a`` being the tensor under test; new tensors each time."""
    import torch

    import scorch

    d = torch.tensor([[0.0, 2, 0, -1.5], [1, 0, 3, 0], [0, 0, 0, 0], [0.5, 0, 0, 4]], dtype=torch.float64)
    a = scorch.sparse(d, "csr") if sparse else d.clone()
    known = {"a": a, "d": d, "dims": (0, 1), "list": [a, a], "mask": d > 0, "index": torch.tensor([1, 0])}
    return [known[word] if word in known else json.loads(word) for word in call.split()]


def _sweep():
    """Prints what differs, one JSON line a call; runs in a process of its own."""
    import torch
    from torch.overrides import get_testing_overrides, resolve_name

    warnings.simplefilter("ignore")
    counts = {"right": 0, "refused": 0}
    for f in get_testing_overrides():
        name = resolve_name(f) or str(f)
        for call in CALLS:
            print(json.dumps(["call", name, call]), flush=True)
            try:
                wanted = f(*_arguments(call, False))
            except ERRORS:
                wanted = ERRORS
            try:
                got = f(*_arguments(call, True))
            except ERRORS as error:
                counts["refused"] += 1
                if isinstance(error, NotImplementedError) and len(str(error)) < 20:
                    print(json.dumps(["bad", name, f"{call}: refused without a hint: {error}"]))
                continue
            if wanted is not ERRORS and (text := _differ(got, wanted)):
                print(json.dumps(["bad", name, f"{call}: {text}"]))
            counts["right"] += 1
            dense = isinstance(wanted, torch.Tensor) and wanted.layout is torch.strided
            if dense and (text := _differ_out(f, call, wanted)):
                print(json.dumps(["bad", name, f"{call} out: {text}"]))
    print(json.dumps(["done", counts]))


def test_every_function_of_torch():
    done = subprocess.run(
        [sys.executable, __file__],
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]
    assert lines and lines[-1][0] == "done", f"ended in {lines[-1] if lines else None}: {done.stderr[-2000:]}"
    bad = {
        (name, text)
        for kind, name, *text in (line for line in lines if line[0] == "bad")
        if not any(re.search(pattern, name) for pattern in BY_DESIGN)
        for text in text
    }
    assert not bad, "\n".join(f"{name}: {text}" for name, text in sorted(bad))
    assert lines[-1][1]["right"] > 1000


if __name__ == "__main__":
    _sweep()
