"""`ti.random` and `ti.randn`: one seed gives one stream, whatever the target and its threads."""

from collections.abc import Callable

import numpy as np
import pytest

import shadesmith as ti

INTEGERS = ["i32", "u32", "i64", "u64"]
FLOATS = ["f32", "f64"]


def on(target: str, program: Callable[[], np.ndarray], seed: int) -> np.ndarray:
    ti.init(arch=getattr(ti, target), random_seed=seed, log_level=ti.ERROR)
    return program()


def check_equal_to_the_interpreter(target: str, program: Callable[[], np.ndarray], tolerance: float = 0) -> None:
    """Compare with the interpreter: to the bit, but where the device computes functions of the numbers."""
    for seed in (0, 1, 12345):
        found, expected = on(target, program, seed), on("python", program, seed)
        assert np.array_equal(found, expected) or np.allclose(found, expected, rtol=tolerance, atol=tolerance)
        assert len(np.unique(found)) > found.size * 0.99


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_parallel_loop(target: str, dtype: str) -> None:
    def program() -> np.ndarray:
        x = ti.field(getattr(ti, dtype), 3000)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = ti.random(x.dtype)

        fill()
        return x.to_numpy()

    check_equal_to_the_interpreter(target, program)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_several_numbers_a_turn_under_conditions(target: str) -> None:
    def program() -> np.ndarray:
        x = ti.field(ti.f32, (40, 30))

        @ti.func
        def pick(n):
            found = 0.0
            while found < 0.2:
                found = ti.random() * n
            return found

        @ti.kernel
        def fill():
            for i, j in x:
                if (i + j) % 3:
                    x[i, j] = ti.random()
                for _ in range(j % 4):
                    x[i, j] += pick(1.0)

        fill()
        return x.to_numpy()[x.to_numpy() > 0]

    check_equal_to_the_interpreter(target, program)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_several_tasks_and_launches(target: str) -> None:
    def program() -> np.ndarray:
        x = ti.field(ti.f32, (4, 500))
        one = ti.field(ti.f32, 4)

        @ti.kernel
        def fill(row: ti.i32):
            for i in range(500):
                x[row, i] = ti.random()
            one[row] = ti.random()
            for i in range(500):
                x[row + 1, i] = ti.random()

        fill(0)
        fill(2)
        return np.append(x.to_numpy().ravel(), one.to_numpy()[[0, 2]])

    check_equal_to_the_interpreter(target, program)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_normal_numbers(target: str) -> None:
    def program() -> np.ndarray:
        x = ti.field(ti.f32, 2000)

        @ti.kernel
        def fill():
            for i in x:
                x[i] = ti.randn()

        fill()
        return x.to_numpy()

    check_equal_to_the_interpreter(target, program, tolerance=2e-3)


def test_two_kernels_draw_different_numbers(target: str) -> None:
    x, y = ti.field(ti.i32, 100), ti.field(ti.i32, 100)

    @ti.kernel
    def fill(field: ti.template()):
        for i in field:
            field[i] = ti.random(ti.i32)

    fill(x)
    fill(y)
    assert not (x.to_numpy() == y.to_numpy()).any()


def test_truth_values(target: str) -> None:
    x = ti.field(ti.i32, 4000)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.random(ti.u1)

    fill()
    assert set(x.to_numpy()) == {0, 1} and abs(x.to_numpy().mean() - 0.5) < 0.05


def test_types_without_random_numbers_are_refused() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def draw() -> ti.i32:
        return ti.random(ti.math.vec2)

    with pytest.raises(ti.TaichiTypeError, match=r"ti\.random"):
        draw()


@pytest.mark.all_targets
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_loop_whose_length_only_the_device_knows(target: str) -> None:
    def program() -> np.ndarray:
        n, x = ti.field(ti.i32, ()), ti.field(ti.f32, 5000)
        n[None] = 5000

        @ti.kernel
        def fill():
            count = n[None]
            for i in range(count):
                x[i] = ti.random()

        fill()
        return x.to_numpy()

    check_equal_to_the_interpreter(target, program)


@pytest.mark.parametrize("block_dim", [1, 32, 96])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_block_sizes_do_not_matter(target: str, block_dim: int) -> None:
    def program() -> np.ndarray:
        x = ti.field(ti.f32, (20, 50))

        @ti.kernel
        def fill():
            ti.loop_config(block_dim=block_dim)
            for i, j in ti.ndrange((2, 20), 50):
                x[i, j] = ti.random()

        fill()
        return x.to_numpy()[2:]

    check_equal_to_the_interpreter(target, program)
