"""A process that runs programs on one target: paths come in by standard input, results go out as pickles.

It is started by `workers.py`, with shadesmith's Python or Taichi's; so it imports nothing but NumPy and one of the two.
"""

from __future__ import annotations

import dataclasses
import faulthandler
import functools
import gc
import importlib.util
import itertools
import os
import pickle
import re
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

TAICHI: dict[str, dict[str, Any]] = {
    "taichi": {},
    "taichi0": {"advanced_optimization": False, "cfg_optimization": False, "opt_level": 0},
    "taichi_scalarized": {"force_scalarize_matrix": True},
    "taichi_uncached": {"cache_loop_invariant_global_vars": False},
    "taichi_plain": {"force_scalarize_matrix": True, "cache_loop_invariant_global_vars": False},
}
"""Options of Taichi, by target."""
OPTIONS: dict[str, dict[str, Any]] = {
    "python": {"arch": "python"},
    "plain": {"arch": "python"},
    "checked": {"arch": "python", "debug": True},
    "c0": {"arch": "cpu"},
    "c3": {"arch": "cpu"},
    "vulkan": {"arch": "vulkan"},
    "vulkan_respelled": {"arch": "vulkan"},
    "cuda": {"arch": "cuda"},
    "emulated": {"arch": "cuda"},
    "emulated3": {"arch": "cuda"},
    **{name + form: {"arch": "cpu", **options} for name, options in TAICHI.items() for form in ("", "_unfolded")},
}
"""Options of `ti.init`, by target. plain: no pass that is not needed. taichi0: Taichi without its optimisations;
taichi_scalarized: with scalars in place of matrices; taichi_uncached: without locals for elements that a loop changes;
taichi_plain: both; *_unfolded: with programs whose literals it cannot fold. checked: raises at what no program may do.
emulated: emitted CUDA C on the host, with checks; emulated3: with -O3, without.
vulkan_respelled: shaders in another spelling."""
INTEGERS_OF_GLSL = {
    "i8": "int8_t", "u8": "uint8_t", "i16": "int16_t", "u16": "uint16_t",
    "i": "int", "u": "uint", "i64": "int64_t", "u64": "uint64_t",
}  # fmt: skip
"""Types by the prefix of their vectors."""
SMALL_MASK = re.compile(r"& (u?int64_t)\((\w+)\)")
"""A mask of 64 bits that is a variable of 32: NVIDIA's driver takes 1 for 0 in `x & k`, too, where it finds that k is 1."""
NUMBERS = itertools.count()
PROGRAMS_OF_TAICHI = 8
"""Programs of one session of Taichi, whose start takes a third of a small program's time."""


def prepare(target: str) -> Callable[[bool], None]:
    """Import what the target needs; return what starts a session, given whether the last program raised."""
    options = {**OPTIONS[target], "offline_cache": False, "fast_math": False, "random_seed": 1}
    if target.startswith("taichi"):
        import taichi as ti
        import taichi_transfers

        taichi_transfers.install()
        options |= {"log_level": ti.ERROR, "cpu_max_num_threads": 2}
    else:
        import shadesmith as ti

        warnings.simplefilter("ignore")
        options |= {"log_level": ti.ERROR, "enable_fallback": False}
        if target == "c0":
            without_optimisation()
        if target == "plain":
            without_optional_passes()
        if target.startswith("emulated"):
            emulate(optimised=target == "emulated3")
        if target == "vulkan_respelled":
            respelled()
        if target == "cuda":
            limit_nvrtc()
    arch, left = getattr(ti, options.pop("arch")), 0
    share = PROGRAMS_OF_TAICHI if target.startswith("taichi") else 1

    def start(has_raised: bool) -> None:
        nonlocal left
        if left == 0 or has_raised:  # fields of the program that raised may be in no tree: others would raise, too
            ti.init(arch=arch, **options)
            left = share
        left -= 1

    return start


def limit_nvrtc() -> None:
    """Let a compilation that does not end be an error before the program counts as one that hangs."""
    from shadesmith.runtime.devices.cuda import nvrtc

    nvrtc.TIME_LIMIT_SECONDS = 30.0


def without_optimisation() -> None:
    """Let C be compiled with -O0."""
    from shadesmith.runtime.devices.host import compiler

    compiler.FLAGS = tuple("-O0" if flag == "-O3" else flag for flag in compiler.FLAGS)


def emulate(optimised: bool) -> None:
    """Let CUDA C run on the host."""
    sys.path.append(os.path.join(os.path.dirname(__file__), os.pardir))
    from emulated.device import install

    install(optimised)


