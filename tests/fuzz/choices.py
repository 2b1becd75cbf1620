"""Random kernels aimed at the passes of docs/gpu-choices.md, which random programs of all kinds seldom reach.

    python -m fuzz.choices --seeds 0:200 [--arch vulkan] [--emulated] [--only rows,moves]      (PYTHONPATH=tests:..)

In: a seed. Out: a kernel of one family with its arrays, run by the interpreter without optional passes and by a target;
all arrays must be equal, bit by bit: numbers are integers, or floats so small that every order of a sum is exact. Sizes are
at edges of rows, blocks and vectors; arrays may be one array, begin at any element, have gaps, or be empty. `--arch cuda
--emulated` runs CUDA C on the host.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import textwrap
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from .corners import corners
from .loops import FAMILIES as LOOPS
from .loops import indented
from .shared_values import FAMILIES as SHARED
from .steps import steps

EDGES = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65)
DTYPES = {
    "i32": np.int32, "u32": np.uint32, "f32": np.float32, "i64": np.int64, "f64": np.float64, "u64": np.uint64,
    "f16": np.float16,
}  # fmt: skip
NUMBERS = count()
MARK = re.compile(r"\((\w+)\)$", re.MULTILINE)
"""The comment of a choice ends with the name of its pass."""


class Choices:
    """A random kernel: its source, and the arrays that it is called with.

    numbers: what `run` passes, by name. offsets: of fields. trees: of fields, as text; numbers other than 0 are active in
    sparse ones. same: arguments that are the array of another one. options: of the target's session.
    """

    def __init__(self, seed: int, only: tuple[str, ...] = ()) -> None:
        self.random = Random(seed)
        self.values = np.random.default_rng(seed)
        self.fields: dict[str, tuple[str, np.ndarray]] = {}
        self.arrays: dict[str, tuple[str, np.ndarray]] = {}
        self.numbers: dict[str, int] = {}
        self.offsets: dict[str, tuple[int, ...]] = {}
        self.trees: dict[str, str] = {}
        self.same: dict[str, str] = {}
        self.options: dict[str, str] = {}
        self.passes: set[str] = set()
        families: dict[str, Callable[[], list[str]]] = {
            "rows": self.rows, "moves": self.moves, "stencil": self.stencil, "tiles": self.tiles,
            "local": self.local, "serial": self.serial, "scatter": self.scatter, "cells": self.cells,
            **{name: partial(family, self) for name, family in {**LOOPS, **SHARED, "steps": steps, "corners": corners}.items()},
        }  # fmt: skip
        self.family = self.random.choice(only or tuple(families))
        body = families[self.family]()
        parameters = [
            f"{name}: ti.types.ndarray(ti.{kind}, {array.ndim})" for name, (kind, array) in self.arrays.items()
        ]
        parameters += [f"{name}: ti.i32" for name in self.numbers]
        self.source = (
            f"@ti.kernel\ndef run({', '.join(parameters)}):\n" + textwrap.indent("\n".join(body), "    ") + "\n"
        )

    # --- data

    def one(self, *found: Any) -> Any:
        """Return one of several things."""
        return self.random.choice(found)

    def filled(self, kind: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return small whole numbers."""
        low = 0 if kind[0] == "u" else -5
        return self.values.integers(low, 6, shape).astype(DTYPES[kind])

    def array(
        self,
        name: str,
        kind: str,
        shape: tuple[int, ...],
        is_field: bool | None = None,
        offset: tuple[int, ...] = (),
    ) -> str:
        """Add an array of random numbers, a field or an argument; return its name."""
        if any(offset):
            self.offsets[name] = offset
        if is_field is None:
            is_field = min(shape) > 0 and self.random.random() < 0.5
        group = self.fields if is_field else self.arrays
        group[name] = (kind, self.given(kind, shape) if not is_field else self.filled(kind, shape))
        return name

    def given(self, kind: str, shape: tuple[int, ...]) -> np.ndarray:
        """Return an array of NumPy that starts anywhere; some have gaps."""
        size, first = int(np.prod(shape)), self.one(0, 0, 1, 2, 3)
        case = self.random.random()
        if case < 0.7 or not size:
            return self.filled(kind, (size + first,))[first:].reshape(shape)
        if case < 0.85:
            return self.filled(kind, (*shape[:-1], shape[-1] * 2))[..., ::2]
        return self.filled(kind, shape[::-1]).T

    def extent(self, most: int = 70) -> int:
        """Return a length at an edge."""
        return self.one(*[edge for edge in EDGES if edge <= most], 4 * self.random.randint(1, max(1, most // 4)))

    def value(self, leaves: list[str], kind: str, depth: int = 2) -> str:
        """Return an expression."""
        if depth == 0 or self.random.random() < 0.25:
            number = self.random.randint(0 if kind[0] == "u" else -3, 3)
            literal = f"ti.{kind}({float(number) if kind.startswith('f') else number})"
            return self.random.choice([*leaves, *leaves, literal])
        first, second = (self.value(leaves, kind, depth - 1) for _ in range(2))
        match self.random.randrange(7):
            case 0 | 1:
                return f"({first} + {second})"
            case 2:
                return f"({first} - {second})"
            case 3:
                return f"ti.max({first}, {second})"
            case 4:
                return f"ti.min({first}, {second})"
            case 5:
                least = self.random.randint(0, 3)
                return f"({first} if {self.random.choice(leaves)} > ti.{kind}({least}) else {second})"
        return f"({first} * ti.{kind}({self.random.randint(0, 3)}))" if depth == 2 else first

    # --- families

    def rows(self) -> list[str]:
        """Loops between bounds that are read: `shared_rows`."""
        rows, kind = self.one(0, 1, self.extent(40), self.extent(40)), self.one("f32", "i32", "u32", "i64", "f64")
        lengths = self.values.choice([0, 0, 1, 2, 3, 4, 5, 7, 8, 9, 27], rows)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        ends, entries = starts[1:].copy(), max(1, int(starts[-1]))
        for row in range(rows):
            if self.random.random() < 0.1:  # no row at all
                starts[row], ends[row] = self.one((2**31 - 1, 0), (3, -(2**31)), (2**31 - 2, -5), (1, 1))
        self.arrays["starts"], self.arrays["ends"] = ("i32", starts), ("i32", ends)
        for name in ("a", "b"):
            self.array(name, kind, (entries,))
        self.arrays["columns"] = ("i32", self.values.integers(0, entries, entries, dtype=np.int32))
        self.array("y", kind, (rows,), False)
        self.array("z", kind, (rows,), False)
        names = ["s", "t", "u"][: self.random.randint(1, 3)]
        literal = "0.0" if kind.startswith("f") else "0"
        lines = [
            f"{name} = ti.{kind}({self.one(literal, literal, '1')}) + ti.{kind}({self.one('0', 'y[i]')})"
            for name in names
        ]
        if kind.startswith("f"):
            lines = [f"{name} = ti.{kind}({self.one('0.0', '2.0')})" for name in names]
        leaves = ["a[k]", "b[k]", "a[columns[k]]"]
        inner = []
        for name in names:
            value = self.value(leaves, kind)
            change = self.one(f"{name} += {value}", f"{name} -= {value}", f"{name} = ti.max({name}, {value})",
                              f"{name} = ti.min({value}, {name})", f"{name} = {name} + {value}",
                              f"if {value} {self.one('<', '>')} {name}: {name} = {value}")  # fmt: skip
            inner += (
                [f"if {self.one('a[k] > b[k]', 'k % 3 != 0', 'columns[k] < 5')}:", f"    {change}"]
                if self.one(0, 0, 1)
                else [change]
            )
        low, high = self.one("starts[i]", "starts[i]", "starts[i] + 1 - 1"), "ends[i]"
        first = "y[i] = s" if "t" not in names else "y[i] = s + t"
        after = [first, *([f"if {names[-1]} > ti.{kind}(2):", f"    z[i] = {names[-1]} - s"] if self.one(0, 1) else [])]
        head = self.one("for i in range(y.shape[0]):", "for i in y:", "for i in z:")
        config = [f"ti.loop_config(block_dim={self.one(32, 64, 96, 256)})"] if self.one(0, 0, 1) else []
        return [*config, head, *indented([*lines, f"for k in range({low}, {high}):", *indented(inner), *after])]

    def moves(self) -> list[str]:
        """Loops that move and combine neighbours: `wide_accesses`, `overlap_loads`."""
        axes, kind = self.one(1, 1, 2, 3), self.one("f32", "f32", "i32", "u32", "f64", "i64")
        shape = tuple(self.extent(70 if axes < 3 else 9) for _ in range(axes))
        shape = (*shape[:-1], self.extent(300 if axes == 1 else 70))
        if self.one(*[0] * 9, 1):
            shape = (*shape[:-1], 0)
        for name in ("a", "b", "c"):
            self.array(name, kind, shape)
        index = ", ".join("ijk"[:axes])
        leaves = [f"{name}[{index}]" for name in "abc"]
        lines = [
            f"{self.one('a', 'b', 'c')}[{index}] = {self.value(leaves, kind)}" for _ in range(self.random.randint(1, 3))
        ]
        first = next(iter(self.arrays), None)
        if axes == 1 and self.one(0, 1):
            length = shape[0]
            self.numbers["n"] = self.one(length, length, max(0, length - 1), max(0, length - 3), 0, -2)
            head = self.one("for i in range(n):", "for i in range(n):", f"for i in range({self.one(0, 1)}, n):")
        elif self.one(0, 0, 1) and axes > 1 and first is not None:
            lows = [self.one(0, 0, 1, 2) for _ in shape]
            bounds = [f"({low}, {first}.shape[{axis}]{self.one('', ' - 1', ' - 2')})" for axis, low in enumerate(lows)]
            head = f"for {index} in ti.ndrange({', '.join(bounds)}):"
        else:
            head = f"for {index} in {self.one('a', 'b', 'c')}:"
        return [head, *indented(lines)]

    def stencil(self) -> list[str]:
        """Loops that read neighbours: `wide_accesses`, `whole_rows`, `blocks_in_order`."""
        axes, kind = self.one(1, 2, 3, 3), self.one("f32", "f32", "i32", "f64")
        shape = (*(self.one(3, 4, 5, 8) for _ in range(axes - 1)), self.one(4, 8, 12, 16, 17, 20, 32, 33, 35, 64, 68))
        shape = tuple(max(extent, 5) for extent in shape)
        self.array("a", kind, shape)
        self.array("b", kind, shape)
        target = self.array("c", kind, shape)
        names = "ijk"[:axes]
        index, reach = ", ".join(names), self.one(1, 1, 2, 3) if shape[-1] > 6 else 1
        leaves = [f"b[{index}]", f"a[{index}]"]
        for _ in range(self.random.randint(1, 5)):
            shifts = [self.one(0, self.random.randint(-1, 1)) for _ in range(axes - 1)] + [
                self.random.randint(-reach, reach)
            ]
            places = [
                f"{name} {'+' if shift > 0 else '-'} {abs(shift)}" if shift else name
                for name, shift in zip(names, shifts)
            ]
            leaves.append(f"{self.one('a', 'b')}[{', '.join(places)}]")
        lines = [f"{target}[{index}] = {self.value(leaves, kind, 3)}"]
        margins = [1] * (axes - 1) + [reach]
        if target in self.arrays:
            ends = [f"{target}.shape[{axis}]" for axis in range(axes)]
        else:
            ends = [str(extent) for extent in shape]
        if self.one(0, 1):
            bounds = [
                f"({margin + self.one(0, 0, 1)}, {end} - {margin + self.one(0, 0, 1)})"
                for margin, end in zip(margins, ends)
            ]
            return [f"for {index} in ti.ndrange({', '.join(bounds)}):", *indented(lines)]
        tests = [
            self.one(f"{name} >= {margin} and {name} < {end} - {margin}", f"{margin - 1} < {name} < {end} - {margin}")
            for name, margin, end in zip(names, margins, ends)
        ]
        return [f"for {index} in {target}:", *indented([f"if {' and '.join(tests)}:", *indented(lines)])]

    def tiles(self) -> list[str]:
        """Serial loops with the same bounds in all threads: `block_tiles`."""
        kind, n, m = (
            self.one("f32", "i32", "i64"),
            self.extent(300),
            self.one(1, 31, 64, 127, 128, 129, 300, 513, 600, 1030),
        )
        for name in ("a", "b"):
            self.array(name, kind, (m,))
        self.array("x", kind, (n,))
        self.array("y", kind, (n,), self.one(True, False))
        self.numbers |= {"low": self.one(0, 0, 1, m // 2, m), "high": self.one(m, m, m - 1, 0)}
        low, high = self.one(("0", "high"), ("low", "high"), ("0", str(m)), ("low", str(m)))
        leaves = [*self.one((["a[j]"]), ["a[j]", "b[j]"]), "x[i]", f"ti.cast(j, ti.{kind})"]
        value = self.value(leaves, kind, 2)
        change = self.one(f"s += {value}", f"s = ti.max(s, {value})", f"s += a[j]\n    s -= {value}")
        inner = (
            ["if a[j] > x[i]:", f"    {change}"]
            if self.one(0, 0, 1) and "\n" not in change
            else change.replace("    ", "").split("\n")
        )
        if self.one(0, 0, 0, 1):  # the loop goes on behind the arrays
            low, high, self.numbers["high"] = self.one("0", "-3", "low"), self.one("high", str(m + 200)), m + 150
            inner = self.one(
                [f"if 0 <= j < {m}:", *indented(inner)], [f"if j < 0 or j >= {m}:", "    continue", *inner]
            )
        lines = [f"s = x[i] * ti.{kind}(2)", f"for j in range({low}, {high}):", *indented(inner)]
        if self.one(0, 0, 1) and self.numbers["high"] <= m:
            lines += ["for j in range(high):", f"    s -= {self.one('a', 'b')}[j]"]
        config = [f"ti.loop_config(block_dim={self.one(32, 64, 256)})"] if self.one(0, 0, 1) else []
        return [
            *config,
            f"for i in {self.one('x', 'y')}:",
            *indented([*lines, self.one("y[i] = s", "y[i] += s", "if s > 0:\n    y[i] = s").replace("\n", "\n")]),
        ]

    def local(self) -> list[str]:
        """`ti.block_local`."""
        axes, kind = self.one(1, 2, 2, 3), self.one("f32", "i32", "f64")
        shape = tuple(self.extent(80 if axes < 3 else 17) for _ in range(axes))
        self.array("a", kind, shape, True)
        self.array("b", kind, shape, self.one(True, False))
        self.array("c", kind, shape, True)
        names = "ijk"[:axes]
        reach = [self.one(0, 1, 2) for _ in names]
        leaves = [f"b[{', '.join(names)}]"]
        for _ in range(self.random.randint(1, 4)):
            shifts = [self.random.randint(-r, r) for r in reach]
            leaves.append(
                f"a[{', '.join(f'{name} + {shift}' if shift else name for name, shift in zip(names, shifts))}]"
            )
        bounds = [(r, extent - r) for r, extent in zip(reach, shape)]
        lines = [f"c[{', '.join(names)}] = {self.value(leaves, kind, 3)}"]
        config = [f"ti.loop_config(block_dim={self.one(32, 64, 96, 128)})"] if self.one(0, 0, 1) else []
        head = (
            f"for {', '.join(names)} in ti.ndrange({', '.join(f'({low}, {max(low, high)})' for low, high in bounds)}):"
        )
        if self.one(0, 1):
            tests = " and ".join(f"{low} <= {name} < {high}" for name, (low, high) in zip(names, bounds))
            head, lines = f"for {', '.join(names)} in c:", [f"if {tests}:", *indented(lines)]
            lines = lines if any(reach) else lines[1:] and [line.strip() for line in lines[1:]]
        return ["ti.block_local(a)", *config, head, *indented(lines)]

    def serial(self) -> list[str]:
        """Serial statements and loops in turns: `merge_serial`, `fuse_result`."""
        kind, n = self.one("i32", "f32", "i64"), self.extent(200)
        for name in ("a", "b"):
            self.array(name, kind, (n,))
        self.array("s", kind, (), True) if False else self.array("s", kind, (4,), True)
        self.array("t", kind, (4,), self.one(True, False))
        lines: list[str] = ["u = ti." + kind + "(0)"] if self.one(0, 1) else []
        has_local = bool(lines)
        leaves = ["s[0]", "s[1]", "t[2]", "t[0]", *(["u"] if has_local else [])]
        for _ in range(self.random.randint(3, 7)):
            place = self.one("s[0]", "s[1]", "s[2]", "t[0]", "t[1]", "t[2]")
            match self.random.randrange(5):
                case 0 | 1:
                    lines.append(f"{place} = {self.value([*leaves, 'a[0]'], kind)}")
                case 2:
                    name = self.one("a", "b")
                    lines += [
                        f"for i in {name}:",
                        f"    {name}[i] = {self.value([f'{name}[i]', 's[0]', 't[1]'], kind)}",
                    ]
                case 3:
                    what = self.one(place, "u") if has_local else place
                    op = self.one(f"{what} += a[i]", f"ti.atomic_max({what}, b[i])", f"{what} -= b[i]")
                    lines += [f"for i in {self.one('a', 'b')}:", f"    {op}"]
                case 4 if has_local:
                    lines.append(self.one(f"u = {self.value(leaves, kind)}", f"{place} = u", f"{place} += u"))
        return lines or ["s[0] = s[1]"]

    def scatter(self) -> list[str]:
        """Sums at places that are read, or the same for all: `block_sums`, `vector_atomics`, `warp_sums`."""
        kind, n, bins = self.one("i32", "f32", "u32"), self.extent(300), self.one(1, 2, 3, 16, 31, 256)
        self.fields["place"] = ("i32", self.values.integers(0, bins, n, dtype=np.int32))
        self.array("a", kind, (n,))
        self.array("h", kind, (bins,), self.one(True, True, False))
        self.array("g", kind, (bins,), True)
        op = self.one("h[place[i]] += a[i]", "h[place[i]] += 1", "h[place[i]] -= a[i]")
        every = self.one("g[k] += a[i]", "if k % 2 == 0: g[k] -= 2", f"for l in range(2): g[{bins} - 1 - k] += l")
        more = self.one(
            [],
            [f"g[{bins - 1} - place[i]] += a[i]"],
            ["if place[i] > 1:", "    g[place[i]] += 2"],
            [f"for k in range({bins}):", f"    {every}"],
            ["for k in range(3):", "    g[place[i]] += k"],
        )
        return ["for i in place:", f"    {op}", *indented(more)]

    def cells(self) -> list[str]:
        """Loops over trees, whose elements are one array in memory: `wide_accesses`."""
        axes, kind = self.one(1, 2, 2, 3), self.one("f32", "f32", "i32", "u32", "f64", "i64")
        leaf = [self.one(1, 2, 3, 4, 8) for _ in range(axes)]
        shape = tuple(extent * self.one(1, 2, 3, 4, 8) for extent in leaf)
        names = "ijk"[:axes]
        axis, above = f"ti.{names}", [whole // extent for whole, extent in zip(shape, leaf)]
        sparse = self.one("bitmasked", "bitmasked", "dense")
        nodes = self.one([("dense", above), (sparse, leaf)], [(sparse, shape)], [("dense", above), (sparse, leaf)],
                         [(sparse, above), ("dense", leaf)])  # fmt: skip
        offset = tuple(self.random.randint(-9, 9) for _ in shape)
        for name in "abc":
            self.array(name, kind, shape, True, offset if self.one(0, 0, 1) and name == "a" else ())
            own = nodes if name == "a" or self.one(0, 1) else [("dense", extents) for _, extents in nodes]
            if name == "a" or self.one(0, 1, 1):
                self.trees[name] = "ti.root" + "".join(f".{kind}({axis}, {tuple(e)})" for kind, e in own)
        index = ", ".join(names)
        moved = {name: ", ".join(f"{n} - {o}" for n, o in zip(names, self.offsets["a"])) for name in "bc"} if (
            "a" in self.offsets) else {}  # fmt: skip
        leaves = [f"{name}[{moved.get(name, index)}]" for name in "abc"]
        lines = [
            f"{self.one(leaves[0], *leaves)} = {self.value(leaves, kind)}" for _ in range(self.random.randint(1, 3))
        ]
        shown = [f"for {index} in c:", f"    {leaves[2]} = {leaves[2]} * 2"] if not moved and self.one(0, 1) else []
        return [f"for {index} in a:", *indented(lines), *shown]

    # --- running

    def run(self, ti: Any, folder: Path) -> dict[str, np.ndarray]:
        """Run the kernel twice in the present session; return all arrays."""
        path = folder / f"choices_{next(NUMBERS)}.py"
        path.write_text(f"import shadesmith as ti\n{self.source}")
        names: dict[str, Any] = {"ti": ti}
        for name, (kind, array) in self.fields.items():
            shape = array.shape if name not in self.trees else None
            offset = self.offsets.get(name)
            names[name] = field = ti.field(getattr(ti, kind), shape, offset=offset if shape else None)
            if name in self.trees:
                eval(self.trees[name], names).place(field, offset=offset)  # noqa: S307
            for position in np.ndindex(array.shape) if "bitmasked" in self.trees.get(name, "") else ():
                if array[position]:  # the others stay inactive
                    field[tuple(np.add(position, offset or 0).tolist())] = array[position].item()
            if "bitmasked" not in self.trees.get(name, ""):
                field.from_numpy(array)
        exec(compile(path.read_text(), str(path), "exec"), names)  # noqa: S102
        given: dict[str, np.ndarray] = {}
        for name, (_, array) in self.arrays.items():
            memory = array.base if array.base is not None else array
            given[name] = given[self.same[name]] if name in self.same else _copied(memory, array)
        kernel = names["run"]
        for _ in range(2):
            kernel(*given.values(), *self.numbers.values())
        self.passes = set(MARK.findall(kernel.source(*given.values(), *self.numbers.values())))
        found = {name: names[name].to_numpy() for name in self.fields}
        return found | {name: array.copy() for name, array in given.items()}


def _copied(memory: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Return a copy of an array with the same strides, as far from a multiple of 16 bytes."""
    offset = (array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) if array.size else 0
    span = memory.nbytes + 16
    fresh = np.zeros(span + 64, np.uint8)
    first = -fresh.__array_interface__["data"][0] % 16
    fresh[first : first + memory.nbytes] = np.frombuffer(memory.tobytes("A"), np.uint8) if memory.size else 0
    return np.ndarray(array.shape, array.dtype, fresh.data, first + offset, array.strides)


def small_is_large(change: Callable[[Any, str, object], None] = setattr) -> None:
    """Let passes take loops that are too short to be worth it. change: of a module, a name and its value."""
    from shadesmith.transpiler.passes.atomics import block_sums
    from shadesmith.transpiler.passes.loops import axis_sums, row_lanes
    from shadesmith.transpiler.passes.rows import block_scans, shared_columns, shared_rows, shared_steps
    from shadesmith.transpiler.passes.rows.parts import row_chunks, row_lengths, step_costs
    from shadesmith.transpiler.passes.threads import common_values
    from shadesmith.transpiler.passes.threads.parts import repeated_values
    from shadesmith.transpiler.passes.tiles import block_tiles
    from shadesmith.transpiler.passes.tiles.parts import register_plan
    from shadesmith.transpiler.passes.wide.parts import whole_rows, widenable

    change(widenable, "FEW", 1)
    change(whole_rows, "ADDED", 1)
    change(block_sums, "FEWEST_ITERATIONS", 1)
    change(block_tiles, "FEWEST_TILES", 1)
    change(block_tiles, "MANY", 256)
    change(register_plan, "FEWEST", 1)
    change(register_plan, "SHORT", 1)
    change(register_plan, "THIN", 1)
    change(row_lanes, "FEW", 1)
    change(block_scans, "FEWEST", 1)
    change(block_scans, "SHORTEST", 1)
    change(block_scans, "LONG", 1)
    for module in (shared_steps, step_costs):
        change(module, "SHORTEST", 1)
    change(step_costs, "LONG", 1)
    change(step_costs, "STATES", 1)
    change(row_lengths, "LONG", 1)
    change(row_lengths, "ELEMENTS", 1)
    change(row_chunks, "LONG", 64)
    change(row_chunks, "SHORTEST", 16)
    change(shared_rows, "LONG_OF_UNKNOWN", 16)
    change(shared_columns, "LONG", 4)
    change(axis_sums, "FEWEST_ROWS", 1)
    change(axis_sums, "SHORTEST", 1)
    change(axis_sums, "FEWEST", 1)
    change(axis_sums, "CHUNK", 4)
    change(axis_sums, "BUSY", 30)
    change(axis_sums, "MANY", 50)
    change(axis_sums, "LEAST_PARTS", 4)
    for name in ("LEAST_COST", "LEAST_OF_ITERATION", "LEAST_SAVED"):
        change(repeated_values, name, 1)
    for module in (common_values, repeated_values):
        change(module, "LEAST_OF_NUMBER", 1)


def plain_options() -> dict[str, str]:
    """Return the options of a session without any pass that a kernel does without."""
    from shadesmith.transpiler import passes

    names = [name for stage in passes.names_of_passes().values() for name in stage]
    return {"passes": ",".join(f"-{name}" for name in dict.fromkeys(names) if name not in passes.REQUIRED)}


def differences(program: Choices, ti: Any, arch: str, folder: Path) -> list[str]:
    """Run a kernel by the interpreter and on a target; return the names of arrays that differ."""
    ti.init(arch=ti.python, offline_cache=False, log_level=ti.ERROR, **plain_options())
    expected = program.run(ti, folder)
    ti.init(arch=getattr(ti, arch), offline_cache=False, log_level=ti.ERROR, enable_fallback=False, **program.options)
    found = program.run(ti, folder)
    return [name for name in expected if not np.array_equal(expected[name], found[name])]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", default="0:50")
    parser.add_argument("--arch", default="vulkan")
    parser.add_argument("--emulated", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--show", type=int)
    arguments = parser.parse_args()
    only = tuple(filter(None, arguments.only.split(",")))
    if arguments.show is not None:
        print(Choices(arguments.show, only).source)
        return 0
    import shadesmith as ti

    if arguments.emulated:
        from emulated.device import install

        install()
    small_is_large()
    first, last = map(int, arguments.seeds.split(":"))
    failures, marked = 0, Counter[str]()
    folder = Path(tempfile.mkdtemp(prefix="choices-"))
    for seed in range(first, last):
        program = Choices(seed, only)
        try:
            wrong = differences(program, ti, arguments.arch, folder)
            marked.update(program.passes)
        except Exception as error:  # noqa: BLE001 - reported, and the run goes on
            wrong = [f"{type(error).__name__}: {str(error)[:500]}"]
        if wrong:
            failures += 1
            print(f"--- seed {seed} ({program.family}): {wrong}\n{program.source}", flush=True)
    print(f"{last - first} kernels, {failures} failures; passes: {dict(marked.most_common())}", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
