"""Prints blocks as lines: declarations, stores, structured control flow, the Python line above what it became.

In: a block, its placement and the texts of values. Out: `Line` objects, without the indentation of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from ...errors import NOWHERE, InternalError, SourceLocation, UnsupportedError
from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Remark, Statement, operands
from ...ir.sparse import Append
from ...ir.statements import (
    Alloca,
    AtomicOp,
    Break,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IfExp,
    LocalStore,
    Operation,
    Rand,
    RangeFor,
    Return,
    StructPtr,
    While,
    is_const,
)
from ...ir.types import Scalar, Tensor, i32
from ..languages.common.atomics import is_native
from ..languages.common.naming import Names
from ..languages.common.syntax import Syntax, atomic_syntax, operation_syntax
from ..languages.common.target import Target
from .expressions import Expressions, Rendered, is_shared, result_of
from .placement import ATOMS, PLACES, Placement
from .remarks import inert, left_out

MAX_WIDTH = 100
"""Columns an expression may grow to before a part of it gets a name."""
MAX_SUM = 1000
"""Characters a sum may grow to; it is folded before a plus or minus."""
SUMS = frozenset({"{0} + {1}", "{0} - {1}"})
FOLDS = (" + ", " - ", " && ", " || ")
INDENT = "    "


class Line(NamedTuple):
    """One line of a body. location: the Python line that begins here, if one does."""

    depth: int
    text: str
    location: SourceLocation | None = None


class Statements:
    """Prints the blocks of one function. parallel: the loop whose turns are calls of this function, if there is one."""

    def __init__(
        self,
        expressions: Expressions,
        placement: Placement,
        names: Names,
        comments: bool,
        atomics: frozenset[tuple[str, str]],
        writers: Mapping[type, Callable[..., None]],
    ) -> None:
        self.writers = writers
        self.e = expressions
        self.placement = placement
        self.names = names
        self.comments = comments
        self.atomics = atomics
        self.lines: list[Line] = []
        self.depth = 0
        self.loops = 0
        self.failed = expressions.failed
        self.leave = ["return;"]
        """What ends the function where a check fails; its last line, where one failed in a function it called."""
        self.exits = 0
        """How often the function is left so far, for `exits.py`."""
        self.last_exit = 0
        """The line of the last `return` of a function."""
        self.shared_atomics: frozenset[tuple[str, str]] = frozenset()
        self.declare_per_thread: Callable[[Statements, Alloca, str], str] = _as_local
        self.commented: set[tuple[str, int]] = set()
        self.explains = False
        """Whether the remarks of statements are printed."""
        self.printed_remarks: set[tuple[str, str, int]] = set()
        self.forward: set[tuple[str, int]] = set()
        self.last: tuple[str, int] | None = None
        self.result_names: list[str] = []

    # --- lines

    def emit(self, text: str, location: SourceLocation = NOWHERE) -> None:
        """Append a line, and above it the Python line it comes from if that is a new one."""
        begins = self.mark(location)
        for part in wrapped(text) if len(text) > MAX_WIDTH + len(INDENT) else (text,):
            self.lines.append(Line(self.depth, part, begins))
            begins = None

    def emit_beside(self, text: str, location: SourceLocation) -> None:
        """Append a line that says what Python says, with no more than the place beside it."""
        place = (location.file, location.line)
        if self.comments and location is not NOWHERE and place != self.last and place not in self.commented:
            self.commented.add(place)
            said = python_comment(location)
            text += f"  // {said.removesuffix(f'  {text[:-1]}')}"
        self.emit(text, location)

    def mark(self, location: SourceLocation) -> SourceLocation | None:
        """Print the Python line of `location` as a comment, once; return the location if another line was before it."""
        place = (location.file, location.line)
        if location is NOWHERE or place == self.last:
            return None
        previous, self.last = self.last, place
        if previous is None or place > previous:
            self.forward.add(place)
        elif self.comments and place in self.commented and place in self.forward:
            self.lines.append(Line(self.depth, ""))  # back at a line that once came on: a turn of an unrolled loop
        if self.comments and place not in self.commented:
            self.commented.add(place)
            self.lines.append(Line(self.depth, f"// {python_comment(location)}"))
        return location

    def remark(self, remark: Remark) -> bool:
        """Print a remark unless it has been printed already; return whether it was new."""
        key = (remark.message, remark.location.file, remark.location.line)
        if key in self.printed_remarks:
            return False
        self.printed_remarks.add(key)
        self.lines.append(Line(self.depth, f"// {inert(remark.message)}"))
        return True

    def _explain(self, statement: Statement, start: int) -> None:
        """Print the remarks of a statement whose lines start at `start`: inline ones at the end of the line."""
        inline = next((remark for remark in statement.remarks if remark.where == "inline"), None)
        line = (statement.location.file, statement.location.line)
        if inline is not None and len(self.lines) > start and (inline.template, *line) not in self.printed_remarks:
            self.printed_remarks.add((inline.template, *line))
            last = self.lines[-1]
            text = f"{last.text}  // {inline.template}"
            if len(text) <= MAX_WIDTH + len(INDENT):
                self.lines[-1] = last._replace(text=text)
            else:
                printed = enumerate(self.lines[start:], start)
                first = next(k for k, line in printed if line.text and not line.text.startswith("//"))
                self.lines.insert(first, Line(last.depth, f"// {inline.template}"))
        for remark in statement.remarks:
            if remark.where == "below":
                self.remark(remark)

    @contextmanager
    def captured(self) -> Iterator[list[Line]]:
        """Collect the lines printed within the context instead of appending them."""
        outer, self.lines = self.lines, []
        try:
            yield self.lines
        finally:
            self.lines = outer

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Print a nested block: one level deeper, with names of its own."""
        self.depth += 1
        with self.names.scope():
            yield
        self.depth -= 1

    def block(self, block: Block) -> None:
        """Print every statement of a block, and what was left out between them."""
        above = left_out(block.statements) if self.explains else {}
        for position, statement in enumerate(block.statements):
            for remark in above.get(position, ()):
                self.remark(remark)
            start = len(self.lines)
            self.statement(statement)
            if statement.remarks and self.explains:
                self._explain(statement, start)

    def statement(self, statement: Statement) -> None:
        """Print one statement, or keep its text for its user."""
        if isinstance(statement, IfExp):
            self._choice(statement)
        elif statement.EFFECT & (Effect.WRITE | Effect.CONTROL) or isinstance(statement, Alloca):
            write = self.writers.get(type(statement))
            if write is None:
                raise InternalError(f"emit: a {type(statement).__name__} has no text")
            write(self, statement)
        elif isinstance(statement, (*ATOMS, *PLACES)) or statement not in self.placement.used:
            return
        else:
            self._value(statement)

    def _value(self, value: Statement) -> None:
        written = self.e.compute(value)
        if len(written.text) > MAX_WIDTH and not (written.template in SUMS and self._is_foldable(value, written)):
            written = self._shorten(value, written)
        if value in self.placement.inline:
            self.e.texts[value] = written
        else:
            self.declare(value, written)

    def _is_foldable(self, value: Statement, written: Rendered) -> bool:
        """Whether a sum is one of short terms, so that it reads well over several lines."""
        left, right = (self.e.of(operand) for operand in value.operands)  # type: ignore[attr-defined]
        short = len(left.text) <= MAX_WIDTH or left.template in SUMS
        return short and len(right.text) <= MAX_WIDTH // 2 and len(written.text) <= MAX_SUM

    def _shorten(self, value: Statement, written: Rendered) -> Rendered:
        """Give names to the widest operands until the expression fits."""
        candidates = [
            o for o in dict.fromkeys(operands(value)) if o.type is not None and not isinstance(o, (*ATOMS, *PLACES))
        ]
        for operand in sorted(candidates, key=lambda o: -len(self.e.of(o).text)):
            if len(written.text) <= MAX_WIDTH or len(self.e.of(operand).text) < MAX_WIDTH // 4:
                break
            self.declare(operand, self.e.of(operand))
            written = self.e.compute(value)
        return written

    def declare(self, value: Statement, written: Rendered) -> None:
        """Print `type name = value;`, and use the name from here on."""
        name = self.name(value)
        self.emit(f"{self.declared_type(value)} {name} = {written.start};", value.location)
        self.e.texts[value] = Rendered(name)

    def declared_type(self, value: Statement) -> str:
        """Return the name of a value's type; several results of a call are a struct."""
        if isinstance(value, Call) and value.type is None:
            return self.e.signatures[value.function].result_type
        assert value.type is not None
        return self.e.type_text(value.type)

    def name(self, value: Statement) -> str:
        """Return a free name for a value: the user's, that of the array it was read from, or t0, t1, ..."""
        if value.name:
            return self.names.declare(value.name)
        if isinstance(value, GlobalLoad) and isinstance(value.pointer, GlobalPtr):
            return self.names.temporary(f"{value.pointer.array.name}_")
        if isinstance(value, GlobalLoad) and isinstance(value.pointer, StructPtr):
            return self.names.temporary(f"{value.pointer.member}_")
        if isinstance(value, Call) and value.type is None:
            return self.names.declare("results")
        if isinstance(value, Append):
            return self.names.declare("item")
        return self.names.temporary()

    # --- choices

    def _choice(self, choice: IfExp) -> None:
        """Print `c ? a : b`, or if and else where a branch needs lines of its own."""
        last, place = self.last, (choice.location.file, choice.location.line)
        is_new = place not in self.commented
        self.commented.add(place)  # the comment stands above the whole, not in a branch
        self.last = place
        with self.captured() as then, self.indented():
            self.block(choice.then)
            then_lines = list(then)
        with self.captured() as otherwise, self.indented():
            self.block(choice.otherwise)
            otherwise_lines = list(otherwise)
        self.last = last
        if is_new:
            self.commented.discard(place)
        if choice not in self.placement.used and not then_lines and not otherwise_lines:
            return
        if not then_lines and not otherwise_lines:
            self._value(choice)
            return
        self._choice_lines(choice, then_lines, otherwise_lines)

    def _choice_lines(self, choice: IfExp, then: list[Line], otherwise: list[Line]) -> None:
        name = self.name(choice)
        assert choice.type is not None
        kind = self.e.type_text(choice.type)
        condition = self.e.of(choice.condition).text
        if is_const(result_of(choice.otherwise), False) and choice.type == choice.condition.type and not otherwise:
            self.emit(f"{kind} {name} = {condition};", choice.location)
            self._branch(f"if ({name}) {{", then, choice.then, name)
        elif is_const(result_of(choice.then), True) and choice.type == choice.condition.type and not then:
            self.emit(f"{kind} {name} = {condition};", choice.location)
            self._branch(f"if (!{name}) {{", otherwise, choice.otherwise, name)
        else:
            self.emit(f"{kind} {name};", choice.location)
            self._branch(f"if ({condition}) {{", then, choice.then, name)
            self._branch("} else {", otherwise, choice.otherwise, name)
        self.emit("}")
        self.e.texts[choice] = Rendered(name)

    def _branch(self, head: str, lines: list[Line], branch: Block, name: str) -> None:
        self.emit(head)
        self.lines.extend(lines)
        self.lines.append(Line(self.depth + 1, f"{name} = {self.e.of(result_of(branch)).text};"))


