"""Kernels from anywhere: files, notebooks, texts run by `exec`, tabs, nested and decorated functions."""

import functools
import linecache
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import shadesmith as ti


@pytest.fixture(autouse=True)
def interpreter() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)


def run(text: str, file: str, **names: object) -> dict:
    space: dict = {"ti": ti, "__name__": "__main__", **names}
    exec(compile(text, file, "exec"), space)
    return space


def register(text: str, file: str) -> None:
    """Tell `linecache` of a text as notebooks do: without a time, so that it is not looked for on the disk."""
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)


CELL = """
@ti.func
def double(x):
    return 2 * x

@ti.kernel
def compute(n: ti.i32) -> ti.i32:
    return double(n) + 1
"""


@pytest.mark.parametrize("file", ["<ipython-input-3-abc>", "/tmp/ipykernel_12/345.py", "<string 7>", "<stdin-1>"])
def test_registered_texts(file: str) -> None:
    register(CELL, file)
    assert run(CELL, file)["compute"](4) == 9


def test_a_cell_that_is_run_again_is_read_again() -> None:
    for number in (1, 2):
        text = CELL.replace("+ 1", f"+ {number}")
        file = f"<ipython-input-9-{number}>"
        register(text, file)
        assert run(text, file)["compute"](4) == 8 + number


def test_a_text_that_nobody_keeps_is_refused_by_name() -> None:
    kernel = run(CELL, "<string>")["compute"]
    with pytest.raises(
        ti.TaichiSyntaxError, match="source of `compute` is not available in <string>, line 6"
    ) as caught:
        kernel(1)
    assert "linecache" in str(caught.value)


def test_tabs_and_deep_nesting(tmp_path: Path) -> None:
    text = textwrap.dedent("""\
        import shadesmith as ti
        class A:
        \tclass B:
        \t\tdef make(self):
        \t\t\tif True:
        \t\t\t\t@ti.kernel
        \t\t\t\tdef compute(n: ti.i32) -> ti.i32:
        \t\t\t\t\tfound = 0
        \t\t\t\t\tif n > 1:
        \t\t\t\t\t\tfound = n
        \t\t\t\t\treturn found
        \t\t\t\treturn compute
        """)
    path = tmp_path / "tabs.py"
    path.write_text(text)
    assert run(text, str(path))["A"].B().make()(5) == 5


def test_a_text_over_the_indentation(tmp_path: Path) -> None:
    text = 'import shadesmith as ti\n\n\ndef make():\n    @ti.kernel\n    def compute() -> ti.i32:\n        """\nText at the margin.\n"""\n        a = (1 +\n2)\n        return a\n    return compute\n'
    path = tmp_path / "margin.py"
    path.write_text(text)
    assert run(text, str(path))["make"]()() == 3


def test_kernels_on_one_line_and_after_each_other(tmp_path: Path) -> None:
    text = textwrap.dedent("""\
        import shadesmith as ti
        @ti.kernel
        def one() -> ti.i32: return 1
        @ti.kernel
        def two() -> ti.i32: a = 1; return a + 1
        @ti.func
        def f(x): return x + 1
        def make(k):
            @ti.kernel
            def three() -> ti.i32: return f(k)
            return three
        """)
    path = tmp_path / "lines.py"
    path.write_text(text)
    space = run(text, str(path))
    assert (space["one"](), space["two"](), space["make"](2)()) == (1, 2, 3)


def test_two_kernels_of_one_name() -> None:
    @ti.kernel
    def compute() -> ti.i32:
        return 1

    first = compute

    @ti.kernel
    def compute() -> ti.i32:  # noqa: F811
        return 2

    assert first() == 1 and compute() == 2


def test_kernels_made_by_calls() -> None:
    def plain(n: ti.i32) -> ti.i32:
        return n + 1

    def other(x):
        return x * 2

    doubled = ti.func(other)

    def use(n: ti.i32) -> ti.i32:
        return doubled(n)

    assert ti.kernel(plain)(1) == 2 and ti.kernel(use)(4) == 8


def test_decorators_above_and_below() -> None:
    calls = []

    def traced(function):
        @functools.wraps(function)
        def wrapper(*arguments):
            calls.append(arguments)
            return function(*arguments)

        return wrapper

    @traced
    @ti.kernel
    def above(n: ti.i32) -> ti.i32:
        return n + 1

    @ti.kernel
    @traced
    def below(n: ti.i32) -> ti.i32:
        return n + 2

    assert above(1) == 2 and below(1) == 3 and calls == [(1,)]


