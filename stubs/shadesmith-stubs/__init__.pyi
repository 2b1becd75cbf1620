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
    def __add__(self, other: Any) -> Any: ...
    def __radd__(self, other: Any) -> Any: ...
    def __sub__(self, other: Any) -> Any: ...
    def __rsub__(self, other: Any) -> Any: ...
    def __mul__(self, other: Any) -> Any: ...
    def __rmul__(self, other: Any) -> Any: ...
    def __truediv__(self, other: Any) -> Any: ...
    def __rtruediv__(self, other: Any) -> Any: ...
    def __floordiv__(self, other: Any) -> Any: ...
    def __rfloordiv__(self, other: Any) -> Any: ...
    def __mod__(self, other: Any) -> Any: ...
    def __rmod__(self, other: Any) -> Any: ...
    def __pow__(self, other: Any) -> Any: ...
    def __rpow__(self, other: Any) -> Any: ...
    def __and__(self, other: Any) -> Any: ...
    def __rand__(self, other: Any) -> Any: ...
    def __or__(self, other: Any) -> Any: ...
    def __ror__(self, other: Any) -> Any: ...
    def __xor__(self, other: Any) -> Any: ...
    def __rxor__(self, other: Any) -> Any: ...
    def __lshift__(self, other: Any) -> Any: ...
    def __rshift__(self, other: Any) -> Any: ...
    def __matmul__(self, other: Any) -> Any: ...
    def __rmatmul__(self, other: Any) -> Any: ...
    def __lt__(self, other: Any) -> Any: ...
    def __le__(self, other: Any) -> Any: ...
    def __gt__(self, other: Any) -> Any: ...
    def __ge__(self, other: Any) -> Any: ...
    def __neg__(self) -> Any: ...
    def __pos__(self) -> Any: ...
    def __invert__(self) -> Any: ...
    def __abs__(self) -> Any: ...
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

from shadesmith.transpiler.lang.packs import ArgPack as ArgPack
from shadesmith.runtime.fields.quantized import BitpackedFields as BitpackedFields
CRITICAL: str
DEBUG: str
from shadesmith.runtime.aot.targets import DeviceCapability as DeviceCapability
ERROR: str
from shadesmith.runtime.workbench.check.edit_error import EditError as EditError
from shadesmith.runtime.session.streams import Event as Event
from shadesmith.runtime.fields.fields_builder import FieldsBuilder as FieldsBuilder
from shadesmith.transpiler.lang.textures import Format as Format
from shadesmith.runtime.gui.gui import GUI as GUI
INFO: str
from shadesmith.transpiler.errors import LaunchTimeoutError as LaunchTimeoutError
from shadesmith.transpiler.lang.hooks import Layout as Layout
from shadesmith.runtime.fields.mesh import Mesh as Mesh
from shadesmith.runtime.fields.mesh import MeshInstance as MeshInstance
def Pass(function: Any, *, after: Any = ..., before: Any = ..., name: Any = ...) -> Any:
    """Return a pass of the program, for `passes=[...]` of `ti.init` or `@ti.kernel`."""
from shadesmith.runtime.fields.snodes import SNode as SNode
from shadesmith.runtime.session.session import Session as Session
from shadesmith.transpiler.errors import ShadesmithWarning as ShadesmithWarning
from shadesmith.runtime.session.streams import Stream as Stream
from shadesmith.transpiler.lang.struct import Struct as Struct
TRACE: str
from shadesmith.transpiler.errors import TaichiAssertionError as TaichiAssertionError
from shadesmith.transpiler.errors import TaichiCompilationError as TaichiCompilationError
from shadesmith.transpiler.errors import TaichiIndexError as TaichiIndexError
from shadesmith.transpiler.errors import TaichiNameError as TaichiNameError
from shadesmith.transpiler.errors import TaichiRuntimeError as TaichiRuntimeError
from shadesmith.transpiler.errors import TaichiRuntimeTypeError as TaichiRuntimeTypeError
from shadesmith.transpiler.errors import TaichiSyntaxError as TaichiSyntaxError
from shadesmith.transpiler.errors import TaichiTypeError as TaichiTypeError
from shadesmith.runtime.ad.tape import Tape as Tape
from shadesmith.runtime.fields.mesh import MeshBuilder as TetMesh
from shadesmith.runtime.arrays.texture import Texture as Texture
from shadesmith.runtime.fields.mesh import MeshBuilder as TriMesh
from shadesmith.transpiler.errors import UnsupportedError as UnsupportedError
WARN: str
def abs(x: _T) -> _T:
    """Return the absolute value of `x`, a number, vector or matrix."""
