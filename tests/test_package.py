"""The package as Python sees it: what it offers, what it loads, what the class defines, what files name."""

import base64
import os
import pickle
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from types import FunctionType
from typing import get_overloads

import pytest
import torch

import scorch
from scorch import _C
from scorch.tensor import rooms
from scorch.tensor.sparsetensor import SparseTensor

# A pickle of the csr matrix [[0, 2], [3, 0]] with requires_grad, made by version 0.1.0 before the rooms.
SAVED = """
eNrdk8tu00AUhn1LAgMNoVzLtdzNJkrSJml2XaBKyOI2bLxBVjoeaiNj5/dMIhWpUjcuDc/AA8AjILFKXowZ3IgiUYktHNma0fE3
Z875JO9bTLAsZ1EzkDwVWU6CnG+P4yQMJm0Cw/VtwzCYyGF6lmcdwGKyxMcyTsQvujwdTDoEtnvECLUMdzgJkmwYBm/z7H2wvSu5
IHBYwLKQM0F4qjcEFX/ZNIzZvjX7RJL599nnrfm31XezLy9Xmir5bP7V1uue7qihOhrlmcxYlgQTnos4S2FqxF9Sn5JYyoQHPA3j
YQprdugTlZW7Ix6I+AMXsPfguH5FJUWU5RIVz/o5ZZxKVD3Hd3SRLN1BzXPGY32t69c0XY4DoxyPPE3l66MJYfp1RQzWu931wUa/
Neh0+z2UZdloDNuzn0s4r3SxNzD+BJvDpqYXoWQYlnpR9au6n6GM0zZqBzhFcboAoTjjGZ5d4KxnFliaMiUj4UwqF4K8yEOe8/BJ
zCRB/THFOYkGxfnIdiMnqvj1/0b1xlqn1Vrr/KbaOkn1AlaqrWOadWA5Um4vUFwscInisnJrFbii3V6dRlrhisQ1iusLhY1/TeGW
+glPkNjr97r99l9KXMDHJKrYVM8mbmiJNyluFbhNsVpKvKMl3i0l3pO4T/HgIx5ODyUeUbjNH1X7SUM=
"""
MOVED = {  # modules that earlier files name, by those that files name now
    "scorch.tensor.format": "scorch._format",
    "scorch.tools.reorder": "scorch._reorder",
    "scorch.tools.sparsify": "scorch._sparsify",
}
TYPED = """
import torch
import scorch

A = scorch.sparse(torch.eye(3), format="csr")
counts: list[int] = [
    A.nnz, (A * 2).nnz, (2 * A).nnz, (A / 2).nnz, (A + A).nnz, (A - A).nnz, (-A).nnz, abs(A).nnz, (A**2).nnz,
    (A < A).nnz, A.T.nnz, A.clone().nnz, A.detach().nnz, A.relu().nnz, A.float().nnz, A.convert("csc").nnz,
    scorch.softmax(A, 1).nnz, A.optimize(calls=1).nnz, A.size(0), A.dim(), *A.size(), *A.shape,
]
tensors: list[torch.Tensor] = [
    A @ torch.ones(3), torch.ones(3) @ A, A + torch.ones(3, 3), A == A, A.to_dense(), A.values(), A.indices(),
    A.to_torch(torch.sparse_coo), A.to_sparse(), A.to_sparse_csr(), A.to_sparse_bsr((1, 1)),
]
text: str = A.plan()
array = A.to_scipy()
reordered: scorch.Reordering = A.reorder("degree")
layer: torch.nn.Module = scorch.nn.Linear(3, 3, density=0.5)
(A + 1).nnz
"""  # the last line, alone, is wrong: that is dense


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


# ---- names ----
def test_dir_shows_what_is_public():
    shown = [name for name in dir(scorch) if not name.startswith("__")]
    assert shown == sorted(scorch.__all__)
    assert all(getattr(scorch, name) is not None for name in shown)
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        scorch.absent  # noqa: B018


def test_rooms_are_there_without_an_import_of_their_own():
    code = (
        "import sys, scorch; print('scorch.nn' in sys.modules or 'scorch.distributed' in sys.modules, "
        "scorch.nn.Linear.__name__, scorch.distributed.RowSharded.__name__)"
    )
    assert run(code).split() == ["False", "Linear", "RowSharded"]


# ---- the class ----
def test_stages_that_can_be_asked_for_are_those_of_the_compiler():
    kernel = scorch.compile("ij->i", scorch.sparse(torch.eye(3)))
    with pytest.raises(ValueError, match='no stage "loops": expected explain, index, ') as info:
        _C.text(kernel._program, kernel._example, "loops")
    known = str(info.value).split("expected ")[1].split(", ")
    assert known == list(_C.stages)
    assert f"`{' '.join(known)}`" in (Path(__file__).parent.parent / "docs" / "settings.md").read_text()
    for stage in known:
        assert isinstance(_C.text(kernel._program, kernel._example, stage), str)