def test_decorators_of_many_lines_and_comments() -> None:
    def tagged(*tags):
        return lambda function: function

    @ti.kernel
    @tagged(
        "a",
        "b",
    )
    # a comment between
    def compute(
        n: ti.i32,
    ) -> ti.i32:
        # a comment inside

        return n  # at the end
        # and after it

    assert compute(3) == 3


def test_lambdas_are_refused() -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="A `lambda` cannot be a kernel"):
        ti.kernel(lambda: None)


@pytest.mark.parametrize("thing", [3, print, functools.partial(print), type("C", (), {})], ids=str)
def test_what_is_no_function_is_refused(thing: object) -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="decorates functions"):
        ti.kernel(thing)


def test_coroutines_and_generators_are_refused() -> None:
    @ti.kernel
    async def waiting():
        pass

    @ti.kernel
    def giving():
        yield 1

    for kernel in (waiting, giving):
        with pytest.raises(ti.TaichiSyntaxError):
            kernel()


def test_a_kernel_in_a_module_that_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kernels_of_a_test.py").write_text("import shadesmith as ti\n" + CELL, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    import kernels_of_a_test

    assert kernels_of_a_test.compute(1) == 3


def test_annotations_kept_as_texts(tmp_path: Path) -> None:
    text = (
        "from __future__ import annotations\nimport shadesmith as ti\nvec = ti.types.vector(2, ti.f32)\n"
        "@ti.kernel\ndef compute(v: vec, n: ti.i32) -> vec:\n    a: ti.f32 = n\n    return v * a\n"
    )
    path = tmp_path / "future.py"
    path.write_text(text)
    assert run(text, str(path))["compute"]([1, 2], 3).to_list() == [3, 6]


def test_a_text_with_another_encoding_and_line_ends(tmp_path: Path) -> None:
    text = "# -*- coding: latin-1 -*-\r\nimport shadesmith as ti\r\n@ti.kernel\r\ndef compute() -> ti.i32:\r\n"
    text += "    größe = 4  # ü\r\n    return größe\r\n"
    path = tmp_path / "latin.py"
    path.write_bytes(text.encode("latin-1"))
    space = {"__name__": "__main__"}
    exec(compile(path.read_bytes(), str(path), "exec"), space)
    assert space["compute"]() == 4


def test_texts_that_python_keeps_by_code_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the prompt of Python 3.14 does, where many texts are called `<stdin>`."""
    monkeypatch.setattr(linecache, "_getlines_from_code", lambda code: CELL.splitlines(True), raising=False)
    assert run(CELL, "<stdin>")["compute"](4) == 9


SESSION = """
import shadesmith as ti
ti.init(arch=ti.python, log_level=ti.ERROR)
@ti.kernel
def compute(n: ti.i32) -> ti.i32:
    return n + 1

try:
    print("found", compute(1))
except ti.TaichiSyntaxError as error:
    print("refused", error)

"""


def test_the_interactive_prompt() -> None:
    """Python 3.13 keeps what is typed; before, the text is gone, and the error says what to do."""
    done = subprocess.run([sys.executable, "-i", "-q"], input=SESSION, capture_output=True, text=True, timeout=300)
    if sys.version_info >= (3, 13) and "found" in done.stdout:
        assert "found 2" in done.stdout
    else:
        assert "refused" in done.stdout and "not available in <stdin>" in done.stdout
        assert "Hint: define it in a file or a notebook cell" in done.stdout


def test_a_program_from_standard_input_or_the_command_line() -> None:
    for arguments in (["-"], ["-c", SESSION]):
        given = SESSION if arguments == ["-"] else None
        command = [sys.executable, *arguments]
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=300)
        assert "found 2" in done.stdout or "Hint: define it in a file" in done.stdout


def test_ipython(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    text = (
        "from IPython.core.interactiveshell import InteractiveShell\n"
        f"shell = InteractiveShell.instance()\nfor cell in {[SESSION, CELL, 'print(compute(4))']!r}:\n"
        "    shell.run_cell(cell, store_history=True)\n"
    )
    (tmp_path / "shell.py").write_text(text)
    done = subprocess.run([sys.executable, str(tmp_path / "shell.py")], capture_output=True, text=True, timeout=300)
    assert "found 2" in done.stdout and "9" in done.stdout
