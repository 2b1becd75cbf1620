"""The options of `ti.init`, their defaults and their environment variables.

In: keyword arguments and the environment. Out: `Config`, which `ti.lang.impl.current_cfg()` shows by Taichi's names,
and its `CompileOptions`. A keyword overrides `SHADESMITH_<OPTION>`, which overrides `TI_<OPTION>`. In the environment
numbers are decimal, switches are 0 or 1, and an empty variable counts as unset.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ..transpiler.ir.types import SCALARS, Scalar, f32, f64, i32, i64, u32
from ..transpiler.lang.arch import Arch, cpu
from ..transpiler.lazy_dataclasses import dataclass
from ..transpiler.options import OFF_BY_DEFAULT, CompileOptions
from .close_names import close_names
from .loading import loader

EFFECTIVE: dict[str, str] = {
    "arch": "where kernels run",
    "default_fp": "type of float literals and of `float`",
    "default_ip": "type of integer literals and of `int`",
    "default_up": "type of `ti.uint`",
    "debug": "checks indices, keeps asserts, verifies the IR between passes",
    "check_out_of_bound": "checks indices",
    "check_overflow": "traps integer overflow, division by zero, and numbers stored in a type that cannot hold them",
    "trap_nan": "traps the operation that makes a NaN of other numbers",
    "kernel_profiler": "records the time of each task for `ti.profiler`",
    "fast_math": "lets compilers reorder floating-point operations",
    "short_circuit_operators": "`and` and `or` skip operands that they need not evaluate",
    "unrolling_limit": "warns about longer `ti.static` loops",
    "make_thread_local": "atomic operations of all iterations on one place become a reduction",
    "make_block_local": "small arrays that all threads add to, or read in order, have copies in a GPU's shared memory",
    "deterministic": "warns of atomic additions of floats, whose order differs from run to run",
    "unroll_static_loops": "unrolls `ti.static` loops in the emitted source",
    "inline": "inlines calls of `ti.func` in the emitted source: True, False, or auto: short ones that are called once",
    "default_gpu_block_dim": "threads per block if the loop sets no number",
    "max_block_dim": "upper limit of threads per block",
    "device_memory_GB": "memory for the pools of a sparse tree on CUDA and Vulkan, for each tree",
    "cpu_max_num_threads": "threads of the C target; 0: all cores",
    "random_seed": "start of `ti.random`",
    "print_ir": "prints every pass that changed a kernel; a kernel's name: only that one",
    "log_level": "level of the logger `shadesmith`",
    "report_bytes": "size of the device buffer for the output of one launch",
    "templates_dir": "folder of templates in place of shadesmith's, by their names; see docs/templates.md",
    "dump_dir": "folder for copies of the emitted files",
    "profile_source": "binaries have line information, for RenderDoc, Nsight Compute and Nsight Systems",
    "spirv_opt": "runs spirv-opt on the SPIR-V of kernels; `kernel.report(*args).sizes` has the sizes before and after",
    "passes": "passes of the compiler that are left out, and passes of the program; see docs/passes.md",
    "advanced_optimization": "False: leaves out common subexpressions, simplification and store forwarding",
    "cfg_optimization": "False: leaves out store forwarding",
    "print_full_traceback": "errors show shadesmith's own frames too",
    "edits": "how hand-edited sources are used: strict, fallback, off or watch",
    "edit_macros": "whether SM_PRINT, SM_ASSERT and SM_TRAP_NAN in edited sources are active; auto: under debug",
    "edits_dir": "folder of edited sources; next to the Python file, if empty",
    "line_comments": "Python lines in emitted sources: short (a number, where the words are equal), full or none",
    "why_comments": "comments in emitted sources show where a pass dropped an atomic operation, a branch or a task",
    "argument_offsets": "comments in emitted sources show the offset of each member of the argument block",
    "one_file": "GLSL has one file for each kernel, with a section for each task, in place of a file for each task",
    "grid_stride": "whether a GPU's threads run several iterations of a loop: True, False, or auto",
    "task_graphs": "launches that repeat become CUDA graphs, or recorded commands on Vulkan, which start in less time",
    "watchdog": "time that a launch may take [s], after which it is an error; 0: any. Each launch waits for its end",
    "warn_stale_globals": "warns at a launch where a global differs from the constant compiled in",
    "offline_cache": "caches compiled kernels on disk, so that the next start compiles nothing",
    "offline_cache_file_path": "folder of the cache; SHADESMITH_CACHE_DIR or the user's cache, if empty",
    "offline_cache_cleaning_policy": "which entries are removed: never, version, lru or fifo",
    "offline_cache_max_size_of_files": "size of the cache at which lru and fifo clean",
    "offline_cache_cleaning_factor": "fraction of the entries that lru and fifo remove at once",
}
"""The effects of options. All other options are accepted for Taichi's programs and have no effect."""


