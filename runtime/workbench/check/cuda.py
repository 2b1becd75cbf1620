"""Check an edited CUDA C source: it is compiled with assertions appended, and its cubin is inspected, without a GPU."""

from __future__ import annotations

import re
from functools import cache, partial
from math import prod

from ....transpiler.backend.module.interface import TaskSource
from ...devices.compiler_messages import CompilerFailure
from ...devices.cuda.cubin import Cubin, CubinError, CubinKernel, read_cubin
from ...devices.cuda.nvrtc import DEFAULT_ARCH, compile_cubin
from .c import TAIL, assert_entries, note_failures, read_only_names, with_tail
from .c_layout import CUDA, CUDA_TEMPLATES, Assertion, Assertions
from .check_input import EditedFile, block_name, casts_away, check_block_is_defined, check_blocks, note_errors
from .compare_declarations import Declarations
from .compiler_diagnostics import CompilerDiagnostic, of_nvrtc
from .diagnostics import store_to_read_only
from .parsed_source import Location, ParsedSource

OFFSET_PROBE = 'struct Pair { int one, two; }; static_assert(__builtin_offsetof(Pair, two) == sizeof(int), "");'
"""Refused by NVRTC 12 and 13.0, which have neither `offsetof` nor another constant expression for an offset."""
REGISTERS_OF_BLOCK = 65536
"""Registers that one multiprocessor has, so at most those of a block."""
REGISTER_UNIT = 8
WARP = 32

_KERNEL = re.compile(r"\b__global__\b[^;{}()]*?\b([A-Za-z_]\w*)\s*\([^;{}]*\)\s*\{")
_BOUNDS = re.compile(r"\b__(?:launch_bounds|block_size|cluster_dims)__\s*\((?:[^()]|\([^()]*\))*\)")
_MANGLED = re.compile(r"_Z(\d+)(\w+)")


def check_cuda(edit: EditedFile) -> None:
    """Record all mistakes of an edited CUDA C source."""
    check_blocks(edit)
    check_block_is_defined(edit)
    knows_blocks = not edit.diagnostics.entries
    generated = ParsedSource(edit.generated_source)
    read_only = read_only_names(generated.blocks.get("Args"), generated, edit.source)
    assertions = Assertions(CUDA, generated, edit.source, has_offsetof=_has_offsetof())
    assertions.lines += [Assertion(line) for line in CUDA_TEMPLATES.strip().splitlines()]
    assertions.of_args(edit.generated)
    assert_entries(edit, assertions, _kernels_of(edit.source), "the kernel", partial(_head, edit), _fits)
    cubin, reported = _compile(edit, with_tail(edit.compiled_source, assertions.lines))
    errors = [diagnostic for diagnostic in reported if diagnostic.level == "error"]
    own = [diagnostic for diagnostic in errors if diagnostic.file != TAIL]
    if own:
        _check_marks(edit)
        if any(diagnostic.line for diagnostic in own) and not edit.diagnostics.entries:
            Declarations(generated, edit.source, edit.diagnostics, CUDA.cast).compare()
        if not edit.diagnostics.entries:
            _note_own_errors(edit, own, read_only)
        return
    note_failures(edit, assertions.lines, errors)
    _check_dynamic_shared(edit)
    _check_casts(edit, generated, read_only)
    if errors:
        cubin, _ = _compile(edit, edit.compiled_source)
    if cubin is not None:
        _check_cubin(edit, cubin, knows_blocks)


@cache
def _has_offsetof() -> bool:
    """Return whether NVRTC can evaluate the offset of a member."""
    try:
        compile_cubin(OFFSET_PROBE)
    except CompilerFailure:
        return False
    return True


def _compile(edit: EditedFile, source: str) -> tuple[Cubin | None, list[CompilerDiagnostic]]:
    """Return the cubin, None if the source is refused, and what the compiler reports."""
    arch = dict(edit.capabilities.extra).get("arch", DEFAULT_ARCH)
    try:
        binary, _ = compile_cubin(source, arch, bool(edit.edited.options.get("fast_math", True)), edit.name)
    except CompilerFailure as error:
        reported = of_nvrtc(error.log)
        if not any(diagnostic.level == "error" for diagnostic in reported):
            reported.append(CompilerDiagnostic("", 0, 0, "error", error.log.strip()[:1000] or "NVRTC gave no reason"))
        return None, reported
    try:
        return read_cubin(binary), []
    except CubinError as error:
        return None, [CompilerDiagnostic("", 0, 0, "error", f"NVRTC gave a cubin that cannot be read: {error}")]


