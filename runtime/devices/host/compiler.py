"""The host's C compiler: find it, compile a source, and load the result.

In: C source. Out: the bytes of a shared object, and the library loaded from them. No files remain. Processes are
started by `compiler_process.py`, which is loaded on first use, since a warm start compiles nothing.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from _ctypes import dlclose, dlopen, dlsym
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ....transpiler.backend.module.interface import SourceFile
from ....transpiler.errors import TaichiRuntimeError
from ....transpiler.lazy_dataclasses import dataclass
from ...loading import loader
from ...store.binaries import Request, find_or_make
from ...store.compiler_files import c_compiler_identity, find_program
from ...store.stats import COUNTS
from ...store.store import Store
from ..compiler_messages import INSTALL_C_COMPILER, CompilerFailure, describe_log

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Protocol

    class _Process(Protocol):
        """The functions of `compiler_process` that are used."""

        def run_tools(self, commands: Sequence[Sequence[str]], text: str, folder: str) -> list[tuple[int, str]]: ...

        def what_happened(self, program: str, code: int) -> str: ...

        def private_folder(self) -> AbstractContextManager[str]: ...

        def temporary_folder(self) -> str: ...


_shlex = loader("shlex", None)

CANDIDATES = ("gcc", "cc", "clang")

FLAGS = (
    "-std=gnu11", "-O3", "-fPIC", "-shared", "-w", "-fwrapv", "-fno-strict-aliasing", "-fdiagnostics-color=never"
)  # fmt: skip
"""-O3, not -O2: gcc vectorises loops of unknown length only there (8 ms more for saxpy).
-fwrapv: integers wrap as on the GPU. -fno-strict-aliasing: two arguments may be views of one memory with different
types, as on the GPU; loops over arrays take as long. -w: warnings are for shadesmith's tests, not for users."""

NO_SLP = "-fno-tree-slp-vectorize"
"""gcc vectorises loops, but not straight-line code: of gcc 12.2 (Debian 12) that part of the compiler is not usable.

Its reductions of straight-line code (`slp1`, new in gcc 12) take all lanes of a vector where the source takes each
second one: the maxima of two rows in one loop become one maximum (tests/semantics/numbers/test_c_compilers.py). Other
such loops crash it. It does not matter whether integers wrap by -fwrapv or are unsigned. No other flag turns only these
reductions off. Loops over arrays take as long; code of thousands of statements without loops takes up to 1.7 times as
long (benchmarks/cpu.py, svd), moving particles 1.01 times."""

NATIVE = "-march=native"
"""For this processor; `aot` compiles for others too."""

CONCERNS = ("-Wno-unused", "-Wcast-qual", "-Wimplicit-function-declaration", "-Wno-unknown-pragmas")
"""Warnings that an edited source is checked for: a `const` that is cast away, an undeclared function."""

MATH_FLAGS = ("-fno-math-errno", "-fno-trapping-math")
"""Without them no sqrt and no conditional is vectorised; neither changes a result."""

FAST_MATH_FLAGS = ("-ffp-contract=fast", "-fassociative-math", "-fno-signed-zeros", "-freciprocal-math")
"""Reassociation for reductions, and fused multiply-add. Not -ffast-math: that makes NaN and infinity undefined."""

EXACT_MATH_FLAGS = ("-ffp-contract=off",)

LARGE_FRAMES = "--param=large-stack-frame=2048"
"""Bytes of local variables from which gcc does not inline a function that is called once. By default these are 256, a
few matrices, which then stay in memory, and no iteration of the loop around is a lane of a vector: a Kalman filter with
4x4 matrices took one core 20 ms, and 1.1 so."""

GCC_FLAGS = (NO_SLP, LARGE_FRAMES, "-pipe", "-nostdlib", "-fno-use-linker-plugin", "-fno-diagnostics-show-caret")
GCC_LIBRARIES = ("-lgcc",)
"""Omits start files and the C library (4 of 40 ms): a loaded object needs no start files, and the process has libc.
libgcc has the conversions of _Float16."""

MATH_LIBRARY = "-lm"
WITHOUT_MATH = ("#include <stdint.h>", "#include <stddef.h>", "#include <string.h>")
"""Headers without functions of the mathematics library. A source that cannot need that library is linked without it:
the linker of binutils 2.40 takes 11 ms, 5 of them to read it."""

