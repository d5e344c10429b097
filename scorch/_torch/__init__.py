"""Everything that torch calls private, and the connection of the extension to torch.

Other rooms say ``_torch.name``; what changes with a version of torch is changed in here.
"""

# ruff: noqa: F401
from torch._C import DisableTorchFunctionSubclass
from torch._C._functorch import is_legacy_batchedtensor
from torch._functorch import eager_transforms, vmap
from torch._lowrank import _svd_lowrank as svd_lowrank

from .arguments import (
    are_others,
    broadcast,
    handed_over,
    has_calls,
    is_foreign,
    nn,
    one_by_one,
    parse_to,
    parts_of,
    unasked,
    under_one_name,
)
from .callers import (
    HOOKS,
    asked_by_torch,
    caller,
    fills_later,
    in_attention,
    in_step,
    is_unwatched,
    replace,
    stores_back,
    traces_attention,
    traces_step,
)
from .extension import DEBUG_STAGES, VALIDATES
from .gradients import grad
from .sizes import bounds, divides, holds, surely, symbols_in, unknown_size
from .state import (
    PLAIN,
    Symbol,
    all_numbers,
    any_requires_grad,
    below_autograd,
    beneath_transforms,
    has_numbers,
    in_backward,
    in_final_graph,
    in_forward_mode,
    in_functorch,
    in_graph,
    in_transform,
    is_compiling,
    is_differentiated,
    is_fake,
    is_out_of_reach,
    is_tracing,
    is_wrapped,
    lasting,
    makes_fx,
    numbers_of,
    outside_graphs,
    plainly,
    refuse_batched,
    refuse_fake,
)
from .symbols import (
    follow,
    follow_components,
    keep_whole,
    noted,
    refuse_in_results,
    refuse_jit,
    refuse_script,
    refuse_scripts,
    symbol_in,
    symbolic,
)
from .tensors import (
    address,
    adopt,
    as_far,
    as_plain,
    as_tensor,
    contents,
    count_elements,
    find_room,
    give_away,
    hand_out,
    is_alone,
    is_apart,
    is_array,
    is_read_only,
    is_sole,
    memory_of,
    new_wrapper,
    own,
    protected,
    set_apart,
    version_of_structure,
    write_back,
)
from .tracing import (
    AutogradNode,
    add_wrapper_call,
    admit_nodes,
    apart,
    before_graphs,
    between_graphs,
    constant,
    entries,
    entry,
    is_given_to_graph,
    mark_dynamic,
    node,
    only_below_autograd,
    single_level,
    unmark_dynamic,
    untraced,
    with_memory,
)
