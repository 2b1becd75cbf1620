"""Failures whose cause is known and is not ours: each with whose fault it is, and how it is recognised, narrowly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .comparing import difference
from .other_forms import flattened
from .workers import ENDLESS_COMPILATION

if TYPE_CHECKING:
    from .session import Failure

Run = Callable[[str, str], tuple[str, Any]]
"""Runs a program on a target: (target, source) to (kind, result)."""


@dataclass(frozen=True)
class Cause:
    """name: with whose fault it is. is_it: whether a failure has this cause."""

    name: str
    is_it: Callable[[Failure, Run], bool]


def _is_taichi_dead(failure: Failure, run: Run) -> bool:
    """Taichi's process ended by a signal, or hangs, on a program that passes all checks of the interpreter."""
    if not failure.target.startswith("taichi") or failure.kind not in ("died", "hung"):
        return False
    return run("checked", failure.text)[0] == "ok"


def _is_taichi_refusal(failure: Failure, run: Run) -> bool:
    """Taichi raises one of its own exceptions."""
    own = (
        "TaichiCompilationError",
        "TaichiTypeError",
        "TaichiSyntaxError",
        "TaichiRuntimeError",
        "AssertionError",
        "RuntimeError",
    )
    return failure.target.startswith("taichi") and failure.kind == "error" and failure.what.startswith(own)


def _is_right_on(target: str, change: Callable[[str], str] | None = None) -> Callable[[Failure, Run], bool]:
    """Taichi differs from itself: on another target of Taichi, or in another form of the program, it computes what we do."""

    def is_it(failure: Failure, run: Run) -> bool:
        if not failure.target.startswith("taichi") or failure.kind != "differs" or failure.target == target:
            return False
        if change is not None and change(failure.text) == failure.text:
            return False
        kind, expected = run("checked", failure.text)
        again, found = run(target, failure.text if change is None else change(failure.text))
        return kind == again == "ok" and difference(found, expected) is None

    return is_it


def _is_narrow_atomic(failure: Failure, run: Run) -> bool:
    """A GPU has no atomic operations of the width; the message says so, with the line and a remedy."""
    return (
        failure.target in ("vulkan", "cuda")
        and failure.what.startswith("UnsupportedError")
        and "the target device has atomic operations of" in failure.what
    )


def _is_endless_compilation(failure: Failure, run: Run) -> bool:
    """NVRTC does not end, without a loop or a call that our compilers and the emulated GPU have no end of."""
    return failure.target == "cuda" and ENDLESS_COMPILATION in failure.what and run("emulated", failure.text)[0] == "ok"


def _is_vulkan_driver(failure: Failure, run: Run) -> bool:
    """The driver gives other numbers for another spelling of the same shader, and the interpreter's for one of them."""
    if failure.target != "vulkan" or failure.kind != "differs":
        return False
    kind, expected = run("checked", failure.text)
    if kind != "ok":
        return False
    again = run("vulkan", failure.text)
    for _ in range(2):  # the same each time: no race
        respelled, found = run("vulkan_respelled", failure.text)
        if respelled != "ok" or difference(found, expected) is not None:
            return False
    return again[0] == "ok" and difference(again[1], expected) is not None


def _is_vulkan_compiler(failure: Failure, run: Run) -> bool:
    """The driver ends the process each time, in `vkCreateComputePipelines`, by a program that the interpreter runs."""
    if failure.target != "vulkan" or failure.kind != "died":
        return False
    again = run("vulkan", failure.text)
    return again[0] == "died" and again[1].endswith(" in `_pipeline`") and run("checked", failure.text)[0] == "ok"


FOLDING = "right if literals cannot be folded (it folds with C's division, u32 as i32, powers as f64)"
NESTING = "right if nested nodes are one node (an extent of 3 or 7 below another node)"
SETTINGS = {
    "taichi_uncached": ["right if loops do not keep elements in locals (two locals of one element)"],
    "taichi_scalarized": ["right with scalars in place of matrices (old components, atomics that activate no cell)"],
    "taichi0": ["right without its optimisations"],
    "taichi": [],
    "taichi_plain": ["right if loops do not keep elements in locals", "right with scalars in place of matrices"],
}
"""Targets that are Taichi with other options, and what these change."""


def _defects_of_taichi() -> list[Cause]:
    """Return all combinations of what makes Taichi right, those of the fewest changes first."""
    found = []
    for target, settings in SETTINGS.items():
        for is_unfolded in (False, True):
            for is_flat in (False, True):
                names = [*settings, *[FOLDING] * is_unfolded, *[NESTING] * is_flat]
                is_it = _is_right_on(target + "_unfolded" * is_unfolded, flattened if is_flat else None)
                found.append((len(names), Cause(f"Taichi 1.7.4: {', and '.join(names)}", is_it)))
    return [cause for count, cause in sorted(found, key=lambda item: item[0]) if count]


CAUSES: tuple[Cause, ...] = (
    Cause("the GPU has no atomics of 8 or 16 bits: refused by name", _is_narrow_atomic),
    Cause("NVRTC: it does not end; the same source runs on the emulated GPU", _is_endless_compilation),
    Cause("the Vulkan driver: right in another spelling of the same shader (`respelled`)", _is_vulkan_driver),
    Cause("the Vulkan driver: its compiler dies (in `vkCreateComputePipelines`)", _is_vulkan_compiler),
    Cause("Taichi 1.7.4: its process dies or hangs (its own assertions, LLVM)", _is_taichi_dead),
    Cause("Taichi 1.7.4: it refuses the program", _is_taichi_refusal),
    *_defects_of_taichi(),
)


def cause_of(failure: Failure, run: Run) -> str | None:
    """Return the name of the known cause of a failure, None if there is none."""
    return next((cause.name for cause in CAUSES if cause.is_it(failure, run)), None)
