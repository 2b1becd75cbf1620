"""What gradients need besides their arguments: elements that a launch, or its own kernel, has overwritten since.

In: the instance of a gradient. Out: the elements that its kernel stores and that the gradient needs, each with its
array (`accesses_of`); and launches that refuse to run without the values from before their kernel's launch
(`guarded`), which a tape saves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, ref

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.frontend.source.specialization import Specialization
from ..loading import loader
from .instance import Instance

_derivative_accesses = loader("...transpiler.derivative_accesses", __package__)
_KNOWN: WeakKeyDictionary[Instance, Any] = WeakKeyDictionary()
_tapes = 0


@contextmanager
def values_are_restored() -> Iterator[None]:
    """Let gradients run that need values from before a launch: the caller has restored them."""
    global _tapes
    _tapes += 1
    try:
        yield
    finally:
        _tapes -= 1


def find_accesses(instance: Instance, specialization: Specialization) -> None:
    """Find what the kernel of a gradient and the gradient access, once for each instance."""
    module: Any = _derivative_accesses()
    accesses, fields, parameters = module.derivative_accesses(specialization)
    _KNOWN[instance] = accesses, [None if field is None else ref(field) for field in fields], parameters


def accesses_of(instance: Instance, flat_arguments: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the accesses of a launch and its gradient, each with the array: a captured one, or an argument."""
    accesses, fields, parameters = _KNOWN[instance]
    for access in accesses:
        parameter = parameters[access.binding]
        yield access, fields[access.binding]() if parameter is None else flat_arguments[parameter]


def captured_fields(instance: Instance) -> list[Any]:
    """Return the fields that the kernel of a gradient captures, and those of the gradient."""
    return [field() for field in _KNOWN[instance][1] if field is not None]


def guarded(instance: Instance, launch: Callable[..., Any]) -> Callable[..., Any]:
    """Return `launch`; of a gradient that needs values from before its kernel's launch, one that asks for a tape."""
    needing = next((access for access in _KNOWN[instance][0] if access.purpose == "replayed"), None)
    if needing is None:
        return launch

    def launch_with_tape(*args: Any) -> Any:
        if not _tapes:
            raise needing.location.error(
                TaichiRuntimeError,
                "The gradient needs the value that was read here, and the kernel overwrites it",
                "launch the kernel in `with ti.ad.Tape(loss):`, which saves the value, or write to another array",
            )
        return launch(*args)

    return launch_with_tape
