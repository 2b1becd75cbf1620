"""`kernel.bisect` names the pass that is wrong: miscompiles are seeded in one pass at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from seeded_mistakes import lost_store, swapped_operands, wrong_address, wrong_constant, wrong_operation

import shadesmith as ti
from shadesmith.runtime.commands import command_line
from shadesmith.transpiler.ir.tasks import Kernel

SEEDED: dict[str, Callable[[Kernel], bool]] = {
    "inline_calls": wrong_operation,
    "demote_atomics": wrong_operation,
    "fold": wrong_constant,
    "simplify": wrong_operation,
    "forward_stores": wrong_constant,
    "forward_elements": wrong_operation,
    "common_subexpressions": swapped_operands,
    "dead_code": lost_store,
    "hoist_loads": swapped_operands,
    "reduce_atomics": wrong_operation,
    "operand_order": swapped_operands,
    "ranges": wrong_operation,
    "split_vectors": wrong_operation,
    "fuse_result": wrong_operation,
    "private_sums": wrong_operation,
    "lower_access": wrong_address,
    "hoist_addresses": wrong_address,
}


@ti.func
def weight(a, b):
    return a * 3 + b


@ti.kernel
def work(x: ti.template(), v: ti.types.ndarray(ti.f32, 1), m: ti.types.ndarray(ti.math.vec3, 1), n: ti.i32) -> ti.f32:
    for i in x:
        k = 5
        if i < 8:
            k = k + 2
        x[i] += weight(i, n) // 3 + (i + n) % 4 + k * 1 + (n + i) * 2
    for i in range(n):
        s = ti.Vector([0.0, 0.0, 0.0])
        for j in ti.static(range(3)):
            s[j] += v[i] * (j + 1)
        m[i] = s + m[i] * 2.0 - v[i]
    total = 0.0
    for i in range(n):
        total += v[i] * 2.0 + v[0]
    return total


@ti.kernel
def summed(v: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
    total = 0.0
    for i in v:
        total += v[i] * 2.0
    return total


@ti.kernel
def counted(x: ti.template(), v: ti.types.ndarray(ti.f32, 1)):
    for i in v:
        x[3] += ti.cast(v[i], ti.i32) + 2


@ti.kernel
def stored_twice(x: ti.template()):
    for i in x:
        x[i] = x[i] + i * 3
        x[i] = x[i] * 2 + i


@ti.kernel
def scattered(x: ti.template(), v: ti.types.ndarray(ti.f32, 1)):
    for i in v:
        x[ti.cast(v[i], ti.i32) % 16] += 3 + i * 2


@ti.kernel
def mixed(m: ti.types.ndarray(ti.math.vec3, 1), g: ti.types.ndarray(ti.f32, 2)):
    for i in m:
        base = ti.Vector([i % 3, i // 3])
        for node in ti.grouped(ti.ndrange(2, 2)):
            g[base + node] += m[i].x * 2.0
    for i in m:
        m[i] = m[i] * g[0, 0] + g[1, 1] * m[i]


@ti.kernel(passes="+lower_access")
def tabled(table: ti.template(), n: ti.i32):
    for i in range(n):
        for j in range(5):
            table[i, j] = table[i, j] + i * 10 + j


def call() -> tuple[Any, ...]:
    x, v, m = ti.field(ti.i32, 20), ti.ndarray(ti.f32, 16), ti.ndarray(ti.math.vec3, 16)
    for i in range(20):
        x[i] = 100 + 7 * i
    for i in range(16):
        v[i], m[i] = 1.5 + i, [i, 2 + i, 3.25]
    return x, v, m, 13


def call_for(name: str) -> tuple[Any, tuple[Any, ...]]:
    """Return a kernel that a pass changes, and arguments."""
    x, v, m, n = call()
    if name == "fuse_result":
        return summed, (v,)
    if name == "forward_elements":
        return stored_twice, (x,)
    if name == "private_sums":
        return scattered, (x, v)
    if name == "reduce_atomics":
        return counted, (x, v)
    if name in ("lower_access", "hoist_addresses"):
        return tabled, (ti.field(ti.i32, (6, 5)), 6)
    if name in ("operand_order", "split_vectors"):
        grid = ti.ndarray(ti.f32, (8, 8))
        grid.fill(1.5)
        return mixed, (m, grid)
    return work, (x, v, m, n)


def check_named(name: str, seeded: Any, target: str) -> None:
    ti.init(arch=getattr(ti, target))
    kernel, arguments = call_for(name)
    done = seeded(name, SEEDED[name])
    found = kernel.bisect(*arguments, in_process=True)
    if not done:
        pytest.skip(f"{name} changes nothing on {target}")
    assert found.verdict == "pass" and found.pass_name == name, str(found)
    assert found.change > 0 and found.before != found.after and found.difference
    assert f"`{name}` is the first wrong pass" in str(found)


OF_TARGETS = ("reduce_atomics", "operand_order", "split_vectors", "fuse_result", "private_sums")
"""They change nothing for the interpreter."""


@pytest.mark.parametrize("name", [name for name in SEEDED if name not in OF_TARGETS] + ["reduce_atomics"])
def test_bisect_names_the_wrong_pass(name: str, seeded: Any) -> None:
    check_named(name, seeded, "cpu" if name in OF_TARGETS else "python")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", SEEDED)
def test_bisect_names_the_wrong_pass_on_each_target(name: str, seeded: Any, target: str) -> None:
    check_named(name, seeded, target)


@pytest.mark.parametrize("count", [0, 1])
def test_right_passes_agree(count: int, target: str) -> None:
    ti.init(arch=getattr(ti, target))
    x, v, m, _ = call()
    found = work.bisect(x, v, m, count, in_process=True)
    assert found.verdict == "agrees" and found.pass_name == "", str(found)
    assert x[3] == 121  # the call ran on copies


def test_a_wrong_pass_that_every_kernel_needs_is_named(seeded: Any) -> None:
    ti.init(arch=ti.cpu)
    arguments = call()
    done = seeded("wrapping", wrong_operation)
    found = work.bisect(*arguments, in_process=True)
    assert bool(done) == (found.verdict == "pass")
    assert found.pass_name == ("wrapping" if done else "")


def test_a_wrong_backend_is_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    ti.init(arch=ti.cpu)
    arguments = call()
    from shadesmith.runtime.workbench.bisect import bisection

    right = bisection.compile_source

    def wrong(specialization: Any, *rest: Any) -> Any:
        from dataclasses import replace

        compilation = right(specialization, *rest)
        module = compilation.module
        files = tuple(replace(file, text=file.text.replace("* 3", "* 4")) for file in module.files)
        return replace(compilation, module=replace(module, files=files))

    monkeypatch.setattr(bisection, "compile_source", wrong)
    found = work.bisect(*arguments, in_process=True)
    assert found.verdict == "backend" and "every pass is right" in str(found)


PROGRAM = """
import shadesmith as ti
from shadesmith.transpiler.ir.nodes import walk
from shadesmith.transpiler.ir.statements import Const

