"""`ti.loop_config`: options of the next loop. Input: keywords known at compile time. Output: `Nesting.loop_options`."""

from __future__ import annotations

from typing import Any

from ...errors import TaichiSyntaxError, TaichiTypeError, UnsupportedError
from ..source.named_numbers import plain
from .context import Context
from .values import is_runtime

OPTIONS = ("block_dim", "serialize", "parallelize", "unroll", "grid_stride", "block_dim_adaptive", "bit_vectorize")


HINTS = {
    "block_dim": "write 32 to 1024, or leave it out",
    "parallelize": "write how many threads",
    "unroll": "write how many iterations, or True for all",
}
"""What to write for the options that are numbers."""


def loop_config(context: Context, **options: Any) -> None:
    """Store the options for the next loop.

    `block_dim_adaptive` and `bit_vectorize` are accepted for compatibility and have no effect.
    """
    options = {name: plain(value) for name, value in options.items()}
    for name, value in options.items():
        if name not in OPTIONS:
            raise context.error(
                TaichiSyntaxError, f"`ti.loop_config` has no option `{name}`", f"choose from {', '.join(OPTIONS)}"
            )
        if is_runtime(value):
            raise context.error(TaichiTypeError, f"The option `{name}` must be known at compile time", "write a number")
    for name, hint in HINTS.items():
        value = options.get(name)
        if value is not None and not (isinstance(value, int) and value > 0):
            raise context.error(TaichiTypeError, f"`{name}` must be a positive integer, found {value!r}", hint)
    if not isinstance(options.get("grid_stride"), bool | None):
        found = options["grid_stride"]
        raise context.error(TaichiTypeError, f"`grid_stride` must be True or False, found {found!r}", "or leave it out")
    if not context.dependencies.allows("max_block_dim", "at least", options.get("block_dim") or 0):
        limit = context.dependencies.capabilities.max_block_dim
        raise context.error(
            UnsupportedError,
            f"`block_dim` is {options['block_dim']}; a block of this device has at most {limit} threads",
            f"write {limit} or less",
        )
    context.nesting.loop_options = options
