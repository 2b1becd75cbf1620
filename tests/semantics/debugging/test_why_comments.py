"""Comments that say what a pass dropped: which, where, and off by option."""

import re

import pytest

import shadesmith as ti

ARCHS = [ti.vulkan, ti.cuda, ti.cpu]
PROGRAM = """
debug = False
x = ti.field(ti.f32, 16)
y = ti.field(ti.f32, 16)

@ti.kernel
def kernel(w: ti.f32):
    for i in x:
        unused = w
    for i in x:
        if debug:
            print(i)
        x[i] += w
        for k in ti.static(range(2)):
            y[i] -= 1.0
        if ti.static(debug):
            x[i] = 0.0
        if True:
            x[i] *= 2.0
        while debug:
            x[i] = 3.0
"""
SAID = re.compile(
    r"(?:  // |(?<=:\d{2}), )(?:not atomic: .*|stored once: .*)$|^ *// (?:`.*` (?:in line|left out|is always)|no task for|not atomic).*\n",
    re.M,
)


@pytest.fixture(autouse=True)
def end_session():
    yield
    ti.reset()


def text(define_program, arch, **options) -> str:
    ti.init(arch=ti.cpu, log_level="error", **options)
    return define_program(PROGRAM)["kernel"].source(1.0, arch=arch)


@pytest.mark.parametrize("arch", ARCHS, ids=str)
def test_each_kind_is_said_once(define_program, arch) -> None:
    found = ["// " + line.strip(" /,\n") for line in SAID.findall(text(define_program, arch))]
    dropped = "// not atomic: no other iteration writes it (demote_atomics)"
    assert sorted(found) == sorted([
        "// no task for the loop in line 8: it does nothing (dead_code)",
        "// `if debug:` left out: always false (frontend)",
        "// `while debug:` left out: always false (simplify)",
        dropped,
        "// stored once: no other iteration writes it (keep_elements)",
    ])  # fmt: skip


@pytest.mark.parametrize("arch", ARCHS, ids=str)
def test_option_leaves_them_out_and_changes_nothing_else(define_program, arch) -> None:
    # The files of the programs differ in their number.
    said = re.sub(r"test_?s? \d+|test \d+>", "test", SAID.sub("", text(define_program, arch)))
    ti.reset()
    plain = re.sub(r"test_?s? \d+|test \d+>", "test", text(define_program, arch, why_comments=False))
    assert said == plain


def test_no_comment_is_wider_than_a_line(define_program) -> None:
    ti.init(arch=ti.cpu, log_level="error")
    sums = " + ".join(f"ti.sin(w * {k}.0)" for k in range(12))
    lines = f"x = ti.field(ti.f32, 16)\n@ti.kernel\ndef kernel(w: ti.f32):\n    for i in x:\n        x[i] += {sums}\n"
    emitted = define_program(lines)["kernel"].source(1.0, arch=ti.cpu).splitlines()
    said = next(k for k, line in enumerate(emitted) if "not atomic" in line)
    assert emitted[said].strip().startswith("// not atomic") and emitted[said + 1].strip().startswith("x(i) += ")
    assert emitted[said - 1].strip().startswith("// ") and max(map(len, emitted[said : said + 4])) <= 120


def test_hostile_condition_ends_no_comment(define_program) -> None:
    ti.init(arch=ti.cpu, log_level="error")
    lines = "x = ti.field(ti.f32, 16)\nno = False\n@ti.kernel\ndef kernel():\n    for i in x:\n"
    lines += "        if no and '??/' == \"\\\\\":  # */ \\\n            x[i] = 1.0\n        x[i] = 2.0\n"
    emitted = define_program(lines)["kernel"].source(arch=ti.cpu)
    comment = next(line for line in emitted.splitlines() if "left out" in line)
    assert comment.endswith("(frontend)") and "??/" not in comment