ti.init(arch=ti.cpu)

def shift(kernel, context):
    found = [s for root in kernel.roots() for s in walk(root) if isinstance(s, Const) and s.value == 2.5]
    for constant in found:
        constant.value = 2.75
    return bool(found)

x = ti.field(ti.f32, 8)

@ti.kernel(passes=[ti.Pass(shift, after="offload")])
def scale():
    for i in x:
        x[i] = i * 2.5

scale()
"""


def test_the_command_names_the_pass_and_shows_what_it_changed(tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "shifted.py"
    path.write_text(PROGRAM)
    status = command_line.main(["bisect", f"{path}:scale", "--in-process"])
    shown = capsys.readouterr().out
    assert status == 1 and "`shift` is the first wrong pass, by change " in shown
    assert "-" in shown and "const 2.75" in shown and "x[1]: 2.5, found 2.75" in shown
    path.write_text(PROGRAM.replace("2.75", "2.5"))
    assert command_line.main(["bisect", f"{path}:scale", "--in-process"]) == 0
    assert "agree with the interpreter's" in capsys.readouterr().out


def test_gradients_are_bisected_and_sparse_trees_refused() -> None:
    ti.init(arch=ti.cpu)
    x, loss = ti.field(ti.f32, 8, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)
    tree = ti.root.pointer(ti.i, 8)
    cells = ti.field(ti.f32)
    tree.dense(ti.i, 4).place(cells)

    @ti.kernel
    def energy():
        for i in x:
            loss[None] += x[i] ** 2

    @ti.kernel
    def fill_cells():
        for i in range(8):
            cells[i] = i

    assert energy.grad.bisect(in_process=True).verdict == "agrees"
    with pytest.raises(ti.TaichiRuntimeError, match="it uses a sparse tree. Hint: bisect a call on fields"):
        fill_cells.bisect(in_process=True)
