"""The GLSL compiler as a stranger: missing, hanging, crashing, babbling, lying. Each gives an error in time."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from shadesmith.runtime.devices.glslang import Glslang, is_whole
from shadesmith.transpiler.backend.module.interface import SourceFile
from shadesmith.transpiler.errors import TaichiCompilationError, TaichiRuntimeError

GOOD = "#version 460\nlayout(local_size_x = 1) in;\nvoid main() {}\n"
needs_tool = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="no glslangValidator")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a Python script that stands for the tool; the test writes its body."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path / "glslangValidator"


def write_tool(path: Path, body: str) -> None:
    path.write_text(f"#!{sys.executable} -S\nimport os, sys, time, signal\n{body}\n")
    path.chmod(0o755)


def refusal(text: str = GOOD, seconds: float = 20) -> str:
    with pytest.raises(TaichiCompilationError) as caught:
        Glslang(time_limit_seconds=seconds).compile(SourceFile("k.comp", text), "k")
    return str(caught.value)


@needs_tool
def test_a_good_text_becomes_a_whole_module_and_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    glslang = Glslang(validate=True)
    module = glslang.compile(SourceFile("k.comp", GOOD), "k")
    monkeypatch.setenv("PATH", "")
    assert is_whole(module) and glslang.compile(SourceFile("other.comp", GOOD), "other") is module


@needs_tool
def test_no_truncation_of_a_module_is_whole() -> None:
    module = Glslang().compile(SourceFile("k.comp", GOOD), "k")
    assert not any(is_whole(module[:length]) for length in range(len(module)))


@needs_tool
def test_warnings_are_no_part_of_a_module() -> None:
    text = GOOD.replace("void main", "#define a__b 1\nvoid main", 1)
    assert is_whole(Glslang(validate=True).compile(SourceFile("k.comp", text), "k"))


@needs_tool
def test_every_message_shows_its_emitted_line() -> None:
    text = refusal("#version 460\nint f() { return g(); }\nvoid main() { }\n")
    assert "k.comp:2: 'g' : no matching overloaded function found" in text and "     2 | int f()" in text


def test_a_missing_tool_is_named_with_its_package(fake: Path) -> None:
    with pytest.raises(TaichiRuntimeError, match="apt-get install glslang-tools"):
        Glslang().compile(SourceFile("k.comp", GOOD), "k")


def test_a_hanging_tool_is_stopped(fake: Path) -> None:
    write_tool(fake, "time.sleep(300)")
    begin = time.monotonic()
    assert "did not end within 0.5 s" in refusal(seconds=0.5)
    assert time.monotonic() - begin < 200, "the tool sleeps to its end"


def test_a_tool_that_closes_its_output_and_hangs_is_stopped(fake: Path) -> None:
    write_tool(fake, "os.closerange(0, 3); time.sleep(60)")
    assert "did not end within 0.5 s" in refusal(seconds=0.5)


def test_a_crashing_tool_is_named_with_its_signal(fake: Path) -> None:
    write_tool(fake, "os.kill(os.getpid(), signal.SIGSEGV)")
    assert "glslangValidator crashed (SIGSEGV)" in refusal()


def test_a_tool_that_reads_nothing_of_a_long_text_harms_nobody(fake: Path) -> None:
    write_tool(fake, "sys.exit(3)")
    assert "glslangValidator refused" in refusal(GOOD + "// long\n" * 100_000)


def test_rubbish_messages_are_shown_as_far_as_they_are_text(fake: Path) -> None:
    write_tool(fake, "sys.stdout.buffer.write(b'ERROR: stdin:2: \\xff\\xfe bad\\n'); sys.exit(2)")
    text = refusal()
    assert "k.comp:2: \ufffd\ufffd bad" in text and "     2 | layout(local_size_x = 1) in;" in text


def test_endless_output_is_cut(fake: Path) -> None:
    write_tool(fake, "while True: os.write(1, b'x' * 65536)")
    assert "printed over 67108864 bytes" in refusal()


def test_long_messages_are_shortened(fake: Path) -> None:
    write_tool(fake, "os.write(2, b'y' * 60000); sys.exit(1)")
    assert len(refusal()) < 5000


@pytest.mark.parametrize("output", ["b''", "b'\\x03\\x02\\x23\\x07' * 3", "b'SPIR-V, believe me'"])
def test_a_tool_that_lies_about_success_is_not_believed(fake: Path, output: str) -> None:
    write_tool(fake, f"sys.stdin.read(); os.write(1, {output})")
    assert "gave no whole SPIR-V module" in refusal()


def test_a_tool_that_cannot_start_is_an_error(fake: Path) -> None:
    fake.write_text("#!/nowhere/at/all\n")
    fake.chmod(0o755)
    with pytest.raises(TaichiRuntimeError, match="could not be started"):
        Glslang().compile(SourceFile("k.comp", GOOD), "k")
