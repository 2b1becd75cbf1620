"""Our modules by Taichi's import paths: `import shadesmith.math as tm`."""

from __future__ import annotations

from types import ModuleType

from ...transpiler.lang import annotations as parameter_types
from ...transpiler.lang import math, simt
from . import core, experimental, lang, lib, log, primitive_types, system, types
from .lang_modules import enums, exception, host, impl, kernel_impl, matrix, misc, ops, struct

PATHS: dict[str, ModuleType] = {
    "experimental": experimental,
    "math": math,
    "types": types,
    "types.annotations": parameter_types,
    "types.compound_types": parameter_types,
    "types.ndarray_type": parameter_types,
    "types.primitive_types": primitive_types,
    "types.utils": types,
    "lang": lang,
    "lang.enums": enums,
    "lang.exception": exception,
    "lang.impl": impl,
    "lang.kernel_impl": kernel_impl,
    "lang.matrix": matrix,
    "lang.misc": misc,
    "lang.ops": ops,
    "lang.simt": simt,
    "lang.simt.block": simt.block,
    "lang.simt.grid": simt.grid,
    "lang.simt.subgroup": simt.subgroup,
    "lang.simt.warp": simt.warp,
    "lang.struct": struct,
    "lang.util": host,
    "simt": simt,
    "simt.block": simt.block,
    "simt.grid": simt.grid,
    "simt.subgroup": simt.subgroup,
    "simt.warp": simt.warp,
    "_lib": lib,
    "_lib.core": core,
    "_lib.utils": system,
    "_logging": log,
}
"""Modules by their path below the root package; the root puts them into `sys.modules`."""
