"""Gradients in the cache: found by a second session, and not where another array has a gradient."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import shadesmith as ti


def misses(folder: Path, needs_grad: bool) -> tuple[int, Any]:
    """Compile a gradient in a new session; return how often its source was not in the cache, and the source."""
    ti.init(arch=ti.cpu, offline_cache=True, offline_cache_file_path=str(folder), log_level=ti.ERROR)
    x, y = ti.field(float, 3, needs_grad=needs_grad), ti.field(float, 3, needs_grad=True)

    @ti.kernel
    def square():
        for i in x:
            y[i] = x[i] ** 2

    before = ti.cache.stats().misses.get("text", 0)
    source = square.grad.compile().source()
    return ti.cache.stats().misses.get("text", 0) - before, source


def test_a_gradient_is_found_in_the_cache(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("SHADESMITH_OFFLINE_CACHE", "1")
    first, found = misses(tmp_path, True), misses(tmp_path, True)
    assert (first[0], found[0]) == (1, 0)
    assert found[1] == first[1]
    without = misses(tmp_path, False)
    assert without[0] == 1
    assert "x_grad" not in without[1]
