"""What csrc/bindings says about torch's C interfaces, compiled against torch's own headers."""

import shutil
import subprocess
from pathlib import Path

import pytest
import torch

BINDINGS = Path(__file__).resolve().parent.parent / "csrc" / "bindings"
INCLUDE = Path(torch.__file__).parent / "include"

STABLE = """
#include <type_traits>
#include <torch/csrc/stable/c/shim.h>
#include <torch/csrc/inductor/aoti_torch/generated/c_shim_cpu.h>
#define AT_MKLDNN_ENABLED() 1
#include <torch/csrc/inductor/aoti_torch/c/shim_cpu.h>
#define SC_TORCH_TYPES
#include "torch_abi.h"
#define SAME(ret, name, args) static_assert(std::is_same_v<decltype(&name), ret (*) args>, #name);
SC_TORCH_FUNCTIONS(SAME)
#if TORCH_FEATURE_VERSION >= TORCH_VERSION_2_11_0
SC_TORCH_LATER(SAME)
#endif
static_assert(SC_TORCH_BUILD == TORCH_VERSION_2_10_0);
"""

_FIELDS = {
    ("sc_dl_version", "DLPackVersion"): "major minor",
    ("sc_dl_device", "DLDevice"): "type=device_type id=device_id",
    ("sc_dl_dtype", "DLDataType"): "code bits lanes",
    ("sc_dl_tensor", "DLTensor"): "data device ndim dtype shape strides byte_offset",
    ("sc_dl_managed", "DLManagedTensorVersioned"): "version manager_ctx deleter flags tensor=dl_tensor",
    ("sc_dl_header", "DLPackExchangeAPIHeader"): "version prev=prev_api",
    ("sc_dl_api", "DLPackExchangeAPI"): (
        "header allocate=managed_tensor_allocator own=managed_tensor_from_py_object_no_sync "
        "object=managed_tensor_to_py_object_no_sync borrow=dltensor_from_py_object_no_sync "
        "stream=current_work_stream"
    ),
}
_CODES = {"SC_DL_CPU": "kDLCPU", "SC_DL_INT": "kDLInt", "SC_DL_UINT": "kDLUInt", "SC_DL_FLOAT": "kDLFloat",
          "SC_DL_BFLOAT": "kDLBfloat", "SC_DL_COMPLEX": "kDLComplex", "SC_DL_BOOL": "kDLBool"}  # fmt: skip


def exchange() -> str:
    """C text that compares sizes and offsets of our structures with torch's."""
    lines = ["#include <stddef.h>", "#include <ATen/dlpack.h>", '#include "dlpack.h"']
    for (ours, theirs), fields in _FIELDS.items():
        lines.append(f'_Static_assert(sizeof({ours}) == sizeof({theirs}), "{ours}");')
        for field in fields.split():
            mine, _, other = field.partition("=")
            other = other or mine
            lines.append(
                f'_Static_assert(offsetof({ours}, {mine}) == offsetof({theirs}, {other}), "{ours}.{mine}");'
            )
            size = "sizeof((({})0)->{})".format
            lines.append(
                f'_Static_assert({size(ours + " *", mine)} == {size(theirs + " *", other)}, "{ours}.{mine}");'
            )
    lines += [f'_Static_assert({ours} == (int){theirs}, "{ours}");' for ours, theirs in _CODES.items()]
    return "\n".join(lines) + "\n"


def compiles(tmp_path: Path, compiler: str, name: str, text: str, standard: str) -> None:
    if not (path := shutil.which(compiler)):
        pytest.skip(f"no {compiler}")
    if not (INCLUDE / "ATen" / "dlpack.h").exists():
        pytest.skip("this torch comes without headers")
    source = tmp_path / name
    source.write_text(text)
    command = [path, f"-std={standard}", "-fsyntax-only", f"-I{INCLUDE}", f"-I{BINDINGS}", str(source)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_stable_interface(tmp_path):
    compiles(tmp_path, "c++", "stable.cpp", STABLE, "c++20")


def test_exchange_interface(tmp_path):
    compiles(tmp_path, "cc", "exchange.c", exchange(), "gnu11")
