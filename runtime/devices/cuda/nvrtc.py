"""NVIDIA's run-time compiler by ctypes: compiles CUDA C to a cubin for one architecture. Needs no GPU and no CuPy.

Not through CuPy: that appends `-ftz=true`, needs 0.7 s to import and refuses to compile without a GPU. A cubin, not
PTX: a driver older than the compiler refuses its PTX, while it runs cubins of the same major version.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from ....transpiler.backend.module.interface import SourceFile
from ....transpiler.errors import TaichiRuntimeError
from ...store.binaries import Binaries, Request, find_or_make
from ...store.compiler_files import file_identity
from ...store.stats import COUNTS
from ...store.store import Store
from ..compiler_messages import CompilerFailure, describe_log
from . import nvjitlink, ptxas_defects
from .cubin import machine_code
from .nvidia_libraries import candidates, load

LIBRARY = ("nvrtc", "cuda_nvrtc")
"""Its name, and the folder of its wheel for CUDA 12."""

DEFAULT_ARCH = "sm_90"
"""Default architecture without a device."""

QUIET = ("--ptxas-options=--suppress-stack-size-warning",)
"""ptxas warns that a recursive function has an unknown stack size; `CudaDevice.build` reserves a larger stack."""

FAST, EXACT = ("-fmad=true", "-prec-div=false", "-prec-sqrt=false"), ("-fmad=false",)
"""What `fast_math` allows: fused multiply-add, division within 2 ulp, square root within 1. Subnormals are kept."""

MINIMAL = ("--minimal",)
"""Without textures, CUDA's runtime on the device and their types: 5 ms of 29 for a small kernel, the code is identical.
What needs them, or is refused for any reason, is compiled without the option, which NVRTC 12.0 does not know."""

SPLIT, SPLIT_LINES = ("--split-compile=0",), 200
"""Compiles the kernels of one source in threads, and from how many lines on: a product of matrices with four tasks
takes two cores 400 ms in place of 550, and short sources longer. The code is identical. Old versions lack it, too."""

LINES = ("-lineinfo",)
"""Line information, by the name of the source, which changes no instruction."""

UNCACHED = ("--no-cache",)
"""Not from the driver's cache, which NVRTC asks where there is a GPU: it has machine code, but no output of ptxas."""
CACHING_SINCE = (12, 9)
"""The first version of NVRTC that does so, and that knows the option."""

TIME_LIMIT_SECONDS = 300.0
"""NVRTC does not end on some sources, and cannot be stopped: the thread that called it is left alone then."""

INSTALL_HINT = "Install it with `pip install 'shadesmith[cuda]'` (or `pip install nvidia-cuda-nvrtc`)."


@dataclass(frozen=True, slots=True)
class Compiled:
    """The output of NVRTC. log: its warnings, and the requested output of ptxas."""

    cubin: bytes
    ptx: str
    log: str


def compile_cubin(
    text: str,
    arch: str = DEFAULT_ARCH,
    fast_math: bool = True,
    name: str = "kernel.cu",
    lines: tuple[tuple[int, str, int], ...] = (),
    options: Sequence[str] = (),
    store: Store | None = None,
) -> tuple[bytes, str]:
    """Compile CUDA C; return the cubin and the log with the warnings.

    fast_math: allows fused multiply-add, division within 2 ulp, square root within 1 ulp (`FAST`).
    name, lines: as in `SourceFile`, for messages.
    options: further options of NVRTC.
    store: caches results between processes.
    Raises: TaichiCompilationError with the emitted and the Python line; TaichiRuntimeError if NVRTC is missing.
    """
    file = SourceFile(name, text, lines)

    def request() -> Request:
        return Request(
            "NVRTC",
            f"{nvrtc_identity()}\n{ptxas_defects.REVISION}\n{nvjitlink.place()}",
            _options(arch, fast_math, options),
            file,
            exact=bool(options),
        )

    def make() -> dict[str, bytes]:
        compiled = _compile(file, arch, fast_math, options, with_ptx=False)
        return {"cubin": compiled.cubin, "log": compiled.log.encode()}

    result = find_or_make(store, request, make, _is_whole)
    return result["cubin"], result["log"].decode()


def compile_ptx(file: SourceFile, arch: str, fast_math: bool) -> bytes:
    """Compile to PTX for `arch` ("compute_75"), which drivers compile for GPUs of this and newer architectures.

    Raises: as `compile_cubin`.
    """
    ptx = _compile_once(file, arch, fast_math, (), with_ptx=True, with_cubin=False).ptx
    return ptxas_defects.without_negations(ptx).encode()


