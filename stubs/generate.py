"""Write the stubs that editors and type checkers read: `stubs/shadesmith-stubs`, installed next to shadesmith.

In: `core.pyi`, written by hand, and the public names of the package as it runs. Out: one stub for each public module.
The runtime loads modules when they are needed, and gives them the import paths of Taichi; a checker sees neither.
usage: python stubs/generate.py [folder]
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import sys
import types
from pathlib import Path
from typing import Any

import shadesmith as ti
from shadesmith.runtime.config import Config
from shadesmith.runtime.fields.snodes import AXES
from shadesmith.runtime.public_names import NAMES
from shadesmith.transpiler.lang.annotations import MatrixType, VectorType
from shadesmith.transpiler.lang.decorators import Func

HERE = Path(__file__).resolve().parent
MODULES = ("ad", "algorithms", "aot", "cache", "graph", "linalg", "math", "profiler", "simt", "simt.block", "simt.grid",
           "simt.subgroup", "simt.warp", "sparse", "tools", "types", "ui")  # fmt: skip
OPERATORS = "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror xor rxor"
OPERATORS += " lshift rshift matmul rmatmul lt le gt ge"
TYPES = {"Scalar": "Any", "Arch": "Any"}

LIKE_FIRST = (
    "abs acos acosh asin asinh atan2 atanh ceil cos exp floor log max min pow round rsqrt sin sqrt tan tanh one zero "
    "stop_grad clamp cross degrees fract log2 mix mod normalize radians reflect refract sign"
)
"""Functions by elements: the result has the type of the first argument."""
RESULTS = dict.fromkeys(LIKE_FIRST.split(), "_T")
RESULTS |= dict.fromkeys(["length", "distance", "dot", "determinant", "smoothstep", "step"], "float")
RESULTS |= dict.fromkeys(["cconj", "cdiv", "cexp", "cinv", "clog", "cmul", "cpow", "csqrt", "vdir"], "Vector")
RESULTS |= dict.fromkeys(["eye", "inverse", "rot_by_axis", "rot_yaw_pitch_roll", "rotation2d", "rotation3d"], "Matrix")
RESULTS |= dict.fromkeys(["scale", "translate"], "Matrix")
"""Results of functions, by name, for checkers; of others they know nothing."""


def defined_by_hand(core: str) -> set[str]:
    """Return the names that `core.pyi` defines."""
    names = set()
    for node in ast.parse(core).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)  # type: ignore[union-attr]
    return names


def parameters_of(function: Any) -> str:
    """Return the parameters of a function, without annotations that only we understand."""
    shown = []
    star = False
    for name, parameter in inspect.signature(function).parameters.items():
        default = "" if parameter.default is inspect.Parameter.empty else " = ..."
        if parameter.kind is parameter.VAR_POSITIONAL:
            shown.append(f"*{name}: Any")
            star = True
        elif parameter.kind is parameter.VAR_KEYWORD:
            shown.append(f"**{name}: Any")
        else:
            if parameter.kind is parameter.KEYWORD_ONLY and not star:
                shown.append("*")
                star = True
            shown.append(f"{name}: Any{default}")
    return ", ".join(shown)


def summary(value: Any) -> str:
    """Return the first line of a docstring."""
    line = (inspect.getdoc(value) or "").partition("\n")[0].replace("\\", "\\\\")
    return f'    """{line}"""\n' if line else "    ...\n"


def stub_of(name: str, value: Any) -> str:
    """Return the stub of one public name."""
    if isinstance(value, types.ModuleType):
        return f"from shadesmith import {name} as {name}\n"
    if isinstance(value, VectorType):
        return f"{name}: TypeAlias = Vector\n"
    if isinstance(value, MatrixType):
        return f"{name}: TypeAlias = Matrix\n"
    if isinstance(value, Func) or inspect.isfunction(value):
        function = inspect.unwrap(value)
        returns = inspect.signature(function).return_annotation
        known = RESULTS.get(name, "Any") if ".lang." in function.__module__ else "Any"
        result = "None" if returns in ("None", None) else known
        parameters = parameters_of(function)
        if result == "_T":
            parameters = parameters.replace(": Any", ": _T", 1)
        return f"def {name}({parameters}) -> {result}:\n{summary(value)}"
    if name == "SharedArray":  # in a kernel it is an array; Python cannot make one
        return f"def {name}({parameters_of(value)}) -> Any:\n{summary(value)}"
    if isinstance(value, type):
        module = defining_module(value)
        return f"from {module} import {value.__name__} as {name}\n"
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        return f"{name}: {type(value).__name__}\n"
    return f"{name}: Any\n"


def defining_module(value: type) -> str:
    """Return the module whose file defines a class; `__module__` of errors is the root package."""
    if value.__module__ != "shadesmith":
        return value.__module__
    paths = sorted(path for path, module in sys.modules.items() if vars(module).get(value.__name__) is value)
    source = inspect.getsource
    return next(p for p in paths if p != "shadesmith" and f"class {value.__name__}" in source(sys.modules[p]))


def init_stub() -> str:
    """Return the stub of `ti.init`, whose keyword arguments are the options."""
    options = [(field.name, field.type) for field in dataclasses.fields(Config) if field.name not in ("arch",)]
    lines = ["def init(", "    arch: Any = None,", "    default_fp: Any = None,", "    default_ip: Any = None,",
             "    *,", "    enable_fallback: bool = True,", "    require_version: str | None = None,",
             "    on_compile: Callable[[Any], object] | None = None,"]  # fmt: skip
    given = {"default_fp", "default_ip"}
    lines += [f"    {name}: {TYPES.get(str(kind), kind)} = ...," for name, kind in options if name not in given]
    return "\n".join([*lines, ") -> None:", summary(ti.init)])


def public_names(path: str) -> dict[str, Any]:
    """Return the public names of a module by path, "" for the root package."""
    if not path:
        names = sorted({*ti.__all__, *NAMES, "cpu", *AXES, "axes"})
        return {name: getattr(ti, name) for name in names if not name.startswith("_")}
    value: Any = ti
    for part in path.split("."):
        value = getattr(value, part)
    names = getattr(value, "__all__", None) or [
        name
        for name, item in vars(value).items()
        if not name.startswith("_") and getattr(item, "__module__", "").startswith(value.__name__)
    ]
    return {name: getattr(value, name) for name in sorted(names)}


def root_stub() -> str:
    """Return the stub of the root package."""
    core = (HERE / "core.pyi").read_text(encoding="utf-8")
    operators = "\n".join(f"    def __{name}__(self, other: Any) -> Any: ..." for name in OPERATORS.split())
    operators += "\n" + "\n".join(f"    def __{name}__(self) -> Any: ..." for name in ("neg", "pos", "invert", "abs"))
    core = core.replace("@OPERATORS@", operators)
    by_hand = defined_by_hand(core)
    names = {name: value for name, value in public_names("").items() if name not in by_hand}
    rest = "".join(init_stub() if name == "init" else stub_of(name, value) for name, value in names.items())
    return core + "\n" + rest


def module_stub(path: str) -> str:
    """Return the stub of a public module."""
    by_hand = defined_by_hand(root_stub())
    head = "from typing import Any, TypeAlias, TypeVar\n\n"
    lines = []
    for name, value in public_names(path).items():
        if path == "types" and name in ("ndarray", "template"):
            target = "template as template" if name == "template" else ""
            lines.append(f"from shadesmith import {target}\n" if target else "ndarray: Any\n")
        elif path == "types" and name == "NDArray":
            lines.append("from shadesmith import NDArray as NDArray\n")
        elif name in by_hand and name in vars(ti) and vars(ti)[name] is value:
            lines.append(f"from shadesmith import {name} as {name}\n")
        elif isinstance(value, types.ModuleType):
            lines.append(f"from shadesmith.{path} import {name} as {name}\n")
        else:
            lines.append(stub_of(name, value))
    if path == "math":
        head += 'from shadesmith import Matrix, Vector\n\n_T = TypeVar("_T")\n\n'
    return head + "".join(lines)


def main(folder: Path) -> None:
    """Write all stubs below `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "py.typed").write_text("partial\n", encoding="utf-8")
    (folder / "__init__.pyi").write_text(root_stub(), encoding="utf-8")
    for path in MODULES:
        file = folder / (path.replace(".", "/") + ("/__init__.pyi" if path == "simt" else ".pyi"))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(module_stub(path), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "shadesmith-stubs")
