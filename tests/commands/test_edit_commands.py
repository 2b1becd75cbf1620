"""`shadesmith edit`, `diff` and `status`: writing texts, what was changed in them, which of them run."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

KERNELS = """
    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, 1), factor: ti.f32):
        for i in x:
            y = x[i] * factor
            x[i] = y + 1.0

    @ti.kernel
    def total(x: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
        s = 0
        for i in x:
            s += x[i]
        return s

    @ti.kernel
    def twice(x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] += 1
        for i in x:
            x[i] *= 2
"""


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.fixture
def edited(command, program):
    """Return a program whose kernel `scale` has a text for CUDA to edit, and that text."""
    file = program(KERNELS)
    said = command("edit", f"{file}:scale", "--arch", "cuda")
    assert said.status == 0
    return file, Path(said.text.strip())


def test_edit_prints_the_path_of_what_it_wrote(edited) -> None:
    file, text = edited
    assert text.parent.parent == file.parent / "edits" / "program.scale" and "__global__" in text.read_text()


def test_edit_leaves_an_edited_text_as_it_is(command, edited) -> None:
    file, text = edited
    change(text, "BLOCK 128", "BLOCK 64")
    said = command("edit", f"{file}:scale", "--arch", "cuda")
    assert said.text.strip() == str(text) and "left unchanged" in said.notes and "BLOCK 64" in text.read_text()


def test_edit_of_several_tasks_names_every_file(command, program) -> None:
    said = command("edit", f"{program(KERNELS)}:twice", "--arch", "vulkan", "--json")
    files = [Path(file["path"]) for file in said.data["files"]]
    assert len(files) > 1 and all(file.suffix == ".comp" and file.exists() for file in files)
    assert {file["state"] for file in said.data["files"]} == {"untouched"} and said.data["target"] == "vulkan"


def test_edit_says_which_target_it_took(command, program) -> None:
    said = command("edit", f"{program(KERNELS)}:scale")
    assert said.text.strip().endswith("scale.c") and "`--arch` selects another" in said.notes


def test_a_named_variant_lies_beside(command, edited) -> None:
    file, text = edited
    said = command("edit", f"{file}:scale", "--arch", "cuda", "--variant", "wide")
    assert Path(said.text.strip()) == text.with_name("scale@wide.cu")
    said = command("edit", f"{file}:scale", "--arch", "cuda", "--variant", "a b")
    assert said.status == 2 and "cannot name a variant" in said.notes


def test_edit_opens_an_editor(command, program, monkeypatch, tmp_path) -> None:
    opened = tmp_path / "opened"
    script = tmp_path / "editor.py"
    script.write_text(f"import sys, pathlib; pathlib.Path({str(opened)!r}).write_text(' '.join(sys.argv[1:]))")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {script}")
    file = program(KERNELS)
    said = command("edit", f"{file}:scale", "--arch", "cuda", "--open")
    assert opened.read_text() == said.text.strip()
    monkeypatch.setenv("VISUAL", "")
    monkeypatch.setenv("EDITOR", "")
    said = command("edit", f"{file}:scale", "--open")
    assert said.status == 2 and "$VISUAL or $EDITOR" in said.notes
    monkeypatch.setenv("EDITOR", "no-such-editor-anywhere")
    said = command("edit", f"{file}:scale", "--open")
    assert said.status == 2 and "could not be started" in said.notes


def test_options_of_the_program_decide_the_text_and_the_slot(command, program, tmp_path) -> None:
    file = program(f"""
        @ti.kernel
        def half(x: ti.types.ndarray(ti.f64, 1)):
            for i in x:
                x[i] *= 0.1

        if __name__ == "__main__":
            ti.init(arch=ti.cpu, default_fp=ti.f64, edits_dir={str(tmp_path / "elsewhere")!r}, log_level="warn")
            half(np.ones(3))
    """)
    said = command("edit", f"{file}:half", "--arch", "cuda")
    path = Path(said.text.strip())
    assert path.is_relative_to(tmp_path / "elsewhere") and "0.1f" not in path.read_text()


def test_diff_names_the_python_line_of_each_change(command, edited) -> None:
    file, text = edited
    said = command("diff", file)
    assert said.status == 0 and said.text == "" and "nothing was edited" in said.notes
    change(text, "float y = x(i) * args.factor;", "float y = args.factor * x(i);")
    lines = command("diff", file).text.splitlines()
    assert lines[0] == "--- generated/scale.cu" and lines[1].startswith("+++ ")
    head = next(line for line in lines if line.startswith("@@"))
    assert head.endswith("@@ program.py:8")
    assert "-    float y = x(i) * args.factor;  // :8" in lines and "+    float y = args.factor * x(i);  // :8" in lines


def test_diff_shows_what_the_compiler_changed_since(command, edited) -> None:
    file, text = edited
    change(text, "BLOCK 128", "BLOCK 64")
    change(file, "y + 1.0", "y + 2.0")
    data = command("diff", f"{file}:scale", "--json").data
    (entry,) = data["edits"]
    assert entry["state"] == "merges"
    assert "+#define BLOCK 64" in entry["edited"] and "+ 2.0f;" in entry["generated_since"]
    assert "@@ program.py:9" in entry["generated_since"]
    assert "BLOCK 64" in text.read_text() and "1.0f" in text.read_text(), "nothing is merged by looking"


def test_diff_of_one_text_and_of_one_variant(command, edited) -> None:
    file, text = edited
    command("edit", f"{file}:scale", "--arch", "cuda", "--variant", "wide")
    change(text, "BLOCK 128", "BLOCK 64")
    change(text.with_name("scale@wide.cu"), "BLOCK 128", "BLOCK 256")
    assert "BLOCK 256" not in command("diff", text).text
    assert "BLOCK 64" not in command("diff", file, "--variant", "wide").text
    assert "BLOCK 64" in command("diff", file, "--variant", "edit").text
    both = command("diff", text.parent).text
    assert "BLOCK 64" in both and "BLOCK 256" in both


def test_compare_of_an_unchanged_copy_says_so(command, program) -> None:
    spec, arguments = f"{program(KERNELS)}:scale", ("--args", "np.ones(20, np.float32), 2.0")
    assert command("edit", spec, *arguments).status == 0
    said = command("compare", spec, *arguments)
    assert said.status == 2 and "scale.c there is an unchanged copy of the generated source" in said.notes


def test_status_leaves_out_virtual_environments(command, edited) -> None:
    file, text = edited
    installed = file.parent / "env" / "lib" / "edits"
    shutil.copytree(text.parents[1], installed / text.parents[1].name)
    listed = [entry["path"] for entry in command("status", file.parent, "--json").data["edits"]]
    assert len(listed) == 2
    (file.parent / "env" / "pyvenv.cfg").write_text("home = /usr/bin")
    assert command("status", file.parent, "--json").data["edits"][0]["path"] == str(text)
    assert len(command("status", file.parent, "--json").data["edits"]) == 1


def test_status_tells_what_runs(command, edited) -> None:
    file, text = edited
    (entry,) = command("status", file, "--json").data["edits"]
    assert entry["state"] == "untouched" and entry["runs"] is False
    change(text, "BLOCK 128", "BLOCK 64")
    said = command("status", file)
    assert said.status == 0 and "+1 -1" in said.text and said.text.splitlines()[1].endswith("edited  yes")
    assert "x: ndarray[f32, 1], factor: f32" in said.text


def test_rules_of_named_variants_decide_what_runs(command, edited) -> None:
    file, text = edited
    change(text, "BLOCK 128", "BLOCK 64")
    command("edit", f"{file}:scale", "--arch", "cuda", "--variant", "wide")
    wide = text.with_name("scale@wide.cu")
    change(wide, "#define BLOCK 128", '// @when target == "cuda"\n#define BLOCK 256')

    def runs(*words: str) -> dict[str, object]:
        data = command("status", f"{file}:scale", "--json", *words).data
        return {entry["variant"]: entry["runs"] for entry in data["edits"]}

    assert runs() == {"edit": False, "wide": True}
    change(wide, 'target == "cuda"', "x.shape[0] >= 1000")
    assert runs() == {"edit": None, "wide": None}
    assert "@when" in command("status", file).text
    assert runs("--args", "np.ones(2000, np.float32), 2.0") == {"edit": False, "wide": True}
    assert runs("--args", "np.ones(20, np.float32), 2.0") == {"edit": True, "wide": False}
    change(wide, "x.shape[0] >= 1000", "x.size >= 1000")
    said = command("status", file)
    assert "accepts only comparisons of names, shapes" in said.notes and str(wide) in said.notes


def test_status_of_a_folder_needs_no_program(command, edited) -> None:
    file, text = edited
    change(text, "BLOCK 128", "BLOCK 64")
    file.unlink()
    (entry,) = command("status", text.parents[2], "--json").data["edits"]
    assert entry["kernel"] == "scale" and entry["state"] == "edited" and entry["runs"] is None


def test_status_lists_values_that_searches_found(command, edited) -> None:
    from shadesmith.runtime.workbench.edits.slots import Slot
    from shadesmith.runtime.workbench.edits.stored_tunings import StoredTuning, write_entry

    file, text = edited
    write_entry(
        Slot(text.parent), StoredTuning("NVIDIA H200", "x: 2^20", "edit", "0", {"scale.cu": {"BLOCK": "256"}}, 0.83)
    )
    said = command("status", file)
    assert "tuned values" in said.text and "BLOCK = 256  0.83" in said.text
    (row,) = command("status", text.parent, "--json").data["tuned"]
    assert row["device"] == "NVIDIA H200" and row["kernel"] == "scale"
    (text.parent / "tuned.json").write_text("{")
    said = command("status", file)
    assert said.status == 2 and "tuned.json:1" in said.notes


def test_a_text_put_there_by_hand_counts(command, edited) -> None:
    file, text = edited
    change(text, "BLOCK 128", "BLOCK 64")
    for path in sorted((text.parent / ".base").iterdir()):
        path.unlink()
    (text.parent / ".base").rmdir()
    (entry,) = command("status", file, "--json").data["edits"]
    assert entry["kernel"] == "scale" and entry["state"] == "edited" and entry["runs"] is True
    assert "+#define BLOCK 64" in command("diff", file).text


def test_status_where_there_is_nothing(command, tmp_path) -> None:
    said = command("status", tmp_path)
    assert said.status == 0 and said.text == "" and "shadesmith edit" in said.notes


def test_a_conflict_has_status_1(command, edited) -> None:
    file, text = edited
    change(text, "float y = x(i) * args.factor;", "float y = args.factor * x(i);")
    change(file, "x[i] * factor", "x[i] * factor * factor")
    said = command("status", file)
    assert said.status == 1 and "conflict" in said.text and "*.conflict" in said.text


def test_an_edit_that_would_be_refused_is_told_with_its_line(command, edited) -> None:
    file, text = edited
    change(text, "    float factor;", "    int factor;  ")
    said = command("status", file)
    assert said.status == 1 and "refused" in said.text and f"{text}:" in said.notes and "factor" in said.notes
    (entry,) = command("status", file, "--json").data["edits"]
    assert entry["state"] == "refused" and entry["runs"] is False and entry["reason"]


def test_a_text_that_is_none_is_told(command, edited) -> None:
    file, text = edited
    text.write_bytes(b"\xff\xfe\x00")
    said = command("status", file)
    assert said.status == 1 and "unreadable" in said.text and "not UTF-8" in said.notes
    assert command("diff", file).status == 0


def test_a_program_that_no_longer_runs_still_shows_its_edits(command, edited) -> None:
    file, text = edited
    change(text, "BLOCK 128", "BLOCK 64")
    change(file, "import numpy as np", "import numpy as np, no_such_module")
    said = command("status", file)
    assert "edited" in said.text and "what is generated now is unknown" in said.notes


def test_only_texts_of_one_target(command, edited) -> None:
    file, _ = edited
    command("edit", f"{file}:scale", "--arch", "vulkan")
    assert {entry["target"] for entry in command("status", file, "--json").data["edits"]} == {"cuda", "vulkan"}
    data = command("status", file, "--arch", "vulkan", "--json").data
    assert {entry["target"] for entry in data["edits"]} == {"vulkan"}