def _as_local(p: Statements, alloca: Alloca, name: str) -> str:
    raise InternalError(f"emit: `{name}` belongs to each thread of a block")


def wrapped(text: str) -> list[str]:
    """Fold a statement before operators that stand in no parentheses; where there are none it stays one line."""
    parts, start, depth, fold, brackets = [], 0, 0, 0, {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}
    for index, character in enumerate(text):
        depth += brackets.get(character, 0)
        if depth == 0 and character == " " and text.startswith(FOLDS, index):
            fold = index
        if index - start > MAX_WIDTH and fold > start:
            parts.append(text[start:fold])
            start = fold + 1
    return [parts[0], *(INDENT + part for part in [*parts[1:], text[start:]])] if parts else [text]


def python_comment(location: SourceLocation) -> str:
    """Return `demo.py:14  s = a[i, j]`, inert in every language: one line that ends in no backslash.

    Only the first line of a statement is known; dots say that it goes on.
    """
    line = location.python_line
    if not (line.isascii() and line.isprintable()):
        line = "".join(c if c.isprintable() else " " for c in line)
    opened = sum(map(line.count, "([{")) - sum(map(line.count, ")]}"))
    text = f"{basename(location.file)}:{location.line}  {line.replace('??/', '? ?/')}".rstrip("\\ ")
    return f"{text} ..." if opened > 0 else text


