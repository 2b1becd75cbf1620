"""Knobs: names that a text defines, with the values that are worth a try.

    // @tune BLOCK = 64 | 128 | 256
    // @tune where BLOCK * ITEMS <= 1024
    #define BLOCK 128
    #define ITEMS 4  // @tune ITEMS = 1 | 2 | 4 | 8

In: an emitted or edited text, and what `ti.tune(block_dim=[...])` says in Python. Out: its knobs, the combinations that
the conditions allow, and the text with other values, line by line as it was.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
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
"""Words of `ti.tune` for what texts define by names of their own."""

MARKER = "tuned: "
MAX_EXPRESSION = 200
"""Characters of a condition."""

Values = Mapping[str, str]
"""A value for each knob of one text."""


@dataclass(frozen=True, slots=True)
class TuningParameter:
    """One name to choose a value for. value: as the text has it; line: of the definition, from 1."""

    name: str
    values: tuple[str, ...]
    value: str
    line: int


@dataclass(frozen=True, slots=True)
class Condition:
    """What a combination of values must fulfil. text: in Python's words, over names of knobs; line: from 1."""

    text: str
    line: int

    def allows(self, values: Values) -> bool:
        """Tell whether the values fulfil it. Raises: ValueError for what is no condition over these names."""
        return bool(evaluate(self.text, values))


@dataclass(frozen=True, slots=True)
class TuningSpace:
    """What one text offers to tune."""

    knobs: tuple[TuningParameter, ...] = ()
    conditions: tuple[Condition, ...] = ()

    @property
    def written(self) -> dict[str, str]:
        """The values as the text has them."""
        return {knob.name: knob.value for knob in self.knobs}

    @property
    def count(self) -> int:
        """How many combinations there are, whether allowed or not."""
        count = 1
        for knob in self.knobs:
            count *= len(knob.values)
        return count

    def allow(self, values: Values) -> bool:
        """Tell whether the values are among those listed, and fulfil the conditions."""
        listed = all(values.get(knob.name) in (*knob.values, knob.value) for knob in self.knobs)
        return listed and all(condition.allows(values) for condition in self.conditions)

    def combinations(self) -> Iterator[dict[str, str]]:
        """Yield the allowed combinations in the order of the text."""
        names = [knob.name for knob in self.knobs]
        for values in product(*(knob.values for knob in self.knobs)):
            found = dict(zip(names, values, strict=True))
            if self.allow(found):
                yield found


def find_tuning_parameters(text: str, path: str, given: Mapping[str, Sequence[Any]] | None = None, where: str = "") -> TuningSpace:
    """Return the knobs of a text.

    path: of the text, for errors. given, where: values and a condition from Python, which come after the text's own.
    Raises: TaichiCompilationError at the line of a comment that cannot be understood.
    """
    lines = text.splitlines()
    definitions = _definitions(lines)
    knobs: dict[str, TuningParameter] = {}
    conditions = []
    for number, line in enumerate(lines, 1):
        found = DIRECTIVE.search(line)
        if found is None:
            continue
        rest = found["rest"].strip()
        if rest.startswith("where ") or rest == "where":
            conditions.append(Condition(rest[5:].strip(), number))
            continue
        name, values = _listed(rest, f"{path}:{number}", line)
        if name in knobs:
            raise _mistake(
                f"{path}:{number}", line, f"`{name}` is tuned twice: the other is in line {knobs[name].line}"
            )
        knobs[name] = _knob(name, values, definitions, f"{path}:{number}", line)
    for knob in _from_python(given or {}, definitions):
        knobs.setdefault(knob.name, knob)
    found_knobs = TuningSpace(tuple(knobs.values()), tuple(conditions))
    _check_conditions(found_knobs, path, lines)
    if where and knobs:
        found_knobs = TuningSpace(found_knobs.knobs, (*conditions, _condition_of_python(where, found_knobs)))
    return found_knobs


def apply(text: str, values: Values, note: str = "") -> str:
    """Return the text with other values behind its definitions; a comment says what each was.

        #define BLOCK 128    ->    #define BLOCK 256  // tuned: 128 -> 256

    note: added to the comment. Lines stay where they are. Raises: KeyError for a name that the text does not define.
    """
    lines = text.splitlines(keepends=True)
    definitions = _definitions([line.rstrip("\r\n") for line in lines])
    for name, value in values.items():
        for number, found in definitions[name]:
            if found["value"] != value:
                end = lines[number - 1][len(lines[number - 1].rstrip("\r\n")) :]
                shown = f"// {MARKER}{found['value']} -> {value}{f', {note}' if note else ''}"
                tail = found["tail"].strip()
                kept = f"  {tail}" if tail else ""
                lines[number - 1] = f"{found['head']}{found['space']}{value}  {shown}{kept}{end}"
    return "".join(lines)