def acos(x: _T) -> _T:
    """Return the angle [rad] in [0, pi] whose cosine is `x`."""
def acosh(x: _T) -> _T:
    """Return the number from 0 on whose hyperbolic cosine is `x`; not a number where `x` is below 1."""
def activate(node: Any, indices: Any) -> Any:
    """Activate the cell of `node` at `indices`, and the cells that contain it; dense cells are active. Kernels only."""
from shadesmith import ad as ad
from shadesmith import algorithms as algorithms
amdgpu: Any
from shadesmith import aot as aot
def append(node: Any, indices: Any, val: Any) -> Any:
    """Append `val` to a list of a dynamic node and return its position; kernels only. indices: of the node above."""
arm64: Any
def as_taichi(children: Any = ...) -> None:
    """Make `import taichi`, and the import of all modules below it, mean shadesmith in this process."""
def asin(x: _T) -> _T:
    """Return the angle [rad] in [-pi/2, pi/2] whose sine is `x`."""
def asinh(x: _T) -> _T:
    """Return the number whose hyperbolic sine is `x`."""
def assume_in_range(val: Any, base: Any, low: Any, high: Any) -> Any:
    """Return `val`, which the program promises to be at least `base + low` and below `base + high`; kernels only."""
def atan2(x1: _T, x2: Any) -> _T:
    """Return the angle [rad] of the point with ordinate `x1` and abscissa `x2`."""
def atanh(x: _T) -> _T:
    """Return the number whose hyperbolic tangent is `x`; not a number beyond -1 and 1."""
def atomic_add(x: Any, y: Any) -> Any:
    """Add `y` to `x` in memory and return the old value; kernels only."""
def atomic_and(x: Any, y: Any) -> Any:
    """Store the bitwise and of `x` and `y` in `x` and return its old value; kernels only."""
def atomic_max(x: Any, y: Any) -> Any:
    """Store the greater of `x` and `y` in `x` and return its old value; kernels only."""
def atomic_min(x: Any, y: Any) -> Any:
    """Store the lesser of `x` and `y` in `x` and return its old value; kernels only."""
def atomic_mul(x: Any, y: Any) -> Any:
    """Multiply `x` in memory by `y` and return the old value; kernels only."""
def atomic_or(x: Any, y: Any) -> Any:
    """Store the bitwise or of `x` and `y` in `x` and return its old value; kernels only."""
def atomic_sub(x: Any, y: Any) -> Any:
    """Subtract `y` from `x` in memory and return the old value; kernels only."""
def atomic_xor(x: Any, y: Any) -> Any:
    """Store the bitwise exclusive or of `x` and `y` in `x` and return its old value; kernels only."""
def axes(*numbers: Any) -> Any:
    """Return the axes of these numbers, as `ti.ij` is `ti.axes(0, 1)`. Raises: ValueError for one out of range."""
def bit_cast(obj: Any, dtype: Any) -> Any:
    """Return the number of type `dtype` with the bits of `obj`; Python numbers count as the session's default types."""
def bit_shr(x1: Any, x2: Any) -> Any:
    """Shift the bits of `x1` right by `x2` places and fill with zeros; kernels only."""
def block_local(*args: Any) -> Any:
    """Let each block of threads of the next loop load what it reads of the fields `args` into shared memory."""
from shadesmith import cache as cache
def cache_read_only(*args: Any) -> Any:
    """Request a read-only cache of the fields `args`; kernels only. It does not change results."""
def cast(obj: Any, dtype: Any) -> Any:
    """Return `obj`, a number, vector or matrix, as numbers of type `dtype`; floats truncate toward zero."""
cc: Any
def ceil(x: _T, dtype: Any = ...) -> _T:
    """Return the least whole number not below `x`, cast to `dtype` if given."""
def cos(x: _T) -> _T:
    """Return the cosine of `x`, an angle [rad]."""
