"""Arguments of a graph: declared with a name and a type, given a value at each run.

In: the parameters of Taichi 1.7 (`ndim`, vector types) or of 1.2 (`field_dim`, `element_shape`). Out: `Arg`; a
placeholder value to compile kernels with; a check of the values of a run.
"""

from __future__ import annotations

from enum import Enum
from numbers import Integral, Real
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError, TaichiRuntimeTypeError
from ...transpiler.ir.textures import FORMATS, TexelFormat
from ...transpiler.ir.types import Scalar, Struct, Tensor, Type, describe_type, scalars_of
from ...transpiler.lang.annotations import as_type
from ...transpiler.lang.matrix import Matrix
from ...transpiler.lang.textures import format_row, legacy_format
from ..arrays.dense_array import DenseArray
from ..arrays.ndarray import make_placeholder
from ..arrays.texture import Texture
from ..arrays.texture import make_placeholder as make_texture_placeholder
from ..close_names import close_names
from ..launch.arguments.packing import flatten
from ..session import session as sessions
from ..session.tracebacks import hides_own_frames


class ArgKind(Enum):
    """The kind of an argument; numbers and names are those of Taichi."""

    SCALAR = 0
    MATRIX = 1
    NDARRAY = 2
    TEXTURE = 3
    RWTEXTURE = 4

    def __int__(self) -> int:
        return int(self.value)

    def __repr__(self) -> str:
        return f"<ArgKind.{self.name}: {self.value}>"


PARAMETERS: dict[ArgKind, tuple[str, ...]] = {
    ArgKind.SCALAR: ("tag", "name", "dtype"),
    ArgKind.MATRIX: ("tag", "name", "dtype", "element_shape"),
    ArgKind.NDARRAY: ("tag", "name", "dtype", "ndim", "element_shape", "field_dim"),
    ArgKind.TEXTURE: ("tag", "name", "dtype", "ndim", "fmt", "num_channels", "channel_format", "shape"),
    ArgKind.RWTEXTURE: ("tag", "name", "dtype", "ndim", "fmt", "num_channels", "channel_format", "shape"),
}
"""Parameters of each kind, in order. The dtype of a texture is Taichi 1.4's, and redundant with its format."""

DATA_KINDS = {
    ArgKind.SCALAR: "scalar",
    ArgKind.MATRIX: "matrix",
    ArgKind.NDARRAY: "ndarray",
    ArgKind.TEXTURE: "texture",
    ArgKind.RWTEXTURE: "rw_texture",
}
"""Names of the kinds in a module's manifest."""

WITH_MEMORY = (ArgKind.NDARRAY, ArgKind.TEXTURE, ArgKind.RWTEXTURE)
"""Kinds whose values are objects with a `signature`, to which a graph has weak references."""