def _note_own_errors(edit: EditedFile, errors: list[CompilerDiagnostic], read_only: dict[str, str]) -> None:
    """Record errors in the user's source; ptxas names no line, so the source is searched for what it names."""
    with_line = [diagnostic for diagnostic in errors if diagnostic.line]
    note_errors(edit, with_line, read_only, column_skips_indent=True)
    for diagnostic in errors if not with_line else ():
        location, message, hint = _explain_ptxas(edit, diagnostic.message)
        edit.diagnostics.add(location, message, hint)


def _explain_ptxas(edit: EditedFile, reason: str) -> tuple[Location | None, str, str]:
    """Return location, message and hint for an error of ptxas."""
    shared = re.search(r"uses too much shared data \((0x[0-9a-f]+) bytes, (0x[0-9a-f]+) max\)", reason)
    if shared is not None:
        needed, most = int(shared[1], 16), int(shared[2], 16)
        location = edit.source.find(r"\b__shared__\b[^;]*")
        message = f"a block needs {needed} bytes of shared memory, more than the {most} bytes it may have"
        return location, message, "make the arrays in shared memory smaller"
    unresolved = re.search(r"Unresolved extern function '([^']+)'", reason)
    if unresolved is not None:
        mangled = _MANGLED.match(unresolved[1])
        name = mangled[2][: int(mangled[1])] if mangled is not None else unresolved[1]
        return (
            edit.source.find_name(name),
            f"function `{name}` is declared, but not defined",
            "define it in this source",
        )
    lacking = re.search(r"'([^']+)'.*not supported on \.target '([^']+)'", reason) or re.search(
        r"'([^']+)'.*requires \.target (sm_\w+)", reason
    )
    assembly = edit.source.find(r"\basm\b")
    if lacking is not None:
        word = re.match(r"[\w.]*", lacking[1])
        location = _find_in_source(edit.source, word[0]) if word is not None and word[0] else None
        arch = dict(edit.capabilities.extra).get("arch", DEFAULT_ARCH)
        return location or assembly, f"{edit.device} ({arch}) lacks `{lacking[1]}`: {reason}", "avoid it"
    named = re.search(r"'\.?(\w+)", reason)
    return (_find_in_source(edit.source, named[1]) if named is not None else None) or assembly, f"error: {reason}", ""


def _find_in_source(source: ParsedSource, word: str) -> Location | None:
    """Return where a name is, in literals too: ptxas reports what `asm` contains."""
    start = source.text.find(word)
    return source.locate(start, start + len(word)) if start >= 0 else None


def _kernels_of(source: ParsedSource) -> dict[str, Location]:
    """Return the kernels that a source defines, with their locations."""
    code = _BOUNDS.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), source.code)
    return {match[1]: source.locate(*match.span(1)) for match in _KERNEL.finditer(code)}


def _head(edit: EditedFile, task: TaskSource) -> str:
    name = block_name(edit, task)
    bounds = f" __launch_bounds__({name})" if name else ""
    return f'extern "C" __global__ void{bounds} {task.entry}(const Args args)'


def _fits(entry: str) -> str:
    return f"shadesmith_same<decltype({entry}), void(Args)>::value"


def _check_marks(edit: EditedFile) -> None:
    """Record functions that are no longer kernels, in a source that the compiler refuses for that."""
    kernels = _kernels_of(edit.source)
    for old, _ in edit.tasks:
        location = _definition(edit, old.entry)
        if location is not None and old.entry not in kernels:
            edit.diagnostics.add(location, *_lost_mark(edit, old, "`__global__`"))


def _definition(edit: EditedFile, entry: str) -> Location | None:
    return edit.source.find(rf"(?<!\w)({re.escape(entry)})\s*\([^;{{}}]*\)\s*\{{")


