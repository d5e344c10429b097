"""State dicts that torch.distributed.checkpoint sends from rank 0: of SparseTensors the values.

Imported behind torch's module, which takes a while to import.
"""

from __future__ import annotations

from torch.distributed import _state_dict_utils

from .. import _torch
from .distributed import broadcast_states

_torch.replace(_state_dict_utils, "_broadcast_tensors", broadcast_states)
