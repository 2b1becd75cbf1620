"""The definition of a kernel or function: source, syntax tree, parameters, captured names.

Input: a Python function. Output: `KernelDefinition`, which reads the source on first use: decorating takes
microseconds.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from collections.abc import Callable, Sequence
from functools import cached_property
from types import CodeType
from typing import Any, cast

from ...errors import SourceLocation, SourceText, TaichiCompilationError, TaichiSyntaxError, new_location
from ...lang.annotations import template
from ...lang.packs import flattened_members
from ...lazy_dataclasses import dataclass
from ...nesting import deep_recursion
from .bindings import find_mutable
from .function_lines import parse_function, remember_notations
from .prompt_source import prompt_lines

NO_DEFAULT = inspect.Parameter.empty
"""Represents a missing default or annotation."""

ASYNC_HINT = "write a plain `def`, and launch kernels one after the other from Python"

PARSED = "_shadesmith_parsed"
"""Attribute of a Python function that caches its parsed source for the lifetime of the function."""

DEFINED = "_shadesmith_definition"
"""Attribute that caches the definition of a function that kernels inline or call."""

LAMBDA, LAMBDA_NAME = "<lambda>", "lambda_"
"""What Python calls a lambda, and what we do."""

DERIVATIVE_NAMES = {"": "", "reverse": "_grad", "forward": "_dual", "forward_over_reverse": "_grad_dual"}
"""What the name of a kernel's derivative has more than its own."""
DERIVATIVE_MEMBERS = {
    "": frozenset[str](),
    "reverse": frozenset({"grad"}),
    "forward": frozenset({"dual"}),
    "forward_over_reverse": frozenset({"grad", "dual"}),
}
"""The members of arrays that a derivative reaches."""


@dataclass(frozen=True, slots=True)
class ParameterDefinition:
    """One parameter.

    Attributes:
        name: of the parameter; "pack.member" for a member of a pack.
        annotation, default: `NO_DEFAULT` if there is none.
        kind: as in `inspect.Parameter`.
        path: of a member of a pack, the names that lead to it from the parameter.
    """

    name: str
    annotation: Any
    default: Any
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    path: tuple[str, ...] = ()


@dataclass(slots=True)
class ParsedFunction:
    """The source of a function and what is known from it alone.

    Attributes:
        source: its lines.
        tree: the syntax tree, with line numbers of the file.
        mutable: nodes that declare a variable which needs memory; the frontend may add nodes.
        unread_writes: writes to parameters that nothing reads, by parameter; computed when a function with such a
            write is first inlined.
    """

    source: SourceText
    tree: ast.FunctionDef
    mutable: set[ast.AST]
    unread_writes: dict[str, ast.stmt] | None = None


MAX_NAME = 1000
"""Characters of a name: archives have limits for all they hold."""


def is_qualified_name(name: str) -> bool:
    """Return whether a string is a `__qualname__` as Python gives it: `Body.weigh`, `make.<locals>.times`."""
    return all(part.isidentifier() or part in ("<locals>", "<lambda>") for part in name.split("."))


def is_in_class(function: Callable[..., Any]) -> bool:
    """Return whether a function was defined in a class."""
    names = function.__qualname__.split(".")
    return len(names) > 1 and names[-2] != "<locals>" and is_qualified_name(function.__qualname__)


