"""NVIDIA's linker by ctypes: makes a cubin of PTX, which NVRTC, whose input is CUDA C alone, cannot. Needs no GPU.

Optional: without it, or with one older than NVRTC, whose PTX it refuses then, `assemble` returns None.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from .nvidia_libraries import candidates, load

LIBRARY = ("nvJitLink", "nvjitlink")
"""Its name, and the folder of its wheel for CUDA 12."""

PTX_INPUT = 2
"""`NVJITLINK_INPUT_PTX` of nvJitLink.h."""
FOR_PTXAS = "--ptxas-options="
"""Before options of ptxas for NVRTC; here it is `-Xptxas=`."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A cubin. log: the requested output of ptxas."""

    cubin: bytes
    log: str


def assemble(ptx: str, arch: str, options: Sequence[str] = ()) -> Assembled | None:
    """Return the machine code of PTX for `arch` ("sm_90"), None where there is no linker or it refuses the text.

    options: NVRTC's; those that do not concern ptxas are already in the PTX.
    """
    library = load_nvjitlink()
    if library is None:
        return None
    chosen = [f"-arch={arch}", *(_translated(option) for option in options if option.startswith((FOR_PTXAS, "-line")))]
    array = (ctypes.c_char_p * len(chosen))(*(option.encode() for option in chosen))
    linker, text = ctypes.c_void_p(), ptx.encode()
    if library.nvJitLinkCreate(ctypes.byref(linker), len(chosen), array) != 0:
        return None
    try:
        if library.nvJitLinkAddData(linker, PTX_INPUT, text, ctypes.c_size_t(len(text)), b"kernel.ptx") != 0:
            return None
        if library.nvJitLinkComplete(linker) != 0:
            return None
        log = _fetch(library, linker, "InfoLog").rstrip(b"\0").decode(errors="replace").strip()
        return Assembled(_fetch(library, linker, "LinkedCubin"), log)
    finally:
        library.nvJitLinkDestroy(ctypes.byref(linker))


def _translated(option: str) -> str:
    return f"-Xptxas={option.removeprefix(FOR_PTXAS)}" if option.startswith(FOR_PTXAS) else option


def _fetch(library: ctypes.CDLL, linker: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    library[f"nvJitLinkGet{what}Size"](linker, ctypes.byref(size))
    buffer = ctypes.create_string_buffer(size.value)
    library[f"nvJitLinkGet{what}"](linker, buffer)
    return buffer.raw


@cache
def place() -> str:
    """Return the name or path that is tried first: cached cubins depend on whether the library is there."""
    return next(candidates(*LIBRARY))


@cache
def load_nvjitlink() -> ctypes.CDLL | None:
    """Load the library from NVIDIA's wheels, a CUDA installation or the system; None if it is not there."""
    return load(*LIBRARY, "nvJitLinkCreate")
