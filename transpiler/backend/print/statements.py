"""Prints blocks as lines: declarations, stores, structured control flow, the Python line above what it became.

In: a block, its placement and the rendered values. Out: `Line` objects, without the indentation of the function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from ...errors import NOWHERE, InternalError, SourceLocation
from ...ir.constants import is_constant_array
from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Remark, Statement, operands
from ...ir.statements import (
    Alloca,
    AtomicOp,
    Break,
    Continue,
    GlobalLoad,
    GlobalStore,
    If,
    IfExp,
    ListInit,
    LocalStore,
    Operation,
    Rand,
    RangeFor,
    Return,
    While,
    is_const,
)
from ...ir.types import Scalar, Tensor, Type
from ..languages.common.naming import Names
from ..languages.common.one_line import COLUMNS, INDENT
from ..languages.common.syntax import Syntax, operation_syntax, type_name
from ..languages.common.syntax_forms import Rendered
from ..languages.common.target import Target
from .conversions import assigned
from .expressions import Expressions, result_of
from .line_comments import adjoint_comment, inert, python_comment, remarks_above
from .lines import Line, wrapped, wrapped_comment
from .local_memory import declared_array, declared_pointer
from .loop_heads import declare_axis, halves_call, loop_head, partial_hint, unroll_hint
from .placement import UNSEEN, WITHOUT_LINES, Placement
from .value_names import derived_name

MAX_DECLARATOR = 40
"""Characters of the value of a declaration that shares its line."""
MAX_EXPRESSION = 300
"""Characters an expression may grow to; it is wrapped before an operator."""
MAX_SUM = 1000
"""The same for a sum of short terms."""
SUMS = frozenset({"{0} + {1}", "{0} - {1}"})


class Statements:
    """Prints the blocks of one function."""

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
        self.exit_lines = ["return;"]
        """Lines that end the function if a check fails; only the last one if the check failed in a called function."""
        self.exit_count = 0
        """Exits of the function so far, for `leave_by_loop`."""
        self.last_exit = 0
        """Index of the line of the function's last `return`."""
        self.shared_atomics: frozenset[tuple[str, str]] = frozenset()
        self.declare_per_thread: Callable[[Statements, Alloca, str], str] = _as_local
        self.commented: set[tuple[str, int]] = set()
        self.is_library = False
        """Whether no statement has a line of Python."""
        self.prints_remarks = False
        """Whether the remarks of statements are printed."""
        self.printed_remarks: set[tuple[str, str, int]] = set()
        self.forward: set[tuple[str, int]] = set()
        """Python lines that were reached from an earlier line."""
        self.last: tuple[str, int] | None = None
        self.first: tuple[str, int] | None = None
        """The first Python line in the present block."""
        self.together: dict[int, dict[int, AtomicOp]] = {}
        """Additions that one instruction performs, by their number and position, as far as they were reached."""
        self.result_names: list[str] = []
        self.record = ""
        """The cursor of the last record, as long as its scope is open."""
        self.first_types: dict[str, Type | None] = {}
        """The type of the first variable of each of the user's names."""
        self.declaration: tuple[Line | None, str] = None, ""
        """The last declaration of a value, and its type."""
        self.shortened: list[list[tuple[Statement, Rendered]]] = [[]]
        """By open block: operands that got a variable there, with the expressions that they are elsewhere."""

    # --- lines

    @property
    def width(self) -> int:
        """Columns that are left for the lines of the present block."""
        return COLUMNS - len(INDENT) * (self.depth + 1)

    def emit(self, text: str, location: SourceLocation = NOWHERE) -> None:
        """Append a line, and above it the Python line it comes from if that is a new one."""
        start = None if location is NOWHERE else self.mark(location)
        for part in [text] if len(text) <= self.width else wrapped(text, self.width):
            self.lines.append(Line(self.depth, part, start))
            start = None

    def declare_value(self, kind: str, name: str, value: str, location: SourceLocation) -> None:
        """Append `kind name = value;`, in one line with a declaration of the same type and Python line before it."""
        before, kind_before = self.declaration
        is_same_line = self.is_library or (location is not NOWHERE and (location.file, location.line) == self.last)
        is_short = len(value) <= MAX_DECLARATOR
        if before and is_same_line and is_short and kind == kind_before and self.lines and self.lines[-1] is before:
            text = f"{before.text[:-1]}, {name} = {value};"
            if len(text) <= self.width and before.depth == self.depth:
                self.lines[-1] = before._replace(text=text)
                self.declaration = self.lines[-1], kind
                return
        self.emit(f"{kind} {name} = {value};", location)
        self.declaration = self.lines[-1] if is_short else None, kind

    def emit_with_location(self, text: str, location: SourceLocation) -> None:
        """Append a line that equals its Python line, with only the location as a comment."""
        line = location.key
        if self.comments and location is not NOWHERE and line != self.last and line not in self.commented:
            self.commented.add(line)
            comment = python_comment(location)
            text += f"  // {comment.removesuffix(f'  {text[:-1]}')}"
            start = self.mark(location)
            self.lines.append(Line(self.depth, text, start, comment=location))
        else:
            self.emit(text, location)

    def mark(self, location: SourceLocation) -> SourceLocation | None:
        """Print the Python line of `location` as a comment, once; return the location if it is new."""
        line = location.key
        if location is NOWHERE or line == self.last:
            return None
        previous, self.last = self.last, line
        if previous is None or line > previous:
            self.forward.add(line)
            self.first = line if self.first is None or line < self.first else self.first
        elif self.comments and line in self.commented and line == self.first:
            self.lines.append(Line(self.depth, ""))  # a jump back: the next iteration of an unrolled loop
        if self.comments and line not in self.commented:
            self.commented.add(line)
            is_known = location.is_derivative and (location.file, location.line) in self.commented
            shown = wrapped_comment(adjoint_comment(location, is_known), self.width)
            self.lines += [Line(self.depth, part, comment=location) for part in shown]
        return location

    def remark(self, remark: Remark) -> bool:
        """Print a remark unless it has been printed already; return whether it was new."""
        key = (remark.message, remark.location.file, remark.location.line)
        if key in self.printed_remarks:
            return False
        self.printed_remarks.add(key)
        self.lines += [Line(self.depth, part) for part in wrapped_comment(inert(remark.message), self.width)]
        return True

    def _append_remark(self, text: str) -> None:
        """Print a remark at the end of the last line, if it fits."""
        line = f"{self.lines[-1].text}  // {text}"
        if len(line) <= self.width and "  // " not in self.lines[-1].text:
            self.lines[-1] = self.lines[-1]._replace(text=line)

    def _print_remarks(self, statement: Statement, start: int) -> None:
        """Print the remarks of a statement whose lines start at `start`: inline ones at the end of the line."""
        inline = next((remark for remark in statement.remarks if remark.where == "inline"), None)
        line = statement.location.key
        if inline is not None and len(self.lines) > start and (inline.template, *line) not in self.printed_remarks:
            self.printed_remarks.add((inline.template, *line))
            last = self.lines[-1]
            text = f"{last.text}  // {inline.template}"
            if len(text) <= self.width:
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

    def indented(self) -> AbstractContextManager[None]:
        """Print a nested block: one level deeper, in a new scope."""
        return self.scope(1)

    @contextmanager
    def scope(self, levels: int = 0) -> Iterator[None]:
        """Names declared within the context are free after it, and expressions shortened there are whole again."""
        self.depth += levels
        self.shortened.append([])
        first, self.first = self.first, None
        self.names.open_scope()
        yield
        self.names.close_scope()
        self.first = first
        if shortened := self.shortened.pop():
            self.e.rendered.update(reversed(shortened))
        self.depth -= levels

    def block(self, block: Block) -> None:
        """Print every statement of a block, and what was left out between them."""
        self.statements(block.statements, remarks_above(block.statements) if self.prints_remarks else {})

    def statements(self, statements: Sequence[Statement], above: Mapping[int, Sequence[Remark]]) -> None:
        """Print statements, with the remarks above each of them by its position."""
        for position, statement in enumerate(statements):
            for remark in above.get(position, ()) if above else ():
                self.remark(remark)
            if statement.__class__ in UNSEEN and not statement.remarks:
                continue
            start = len(self.lines)
            self.statement(statement)
            if statement.remarks and self.prints_remarks:
                self._print_remarks(statement, start)

    def statement(self, statement: Statement) -> None:
        """Print one statement, or remember its expression for the statement that uses it."""
        kind = statement.__class__
        if kind in UNSEEN:
            return
        if kind is IfExp:
            self._choice(statement)  # type: ignore[arg-type]
        elif statement.EFFECT & (Effect.WRITE | Effect.CONTROL) or kind is Alloca:
            write = self.writers.get(kind)
            if write is None:
                raise InternalError(f"emit: a {kind.__name__} cannot be printed")
            write(self, statement)
        elif statement in self.placement.used:
            self._value(statement)

    def _value(self, value: Statement) -> None:
        rendered = self.e.compute(value)
        if len(rendered.source) > MAX_EXPRESSION and not self._is_foldable(value, rendered):
            rendered = self._shorten(value, rendered)
        if value in self.placement.inline:
            self.e.rendered[value] = rendered
        else:
            self.declare(value, rendered)

    def _is_foldable(self, value: Statement, rendered: Rendered) -> bool:
        """Return whether a sum has short terms, so that it is readable when wrapped."""
        if rendered.template not in SUMS:
            return False
        left, right = (self.e.of(operand) for operand in value.operands)  # type: ignore[attr-defined]
        short = len(left.source) <= COLUMNS or left.template in SUMS
        return short and len(right.source) <= COLUMNS // 2 and len(rendered.source) <= MAX_SUM

    def _shorten(self, value: Statement, rendered: Rendered) -> Rendered:
        """Declare the widest operands as variables until the expression fits."""
        candidates = [
            o for o in dict.fromkeys(operands(value)) if o.type is not None and o.__class__ not in WITHOUT_LINES
        ]
        for operand in sorted(candidates, key=lambda o: -len(self.e.of(o).source)):
            if len(rendered.source) <= MAX_EXPRESSION or len(self.e.of(operand).source) < COLUMNS // 4:
                break
            self.shortened[-1].append((operand, self.e.of(operand)))
            self.declare(operand, self.e.of(operand))
            rendered = self.e.compute(value)
        return rendered

    def declare(self, value: Statement, rendered: Rendered) -> None:
        """Print `type name = value;`; later uses print the name."""
        name = self.name(value)
        kind = self.declared_type(value)
        if isinstance(value, ListInit):
            declared = f"{'const ' if is_constant_array(value) else ''}{kind} {name}[{len(value.items)}]"
            self.emit(f"{declared} = {rendered.initializer};", value.location)
        else:
            rendered = assigned(self.e.language, value, rendered, self.e.of)
            self.declare_value(kind, name, rendered.initializer, value.location)
            if isinstance(value, GlobalLoad) and value.name is None and value.copies > 1 and self.prints_remarks:
                self._append_remark("read once (common_subexpressions)")
        self.e.rendered[value] = Rendered(name)

    def declared_type(self, value: Statement) -> str:
        """Return the name of a value's type; several results of a call are a struct."""
        if isinstance(value, Call) and value.type is None:
            return self.e.signatures[value.function].result_type
        assert value.type is not None
        return self.e.name_of_type(value.type)

    def name(self, value: Statement) -> str:
        """Return a free name for a value: the user's, or one that says what it is."""
        if value.name:
            return self._name_of_user(value, value.name)
        return self.names.derive(self.placement.ends.get(value) or derived_name(value), self.placement.names)

    def _name_of_user(self, value: Statement, name: str) -> str:
        """Return the user's name of a value; of a further one of another type it says that: `a`, then `a_i64`."""
        first = self.first_types.setdefault(name, value.type)
        if value.type != first and isinstance(value.type, Scalar) and not self.names.is_free(name):
            return self.names.derive(f"{name}_{value.type.name}", self.placement.names)
        return self.names.declare(name)

    # --- choices

    def _choice(self, choice: IfExp) -> None:
        """Print `c ? a : b`, or if and else if a branch needs lines."""
        last, line = self.last, choice.location.key
        is_new = line not in self.commented
        self.commented.add(line)  # the comment is above the whole, not in a branch
        self.last = line
        declared = len(self.names.history)
        with self.captured() as then, self.indented():
            self.block(choice.then)
            then_lines = list(then)
        with self.captured() as otherwise, self.indented():
            self.block(choice.otherwise)
            otherwise_lines = list(otherwise)
        self.last = last
        if is_new:
            self.commented.discard(line)
        if choice not in self.placement.used and not then_lines and not otherwise_lines:
            return
        if not then_lines and not otherwise_lines:
            self._value(choice)
            return
        with self.names.avoiding(self.names.history[declared:]):  # a branch's own variable would hide the result
            name = self.name(choice)
        self._choice_lines(choice, name, then_lines, otherwise_lines)

    def _choice_lines(self, choice: IfExp, name: str, then: list[Line], otherwise: list[Line]) -> None:
        assert choice.type is not None
        kind = self.e.name_of_type(choice.type)
        condition = self.e.of(choice.condition).source
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
        self.e.rendered[choice] = Rendered(name)

    def _branch(self, head: str, lines: list[Line], branch: Block, name: str) -> None:
        self.emit(head)
        self.lines.extend(lines)
        self.lines.append(Line(self.depth + 1, f"{name} = {self.e.of(result_of(branch)).source};"))


