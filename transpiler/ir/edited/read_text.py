"""Reads a kernel back from the text of its final form after a person has edited it.

In: the text, and the kernel that it is an edit of. Out: that kernel with the statements of the text. A line that is as
in the kernel keeps what the text does not show: its line of Python, its order of iteration, its remarks. A value has
any name after `$`, also one that is not a number; lines that start with `//` are comments.

What is declared above the statements, and the tasks, stay those of the kernel: a launcher knows them.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from ..elements.numbers import why_not_flat
from ..functions import Call, CallResult, Function, Reference
from ..nodes import Block, Statement, operands
from ..ops import ATOMIC_OPS, OPS
from ..statements import (
    ALL,
    Alloca,
    ArgLoad,
    ArrayShape,
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
    IsAligned,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Operation,
    Print,
    Rand,
    RangeFor,
    Return,
    StructElement,
    StructInit,
    StructPtr,
    While,
    base_pointer,
)
from ..tasks import Kernel, Task
from ..text import kernel_text
from ..threads import ThreadFor
from ..types import SCALARS, Scalar, Tensor, Type
from .lines import DEFINITION, NAME, Line, TextError, lines_of, plain_line

LOOP = re.compile(
    r"for ([\w, ]*) in \((.*?)\)\.\.\((.*?)\) step \((.*?)\)"
    r"(?: over (\w+))?( in order of memory)?( serialize)?(?: block_dim=(\d+))?"
    r"(?: grid_stride=(True|False))?( unroll(?:=(\d+|all))?)?$"
)
MAX_BLOCK = 1024
TENSOR = re.compile(r"(\w+)\[(\d+(?:x\d+)*)\]")


StatementT = TypeVar("StatementT", bound=Statement)


def read_edited(text: str, kernel: Kernel) -> dict[Statement, int]:
    """Replace the statements of `kernel`, in final form, by those of an edited source of it; return their lines.

    Raises: TextError for what cannot be read.
    """
    form = kernel_text(kernel)
    reader = _Reader(kernel, lines_of(text, form.text, dict(form.statements)))
    reader.run()
    return reader.lines_of_statements


class _Reader:
    """Reads lines in order.

    values: by their names in the text, those that a line may use. ended_in: by name, the line that ended the block of a
    value. loops: around a line.
    """

    def __init__(self, kernel: Kernel, lines: list[Line]) -> None:
        self.kernel, self.lines, self.position = kernel, lines, 0
        self.values: dict[str, Statement] = {}
        self.ended_in: dict[str, int] = {}
        self.loops, self.is_parallel = 0, False
        self.lines_of_statements: dict[Statement, int] = {}
        self.types = _types_of(kernel)
        self.arrays = {array.name: array for array in (*kernel.arrays, *kernel.shared)}
        self.templates = {plain_line(line.text): line.base for line in lines if line.base is not None}
        self.parameters: dict[str, Any] = {}
        self.ended = ""
        listed = kernel_text(kernel)
        statements = dict(listed.statements)
        lines_of_kernel = enumerate(listed.text.splitlines(), 1)
        self.declared = {line.strip() for number, line in lines_of_kernel if number not in statements}

    # --- the outer structure
    def run(self) -> None:
        self._header()
        for function in self.kernel.functions:
            self._function(function)
        for task in self.kernel.tasks:
            self._task(task)
        if self.position < len(self.lines):
            line = self.lines[self.position]
            raise TextError(line.number, f"`{line.text}` is after the last task", "tasks cannot be added")

    def _header(self) -> None:
        expected = []
        for declared in map(str.strip, kernel_text(self.kernel).text.splitlines()):
            if declared.startswith(("task ", "function ")):
                break
            expected.append(declared)
        for wanted in expected:
            line = self._next("the declarations of the kernel")
            if line.text != wanted:
                raise TextError(
                    line.number, f"a declaration was changed: `{line.text}` was `{wanted}`",
                    "an edit changes statements; arguments, fields and temporaries stay as they are",
                )  # fmt: skip

    def _function(self, function: Function) -> None:
        line = self._next(f"function {function.name}")
        if not line.text.startswith(f"function {function.name}("):
            raise TextError(line.number, f"`function {function.name}` was expected, found `{line.text}`")
        self.values, self.ended_in, self.loops, self.is_parallel = {}, {}, 0, False
        self.parameters = {parameter.name: parameter for parameter in function.parameters}
        function.body = self._block()

    def _task(self, task: Task) -> None:
        line = self._next(f"task {task.name}")
        block_dim = f"block_dim={task.block_dim}"
        match = re.fullmatch(re.escape(task.head).replace(block_dim, r"block_dim=(\d+)"), line.text)
        if match is None:
            raise TextError(line.number, f"`{task.head}` was expected, found `{line.text}`", "tasks stay as they are")
        task.block_dim = int(match[1])
        if not 1 <= task.block_dim <= MAX_BLOCK:
            raise TextError(line.number, f"a block has 1 to {MAX_BLOCK} threads, found {task.block_dim}")
        self.values, self.ended_in = {}, {}
        self.is_parallel = task.loop is not None
        self.loops = -1 if self.is_parallel else 0  # the parallel loop cannot be left
        self.parameters = {p.name: p for r in task.reductions for p in (r.accumulator, r.innermost)}
        self.parameters |= {parameter.name: parameter for parameter in self.kernel.parameters}
        if task.loop is None:
            task.body = self._block()
            return
        prologue = self._block(until_loop=True)
        loop = prologue.statements.pop() if prologue.statements else None
        if not isinstance(loop, RangeFor):
            raise TextError(line.number, f"task {task.name} has no loop", "its parallel loop is its last statement")
        task.prologue, task.loop, task.body = prologue, loop, loop.body
        while not self._peek("}"):
            self._after_loop(task)
        self.position += 1

    def _after_loop(self, task: Task) -> None:
        """Read what follows the loop of a task: declarations of reductions, the epilogue, tables."""
        line = self._next("`}`")
        if line.text.startswith("epilogue") and line.text.endswith("{") and task.reductions:
            task.epilogue = self._block()
        elif line.text == "tables {" and task.tables.statements:
            task.tables = self._block()
        elif line.text not in self.declared:
            raise TextError(line.number, f"`{line.text}` cannot follow the loop of a task", "put it into the loop")

    def _next(self, wanted: str) -> Line:
        if self.position >= len(self.lines):
            last = self.lines[-1].number if self.lines else 1
            raise TextError(last, f"the text ends before {wanted}", "is a `}` missing?")
        self.position += 1
        return self.lines[self.position - 1]

    def _peek(self, text: str) -> bool:
        return self.position < len(self.lines) and self.lines[self.position].text == text

    # --- blocks

    def _block(self, until_loop: bool = False, ends: tuple[str, ...] = ("}",)) -> Block:
        """Read statements to the line that ends a block. until_loop: or to the end of its first parallel loop."""
        block, before = Block(), set(self.values)
        while True:
            line = self._next("the end of a block, `}`")
            if line.text in ends:
                self.ended = line.text
                for name in [name for name in self.values if name not in before]:
                    del self.values[name]
                    self.ended_in[name] = line.number
                return block
            if line.text.startswith("}"):
                hint = "a loop is `while {`, its condition, `yield $value`, `} do {`, its body, `}`"
                wanted = " or ".join(f"`{end}`" for end in ends)
                raise TextError(line.number, f"found `{line.text}`, expected {wanted}", hint)
            if line.text.startswith("yield "):
                block.result = self._value(line.text[6:].strip(), line)
                continue
            statement = self._statement(line)
            self.lines_of_statements[statement] = line.number
            block.statements.append(statement)
            if until_loop and isinstance(statement, RangeFor):
                return block

    def _statement(self, line: Line) -> Statement:
        match = DEFINITION.fullmatch(line.text)
        if match is None:
            if "=" in line.text.split("(")[0] and line.text.startswith("$"):
                raise TextError(line.number, f"`{line.text}` is no definition", "write `$name: type = operation ...`")
            return self._effect(line)
        name, python, type_text, right = match.groups()
        if name in self.values or name in self.ended_in:
            raise TextError(line.number, f"`${name}` is defined twice", "give the new value another name, `$new`")
        type = self._type(type_text, line) if type_text else None
        statement = self._defined(line, right, type)
        statement.name, statement.type = python, type
        if not isinstance(statement, RangeFor):  # a loop is known inside already
            self.values[name] = statement
        return statement

    def _defined(self, line: Line, right: str, type: Type | None) -> Statement:
        """Return the statement that defines a value."""
        if right.endswith("{"):
            return self._with_blocks(line, right[:-1].strip(), type)
        if line.base is not None:
            return self._cloned(line, line.base)
        return self._at(line, self._made(line, right, type))

    def _with_blocks(self, line: Line, head: str, type: Type | None) -> Statement:
        condition = re.fullmatch(r"if \$(\w+)", head)
        if condition is not None:
            then_value = self._named(condition[1], line)
            then = self._block(ends=("} else {",))
            otherwise = self._block()
            if then.result is None or otherwise.result is None:
                raise TextError(line.number, "both blocks of a conditional value end in `yield $value`")
            made: IfExp = self._copy(line, IfExp) or IfExp(then_value, then, otherwise)
            made.condition, made.then, made.otherwise = then_value, then, otherwise
            return self._at(line, made)
        return self._loop(line, head)

    def _loop(self, line: Line, head: str) -> RangeFor:
        match = LOOP.fullmatch(head)
        if match is None:
            raise TextError(line.number, f"`{head}` is no loop", "write `for i in ($start)..($end) step ($step)`")
        names, starts, ends, steps, over, ordered, serialize, block_dim, stride, unroll, count = match.groups()
        bounds = [self._all(text, line) for text in (starts, ends, steps)]
        loop: RangeFor = self._copy(line, RangeFor) or RangeFor(bounds[0], bounds[1], bounds[2], [])
        loop.starts, loop.ends, loop.steps = bounds
        loop.names = [name.strip() for name in names.split(",")]
        loop.serialize, loop.unroll = bool(serialize), unroll == " unroll"
        loop.grid_stride = None if stride is None else stride == "True"
        loop.unroll_count = ALL if count == "all" else int(count or 0)
        loop.block_dim = int(block_dim) if block_dim else None
        if loop.over is None or loop.over.name != over:  # the array itself may be split into parts
            loop.over = self._array(over, line) if over else None
        if bool(ordered) != bool(loop.order):
            raise TextError(line.number, "`in order of memory` stays as it is", "restore the line")
        if len({len(loop.names), *map(len, bounds)}) != 1:
            raise TextError(line.number, "a loop has as many starts, ends and steps as indices")
        definition = DEFINITION.fullmatch(line.text)
        assert definition is not None
        self.values[definition[1]] = loop
        self._at(line, loop)
        self.loops += 1
        loop.body = self._block()
        self.loops -= 1
        return loop

    def _effect(self, line: Line) -> Statement:
        """Return a statement without a value."""
        text = line.text
        if text == "while {":
            condition = self._block(ends=("} do {",))
            if condition.result is None:
                raise TextError(line.number, "the condition of `while` ends in `yield $value`")
            loop: While = self._copy(line, While) or While(condition)
            self.loops += 1
            loop.condition, loop.body = condition, self._block()
            self.loops -= 1
            return self._at(line, loop)
        if match := re.fullmatch(r"if \$(\w+) \{", text):
            value = self._named(match[1], line)
            made: If = self._copy(line, If) or If(value, is_python=True)
            made.condition, made.then = value, self._block(ends=("}", "} else {"))
            made.otherwise = self._block() if self.ended != "}" else None
            return self._at(line, made)
        if line.base is not None:
            cloned = self._cloned(line, line.base)
            if isinstance(cloned, ThreadFor):
                cloned.body = self._block()
            return cloned
        return self._at(line, self._made_effect(line))

    # --- lines that are as in the kernel

    def _copy(self, line: Line, kind: Any) -> Any:
        """Return a copy of the statement with the same line, None if it is of another kind."""
        return copy.copy(line.base) if isinstance(line.base, kind) else None

    def _cloned(self, line: Line, base: Statement) -> Statement:
        """Return a copy of a statement with the operands that the line names."""
        made = copy.copy(base)
        definition = DEFINITION.fullmatch(line.text)
        values = [self._named(name, line) for name in NAME.findall(definition[4] if definition else line.text)]
        if isinstance(made, LoopIndex):
            made.loop = self._loop_of(values, line)
            return made
        if isinstance(made, Print):
            printed = dict(zip((part[0] for part in made.parts if not isinstance(part, str)), values))
            made.values = [printed.get(k, value) for k, value in enumerate(made.values)]
            if len(printed) != len(made.values):
                raise TextError(line.number, "this `print` cannot be edited", "restore the line")
            return made
        if len(values) != len(operands(made)):
            raise TextError(line.number, f"`{line.text}` has {len(values)} values, expected {len(operands(made))}")
        rest = iter(values)
        for attribute in made.OPERANDS:
            old = getattr(made, attribute)
            if isinstance(old, list):
                setattr(made, attribute, [next(rest) for _ in old])
            elif old is not None:
                setattr(made, attribute, next(rest))
        return made

    def _at(self, line: Line, statement: StatementT) -> StatementT:
        """Return a statement with the line of Python of its line."""
        if line.base is None:
            statement.location, statement.remarks = line.location, ()
        return statement

    # --- new lines

    def _made(self, line: Line, right: str, type: Type | None) -> Statement:
        op, _, rest = right.partition(" ")
        made: Statement | None = None
        if type is None:
            raise TextError(line.number, "a value has a type", f"write `$name: f32 = {right}`")
        if (maker := _MAKERS.get(op)) is not None:
            made = maker(self, line, rest, type)
        elif op in OPS:
            values = self._all(rest, line)
            if len(values) != OPS[op].arity:
                raise TextError(line.number, f"`{op}` takes {OPS[op].arity} values, found {len(values)}")
            made = Operation(op, values)
        if made is None:
            template = self.templates.get(plain_line(line.text))
            if template is None:
                raise TextError(line.number, f"`{right}` is no operation that an edit can add", _hint(op))
            made = self._cloned(line, template)
        return made

    def _made_effect(self, line: Line) -> Statement:
        text = line.text
        if match := re.fullmatch(r"(global )?store \$(\w+), \$(\w+)", text):
            kind = GlobalStore if match[1] else LocalStore
            pointer = self._pointer(match[2], line, bool(match[1]))
            return kind(pointer, self._named(match[3], line))
        if text in ("break", "continue"):
            if self.loops < (0 if text == "continue" and self.is_parallel else 1):
                raise TextError(line.number, f"`{text}` is in no loop that it could leave", "put it into an inner loop")
            return Break() if text == "break" else Continue()
        if match := re.fullmatch(r"return ?(.*)", text):
            return Return(self._all(match[1], line))
        template = self.templates.get(plain_line(text))
        if template is None:
            raise TextError(line.number, f"`{text}` is no statement that an edit can add", _hint(text.split(" ")[0]))
        return self._cloned(line, template)

    def _pointer(self, name: str, line: Line, is_global: bool) -> Statement:
        pointer = self._named(name, line)
        base = base_pointer(pointer)
        if is_global != isinstance(base, (GlobalPtr, GlobalTemporary)):
            right = "an element of an array, `ptr`, or a temporary" if is_global else "a variable, `alloca`"
            raise TextError(
                line.number, f"`${name}` is not {right}", "`global` comes before loads and stores of arrays"
            )
        return pointer

    # --- names

    def _named(self, name: str, line: Line) -> Statement:
        if name not in self.values:
            if name in self.ended_in:
                message = f"`${name}` is of a block that line {self.ended_in[name]} ends"
                raise TextError(line.number, message, "a variable, `alloca` before the block, takes a value out of it")
            raise TextError(line.number, f"`${name}` is not defined before this line")
        return self.values[name]

    def _value(self, text: str, line: Line) -> Statement:
        match = NAME.fullmatch(text)
        if match is None:
            raise TextError(line.number, f"`{text}` is no value", "a value is written `$name`")
        return self._named(match[1], line)

    def _all(self, text: str, line: Line) -> list[Statement]:
        return [self._value(part.strip(), line) for part in text.split(",") if part.strip()]

    def _loop_of(self, values: Sequence[Statement], line: Line) -> RangeFor:
        if len(values) != 1 or not isinstance(values[0], RangeFor):
            raise TextError(line.number, "`index` takes a loop and the number of an axis: `index $loop 0`")
        return values[0]

    def _array(self, name: str, line: Line) -> Any:
        if name not in self.arrays:
            raise TextError(line.number, f"there is no array `{name}`", f"there are {', '.join(self.arrays) or 'none'}")
        return self.arrays[name]

    def _type(self, text: str, line: Line) -> Type:
        found = self.types.get(text.strip())
        match = TENSOR.fullmatch(text.strip())
        if found is None and match is not None and match[1] in SCALARS:
            found = Tensor(tuple(int(extent) for extent in match[2].split("x")), SCALARS[match[1]])
        if found is None:
            raise TextError(line.number, f"`{text.strip()}` is no type", "f32, i32, u1, f32[3], f32[2x2], ...")
        return found


def _types_of(kernel: Kernel) -> dict[str, Type]:
    """Return the types by the text that shows them."""
    found: dict[str, Type] = dict(SCALARS)
    statements: Iterator[Statement] = kernel.statements()
    types = [statement.type for statement in statements] + [array.element for array in kernel.arrays]
    found.update((str(type), type) for type in types if type is not None)
    found.update((struct.name, struct) for struct in kernel.structs())
    return found


def _hint(word: str) -> str:
    known = sorted({*OPS, *_MAKERS})
    close = [name for name in known if word and (name.startswith(word) or word.startswith(name))]
    return f"did you mean `{close[0]}`?" if close else "copy a line of the generated source, and change its values"


# --- constructors of values, by the first word of their line

Maker = Callable[[_Reader, Line, str, Type], "Statement | None"]


def _const(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    special = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
    try:
        value = special[rest] if rest in special else ast.literal_eval(rest)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = None
    if not isinstance(value, (bool, int, float)) or not isinstance(type, Scalar):
        raise TextError(line.number, f"`{rest}` is no number", "write `$name: f32 = const 1.5`")
    number = type(value)
    if type.is_integral and number != value:
        raise TextError(line.number, f"{rest} does not fit {type}")
    return Const(number, notation=rest.lower() if rest[:2].lower() in ("0x", "0b") else "")


def _cast(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    return Cast(reader._value(rest, line))


def _bit_cast(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    return Cast(reader._value(rest, line), bits=True)


def _parts(reader: _Reader, line: Line, rest: str, pattern: str, usage: str) -> re.Match[str]:
    match = re.fullmatch(pattern, rest)
    if match is None:
        raise TextError(line.number, f"`{rest}` was found, `{usage}` expected")
    return match


def _tensor(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    values = reader._all(_parts(reader, line, rest, r"\((.*)\)", "tensor ($a, $b)")[1], line)
    if not isinstance(type, Tensor) or type.size != len(values):
        raise TextError(line.number, f"{type} is not made of {len(values)} values")
    return MatrixInit(values)


def _struct(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    return StructInit(reader._all(_parts(reader, line, rest, r"\((.*)\)", "struct ($a, $b)")[1], line))


def _element(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    match = _parts(reader, line, rest, r"\$(\w+) \((.*)\)", "element $value ($index)")
    return MatrixElement(reader._named(match[1], line), reader._all(match[2], line))


def _element_ptr(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    match = _parts(reader, line, rest, r"\$(\w+) \((.*)\)", "element_ptr $pointer ($index)")
    return MatrixPtr(reader._named(match[1], line), reader._all(match[2], line))


def _member(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    match = _parts(reader, line, rest, r"\$(\w+)\.(\w+)", "member $value.name")
    return StructElement(reader._named(match[1], line), match[2])


def _member_ptr(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    match = _parts(reader, line, rest, r"\$(\w+)\.(\w+)", "member_ptr $pointer.name")
    return StructPtr(reader._named(match[1], line), match[2])


def _index(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    match = _parts(reader, line, rest, r"\$(\w+) (\d+)", "index $loop 0")
    loop = reader._loop_of([reader._named(match[1], line)], line)
    if int(match[2]) >= len(loop.names):
        raise TextError(line.number, f"the loop has {len(loop.names)} axes, counted from 0")
    return LoopIndex(loop, int(match[2]))


def _arg(reader: _Reader, line: Line, rest: str, type: Type) -> ArgLoad:
    if rest not in reader.parameters:
        known = ", ".join(reader.parameters) or "none"
        raise TextError(line.number, f"there is no argument `{rest}`", f"there are {known}")
    return ArgLoad(reader.parameters[rest])


def _reference(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    return Reference(_arg(reader, line, rest, type).parameter)


def _shape(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    match = _parts(reader, line, rest, r"(\w+) (\d+)", "shape array 0")
    return ArrayShape(reader._array(match[1], line), int(match[2]))


def _ptr(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    pattern = r"(\w+) (?:\((.*)\)|at (word )?(\$\w+))(?: in cell \$(\w+))?(?: and (\d+) after it)?"
    match = _parts(reader, line, rest, pattern, "ptr array ($i, $j)")
    array, indices = reader._array(match[1], line), reader._all(match[4] or match[2], line)
    if match[4] and (reason := why_not_flat(array)):
        raise TextError(line.number, f"`{match[1]}` has no elements by number: {reason}")
    if not match[4] and len(indices) != array.ndim:
        raise TextError(line.number, f"`{match[1]}` has one index for each axis, {array.ndim}; found {len(indices)}")
    cell = reader._named(match[5], line) if match[5] else None
    return GlobalPtr(array, indices, cell, int(match[6] or 0) + 1, match[4] is not None, match[3] is not None)


def _aligned(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    match = _parts(reader, line, rest, r"(\w+) (\d+)", "aligned array 16")
    return IsAligned(reader._array(match[1], line), int(match[2]))


def _temporary(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    found = next((t for t in reader.kernel.temporaries if t.name == rest), None)
    if found is None:
        raise TextError(line.number, f"there is no temporary `{rest}`")
    return GlobalTemporary(found)


def _load(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    return LocalLoad(reader._pointer(_parts(reader, line, rest, r"\$(\w+)", "load $variable")[1], line, False))


def _global(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    return GlobalLoad(reader._pointer(_parts(reader, line, rest, r"load \$(\w+)", "global load $ptr")[1], line, True))


def _atomic(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    match = _parts(reader, line, rest, r"(\w+) \$(\w+), \$(\w+)", "atomic add $pointer, $value")
    if match[1] not in ATOMIC_OPS:
        raise TextError(line.number, f"`{match[1]}` is no atomic operation", f"there are {', '.join(ATOMIC_OPS)}")
    return AtomicOp(match[1], reader._named(match[2], line), reader._named(match[3], line))


def _alloca(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    return Alloca(per_thread=rest == "per thread")


def _call(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    match = _parts(reader, line, rest, r"(\w+) \((.*)\)", "call function ($a, $b)")
    function = next((f for f in reader.kernel.functions if f.name == match[1]), None)
    if function is None:
        raise TextError(line.number, f"there is no function `{match[1]}`")
    return Call(function, reader._all(match[2], line))


def _result(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    match = _parts(reader, line, rest, r"\$(\w+) (\d+)", "result $call 0")
    call = reader._named(match[1], line)
    if not isinstance(call, Call):
        raise TextError(line.number, f"`${match[1]}` is no call")
    return CallResult(call, int(match[2]))


def _random(reader: _Reader, line: Line, rest: str, type: Type) -> Statement:
    return Rand()


_MAKERS: dict[str, Maker] = {
    "const": _const, "cast": _cast, "bit_cast": _bit_cast, "tensor": _tensor, "struct": _struct, "element": _element,
    "element_ptr": _element_ptr, "member": _member, "member_ptr": _member_ptr, "index": _index, "arg": _arg,
    "reference": _reference, "shape": _shape, "ptr": _ptr, "temporary": _temporary, "load": _load, "global": _global,
    "aligned": _aligned, "atomic": _atomic, "alloca": _alloca, "call": _call, "result": _result, "random": _random,
}  # fmt: skip