class KernelDefinition:
    """A function and its properties; source and tree are read on first use.

    is_method: the first parameter is `self`.
    derivative: "reverse" for the kernel of the gradient, "forward" for that of the duals, "forward_over_reverse" for
        that of the duals of the gradient, "" for the function itself.
    passes: what `@ti.kernel(passes=...)` was given, checked.
    function_name: of the function, for errors.
    fast_math: the option of this kernel, None for that of the session.
    name, qualname: those of the function if they are identifiers, as those that Python gives are, else that in its
        source: a program may set any string, and names get into sources and paths.
    """

    def __init__(self, function: Callable[..., Any], is_method: bool = False, derivative: str = "") -> None:
        self.function = function
        self.is_method = is_method
        self.derivative = derivative
        self.fast_math: bool | None = None
        self.passes: tuple[Any, ...] = ()
        name = function.__name__ if function.__name__.isidentifier() else function.__code__.co_name
        name = LAMBDA_NAME if name == LAMBDA else name
        self.function_name: str = name[:MAX_NAME]
        self.name: str = self.function_name + DERIVATIVE_NAMES[derivative]
        is_path = is_qualified_name(function.__qualname__) and len(function.__qualname__) <= MAX_NAME
        qualname = function.__qualname__ if is_path else self.function_name
        self.qualname: str = qualname + DERIVATIVE_NAMES[derivative]

    @cached_property
    def parsed(self) -> ParsedFunction:
        """The function's source and tree. Raises: TaichiSyntaxError if there is no source, or it is no `def`."""
        cached = self.function.__dict__.get(PARSED)
        if cached is None:
            cached = parse(self.function)
            self.function.__dict__[PARSED] = cached
        return cast(ParsedFunction, cached)

    @property
    def tree(self) -> ast.FunctionDef:
        """The function's syntax tree."""
        return self.parsed.tree

    @property
    def source(self) -> SourceText:
        """The function's source."""
        return self.parsed.source

    def outer(self, name: str) -> Any:
        """Return the present value of `name` outside the function. Raises: KeyError, AttributeError if it has none."""
        captured = self.captured
        if name in captured:
            return captured[name]
        module = self.function.__globals__
        return module[name] if name in module else getattr(builtins, name)

    @property
    def captured(self) -> dict[str, Any]:
        """Names of enclosing functions that this one reads, with their present values."""
        cells = self.function.__closure__ or ()
        names = self.function.__code__.co_freevars
        return {name: cell.cell_contents for name, cell in zip(names, cells, strict=True) if _is_filled(cell)}

    @cached_property
    def annotations(self) -> dict[str, Any]:
        """Annotations as objects; strings (`from __future__ import annotations`) are evaluated in its module."""
        evaluated: dict[str, Any] = {}
        for name, value in self.function.__annotations__.items():
            evaluated[name] = self._evaluate(name, value) if isinstance(value, str) else value
        return evaluated

    def _evaluate(self, name: str, source: str) -> Any:
        try:
            value = eval(source, self.function.__globals__, self.captured)
            # Quoted in the source, and quoted once more by the future import.
            return eval(value, self.function.__globals__, self.captured) if isinstance(value, str) else value
        except Exception as error:
            raise self.parameter_location(name).error(
                TaichiSyntaxError,
                f"The annotation `{source}` of `{name}` cannot be evaluated: {type(error).__name__}: {error}",
                "define what the annotation names at module level, or leave out `from __future__ import annotations`",
            ) from None

    @cached_property
    def parameters(self) -> tuple[ParameterDefinition, ...]:
        """The parameters in order; `self` of a method counts as a `ti.template()` parameter."""
        signature = inspect.signature(self.function, follow_wrapped=False)
        listed = [
            ParameterDefinition(p.name, self.annotations.get(p.name, NO_DEFAULT), p.default, p.kind)
            for p in signature.parameters.values()
        ]
        if self.is_method and listed:
            listed[0] = ParameterDefinition(listed[0].name, template(), NO_DEFAULT)
        return tuple(listed)

    @cached_property
    def flat_parameters(self) -> tuple[ParameterDefinition, ...]:
        """The parameters that a launch passes: each pack is replaced by its members."""
        return tuple(
            ParameterDefinition(".".join((p.name, *path)), annotation, p.default, p.kind, path) if path else p
            for p in self.parameters
            for path, annotation in self._flattened_members(p)
        )

    def _flattened_members(self, parameter: ParameterDefinition) -> list[tuple[tuple[str, ...], Any]]:
        try:
            return list(flattened_members(parameter.annotation))
        except Exception as error:
            raise self.parameter_location(parameter.name).error(
                TaichiSyntaxError,
                f"The annotations of the members of `{parameter.name}` cannot be evaluated: "
                f"{type(error).__name__}: {error}",
                "define what they name at the level of the dataclass's module",
            ) from None

    @property
    def returns(self) -> Any:
        """The return annotation, None if there is none."""
        return self.annotations.get("return")

    def parameter_location(self, name: str) -> SourceLocation:
        """The location of the parameter `name` (or of its pack), or of the annotation of the result ("return")."""
        name = name.partition(".")[0]
        try:
            tree = self.tree
        except TaichiCompilationError:
            return self.location()
        arguments = tree.args
        nodes = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
        argument = next((node for node in nodes if node is not None and node.arg == name), None)
        return location_of(
            self.source, tree.returns if argument is None and name == "return" else argument or tree, self.function_name
        )

    def location(self) -> SourceLocation:
        """The location of the `def` (its name's line); without source: file and line only."""
        try:
            tree = self.tree
        except TaichiCompilationError:
            code = self.function.__code__
            return SourceLocation(
                SourceText(code.co_filename, code.co_firstlineno, ()),
                code.co_firstlineno,
                1,
                code.co_firstlineno,
                1,
                self.name,
            )
        column = tree.col_offset + 1
        return SourceLocation(
            self.source, tree.lineno, column, tree.lineno, column + 4 + len(tree.name), self.function_name
        )