def basename(file: str) -> str:
    """Return the last part of a path, so that texts do not depend on the folder; it cannot end a comment."""
    name = file.replace("\\", "/").rsplit("/", 1)[-1].replace("??/", "? ?/")
    return name if name.isprintable() else "".join(c if c.isprintable() else " " for c in name)


def _alloca(p: Statements, alloca: Alloca) -> None:
    if alloca in p.placement.dead or alloca in p.placement.declared_by_store:
        return
    assert alloca.type is not None
    name = p.name(alloca)
    p.e.texts[alloca] = Rendered(name)
    if alloca.per_thread:
        p.emit(p.declare_per_thread(p, alloca, name))
        return
    start = ""
    if alloca not in p.placement.set_by_branches:
        start = f" = {p.e.zero(alloca.type).start}"
    p.emit(f"{p.e.type_text(alloca.type)} {name}{start};")


def _local_store(p: Statements, store: LocalStore) -> None:
    if store in p.placement.dead:
        return
    if p.placement.declared_by_store.get(store.pointer) is store:
        assert store.pointer.type is not None
        written = p.e.of(store.value)
        name = p.name(store.pointer)
        p.emit(f"{p.e.type_text(store.pointer.type)} {name} = {written.start};", store.location)
        p.e.texts[store.pointer] = Rendered(name)
        return
    operation = p.placement.compound.get(store)
    place = p.e.place(store.pointer)
    if operation is not None:
        _compound(p, store, place, operation)
    else:
        value = p.e.to_memory(store.value) if p.e.is_in_memory(store.pointer) else p.e.of(store.value).text
        p.emit(f"{place} = {value};", store.location)


