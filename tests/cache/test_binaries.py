"""The binary stage: what decides a binary is in its key, what does not is not, and a warm start runs no compiler."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.compiler_identity import MISSING, compiler_identity
from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.runtime.devices.cuda.nvidia_libraries import candidates
from shadesmith.runtime.devices.host import compiler as host_compiler
from shadesmith.runtime.devices.host.compiler import HostCompiler, find_compiler, load_library
from shadesmith.runtime.devices.vulkan.glslang import Glslang, find_tool
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.store import cleaning
from shadesmith.runtime.store import compiler_files as tools
from shadesmith.runtime.store.binaries import Request, find_or_make
from shadesmith.runtime.store.entries import read_summary
from shadesmith.runtime.store.stats import stats
from shadesmith.runtime.store.store import Store
from shadesmith.runtime.store.strip_comments import other_dependency, strip_comments
from shadesmith.transpiler.backend.module.interface import SourceFile

C_TEXT = "// doubles\nvoid f(float *x)\n{\n    x[0] *= 2; // one\n}\n"
GLSL_TEXT = "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}\n"


@pytest.fixture
def disk(tmp_path: Path) -> Store:
    return Store(tmp_path / "cache")


def fake(path: Path, output: str = "object", extra: str = "") -> HostCompiler:
    """A compiler that writes `output` and counts its runs in a file beside it."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(
        f'#!/bin/sh\ncase "$*" in *-print-*) exit 1;; esac\n{extra}\necho run >> "{path}.runs"\n'
        f'while [ $# -gt 0 ]; do if [ "$1" = -o ]; then printf "{output}" > "$2"; fi; shift; done\n'
    )
    path.chmod(0o755)
    return HostCompiler((str(path),), True)


def runs(compiler: HostCompiler) -> int:
    path = Path(f"{compiler.command[0]}.runs")
    return len(path.read_text().splitlines()) if path.exists() else 0


# --- comments


@pytest.mark.parametrize(
    "text, bare",
    [
        ("a // x\nb\n", "a\nb"),
        ("a /* x\n y */ b\n\n\n  c\n", "a   b\n  c"),
        ("// x's \"y\n  a\n", "  a"),
        ('s = "// no";  // yes\n', 's = "// no";'),
        ('s = "a\\"b // no"; // yes', 's = "a\\"b // no";'),
        ("c = '\"'; // yes\nd", "c = '\"';\nd"),
        ("a /**/ b", "a   b"),
        ("a //* x\nb */ c", "a\nb */ c"),
        ("#define A \\\n    b\nc", "#define A \\\n    b\nc"),
        ("#define A \\\n// x\nc", "#define A \\\n\nc"),
    ],
)
def test_comments_and_blank_lines_are_left_out(text, bare):
    assert strip_comments(text) == bare


@pytest.mark.parametrize(
    "text",
    [
        "a // x \\\nb\n",
        "a /\\\n/ b\n",
        'R"(// text)"; // x',
        "n = 1'000; // x's",
        "a ??/\nb // x",
        "x = __LINE__; // x",
        "#line 3\na // x",
        "a /* never ends\n",
        "#define A \\ // x\nb",
        '#include <assert.h>\n// x\nassert("a");',
        "a // x\r\n",
        's = "not closed; // x\n',
    ],
)
def test_what_is_in_doubt_stays_as_it_is(text):
    assert strip_comments(text) == text


def test_texts_that_differ_in_more_stay_apart():
    alphabet = ["a", " ", "\n", "//", "/*", "*/", '"', "\\", "'", "#"]
    forms: dict[str, set[str]] = {}
    for pieces in itertools.product(alphabet, repeat=4):
        text = "".join(pieces) + "\nint x;\n"
        forms.setdefault(strip_comments(text), set()).add(without_comments(text))
    mixed = {bare: found for bare, found in forms.items() if len(found) > 1}
    assert mixed == {}


def without_comments(text: str) -> str:
    """Translation phases 2 and 3 of C, character by character; then without blank lines and blanks at their ends."""
    text, result, place, quote = text.replace("\\\n", ""), "", 0, ""
    while place < len(text):
        piece = text[place]
        if quote:
            if piece == "\\":
                piece = text[place : place + 2]
            elif piece in (quote, "\n"):
                quote = ""
        elif text.startswith("//", place):
            end = text.find("\n", place)
            place = len(text) if end < 0 else end
            continue
        elif text.startswith("/*", place):
            end = text.find("*/", place + 2)
            if end < 0:
                return text
            result, place = result + " ", end + 2
            continue
        elif piece in "\"'":
            quote = piece
        result, place = result + piece, place + len(piece)
    return "\n".join(line.rstrip() for line in result.split("\n") if line.strip())


