"""Loops of long iterations take a thread each, in several rows of groups where one axis of a grid has too few."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan.program import GROUPS_X, fold

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter has no grid

MAX_ITERATIONS = 2**31 - 1
BEHIND = 4096
"""Elements behind the last iteration, which threads of groups without one must leave alone."""


@ti.kernel
def visit(x: ti.types.ndarray(ti.u8, 1), n: ti.i32, rounds: ti.i32):
    for i in range(n):
        for _ in range(rounds):
            x[i] += ti.u8(1)


@ti.kernel
def visit_one_by_one(x: ti.types.ndarray(ti.u8, 1), n: ti.i32, rounds: ti.i32):
    ti.loop_config(block_dim=1)
    for i in range(n):
        for _ in range(rounds):
            x[i] += ti.u8(1)


@pytest.fixture(autouse=True)
def _not_interpreted(request: pytest.FixtureRequest) -> None:
    """Leave out the interpreter, which would take minutes and has no grid."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("too long for the interpreter")


IN_ONE_ROW = [0, 1, 127, 128, 129]
ROWS_OF_LARGE_BLOCKS = [GROUPS_X * 128 + k for k in (-1, 0, 1)] + [2 * GROUPS_X * 128 + 1]
ROWS_OF_SMALL_BLOCKS = [0, 1, 2, GROUPS_X - 1, GROUPS_X, GROUPS_X + 1, 2 * GROUPS_X + 1, 300_007]


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("kernel", "count"),
    [(visit, count) for count in IN_ONE_ROW + ROWS_OF_LARGE_BLOCKS]
    + [(visit_one_by_one, count) for count in ROWS_OF_SMALL_BLOCKS],
    ids=lambda value: str(value) if isinstance(value, int) else value.__name__,
)
def test_each_iteration_runs_once(target: str, kernel, count: int) -> None:
    x = np.zeros(count + BEHIND, np.uint8)
    kernel(x, count, 3)
    assert (x[:count] == 3).all() and not x[count:].any()


def test_a_constant_number_of_iterations_runs_in_rows(target: str) -> None:
    count = 2 * GROUPS_X + 3

    @ti.kernel
    def run(x: ti.types.ndarray(ti.u8, 1), rounds: ti.i32):
        ti.loop_config(block_dim=1)
        for i in range(count):
            for _ in range(rounds):
                x[i] += ti.u8(1)

    x = np.zeros(count + BEHIND, np.uint8)
    run(x, 3)
    assert (x[:count] == 3).all() and not x[count:].any()


def test_indices_of_two_axes_follow_from_rows(target: str) -> None:
    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 2), rounds: ti.i32):
        ti.loop_config(block_dim=1)
        for i, j in x:
            for _ in range(rounds):
                x[i, j] += i * 1000 + j

    x = np.zeros((311, 701), np.int32)  # 218,011 groups
    run(x, 2)
    assert (x == 2 * (np.arange(311)[:, None] * 1000 + np.arange(701))).all()


@pytest.mark.parametrize("blocks", [1, GROUPS_X, GROUPS_X + 2, 2 * GROUPS_X + 1])
@pytest.mark.parametrize("missing", [0, 1])
def test_blocks_with_barriers_run_in_rows(target: str, blocks: int, missing: int) -> None:
    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1), factor: ti.types.ndarray(ti.i32, 1), n: ti.i32, rounds: ti.i32):
        ti.loop_config(block_dim=4)
        for i in range(n):
            tile = ti.simt.block.SharedArray(4, ti.i32)
            t = ti.simt.block.thread_idx()
            tile[t] = i
            for _ in range(rounds):
                ti.simt.block.sync()
                x[i] += tile[t // 2 * 2] * factor[i // 4]  # a block without an iteration has no factor
                ti.simt.block.sync()

    count = 4 * blocks - missing
    x, factor = np.zeros(4 * blocks + BEHIND, np.int32), np.arange(1, blocks + 1, dtype=np.int32) % 7
    run(x, factor, count, 2)
    i = np.arange(count)
    assert (x[:count] == 2 * (i // 2 * 2) * factor[i // 4]).all() and not x[count:].any()


def test_full_blocks_with_barriers_run_in_rows(target: str) -> None:
    count = 4 * (GROUPS_X + 2)

    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1), rounds: ti.i32):
        ti.loop_config(block_dim=4)
        for i in range(count):
            tile = ti.simt.block.SharedArray(4, ti.i32)
            t = ti.simt.block.thread_idx()
            for _ in range(rounds):
                tile[t] = i
                ti.simt.block.sync()
                x[i] += tile[3 - t]
                ti.simt.block.sync()

    x = np.zeros(count + BEHIND, np.int32)
    run(x, 2)
    i = np.arange(count)
    assert (x[:count] == 2 * (i // 4 * 4 + 3 - i % 4)).all() and not x[count:].any()


def test_iterations_of_inner_loops_do_not_add_up_over_groups(target: str) -> None:
    """lavapipe ends all loops of a thread after 65,535 iterations together: a thread that took two such loops would stop."""

    @ti.kernel
    def run(x: ti.types.ndarray(ti.i32, 1), rounds: ti.i32):
        ti.loop_config(block_dim=1)
        for i in x:
            for _ in range(rounds if i % GROUPS_X < 2 else 1):
                x[i] += 1

    x = np.zeros(2 * GROUPS_X + 2, np.int32)
    run(x, 40_000)
    assert (x == np.where(np.arange(len(x)) % GROUPS_X < 2, 40_000, 1)).all()


@pytest.mark.exhaustive
def test_as_many_iterations_as_can_be_counted(target: str) -> None:
    @ti.kernel
    def run(hits: ti.types.ndarray(ti.i32, 1), n: ti.i32, rounds: ti.i32):
        for i in range(n):
            if i % 2**20 == 0 or i == n - 1:
                for _ in range(rounds):
                    ti.atomic_add(hits[i >> 20], 1)

    hits = np.zeros(2048, np.int32)
    run(hits, MAX_ITERATIONS, 3)
    assert hits.tolist() == [3] * 2047 + [6]


@pytest.mark.parametrize("block_dim", [1, 2, 32, 128, 1024])
@pytest.mark.parametrize("count", [GROUPS_X * 1024 + 1, 2**30 + 1, MAX_ITERATIONS - 1, MAX_ITERATIONS])
def test_rows_fit_a_grid_and_32_bits(block_dim: int, count: int) -> None:
    groups = -(-count // block_dim)
    columns, rows = fold(groups)
    assert columns <= GROUPS_X and rows <= GROUPS_X
    assert groups <= columns * rows < groups + rows
    assert columns * rows * block_dim < 2**32
