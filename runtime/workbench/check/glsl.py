"""Check edited GLSL sources: each is compiled, and its SPIR-V is compared with that of the generated source."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ....transpiler.backend.module.interface import Interface, TaskSource
from ....transpiler.backend.module.one_file import is_one_file, task_sources, text_of
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...devices.vulkan.glslang import INSTALL_HINT, TIME_LIMIT_SECONDS, find_tool, is_whole, run_tool, without_warnings
from ...devices.vulkan.spirv import Reflection, SpirvError, Struct, arguments_of, reflect
from .check_input import EditedFile, check_blocks, note_errors, unclosed_brace
from .compare_declarations import Declarations
from .compiler_diagnostics import CompilerDiagnostic, of_glslang
from .constants import constant
from .device_needs import TOKENS_OF_NEEDS, lacks_capability, lacks_extension
from .diagnostics import DiagnosticList, missing_entry, store_to_read_only
from .glsl_layout import CAST, Comparison
from .parsed_source import Location, ParsedSource
from .spirv_stores import THROUGH, Store, stores


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The result of glslangValidator: a module, or its log."""

    module: bytes
    log: str


def check_glsl(edits: Sequence[EditedFile]) -> None:
    """Record all mistakes of edited GLSL sources. Raises: TaichiRuntimeError if glslangValidator is not installed."""
    edits = [one for edit in edits for one in _by_task(edit)]
    sources = [edit.compiled_source for edit in edits] + [edit.generated_source for edit in edits]
    with ThreadPoolExecutor(min(len(sources), os.cpu_count() or 1)) as pool:
        compiled = list(pool.map(_compile, sources))
    for edit, own, base in zip(edits, compiled, compiled[len(edits) :]):
        check_blocks(edit)
        if own.module:
            _check_module(edit, own.module, base.module)
        else:
            _note_errors(edit, of_glslang(own.log), own.log)


def _by_task(edit: EditedFile) -> list[EditedFile]:
    """Return the edit of a file, or that of each task of which the file has a section."""
    if not is_one_file(edit.generated):
        return [edit]
    generated, edited = task_sources(edit.generated), task_sources(edit.edited)
    found = []
    for number in range(len(generated.files)):
        source = ParsedSource(text_of(edit.source.text, number))
        diagnostics = DiagnosticList(edit.diagnostics.path, source, edit.diagnostics.entries)
        found.append(EditedFile(generated, edited, number, edit.capabilities, diagnostics))
    return found


@lru_cache(maxsize=64)
def _compile(source: str) -> _Compiled:
    """Compile a source with debug information, so that each instruction has its line."""
    tool = find_tool()
    if tool is None:
        raise TaichiRuntimeError("`glslangValidator` was not found; edited sources are checked by it", INSTALL_HINT)
    command = [tool, "--stdin", "-S", "comp", "--target-env", "vulkan1.2", "--quiet", "-g", "-o", "/dev/stdout"]
    try:
        code, output, errors = run_tool(command, source.encode(), TIME_LIMIT_SECONDS)
    except (TimeoutError, OverflowError):
        raise TaichiCompilationError("glslangValidator did not finish compiling an edited source") from None
    except OSError as error:
        raise TaichiRuntimeError(f"glslangValidator could not be started: {error}") from error
    if code == 0 and is_whole(module := without_warnings(output)):
        return _Compiled(module, "")
    log = (output + errors).decode(errors="replace")
    return _Compiled(b"", log if code >= 0 else f"{log}\nglslangValidator crashed ({signal.Signals(-code).name})")