def _lost_mark(edit: EditedFile, old: TaskSource, mark: str) -> tuple[str, str]:
    message = f"kernel `{old.entry}` lost its {mark}, so the launcher does not find it"
    return message, f"declare it as `{_head(edit, old)}`"


def _check_cubin(edit: EditedFile, cubin: Cubin, knows_blocks: bool) -> None:
    """Record kernels that the launcher will not find or cannot start. knows_blocks: the block sizes could be read."""
    interface = edit.generated.interface
    size = interface.args_size_bytes
    sizes_allowed = size, interface.without_divisors().args_size_bytes
    for old, new in edit.tasks:
        location = _definition(edit, old.entry)
        kernel = cubin.kernels.get(old.entry)
        if kernel is None and location is not None:
            mangled = any(f"{len(old.entry)}{old.entry}" in name for name in cubin.kernels)
            gone = '`extern "C"`' if mangled else "`__global__`"
            edit.diagnostics.add(location, *_lost_mark(edit, old, gone))
        elif kernel is not None:
            if knows_blocks:
                _check_threads(edit, kernel, new.block_dim, location)
            has_args = bool(interface.members)
            if has_args and (len(kernel.parameters) != 1 or kernel.parameters[0].size_bytes not in sizes_allowed):
                sizes = ", ".join(f"{parameter.size_bytes}" for parameter in kernel.parameters) or "none"
                message = f"`{old.entry}` has parameters of {sizes} bytes, but the launcher passes one of {size}"
                if not edit.diagnostics.entries:
                    edit.diagnostics.add(location, message, f"declare it as `{_head(edit, old)}`")


def _check_threads(edit: EditedFile, kernel: CubinKernel, block: int, location: Location | None) -> None:
    """Record block sizes that a kernel was not compiled for."""
    bounds = (
        edit.source.find(rf"\b(__launch_bounds__|__block_size__)\b[^;{{}}]*?\b{re.escape(kernel.name)}\b") or location
    )
    if kernel.required_threads is not None and kernel.required_threads != (block, 1, 1):
        shown = " x ".join(map(str, kernel.required_threads))
        edit.diagnostics.add(
            bounds,
            f"`{kernel.name}` is compiled for blocks of {shown} threads, but the launcher starts {block} x 1 x 1",
            f"leave out `__block_size__`, or write `#define BLOCK {kernel.required_threads[0]}` and `((BLOCK, 1, 1))`",
        )
    elif kernel.max_threads is not None and prod(kernel.max_threads) < block:
        edit.diagnostics.add(
            bounds,
            f"`{kernel.name}` is compiled for blocks of up to {prod(kernel.max_threads)} threads, but `BLOCK` is "
            f"{block}",
            "write `__launch_bounds__(BLOCK)`, which is right for every `BLOCK`",
        )
    registers = -(-kernel.registers // REGISTER_UNIT) * REGISTER_UNIT * -(-block // WARP) * WARP
    if registers > REGISTERS_OF_BLOCK:
        edit.diagnostics.add(
            bounds,
            f"`{kernel.name}` needs {kernel.registers} registers a thread, {registers} for a block of {block}: more "
            f"than the {REGISTERS_OF_BLOCK} of a multiprocessor",
            "write `__launch_bounds__(BLOCK)`, so that the compiler uses fewer, or make `BLOCK` smaller",
        )


def _check_dynamic_shared(edit: EditedFile) -> None:
    location = edit.source.find(r"\bextern\s+(?:__align__\s*\([^)]*\)\s*)?__shared__[^;]*")
    if location is not None:
        edit.diagnostics.add(
            location,
            "the launcher allocates no dynamic shared memory: only arrays that are declared with a size",
            "write the size: `__shared__ float tile[BLOCK];`",
        )


def _check_casts(edit: EditedFile, generated: ParsedSource, read_only: dict[str, str]) -> None:
    """Record casts that remove the const of an array that is only read, which C++ allows without a warning."""
    known = {name for name, _ in casts_away(generated, read_only)}
    for name, location in casts_away(edit.source, read_only):
        if name not in known:
            edit.diagnostics.add(location, *store_to_read_only(read_only[name], "loses its `const`"))