cpu: Any
cuda: Any
def deactivate(node: Any, indices: Any) -> Any:
    """Deactivate and zero the cell of `node` at `indices`, or empty a list; nothing on dense nodes. Kernels only."""
def deactivate_all_snodes() -> None:
    """Deactivate all cells of all sparse nodes of the session."""
def device(name: Any) -> Any:
    """Return the session of a device, `with ti.device("cuda:1"):`; all calls with one name return the same."""
def devices() -> Any:
    """Return the devices that are there, with the names that `ti.device` takes; no session is started."""
dx11: Any
dx12: Any
def eig(A: Any, dt: Any = ...) -> Any:
    """Return eigenvalues and eigenvectors of a real 2x2 matrix, as complex numbers."""
def exp(x: _T) -> _T:
    """Return e to the power `x`."""
from shadesmith import experimental as experimental
def export(kernel: Any, path: Any, *args: Any, arch: Any = ...) -> Any:
    """Write the source that a kernel becomes for these arguments; nothing is launched and no device is needed."""
from shadesmith.transpiler.lang.arch import extension as extension
def floor(x: _T, dtype: Any = ...) -> _T:
    """Return the greatest whole number not above `x`, cast to `dtype` if given."""
def frexp(x: Any) -> Any:
    """Return the mantissa in [0.5, 1) (with the sign of `x`) and the exponent: x = mantissa * 2**exponent."""
def get_addr(f: Any, indices: Any) -> Any:
    """Return how many bytes the cell of node `f` at `indices` is from the start of its tree's memory; kernels only."""
gles: Any
def global_thread_idx() -> Any:
    """Return the number of this thread among all threads of the parallel loop; kernels only."""
gpu: Any
from shadesmith import graph as graph
def hex_to_rgb(color: Any) -> Any:
    """Return red, green and blue between 0 and 1 of `color`, 0xRRGGBB."""
i: Any
ij: Any
ijk: Any
ijkl: Any
ijl: Any
ik: Any
ikl: Any
il: Any
def init(
    arch: Any = None,
    default_fp: Any = None,
    default_ip: Any = None,
    *,
    enable_fallback: bool = True,
    require_version: str | None = None,
    on_compile: Callable[[Any], object] | None = None,
    ad_stack_size: int = ...,
    advanced_optimization: bool = ...,
    allow_nv_shader_extension: bool = ...,
    auto_mesh_local_default_occupacy: int = ...,
    cache_loop_invariant_global_vars: bool = ...,
    cfg_optimization: bool = ...,
    check_out_of_bound: bool = ...,
    cpu_block_dim_adaptive: bool = ...,
    cpu_max_num_threads: int = ...,
    cuda_stack_limit: int = ...,
    debug: bool = ...,
    default_cpu_block_dim: int = ...,
    default_gpu_block_dim: int = ...,
    default_up: Any = ...,
    demote_dense_struct_fors: bool = ...,
    demote_no_access_mesh_fors: bool = ...,
    detect_read_only: bool = ...,
    device_memory_GB: float = ...,
    device_memory_fraction: float = ...,
    experimental_auto_mesh_local: bool = ...,
    fast_math: bool = ...,
    flatten_if: bool = ...,
    force_scalarize_matrix: bool = ...,
    gpu_max_reg: int = ...,
    half2_vectorization: bool = ...,
    kernel_profiler: bool = ...,
    lower_access: bool = ...,
    make_block_local: bool = ...,
    make_cpu_multithreading_loop: bool = ...,
    make_mesh_block_local: bool = ...,
    make_thread_local: bool = ...,
    max_block_dim: int = ...,
    mesh_localize_all_attr_mappings: bool = ...,
    mesh_localize_from_end_mapping: bool = ...,
    mesh_localize_to_end_mapping: bool = ...,
    move_loop_invariant_outside_if: bool = ...,
    num_compile_threads: int = ...,
    offline_cache: bool = ...,
    offline_cache_cleaning_factor: float = ...,
    offline_cache_cleaning_policy: str = ...,
    offline_cache_file_path: str = ...,
    offline_cache_max_size_of_files: int = ...,
    opt_level: int = ...,
    optimize_mesh_reordered_mapping: bool = ...,
    print_accessor_ir: bool = ...,
    print_ir: bool | str = ...,
    print_ir_dbg_info: bool = ...,
    print_kernel_amdgcn: bool = ...,
    print_kernel_asm: bool = ...,
    print_kernel_llvm_ir: bool = ...,
    print_kernel_llvm_ir_optimized: bool = ...,
    print_preprocessed_ir: bool = ...,
    print_struct_llvm_ir: bool = ...,
    quant_opt_atomic_demotion: bool = ...,
    quant_opt_store_fusion: bool = ...,
    random_seed: int = ...,
    real_matrix_scalarize: bool = ...,
    saturating_grid_dim: int = ...,
    simplify_after_lower_access: bool = ...,
    simplify_before_lower_access: bool = ...,
    timeline: bool = ...,
    use_llvm: bool = ...,
    verbose: bool = ...,
    verbose_kernel_launches: bool = ...,
    vk_api_version: str = ...,
    log_level: str = ...,
    gdb_trigger: bool = ...,
    short_circuit_operators: bool = ...,
    print_full_traceback: bool = ...,
    unrolling_limit: int = ...,
    unroll_static_loops: bool = ...,
    deterministic: bool = ...,
    inline: bool | str = ...,
    dump_dir: str = ...,
    profile_source: bool = ...,
    edits: str = ...,
    edits_dir: str = ...,
    edit_macros: bool | str = ...,
    report_bytes: int = ...,
    check_overflow: bool = ...,
    trap_nan: bool = ...,
    line_comments: str = ...,
    spirv_opt: bool = ...,
    passes: Any = ...,
    templates_dir: str = ...,
    why_comments: bool = ...,
    argument_offsets: bool = ...,
    one_file: bool = ...,
    grid_stride: bool | str = ...,
    task_graphs: bool = ...,
    warn_stale_globals: bool = ...,
    watchdog: float = ...,
) -> None:
    """Start a session: open a device and end the session before, with all its fields and ndarrays."""
