"""`ti.export` and `ti.kernel_from_source`: sources written to files of the program's choice, and run again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shadesmith as ti

SUFFIXES = {"cpu": ".c", "vulkan": ".comp", "cuda": ".cu"}


@ti.kernel
def scale(x: ti.types.ndarray(ti.f32, 1), by: ti.f32):
    for i in x:
        x[i] *= by


@ti.kernel
def two_loops(x: ti.types.ndarray(ti.i32, 1)):
    for i in x:
        x[i] += 20
    for i in x:
        x[i] *= 2


def ones(dtype: Any) -> Any:
    x = ti.ndarray(dtype, 5)
    x.fill(1)
    return x


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_an_exported_source_is_edited_and_run(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter has no sources")
    x = ones(ti.f32)
    (file,) = ti.export(scale, tmp_path / "new" / f"mine{SUFFIXES[target]}", x, 2.0)
    assert file.read_text() == scale.source(x, 2.0)
    mine = ti.kernel_from_source(file, like=scale)
    mine(x, 3.0)
    assert x.to_numpy().tolist() == [3] * 5 and mine.last_launch.paths == (file,)
    text = file.read_text().replace("args.by;", "args.by + 1;")
    assert text != file.read_text()
    file.write_text(text)
    edited = ti.kernel_from_source(file, like=scale)
    edited(x, 3.0)
    scale(x, 2.0)
    assert x.to_numpy().tolist() == [24] * 5
    file.write_text(text.replace("args.by", "args.bz"))
    with pytest.raises(ti.TaichiCompilationError, match=f"mine{SUFFIXES[target]}"):
        ti.kernel_from_source(file, like=scale)(x, 3.0)


@pytest.mark.all_targets
def test_a_folder_of_sources(target: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter has no sources")
    x = ones(ti.i32)
    files = ti.export(two_loops, tmp_path / "sources", x)
    assert len(files) == (2 if target == "vulkan" else 1)
    files[0].write_text(files[0].read_text().replace("20", "30"))
    ti.kernel_from_source(tmp_path / "sources", like=two_loops)(x)
    assert x.to_numpy().tolist() == [62] * 5
    files[0].unlink()
    with pytest.raises(ti.TaichiCompilationError, match=f"sources lacks {files[0].name}, a file of `two_loops`"):
        ti.kernel_from_source(tmp_path / "sources", like=two_loops)(x)


def test_other_targets_need_no_device(tmp_path: Path) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    x = ones(ti.f32)
    assert ti.export(scale, tmp_path / "a.cu", x, 1.0, arch=ti.cuda)[0].read_text().count("__global__") == 1
    with pytest.raises(
        ti.TaichiCompilationError, match="a.cu is not of this target, for which `scale` becomes scale.c"
    ):
        ti.kernel_from_source(tmp_path / "a.cu", like=scale)(x, 1.0)
    with pytest.raises(ti.TaichiRuntimeError, match="`scale` becomes .c here, found .*a.comp"):
        ti.export(scale, tmp_path / "a.comp", x, 1.0)
    with pytest.raises(ti.TaichiRuntimeError, match="has 2 files, found the name of one"):
        ti.export(two_loops, tmp_path / "a.comp", ones(ti.i32), arch=ti.vulkan)
    with pytest.raises(ti.TaichiRuntimeError, match="there is no .*nothing.c"):
        ti.kernel_from_source(tmp_path / "nothing.c", like=scale)
    with pytest.raises(ti.TaichiRuntimeError, match="which is no kernel"):
        ti.export(len, tmp_path / "a.c")


@pytest.mark.parametrize(("data", "words"), [(b"\xff", "is not UTF-8"), (b"\0", "contains a NUL"), (b"", "is missing")])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_file_that_is_no_source_is_refused(target: str, tmp_path: Path, data: bytes, words: str) -> None:
    if target == "python":
        pytest.skip("the interpreter has no sources")
    x = ones(ti.f32)
    (file,) = ti.export(scale, tmp_path / f"mine{SUFFIXES[target]}", x, 2.0)
    file.write_bytes(data)
    with pytest.raises(ti.TaichiCompilationError, match=words):
        ti.kernel_from_source(file, like=scale)(x, 3.0)