def without_values(text: str, names: Sequence[str]) -> str:
    """Return the text with the values of some names left out: equal for all settings of the knobs."""
    lines = text.splitlines()
    for name, places in _definitions(lines).items():
        for number, found in places if name in names else ():
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


def _listed(rest: str, place: str, line: str) -> tuple[str, tuple[str, ...]]:
    """Take `NAME = a | b` apart."""
    match = ASSIGNMENT.fullmatch(rest)
    if match is None:
        raise _mistake(
            place, line, "expected `// @tune NAME = value | value` or `// @tune where condition`", rest or "nothing"
        )
    values = tuple(value.strip() for value in match["values"].split("|"))
    if not all(values):
        raise _mistake(place, line, f"a value of `{match['name']}` is missing: values stand between `|`")
    return match["name"], tuple(dict.fromkeys(values))


def _knob(name: str, values: tuple[str, ...], definitions: Mapping[str, Any], place: str, line: str) -> TuningParameter:
    places = definitions.get(name, [])
    if not places:
        raise _mistake(place, line, f"there is no `#define {name} ...` in this text to tune")
    if len(places) > 1:
        numbers = ", ".join(str(number) for number, _ in places)
        raise _mistake(place, line, f"`{name}` is defined more than once, in lines {numbers}")
    (number, found) = places[0]
    return TuningParameter(name, values, found["value"], number)


def _from_python(given: Mapping[str, Sequence[Any]], definitions: Mapping[str, Any]) -> Iterator[TuningParameter]:
    """Yield the knobs that `ti.tune` names and this text has. A serial task's BLOCK is 1, and stays so."""
    for word, values in given.items():
        pattern = PYTHON_NAMES.get(word, re.compile(re.escape(word)))
        for name, places in definitions.items():
            if pattern.fullmatch(name) and len(places) == 1:
                number, found = places[0]
                if not (pattern is BLOCK_NAME and found["value"] == "1"):
                    yield TuningParameter(name, tuple(dict.fromkeys(map(str, values))), found["value"], number)


def _check_conditions(found: TuningSpace, path: str, lines: Sequence[str]) -> None:
    for condition in found.conditions:
        try:
            condition.allows(found.written)
        except ValueError as error:
            raise _mistake(f"{path}:{condition.line}", lines[condition.line - 1], str(error)) from None


def _condition_of_python(where: str, found: TuningSpace) -> Condition:
    """Return the condition of `ti.tune(where=...)`, with this text's names for its words."""
    names = [knob.name for knob in found.knobs]
    text = where
    for word, pattern in PYTHON_NAMES.items():
        meant = [name for name in names if pattern.fullmatch(name)]
        if len(meant) == 1:
            text = re.sub(rf"\b{word}\b", meant[0], text)
    condition = Condition(text, 0)
    try:
        condition.allows(found.written)
    except ValueError as error:
        raise TaichiCompilationError(f"ti.tune(where={where!r}): {error}") from None
    return condition


def _mistake(place: str, line: str, expected: str, found: str = "") -> TaichiCompilationError:
    text = f"{place}: {expected}" + (f", found `{found}`" if found else "")
    column = line.find("@tune")
    return TaichiCompilationError(f"{text}\n    {line}\n    {' ' * column}^^^^^")


# --- conditions

BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Div: operator.truediv, ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}  # fmt: skip


def evaluate(text: str, values: Values) -> Any:
    """Return the value of an expression over knobs: numbers, names, arithmetic, comparisons, `and`, `or`, `not`.

    C's `&&`, `||` and `!` are understood too. Nothing else is, so that a text can be read without being run.
    Raises: ValueError for anything else.
    """
    python = re.sub(r"!(?!=)", " not ", text.replace("&&", " and ").replace("||", " or ")).strip()
    if not python or len(python) > MAX_EXPRESSION:
        raise ValueError("a condition is missing" if not python else "the condition is too long")
    try:
        tree = ast.parse(python, mode="eval").body
    except (SyntaxError, ValueError):
        raise ValueError(f"`{text}` is no condition") from None
    try:
        return _value(tree, values)
    except (ZeroDivisionError, TypeError):
        return False


def _value(node: ast.expr, values: Values) -> Any:
    match node:
        case ast.Constant(int() | float() | bool() | str()):
            return node.value
        case ast.Name(name):
            if name not in values:
                raise ValueError(f"`{name}` is no knob; there are {', '.join(values)}")
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
    """Return what a value means: a number where it is one, else the text."""
    stripped = text.strip("()").removesuffix("u").removesuffix("f")
    for kind in (lambda value: int(value, 0), float):
        try:
            return kind(stripped)
        except ValueError:
            continue
    return text