LARGE_SOURCE = 1_500
"""Lines from which a source is compiled without searches whose time grows faster than the source (gcc 12.2): partial
redundancies, of which thousands of statements without loops have few worth their time, and earlier accesses to the same
memory. 2,000 atomic additions take 1.8 s in place of 4.0, 500 serial loops 0.9 in place of 1.6. No result changes."""

LESS_SEARCH_OF_GCC = (
    "-fno-tree-pre", "-fno-code-hoisting", "-fno-gcse", "-fno-gcse-after-reload",
    "--param=sccvn-max-alias-queries-per-access=50", "--param=dse-max-alias-queries-per-store=32",
)  # fmt: skip

HUGE_SOURCE = 8_000
"""Lines from which a source is compiled with less effort (gcc 12.2): for each access gcc looks through those before it,
so that a function of 4,000 stores takes 15 s at -O3 and one of 8,000 more than 120 s; with these flags the latter takes
6 s. A loop with so many statements is not vectorised then."""

LESS_EFFORT = ("-O1",)
LESS_EFFORT_OF_GCC = ("-fira-algorithm=priority",)

SUMS_OF_RUNS = "#define RUN "
SUMS_OF_GCC = ("-funroll-loops", "-fvariable-expansion-in-unroller", "--param=max-variable-expansions-in-unroller=4")
"""For sources that add f32 in runs: four accumulators alternate, so that none waits for its last addition. On two cores
a sum of 2^22 floats takes .10 ms in place of .11 (Zen 4, gcc 12.2); `simdlen` alone leaves one accumulator."""

compiler_process: Callable[[], _Process] = loader(".compiler_process", __package__)
"""The module that starts compilers."""


CRASH, AFTER_CRASH = "internal compiler error", ("-fno-tree-loop-vectorize",)
"""What gcc reports if it crashes, and how it is started once more: gcc 12 crashes where it vectorizes some loops."""


