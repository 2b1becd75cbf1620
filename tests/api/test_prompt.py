"""Kernels typed at Python's prompt: run on a terminal of this test, which readline edits."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from shadesmith.transpiler.frontend.source.prompt_source import find_function

pty = pytest.importorskip("pty")
pytest.importorskip("readline")

TYPED = """import shadesmith as ti
_ = ti.init(arch=ti.python, log_level="warn")
@ti.kernel
def double(n: ti.i32) -> ti.i32:
    return n + 1

@ti.kernel
def double(n: ti.i32) -> ti.i32:
    # the second one counts
    s = 0
    for i in range(n):
        s += 2
    return s

print("result", double(21))
@ti.func
def three(x): return 3 * x

@ti.kernel(
    fast_math=False
)
def six(n: ti.i32) -> ti.i32:
    return three(n) + undefined

try: six(2)
except Exception as error: print("error", str(error).replace(chr(10), "|"))

exit()
"""


def code_of(text: str, name: str):
    compiled = compile(text, "<stdin>", "exec")
    return next(c for c in compiled.co_consts if getattr(c, "co_name", "") == name)


def test_the_latest_lines_with_the_same_code_are_found() -> None:
    first, second = "def f(x):\n    return x + 1\n", "@deco\ndef f(x):\n    return x + 2\n"
    history = [*first.splitlines(), "f(1)", *second.splitlines(), "f(2)", "def g(): pass"]
    assert "".join(find_function(code_of(second, "f"), history)) == second
    assert "".join(find_function(code_of(first, "f"), history)) == first
    assert find_function(code_of("def f(x):\n    return x + 3\n", "f"), history) == []
    assert find_function(code_of("def h(x):\n    return x\n", "h"), history) == []
    one_entry = ["x = 1", second.rstrip("\n"), "f(1)"]  # some prompts remember a statement as one entry
    assert "".join(find_function(code_of(second, "f"), one_entry)) == second


@pytest.mark.exhaustive
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_kernels_typed_at_the_prompt_run(tmp_path: Path) -> None:
    outer, inner = pty.openpty()
    package = Path(__file__).resolve().parents[2]
    variables = {**os.environ, "PYTHONPATH": str(package.parent), "HOME": str(tmp_path), "TERM": "dumb",
                 "PYTHON_BASIC_REPL": "1"}  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-q", "-i"], stdin=inner, stdout=inner, stderr=inner, env=variables, start_new_session=True
    )
    os.close(inner)
    output = b""
    try:
        for line in TYPED.splitlines():
            os.write(outer, line.encode() + b"\n")
            time.sleep(0.02)
        while True:
            try:
                piece = os.read(outer, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            output += piece
        assert process.wait(60) == 0
    finally:
        process.kill()
        os.close(outer)
    text = output.decode(errors="replace")
    assert "result 42" in text, text
    assert "undefined" in text and "return three(n) + undefined|" in text, text
