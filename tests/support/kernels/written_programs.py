"""Programs that a test writes as files, runs, changes and runs again, as a person does who edits kernels."""

from __future__ import annotations

import importlib.util
import itertools
import linecache
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

HEAD = "import shadesmith as ti\n\n"
_NUMBERS = itertools.count()


def load(path: Path) -> ModuleType:
    """Import a file anew, as a new process would."""
    linecache.checkcache(str(path))
    # Python takes bytecode for right if size and second of the file are the same
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)
    specification = importlib.util.spec_from_file_location(f"written_{next(_NUMBERS)}", path)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def write(path: Path, text: str, lines_before: int = 0) -> ModuleType:
    """Write the program of a text below `import shadesmith as ti`, and import it."""
    path.write_text(HEAD + "\n" * lines_before + textwrap.dedent(text).lstrip("\n"))
    return load(path)


def replaced(path: Path, old: str, new: str) -> str:
    """Replace text in a file, which must contain it; return the new content."""
    text = path.read_text()
    assert old in text, f"{old!r} is not in\n{text}"
    path.write_text(text.replace(old, new))
    return path.read_text()


def below(folder: Path) -> Iterator[Path]:
    """Yield all files below a folder, in order."""
    return iter(sorted(path for path in folder.rglob("*") if path.is_file()))