class Arg:
    """An argument of a graph, given by name when it runs.

    Args:
        tag: an `ArgKind`.
        name: its key in the dictionary given to `Graph.run`.
        dtype: a number type; for a MATRIX and for an NDARRAY of vectors a vector or matrix type, or a number type and
            `element_shape`.
        ndim: number of axes of an NDARRAY or a texture; or `field_dim`, or, for a texture, `shape`.
        fmt: format of an RWTEXTURE; or `num_channels` and `channel_format`.

    args, kwargs: the parameters above, by position or by name.
    Raises: TaichiRuntimeError naming the parameters of this kind.

    Example:
        >>> symbol = ti.graph.Arg(ti.graph.ArgKind.SCALAR, "dt", ti.f32)
        >>> symbol.name
        'dt'
    """

    __slots__ = ("field_dim", "fmt", "name", "tag", "type")

    @hides_own_frames
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        tag = args[0] if args else kwargs.get("tag")
        if not isinstance(tag, ArgKind):
            raise TaichiRuntimeError(f"a graph argument needs a tag, found {tag!r}", "`tag=ti.graph.ArgKind.SCALAR`")
        given = _by_name(tag, args, kwargs)
        name = given.get("name")
        if not isinstance(name, str) or not name:
            raise TaichiRuntimeError(f"a graph argument needs a name, found {name!r}", "`name='x'`")
        self.tag, self.name = tag, name
        self.field_dim = _axes(given, self._called) if tag in WITH_MEMORY else 0
        self.fmt: Any = _read_format(given, tag, self._called)
        self.type: Type = self.fmt.element if self.fmt else _read_type(given, tag, self._called)

    @property
    def _called(self) -> str:
        return f"graph argument `{self.name}`"

    @property
    def ndim(self) -> int:
        """Number of axes of an NDARRAY."""
        return self.field_dim

    @property
    def element_shape(self) -> tuple[int, ...]:
        """Shape of a vector or matrix, or of the elements of an NDARRAY; () of numbers."""
        return self.type.shape if isinstance(self.type, Tensor) else ()

    def dtype(self) -> Any:
        """Return the number type, as a method as in Taichi; of structs the type."""
        return self.type.element if isinstance(self.type, Tensor) else self.type

    def __repr__(self) -> str:
        return f"Arg(ArgKind.{self.tag.name}, {self.name!r}, {self.shown_type()})"

    def shown_type(self) -> str:
        """Return the type of its values, as shown in messages."""
        if self.tag is ArgKind.NDARRAY:
            return f"ndarray({self._array_type()})"
        if self.fmt is not None:
            fmt = f"{self.fmt.name}, " if self.tag is ArgKind.RWTEXTURE else ""
            return f"{DATA_KINDS[self.tag]}({fmt}ndim={self.field_dim})"
        return describe_type(self.type)

    def is_like(self, other: Arg) -> bool:
        """Return whether another argument, of the same name, takes the same values."""
        own, others = [(arg.tag, arg.type, arg.field_dim, arg.fmt) for arg in (self, other)]
        return own == others

    def to_data(self) -> dict[str, Any]:
        """Return the argument for a module's manifest."""
        data: dict[str, Any] = {"name": self.name, "kind": DATA_KINDS[self.tag]}
        if self.tag is ArgKind.NDARRAY:
            return {**data, "element": str(self.dtype()), "element_shape": list(self.element_shape), "ndim": self.ndim}
        if self.fmt is not None:
            fmt = {"format": self.fmt.name} if self.tag is ArgKind.RWTEXTURE else {}
            return {**data, "ndim": self.ndim, **fmt}
        shape = {"element_shape": list(self.element_shape)} if self.tag is ArgKind.MATRIX else {}
        return {**data, "type": str(self.dtype()), **shape}

    def example(self, has_gradient: bool = False) -> Any:
        """Return a placeholder value to compile kernels with; only its type matters, and whether it has a gradient."""
        if self.tag is ArgKind.NDARRAY:
            array = make_placeholder(self.type, self.field_dim, self.name)
            if has_gradient and all(scalar.is_float for scalar in scalars_of(self.type)):
                array.grad = make_placeholder(self.type, self.field_dim, self.name)
            return array
        if self.fmt is not None:
            return make_texture_placeholder(self.field_dim, self.fmt)
        return 0 if self.tag is ArgKind.SCALAR else Matrix(np.zeros(self.element_shape).tolist())

    def check(self, value: Any) -> None:
        """Check a value of a run. Raises: TaichiRuntimeTypeError naming argument, type and value."""
        if self.tag is ArgKind.NDARRAY:
            self._check_array(value)
        elif self.tag is ArgKind.MATRIX:
            self._check_matrix(value)
        elif self.fmt is not None:
            self._check_texture(value)
        else:
            assert isinstance(self.type, Scalar)
            accepted = Real if self.type.is_float else (Integral, np.bool_)
            if not isinstance(value, accepted):
                hint = f"pass `int({self.name})`" if isinstance(value, Real) else None
                raise self._refusal(value, f"a number of type {self.type}", hint)

    def _check_array(self, value: Any) -> None:
        if not isinstance(value, DenseArray) or value.KIND != "ndarray" or value.path:
            hint = "make one by `ti.ndarray(...)`, and copy to it by `x.from_numpy(a)`"
            raise self._refusal(value, f"an {self.shown_type()}", hint)
        if value.memory.is_freed:
            raise value.memory.freed_error()
        if value.element != self.type or len(value.shape) != self.field_dim:
            found = f"{describe_type(value.element)}, ndim={len(value.shape)}"
            raise TaichiRuntimeTypeError(f"{self._called} takes an {self.shown_type()}, found one of {found}")

    def _check_texture(self, value: Any) -> None:
        wanted = f"a {self.shown_type()}"
        if not isinstance(value, Texture):
            raise self._refusal(value, wanted, "make one by `ti.Texture(...)`")
        is_other = self.tag is ArgKind.RWTEXTURE and value.spec.format is not self.fmt
        if is_other or value.num_dims != self.field_dim:
            raise TaichiRuntimeTypeError(f"{self._called} takes {wanted}, found {value!r}")
        value.memory.sampled  # noqa: B018 - raises if its session has ended

    def _array_type(self) -> str:
        return f"{describe_type(self.type)}, ndim={self.field_dim}"

    def _check_matrix(self, value: Any) -> None:
        try:
            numbers, shape = flatten(value), np.shape(value)
        except (TypeError, ValueError):
            numbers, shape = [], ()
        if shape != self.element_shape or not all(isinstance(number, Real) for number in numbers):
            found = f" of shape {shape}" if numbers else ""
            raise self._refusal(value, f"a {describe_type(self.type)}", None, found)

    def _refusal(self, value: Any, wanted: str, hint: str | None, shape: str = "") -> TaichiRuntimeTypeError:
        kind = type(value)
        package = "" if kind.__module__ == "builtins" else kind.__module__.partition(".")[0] + "."
        found = repr(value) if isinstance(value, (bool, int, float, str)) else f"a {package}{kind.__name__}{shape}"
        return TaichiRuntimeTypeError(f"{self._called} takes {wanted}, found {found}", hint)


