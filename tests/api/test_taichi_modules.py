"""All modules of Taichi 1.7.4 by their import paths, in one fresh process: names and signatures.

`tests/data/taichi_modules.txt` is Taichi's own list, by introspection: below a module's path its names, and functions and
classes defined there with their parameters. A name exists here, or one sentence says why not.
"""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

LIST = Path(__file__).parents[1] / "data" / "taichi_modules.txt"
INSIDE = "is inside Taichi's compiler and means nothing in shadesmith"
LATER = " is not in this version of shadesmith; see docs/status.md: "

ABSENT = {
    "taichi.lang.simt.block": {"arch_uses_spv", "make_expr_group", "taichi_scope"},
    "taichi.linalg": {"TaichiRuntimeError", "TaichiTypeError", "sqrt"},
    "taichi.tools.video": {"ffmpeg_common_args", "get_os_name", "interpolate_frames"},
    "taichi.types.primitive_types": {"RefType"},
    "taichi.ui": {"hex_to_rgb"},
}
"""Names that modules of Taichi import for themselves, of modules that are plain files here."""

MADE_OTHERWISE = "made by a function, not by its class"
DEVIATIONS = {
    "DeviceCapability": "an enumeration",
    "MeshElement": "made by `ti.Mesh`",
    "MeshElementField": "made by `ti.Mesh`",
    "ArgPack": "made by its type",
    "Field": "a union of classes, for `isinstance`",
    "Ndarray": "a union of classes, for `isinstance`",
    "GUI": "the default name is shadesmith",
    "Kernel": "made by `ti.kernel`",
    "Func": "made by `ti.func`",
    **dict.fromkeys(
        ("MatrixField", "MatrixNdarray", "SNode", "ScalarField", "ScalarNdarray", "StructField", "VectorNdarray"),
        MADE_OTHERWISE,
    ),
    **dict.fromkeys(("SNodeTree", "Graph", "KernelTemplate", "MatrixType", "VectorType", "Canvas"), MADE_OTHERWISE),
    "StructType": "made by `ti.types.struct` and `ti.dataclass`",
    "Texture": "the shape may also be given by its old names",
    "func": "`is_real_function` is `ti.real_func`",
    "randn": "the default type is Python's `float`, which means the same",
    "static_print": "a private parameter is left out",
    "matrix": "no parameter may be left out: Taichi's types without a shape cannot be used",
    "vector": "no parameter may be left out: Taichi's types without a shape cannot be used",
    "Vector": "further keywords, which Taichi ignores, are errors",
    **dict.fromkeys(("clz", "mod", "popcnt"), "parameters are named as those of `ti.math`"),
    "field": "`taichi.lang.field` is the module here",
}
"""Names whose parameters are not Taichi's, with the reason."""


def read_list() -> dict[str, dict[str, list[str] | None]]:
    """Return the names of each module, with their parameters if the module defines them."""
    modules: dict[str, dict[str, list[str] | None]] = {}
    names: dict[str, list[str] | None] = {}
    for line in LIST.read_text().splitlines():
        words = line.split()
        if line.startswith("["):
            names = modules[line[1:-1]] = {}
        elif words[1:2] == ["("]:
            names[words[0]] = words[2:-1]
        else:
            names.update(dict.fromkeys(words))
    return modules


def accepts(found: Any, wanted: list[str]) -> bool:
    """Return whether a function takes Taichi's parameters: by order, name and default; further ones are optional."""
    try:
        parameters = list(inspect.signature(found).parameters.values())
    except (TypeError, ValueError):
        return False
    kinds = {parameter.kind for parameter in parameters}
    named = [parameter for parameter in parameters if "VAR" not in parameter.kind.name]
    at = 0
    for word in wanted:
        if word in ("*", "**"):
            kind = inspect.Parameter.VAR_POSITIONAL if word == "*" else inspect.Parameter.VAR_KEYWORD
            if kind not in kinds and not named[at:]:
                return False
            continue
        name, _, default = word.lstrip("^/").partition("=")
        parameter = named[at] if at < len(named) else None
        if parameter is None or parameter.name != name:
            return False
        if default and (parameter.default is parameter.empty or default not in ("?", repr(parameter.default))):
            return False
        at += 1
    return all(parameter.default is not parameter.empty for parameter in named[at:])


def survey() -> dict[str, list[str]]:
    """Import all modules and read all names; return what is not as it should be."""
    import shadesmith as ti

    ti.as_taichi()
    found: dict[str, list[str]] = {"modules": [], "names": [], "signatures": []}
    for path, names in read_list().items():
        try:
            module = importlib.import_module(path)
        except ImportError:
            found["modules"].append(path)
            continue
        for name, parameters in names.items():
            try:
                value = getattr(module, name)
            except AttributeError as error:
                if INSIDE not in str(error) and LATER not in str(error) and name not in ABSENT.get(path, ()):
                    found["names"].append(f"{path}.{name}: {error}")
                continue
            if parameters is not None and name not in DEVIATIONS and not accepts(value, parameters):
                found["signatures"].append(f"{path}.{name}: {inspect.signature(value)}, Taichi {parameters}")
    return found


def test_all_paths_names_and_signatures_in_a_fresh_process() -> None:
    code = "import json, test_taichi_modules as t; print(json.dumps(t.survey()))"
    folders = [str(Path(__file__).parent), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {folders!r}; {code}"],
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["modules"] == []
    assert found["names"] == []
    assert found["signatures"] == []
