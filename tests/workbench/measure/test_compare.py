"""`kernel.compare`: wrong edits are found with a Python index, right ones pass, and what the user owns stays untouched."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import compared
import corpus
import emitted
import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan import device as vulkan
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.measure.compare import Comparer

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter runs no text

Texts = str | dict[str, str]
"""What is replaced, or what by target; written as in C, numbers lose their `f` for GLSL."""


@pytest.fixture(autouse=True)
def edits(target: str, tmp_path: Path) -> Path:
    if target == "python":
        pytest.skip("the interpreter runs no text")
    sessions.CURRENT.config.edits_dir = str(tmp_path)
    return tmp_path


def spelled(text: Texts, target: str) -> str:
    if isinstance(text, dict):
        text = text[target]
    return re.sub(r"(\d\.\d+)f\b", r"\1", text) if target == "vulkan" else text


def edit(kernel: Any, args: tuple[Any, ...], target: str, old: Texts, new: Texts, arch: Any = None) -> None:
    """Begin an edit of the kernel and replace a text in it; `old` may be a regular expression after `re:`."""
    path = kernel.edit(*args, arch=arch)
    files = [file for file in path.iterdir() if file.is_file()] if path.is_dir() else [path]
    before, after = spelled(old, target), spelled(new, target)
    for file in files:
        text = file.read_text()
        if before.startswith("re:"):
            changed = re.sub(before[3:], after, text, count=1)
        else:
            changed = text.replace(before, after)
        file.write_text(changed)
        if changed != text:
            return
    raise AssertionError(f"{before} is nowhere in\n{text}")


LOOP_OF_THREADS = r"    for \(int thread = 0; [^\n]*\n        int i = [^\n]*\n        int t = thread;\n"
BARRIER = {  # the second one; on the host it is what parts two loops over the threads
    "cpu": rf"re:(?s:(tile\[t\] = x.*?)    \}}\n(?:    //[^\n]*\n)*{LOOP_OF_THREADS})",
    "vulkan": r"re:(?s:(tile\[t\] = x.*?)    barrier\(\);\n)",
    "cuda": r"re:(?s:(tile\[t\] = x.*?)    __syncthreads\(\);\n)",
}
ATOMIC = {  # on the host each thread has a copy: it is dropped, too
    "cpu": r"re:(?s:counts\(([^\n]*)\) \+= 1;[^\n]*\n(.*?) *own\.counts_data = start_sums[^\n]*\n(.*?) *join_sums[^\n]*\n)",
    "vulkan": r"re:atomicAdd\((counts.*), 1\);",
    "cuda": r"re:atomicAdd\(&(counts.*), 1\);",
}
LOST = {
    # The host's cores are few and busy: the store comes so late that another thread runs in between.
    "cpu": r"volatile int *count = &counts(\1); int old = *count; for (volatile int n = 0; n < 20; n++) { } "
    r"*count = old + 1;\n\2\3",
    "vulkan": r"\1 += 1;",
    "cuda": r"\1 += 1;",
}
SHIFT = {"cpu": "(int)((unsigned)((x(i) + 3) * 5) >> 2)", "vulkan": "int(uint((x(i) + 3) * 5) >> 2)",
         "cuda": "(int)((unsigned)((x(i) + 3) * 5) >> 2)"}  # fmt: skip
BITS = {"cpu": "(x(i) + 3) * 5 >> 2", "vulkan": "(x(i) + 3) * 5 >> 2", "cuda": "int((unsigned(x(i)) + 3) * 5) >> 2"}
SUMMAND = {"cpu": "+= x(i);", "vulkan": "+= x(i);", "cuda": "+= x(i);"}
CELL = {"cpu": "args.cells[i]", "vulkan": "args.cells.v[i]", "cuda": "args.cells[i]"}
FALL = "v(i).y -= 9.8f * args.dt;"

WRONG: dict[str, tuple[Callable[[], Any], Texts, Texts, str]] = {
    "a neighbour off by one": (compared.stencil, "a(i - 1, j)", "a(i, j)", r"b\[1, 1\]: "),
    "a row too few": (compared.stencil, "i < args.n - 1", "i < args.n - 2", r"b\[65, 1\]: "),
    "a row too many": (compared.stencil, "0 < i &&", "0 <= i &&", r"b\[0, 1\]: "),
    "indices swapped": (compared.stencil, "b(i, j) = a(i, j)", "b(j, i) = a(i, j)", r"b\[\d+, \d+\]: "),
    "precedence": (compared.bits, BITS, "(x(i) + 3 * 5) >> 2", r"y\[\d+\]: "),
    "an unsigned shift": (compared.bits, BITS, SHIFT, r"y\[\d+\]: "),
    "a lost atomic": (compared.histogram, ATOMIC, LOST, r"counts\[\d\]: "),
    "a missing barrier": (compared.shared_sum, BARRIER, r"\1", r"sums\[\d+\]: "),
    "a write behind the end": (compared.bits, "y(i) =", "y(i + 1) =", r"out of bounds: y\[1000\] of shape \(1000,\)"),
    "a write before the begin": (compared.bits, "y(i) =", "y(i - 1) =", r"out of bounds: y\[-1\] of shape \(1000,\)"),
    "a read behind the end": (compared.total, SUMMAND, "+= x(i + 1);", r"return value: 12497500, found "),
    "the last turn of a loop": (compared.product, "k < args.a_n1", "k < args.a_n1 - 1", r"c\[0, 0\]: "),
    "a sum that starts from what was there": (compared.product, "float s = 0.0f;", "float s = c(i, j);", r"c\[0, 0\]: "),
    "an element left alone": (compared.product, "c(i, j) = s;", "if (j > 0) c(i, j) = s;", r"c\[0, 0\]: .* not written"),
    "a store left out": (compared.particles, "v(i).y = -0.5f * v(i).y;", "", r"v\[\d+\]\[1\]: "),
    "a sum that starts from 1": (compared.total, "int s = 0;", "int s = 1;", r"return value: 12497500, found "),
    "a write to another field": (
        compared.particles, FALL, {name: f"{FALL} {cell}.other = 2.0f;" for name, cell in CELL.items()},
        r"field 0 of the tree\[0\]: 1, found 2 \(and 299 more\)",
    ),
}  # fmt: skip

FAR = {
    "a write before the begin": "the write is gigabytes away, where nobody looks",
    "a row too many": "the read of a(-1, j) is gigabytes away, a fault that an H200 (580.159) never reports",
}
"""Why edits that use an index of -1 are not found by Vulkan on a GPU; the process could not use the GPU any more."""

SUM = "a(i - 1, j) + a(i + 1, j) + a(i, j - 1) + a(i, j + 1)"
STEP = "a(i, j) + args.w * (0.25f * s - a(i, j))"
LOOP = "for (int k = 0; k < args.a_n1; k++)"
BLOCKS = {"cpu": ("schedule(static)", "schedule(dynamic)"), "vulkan": ("#define BLOCK 128", "#define BLOCK 64"),
          "cuda": ("#define BLOCK 128", "#define BLOCK 256")}  # fmt: skip
RIGHT: dict[str, tuple[Callable[[], Any], Texts, Texts]] = {
    "a sum in another order": (compared.stencil, SUM, "(a(i, j - 1) + a(i, j + 1)) + (a(i - 1, j) + a(i + 1, j))"),
    "a formula taken apart": (compared.stencil, STEP, "(1.0f - args.w) * a(i, j) + 0.25f * args.w * s"),
    "an early return": (compared.stencil, "if (0 < i &&", "if (i <= 0) return;\n    if ("),
    "another block": (compared.stencil, {k: v[0] for k, v in BLOCKS.items()}, {k: v[1] for k, v in BLOCKS.items()}),
    "a loop backwards": (compared.product, LOOP, "for (int k = args.a_n1 - 1; k >= 0; k--)"),
    "two turns at once": (
        compared.product, r"re:k\+\+\) \{[^;]*;.*\n",
        "k += 2) {\n        s += a(i, k) * b(k, j);\n        if (k + 1 < args.a_n1) s += a(i, k + 1) * b(k + 1, j);\n",
    ),
    "a product as shift": (compared.bits, BITS, "((x(i) + 3 << 2) + x(i) + 3) >> 2"),
    "a quotient for a product": (compared.histogram, "a(i) * 4.0f", "a(i) / 0.25f"),
    "other numbers of turns": (compared.histogram, "int k = 0; k < 20; k++", "int k = 40; k < 60; k += 1"),
    "another order in a block": (compared.shared_sum, "tile[255 - k]", "tile[k]"),
    "a condition turned round": (compared.particles, "x(i).y < 0.0f", "!(x(i).y >= 0.0f)"),
    "an update in place": (compared.particles, "v(i).y = -0.5f * v(i).y", "v(i).y *= -0.5f"),
    "a remark": (compared.bits, "y(i) = ", "/* the answer */ y(i) = "),
}  # fmt: skip


def is_software() -> bool:
    """Tell whether the device is a processor."""
    return bool(sessions.CURRENT.device.is_software)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_edit_is_found_with_its_python_index(target: str, name: str) -> None:
    maker, old, new, said = WRONG[name]
    if name in FAR and target == "vulkan" and not is_software():
        pytest.skip(f"NVIDIA's driver takes -1 for 2^32 - 1: {FAR[name]}")
    if name == "a row too many" and sessions.CURRENT.config.debug:
        said = "failed checks  text       DIFFERS"  # it reads a[-1, j], and stores nothing then
    kernel, args = maker()
    edit(kernel, args, target, old, new)
    found = kernel.compare(*args)
    assert not found.passed and re.search(said, str(found)), found


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_edit_passes(target: str, name: str) -> None:
    maker, old, new = RIGHT[name]
    if name == "two turns at once" and sessions.CURRENT.config.debug:
        pytest.skip("debug puts checks into the loop that is rewritten")
    kernel, args = maker()
    edit(kernel, args, target, old, new)
    found = kernel.compare(*args)
    assert found.passed and not found.out_of_bounds, found


def test_what_prints_and_checks_count_with_atomics_lets_no_element_change_its_place(target: str) -> None:
    @ti.kernel
    def number(x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] = 3 * i
            if i == 7:
                print("seven")

    x = np.zeros(64, np.int32)
    edit(number, (x,), target, "x(i) = 3 * i;", "x(i) = 3 * (63 - i);")
    found = number.compare(x)
    assert not found.passed and found.outputs["x"].first.index == (0,), found


def edited(
    target: str, maker: Callable[[], Any] = compared.bits, old: Texts = "y(i) =", new: Texts = "/**/ y(i) ="
) -> Any:
    kernel, args = maker()
    edit(kernel, args, target, old, new)
    return kernel, args


def test_arguments_and_fields_stay_as_they_are(target: str) -> None:
    kernel, (x, y) = edited(target)
    y[:] = 77
    ours = ti.ndarray(ti.i32, x.shape)
    ours.fill(5)
    assert kernel.compare(x, y).passed and kernel.compare(x, ours).passed
    assert np.all(y == 77) and np.all(ours.to_numpy() == 5)
    count, args = edited(target, compared.histogram, "int k = 0; k < 20; k++", "int k = 0; k < 20; k += 1")
    assert count.compare(*args).passed
    count(*args)
    assert count.compare(*args).passed, "also where counts begin at what a launch left"


def test_without_an_edit_the_error_says_how_to_begin_one(target: str) -> None:
    kernel, args = compared.bits()
    with pytest.raises(ti.TaichiRuntimeError, match=r"no variant `edit`.*kernel.edit"):
        kernel.compare(*args)


def test_parts_with_gaps_and_empty_arrays_can_be_arguments(target: str) -> None:
    @ti.kernel
    def double(x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] = 2 * x[i]

    whole = ti.ndarray(ti.i32, 64)
    whole.from_numpy(np.arange(64, dtype=np.int32))
    for x in (whole[4:20], whole[::-3], np.arange(40, dtype=np.int32)[::2], np.zeros(0, np.int32)):
        if not double.variants(x).edits:
            edit(double, (x,), target, "2 * x(i)", "x(i) + x(i)")
        found = double.compare(x)
        assert found.passed and found.outputs["x"].shape == x.shape
    edit(double, (whole[4:20],), target, "x(i) + x(i)", "x(i) + x(i) + (i == 3 ? 1 : 0)")
    found = double.compare(whole[4:20])
    assert found.outputs["x"].first.index == (3,) and not found.out_of_bounds
    edit(double, (whole[4:20],), target, "x(i) =", "x(i + 16) = 1, x(i) =")
    assert double.compare(whole[4:20]).out_of_bounds[0].startswith("x[16] of shape (16,) (16 bytes of ")


def test_members_vectors_and_offsets_have_python_names(target: str) -> None:
    point = ti.types.struct(at=ti.math.vec3, mass=ti.f64)
    points = point.field(shape=(4, 5), offset=(-2, 10))

    @ti.kernel
    def weigh():
        for i, j in points:
            points[i, j].mass += 1.0
            points[i, j].at.z = 3.0

    edit(weigh, (), target, "+= 1.0", "+= (i == 1 && j == 12) ? 2.0 : 1.0")
    found = weigh.compare()
    assert str(found.outputs["points.mass"].first) == "points[1, 12].mass: 1, found 2"
    assert found.outputs["points.at"].equal and found.outputs["points.mass"].max_abs == 1.0


def test_cells_of_sparse_trees_are_compared_by_their_index(target: str) -> None:
    x = ti.field(ti.f32)
    ti.root.pointer(ti.i, 64).dense(ti.i, 4).place(x)

    @ti.kernel
    def fill(n: ti.i32):
        for i in range(n):
            x[4 * i + 3] = 10.0 + i

    edit(fill, (20,), target, "10.0", "1.0e1")
    found = fill.compare(20)
    assert found.passed and x[3] == 0.0, found
    edit(fill, (20,), target, "1.0e1", "1.5e1")
    assert str(fill.compare(20).outputs["x"].first) == "x[3]: 10, found 15"
    edit(fill, (20,), target, "i < 20" if "i < 20" in fill.source(20) else "args.n", "(args.n - 1)")
    assert "active, found not active" in str(fill.compare(20).outputs["x"].first)


def test_what_is_printed_and_checked_is_compared(target: str) -> None:
    @ti.kernel
    def tell(x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            if x[i] > 5:
                print("large", x[i])

    x = np.arange(8, dtype=np.int32)
    edit(tell, (x,), target, "x(i) > 5", "5 < x(i)")
    assert tell.compare(x).passed
    edit(tell, (x,), target, "5 < x(i)", "6 < x(i)")
    assert "prints, line 1: 'large 6', found 'large 7'" in str(tell.compare(x))


def test_numbers_that_runs_of_the_generated_text_give_differently_are_told(target: str) -> None:
    order, count = ti.field(ti.i32, 100_000), ti.field(ti.i32, ())

    @ti.kernel
    def collect(x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            k = ti.atomic_add(count[None], 1)
            order[k] = x[i]

    x = np.arange(100_000, dtype=np.int32)
    edit(collect, (x,), target, "= x(i)", "= x(i) + 0")
    found = collect.compare(x)
    assert found.passed and found.outputs["count"].equal
    edit(collect, (x,), target, "x(i) + 0", "x(i) + (i == 7 ? 1 : 0)")
    assert not collect.compare(x).passed


def test_lists_whose_runs_agreed_by_chance_are_compared_without_their_order(target: str) -> None:
    """As on a GPU, where the warps of a block append in another order once in twenty launches."""
    kernel, args = next(maker for maker in corpus.MAKERS if maker.__name__ == "lists")()
    variants = kernel.variants(*args)
    comparer = Comparer(variants)
    values, turned = comparer._values, []

    def in_another_order(outcome: Any) -> Any:
        found = values(outcome)
        for label in ("items.kind", "items.at") if any(outcome is one for one in turned) else ():
            array = found[label].array.copy()
            array[[0, 40]] = array[[40, 0]]
            found[label] = replace(found[label], array=array)
        return found

    run = comparer._run

    def run_another(module: Any, counts: Any, number: int, name: str) -> Any:
        outcome = run(module, counts, number, name)
        if name == "another" and number:
            turned.append(outcome)
        return outcome

    comparer._values, comparer._run = in_another_order, run_another
    found = comparer.against("another", variants.generated)
    assert turned and found.passed and not found.notes, found


def test_random_numbers_are_the_same_in_both_and_go_on_as_without(target: str) -> None:
    @ti.kernel
    def draw(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] = ti.random()

    def drawn(compares: bool) -> list[float]:
        ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN, edits_dir=sessions.CURRENT.config.edits_dir)
        x = ti.ndarray(ti.f32, 4)
        draw(x)
        if compares:
            assert draw.compare(x).outputs["x"].equal
        draw(x)
        return x.to_numpy().tolist()

    edit(draw, (np.zeros(4, np.float32),), target, "x(i) =", "/**/ x(i) =")
    assert drawn(compares=True) == drawn(compares=False)


def test_one_comparer_takes_many_texts(target: str) -> None:
    kernel, args = edited(target)
    variants = kernel.variants(*args)
    comparer = Comparer(variants)
    assert comparer.against("edit", variants.module("edit")).passed
    assert comparer.against("generated", variants.generated).passed


def test_a_comparison_is_plain_data(target: str) -> None:
    kernel, args = edited(target, compared.stencil, "0.25", "0.26")
    found = kernel.compare(*args, rounds=1)
    data = json.loads(json.dumps(found.to_json()))
    assert data["passed"] is False and data["outputs"]["b"]["first"]["text"] == "b[1, 1]" and not found
    assert kernel.compare(*args, relative=0.1).passed


@pytest.mark.sampled(6)
@pytest.mark.parametrize("maker", [*corpus.MAKERS, *compared.MAKERS], ids=lambda maker: maker.__name__)
def test_every_text_agrees_with_itself(target: str, maker: Callable[[], Any]) -> None:
    kernel, args = maker()
    try:
        variants = kernel.variants(*args)
    except ti.UnsupportedError:
        pytest.skip("this language has no such thing")
    except ti.TaichiSyntaxError as error:
        assert "Missing argument" in str(error)
        pytest.skip("it is for looking at only")
    found = Comparer(variants).against("the same", variants.generated)
    assert found.passed and not found.out_of_bounds and not found.notes, found


@pytest.mark.all_targets
@pytest.mark.parametrize("name", ["a write behind the end", "an element left alone", "a write to another field"])
def test_memory_that_the_host_does_not_see_is_copied_too(
    target: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if target != "vulkan":
        pytest.skip("once is enough")
    open_device = partial(vulkan.open_device, force_staging=True)
    monkeypatch.setitem(sessions.OPENERS, "vulkan", lambda config, software: open_device())
    ti.init(arch=ti.vulkan, log_level=ti.WARN, edits_dir=str(tmp_path))
    assert not sessions.CURRENT.device.host_memory
    test_a_wrong_edit_is_found_with_its_python_index(target, name)
    kernel, args = compared.product()
    assert Comparer(kernel.variants(*args)).against("same", kernel.variants(*args).generated).passed


@pytest.mark.all_targets
def test_the_edits_of_this_file_are_good_cuda(target: str, tmp_path: Path) -> None:
    if target != "cpu" or emitted.missing_tool(".cu"):
        pytest.skip("once is enough, and NVRTC needs no GPU")
    said = {}
    for name, (maker, old, new, *_) in {**WRONG, **RIGHT}.items():
        sessions.CURRENT.config.edits_dir = str(tmp_path / name)
        kernel, args = maker()
        edit(kernel, args, "cuda", old, new, arch=ti.cuda)
        (file,) = (file for file in (tmp_path / name).rglob("*.cu") if file.parent.name != ".base")
        said[name] = emitted.diagnostics_of(file.name, file.read_text())
    assert not any(said.values()), said


def test_an_edit_that_does_not_compile_is_no_edit_to_compare(target: str) -> None:
    kernel, args = edited(target, compared.bits, "y(i) =", "y(i) =; nonsense")
    with pytest.raises(ti.TaichiCompilationError, match="nonsense"):
        kernel.compare(*args)
