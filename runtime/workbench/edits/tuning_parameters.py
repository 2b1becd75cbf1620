"""Tuning parameters: names that a source defines, with the values that are worth a try.

    // @tune BLOCK = 64 | 128 | 256
    // @tune where BLOCK * ITEMS <= 1024
    #define BLOCK 128
    #define ITEMS 4  // @tune ITEMS = 1 | 2 | 4 | 8

In: an emitted or edited source, and the values of `ti.tune(block_dim=[...])` in Python. Out: its tuning parameters, the
combinations that the conditions allow, and the source with other values; no line moves.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

from ....transpiler.errors import TaichiCompilationError

DIRECTIVE = re.compile(r"//\s*@tune\b[ \t]*(?P<rest>.*)$")
DEFINITION = re.compile(
    r"^(?P<head>\s*#\s*define\s+(?P<name>[A-Za-z_]\w*))(?P<space>[ \t]+)(?P<value>[^\s/](?:[^/]|/(?![/*]))*?)"
    r"(?P<tail>\s*(?://.*|/\*.*)?)$"
)
ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)\s*=(?!=)\s*(?P<values>.*)")
BLOCK_NAME = re.compile(r"BLOCK(_\d+)?")
PYTHON_NAMES = {"block_dim": BLOCK_NAME}
"""Names in `ti.tune` for macros that have other names in a source."""

MARKER = "tuned: "
MAX_UNDECIDED = 10_000
"""Combinations that are searched for those without a decision."""
MAX_EXPRESSION = 200
"""Characters of a condition."""

Values = Mapping[str, str]
"""A value for each tuning parameter of one source."""


@dataclass(frozen=True, slots=True)
class TuningParameter:
    """One name to choose a value for. value: in the source; line: of the definition, from 1."""

    name: str
    values: tuple[str, ...]
    value: str
    line: int


class Undecided(ValueError):
    """A condition has no value: a division by zero, or a comparison of a number with a word."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a combination of values must fulfil. text: a Python expression over tuning parameters; line: from 1."""

    text: str
    line: int

    def allows(self, values: Values) -> bool:
        """Return whether the values fulfil it.

        Raises: ValueError if it is not a condition over these names; Undecided if it has no value for these values.
        """
        return bool(evaluate(self.text, values))


@dataclass(frozen=True, slots=True)
class TuningSpace:
    """The tuning parameters of one source, and the conditions on their values."""

    parameters: tuple[TuningParameter, ...] = ()
    conditions: tuple[Condition, ...] = ()

    @property
    def defined(self) -> dict[str, str]:
        """The values in the source."""
        return {parameter.name: parameter.value for parameter in self.parameters}

    @property
    def count(self) -> int:
        """How many combinations there are, whether allowed or not."""
        count = 1
        for parameter in self.parameters:
            count *= len(parameter.values)
        return count

    def allow(self, values: Values) -> bool:
        """Return whether the values are among those listed, and fulfil the conditions."""
        listed = all(values.get(one.name) in (*one.values, one.value) for one in self.parameters)
        try:
            return listed and all(condition.allows(values) for condition in self.conditions)
        except Undecided:
            return False

    def undecided(self) -> Iterator[tuple[dict[str, str], str]]:
        """Yield the combinations for which a condition has no value, each with the reason."""
        names = [parameter.name for parameter in self.parameters]
        for values in islice(product(*(parameter.values for parameter in self.parameters)), MAX_UNDECIDED):
            combination = dict(zip(names, values, strict=True))
            try:
                all(condition.allows(combination) for condition in self.conditions)
            except Undecided as error:
                yield combination, str(error)

    def combinations(self) -> Iterator[dict[str, str]]:
        """Yield the allowed combinations in the order of the source."""
        names = [parameter.name for parameter in self.parameters]
        for values in product(*(parameter.values for parameter in self.parameters)):
            combination = dict(zip(names, values, strict=True))
            if self.allow(combination):
                yield combination


