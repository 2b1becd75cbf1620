"""`ti.simt` in a kernel: shared arrays, barriers, votes, shuffles, reductions, and the index of a thread.

Input: the meanings of the functions in `lang.simt.marks`. Output: statements of `ir.threads`. Functions that require a
parallel loop are rejected elsewhere; the pass `check_threads` checks whether all threads reach a barrier.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from math import prod
from typing import Any

from ...errors import TaichiSyntaxError, TaichiTypeError, UnsupportedError
from ...ir.nodes import Statement
from ...ir.origins import settled
from ...ir.sparse import unique_name
from ...ir.statements import Array
from ...ir.threads import COLLECTIVES, FULL_MASK, SUBGROUP_SIZE, Barrier, Collective, ThreadIndex
from ...ir.types import Scalar, Tensor, f32, i32, u1, u32
from ...lang import functions
from ...lang.annotations import as_type
from ...lang.simt.block import SharedArray
from ...lang.simt.marks import MEANING_OF
from ..context.context import Context
from ..context.handler_calls import check_arguments
from ..context.values import describe_kind, is_runtime
from ..source.named_numbers import origin_in, plain

Meaning = Callable[..., Any]


def thread_functions() -> dict[Any, Meaning]:
    """Return the handlers of the functions of `ti.simt`, and of the related functions in `ti`."""
    meanings: dict[Any, Meaning] = {function: _meaning(function, method) for function, method in MEANING_OF.items()}
    return meanings | {
        SharedArray: _shared_array,
        functions.global_thread_idx: _meaning(functions.global_thread_idx, "index global"),
        functions.block_local: _hint("block_local"),
        functions.cache_read_only: _hint("cache_read_only"),
    }


def _meaning(function: Callable[..., Any], method: str) -> Meaning:
    kind, _, what = method.partition(" ")
    module = function.__module__.rpartition(".")[2]
    name = f"ti.simt.{module}.{function.__name__}" if module != "functions" else f"ti.{function.__name__}"
    signature = inspect.signature(function)
    build = {"index": _index, "barrier": _barrier, "memory": _memory, "collective": _collective}[kind]

    def meaning(context: Context, *arguments: Any, **named: Any) -> Any:
        check_arguments(tuple(signature.parameters.values()), arguments, named)
        given = signature.bind(*arguments, **named).arguments
        _require_threads(context, name)
        return build(context, what, given, name)

    return meaning


def _require_threads(context: Context, name: str) -> None:
    if not context.nesting.is_parallel:
        raise context.error(
            TaichiSyntaxError,
            f"`{name}` needs a parallel loop; a single thread runs here",
            "write it in a `for` loop at the top level of the kernel",
        )


def _index(context: Context, kind: str, given: dict[str, Any], name: str) -> Statement:
    return context.builder.add(ThreadIndex(kind, type=i32))


def _barrier(context: Context, scope: str, given: dict[str, Any], name: str) -> None:
    context.builder.add(Barrier(scope, lanes=_lanes(context, given.get("mask"), name)))


def _memory(context: Context, scope: str, given: dict[str, Any], name: str) -> None:
    context.builder.add(Barrier(scope, memory_only=True))


# --- collectives ------------------------------------------------------------------------------------------------------


def _collective(context: Context, op: str, given: dict[str, Any], name: str) -> Statement:
    entry = COLLECTIVES[op]
    _require_feature(context, op, name)
    lanes = _lanes(context, given.pop("mask", None), name) if _is_of_warp(name) else None
    values = list(given.values())
    operands = [_operand(context, kind, value, name) for kind, value in zip(entry.arguments, values, strict=True)]
    type = entry.result if entry.result is not None else operands[0].type
    collective = context.builder.add(Collective(op, operands, lanes, type=type))
    is_signed = type == u1 or name == "ti.simt.warp.ballot"  # measured: Taichi's votes and `ballot` are i32, masks u32
    return context.builder.cast(collective, i32) if is_signed else collective


def _is_of_warp(name: str) -> bool:
    return name.startswith("ti.simt.warp.")


def _operand(context: Context, kind: str, value: Any, name: str) -> Statement:
    if kind == "predicate":
        return context.values.condition(value, name)
    lifted = context.values.lift(value)
    if not isinstance(lifted.type, Scalar):
        raise context.error(
            TaichiTypeError, f"`{name}` takes scalars, found {describe_kind(lifted)}", "call it once for each element"
        )
    if kind != "value":
        if lifted.type.is_float:
            message = f"`{name}` takes an integer to name lanes, found `{lifted.type}`"
            raise context.error(TaichiTypeError, message, "write `int(x)`")
        return context.builder.cast(lifted, i32)
    return _value(context, lifted, name)


def _value(context: Context, operand: Statement, name: str) -> Statement:
    """Return a value to be exchanged, cast to the type in the function's name, if there is one."""
    if _is_of_warp(name):
        return context.builder.cast(operand, f32 if name.endswith("_f32") else i32)
    if operand.type == u1:
        operand = context.builder.cast(operand, i32)
    assert isinstance(operand.type, Scalar)
    what = name.rpartition("_")[2]
    if what in ("and", "or", "xor") and "shuffle" not in name and operand.type.is_float:
        raise context.error(TaichiTypeError, f"`{name}` takes integers, found `{operand.type}`", "use an integer")
    if operand.type.bits < 32:
        message = f"`{name}` takes numbers of 32 and 64 bits, found `{operand.type}`"
        raise context.error(TaichiTypeError, message, "cast it: `ti.cast(x, ti.i32)`")
    is_wide = operand.type.is_integral and operand.type.bits > 32
    if is_wide and not context.dependencies.allows("subgroup_features", "has", "extended_types"):
        raise context.error(
            UnsupportedError,
            f"`{name}` of `{operand.type}` is not available on {context.dependencies.capabilities.target}: "
            "the target device has no shaderSubgroupExtendedTypes",
            "use 32-bit integers, or another arch",
        )
    return operand


