"""The form of one bad input: a program, where its mistake stands (`«` before it), and what the user must read.

A program is the body of a module after `import shadesmith as ti`, `import numpy as np` and `ti.init(arch=ti.python)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import shadesmith as ti
from shadesmith.transpiler.errors import NotYetError

SYNTAX, NAME, TYPE, INDEX = "TaichiSyntaxError", "TaichiNameError", "TaichiTypeError", "TaichiIndexError"
COMPILATION, UNSUPPORTED = "TaichiCompilationError", "UnsupportedError"
RUNTIME, ARGUMENT = "TaichiRuntimeError", "TaichiRuntimeTypeError"
WARNING = "ShadesmithWarning"

FIELD = "f = ti.field(ti.f32, (4, 4))\n"
FUNC = "@ti.func\ndef "
SAME = FUNC + "g(a):\n    return a\n"

ARGUMENTS = {
    "": "",
    "x: ti.f32": "1.0",
    "y: ti.f64": "1.0",
    "n: ti.i32": "3",
    "u: ti.u32": "3",
    "a: ti.types.ndarray()": "np.zeros((4, 4), np.float32)",
}
"""Signatures of the kernels below, with arguments for the call."""


@dataclass(frozen=True)
class Case:
    """One program.

    name: group and item. title: the item in the words of the reliability plan, "" for additional cases.
    error: class of the error or warning; "" for a program that runs, whose variable `result` then equals `value`.
    message, hint: parts of both. place: what marks the place: "caret" in the text of the error, "call" where the
    traceback ends in the user's call and names the parameter, "python" where Python itself refuses the program,
    "nowhere" where there is no line to show.
    """

    name: str
    error: str
    message: str
    hint: str
    source: str
    title: str = ""
    place: str = "caret"
    value: Any = None


def kernel(*body: str, head: str = "", signature: str = "", returns: str = "None") -> str:
    """Return a program whose kernel `k` has this body, and its call, whose value is `result`."""
    lines = [*head.splitlines(), "@ti.kernel", f"def k({signature}) -> {returns}:", *("    " + line for line in body)]
    return "\n".join([*lines, f"result = k({ARGUMENTS[signature]})"])


def method(*body: str, head: str = "") -> str:
    """Return a program whose `ti.data_oriented` class `A` has a kernel `k` of this body, and its call."""
    lines = ["@ti.data_oriented", "class A:", *("    " + line for line in head.splitlines())]
    return "\n".join([*lines, "    @ti.kernel", "    def k(self):", *("        " + line for line in body), "A().k()"])


def refused(name: str, error: str, message: str, hint: str, source: str, title: str = "") -> Case:
    """A mistake in a kernel: the error shows its line with a caret."""
    return Case(name, error, message, hint, source, title)


def refused_call(name: str, error: str, message: str, hint: str, source: str, title: str = "") -> Case:
    """A mistake in a call from Python: the traceback ends there."""
    return Case(name, error, message, hint, source, title, "call")


def warned(name: str, message: str, hint: str, source: str, value: Any = None, title: str = "") -> Case:
    """A program that runs, with a warning that shows the line with a caret."""
    return Case(name, WARNING, message, hint, source, title, "caret", value)


def supported(name: str, value: Any, source: str, title: str = "") -> Case:
    """A program of the plan's list that shadesmith runs."""
    return Case(name, "", "", "", source, title, "nowhere", value)


def with_feature(path: str, case: Case) -> Case:
    """`case`, or as long as the version lacks `path` ("ti.real_func") what its user reads."""
    owner: Any = ti
    try:
        for part in path.split(".")[1:]:
            owner = getattr(owner, part)
    except NotYetError:
        return Case(
            case.name, "NotYetError", f"{path} is not in this version", "docs/status", f"«{path}", case.title, "call"
        )
    return case


def refused_nowhere(name: str, error: str, message: str, hint: str, source: str, title: str = "") -> Case:
    """A program whose text cannot be found: the error names file and line, and shows none."""
    return Case(name, error, message, hint, source, title, "nowhere")


def warned_call(name: str, message: str, hint: str, source: str, value: Any = None, title: str = "") -> Case:
    """A program that runs, with a warning at a call from Python."""
    return Case(name, WARNING, message, hint, source, title, "call", value)