def find_tuning_parameters(
    source: str, path: str, given: Mapping[str, Sequence[Any]] | None = None, where: str = ""
) -> TuningSpace:
    """Return the tuning parameters of a source.

    path: of the source, for errors. given, where: values and a condition from Python; the source's own go first.
    Raises: TaichiCompilationError at the line of a comment that cannot be understood.
    """
    lines = source.splitlines()
    definitions = _definitions(lines)
    parameters: dict[str, TuningParameter] = {}
    conditions = []
    for number, line in enumerate(lines, 1):
        match = DIRECTIVE.search(line)
        if match is None:
            continue
        rest = match["rest"].strip()
        if rest.startswith("where ") or rest == "where":
            conditions.append(Condition(rest[5:].strip(), number))
            continue
        name, values = _listed(rest, f"{path}:{number}", line)
        if name in parameters:
            raise _error(
                f"{path}:{number}", line, f"`{name}` is tuned twice: the other is in line {parameters[name].line}"
            )
        parameters[name] = _parameter(name, values, definitions, f"{path}:{number}", line)
    for parameter in _from_python(given or {}, definitions):
        parameters.setdefault(parameter.name, parameter)
    space = TuningSpace(tuple(parameters.values()), tuple(conditions))
    _check_conditions(space, path, lines)
    if where and parameters:
        space = TuningSpace(space.parameters, (*conditions, _condition_of_python(where, space)))
    return space


def apply(source: str, values: Values, note: str = "") -> str:
    """Return the source with other values in its definitions; a comment has the former value.

        #define BLOCK 128    ->    #define BLOCK 256  // tuned: 128 -> 256

    note: added to the comment. No line moves. Raises: KeyError for a name that the source does not define.
    """
    lines = source.splitlines(keepends=True)
    definitions = _definitions([line.rstrip("\r\n") for line in lines])
    for name, value in values.items():
        for number, found in definitions[name]:
            if found["value"] != value:
                end = lines[number - 1][len(lines[number - 1].rstrip("\r\n")) :]
                comment = f"// {MARKER}{found['value']} -> {value}{f', {note}' if note else ''}"
                tail = found["tail"].strip()
                rest = f"  {tail}" if tail else ""
                lines[number - 1] = f"{found['head']}{found['space']}{value}  {comment}{rest}{end}"
    return "".join(lines)


def without_values(source: str, names: Sequence[str]) -> str:
    """Return the source without the values of some names: the same for all settings of the tuning parameters."""
    lines = source.splitlines()
    for name, locations in _definitions(lines).items():
        for number, found in locations if name in names else ():
            lines[number - 1] = found["head"]
    return "\n".join(lines)


def _definitions(lines: Sequence[str]) -> dict[str, list[tuple[int, re.Match[str]]]]:
    """Return where each name is defined with a value."""
    found: dict[str, list[tuple[int, re.Match[str]]]] = {}
    for number, line in enumerate(lines, 1):
        match = DEFINITION.match(line)
        if match is not None:
            found.setdefault(match["name"], []).append((number, match))
    return found


def _listed(rest: str, location: str, line: str) -> tuple[str, tuple[str, ...]]:
    """Parse `NAME = a | b`."""
    match = ASSIGNMENT.fullmatch(rest)
    if match is None:
        raise _error(
            location, line, "expected `// @tune NAME = value | value` or `// @tune where condition`", rest or "nothing"
        )
    values = tuple(value.strip() for value in match["values"].split("|"))
    if not all(values):
        raise _error(location, line, f"a value of `{match['name']}` is missing: separate values by `|`")
    return match["name"], tuple(dict.fromkeys(values))


def _parameter(
    name: str, values: tuple[str, ...], definitions: Mapping[str, Any], location: str, line: str
) -> TuningParameter:
    locations = definitions.get(name, [])
    if not locations:
        raise _error(location, line, f"there is no `#define {name} ...` in this source to tune")
    if len(locations) > 1:
        numbers = ", ".join(str(number) for number, _ in locations)
        raise _error(location, line, f"`{name}` is defined more than once, in lines {numbers}")
    (number, found) = locations[0]
    return TuningParameter(name, values, found["value"], number)


