"""lavapipe runs wrong branches of deeply nested conditions: such kernels are rejected on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

SIGNATURE = "@ti.kernel\ndef k(n: ti.i32) -> ti.i32:\n"


def chain(count: int) -> str:
    branches = "".join(f"    elif n == {900 - i}:\n        x = {i}\n" for i in range(count))
    return f"{SIGNATURE}    x = 0\n    if n == 500:\n        x = 1\n{branches}    else:\n        x = 77\n    return x\n"


def ternaries(count: int) -> str:
    return SIGNATURE + "    return " + " else ".join(f"{i} if n == {900 - i}" for i in range(count)) + " else 77\n"


def load(text: str, path: Path) -> Any:
    path.write_text(text)
    space: dict[str, Any] = {"ti": ti}
    exec(compile(text, str(path), "exec", dont_inherit=True), space)
    return space["k"]


@pytest.mark.parametrize("text", [chain, ternaries])
def test_deep_conditions(text: Any, tmp_path: Path) -> None:
    ti.init(arch=ti.vulkan, log_level=ti.ERROR)
    assert sessions.CURRENT is not None
    assert load(text(70), tmp_path / "shallow.py")(1) == 77
    deep = load(text(200), tmp_path / "deep.py")
    if sessions.CURRENT.device.capabilities.branch_depth_limit is None:
        assert deep(1) == 77
        return
    with pytest.raises(ti.TaichiCompilationError, match="nest more than"):
        deep(1)
