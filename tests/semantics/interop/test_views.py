"""Parts of ndarrays, `x[2:5]`, `x[::2]`, `x[:, 3]`: arguments and arrays of their own that share memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan import device as vulkan
from shadesmith.runtime.session import session as sessions

PARTS = [
    np.s_[2:5, 1:], np.s_[::2, ::3], np.s_[:, 3], np.s_[1, :], np.s_[..., 0], np.s_[1:3], np.s_[::-1, ::-2], np.s_[-3:],
    np.s_[:, -1], np.s_[:100, 100:], np.s_[3:3], np.s_[...], np.s_[:], np.s_[4:1:-1, 2], np.s_[2, 3, ...],
]  # fmt: skip


Ball = ti.types.struct(mass=ti.f64, place=ti.math.vec3)


@ti.kernel
def add_numbers(x: ti.types.ndarray(), n: ti.i32):
    for I in ti.grouped(x):
        x[I] += n


@ti.kernel
def enumerate_cells(x: ti.types.ndarray(dtype=ti.i32, ndim=2)):
    for i, j in x:
        x[i, j] = i * 100 + j


@ti.kernel
def last(x: ti.types.ndarray(dtype=ti.i32, ndim=1)) -> ti.i32:
    return x[x.shape[0] - 1]


def grid() -> tuple[Any, np.ndarray]:
    values = np.arange(42, dtype=np.int32).reshape(6, 7)
    x = ti.ndarray(ti.i32, (6, 7))
    x.from_numpy(values)
    return x, values


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch):
    """A session on a device whose memory the host sees in copies only."""
    monkeypatch.setitem(sessions.OPENERS, "vulkan", lambda config, software: vulkan.open_device(force_staging=True))
    ti.init(arch=ti.vulkan, log_level=ti.WARN)
    yield
    ti.reset()


@pytest.mark.parametrize("key", PARTS, ids=str)
def test_a_kernel_changes_the_part_and_nothing_else(target: str, key: Any) -> None:
    x, values = grid()
    add_numbers(x[key], 100)
    values[key] += 100
    np.testing.assert_array_equal(x.to_numpy(), values)
    np.testing.assert_array_equal(x[key].to_numpy(), values[key])


@pytest.mark.parametrize("key", PARTS, ids=str)
def test_a_part_is_an_array_in_python(target: str, key: Any) -> None:
    x, values = grid()
    part, expected = x[key], values[key]
    assert (part.shape, part.dtype) == (expected.shape, ti.i32)
    for index in np.ndindex(expected.shape):
        assert part[index] == expected[index]
        part[index] = -int(expected[index])
    values[key] *= -1
    np.testing.assert_array_equal(x.to_numpy(), values)
    part.fill(5)
    values[key] = 5
    np.testing.assert_array_equal(x.to_numpy(), values)
    part.from_numpy(np.full(part.shape, 7))
    values[key] = 7
    add_numbers(x, 1)
    np.testing.assert_array_equal(part.to_numpy(), values[key] + 1)
    np.testing.assert_array_equal(x.to_numpy(), values + 1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", PARTS, ids=str)
def test_parts_of_copied_memory(staged: None, key: Any) -> None:
    test_a_kernel_changes_the_part_and_nothing_else("vulkan", key)
    test_a_part_is_an_array_in_python("vulkan", key)


def test_a_part_of_a_part(target: str) -> None:
    x, values = grid()
    part = x[1:, ::-2][::2, 1:]
    np.testing.assert_array_equal(part.to_numpy(), values[1:, ::-2][::2, 1:])
    enumerate_cells(part)
    values[1:, ::-2][::2, 1:] = [[0, 1, 2], [100, 101, 102], [200, 201, 202]]
    np.testing.assert_array_equal(x.to_numpy(), values)


def test_indices_count_from_the_begin_of_the_part(target: str) -> None:
    x, values = grid()
    assert last(x[2, 1:4]) == values[2, 3]
    assert last(x[::2, 5]) == values[4, 5]
    with pytest.raises(IndexError):
        x[2:4, :][2, 0]


def test_parts_of_vectors_and_matrices(target: str) -> None:
    @ti.kernel
    def turn(x: ti.types.ndarray(dtype=ti.math.vec3, ndim=1)):
        for i in x:
            x[i] = x[i].zxy + i

    @ti.kernel
    def transpose(x: ti.types.ndarray(dtype=ti.types.matrix(2, 2, ti.f32), ndim=1)):
        for i in x:
            x[i] = x[i].transpose()

    v, m = ti.Vector.ndarray(3, ti.f32, 7), ti.Matrix.ndarray(2, 2, ti.f32, 6)
    vectors, matrices = np.arange(21.0).reshape(7, 3), np.arange(24.0).reshape(6, 2, 2)
    v.from_numpy(vectors)
    m.from_numpy(matrices)
    turn(v[1::2])
    transpose(m[::-3])
    vectors[1::2] = vectors[1::2, [2, 0, 1]] + np.arange(3)[:, None]
    matrices[::-3] = matrices[::-3].transpose(0, 2, 1)
    np.testing.assert_array_equal(v.to_numpy(), vectors)
    np.testing.assert_array_equal(m.to_numpy(), matrices)
    part = v[1::2]
    part[1].y = 99
    assert v[3].y == 99 and list(part[1]) == list(v[3])


def test_parts_of_structs(target: str) -> None:
    @ti.kernel
    def drop(balls: ti.types.ndarray(dtype=Ball, ndim=1)):
        for i in balls:
            balls[i].place.z -= balls[i].mass

    balls = Ball.ndarray(5)
    balls.mass.fill(2)
    drop(balls[::2])
    assert balls.place.to_numpy()[:, 2].tolist() == [-2, 0, -2, 0, -2]
    balls[1:3][1].mass = 7
    assert balls[2].mass == 7


def test_a_part_of_an_array_known_at_compile_time(target: str) -> None:
    x, values = grid()
    part = x[1::2, 2]

    @ti.kernel
    def double():
        for i in part:
            part[i] = part[i] * 2

    double()
    values[1::2, 2] *= 2
    np.testing.assert_array_equal(x.to_numpy(), values)


def test_a_part_and_the_whole_overlap(target: str) -> None:
    @ti.kernel
    def shift(x: ti.types.ndarray(dtype=ti.i32, ndim=1), y: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(serialize=True)
        for i in range(y.shape[0]):
            y[i] = x[i] + 1

    x = ti.ndarray(ti.i32, 6)
    shift(x, x[1:])
    assert x.to_numpy().tolist() == [0, 1, 2, 3, 4, 5]


def test_a_part_without_gaps_runs_the_code_of_the_whole(target: str) -> None:
    x, _ = grid()
    enumerate_cells(x)
    compiled = sessions.current().compiled_functions
    enumerate_cells(x[2:4])
    assert sessions.current().compiled_functions == compiled
    enumerate_cells(x[:, 2:4])
    enumerate_cells(x[::2])
    assert sessions.current().compiled_functions == compiled + 1


def test_a_part_keeps_the_memory(target: str) -> None:
    part = grid()[0][1:, 3]
    ti.ndarray(ti.i32, (6, 7)).fill(1)
    ti.sync()
    assert part[0] == 10


def test_a_part_ends_with_its_session(target: str) -> None:
    x, _ = grid()
    part = x[1:, 3]
    ti.reset()
    ti.init(arch=getattr(ti, target), log_level=ti.WARN)
    for use in (lambda: part[0], part.to_numpy, lambda: part.fill(1), lambda: last(part), lambda: x[1:]):
        with pytest.raises(RuntimeError, match=r"made before the last `ti.init\(\)`"):
            use()


@pytest.mark.parametrize(
    ("key", "error", "text"),
    [
        (np.s_[:, 7], IndexError, "index 7 is out of bounds for axis 1 with size 7"),
        (np.s_[-7, :], IndexError, "index -7 is out of bounds"),
        (np.s_[:, :, :], IndexError, "too many indices: it has 2 axes, but 3 were indexed"),
        (np.s_[..., ...], IndexError, "a single ellipsis"),
        (np.s_[:, 1.5], IndexError, "only integers, slices"),
        (np.s_[:, [1, 2]], IndexError, "only integers, slices"),
        (np.s_[::0, :], ValueError, "slice step cannot be zero"),
        (np.s_[1], IndexError, "takes 2 indices, and 1 were given"),
    ],
)
def test_wrong_parts_are_refused_as_by_numpy(target: str, key: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        grid()[0][key]


def test_parts_are_not_assigned_to(target: str) -> None:
    x, _ = grid()
    with pytest.raises(ti.TaichiIndexError, match=r"\[1:, ::2\] is a part .*`x\[1:, ::2\].fill\(value\)`"):
        x[1:, ::2] = 3


def test_fields_have_no_parts(target: str) -> None:
    with pytest.raises(ti.TaichiIndexError, match="slices are not supported"):
        ti.field(ti.f32, 5)[1:3]


def test_a_part_has_its_part_of_the_gradient(target: str) -> None:
    x = ti.ndarray(ti.f32, 6, needs_grad=True)
    x[2:4].grad.fill(1)
    assert x.grad.to_numpy().tolist() == [0, 0, 1, 1, 0, 0]


def test_indices_are_checked_within_the_part() -> None:
    ti.init(arch=ti.cpu, debug=True, log_level=ti.WARN)

    @ti.kernel
    def third(x: ti.types.ndarray(dtype=ti.i32, ndim=1)) -> ti.i32:
        return x[x.shape[0]]

    with pytest.raises(ti.TaichiAssertionError, match=r"indices \[2\]: `x` has shape \(2\)"):
        third(ti.ndarray(ti.i32, 6)[::3])