@dataclass(slots=True)
class Config:
    """All options of Taichi by Taichi's names and defaults; after `log_level`, also shadesmith's own."""

    ad_stack_size: int = 0
    advanced_optimization: bool = True
    allow_nv_shader_extension: bool = True
    arch: Arch = cpu
    auto_mesh_local_default_occupacy: int = 4
    cache_loop_invariant_global_vars: bool = True
    cfg_optimization: bool = True
    check_out_of_bound: bool = False
    cpu_block_dim_adaptive: bool = True
    cpu_max_num_threads: int = 0
    cuda_stack_limit: int = 0
    debug: bool = False
    default_cpu_block_dim: int = 32
    default_fp: Scalar = f32
    default_gpu_block_dim: int = 128
    default_ip: Scalar = i32
    default_up: Scalar = u32
    demote_dense_struct_fors: bool = True
    demote_no_access_mesh_fors: bool = True
    detect_read_only: bool = True
    device_memory_GB: float = 1.0
    device_memory_fraction: float = 0.0
    experimental_auto_mesh_local: bool = False
    fast_math: bool = True
    flatten_if: bool = False
    force_scalarize_matrix: bool = False
    gpu_max_reg: int = 0
    half2_vectorization: bool = False
    kernel_profiler: bool = False
    lower_access: bool = True
    make_block_local: bool = True
    make_cpu_multithreading_loop: bool = True
    make_mesh_block_local: bool = True
    make_thread_local: bool = True
    max_block_dim: int = 1024
    mesh_localize_all_attr_mappings: bool = False
    mesh_localize_from_end_mapping: bool = False
    mesh_localize_to_end_mapping: bool = True
    move_loop_invariant_outside_if: bool = False
    num_compile_threads: int = 4
    offline_cache: bool = True
    offline_cache_cleaning_factor: float = 0.25
    offline_cache_cleaning_policy: str = "lru"
    offline_cache_file_path: str = ""
    offline_cache_max_size_of_files: int = 100 * 1024 * 1024
    opt_level: int = 1
    optimize_mesh_reordered_mapping: bool = True
    print_accessor_ir: bool = False
    print_ir: bool | str = False
    print_ir_dbg_info: bool = True
    print_kernel_amdgcn: bool = False
    print_kernel_asm: bool = False
    print_kernel_llvm_ir: bool = False
    print_kernel_llvm_ir_optimized: bool = False
    print_preprocessed_ir: bool = False
    print_struct_llvm_ir: bool = False
    quant_opt_atomic_demotion: bool = True
    quant_opt_store_fusion: bool = True
    random_seed: int = 0
    real_matrix_scalarize: bool = True
    saturating_grid_dim: int = 0
    simplify_after_lower_access: bool = True
    simplify_before_lower_access: bool = True
    timeline: bool = False
    use_llvm: bool = True
    verbose: bool = True
    verbose_kernel_launches: bool = False
    vk_api_version: str = ""

    log_level: str = "info"
    gdb_trigger: bool = False
    short_circuit_operators: bool = True
    print_full_traceback: bool = False
    unrolling_limit: int = 32
    unroll_static_loops: bool = False
    deterministic: bool = False
    inline: bool | str = "auto"
    dump_dir: str = ""
    profile_source: bool = False
    edits: str = "strict"
    edits_dir: str = ""
    edit_macros: bool | str = "auto"
    report_bytes: int = 1 << 20
    check_overflow: bool = False
    trap_nan: bool = False
    line_comments: str = "short"
    spirv_opt: bool = False
    passes: Any = ""
    templates_dir: str = ""
    why_comments: bool = True
    argument_offsets: bool = False
    one_file: bool = False
    grid_stride: bool | str = "auto"
    task_graphs: bool = True
    warn_stale_globals: bool = False
    watchdog: float = 0.0

    def compile_options(self) -> CompileOptions:
        """Return the options that the compiler uses."""
        disabled: tuple[str, ...] = ()
        if not self.advanced_optimization:
            disabled = ("common_subexpressions", "simplify", "forward_stores", "forward_elements", "ranges")
        elif not self.cfg_optimization:
            disabled = ("forward_stores", "forward_elements")
        options = CompileOptions(
            default_fp=self.default_fp.name,
            default_ip=self.default_ip.name,
            default_up=self.default_up.name,
            fast_math=self.fast_math,
            debug=self.debug,
            check_out_of_bound=self.check_out_of_bound or self.debug,
            check_overflow=self.check_overflow,
            trap_nan=self.trap_nan,
            short_circuit_operators=self.short_circuit_operators,
            block_dim=min(self.default_gpu_block_dim, self.max_block_dim),
            unrolling_limit=self.unrolling_limit,
            unroll_static_loops=self.unroll_static_loops,
            make_thread_local=self.make_thread_local,
            make_block_local=self.make_block_local,
            deterministic=self.deterministic,
            inline=self.inline,
            verify=self.debug,
            line_comments=self.line_comments,
            why_comments=self.why_comments,
            argument_offsets=self.argument_offsets,
            one_file=self.one_file,
            grid_stride=self.grid_stride if isinstance(self.grid_stride, bool) else None,
            disabled_passes=OFF_BY_DEFAULT.union(disabled),
        )
        if self.templates_dir:
            options = _templates().with_templates(options, self.templates_dir)
        return _passes().with_passes(options, self.passes) if self.passes else options


