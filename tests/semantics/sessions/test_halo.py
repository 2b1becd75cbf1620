"""`ti.tools.halo`: blocks cover the whole once, ghost cells come from where NumPy finds them."""

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.tools.halo import Decomposition, best_grid

CASES = [
    ((7,), (3,), 1, False, False),
    ((7,), (1,), 2, True, False),
    ((8,), (2,), 2, True, False),
    ((5, 9), (2, 3), 1, False, False),
    ((5, 9), (2, 3), 2, (True, False), True),
    ((4, 6), (2, 1), 1, True, True),
    ((5, 4, 7), (2, 2, 3), 1, False, True),
    ((6, 4, 7), (1, 2, 2), 2, (False, True, True), True),
    ((6, 4), (2, 2), 0, False, False),
]


@pytest.mark.parametrize(("shape", "grid", "ghost", "periodic", "corners"), CASES)
def test_exchanges_fill_all_ghost_cells(shape, grid, ghost, periodic, corners):
    split = Decomposition(shape, grid, ghost, periodic, corners)
    whole = np.arange(np.prod(shape)).reshape(shape)
    expected = [block.scatter(whole) for block in split.blocks()]
    arrays, found = [], np.zeros_like(whole)
    for block, full in zip(split.blocks(), expected, strict=True):
        local = np.full(block.shape, -1)
        local[block.owned] = full[block.owned]
        arrays.append(local)
        block.gather(full, found)
    assert np.array_equal(found, whole), "each cell is owned once"
    mail = {}
    for block in split.blocks():
        for item in block.exchanges:
            key = block.rank, item.rank, item.send_tag
            assert key not in mail, "tags differ"
            mail[key] = arrays[block.rank][item.send].copy()
    for block in split.blocks():
        for item in block.exchanges:
            arrays[block.rank][item.receive] = mail.pop((item.rank, block.rank, item.receive_tag))
    assert not mail
    for block, local, full in zip(split.blocks(), arrays, expected, strict=True):
        if corners or len(shape) == 1:
            assert np.array_equal(local, full)
        reached = local >= 0
        assert np.array_equal(local[reached], full[reached])
        for item in block.exchanges:
            assert reached[item.receive].all()


def test_grids_have_small_surfaces():
    assert best_grid((100, 100), 4) == (2, 2)
    assert best_grid((100, 10), 4) == (4, 1)
    assert best_grid((64, 64, 64), 8) == (2, 2, 2)
    assert best_grid((7,), 1) == (1,)
    assert Decomposition((8, 8, 8), 6).ranks == 6


def test_what_cannot_be_split_is_refused():
    for arguments, message in [
        (((4,), (5,)), "fewer than needed"),
        (((8,), (4,), 3), "fewer than needed for ghost=3"),
        (((8, 8), (2,)), "differ in length"),
        (((8,), (0,)), "at least 1"),
        (((2, 2), 5), "cannot share"),
    ]:
        with pytest.raises(ValueError, match=message):
            Decomposition(*arguments)
    with pytest.raises(ValueError, match="there is no rank 2"):
        Decomposition((8,), (2,)).block(2)


def test_a_stencil_on_several_sessions_is_that_on_one():
    sessions = [ti.Session(arch, log_level=ti.WARN) for arch in ("cpu", "cpu")]
    rng = np.random.default_rng(1)
    start = rng.integers(0, 100, (6, 5, 4)).astype(np.int32)

    @ti.kernel
    def step(old: ti.types.ndarray(ti.i32, 3), new: ti.types.ndarray(ti.i32, 3)):
        for i, j, k in ti.ndrange((1, old.shape[0] - 1), (1, old.shape[1] - 1), (1, old.shape[2] - 1)):
            around = old[i - 1, j, k] + old[i + 1, j, k] + old[i, j - 1, k] + old[i, j + 1, k]
            new[i, j, k] = old[i, j, k] + around + old[i, j, k - 1] + old[i, j, k + 1]

    def after(count):
        split = Decomposition(start.shape, (count, 1, 1))
        parts = []
        for block, session in zip(split.blocks(), sessions, strict=False):
            with session:
                pair = [ti.ndarray(ti.i32, block.shape) for _ in range(2)]
            for array in pair:
                array.from_numpy(block.scatter(start))
            parts.append((block, pair))
        for _ in range(3):
            for block, pair in parts:
                with pair[0].session:
                    step(*pair)
                pair.reverse()
            for block, pair in parts:
                for item in block.exchanges:
                    other, theirs = parts[item.rank]
                    back = next(e for e in other.exchanges if e.send_tag == item.receive_tag)
                    pair[0][item.receive].copy_from(theirs[0][back.send])
        whole = np.zeros_like(start)
        for block, pair in parts:
            block.gather(pair[0].to_numpy(), whole)
        return whole

    assert np.array_equal(after(1), after(2))
    for session in sessions:
        session.close()
