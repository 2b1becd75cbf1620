"""Many threads activate, append to and deactivate the same cells in one launch; memory is used again."""

import numpy as np
import pytest

import shadesmith as ti


def many(target: str, count: int) -> int:
    """Return how many turns a loop has: few where each takes a while."""
    return count if target != "python" else min(count, 500)


def used(node) -> tuple[int, int]:
    """Return how many cells of a pool are in use, and how many ever were at once."""
    tree = node.memory.sparse()
    return node.num_dynamically_allocated, int(tree.get(node.node, "highest"))


@pytest.mark.parametrize("above", ["pointer", "bitmasked", "nested"])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_all_threads_activate_one_cell(target: str, above: str) -> None:
    n = many(target, 1_000_000)
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 64) if above != "bitmasked" else ti.root.bitmasked(ti.i, 64)
    inner = block.pointer(ti.i, 4) if above == "nested" else block.dense(ti.i, 4)
    inner.place(x)

    @ti.kernel
    def add():
        for _ in range(n):
            x[77] += 1

    @ti.kernel
    def count() -> ti.i32:
        found = 0
        for i in x:
            found += 1
        return found

    add()
    assert x[77] == n and count() == (1 if above == "nested" else 4)
    if above != "bitmasked":
        assert used(block)[0] == 1
    add()
    assert x[77] == 2 * n and x.to_numpy().sum() == 2 * n


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_threads_activate_few_cells(target: str) -> None:
    n, cells = many(target, 400_000), 97
    total, last = ti.field(ti.i32), ti.field(ti.i32)
    upper = ti.root.pointer(ti.i, 64)
    middle = upper.pointer(ti.i, 16)
    middle.bitmasked(ti.i, 4).place(total, last)
    where = (np.random.default_rng(1).integers(0, cells, n) * 41 % 4096).astype(np.int32)

    @ti.kernel
    def add(where: ti.types.ndarray(ti.i32, 1)):
        for t in where:
            total[where[t]] += 1
            last[where[t]] = t

    @ti.kernel
    def count() -> ti.i32:
        found = 0
        for i in total:
            found += 1
        return found

    add(where)
    expected = np.bincount(where, minlength=4096)
    assert np.array_equal(total.to_numpy(), expected)
    assert count() == len(set(where.tolist()))
    assert used(upper)[0] == len(set((where // 64).tolist())) and used(middle)[0] == len(set((where // 4).tolist()))
    seen = last.to_numpy()
    assert all(where[seen[cell]] == cell for cell in np.flatnonzero(expected))


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_threads_append_to_one_list(target: str) -> None:
    n = many(target, 300_000)
    x, place = ti.field(ti.i32), ti.field(ti.i32, n)
    items = ti.root.dynamic(ti.i, 1 << 20, chunk_size=256)
    items.place(x)

    @ti.kernel
    def append():
        for t in range(n):
            place[t] = ti.append(items, [], t)

    append()
    found = x.to_numpy()
    assert np.array_equal(np.sort(place.to_numpy()), np.arange(n))
    assert np.array_equal(found[place.to_numpy()], np.arange(n)) and not found[n:].any()
    assert used(items)[0] == -(-n // 256)
    items.deactivate_all()
    assert used(items)[0] == 0 and not x.to_numpy().any()


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_threads_append_to_few_lists(target: str) -> None:
    n, lists = many(target, 100_000), 7
    x = ti.field(ti.i32)
    below = ti.root.pointer(ti.i, lists).dynamic(ti.j, 1 << 17, chunk_size=64)
    below.place(x)

    @ti.kernel
    def append():
        for t in range(n):
            x[t % lists].append(t + 1)

    append()
    for number, row in enumerate(x.to_numpy()):
        expected = np.arange(number, n, lists) + 1
        assert np.array_equal(np.sort(row[: len(expected)]), expected) and not row[len(expected) :].any()


@pytest.mark.parametrize("kind", ["pointer", "bitmasked"])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_some_activate_what_others_deactivate(target: str, kind: str) -> None:
    """Which comes first is open; whatever does, what is not active is zero, and no cell is lost or lent twice."""
    cells = many(target, 80_000) // 8
    n = 8 * cells
    x = ti.field(ti.i32)
    block = getattr(ti.root, kind)(ti.i, cells)
    block.dense(ti.i, 2).place(x)
    activity = ti.field(ti.i32, cells)

    @ti.kernel
    def race(turn: ti.i32):
        for t in range(n):
            cell = t % cells
            if (t // cells + turn) % 8 == 3:
                ti.deactivate(block, [cell])
            else:
                ti.activate(block, [cell])

    @ti.kernel
    def look():
        for i in activity:
            activity[i] = ti.is_active(block, [i])

    @ti.kernel
    def mark():
        for i in x:
            x[i] = i + 1

    for turn in range(4):
        race(turn)
        look()
        is_active = activity.to_numpy().astype(bool)
        if kind == "pointer":
            assert used(block)[0] == is_active.sum()
        mark()
        expected = np.where(np.repeat(is_active, 2), np.arange(2 * cells) + 1, 0)
        assert np.array_equal(x.to_numpy(), expected)
        for i in range(0, cells, cells // 7):
            x[2 * i] = 9
        block.deactivate_all()
        assert not x.to_numpy().any()


@pytest.mark.one_target
def test_a_thousand_rounds_use_the_same_memory(target: str) -> None:
    rounds = 1000 if target != "python" else 30
    x, y = ti.field(ti.f32), ti.field(ti.i32)
    block = ti.root.pointer(ti.ij, 8)
    block.pointer(ti.ij, 2).dense(ti.ij, 2).place(x)
    lists = ti.root.dense(ti.i, 4).dynamic(ti.j, 64, chunk_size=8)
    lists.place(y)

    @ti.kernel
    def fill(value: ti.f32):
        for i, j in ti.ndrange(32, 32):
            if (i + j) % 3:
                x[i, j] += value
        for i in range(4):
            for j in range(20):
                y[i].append(j)

    @ti.kernel
    def clear():
        for i, j in block:
            ti.deactivate(block, [i, j])
        for i in range(4):
            ti.deactivate(lists, [i])

    inner = block._get_children()[0]
    highest = set()
    for turn in range(rounds):
        fill(1.0)
        if turn % 100 == 1:
            assert x.to_numpy().sum() == 683 and (y.to_numpy()[:, :20] == np.arange(20)).all()
            highest.add(tuple(used(node)[1] for node in (block, inner, lists)))
        if turn % 2:
            clear()
        else:
            block.deactivate_all()
            lists.deactivate_all()
    assert [used(node)[0] for node in (block, inner, lists)] == [0, 0, 0]
    assert len(highest) <= 1
    assert not x.to_numpy().any() and not y.to_numpy().any()
