"""Sparse trees under `debug=True`: what a failed check leaves alone, and loops over active cells in which checks fail."""

import numpy as np
import pytest

import shadesmith as ti


@pytest.fixture
def checked(target: str) -> str:
    """A session that checks all indices."""
    ti.init(arch=getattr(ti, target), debug=True, enable_fallback=False, log_level=ti.WARN)
    return target


def test_a_failed_check_activates_nothing(checked: str) -> None:
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 2).place(x)
    items = block.dynamic(ti.j, 8, chunk_size=4)
    items.place(y)

    @ti.kernel
    def run(i: ti.i32, what: ti.template()):
        if ti.static(what == "store"):
            x[i] = 1
        elif ti.static(what == "store an item"):
            y[0, i] = 1
        elif ti.static(what == "activate"):
            ti.activate(block, i)
        else:
            y[i].append(1)

    for what, last in {"store": 8, "store an item": 8, "activate": 4, "append": 4}.items():
        for i in (last, -1, 2**31 - 1, -(2**31)):
            with pytest.raises(ti.TaichiAssertionError, match="Accessing"):
                run(i, what)
    assert block.num_dynamically_allocated == items.num_dynamically_allocated == 0
    run(3, "append")
    run(7, "store")
    assert y.to_numpy()[3].tolist() == [1] + [0] * 7 and x[7] == 1
    assert block.num_dynamically_allocated == 1


def test_a_failed_check_deactivates_nothing(checked: str) -> None:
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    block, bits = ti.root.pointer(ti.i, 4), ti.root.bitmasked(ti.i, 40)
    block.place(x)
    bits.place(y)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            ti.deactivate(bits, i)
            ti.deactivate(block, i // 10)

    for i in range(4):
        x[i] = i + 1
    for i in range(40):
        y[i] = i + 1
    with pytest.raises(ti.TaichiAssertionError, match=r"Accessing node \(bits\) of size \(40\) with indices \(40\)"):
        run(41)
    assert not x.to_numpy()[:4].any() and not y.to_numpy().any()
    x[3], y[39] = 5, 6
    with pytest.raises(ti.TaichiAssertionError):
        run(45)
    assert x[3] == y[39] == 0


def test_a_loop_over_active_cells_in_which_checks_fail(checked: str) -> None:
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 3).place(x, offset=-2)
    for i in (-2, 5, 19):
        x[i] = 10

    @ti.kernel
    def run():
        for i in x:
            x[i + 3] += 1

    with pytest.raises(ti.TaichiAssertionError) as caught:
        run()
    error = caught.value
    assert error.index[0] in (22, 23, 24) and error.shape == (24,) and error.array == "x"
    assert error.iteration is None and error.failures == 3
    seen = x.to_numpy()
    assert seen[[0, 7, 21]].tolist() == [10, 10, 10] and seen.sum() == 36
    assert block.num_dynamically_allocated == 5, "what other turns did stands"


def test_an_index_of_a_grouped_loop_that_leaves_its_node(checked: str) -> None:
    x = ti.field(ti.f32)
    block = ti.root.pointer(ti.ij, (3, 5))
    block.dense(ti.ij, 2).place(x)
    x[4, 8] = 1

    @ti.kernel
    def spread(di: ti.i32, dj: ti.i32):
        for I in ti.grouped(block):
            ti.activate(block, I + ti.Vector([di, dj]))

    spread(0, 0)
    spread(-2, -4)
    with pytest.raises(ti.TaichiAssertionError, match=r"node \(block\) of size \(3, 5\) with indices \(3, 4\)"):
        spread(1, 0)
    with pytest.raises(ti.TaichiAssertionError) as caught:
        spread(0, 1)
    assert caught.value.index == (2, 5) and caught.value.failures == 1
    assert block.num_dynamically_allocated == 5, "those beside others are inside"


@pytest.mark.parametrize("is_checked", [True, False])
def test_blocks_of_threads_on_active_cells(target: str, is_checked: bool) -> None:
    """Threads that meet go on where a check fails; nothing is touched outside all the same."""
    ti.init(arch=getattr(ti, target), debug=is_checked, enable_fallback=False, log_level=ti.WARN)
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 8)
    block.dense(ti.i, 32).place(x)
    items = ti.root.dense(ti.i, 8).dynamic(ti.j, 1024, chunk_size=128)
    items.place(y)
    for i in (40, 200):
        x[i] = 1

    @ti.kernel
    def reverse(n: ti.i32, m: ti.i32):
        ti.loop_config(block_dim=32)
        for i in x:
            shared = ti.simt.block.SharedArray((32,), ti.i32)
            shared[i % 32] = i
            ti.simt.block.sync()
            x[i + n] = shared[31 - i % 32]
            ti.append(items, i // 32 + m, i)

    reverse(0, 0)
    expected = np.zeros(256, np.int32)
    for first in (32, 192):
        expected[first : first + 32] = np.arange(first, first + 32)[::-1]
    assert np.array_equal(x.to_numpy(), expected)
    assert [sorted(row[row > 0]) for row in y.to_numpy()[[1, 6]]] == [list(range(a, a + 32)) for a in (32, 192)]
    if is_checked:
        with pytest.raises(ti.TaichiAssertionError, match=r"Accessing field \(x\) of size \(256\)"):
            reverse(1000, 0)
        with pytest.raises(ti.TaichiAssertionError, match=r"Accessing lists \(items\) of size \(8\)"):
            reverse(0, -100)
        assert block.num_dynamically_allocated <= 3 and items.num_dynamically_allocated <= 8 * 3
        assert np.array_equal(x.to_numpy()[32:192], expected[32:192])


def test_an_index_known_when_the_kernel_is_compiled(target: str) -> None:
    x = ti.field(ti.i32)
    items = ti.root.pointer(ti.i, 3).dynamic(ti.j, 8)
    items.place(x)

    @ti.kernel
    def of_a_list() -> ti.i32:
        return x[3].length()

    @ti.kernel
    def of_a_cell():
        ti.activate(x.parent(2), -1)

    with pytest.raises(ti.TaichiIndexError, match="Index 3 of axis 0 of"):
        of_a_list()
    with pytest.raises(ti.TaichiIndexError, match="Index -1 of axis 0 of"):
        of_a_cell()


@pytest.mark.parametrize("index", [8, -1, 10**12, -(10**12)])
def test_indices_from_python_are_always_checked(target: str, index: int) -> None:
    x, y = ti.field(ti.i32), ti.Vector.field(2, ti.f32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)
    ti.root.dense(ti.i, 2).dynamic(ti.j, 8, chunk_size=2).place(y)
    for access in (
        lambda: x[index],
        lambda: x.__setitem__(index, 1),
        lambda: y[1, index],
        lambda: y.__setitem__((index, 1), [1, 2]),
    ):
        with pytest.raises(ti.TaichiIndexError, match="lies outside"):
            access()
    assert x.parent(2).num_dynamically_allocated == 0 and y.parent().num_dynamically_allocated == 0


def test_a_list_with_a_field_that_is_gone(target: str) -> None:
    x, y = ti.field(ti.i32), ti.field(ti.f32)
    items = ti.root.dynamic(ti.i, 8)
    items.place(x, y)
    del y

    @ti.kernel
    def run():
        ti.append(items, [], [1, 2.0])

    with pytest.raises(ti.TaichiTypeError, match="a field of the list that `ti.append` stores to no longer exists"):
        run()
    assert x[0] == 0
