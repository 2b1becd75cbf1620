"""The programs in `examples`: their names, what they show, how one is found and run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ....transpiler.errors import PACKAGE
from ...close_names import close_names
from ..screen import CommandError

FOLDER = Path(__file__).resolve().parents[3] / "examples"
GALLERY = FOLDER / "gallery"


def programs(folder: Path) -> dict[str, Path]:
    """Return the programs in a folder by name."""
    return {path.stem: path for path in sorted(folder.glob("*.py")) if not path.stem.startswith("_")}


def purpose(path: Path) -> str:
    """Return the first sentence of a program's docstring."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    first = text.partition("\n")[0]
    return first.partition(": `python")[0]


def find(name: str, known: dict[str, Path]) -> Path:
    """Return a program. Raises: CommandError with the closest name."""
    if name.removesuffix(".py") in known:
        return known[name.removesuffix(".py")]
    close = close_names(name, known)
    hint = f"did you mean `{close[0]}`?" if close else f"there are {', '.join(known)}"
    raise CommandError(f"There is no example `{name}`", hint)


def run_module(name: str, arguments: Sequence[str], arch: str | None) -> int:
    """Run a module of the package in a process of its own; return its exit status."""
    variables = {**os.environ, **({} if arch is None else {"SHADESMITH_ARCH": arch})}
    root = str(FOLDER.parents[1])
    variables["PYTHONPATH"] = os.pathsep.join(filter(None, (root, variables.get("PYTHONPATH"))))
    sys.stdout.flush()
    return subprocess.run(
        [sys.executable, "-m", f"{PACKAGE}.{name}", *arguments], env=variables, check=False
    ).returncode