def location_of(
    source: SourceText, node: Any, function: str, call_site: SourceLocation | None = None
) -> SourceLocation:
    """Return the location of a node of the syntax tree in its file."""
    line, end_line = node.lineno, node.end_lineno or node.lineno
    if end_line == line and source.is_ascii:  # most are
        last = (node.end_col_offset or node.col_offset) + 1
        return new_location((source, line, node.col_offset + 1, line, last, function, call_site, False))
    text = source.line(line)
    column = column_of(text, node.col_offset)
    end_text = text if end_line == line else source.line(end_line)
    end_column = column_of(end_text, node.end_col_offset or node.col_offset)
    return SourceLocation(source, line, column, end_line, end_column, function, call_site)


def define(function: Callable[..., Any], is_method: bool = False, derivative: str = "") -> KernelDefinition:
    """Return the definition of `function`, or of a derivative of it, without reading its source."""
    return KernelDefinition(inspect.unwrap(function), is_method, derivative)


def definition_of(function: Callable[..., Any], is_method: bool = False) -> KernelDefinition:
    """Return the definition of a function that kernels inline or call, which is cached with it."""
    definition = function.__dict__.get(DEFINED)
    if definition is None:
        definition = function.__dict__[DEFINED] = define(function, is_method)
    return cast(KernelDefinition, definition)


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:  # the enclosing function has not assigned the name yet
        return False
    return True


def parse(function: Callable[..., Any]) -> ParsedFunction:
    """Find and parse the source of `function`.

    Raises: TaichiSyntaxError if there is no source, or it has no `def` of that name at that line.
    """
    code = function.__code__
    nowhere = SourceLocation(
        SourceText(code.co_filename, code.co_firstlineno, ()), code.co_firstlineno, 1, 1, 1, code.co_name
    )
    lines = _file_lines(code, function.__globals__)
    if code.co_name == LAMBDA:
        return _parsed_lambda(function, lines, nowhere)
    return _parsed(function, lines[code.co_firstlineno - 1 :], code.co_firstlineno, nowhere)


def parsed_from(function: Callable[..., Any], lines: Sequence[str], first_line: int) -> ParsedFunction:
    """Parse other source for a function, as it would be after an edit of its file. lines: without their ends.

    Raises: as `parse`.
    """
    nowhere = SourceLocation(SourceText(function.__code__.co_filename, first_line, ()), first_line, 1, 1, 1, "")
    return _parsed(function, [f"{line}\n" for line in lines], first_line, nowhere)


def _parsed(
    function: Callable[..., Any], source_lines: list[str], first_line: int, nowhere: SourceLocation
) -> ParsedFunction:
    """Parse the lines of a file from the first line of a function on."""
    code = function.__code__
    with deep_recursion():
        tree = parse_function(source_lines, first_line) if source_lines else None
    if tree is None or not isinstance(tree[0], (ast.FunctionDef, ast.AsyncFunctionDef)) or tree[0].name != code.co_name:
        raise nowhere.error(
            TaichiSyntaxError,
            f"The source of `{code.co_name}` is not available in {code.co_filename}, line {first_line}",
            "define it in a file or a notebook cell, or register the source with `linecache.cache`",
        )
    definition, count = tree
    source = SourceText(code.co_filename, first_line, tuple(line.rstrip("\r\n") for line in source_lines[:count]))
    _check_kind(definition, location_of(source, definition, code.co_name))
    remember_notations(definition, source.lines, first_line)
    if any("__" in line for line in source.lines):
        _mangle(definition, function.__qualname__)
    return ParsedFunction(source, cast(ast.FunctionDef, definition), find_mutable(cast(ast.FunctionDef, definition)))


