"""Random programs of threads that synchronize: barriers, votes and subgroups under control flow that is the same for all.

In: a seed. Out: the text of a module with a kernel `k(a, out, n, m)`. Each thread writes cells of its own, and shared
cells are read between two barriers only, so that every order of the threads gives the same numbers.
"""

from __future__ import annotations

import random

BLOCK = 16
HEAD = f"""\
import shadesmith as ti

block, subgroup = ti.simt.block, ti.simt.subgroup


@ti.kernel
def k(a: ti.types.ndarray(dtype=ti.i32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=2), n: ti.i32, m: ti.i32):
    ti.loop_config(block_dim={BLOCK})
    for i in range(m):
        tile = block.SharedArray({BLOCK}, ti.i32)
        t = block.thread_idx()
        threads = ti.min({BLOCK}, m - (i - t))
        x = a[i]
"""
QUESTIONS = ("reduce_add({})", "inclusive_max({})", "exclusive_xor({})", "shuffle_xor({}, 1)")


class Program:
    """Lines so far. own: variables of each thread; same: values that all threads of a block agree on."""

    def __init__(self, seed: int, with_subgroups: bool) -> None:
        self.random = random.Random(seed)
        self.with_subgroups = with_subgroups
        self.lines: list[str] = []
        self.depth = 2
        self.names = 0
        self.own, self.same = ["x"], ["n"]

    def text(self) -> str:
        """Return the program."""
        self.statements(self.random.randint(6, 12), True)
        return "\n".join([HEAD.rstrip("\n"), *self.lines, "        out[i, 3] += x", ""])

    def emit(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def name(self, kind: str) -> str:
        self.names += 1
        return f"{kind}{self.names}"

    def value(self, uniform: bool, depth: int = 2) -> str:
        """Return an expression; uniform: the same for all threads."""
        if depth == 0 or self.random.random() < 0.3:
            number = str(self.random.randint(-3, 5))
            return self.random.choice([*self.same, number] if uniform else [*self.own, *self.same, "t", "i", number])
        left, right = self.value(uniform, depth - 1), self.value(uniform, depth - 1)
        return f"({left} {self.random.choice('+-*^&')} {right})"

    def statements(self, count: int, uniform: bool) -> None:
        own, same = list(self.own), list(self.same)
        for _ in range(count):
            kinds = [self.assign, self.change, self.branch, self.loop, self.store]
            kinds += [self.exchange, self.vote, self.question] if uniform else []
            self.random.choice(kinds)(uniform)
        self.own, self.same = own, same

    def inside(self, head: str, uniform: bool) -> None:
        self.emit(head)
        self.depth += 1
        self.change(uniform)
        self.statements(self.random.randint(1, 3), uniform)
        self.depth -= 1

    def assign(self, uniform: bool) -> None:
        variable = self.name("v")
        self.emit(f"{variable} = {self.value(False)}")
        self.own.append(variable)

    def change(self, uniform: bool) -> None:
        self.emit(f"{self.random.choice(self.own)} {self.random.choice(['+=', '-=', '^='])} {self.value(False)}")

    def store(self, uniform: bool) -> None:
        self.emit(f"out[i, {self.random.randint(0, 2)}] = {self.value(False)}")

    def branch(self, uniform: bool) -> None:
        uniform = uniform and self.random.random() < 0.5
        if self.depth < 5:
            self.inside(f"if {self.value(uniform)} > {self.value(uniform)}:", uniform)
            if self.random.random() < 0.4:
                self.inside("else:", uniform)

    def loop(self, uniform: bool) -> None:
        if self.depth < 5:
            index, own, same = self.name("k"), list(self.own), list(self.same)
            count = self.random.randint(0, 3) if uniform else f"ti.abs({self.value(False, 1)}) % 4"
            self.emit(f"for {index} in range({count}):")
            self.depth += 1
            if uniform:
                self.same.append(index)
            self.statements(self.random.randint(1, 3), uniform)
            self.emit(f"if {self.value(uniform)} > 3:")
            self.emit(f"    {self.random.choice(['break', 'continue'])}")
            self.depth -= 1
            self.own, self.same = own, same

    def exchange(self, uniform: bool) -> None:
        self.emit("block.sync()")
        self.emit(f"tile[t] = {self.value(False)}")
        self.emit("block.sync()")
        variable = self.name("v")
        self.emit(f"{variable} = tile[(t + {self.random.randint(0, BLOCK - 1)}) % threads]")
        self.own.append(variable)

    def vote(self, uniform: bool) -> None:
        variable = self.name("u")
        self.emit(f"{variable} = block.sync_count_nonzero({self.value(False)} > 2)")
        self.same.append(variable)

    def question(self, uniform: bool) -> None:
        if not self.with_subgroups:
            return
        variable = self.name("v")
        call = self.random.choice(QUESTIONS).format(self.value(False))
        if self.random.random() < 0.3:  # lanes part, and each side calls it separately
            self.emit(f"{variable} = 0")
            self.emit(f"if {self.value(False)} > {self.value(False)}:")
            self.emit(f"    {variable} = subgroup.{QUESTIONS[0].format(self.value(False))}")
        else:
            self.emit(f"{variable} = subgroup.{call}")
        self.own.append(variable)
