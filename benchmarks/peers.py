"""The libraries Scorch is compared with, beyond torch itself. Each may be absent."""

import ctypes
import importlib.util
import sys
from ctypes import POINTER, c_float, c_int, c_void_p
from functools import cache
from pathlib import Path

import torch

try:
    import scipy.sparse as scipy_sparse
except ImportError:
    scipy_sparse = None

try:
    import graphblas
except ImportError:
    graphblas = None

NON_TRANSPOSE, GENERAL, NON_UNIT, ROW_MAJOR = 10, 20, 50, 101  # mkl_spblas.h
FULL_MULT, FINALIZE_MULT = 90, 92
LP64, GNU_THREADS = 0, 3


class _Descr(ctypes.Structure):
    _fields_ = [("type", c_int), ("mode", c_int), ("diag", c_int)]


@cache
def mkl() -> ctypes.CDLL | None:
    """The package `mkl`, set to torch's OpenMP library and thread count, so that one pool serves both."""
    prefixes = [Path(sys.prefix), *(Path(p).parents[2] for p in sys.path if Path(p).name == "site-packages")]
    found = [f for prefix in prefixes for f in sorted(prefix.glob("lib/libmkl_rt.so*"))]
    if not found:
        return None
    for gomp in (Path(torch.__file__).parent / "lib").glob("libgomp*"):
        ctypes.CDLL(str(gomp), ctypes.RTLD_GLOBAL)
    lib = ctypes.CDLL(str(found[0]))
    lib.MKL_Set_Interface_Layer(LP64)
    lib.MKL_Set_Threading_Layer(GNU_THREADS)
    lib.MKL_Set_Num_Threads(torch.get_num_threads())
    lib.mkl_sparse_s_create_csr.argtypes = [POINTER(c_void_p), c_int, c_int, c_int] + [c_void_p] * 4
    lib.mkl_sparse_set_mm_hint.argtypes = [c_void_p, c_int, _Descr, c_int, c_int, c_int]
    lib.mkl_sparse_set_mv_hint.argtypes = [c_void_p, c_int, _Descr, c_int]
    lib.mkl_sparse_optimize.argtypes = lib.mkl_sparse_destroy.argtypes = [c_void_p]
    lib.mkl_sparse_s_mv.argtypes = [c_int, c_float, c_void_p, _Descr, c_void_p, c_float, c_void_p]
    lib.mkl_sparse_spmm.argtypes = [c_int, c_void_p, c_void_p, POINTER(c_void_p)]
    lib.mkl_sparse_sp2m.argtypes = [c_int, _Descr, c_void_p] * 2 + [c_int, POINTER(c_void_p)]
    lib.mkl_sparse_order.argtypes = [c_void_p]
    lib.mkl_sparse_s_mm.argtypes = [c_int, c_float, c_void_p, _Descr, c_int, c_void_p, c_int, c_int]
    lib.mkl_sparse_s_mm.argtypes += [c_float, c_void_p, c_int]
    return lib


class MklMatrix:
    """A float32 torch CSR matrix as an optimised handle of MKL's inspector-executor, for products with this
    many columns; width 0: with vectors."""

    def __init__(self, csr: torch.Tensor, width: int):
        rows, columns = csr.shape
        self.rows, self.handle, self.descr = rows, c_void_p(), _Descr(GENERAL, 0, NON_UNIT)
        self.arrays = csr.crow_indices().int(), csr.col_indices().int(), csr.values()
        pos, crd, values = (a.data_ptr() for a in self.arrays)
        create = mkl().mkl_sparse_s_create_csr
        self._check(create(ctypes.byref(self.handle), 0, rows, columns, pos, pos + 4, crd, values))
        if width:
            hint = mkl().mkl_sparse_set_mm_hint
            self._check(hint(self.handle, NON_TRANSPOSE, self.descr, ROW_MAJOR, width, 1000))
        else:
            self._check(mkl().mkl_sparse_set_mv_hint(self.handle, NON_TRANSPOSE, self.descr, 100000))
        self._check(mkl().mkl_sparse_optimize(self.handle))

    def mm(self, x: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        """[rows, columns] @ [columns, n] contiguous float32 -> [rows, n], into `out` if given."""
        n = x.shape[1]
        out = torch.empty(self.rows, n) if out is None else out
        call = mkl().mkl_sparse_s_mm
        x_out = x.data_ptr(), n, n, 0.0, out.data_ptr(), n
        self._check(call(NON_TRANSPOSE, 1.0, self.handle, self.descr, ROW_MAJOR, *x_out))
        return out

    def mv(self, x: torch.Tensor) -> torch.Tensor:
        """[rows, columns] @ [columns] float32 -> [rows]"""
        y = torch.empty(self.rows)
        call = mkl().mkl_sparse_s_mv
        self._check(call(NON_TRANSPOSE, 1.0, self.handle, self.descr, x.data_ptr(), 0.0, y.data_ptr()))
        return y

    def __del__(self):
        if self.handle:
            mkl().mkl_sparse_destroy(self.handle)

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise RuntimeError(f"MKL returned status {status}")


class MklProduct(MklMatrix):
    """A float32 torch CSR matrix whose product with itself MKL computes, as a handle of its own."""

    def __init__(self, csr: torch.Tensor):
        super().__init__(csr, 1)
        self._kept = c_void_p()

    def _stage(self, stage: int) -> None:
        matrix = NON_TRANSPOSE, self.descr, self.handle
        self._check(mkl().mkl_sparse_sp2m(*matrix, *matrix, stage, ctypes.byref(self._kept)))

    def again(self) -> None:
        """The values alone of a product whose structure is kept, in its place: no new memory."""
        if not self._kept:
            self._stage(FULL_MULT)
        self._stage(FINALIZE_MULT)

    def square(self, ordered: bool) -> None:
        """Makes, orders where asked, and drops the product."""
        result = c_void_p()
        self._check(mkl().mkl_sparse_spmm(NON_TRANSPOSE, self.handle, self.handle, ctypes.byref(result)))
        if ordered:
            self._check(mkl().mkl_sparse_order(result))
        self._check(mkl().mkl_sparse_destroy(result))


def torch_csr(m: "scipy_sparse.csr_matrix") -> torch.Tensor:
    """The same arrays as a tensor of torch."""
    return torch.sparse_csr_tensor(*map(torch.from_numpy, (m.indptr, m.indices, m.data)), m.shape)


def graphblas_matrix(csr: torch.Tensor) -> object:
    """A float32 torch CSR matrix as a GraphBLAS matrix."""
    rows, columns = csr.shape
    parts = csr.crow_indices().long().numpy(), csr.col_indices().long().numpy(), csr.values().numpy()
    return graphblas.Matrix.from_csr(*parts, nrows=rows, ncols=columns)


def geometric() -> bool:
    """Whether torch_geometric is at hand, which takes seconds to import."""
    return importlib.util.find_spec("torch_geometric") is not None


def absent() -> list[str]:
    """Names of the peers that this environment lacks."""
    peers = {"MKL": mkl(), "SciPy": scipy_sparse, "GraphBLAS": graphblas, "torch_geometric": geometric()}
    return [name for name, here in peers.items() if not here]
