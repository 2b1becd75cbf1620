"""`shadesmith adopt`: directives that give the source of an edit, written into the Python file."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from shadesmith.runtime.workbench.adopt.python_file import read_python_file
from shadesmith.runtime.workbench.adopt.python_text import function_text
from shadesmith.runtime.workbench.adopt.same_code import differences, same_code, size, units
from shadesmith.runtime.workbench.edits.header import header_of, with_header, without_header

KERNELS = """
    @ti.kernel(passes="-wide_accesses,-narrow_loops")
    def clip(x: ti.types.ndarray(ti.f32, 1), limit: ti.f32):
        # keep this comment
        for i in x:
            y = x[i] * 0.5  # and this one
            if i > 2:
                if y < limit and i != 7:  # why
                    x[i] = y

    @ti.kernel(passes="-wide_accesses,-block_tiles,-reduce_atomics")
    def sums(x: ti.types.ndarray(ti.f32, 1), c: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
        total = 0.0
        for i in x:
            s = 0.0
            for k in range(8):
                s = s * x[i] + c[k]
            total += s
        return total

    @ti.kernel
    def poly(x: ti.types.ndarray(ti.f32, 1), c: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            s = 0.0
            for k in range(8):
                s = s * x[i] + c[k]
            x[i] = s
        for i in c:
            c[i] = c[i] / 3.0

    @ti.kernel(passes=["-wide_accesses"])
    def saxpy(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), a: ti.f32):
        for i in x:
            y[i] = a * x[i] + y[i]

    @ti.kernel(passes="-block_tiles")
    def pull(x: ti.types.ndarray(ti.f32, 1), out: ti.types.ndarray(ti.f32, 1)):
        for i in out:
            s = 0.0
            for j in range(x.shape[0]):
                s += x[j] / (1.0 + ti.abs(x[j] - i))
            out[i] = s

    @ti.kernel(fast_math=False, passes="-wide_accesses")
    def root(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] = ti.sqrt(x[i]) / 255.0
"""
LANGUAGES = {"cpu": "c", "cuda": "cu", "vulkan": "comp"}
UNROLL = {
    "cpu": ("    for (int k = 0; k < 8", "    #pragma GCC unroll 8\n    for (int k = 0; k < 8"),
    "cuda": ("    for (int k = 0; k < 8", "    #pragma unroll\n    for (int k = 0; k < 8"),
    "vulkan": ("    for (int k = 0; k < 8", "    [[unroll]] for (int k = 0; k < 8"),
}


@pytest.fixture
def file(program, monkeypatch) -> Path:
    monkeypatch.delenv("SHADESMITH_PASSES")
    path: Path = program(KERNELS)
    return path


def start(command, file: Path, kernel: str, arch: str) -> Path:
    """Begin to edit a kernel."""
    said = command("edit", f"{file}:{kernel}", "--arch", arch)
    assert said.status == 0
    return Path(said.text.split()[0])


def change(path: Path, *pairs: tuple[str, str]) -> str:
    """Replace pieces of an edit, and return what it is now."""
    text = path.read_text()
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text)
    return without_header(text)


def source_of(command, file: Path, kernel: str, arch: str) -> str:
    text: str = command("inspect", f"{file}:{kernel}", "--arch", arch, "--stage", "source").text
    return text


def check_adopted(command, file: Path, kernel: str, arch: str, edited: str) -> None:
    """Adopt, and check that Python gives the source of the edit, which is set aside."""
    said = command("adopt", f"{file}:{kernel}", "--arch", arch)
    assert said.status == 0 and "is stored as" in said.notes
    parts = re.split(r"// ===== \S+\n", source_of(command, file, kernel, arch))
    assert any(same_code(part, edited) for part in parts)
    kept = list(file.parent.rglob("*.adopted"))
    assert len(kept) == 1 and without_header(kept[0].read_text()) == edited


SIMPLE = {
    "block": ("clip", "    ti.loop_config(block_dim=64)\n    for i in x:", [("BLOCK 128", "BLOCK 64")]),
    "name": ("clip", "scaled = x[i] * 0.5  # and this one", [("float y", "float scaled"), ("y <", "scaled <"),
                                                          ("= y;", "= scaled;")]),
    "number": ("clip", "y = x[i] * 0.25  # and", [("* 0.5", "* 0.25")]),
    "unroll": ("poly", "        ti.loop_config(unroll=True)\n        for k in range(8):", []),
}  # fmt: skip
CASES = [(edit, arch) for edit in SIMPLE for arch in LANGUAGES if (edit, arch) != ("block", "cpu")]


@pytest.mark.sampled(9)
@pytest.mark.parametrize(("edit", "arch"), CASES)
def test_a_simple_edit_is_written_into_the_python_file(command, file, edit: str, arch: str) -> None:
    kernel, expected, pairs = SIMPLE[edit]
    path = start(command, file, kernel, arch)
    pairs = pairs or [UNROLL[arch]]
    if (edit, arch) == ("unroll", "vulkan"):
        pairs = [*pairs, ("#define BLOCK", "#extension GL_EXT_control_flow_attributes : require\n#define BLOCK")]
    edited = change(path, *pairs)
    before = file.read_text()
    check_adopted(command, file, kernel, arch, edited)
    found = file.read_text()
    assert expected.replace("True", "8" if arch == "cpu" else "True") in found
    assert found.count("\n") - before.count("\n") <= 1 and "# keep this comment\n" in found


def drop_condition(path: Path) -> str:
    """Remove an `if` and its braces from a source by hand, badly indented."""
    lines = path.read_text().split("\n")
    at = next(k for k, line in enumerate(lines) if "if (i > 2)" in line)
    margin = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    end = next(k for k in range(at + 1, len(lines)) if lines[k] == margin + "}")
    path.write_text("\n".join(lines[:at] + lines[at + 1 : end] + lines[end + 1 :]))
    return without_header(path.read_text())


@pytest.mark.sampled(4)
@pytest.mark.parametrize("arch", LANGUAGES)
def test_a_dropped_bounds_test_takes_the_if_away_and_keeps_comments(command, file, arch: str) -> None:
    edited = drop_condition(start(command, file, "clip", arch))
    check_adopted(command, file, "clip", arch, edited)
    assert "0.5  # and this one\n        if y < limit and i != 7:  # why\n            x[i] = y\n" in file.read_text()


@pytest.mark.exhaustive
def test_a_part_of_a_condition_is_dropped_with_else_too(command, program, monkeypatch) -> None:
    monkeypatch.delenv("SHADESMITH_PASSES")
    file = program("""
        @ti.kernel(passes="-wide_accesses,-narrow_loops")
        def clip(x: ti.types.ndarray(ti.f32, 1), n: ti.i32):
            for i in x:
                if 2 < i < n and i != 7:  # inside
                    x[i] = 1.0
                else:
                    x[i] += 0.5
    """)
    path = start(command, file, "clip", "cuda")
    edited = change(path, (" && i != 7", ""))
    check_adopted(command, file, "clip", "cuda", edited)
    assert "if 2 < i < n:  # inside\n" in file.read_text()
    other = start(command, file, "clip", "cuda")
    check_adopted(command, file, "clip", "cuda", change(other, ("2 < i && ", "")))
    assert "if i < n:  # inside\n" in file.read_text()


@pytest.mark.exhaustive
def test_edits_for_other_arguments_are_not_meant(command, program) -> None:
    file = program("""
        @ti.kernel
        def double(x: ti.types.ndarray(ndim=1)):
            for i in x:
                x[i] *= 2
    """)
    for kind, block in (("float32", 64), ("int32", 32)):
        said = command("edit", f"{file}:double", "--arch", "cuda", "--args", f"np.ones(3, np.{kind})")
        change(Path(said.text.strip()), ("BLOCK 128", f"BLOCK {block}"))
    said = command("adopt", f"{file}:double", "--args", "np.ones(3, np.int32)", "--dry-run")
    assert said.status == 0 and "block_dim=32" in said.text


PASTED = {
    "loads of 16 bytes": ("saxpy", ('passes=["-wide_accesses"]', "passes=[]"), "+wide_accesses", ("cuda", "vulkan")),
    "shared staging": ("pull", ('passes="-block_tiles"', 'passes=""'), "+block_tiles", ("cuda", "vulkan")),
    "reduction": ("sums", (",-reduce_atomics", ""), "+reduce_atomics", ("cpu", "cuda")),
    "fast math": ("root", ("fast_math=False", "fast_math=True"), "fast_math=True", ("vulkan",)),
}
"""Edits that are long: kernel, what gives them, what is expected, targets."""


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("edit", "arch"), [(edit, arch) for edit, row in PASTED.items() for arch in row[3]])
def test_what_a_pass_does_is_recognised_if_it_is_written_by_hand(command, file, edit: str, arch: str) -> None:
    kernel, (old, new), expected, _ = PASTED[edit]
    other = file.with_name("other.py")
    other.write_text(file.read_text().replace(old, new))
    by_hand = re.sub(r"//.*", "", source_of(command, other, kernel, arch))
    other.unlink()
    path = start(command, file, kernel, arch)
    path.write_text(with_header(by_hand, header_of(path.read_text())))
    check_adopted(command, file, kernel, arch, without_header(path.read_text()))
    assert expected in file.read_text()


@pytest.mark.exhaustive
def test_one_file_of_several_is_about_its_loop(command, file) -> None:
    path = start(command, file, "poly", "vulkan")
    edited = change(path.with_name("poly_1.comp"), ("BLOCK 128", "BLOCK 64"))
    check_adopted(command, file, "poly", "vulkan", edited)
    assert "    ti.loop_config(block_dim=64, grid_stride=False)\n    for i in c:" in file.read_text()


@pytest.mark.exhaustive
def test_several_directives_give_one_edit(command, file) -> None:
    path = start(command, file, "clip", "cuda")
    change(path, ("BLOCK 128", "BLOCK 256"), ("float y", "float scaled"), ("y <", "scaled <"), ("= y;", "= scaled;"))
    edited = drop_condition(path)
    said = command("diff", f"{file}:clip", "--arch", "cuda")
    assert "give the same source: `shadesmith adopt program.py:clip`" in said.text
    check_adopted(command, file, "clip", "cuda", edited)


def test_an_edit_that_is_more_is_refused_and_its_lines_are_named(command, file) -> None:
    path = start(command, file, "clip", "cuda")
    change(path, ("BLOCK 128", "BLOCK 64"), ("* 0.5f", "* 0.5f + limits(i)"))
    before, edited = file.read_bytes(), path.read_bytes()
    said = command("adopt", f"{file}:clip", "--arch", "cuda")
    assert said.status == 1 and "nothing is written" in said.notes
    assert (
        "`ti.loop_config(block_dim=64)` in line 8" in said.text and "+ float y = x(i) * 0.5f + limits(i);" in said.text
    )
    assert file.read_bytes() == before and path.read_bytes() == edited
    data = command("adopt", f"{file}:clip", "--arch", "cuda", "--json").data
    assert data["written"] is None and {line["file"] for line in data["remaining"]} == {"clip.cu"}


def test_dry_run_shows_the_change_and_writes_nothing(command, file) -> None:
    path = start(command, file, "clip", "vulkan")
    edited = change(path, ("BLOCK 128", "BLOCK 32"))
    before = file.read_bytes()
    said = command("adopt", f"{file}:clip", "--dry-run")
    assert said.status == 0 and "+    ti.loop_config(block_dim=32)" in said.text
    assert file.read_bytes() == before and without_header(path.read_text()) == edited


STENCIL = """
    ti.init(arch=ti.cpu)
    u, v = ti.field(ti.f32, (64, 64)), ti.field(ti.f32, (64, 64))

    @ti.kernel
    def step(k: ti.f32):
        for i, j in u:
            if i > 0 and i < 63 and j > 0 and j < 63:
                v[i, j] = u[i, j] + k * (u[i - 1, j] + u[i + 1, j] + u[i, ti.max(ti.min(j * 2, 61), 7)] - 3.0 * u[i, j])
"""
SMALL = {
    "a part of a long condition": (("i > 0 && ", ""), "if i < 63 and j > 0 and j < 63:"),
    "another part": ((" && j < 63", ""), "if i > 0 and i < 63 and j > 0:"),
    "a bound": (("max(min(j * 2, 61), 7)", "min(j * 2, 61)"), "u[i, ti.min(j * 2, 61)]"),
    "both bounds": (("max(min(j * 2, 61), 7)", "j * 2"), "u[i, j * 2]"),
    "a number": (("3.0", "3.5"), "3.5 * u[i, j]"),
    "a block of 512": (("BLOCK 128", "BLOCK 512"), "ti.loop_config(block_dim=512"),
}
"""Edits of a stranger: what is replaced in the source, and what the Python says then."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("edit", SMALL)
@pytest.mark.parametrize("arch", ["cuda", "vulkan"])
def test_small_edits_of_a_stencil(command, program, monkeypatch, edit: str, arch: str) -> None:
    monkeypatch.delenv("SHADESMITH_PASSES")
    file = program(STENCIL)
    change_, expected = SMALL[edit]
    edited = change(start(command, file, "step", arch), change_)
    check_adopted(command, file, "step", arch, edited)
    assert expected in file.read_text()


@pytest.mark.exhaustive
def test_an_edit_of_comments_alone_is_nothing_to_adopt(command, file) -> None:
    change(start(command, file, "clip", "cuda"), ("struct Args", "// arguments\nstruct Args"))
    said = command("adopt", f"{file}:clip")
    assert said.status == 1 and "differs from the generated source in comments alone" in said.notes


def test_without_an_edit_or_with_two_the_command_says_so(command, file) -> None:
    start(command, file, "clip", "cuda")
    said = command("adopt", f"{file}:clip")
    assert said.status == 2 and "There is no edit to adopt" in said.notes
    change(start(command, file, "clip", "cuda"), ("BLOCK 128", "BLOCK 64"))
    change(start(command, file, "clip", "vulkan"), ("BLOCK 128", "BLOCK 64"))
    said = command("adopt", f"{file}:clip")
    assert said.status == 2 and "There are several edits" in said.notes and "--arch" in said.notes


def test_the_python_file_keeps_its_line_ends_encoding_and_mode(tmp_path) -> None:
    path = tmp_path / "p.py"
    data = b"# -*- coding: latin-1 -*-\r\n# caf\xe9\r\ndef k():\r\n    pass  # \xfc\r\nx = 1"
    path.write_bytes(data)
    os.chmod(path, 0o755)
    link = tmp_path / "link.py"
    link.symlink_to(path)
    file = read_python_file(link)
    before = function_text(file.lines[2:4], 3)
    after = function_text(["def k():", "    return  # \xfc"], 3)
    assert before is not None and after is not None
    file.write(file.with_function(before, after))
    assert path.read_bytes() == data.replace(b"pass ", b"return ") and link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o755


def test_sources_are_compared_by_tokens() -> None:
    one = 'int y = f(a,  b); // c\n#define N 3 /* c */\nputs("// no");'
    other = 'int y =\n  f(a, b);\n#define  N 3\nputs("// no"); /* d */'
    assert same_code(one, other)
    assert not same_code(one, one.replace("// no", "no")) and not same_code("a - -b", "a-b")
    assert size(differences(units("x = a + 1;\ny = 2;"), units("x = b + 1;\ny = 2;"))) == 2