_passes = loader(".passes", __package__)
_templates = loader(".templates", __package__)

OPTIONS: dict[str, Any] = {field.name: field.default for field in fields(Config)}
ENVIRONMENT_PREFIXES = ("SHADESMITH_", "TI_")
EDITS_FOLDER = "edits"
"""Folder of hand-edited sources, next to the Python file of a kernel."""
MAX_NAME = 64
"""Bytes of a name as part of a file name; file systems take 255 in all."""
RESERVED = re.compile(r"(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])")
"""Names of devices on Windows, with any suffix."""
UNNAMED_FILE = "interactive"
"""File name of a kernel that was typed into a shell or a notebook."""
CHOICES: dict[str, tuple[str | bool, ...]] = {
    "edits": ("strict", "fallback", "off", "watch"),
    "grid_stride": ("auto", True, False),
    "inline": ("auto", True, False),
    "edit_macros": ("auto", True, False),
    "line_comments": ("short", "full", "none"),
    "offline_cache_cleaning_policy": ("never", "version", "lru", "fifo"),
}
"""Accepted values of string options that do not accept any string."""
SWITCHES_OR_AUTO = frozenset({"grid_stride", "inline", "edit_macros"})
"""Options that are True, False or "auto"."""
RANGES: dict[str, tuple[float, float]] = {
    "offline_cache_cleaning_factor": (0.0, 1.0),
    "offline_cache_max_size_of_files": (0, 1 << 62),
    "watchdog": (0.0, 1e6),
}
"""Accepted values of number options that do not accept any number."""
SILENT = frozenset({"verbose", "print_preprocessed_ir", "gdb_trigger"})
"""Options without effect that change no result and no speed in Taichi either."""
DEFAULT_TYPES: dict[str, tuple[Scalar, ...]] = {
    "default_fp": (f32, f64, SCALARS["f16"]),
    "default_ip": (i32, i64),
    "default_up": (u32, SCALARS["u64"]),
}
"""Accepted types of each default; in the environment the first two are also called 32 and 64."""


