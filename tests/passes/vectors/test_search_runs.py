"""Searches and flags of serial loops in C (`lane_terms`, `search_runs`); results are the same on every target."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

N = 150
RUNS = "j_first += 64"
EARLY = "(lane_terms)"


@ti.kernel
def beaten(a: ti.template(), b: ti.template(), found: ti.template()):
    for i in range(N):
        kept = 1
        for j in range(N):
            if a[j] > a[i] and ti.abs(b[i] - b[j]) < 0.2:
                kept = 0
        found[i] = kept


@ti.kernel
def beaten_once(a: ti.template(), b: ti.template(), found: ti.template()):
    for i in range(N):
        kept = 1
        for j in range(N):
            if a[j] <= a[i]:
                continue
            if ti.abs(b[i] - b[j]) < 0.2:
                kept = 0
                break
        found[i] = kept


def start(arch=ti.cpu, **options) -> list:
    ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False, **options)
    a, b, found = ti.field(ti.f32, N), ti.field(ti.f32, N), ti.field(ti.i32, N)
    numbers = np.random.default_rng(0).integers(-9, 9, (2, N)).astype(np.float32) / 4
    numbers[0, ::17], numbers[1, ::13], numbers[1, ::7] = np.nan, np.nan, -0.0
    a.from_numpy(numbers[0])
    b.from_numpy(numbers[1])
    return [a, b, found]


def expected(fields: list, is_kept_out) -> list[int]:
    a, b = (field.to_numpy() for field in fields[:2])
    near = np.abs(b[:, None] - b[None]) < np.float32(0.2)
    return [int(not x) for x in (near & is_kept_out(a[None], a[:, None])).any(1)]


def test_a_flag_under_two_conditions(target: str) -> None:
    fields = start(getattr(ti, target))
    beaten(*fields)
    assert fields[2].to_numpy().tolist() == expected(fields, np.greater)


def test_a_search(target: str) -> None:
    fields = start(getattr(ti, target))
    beaten_once(*fields)
    assert fields[2].to_numpy().tolist() == expected(fields, lambda x, y: ~(x <= y))


def test_what_is_compared_is_computed_in_all_iterations():
    source = beaten.source(*start())
    assert EARLY in source and source.index("float compared = fabsf(") < source.index("if (a(j) > a(i) && compared")


def test_a_search_ends_after_a_run():
    source = beaten_once.source(*start())
    assert RUNS in source and source.index("kept = 0;") < source.index("if (kept == 0) {") < source.index("break;")


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 128, N])
def test_lengths(count):
    @ti.kernel
    def search(a: ti.template(), b: ti.template(), found: ti.template()):
        for i in range(N):
            found[i] = 7
            k = 7
            for j in range(count):
                if a[j] == b[i]:
                    k = 3
                    break
            found[i] = k

    results = []
    for passes in ("", "-lane_terms"):
        fields = start(passes=passes)
        search(*fields)
        results.append(fields[2].to_numpy().tolist())
    assert results[0] == results[1]


@pytest.mark.parametrize("bounds", ["i + 1, N", "i", "i + 1", "i, N"])
def test_pairs(bounds, tmp_path, monkeypatch):
    (tmp_path / "pairs_of_test.py").write_text(
        "import shadesmith as ti\n@ti.kernel\ndef search(a: ti.template(), b: ti.template(), found: ti.template()):\n"
        f"    for i in range({N}):\n        k = 0\n        for j in range({bounds.replace('N', str(N))}):\n"
        "            if a[j] == b[i]:\n                k = 1\n                break\n        found[i] = k\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.reload(importlib.import_module("pairs_of_test"))
    fields = start()
    module.search(*fields)
    a, b = (field.to_numpy() for field in fields[:2])
    indices = [eval(f"range({bounds})", {"i": i, "N": N}) for i in range(N)]
    assert fields[2].to_numpy().tolist() == [int((a[list(of)] == b[i]).any()) for i, of in enumerate(indices)]
    assert RUNS in module.search.source(*fields)


REST = {
    "the variable is read": "if a[j] > b[i] + k:\n                k = 1\n                break",
    "a sum": "k += 1\n            if a[j] > b[i]:\n                break",
    "an index": "if a[j] > b[i]:\n                k = j\n                break",
    "another store": "if a[j] > b[i]:\n                k = 1\n                m = 2\n                break",
    "two ends": "if a[j] > b[i]:\n                k = 1\n                break\n            if a[j] < 0:\n                break",
    "an element that may not exist": "if a[found[j]] > b[i]:\n                k = 1\n                break",
}


@pytest.mark.parametrize("body", REST.values(), ids=REST)
def test_other_loops_stay(body, tmp_path, monkeypatch):
    lines = f"""import shadesmith as ti
@ti.kernel
def search(a: ti.template(), b: ti.template(), found: ti.template()):
    for i in range({N}):
        k, m = 0, 0
        for j in range({N}):
            {body}
        found[i] = k + m
"""
    (tmp_path / "search_of_test.py").write_text(lines)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("search_of_test")
    importlib.reload(module)
    assert RUNS not in module.search.source(*start())


def test_slow_conditions_stay_in_their_branches() -> None:
    """A search that may end at once computes 64 iterations, and a rare condition each one."""
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    v, w, found = ti.Vector.field(3, ti.f64, N), ti.field(ti.f32, N), ti.field(ti.i32, N)

    @ti.kernel
    def search():
        for i in range(N):
            near = 0
            for j in range(N):
                if (v[j] - v[i]).norm() / (w[j] + 3.0) < 2.0:
                    near = 1
                    break
            found[i] = near

    @ti.kernel
    def rare():
        for i in range(N):
            near = 0
            for j in range(N):
                if w[j] <= 5:
                    continue
                if (v[j] / ((v[i] - v[j]).norm() + 1.0)).norm() < 3.0:
                    near = 1
            found[i] = near

    assert RUNS not in search.source() and EARLY not in search.source() and EARLY not in rare.source()