def _note_errors(edit: EditedFile, reported: list[CompilerDiagnostic], log: str) -> None:
    """Record what the compiler reports, in terms of the interface if the errors are about that."""
    errors = [diagnostic for diagnostic in reported if diagnostic.level == "error"]
    located = [diagnostic for diagnostic in errors if diagnostic.line]
    for diagnostic in located:
        block = edit.source.find(r"\buniform\s+(Args|Push)\b")
        if (
            "require layout(binding" in diagnostic.message
            and block is not None
            and abs(block.line - diagnostic.line) <= 1
        ):
            edit.diagnostics.add(block, *_missing_push())
            return
    if located:
        brace = unclosed_brace(edit.source)
        if brace is not None and "end of file" in log:
            edit.diagnostics.add(brace, "error: the source ends before all brackets are closed", "close it with `}`")
            return
        Declarations(ParsedSource(edit.generated_source), edit.source, edit.diagnostics, CAST).compare()
        if not edit.diagnostics.entries:
            note_errors(edit, located, {})
    elif "Missing entry point" in log:
        found = edit.source.find(r"^\s*void\s+(\w+)\s*\(\s*\)")
        name = re.findall(r"\w+", edit.source.line(found.line))[1] if found is not None else None
        edit.diagnostics.add(found, *missing_entry("main", name, "the function", "void main()"))
    else:
        reason = errors[0].message if errors else log.strip()[:1000]
        named = re.search(r"No function definition \(body\) found:\s*([A-Za-z_]\w*)\(", log)
        if named is not None:
            message = f"function `{named[1]}` is declared, but not defined"
            edit.diagnostics.add(edit.source.find_name(named[1]), message, "define it in this source")
        else:
            edit.diagnostics.add(None, f"error: {reason}")


def _missing_push() -> tuple[str, str]:
    return (
        "`Args` is no longer a block of push constants, in which the launcher passes the arguments",
        "declare it as `layout(push_constant, scalar) uniform Args`",
    )


def _check_module(edit: EditedFile, own: bytes, base: bytes) -> None:
    try:
        found, expected = reflect(own), reflect(base)
        written = stores(own)
    except SpirvError as error:
        edit.diagnostics.add(None, f"the SPIR-V of this source cannot be read: {error}")
        return
    comparison = Comparison(expected, found, edit.source, edit.diagnostics)
    if expected.push_constants is not None and found.push_constants is None:
        location = edit.source.find(r"\b(?:uniform|buffer)\s+(Args|Push)\b") or edit.source.find_name("Args")
        edit.diagnostics.add(location, *_missing_push())
    else:
        comparison.of_push_constants()
    comparison.of_resources()
    for old, new in edit.tasks:
        _check_local_size(edit, old, new, found)
    _check_shared(edit, found)
    _check_needs(edit, expected, found)
    _check_stores(edit, expected, base, written, found)


def _check_local_size(edit: EditedFile, old: TaskSource, new: TaskSource, found: Reflection) -> None:
    """Record a local size that is not the number of threads by which the launcher counts blocks."""
    entry = next((entry for entry in found.entries if entry.name == old.entry), None)
    location = edit.source.find(r"\b(local_size_\w+)\b") or edit.source.find(r"\blayout\b[^;]*\bin\s*;")
    if entry is None or entry.local_size is None:
        message = f"the shader has no entry point `{old.entry}` with a local size"
        edit.diagnostics.add(location, message, "write `layout(local_size_x = BLOCK) in;` and `void main()`")
        return
    threads, shown = prod(entry.local_size), " x ".join(map(str, entry.local_size))
    block = constant(edit.source.text, "BLOCK")
    if block is not None and block != threads:
        edit.diagnostics.add(
            location,
            f"the local size is {shown}, {threads} threads, but the source computes its iterations with `BLOCK` = "
            f"{block}",
            "write `layout(local_size_x = BLOCK) in;`, or define `BLOCK` as the product of the local sizes",
        )
    elif threads != new.block_dim:
        edit.diagnostics.add(
            location,
            f"the local size is {shown}, {threads} threads, but the launcher expects {new.block_dim}",
            f"write `#define BLOCK {threads}` and `layout(local_size_x = BLOCK) in;`" if old.kind != "serial"
            else "this task runs once: its local size is 1",
        )  # fmt: skip
    if threads > edit.capabilities.max_block_dim >= new.block_dim:
        most = edit.capabilities.max_block_dim
        edit.diagnostics.add(location, f"a block of {threads} threads is more than {edit.device} supports: {most}")


def _check_shared(edit: EditedFile, found: Reflection) -> None:
    """Record shared arrays that need more memory than the device has."""
    total, most = sum(size for _, size in found.shared), edit.capabilities.max_shared_bytes
    if total <= most or total <= sum(size for _, size in reflect(_compile(edit.generated_source).module).shared):
        return
    largest = max(found.shared, key=lambda item: item[1])[0]
    location = edit.source.find(rf"\bshared\b[^;]*?\b({re.escape(largest)})\b") or edit.source.find(r"\bshared\b[^;]*")
    message = f"a block needs {total} bytes of shared memory, more than the {most} bytes that {edit.device} has"
    edit.diagnostics.add(location, message, "make the shared arrays smaller")