def is_active(node: Any, indices: Any) -> Any:
    """Return whether the cell of `node`, a pointer or bitmasked node, at `indices` is active; kernels only."""
def is_logging_effective(level: Any) -> Any:
    """Return whether messages of a level are logged."""
j: Any
jk: Any
jkl: Any
jl: Any
k: Any
def kernel_from_source(path: Any, like: Any) -> Any:
    """Return a kernel that runs the source in a file in place of what `like` becomes."""
def kernels() -> Any:
    """Return all kernels of this process, each with its instances in the current session."""
kl: Any
l: Any
from shadesmith import lang as lang
def length(node: Any, indices: Any) -> float:
    """Return the number of items of a list of a dynamic node; kernels only. indices: those of the node above."""
from shadesmith import linalg as linalg
def log(x: _T) -> _T:
    """Return the natural logarithm of `x`; not a number below 0."""
def loop_config(*, block_dim: Any = ..., serialize: Any = ..., parallelize: Any = ..., block_dim_adaptive: Any = ..., bit_vectorize: Any = ..., unroll: Any = ..., grid_stride: Any = ...) -> Any:
    """Configure the loop that follows; kernels only."""
def loop_unique(val: Any, covers: Any = ...) -> Any:
    """Return `val`, which the program promises to differ in all iterations of the loop; kernels only."""
from shadesmith import math as math
def max(*args: _T) -> _T:
    """Return the greatest of one or more numbers `args`, by elements for vectors and matrices."""
def mesh_local(*args: Any) -> Any:
    """Request a cache of attributes of a mesh for the next loop over its elements; kernels only."""
def mesh_patch_idx() -> Any:
    """Return the number of the patch of the element of the outermost loop over a mesh; kernels only."""
metal: Any
def min(*args: _T) -> _T:
    """Return the least of one or more numbers `args`, by elements for vectors and matrices."""
def native(*, glsl: Any = ..., cuda: Any = ..., c: Any = ...) -> Any:
    """Mark a function whose body in some languages the program writes; its Python body says what it means."""
def no_activate(*args: Any) -> Any:
    """Declare that the next loop stores only to active cells of the fields `args`; kernels only."""
def one(x: _T) -> _T:
    """Return a one of the type and shape of `x`; kernels only."""
opengl: Any
def passes() -> Any:
    """Return the passes of the compiler in their order; it prints as a list."""