def _as_local(p: Statements, alloca: Alloca, name: str) -> str:
    raise InternalError(f"emit: `{name}` is a variable of each thread of a block")


def _alloca(p: Statements, alloca: Alloca) -> None:
    if alloca in p.placement.dead or alloca in p.placement.declared_by_store:
        return
    assert alloca.type is not None
    name = p.name(alloca)
    p.e.rendered[alloca] = Rendered(name)
    if alloca in p.e.local_arrays:
        p.emit(declared_array(p.e, alloca, name))
        return
    if alloca.per_thread:
        p.emit(p.declare_per_thread(p, alloca, name))
        return
    start = "" if alloca in p.placement.set_by_branches else f" = {p.e.zero(alloca.type).initializer}"
    p.emit(f"{p.e.name_of_type(alloca.type)} {name}{start};")


def _local_store(p: Statements, store: LocalStore) -> None:
    if store in p.placement.dead:
        return
    if p.placement.declared_by_store.get(store.pointer) is store:
        assert store.pointer.type is not None
        name = p.name(store.pointer)
        if store.pointer in p.e.local_arrays:
            p.e.rendered[store.pointer] = Rendered(name)
            p.emit(declared_array(p.e, store.pointer, name, store.value), store.location)
            return
        if store.pointer in p.e.element_pointers:
            p.emit(declared_pointer(p.e, store, name), store.location)
            p.e.rendered[store.pointer] = Rendered(name)
            return
        rendered = assigned(p.e.language, store.value, p.e.of(store.value), p.e.of)
        p.declare_value(p.e.name_of_type(store.pointer.type), name, rendered.initializer, store.location)
        p.e.rendered[store.pointer] = Rendered(name)
        return
    _assign(p, store, p.e.lvalue(store.pointer), p.placement.compound.get(store))


