"""Our modules by Taichi's import paths: `import shadesmith.math as tm`."""

from __future__ import annotations

from types import ModuleType

from ...transpiler.lang import math, simt
from . import core, experimental, inner, lang, lib, log, primitive_types, sparse, system, types
from .lang_modules import exception, host, impl, kernel_impl, matrix, misc, ops, struct

PATHS: dict[str, ModuleType] = {
    "experimental": experimental,
    "math": math,
    "types": types,
    "types.primitive_types": primitive_types,
    "types.utils": types,
    "lang": lang,
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
    "sparse": sparse,
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

for _path in ("math", "_lib", "simt", "lang", "lang.simt", "sparse", "types"):  # there are modules below these files
    vars(PATHS[_path]).setdefault("__path__", [])
for _path in ("exception", "impl", "kernel_impl", "matrix", "misc", "ops", "struct", "util"):
    vars(PATHS[f"lang.{_path}"])["__getattr__"] = inner.reader_of(f"lang.{_path}")
vars(system)["__getattr__"] = inner.reader_of("_lib.utils")
