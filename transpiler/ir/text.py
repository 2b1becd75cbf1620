"""Prints kernels as text: flat SSA with dense ids (every stage), or with nested expressions (the frontend form).

The same kernel gives the same bytes. The first line is a version line, so that a reader of a stored text knows the
grammar. A value is `$id`, followed by its Python name if it has one: `$4 s: f32 = add $2, $3`.
"""

from __future__ import annotations

from collections.abc import Callable

from ..errors import NOWHERE, SourceLocation
from .constants import number_text
from .forms import IRText as IRText
from .functions import Call, CallResult, Function, Reference
from .nodes import Block, Statement, operands
from .ops import OPS
from .sparse import Append, format_sparse
from .statements import (
    ALL,
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    Assert,
    AtomicOp,
    Break,
    Cast,
    Const,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    GlobalTemporary,
    If,
    IfExp,
    IndexCheck,
    IsAligned,
    ListInit,
    ListItem,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Notice,
    Operation,
    Print,
    Rand,
    RangeFor,
    Return,
    StructElement,
    StructFor,
    StructInit,
    StructPtr,
    While,
)
from .tasks import Kernel, Task
from .textures import describe_texture, format_texture
from .threads import Barrier, Collective, Exchange, ThreadFor, ThreadIndex

VERSION_LINE = "shadesmith ir 1"


def print_kernel(kernel: Kernel) -> str:
    """Return `kernel` as flat SSA; tasks come with kind, extents, block size, and the temporaries that link them."""
    return _Flat(kernel).form().text


def print_frontend(kernel: Kernel) -> str:
    """Return `kernel` before `lower`, nested as in the user's program: values are printed where they are used."""
    return _Nested(kernel).form().text


def kernel_text(kernel: Kernel) -> IRText:
    """Return the text of `print_kernel` with the lines of Python."""
    return _Flat(kernel).form()


def frontend_text(kernel: Kernel) -> IRText:
    """Return the text of `print_frontend` with the lines of Python."""
    return _Nested(kernel).form()


def _header(kernel: Kernel) -> list[str]:
    """Return the version line and the signature; fields are listed below it."""
    items = [
        (a.parameter, f"{a.name}: {_array(a)}") for a in kernel.arrays if a.parameter is not None and not a.is_gradient
    ]
    items += [(t.parameter, f"{t.name}: {describe_texture(t)}") for t in kernel.textures]
    items += [(p.position, f"{p.name}: {p.type}") for p in kernel.parameters]
    signature = ", ".join(text for _, text in sorted(items, key=lambda item: item[0]))
    returns = f" -> {', '.join(map(str, kernel.returns))}" if kernel.returns else ""
    lines = [VERSION_LINE, f"kernel {kernel.name}({signature}){returns}"]
    lines += [f"  struct {s} {{{', '.join(f'{name}: {type}' for name, type in s.members)}}}" for s in kernel.structs()]
    lines += [f"  gradient {a.name}: {_array(a)}" for a in kernel.arrays if a.is_gradient]
    lines += [f"  field {a.name}: {_array(a)}" for a in kernel.arrays if a.parameter is None]
    lines += [f"  shared {a.name}: {_array(a)}" for a in kernel.shared]
    return lines + [f"  temporary {t.name}: {t.type}" for t in kernel.temporaries]


def _array(array: Array) -> str:
    extents = "_" * array.ndim if array.shape is None else array.shape
    kind = array.role or ("array" if array.is_shared else "field" if array.parameter is None else "ndarray")
    flags = f"{', strided' if array.strided else ''}{', clamped' if array.clamped else ''}"
    flags += f", rows + {array.padding}" if array.padding else ""
    return f"{kind}[{array.element}, ({', '.join(map(str, extents))}){flags}]"


def _calls(locations: list[SourceLocation]) -> tuple[tuple[tuple[str, int], tuple[str, int]], ...]:
    pairs: set[tuple[tuple[str, int], tuple[str, int]]] = set()
    for location in locations:
        while location.call_site is not None:
            pairs.add(((location.file, location.line), (location.call_site.file, location.call_site.line)))
            location = location.call_site
    return tuple(sorted(pairs))