def _by_name(tag: ArgKind, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the given values by name. Raises: TaichiRuntimeError for names that this kind does not have."""
    known = PARAMETERS[tag]
    allowed = f"you can only create a graph argument of kind {tag.name} with: {', '.join(known)}"
    if len(args) > len(known):
        raise TaichiRuntimeError(f"Invalid arguments: {len(args)} were given, {allowed}")
    given = dict(zip(known, args, strict=False))
    for name, value in kwargs.items():
        if name not in known:
            close = close_names(name, known)
            raise TaichiRuntimeError(
                f"Invalid argument: {name}, {allowed}" + (f". Did you mean `{close[0]}`?" if close else "")
            )
        if name in given:
            raise TaichiRuntimeError(f"Invalid argument: {name} is given twice, {allowed}")
        given[name] = value
    return given


def _axes(given: dict[str, Any], called: str) -> int:
    """Return the number of axes of an ndarray. Raises: TaichiRuntimeError if it is missing or given twice."""
    if given.get("ndim") is not None and given.get("field_dim") is not None:
        raise TaichiRuntimeError(f"{called}: ndim and field_dim mean the same", "write ndim alone")
    axes = given.get("ndim") if given.get("field_dim") is None else given["field_dim"]
    if axes is None and given.get("shape") is not None:
        axes = len(given["shape"])
    if isinstance(axes, bool) or not isinstance(axes, Integral) or axes < 0:
        kind = "an NDARRAY" if given["tag"] is ArgKind.NDARRAY else "a texture"
        raise TaichiRuntimeError(f"{called} is {kind} and needs ndim, found {axes!r}", "`ndim=1`")
    return int(axes)


def _read_format(given: dict[str, Any], tag: ArgKind, called: str) -> TexelFormat | None:
    """Return the format of a texture, for a sampled one any format. Raises: TaichiRuntimeError if it is missing."""
    if tag not in (ArgKind.TEXTURE, ArgKind.RWTEXTURE):
        return None
    fmt, channels, channel = given.get("fmt"), given.get("num_channels"), given.get("channel_format")
    if fmt is None and channels is None and channel is None:
        if tag is ArgKind.TEXTURE:
            return FORMATS["rgba8"]  # a run with a texture of another format compiles for that
        raise TaichiRuntimeError(f"{called} is an RWTEXTURE and needs fmt", "`fmt=ti.Format.rgba8`")
    try:
        return legacy_format(channels, channel) if fmt is None else format_row(fmt)
    except TaichiCompilationError as error:
        raise TaichiRuntimeError(f"{called}: {error.message}", error.hint) from None


def _read_type(given: dict[str, Any], tag: ArgKind, called: str) -> Type:
    """Return the type of a value or of an array's elements. Raises: TaichiRuntimeError for one that does not fit."""
    declared = given.get("dtype")
    if declared is None:
        raise TaichiRuntimeError(f"{called} needs a dtype", "`dtype=ti.f32`")
    found = as_type(declared, sessions.current_config().compile_options())
    shape = given.get("element_shape")
    if shape and isinstance(found, Scalar):
        found = Tensor(tuple(int(extent) for extent in shape), found)
    elif shape and isinstance(found, Tensor) and found.shape != tuple(shape):
        raise TaichiRuntimeError(f"{called} has dtype {describe_type(found)} and element_shape {tuple(shape)}")
    wanted: tuple[type, ...] = {ArgKind.SCALAR: (Scalar,), ArgKind.MATRIX: (Tensor,)}.get(tag, (Scalar, Tensor, Struct))
    if found is None or not isinstance(found, wanted):
        needed = {
            ArgKind.SCALAR: "a number type, as ti.f32",
            ArgKind.MATRIX: "a type as ti.types.vector(3, ti.f32)",
        }
        shown = repr(declared) if found is None else describe_type(found)
        raise TaichiRuntimeError(f"{called} of kind {tag.name} needs {needed.get(tag, 'a type')}, found {shown}")
    return found