def compile_explained(file: SourceFile, arch: str, fast_math: bool) -> Compiled:
    """Compile as `compile_cubin` does, with line information in PTX and cubin, and resource usage in the log.

    The machine code is identical. Raises: as `compile_cubin`.
    """
    return _compile(file, arch, fast_math, (*LINES, *verbose_options()), with_ptx=True)


def verbose_options() -> tuple[str, ...]:
    """Return the options by which the log has what ptxas tells of each kernel. Raises: as `version`."""
    return ("--ptxas-options=-v", *(UNCACHED if version() >= CACHING_SINCE else ()))


_WARM_UP = b'extern "C" __global__ void warm_up() {}'
_warm: list[threading.Thread] = []


def warm_up(arch: str) -> None:
    """Load NVRTC and have it compile nothing, in another thread, once in a process.

    Its first compilation takes twice as long as the next ones, and a kernel that has to be compiled keeps Python busy
    for some time before its source exists. Python waits for the thread at its end: the library must not be left inside.
    """
    if not _warm:
        _warm.append(threading.Thread(target=_compile_nothing, args=(arch,), name="NVRTC's start"))
        _warm[0].start()


def _compile_nothing(arch: str) -> None:
    with contextlib.suppress(TaichiRuntimeError, OSError):  # the compilation that follows reports what is wrong
        library, program = load_nvrtc(), ctypes.c_void_p()
        library.nvrtcCreateProgram(ctypes.byref(program), _WARM_UP, b"warm_up.cu", 0, None, None)
        _call_compiler(library, program, (*_options(arch, True, ()), *MINIMAL))
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _compile(
    file: SourceFile, arch: str, fast_math: bool, more: Sequence[str], with_ptx: bool, with_cubin: bool = True
) -> Compiled:
    """Compile as `_compile_once` does, again without the optimisation that has a defect if that may matter."""
    compiled = _compile_once(file, arch, fast_math, more, with_ptx, with_cubin)
    if not ptxas_defects.is_suspect(compiled.cubin, arch) or not _loses_negations(arch):
        return compiled
    ptx = compiled.ptx or _compile_once(file, arch, fast_math, more, True, False).ptx
    if not ptxas_defects.may_lose_negations(ptx):
        return compiled
    spared = ptxas_defects.without_negations(ptx)
    assembled = nvjitlink.assemble(spared, arch, _options(arch, fast_math, more))
    if assembled is not None:
        warnings = [line for line in compiled.log.splitlines() if not line.startswith("ptxas")]
        return Compiled(assembled.cubin, spared, "\n".join((*warnings, *assembled.log.splitlines())))
    return _compile_once(file, arch, fast_math, (*more, ptxas_defects.REMEDY), with_ptx)


@cache
def _loses_negations(arch: str) -> bool:
    """Return whether this version of ptxas has the defect."""
    probes = (SourceFile("probe.cu", probe, ()) for probe in ptxas_defects.PROBES)
    negated, plain = (_compile_once(probe, arch, True, (), False).cubin for probe in probes)
    return machine_code(negated) == machine_code(plain)


def _compile_once(
    file: SourceFile, arch: str, fast_math: bool, more: Sequence[str], with_ptx: bool, with_cubin: bool = True
) -> Compiled:
    library = load_nvrtc()
    COUNTS.compiler_ran("NVRTC")
    options = _options(arch, fast_math, more)
    has_textures = "cudaTextureObject_t" in file.text or "cudaSurfaceObject_t" in file.text
    is_long = file.text.count("\n") >= SPLIT_LINES and file.text.count("__global__") > 1
    first = (*options, *(() if has_textures else MINIMAL), *(SPLIT if is_long else ()))
    status, program = _try(library, file, first)
    if status != 0 and first != options:
        library.nvrtcDestroyProgram(ctypes.byref(program))
        status, program = _try(library, file, options)
    try:
        log = _text(_fetch(library, program, "ProgramLog")).strip()
        if status != 0:
            reason = library.nvrtcGetErrorString(status).decode()
            message = f"NVRTC refused the emitted source {file.name} ({reason}):\n{describe_log(file, log)}"
            raise CompilerFailure(message, log)
        ptx = _text(_fetch(library, program, "PTX")) if with_ptx else ""
        cubin = _fetch(library, program, "CUBIN") if with_cubin else b""
        return Compiled(cubin, ptx, log)
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _try(library: ctypes.CDLL, file: SourceFile, options: Sequence[str]) -> tuple[int, ctypes.c_void_p]:
    """Compile; return NVRTC's status and its program, which the caller destroys. Raises: as `_run`."""
    program, source = ctypes.c_void_p(), file.text.encode()
    _check(library, library.nvrtcCreateProgram(ctypes.byref(program), source, file.name.encode(), 0, None, None))
    return _run(library, program, file, options), program


