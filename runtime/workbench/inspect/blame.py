"""`kernel.blame("$12")`: the pass that made a value, and those that changed it. Also the diff of one pass.

In: an `Inspection`, in which each form of the IR knows the statements of its numbers; a statement keeps its identity as
long as it exists, whatever number a form gives it. Out: `Blame`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING

from ....transpiler.errors import NOWHERE, TaichiRuntimeError
from .ir_changes import GONE, NEW, changes

if TYPE_CHECKING:
    from ....transpiler.ir.nodes import Statement
    from ...launch.inspection import Inspection

VALUE = re.compile(r"\$(\d+)")
FRONTEND = "frontend"


@dataclass(frozen=True, slots=True)
class Seen:
    """A value in one form. number: there. line: its text."""

    form: str
    number: int
    line: str

    def __str__(self) -> str:
        return f"{self.form}: {self.line}"


@dataclass(frozen=True, slots=True)
class Blame:
    """Where a value of a form comes from.

    made_by: the pass that made it; "frontend" for values that were there before all passes.
    made: the value as that pass left it. changed: its later definitions, by the pass that changed each.
    python: file, line and text of the Python line, None for what no line asks for.
    """

    value: str
    made_by: str
    made: Seen
    changed: tuple[Seen, ...]
    python: tuple[str, int, str] | None

    def __str__(self) -> str:
        where = "no line of Python" if self.python is None else f"{self.python[0]}:{self.python[1]}: {self.python[2]}"
        lines = [f"{self.value} was made by {self.made_by}, for {where}", f"    {self.made}"]
        return "\n".join([*lines, *(f"    {seen}" for seen in self.changed)])


def blame(inspection: Inspection, value: str, stage: str = "final") -> Blame:
    """Return which pass made `value`, such as "$12", of a form, and which changed its definition.

    Raises: TaichiRuntimeError for what is no value of the form; KeyError for a form without numbers.
    """
    forms = [name for name in inspection.forms if name in inspection.values and name not in ("lowered", "tasks")]
    if stage not in inspection.values or stage not in {*inspection.forms}:
        raise KeyError(f"form `{stage}` has no numbered values; there are {', '.join(forms)}")
    values = inspection.values[stage]
    match = VALUE.fullmatch(value.strip()) or re.fullmatch(r"(\d+)", value.strip())
    if match is None or int(match[1]) >= len(values):
        last = f"`$0` to `${len(values) - 1}`" if values else "no values"
        raise TaichiRuntimeError(f"`{value}` is no value of the form `{stage}`, which has {last}",
                                 "`kernel.ir('final')` shows them")  # fmt: skip
    statement = values[int(match[1])]
    history: list[Seen] = []
    texts: list[str] = []
    for name in ("built", *forms):
        seen = _seen(inspection, name, statement)
        if seen is not None:
            text = _identified(seen.line, inspection.values[name])
            if not texts or texts[-1] != text:
                history.append(seen)
                texts.append(text)
    first = history[0]
    made_by = FRONTEND if first.form == "built" else first.form.rpartition(":")[2]
    return Blame(f"${match[1]}", made_by, first, tuple(history[1:]), _python(statement))


def _seen(inspection: Inspection, name: str, statement: Statement) -> Seen | None:
    values = inspection.values[name]
    number = next((k for k, value in enumerate(values) if value is statement), None)
    if number is None:
        return None
    form = inspection.built if name == "built" else inspection.forms[name]
    definition = re.compile(rf"\s*(\${number}\b.* = .*)")
    line = next((found[1] for line in form.splitlines() if (found := definition.match(line))), "")
    return Seen(name, number, line)


def _identified(line: str, values: tuple[Statement, ...]) -> str:
    """Return a line with the identities of its operands, which do not change from form to form."""
    return VALUE.sub(lambda found: f"${id(values[int(found[1])])}", line)


def _python(statement: Statement) -> tuple[str, int, str] | None:
    location = statement.location
    return None if location is NOWHERE else (location.file, location.line, location.python_line.strip())


def pass_diff(form: str, before: str, after: str) -> str:
    """Return what a pass changed as a unified diff; values that it did not make have the numbers they get from it."""
    change = changes(before, after)
    if change.is_empty:
        return ""
    old = [line.text for line in change.lines if line.sign != NEW]
    new = [line.text for line in change.lines if line.sign != GONE]
    name = form.rpartition(":")[2]
    return "\n".join(unified_diff(old, new, f"before {name}", f"after {name}", lineterm="")) + "\n"
