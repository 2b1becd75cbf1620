"""Random differentiable kernels, whose gradients and duals are compared with finite differences in f64.

    PYTHONPATH=tests:.. python -m fuzz.derivatives --seeds 0:200 --arch cpu

A program has fields `x`, `y` (inputs), `v` (vectors) and `z` (results), and one kernel whose statements are smooth at the
values that occur: conditions compare indices, or numbers with thresholds that they are far from. A seed gives the same
program on every machine.
"""

from __future__ import annotations

import argparse
import linecache
import random
import sys
from typing import Any

import numpy as np

N = 4
STEPS = (1e-6, 1e-5, 1e-4)
"""Of the finite differences, which are of order 4. One that straddles a kink, or cancels too much, leaves the others."""
TOLERANCE = 1e-6
MODES_TOLERANCE = 1e-10
"""Of the products that the two modes give, which no finite difference blurs."""
UNARY = ("ti.sin({})", "ti.cos({})", "ti.tanh({})", "ti.exp(-({})**2)", "ti.sqrt(1.5 + ti.sin({}))", "-({})",
         "ti.log(2.5 + ti.cos({}))", "ti.atan2({}, 2.0)", "1.0 / (2.0 + ti.sin({}))", "ti.abs(3.0 + ti.sin({}))",
         "ti.cast({}, ti.f64)", "bend({})", "ti.tan(0.5 * ti.sin({}))", "ti.asin(0.5 * ti.cos({}))",
         "ti.acos(0.5 * ti.sin({}))", "ti.asinh({})", "ti.acosh(2.5 + ti.cos({}))", "ti.atanh(0.5 * ti.sin({}))",
         "ti.rsqrt(2.0 + ti.sin({}))", "(ti.floor(0.01 * ti.sin({})) + 1.0)")  # fmt: skip
BINARY = ("({} + {})", "({} - {})", "({} * {})", "ti.atan2({}, 3.0 + ti.cos({}))", "ti.max({}, {})", "ti.min({}, {})",
          "((2.0 + ti.sin({})) ** ti.tanh({}))", "({} / (2.0 + ti.cos({})))", "mixed({}, {})",
          "((9.5 + 0.3 * ti.sin({})) % (2.1 + 0.02 * ti.sin({})))", "ti.raw_div({}, 3.0 + ti.sin({}))",
          "ti.raw_mod(9.5 + 0.3 * ti.sin({}), 2.1 + 0.02 * ti.sin({}))")  # fmt: skip

MISSING = ("asinh", "acosh", "atanh")
"""Functions that Taichi 1.7.4 lacks."""
NEIGHBOURS = ("(x[i - 1] if i > 0 else 0.5)", "(y[i + 1] if i < 3 else x[i])", "(v[i + 1][0] if i < 3 else y[3 - i])",
              "(m[i - 1][0, 1] * x[i] if i > 1 else x[i + 2])", "ti.select(i < 2, x[i % 2 + 2], y[i])")  # fmt: skip
"""Values of which most gradients are gathered."""


