"""Check an edited C source: it is compiled once with assertions appended, and its object file is inspected."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable

from ....transpiler.backend.module.interface import TaskSource
from ...devices.cuda.cubin import CubinError, global_functions, undefined_names
from ...devices.host.compiler import find_compiler, lacks_openmp
from .c_layout import Assertion, Assertions, C, failures
from .check_input import EditedFile, casts_away, is_about_const, named_in, note_errors, unclosed_brace
from .compare_declarations import Declarations
from .compiler_diagnostics import CompilerDiagnostic, location_of, of_gcc
from .diagnostics import missing_entry, store_to_read_only
from .parsed_source import Block, Location, ParsedSource

TAIL = "shadesmith-interface"
"""The file name that `#line` gives to the lines after the edited source."""

_FUNCTION = re.compile(r"^(?:[A-Za-z_][\w \t*]*?[ \t*])([A-Za-z_]\w*)[ \t]*\(([^;{}]*)\)\s*\{", re.MULTILINE)
_ENDS_EARLY = re.compile(r"at end of input|expected (?:a )?[\"']\}")
_LOST_CONST = ("-Wdiscarded-qualifiers", "-Wcast-qual", "-Wincompatible-pointer-types-discards-qualifiers")
_UNDECLARED = "-Wimplicit-function-declaration"


def check_c(edit: EditedFile) -> None:
    """Record all mistakes of an edited C source."""
    generated = ParsedSource(edit.generated_source)
    assertions = Assertions(C, generated, edit.source)
    assertions.of_args(edit.generated)
    assert_entries(edit, assertions, functions_of(edit.source), "the function", _head, _fits)
    lines = assertions.lines
    code, log = _compile(with_tail(edit.compiled_source, lines))
    reported = of_gcc(log)
    errors = [c for c in reported if c.level == "error" and c.file != TAIL]
    read_only = read_only_names(generated.blocks.get("Args"), generated, edit.source)
    if errors:
        Declarations(generated, edit.source, edit.diagnostics, C.cast).compare()
        if not edit.diagnostics.entries:
            note_errors(edit, errors, read_only)
        return
    note_failures(edit, lines, [c for c in reported if c.level == "error"])
    warnings = [c for c in reported if c.level == "warning" and c.file != TAIL]
    _note_warnings(edit, warnings, read_only, {read_only[name] for name, _ in casts_away(generated, read_only)})
    if code is not None:
        _check_object(edit, code)
    elif not edit.diagnostics.entries:
        edit.diagnostics.add(None, f"the compiler refused the source: {log.strip()[:1000]}")


def _compile(source: str) -> tuple[bytes | None, str]:
    compiler = find_compiler()
    code, log = compiler.examine(source, openmp=True)
    if code is None and lacks_openmp(log):
        code, log = compiler.examine(source, openmp=False)
    return code, log


def with_tail(source: str, lines: list[Assertion]) -> str:
    """Return a source with lines appended; the compiler counts them from 1, in a file of their own."""
    tail = "\n".join(line.code for line in lines)
    return f'{source}\n#line 1 "{TAIL}"\n{tail}\n'


def note_failures(edit: EditedFile, lines: list[Assertion], reported: list[CompilerDiagnostic]) -> None:
    """Record the mistakes that failed assertions stand for."""
    numbers = {diagnostic.line - 1 for diagnostic in reported if diagnostic.file == TAIL}
    failed = {number for number in numbers if number < len(lines) and lines[number].failure is not None}
    strays = [c for c in reported if c.file == TAIL and c.line - 1 not in failed]
    brace = unclosed_brace(edit.source)
    if any(_ENDS_EARLY.search(diagnostic.message) for diagnostic in reported) or (strays and brace is not None):
        edit.diagnostics.add(brace, "error: the source ends before all brackets are closed", "close it with `}`")
        return
    for line in failures(lines, failed, edit.source.blocks):
        assert line.failure is not None
        edit.diagnostics.add(line.location, *line.failure)
    if strays and not failed:
        last = Location(max(1, len(edit.source.text.rstrip().split("\n"))), 1)
        edit.diagnostics.add(
            last, f"error: {strays[0].message}", "the source ends in the middle of a declaration or statement"
        )


def read_only_names(args: Block | None, *sources: ParsedSource) -> dict[str, str]:
    """Return the names by which sources access arrays that are only read: members of `Args` and macros on them."""
    members = {m.name for m in args.members or () if m.stars and m.is_const} if args is not None else set()
    names = {member: member.removesuffix("_data") for member in members}
    for source in sources:
        names |= {macro: macro.removesuffix("_") for macro, member in source.accessors().items() if member in members}
    return names


def functions_of(source: ParsedSource, without: str = r"\bstatic\b") -> dict[str, Location]:
    """Return the functions that a source defines, with locations, except those whose head matches `without`."""
    found: dict[str, Location] = {}
    for match in _FUNCTION.finditer(source.code):
        if not re.search(without, match[0]):
            found.setdefault(match[1], source.locate(*match.span(1)))
    return found


def assert_entries(
    edit: EditedFile,
    assertions: Assertions,
    defined: dict[str, Location],
    what: str,
    head_of: Callable[[TaskSource], str],
    fits: Callable[[str], str],
) -> None:
    """Assert that each function that the launcher starts is there, with the parameters that it passes.

    defined: functions that the source defines. what: their kind. fits: returns the condition that the type is right.
    """
    check = assertions.language.check
    entries = {old.entry for old, _ in edit.tasks}
    instead = [name for name in defined if name not in entries]
    missing = [old.entry for old, _ in edit.tasks if old.entry not in defined]
    for old, _ in edit.tasks:
        renamed = instead[0] if len(missing) == len(instead) == 1 and missing[0] == old.entry else None
        head = head_of(old)
        others = [location for name, location in defined.items() if name in entries]
        location = (
            defined[renamed] if renamed is not None else edit.source.find_name(old.entry) or next(iter(others), None)
        )
        message = missing_entry(old.entry, renamed, what, head)
        assertions.lines.append(
            Assertion(check(f"sizeof(&{old.entry}) > 0"), location, message, (), old.entry, "entry")
        )
        needs = (*assertions.args, len(assertions.lines) - 1)
        wrong = (
            f"`{old.entry}` has other parameters or another result than the launcher expects",
            f"declare it as `{head}`; add new arguments as parameters of the kernel in Python",
        )
        assertions.lines.append(Assertion(check(fits(old.entry)), location, wrong, needs, old.entry, "parameters"))


def _head(task: TaskSource) -> str:
    return f"void {task.entry}(const struct Args *arguments)"


def _fits(entry: str) -> str:
    return " || ".join(f"__builtin_types_compatible_p(__typeof__({entry}), {type})" for type in ENTRY_TYPES)


ENTRY_TYPES = ("void(const struct Args *)", "void(struct Args *)")


def _note_warnings(
    edit: EditedFile, warnings: list[CompilerDiagnostic], read_only: dict[str, str], cast: set[str]
) -> None:
    """Record what a C compiler accepts, but what cannot be right. cast: arrays that the generated source casts too."""
    for diagnostic in warnings:
        location = location_of(diagnostic, edit.source)
        if location is None:
            continue
        if diagnostic.flag in _LOST_CONST and is_about_const(diagnostic.message):
            name = named_in(edit.source, location, read_only)
            if name is not None and not (name in cast and diagnostic.flag == "-Wcast-qual"):
                edit.diagnostics.add(location, *store_to_read_only(name, "loses its `const`"))
        elif diagnostic.flag == _UNDECLARED:
            name = "".join(re.findall(r"'(\w+)'", diagnostic.message)[:1])
            edit.diagnostics.add(
                location, f"function `{name}` is not declared", "define it above, or include the header that has it"
            )


def _is_in_libraries(name: str) -> bool:
    """Return whether the process, or a library that kernels are linked with, defines a name."""
    for library in (None, "libm.so.6", "libgomp.so.1"):
        try:
            getattr(ctypes.CDLL(library), name)
        except (OSError, AttributeError):
            continue
        return True
    return False


def _check_object(edit: EditedFile, code: bytes) -> None:
    """Record entries that the object file does not export."""
    try:
        offered = global_functions(code)
        defined = functions_of(edit.source, "$^")  # includes `inline` ones, whose calls -O0 leaves in
        for name in sorted(undefined_names(code)):
            location = None if name in defined else edit.source.find_name(name)
            if location is not None and not _is_in_libraries(name):
                edit.diagnostics.add(location, f"`{name}` is declared, but not defined", "define it in this source")
    except CubinError:  # another format than ELF: the loader reports errors
        return
    for old, _ in edit.tasks:
        if old.entry not in offered:
            location = edit.source.find(rf"(?<!\w)({re.escape(old.entry)})\s*\([^;{{}}]*\)\s*\{{")
            edit.diagnostics.add(
                location,
                f"`{old.entry}` is not exported: it is `static`, `inline` or hidden",
                f"declare it as `void {old.entry}(const struct Args *arguments)`",
            )
