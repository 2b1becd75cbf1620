"""Edits that run: written, changed, deleted, left out; what ran is told."""

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.edits import selection
from shadesmith.runtime.workbench.edits.header import without_header

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter runs no text

SCALE = """
    @ti.kernel
    def scale(a: ti.f32, x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] = a * x[i]
"""
TWO_LOOPS = """
    @ti.kernel
    def both(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] = i + 1
        for i in y:
            y[i] = i + 2
"""
TILES = """
    @ti.kernel
    def pairs(x: ti.types.ndarray(ti.i32, 1), out: ti.types.ndarray(ti.i32, 1)):
        for i in out:
            s = 0
            for j in range(x.shape[0]):
                s += x[j] * (i + j)
            out[i] = s
"""
SIZE = 1000


@pytest.fixture(autouse=True)
def compiled(target: str) -> None:
    if target == "python":
        pytest.skip("the interpreter runs no text")


def ones() -> np.ndarray:
    return np.ones(SIZE, np.float32)


def begin(kernel, *args) -> Path:
    """Run a kernel and begin to edit it."""
    kernel(*args)
    return kernel.edit(*args)


def again(**options) -> None:
    """Start a session like the present one, as the next run of a program does."""
    arch = sessions.CURRENT.arch
    ti.init(arch=arch, log_level=ti.WARN, **options)


