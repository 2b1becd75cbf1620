"""The text of small kernels in each language, as files: what a user reads must not change unnoticed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from golden_kernels import KERNELS, RECURSIVE, SUFFIX, compiled

from shadesmith.transpiler.errors import UnsupportedError

LONG = re.compile(r"\blong\b(?<!long long)(?! long)")


@pytest.mark.parametrize("language", SUFFIX)
@pytest.mark.parametrize("name", KERNELS)
def test_emitted_text_is_as_it_was_read(name: str, language: str, golden: Callable[[str, str], None]) -> None:
    if name in RECURSIVE and language == "vulkan":
        with pytest.raises(UnsupportedError, match="halve -> halve"):
            compiled(name, language)
        return
    golden(f"{name}.{SUFFIX[language]}", compiled(name, language).source())


@pytest.mark.parametrize("language", SUFFIX)
@pytest.mark.parametrize("name", [name for name in KERNELS if name.startswith("gradient_of_")])
def test_a_gradient_has_at_most_twice_the_length_of_its_kernel(name: str, language: str) -> None:
    """2.2 times, measured in characters and in lines; each line of Python that it differentiates is named.

    That of a stencil has two loops, one of which gathers: 2.5 times, in GLSL, where each is a file, 2.8 times.
    """
    forward, gradient = compiled(name, language, with_derivative=False).source(), compiled(name, language).source()
    most = 2.2 if name != "gradient_of_wave" else 2.8 if language == "vulkan" else 2.5
    assert len(gradient) <= most * len(forward)
    assert gradient.count("\n") <= (most + 0.1) * forward.count("\n")
    assert "// adjoint of " in gradient


@pytest.mark.parametrize("language", SUFFIX)
def test_jacobi_body_has_three_statements_and_all_names(language: str) -> None:
    """Two in C, where the condition is the range of the loop. GPUs take four iterations at a time elsewhere."""
    text = compiled("jacobi", language).source()
    body = text[text.index("task(" if language == "c" else "iteration(") :].split("{", 1)[1].split("\n}\n")[0]
    lines = [line.strip() for line in body.splitlines() if line.strip() and not line.strip().startswith("//")]
    statements = [line for line in lines if line != "}"]
    assert len(statements) == (2 if language == "c" else 3)
    assert len("".join("".join(lines).split())) <= 150
    for name in ("a(", "b(", "args.w" if language == "c" else "w", "i", "j", "s"):
        assert name in body


@pytest.mark.parametrize("language", SUFFIX)
@pytest.mark.parametrize("name", ["jacobi", "nearest"])
def test_line_map_points_at_the_line_of_each_comment(name: str, language: str) -> None:
    file = compiled(name, language).files[0]
    assert file.lines
    lines = file.text.split("\n")
    for emitted, python_file, python_line in file.lines:
        if python_line == 0:
            assert lines[emitted - 2] == "}"
            continue
        last = next(k for k in range(emitted - 2, 0, -1) if not lines[k].strip().startswith("//     "))
        comment = f"// {Path(python_file).name}:{python_line}  "
        head = next(k for k in range(emitted - 1, 0, -1) if lines[k] and lines[k][0] not in " }")
        shown = lines[last].strip().startswith(comment) or lines[head - 1].startswith(comment)
        assert shown or re.search(rf"  // :{python_line}(, |$)", lines[emitted - 1])


@pytest.mark.parametrize("language", SUFFIX)
@pytest.mark.parametrize("name", ["left_out", "fall", "drift"])
def test_line_map_points_past_comments_on_what_passes_dropped(name: str, language: str) -> None:
    file = compiled(name, language).files[0]
    lines = file.text.split("\n")
    assert any("(demote_atomics)" in line for line in lines)
    assert not any(lines[emitted - 1].strip().startswith("//") for emitted, _, _ in file.lines)


def test_c_has_no_type_whose_width_depends_on_the_system() -> None:
    """`long` has 32 bits on Windows."""
    sources = [compiled(name, "c").source() for name in KERNELS if name not in RECURSIVE]
    wrong = [line for source in sources for line in source.splitlines() if LONG.search(line.partition("//")[0])]
    assert wrong == []


def test_interface_is_the_same_on_all_targets() -> None:
    """But for what only a GPU divides by (`launch_divisors`)."""
    found = {target: compiled("jacobi", target).interface for target in SUFFIX}
    assert found["vulkan"] == found["cuda"] and len(found["cuda"].divisors) == 1
    assert found["c"] == found["cuda"].without_divisors()