def _global_store(p: Statements, store: GlobalStore) -> None:
    operation = p.placement.compound.get(store)
    place = p.e.place(store.pointer)
    value = store.value
    known = p.e.texts.get(value)
    # A value that stands in a cell has the text of that cell, which was made from no template: it is read there.
    is_unwritten = value in p.placement.inline and (known is None or known.template != "")
    if operation is None and isinstance(value, Operation) and is_unwritten:
        if p.e.of(value.operands[0]).text == place and infix_symbol(p.e.target, value) is not None:
            operation = value  # what was stored there just now is read back: y(i) += x(i); y(i) *= 2.0
    if operation is not None:
        _compound(p, store, place, operation)
    else:
        text = p.e.to_memory(store.value) if p.e.is_in_memory(store.pointer) else p.e.of(store.value).text
        p.emit(f"{place} = {text};", store.location)
    if store in p.placement.read_back:
        kind = store.value.type
        p.e.texts[store.value] = p.e.loaded(place, kind) if p.e.is_in_memory(store.pointer) else Rendered(place)


def _compound(p: Statements, store: LocalStore | GlobalStore, place: str, operation: Operation) -> None:
    symbol = infix_symbol(p.e.target, operation)
    assert symbol is not None
    if isinstance(operation.type, Tensor):
        p.e.need(*(f"assign {key}" for key in _spelled(p.e.target, operation).helpers if " -> " in key))
    text = p.e.of(operation.operands[1]).text
    p.emit(f"{place} {symbol}= {text};", store.location)