def test_an_untouched_copy_is_no_edit(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    x = ones()
    path = begin(program.scale, 2.0, x)
    before = program.scale.last_launch
    launched = program.scale.compile(2.0, x)
    assert path.parent.parent.parent == tmp_path / "edits" and without_header(path.read_text()) == launched.source()
    program.scale(2.0, x)
    assert program.scale.last_launch == before and before.variant == "generated" and before.paths == ()
    assert sessions.CURRENT.programs.built == 1, "the same text is compiled once"
    assert np.all(x == 4)


def test_the_edited_text_runs_until_it_is_deleted(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    path = begin(program.scale, 2.0, ones())
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    x = ones()
    program.scale(2.0, x)
    assert np.all(x == 12)
    launch = program.scale.last_launch
    assert (launch.variant, launch.paths) == ("edit", (path,))
    written_programs.replaced(path, "10.0", "20.0")
    program.scale(2.0, x)
    assert np.all(x == 44) and program.scale.last_launch.digest != launch.digest
    path.unlink()
    program.scale(2.0, x)
    assert np.all(x == 88) and program.scale.last_launch.variant == "generated"


@pytest.mark.all_targets
def test_the_next_process_finds_the_edit(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    path = begin(program.scale, 2.0, ones())
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    program = written_programs.write(tmp_path / "p.py", SCALE, lines_before=7)  # the kernel stands elsewhere now
    x = ones()
    program.scale(2.0, x)
    assert np.all(x == 12) and program.scale.last_launch.variant == "edit"
    if target != "cpu":
        return  # whose arrays are copied without gaps
    y = np.ones(SIZE, np.float32)[::2]
    program.scale(2.0, y)
    assert np.all(y == 2) and program.scale.last_launch.variant == "generated", "another specialization is another slot"


def test_the_key_covers_the_edit(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    args = 2.0, ones()
    generated = program.scale.key(*args)
    path = begin(program.scale, *args)
    assert program.scale.key(*args) == generated, "an untouched copy is no edit"
    keys = set()
    for number in ("10.0", "20.0"):
        path.write_text((path.parent / ".base" / path.name).read_text().replace("* x(i)", f"* x(i) + {number}"))
        keys.add(program.scale.key(*args))
    assert len(keys - {generated}) == 2
    again(edits="off")
    assert program.scale.key(*args) == generated


def test_policies(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    path = begin(program.scale, 2.0, ones())
    good = written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    again(edits="off")
    x = ones()
    program.scale(2.0, x)
    assert np.all(x == 2) and program.scale.last_launch.variant == "generated"
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i")
    again()
    for _ in range(2):
        with pytest.raises(ti.TaichiCompilationError, match="scale"):
            program.scale(2.0, x)
    assert np.all(x == 2), "nothing ran"
    again(edits="fallback")
    with pytest.warns(ti.ShadesmithWarning, match="generated source of kernel `scale` runs instead"):
        program.scale(2.0, x)
    assert np.all(x == 4) and program.scale.last_launch.reason == "the edit was left out"
    again()
    path.write_text(good)
    program.scale(2.0, x)
    assert np.all(x == 18)


def test_watching_keeps_the_last_good_text(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    again(edits="watch")
    x = ones()
    program.scale(2.0, x)
    path = program.scale.edit(2.0, x)
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    program.scale(2.0, x)
    assert np.all(x == 14)
    written_programs.replaced(path, "10.0", "10.0 +")
    with pytest.warns(ti.ShadesmithWarning, match="last good source keeps running"):
        program.scale(2.0, x)
    assert np.all(x == 38)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program.scale(2.0, x)
        assert np.all(x == 86), "it is told of once"
        written_programs.replaced(path, "10.0 +", "20.0")
        program.scale(2.0, x)
    assert np.all(x == 192)


def test_a_slot_that_comes_back_is_used_again(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    x = ones()
    path = begin(program.scale, 2.0, x)
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    for moved in (path.parent, path.parent.parent):
        program.scale(2.0, x)
        assert program.scale.last_launch.variant == "edit"
        moved.rename(tmp_path / "away")
        program.scale(2.0, x)
        assert program.scale.last_launch.variant == "generated"
        (tmp_path / "away").rename(moved)
        program.scale(2.0, x)
        assert program.scale.last_launch.variant == "edit"


def test_what_is_saved_during_a_compilation_runs_next(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    x = ones()
    path = begin(program.scale, 2.0, x)
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    build = selection.build

    def saved_again(*args, **options) -> None:
        monkeypatch.setattr(selection, "build", build)
        build(*args, **options)
        written_programs.replaced(path, "10.0", "30.0")

    monkeypatch.setattr(selection, "build", saved_again)
    program.scale(2.0, x)
    x.fill(1)
    program.scale(2.0, x)
    assert np.all(x == 32)


def test_an_editor_that_empties_the_file_first_is_waited_for(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    x = ones()
    path = begin(program.scale, 2.0, x)
    text = path.read_text().replace("args.a * x(i)", "args.a * x(i) + 10.0")
    path.write_text("")
    saving = threading.Timer(0.05, path.write_text, [text])
    saving.start()
    program.scale(2.0, x)
    saving.join()
    assert np.all(x == 14)


def test_permissions_are_checked_when_they_change(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    x = ones()
    path = begin(program.scale, 2.0, x)
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    program.scale(2.0, x)
    path.chmod(0o666)
    with pytest.raises(ti.TaichiCompilationError, match="everybody may write to it"):
        program.scale(2.0, x)


@pytest.mark.all_targets
def test_every_task_can_be_edited(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", TWO_LOOPS)
    x, y = np.zeros(10, np.int32), np.zeros(12, np.int32)
    place = begin(program.both, x, y)
    files = sorted(place.glob("*.comp")) if target == "vulkan" else [place]
    assert len(files) == (2 if target == "vulkan" else 1)
    written_programs.replaced(files[-1], "+ 2;", "+ 30;")
    program.both(x, y)
    assert list(x) == list(range(1, 11)) and list(y) == list(range(30, 42))
    assert program.both.last_launch.paths == (files[-1],)


@pytest.mark.all_targets
@pytest.mark.wide
@pytest.mark.parametrize("size", [SIZE, SIZE + 3])
def test_an_edit_of_four_iterations_at_a_time_runs_and_is_compared(target: str, size: int, tmp_path: Path) -> None:
    ti.init(arch=sessions.CURRENT.arch, log_level=ti.WARN)  # the session reads which passes it leaves out
    program = written_programs.write(tmp_path / "p.py", SCALE)
    x = np.ones(size, np.float32)
    path = begin(program.scale, 2.0, x)
    assert ("x4(i)" in path.read_text()) == (target != "cpu")
    path.write_text(path.read_text().replace("args.a * x", "3.0f * args.a * x"))
    program.scale(2.0, x)
    assert np.all(x == 12) and program.scale.last_launch.variant == "edit"
    assert not program.scale.compare(2.0, x).passed


def test_named_variants_do_not_run_unasked(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    x = ones()
    program.scale(2.0, x)
    path = program.scale.edit(2.0, x, variant="tenfold")
    assert "@tenfold." in path.name
    written_programs.replaced(path, "args.a * x(i)", "10.0 * x(i)")
    program.scale(2.0, x)
    assert np.all(x == 4)
    found = program.scale.variants(2.0, x)
    assert list(found.edits) == ["tenfold"] and found.chosen.variant == "generated"
    assert "10.0" in found.module("tenfold").source()
    with pytest.raises(ti.TaichiRuntimeError, match="no variant `eleven`.*there are generated, tenfold"):
        found.module("eleven")


@pytest.mark.all_targets
def test_a_block_of_another_size_launches_as_many_threads_as_it_needs(target: str, tmp_path: Path) -> None:
    if target == "cpu":
        pytest.skip("loops of C know their own lengths")
    program = written_programs.write(tmp_path / "p.py", SCALE)
    path = begin(program.scale, 2.0, ones())
    text = path.read_text()
    for block in (32, 64, 256):
        path.write_text(text.replace("#define BLOCK 128", f"#define BLOCK {block}  // by hand"))
        x = ones()
        program.scale(3.0, x)
        assert np.all(x == 3)
        (task,) = program.scale.compile(3.0, x).tasks
        assert task.block_dim == block


@pytest.mark.all_targets
def test_tiles_have_the_size_of_the_block(target: str, tmp_path: Path) -> None:
    if target == "cpu":
        pytest.skip("C has no tiles")
    program = written_programs.write(tmp_path / "p.py", TILES)
    x, out = np.arange(300, dtype=np.int32) % 7, np.zeros(70, np.int32)
    expected = (x * np.arange(300)).sum() + x.sum() * np.arange(70)
    path = begin(program.pairs, x, out)
    text = path.read_text()
    for block in (37, 64, 256):
        path.write_text(text.replace("#define BLOCK 128", f"#define BLOCK {block}"))
        out[:] = 0
        program.pairs(x, out)
        assert np.array_equal(out, expected), block


@pytest.mark.all_targets
def test_a_thread_may_take_several_turns(target: str, tmp_path: Path) -> None:
    if target == "cpu":
        pytest.skip("loops of C know their own lengths")
    program = written_programs.write(tmp_path / "p.py", SCALE)
    path = begin(program.scale, 2.0, ones())
    path.write_text(four_turns(path.read_text(), target))
    for size in (0, 1, 511, 512, 513, 100_000):
        x = np.ones(size, np.float32)
        program.scale(2.0, x)
        assert np.all(x == 2)
    assert program.scale.compile(2.0, ones()).tasks[0].iterations_per_block == 512


def four_turns(text: str, target: str) -> str:
    """Let each thread do four turns, and no thread stride."""
    begin = text.index("    for (u")
    end = text.index("    }\n", begin) + len("    }\n")
    index = "gl_GlobalInvocationID.x" if target == "vulkan" else "(blockIdx.x * BLOCK + threadIdx.x)"
    count = "uint(args.x_n)" if target == "vulkan" else "unsigned(args.x_n)"
    task = "task(int(k))" if target == "vulkan" else "task(args, int(k))"
    loop = f"    for (int k = int({index}) * ITEMS, e = k + ITEMS; k < e; k++) {{\n        if (k < {count}) {task};\n    }}\n"
    text = text[:begin] + loop + text[end:]
    return text.replace("#define BLOCK 128\n", "#define BLOCK 128\n#define ITEMS 4\n")


def test_edits_of_another_folder(target: str, tmp_path: Path) -> None:
    again(edits_dir=str(tmp_path / "mine"))
    program = written_programs.write(tmp_path / "p.py", SCALE)
    path = begin(program.scale, 2.0, ones())
    assert path.is_relative_to(tmp_path / "mine") and not (tmp_path / "edits").exists()


def test_debug_runs_the_generated_text_and_says_so(target: str, tmp_path: Path) -> None:
    again(debug=False)
    program = written_programs.write(tmp_path / "p.py", SCALE)
    path = begin(program.scale, 2.0, ones())
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    again(debug=True)
    x = ones()
    with pytest.warns(ti.ShadesmithWarning, match="has edits of kernel `scale`"):
        program.scale(2.0, x)
    assert np.all(x == 2)


@pytest.mark.parametrize(
    ("data", "words"),
    [(b"\xff\xfe\x00", "not UTF-8"), (b"void main() {}\nab\x00c", ":2: the source contains a NUL"), (b"", "scale")],
)
def test_what_is_no_text_is_refused(target: str, tmp_path: Path, data: bytes, words: str) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    path = begin(program.scale, 2.0, ones())
    path.write_bytes(data)
    with pytest.raises(ti.TaichiCompilationError, match=words):
        program.scale(2.0, ones())


def test_ends_of_lines_do_not_matter(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    path = begin(program.scale, 2.0, ones())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    program.scale(2.0, ones())
    assert program.scale.last_launch.variant == "generated"


def test_a_folder_that_cannot_be_written(target: str, tmp_path: Path) -> None:
    (tmp_path / "edits").write_text("a file")
    program = written_programs.write(tmp_path / "p.py", SCALE)
    x = ones()
    program.scale(2.0, x)
    with pytest.raises(OSError):
        program.scale.edit(2.0, x)
    assert np.all(x == 2)


def test_methods_and_closures_have_slots(target: str, tmp_path: Path) -> None:
    program = written_programs.write(
        tmp_path / "p.py",
        """
        @ti.data_oriented
        class Body:
            def __init__(self, mass):
                self.mass = mass

            @ti.kernel
            def weigh(self, x: ti.types.ndarray(ti.f32, 1)):
                for i in x:
                    x[i] = self.mass


        def make(factor):
            @ti.kernel
            def times(x: ti.types.ndarray(ti.f32, 1)):
                for i in x:
                    x[i] *= factor

            return times
        """,
    )
    body, x = program.Body(3.0), ones()
    path = begin(body.weigh, x)
    assert path.parent.parent.name == "p.Body.weigh"
    written_programs.replaced(path, "3.0", "4.0")
    body.weigh(x)
    assert np.all(x == 4)
    times = program.make(2.0)
    assert begin(times, x).parent.parent.name == "p.make.in.times"


def test_nothing_is_left_in_the_folder_but_the_texts(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    path = begin(program.scale, 2.0, ones())
    names = {file.relative_to(path.parent).as_posix() for file in written_programs.below(path.parent)}
    assert names == {path.name, f".base/{path.name}", ".base/slot.json"}
    assert os.stat(path).st_mode & 0o777 == 0o644


def test_graphs_run_the_edited_text(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    builder = ti.graph.GraphBuilder()
    array = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
    for _ in range(2):
        builder.dispatch(program.scale, 2.0, array)
    graph, x = builder.compile(), ti.ndarray(ti.f32, SIZE)

    def run() -> float:
        x.fill(1.0)
        graph.run({"x": x})
        return x[SIZE - 1]

    assert run() == 4
    path = program.scale.edit(2.0, x)
    assert run() == 4
    written_programs.replaced(path, "args.a * x(i)", "args.a * x(i) + 10.0")
    assert run() == 34
    written_programs.replaced(path, "+ 10.0", "+ 1.0")
    assert run() == 7
    program.scale.use("generated")
    assert run() == 4
    program.scale.use(None)
    assert run() == 7
    path.unlink()
    assert run() == 4


@pytest.mark.all_targets
def test_an_edit_of_a_loop_that_is_gone_is_told_of(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", TWO_LOOPS)
    x, y = np.zeros(10, np.int32), np.zeros(12, np.int32)
    place = begin(program.both, x, y)
    path = sorted(place.glob("*.comp"))[-1] if target == "vulkan" else place.rename(place.with_stem("mine"))
    written_programs.replaced(path, "+ 2;", "+ 30;")
    if target == "vulkan":
        one = TWO_LOOPS[: TWO_LOOPS.index("        for i in y")]
        program = written_programs.write(tmp_path / "p.py", one)
    again()
    with pytest.warns(ti.ShadesmithWarning, match=rf"{path.name} is not used: kernel `both` has no such source now"):
        program.both(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        program.both(x, y)


def test_a_file_in_place_of_the_folder_of_an_edit_is_refused(target: str, tmp_path: Path) -> None:
    program = written_programs.write(tmp_path / "p.py", SCALE)
    folder = begin(program.scale, 2.0, ones()).parent
    folder.rename(tmp_path / "elsewhere")
    again()
    program.scale(2.0, ones())
    folder.symlink_to(tmp_path / "nothing")
    again()
    with pytest.raises(ti.TaichiCompilationError, match="the folder of an edit is a file, or a link to nothing"):
        program.scale(2.0, ones())
