"""Edits of the final IR: one text for all targets, kept, merged, compared and shipped as edits of sources are."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import written_programs
from golden_kernels import KERNELS, RECURSIVE, SUFFIX, _argument, able, load

import shadesmith as ti
from shadesmith.runtime.workbench.edits.ir_edits import final_form
from shadesmith.transpiler.backend.assemble.emit import emit
from shadesmith.transpiler.frontend.source.definition import define
from shadesmith.transpiler.frontend.source.specialization import Specialization
from shadesmith.transpiler.ir.edited.lines import TextError
from shadesmith.transpiler.ir.edited.read_text import read_edited
from shadesmith.transpiler.ir.text import print_kernel
from shadesmith.transpiler.ir.verify import Stage, verify
from shadesmith.transpiler.nesting import deep_recursion
from shadesmith.transpiler.options import CompileOptions
from shadesmith.transpiler.passes import PassContext
from shadesmith.transpiler.passes.analysis.call_effects import call_effects

pytestmark = pytest.mark.one_target  # the rest in `make test-all`

SCALE = """
    @ti.kernel
    def scale(a: ti.f32, x: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
        total = 0.0
        for i in x:
            x[i] = a * x[i] + 1.0
        for i in x:
            total += x[i]
        return total
"""


def begun(target: str, tmp_path: Path, source: str = SCALE, **options: Any) -> tuple[Any, np.ndarray, Path]:
    ti.init(arch=getattr(ti, target), **options)
    program = written_programs.write(tmp_path / "p.py", source)
    x = np.ones(100, np.float32)
    return program.scale, x, program.scale.edit(2.0, x, form="ir")


def changed(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text, text
    path.write_text(text.replace(old, new, 1))


def specialization(name: str, target: str) -> Specialization:
    module = load(name)
    arguments = tuple(_argument(a) for a in module.arguments)
    options = CompileOptions(**getattr(module, "options", {}))
    return Specialization(define(module.kernel), arguments, options, able(target))


@pytest.mark.sampled(15)
@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize("language", SUFFIX)
@pytest.mark.parametrize("name", KERNELS)
def test_an_unchanged_text_gives_the_same_source(name: str, language: str, lowered: bool) -> None:
    if language == "vulkan" and name in RECURSIVE:
        return
    given = specialization(name, language)
    if lowered:
        given = replace(given, options=replace(given.options, disabled_passes=frozenset()))
    with deep_recursion():
        kernel, text = final_form(given)
        expected, flat = emit(kernel, language, given.options, given.capabilities), print_kernel(kernel)
        read, _ = final_form(given)
        read_edited(f"// a comment\n\n{text}", read)
        call_effects(read, PassContext(given.options, given.capabilities))
        verify(read, Stage.FINAL)
        assert print_kernel(read) == flat
        assert emit(read, language, given.options, given.capabilities) == expected


GRID = """
    @ti.kernel(passes="+lower_access")
    def scale(a: ti.f32, x: ti.types.ndarray(ti.f32, 2)):
        for i in range(x.shape[0]):
            for j in range(x.shape[1] - 1):
                x[i, j] = a * x[i, j + 1]
"""


def test_addresses_by_number_are_edited(target: str, tmp_path: Path) -> None:
    ti.init(arch=getattr(ti, target))
    scale = written_programs.write(tmp_path / "p.py", GRID).scale
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    path = scale.edit(2.0, x, form="ir")
    text = path.read_text()
    number = re.search(r"ptr x at (\$\w+)\n *(\$\w+).*global load", text)
    assert number is not None, text
    line = f"{number[1]}: "
    assert text.count("ptr x at $") == 2 and line in text
    step = next(each for each in text.splitlines() if each.strip().startswith(line))  # $x_index + 1
    base = step.split(" add ")[1].split(",")[0]
    path.write_text(text.replace(f"ptr x at {number[1]}\n", f"ptr x at {base}\n"))
    scale(2.0, x)
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected[:, :3] *= 2
    np.testing.assert_array_equal(x, expected)
    for wrong, message in (("$a", "not i32 or i64"), ("$none", r"none")):
        path.write_text(text.replace(f"ptr x at {number[1]}\n", f"ptr x at {wrong}\n"))
        scale.forget_launchers()
        with pytest.raises(ti.EditError, match=message):
            scale(2.0, x)


PRODUCT = """
    grid = ti.types.ndarray(ti.f32, 2)

    @ti.kernel
    def multiply(a: grid, b: grid, c: grid):
        for i, j in c:
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s * 2
"""


def test_tasks_for_some_lengths_are_edited(target: str, tmp_path: Path) -> None:
    """A product has one for few iterations, with rows of which the launch says how many go together, and one for more."""
    ti.init(arch=getattr(ti, target))
    multiply = written_programs.write(tmp_path / "p.py", PRODUCT).multiply
    x, y = np.ones((300, 32), np.float32), np.ones((32, 310), np.float32)
    z = np.zeros((300, 310), np.float32)
    path = multiply.edit(x, y, z, form="ir")
    text = path.read_text()
    assert target in ("cpu", "python") or "for fewer than 90,000 iterations" in text
    path.write_text(text.replace("const 2.0", "const 3.0"))
    for rows in (3, 300):
        multiply(x[:rows].copy(), y, z[:rows])
        assert (z[:rows] == 96).all() and multiply.last_launch.variant == "edit"


def test_an_edit_runs_until_it_is_deleted(target: str, tmp_path: Path) -> None:
    kernel, x, path = begun(target, tmp_path)
    assert kernel(2.0, x) == 300 and kernel.last_launch.variant == "generated"
    generated = kernel.key(2.0, x)
    changed(path, "const 1.0", "const 5.0")
    kernel.forget_launchers()
    x[:] = 1
    assert kernel(2.0, x) == 700
    assert kernel.last_launch.variant == "edit" and kernel.last_launch.paths == (path,)
    assert kernel.key(2.0, x) != generated
    path.unlink()
    kernel.forget_launchers()
    assert kernel(1.0, x) == 800 and kernel.key(2.0, x) == generated


def test_new_lines_with_new_names(target: str, tmp_path: Path) -> None:
    kernel, x, path = begun(target, tmp_path)
    lines = """
      // twice as much
      $two: f32 = const 2.0
      $more: f32 = mul $add, $two
      $big: u1 = gt $more, $two
      $chosen: f32 = select $big, $more, $two
      if $big {
        global store $ptr_x, $chosen
      } else {
        global store $ptr_x, $two
      }
"""
    changed(path, "      global store $ptr_x, $add\n", lines)
    kernel.forget_launchers()
    assert kernel(2.0, x) == 600 and (x == 6).all()


def test_one_edit_is_for_all_targets(tmp_path: Path) -> None:
    kernel, x, path = begun("cpu", tmp_path)
    changed(path, "const 1.0", "const 5.0")
    for target in ("cpu", "vulkan", "python"):
        ti.init(arch=getattr(ti, target))
        x = np.ones(100, np.float32)
        assert kernel(2.0, x) == 700 and kernel.last_launch.variant == "edit", target
    source = kernel.source(2.0, x, arch=ti.cuda)
    assert "5.0" not in source  # `source` shows what is generated
    module = ti.aot.Module(ti.cuda)
    module.add_kernel(kernel, template_args={"x": ti.ndarray(ti.f32, 100)})
    module.save(str(tmp_path / "saved"))
    texts = [file.read_text(errors="replace") for file in (tmp_path / "saved").rglob("*.cu")]
    assert texts and any("5.0f" in text for text in texts)


def test_the_python_changes_below_an_edit(target: str, tmp_path: Path) -> None:
    kernel, x, path = begun(target, tmp_path)
    changed(path, "const 1.0", "const 5.0")
    other = SCALE.replace("total += x[i]", "total += x[i] * 3.0")
    scale = written_programs.write(tmp_path / "p.py", other).scale
    with pytest.raises(ti.EditError, match="merge"):
        scale(2.0, x)
    if target == "python":
        return
    proposals = scale.variants(2.0, x).proposals["edit"]
    assert len(proposals) == 1
    proposals[0].accept("a test")
    scale.forget_launchers()
    x[:] = 1
    assert scale(2.0, x) == 2100


def test_a_conflict_is_shown_in_a_copy(tmp_path: Path) -> None:
    kernel, x, path = begun("cpu", tmp_path)
    changed(path, "const 1.0", "const 5.0")
    scale = written_programs.write(tmp_path / "p.py", SCALE.replace("+ 1.0", "+ 9.0")).scale
    with pytest.raises(ti.EditError, match="has changed where scale.ssa was edited"):
        scale(2.0, x)


def test_a_comparison_judges_an_edit(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter compares nothing")
    kernel, x, path = begun(target, tmp_path)
    more = "      $zero: f32 = const 0.0\n      $again: f32 = add $add, $zero\n      global store $ptr_x, $again\n"
    changed(path, "      global store $ptr_x, $add\n", more)
    assert kernel.compare(2.0, x, in_process=True).passed
    changed(path, "const 1.0", "const 1.5")
    assert not kernel.compare(2.0, x, in_process=True).passed


def test_variants_of_the_ir(target: str, tmp_path: Path) -> None:
    kernel, x, _ = begun(target, tmp_path)
    path = kernel.edit(2.0, x, form="ir", variant="five")
    assert path.name == "scale@five.ssa"
    changed(path, "const 1.0", "const 5.0")
    kernel.use("five")
    assert kernel(2.0, x) == 700 and kernel.last_launch.variant == "five"
    kernel.use("generated")
    x[:] = 1
    assert kernel(2.0, x) == 300


def test_a_source_and_its_ir_are_not_both_edited(tmp_path: Path) -> None:
    kernel, x, path = begun("cpu", tmp_path)
    source = kernel.edit(2.0, x)
    changed(source, "+ 1.0f", "+ 2.0f")
    changed(path, "const 1.0", "const 5.0")
    kernel.forget_launchers()
    with pytest.raises(ti.EditError, match=r"the IR of kernel `scale` is edited, and scale\.c too"):
        kernel(2.0, x)
    ti.init(arch=ti.cpu, edits="fallback")
    with pytest.warns(ti.ShadesmithWarning, match="The generated source of kernel `scale` runs instead"):
        assert kernel(2.0, x) == 300


def test_a_broken_text_is_left_out_under_fallback_and_watched(tmp_path: Path) -> None:
    kernel, x, path = begun("cpu", tmp_path, edits="watch")
    assert kernel(2.0, x) == 300
    changed(path, "const 1.0", "const 5.0")
    x[:] = 1
    assert kernel(2.0, x) == 700


WRONG = {
    "unknown value": ("global store $ptr_x, $add\n", "global store $ptr_x, $nope\n", r"`\$nope` is not defined before"),
    "unknown operation": ("$mul: f32 = mul", "$mul: f32 = mull", "`mull .*` is no operation .*did you mean `mul`"),
    "unknown type": ("$mul: f32 =", "$mul: f23 =", "`f23` is no type"),
    "wrong type": ("$mul: f32 =", "$mul: i32 =", "malformed"),
    "no type": ("$mul: f32 = mul", "$mul = mul", "malformed|a value has a type"),
    "twice": ("$mul: f32 =", "$add: f32 =", "defined twice|not defined before"),
    "operands": ("= mul ", "= mul $i, ", "takes 2 values, found 3"),
    "number": ("const 1.0", "const one", "`one` is no number"),
    "array": ("ptr x (", "ptr y (", "there is no array `y`. Hint: there are x"),
    "axes": ("ptr x ($i)", "ptr x ($i, $i)", "`x` has one index for each axis, 1; found 2"),
    "brace": ("  task scale_1", "  }\n  task scale_1", "`task scale_1 range_for block_dim=128 {` was expected"),
    "declaration": ("kernel scale(a: f32", "kernel scale(a: f64", "a declaration was changed"),
    "task": ("task scale_1", "task other", "tasks stay as they are"),
    "argument": ("arg a", "arg b", "there is no argument `b`. Hint: there are a"),
    "local": ("global store $ptr_x", "store $ptr_x", "`\\$ptr_x` is not a variable"),
    "nonsense": ("global store $ptr_x", "globule store $ptr_x", "is no statement that an edit can add"),
    "loop": ("step ($c1)", "step ()", "as many starts, ends and steps|is no loop"),
    "block": ("range_for block_dim=128", "range_for block_dim=0", "a block has 1 to 1024 threads, found 0"),
    "condition": ("global store $ptr_x", "while {\n}\nglobal store $ptr_x", "found `}`, expected `} do {`"),
    "break": ("global store $ptr_x", "break\nglobal store $ptr_x", "`break` is in no loop that it could leave"),
    "unused": (
        "$a a: f32 = arg a\n      $i i: i32 = index $loop 0\n",
        "$i i: i32 = index $loop 0\n      $a: f32 = cast $i\n",
        "the edit changes what a launch passes.*`a`",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_are_named_with_their_line(name: str, tmp_path: Path) -> None:
    kernel, x, path = begun("cpu", tmp_path)
    old, new, message = WRONG[name]
    changed(path, old, new)
    kernel.forget_launchers()
    with pytest.raises(ti.EditError, match=rf"(?s)scale\.ssa:\d+: .*({message})"):
        kernel(2.0, x)


def test_a_malformed_kernel_is_an_error_at_its_line(tmp_path: Path) -> None:
    kernel, x, path = begun("cpu", tmp_path)
    line = next(k for k, one in enumerate(path.read_text().split("\n"), 1) if "global store $ptr_x, $add" in one)
    mistakes = {
        "$z: i32 = const 1\nglobal store $ptr_x, $z": (line + 1, "a value of type i32 at a pointer to type f32"),
        "$c: u1 = gt $add, $add\nif $c {\n$z: f32 = const 1.0\n}\nglobal store $ptr_x, $z": (line + 4, "that line"),
    }
    text = path.read_text()
    for new, (number, message) in mistakes.items():
        path.write_text(text.replace("global store $ptr_x, $add", new))
        kernel.forget_launchers()
        with pytest.raises(ti.EditError, match=rf"scale\.ssa:{number}: .*{message}"):
            kernel(2.0, x)


def test_a_text_that_ends_early(tmp_path: Path) -> None:
    kernel, x, path = begun("cpu", tmp_path)
    text = path.read_text()
    for length in range(0, len(text), 97):
        path.write_text(text[:length])
        kernel.forget_launchers()
        try:
            kernel(2.0, x)
        except ti.TaichiCompilationError as error:
            assert "scale.ssa" in str(error)


def test_random_changes_raise_only_errors_of_the_text() -> None:
    given = specialization("jacobi", "c")
    text = final_form(given)[1]
    rng = np.random.default_rng(7)
    for _ in range(60):
        at, length = int(rng.integers(len(text))), int(rng.integers(1, 9))
        kernel, _ = final_form(given)
        try:
            read_edited(
                text[:at] + str(rng.choice(["$", "}", "", " ", "const", "(", "\n"])) + text[at + length :], kernel
            )
        except TextError as error:
            assert error.line > 0 and error.message


def test_types_that_the_kernel_lacks(target: str, tmp_path: Path) -> None:
    kernel, x, path = begun(target, tmp_path)
    lines = """
      $pair: f32[2] = tensor ($add, $c1_0)
      $double: f32[2] = add $pair, $pair
      $zero: i32 = const 0
      $first: f32 = element $double ($zero)
      $wide: f64 = cast $first
      $narrow: f32 = cast $wide
      global store $ptr_x, $narrow
"""
    changed(path, "      global store $ptr_x, $add\n", lines)
    kernel.forget_launchers()
    assert kernel(2.0, x) == 600


def test_a_folder_in_place_of_a_text_is_refused(tmp_path: Path) -> None:
    kernel, x, path = begun("cpu", tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ti.TaichiCompilationError, match=r"scale\.ssa:1: the edited source is a folder"):
        kernel(2.0, x)
