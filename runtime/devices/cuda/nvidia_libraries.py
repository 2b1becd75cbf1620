"""Where libraries of NVIDIA's CUDA toolkit are: in its wheels, by the system's search path, in an installation."""

from __future__ import annotations

import ctypes
import importlib.util
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

MAJORS = ("13", "12")
"""Major versions of CUDA that are searched for, newest first."""


def load(library: str, wheel: str, function: str) -> ctypes.CDLL | None:
    """Load the first of the candidates that is there and has a function, None if none is."""
    for path in candidates(library, wheel):
        try:
            found = ctypes.CDLL(path)
        except OSError:
            continue
        if hasattr(found, function):
            return found
    return None


def candidates(library: str, wheel: str) -> Iterator[str]:
    """Return names and paths by which to load a library ("nvrtc") whose wheel for CUDA 12 has a folder `wheel`."""
    names = [f"lib{library}.so.{major}" for major in MAJORS]
    for folder in _wheel_folders(wheel):
        for name in names:
            if (folder / name).exists():
                yield str(folder / name)
    yield from names
    for variable in ("CUDA_PATH", "CUDA_HOME"):
        if variable in os.environ:
            yield str(Path(os.environ[variable], "lib64", f"lib{library}.so"))
    yield f"/usr/local/cuda/lib64/lib{library}.so"


def _wheel_folders(wheel: str) -> Sequence[Path]:
    """Folders of a wheel of CUDA 13 (nvidia-cuda-nvrtc) and of CUDA 12 (nvidia-cuda-nvrtc-cu12), newest first."""
    specification = importlib.util.find_spec("nvidia")
    if specification is None:
        return ()
    parents = [Path(parent) for parent in specification.submodule_search_locations or ()]
    return [parent / inner / "lib" for inner in ("cu13", wheel) for parent in parents]
