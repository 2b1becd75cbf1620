"""What the printers must know about a language beyond spellings: files, templates, threads and reserved words.

Spellings of operations and types are `spelling.py`'s; a row here says how a whole text is put together.
"""

from __future__ import annotations

from dataclasses import dataclass

from .reserved import FUNCTIONS, RESERVED


@dataclass(frozen=True, slots=True)
class Target:
    """One language. folder: of its templates. arrow: from a pointer to a struct to its member.

    has_pointers: arrays are typed pointers (C, CUDA), else buffer references (GLSL). file_per_task: GLSL compiles one
    entry a file. nested_loops: a parallel loop is printed as loops (C), else as one thread an item.
    exact: helpers of ours compute what the language's own operations compute coarsely (fast_math=False).
    reserved, functions: words no name may be, and words it may be where nothing calls them.
    needed: words that one text means something by, so that none of its names may hide them.
    unsigned: a 32-bit number made from an i32. tensor_assignment: `v += w` exists for vectors and matrices.
    """

    name: str
    folder: str
    suffix: str
    arrow: str
    has_pointers: bool
    file_per_task: bool
    nested_loops: bool
    unsigned: str
    tensor_assignment: bool
    reserved: frozenset[str]
    functions: frozenset[str]
    exact: bool = False
    needed: frozenset[str] = frozenset()


TARGETS: dict[str, Target] = {
    target.name: target
    for target in (
        Target(
            "vulkan", "glsl", "comp", ".", False, True, False, "uint({})", True, RESERVED["vulkan"], FUNCTIONS["vulkan"]
        ),
        Target(
            "cuda", "cuda", "cu", "->", True, False, False, "unsigned({})", True, RESERVED["cuda"], FUNCTIONS["cuda"]
        ),
        Target("c", "c", "c", "->", True, False, True, "(unsigned)({})", False, RESERVED["c"], FUNCTIONS["c"]),
    )
}
"""The languages by name; "python" has no text and no row."""