def _spelled(target: Target, operation: Operation) -> Syntax:
    return operation_syntax(target.language, operation, target.exact)


def infix_symbol(target: Target, operation: Operation) -> str | None:
    """Return the symbol of an operation printed as `{0} symbol {1}` that has a compound assignment, else None."""
    if isinstance(operation.type, Tensor) and not target.language.has_tensor_assignment:
        return None
    first, _, rest = _spelled(target, operation).text.partition(" ")
    symbol, _, last = rest.partition(" ")
    return symbol if first == "{0}" and last == "{1}" and symbol in COMPOUND else None


COMPOUND = frozenset({"+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>"})


def _atomic(p: Statements, atomic: AtomicOp) -> None:
    assert isinstance(atomic.type, Scalar)
    shared = is_shared(atomic.pointer)
    native = is_native(p.shared_atomics if shared else p.atomics, atomic.op, atomic.type)
    try:
        syntax = atomic_syntax(p.e.language, atomic.op, atomic.type, native)
        if shared and len(syntax.operand_precedence) > 2:
            raise UnsupportedError(f"this device has no atomic {atomic.op} of {atomic.type} in shared memory")
    except UnsupportedError as error:
        raise atomic.location.error(UnsupportedError, error.message, error.hint) from None
    p.e.use(syntax)
    value = p.e.operand(atomic.value, syntax.operand_precedence[1])
    data = p.e.words(atomic.pointer) if len(syntax.operand_precedence) > 2 else ()
    print_call(p, atomic, Rendered(syntax.format(p.e.place(atomic.pointer), value, *data)))


def _rand(p: Statements, rand: Rand) -> None:
    assert isinstance(rand.type, Scalar)
    p.e.uses_args = True
    helper = f"random_{rand.type.name}"
    p.e.need(helper)
    print_call(p, rand, Rendered(f"{helper}({p.e.random})"))


def print_call(p: Statements, statement: Statement, written: Rendered) -> None:
    """Print a call that does something and gives a value: inside the store that follows, under a name, or alone."""
    if statement in p.placement.direct:
        p.e.texts[statement] = written
    elif statement in p.placement.used:
        p.declare(statement, written)
    else:
        p.emit(f"{written.text};", statement.location)


def _if(p: Statements, statement: If) -> None:
    if statement.then.statements or not statement.otherwise:
        p.emit(f"if ({p.e.of(statement.condition).text}) {{", statement.location)
        with p.indented():
            p.block(statement.then)
        if statement.otherwise:
            _else(p, statement.otherwise)
    else:
        p.emit(f"if ({p.e.negated(statement.condition)}) {{", statement.location)
        with p.indented():
            p.block(statement.otherwise)
    p.emit("}")


def _else(p: Statements, block: Block) -> None:
    """Print an else branch; one that holds but an If is an `else if`."""
    with p.indented():
        with p.captured() as before:
            for statement in block.statements[:-1]:
                p.statement(statement)
            lines = list(before)
        last = block.statements[-1]
        chained = isinstance(last, If) and not lines and bool(last.then.statements)
        if not chained:
            p.lines.append(Line(p.depth - 1, "} else {"))
            p.lines.extend(lines)
            p.statement(last)
    if chained and isinstance(last, If):
        is_new = last.location is not NOWHERE and (last.location.file, last.location.line) != p.last
        comment = f"  // {python_comment(last.location)}" if p.comments and is_new else ""
        p.lines.append(Line(p.depth, f"}} else if ({p.e.of(last.condition).text}) {{{comment}", last.location))
        p.last = (last.location.file, last.location.line)
        p.commented.add(p.last)
        with p.indented():
            p.block(last.then)
        if last.otherwise:
            _else(p, last.otherwise)


