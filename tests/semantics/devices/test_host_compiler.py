"""A C compiler that is missing, hangs, dies or prints rubbish gives an error in time and leaves nothing behind."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from pathlib import Path

import pytest

import shadesmith as ti
from shadesmith.runtime.devices.host import compiler_process as c_process
from shadesmith.runtime.devices.host.compiler import HostCompiler, find_compiler, load_library
from shadesmith.transpiler.backend.module.interface import SourceFile
from shadesmith.transpiler.errors import TaichiCompilationError, TaichiRuntimeError

FILE = SourceFile("empty.c", "int x;\n")


@pytest.fixture(autouse=True)
def scratch(tmp_path, monkeypatch):
    """A folder for temporary files that must be empty again afterwards."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def fake_compiler(folder: Path, script: str) -> HostCompiler:
    path = folder / "gcc"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return HostCompiler((str(path),), True)


def failure(compiler: HostCompiler, file: SourceFile = FILE) -> str:
    with pytest.raises(TaichiCompilationError) as error:
        compiler.compile(file, True, True)
    return str(error.value)


def is_running(process: int) -> bool:
    """Tell whether a process is there and no zombie, which whoever adopts orphans may leave."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_missing_compiler_says_how_to_get_one(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CC", raising=False)
    with pytest.raises(TaichiRuntimeError, match="No C compiler was found.*apt-get install gcc"):
        find_compiler()


def test_a_wrong_cc_is_named(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    with pytest.raises(TaichiRuntimeError, match="`no-such-compiler -m64` named by CC was not found"):
        find_compiler()


def test_cc_may_hold_arguments(monkeypatch):
    monkeypatch.setenv("CC", "gcc -DX=1")
    compiler = find_compiler()
    assert compiler.command[1:] == ("-DX=1",) and compiler.gcc
    load_library(compiler.compile(SourceFile("x.c", "int x = X;\n"), True, True)[0])


def test_the_path_in_cc_may_hold_spaces(tmp_path, monkeypatch):
    folder = tmp_path / "two words ✓"
    folder.mkdir()
    compiler = fake_compiler(folder, "exit 1").command[0]
    monkeypatch.setenv("CC", compiler)
    assert find_compiler().command == (compiler,)
    monkeypatch.setenv("CC", f"'{compiler}' -DX=1")
    assert find_compiler().command == (compiler, "-DX=1")


def test_a_hanging_compiler_is_stopped_with_its_children(tmp_path, monkeypatch):
    monkeypatch.setenv("SHADESMITH_CC_TIMEOUT", "1")
    marker = tmp_path / "child"
    compiler = fake_compiler(tmp_path, f"sleep 300 & echo $! > '{marker}'; wait")
    start = time.perf_counter()
    assert "did not finish within 1 s" in failure(compiler)
    while is_running(int(marker.read_text())):  # a killed process needs a moment to end
        assert time.perf_counter() - start < 200, "the child sleeps to its end"


def test_a_compiler_that_does_not_read_is_no_deadlock(tmp_path):
    large = SourceFile("large.c", "// filler\n" * 100_000)
    assert "refused the emitted source large.c" in failure(fake_compiler(tmp_path, "echo 'no' >&2; exit 1"), large)


def test_a_dying_compiler_is_named_with_its_signal(tmp_path):
    assert "crashed (SIGSEGV) on the emitted source empty.c" in failure(fake_compiler(tmp_path, "kill -SEGV $$"))


def test_a_flood_of_rubbish_is_cut(tmp_path):
    script = r"head -c 20000000 /dev/zero | tr '\0' 'x'; printf '\377\376'; exit 3"
    assert len(failure(fake_compiler(tmp_path, script))) < 5000


def test_invalid_utf8_is_shown_with_marks(tmp_path):
    assert "bad \ufffd byte" in failure(fake_compiler(tmp_path, r"printf 'bad \377 byte' >&2; exit 1"))


def test_success_without_a_library_is_an_error(tmp_path):
    assert "wrote no library" in failure(fake_compiler(tmp_path, "exit 0"))


def test_a_program_that_is_none_cannot_be_started(tmp_path):
    compiler = fake_compiler(tmp_path, "")
    Path(compiler.command[0]).write_bytes(b"\x7fELF rubbish")
    with pytest.raises(TaichiRuntimeError, match="cannot be started.*apt-get install gcc"):
        compiler.compile(FILE, True, True)


def test_a_damaged_library_is_refused_when_loaded():
    with pytest.raises(TaichiRuntimeError, match="cannot be loaded"):
        load_library(b"half a file")


def test_no_folder_for_temporary_files_is_an_error(monkeypatch):
    def refuse(prefix: str) -> None:
        raise FileNotFoundError("No usable temporary directory found")

    monkeypatch.setattr(c_process.tempfile, "TemporaryDirectory", refuse)
    with pytest.raises(TaichiRuntimeError, match="Set TMPDIR"):
        find_compiler().compile(FILE, True, True)


def test_the_compiler_leaves_no_zombie(tmp_path):
    failure(fake_compiler(tmp_path, "exit 1"))
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_a_function_with_matrices_is_inlined() -> None:
    """gcc keeps a function with more than 256 bytes of variables by default, and makes no vectors of the loop around."""
    compiler = find_compiler()
    if not compiler.gcc:
        pytest.skip("needs gcc")
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.Matrix.field(4, 4, ti.f32, 1000)

    @ti.kernel
    def products(t: ti.f32):
        for i in x:
            a = ti.Matrix([[1, 0, t, 0], [0, 1, 0, t], [0, 0, 1, 0], [0, 0, 0, 1]], ti.f32)
            b = a @ x[i] @ a.transpose()
            x[i] = b @ a @ (b + t * ti.Matrix.identity(ti.f32, 4))

    file = SourceFile("products.c", products.source(1.0, arch=ti.cpu))
    by_default = HostCompiler(compiler.command, True, ("--param=large-stack-frame=256",))
    found = [b"task" in each.compile(file, True, True)[0] for each in (by_default, compiler)]
    assert found == [True, False]


@pytest.mark.parametrize(
    ("text", "has_library"),
    [
        ("#include <stdint.h>\nint32_t twice(int32_t x) { return 2 * x; }\n", False),
        ("#include <math.h>\nfloat wave(float x) { return sinf(x); }\n", True),
        ("float wave(float x) { return __builtin_sinf(x); }\n", True),
        ('#include <stdint.h>\n  #  include "own.h"\nfloat wave(float x) { return sinf(x); }\n', True),
    ],
)
def test_only_sources_that_may_need_it_get_the_mathematics_library(monkeypatch, tmp_path, text, has_library) -> None:
    (tmp_path / "own.h").write_text("float sinf(float x);\n")
    monkeypatch.setenv("CPATH", str(tmp_path))
    (binary,) = find_compiler().compile(SourceFile("kernel.c", text), True, False)
    assert (b"libm.so" in binary) == has_library
