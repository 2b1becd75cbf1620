"""Random statements: variables, branches, loops, stores, atomic operations, and the loops that run in parallel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

from .arrays import ArrayInfo
from .scalars import INTEGERS, Value, is_real, promote, width
from .tensors import LETTERS, LIMIT, Tensors

MOST_TRIPS = 8
"""Iterations of all serial loops around a statement, multiplied: the interpreter is slow."""
MOST_OPERATIONS = 16
"""In one statement."""
MOST_STATEMENTS = 30
"""In one function."""
DEEPEST = 5
"""Blocks in blocks."""
PAD = "    "


@dataclass
class Access:
    """How a loop may use an array. own: the index of the iteration's own cell, None if there is none.

    anywhere: any cell may be read. atomic: operators that any cell may be changed with.
    """

    own: str | None = None
    anywhere: bool = False
    atomic: tuple[str, ...] = ()


@dataclass
class Loop:
    """A loop around a statement. trips: at most; breaks: whether it may be left."""

    trips: int
    breaks: bool = True


class Statements(Tensors):
    """The statements of one function or kernel at a time."""

    arrays: list[ArrayInfo]
    structs: dict[str, list[Value]]
    """Members of struct types, by name."""
    changers: list[tuple[str, str, str, bool]]
    """Functions that change their first argument: name, its type, that of the second, whether it is a `ti.ref`."""
    more_statements: list[tuple[float, Callable[[], None]]] = []
    """Further makers of statements, with their weights."""
    reduced: Value | None = None
    """The variable of the kernel that a parallel loop reduces: it is not in sight."""

    def reset(self) -> None:
        """Forget the last function."""
        self.lines: list[str] = []
        self.depth = 1
        self.left = MOST_STATEMENTS
        self.names = 0
        self.scopes: list[list[Value]] = [[]]
        self.fixed: set[str] = set()
        self.loops: list[Loop] = []
        self.access: dict[str, Access] = {}
        self.serial = True
        self.pure = False
        self.result_type: str | None = None
        self.parallel = False
        self.reduced: Value | None = None

    # --- what is in sight

    def in_sight(self) -> Sequence[Value]:
        return [value for scope in self.scopes for value in scope if value is not self.reduced]

    def read(self, wanted: Callable[[str], bool], depth: int, exact: bool) -> Value | None:
        if self.pure:
            return None
        array = self.readable(wanted, exact, lambda tensor: not tensor or self.policy.tensors > 0)
        if array is None:
            return None
        bound = 64.0 if is_real(array.dtype) else 0.0
        element = f"[{self.component_index(array.tensor, depth)}]" if array.tensor else ""
        return Value(f"{array.at(self.index(array, depth))}{element}", array.dtype, bound, array.exact)

    def read_tensor(
        self, shape: tuple[int, ...], wanted: Callable[[str], bool], depth: int, exact: bool
    ) -> Value | None:
        array = None if self.pure else self.readable(wanted, exact, lambda tensor: tensor == shape)
        if array is None:
            return None
        return Value(array.at(self.index(array, depth)), array.dtype, LIMIT, array.exact, shape)

    def readable(
        self, wanted: Callable[[str], bool], exact: bool, fits: Callable[[tuple[int, ...]], bool]
    ) -> ArrayInfo | None:
        found = [
            array
            for array in self.arrays
            if wanted(array.dtype) and fits(array.tensor) and (array.exact or not exact)
            and (self.serial or self.may_read(array))
        ]  # fmt: skip
        return self.random.choice(found) if found else None

    def may_read(self, array: ArrayInfo) -> bool:
        access = self.access.get(array.name, Access())
        return access.anywhere or access.own is not None

    def index(self, array: ArrayInfo, depth: int) -> str:
        """Return an index of an array that may be read there; the own one if it may be written too."""
        if not self.serial:
            access = self.access[array.name]
            if access.own is not None:
                return access.own
        return self.any_index(array, depth)

    def any_index(self, array: ArrayInfo, depth: int) -> str:
        if not array.shape:
            return "None"
        if array.clamps and self.chance(0.5):  # any number is an index
            return ", ".join(
                self.as_type(self.at_run_time(self.integer(min(depth, 1))), "i32").text for _ in array.shape
            )
        return ", ".join(self.small_index(extent, depth) for extent in array.shape)

    def small_index(self, extent: int, depth: int) -> str:
        found = [
            v
            for v in self.in_sight()
            if not v.shape and v.type == "i32" and 0 < v.bound <= extent and v.text in self.fixed
        ]
        if found and self.chance(0.6):
            return self.random.choice(found).text
        text = self.small(min(depth, 1), extent).text
        return text[1:-1] if text.startswith("(") else text

    # --- writing lines

    def line(self, text: str) -> None:
        self.lines.append(PAD * self.depth + text)

    def name(self, prefix: str = "x") -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    def block(
        self, head: str, write: Callable[[], None], loop: Loop | None = None, scope: Sequence[Value] = ()
    ) -> None:
        """Write a block of statements in a scope of its own."""
        self.line(head)
        self.depth += 1
        self.scopes.append(list(scope))
        if loop is not None:
            self.loops.append(loop)
        write()
        if not self.is_left():
            self.sink()
        if loop is not None:
            self.loops.pop()
        self.scopes.pop()
        self.depth -= 1

    def is_left(self) -> bool:
        """Return whether the last line leaves its block, so that nothing may follow."""
        return self.lines[-1].split()[0] in ("break", "continue", "return")

    def begin_total(self) -> None:
        """Write the variable that depends on all others of a function or of an iteration."""
        self.total = self.name("t")
        self.line(f"{self.total} = {self.random.randint(0, 99)}")

    def sink(self) -> None:
        """Let variables that end here change the total, so that what they are is seen."""
        found = [v for v in self.scopes[-1] if v.text not in self.fixed and v.exact]
        for value in self.random.sample(found, min(len(found), 3)):
            if value.shape:
                index = ", ".join(str(self.random.randrange(extent)) for extent in value.shape)
                value = replace(value, text=f"{value.text}[{index}]", shape=())
            number = f"ti.cast({value.text}{' * 4.0' if is_real(value.type) else ''}, ti.i32)"
            self.line(self.random.choice((
                f"{self.total} = {self.total} * 31 + {number}", f"{self.total} += {number}", f"{self.total} ^= {number}",
            )))  # fmt: skip

    def body(self) -> None:
        self.statement()
        for _ in range(self.random.randrange(self.policy.length)):
            if self.left > 0:
                self.statement()

    def trips(self) -> int:
        return prod(loop.trips for loop in self.loops)

    # --- statements

    def statement(self) -> None:
        """Write one statement, with what is inside it."""
        self.left -= 1
        self.room = MOST_OPERATIONS
        kind = self.random.random()
        if self.depth < DEEPEST and kind < self.policy.branches:
            self.branch()
        elif (
            self.depth < DEEPEST and kind < self.policy.branches + self.policy.loops and self.trips() * 2 <= MOST_TRIPS
        ):
            self.random.choice((self.for_range, self.for_range, self.while_loop, self.for_static, self.for_ndrange))()
        else:
            makers = [
                (4, self.define), (4, self.assign), (2, self.augment), (5, self.store), (2, self.atomic), (1, self.leave),
                (1, self.swap), (2, self.change_by_call), *self.more_statements,
            ]  # fmt: skip
            self.random.choices([m for _, m in makers], [w for w, _ in makers])[0]()

    def define(self) -> None:
        """Write a new variable."""
        name = self.name()
        kind = self.random.random()
        depth = self.policy.depth
        if kind < 0.12:
            value = Value(name, "u1")
            text = self.condition(depth)
        elif self.structs and self.chance(self.policy.structs):
            self.define_struct(name)
            return
        elif self.chance(self.policy.tensors):
            made = self.tensor(depth, self.tensor_shape(), self.chance(self.policy.reals_share), self.chance(0.7))
            value, text = replace(made, text=name, bound=LIMIT), made.text
        elif kind < 0.12 + self.policy.reals_share:
            made = self.real(depth, exact=self.chance(0.7))
            limit, type = 64.0, made.type
            text = made.text
            if made.bound > limit:
                text, type = f"ti.max(ti.min({text}, {limit}), -{limit})", promote(type, "f32")
            value = Value(name, type, limit, made.exact)
        else:
            made = self.integer(depth)
            value, text = Value(name, made.type), made.text
        self.line(f"{name} = {text}")
        self.scopes[-1].append(value)

    def define_struct(self, name: str) -> None:
        """Write a new variable of a struct type, whose members are variables."""
        struct = self.random.choice(list(self.structs))
        values = [replace(value, text=f"{name}.{value.text}") for value in self.structs[struct]]
        items = [self.fitting(value).text for value in values]
        if self.chance(0.5):
            items = [f"{value.text}={item}" for value, item in zip(self.structs[struct], items)]
        self.line(f"{name} = {struct}({', '.join(items)})")
        self.scopes[-1] += values

    def assignable(self, wanted: Callable[[Value], bool]) -> Value | None:
        found = [value for value in self.in_sight() if value.text not in self.fixed and wanted(value)]
        if self.parallel:  # variables of the kernel are shared by all iterations
            shared = {value.text for value in self.shared}
            found = [value for value in found if value.text not in shared]
        return self.random.choice(found) if found else None

    def assign(self) -> None:
        """Write an assignment to a variable."""
        target = self.assignable(lambda value: True)
        if target is None:
            self.define()
            return
        if target.shape and self.chance(0.6):
            self.change_tensor(target.text, target)
            return
        self.line(f"{target.text} = {self.fitting(target).text}")

    def may_augment(self, type: str, where: str) -> bool:
        """Return whether `where += x` is possible: it may be atomic, and not all targets have small atomics."""
        is_certainly_own = not self.parallel or "- (" not in where
        return type in INTEGERS and (width(type) >= 32 or self.dialect.narrow_atomics or is_certainly_own)

    def change_tensor(self, where: str, target: Value, array: ArrayInfo | None = None) -> None:
        """Write a change of a component, of several, or of all, of a variable or of an array's element."""
        number = replace(target, shape=())
        kind = self.random.random()
        if kind < 0.5:
            component = self.changed_component(array) if array else self.component_index(target.shape, 1)
            element = f"{where}[{component}]"
            if self.may_augment(target.type, where) and self.chance(0.5):
                self.line(f"{element} {self.augmented(target.type, is_plain=not target.bound)}")
                return
            self.line(f"{element} = {self.fitting(number).text}")
        elif kind < 0.7 and len(target.shape) == 1 and target.shape[0] <= 4:
            letters = "".join(self.random.sample(LETTERS[: target.shape[0]], self.random.randint(1, 2)))
            of = number if len(letters) == 1 else replace(number, shape=(2,))
            self.line(f"{where}.{letters} = {self.fitting(of).text}")
        elif self.may_augment(target.type, where):
            value = self.fitting(target)
            self.line(f"{where} {self.random.choice(('+=', '-=', '&=', '|=', '^='))} {value.text}")
        else:
            self.line(f"{where} = {self.fitting(target).text}")

    def fitting(self, target: Value) -> Value:
        """Return a value for a variable or an element: cast by the store, and within its bound."""
        depth = self.policy.depth
        if target.type == "u1":
            return Value(self.condition(depth), "u1")
        if target.shape:
            value = self.tensor(depth, target.shape, is_real(target.type), target.exact)
            return (
                value
                if self.dialect.casting_stores
                else replace(value, text=f"ti.cast({value.text}, ti.{target.type})")
            )
        if target.type in INTEGERS:
            value = self.integer(depth)
            return value if self.dialect.casting_stores else self.as_type(self.at_run_time(value), target.type)
        value = self.real(depth, exact=target.exact)
        if value.bound > target.bound:
            text = f"ti.max(ti.min({value.text}, {target.bound}), -{target.bound})"
            return Value(text, promote(value.type, "f32"), target.bound)
        return value

    def augment(self) -> None:
        """Write `x += y` and the like."""
        target = self.assignable(lambda value: not value.shape and value.type in INTEGERS)
        if target is None:
            self.define()
            return
        self.line(f"{target.text} {self.augmented(target.type)}")

    def augmented(self, type: str, is_plain: bool = True) -> str:
        """Return an operator and an operand for an integer variable or element of a type."""
        operators = ("+=", "-=", "&=", "|=", "^=", "+=", "*=", "//=", "%=", "<<=", ">>=", "**=")
        operator = self.random.choice(operators if is_plain else operators[:6])
        if operator in ("//=", "%="):
            if width(type) == 8 and not self.dialect.narrow_division:
                return f"^= {self.integer(1).text}"
            return f"{operator} {self.divisor(1).text}"
        if operator in ("<<=", ">>="):
            return f"{operator} {self.random.randrange(width(type))}"
        if operator == "**=":
            return f"{operator} {self.random.randint(self.least_exponent, 5)}"
        return f"{operator} {self.changing(self.policy.depth, type)}"

    def changing(self, depth: int, type: str) -> str:
        """Return an integer that an element of a type is changed with."""
        value = self.integer(depth)
        return value.text if self.dialect.casting_stores else self.as_type(self.at_run_time(value), type).text

    def swap(self) -> None:
        """Write `a, b = b, a` of two variables of one type."""
        a = self.assignable(lambda value: True)
        b = a and self.assignable(
            lambda value: (
                value.shape == a.shape and value.type == a.type and value.exact == a.exact and value.text != a.text
            )
        )
        if a is None or b is None or a.bound != b.bound:
            self.define()
            return
        self.line(f"{a.text}, {b.text} = {b.text}, {a.text}")

    def change_by_call(self) -> None:
        """Write a call of a function that changes a variable of the caller."""
        found = [changer for changer in self.changers if not (self.pure and changer[3])]
        if not found:
            self.assign()
            return
        name, type, other, _ = self.random.choice(found)
        target = self.assignable(lambda value: not value.shape and value.type == type and "." not in value.text)
        if target is None:
            fresh = self.name()
            self.line(f"{fresh} = {self.as_type(self.at_run_time(self.integer(1)), type).text}")
            target = Value(fresh, type)
            self.scopes[-1].append(target)
        argument = self.as_type(self.at_run_time(self.integer(1)), other)
        self.line(f"{name}({target.text}, {argument.text})")

    def writable(self) -> list[ArrayInfo]:
        if self.pure:
            return []
        if self.serial:
            return list(self.arrays)
        return [array for array in self.arrays if self.access.get(array.name, Access()).own is not None]

    def store(self) -> None:
        """Write to an element of an array."""
        found = self.writable()
        if not found:
            self.assign()
            return
        array = self.random.choice(found)
        where = array.at(self.index(array, 1))
        if array.tensor:
            target = Value(where, array.dtype, 64.0, array.exact, array.tensor)
            if self.chance(0.4):
                self.line(f"{where} = {self.fitting(target).text}")
            else:
                self.change_tensor(where, target, array)
            return
        if self.may_augment(array.dtype, where) and self.chance(0.4):
            operator = self.augmented(array.dtype)
            if self.serial or not self.parallel or operator[:2] in ("+=", "-=", "&=", "|=", "^="):
                self.line(f"{where} {operator}")
                return
        self.line(f"{where} = {self.fitting(Value(where, array.dtype, 64.0, array.exact)).text}")

    def atomic(self) -> None:
        """Write an atomic operation: with a result in serial code, without one in parallel code."""
        if self.pure:
            self.assign()
            return
        arrays = [
            a for a in self.arrays if a.dtype in INTEGERS and (width(a.dtype) >= 32 or self.dialect.narrow_atomics)
        ]
        if self.serial:
            if not arrays:
                self.store()
                return
            array = self.random.choice(arrays)
            operator = self.random.choice(("add", "sub", "min", "max", "and", "or", "xor"))
            call = f"ti.atomic_{operator}({self.any_place(array)}, {self.changing(1, array.dtype)})"
            if self.chance(0.6):
                name = self.name()
                self.line(f"{name} = {call}")
                self.scopes[-1].append(Value(name, array.dtype))
            else:
                self.line(call)
            return
        found = [array for array in arrays if self.access.get(array.name, Access()).atomic]
        if not found:
            self.store()
            return
        array = self.random.choice(found)
        operator = self.random.choice(self.access[array.name].atomic)
        where = self.any_place(array)
        value = self.changing(1, array.dtype)
        self.line(f"{where} {operator} {value}" if operator.endswith("=") else f"ti.{operator}({where}, {value})")

    def any_place(self, array: ArrayInfo) -> str:
        """Return an element of an array, of one of tensors a component."""
        where = array.at(self.any_index(array, 1))
        return f"{where}[{self.changed_component(array)}]" if array.tensor else where

    def leave(self) -> None:
        """Write a conditional break, continue or return."""
        options = []
        if self.loops:
            options += ["continue", "break"] if self.loops[-1].breaks else ["continue"]
        if self.result_type is not None and not self.parallel and not (self.loops and self.loops[0].trips > 1000):
            options.append("return")
        if not options:
            self.define()
            return
        what = self.random.choice(options)
        self.line(f"if {self.condition(1)}:")
        if what == "return":
            what = f"return {self.returned(self.result_type).text}"
        self.line(PAD + what)

    def returned(self, type: str) -> Value:
        raise NotImplementedError

    def branch(self) -> None:
        """Write an `if` with its other sides."""
        self.block(f"if {self.condition(self.policy.depth)}:", self.body)
        while self.chance(0.25):
            self.block(f"elif {self.condition(1)}:", self.body)
        if self.chance(0.4):
            self.block("else:", self.body)

    def loop_index(self, trips: int, low: int = 0) -> Value:
        name = self.name("k")
        self.fixed.add(name)
        return Value(name, "i32", float(max(trips, 1)) if low == 0 else 128.0)

    def for_range(self) -> None:
        """Write a serial `for` over a range."""
        most = MOST_TRIPS // self.trips()
        kind = self.random.random()
        if kind < 0.4:
            count = self.random.randint(1, min(most, 5))
            index, text = self.loop_index(count), str(count)
        elif kind < 0.6:
            count = min(most, 4)
            index, text = self.loop_index(count), self.small(1, count).text
        elif kind < 0.85 or not self.dialect.steps:
            low = self.random.randint(-3, 3)
            count = self.random.randint(0, min(most, 4))
            index, text = self.loop_index(count, 1), f"{low}, {low + count}"
            index = replace(index, bound=0.0)
        else:
            low, step = self.random.randint(-3, 9), self.random.choice((-1, -2, 2, 3))
            count = self.random.randint(0, min(most, 4))
            index, text = self.loop_index(count, 1), f"{low}, {low + step * count - (step > 0 and count > 0)}, {step}"
            index = replace(index, bound=0.0)
        text = text[1:-1] if text.startswith("(") else text
        self.block(f"for {index.text} in range({text}):", self.body, Loop(max(count, 1)), [index])

    def for_ndrange(self) -> None:
        """Write a serial loop over two axes."""
        if self.trips() * 4 > MOST_TRIPS:
            self.for_range()
            return
        i, j = self.loop_index(2), self.loop_index(2)
        self.block(
            f"for {i.text}, {j.text} in ti.ndrange(2, 2):", self.body, Loop(4, self.dialect.breaks_serial), [i, j]
        )

    def for_static(self) -> None:
        """Write a loop that is unrolled, or written for the values of a list."""
        index = self.name("s")
        self.fixed.add(index)
        count = self.random.randint(1, min(3, MOST_TRIPS // self.trips()))
        value = Value(index, "i32", float(count), constant=True)
        loops, self.loops = self.loops, []  # `break` and `continue` would have to be static
        trips = prod(loop.trips for loop in loops) * count
        self.loops = [*loops, Loop(count, False)]
        self.static += 1
        del trips
        self.line(f"for {index} in ti.static(range({count})):")
        self.depth += 1
        self.scopes.append([value])
        self.in_static(self.random.randint(1, 3))
        self.scopes.pop()
        self.depth -= 1
        self.loops = loops
        self.static -= 1

    static = 0

    def in_static(self, count: int) -> None:
        """Write statements that leave no loop."""
        for _ in range(count):
            self.random.choice((self.assign, self.store, self.augment, self.define))()

    def while_loop(self) -> None:
        """Write a `while` that ends."""
        name, most = self.name("w"), self.random.randint(1, min(4, MOST_TRIPS // self.trips()))
        self.fixed.add(name)
        counter = Value(name, "i32", float(most + 1))
        self.line(f"{name} = 0")
        self.scopes[-1].append(counter)
        test = f"{name} < {most}"
        if self.chance(0.5):
            test += f" and {self.condition(1)}"

        def body() -> None:
            self.line(f"{name} += 1")
            self.body()

        self.block(f"while {test}:", body, Loop(most), [])
