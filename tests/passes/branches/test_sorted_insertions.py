"""Pass `sorted_insertions`: insertions into sorted local arrays without branches, so that GPUs have these in registers."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda", only=True)  # elsewhere the pass returns at once

NOTE = "no branch: all are in registers (sorted_insertions)"
N, M, K = 70, 40, 8


def numbers(with_nan: bool = False):
    x = ti.field(ti.f32, (N, M))
    values = np.random.default_rng(1).integers(0, 30, (N, M)).astype(np.float32)
    values[3::5, 7] = np.nan if with_nan else 4
    x.from_numpy(values)
    return x, ti.field(ti.f32, (N, K)), ti.field(ti.i32, (N, K)), values


def inserted(values: np.ndarray, guarded: bool = True):
    """Return what a program in Python finds, number by number."""
    best, who = np.full((N, K), 100, np.float32), np.full((N, K), -1, np.int32)
    for i, row in enumerate(values):
        for p, r in enumerate(row):
            if guarded and not r < best[i, K - 1]:
                continue
            s = K - 1
            while s > 0 and best[i, s - 1] > r:
                best[i, s], who[i, s] = best[i, s - 1], who[i, s - 1]
                s -= 1
            best[i, s], who[i, s] = r, p
    return best, who


@pytest.mark.parametrize("guarded", [True, False])
def test_the_nearest_are_inserted_with_their_numbers(target: str, guarded: bool) -> None:
    x, y, z, values = numbers(with_nan=True)

    @ti.kernel
    def nearest():
        for i in range(N):
            best = ti.Vector([100.0] * K)
            who = ti.Vector([-1] * K)
            for p in range(M):
                r = x[i, p]
                if ti.static(not guarded) or r < best[K - 1]:
                    s = K - 1
                    while s > 0 and best[ti.max(s - 1, 0)] > r:
                        best[s] = best[s - 1]
                        who[s] = who[s - 1]
                        s -= 1
                    best[s] = r
                    who[s] = p
            for s in range(K):
                y[i, s] = best[s]
                z[i, s] = who[s]

    nearest()
    best, who = inserted(values, guarded)
    assert np.array_equal(y.to_numpy(), best, equal_nan=True) and np.array_equal(z.to_numpy(), who)
    source = nearest.source()
    assert source.count(NOTE) == 1 and "for (int s = K - 1; s > 0; s--) {" in source


def test_a_loop_over_the_places_ends_early(target: str) -> None:
    x, y, _, values = numbers()

    @ti.kernel
    def nearest():
        for i in range(N):
            best = ti.Vector([100.0] * K)
            for p in range(M):
                r = x[i, p]
                if r < best[K - 1]:
                    at = 0
                    for t in range(K - 1):
                        q = K - 2 - t
                        if best[q] <= r:
                            at = q + 1
                            break
                        best[q + 1] = best[q]
                    best[at] = r
            for s in ti.static(range(K)):
                y[i, s] = best[s]

    nearest()
    assert np.array_equal(y.to_numpy(), inserted(values)[0])
    assert NOTE in nearest.source()


def test_numbers_may_move_to_smaller_places(target: str) -> None:
    x, y, _, values = numbers()

    @ti.kernel
    def greatest():
        for i in range(N):
            best = ti.Vector([-100.0] * K)
            for p in range(M):
                r = -x[i, p]
                at = 0
                while at < K - 1 and best[at + 1] < r:
                    best[at] = best[at + 1]
                    at += 1
                best[at] = r
            for s in ti.static(range(K)):
                y[i, s] = -best[K - 1 - s]

    best = np.full((N, K), -100, np.float32)
    for i, row in enumerate(values):
        for r in -row:
            at = 0
            while at < K - 1 and best[i, at + 1] < r:
                best[i, at] = best[i, at + 1]
                at += 1
            best[i, at] = r
    greatest()
    assert np.array_equal(y.to_numpy(), -best[:, ::-1])
    assert NOTE in greatest.source()


OTHERS = {
    "a place that is needed": {"BEHIND": "y[i, 1] += s"},
    "a place that is chosen": {"BEHIND": "z[i, 1] = s if n > 0 else z[z[i, 0], 1]"},
    "an array in memory": {"RESULT": "n"},
    "an insertion that starts anywhere": {"FIRST": "n"},
}
USUAL = {"FIRST": f"{K - 1}", "BEHIND": "pass", "RESULT": "2"}
SOURCE = f"""
@ti.kernel
def run(x: ti.template(), y: ti.template(), z: ti.template(), n: ti.i32):
    for i in range({N}):
        best = ti.Vector([100.0] * {K})
        for p in range({M}):
            s = FIRST
            while s > 0 and best[s - 1] > x[i, p]:
                best[s] = best[s - 1]
                s -= 1
            best[s] = x[i, p]
            BEHIND
        y[i, 0] = best[RESULT]
"""


@pytest.mark.parametrize("what", ["a usual insertion", *OTHERS])
def test_other_loops_stay(target: str, tmp_path, what: str) -> None:
    text = SOURCE
    for word, code in (USUAL | OTHERS.get(what, {})).items():
        text = text.replace(word, code)
    x, y, z, _ = numbers()
    source = written_programs.write(tmp_path / "insertions.py", text).run.source(x, y, z, 3)
    assert (NOTE in source) is (what not in OTHERS)