class _Printer:
    """Collects lines with indentation. locations: one per line. location: of the statement that is being printed."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.lines = _header(kernel)
        self.locations: list[SourceLocation] = [NOWHERE] * len(self.lines)
        self.location = NOWHERE
        self.statements: dict[int, Statement] = {}
        self.depth = 1

    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)
        self.locations.append(self.location)

    def block(self, block: Block) -> None:
        self.depth += 1
        for statement in block.statements:
            self.located(statement)
        self.depth -= 1

    def located(self, statement: Statement) -> None:
        """Print a statement; its closing line has the same location."""
        outer, self.location = self.location, statement.location
        self.statements[len(self.lines) + 1] = statement
        self.statement(statement)
        self.location = outer

    def statement(self, statement: Statement) -> None:
        raise AssertionError  # overridden by both printers

    def other(self, statement: Statement, refs: Callable[[list[Statement]], str]) -> str | None:
        """Return the text of a notice or a statement on sparse nodes or textures, None for others."""
        if isinstance(statement, Notice):
            return f"notice if {refs([statement.condition])}, {statement.message!r}"
        return format_sparse(self.kernel, statement, refs) or format_texture(statement, refs)

    def form(self) -> IRText:
        for function in self.kernel.functions:
            self.function(function)
        self.depth = 0
        if not self.kernel.tasks:
            self.block(self.kernel.body)
        for task in self.kernel.tasks:
            self.depth = 0
            self.task(task)
        locations = enumerate(self.locations, 1)
        lines = tuple(
            (number, location.file, location.line) for number, location in locations if location is not NOWHERE
        )
        text, calls = "\n".join(self.lines) + "\n", _calls(self.locations)
        return IRText(text, lines, calls, self.values(), None, tuple(self.statements.items()))

    def values(self) -> tuple[Statement, ...]:
        """Return the statements that have a number."""
        return ()

    def function(self, function: Function) -> None:
        """Print a real function, indented by one level as a task is."""
        self.depth = 1
        listed = [f"{p.name}: {'ref ' if p.by_reference else ''}{p.type}" for p in function.parameters]
        returns = f" -> {', '.join(map(str, function.results))}" if function.results else ""
        returns += " inline" if function.is_inline else ""
        returns += f" statements={function.statements}" if function.statements is not None else ""
        self.line(f"function {function.name}({', '.join(listed)}){returns} {{")
        self.block(function.body)
        self.line("}")

    def task(self, task: Task) -> None:
        self.depth = 1
        self.line(task.head)
        if task.loop is None:
            self.block(task.body)
        else:
            self.block(task.prologue)
            self.depth += 1
            self.located(task.loop)
            self.depth -= 1
            self.depth += 1
            self.after_loop(task)
            self.depth -= 1
        self.line("}")

    def after_loop(self, task: Task) -> None:
        """Print the reductions of a task, what follows its loop, and what a block and its threads have of their own."""
        for reduction in task.reductions:
            run = f", runs of {reduction.run.type} in {reduction.run.name}" if reduction.run is not None else ""
            self.line(f"reduce {reduction.accumulator.name}: {reduction.accumulator.type} by {reduction.op}{run}")
        if task.reductions:
            self.line(f"epilogue{' of the last block' * bool(task.blocks_done)}{', always' * task.ends_alone} {{")
            self.block(task.epilogue)
            self.line("}")
        if task.tables.statements:
            self.line("tables {")
            self.block(task.tables)
            self.line("}")
        for sums in task.private:
            self.line(f"private {sums.array.name}: {sums.most_threads} copies{' or none' * sums.is_choice}")
        for array in task.block_sums:
            self.line(f"copy of each block: {array.name}")


class _Flat(_Printer):
    """Prints one line per statement; ids are assigned in order of appearance."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.ids: dict[Statement, int] = {}

    def values(self) -> tuple[Statement, ...]:
        """Return the statements that have a number, in the order of these."""
        return tuple(self.ids)

    def ref(self, statement: Statement) -> str:
        """Return the `$id` of a value. Ids are assigned at definitions; `?` marks a use before the definition."""
        if statement in self.ids:
            return f"${self.ids[statement]}"
        return f"$?{type(statement).__name__}"

    def refs(self, statements: list[Statement]) -> str:
        return ", ".join(map(self.ref, statements))

    def tuple(self, statements: list[Statement]) -> str:
        return f"({self.refs(statements)})"

    def result(self, block: Block) -> None:
        if block.result is not None:
            self.depth += 1
            self.line(f"yield {self.ref(block.result)}")
            self.depth -= 1

    def statement(self, statement: Statement) -> None:
        match statement:
            case If():
                self.line(f"if {self.ref(statement.condition)} {{")
                self.block(statement.then)
                if statement.otherwise is not None:
                    self.line("} else {")
                    self.block(statement.otherwise)
                self.line("}")
            case IfExp():
                self.line(f"{self.define(statement)} = if {self.ref(statement.condition)} {{")
                self.block(statement.then)
                self.result(statement.then)
                self.line("} else {")
                self.block(statement.otherwise)
                self.result(statement.otherwise)
                self.line("}")
            case While():
                self.line("while {")
                self.block(statement.condition)
                self.result(statement.condition)
                self.line("} do {")
                self.block(statement.body)
                self.line("}")
            case RangeFor() | StructFor():
                self.line(f"{self.define(statement)} = {self.loop(statement)} {{")
                self.block(statement.body)
                self.line("}")
            case ThreadFor(condition=condition, joined=joined):
                words = {"if": condition, "joining": joined}
                shown = [f" {word} {self.ref(value)}" for word, value in words.items() if value is not None]
                self.line(f"threads{''.join(shown)} {{")
                self.block(statement.body)
                self.line("}")
            case _ if statement.type is not None or (isinstance(statement, Call) and statement.function.results):
                self.line(f"{self.define(statement)} = {self.value(statement)}")
            case _:
                self.line(self.effect(statement))

    def define(self, statement: Statement) -> str:
        """Assign the next id to a value; return it with name and type."""
        self.ids[statement] = len(self.ids)
        name = f" {statement.name}" if statement.name else ""
        return f"${self.ids[statement]}{name}" + (f": {statement.type}" if statement.type is not None else "")

    def loop(self, loop: RangeFor | StructFor) -> str:
        names = ", ".join(loop.names)
        options = "".join(
            (" serialize" if loop.serialize else "", f" block_dim={loop.block_dim}" if loop.block_dim else "")
        )
        if isinstance(loop, RangeFor):
            count = "all" if loop.unroll_count == ALL else loop.unroll_count
            options += "" if loop.grid_stride is None else f" grid_stride={loop.grid_stride}"
            options += " unroll" if loop.unroll else f" unroll={count}" if count else ""
        if isinstance(loop, StructFor):
            return f"for {names} in {loop.array.name}{options}"
        over = f" over {loop.over.name}" if loop.over is not None else ""
        over += " in order of memory" if loop.order else ""
        starts, ends, steps = map(self.tuple, (loop.starts, loop.ends, loop.steps))
        return f"for {names} in {starts}..{ends} step {steps}{over}{options}"

    def value(self, statement: Statement) -> str:
        """Return the right side of a line that defines a value."""
        match statement:
            case Const():
                return f"const {number_text(statement)}"
            case Operation(op=op, operands=values):
                return f"{op} {self.refs(values)}"
            case Cast(value=value, bits=bits):
                return f"{'bit_cast' if bits else 'cast'} {self.ref(value)}"
            case MatrixInit(elements=elements):
                return f"tensor {self.tuple(elements)}"
            case MatrixElement(value=origin, indices=indices):
                return f"element {self.ref(origin)} {self.tuple(indices)}"
            case MatrixPtr(origin=origin, indices=indices):
                return f"element_ptr {self.ref(origin)} {self.tuple(indices)}"
            case ListInit(items=items):
                return f"list {self.tuple(items)}"
            case ListItem(origin=origin, index=index):
                return f"item {self.ref(origin)} {self.ref(index)}"
            case StructInit(values=values):
                return f"struct {self.tuple(values)}"
            case StructElement(value=origin, member=member):
                return f"member {self.ref(origin)}.{member}"
            case StructPtr(origin=origin, member=member):
                return f"member_ptr {self.ref(origin)}.{member}"
            case Rand():
                return "random"
            case LoopIndex(loop=loop, axis=axis):
                return f"index {self.ref(loop)} {axis}"
            case ArgLoad(parameter=parameter):
                return f"arg {parameter.name}"
            case IsAligned(array=array, bytes=size):
                return f"aligned {array.name} {size}"
            case ArrayShape(array=array, axis=axis):
                return f"shape {array.name} {axis}"
            case Alloca(per_thread=per_thread):
                return "alloca per thread" if per_thread else "alloca"
            case ThreadIndex(kind=kind):
                return f"thread index {kind}"
            case Collective() | Exchange():
                return self.together(statement)
            case GlobalPtr(array=array, indices=indices, cell=cell):
                at = "at word" if statement.by_word else "at"
                where = f"{at} {self.ref(indices[0])}" if statement.is_flat else self.tuple(indices)
                where += f" in cell {self.ref(cell)}" if cell is not None else ""
                where += f" and {statement.lanes - 1} after it" if statement.lanes > 1 else ""
                return f"ptr {array.name} {where}"
            case GlobalTemporary(temporary=temporary):
                return f"temporary {temporary.name}"
            case LocalLoad(pointer=pointer) | GlobalLoad(pointer=pointer):
                return f"{'global ' if isinstance(statement, GlobalLoad) else ''}load {self.ref(pointer)}"
            case AtomicOp():
                return f"atomic {statement.op} {', '.join(map(self.ref, operands(statement)))}"
            case Call(function=function, arguments=arguments):
                return f"call {function.name} {self.tuple(arguments)}"
            case CallResult(call=call, position=position):
                return f"result {self.ref(call)} {position}"
            case Reference(parameter=parameter):
                return f"reference {parameter.name}"
        return self.other(statement, self.refs) or type(statement).__name__

    def together(self, statement: Collective | Exchange) -> str:
        """Return the text of a statement that threads execute together."""
        text = f"{statement.op} {self.tuple(statement.operands)}"
        if isinstance(statement, Collective):
            return f"collective {text}" + (f" lanes {self.ref(statement.lanes)}" if statement.lanes is not None else "")
        text += f" into {self.ref(statement.result)}" if statement.result is not None else ""
        return f"exchange {text}" + (f" if {self.ref(statement.condition)}" if statement.condition is not None else "")

    def effect(self, statement: Statement) -> str:
        """Return the line of a statement without a value."""
        match statement:
            case Call():
                return self.value(statement)
            case LocalStore(pointer=pointer, value=value):
                return f"store {self.ref(pointer)}, {self.ref(value)}"
            case GlobalStore(pointer=pointer, value=value):
                return f"global store {self.ref(pointer)}, {self.ref(value)}"
            case Break():
                return "break"
            case Continue():
                return "continue"
            case Barrier(scope=scope, memory_only=memory_only):
                return f"{'memory ' if memory_only else ''}barrier {scope}"
            case Exchange():
                return self.together(statement)
            case Return(values=values):
                return f"return {self.refs(values)}".rstrip()
            case Print(values=values, parts=parts):
                return f"print {_print_parts([self.ref(v) for v in values], parts)}"
            case Assert(condition=condition, values=values, message=message, kind=kind):
                return f"assert {self.ref(condition)}, {kind}, {message!r}, {self.tuple(values)}"
            case IndexCheck(indices=indices, extents=extents, array=array):
                return f"check {array} {self.tuple(indices)} within {self.tuple(extents)}"
        return self.other(statement, self.refs) or type(statement).__name__


