"""How kernels, functions, types and arrays are pickled: by name if they can be imported, else by value.

In: an object. Out: what `__reduce__` would return. Kernels and functions are pickled as Python's functions are: by the
name of their module and their own. `cloudpickle`, which Dask, Ray and joblib use, pickles what is in `__main__`, in a
notebook or inside a function by value; so do we for it, with the source, which the compiler needs where it arrives.
Arrays are pickled by value, and arrive in the session that is current there.
"""

from __future__ import annotations

import hashlib
import linecache
import sys
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from pickle import PicklingError
from types import FunctionType
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiCompilationError
from ...transpiler.frontend.source.definition import DEFINED, DERIVATIVE_NAMES, PARSED, KernelDefinition
from ...transpiler.ir.types import Struct as StructInKernel
from ...transpiler.lang.decorators import Func
from ...transpiler.lang.struct import Struct, StructType, type_of_struct
from ..arrays.dense_array import DenseArray
from ..arrays.ndarray import ndarray
from ..fields.field import field
from .kernel import BoundKernel, Kernel

MAIN = ("__main__", "__mp_main__")
BY_VALUE = ("cloudpickle", "dill")
"""Parts of the names of picklers that take functions of `__main__` by value."""
NOT_PICKLERS = ("pickle", "copyreg", __name__, f"{__package__}.pickling")
"""Modules whose frames may lie between a pickler and this module."""
OWN_ATTRIBUTES = (PARSED, DEFINED)
MEMBERS = ("grad", "dual")


# --- kernels and functions


def reduce_kernel(kernel: Kernel) -> Any:
    """Return how a kernel is pickled."""
    made = kernel.definition
    named = _by_name(kernel, made.function, _member_of(made.derivative))
    if named is not None:
        return named
    state = {
        **_function_state(made.function, made),
        "options": (made.is_method, kernel.is_cacheable, made.derivative, made.fast_math, made.passes),
    }
    return Kernel.__new__, (Kernel,), state, None, None, _restore_kernel


def reduce_bound_kernel(bound: BoundKernel) -> Any:
    """Return how a method of an object is pickled."""
    return BoundKernel, (bound.kernel, bound.instance)


def reduce_function(func: Func) -> Any:
    """Return how a function of kernels is pickled."""
    named = _by_name(func, func.function, "")
    if named is not None:
        return named
    options = func.in_python, func.is_real, func.inline
    state = {**_function_state(func.function, KernelDefinition(func.function)), "options": options}
    return Func.__new__, (Func,), state, None, None, _restore_function


def _restore_kernel(kernel: Kernel, state: dict[str, Any]) -> None:
    function = _function_of(state)
    Kernel.__init__(kernel, function, *state["options"])


def _restore_function(func: Func, state: dict[str, Any]) -> None:
    in_python, is_real, inline = state["options"]
    Func.__init__(func, _function_of(state), in_python, is_real, inline)


def _member_of(derivative: str) -> str:
    """Return what follows a kernel's name in the name of its derivative: ".grad"."""
    return DERIVATIVE_NAMES[derivative].replace("_", ".")


def _by_name(value: Any, function: Callable[..., Any], member: str) -> Any:
    """Return how an object is pickled that is the value of a name; None if it is pickled by value.

    Raises: PicklingError for one that has no name, if the pickler takes no functions by value.
    """
    module, name = function.__module__, function.__qualname__ + member
    takes_values = _takes_values(module)
    if _lookup(module, name) is value and not (takes_values and (module in MAIN or _is_registered(module))):
        return _named, (module, name)
    if takes_values:
        return None
    what = "kernel" if isinstance(value, Kernel) else "function"
    raise PicklingError(
        f"{what} `{name}` cannot be pickled: `{module}.{name}` is not this {what}. "
        "Hint: define it at the level of a module, or use `cloudpickle`, as Dask and Ray do"
    )


def _named(module: str, name: str) -> Any:
    __import__(module)
    return attrgetter(name)(sys.modules[module])


def _lookup(module: str, name: str) -> Any:
    try:
        return attrgetter(name)(sys.modules[module])
    except (KeyError, AttributeError):
        return None