def read_config(
    keywords: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> tuple[Config, tuple[str, ...]]:
    """Return the configuration of `ti.init(**keywords)` and warnings about variables that a keyword overrides.

    Keywords that are None count as not given; the session chooses `arch`.
    Raises: KeyError naming all unknown keywords; ValueError, TypeError for values that an option cannot take.
    """
    environment = os.environ if environment is None else environment
    variables = {name: text for name, text in environment.items() if name.startswith(ENVIRONMENT_PREFIXES)}
    unknown = [name for name in keywords if name not in OPTIONS]
    if unknown:
        close = [found[0] for name in unknown if (found := close_names(name, OPTIONS))]
        hint = f". Hint: did you mean {', '.join(f'`{name}`' for name in close)}?" if close else ""
        raise KeyError(f"Unrecognized keyword argument(s) for ti.init: {', '.join(unknown)}{hint}")
    config, warnings = Config(), []
    for name in OPTIONS:
        if name == "arch":
            continue
        variable, text = _variable(name, variables)
        given = keywords.get(name)
        if given is not None:
            setattr(config, name, _converted(name, given))
            if text:
                warnings.append(f'Environment variable {variable}={text} overridden by ti.init argument "{name}"')
        elif text:
            setattr(config, name, _parsed(name, variable, text))
        elif name == "default_up":  # after `default_ip` in the order of the options
            config.default_up = SCALARS[f"u{config.default_ip.bits}"]
    ignored = [name for name in sorted(keywords) if name not in EFFECTIVE and _is_changed(keywords[name], name)]
    if ignored:
        warnings.append(f"without effect in ti.init, as docs/status.md lists: {', '.join(ignored)}")
    return config, tuple(warnings)


def _is_changed(given: Any, name: str) -> bool:
    return given is not None and given != OPTIONS[name] and name not in SILENT


def _variable(name: str, environment: Mapping[str, str]) -> tuple[str, str]:
    for prefix in ENVIRONMENT_PREFIXES:
        variable = prefix + name.upper()
        text = environment.get(variable, "")
        if text:
            return variable, text
    return "", ""


def _parsed(name: str, variable: str, text: str) -> Any:
    default = OPTIONS[name]
    if name in DEFAULT_TYPES:
        types = DEFAULT_TYPES[name]
        found = {str(t.bits): t for t in types[:2]} | {t.name: t for t in types}
        if text not in found:
            raise ValueError(f"Invalid {variable}={text}, should be 32 or 64")
        return found[text]
    if name == "passes":
        return _passes().read_passes(text, f"environment variable {variable}")
    if name in SWITCHES_OR_AUTO and text in ("0", "1"):
        return text == "1"
    if isinstance(default, str):
        return _chosen(name, text)
    try:
        if isinstance(default, bool):
            return bool(int(text))
        number = type(default)(text)
    except ValueError:
        if name == "print_ir":  # the name of a kernel
            return text
        kind = "0 or 1" if isinstance(default, bool) else f"a number ({type(default).__name__})"
        raise ValueError(f"Environment variable {variable}={text} should be {kind}") from None
    return _in_range(name, number)


def _converted(name: str, value: Any) -> Any:
    default = OPTIONS[name]
    if name in DEFAULT_TYPES:
        return _default_type(name, value)
    if (name == "print_ir" and isinstance(value, str)) or (name in SWITCHES_OR_AUTO and isinstance(value, bool)):
        return value
    if name == "passes":
        return _passes().read_passes(value, "option `passes` of ti.init")
    if name in ("dump_dir", "edits_dir", "templates_dir", "offline_cache_file_path"):
        return os.fspath(value)
    expected = (str,) if isinstance(default, str) else (int, float) if isinstance(default, float) else (int,)
    if not isinstance(value, expected):
        raise TypeError(f"option `{name}` of ti.init takes {type(default).__name__}, and {value!r} was given")
    return _chosen(name, value) if isinstance(value, str) else _in_range(name, type(default)(value))


def _in_range(name: str, value: Any) -> Any:
    low, high = RANGES.get(name, (value, value))
    if not low <= value <= high:
        raise ValueError(f"option `{name}` of ti.init is from {low} to {high}, and {value} was given")
    return value


def _chosen(name: str, text: str) -> str:
    if name in CHOICES and text not in CHOICES[name]:
        close = close_names(text, [c for c in CHOICES[name] if isinstance(c, str)]) or [str(CHOICES[name][0])]
        choices = ", ".join(map(repr, CHOICES[name]))
        raise ValueError(f"option `{name}` of ti.init is one of {choices}, and {text!r} was given. Hint: {close[0]!r}")
    return text


def _default_type(name: str, value: Any) -> Scalar:
    value = {int: i32, float: f32}.get(value, value) if isinstance(value, type) else value
    types = DEFAULT_TYPES[name]
    if value not in types:
        names = ", ".join(f"ti.{t.name}" for t in types)
        raise TypeError(f"option `{name}` of ti.init is one of {names}, and {value} was given")
    return value  # type: ignore[no-any-return]


def plain_name(name: str) -> str:
    """Return a name as part of a file name: letters, digits, `_` and `.`, at most 64 bytes, no name of a device."""
    plain = re.sub(r"[^\w.]+", "_", name).strip("_.") or "x"
    if len(plain.encode()) > MAX_NAME:
        digest = hashlib.sha256(name.encode(errors="backslashreplace")).hexdigest()[:8]
        plain = f"{plain.encode()[: MAX_NAME - 9].decode(errors='ignore')}_{digest}"
    return f"{plain}_" if RESERVED.fullmatch(plain.partition(".")[0]) else plain
