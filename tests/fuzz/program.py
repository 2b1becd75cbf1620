"""A random program: Python source in a user's style, which shadesmith and Taichi run unchanged.

In: a seed and a dialect. Out: source whose `run()` returns the names and contents of all that the program computed.
Each thread of a parallel loop writes cells of its own, reads arrays that the loop does not write, and changes others by
commutative atomic operations whose results it drops; so every order of the iterations gives the same numbers.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from .arrays import ArrayInfo, contents, field_lines, sparse_lines
from .dialects import DIALECTS, draw_policy
from .odd_forms import offset_lines
from .rare_forms import RareForms
from .scalars import INTEGERS, NUMPY, REALS, Value, edge, is_real, real
from .tensors import LIMIT, SHAPES


@dataclass
class Function:
    """A `ti.func` or `ti.real_func`. parameters: types; result: its value as it is called, without arguments.

    has_loops: called outside all loops of a kernel, it has loops that run in parallel there.
    """

    name: str
    parameters: tuple[str, ...]
    result: Value
    has_loops: bool


@dataclass
class Kernel:
    """What a program launches. arguments: expressions of each launch."""

    name: str
    launches: list[list[str]] = field(default_factory=list)
    result: str | None = None


class Program(RareForms):
    """The program of one seed."""

    def __init__(self, seed: int, dialect: str = "portable") -> None:
        self.seed = seed
        self.random = random.Random(f"{dialect} {seed}")
        self.dialect = DIALECTS[dialect]
        self.policy = draw_policy(self.random, self.dialect)
        self.reset()
        share = self.policy.tensors * 8
        self.more_integers = [(share, self.integer_of_tensor)]
        self.more_reals = [(share, self.real_of_tensor)]
        self.arrays: list[ArrayInfo] = []
        self.structs: dict[str, list[Value]] = {}
        self.changers: list[tuple[str, str, str, bool]] = []
        self.logs = False
        self.begin_odd_forms()
        self.functions: list[Function] = []
        self.in_kernel = False
        self.kernels: list[Kernel] = []

    def text(self) -> str:
        """Return the source."""
        for _ in range(self.random.randint(2, 5)):
            self.declare()
        head = []
        if self.policy.structs:
            head += self.struct_lines()
        for shape in dict.fromkeys(((8,), *(array.shape for array in self.arrays), ())):
            if not any(a.shape == shape and a.dtype in ("i32", "i64") and not a.tensor for a in self.arrays):
                self.declare(self.random.choice(("i32", "i32", "i64")), shape)
        begin = ['"""Random program ' + f'{self.seed} of dialect {self.dialect.name}."""', "", "import numpy as np", ""]
        head = [*begin, "import shadesmith as ti", "", *head]
        for array in self.arrays:
            if array.kind == "field":
                head += array.make
        body: list[str] = []
        if self.chance(0.3):
            body += self.changer_lines()
        if self.chance(0.3) and self.dialect.short_circuits:
            body += self.logger_lines()
        for _ in range(self.random.choice((0, 1, 1, 2))):
            body += self.function_lines()
        for _ in range(self.random.choice((1, 2, 2, 3))):
            body += self.kernel_lines()
        run = self.runner()
        for part in (*self.parts(), *self.rare_parts()):
            body += ["", "", *part.head]
            run += [f"    {line}" for line in part.launches]
        return "\n".join([*head, *body, *run, "    return results", ""])

    # --- arrays

    def declare(self, dtype: str = "", shape: tuple[int, ...] | None = None) -> None:
        """Add an array."""
        exact, is_total = True, bool(dtype)
        if is_total:
            pass
        elif self.chance(0.05):
            dtype = "u1"
        elif self.chance(self.policy.reals_share):
            dtype = self.random.choice(self.policy.reals)
            exact = self.chance(0.6)
        else:
            dtype = self.random.choice(self.policy.integers)
        if shape is None:
            shape = self.random.choice(((), (5,), (8,), (13,), (20,), (3, 4), (4, 4), (2, 7), (2, 3, 3)))
        name = "abcdefghijklmno"[len(self.arrays)]
        if dtype == "u1":
            made = field_lines(self.random, name, dtype, shape, "ti.field(")
            self.arrays.append(ArrayInfo(name, "field", dtype, shape, (), True, made, None))
            return
        tensor = self.random.choice(SHAPES) if not is_total and self.chance(self.policy.tensors * 1.5) else ()
        whole = shape + tensor
        values = contents(self.random, dtype, whole) if whole and self.chance(0.8) else None
        element = "ti.field("
        if tensor:
            element = f"ti.{'Vector' if len(tensor) == 1 else 'Matrix'}.field({', '.join(map(str, tensor))}, "
        if shape and not is_total and self.chance(self.policy.sparse):
            lines = sparse_lines(self.random, name, dtype, shape, element, self.dialect.lists)
            self.arrays.append(ArrayInfo(name, "field", dtype, shape, tensor, exact, lines, None, "", True))
            return
        if shape and self.chance(0.35):
            made = values or f"np.zeros({whole}, np.{NUMPY[dtype]})"
            clamps = self.dialect.clamps and self.chance(self.policy.odd)
            if self.chance(0.3):  # one of ours; the others are NumPy's
                sizes = "".join(f"{extent}, " for extent in tensor)
                kind = {0: "ti.ndarray", 1: "ti.Vector.ndarray", 2: "ti.Matrix.ndarray"}[len(tensor)]
                make = (f"    {name} = {kind}({sizes}ti.{dtype}, shape={shape})", f"    {name}.from_numpy({made})")
                self.arrays.append(ArrayInfo(name, "ndarray", dtype, shape, tensor, exact, make, None, clamps=clamps))
                return
            self.arrays.append(ArrayInfo(name, "ndarray", dtype, shape, tensor, exact, (), made, clamps=clamps))
            return
        make = field_lines(self.random, name, dtype, shape, element)
        offset: tuple[int, ...] = ()
        if shape and self.chance(self.policy.odd):
            offset = tuple(self.random.randint(-5, 5) for _ in shape)
            make = offset_lines(make, offset)
        self.arrays.append(ArrayInfo(name, "field", dtype, shape, tensor, exact, make, values, offset=offset))

    def struct_lines(self) -> list[str]:
        """Return lines that make a struct type, and a field of it whose members are arrays."""
        members = []
        for letter in "pqr"[: self.random.randint(1, 3)]:
            real = self.chance(self.policy.reals_share)
            type = self.random.choice(self.policy.reals if real else self.policy.integers)
            tensor = self.random.choice(SHAPES) if self.chance(self.policy.tensors) else ()
            members.append(Value(letter, type, 64.0 if real or tensor else 0.0, True, tensor))
        self.structs["S"] = members

        def written(member: Value) -> str:
            if not member.shape:
                return f"ti.{member.type}"
            name = "vector" if len(member.shape) == 1 else "matrix"
            return f"ti.types.{name}({', '.join(map(str, member.shape))}, ti.{member.type})"

        if self.chance(0.5):
            lines = ["", "", "@ti.dataclass", "class S:", *(f"    {m.text}: {written(m)}" for m in members), "", ""]
        else:
            lines = [f"S = ti.types.struct({', '.join(f'{m.text}={written(m)}' for m in members)})"]
        shape = self.random.choice([array.shape for array in self.arrays if array.shape] or [(8,)])
        soa = ", layout=ti.Layout.SOA" if self.chance(0.3) else ""
        lines.append(f"s = S.field(shape={shape}{soa})")
        for member in members:
            name = f"s.{member.text}"
            self.arrays.append(
                ArrayInfo(name, "field", member.type, shape, member.shape, True, (), None, f".{member.text}")
            )
        return lines

    # --- functions

    def changer_lines(self) -> list[str]:
        """Return the lines of a function that changes a variable of its caller."""
        a, b = self.random.choices(self.policy.integers, k=2)
        by_reference = self.dialect.references and self.chance(0.5)
        operator = self.random.choice(("+=", "^=", "*=", "-="))
        if by_reference:
            head = ["", "", "@ti.real_func", f"def change(x: ti.ref(ti.{a}), y: ti.{b}):"]
        else:
            head = ["", "", "@ti.func", "def change(x: ti.template(), y):"]
        lines = [
            *head,
            f"    if y > {self.random.randint(-2, 4)}:",
            f"        x {operator} y",
            f"    x += {self.random.randint(1, 9)}",
        ]
        self.changers.append(("change", a, b, by_reference))
        return lines

    def logger_lines(self) -> list[str]:
        """Return the lines of a function with an effect that every call shows, in order."""
        self.logs = True
        type = self.random.choice(("i32", "i64"))
        made = ["", "", f"log = ti.field(ti.{type}, shape=())", "", "", "@ti.func", "def logged(x):"]
        if self.chance(0.3):
            made[-2:] = ["@ti.real_func", "def logged(x: ti.i32) -> ti.i32:"]
        return [*made, "    log[None] = log[None] * 3 + ti.cast(x, ti.i32)", "    return ti.cast(x & 7, ti.i32)"]

    # --- functions of numbers

    def function_lines(self) -> list[str]:
        """Return the lines of a function of numbers."""
        self.reset()
        name = f"f{len(self.functions)}"
        types = self.random.choices(
            (*self.policy.integers, *(self.policy.reals if self.policy.reals_share else ())), k=2
        )
        types = types[: self.random.randint(1, 2)]
        parameters = [Value(f"p{k}", t, 16.0 if is_real(t) else 0.0) for k, t in enumerate(types)]
        wants_real = bool(self.policy.reals_share) and self.chance(0.4)
        result_type = self.random.choice(self.policy.reals if wants_real else self.policy.integers)
        is_called = self.dialect.name != "taichi" and self.chance(0.4)
        if is_called:
            head = f"def {name}({', '.join(f'{p.text}: ti.{p.type}' for p in parameters)}) -> ti.{result_type}:"
            lines = ["", "", "@ti.real_func", head]
        else:
            lines = ["", "", "@ti.func", f"def {name}({', '.join(p.text for p in parameters)}):"]
        self.scopes = [list(parameters), []]
        self.fixed = {value.text for value in parameters}
        self.serial, self.pure = True, True
        self.result_type = result_type if self.dialect.returns_anywhere else None
        self.begin_total()
        for _ in range(self.random.randint(1, 3)):
            self.statement()
        self.sink()
        self.scopes[-1].append(Value(self.total, "i32"))
        self.fixed.add(self.total)
        self.line(f"return {self.returned(result_type).text}")
        lines += self.lines
        bound = 16.0 if wants_real else 0.0
        with_loops = ("for ", *(f"{function.name}(" for function in self.functions if function.has_loops))
        has_loops = not is_called and any(part in line for line in self.lines for part in with_loops)
        self.functions.append(Function(name, tuple(types), Value(name, result_type, bound), has_loops))
        self.reset()
        return lines

    def returned(self, type: str) -> Value:
        """Return a value to return, of that very type."""
        if type in INTEGERS:
            value = self.integer(self.policy.depth)
            if self.pure and self.total in self.fixed and self.chance(0.8):
                value = Value(f"({value.text} ^ {self.total})", "?")
            return Value(f"ti.cast({value.text}, ti.{type})", type)
        value = self.real(self.policy.depth, exact=True)
        return Value(f"ti.cast(ti.min(ti.max({value.text}, -16.0), 16.0), ti.{type})", type, 16.0)

    def call(self, wanted: Callable[[str], bool], depth: int) -> Value | None:
        """Return a call of a function."""
        if self.logs and self.serial and not self.pure and wanted("i32") and self.chance(0.4):
            argument = self.as_type(self.at_run_time(self.integer(depth - 1)), "i32")
            return Value(f"logged({argument.text})", "i32")
        is_outermost = self.in_kernel and len(self.scopes) == 2
        found = [f for f in self.functions if wanted(f.result.type) and not (is_outermost and f.has_loops)]
        if not found or depth <= 0:
            return None
        function = self.random.choice(found)
        arguments = []
        for type in function.parameters:
            if type in INTEGERS:
                arguments.append(self.as_type(self.at_run_time(self.integer(depth - 1)), type).text)
            else:
                arguments.append(self.returned(type).text)
        return function.result.by(f"{function.name}({', '.join(arguments)})")

    # --- kernels

    def kernel_lines(self) -> list[str]:
        """Return the lines of a kernel."""
        self.reset()
        kernel_name = f"k{len(self.kernels)}"
        kernel = Kernel(kernel_name)
        parameters = []
        ndarrays = [array for array in self.arrays if array.kind == "ndarray"]
        for array in ndarrays:
            dtype = f"ti.{array.dtype}"
            if array.tensor:
                name = "vector" if len(array.tensor) == 1 else "matrix"
                dtype = f"ti.types.{name}({', '.join(map(str, array.tensor))}, {dtype})"
            clamp = ', boundary="clamp"' if array.clamps else ""
            parameters.append(f"{array.name}: ti.types.ndarray(dtype={dtype}, ndim={len(array.shape)}{clamp})")
        for array in self.arrays:
            if array.kind == "field" and not array.member and self.chance(0.1):
                parameters.append(f"{array.name}: ti.template()")
                ndarrays.append(array)
        types = self.random.choices(
            (*self.policy.integers, *(self.policy.reals if self.policy.reals_share else ())), k=2
        )
        scope = [Value(f"n{k}", type, 16.0 if is_real(type) else 0.0) for k, type in enumerate(types)]
        parameters += [f"{value.text}: ti.{value.type}" for value in scope]
        vector = self.chance(self.policy.tensors)
        if vector:
            scope.append(
                Value(
                    "v0", self.random.choice(self.policy.integers), LIMIT, True, self.random.choice(((2,), (3,), (4,)))
                )
            )
            parameters.append(f"v0: ti.types.vector({scope[-1].shape[0]}, ti.{scope[-1].type})")
        for _ in range(self.random.choice((1, 1, 2))):
            numbers = [str(real(self.random) / 4 if t in REALS else edge(t, self.random)) for t in types]
            if vector:
                items = [edge(scope[-1].type, self.random) for _ in range(scope[-1].shape[0])]
                numbers.append(f"ti.Vector({items}, dt=ti.{scope[-1].type})")
            kernel.launches.append([*(array.name for array in ndarrays), *numbers])
        self.scopes = [scope, []]
        self.in_kernel = True
        self.fixed = {value.text for value in scope}
        result = ""
        if self.chance(0.3):
            kernel.result = self.random.choice(self.policy.integers)
            result = f" -> ti.{kernel.result}"
        self.result_type = kernel.result if self.dialect.returns_anywhere else None
        self.begin_total()
        for _ in range(self.random.randint(1, 3)):
            self.top_level()
        self.sink()
        self.line(f"{self.array_of_totals(())}[None] += {self.total}")
        if kernel.result is not None:
            self.serial = True
            self.line(f"return {self.returned(kernel.result).text}")
        lines = ["", "", "@ti.kernel", f"def {kernel_name}({', '.join(parameters)}){result}:", *self.lines]
        self.kernels.append(kernel)
        self.in_kernel = False
        self.reset()
        return lines

    # --- the part that runs it

    def runner(self) -> list[str]:
        """Return the function that launches the kernels."""
        lines = ["", "", "def run():"]
        for array in self.arrays:
            if array.kind == "ndarray":
                lines += array.make or [f"    {array.name} = {array.values}"]
            elif array.values is not None:
                lines.append(f"    {array.name}.from_numpy({array.values})")
        lines.append("    results = []")
        for kernel in self.kernels:
            for launch in kernel.launches:
                call = f"{kernel.name}({', '.join(launch)})"
                lines.append(f'    results.append(("{kernel.name}", {call}))' if kernel.result else f"    {call}")
                lines += self.python_scope()
        if self.logs:
            lines.append('    results.append(("log", log.to_numpy()))')
        for array in self.arrays:
            text = array.name if array.kind == "ndarray" and not array.make else f"{array.name}.to_numpy()"
            lines.append(f'    results.append(("{array.name}{"" if array.exact else "~"}", {text}))')
        return lines