def _print_parts(values: list[str], parts: list[str | tuple[int, str]]) -> str:
    strings = [repr(p) if isinstance(p, str) else values[p[0]] + (f":{p[1]}" if p[1] else "") for p in parts]
    return ", ".join(strings)


Text = tuple[str, int]
"""An expression and its precedence: 3 for an atom, 2 for a unary operation, 1 for all others."""


class _Nested(_Printer):
    """Prints Python-like lines. A value is printed where it is used; one with an effect or a name has its own line."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.texts: dict[Statement, Text] = {}
        self.fresh = 0

    def text_of(self, value: Statement, tight: bool = False) -> str:
        text, level = self.texts.get(value, (f"<{type(value).__name__}>", 3))
        return f"({text})" if tight and level < 2 else text

    def texts_of(self, values: list[Statement]) -> str:
        return ", ".join(self.text_of(value) for value in values)

    def statement(self, statement: Statement) -> None:
        match statement:
            case If():
                self.line(f"if {self.text_of(statement.condition)}:")
                self.suite(statement.then)
                if statement.otherwise is not None and statement.otherwise.statements:
                    self.line("else:")
                    self.suite(statement.otherwise)
            case While():
                self.condition(statement.condition)
                self.suite(statement.body)
            case RangeFor() | StructFor():
                self.line(self.loop(statement))
                self.suite(statement.body)
            case LocalStore(pointer=pointer, value=value) | GlobalStore(pointer=pointer, value=value):
                self.line(f"{self.text_of(pointer)} = {self.text_of(value)}")
            case Call() if not statement.function.results:
                self.line(self.expression(statement)[0])
            case AtomicOp() | Rand() | Append() | Call():
                self.bind(statement, self.expression(statement)[0])
            case _ if statement.type is not None:
                self.value(statement)
            case _:
                self.line(self.effect(statement))

    def suite(self, block: Block) -> None:
        before = len(self.lines)
        self.block(block)
        if len(self.lines) == before:
            self.depth += 1
            self.line("pass")
            self.depth -= 1

    def condition(self, block: Block) -> None:
        """Print `while c:`; the statements of the condition are printed between `while` and the body."""
        before = len(self.lines)
        self.line("")
        self.block(block)
        result = self.text_of(block.result) if block.result is not None else "?"
        if len(self.lines) == before + 1:
            self.lines.pop()
            self.locations.pop()
            self.line(f"while {result}:")
            return
        self.lines[before] = "  " * self.depth + "while:"
        self.line(f"test {result}:")

    def bind(self, statement: Statement, text: str) -> None:
        """Print a value on its own line, with its name or a new one."""
        name = statement.name
        if name is None:
            name = f"@{self.fresh}"
            self.fresh += 1
        self.line(f"{name} = {text}")
        self.texts[statement] = (name, 3)

    def value(self, statement: Statement) -> None:
        if isinstance(statement, Alloca):
            self.texts[statement] = (statement.name or f"@{self.fresh}", 3)
            if statement.name is None:
                self.fresh += 1
            self.line(f"{self.texts[statement][0]}: {statement.type}")
        elif isinstance(statement, IfExp):
            self.if_expression(statement)
        elif statement.name is not None and not isinstance(statement, (ArgLoad, LoopIndex, Reference)):
            self.bind(statement, self.expression(statement)[0])
        else:
            self.texts[statement] = self.expression(statement)

    def if_expression(self, statement: IfExp) -> None:
        """Return a conditional expression; statements of its branches are printed on lines before it."""
        for branch in (statement.then, statement.otherwise):
            self.block(branch)
        then, otherwise = statement.then.result, statement.otherwise.result
        texts = [self.text_of(v, True) if v is not None else "?" for v in (then, statement.condition, otherwise)]
        if isinstance(otherwise, Const) and otherwise.value is False:
            text = f"{texts[1]} and {texts[0]}"
        elif isinstance(then, Const) and then.value is True:
            text = f"{texts[1]} or {texts[2]}"
        else:
            text = f"{texts[0]} if {texts[1]} else {texts[2]}"
        if statement.name is not None:
            self.bind(statement, text)
        else:
            self.texts[statement] = (text, 1)

    def loop(self, loop: RangeFor | StructFor) -> str:
        parallel = self.depth == 1 and not loop.serialize
        options = f"  # block_dim={loop.block_dim or 'adaptive'}" if parallel else ""
        names = ", ".join(loop.names)
        if isinstance(loop, StructFor):
            return f"for {names} in {loop.array.name}:{options}"
        ranges = [
            ", ".join(self.text_of(v) for v in bounds)
            for bounds in zip(loop.starts, loop.ends, loop.steps, strict=True)
        ]
        product = " x ".join(f"range({r})" for r in ranges)
        return f"for {names} in {f'static({product})' if loop.unroll else product}:{options}"

    def expression(self, statement: Statement) -> Text:
        match statement:
            case Const():
                return (text := number_text(statement), 3 - text.startswith("-"))
            case Operation():
                return self.operation(statement)
            case Cast(value=value, bits=bits):
                return (f"{'bit_cast' if bits else 'cast'}({self.text_of(value)}, {statement.type})", 3)
            case MatrixInit(elements=elements):
                return (f"[{self.texts_of(elements)}]", 3)
            case MatrixElement(value=origin, indices=indices) | MatrixPtr(origin=origin, indices=indices):
                return (f"{self.text_of(origin, True)}[{self.texts_of(indices)}]", 3)
            case ListInit(items=items):
                return (f"list({self.texts_of(items)})", 3)
            case ListItem(origin=origin, index=index):
                return (f"{self.text_of(origin, True)}[{self.text_of(index)}]", 3)
            case StructInit(values=values):
                return (f"{statement.type}({self.texts_of(values)})", 3)
            case StructElement(value=origin, member=member) | StructPtr(origin=origin, member=member):
                return (f"{self.text_of(origin, True)}.{member}", 3)
            case LoopIndex(loop=loop, axis=axis):
                return (loop.names[axis] if axis < len(loop.names) else f"index{axis}", 3)
            case ArgLoad(parameter=parameter):
                return (parameter.name, 3)
            case IsAligned(array=array, bytes=size):
                return (f"is_aligned({array.name}, {size})", 3)
            case ArrayShape(array=array, axis=axis):
                return (f"{array.name}.shape[{axis}]", 3)
            case GlobalPtr(array=array, indices=indices):
                return (f"{array.name}[{self.texts_of(indices) or None}]", 3)
            case GlobalTemporary(temporary=temporary):
                return (temporary.name, 3)
            case LocalLoad(pointer=pointer) | GlobalLoad(pointer=pointer):
                return self.texts.get(pointer, ("?", 3))
            case AtomicOp(op=op, pointer=pointer, value=value):
                return (f"atomic_{op}({self.text_of(pointer)}, {self.text_of(value)})", 3)
            case Rand():
                return (f"random({statement.type})", 3)
            case Call(function=function, arguments=arguments):
                return (f"{function.name}({self.texts_of(arguments)})", 3)
            case CallResult(call=call, position=position):
                return (f"{self.text_of(call)}[{position}]", 3)
            case Reference(parameter=parameter):
                return (parameter.name, 3)
        return (self.other(statement, self.texts_of) or type(statement).__name__, 3)

    def operation(self, statement: Operation) -> Text:
        symbol = OPS[statement.op].symbol

        values = [self.text_of(value, True) for value in statement.operands]
        if symbol and len(values) == 2:
            return (f"{values[0]} {symbol} {values[1]}", 1)
        if symbol and len(values) == 1:
            return (f"{symbol}{' ' if symbol == 'not' else ''}{values[0]}", 2)
        return (f"{statement.op}({self.texts_of(statement.operands)})", 3)

    def effect(self, statement: Statement) -> str:
        match statement:
            case Break():
                return "break"
            case Continue():
                return "continue"
            case Return(values=values):
                return f"return {self.texts_of(values)}".rstrip()
            case Print(values=values, parts=parts):
                return f"print({_print_parts([self.text_of(v) for v in values], parts)})"
            case Assert(condition=condition, message=message):
                return f"assert {self.text_of(condition)}, {message!r}"
        return self.other(statement, self.texts_of) or type(statement).__name__
