"""Emitted sources stored as files, so that profilers and debuggers find the lines that a binary refers to.

In: a module. Out: permanent paths: one folder for each content, so that an older binary still shows its own source.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from ...transpiler.backend.module.interface import BackendModule
from ...transpiler.errors import TaichiRuntimeError
from ..config import plain_name
from ..store.atomic_files import write_text


def folder_of(dump_dir: str) -> Path:
    """Return the folder of the sources: in `dump_dir`, or in the user's cache if it is not set."""
    from platformdirs import user_cache_path

    return Path(dump_dir, "sources") if dump_dir else user_cache_path("shadesmith") / "sources"


def store_sources(module: BackendModule, folder: Path) -> dict[str, Path]:
    """Write the files of a module and return their absolute paths by name.

    Raises: TaichiRuntimeError if the files cannot be written.
    """
    content = hashlib.sha256("\0".join(file.text for file in module.files).encode()).hexdigest()
    path = folder.expanduser().absolute() / f"{plain_name(module.kernel)}-{content[:12]}"
    paths = {file.name: path / file.name for file in module.files}
    try:
        for file in module.files:
            if not _is_current(paths[file.name], file.text):
                write_text(paths[file.name], file.text)
    except OSError as error:
        raise TaichiRuntimeError(
            f"profile_source=True stores emitted sources in {path}, which cannot be written: {error.strerror or error}",
            "name another folder by `ti.init(dump_dir=...)`",
        ) from error
    return paths


def _is_current(path: Path, text: str) -> bool:
    """Return whether a file has exactly this source: the user may have changed it, and compilers read the file."""
    return path.is_file() and path.read_bytes() == text.encode()
