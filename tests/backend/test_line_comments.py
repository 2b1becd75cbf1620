"""A statement that has the words of its Python line shows the line's number; any other shows the line."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

import shadesmith as ti
from shadesmith.runtime.workbench.edits.merge import merge, same_source
from shadesmith.runtime.workbench.inspect.overview import location_above
from shadesmith.transpiler.backend.print.line_comments import _repeats

TYPES = frozenset({"int", "float", "uint32_t", "bool"})


@pytest.mark.parametrize(("python", "source"), [
    ("y[i] = a * x[i] + y[i]", "y(i) = args.a * x(i) + y(i);"),
    ("x = int(a[i] * 16)", "int x = (int)(a(i) * 16.0f);"),
    ("s = ti.sqrt(x) + max(x, 0.5)", "float s = sqrtf(x) + fmaxf(x, 0.5f);"),
    ("for k in range(2, n, 3):", "for (int k = 2; k < args.n; k += 3) {"),
    ("for k in range(n):  # all of them", "for (int k = 0; k < args.n; k++) {"),
    ("h = floor.normal.x - floor.offset", "float h = args.floor_normal.x - args.floor_offset;"),
    ("while i < 8 and not done:", "while (i < 8 && !done) {"),
    ("p = x[None]", "Particle p = x();"),
    ("m = 0xFF & i", "int m = 0xffu & i;"),
    ("v = tm.vec3(1.0, x, 2e-3)", "vec3 v = vec3{1.0f, x, 0.002f};"),
    ("continue", "return;"),
])  # fmt: skip
def test_the_same_words(python: str, source: str) -> None:
    assert _repeats(python, [source], TYPES)


@pytest.mark.parametrize(("python", "source"), [
    ("y[i] = x[i] * dx", "y(i) = x(i) * 0.5f;"),
    ("y = x ** 2", "float y = x * x;"),
    ("y = x * 2", "float y = t0 * 2.0f;"),
    ("y = x * 2", "float y = x * 3.0f;"),
    ("y = x_1 * 2", "float y = x * 2.0f;"),
    ("y = f(a,", "float y = f(a);"),
    ("y = x - x", "float y = 0.0f;"),
    ('assert x > 0, f"{x}"', "if (x > 0) {"),
    ("y = min(x, z)", "float y = fmaxf(x, z);"),
])  # fmt: skip
def test_other_words(python: str, source: str) -> None:
    assert not _repeats(python, [source], TYPES)


@pytest.fixture
def source() -> Callable[..., str]:
    """The emitted source of a kernel under options."""

    @ti.func
    def doubled(x):
        return x * 2

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.f32, ndim=1), n: ti.i32):
        for i in range(n):
            if a[i] > 1.0:
                a[i] = doubled(a[i]) ** 2
            elif a[i] > 0.5:
                a[i] = 0.5

    def emit(language: str, **options: object) -> str:
        ti.init(arch=ti.python, log_level=ti.ERROR, **options)
        return run.source(ti.ndarray(ti.f32, 4), 3, arch=language)

    yield emit
    ti.reset()


def code(text: str) -> list[str]:
    """The lines of a source without comments."""
    return [line for line in (re.sub(r"\s*//.*", "", line) for line in text.splitlines()) if line]


@pytest.mark.parametrize("language", ["cpu", "cuda", "vulkan"])
def test_options_change_nothing_but_comments(language: str, source: Callable[..., str]) -> None:
    sources = [source(language, line_comments=mode) for mode in ("short", "full", "none")]
    assert len({*sources}) == 3
    assert code(sources[0]) == code(sources[1]) == code(sources[2])
    short, full, none = sources
    assert re.search(r"if \(a\(i\) > 1\.0f?\) \{  // :\d+\n", short)
    assert re.search(r"\} else if \(a\(i\) > 0\.5f?\) \{  // :\d+\n", short)
    assert "a[i] = doubled(a[i]) ** 2" in short, "a square is a product in the source"
    assert "  // :" not in full and "test_line_comments.py:" in full
    assert "test_line_comments.py" not in "\n".join(none.splitlines()[2:])


@pytest.mark.parametrize("mode", ["short", "full", "none"])
def test_the_line_map_does_not_depend_on_comments(mode: str, source: Callable[..., str]) -> None:
    source("cpu", line_comments=mode)

    @ti.kernel
    def fill(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in a:
            a[i] = 2.0 * i

    file = fill.inspect(ti.ndarray(ti.f32, 4), arch="cpu").module.files[0]
    starts = {line: file.text.split("\n")[emitted - 1].strip() for emitted, _, line in file.lines}
    first = fill.definition.function.__code__.co_firstlineno
    assert starts[first + 3].startswith("a(i) = ")


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(ValueError, match="short.*full.*none"):
        ti.init(arch=ti.python, line_comments="long")


def test_a_merge_takes_numbers_for_no_change() -> None:
    base = (
        "// shadesmith 0.1.0, cuda 0123abcd, p.py:4: k()\nvoid task() {\n    x(i) = 1;  // :6\n    y = 2;  // :7\n}\n"
    )
    new = base.replace(":6", ":16").replace(":7", ":17").replace("p.py:4", "p.py:14")
    assert same_source(base, new)
    merged = merge(base, base.replace("x(i) = 1;", "x(i) = 3;"), new)
    assert merged.conflicts == 0 and merged.text == new.replace("x(i) = 1;  // :16", "x(i) = 3;  // :6")
    lines = new.splitlines()
    assert [location_above(lines, number) for number in (1, 3, 4)] == ["", "p.py:16", "p.py:17"]
