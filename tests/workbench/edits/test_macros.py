"""SM_PRINT, SM_ASSERT and SM_TRAP_NAN in edited sources: what they report on each target, and that they leave nothing."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.launch.macro_records import CONVERSION, _converted
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.macros.expand import blanked
from shadesmith.runtime.workbench.macros.formats import check_format, folded
from shadesmith.runtime.workbench.macros.operands import operands
from shadesmith.runtime.workbench.macros.scopes import function_at, functions, knows_integer, reaching
from shadesmith.runtime.workbench.macros.uses import MacroError, uses

pytestmark = pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter runs no text

PROGRAM = """
    @ti.kernel
    def scale(x: ti.types.ndarray(ti.f32, 2), w: ti.types.ndarray(ti.types.vector(2, ti.f32), 1), n: ti.i32):
        for i, j in x:
            x[i, j] = x[i, j] * 2
        for k in range(n):
            w[k] += 1.0
"""


@pytest.fixture
def kernel(target: str, tmp_path: Path):
    if target == "python":
        pytest.skip("the interpreter runs no text")
    sessions.current().config.edit_macros = True
    return written_programs.write(tmp_path / "p.py", PROGRAM).scale


def arguments() -> tuple[np.ndarray, np.ndarray, int]:
    return np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((3, 2), np.float32), 3


def folder_of(kernel) -> Path:
    path = kernel.edit(*arguments())
    return path if path.is_dir() else path.parent


def edited(kernel, first: str = "", second: str = "") -> dict[int, Path]:
    """Edit the statements of both tasks: each is followed by code. Return the files by task, and their lines."""
    folder = folder_of(kernel)
    found: dict[int, Path] = {}
    for path in sorted(folder.glob("scale*")):
        text = path.read_text()
        for task, (pattern, code) in enumerate(((r"^ *x\(i, j\) .*\n", first), (r"^ *w\(k\) .*\n", second))):
            match = re.search(pattern, text, re.MULTILINE)
            if match is not None and code:
                text = text[: match.end()] + code + "\n" + text[match.end() :]
                found[task] = path
        path.write_text(text)
    return found


def line_of(path: Path, needle: str) -> int:
    return next(k for k, line in enumerate(path.read_text().splitlines(), 1) if needle in line)


def test_each_macro_reports_its_line_its_values_and_the_iteration(kernel, capsys) -> None:
    paths = edited(
        kernel,
        'SM_PRINT("x = %5.2f", x(i, j));  // SM_PRINT("no")\nSM_ASSERT(x(i, j) < 9.0f, "%d is %s",\n i, "large");',
        "SM_PRINT(w(k), k + 1); SM_TRAP_NAN(w(k).x);",
    )
    with pytest.raises(
        ti.TaichiAssertionError, match=r"\[kernel=scale\] 1 is large: `x\(i, j\) < 9.0f` is false"
    ) as found:
        kernel(*arguments())
    one, other = f"{paths[0].name}:{line_of(paths[0], 'x = %5.2f')}", f"{paths[1].name}:{line_of(paths[1], 'k + 1')}"
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"{one}: x =  0.00  (i = 0, j = 0)", f"{one}: x =  2.00  (i = 0, j = 1)"]
    assert lines[5:] == [f"{one}: x = 10.00  (i = 1, j = 2)"] + [
        f"{other}: w(k) = [1, 1], k + 1 = {k + 1}  (k = {k})" for k in range(3)
    ]
    error = found.value
    assert error.iteration == {"i": 1, "j": 2} and error.kind == "assert" and error.failures == 1
    assert error.location.source.file == str(paths[0]) and error.location.line == line_of(paths[0], "SM_ASSERT")
    assert "`x(i, j) < 9.0f` is false: x(i, j) = 10" in str(error) and error.values == (10.0, 1)
    x, w, n = arguments()
    w[1, 0] = np.nan
    with pytest.raises(ti.TaichiAssertionError, match=r"NaN detected: w\(k\)\.x = nan[^$]*k = 1"):
        kernel(x * 0, w, n)


def test_a_function_of_the_author_reports_no_index_that_it_lacks(kernel, capsys) -> None:
    path = edited(kernel, "show(x(i, j));")[0]
    text = path.read_text()
    head = [match.start() for match in re.finditer(r"^[^\n/]*\bvoid \w+\(", text[: text.index("show(")], re.MULTILINE)][
        -1
    ]
    path.write_text(text[:head] + "void show(float v) {\n    SM_PRINT(v);\n}\n\n" + text[head:])
    kernel(*arguments())
    lines = [re.sub(r"  \(thread \d+\)$", "", line) for line in capsys.readouterr().out.splitlines()]
    assert sorted(lines) == sorted(f"{path.name}:{line_of(path, 'SM_PRINT')}: v = {2 * k}" for k in range(6))


@pytest.mark.all_targets
def test_types_formats_definitions_and_prints_that_do_not_fit(kernel, target: str, capsys) -> None:
    long = "int64_t(i) * 4294967296l" if target == "vulkan" else "(long long)i * 4294967296ll"
    extension = "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"
    paths = edited(
        kernel,
        '#define CHECK(c) \\\n  SM_PRINT("checked %d", c)\n'
        f'if (i == 1 && j == 0) SM_PRINT("%d %x %5.1f %u|%e %%", {long}, -1, x(i, j), -2, 1.0f / 0.0f);\n'
        "else if (i == 1) CHECK(j);\n#if 0\nSM_PRINT(undeclared);\n#endif",
        "int count = 0; SM_PRINT(count++);\nfor (int r = 0; r < 900; r++) SM_PRINT(r, k, w(k), w(k), w(k), w(k), w(k));\n"
        'SM_PRINT("%d", 2.5f);',
    )
    if target == "vulkan":
        paths[0].write_text(paths[0].read_text().replace("#version 460\n", f"#version 460\n{extension}"))
    session = sessions.current()
    session.config.report_bytes, session.reports = 4096, None
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        kernel(*arguments())
    messages = [str(warning.message) for warning in found]
    place = f"{paths[0].name}:{line_of(paths[0], '%5.1f %u')}"
    lines = capsys.readouterr().out.splitlines()
    assert f"{place}: 4294967296 ffffffff   6.0 4294967294|inf %  (i = 1, j = 0)" in lines[:3]
    assert {line.partition(":")[2].partition("  (")[0] for line in lines[:3] if "checked" in line} == {
        f"{line_of(paths[0], 'CHECK(j)')}: checked {j}" for j in (1, 2)
    }
    assert f"{line_of(paths[1], 'count++')}: count++ = 0  (k = " in "".join(lines)
    assert any("prints of this launch are lost" in message for message in messages)
    assert len(lines) < 100


def test_macros_that_are_off_leave_nothing(kernel, target: str, capsys) -> None:
    config = sessions.current().config
    before = folder_of(kernel)
    generated = {path.name: path.read_text() for path in sorted(before.glob("scale*"))}
    edited(kernel, "SM_PRINT(1.5);\nSM_ASSERT(x(i, j) < 0.0f);", "SM_TRAP_NAN(w(k).x);")
    config.edit_macros = "auto"
    with pytest.warns(
        ti.ShadesmithWarning, match=r"SM_PRINT` and 2 more in this edit of kernel `scale` compile to noth"
    ):
        kernel(*arguments())
    assert kernel.last_launch.variant == "edit" and capsys.readouterr().out == ""
    ((instance, _),) = kernel._instances.values()
    for file in instance.module.files:
        bare = [line.strip() for line in file.text.splitlines() if line.strip(" ;")]
        assert bare == [line.strip() for line in generated[file.name].splitlines() if line.strip()]
        assert "SM_" not in file.text
    assert not instance.module.interface.reports
    config.edit_macros = True
    assert kernel.compare(*arguments(), sweep=False, in_process=True).passed


def test_what_an_expression_refers_to_is_checked_in_the_edited_file(kernel) -> None:
    paths = edited(kernel, 'SM_PRINT("%d", nowhere);')
    with pytest.raises(ti.TaichiCompilationError) as found:
        kernel(*arguments())
    line = line_of(paths[0], "nowhere")
    assert f"{paths[0]}:{line}: error" in str(found.value) and f'{line} | SM_PRINT("%d", nowhere);' in str(found.value)
    paths[0].write_text(paths[0].read_text().replace('"%d", nowhere', '"%d %d", i'))
    with pytest.raises(
        ti.TaichiCompilationError, match=rf":{line}: the format of `SM_PRINT` has 2 conversions, and 1 v"
    ):
        kernel(*arguments())


WRONG = {
    "SM_PRINT;": "without arguments in brackets",
    "SM_PRINT(1": "is not closed",
    "SM_PRINT(a; b)": "is not closed",
    "SM_PRINT(a) b;": "`;` is missing",
    "SM_PRINT(a,);": "an argument of `SM_PRINT` is empty",
    'SM_PRINT("a" b);': "does not end with a comma",
    'SM_PRINT(a, "b");': "only the first argument",
    'SM_PRINT("%d");': "1 conversion, and 0 values",
    'SM_PRINT("%y", a);': "`%y` in the format",
    "SM_ASSERT();": "needs a condition",
    "SM_ASSERT(a, b);": "is no string",
    "SM_TRAP_NAN();": "needs a value",
    "#define SM_PRINT(x)\n": "is a macro of shadesmith",
}


@pytest.mark.parametrize("code", WRONG)
def test_macros_that_are_written_wrongly(code: str) -> None:
    with pytest.raises(MacroError, match=re.escape(WRONG[code])):
        for use in uses(f"void f() {{\n{code}\n}}"):
            check_format(use)


def test_where_macros_are() -> None:
    source = (
        'f(); // SM_PRINT(1);\n/* SM_ASSERT( */ char *s = "SM_PRINT(";\n#ifdef SM_PRINT\n#endif\n'
        'SM_PRINT("a, (%d\\n" "b\\"", g(1, x[2]), /* , */ (v){1, 2}) ; SM_ASSERT(a < b);\n'
        "int SM_PRINTER(int);\nSM_TRAP_NAN\n (y\n  + z);"
    )
    found = uses(source)
    assert [(use.name, use.line) for use in found] == [("SM_PRINT", 5), ("SM_ASSERT", 5), ("SM_TRAP_NAN", 7)]
    assert found[0].text == 'a, (%d\nb"' and found[0].values == ("g(1, x[2])", "(v){1, 2}")
    assert found[1].condition == "a < b" and found[2].values == ("y + z",)
    bare = blanked(source)
    assert len(bare) == len(source) and bare.count("\n") == source.count("\n") and bare.count("SM_") == 5
    assert folded(uses('SM_PRINT("%s %5s %d", "a%", "b", 1);')[0]) == ("a%%     b %d", ("1",))


def test_operands_of_conditions() -> None:
    assert operands("v >= 0.0f") == ["v"] and operands("a[i] == b.x + 1") == ["a[i]", "b.x + 1"]
    assert operands("x(i) < n", {"x"}) == ["x(i)", "n"] and operands("x(i) < n") == ["n"]
    assert operands("a && b > 1") == operands("i++ < 3") == operands("ok") == operands("(a < b)") == []


def test_scopes() -> None:
    code = (
        "int f(int a) { return a; }\nvoid task(const Args args, int i) {\n for (int j = 0; j < 3; j++) { f(j); }\n"
        " { long long k = 1; g(k); } f(i); }\nvoid one() { task(); }\nvoid two() { f(1); }"
    )
    found = functions(code)
    assert [function.name for function in found] == ["f", "task", "one", "two"]
    assert reaching(code, found, {"one": 0, "two": 1}) == {"one": 0, "task": 0, "f": 0, "two": 1}
    inside = function_at(found, code.index("f(j)"))
    known = [knows_integer(code, inside, code.index(at), name) for at, name in (("f(j)", "j"), ("f(i)", "j"))]
    assert known == [True, False] and knows_integer(code, inside, code.index("f(i)"), "i")
    assert knows_integer(code, inside, code.index("g(k)"), "k") and not knows_integer(
        code, inside, code.index("f(i)"), "k"
    )


def test_conversions() -> None:
    shown = {"%d": -1, "%u": 2**32 - 1, "%x": "ffffffff", "%5d": "   -1", "%c": chr(255), "%f": "-1", "%s": "-1"}
    for conversion, expected in shown.items():
        match = CONVERSION.fullmatch(conversion)
        assert _converted(match[1], match[2], np.int32(-1)) == str(expected)
    halves = {"%f": "0.500000", "%8.2f": "    0.50", "%d": "0.5", "%g": "0.5", "%a": "0x1.0000000000000p-1"}
    for conversion, expected in halves.items():
        match = CONVERSION.fullmatch(conversion)
        assert _converted(match[1], match[2], np.float32(0.5)) == expected
    assert _converted("", "f", np.float16(np.inf)) == "inf" and _converted("", "d", np.float64(np.nan)) == "nan"
