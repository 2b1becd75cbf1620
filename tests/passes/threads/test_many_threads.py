"""Pass `many_threads`: loops of many iterations have larger blocks."""

from __future__ import annotations

import pytest

import shadesmith as ti


@pytest.fixture
def host() -> None:
    """A session that compiles for all targets."""
    ti.init(arch=ti.python, log_level=ti.ERROR)


def peaks(n: int, block_dim: int = 0):
    """Return a kernel that looks at the neighbours of few elements."""
    x, y = ti.field(ti.i32, n), ti.field(ti.i32, n)

    @ti.kernel
    def find():
        if ti.static(block_dim > 0):
            ti.loop_config(block_dim=block_dim)
        for i in range(n):
            v = x[i]
            if v > 100:
                best = True
                for k in range(-3, 4):
                    if 0 <= i + k < n and x[i + k] > v:
                        best = False
                if best:
                    y[i] = 1

    return find


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("arch", ["cuda", "vulkan"])
@pytest.mark.parametrize(("n", "block"), [(1 << 22, 256), ((1 << 22) - 1, 128)])
def test_blocks(n: int, block: int, arch: str) -> None:
    assert f"#define BLOCK {block}\n" in peaks(n).source(arch=getattr(ti, arch))


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize(("bins", "block"), [(64, 64), (16, 128)])
def test_columns_in_shared_memory_keep_their_block(bins: int, block: int) -> None:
    x, y = ti.field(ti.i32, 1 << 22), ti.field(ti.i32, 1 << 22)

    @ti.kernel
    def medians():
        for i in x:
            h = ti.Vector([0] * bins)
            for k in range(200):
                h[x[(i + k) & 4194303]] += 1
            at = 0
            while h[at] < 9:
                at += 1
            y[i] = at

    source = medians.source(arch=ti.cuda)
    assert f"#define BLOCK {block}" in source and "(banked_arrays)" in source


@pytest.mark.usefixtures("host")
def test_the_block_of_the_program_stays() -> None:
    assert "#define BLOCK 64\n" in peaks(1 << 22, 64).source(arch=ti.cuda)
