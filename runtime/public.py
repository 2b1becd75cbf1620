"""All public names of the package, which it takes from here at the first use of one that it lacks.

Only names: they are defined in `transpiler.lang` (the language) and `runtime` (sessions, arrays, kernels).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from ..transpiler.errors import PACKAGE as _PACKAGE
from ..transpiler.errors import (
    LaunchTimeoutError,
    ShadesmithWarning,
    TaichiAssertionError,
    TaichiCompilationError,
    TaichiIndexError,
    TaichiNameError,
    TaichiRuntimeError,
    TaichiRuntimeTypeError,
    TaichiSyntaxError,
    TaichiTypeError,
    UnsupportedError,
)
from ..transpiler.lang import functions as _functions
from ..transpiler.lang import math, simt
from ..transpiler.lang import operations as _operations
from ..transpiler.lang.annotations import NDArray, ref, template
from ..transpiler.lang.arch import (
    amdgpu,
    arm64,
    cc,
    cpu,
    cuda,
    dx11,
    dx12,
    extension,
    gles,
    gpu,
    metal,
    opengl,
    python,
    vulkan,
    x64,
    x86_64,
)
from ..transpiler.lang.decompositions import eig, polar_decompose, solve, svd, sym_eig
from ..transpiler.lang.decorators import data_oriented, func, pyfunc
from ..transpiler.lang.functions import *  # noqa: F403
from ..transpiler.lang.hooks import HOOKS as _HOOKS
from ..transpiler.lang.hooks import Layout
from ..transpiler.lang.matrix import Matrix, Vector
from ..transpiler.lang.meshes import mesh_local, mesh_patch_idx
from ..transpiler.lang.operations import *  # noqa: F403
from ..transpiler.lang.packs import ArgPack
from ..transpiler.lang.sparse import (
    activate,
    append,
    deactivate,
    get_addr,
    is_active,
    length,
    no_activate,
    rescale_index,
)
from ..transpiler.lang.struct import Struct, dataclass
from ..transpiler.lang.textures import Format
from ..transpiler.lang.triplets import sparse_matrix_builder
from .arrays.by_kernel import KERNELS as _BY_KERNEL
from .arrays.ndarray import MatrixNdarray, ScalarNdarray, ndarray
from .arrays.texture import Texture
from .compat import experimental, lang, sparse, types
from .compat import lib as _lib  # noqa: F401 - `ti._lib.core` is reached by programs
from .compat import log as _logging  # noqa: F401
from .compat.deprecated import var
from .compat.lang_modules.impl import current_cfg as _current_cfg
from .compat.log import (
    CRITICAL,
    DEBUG,
    ERROR,
    INFO,
    TRACE,
    WARN,
)
from .compat.paths import PATHS as _PATHS
from .compat.primitive_types import (
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint1,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .fields.field import MatrixField, ScalarField, StructField, field
from .fields.fields_builder import FieldsBuilder
from .fields.snodes import AXES as _AXES
from .fields.snodes import SNode, axes, deactivate_all_snodes, root
from .launch.kernel import kernel
from .launch.pickling import install as _install_pickling
from .launch.real_function import native, real_func
from .launch.tuning import tune
from .loading import loader as _loader
from .notebook.install import install as _install_notebooks
from .session import session as _session
from .session import versions as _versions
from .session.logging_levels import is_logging_effective, set_logging_level
from .session.session import Session, reset, sync
from .session.starting import init
from .taichi_name import as_taichi
from .targets.registry import install as _install_targets
from .workbench.facade import install as _install_workbench

if TYPE_CHECKING:
    from . import graph, tools
    from .gui import ui
    from .gui.arguments import hex_to_rgb, rgb_to_hex
    from .gui.gui import GUI

__all__ = [
    "ArgPack", "CRITICAL", "DEBUG", "ERROR", "Field", "FieldsBuilder", "Format", "GUI", "INFO", "Layout", "Matrix",
    "LaunchTimeoutError",
    "MatrixField", "MatrixNdarray", "NDArray", "Ndarray", "SNode", "ScalarField", "ScalarNdarray",
    "Session", "ShadesmithWarning", "Struct", "StructField", "TRACE", "TaichiAssertionError", "TaichiCompilationError",
    "TaichiIndexError", "TaichiNameError", "TaichiRuntimeError", "TaichiRuntimeTypeError", "TaichiSyntaxError",
    "TaichiTypeError", "Texture", "UnsupportedError", "Vector", "VectorNdarray", "WARN", "activate", "amdgpu",
    "append", "arm64", "as_taichi", "axes", "cc", "cpu", "cuda", "data_oriented", "dataclass", "deactivate",
    "deactivate_all_snodes", "dx11", "dx12", "eig", "experimental", "extension", "f16", "f32", "f64", "field",
    "float16", "float32", "float64", "func", "get_addr", "gles", "gpu", "graph", "hex_to_rgb", "i16", "i32", "i64",
    "i8", "init", "int16", "int32", "int64", "int8", "is_active", "is_logging_effective", "kernel", "lang", "length",
    "math", "mesh_local", "mesh_patch_idx",
    "metal", "native", "ndarray", "no_activate", "opengl", "polar_decompose", "pyfunc", "python", "real_func", "ref",
    "rescale_index", "reset", "rgb_to_hex", "root", "set_logging_level", "simt", "solve", "sparse",
    "sparse_matrix_builder", "svd", "sym_eig", "sync", "template", "tools", "tune", "types", "u1", "u16", "u32",
    "u64", "u8", "ui", "uint1", "uint16", "uint32", "uint64", "uint8", "var", "vulkan", "x64", "x86_64",
]  # fmt: skip
__all__ += _functions.__all__
__all__ += _operations.__all__

VectorNdarray = MatrixNdarray
Field = ScalarField | MatrixField
Ndarray = ScalarNdarray | MatrixNdarray

__version__ = _versions.VERSION
"""The version of shadesmith; compared with a tuple, as programs for Taichi do, it is Taichi's level."""
__taichi_version__ = _versions.COMPATIBLE_VERSION
"""The version of Taichi whose programs run here."""

globals().update(_AXES)


def _cfg() -> object:
    """Return `ti.cfg`, the options of the session, None if there is none."""
    return _current_cfg() if _session.active() is not None else None


_HOOKS.default_types = _session.default_types
_HOOKS.make_field = field
_HOOKS.make_ndarray = ndarray
_BY_KERNEL.append(_loader(".algorithms.whole_fields", __package__))

sys.modules.update({f"{_PACKAGE}.{path}": module for path, module in _PATHS.items()})
_install_targets()
_install_workbench()
_install_notebooks()
_install_pickling()

_IS_COMPLETE = True
"""The last name of this module; `importing` looks for it."""