def _parsed_lambda(function: Callable[..., Any], lines: list[str], nowhere: SourceLocation) -> ParsedFunction:
    """Return a lambda as a function that returns its expression; it is identified on its line by its code."""
    code = function.__code__
    try:
        tree = ast.parse("".join(lines))
    except SyntaxError:
        tree = ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno and _is_code_of(node, code):
            shown = lines[node.lineno - 1 : node.end_lineno]
            source = SourceText(code.co_filename, node.lineno, tuple(line.rstrip("\r\n") for line in shown))
            made = cast(ast.FunctionDef, ast.parse(f"def {LAMBDA_NAME}(): pass").body[0])
            made.args, made.body = node.args, [ast.copy_location(ast.Return(node.body), node.body)]
            ast.copy_location(made, node)
            remember_notations(made, source.lines, node.lineno)
            return ParsedFunction(source, made, find_mutable(made))
    message = f"The source of a `lambda` is not available in {code.co_filename}, line {code.co_firstlineno}"
    raise nowhere.error(TaichiSyntaxError, message, "write a `def` below `@ti.func`")


def _is_code_of(node: ast.Lambda, code: CodeType) -> bool:
    """Return whether an expression is compiled to this code; variables of enclosing functions are global here."""
    compiled = compile(ast.Expression(node), code.co_filename, "eval").co_consts[0]
    names = {*compiled.co_names, *compiled.co_varnames}
    of_code = {*code.co_names, *code.co_varnames, *code.co_freevars}
    return compiled.co_consts == code.co_consts and names == of_code and _places(compiled) == _places(code)


def _places(code: CodeType) -> Any:
    """Return the columns of a code's instructions where Python has them (3.11 and later)."""
    positions = getattr(code, "co_positions", None)
    return None if positions is None else {place[2:] for place in positions() if place[2] is not None}


def _file_lines(code: CodeType, module_globals: dict[str, Any]) -> list[str]:
    """Return the lines of a file, a notebook cell or a source registered with `linecache`."""
    file = code.co_filename
    if file.startswith("<") and file.endswith(">"):
        # Not through the module's loader: under `exec` it would return the source of the module that calls `exec`.
        lines = linecache.getlines(file) or prompt_lines(code)
        by_code = getattr(linecache, "_getlines_from_code", None)  # how the prompt of Python 3.14 stores sources
        return lines or (by_code(code) if by_code is not None else [])
    linecache.checkcache(file)
    return linecache.getlines(file, module_globals)


def _mangle(definition: ast.stmt, path: str) -> None:
    """Rename private members as Python does in classes: `self.__n` is `self._Owner__n` outside."""
    owner = path.split(".")[-2:][0].lstrip("_")
    if "." not in path or owner == "<locals>" or not owner:
        return
    for node in ast.walk(definition):
        if isinstance(node, ast.Attribute) and node.attr.startswith("__") and not node.attr.endswith("__"):
            node.attr = f"_{owner}{node.attr}"


def _check_kind(definition: ast.stmt, location: SourceLocation) -> None:
    if isinstance(definition, ast.AsyncFunctionDef):
        name = definition.name
        waits = next((node for node in ast.walk(definition) if isinstance(node, ast.Await)), None)
        if waits is not None:
            where = location_of(location.source, waits, name)
            raise where.error(TaichiSyntaxError, f"`{name}` runs on the device and cannot wait", ASYNC_HINT)
        raise location.error(TaichiSyntaxError, f"`{name}` is `async`, but device code cannot wait", ASYNC_HINT)


def column_of(line: str, offset_bytes: int) -> int:
    """Return the column [characters, from 1] of a UTF-8 offset as `ast` gives it."""
    if line.isascii():
        return offset_bytes + 1
    return len(line.encode()[:offset_bytes].decode(errors="replace")) + 1
