"""The GLSL compiler as a stranger: missing, hanging, crashing, babbling, lying. Each gives an error in time."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import pytest

from shadesmith.runtime.devices import tool_process
from shadesmith.runtime.devices.vulkan.glslang import Glslang, is_whole
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


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> Glslang:
    """Return a compiler whose tool is started before there is a source."""
    monkeypatch.setenv("SHADESMITH_EARLY_GLSLANG", "1")
    if not Path("/dev/shm").is_dir():
        pytest.skip("no files in memory")
    return Glslang()


ADDING = """// a banner
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 4) in;
layout(buffer_reference, scalar) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args { F32 x; } args;
void main() { args.x.v[gl_GlobalInvocationID.x] += %d.0; }
"""


@needs_tool
def test_a_tool_that_waited_makes_the_same_modules(early: Glslang) -> None:
    expected = [Glslang().compile(SourceFile("k.comp", ADDING % number), "k") for number in range(3)]
    for number in range(3):
        early.prepare()
        processes = [waiting._process for waiting in early._waiting]
        made = early._by_waiting(SourceFile("k.comp", ADDING % number))
        assert made == expected[number]
        assert processes[0].poll() == 0
    early.prepare()
    waiting = [one._process for one in early._waiting]
    early.close()
    assert waiting and all(process.poll() is not None for process in waiting) and not early._waiting


@needs_tool
def test_messages_of_a_tool_that_waited_are_the_same(early: Glslang) -> None:
    text = "#version 460\nint f() { return g(); }\nvoid main() { }\n"
    early.prepare()
    with pytest.raises(TaichiCompilationError) as caught:
        early.compile(SourceFile("k.comp", text), "k")
    early.close()
    assert str(caught.value) == refusal(text)


@needs_tool
@pytest.mark.parametrize("line", ['#include "dev/null"', '#line 3 "x"'])
def test_what_a_plain_source_may_not_say_stays_refused(early: Glslang, line: str) -> None:
    early.prepare()
    with pytest.raises(TaichiCompilationError):
        early.compile(SourceFile("k.comp", GOOD.replace("void main", f"{line}\nvoid main")), "k")
    early.close()


def test_a_waiting_tool_that_misbehaves_costs_nothing_but_time(early: Glslang, fake: Path) -> None:
    for body in ("sys.exit(3)", "sys.stdin.read(); time.sleep(60)", "os.kill(os.getpid(), signal.SIGSEGV)"):
        write_tool(fake, body)
        glslang = Glslang(time_limit_seconds=0.5)
        for _ in range(50):  # a process that is started meanwhile may have the tool's file open for writing
            glslang.prepare()
            if glslang._waiting:
                break
            time.sleep(0.02)
        first, *others = glslang._waiting  # on a machine with eight cores there is another one
        started = time.monotonic()
        assert glslang._by_waiting(SourceFile("k.comp", GOOD)) is None
        assert time.monotonic() - started < 10 and glslang._waiting == others
        assert first._process.poll() is not None
        glslang.close()
        assert not glslang._waiting and all(other._process.poll() is not None for other in others)


@needs_tool
def test_without_leases_the_tool_starts_with_its_source(early: Glslang, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_process, "MEMORY_FILES", "/nowhere")
    early.prepare()
    assert not early._waiting and is_whole(early.compile(SourceFile("k.comp", GOOD), "k"))


@needs_tool
def test_a_tool_is_left_when_its_time_is_over(early: Glslang, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_process, "MAX_WAIT_SECONDS", 0.0)
    early.prepare()
    process = early._waiting[0]._process
    assert early._by_waiting(SourceFile("k.comp", GOOD)) is None and process.poll() is not None
    early.close()
