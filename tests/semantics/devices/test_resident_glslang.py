"""The glslangValidator that stays in memory during a test run gives what the installed one gives, byte for byte."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
import resident
import resident_glslang

EXPECTED = Path(__file__).parents[2] / "golden" / "expected"
SHADERS = sorted(EXPECTED.glob("*.comp"))
COMMAND = ("-S", "comp", "--target-env", "vulkan1.2", "--quiet", "-o", "/dev/stdout")
TO_A_FILE = ("-S", "comp", "--target-env", "vulkan1.2", "-o", "found.spv")


@pytest.fixture
def tools() -> tuple[str, str]:
    """The resident tool's client and the installed tool."""
    found = resident.client_and_installed(resident_glslang.NAME, resident_glslang.SOCKET)
    if found is None:
        pytest.skip("glslangValidator does not stay in memory in this run")
    return found


def run(tool: str, shader: bytes, *words: str, **options: object) -> tuple[int, bytes, bytes]:
    done = subprocess.run([tool, *words], input=shader, capture_output=True, timeout=60, check=False, **options)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.sampled(12)
@pytest.mark.parametrize("shader", SHADERS, ids=lambda path: path.stem)
def test_shaders_become_the_same_bytes(tools: tuple[str, str], shader: Path) -> None:
    first, second = (run(tool, shader.read_bytes(), "--stdin", *COMMAND) for tool in tools)
    assert first == second and len(first[1]) > 100  # a file of several tasks is refused, by both


@pytest.mark.parametrize("flags", [("-g",), ("-gVS",), ("--target-env", "vulkan1.1"), ("-H",), ("-l",)], ids=" ".join)
def test_options_mean_the_same(tools: tuple[str, str], flags: tuple[str, ...]) -> None:
    first, second = (run(tool, SHADERS[0].read_bytes(), "--stdin", *COMMAND, *flags) for tool in tools)
    assert first == second


def test_files_are_found_and_written_in_the_folder_of_the_client(tools: tuple[str, str], tmp_path: Path) -> None:
    shutil.copy(EXPECTED / "blur.comp", tmp_path / "blur.comp")
    first, second = ((run(tool, b"", "blur.comp", *TO_A_FILE, cwd=tmp_path), written(tmp_path)) for tool in tools)
    assert first == second and first[0] == (0, b"blur.comp\n", b"") and len(first[1]) > 100


def written(folder: Path) -> bytes:
    path = folder / "found.spv"
    data = path.read_bytes()
    path.unlink()
    return data


def test_what_is_refused_is_refused_alike(tools: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "bad.comp").write_text("#version 460\nvoid main() {\n    float s = y;\n}\n")
    for words, shader in ((("bad.comp",), b""), (("--stdin",), (tmp_path / "bad.comp").read_bytes())):
        first, second = (run(tool, shader, *words, *COMMAND, cwd=tmp_path) for tool in tools)
        assert first == second and first[0] == 2 and b"'y' : undeclared identifier" in first[1]


def test_the_installed_tool_is_used_where_none_stays(tools: tuple[str, str], tmp_path: Path) -> None:
    environment = {**os.environ, resident_glslang.SOCKET: str(tmp_path / "nobody")}
    found = run(tools[0], SHADERS[0].read_bytes(), "--stdin", *COMMAND, env=environment)
    assert found == run(tools[1], SHADERS[0].read_bytes(), "--stdin", *COMMAND)