def without_optional_passes() -> None:
    """Leave out all passes that a kernel does without."""
    from shadesmith.transpiler import passes

    run = passes._run_pass

    def run_required(step: Any, *rest: Any) -> bool:
        return step.__name__ in passes.REQUIRED and run(step, *rest)

    passes._run_pass = run_required


def respelled() -> None:
    """Narrow 64-bit integers by `unpackUint2x32`, choose by `?:` in place of `min` and `max`, extract small masks.

    It means the same; of masks that are variables, if these are not negative.
    """
    from shadesmith.runtime.devices.vulkan.glslang import Glslang
    from shadesmith.transpiler.backend.languages.common.syntax_forms import ASSIGN, PRIMARY, Syntax, call, custom
    from shadesmith.transpiler.backend.languages.glsl import language, tables
    from shadesmith.transpiler.ir.types import Scalar

    def cast(old: Scalar, new: Scalar) -> Syntax:
        if old.bits == 64 and new.bits == 32 and not old.is_float and not new.is_float:
            return custom(f"{tables.TYPES[new.name]}(unpackUint2x32(uint64_t({{0}})).x)", PRIMARY, ASSIGN)
        return tables.cast(old, new)

    def compile(self: Glslang, file: Any, *rest: Any) -> bytes:
        text = SMALL_MASK.sub(r"& \1(bitfieldExtract(uint(\2), 0, 31))", with_choices(file.text))
        return as_written(self, dataclasses.replace(file, text=text), *rest)

    object.__setattr__(language.GLSL, "cast", cast)
    tables.INTEGERS["min"], tables.INTEGERS["max"] = call("chosen_min", 2), call("chosen_max", 2)
    as_written = Glslang.compile
    Glslang.compile = compile  # type: ignore[method-assign, assignment]


def with_choices(text: str) -> str:
    """Return a shader with `chosen_min` and `chosen_max` of integers and their vectors, by `?:` and `mix`."""
    if "chosen_m" not in text:
        return text
    extensions, functions = ["explicit_arithmetic_types"], []
    for prefix, scalar in INTEGERS_OF_GLSL.items():
        for type in (scalar, *(f"{prefix}vec{n}" for n in (2, 3, 4))):
            test = "{} < {} ? b : a" if type == scalar else "mix(a, b, lessThan({}, {}))"
            for name, order in (("min", ("b", "a")), ("max", ("a", "b"))):
                functions.append(f"{type} chosen_{name}({type} a, {type} b) {{ return {test.format(*order)}; }}")
    lines = text.split("\n")
    at = max(n for n, line in enumerate(lines) if line.startswith("#extension")) + 1
    named = [f"#extension GL_EXT_shader_{extension} : require" for extension in extensions]
    return "\n".join([*lines[:at], *named, *functions, *lines[at:]])


def load(path: str, target: str) -> Any:
    """Import a program; its name is new, so that nothing of an earlier one is found."""
    spec = importlib.util.spec_from_file_location(f"program_{next(NUMBERS)}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    if target == "checked":
        with np.errstate(invalid="raise", divide="raise"):
            spec.loader.exec_module(module)
    else:
        spec.loader.exec_module(module)
    return module


def run(path: str, target: str, start: Callable[[], None]) -> tuple[str, Any]:
    """Return ("ok", names and arrays) or ("error", what was raised)."""
    try:
        start()
        module = load(path, target)
        with np.errstate(invalid="raise" if target == "checked" else "ignore", over="ignore"):
            results = after_copies(module) if target.startswith("taichi") else module.run()
            found = [(name, np.array(value)) for name, value in results]
        return "ok", found
    except BaseException as error:  # noqa: BLE001
        return "error", f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-6)}"


def after_copies(module: Any) -> Any:
    """Run a program whose fields are copied all at once."""
    import taichi_transfers

    taichi_transfers.forget()
    results = module.run()
    taichi_transfers.flush()
    return results


def main(target: str) -> None:
    """Run the programs whose paths arrive, one a line."""
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if "FUZZ_FAULTS" in os.environ:
        faulthandler.enable(open(os.environ["FUZZ_FAULTS"], "w"), all_threads=False)  # noqa: SIM115
    start = prepare(target)
    pickle.dump(("ready", None), results)
    results.flush()
    has_raised = False
    for count, line in enumerate(sys.stdin):
        result = run(line.strip(), target, functools.partial(start, has_raised))
        has_raised = result[0] != "ok"
        pickle.dump(result, results)
        results.flush()
        if count % 20 == 0:
            gc.collect()


if __name__ == "__main__":
    main(sys.argv[1])
