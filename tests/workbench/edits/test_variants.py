"""Named variants: asked for, chosen by rules about the device and the arguments, and refused by name."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter runs no text

SCALE = """
    @ti.kernel
    def scale(a: ti.f32, x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] = a * x[i]
"""


@pytest.fixture
def kernel(target: str, tmp_path: Path):
    if target == "python":
        pytest.skip("the interpreter runs no text")
    return written_programs.write(tmp_path / "p.py", SCALE).scale


def variant(kernel, name: str, factor: str, rule: str = "") -> Path:
    """Write a variant that multiplies by `factor`."""
    path = kernel.edit(2.0, np.ones(4, np.float32), variant=name)
    text = path.read_text().replace("args.a * x(i)", f"{factor} * x(i)")
    if rule:
        first, newline, rest = text.partition("\n")
        text = f"{first}{newline}// @when {rule}\n{rest}"
    path.write_text(text)
    return path


def run(kernel, size: int = 8, a: float = 2.0) -> float:
    x = np.ones(size, np.float32)
    kernel(a, x)
    assert np.all(x == x[0])
    return float(x[0])


def test_a_program_asks_for_a_variant(kernel) -> None:
    variant(kernel, "five", "5.0")
    assert (run(kernel), kernel.last_launch.variant) == (2, "generated")
    kernel.use("five")
    assert (run(kernel), kernel.last_launch.variant, kernel.last_launch.reason) == (5, "five", "requested")
    kernel.use("generated")
    assert (run(kernel), kernel.last_launch.variant) == (2, "generated")
    kernel.use("seven")
    with pytest.raises(ti.TaichiRuntimeError, match="no variant `seven` .* there are generated, five"):
        run(kernel)
    kernel.use(None)
    assert run(kernel) == 2


LARGEST = """
    @ti.kernel
    def largest(table: ti.types.ndarray(ti.i32, 1), x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            found = 0
            for k in range(20000):
                found = ti.max(found, table[(i + k) % 64])
            x[i] = found
"""


@pytest.mark.exhaustive
def test_the_fastest_that_is_right_runs(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    ti.init(arch=sessions.CURRENT.arch, debug=False, log_level=ti.WARN)  # lavapipe ends its loops, which debug reports
    kernel = written_programs.write(tmp_path / "p.py", LARGEST).largest
    table, x = np.arange(64, dtype=np.int32), np.zeros(256, np.int32)
    for name, turns in (("slow", 40000), ("wrong", 3), ("quick", 64)):
        written_programs.replaced(kernel.edit(table, x, variant=name), "20000", str(turns))
    kernel.use("fastest")
    with pytest.warns(ti.ShadesmithWarning, match="`wrong` computes something else"):
        kernel(table, x)
    assert np.all(x == 63) and kernel.last_launch.variant == "quick"
    kernel.use(None)
    kernel(table, x)
    assert kernel.last_launch.variant == "generated"


def test_a_variant_that_was_never_written(kernel) -> None:
    kernel.use("five")
    with pytest.raises(ti.TaichiRuntimeError, match="no variant `five`"):
        run(kernel)


@pytest.mark.all_targets
def test_rules_about_the_target(kernel, target: str) -> None:
    name = {"cpu": "c"}.get(target, target)
    variant(kernel, "here", "5.0", f'target == "{name}"')
    variant(kernel, "elsewhere", "7.0", 'target == "metal"')
    assert run(kernel) == 5
    assert (kernel.last_launch.variant, kernel.last_launch.reason) == ("here", f'@when target == "{name}"')


def test_rules_about_the_arguments(kernel) -> None:
    variant(kernel, "large", "5.0", "x.shape[0] >= 100")
    variant(kernel, "medium", "7.0", "x.shape[0] % 10 == 0 and a < 3")
    path = kernel.edit(2.0, np.ones(4, np.float32))
    path.write_text(path.read_text().replace("args.a * x(i)", "11.0 * x(i)"))
    for _ in range(2):
        assert [run(kernel, size) for size in (100, 101, 50, 7)] == [5, 5, 7, 11]
        assert run(kernel, 50, 4.0) == 11
        assert kernel.last_launch.variant == "edit"
    path.unlink()
    assert (run(kernel, 7), kernel.last_launch.variant) == (2, "generated")
    assert run(kernel, 1000) == 5


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("x.shape[0] >", ":2: `@when x.shape.0. >` is not a Python condition"),
        ("y.shape[0] > 3", ":2: `@when` reads `y`, which is unknown here; known are device, target, arch, a, x"),
        ("__import__('os')", "accepts only comparisons of names, shapes and constants"),
        ("x.__class__ == 3", "accepts only comparisons of names, shapes and constants"),
        ("[a for a in x]", "accepts only comparisons of names, shapes and constants"),
        ("x.shape[3] > 3", "cannot be evaluated: tuple index out of range"),
        ("", "is not a Python condition"),
    ],
)
def test_what_is_no_rule(kernel, rule: str, words: str) -> None:
    path = variant(kernel, "bad", "5.0", rule or " ")
    with pytest.raises(ti.TaichiCompilationError, match=words):
        run(kernel)
    path.unlink()
    assert run(kernel) == 2


def test_a_variant_needs_a_name_that_files_can_bear(kernel) -> None:
    with pytest.raises(ti.TaichiCompilationError, match="cannot name a variant"):
        kernel.edit(2.0, np.ones(4, np.float32), variant="../x")


def test_each_variant_is_merged_for_itself(kernel, target: str, tmp_path: Path) -> None:
    path = variant(kernel, "five", "5.0")
    program = written_programs.write(tmp_path / "p.py", SCALE.replace("for i in x:", "for i in x:\n            # once"))
    program.scale.use("five")
    assert run(program.scale) == 5
    assert "5.0" in path.read_text()


def test_a_rule_in_an_edit_without_a_name_is_refused(kernel, tmp_path: Path) -> None:
    """It would always run."""
    path = kernel.edit(2.0, np.ones(8, np.float32))
    text = path.read_text().replace("args.a * x(i)", "5.0 * x(i)")
    first, _, rest = text.partition("\n")
    path.write_text(f"{first}\n// @when x.shape[0] >= 100\n{rest}")
    with pytest.raises(ti.TaichiCompilationError, match=r":2: `@when` decides when a named variant runs") as error:
        run(kernel)
    assert f"@mine{path.suffix}" in str(error.value)


@pytest.mark.parametrize("name", ["generated", "edit", "fastest"])
def test_a_variant_that_could_never_run_is_refused(kernel, name: str) -> None:
    with pytest.raises(ti.TaichiCompilationError, match=f"`{name}` cannot name a variant"):
        kernel.edit(2.0, np.ones(8, np.float32), variant=name)
    path = variant(kernel, "five", "5.0")
    path.rename(path.with_name(path.name.replace("@five", f"@{name}")))
    with pytest.raises(ti.TaichiCompilationError, match=rf"@{name}\.\w+:1: `{name}` cannot name a variant"):
        run(kernel)
