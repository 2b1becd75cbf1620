"""Pass `truth_indices`: gcc 12 and 13 compute wrong addresses where a comparison is an index, if they vectorize the loop."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

PRAGMA = '#pragma GCC optimize ("no-tree-loop-vectorize")'
FORMS = {
    "1 if u[i, j] > 5 else 0": lambda i, j, x: x > 5,
    "ti.cast(u[i, j] == 7, ti.i32)": lambda i, j, x: x == 7,
    "ti.select(u[i, j] > 5, 0, 1)": lambda i, j, x: x <= 5,
    "1 - ti.cast(u[i, j] > 5, ti.i32)": lambda i, j, x: x <= 5,
    "1 if j == 0 else 0": lambda i, j, x: j == 0,
    "1 if i == j else 0": lambda i, j, x: i == j,
    "ti.cast(u[i, j] > 5 or u[i, j] < -9, ti.i32)": lambda i, j, x: (x > 5) | (x < -9),
    "ti.min(1, ti.max(0, 1 if u[i, j] > 5 else 0))": lambda i, j, x: x > 5,
    "chosen(u[i, j])": lambda i, j, x: x > 5,
    "k": lambda i, j, x: x > 5,
}
OTHERS = ("2 if u[i, j] > 5 else 1", "j", "j % 2", "ti.max(j - 1, 0)", "u[i, j] & 1")


def kernels(tmp_path, form: str, dtype: str = "i32") -> ModuleType:
    return written_programs.write(
        tmp_path / "look.py",
        "@ti.func\n"
        "def chosen(x):\n"
        "    result = 0\n"
        "    if x > 5:\n"
        "        result = 1\n"
        "    return result\n"
        "@ti.real_func\n"
        f"def taken(u: ti.types.ndarray(ti.{dtype}, 2), i: ti.i32, k: ti.i32) -> ti.{dtype}:\n"
        "    return u[i, k]\n"
        "def of_fields(u, v):\n"
        "    @ti.kernel\n"
        "    def run():\n"
        "        for i, j in v:\n"
        "            k = 0\n"
        "            if u[i, j] > 5:\n"
        "                k = 1\n"
        f"            v[i, j] = u[i, {form}] + k\n"
        "    return run\n"
        "@ti.kernel\n"
        f"def given(u: ti.types.ndarray(ti.{dtype}, 2), v: ti.types.ndarray(ti.{dtype}, 2)):\n"
        "    for i, j in v:\n"
        "        k = 0\n"
        "        if u[i, j] > 5:\n"
        "            k = 1\n"
        f"        v[i, j] = u[i, {form}] + k\n",
    )


@pytest.mark.parametrize("form", FORMS)
def test_elements_at_the_outcome_of_a_comparison(target: str, form: str, tmp_path) -> None:
    x = np.random.default_rng(0).integers(-99, 99, (3, 70)).astype(np.int32)
    i, j = np.indices(x.shape)
    expected = np.take_along_axis(x, FORMS[form](i, j, x).astype(np.int64), 1) + (x > 5)
    program, v = kernels(tmp_path, form), np.zeros_like(x)
    program.given(x, v)
    np.testing.assert_array_equal(v, expected)
    a, b = ti.field(ti.i32, x.shape), ti.field(ti.i32, x.shape)
    a.from_numpy(x)
    run = program.of_fields(a, b)
    run()
    np.testing.assert_array_equal(b.to_numpy(), expected)
    assert PRAGMA in run.source(arch=ti.cpu) and PRAGMA in program.given.source(x, v, arch=ti.cpu)
    assert PRAGMA not in run.source(arch=ti.cuda) and PRAGMA not in run.source(arch=ti.vulkan)


@pytest.mark.parametrize("form", OTHERS)
def test_other_loops_are_vectorized(target: str, form: str, tmp_path) -> None:
    x = np.random.default_rng(0).integers(-99, 99, (3, 70)).astype(np.int32)
    i, j = np.indices(x.shape)
    index = [np.where(x > 5, 2, 1), j, j % 2, np.maximum(j - 1, 0), x & 1][OTHERS.index(form)]
    program, v = kernels(tmp_path, form), np.zeros_like(x)
    program.given(x, v)
    np.testing.assert_array_equal(v, np.take_along_axis(x, index, 1) + (x > 5))
    assert PRAGMA not in program.given.source(x, v, arch=ti.cpu)


def test_components_parameters_and_stores(target: str) -> None:
    n = 70
    pairs, x, counts = ti.Vector.field(2, ti.f32, n), ti.field(ti.f32, (3, n)), ti.field(ti.i32, (3 * n, 2))

    @ti.real_func
    def element(i: ti.i32, k: ti.i32) -> ti.f32:
        return x[i, k]

    @ti.kernel
    def by_component():
        for i, j in x:
            x[i, j] = pairs[j][1 if x[i, j] > 5 else 0]

    @ti.kernel
    def by_parameter():
        for i in range(n):
            pairs[i].x = element(0, 1 if pairs[i].y > 5 else 0)

    @ti.kernel
    def by_store():
        for i, j in x:
            counts[i * n + j, ti.cast(x[i, j] > 5, ti.i32)] = j + 1

    values = (np.arange(3 * n).reshape(3, n) * 37 % 97 - 40).astype(np.float32)
    both = np.stack([np.arange(n), -np.arange(n)], 1).astype(np.float32)
    x.from_numpy(values)
    pairs.from_numpy(both)
    by_store()
    expected = np.zeros((3, n, 2), np.int32)
    np.put_along_axis(
        expected, (values > 5).astype(np.int64)[..., None], (np.indices(values.shape)[1] + 1)[..., None], 2
    )
    np.testing.assert_array_equal(counts.to_numpy().reshape(3, n, 2), expected)
    by_component()
    values = np.where(values > 5, both[:, 1], both[:, 0])
    np.testing.assert_array_equal(x.to_numpy(), values)
    by_parameter()
    np.testing.assert_array_equal(pairs.to_numpy()[:, 0], np.where(both[:, 1] > 5, values[0, 1], values[0, 0]))
    for kernel in (by_component, by_parameter, by_store):
        assert PRAGMA in kernel.source(arch=ti.cpu), kernel