def _takes_values(module: str) -> bool:
    """Return whether the pickler that is at work pickles functions of `__main__` by value."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__") in NOT_PICKLERS:
        frame = frame.f_back  # type: ignore[assignment]
    name = "" if frame is None else str(frame.f_globals.get("__name__", ""))
    return any(part in name for part in BY_VALUE)


def _is_registered(module: str) -> bool:
    """Return whether `cloudpickle.register_pickle_by_value` was called for a module or a package around it."""
    cloudpickle = sys.modules.get("cloudpickle")
    if cloudpickle is None:
        return False
    registered = cloudpickle.list_registry_pickle_by_value()
    parts = module.split(".")
    return any(".".join(parts[: k + 1]) in registered for k in range(len(parts)))


def _function_state(function: Callable[..., Any], definition: KernelDefinition) -> dict[str, Any]:
    """Return the function itself, its annotations as objects, and its source, which exists only here.

    The copy is no value of any name, so it is pickled by value, and without what we keep at functions.
    """
    assert isinstance(function, FunctionType)
    copied = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copied.__kwdefaults__, copied.__doc__ = function.__kwdefaults__, function.__doc__
    copied.__qualname__, copied.__module__ = function.__qualname__, function.__module__
    copied.__dict__.update({k: v for k, v in function.__dict__.items() if k not in OWN_ATTRIBUTES})
    try:
        source = definition.source
        lines, first = source.lines, source.first_line
    except TaichiCompilationError:  # the error comes with the first launch, as it does here
        lines, first = (), 1
    return {"function": copied, "annotations": dict(definition.annotations), "lines": lines, "first": first}


def _function_of(state: dict[str, Any]) -> Any:
    """Return the function of a state, with a source that `linecache` knows."""
    function = state["function"]
    function.__annotations__ = state["annotations"]
    code, lines, first = function.__code__, state["lines"], state["first"]
    here = [line.rstrip("\r\n") for line in linecache.getlines(code.co_filename)[first - 1 : first - 1 + len(lines)]]
    if lines and here != list(lines):
        digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:8]
        name = f"<{Path(code.co_filename).name.strip('<>')} of another process, {digest}>"
        text = ["\n"] * (first - 1) + [f"{line}\n" for line in lines]
        linecache.cache[name] = (sum(map(len, text)), None, text, name)
        function.__code__ = _with_file(code, name)
    return function


def _with_file(code: Any, name: str) -> Any:
    """Return code, and the code inside it, with another file name."""
    constants = tuple(_with_file(c, name) if hasattr(c, "co_filename") else c for c in code.co_consts)
    return code.replace(co_filename=name, co_consts=constants)


# --- types


def reduce_struct_type(kind: StructType) -> Any:
    """Return how a type of structs is pickled."""
    name = kind.known_name()
    module = None if kind.scope is None else kind.scope.get("__name__")
    if kind.scope is None:
        module = next((n for n, m in list(sys.modules.items()) if getattr(m, name or "", None) is kind), None)
    if name and isinstance(module, str) and _lookup(module, name) is kind:
        takes_values = _takes_values(module)
        if not (takes_values and (module in MAIN or _is_registered(module))):
            return _named, (module, name)
    state = {"members": kind.members, "methods": kind.methods, "name": name, "scope": None}
    return StructType.__new__, (StructType,), state


def reduce_struct(struct: Struct) -> Any:
    """Return how a value of a struct type is pickled: with its type, if it has one."""
    kind = type_of_struct(struct)
    return (Struct, (struct.to_dict(),)) if kind is None else (kind, (struct.entries,))


# --- arrays


def reduce_array(array: DenseArray) -> Any:
    """Return how a field or ndarray is pickled: by value. Raises: TypeError for a part, and for a sparse field."""
    if array.path:
        raise TypeError(f"{array!r} is a part of another array and cannot be pickled. Hint: pickle the whole")
    state = {
        "element": _element_of(array),
        "shape": array.shape,
        "offset": array.offset,
        "name": array.name,
        "values": _values_of(array),
        **{member: _member(array, member) for member in MEMBERS},
    }
    return _array_of, (array.KIND, state)


def _member(array: DenseArray, name: str) -> Any:
    found = getattr(array, name, None)
    has_memory = found is not None and (array.KIND == "ndarray" or found.is_placed)
    return _values_of(found) if has_memory else None


def _element_of(array: DenseArray) -> Any:
    return array.element.origin if isinstance(array.element, StructInKernel) else array.element


def _values_of(array: Any) -> np.ndarray[Any, Any]:
    if array.KIND == "field" and array.describe_array().tree is not None:
        raise TypeError(f"{array!r} is sparse and cannot be pickled. Hint: pickle `x.to_numpy()`")
    return np.ascontiguousarray(array.memory.read_all())


def _array_of(kind: str, state: dict[str, Any]) -> DenseArray:
    element, shape = state["element"], state["shape"]
    needs: Any = {f"needs_{member}": state[member] is not None for member in MEMBERS}
    if kind == "ndarray":
        made = ndarray(element, shape, needs["needs_grad"])
    else:
        made = field(element, shape, name=state["name"], offset=state["offset"] or None, **needs)
    made.memory.write_all(state["values"])
    for member in MEMBERS:
        if state[member] is not None:
            getattr(made, member).memory.write_all(state[member])
    return made


__all__: Sequence[str] = (
    "reduce_array",
    "reduce_bound_kernel",
    "reduce_function",
    "reduce_kernel",
    "reduce_struct",
    "reduce_struct_type",
)
