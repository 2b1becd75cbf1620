"""Bodies that are left in many places, for a driver that nests what follows each of them: lavapipe (Mesa 22.3).

Mesa turns `if (c) return; rest` into `if (c) {} else { rest }`, follows 80 nested conditions, and runs wrong branches
beyond. A loop is left without nesting; this one has one turn, which Mesa must not find out, or it takes it apart:

    if (outside_1(...)) return;    ->    do {  // why
    x(i) = 0.0f;                             if (outside_1(...)) return;
    return t0;                               x(i) = 0.0f;
                                             if (gl_NumWorkGroups.x > 0u) {
                                                 return t0;
                                             }
                                         } while (gl_NumWorkGroups.x == 0u);  // it never is
"""

from __future__ import annotations

from .statements import Line, Statements

SHARE = 2
"""Exits may be one part in so many of what a driver follows; conditions and functions that call this one need room."""


def leave_by_loop(printer: Statements, branch_depth_limit: int | None) -> None:
    """Put what `printer` has printed into a loop of one turn, if it is left too often for the target."""
    if branch_depth_limit is None or printer.exits <= branch_depth_limit // SHARE:
        return
    lines = [line._replace(depth=line.depth + 1) for line in printer.lines]
    if lines[printer.last_exit].depth == 1 and printer.last_exit:
        last = [line._replace(depth=2) for line in lines[printer.last_exit :]]
        lines[printer.last_exit :] = [Line(1, "if (gl_NumWorkGroups.x > 0u) {"), *last, Line(1, "}")]
    first = Line(0, "do {  // lavapipe nests what follows a `return`, and fails at 80; in a loop it does not")
    printer.lines[:] = [first, *lines, Line(0, "} while (gl_NumWorkGroups.x == 0u);  // it never is")]