@pytest.mark.parametrize(
    "text, reason",
    [
        ("#include <math.h>\n#include <stdint.h>  // x\n", ""),
        ('#include "mine.h"\n', 'the source includes "mine.h"'),
        ("  #  include <mine.h>\n", "the source includes <mine.h>"),
        ("#include MINE\n", "the source includes MINE"),
        ("x = __TIME__;", "the source has __TIME__"),
    ],
)
def test_what_depends_on_other_files_is_not_kept(disk, text, reason):
    assert other_dependency(text) == reason
    made = find_or_make(disk, lambda: Request("cc", "1", (), SourceFile("a.c", text)), lambda: {"a": b"1"})
    assert made == {"a": b"1"} and len(list(Path(disk.folder).glob("*.binary"))) == (not reason)


# --- keys


def request(**changes: object) -> Request:
    values = {"tool": "cc", "identity": "gcc 12", "settings": ("-O3",), "file": SourceFile("k.c", C_TEXT)}
    return Request(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"tool": "NVRTC"},
        {"identity": "gcc 13"},
        {"settings": ("-O2",)},
        {"settings": ("-O3", "-g")},
        {"settings": ()},
        {"file": SourceFile("k.c", C_TEXT.replace("2", "3"))},
        {"exact": True},
    ],
)
def test_what_decides_a_binary_is_in_its_key(changes):
    assert request(**changes).material() != request().material()


def test_comments_lines_and_names_are_in_the_key_of_debug_information_alone():
    other = SourceFile("other.c", "\n// other words\n" + C_TEXT, ((1, "a.py", 7),))
    assert request(file=other).material() == request().material()
    assert request(file=other, exact=True).material() != request(exact=True).material()


def test_pieces_do_not_run_into_one_another():
    assert request(settings=("a\0b",)).material() != request(settings=("a", "b")).material()
    assert request(tool="a", identity="bc").material() != request(tool="ab", identity="c").material()


# --- the C compiler


def test_a_text_is_compiled_once(disk, tmp_path):
    compiler = fake(tmp_path / "bin" / "gcc")
    for text in (C_TEXT, C_TEXT, C_TEXT.replace("doubles", "makes twice as large")):
        assert compiler.compile(SourceFile("k.c", text), True, True, store=disk) == [b"object"]
    assert runs(compiler) == 1
    compiler.compile(SourceFile("k.c", C_TEXT.replace("2", "3")), True, True, store=disk)
    assert runs(compiler) == 2


def test_flags_and_hidden_functions_are_compiled_apart(disk, tmp_path):
    compiler = fake(tmp_path / "bin" / "gcc")
    file = SourceFile("k.c", C_TEXT)
    for _ in range(2):
        compiler.compile(file, True, True, store=disk)
        compiler.compile(file, False, True, store=disk)
        compiler.compile(file, True, False, store=disk)
        assert len(compiler.compile(file, True, True, [["f"], ["g"]], disk)) == 2
    assert runs(compiler) == 5


def test_another_compiler_compiles_anew(disk, tmp_path):
    compiler = fake(tmp_path / "bin" / "gcc")
    file = SourceFile("k.c", C_TEXT)
    compiler.compile(file, True, True, store=disk)
    fake(tmp_path / "bin" / "gcc", "newer")
    assert compiler.compile(file, True, True, store=disk) == [b"newer"]
    os.utime(tmp_path / "bin" / "gcc", (1, 1))
    compiler.compile(file, True, True, store=disk)
    assert runs(compiler) == 3


def test_what_a_compiler_calls_is_part_of_it(disk, tmp_path):
    assembler = tmp_path / "as"
    assembler.write_text("one")
    script = tmp_path / "bin" / "gcc"
    compiler = fake(script)
    answer = (
        f'case "$*" in *name=as*) echo asked >> "{script}.asked"; echo "{assembler}"; exit 0;; *-print-*) exit 1;; esac'
    )
    script.write_text(f"#!/bin/sh\n{answer}\n{script.read_text()[10:]}")
    file = SourceFile("k.c", C_TEXT)
    for text in ("one", "another"):
        assembler.write_text(text)
        tools._called.cache_clear()  # as in the next process
        for _ in range(2):
            compiler.compile(file, True, True, store=disk)
    assert runs(compiler) == 2
    assert len(Path(f"{script}.asked").read_text().splitlines()) == 1, "what it calls is remembered"