def _run(library: ctypes.CDLL, program: ctypes.c_void_p, file: SourceFile, options: Sequence[str]) -> int:
    """Compile in a thread, so that Ctrl-C and a time limit end the wait; return NVRTC's status.

    Raises: CompilerFailure at the time limit; what the thread has raised.
    """
    found: list[int | BaseException] = []

    def compile() -> None:
        try:
            found.append(_call_compiler(library, program, options))
        except BaseException as error:  # of another thread, in which nobody sees it
            found.append(error)

    thread = threading.Thread(target=compile, name="NVRTC", daemon=True)
    thread.start()
    thread.join(TIME_LIMIT_SECONDS)
    if not found:
        raise CompilerFailure(
            f"NVRTC has not compiled the emitted source {file.name} within {TIME_LIMIT_SECONDS:.0f} s. A few sources "
            "keep its optimiser busy for ever; it goes on in a thread of this process",
            "",
            "write the kernel in another way, or as two; other targets compile it as it is",
        )
    (result,) = found
    if isinstance(result, BaseException):
        raise result
    return result


def _call_compiler(library: ctypes.CDLL, program: ctypes.c_void_p, options: Sequence[str]) -> int:
    """Let NVRTC compile a program; return its status."""
    array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status: int = library.nvrtcCompileProgram(program, len(options), array)
    return status


def _is_whole(found: Binaries) -> bool:
    return found.keys() == {"cubin", "log"} and found["cubin"][:4] == b"\x7fELF"


def _options(arch: str, fast_math: bool, more: Sequence[str]) -> tuple[str, ...]:
    return (f"-arch={arch}", "--std=c++17", *(FAST if fast_math else EXACT), *QUIET, *more)


def _text(data: bytes) -> str:
    return data.rstrip(b"\0").decode(errors="replace")


def version() -> tuple[int, int]:
    """Return NVRTC's major and minor version. Raises: TaichiRuntimeError if it is missing."""
    library, major, minor = load_nvrtc(), ctypes.c_int(), ctypes.c_int()
    _check(library, library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
    return major.value, minor.value


@cache
def nvrtc_identity() -> str:
    """Return the identity of NVRTC, without loading it if its path is known.

    libnvrtc-builtins, which it loads at run time, is in the same folder and belongs to it.
    Raises: TaichiRuntimeError if it is missing.
    """
    path = next(candidates(*LIBRARY), "")
    if not os.path.isabs(path) or not os.path.exists(path):
        path = _path_of(load_nvrtc())
    folder = os.path.dirname(os.path.realpath(path))
    names = sorted(name for name in os.listdir(folder) if name.startswith("libnvrtc"))
    return "\n".join(file_identity(os.path.join(folder, name)) for name in names)


def _path_of(library: ctypes.CDLL) -> str:
    """Return the file of a library that was loaded by name; other code may have loaded another file."""
    found = _Place()
    if ctypes.CDLL(None).dladdr(ctypes.cast(library.nvrtcVersion, ctypes.c_void_p), ctypes.byref(found)) == 0:
        raise OSError(f"nobody knows from where {library._name} was loaded")
    return os.fsdecode(found.path)


class _Place(ctypes.Structure):
    """`Dl_info` of dlfcn.h."""

    _fields_ = (
        ("path", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


@cache
def load_nvrtc() -> ctypes.CDLL:
    """Load the library from NVIDIA's wheels, a CUDA installation or the system.

    Raises: TaichiRuntimeError that says how to install it.
    """
    library = load(*LIBRARY, "nvrtcGetErrorString")
    if library is None:
        raise TaichiRuntimeError(
            f"NVRTC, the compiler for arch=ti.cuda, was not found (libnvrtc.so.13 or .12). {INSTALL_HINT}"
        )
    library.nvrtcGetErrorString.restype = ctypes.c_char_p
    return library


def _fetch(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    _check(library, library[f"nvrtcGet{what}Size"](program, ctypes.byref(size)))
    buffer = ctypes.create_string_buffer(size.value)
    _check(library, library[f"nvrtcGet{what}"](program, buffer))
    return buffer.raw


def _check(library: ctypes.CDLL, status: int) -> None:
    if status != 0:
        raise TaichiRuntimeError(f"NVRTC failed: {library.nvrtcGetErrorString(status).decode()}.")