class Program:
    """One random kernel as source. `lines`: of its body. for_taichi: only what Taichi 1.7.4 differentiates.

    copied: variables that keep what another one was, and this one.
    """

    def __init__(self, seed: int, for_taichi: bool = False) -> None:
        self.random = random.Random(seed)
        self.for_taichi = for_taichi
        self.unary = [form for form in UNARY if not for_taichi or not any(name in form for name in MISSING)]
        self.binary = [form for form in BINARY if not for_taichi or "raw_" not in form]
        self.lines: list[str] = []
        self.names = 0
        self.copied: dict[str, str] = {}
        self.source = self.build()

    def build(self) -> str:
        """Return the module: helper functions and the kernel."""
        loops = 1 if self.for_taichi else self.random.randint(1, 2)
        for number in range(loops):
            self.parallel_loop(number)
        if self.random.random() < 0.3 and not self.for_taichi:
            self.reduction()
        return HEAD + "@ti.kernel\ndef kernel(n: int):\n" + "\n".join(self.lines) + "\n"

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("    " * depth + line)

    def name(self, letter: str) -> str:
        self.names += 1
        return f"{letter}{self.names}"

    def expression(self, values: list[str], depth: int = 2) -> str:
        """Return a number made of values in scope."""
        if depth == 0 or self.random.random() < 0.25:
            return self.random.choice([*values, *values, f"{self.random.uniform(-1, 1):.2f}"])
        if self.random.random() < 0.4:
            return self.random.choice(self.unary).format(self.expression(values, depth - 1))
        if self.random.random() < 0.15:
            a, b = self.expression(values, depth - 1), self.expression(values, depth - 1)
            return f"({a} if {self.condition(values)} else {b})"
        if self.random.random() < 0.15:
            a, b = self.expression(values, depth - 1), self.expression(values, depth - 1)
            return f"ti.select({self.condition(values)}, {a}, {b})"
        form = self.random.choice(self.binary)
        return form.format(self.expression(values, depth - 1), self.expression(values, depth - 1))

    def condition(self, values: list[str]) -> str:
        """Return a condition that small changes of numbers do not change."""
        return self.random.choice(
            ["i % 2 == 0", "i < n - 2", f"ti.sin({self.random.choice(values)}) > -1.5", "i == 1 or n > 9"]
        )

    def parallel_loop(self, number: int) -> None:
        """Add a parallel loop that writes its elements of one result."""
        self.emit(1, self.random.choice(["for i in x:", f"for i in range({N}):"]))
        sources = ["x[i]", "y[i]", "x[(i + 1) % 4]", "y[3 - i]", "v[i][1]", "v[i].norm()", "v[i].dot(v[(i + 1) % 4])"]
        sources += self.random.sample(NEIGHBOURS, 2)
        if number:
            sources.append("z0[i]")
        self.body(2, sources, [], 3)
        target = f"z{number}[i]"
        values = [*sources, *self.known]
        if self.random.random() < 0.3:
            self.emit(2, f"z{number}[(i * 3) % 4] += {self.expression(values)}")
        else:
            self.emit(2, f"{target} = {' + '.join([self.expression(values), *self.known])}")
            if self.random.random() < 0.3 and not self.for_taichi:
                self.emit(2, f"{target} += {target} * {self.expression(values, 1)}")
        if self.random.random() < 0.3:
            self.emit(2, f"loss[None] += {self.expression(values)}")

    def body(self, depth: int, sources: list[str], known: list[str], budget: int) -> None:
        """Add statements that declare and change variables; `self.known` are those in scope afterwards."""
        known = list(known)
        for _ in range(self.random.randint(1, budget)):
            values = [*sources, *known, *known]
            kind = self.random.random()
            if kind < 0.35 or not known:
                name = self.name("a")
                self.emit(depth, f"{name} = {self.expression(values)}")
                known.append(name)
            elif kind < 0.5:
                name = self.random.choice(known)
                self.emit(depth, f"{name} {self.random.choice(['+=', '-=', '*='])} {self.expression(values, 1)}")
                known += self.copies(depth, known)
            elif kind < 0.6:
                self.vector(depth, values, known)
            elif kind < 0.75:
                self.emit(depth, f"if {self.condition(values)}:")
                self.update(depth + 1, values, known, budget - 1)
                if self.random.random() < 0.5:
                    self.emit(depth, "else:")
                    self.update(depth + 1, values, known, budget - 1)
            elif budget > 1:
                self.loop(depth, values, known, budget - 1)
        self.known = known

    def vector(self, depth: int, values: list[str], known: list[str]) -> None:
        """Add a vector variable, a change of it, and a number that it gives."""
        name, result = self.name("w"), self.name("a")
        entries = ", ".join(self.expression(values, 1) for _ in range(3))
        self.emit(depth, f"{name} = ti.Vector([{entries}])")
        change = [f"{name}[1] += {self.expression(values, 1)} * {name}[0]", f"{name} *= {self.expression(values, 1)}",
                  f"{name} = {name}.cross(v[i]) + {name}", f"{name} = m[i] @ {name}",
                  f"{name} = (m[i].transpose() + {name}.outer_product(v[i])) @ {name}",
                  f"{name} = (ti.Matrix.identity(ti.f64, 3) * 3.0 + m[i]).inverse() @ {name}"]  # fmt: skip
        self.emit(depth, self.random.choice(change))
        use = [f"{name}.sum()", f"{name}.dot(v[i])", f"{name}[i % 3]", f"(1.0 + {name}.norm_sqr())",
               f"(0.1 + {name} * {name}).normalized()[1]", f"(1.0 + {name}).norm(0.1)", f"({name} + v[i]).max()",
               f"(ti.Matrix.identity(ti.f64, 3) * 3.0 + {name}.outer_product(v[i])).determinant()"]  # fmt: skip
        self.emit(depth, f"{result} = {self.random.choice(use)}")
        known.append(result)

    def copies(self, depth: int, known: list[str]) -> list[str]:
        """Keep what a variable is in another one, or exchange two; return the new variables."""
        if self.for_taichi or self.random.random() < 0.5:
            return []
        name = self.random.choice(known)
        if self.random.random() < 0.3:
            other = self.random.choice(known)
            self.emit(depth, f"{name}, {other} = {other}, {name} * 0.9")
            return []
        copy = self.name("old")
        self.copied[copy] = name
        self.emit(depth, f"{copy} = {name}")
        return [copy]

    def update(self, depth: int, values: list[str], known: list[str], budget: int) -> None:
        """Add statements of a branch or an iteration: they change variables from outside, and may declare others."""
        inner = list(known)
        only_sums = self.random.random() < 0.4
        for _ in range(self.random.randint(1, 2)):
            if self.random.random() < 0.3:
                name = self.name("b")
                self.emit(depth, f"{name} = {self.expression([*values, *inner])}")
                inner.append(name)
            inner += self.copies(depth, known)
            name = self.random.choice(known)
            value = self.expression([*values, *inner, name, name])
            copies = [copy for copy in inner if self.copied.get(copy) in known]
            if copies and self.random.random() < 0.5:
                copy = self.random.choice(copies)
                sign = self.random.choice(["+", "-"])
                self.emit(depth, f"{self.copied[copy]} = {copy} {sign} 0.1 * {self.expression([*values, *inner])}")
                continue
            sums = [f"{name} = grown({name}, {value})", f"{name} += 0.1 * {value}", f"{name} -= 0.1 * ti.sin({value})"]
            self.emit(depth, self.random.choice(sums) if only_sums else f"{name} = {value} * 0.7")
        if budget > 1 and self.random.random() < 0.3:
            self.loop(depth, [*values, *inner], known, budget - 1)

    def loop(self, depth: int, values: list[str], known: list[str], budget: int) -> None:
        """Add a serial loop that changes variables."""
        index = self.name("k")
        kind = self.random.uniform(0.5, 0.65) if self.for_taichi else self.random.random()
        if kind < 0.3:
            count = self.random.choice(["3", "n", "n - i", "2"])
            self.emit(depth, f"for {index} in range({count}):")
        elif kind < 0.5:
            self.emit(depth, f"for {index} in range(1, n, 2):")
        elif kind < 0.65:
            self.emit(depth, f"for {index} in ti.static(range(2)):")
        elif kind < 0.8:
            other = self.name("k")
            self.emit(depth, f"for {index}, {other} in ti.ndrange(2, n):")
        else:
            self.emit(depth, f"{index} = 0")
            self.emit(depth, f"while {index} < n:")
            self.emit(depth + 1, f"{index} += 1")
        static = kind >= 0.5 and kind < 0.65
        inner = [*values, f"x[({index} + i) % 4]", f"(0.1 * {index})"]
        if not static and self.random.random() < 0.25:
            self.emit(depth + 1, f"if {index} == {self.random.randint(1, 3)}:")
            self.update(depth + 2, inner, known, 0)
            jump = self.random.choice(["break", "continue"])
            self.emit(depth + 2, "continue" if "," in self.lines[-2] and jump == "break" else jump)
        self.update(depth + 1, inner, known, budget)

    def reduction(self) -> None:
        """Add a sum over a parallel loop, whose result is used afterwards."""
        self.emit(1, "total = 0.0")
        self.emit(1, "for i in x:")
        self.emit(2, f"total += {self.expression(['x[i]', 'z0[i]', 'y[i]'])}")
        self.emit(1, "loss[None] += total * total + ti.sin(total)")


