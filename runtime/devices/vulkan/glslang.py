"""Turn emitted GLSL into SPIR-V by the `glslangValidator` tool.

In: `SourceFile`s. Out: SPIR-V bytes that were checked to be complete, since damaged modules crash drivers (mesa 22.3).
The tool reads standard input and writes standard output, so there are no files on disk. It is untrusted: it may be
missing, hang, crash (glslang 12 does on very large expressions), or print endlessly.
"""

from __future__ import annotations

import hashlib
import linecache
import os
import re
import signal
import sys
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ....transpiler.backend.languages.glsl.float_controls import NO_CONTRACTION
from ....transpiler.backend.module.interface import SourceFile
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...loading import loader
from ...locks import new_lock
from ...store.binaries import Request, find_or_make
from ...store.compiler_files import file_identity, find_program
from ...store.stats import COUNTS
from ...store.store import Store

if TYPE_CHECKING:
    from typing import Protocol

    class _Process(Protocol):
        """The function of `tool_process` that is used."""

        def run_tool(self, command: list[str], text: bytes, time_limit_seconds: float) -> tuple[int, bytes, bytes]: ...

        def WaitingTool(self, command: list[str], text: Callable[[str], bytes]) -> _Waiting: ...

    class _Rounding(Protocol):
        """The function of `rounding` that is used, for `fast_math=False`."""

        def rounded_as_written(self, code: bytes) -> bytes: ...

    class _Waiting(Protocol):
        """The functions of `tool_process.WaitingTool`."""

        def is_waiting(self) -> bool: ...

        def give(self, text: bytes, time_limit_seconds: float) -> tuple[int, bytes, bytes]: ...

        def end(self) -> None: ...


ENVIRONMENT = "vulkan1.2"
TIME_LIMIT_SECONDS = 60.0
CACHE_ENTRIES = 512
SHOWN_CHARACTERS = 4000

SPIRV_MAGIC = 0x07230203
FUNCTION_END = 0x00010038.to_bytes(4, sys.byteorder)
"""The last instruction of a module."""
SPIRV_HEADER_WORDS = 5
OP_FUNCTION_END = 56

MODULE = "spirv"
"""Name of the only part of a cache entry."""

WHOLE_SOURCE = "-gVS"
"""Source, lines, types and variables by NonSemantic.Shader.DebugInfo.100, which RenderDoc's debugger needs."""
LINES_AND_SOURCE = ("-g",)
"""Source and lines as separate instructions, which every device accepts."""

OP_EXTENDED = 12

VERSION = "#version 460\n"
MAX_WAITING = 2
"""Processes that wait for sources, on a machine with at least eight cores."""
OP_SOURCE_EXTENSION = 4
OP_FUNCTION = 54
INCLUDING = ("GL_GOOGLE", "#include", "#line")
"""What means something else in a source that another one includes."""
INCLUDES = (b"GL_GOOGLE_cpp_style_line_directive\0", b"GL_GOOGLE_include_directive\0")
"""Extensions that glslang notes in a module whose source includes a file."""

INSTALL_HINT = "apt-get install glslang-tools"
OPTIMIZER_HINT = "apt-get install spirv-tools, or leave the option out"
MESSAGE = re.compile(r"^(ERROR|WARNING): [^:\n]+:(\d+): (.*)$")


PRECISE = re.compile(r"\bprecise\b")