def _from_python(given: Mapping[str, Sequence[Any]], definitions: Mapping[str, Any]) -> Iterator[TuningParameter]:
    """Yield the parameters of `ti.tune` that this source defines. The BLOCK of a serial task is 1, and stays so."""
    for python_name, values in given.items():
        pattern = PYTHON_NAMES.get(python_name, re.compile(re.escape(python_name)))
        for name, locations in definitions.items():
            if pattern.fullmatch(name) and len(locations) == 1:
                number, found = locations[0]
                if not (pattern is BLOCK_NAME and found["value"] == "1"):
                    yield TuningParameter(name, tuple(dict.fromkeys(map(str, values))), found["value"], number)


def _check_conditions(space: TuningSpace, path: str, lines: Sequence[str]) -> None:
    for condition in space.conditions:
        try:
            condition.allows(space.defined)
        except ValueError as error:
            raise _error(f"{path}:{condition.line}", lines[condition.line - 1], str(error)) from None


def _condition_of_python(where: str, space: TuningSpace) -> Condition:
    """Return the condition of `ti.tune(where=...)`, with the names of this source."""
    names = [parameter.name for parameter in space.parameters]
    text = where
    for python_name, pattern in PYTHON_NAMES.items():
        matches = [name for name in names if pattern.fullmatch(name)]
        if len(matches) == 1:
            text = re.sub(rf"\b{python_name}\b", matches[0], text)
    condition = Condition(text, 0)
    try:
        condition.allows(space.defined)
    except ValueError as error:
        raise TaichiCompilationError(f"ti.tune(where={where!r}): {error}") from None
    return condition


def _error(location: str, line: str, expected: str, found: str = "") -> TaichiCompilationError:
    message = f"{location}: {expected}" + (f", found `{found}`" if found else "")
    column = line.find("@tune")
    return TaichiCompilationError(f"{message}\n    {line}\n    {' ' * column}^^^^^")


# --- conditions

BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


def evaluate(text: str, values: Values) -> Any:
    """Return the value of an expression over tuning parameters.

    It may have numbers, names, arithmetic, comparisons, `and`, `or` and `not`; C's `&&`, `||` and `!` are understood
    too. Nothing else is, so that a source is read and never run.
    Raises: ValueError for anything else; Undecided if it has no value.
    """
    python = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or ")).strip()
    if not python or len(python) > MAX_EXPRESSION:
        raise ValueError("a condition is missing" if not python else "the condition is too long")
    try:
        tree = ast.parse(python, mode="eval").body
    except (SyntaxError, ValueError):
        raise ValueError(f"`{text}` is not a condition") from None
    try:
        return _value(tree, values)
    except (ZeroDivisionError, TypeError) as error:
        raise Undecided(f"`{text}` cannot be evaluated: {error}") from None


def _value(node: ast.expr, values: Values) -> Any:
    match node:
        case ast.Constant(int() | float() | bool() | str()):
            return node.value
        case ast.Name(name):
            if name not in values:
                raise ValueError(f"`{name}` is not a tuning parameter; there are {', '.join(values)}")
            return number_of(values[name])
        case ast.BinOp(left, op, right) if type(op) in BINARY:
            return BINARY[type(op)](_value(left, values), _value(right, values))
        case ast.Compare(left, ops, rights) if all(type(op) in BINARY for op in ops):
            operands = [_value(operand, values) for operand in (left, *rights)]
            pairs = zip(operands, ops, operands[1:], strict=False)
            return all(BINARY[type(op)](first, second) for first, op, second in pairs)
        case ast.BoolOp(ast.And(), parts):
            return all(_value(part, values) for part in parts)
        case ast.BoolOp(ast.Or(), parts):
            return any(_value(part, values) for part in parts)
        case ast.UnaryOp(ast.Not(), operand):
            return not _value(operand, values)
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, values)
    raise ValueError(f"`{ast.unparse(node)}` is not understood in a condition")


def number_of(text: str) -> Any:
    """Return a value as a number if it is one, else as a string."""
    stripped = text.strip("()").removesuffix("u").removesuffix("f")
    for kind in (lambda value: int(value, 0), float):
        try:
            return kind(stripped)
        except ValueError:
            continue
    return text