HEAD = """\
import taichi as ti


@ti.func
def bend(a):
    r = a
    if a > -100.0:
        r = ti.sin(a) + a * 0.5
    return r


@ti.func
def mixed(a, b):
    c = a * b
    c += ti.cos(a)
    return c * 0.5


@ti.func
def grown(a, b):
    return a + 0.1 * ti.sin(b) * a


"""


def run(ti: Any, seed: int) -> float:
    """Return the greatest relative difference of the derivatives of both modes from finite differences.

    That between the two modes counts 1e4 times.
    """
    source = Program(seed).source
    file = f"<derivatives {seed}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    both = {"needs_grad": True, "needs_dual": True}
    fields = {name: ti.field(ti.f64, N, **both) for name in ("x", "y", "z0", "z1")}
    fields["v"] = ti.Vector.field(3, ti.f64, N, **both)
    fields["m"] = ti.Matrix.field(3, 3, ti.f64, N, **both)
    fields["loss"] = ti.field(ti.f64, (), **both)
    names: dict[str, Any] = {**fields, "ti": ti}
    exec(compile(source.replace("import taichi as ti\n", ""), file, "exec"), names)
    return _Check(names["kernel"], fields).worst()


class _Check:
    """One kernel, its fields, and the values that they start with."""

    inputs = ("x", "y", "v", "m")
    results = ("z0", "z1", "loss")

    def __init__(self, kernel: Any, fields: dict[str, Any]) -> None:
        self.kernel, self.fields = kernel, fields
        self.numbers = np.random.default_rng(1)
        self.start = {name: self.numbers.uniform(0.2, 1.0, np.shape(f.to_numpy())) for name, f in fields.items()}
        self.weights = {name: self.numbers.uniform(-1, 1, np.shape(self.start[name])) for name in self.results}

    def outcome(self, direction: dict[str, Any], scale: float) -> float:
        """Launch with inputs moved along a direction; return the weighted sum of the results."""
        self._reset(direction, scale)
        self.kernel(N + 1)
        return self._weighted("")

    def gradients(self) -> dict[str, Any]:
        """Return the gradients of the weighted sum by the inputs."""
        self.outcome({}, 0.0)
        for name, field in self.fields.items():
            field.grad.from_numpy(np.asarray(self.weights.get(name, np.zeros_like(self.start[name]))))
        self.kernel.grad(N + 1)
        return {name: np.array(self.fields[name].grad.to_numpy()) for name in self.inputs}

    def dual(self, direction: dict[str, Any]) -> float:
        """Return the derivative of the weighted sum along a direction, by forward mode."""
        self._reset({}, 0.0)
        for name, field in self.fields.items():
            field.dual.from_numpy(np.asarray(direction.get(name, np.zeros_like(self.start[name]))))
        self.kernel.dual(N + 1)
        return self._weighted("dual")

    def worst(self) -> float:
        """Return the greatest difference, along two random directions."""
        gradients = self.gradients()
        worst = 0.0
        for _ in range(2):
            direction = {name: self.numbers.uniform(-1, 1, self.start[name].shape) for name in self.inputs}
            by_reverse = float(sum(np.sum(gradients[name] * direction[name]) for name in self.inputs))
            by_forward = self.dual(direction)
            scale = max(1.0, abs(by_forward))
            worst = max(worst, abs(by_forward - by_reverse) / scale * TOLERANCE / MODES_TOLERANCE)
            errors = []
            for step in STEPS:
                errors.append(abs(self._difference(direction, step) - by_reverse) / scale)
                if errors[-1] < TOLERANCE / 10:
                    break
            worst = max(worst, min(errors))
        return worst

    def _difference(self, direction: dict[str, Any], step: float) -> float:
        near = self.outcome(direction, step) - self.outcome(direction, -step)
        far = self.outcome(direction, 2 * step) - self.outcome(direction, -2 * step)
        return (8 * near - far) / (12 * step)

    def _reset(self, direction: dict[str, Any], scale: float) -> None:
        for name, field in self.fields.items():
            values = self.start[name] + scale * direction[name] if name in direction else self.start[name]
            field.from_numpy(np.asarray(values))

    def _weighted(self, member: str) -> float:
        arrays = {name: getattr(self.fields[name], member) if member else self.fields[name] for name in self.results}
        return float(sum(np.sum(array.to_numpy() * self.weights[name]) for name, array in arrays.items()))


def main() -> int:
    """Run the programs of the given seeds, and print those whose gradients differ."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", default="0:50", help="first and last seed: 0:50")
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--show", type=int, help="print the program of a seed")
    parser.add_argument("--emulated", action="store_true", help="with `--arch cuda`: run CUDA C on the host")
    arguments = parser.parse_args()
    if arguments.show is not None:
        print(Program(arguments.show).source)
        return 0
    import shadesmith as ti

    if arguments.emulated:
        from emulated.device import install

        install()
    first, last = map(int, arguments.seeds.split(":"))
    failures = 0
    for seed in range(first, last):
        ti.init(arch=getattr(ti, arguments.arch), default_fp=ti.f64, offline_cache=False, log_level=ti.ERROR)
        try:
            worst = run(ti, seed)
        except Exception as error:  # noqa: BLE001 - reported, and the run goes on
            print(f"seed {seed}: {type(error).__name__}: {str(error)[:600]}")
            failures += 1
            continue
        if not worst < TOLERANCE:
            print(f"seed {seed}: the gradient differs by {worst:.2g}")
            failures += 1
    print(f"{last - first} kernels, {failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
