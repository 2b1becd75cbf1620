"""What Taichi's page on control flow teaches: loops that run in parallel and those that do not, `if`, `while`."""

import numpy as np
import pytest

import shadesmith as ti

# --- for over ranges --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("begin", "end"), [(0, 10), (10, 20), (5, 5), (7, 3), (-4, 2)])
def test_range(target: str, begin: int, end: int) -> None:
    seen = ti.field(ti.i32, 32)

    @ti.kernel
    def visit(begin: ti.i32, end: ti.i32):
        for i in range(begin, end):
            seen[i + 8] += 1

    visit(begin, end)
    expected = np.zeros(32, int)
    for i in range(begin, end):
        expected[i + 8] += 1
    assert seen.to_numpy().tolist() == expected.tolist()


@pytest.mark.parametrize("step", [1, 2, 3, 7, -1, -3])
def test_range_with_a_step(target: str, step: int) -> None:
    seen = ti.field(ti.i32, 40)

    @ti.kernel
    def visit(begin: ti.i32, end: ti.i32):
        for i in range(begin, end, step):
            seen[i] += 1

    begin, end = (3, 38) if step > 0 else (38, 3)
    visit(begin, end)
    assert np.flatnonzero(seen.to_numpy()).tolist() == sorted(range(begin, end, step))


def test_several_loops_run_one_after_the_other(target: str) -> None:
    x = ti.field(ti.i32, 100)

    @ti.kernel
    def run() -> ti.i32:
        for i in range(100):
            x[i] = i
        for i in range(100):
            x[i] = x[i] + x[99 - i] * 0
        total = 0
        for i in range(100):
            total += x[i]
        return total

    assert run() == 4950


def test_inner_loops_are_serial(target: str) -> None:
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def run():
        for i in range(8):
            power = 1
            for _ in range(i):
                power = power * 3
            x[i] = power

    run()
    assert x.to_numpy().tolist() == [3**i for i in range(8)]


@pytest.mark.parametrize("shape", [(3, 4), (1, 1), (5, 1)])
def test_ndrange(target: str, shape: tuple[int, int]) -> None:
    n, m = shape
    x = ti.field(ti.i32, shape)

    @ti.kernel
    def fill():
        for i, j in ti.ndrange(n, m):
            x[i, j] = i * 10 + j

    fill()
    assert x.to_numpy().tolist() == [[i * 10 + j for j in range(m)] for i in range(n)]


def test_ndrange_takes_pairs_and_arguments(target: str) -> None:
    x = ti.field(ti.i32, (8, 8, 4))

    @ti.kernel
    def fill(low: ti.i32, high: ti.i32):
        for i, j, k in ti.ndrange((low, high), (2, 5), 4):
            x[i, j, k] += 1

    fill(1, 3)
    expected = np.zeros((8, 8, 4), int)
    expected[1:3, 2:5, :] = 1
    assert np.array_equal(x.to_numpy(), expected)


def test_grouped_ndrange(target: str) -> None:
    x = ti.field(ti.i32, (4, 6))

    @ti.kernel
    def fill():
        for I in ti.grouped(ti.ndrange((1, 4), (2, 6))):  # noqa: E741
            x[I] = I[0] * 10 + I.y + (I - 1).sum() * 0

    fill()
    expected = np.zeros((4, 6), int)
    for i in range(1, 4):
        for j in range(2, 6):
            expected[i, j] = i * 10 + j
    assert np.array_equal(x.to_numpy(), expected)


# --- for over arrays --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4), (2, 2, 2, 3)])
def test_loop_over_a_field(target: str, shape: tuple[int, ...]) -> None:
    x = ti.field(ti.i32, shape)

    @ti.kernel
    def fill():
        for I in ti.grouped(x):  # noqa: E741
            for axis in ti.static(range(len(shape))):
                x[I] = x[I] * 10 + I[axis]

    fill()
    expected = [int("".join(map(str, index))) for index in np.ndindex(shape)]
    assert x.to_numpy().ravel().tolist() == expected


def test_loop_over_a_field_with_an_index_an_axis(target: str) -> None:
    x = ti.Vector.field(2, ti.f32, (4, 3))

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = ti.Vector([i, j])

    fill()
    assert x.to_numpy().tolist() == [[[i, j] for j in range(3)] for i in range(4)]


