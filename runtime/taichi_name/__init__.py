"""`import taichi` means shadesmith: in this process by `as_taichi()`, in child processes by the environment.

In: the name of a module, `taichi.lang.matrix`. Out: the module `shadesmith.lang.matrix`, the same object.
`distribution/` holds a package `taichi` that calls `as_taichi()`. It is first in the PYTHONPATH of child processes;
built and installed (`make taichi-name`) it does the same for all programs of a Python.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

from ..loading import SameModule, loader

_sysconfig = loader("sysconfig", None)

NAME = "taichi"
PACKAGE = __name__.split(".")[0]
FOLDER = Path(__file__).parent / "distribution"
"""Holds the package `taichi` and the metadata of its version."""


class TaichiFinder:
    """Finds `taichi` and all modules below it for Python's import system."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> ModuleSpec | None:
        """Return the specification of our module of that path, None if there is none."""
        root, dot, rest = fullname.partition(".")
        if root != NAME:
            return None
        if rest == "__main__":
            main = FOLDER / NAME / "__main__.py"
            return importlib.util.spec_from_file_location(fullname, main)
        name = f"{PACKAGE}{dot}{rest}"
        # What this does not find, Python's own finder does not find either: it searches the same folder.
        return None if find_spec(name) is None else ModuleSpec(fullname, SameModule(name))  # type: ignore[arg-type]


def as_taichi(children: bool = True) -> None:
    """Make `import taichi`, and the import of all modules below it, mean shadesmith in this process.

    children: in Python processes that this one starts, too: their PYTHONPATH then begins with a folder that holds a
    package `taichi`. Raises: ImportError if Taichi itself is imported already.

    Example:
        >>> ti.as_taichi(children=False)
        >>> import taichi
        >>> taichi.f32 is ti.f32
        True
    """
    package = sys.modules[PACKAGE]
    present = sys.modules.get(NAME)
    if present is not None and present is not package and "lang" in vars(present):
        raise ImportError(f"taichi is imported already, from {present.__file__}: call shadesmith.as_taichi() before")
    if not any(isinstance(finder, TaichiFinder) for finder in sys.meta_path):
        sys.meta_path.insert(0, TaichiFinder())
    sys.modules[NAME] = package
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))  # for importlib.metadata
    if children:
        os.environ.update(environment(os.environ))


def environment(present: Mapping[str, str]) -> dict[str, str]:
    """Return what an environment must have so that `import taichi` means shadesmith in Python processes."""
    paths = [str(FOLDER)]
    package = Path(__file__).resolve().parents[2]
    installed = {Path(_sysconfig().get_path(name)).resolve() for name in ("purelib", "platlib")}
    if package.name == PACKAGE and package.parent not in installed:
        paths.append(str(package.parent))  # found otherwise only from some working directories
    others = [path for path in present.get("PYTHONPATH", "").split(os.pathsep) if path and path not in paths]
    return {"PYTHONPATH": os.pathsep.join([*paths, *others])}
