"""Emitted texts kept as files, so that profilers and debuggers find what the lines in a binary are of.

In: a module. Out: paths that stay: a folder for each content, so that an older binary still shows its own text.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from ...transpiler.backend.module.interface import BackendModule
from ...transpiler.errors import TaichiRuntimeError
from ..store.atomic_files import write_text

NAME_LENGTH = 64
"""Of a kernel's name, in the name of its folder: file systems end at 255 bytes."""


def folder_of(dump_dir: str) -> Path:
    """Return where texts are kept: below `dump_dir`, or in the user's cache if none is given."""
    from platformdirs import user_cache_path

    return Path(dump_dir, "sources") if dump_dir else user_cache_path("shadesmith") / "sources"


def keep(module: BackendModule, folder: Path) -> dict[str, Path]:
    """Write the files of a module and return their absolute paths by name.

    Raises: TaichiRuntimeError where nothing can be written.
    """
    content = hashlib.sha256("\0".join(file.text for file in module.files).encode()).hexdigest()
    place = folder.expanduser().absolute() / f"{module.kernel[:NAME_LENGTH]}-{content[:12]}"
    paths = {file.name: place / file.name for file in module.files}
    try:
        for file in module.files:
            if not _holds(paths[file.name], file.text):
                write_text(paths[file.name], file.text)
    except OSError as error:
        raise TaichiRuntimeError(
            f"profile_source=True keeps emitted texts in {place}, which cannot be written: {error.strerror or error}",
            "name another folder by `ti.init(dump_dir=...)`",
        ) from error
    return paths


def _holds(path: Path, text: str) -> bool:
    """Tell whether a file holds just this text: somebody may have changed it, and compilers read it from there."""
    return path.is_file() and path.read_bytes() == text.encode()