def _check_needs(edit: EditedFile, expected: Reflection, found: Reflection) -> None:
    """Record capabilities that the device is not opened with, unless the generated source needs them too."""
    count = len(edit.diagnostics.entries)
    for capability in found.capabilities:
        if capability not in expected.capabilities and lacks_capability(capability, edit.capabilities):
            message = f"the source needs `{capability}`, which {edit.device} lacks or shadesmith does not enable"
            location = _location_of_need(edit, capability)
            edit.diagnostics.add(location, message, "avoid it; `python -m shadesmith diagnose` shows what is available")
    for extension in found.extensions if len(edit.diagnostics.entries) == count else ():
        if extension not in expected.extensions and lacks_extension(extension):
            message = f"the source needs `{extension}`, which shadesmith does not enable"
            edit.diagnostics.add(_location_of_need(edit, extension), message, "avoid it")


def _location_of_need(edit: EditedFile, need: str) -> Location | None:
    """Return what may need a capability: a type, or an extension that the generated source lacks."""
    pattern = re.compile(r"^[ \t]*#[ \t]*extension[ \t]+(\w+)", re.MULTILINE)
    known = set(pattern.findall(edit.generated_source))
    added = [match for match in pattern.finditer(edit.source.code) if match[1] not in known]
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|\d+", need)} - {"ext", "khr", "spv", "shader", "gl"}
    added.sort(key=lambda match: -len(words.intersection(re.findall(r"[a-z]+|\d+", match[1].lower()))))
    for token in TOKENS_OF_NEEDS.get(need, ()):
        location = edit.source.find(token)
        if location is not None:
            return location
    return edit.source.locate(*added[0].span(1)) if added else None


def _check_stores(
    edit: EditedFile, expected: Reflection, base: bytes, written: Sequence[Store], found: Reflection
) -> None:
    """Record writes to arrays that the kernel in Python only reads."""
    members = read_only_members(edit.generated.interface)
    wrong = [(store, name) for store in written if (name := _member_written(found, store)) in members]
    if not wrong:
        return
    allowed = {_member_written(expected, store) for store in stores(base)}
    others = (file.text for number, file in enumerate(edit.generated.files) if number != edit.number)
    for module in (_compile(source).module for source in others):
        allowed |= {_member_written(reflect(module), store) for store in stores(module)}
    names: dict[str, list[str]] = {}
    for macro, member in edit.source.accessors().items():
        names.setdefault(member, []).append(macro)
    for store, name in wrong:
        if name not in allowed:
            words = [*names.get(name, ()), name]
            found_words = [edit.source.find_name(word, store.line) for word in words] if store.line else []
            location = next((location for location in found_words if location is not None), None)
            if location is None and store.line:
                line = edit.source.line(store.line)
                location = Location(store.line, len(line) - len(line.lstrip()) + 1, max(1, len(line.strip())))
            how = "is changed by an atomic operation" if store.is_atomic else "is stored to"
            edit.diagnostics.add(location, *store_to_read_only(members[name], how))


def _member_written(found: Reflection, store: Store) -> str:
    """Return the member of `Args` to whose memory a store writes, "" for other memory."""
    struct, root = args_of(found)
    start = len(root)
    if struct is None or store.path[:start] != root or store.path[start + 1 : start + 2] != (THROUGH,):
        return ""
    number = store.path[start]
    return struct.members[number].name if 0 <= number < len(struct.members) else ""


def args_of(found: Reflection) -> tuple[Struct | None, tuple[int, ...]]:
    """Return the arguments, and the path to them: many arguments are passed by a pointer."""
    struct = arguments_of(found)
    is_indirect = found.push_constants is not None and struct is not found.push_constants.type
    return struct, (0, THROUGH) if is_indirect and struct is not None else ()


def read_only_members(interface: Interface) -> dict[str, str]:
    """Return the members of `Args` that point to arrays that are only read, with the names of these arrays."""
    found = {}
    for member in interface.members:
        if member.source[0] not in ("pointer", "gradient"):
            continue
        slot = member.source[1]
        there = [
            array
            for number, array in enumerate(interface.arrays)
            if number == slot or (array.place is not None and array.place.slot == slot)
        ]
        if there and not any(array.written for array in there):
            found[member.name] = there[0].name
    return found
