# What editors and type checkers know of kernels, arrays and types; `generate.py` appends the other public names.
# In a kernel a number type is Python's: a checker takes `x: ti.f32` as `x: float`.
# ruff: noqa: A002, N801
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, TypeAlias, TypeVar, overload

import numpy as np
from typing_extensions import dataclass_transform
from shadesmith.runtime.launch.inspection import Inspection
from shadesmith.runtime.session.module_source import Variant
from shadesmith.runtime.workbench.bisect.bisection import Bisection
from shadesmith.runtime.workbench.measure.bench import Timing
from shadesmith.runtime.workbench.measure.compare import Comparison
from shadesmith.runtime.workbench.measure.compile_times import CompileReport
from shadesmith.runtime.workbench.measure.tuning_results import Tuning
from shadesmith.transpiler.lang.arch import Arch

_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_R = TypeVar("_R", covariant=True)
_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C")
_T = TypeVar("_T")

class Kernel(Generic[_P, _R]):
    """What `@ti.kernel` returns: a function that runs on the device, with tools that show and change its source."""

    __name__: str
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Launch with these arguments; return the kernel's result, if it has one, after waiting for it."""
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Kernel[_P, _R]: ...
    @overload
    def __get__(self: Kernel[Concatenate[Any, _Q], _R], instance: object, owner: type | None = None) -> Kernel[_Q, _R]: ...
    @overload
    def source(self, *args: _P.args, **kwargs: _P.kwargs) -> str: ...
    @overload
    def source(self, *args: Any, arch: Arch | str | None = None) -> str:
        """Return the emitted source for these arguments; nothing is launched and no device is needed."""
    @overload
    def inspect(self, *args: _P.args, **kwargs: _P.kwargs) -> Inspection: ...
    @overload
    def inspect(self, *args: Any, arch: Arch | str | None = None) -> Inspection:
        """Return every form of this kernel, from Python to the emitted source; nothing is launched."""
    def ir(self, stage: str, *args: Any, arch: Arch | str | None = None) -> str:
        """Return one form as a string: "frontend", "lowered", "tasks", "final" or "pass:NN:name"."""
    def key(self, *args: Any, arch: Arch | str | None = None) -> str:
        """Return a digest of everything that determines what a launch runs."""
    def signature(self, *args: Any) -> str:
        """Return what this call is specialised on, such as `(x, i32)`."""
    def compile(self, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        """Compile for these arguments on the current device without launching; return the module."""
    @overload
    def edit(self, *args: _P.args, **kwargs: _P.kwargs) -> Path: ...
    @overload
    def edit(self, *args: Any, arch: Arch | str | None = None, variant: str = "") -> Path:
        """Write the emitted source into its slot; return the file to edit, or the slot's folder."""
    def variants(self, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        """Return the generated source for these arguments and all edits of it, ready to build."""
    def compare(
        self,
        *args: Any,
        variant: str | None = None,
        rounds: int = 3,
        relative: float | None = None,
        absolute: float | None = None,
        in_process: bool = False,
        time_limit: float = ...,
        sanitize: bool = False,
    ) -> Comparison:
        """Run the generated source and an edit of it on copies of the arguments, and return what differs."""
    def bisect(self, *args: Any, in_process: bool = False, time_limit: float | None = None) -> Bisection:
        """Return the first pass after which a result of this call differs from the interpreter's."""
    def bench(
        self,
        *args: Any,
        variants: Sequence[str] | None = None,
        seconds: float = 2.0,
        margin: float = 0.01,
        in_process: bool = False,
        time_limit: float = ...,
    ) -> Timing:
        """Time the generated source and its edits alternately on copies of these arguments."""
    def tune(self, *args: Any, variant: str | None = None, **options: Any) -> Tuning:
        """Try the values of the source's tuning parameters, and store the fastest."""
    def report(self, *args: _P.args, **kwargs: _P.kwargs) -> CompileReport:
        """Recompile for these arguments without caches, and return how long each stage takes."""
    def export_repro(self, *args: Any, folder: str | Path, variant: str | None = None) -> Path:
        """Write this call into a folder that runs without shadesmith."""
    def stats(self, *args: Any, arch: Arch | str | None = None) -> Any:
        """Return what the compiler made of the kernel: operations, loads and stores, registers, spills."""
    def launch_plan(self, *args: _P.args, **kwargs: _P.kwargs) -> Any:
        """Return what a call would launch: grid and block of each task, arguments by offset, barriers."""
    def cache_info(self) -> Any:
        """Return hits and misses of the cache for this kernel, with reasons."""
    def captured(self) -> dict[str, Any]:
        """Return the globals that were read as constants, with the values compiled in."""
    def use(self, variant: str | None) -> None:
        """Select the source that runs from the next launch on."""
    @property
    def last_launch(self) -> Variant | None:
        """Which source the last launch ran."""
    @property
    def grad(self) -> Kernel[_P, None]:
        """The kernel of the gradient."""
    @property
    def dual(self) -> Kernel[_P, None]:
        """The kernel that computes this one's results and their duals."""

@overload
def kernel(fn: Callable[_P, _R]) -> Kernel[_P, _R]: ...
@overload
def kernel(
    fn: None = None, *, offline_cache: bool = True, fast_math: bool | None = None, passes: Any = ()
) -> Callable[[Callable[_P, _R]], Kernel[_P, _R]]: ...
@overload
def func(fn: _F) -> _F: ...
@overload
def func(fn: None = None, *, inline: bool | None = None) -> Callable[[_F], _F]: ...
@overload
def pyfunc(fn: _F) -> _F: ...
@overload
def pyfunc(fn: None = None, *, inline: bool | None = None) -> Callable[[_F], _F]: ...
def real_func(fn: _F) -> _F: ...
def data_oriented(cls: type[_C]) -> type[_C]: ...
@dataclass_transform(kw_only_default=False)
def dataclass(cls: type[_C]) -> type[_C]: ...
def tune(*, where: str = "", **parameters: Iterable[Any]) -> Callable[[_T], _T]: ...

_Element = TypeVar("_Element", covariant=True)
_Axes = TypeVar("_Axes", covariant=True)

class NDArray(Protocol[_Element, _Axes]):
    """What a kernel takes as an array: `ti.types.NDArray[ti.f32, Literal[2]]`; ndarrays, NumPy arrays, tensors."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def __getitem__(self, index: Any, /) -> Any: ...
    def __setitem__(self, index: Any, value: Any, /) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...

class Array:
    """A field or an ndarray: memory of the session's device."""

    shape: tuple[int, ...]
    dtype: Any
    grad: Any
    dual: Any
    name: str
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def __getattr__(self, member: str) -> Any: ...
    def fill(self, val: Any) -> None:
        """Set every element to a number, or to a vector, matrix or struct."""
    def to_numpy(self, dtype: Any = None) -> np.ndarray[Any, Any]:
        """Return a copy as a NumPy array."""
    def from_numpy(self, array: np.ndarray[Any, Any]) -> None:
        """Copy a NumPy array of this shape."""
    def to_torch(self, device: Any = None) -> Any:
        """Return a copy as a PyTorch tensor."""
    def from_torch(self, array: Any) -> None:
        """Copy a PyTorch tensor of this shape."""
    def copy_from(self, other: Any) -> None:
        """Copy another array of the same kind and shape."""
    def parent(self, n: int = 1) -> SNode:
        """Return the node that the field is placed in."""

class ScalarField(Array): ...
class MatrixField(Array): ...
class StructField(Array): ...
class ScalarNdarray(Array): ...
class MatrixNdarray(Array): ...

Field: TypeAlias = Array
Ndarray: TypeAlias = Array
VectorNdarray: TypeAlias = MatrixNdarray

class Matrix:
    """An (n, m) matrix, or a vector of n elements."""

    n: int
    m: int
    x: Any
    y: Any
    z: Any
    w: Any
    r: Any
    g: Any
    b: Any
    a: Any
    def __init__(self, *values: Any, dt: Any = None) -> None: ...
    def __getitem__(self, index: Any) -> Any: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def __getattr__(self, swizzle: str) -> Any: ...
    def __setattr__(self, swizzle: str, value: Any) -> None: ...
@OPERATORS@
    def norm(self, eps: float = 0) -> float: ...
    def norm_sqr(self, eps: float = 0) -> float: ...
    def norm_inv(self, eps: float = 0) -> float: ...
    def normalized(self, eps: float = 0) -> Any: ...
    def dot(self, other: Any) -> Any: ...
    def cross(self, other: Any) -> Any: ...
    def outer_product(self, other: Any) -> Any: ...
    def transpose(self) -> Any: ...
    def trace(self) -> Any: ...
    def determinant(self) -> Any: ...
    def inverse(self) -> Any: ...
    def sum(self) -> Any: ...
    def max(self) -> Any: ...
    def min(self) -> Any: ...
    def any(self) -> bool: ...
    def all(self) -> bool: ...
    def cast(self, dtype: Any) -> Any: ...
    def fill(self, value: Any) -> None: ...
    def to_list(self) -> list[Any]: ...
    def to_numpy(self) -> np.ndarray[Any, Any]: ...
    @staticmethod
    def field(n: int, m: int, dtype: Any, shape: Any = None, **options: Any) -> MatrixField: ...
    @staticmethod
    def ndarray(n: int, m: int, dtype: Any, shape: Any, **options: Any) -> MatrixNdarray: ...
    @staticmethod
    def zero(dt: Any, n: int, m: int | None = None) -> Any: ...
    @staticmethod
    def one(dt: Any, n: int, m: int | None = None) -> Any: ...
    @staticmethod
    def unit(n: int, i: int, dt: Any = ...) -> Any: ...
    @staticmethod
    def identity(dt: Any, n: int) -> Any: ...
    @staticmethod
    def rows(rows: Any) -> Any: ...
    @staticmethod
    def cols(cols: Any) -> Any: ...
    @staticmethod
    def diag(dim: int, val: Any) -> Any: ...

class Vector(Matrix):
    @staticmethod
    def field(n: int, dtype: Any, shape: Any = None, **options: Any) -> MatrixField: ...  # type: ignore[override]
    @staticmethod
    def ndarray(n: int, dtype: Any, shape: Any, **options: Any) -> MatrixNdarray: ...  # type: ignore[override]

def field(
    dtype: Any,
    shape: Any = None,
    order: str | None = None,
    name: str = "",
    offset: Any = None,
    needs_grad: bool = False,
    needs_dual: bool = False,
    layout: Layout = ...,
) -> Array:
    """Make a zeroed field of `shape`: an integer, a tuple, or () for a single element, read as `x[None]`."""

def ndarray(dtype: Any, shape: Any, needs_grad: bool = False) -> Array:
    """Make a zeroed ndarray of `shape`, an integer or a tuple."""

@overload
def static(x: _T, /) -> _T: ...
@overload
def static(x: Any, /, *xs: Any) -> list[Any]: ...

class ndrange:
    """The product of ranges: `for i, j in ti.ndrange(3, (2, 5))`."""

    dimensions: list[int]
    def __init__(self, *args: Any) -> None: ...
    def __iter__(self) -> Iterator[Any]: ...

def grouped(x: Any) -> Iterator[Any]:
    """Loop over a field, an ndarray or an `ndrange` with one index vector."""

f16: TypeAlias = float
f32: TypeAlias = float
f64: TypeAlias = float
float16: TypeAlias = float
float32: TypeAlias = float
float64: TypeAlias = float
i8: TypeAlias = int
i16: TypeAlias = int
i32: TypeAlias = int
i64: TypeAlias = int
int8: TypeAlias = int
int16: TypeAlias = int
int32: TypeAlias = int
int64: TypeAlias = int
u1: TypeAlias = bool
u8: TypeAlias = int
u16: TypeAlias = int
u32: TypeAlias = int
u64: TypeAlias = int
uint1: TypeAlias = bool
uint8: TypeAlias = int
uint16: TypeAlias = int
uint32: TypeAlias = int
uint64: TypeAlias = int
template: TypeAlias = Any
"""Annotation of a parameter that takes any Python object at compile time: `x: ti.template`."""

__version__: str
__taichi_version__: tuple[int, int, int]
