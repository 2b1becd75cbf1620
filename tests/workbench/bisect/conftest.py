"""Tests of bisection: a pass that is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shadesmith.transpiler import passes as table
from shadesmith.transpiler.ir.tasks import Kernel


@pytest.fixture
def seeded(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[Kernel], bool]], list[Any]]:
    """Return a function that lets a pass be wrong where it changes a kernel, once for each kernel."""

    def seed(name: str, sabotage: Callable[[Kernel], bool]) -> list[Any]:
        done: list[Any] = []

        def wrap(step: Any) -> Any:
            def wrong(kernel: Kernel, context: Any) -> bool:
                changed = step(kernel, context)
                if changed and not any(kernel is other for other in done) and sabotage(kernel):
                    done.append(kernel)
                return changed

            wrong.__name__ = name
            return wrong

        replaced: dict[int, Any] = {}

        def new(step: Any) -> Any:
            if isinstance(step, table.Cleanup):
                if id(step) not in replaced:
                    replaced[id(step)] = table.Cleanup(map(new, step))
                    replaced[id(step)].after = step.after
                return replaced[id(step)]
            if step.__name__ != name:
                return step
            return replaced.setdefault(id(step), wrap(step))

        wrong = {stage: tuple(map(new, steps)) for stage, steps in table.PASSES.items()}
        monkeypatch.setattr(table, "PASSES", wrong)
        return done

    return seed