@dataclass(frozen=True, slots=True)
class HostCompiler:
    """A C compiler on this machine. command: program and its own arguments. gcc: it takes gcc's options.

    more_flags: after all others, for sanitizers.
    """

    command: tuple[str, ...]
    gcc: bool
    more_flags: tuple[str, ...] = ()

    def compile(
        self,
        file: SourceFile,
        fast_math: bool,
        openmp: bool,
        hidden: Sequence[Sequence[str]] = ((),),
        store: Store | None = None,
        anew: bool = False,
        march: str = NATIVE,
    ) -> list[bytes]:
        """Return shared objects of one source: for each element of `hidden`, one without these functions.

        They are compiled concurrently, so a source with several tasks is ready sooner. A function is hidden by making
        it static (`-Df="static f"`): the compiler drops it before the costly part.

        store: caches results between processes.
        anew: compile even if there is a cached result.
        march: the kind of processor, "" for the compiler's default.
        Raises: TaichiCompilationError with the emitted and the Python line if the compiler refuses the source, or
        hangs, crashes or writes nothing; TaichiRuntimeError if it cannot be started.
        """
        flags = (*self._flags(fast_math, openmp, march), *self._flags_of(file))
        libraries = self._libraries(openmp, needs_math(file.text))
        objects = find_or_make(
            store,
            lambda: Request(
                "cc",
                c_compiler_identity(self.command, store),
                (*flags, *libraries, *(" ".join(("hidden", *names)) for names in hidden)),
                file,
            ),
            lambda: self._make(file, flags, libraries, hidden),
            lambda found: len(found) == len(hidden),
            anew,
        )
        return list(objects.values())

    def _make(
        self, file: SourceFile, flags: Sequence[str], libraries: Sequence[str], hidden: Sequence[Sequence[str]]
    ) -> dict[str, bytes]:
        COUNTS.compiler_ran("cc")
        process = compiler_process()
        with process.private_folder() as folder:
            outputs = [os.path.join(folder, f"kernel_{number}.so") for number in range(len(hidden))]

            def run(effort: Sequence[str]) -> list[tuple[int, str]]:
                commands = [
                    (*self.command, *flags, *effort, *(f"-D{name}=static {name}" for name in names))
                    + ("-x", "c", "-", "-o", output, *libraries)
                    for names, output in zip(hidden, outputs)
                ]
                return list(process.run_tools(commands, file.text, folder))

            results = run(())
            if any(code != 0 and CRASH in log for code, log in results):
                results = run(AFTER_CRASH)
            for code, log in results:
                if code != 0:
                    what = process.what_happened(self.command[0], code)
                    raise CompilerFailure(f"{what} {file.name}:\n{describe_log(file, log)}", log)
            return {os.path.basename(output): self._library_bytes(file, output) for output in outputs}

    def is_known_without_openmp(self, store: Store | None) -> bool:
        """Return whether an earlier process has found that this compiler lacks OpenMP."""
        return store is not None and store.look("tools", self._openmp_question(store))[0] is not None

    def note_without_openmp(self, store: Store | None) -> None:
        """Remember that this compiler lacks OpenMP."""
        if store is not None:
            store.put("tools", self._openmp_question(store), {"openmp": False}, {}, self.command[0])

    def _openmp_question(self, store: Store) -> bytes:
        return f"openmp\n{c_compiler_identity(self.command, store)}".encode()

    def examine(self, text: str, openmp: bool) -> tuple[bytes | None, str]:
        """Compile quickly for the messages; return the object file, None if there are errors, and the log.

        Raises: as `compile` does if the compiler hangs or cannot be started.
        """
        process = compiler_process()
        with process.private_folder() as folder:
            output = os.path.join(folder, "kernel.o")
            flags = [NATIVE, *(flag for flag in FLAGS if flag not in ("-O3", "-w", "-shared"))]
            gcc = ("-pipe", "-fno-diagnostics-show-caret") if self.gcc else ("-fno-caret-diagnostics",)
            parallel = ("-fopenmp",) if openmp else ()
            command = (*self.command, *flags, *CONCERNS, *gcc, *parallel, "-x", "c", "-c", "-", "-o", output)
            code, log = process.run_tools([command], text, folder)[0]
            if code == 0 and os.path.exists(output):
                return _bytes_of(output), log
            return None, log if code >= 0 else f"{log}\n{process.what_happened(self.command[0], code)}"

    def _library_bytes(self, file: SourceFile, output: str) -> bytes:
        try:
            return _bytes_of(output)
        except OSError as error:
            message = f"`{self.command[0]}` reports success on {file.name}, but wrote no library ({error.strerror})."
            raise CompilerFailure(message, "") from error

    def _flags(self, fast_math: bool, openmp: bool, march: str) -> tuple[str, ...]:
        precision = FAST_MATH_FLAGS if fast_math else EXACT_MATH_FLAGS
        processor = (march,) if march else ()
        more = (*(GCC_FLAGS if self.gcc else ()), *(("-fopenmp",) if openmp else ()))
        return (*FLAGS, *processor, *MATH_FLAGS, *precision, *more, *self.more_flags)

    def _flags_of(self, file: SourceFile) -> tuple[str, ...]:
        """Return the flags that a source is compiled with in addition: a large one, and one with sums."""
        lines = file.text.count("\n")
        search = LESS_SEARCH_OF_GCC if self.gcc and lines >= LARGE_SOURCE else ()
        effort = (*LESS_EFFORT, *(LESS_EFFORT_OF_GCC if self.gcc else ())) if lines >= HUGE_SOURCE else ()
        sums = SUMS_OF_GCC if self.gcc and SUMS_OF_RUNS in file.text else ()
        return (*search, *effort, *sums)

    def _libraries(self, openmp: bool, math: bool = True) -> tuple[str, ...]:
        more = (MATH_LIBRARY,) if math else ()
        if not self.gcc:
            return more
        return (*(("-lgomp",) if openmp else ()), *more, *GCC_LIBRARIES)


def needs_math(text: str) -> bool:
    """Return whether a source may call functions of the mathematics library, by a header or as built in."""
    lines = (line for line in text.splitlines() if line.lstrip().startswith("#") and "include" in line)
    return "__builtin_" in text or any(not line.startswith(WITHOUT_MATH) for line in lines)


def lacks_openmp(log: str) -> bool:
    """Return whether a compiler's log reports that OpenMP is missing, not an error in the source."""
    return any(name in log for name in ("libgomp", "-lgomp", "-lomp", "fopenmp"))


def find_compiler() -> HostCompiler:
    """Return the compiler named by CC, or the first of `CANDIDATES` on the path.

    Raises: TaichiRuntimeError that says how to install one.
    """
    wanted = os.environ.get("CC", "").strip()
    command = [wanted] if not wanted or find_program(wanted) else _shlex().split(wanted)  # a path may contain spaces
    names = (command,) if wanted else tuple([name] for name in CANDIDATES)
    for name, *arguments in names:
        path = find_program(name)
        if path is not None:
            return HostCompiler((path, *arguments), _is_gcc(path))
    what = f"The C compiler `{wanted}` named by CC was not found." if wanted else "No C compiler was found."
    raise TaichiRuntimeError(f"{what} {INSTALL_C_COMPILER}")


