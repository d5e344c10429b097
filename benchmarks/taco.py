"""The loops of `taco_mttkrp.c`, compiled for this machine and called through ctypes."""

import ctypes
import subprocess
import sysconfig
import tempfile
from functools import cache
from pathlib import Path

import torch

SOURCE = Path(__file__).with_name("taco_mttkrp.c")


class _Csf(ctypes.Structure):
    _fields_ = [(name, ctypes.c_void_p) for name in ("pos0", "crd0", "pos1", "crd1", "pos2", "crd2", "val")]


@cache
def library() -> ctypes.CDLL | None:
    """None without a C compiler."""
    folder = Path(tempfile.mkdtemp())
    cc = (sysconfig.get_config_var("CC") or "cc").split()[0]
    command = [cc, "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", str(SOURCE), "-o"]
    try:
        subprocess.run([*command, str(folder / "taco.so")], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return ctypes.CDLL(str(folder / "taco.so"))


class Csf:
    """A third-order float32 SparseTensor of format csf with int32 indices."""

    def __init__(self, tensor: torch.Tensor):
        self.arrays = [f(level) for level in range(3) for f in (tensor.pos, tensor.crd)] + [tensor.values()]
        self.shape = tensor.shape
        self.csf = _Csf(*(a.data_ptr() for a in self.arrays))

    def mttkrp(self, function: str, mode: int, c: torch.Tensor, d: torch.Tensor) -> torch.Tensor:
        """c, d: factor matrices of the other two modes in order, contiguous -> [shape[mode], rank]"""
        out = torch.zeros(self.shape[mode], c.shape[1])
        pointers = (ctypes.c_void_p(x.data_ptr()) for x in (c, d, out))
        getattr(library(), function)(ctypes.byref(self.csf), c.shape[1], *pointers)
        return out