def _global_store(p: Statements, store: GlobalStore) -> None:
    operation = p.placement.compound.get(store)
    target = p.e.lvalue(store.pointer)
    value = store.value
    known = p.e.rendered.get(value)
    # A value that was stored before is rendered as the element it is in, which has no template: it is read there.
    is_unstored = value in p.placement.inline and (known is None or known.template != "")
    if operation is None and isinstance(value, Operation) and is_unstored:
        if p.e.of(value.operands[0]).source == target and infix_symbol(p.e.target, value) is not None:
            operation = value  # the value just stored is read back: y(i) += x(i); y(i) *= 2.0
    _assign(p, store, target, operation)


def _assign(p: Statements, store: LocalStore | GlobalStore, target: str, operation: Operation | None) -> None:
    """Print a store, that of an operation as `target op= y`; whoever reads the value from memory finds it there."""
    if operation is not None:
        _compound(p, store, target, operation)
    else:
        text = p.e.to_memory(store.value) if p.e.is_in_memory(store.pointer) else p.e.assigned(store.value)
        p.emit(f"{target} = {text};", store.location)
    if store in p.placement.read_back:
        kind = store.value.type
        p.e.rendered[store.value] = p.e.loaded(target, kind) if p.e.is_in_memory(store.pointer) else Rendered(target)


