"""An edited `BLOCK` is launched as it says, or refused where the kernel computes something else in such blocks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

pytestmark = pytest.mark.targets("vulkan", "cuda")  # blocks are those of GPUs

PROGRAM = """
    HALF = 32

    @ti.kernel
    def swap(x: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(block_dim=2 * HALF)
        for i in range(640):
            tile = ti.simt.block.SharedArray((2 * HALF,), ti.i32)
            t = ti.simt.block.thread_idx()
            tile[t] = x[i]
            ti.simt.block.sync()
            x[i] = tile[t ^ 63]

    @ti.kernel
    def number(x: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(block_dim=64)
        for i in x:
            x[i] = ti.simt.block.thread_idx()

    @ti.kernel
    def odd(x: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(block_dim=64)
        for i in x:
            x[i] = ti.simt.block.sync_count_nonzero(x[i] % 2)

    @ti.kernel
    def lanes(x: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(block_dim=64)
        for i in x:
            x[i] = ti.simt.subgroup.reduce_max(x[i])

    @ti.kernel
    def total(x: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
        s = 0
        ti.loop_config(block_dim=64)
        for i in x:
            s += x[i]
        return s

    @ti.kernel
    def rows(m: ti.types.ndarray(ti.i32, 2), x: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(block_dim=64)
        for i in x:
            s = 0
            for j in range(m.shape[1]):
                s += m[i, j]
            x[i] = s

    @ti.kernel
    def twice(x: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(block_dim=64)
        for i in x:
            x[i] *= 2
"""
RELIES, EXCHANGES = ("swap", "number", "odd"), ("lanes", "total", "rows")


@pytest.fixture(autouse=True)
def compiled(target: str) -> None:
    if target in ("cpu", "python"):
        pytest.skip("blocks are those of GPUs")


def arguments(name: str) -> tuple[np.ndarray, ...]:
    x = np.arange(640, dtype=np.int32)
    return (np.arange(640 * 70, dtype=np.int32).reshape(640, 70), x) if name == "rows" else (x,)


def run(kernel, name: str) -> tuple[object, ...]:
    args = arguments(name)
    result = kernel(*args)
    ti.sync()
    return result, args[-1].tolist()


def begun(program, name: str) -> tuple[Path, str]:
    path = getattr(program, name).edit(*arguments(name))
    text = path.read_text()
    assert "#define BLOCK 64" in text
    return path, text


@pytest.mark.parametrize("name", [*RELIES, *EXCHANGES, "twice"])
def test_blocks_of_the_edit_compute_the_same_or_are_refused(name: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", PROGRAM)
    kernel = getattr(program, name)
    expected = run(kernel, name)
    path, text = begun(program, name)
    line = 1 + text[: text.index("#define BLOCK")].count("\n")
    for block in (1, 32, 48, 100, 128, 256):
        path.write_text(text.replace("#define BLOCK 64", f"#define BLOCK {block}"))
        if name in RELIES or (name in EXCHANGES and block % 32):
            with pytest.raises(ti.TaichiCompilationError, match=rf":{line}: a block (has|of) {block} thread") as error:
                run(kernel, name)
            hint = f"`ti.loop_config(block_dim={block})`" if name in RELIES else "make it a multiple of 32"
            assert hint in str(error.value) and str(path) in str(error.value)
        else:
            assert run(kernel, name) == expected, block
            assert kernel.last_launch.variant == "edit"


def test_a_file_of_the_programs_choice_has_the_blocks_of_the_kernel(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", PROGRAM)
    (path,) = ti.export(program.swap, tmp_path / f"mine.{'cu' if target == 'cuda' else 'comp'}", *arguments("swap"))
    path.write_text(path.read_text().replace("#define BLOCK 64", "#define BLOCK 32"))
    with pytest.raises(ti.TaichiCompilationError, match="kernel `swap` is written for 64"):
        ti.kernel_from_source(path, like=program.swap)(*arguments("swap"))


def test_a_search_may_try_other_blocks_of_such_a_kernel(tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", PROGRAM)
    path, text = begun(program, "number")
    path.write_text(text.replace("#define BLOCK 64", "// @tune BLOCK = 64 | 128\n#define BLOCK 64"))
    found = program.number.tune(*arguments("number"), seconds=1)
    assert [trial.status for trial in found.trials if "128" in trial.label] == ["wrong"]


def test_blocks_of_edited_ir_are_those_of_the_kernel(tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", PROGRAM)
    path = program.swap.edit(*arguments("swap"), form="ir")
    path.write_text(path.read_text().replace("block_dim=64 {", "block_dim=32 {"))
    with pytest.raises(ti.TaichiCompilationError, match="block has 32 threads here") as error:
        program.swap(*arguments("swap"))
    assert "^^^^^^^^^^^^" in str(error.value)


def test_numbers_of_subgroups_are_not_excused_by_those_of_the_host(target: str, tmp_path: Path) -> None:
    """The kernel in f64 runs on the host, whose subgroups may have another size."""
    if target == "cuda" or sessions.CURRENT.device.capabilities.subgroup_size == 32:
        pytest.skip("the host has the same subgroups")
    text = PROGRAM.replace("ti.i32, 1", "ti.f32, 1").replace("reduce_max", "reduce_add")
    program = written_programs.write(tmp_path / "p.py", text)
    path = program.lanes.edit(np.ones(640, np.float32))
    written_programs.replaced(path, "subgroupAdd(x(i))", "subgroupAdd(x(i)) + (i % 100 == 99 ? 3.0 : 0.0)")
    assert not program.lanes.compare(np.ones(640, np.float32), sweep=False).passed


@pytest.mark.parametrize(
    ("define", "words"),
    [
        ("#define BLOCK 32 + 32", "is 64 by itself, but another number in a product"),
        ("#define WARPS 1 + 1\n#define BLOCK (WARPS * 32)", "is 64 by itself, but another number in a product"),
        ("#define BLOCK 128\n#if 0\n#define BLOCK 32\n#endif", "`BLOCK` is defined inside of `#if`"),
        (
            "#define BLOCK 128\n#ifdef X\n#if X > 1\n#define ITEMS 4\n#endif\n#endif",
            "`ITEMS` is defined inside of `#if`",
        ),
        ("#ifndef BLOCK\n#define BLOCK 64\n#endif", ""),
        ("#if 1\n#endif\n#define BLOCK (32 + 32)", ""),
        ("#define WARPS (1 + 1)\n#define BLOCK (WARPS * 32)", ""),
    ],
)
def test_the_number_that_is_launched_is_the_one_that_is_compiled(tmp_path: Path, define: str, words: str) -> None:
    program = written_programs.write(tmp_path / "p.py", PROGRAM)
    path, text = begun(program, "twice")
    path.write_text(text.replace("#define BLOCK 64", define))
    x = np.ones(640, np.int32)
    if words:
        with pytest.raises(ti.TaichiCompilationError, match=words):
            program.twice(x)
        return
    program.twice(x)
    ti.sync()
    assert np.all(x == 2) and program.twice.last_launch.variant == "edit"


STORES = """
    n, m = {n}, {n}
    F = ti.Matrix.field(3, 3, ti.f32, n)
    x = ti.field(ti.f32, m)

    @ti.kernel
    def store():
        ti.loop_config(block_dim=64)
        for i in F:
            F[i] = ti.Matrix.one(ti.f32, 3, 3) * i

    @ti.kernel
    def sums():
        ti.loop_config(block_dim=64)
        for i in range(m):
            s = 0.0
            for k in range(m):
                s += x[k]
            F[i][0, 0] = s
"""


@pytest.mark.parametrize("count", [64 * 515, 64 * 515 + 1])
def test_threads_that_store_together_are_of_any_block(count: int, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", STORES.format(n=count))
    path = program.store.edit()
    text = path.read_text()
    assert "F_staged[BLOCK][9]" in text
    for block in (1, 32, 48, 103, 128, 256):
        path.write_text(text.replace("#define BLOCK 64", f"#define BLOCK {block}"))
        program.F.fill(-1)
        if count % 64 == 0 and count % block:
            with pytest.raises(ti.TaichiCompilationError, match="each thread has an iteration"):
                program.store()
        else:
            program.store()
            assert program.store.last_launch.variant == "edit"
            assert (program.F.to_numpy() == np.arange(count, dtype=np.float32)[:, None, None]).all()


@pytest.mark.parametrize(("name", "count"), [("store", 64 * 515), ("store", 64 * 515 + 1), ("sums", 64 * 10)])
def test_blocks_of_edited_ir_that_are_not_full(name: str, count: int, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", STORES.format(n=count))
    kernel = getattr(program, name)
    path = kernel.edit(form="ir")
    text = path.read_text()
    for block in (32, 48, 256):
        path.write_text(text.replace("block_dim=64 {", f"block_dim={block} {{"))
        if count % 64 == 0 and count % block:
            with pytest.raises(ti.TaichiCompilationError, match=f"the last block of {block} threads has fewer"):
                kernel()
        else:
            kernel()
            assert kernel.last_launch.variant == "edit"
            expected = np.arange(count, dtype=np.float32) if name == "store" else np.zeros(count)
            assert np.array_equal(program.F.to_numpy()[:, 0, 0], expected)