def identity(store: Store | None) -> str:
    """Return the identity of the C compiler and its machine. Raises: OSError, TaichiRuntimeError without one."""
    return c_compiler_identity(find_compiler().command, store)


def _is_gcc(path: str) -> bool:
    """The resolved name shows it at no cost (cc -> gcc-12); only an unclear name is run, which takes 3 ms."""
    name = os.path.basename(os.path.realpath(path))
    if "clang" in name:
        return False
    if "gcc" in name and os.name == "posix" and os.uname().sysname != "Darwin":
        return True
    process = compiler_process()
    with process.private_folder() as folder:
        return "Free Software Foundation" in process.run_tools([(path, "--version")], "", folder)[0][1]


def _bytes_of(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


class Library:
    """A loaded shared object, which is unloaded with this object: callers of its functions keep a reference.

    Not `ctypes.CDLL`: that makes a class for every library, and reference cycles with its functions.

    number, remove: its number for `kernel_signals`, and the function that is called with it before it is unloaded.
    """

    __slots__ = ("_handle", "number", "remove", "stays_loaded")

    def __init__(self, path: str) -> None:
        self._handle = 0
        self.number, self.stays_loaded = -1, False
        self.remove: Callable[[int], object] | None = None
        self._handle = dlopen(path, os.RTLD_NOW | os.RTLD_LOCAL)

    def function(self, name: str, *arguments: Any) -> Callable[..., None]:
        """Return the function `name` of the library or its dependencies. Raises: OSError if it is missing."""
        return self.typed_function(name, None, *arguments)

    def typed_function(self, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
        """Return the same with a result."""
        return ctypes.CFUNCTYPE(result, *arguments)(self.address(name))

    def address(self, name: str) -> int:
        """Return the address of a function. Raises: OSError if it is missing."""
        return dlsym(self._handle, name)

    def __del__(self, close: Callable[[int], object] = dlclose) -> None:  # bound early: modules vanish at exit
        if self.remove is not None:
            self.remove(self.number)
        if self._handle and not self.stays_loaded:
            close(self._handle)


LIBRARY_FOLDER = ""
"""Folder in which the files of loaded libraries stay, for tools that read their lines; "": they do not."""


def load_library(binary: bytes) -> Library:
    """Load the bytes of a shared object into this process, from a file in memory if the system supports it.

    Raises: TaichiRuntimeError if the system refuses, as on a folder mounted `noexec`.
    """
    if LIBRARY_FOLDER:
        path = os.path.join(LIBRARY_FOLDER, f"kernel_{next(_loaded)}.so")
        with open(path, "wb") as file:
            file.write(binary)
        return Library(path)
    library = _load_from_memory(binary)
    return _load_from_folder(binary) if library is None else library


_loaded = itertools.count()


def _load_from_memory(binary: bytes) -> Library | None:
    """Load from a file in memory, in 40 us instead of 260 with a folder; return None if the system refuses.

    The loader returns an old library for a path that it has seen, and the system reuses the numbers of closed files. So
    each path is made unique: `//` and `/./` encode the bits of a counter.
    """
    if not hasattr(os, "memfd_create"):
        return None
    try:
        descriptor = os.memfd_create("kernel.so", os.MFD_CLOEXEC)
    except OSError:
        return None
    try:
        with open(descriptor, "wb", buffering=0, closefd=False) as file:
            file.write(binary)
        bits = "".join("/." if bit == "1" else "/" for bit in f"{next(_loaded):b}")
        return Library(f"/proc/self/fd{bits}/{descriptor}")
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _load_from_folder(binary: bytes) -> Library:
    """Load from a folder with a new name, which is removed at once."""
    process = compiler_process()
    with process.private_folder() as folder:
        path = os.path.join(folder, "kernel.so")
        with open(path, "wb") as file:
            file.write(binary)
        try:
            return Library(path)
        except OSError as error:
            raise TaichiRuntimeError(
                f"The compiled kernel cannot be loaded: {error}.",
                f"if {process.temporary_folder()} is mounted `noexec`, set TMPDIR to another folder.",
            ) from error