def _compound(p: Statements, store: LocalStore | GlobalStore, target: str, operation: Operation) -> None:
    symbol = infix_symbol(p.e.target, operation)
    assert symbol is not None
    if isinstance(operation.type, Tensor):
        p.e.need(*(f"assign {key}" for key in _syntax(p.e.target, operation).helpers if " -> " in key))
    p.emit(f"{target} {symbol}= {p.e.second_operand(operation)};", store.location)


def _syntax(target: Target, operation: Operation) -> Syntax:
    return operation_syntax(target.language, operation, target.exact)


def infix_symbol(target: Target, operation: Operation) -> str | None:
    """Return the symbol of an operation printed as `{0} symbol {1}` that has a compound assignment, else None."""
    if operation.by_launch or (isinstance(operation.type, Tensor) and not target.language.has_tensor_assignment):
        return None
    template = _syntax(target, operation).template
    if isinstance(operation.type, Scalar) and operation.type.is_integral and operation.type.bits < 32:
        name = type_name(target.language, operation.type)
        if template.startswith(f"({name})({{0}} "):  # an assignment converts to the type of its target, too
            template = template.removeprefix(f"({name})(").removesuffix(")")
    return COMPOUND.get(template)


COMPOUND = {f"{{0}} {symbol} {{1}}": symbol for symbol in ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")}
"""The symbols of operations with a compound assignment, by their templates."""


def _rand(p: Statements, rand: Rand) -> None:
    assert isinstance(rand.type, Scalar)
    p.e.uses_args = True
    helper = f"random_{rand.type.name}"
    p.e.need(helper)
    print_call(p, rand, Rendered(f"{helper}({p.e.random})"))


def print_call(p: Statements, statement: Statement, rendered: Rendered) -> None:
    """Print a call with an effect and a value: inside the store that follows, as a variable, or as a statement."""
    if statement in p.placement.direct:
        p.e.rendered[statement] = rendered
    elif statement in p.placement.used:
        p.declare(statement, rendered)
    else:
        p.emit(f"{rendered.source};", statement.location)


def _if(p: Statements, statement: If) -> None:
    if statement.then.statements or not statement.otherwise:
        p.emit(f"if ({p.e.of(statement.condition).source}) {{", statement.location)
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
    """Print an else branch; one that contains only an If is an `else if`."""
    above = remarks_above(block.statements) if p.prints_remarks else {}
    with p.indented():
        with p.captured() as before:
            p.statements(block.statements[:-1], above)
            lines = list(before)
        last = block.statements[-1]
        chained = isinstance(last, If) and not lines and bool(last.then.statements)
        if not chained:
            p.lines.append(Line(p.depth - 1, "} else {"))
            p.lines.extend(lines)
            p.statements([last], {0: above.get(len(block.statements) - 1, ())})
    if chained and isinstance(last, If):
        is_new = last.location is not NOWHERE and last.location.key != p.last
        comment = f"  // {python_comment(last.location)}" if p.comments and is_new else ""
        head = f"}} else if ({p.e.of(last.condition).source}) {{{comment}"
        p.lines.append(Line(p.depth, head, last.location, comment=last.location if comment else None))
        p.last = last.location.key
        p.commented.add(p.last)
        with p.indented():
            p.block(last.then)
        if last.otherwise:
            _else(p, last.otherwise)


def _while(p: Statements, loop: While) -> None:
    start = p.mark(loop.location)
    condition = result_of(loop.condition)
    with p.indented():
        with p.captured() as captured:
            p.block(loop.condition)
            lines = list(captured)
        if lines:
            p.e.symbols.named.add("true")  # C has it in a header
        head = "while (true) {" if lines else f"while ({p.e.of(condition).source}) {{"
        p.lines.append(Line(p.depth - 1, head, start))
        if lines:
            p.lines.extend(lines)
            p.emit(f"if ({p.e.negated(condition)}) break;")
        p.loops += 1
        p.block(loop.body)
        p.loops -= 1
    p.emit("}")


def _range_for(p: Statements, loop: RangeFor) -> None:
    """Print a serial loop, axes nested, the last one fastest."""
    if loop.halves:
        p.emit(halves_call(p.e, loop))
        return
    depth = p.depth
    with p.names.scope():
        for axis in range(len(loop.starts)):
            name = declare_axis(p.names, loop, axis)
            p.e.loop_names[loop, axis] = name
            hint, head = partial_hint(p.e, loop, axis), f"{loop_head(p.e, loop, axis, name)} {{"
            if loop.unroll:
                hint = unroll_hint(p.e, loop, axis)
            if hint.endswith("\n"):
                p.emit(hint.rstrip(), loop.location)
                hint = ""
            p.emit(f"{hint}{head}", loop.location)
            p.depth += 1
        with p.scope():
            p.loops += 1
            p.block(loop.body)
            p.loops -= 1
        for _ in loop.starts:
            p.depth -= 1
            p.emit("}")
    assert p.depth == depth


def _break(p: Statements, statement: Break) -> None:
    p.emit_with_location("break;", statement.location)


def _continue(p: Statements, statement: Continue) -> None:
    p.exit_count += not p.loops
    p.emit_with_location("continue;" if p.loops else "return;", statement.location)


def _return(p: Statements, statement: Return) -> None:
    p.e.uses_args = True
    for name, value in zip(p.result_names, statement.values, strict=True):
        p.emit(f"args.result{p.e.language.arrow}{name} = {p.e.to_memory(value)};", statement.location)


WRITERS: dict[type, Callable[..., None]] = {
    Alloca: _alloca,
    LocalStore: _local_store,
    GlobalStore: _global_store,
    Rand: _rand,
    If: _if,
    While: _while,
    RangeFor: _range_for,
    Break: _break,
    Continue: _continue,
    Return: _return,
}
"""How each kind of effect is printed; `reports.WRITERS` has print and assert."""
