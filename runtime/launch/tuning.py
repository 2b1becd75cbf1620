"""`ti.tune`: says in Python which values of a kernel's constants are worth a try.

    @ti.tune(block_dim=[64, 128, 256])
    @ti.kernel
    def step(): ...

    step.tune()        # compares and times each; the fastest is kept, and later launches use it

In: names and values. Out: a `Tunable` on the kernel's function, which `kernel.tune` reads. Comments in a text do the
same: `// @tune BLOCK = 64 | 128 | 256`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

from ...transpiler.errors import TaichiSyntaxError

F = TypeVar("F", bound=Callable[..., Any])
ATTRIBUTE = "tunable"
HINT = "Hint: @ti.tune(block_dim=[64, 128, 256])"


@dataclass(frozen=True, slots=True)
class Tunable:
    """What Python offers to tune. knobs: (name, values as texts); where: a condition that values must fulfil."""

    knobs: tuple[tuple[str, tuple[str, ...]], ...] = ()
    where: str = ""

    @property
    def given(self) -> dict[str, tuple[str, ...]]:
        """The values by name."""
        return dict(self.knobs)


def tunable_of(function: Any) -> Tunable:
    """Return what a kernel's function offers to tune."""
    found: Tunable = getattr(function, ATTRIBUTE, _NOTHING)
    return found


_NOTHING = Tunable()


def tune(*, where: str = "", **knobs: Iterable[Any]) -> Callable[[F], F]:
    """Offer values of constants in a kernel's emitted text to `kernel.tune`; a decorator, above `@ti.kernel` or below.

    knobs: `block_dim` for the threads a block, or the name of any `#define` in the text. where: a condition over these
    names, "block_dim * TILE <= 1024". Nothing is tuned before `kernel.tune(*args)` is called.
    Raises: TaichiSyntaxError where a name has no list of values.
    """
    tunable = Tunable(tuple((name, _values(name, values)) for name, values in knobs.items()), where)
    if not knobs:
        raise TaichiSyntaxError(f"`ti.tune` names nothing to tune. {HINT}")

    def offer(target: F) -> F:
        if not callable(target):
            raise TaichiSyntaxError(f"`ti.tune` decorates a kernel, found {type(target).__name__}. {HINT}")
        definition = getattr(target, "definition", None)  # of a kernel; else it is the function that becomes one
        setattr(target if definition is None else definition.function, ATTRIBUTE, tunable)
        return target

    return offer


def _values(name: str, values: Any) -> tuple[str, ...]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TaichiSyntaxError(f"`ti.tune({name}=...)` takes a list of values, found {values!r}. {HINT}")
    found = tuple(dict.fromkeys(str(int(value) if isinstance(value, bool) else value) for value in values))
    if not found:
        raise TaichiSyntaxError(f"`ti.tune({name}=...)` has an empty list of values. {HINT}")
    for value in found:
        if not value.strip() or any(mark in value for mark in ("\n", "\\", "//", "/*")):
            raise TaichiSyntaxError(f"`ti.tune({name}=...)` cannot write {value!r} behind a `#define`. {HINT}")
    return found