@pytest.mark.parametrize("name", tools.C_VARIABLES)
def test_variables_of_compilers_are_in_the_key(monkeypatch, name):
    command = (sys.executable,)
    before = tools.c_compiler_identity(command)
    monkeypatch.setenv(name, "/elsewhere")
    assert tools.c_compiler_identity(command) != before


def test_the_machine_is_in_the_key():
    assert tools.machine() in tools.c_compiler_identity((sys.executable,))
    assert len(tools.machine().splitlines()) >= 4


def test_a_lack_of_openmp_is_found_out_once(tmp_path, monkeypatch):
    script = tmp_path / "gcc-without-openmp"
    script.write_text(
        f'#!/bin/sh\necho run >> "{script}.runs"\ncase "$*" in *-fopenmp*) echo "libgomp.spec" >&2; exit 1;; esac\nexec gcc "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("CC", str(script))
    monkeypatch.delenv("SHADESMITH_OFFLINE_CACHE", raising=False)

    @ti.kernel
    def double(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] *= 2

    counts = []
    for _ in range(2):
        tools._called.cache_clear()
        ti.init(arch=ti.cpu, log_level=ti.WARN, offline_cache_file_path=tmp_path / "cache")
        x = np.ones(4, np.float32)
        with pytest.warns(ti.ShadesmithWarning, match="has no OpenMP"):
            double(x)
        assert x.tolist() == [2.0] * 4
        counts.append(len(Path(f"{script}.runs").read_text().splitlines()))
    assert counts[0] == counts[1]
    ti.reset()


def test_every_target_has_its_compiler(monkeypatch, tmp_path):
    found = {target: compiler_identity(target) for target in ("c", "vulkan", "cuda", "python")}
    assert found["c"] != MISSING and found["python"] == "" and len(set(found.values())) >= 3
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    assert (compiler_identity("vulkan"), compiler_identity("c")) == (MISSING, MISSING)


# --- loading


def function_value(text: str) -> bytes:
    (binary,) = find_compiler().compile(SourceFile("k.c", text), True, False)
    return binary


def test_libraries_loaded_one_after_another_are_not_mixed_up():
    import ctypes

    text = "void f(int *x) {{ x[0] = {}; }}\n"
    found, value = [], ctypes.c_int()
    libraries = [load_library(function_value(text.format(number))) for number in range(4)]
    for library in libraries:
        library.function("f", ctypes.c_void_p)(ctypes.addressof(value))
        found.append(value.value)
    assert found == [0, 1, 2, 3]


def test_a_system_without_files_in_memory_loads_from_a_folder(monkeypatch):
    def refuse(*args):
        raise PermissionError(1, "Operation not permitted")

    binary = function_value("void f(int *x) { x[0] = 7; }\n")
    monkeypatch.setattr(host_compiler.os, "memfd_create", refuse)
    assert load_library(binary) is not None
    monkeypatch.delattr(host_compiler.os, "memfd_create")
    assert load_library(binary) is not None


def start(arch: object, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: object) -> None:
    monkeypatch.delenv("SHADESMITH_OFFLINE_CACHE", raising=False)
    ti.init(arch=arch, log_level=ti.WARN, enable_fallback=False, offline_cache_file_path=str(folder), **options)


def test_an_object_of_another_system_is_made_again(tmp_path, monkeypatch):
    @ti.kernel
    def double(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] *= 2

    compile_all = HostCompiler.compile
    monkeypatch.setattr(HostCompiler, "_library_bytes", lambda self, file, output: b"of another system")
    start(ti.cpu, tmp_path, monkeypatch)
    with pytest.raises(ti.TaichiRuntimeError, match="cannot be loaded"):
        double(np.ones(4, np.float32))
    monkeypatch.undo()
    start(ti.cpu, tmp_path, monkeypatch)
    x = np.ones(4, np.float32)
    double(x)
    assert x.tolist() == [2.0] * 4 and HostCompiler.compile is compile_all
    ti.reset()


# --- GLSL


@pytest.mark.skipif(find_tool() is None, reason="no glslangValidator")
def test_spirv_that_is_not_whole_is_not_handed_on(disk):
    file = SourceFile("k.comp", GLSL_TEXT)
    whole = Glslang().compile(file, "k", store=disk)
    request = Glslang()._request(file, None)
    assert disk.get("binary", request.material()).parts == {"spirv": whole}
    disk.put("binary", request.material(), {}, {"spirv": whole[:-8]})
    assert Glslang().compile(file, "k", store=disk) == whole
    assert stats().events[-1].reason == "found, but it is no valid output of a compiler"
    assert disk.get("binary", request.material()).parts == {"spirv": whole}


@pytest.mark.skipif(find_tool() is None, reason="no glslangValidator")
def test_debug_information_and_validation_are_compiled_apart(disk):
    file = SourceFile("k.comp", GLSL_TEXT)
    materials = {
        Glslang(validate, flags=flags)._request(file, path).material()
        for validate in (False, True) for flags in ((), ("-g",), ("-gVS",)) for path in (None, Path("/a"), Path("/b"))
    }  # fmt: skip
    assert len(materials) == 18


# --- CUDA


def test_nvrtc_is_told_apart_without_loading_it():
    try:
        nvrtc.load_nvrtc()
    except ti.TaichiRuntimeError:
        pytest.skip("no NVRTC")
    if not os.path.isabs(next(candidates(*nvrtc.LIBRARY))):
        pytest.skip("the system's loader finds it")
    program = (
        "from shadesmith.runtime.devices.cuda import nvrtc\n"
        "assert 'libnvrtc' in nvrtc.nvrtc_identity() and 'builtins' in nvrtc.nvrtc_identity()\n"
        "assert 'libnvrtc' not in open('/proc/self/maps').read()\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_cubins_are_kept_by_architecture_and_flags(disk):
    try:
        nvrtc.load_nvrtc()
    except ti.TaichiRuntimeError:
        pytest.skip("no NVRTC")
    text = 'extern "C" __global__ void f(float *x)\n{\n    x[0] *= 2; // one\n}\n'
    before = stats().compiler_runs.get("NVRTC", 0)
    for _ in range(2):
        for arch, fast_math, options in (("sm_80", True, ()), ("sm_90", True, ()), ("sm_90", False, ("-lineinfo",))):
            assert nvrtc.compile_cubin(text, arch, fast_math, options=options, store=disk)[0][:4] == b"\x7fELF"
    nvrtc.compile_cubin(text.replace("one", "two"), "sm_80", True, store=disk)
    assert stats().compiler_runs["NVRTC"] - before == 3


# --- sessions


WARM = """
import subprocess, sys, os
import numpy as np
import shadesmith as ti

scale = 3.0

@ti.kernel
def paint(x: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
    total = 0.0
    for i in x:
        x[i] = x[i] * scale * 1.0 + i
        total += x[i]
    return total

def refuse(*args, **kwargs):
    raise AssertionError(f"a process was started: {args}")

def start():
    ti.init(arch=getattr(ti, sys.argv[1]), enable_fallback=False, log_level="warn", offline_cache_file_path=sys.argv[3])

if sys.argv[1] == "cuda":  # what CuPy starts when it is imported, and to find the driver, is not ours
    start()
    ti.ndarray(ti.f32, 1)
if sys.argv[2] == "warm":
    subprocess.Popen.__init__ = refuse
    os.posix_spawn = refuse
if sys.argv[1] != "cuda":
    start()
x = np.ones(1000, np.float32)
print(paint(x), x.sum())
assert sys.argv[2] == "cold" or ti.cache.stats().compiler_runs == {}, ti.cache.stats()
"""


def output_of(*words: object) -> tuple[str, str]:
    """Run a program; return the last lines of its output and of its errors."""
    done = subprocess.run([sys.executable, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout, (done.stderr.splitlines() or [""])[-1]


@pytest.mark.one_target
def test_a_warm_start_runs_no_compiler(target, tmp_path, monkeypatch):
    monkeypatch.delenv("SHADESMITH_OFFLINE_CACHE", raising=False)
    ti.reset()
    program = tmp_path / "program.py"
    program.write_text(WARM)
    said = [output_of(program, target, start, tmp_path / "cache")[0] for start in ("cold", "warm", "warm")]
    assert said[0] == said[1] == said[2] and said[0]
    disk = list((tmp_path / "cache").glob("*.binary"))
    assert bool(disk) == (target != "python")


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_a_changed_comment_compiles_nothing(target, tmp_path, monkeypatch):
    if target == "python":
        pytest.skip("the interpreter runs no text")
    monkeypatch.delenv("SHADESMITH_OFFLINE_CACHE", raising=False)
    ti.reset()
    remarked = WARM.replace("* scale * 1.0 + i\n", '* scale * 1.0 + i  # it\'s "new"\n').replace(
        "    total = 0.0", "    # sum\n\n    total = 0.0"
    )
    assert remarked.count("#") == WARM.count("#") + 2
    said = []
    for text, start in ((WARM, "cold"), (remarked, "warm")):
        program = tmp_path / "program.py"
        program.write_text(
            text + 'print(ti.cache.stats().frontend_runs, paint.source(x).count("it\'s"), file=sys.stderr)\n'
        )
        said.append(output_of(program, target, start, tmp_path / "cache"))
    assert said[0][0] == said[1][0] and [errors.split()[0] for _, errors in said] == ["1", "1"]
    assert int(said[1][1].split()[1]) >= 1, "the text has the new comment"


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_what_is_not_to_be_kept_is_not(target, tmp_path, monkeypatch):
    arch = sessions.CURRENT.arch

    @ti.kernel
    def double(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] *= 2

    start(arch, tmp_path, monkeypatch)
    module = double.compile(np.ones(4, np.float32))
    before = set(tmp_path.glob("*.binary"))
    assert bool(before) == (target != "python")
    for path in before:
        path.unlink()
    sessions.CURRENT.device.build(module, keep=False)
    assert not list(tmp_path.glob("*.binary"))
    start(arch, tmp_path / "other", monkeypatch, offline_cache=False)
    double(np.ones(4, np.float32))
    assert not (tmp_path / "other").exists() and sessions.CURRENT.store is None


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_binaries_are_cached_without_sources_in_a_folder_of_their_own(target, tmp_path, monkeypatch):
    arch = sessions.CURRENT.arch
    folder = tmp_path / "binaries"

    def doubled() -> tuple[list[float], dict[str, int]]:
        """Compile a kernel in a session of its own, and launch it; the result, and which compilers ran."""

        @ti.kernel
        def double(x: ti.types.ndarray(ti.f32, 1)):
            for i in x:
                x[i] *= 2

        ti.init(arch=arch, log_level=ti.WARN, enable_fallback=False, offline_cache=False)
        before, x = stats(), np.ones(4, np.float32)
        double(x)
        after = stats()
        assert after.frontend_runs == before.frontend_runs + 1
        runs = {name: count - before.compiler_runs.get(name, 0) for name, count in after.compiler_runs.items()}
        return x.tolist(), {name: count for name, count in runs.items() if count}

    monkeypatch.setenv("SHADESMITH_BINARIES_DIR", str(folder))
    first, second = doubled(), doubled()
    assert first[0] == second[0] == [2.0] * 4 and sessions.CURRENT.store is None
    if target == "python":
        assert not folder.exists()
        return
    assert sum(first[1].values()) == 1 and second[1] == {}
    assert {entry.stage for entry in cleaning.entry_files(str(folder))} <= {"binary", "tools", "sources"}
    for path in folder.glob("*.binary"):
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)
    with pytest.warns(UserWarning, match="damaged"):
        assert doubled() == first
    monkeypatch.setenv("SHADESMITH_BINARIES_DIR", "")
    assert doubled() == first


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_kernel_that_is_not_to_be_kept_leaves_nothing(target, tmp_path, monkeypatch):
    arch = sessions.CURRENT.arch

    @ti.kernel(offline_cache=False)
    def secret(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] *= 2

    @ti.kernel
    def plain(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] *= 3

    start(arch, tmp_path, monkeypatch)
    x = np.ones(4, np.float32)
    secret(x)
    plain(x)
    assert x.tolist() == [6.0] * 4
    disk = {
        entry.stage: read_summary(entry.path).what
        for entry in cleaning.entry_files(str(tmp_path))
        if entry.stage in ("text", "binary")
    }
    assert set(disk) == ({"text", "binary"} if target != "python" else set())
    assert not any(what.startswith("secret") for what in disk.values())
