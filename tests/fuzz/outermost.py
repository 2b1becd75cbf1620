"""The outermost statements of a kernel: loops that run in parallel, serial loops and serial parts."""

from __future__ import annotations

from dataclasses import replace

from .arrays import ArrayInfo
from .odd_forms import OddForms
from .scalars import INTEGERS, Value, width
from .statements import Access, Loop


class Outermost(OddForms):
    """The outermost statements of one kernel at a time."""

    shared: list[Value] = []

    def top_level(self) -> None:
        """Write an outermost statement: a parallel loop, a serial one, or serial statements."""
        kind = self.random.random()
        if kind < 0.6:
            self.parallel_loop()
        elif kind < 0.75:
            self.serial_loop()
        else:
            self.serial_part()

    def serial_part(self) -> None:
        """Write statements outside loops; loops among them are inside a `while` or an `if`, else they would be parallel."""
        self.serial, self.parallel = True, False
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.25:
                self.branch()
            elif kind < 0.45:
                self.while_loop()
            else:
                self.random.choice((self.define, self.store, self.store, self.atomic, self.assign, self.augment))()

    def serial_loop(self) -> None:
        """Write an outermost loop that is serial on request."""
        self.serial, self.parallel = True, False
        count = self.random.randint(1, 6)
        index = self.loop_index(count)
        self.line("ti.loop_config(serialize=True)")
        self.block(f"for {index.text} in range({count}):", self.body, Loop(count, self.dialect.breaks_serial), [index])

    def parallel_loop(self) -> None:
        """Write an outermost loop whose iterations run in any order."""
        self.serial, self.parallel = False, True
        self.shared = self.in_sight()
        if self.chance(0.2):
            self.line(f"ti.loop_config(block_dim={self.random.choice((32, 64, 128))})")
        shapes = [array.shape for array in self.arrays if array.shape]
        shape = self.random.choice(shapes)
        head, indices, position = self.loop_head(shape)
        self.access = {array.name: self.access_of(array, shape, position) for array in self.arrays}
        if self.dialect.name == "taichi":  # it may visit a cell that another iteration has activated
            for array in self.arrays:
                if array.is_sparse and head.endswith((f" in {array.name}:", f"({array.name}):")):
                    self.access[array.name] = Access(own=", ".join(position))
        self.access[self.array_of_totals(shape)] = Access(own=", ".join(position))
        result, self.result_type = self.result_type, None
        self.begin_reduction()

        def body() -> None:
            self.begin_total()
            self.body()
            self.sink()
            self.finish()

        total = self.total
        self.block(head, body, Loop(1, False), indices)
        self.total = total
        self.reduced = None
        self.result_type = result
        self.serial, self.parallel = True, False
        self.access = {}

    def array_of_totals(self, shape: tuple[int, ...]) -> str:
        return self.random.choice(
            [a.name for a in self.arrays if a.shape == shape and a.dtype in ("i32", "i64") and not a.tensor]
        )

    def loop_head(self, shape: tuple[int, ...]) -> tuple[str, list[Value], list[str]]:
        """Return the head of a loop over a shape, its indices, and the expressions of a cell's index."""
        fitting = [array for array in self.arrays if array.shape == shape]
        kind = self.random.random()
        if fitting and kind < 0.3:
            array = self.random.choice(fitting)
            names = [self.name("i") for _ in shape]
            head = f"for {', '.join(names)} in {array.name}:"
            if array.offset:
                self.fixed |= set(names)
                position = [f"{name} - ({shift})" for name, shift in zip(names, array.offset)]
                return head, [Value(name, "i32") for name in names], position
        elif fitting and kind < 0.45:
            name, array = self.name("I"), self.random.choice(fitting)
            head, names = f"for {name} in ti.grouped({array.name}):", []
            self.fixed.add(name)
            position = [f"{name}[{axis}]" for axis in range(len(shape))]
            self.fixed |= set(position)
            if array.offset:
                indices = [Value(p, "i32") for p in position]
                return head, indices, [f"{p} - ({shift})" for p, shift in zip(position, array.offset)]
            return head, [Value(p, "i32", float(n)) for p, n in zip(position, shape)], position
        elif len(shape) > 1 or kind < 0.6:
            names = [self.name("i") for _ in shape]
            if self.chance(0.4):
                low = [self.random.randint(-2, 2) for _ in shape]
                bounds = ", ".join(f"({a}, {a + n})" for a, n in zip(low, shape))
                self.fixed |= set(names)
                position = [
                    f"{name} - {a}" if a > 0 else f"{name} + {-a}" if a < 0 else name for name, a in zip(names, low)
                ]
                values = [Value(name, "i32", 128.0) for name in names]
                return (
                    f"for {', '.join(names)} in ti.ndrange({bounds}):",
                    [replace(v, bound=0.0) for v in values],
                    position,
                )
            head = f"for {', '.join(names)} in ti.ndrange({', '.join(map(self.extent, shape))}):"
        else:
            names = [self.name("i")]
            head = f"for {names[0]} in range({self.extent(shape[0])}):"
        self.fixed |= set(names)
        return head, [Value(name, "i32", float(n)) for name, n in zip(names, shape)], names

    def access_of(self, array: ArrayInfo, shape: tuple[int, ...], position: list[str]) -> Access:
        """Decide how a loop over a shape uses an array."""
        kind = self.random.random()
        if array.shape == shape and kind < 0.6:
            if self.chance(0.2) and len(shape) == 1 and not array.offset:
                return Access(own=f"{shape[0] - 1} - ({position[0]})")
            return Access(own=", ".join(position))
        is_atomic = array.dtype in INTEGERS and (width(array.dtype) >= 32 or self.dialect.narrow_atomics)
        if is_atomic and kind < 0.8:
            return Access(atomic=self.random.choice((
                ("+=", "-=", "atomic_add"), ("atomic_min",), ("atomic_max",), ("&=", "atomic_and"), ("|=",), ("^=", "atomic_xor"),
            )))  # fmt: skip
        return Access(anywhere=True)

    def finish(self) -> None:
        """Write what the iteration computed into a cell of its own."""
        of_total = next(array for array in self.writable() if array.dtype in ("i32", "i64") and not array.tensor)
        self.line(f"{of_total.at(self.index(of_total, 1))} {self.random.choice(('=', '+=', '^='))} {self.total}")
        for array in self.writable()[:2]:
            if array is of_total:
                continue
            where = array.at(self.index(array, 1))
            self.line(f"{where} = {self.fitting(Value(where, array.dtype, 64.0, array.exact, array.tensor)).text}")