class Glslang:
    """Compiles GLSL for Vulkan and caches the results. Safe to use from several threads.

    validate: also check every module by `spirv-val`, if that tool is installed.
    flags: further flags of the tool.
    optimize: run spirv-opt on every module; not with debug information, which it would drop.
    environment: the version of Vulkan that the shader is for.
    """

    def __init__(
        self,
        validate: bool = False,
        time_limit_seconds: float = TIME_LIMIT_SECONDS,
        flags: tuple[str, ...] = (),
        environment: str = ENVIRONMENT,
        optimize: bool = False,
    ) -> None:
        self._optimize = optimize and not flags
        self._flags, self._environment = flags, environment
        self._validate = validate
        self._time_limit = time_limit_seconds
        self._modules: OrderedDict[bytes, bytes] = OrderedDict()
        self._lock = new_lock()
        self._waiting: list[_Waiting] = []

    def prepare(self) -> None:
        """Start the tool while Python makes a source for it.

        Nine tenths of its time are spent on the declarations of the language's own functions, which it reads when it
        has seen the version of the source. So it gets a source that includes a file that is still missing.
        """
        if self._flags or os.environ.get("SHADESMITH_EARLY_GLSLANG") == "0" or (tool := find_tool()) is None:
            return
        command = [tool, "--stdin", *self._target(), "-I/", "-o", "/dev/stdout"]
        wanted = max(1, min(MAX_WAITING, (os.cpu_count() or 1) // 4))
        with self._lock:
            self._end_all(lambda waiting: not waiting.is_waiting())
            try:
                while len(self._waiting) < wanted:
                    self._waiting.append(_process().WaitingTool(command, _including))
            except OSError:
                pass  # the source will be compiled by a process of its own

    def close(self) -> None:
        """End the processes that wait."""
        with self._lock:
            self._end_all(lambda waiting: True)

    def _end_all(self, is_ended: Callable[[_Waiting], bool]) -> None:
        ended = [waiting for waiting in self._waiting if is_ended(waiting)]
        self._waiting = [waiting for waiting in self._waiting if waiting not in ended]
        for waiting in ended:
            waiting.end()

    def _by_waiting(self, file: SourceFile) -> bytes | None:
        """Return the module that a waiting process makes of a source, None if there is no process or no module."""
        if VERSION not in file.text or any(word in file.text for word in INCLUDING):
            return None
        with self._lock:
            waiting = self._waiting.pop(0) if self._waiting else None
        if waiting is None or not waiting.is_waiting():
            if waiting is not None:
                waiting.end()
            return None
        COUNTS.compiler_ran("glslangValidator")
        text = file.text.replace(VERSION, "\n", 1).encode()
        try:
            code, output, _ = waiting.give(text, self._time_limit)
        except (TimeoutError, OverflowError, OSError):
            return None
        module = without_warnings(output)
        return without_includes(module) if code == 0 and is_whole(module) else None

    def compile(self, file: SourceFile, kernel: str, path: Path | None = None, store: Store | None = None) -> bytes:
        """Return the SPIR-V of a compute shader.

        path: the file with the same source, for debug information.
        store: caches results between processes.
        Raises: TaichiCompilationError with the tool's message, the emitted line and the Python line; TaichiRuntimeError
        if the tool is missing.
        """
        key = hashlib.sha256(f"{path}\0{file.text}".encode()).digest()
        with self._lock:
            if key in self._modules:
                self._modules.move_to_end(key)
                return self._modules[key]
        binaries = find_or_make(
            store,
            lambda: self._request(file, path),
            lambda: {MODULE: self._make(file, kernel, path)},
            lambda found: MODULE in found and is_whole(found[MODULE]),
        )
        module = binaries[MODULE]
        with self._lock:
            self._modules[key] = module
            while len(self._modules) > CACHE_ENTRIES:
                self._modules.popitem(last=False)
        return module

    def _target(self) -> tuple[str, ...]:
        return "-S", "comp", "--target-env", self._environment, "--quiet"

    def _request(self, file: SourceFile, path: Path | None) -> Request:
        settings = (*self._target(), *self._flags, "validated" if self._validate else "", str(path or ""))
        settings += (file_identity(require_optimizer()),) if self._optimize else ()
        return Request("glslangValidator", file_identity(require_tool()), settings, file, exact=bool(self._flags))

    def _make(self, file: SourceFile, kernel: str, path: Path | None) -> bytes:
        module = self._run(file, kernel, path, self._debug_flags(file))
        if WHOLE_SOURCE in self._flags and has_null_id(module):
            module = self._run(file, kernel, path, LINES_AND_SOURCE)
        return self._optimized(module, file, kernel) if self._optimize else module

    def _optimized(self, module: bytes, file: SourceFile, kernel: str) -> bytes:
        """Return what spirv-opt makes of a module."""
        command = [require_optimizer(), "-O", f"--target-env={self._environment}", "--scalar-block-layout",
                   "-", "-o", "-"]  # fmt: skip
        code, output, errors = self._converse(command, module, f"spirv-opt on {file.name}")
        if code != 0 or not is_whole(output):
            raise _failure(file, kernel, "spirv-opt did not accept the SPIR-V of the emitted source", errors)
        if self._validate:
            self._check(output, file, kernel)
        return output

    def _debug_flags(self, file: SourceFile) -> tuple[str, ...]:
        """Return the flags for a source: if SPIR-V includes it, glslang 12 crashes on a `#line` that names a file."""
        named = "GL_GOOGLE_cpp_style_line_directive" in file.text
        return LINES_AND_SOURCE if named and WHOLE_SOURCE in self._flags else self._flags

    def _run(self, file: SourceFile, kernel: str, path: Path | None, flags: tuple[str, ...]) -> bytes:
        is_exact = NO_CONTRACTION in file.text
        if is_exact:  # all operations are decorated below; glslang may take minutes to follow what `precise` reaches
            file = SourceFile(file.name, PRECISE.sub("", file.text), file.lines)
        module = self._by_waiting(file) if path is None and not flags else None
        if module is None:
            module = self._by_new_process(file, kernel, path, flags)
        if is_exact:
            module = _rounding().rounded_as_written(module)
        if self._validate:
            self._check(module, file, kernel)
        return module

    def _by_new_process(self, file: SourceFile, kernel: str, path: Path | None, flags: tuple[str, ...]) -> bytes:
        tool = require_tool()
        COUNTS.compiler_ran("glslangValidator")
        source = "--stdin" if path is None else str(path)
        command = [tool, source, *self._target(), *flags, "-o", "/dev/stdout"]
        code, output, errors = self._converse(command, file.text.encode(), f"glslangValidator on {file.name}")
        if code < 0:
            raise _failure(file, kernel, f"glslangValidator crashed ({_signal_name(-code)})", output + errors)
        if code != 0:
            raise _failure(file, kernel, "glslangValidator refused the emitted source", output + errors)
        output = without_warnings(output)
        if not is_whole(output):
            raise _failure(file, kernel, "glslangValidator ended well but gave no whole SPIR-V module", errors)
        return output

    def _check(self, module: bytes, file: SourceFile, kernel: str) -> None:
        tool = find_program("spirv-val")
        if tool is None:
            return
        command = [tool, "--target-env", self._environment, "--scalar-block-layout", "-"]
        code, output, errors = self._converse(command, module, f"spirv-val on {file.name}")
        if code != 0:
            raise _failure(file, kernel, "spirv-val refused the SPIR-V of the emitted source", output + errors)

    def _converse(self, command: list[str], text: bytes, what: str) -> tuple[int, bytes, bytes]:
        try:
            return run_tool(command, text, self._time_limit)
        except TimeoutError:
            raise TaichiCompilationError(f"{what} did not end within {self._time_limit:g} s and was stopped") from None
        except OverflowError as error:
            raise TaichiCompilationError(f"{what} printed over {error} bytes and was stopped") from None
        except OSError as error:
            raise TaichiRuntimeError(f"{what} could not be started: {error}") from error


def find_tool() -> str | None:
    """Return the path of the GLSL compiler; newer packages call it `glslang`."""
    return find_program("glslangValidator") or find_program("glslang")


def require_tool() -> str:
    """Return the path of the GLSL compiler. Raises: TaichiRuntimeError with how to install it."""
    tool = find_tool()
    if tool is None:
        raise TaichiRuntimeError("`glslangValidator` was not found; Vulkan kernels are compiled by it", INSTALL_HINT)
    return tool


def find_optimizer() -> str | None:
    """Return the path of spirv-opt, None if it is not installed."""
    return find_program("spirv-opt")


def require_optimizer() -> str:
    """Return the path of spirv-opt. Raises: TaichiRuntimeError with how to install it."""
    tool = find_optimizer()
    if tool is None:
        raise TaichiRuntimeError("`spirv-opt` was not found, and `spirv_opt=True` runs it", OPTIMIZER_HINT)
    return tool


def identity() -> str:
    """Return the identity of glslangValidator. Raises: OSError, TaichiRuntimeError if it is missing."""
    return file_identity(require_tool())


_process: Callable[[], _Process] = loader("..tool_process", __package__)
_rounding: Callable[[], _Rounding] = loader(".rounding", __package__)
"""The module that starts processes, loaded on first use."""


def run_tool(command: list[str], text: bytes, time_limit_seconds: float) -> tuple[int, bytes, bytes]:
    """Run a program with `text` as its standard input; return exit code, output and error output.

    Raises: TimeoutError, OverflowError (too much output), OSError (cannot start). The process has always ended.
    """
    return _process().run_tool(command, text, time_limit_seconds)


def without_warnings(output: bytes) -> bytes:
    """Return a module without glslang's messages after it, which it prints even with `--quiet` (names with `__`)."""
    end = output.rfind(FUNCTION_END) + len(FUNCTION_END)
    return output[:end] if output[end:].lstrip().startswith((b"WARNING", b"stdin")) else output


def _including(path: str) -> bytes:
    """Return a source that includes another one."""
    return f'{VERSION}#extension GL_GOOGLE_include_directive : require\n#include "{path}"\n'.encode()


def without_includes(module: bytes) -> bytes:
    """Return a module without the names of the extensions that let its source include a file: as if it had not."""
    words, begin, position = memoryview(module).cast("I"), 0, SPIRV_HEADER_WORDS
    parts = []
    while position < len(words) and words[position] & 0xFFFF != OP_FUNCTION:
        end = position + (words[position] >> 16)
        if words[position] & 0xFFFF == OP_SOURCE_EXTENSION and module[4 * position + 4 : 4 * end].startswith(INCLUDES):
            parts.append(module[4 * begin : 4 * position])
            begin = end
        position = end
    return b"".join([*parts, module[4 * begin :]])


def is_whole(module: bytes) -> bool:
    """Return whether the bytes are a SPIR-V module whose instructions end exactly where the bytes end."""
    if len(module) % 4 or len(module) < 4 * (SPIRV_HEADER_WORDS + 1):
        return False
    words = memoryview(module).cast("I")
    if words[0] != SPIRV_MAGIC:
        return False
    position, word = SPIRV_HEADER_WORDS, 0
    while position < len(words):
        word = words[position]
        if word >> 16 == 0:
            return False
        position += word >> 16
    return position == len(words) and word & 0xFFFF == OP_FUNCTION_END


def has_null_id(module: bytes) -> bool:
    """Return whether an extended instruction refers to id 0, which is invalid.

    glslang 12.0 describes buffer references this way under `-gVS`; spirv-val refuses such a module, and drivers may
    crash.
    """
    words = memoryview(module).cast("I")
    position = SPIRV_HEADER_WORDS
    while position < len(words):
        count = words[position] >> 16
        if words[position] & 0xFFFF == OP_EXTENDED and 0 in words[position + 5 : position + count].tolist():
            return True
        position += count
    return False


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _failure(file: SourceFile, kernel: str, what: str, output: bytes) -> TaichiCompilationError:
    text = output[: 4 * SHOWN_CHARACTERS + 4].decode(errors="replace")
    log = "".join(c if c.isprintable() or c in "\r\n\t" else "?" for c in text)
    if len(log) > SHOWN_CHARACTERS:
        log = log[:SHOWN_CHARACTERS] + " ..."
    return TaichiCompilationError(f"{what} ({file.name} of kernel `{kernel}`)\n{_explain(file, log)}".rstrip())


def _explain(file: SourceFile, log: str) -> str:
    """Insert the emitted line and the Python line after each message that names a line."""
    source_lines = file.text.splitlines()
    result: list[str] = []
    for message in log.splitlines():
        match = MESSAGE.match(message)
        if match is None:
            if message.strip() not in ("", "stdin", "SPIR-V is not generated for failed compile or link"):
                result.append(message)
            continue
        line = int(match[2])
        result.append(f"{match[1]}: {file.name}:{line}: {match[3]}")
        if "#line" not in file.text and 0 < line <= len(source_lines):
            result.append(f"{line:6} | {source_lines[line - 1]}")
            result.extend(_python_line(file, line))
    return "\n".join(result)


def _python_line(file: SourceFile, line: int) -> list[str]:
    """Return a phrase with the Python line of an emitted line, "" if there is none."""
    place = file.python_location(line)
    if place is None:
        return []
    name, line_python = place
    return [f'  File "{name}", line {line_python}', f"    {linecache.getline(name, line_python).strip()}".rstrip()]