def test_loop_over_an_ndarray(target: str) -> None:
    @ti.kernel
    def fill(a: ti.types.ndarray(ndim=2)):
        for i, j in a:
            a[i, j] = i - j
        for I in ti.grouped(a):  # noqa: E741
            a[I] = a[I] * 2

    a = np.zeros((3, 5), np.int32)
    fill(a)
    assert a.tolist() == [[2 * (i - j) for j in range(5)] for i in range(3)]


def test_loop_over_a_field_without_axes(target: str) -> None:
    x = ti.field(ti.i32, ())

    @ti.kernel
    def fill():
        for I in ti.grouped(x):  # noqa: E741
            x[I] = 5

    fill()
    assert x[None] == 5


def test_wrong_number_of_indices(target: str) -> None:
    x = ti.field(ti.i32, (2, 2))

    @ti.kernel
    def fill():
        for i in x:
            x[i, i] = 1

    with pytest.raises((ti.TaichiCompilationError, ti.TaichiRuntimeError)):
        fill()


# --- order, break, continue -------------------------------------------------------------------------------------------


def test_break_in_the_outermost_loop_is_refused(target: str) -> None:
    x = ti.field(ti.i32, 10)

    @ti.kernel
    def run():
        for i in range(10):
            x[i] = 1
            if i == 5:
                break

    with pytest.raises(ti.TaichiSyntaxError, match="Cannot break in the outermost loop"):
        run()


def test_a_serial_loop_may_break(target: str) -> None:
    @ti.kernel
    def run() -> ti.i32:
        total = 0
        ti.loop_config(serialize=True)
        for i in range(10):
            if i == 5:
                break
            total += i
        return total

    assert run() == 10


def test_break_and_continue_of_inner_loops(target: str) -> None:
    x = ti.field(ti.i32, 6)

    @ti.kernel
    def run():
        for i in range(6):
            for j in range(10):
                if j % 2 == 0:
                    continue
                if j > i:
                    break
                x[i] += j

    run()
    assert x.to_numpy().tolist() == [sum(j for j in range(10) if j % 2 and j <= i) for i in range(6)]


def test_continue_of_the_parallel_loop(target: str) -> None:
    x = ti.field(ti.i32, 10)

    @ti.kernel
    def run():
        for i in x:
            if i % 3 == 0:
                continue
            x[i] = i

    run()
    assert x.to_numpy().tolist() == [i if i % 3 else 0 for i in range(10)]


def test_a_serial_loop_sees_what_earlier_turns_wrote(target: str) -> None:
    x = ti.field(ti.i32, 30)

    @ti.kernel
    def fibonacci():
        x[0] = x[1] = 1
        ti.loop_config(serialize=True)
        for i in range(2, 30):
            x[i] = x[i - 1] + x[i - 2]

    fibonacci()
    assert x[29] == 832040


@pytest.mark.parametrize("block_dim", [1, 32, 64, 256])
def test_loop_config_block_dim(target: str, block_dim: int) -> None:
    x = ti.field(ti.i32, 1000)

    @ti.kernel
    def fill():
        ti.loop_config(block_dim=block_dim, parallelize=4, block_dim_adaptive=False)
        for i in x:
            x[i] = i

    fill()
    assert x.to_numpy().tolist() == list(range(1000))


def test_loop_config_is_for_the_next_loop_only(target: str) -> None:
    x = ti.field(ti.i32, 3)

    @ti.kernel
    def run():
        ti.loop_config(serialize=True)
        for _ in range(2):
            pass
        for i in range(3):
            x[i] = 1
            if i == 1:
                break

    with pytest.raises(ti.TaichiSyntaxError, match="Cannot break in the outermost loop"):
        run()


def test_a_loop_under_if_is_serial(target: str) -> None:
    @ti.kernel
    def run(flag: ti.i32) -> ti.i32:
        found = -1
        if flag:
            for i in range(100):
                if i * i > 50:
                    found = i
                    break
        return found

    assert run(1) == 8 and run(0) == -1


def test_a_sum_over_a_parallel_loop_is_whole(target: str) -> None:
    total = ti.field(ti.i32, ())

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        local = 0
        for i in range(n):
            total[None] += 1
            local += i
        return local

    assert run(1000) == 499500 and total[None] == 1000


# --- while ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 6, 27, 97])
def test_while(target: str, n: int) -> None:
    @ti.kernel
    def collatz(n: ti.i32) -> ti.i32:
        steps = 0
        while n > 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        return steps

    expected, k = 0, n
    while k > 1:
        k, expected = k // 2 if k % 2 == 0 else 3 * k + 1, expected + 1
    assert collatz(n) == expected