def _while(p: Statements, loop: While) -> None:
    begins = p.mark(loop.location)
    condition = result_of(loop.condition)
    with p.indented():
        with p.captured() as found:
            p.block(loop.condition)
            lines = list(found)
        if lines:
            p.e.symbols.named.add("true")  # C has it in a header
        head = "while (true) {" if lines else f"while ({p.e.of(condition).text}) {{"
        p.lines.append(Line(p.depth - 1, head, begins))
        if lines:
            p.lines.extend(lines)
            p.emit(f"if ({p.e.negated(condition)}) break;")
        p.loops += 1
        p.block(loop.body)
        p.loops -= 1
    p.emit("}")


def _range_for(p: Statements, loop: RangeFor) -> None:
    """Print a serial loop, axes nested, the last one fastest."""
    depth = p.depth
    with p.names.scope():
        for axis in range(len(loop.starts)):
            name = declare_axis(p.names, loop, axis)
            p.e.loop_names[loop, axis] = name
            p.emit(f"{loop_head(p.e, loop, axis, name)} {{", loop.location)
            p.depth += 1
        with p.names.scope():
            p.loops += 1
            p.block(loop.body)
            p.loops -= 1
        for _ in loop.starts:
            p.depth -= 1
            p.emit("}")
    assert p.depth == depth


def declare_axis(names: Names, loop: RangeFor, axis: int) -> str:
    """Take the name Python gives the index of an axis, or the first free letter from i on."""
    if len(loop.names) == len(loop.starts) and loop.names[axis].strip("_"):
        return names.declare(loop.names[axis])
    return names.declare(next((letter for letter in "ijklmnop" if names.is_free(letter)), "i"))


def loop_head(e: Expressions, loop: RangeFor, axis: int, name: str) -> str:
    """Return `for (int k = begin; k < end; k++)`."""
    step_value = loop.steps[axis]
    assert isinstance(step_value, Const)
    step = int(step_value.value)
    begin, end = bound(e, loop.starts[axis]), bound(e, loop.ends[axis])
    advance = {1: f"{name}++", -1: f"{name}--"}.get(step, f"{name} += {step}" if step > 0 else f"{name} -= {-step}")
    return f"for (int {name} = {begin.text}; {name} {'<' if step > 0 else '>'} {e_parenthesised(end)}; {advance})"


def e_parenthesised(written: Rendered) -> str:
    """Return a bound as the right side of a comparison."""
    return written.text if written.precedence >= 13 else f"({written.text})"


def bound(e: Expressions, value: Statement) -> Rendered:
    """Return a loop's bound as an i32."""
    if value.type == i32:
        return e.of(value)
    text = e.of(value).text
    return Rendered(*e.language.converted("int", text))


def _break(p: Statements, statement: Break) -> None:
    p.emit_beside("break;", statement.location)


def _continue(p: Statements, statement: Continue) -> None:
    p.exits += not p.loops
    p.emit_beside("continue;" if p.loops else "return;", statement.location)


def _return(p: Statements, statement: Return) -> None:
    p.e.uses_args = True
    for name, value in zip(p.result_names, statement.values, strict=True):
        p.emit(f"args.result{p.e.language.arrow}{name} = {p.e.to_memory(value)};", statement.location)


WRITERS: dict[type, Callable[..., None]] = {
    Alloca: _alloca,
    LocalStore: _local_store,
    GlobalStore: _global_store,
    AtomicOp: _atomic,
    Rand: _rand,
    If: _if,
    While: _while,
    RangeFor: _range_for,
    Break: _break,
    Continue: _continue,
    Return: _return,
}
"""How each kind of effect is printed; `reports.WRITERS` has print and assert."""
