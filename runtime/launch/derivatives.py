"""What gradients need besides their arguments: elements that a launch, or its own kernel, has overwritten since.

In: the instance of a gradient. Out: the elements that its kernel stores and that the gradient needs, each with its
array (`accesses_of`); and launches that refuse to run without the values from before their kernel's launch
(`guarded`), which a tape saves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any
from weakref import WeakKeyDictionary, ref

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.frontend.source.specialization import Specialization
from ..arrays.dense_array import DenseArray
from ..arrays.memory import handle_of
from ..loading import loader
from .instance import Instance

_derivative_accesses = loader("...transpiler.derivative_accesses", __package__)
_KNOWN: WeakKeyDictionary[Instance, Any] = WeakKeyDictionary()
_tapes = 0


class values_are_restored:  # noqa: N801 - a context manager; a generator of `contextlib` takes 1 us more a launch
    """Lets gradients run inside `with` that need values from before a launch: the caller has restored them."""

    def __enter__(self) -> None:
        global _tapes
        _tapes += 1

    def __exit__(self, kind: Any, value: Any, trace: Any) -> None:
        global _tapes
        _tapes -= 1


def find_accesses(instance: Instance, specialization: Specialization) -> None:
    """Find what the kernel of a gradient and the gradient access, once for each instance."""
    module: Any = _derivative_accesses()
    found = module.derivative_accesses(specialization)
    _KNOWN[instance] = found._replace(fields=[None if field is None else ref(field) for field in found.fields])


def accesses_of(instance: Instance, flat_arguments: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the accesses of a launch and its gradient, each with the array: a captured one, or an argument."""
    for access, parameter, field in bindings_of(instance):
        yield access, field if parameter is None else flat_arguments[parameter]


def bindings_of(instance: Instance) -> Iterator[tuple[Any, int | None, Any]]:
    """Yield the accesses of launches and their gradients, each with the parameter of the array, or a captured array."""
    known = _KNOWN[instance]
    for access in known.accesses:
        parameter = known.parameters[access.binding]
        yield access, parameter, known.fields[access.binding]() if parameter is None else None


def flows_of(instance: Instance, flat_arguments: Sequence[Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield the flows through arrays without a gradient, each with source and target; None: one with a gradient."""
    known = _KNOWN[instance]
    for flow in known.flows:
        source, target = (
            None if binding is None else _array_of(known, binding, flat_arguments)
            for binding in (flow.source, flow.target)
        )
        yield flow, source, target


def _array_of(known: Any, binding: int, flat_arguments: Sequence[Any]) -> Any:
    """Return a captured array, or an argument."""
    parameter = known.parameters[binding]
    return known.fields[binding]() if parameter is None else flat_arguments[parameter]


def has_gradients(gradient: Any, arguments: Sequence[Any]) -> bool:
    """Return whether the kernel of a gradient does anything. gradient: `kernel.grad`."""
    module: Any = _derivative_accesses()
    return bool(module.has_gradients(gradient.specialize(arguments).specialization))


def lines_with_kinks(gradient: Any, arguments: Sequence[Any], array: Any) -> Any:
    """Return where steps and kinks of what an array's elements become may be in a kernel, and where it is read first.

    gradient: `kernel.grad`. Both are source locations; None for an array that the kernel does not read.
    """
    known = _KNOWN[gradient.launcher(arguments)[0]]
    bindings = (number for number in range(len(known.names)) if _array_of(known, number, arguments) is array)
    module: Any = _derivative_accesses()
    return module.lines_with_kinks(gradient.specialize(arguments).specialization, next(bindings))


def check_archivable(specialization: Specialization) -> None:
    """Raise TaichiRuntimeError for a gradient that needs values from before its kernel's launch: archives have none."""
    module: Any = _derivative_accesses()
    accesses = module.derivative_accesses(specialization).accesses
    needing = next((access for access in accesses if access.purpose == "replayed"), None)
    if needing is not None:
        raise needing.location.error(
            TaichiRuntimeError,
            "The gradient needs the value that was read here, and the kernel overwrites it",
            "write to another array, so that a module or a graph can launch the gradient without a tape",
        )


def named_arrays(instance: Instance, flat_arguments: Sequence[Any]) -> dict[str, Any]:
    """Return the arrays of a kernel and of its gradient by name."""
    _, fields, parameters, names, *_ = _KNOWN[instance]
    values = (
        field() if field is not None else None if parameter is None else flat_arguments[parameter]
        for field, parameter in zip(fields, parameters, strict=True)
    )
    return dict(zip(names, values, strict=True))


def guarded(instance: Instance, launch: Callable[..., Any]) -> Callable[..., Any]:
    """Return `launch`; of a gradient that needs values from before its kernel's launch, one that asks for a tape."""
    accesses, _, parameters, names, _, summed = _KNOWN[instance]
    needing = next((access for access in accesses if access.purpose == "replayed"), None)
    stored, needed = (
        {parameters[a.binding]: a for a in accesses if (a.purpose == "stored") == is_store}
        for is_store in (True, False)
    )
    pairs = [(p, q) for p in stored for q in needed if p is not None and q is not None and p != q]
    sums = [(parameters[each.binding], parameters[each.other], each) for each in summed]
    if needing is None and not pairs and not sums:
        return launch

    def checked_launch(*args: Any) -> Any:
        for p, q in pairs:
            if is_same_memory(args[p], args[q]):
                raise needed[q].location.error(
                    TaichiRuntimeError,
                    f"The gradient needs this value, and the kernel writes the same memory as `{stored[p].name}`",
                    "pass different arrays",
                )
        for p, q, each in sums:
            if is_same_memory(args[p], args[q]):
                raise each.location.error(
                    TaichiRuntimeError,
                    f"The gradients of `{names[each.binding]}` and `{names[each.other]}` are the same memory, and one "
                    "is a sum of what is in the other",
                    'pass different arrays, or leave that out: `ti.init(passes="-gather_adjoints")`',
                )
        if needing is not None and not _tapes:
            raise needing.location.error(
                TaichiRuntimeError,
                "The gradient needs the value that was read here, and the kernel overwrites it",
                "launch the kernel in `with ti.ad.Tape(loss):`, which saves the value, or write to another array",
            )
        return launch(*args)

    return checked_launch


def is_same_memory(one: Any, other: Any) -> bool:
    """Return whether two arguments are arrays in one allocation."""
    if one is other:
        return True
    if isinstance(one, DenseArray) and isinstance(other, DenseArray):
        return handle_of(one) is handle_of(other)
    return False