def polar_decompose(A: Any, dt: Any = ...) -> Any:
    """Return U, P with A = U P: U orthogonal, P symmetric."""
def pow(base: _T, exponent: Any) -> _T:
    """Return `base` to the power `exponent`."""
from shadesmith import profiler as profiler
python: Any
def randn(dt: Any = ...) -> Any:
    """Return a normally distributed random number of type `dt`, mean 0 and deviation 1; kernels only."""
def random(dtype: Any = ...) -> Any:
    """Return a random number of type `dtype`: floats uniform in [0, 1), integers over all bits; kernels only."""
def raw_div(x1: Any, x2: Any) -> Any:
    """Return `x1 / x2` as C gives it in kernels: integers truncate. In Python scope integers floor, as in Taichi."""
def raw_mod(x1: Any, x2: Any) -> Any:
    """Return the remainder of `x1 / x2` with the sign of the dividend `x1`, as C gives it."""
def ref(tp: Any) -> Any:
    """Return the annotation `ti.ref(tp)`: the parameter is a variable of the caller, which the function may change."""
def rescale_index(a: Any, b: Any, I: Any) -> Any:
    """Return the index in `b` that corresponds to index `I` of `a`: fields or nodes whose extents are multiples."""
def reset() -> None:
    """End the default session, if there is one: its memory is freed and its objects cannot be used any more."""
def rgb_to_hex(c: Any) -> Any:
    """Return 0xRRGGBB of `c`: red, green and blue between 0 and 1 (numbers or arrays)."""
root: Any
def round(x: _T, dtype: Any = ...) -> _T:
    """Return the whole number nearest to `x`, ties to even, cast to `dtype` if given."""
def rsqrt(x: _T) -> _T:
    """Return one over the square root of `x`."""
def select(cond: Any, x1: Any, x2: Any) -> Any:
    """Return `x1` where `cond` holds and `x2` elsewhere, by elements; both are evaluated."""
def set_logging_level(level: Any) -> None:
    """Set the level of the logger `shadesmith`. Raises: TaichiRuntimeError for an unknown name."""
from shadesmith import simt as simt
def sin(x: _T) -> _T:
    """Return the sine of `x`, an angle [rad]."""
def solve(A: Any, b: Any, dt: Any = ...) -> Any:
    """Return x with A x = b, for a vector b or, column by column, a matrix b."""
from shadesmith import sparse as sparse
def sparse_matrix_builder() -> Any:
    """Return the annotation of a kernel's parameter that takes a `ti.linalg.SparseMatrixBuilder`."""
def sqrt(x: _T) -> _T:
    """Return the square root of `x`; not a number below 0."""
def static_assert(cond: Any, msg: Any = ...) -> None:
    """Check `cond` while a kernel is compiled, or at once in Python scope; `msg` is the message if it is false."""
def static_print(*args: Any, **kwargs: Any) -> Any:
    """Print `args` while a kernel is compiled; kernels only. kwargs: those of `print`."""
def stop_grad(x: _T) -> _T:
    """Stop gradients at `x`; kernels only."""
def svd(A: Any, dt: Any = ...) -> Any:
    """Return U, S, V with A = U S V^T: U and V orthogonal, S diagonal, the largest singular value first."""
def sym_eig(A: Any, dt: Any = ...) -> Any:
    """Return the eigenvalues of a symmetric matrix, and its eigenvectors as the columns of a rotation."""
def sync() -> None:
    """Wait for all launches. Raises: TaichiRuntimeError before `ti.init()`, and if a launch failed."""
def tan(x: _T) -> _T:
    """Return the tangent of `x`, an angle [rad]."""
def tanh(x: _T) -> _T:
    """Return the hyperbolic tangent of `x`."""
from shadesmith import tools as tools
def trace(wait: Any = ...) -> Any:
    """Return a context manager that records what happens to kernels inside its `with` block."""
from shadesmith import types as types
from shadesmith import ui as ui
def var(dt: Any, shape: Any = ..., order: Any = ..., offset: Any = ..., needs_grad: Any = ...) -> Any:
    """Make a field of numbers: the old name of `ti.field`, with the old parameter `dt`."""
vulkan: Any
x64: Any
x86_64: Any
def zero(x: _T) -> _T:
    """Return a zero of the type and shape of `x`; kernels only."""
