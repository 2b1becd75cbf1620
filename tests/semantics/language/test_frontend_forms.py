"""What the frontend makes of Python: a few lines of the frontend form for each construct."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

import shadesmith.transpiler.lang.functions as functions
from shadesmith.transpiler.errors import TaichiCompilationError
from shadesmith.transpiler.frontend.builders.build import build
from shadesmith.transpiler.frontend.source.definition import define
from shadesmith.transpiler.frontend.source.specialization import ArrayArgument, ScalarArgument, Specialization
from shadesmith.transpiler.ir.tasks import Kernel
from shadesmith.transpiler.ir.text import print_frontend
from shadesmith.transpiler.ir.types import Tensor, f32, i32
from shadesmith.transpiler.lang.annotations import template
from shadesmith.transpiler.lang.decorators import func
from shadesmith.transpiler.lang.describe import ArrayDescription
from shadesmith.transpiler.lang.matrix import Matrix, Vector
from shadesmith.transpiler.options import Capabilities, CompileOptions


class FakeField:
    def __init__(self, element: Any, shape: tuple[int, ...]) -> None:
        self.description = ArrayDescription(element, shape, "field")

    def describe_array(self) -> ArrayDescription:
        return self.description


NAMES = {
    "ti": functions,
    "Vector": Vector,
    "Matrix": Matrix,
    "func": func,
    "template": template,
    "f32": f32,
    "field": FakeField(f32, (8,)),
    "vectors": FakeField(Tensor((3,), f32), (4, 4)),
}


def kernel_of(body: str, before: str = "") -> Kernel:
    """Build `body` as a kernel of a: ndarray[f32, 1], n: i32, x: f32."""
    text = f"{before}def kernel(a, n, x):\n" + "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    file = f"<frontend test {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = dict(NAMES)
    exec(compile(text, file, "exec"), space)
    arguments = (ArrayArgument(f32, 1), ScalarArgument(i32), ScalarArgument(f32))
    return build(Specialization(define(space["kernel"]), arguments, CompileOptions(), Capabilities("c"))).kernel


def lines(body: str, before: str = "") -> list[str]:
    """Return the lines of the frontend form of `body`."""
    return [line.strip() for line in print_frontend(kernel_of(body, before)).splitlines()]


def test_a_variable_assigned_once_is_a_value() -> None:
    assert "y = x * 2.0" in lines("y = x * 2\na[0] = y")


def test_a_variable_assigned_again_is_declared() -> None:
    assert "y: f32" in lines("y = x\ny += 1\na[0] = y")


def test_small_literal_powers_are_products() -> None:
    assert "a[0] = x * x" in lines("a[0] = x ** 2")


def test_augmented_assignment_to_an_array_is_atomic() -> None:
    assert any("atomic_add(a[0], x)" in line for line in lines("a[0] += x"))


def test_augmented_assignment_to_a_local_is_plain() -> None:
    assert not any("atomic" in line for line in lines("s = 0\ns += n\na[0] = s"))


def test_a_local_changed_in_a_parallel_loop_is_changed_atomically() -> None:
    assert any("atomic_add(s, i)" in line for line in lines("s = 0\nfor i in range(n): s += i\na[0] = s"))


def test_ternary_promotes_its_branches() -> None:
    assert "y = 1.0 if (n != 0) else 2.5" in lines("y = 1 if n else 2.5\na[0] = y")


def test_and_of_numbers_gives_the_deciding_one() -> None:
    assert "y = 5 if (n != 0) else n" in lines("y = n and 5\na[0] = y")


def test_a_vector_is_stored_by_element_type() -> None:
    assert "vectors[0, n] = [1.0, 2.0, 3.0]" in lines("vectors[0, n] = [1, 2, 3]")


def test_an_unused_branch_of_a_static_if_is_gone() -> None:
    text = lines("if ti.static(field.describe_array().shape[0] > 9):\n    a[0] = 1\nelse:\n    a[1] = 2")
    assert "a[1] = 2.0" in text
    assert "a[0] = 1.0" not in text


def test_early_returns_become_branches_without_a_flag() -> None:
    sign = "@func\ndef sign(v):\n    if v > 0: return 1\n    if v < 0: return -1\n    return 0\n"
    assert not any("returned" in line for line in lines("a[0] = sign(x)", sign))


def test_a_return_out_of_a_loop_breaks_it_and_sets_a_flag() -> None:
    find = "@func\ndef find(v, m):\n    for i in range(m):\n        if v[i] > 0: return i\n    return -1\n"
    text = lines("for k in range(n): a[k] = find(a, n)", find.replace("@func", "@func(inline=True)"))
    assert text[text.index("find_returned = True") + 1] == "break"
    assert "if not find_returned:" in text


def test_a_template_parameter_changes_the_callers_variable() -> None:
    text = lines("y = n\nadd(y)\na[0] = y", "@func\ndef add(v: template()): v += 2\n")
    assert "y = y + 2" in text


def test_compile_time_recursion_ends() -> None:
    fib = "@func\ndef fib(m: template()):\n    return 1 if ti.static(m <= 2) else fib(m - 1) + fib(m - 2)\n"
    assert "a[0] = 55.0" in lines("a[0] = fib(10)", fib)


def test_break_in_an_unrolled_loop_guards_what_follows() -> None:
    text = lines("for i in ti.static([2, 2]):\n    if a[i] > 0: break\n    a[i] = 1")
    assert "if not broken:" in text


def test_break_in_a_static_loop_that_stays_a_loop() -> None:
    text = lines("for i in ti.static(range(2)):\n    if a[i] > 0: break\n    a[i] = 1")
    assert "for i in static(range(0, 2, 1)):" in text and "break" in text and "broken" not in text


def test_range_over_all_of_an_array_is_noted() -> None:
    kernel = kernel_of("for i in range(a.shape[0]): a[i] = 0")
    assert kernel.body.statements[-1].over is kernel.arrays[0]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("body", "line", "column"),
    [
        ("y = (n +\n     missing)", 3, 10),
        ("ä = missing + n", 2, 9),
        ("y = 'ä' if n is None else ti.nothing", 2, 31),
        ("for i in range(n):\n    i = 3", 3, 9),
    ],
)
def test_errors_name_line_and_column_in_characters(body: str, line: int, column: int) -> None:
    with pytest.raises(TaichiCompilationError) as caught:
        lines(body)
    location = caught.value.location  # type: ignore[attr-defined]
    assert (location.line, location.column) == (line, column)


def test_errors_in_inlined_functions_show_the_chain_of_calls() -> None:
    with pytest.raises(TaichiCompilationError) as caught:
        lines("y = outer(n)", "@func\ndef inner(v): return v + missing\n\n@func\ndef outer(v): return inner(v)\n")
    location = caught.value.location  # type: ignore[attr-defined]
    assert (location.function, location.call_site.function, location.call_site.call_site.function) == (
        "inner",
        "outer",
        "kernel",
    )
