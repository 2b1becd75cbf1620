"""The gcc whose cc1 stays in memory during a test run gives what the installed one gives, byte for byte."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import resident
import resident_gcc

SOURCES = sorted((Path(__file__).parents[2] / "golden" / "expected").glob("*.c"))
SETS = dict(zip(("fast", "exact", "sums"), resident_gcc.SETS))
KERNEL = (
    "#include <math.h>\nvoid kernel_0(float *x) {\n    *x = sinf(*x);\n}\nvoid kernel_1(float *x) {\n    *x = 1;\n}\n"
)


@pytest.fixture
def tools() -> tuple[str, str]:
    """The client and the installed gcc."""
    found = resident.client_and_installed(resident_gcc.NAME, resident_gcc.TABLE)
    if found is None:
        pytest.skip("gcc does not stay in memory in this run")
    return found


def compiled(tool: str, text: str, folder: Path, *more: str, **options: object) -> tuple[int, str, bytes]:
    """Compile as kernels are compiled; return status, messages and the library."""
    (folder / "source").write_text(text)
    output = folder / "kernel.so"
    output.unlink(missing_ok=True)
    words = resident_gcc.compiler_arguments(*SETS["fast"])
    place = words.index("-x")
    with (folder / "source").open() as source:
        command = [tool, *words[:place], *more, "-x", "c", "-", "-o", str(output), *words[place + 3 :]]
        done = subprocess.run(command, stdin=source, capture_output=True, text=True, timeout=60, check=False, **options)
    assert sorted(path.name for path in folder.iterdir() if path != output) == ["source"]
    return done.returncode, done.stderr, output.read_bytes() if output.exists() else b""


@pytest.mark.sampled(12)
@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_kernels_become_the_same_bytes(tools: tuple[str, str], source: Path, tmp_path: Path) -> None:
    first, second = (compiled(tool, source.read_text(), tmp_path) for tool in tools)
    assert first == second and first[:2] == (0, "") and len(first[2]) > 1000


@pytest.mark.parametrize("name", SETS)
def test_each_set_of_options_has_a_compiler(name: str, tools: tuple[str, str]) -> None:
    words = resident_gcc.compiler_arguments(*SETS[name])
    lines = Path(os.environ[resident_gcc.TABLE]).read_text().splitlines()
    assert lines[::4].count("".join(f"{word}\t" for word in words)) == 1


def test_functions_are_hidden_alike(tools: tuple[str, str], tmp_path: Path) -> None:
    first, second = (compiled(tool, KERNEL, tmp_path, "-Dkernel_1=static kernel_1") for tool in tools)
    assert first == second and first[0] == 0
    assert b"kernel_0" in first[2] and b"kernel_1" not in first[2]


def test_what_is_refused_is_refused_alike(tools: tuple[str, str], tmp_path: Path) -> None:
    for text in (KERNEL.replace("*x = 1;", "*x = y;"), '#error "no"\n', "int f(void) { return 1;\n"):
        first, second = (compiled(tool, text, tmp_path) for tool in tools)
        assert first == second and first[0] == 1 and "<stdin>:" in first[1]


@pytest.mark.parametrize("words", ["--version", "-dumpmachine", "-print-prog-name=cc1", "-v", "-x c -fsyntax-only -"])
def test_other_commands_mean_the_same(tools: tuple[str, str], words: str) -> None:
    first, second = (
        subprocess.run([tool, *words.split()], input="int x = y;", capture_output=True, text=True, check=False)
        for tool in tools
    )
    assert (first.returncode, first.stdout, first.stderr) == (second.returncode, second.stdout, second.stderr)


def test_the_installed_gcc_is_used_where_none_stays(tools: tuple[str, str], tmp_path: Path) -> None:
    expected = compiled(tools[1], KERNEL, tmp_path)
    for table in (str(tmp_path / "nothing"), None):
        environment = {name: value for name, value in os.environ.items() if name != resident_gcc.TABLE}
        environment |= {resident_gcc.TABLE: table} if table else {}
        assert compiled(tools[0], KERNEL, tmp_path, env=environment) == expected


def test_a_client_that_is_killed_takes_its_compiler_with_it(tools: tuple[str, str], tmp_path: Path) -> None:
    body = "\n".join(f"    x[{i}] = sinf(x[{i * 7 % 4000}]) * {i}.5f + x[{i + 1}];" for i in range(4000))
    (tmp_path / "source").write_text(f"#include <math.h>\nvoid f(float *x) {{\n{body}\n}}\n")
    command = [tools[0], *resident_gcc.compiler_arguments(*SETS["fast"]), "-o", "kernel.so"]
    with (tmp_path / "source").open() as source:
        process = subprocess.Popen(command, stdin=source, start_new_session=True, cwd=tmp_path)
    wait_until(lambda: compilers_in(tmp_path))
    assert process.poll() is None
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    wait_until(lambda: not compilers_in(tmp_path))


def wait_until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def compilers_in(folder: Path) -> list[str]:
    """The processes of cc1 with this working folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "comm").read_text() == "cc1\n" and (process / "cwd").resolve() == folder.resolve():
                found.append(process.name)
        except OSError:
            continue
    return found
