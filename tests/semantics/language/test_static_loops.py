"""Static loops that stay loops compute what their unrolled form computes, bit by bit; the others are unrolled."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from kernels.random_static import CELLS, COLUMNS, RandomStatic

import shadesmith as ti

DATA = np.array([0.0, 1.25, -2.5, 3.0, 0.1, 7.5, -0.3, 2.0] * 3, np.float32)


def results_of(folder: Path, target: str, seed: int, unrolled: bool) -> np.ndarray | str:
    """Return what a random program computes, or the message with which it is refused."""
    file = folder / f"static_{seed}.py"
    file.write_text("import shadesmith as ti\n" + RandomStatic(seed).text())
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, fast_math=False, unroll_static_loops=unrolled)
    spec = importlib.util.spec_from_file_location(f"static_{seed}_{unrolled}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    out = np.zeros((CELLS, COLUMNS), np.float32)
    try:
        module.run(out, DATA, 3)
    except ti.TaichiCompilationError as error:
        return str(error)
    return out


def check(folder: Path, target: str, seed: int) -> None:
    unrolled, kept = (results_of(folder, target, seed, unrolled) for unrolled in (True, False))
    np.testing.assert_array_equal(kept, unrolled)


@pytest.mark.one_target
@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(2))
def test_random_static_loops_compute_what_their_copies_compute(target: str, seed: int, tmp_path: Path) -> None:
    check(tmp_path, target, seed + 7)


def test_random_static_loops_in_the_interpreter(tmp_path: Path) -> None:
    for seed in range(100, 108):
        check(tmp_path, "python", seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(200, 400))
def test_more_random_static_loops(target: str, seed: int, tmp_path: Path) -> None:
    check(tmp_path, target, seed)


def source(kernel) -> str:
    return kernel.source(arch=ti.cc)


def test_list_of_vectors_becomes_a_local_array(target: str) -> None:
    x, out = ti.Vector.field(3, ti.f32, 4), ti.field(ti.f32, (4, 3, 3))

    @ti.kernel
    def run():
        for p in x:
            w = [x[p] * 0.5, x[p] + 1.0, x[p] * x[p]]
            for i, j in ti.static(ti.ndrange(3, 3)):
                out[p, i, j] = w[i][0] * w[j].y + x[p][i]

    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    x.from_numpy(values)
    run()
    w = np.stack([values * 0.5, values + 1, values * values], 1)
    expected = w[:, :, None, 0] * w[:, None, :, 1] + values[:, :, None]
    np.testing.assert_array_equal(out.to_numpy(), expected)
    text = source(run)
    assert "vec3 w[3] = {" in text and text.count("#pragma GCC unroll 3") == 2


def test_list_of_numbers_becomes_a_constant_array(target: str) -> None:
    out = ti.field(ti.f32, 4)
    weights, steps = [0.5, 0.1, 0.25, 7.0], [(1, 0), (0, 3), (2, 2), (3, 1)]

    @ti.kernel
    def run():
        for p in range(1):
            for k in ti.static(range(4)):
                out[steps[k][0]] = weights[k] + steps[k][1]

    run()
    expected = np.zeros(4, np.float32)
    for weight, (at, add) in zip(weights, steps, strict=True):
        expected[at] = np.float32(weight) + np.float32(add)
    np.testing.assert_array_equal(out.to_numpy(), expected)
    assert "const float weights[4] = {0.5f, 0.1f, 0.25f, 7.0f};" in source(run)


def test_grouped_ndrange_has_a_vector_as_its_index(target: str) -> None:
    x, out = ti.field(ti.f32, (5, 5)), ti.field(ti.f32, (5, 5))

    @ti.kernel
    def run():
        for I in ti.grouped(ti.ndrange((1, 4), (1, 4))):
            for offset in ti.static(ti.grouped(ti.ndrange((-1, 2), (-1, 2)))):
                out[I] += x[I + offset] * (offset[0] + 2 * offset.y)

    values = np.arange(25, dtype=np.float32).reshape(5, 5) ** 2
    x.from_numpy(values)
    run()
    expected = np.zeros((5, 5), np.float32)
    for i in range(1, 4):
        for j in range(1, 4):
            expected[i, j] = sum(values[i + a, j + b] * (a + 2 * b) for a in (-1, 0, 1) for b in (-1, 0, 1))
    np.testing.assert_array_equal(out.to_numpy(), expected)
    assert "out_I += x(I_0 + offset_0, I_1 + offset_1)" in source(run)


def test_static_if_narrows_the_index(target: str) -> None:
    out = ti.field(ti.i32, (1, 4))

    @ti.kernel
    def run():
        for p in range(1):
            for i in ti.static(range(4)):
                if ti.static(i > 0):
                    out[p, i - 1] += 10 * i
                else:
                    out[p, i + 3] += 7

    run()
    assert out.to_numpy().tolist() == [[10, 20, 30, 7]]
    assert "if (i > 0) {" in source(run)


def test_break_and_continue_leave_a_kept_loop(target: str) -> None:
    x, out = ti.field(ti.i32, 6), ti.field(ti.i32, 2)
    x.from_numpy(np.array([1, 5, 2, 9, 3, 4], np.int32))

    @ti.kernel
    def run():
        for p in range(2):
            for i in ti.static(range(6)):
                if x[i] == 5:
                    continue
                if x[i] > 6 + p * 4:
                    break
                out[p] += x[i]

    run()
    assert out.to_numpy().tolist() == [3, 19]


def test_loops_whose_types_depend_on_the_index_are_unrolled(target: str) -> None:
    fields = [ti.field(ti.i32, 3), ti.field(ti.f32, 3), ti.field(ti.u8, 3)]

    @ti.kernel
    def run():
        for p in range(3):
            for k in ti.static(range(3)):
                fields[k][p] = 7.5 * (k + 1)

    run()
    assert [field.to_numpy().tolist() for field in fields] == [[7] * 3, [15.0] * 3, [22] * 3]
    assert "unroll" not in source(run)


def test_powers_shapes_and_texts_are_unrolled(target: str) -> None:
    out = ti.field(ti.f32, 3)

    @ti.kernel
    def run(x: ti.f32):
        for p in range(1):
            for k in ti.static(range(1, 4)):
                v = ti.Vector.zero(ti.f32, k) + x
                out[k - 1] = v.sum() + x**k

    run(2.0)
    assert out.to_numpy().tolist() == [4.0, 8.0, 14.0]


def test_parallel_loops_in_a_static_loop_stay_parallel(target: str) -> None:
    x = ti.field(ti.i32, 1000)

    @ti.kernel
    def run():
        for k in ti.static(range(3)):
            for i in x:
                x[i] = x[i] * 2 + k

    run()
    assert set(x.to_numpy().tolist()) == {4}
    assert source(run).count("// task ") == 3


def test_library_functions_of_the_index_are_folded_as_before(target: str) -> None:
    out = ti.field(ti.f32, (2, 8))

    @ti.kernel
    def run():
        for p in range(1):
            for k in ti.static(range(8)):
                out[0, k] = ti.sin(k * 0.7)
            for k in ti.static(range(8)):
                out[1, k] = ti.exp(k / 3)

    run()
    assert "unroll" not in source(run)
    first = [np.sin(np.float32(k * 0.7)) for k in range(8)]
    second = [np.exp(np.float32(k / 3)) for k in range(8)]
    np.testing.assert_array_equal(out.to_numpy(), np.array([first, second], np.float32))


def test_option_unrolls_all_static_loops() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, unroll_static_loops=True)
    x = ti.field(ti.f32, 3)

    @ti.kernel
    def run():
        for p in range(1):
            for k in ti.static(range(3)):
                x[k] = k

    assert "unroll" not in source(run)


def test_python_functions_run_once_for_each_iteration(target: str) -> None:
    numbers, out = iter(range(10)), ti.field(ti.i32, 3)

    @ti.kernel
    def run():
        for p in range(1):
            for k in ti.static(range(3)):
                out[k] = ti.static(next(numbers))

    run()
    first, second, third = out.to_numpy().tolist()
    assert (second - first, third - second) == (1, 1)


OFFSETS = [ti.Vector([0, 1]), ti.Vector([1, 0]), ti.Vector([-1, 0]), ti.Vector([2, -1])]
NEIGHBOURS = ((0, 1), (1, 0), (-1, 0), (0, -1))
RATES = [0.1, 0.25, 1.0 / 3.0, -2.0]


def test_list_of_vectors_or_of_numbers_is_a_constant_array_and_its_loop_stays(target: str) -> None:
    x, y = ti.field(ti.f32, (6, 6)), ti.field(ti.f32, (6, 6))

    @ti.kernel
    def run():
        for i, j in x:
            for offset in ti.static(OFFSETS):
                p = ti.Vector([i, j]) + offset
                if 0 <= p[0] < 6 and 0 <= p[1] < 6:
                    y[i, j] += x[p] * offset.x
            for di, dj in ti.static(NEIGHBOURS):
                if 0 <= i + di < 6 and 0 <= j + dj < 6:
                    y[i, j] += 2.0 * x[i + di, j + dj]
            for rate in ti.static(RATES):
                y[i, j] += rate * x[i, j]
                y[i, j] *= 0.5
            for side in ti.static((-1, 1)):
                y[i, j] += side * (i + side)

    values = np.arange(36, dtype=np.float32).reshape(6, 6)
    x.from_numpy(values)
    run()
    expected = np.zeros((6, 6), np.float32)
    for i, j in np.ndindex(6, 6):
        pairs = [(k, m, k) for k, m in ((int(o[0]), int(o[1])) for o in OFFSETS)]
        for k, m, factor in (*pairs, *((k, m, 2) for k, m in NEIGHBOURS)):
            if 0 <= i + k < 6 and 0 <= j + m < 6:
                expected[i, j] += values[i + k, j + m] * np.float32(factor)
        for rate in RATES:
            expected[i, j] = (expected[i, j] + np.float32(rate) * values[i, j]) * np.float32(0.5)
        expected[i, j] += 2
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=1e-6)
    text = source(run)
    for line in (
        "const ivec2 OFFSETS[4] = {{0, 1}, {1, 0}, {-1, 0}, {2, -1}};",
        "const int di[4] = {0, 1, -1, 0};",
        "if (0 <= i + di[k] && i + di[k] < 6 && 0 <= j + dj[k] && j + dj[k] < 6) {",
        "const float RATES[4] = {0.1f, 0.25f, 0.33333334f, -2.0f};",
        "for (int side = -1; side < 2; side += 2) {",
    ):
        assert line in text, text


def test_short_bodies_over_short_lists_are_written_out(target: str) -> None:
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def run():
        for rate, shift in ti.static(((0.5, 1), (0.25, 3))):
            x[shift] = rate

    run()
    np.testing.assert_array_equal(x.to_numpy(), np.float32([0, 0.5, 0, 0.25]))
    assert "for" not in source(run).partition("void run_0")[2]


def test_lists_that_need_one_number_or_one_type_are_unrolled(target: str) -> None:
    x = ti.field(ti.f32, 8)
    fields = [ti.field(ti.f32, 8), ti.field(ti.i32, 8)]

    @ti.kernel
    def run():
        for i in x:
            for exponent in ti.static((1, 2, 4)):
                x[i] += float(i) ** exponent
                x[i] -= 1.0
            for number in ti.static((1, 2.5, 3)):
                x[i] += number / 2
                x[i] -= number // 2
            for field in ti.static(fields):
                field[i] = i
                x[i] += field[i]

    run()
    i = np.arange(8, dtype=np.float32)
    halves = sum(n / 2 - n // 2 for n in (1, 2.5, 3))
    np.testing.assert_allclose(x.to_numpy(), i + i**2 + i**4 - 3 + halves + 2 * i, rtol=1e-6)
    assert "fields_1(i)" in source(run)


def test_lists_in_lists_and_break(target: str) -> None:
    out = ti.field(ti.i32, 1)

    @ti.kernel
    def run():
        total, k = 0, 5
        for a in ti.static([3, 1, 4, 1, 5]):
            for b, c in ti.static(NEIGHBOURS):
                total += a * b + k * c
                if total > 40:
                    break
                total += a
        out[0] = total

    run()
    total = 0
    for a in (3, 1, 4, 1, 5):
        for b, c in NEIGHBOURS:
            total += a * b + 5 * c
            if total > 40:
                break
            total += a
    assert out[0] == total


def test_fields_in_lists_are_named_after_the_list(target: str) -> None:
    levels = [ti.field(ti.f32, 8 >> level) for level in range(3)]

    @ti.kernel
    def restrict(level: ti.template()):
        for i in levels[level]:
            levels[level + 1][i // 2] += levels[level][i]

    levels[1].fill(1.0)
    restrict(1)
    assert list(levels[2].to_numpy()) == [2.0, 2.0]
    assert "(&levels_2(i >> 1), levels_1(i));" in restrict.source(1, arch=ti.cc)


HOSTILE = {
    "numpy floats": [np.float32(0.1), np.float32(0.7), np.float32(1.3)],
    "large integers": [np.int64(3), np.int64(1 << 33), 4, 9],
    "small integers": [np.int8(3), np.int8(1), np.int8(4)],
    "booleans": [True, False, True, True],
    "integers and floats": [3, 2.5, 1, 4],
    "mixed vectors": [ti.Vector([1, 2.5]), ti.Vector([3, 1]), ti.Vector([7, 4])],
    "vectors of different lengths": [ti.Vector([1, 2]), ti.Vector([3, 1, 4]), ti.Vector([7, 4])],
    "no finite numbers": [float("inf"), -0.0, float("nan"), 1e300],
    "signed zeros": [-0.0, 0.0, -0.0, 0.0],
    "equal": [0, 0, 0, 1],
    "lists": [[1, 2], [3, 4], [5, 6]],
    "rows": np.array([[1, 2], [3, 4], [5, 7]]),
    "pairs of two types": [(1, 2.0), (2, 3.5), (5, 1.0)],
    "pairs of three types": [(1, 2.0), (2, 3), (5.0, 1.0)],
    "texts": ["a", "b", "c"],
    "vectors and numbers": [ti.Vector([1, 2]), 3, 4],
}


def of_lists(items: object, arch: str, unrolled: bool) -> list[object]:
    """Return what loops over the items compute, or with which error they are refused."""
    ti.init(arch=getattr(ti, arch), log_level=ti.ERROR, fast_math=False, unroll_static_loops=unrolled)
    out = ti.field(ti.f64, 4)

    @ti.kernel
    def of_numbers():
        for item in ti.static(items):
            out[0] += item
            out[1] += item * 2
            out[2] = out[2] * 0.5 + item / 3
            out[3] += item // 2

    @ti.kernel
    def of_pairs():
        for item in ti.static(items):
            out[0] += item[0]
            out[1] += item[1] * 2
            out[2] = out[2] * 0.5 + item[0] / 3
            out[3] += item[1] // 2

    found: list[object] = []
    for kernel in (of_numbers, of_pairs):
        out.fill(0)
        try:
            kernel()
            found.append(out.to_numpy().tolist())
        except ti.TaichiCompilationError as error:
            found.append(type(error).__name__)
    return found


@pytest.mark.one_target
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.filterwarnings("ignore")
def test_loops_over_hostile_lists_compute_what_their_copies_compute(target: str, name: str) -> None:
    items = HOSTILE[name]
    assert repr(of_lists(items, target, False)) == repr(of_lists(items, target, True))


PAIRS = [(0, 1), (2, -1), (1, 1), (-1, 0), (3, 2), (0, 0)]


def test_numbers_that_only_first_iterations_use(target: str) -> None:
    """A list has an item for each index: both sides of a choice may be computed."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def run(out: ti.types.ndarray(ti.i32, 1)):
        for p in out:
            for pair in ti.static(PAIRS):
                out[p] = out[p] * 3 + (pair[1] if pair[1] > pair[0] else 2)

    found = np.zeros(2, np.int32)
    run(found)
    expected = 0
    for first, second in PAIRS:
        expected = expected * 3 + (second if second > first else 2)
    assert (found == expected).all()
