"""Functions of one operation take the operands that the op table says, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shadesmith as ti


@pytest.mark.parametrize(("call", "text"), [
    ("ti.sin(x, x)", "`ti.sin` takes 1 argument, found 2"),
    ("ti.pow(x, x, x)", "`ti.pow` takes 2 arguments, found 3"),
    ("ti.atan2(x)", "`ti.atan2` takes 2 arguments, found 1"),
    ("ti.select(x, x)", "`ti.select` takes 3 arguments, found 2"),
    ("ti.floor()", "`ti.floor` takes 1 argument, found 0"),
    ("ti.sin(x, dtype=ti.f32)", "`sin` takes no argument `dtype`"),
    ("ti.max(x, y=x)", "`max` takes no argument `y`"),
    ("ti.min()", "`min` takes at least one argument"),
])  # fmt: skip
def test_a_wrong_argument_is_named(call: str, text: str, tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    path = tmp_path / "program.py"
    path.write_text(f"@ti.kernel\ndef run(x: ti.f32) -> ti.f32:\n    return {call}\n")
    space: dict[str, Any] = {"ti": ti}
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), space)
    with pytest.raises(ti.TaichiCompilationError) as caught:
        space["run"](1.0)
    assert text in str(caught.value)


@pytest.mark.parametrize("function", ["floor", "ceil", "round"])
def test_roundings_take_a_type(function: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    rounding = getattr(ti, function)

    @ti.kernel
    def run(x: ti.f32) -> ti.i32:
        return rounding(x, ti.i32) * 10 + rounding(x, dtype=ti.i32)

    assert run(3.0) == 33
