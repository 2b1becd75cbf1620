"""`ti.tune`: declares tuning parameters of a kernel in Python: constants and the values to try.

    @ti.tune(block_dim=[64, 128, 256])
    @ti.kernel
    def step(): ...

    step.tune()        # compares and times each; later launches use the fastest

In: names and values. Out: a `Tunable` on the kernel's function, which `kernel.tune` reads. Comments in a source do the
same: `// @tune BLOCK = 64 | 128 | 256`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from ...transpiler.errors import TaichiSyntaxError
from ...transpiler.lazy_dataclasses import dataclass

F = TypeVar("F", bound=Callable[..., Any])
ATTRIBUTE = "tunable"
HINT = "@ti.tune(block_dim=[64, 128, 256])"


@dataclass(frozen=True, slots=True)
class Tunable:
    """Tuning parameters declared in Python. parameters: (name, values as strings); where: a condition on the values."""

    parameters: tuple[tuple[str, tuple[str, ...]], ...] = ()
    where: str = ""

    @property
    def given(self) -> dict[str, tuple[str, ...]]:
        """The values by name."""
        return dict(self.parameters)


def tunable_of(function: Any) -> Tunable:
    """Return the tuning parameters of a kernel's function."""
    found: Tunable = getattr(function, ATTRIBUTE, _NOTHING)
    return found


_NOTHING = Tunable()


def tune(*, where: str = "", **parameters: Iterable[Any]) -> Callable[[F], F]:
    """Declare tuning parameters of a kernel for `kernel.tune`; a decorator, above `@ti.kernel` or below.

    Args:
        where: a condition over the names of the parameters, "block_dim * TILE <= 1024".
        parameters: values of `block_dim`, the threads per block, or of any `#define` in the emitted source.

    Nothing is tuned before `kernel.tune(*args)` is called.
    Raises: TaichiSyntaxError if a name has no list of values.

    Example:
        >>> @ti.tune(block_dim=[64, 128])
        ... @ti.kernel
        ... def fill(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] = i
        >>> fill(ti.ndarray(ti.f32, 4))
    """
    tunable = Tunable(tuple((name, _values(name, values)) for name, values in parameters.items()), where)
    if not parameters:
        raise TaichiSyntaxError("`ti.tune` has no tuning parameters", HINT)

    def offer(target: F) -> F:
        if not callable(target):
            raise TaichiSyntaxError(f"`ti.tune` decorates a kernel, found {type(target).__name__}", HINT)
        definition = getattr(target, "definition", None)  # of a kernel; else `target` is a function that becomes one
        setattr(target if definition is None else definition.function, ATTRIBUTE, tunable)
        return target

    return offer


def _values(name: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TaichiSyntaxError(f"`ti.tune({name}=...)` takes a list of values, found {values!r}", HINT)
    result = tuple(dict.fromkeys(str(int(value) if isinstance(value, bool) else value) for value in values))
    if not result:
        raise TaichiSyntaxError(f"`ti.tune({name}=...)` has an empty list of values", HINT)
    for value in result:
        if not value.strip() or any(mark in value for mark in ("\n", "\\", "//", "/*")):
            raise TaichiSyntaxError(f"`ti.tune({name}=...)` cannot write {value!r} behind a `#define`", HINT)
    return result