def test_methods_are_defined_in_the_class():
    """Nothing is put on the class from elsewhere, where readers and type checkers would not see it."""
    known = {"__hash__": torch.Tensor.__hash__}  # of torch; the body of a class with __eq__ must say so
    for name, f in vars(SparseTensor).items():
        f = getattr(f, "fget", None) or getattr(f, "__func__", f)
        if isinstance(f, FunctionType) and known.get(name) is not f:
            assert f.__module__ == SparseTensor.__module__, name
            assert f.__qualname__.startswith("SparseTensor."), name


def test_rooms_are_what_type_checkers_read():
    source = Path(rooms.__file__).read_text()
    assert sorted(rooms.__all__) == sorted([*rooms._PATHS, *rooms._LATER, "find_all"])
    for name, path in rooms._PATHS.items():
        assert getattr(rooms, name) is sys.modules[path]
        assert path.rpartition(".")[2] in source.partition("_PATHS")[0], name


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr(2,2)", "ell(2)", "dia(16)", "sell(1,2)"])
def test_operators_return_what_they_declare(format):
    A = scorch.sparse(torch.tensor([[0, 2], [3, 0]]), format=format)
    of_all, of_sparse = [], []
    for name, f in vars(SparseTensor).items():
        hints = getattr(f, "__annotations__", {})
        if name.startswith("__") and "other" in hints:
            of_all += [name] * (hints["return"] == "SparseTensor")
            of_sparse += [name] * bool(get_overloads(f))
    assert {"__mul__", "__rmul__", "__truediv__"} <= {*of_all} and {"__add__", "__lt__"} <= {*of_sparse}
    for name in of_all:
        for other in (2, torch.tensor(2), torch.full((2, 2), 2), torch.full((3, 1, 2), 2)):
            assert scorch.is_sparse(getattr(A, name)(other)), name
    for name in of_sparse:
        assert scorch.is_sparse(getattr(A, name)(scorch.sparse(torch.eye(2, dtype=torch.int64)))), name


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mypy") is None, reason="mypy is not installed")
def test_types_are_seen(tmp_path):
    (tmp_path / "typed.py").write_text(TYPED)
    command = [
        "mypy",
        "--strict",
        "--follow-imports=silent",
        f"--python-executable={sys.executable}",
        "typed.py",
    ]
    place = {**os.environ, "MYPYPATH": str(Path(scorch.__file__).parent.parent)}
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=place)
    wrong = [line.split(":")[1] for line in found.stdout.splitlines() if ": error:" in line]
    assert wrong == [str(len(TYPED.splitlines()))], found.stdout + found.stderr


# ---- saved files ----
def test_tensors_saved_by_earlier_versions_load():
    code = f"import base64, pickle, zlib; A = pickle.loads(zlib.decompress(base64.b64decode({SAVED!r}))); "
    assert (
        run(code + "print(type(A).__name__, A.to_dense().tolist())")
        == "SparseTensor [[0.0, 2.0], [3.0, 0.0]]\n"
    )
    A = pickle.loads(zlib.decompress(base64.b64decode(SAVED)))
    assert A.requires_grad and str(A.format) == "csr"


def test_tensors_name_the_path_that_earlier_versions_have():
    assert b"cscorch._tensor\n_rebuild_v1\n" in pickle.dumps(scorch.sparse(torch.eye(2)), 2)
    assert scorch._tensor is sys.modules["scorch._tensor"]  # dill looks for it there, else takes it apart


@pytest.mark.parametrize("module", MOVED)
def test_what_has_moved_loads_by_its_earlier_path(module):
    A = scorch.sparse(torch.eye(2))
    model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    given = [
        A.format,
        scorch.nn.Linear(2, 2, density=0.5),
        scorch.reorder(A),
        scorch.sparsify(model, measure=False),
    ]
    saved = [pickle.dumps(x, 2) for x in given]
    earlier = [x.replace(f"c{module}\n".encode(), f"c{MOVED[module]}\n".encode()) for x in saved]
    assert earlier != saved
    for x, data in zip(given, earlier, strict=True):
        assert type(pickle.loads(data)) is type(x)


def test_importing_does_not_look_through_torch():
    """No full collection of garbage on the way, which would take longer than the import."""
    code = (
        "import gc, torch; gc.collect(); gc.set_threshold(5, 2, 2); full = []; "
        "gc.callbacks.append(lambda phase, info: full.append(1) if info['generation'] == 2 else None); "
        "import scorch; print(len(full), gc.isenabled())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "True"]