def _lanes(context: Context, mask: Any, name: str) -> Statement | None:
    """Return a warp's mask as u32, None for all 32 lanes."""
    if mask is None:
        return None
    if not context.dependencies.allows("subgroup_size", "at most", SUBGROUP_SIZE):
        size = context.dependencies.capabilities.subgroup_size
        raise context.error(
            UnsupportedError,
            f"`{name}` names lanes by 32 bits; the subgroups of this device have {size}",
            "use `ti.simt.subgroup`",
        )
    if isinstance(mask, int):
        if mask not in (-1, FULL_MASK):
            return context.builder.const(mask, u32)
        return None
    lifted = context.values.lift(mask)
    if not isinstance(lifted.type, Scalar) or lifted.type.is_float:
        raise context.error(TaichiTypeError, f"A mask of lanes is an integer, found `{lifted.type}`", "use a ti.u32")
    lanes = context.builder.cast(lifted, u32)
    return None if getattr(lanes, "value", None) == FULL_MASK else lanes


def _require_feature(context: Context, op: str, name: str) -> None:
    entry = COLLECTIVES[op]
    if entry.feature and not context.dependencies.allows("subgroup_features", "has", entry.feature):
        raise context.error(
            UnsupportedError,
            f"`{name}` is not available on {context.dependencies.capabilities.target}: "
            f"the target device's subgroups lack `{entry.feature}`",
            "use shared memory and `ti.simt.block.sync()`, or another arch",
        )
    if entry.feature == "ballot" and _is_of_warp(name):
        _lanes(context, FULL_MASK, name)


# --- memory and hints -------------------------------------------------------------------------------------------------


def _shared_array(context: Context, shape: Any, dtype: Any) -> Array:
    if not context.nesting.is_parallel:
        raise context.error(
            TaichiSyntaxError,
            "A shared array belongs to the blocks of a parallel loop; there is no loop around it",
            "write it as the first line of the `for` loop at the top level of the kernel",
        )
    given = shape if isinstance(shape, (tuple, list)) else (shape,)
    extents = tuple(map(plain, given))
    if any(is_runtime(extent) for extent in extents):
        raise context.error(
            TaichiTypeError, "The shape of a shared array must be known at compile time", "write numbers"
        )
    if not extents or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in extents):
        raise context.error(
            TaichiTypeError,
            f"The shape of a shared array is an integer or a tuple of integers above 0, found {shape!r}",
            "write `SharedArray(64, ti.f32)` or `SharedArray((16, 16), ti.f32)`",
        )
    element = as_type(dtype, context.options)
    if not isinstance(element, (Scalar, Tensor)):
        raise context.error(
            TaichiTypeError,
            f"The elements of a shared array are numbers, vectors or matrices, found {describe_kind(dtype)}",
            "write a type such as `ti.f32`",
        )
    array = Array("", element, len(extents), len(context.kernel.shared), extents, is_shared=True)
    array.extents = tuple(settled(origin_in(one), value, i32) for one, value in zip(given, extents, strict=True))
    context.kernel.shared.append(array)
    _require_shared_memory(context, prod(extents) * element.size_bytes)
    return array


def _require_shared_memory(context: Context, size_bytes: int) -> None:
    """Raise if a single shared array exceeds the limit of a block; `check_threads` checks their sum."""
    if not context.dependencies.allows("max_shared_bytes", "at least", size_bytes):
        limit = context.dependencies.capabilities.max_shared_bytes
        raise context.error(
            UnsupportedError,
            f"This shared array takes {size_bytes:,} bytes; a block of this device has {limit:,}",
            "use a smaller tile",
        )


def name_shared_array(context: Context, array: Array, name: str) -> None:
    """Name a shared array after the first variable to which it is assigned."""
    if not array.name:
        taken = {other.name for other in context.kernel.shared} | context.arrays.names
        array.name = unique_name(name, taken)


def _hint(name: str) -> Meaning:
    """`ti.block_local` and `ti.cache_read_only`: hints for a cache, which change no result."""

    def meaning(context: Context, *arrays: Any) -> None:
        for array in arrays:
            found = context.arrays.find(array)
            if found is None:
                raise context.error(
                    TaichiTypeError, f"`ti.{name}` takes fields, found {describe_kind(array)}", "name a field"
                )
            if name == "block_local":
                context.nesting.block_local.append(found)

    return meaning