def test_while_with_break_and_continue(target: str) -> None:
    @ti.kernel
    def run() -> ti.i32:
        i, total = 0, 0
        while True:
            i += 1
            if i % 2:
                continue
            if i > 10:
                break
            total += i
        return total

    assert run() == 30


@pytest.mark.parametrize("loop", ["while x < 3:\n        x += 1", "for i in range(3):\n        x += 1"])
def test_else_of_a_loop_is_refused(target: str, define_kernel, loop: str) -> None:
    kernel = define_kernel(f"def run():\n    x = 0\n    {loop}\n    else:\n        x = 5\n")
    with pytest.raises(ti.TaichiSyntaxError, match="'else' clause for '(while|for)' not supported in Taichi kernels"):
        kernel()


# --- if ---------------------------------------------------------------------------------------------------------------


def test_if_elif_else(target: str) -> None:
    @ti.kernel
    def classify(n: ti.i32) -> ti.i32:
        found = 0
        if n < 0:
            found = -1
        elif n == 0:
            found = 10
        elif n < 10 and n % 2:
            found = 1
        else:
            found = 2
        return found

    assert [classify(n) for n in (-5, 0, 3, 4, 11)] == [-1, 10, 1, 2, 2]


def test_numbers_as_conditions(target: str) -> None:
    @ti.kernel
    def decide(n: ti.i32, x: ti.f32) -> ti.i32:
        found = 0
        if n:
            found += 1
        if x:
            found += 10
        if not n:
            found += 100
        return found

    assert [decide(0, 0.0), decide(-1, 0.0), decide(0, 0.5)] == [100, 1, 110]


def test_a_vector_is_no_condition(target: str) -> None:
    @ti.kernel
    def decide():
        v = ti.Vector([1, 2])
        if v:
            v[0] = 2

    with pytest.raises((ti.TaichiCompilationError, ti.TaichiRuntimeError)):
        decide()


def test_names_live_in_their_block(target: str) -> None:
    @ti.kernel
    def leak(n: ti.i32) -> ti.i32:
        if n > 0:
            found = 1
        return found  # noqa: F821

    with pytest.raises(ti.TaichiNameError, match='Name "found" is not defined'):
        leak(1)


def test_outer_names_are_assigned_in_blocks(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        found = 0
        for i in range(1):
            if n > i:
                found = 5
            else:
                found = 7
        return found

    assert run(1) == 5 and run(0) == 7


def test_a_loop_variable_is_gone_after_its_loop(target: str) -> None:
    @ti.kernel
    def leak() -> ti.i32:
        for i in range(5):
            pass
        return i  # noqa: F821

    with pytest.raises(ti.TaichiNameError, match='Name "i" is not defined'):
        leak()


def test_a_loop_variable_may_not_hide_another(target: str) -> None:
    @ti.kernel
    def hide():
        i = 5
        for i in range(3):  # noqa: B020
            pass

    with pytest.raises(ti.TaichiSyntaxError, match="already declared in the outer scope"):
        hide()


@pytest.mark.filterwarnings("ignore:.*also a variable outside of the loop")
def test_the_indices_of_an_ndrange_hide_variables_and_may_change(target: str) -> None:
    """As in Taichi, whose other loops allow neither."""
    out = ti.field(ti.i32, 6)

    @ti.kernel
    def run(n: ti.i32):
        i = n
        for i in ti.ndrange(5):  # noqa: B020
            out[0] += i
        out[1] = i
        for j in ti.ndrange(n):
            j += 10
            out[2] += j
        for i, k in ti.ndrange(2, n):  # noqa: B020
            while k < 4:
                k += i + 1
            out[3] += k
        for I in ti.grouped(ti.ndrange(2, n)):
            I += 1
            I[0] *= 3
            out[4] += I[0] * I[1]
        out[5] = i

    run(3)
    np.testing.assert_array_equal(out.to_numpy(), [10, 3, 33, 12 + 4 + 5 + 4, 9 * 6, 3])


def test_a_loop_variable_cannot_be_assigned(target: str) -> None:
    @ti.kernel
    def change():
        for i in range(3):
            i = 5  # noqa: F841

    with pytest.raises(ti.TaichiCompilationError):
        change()
