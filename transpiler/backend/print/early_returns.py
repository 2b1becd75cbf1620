"""Bodies with many returns, for a driver that nests the rest of the body after each of them: lavapipe (Mesa 22.3).

Mesa turns `if (c) return; rest` into `if (c) {} else { rest }`, and runs wrong branches beyond 80 nested conditions.
Exits of a loop are not nested. This loop has one iteration; Mesa must not see that, or it removes the loop:

    if (outside_1(...)) return;    ->    do {  // reason
    x(i) = 0.0f;                             if (outside_1(...)) return;
    return t0;                               x(i) = 0.0f;
                                             if (gl_NumWorkGroups.x > 0u) {
                                                 return t0;
                                             }
                                         } while (gl_NumWorkGroups.x == 0u);  // always false
"""

from __future__ import annotations

from .lines import Line
from .statements import Statements

SHARE = 2
"""Exits may use this fraction of a driver's limit; conditions and calling functions need the rest."""


def leave_by_loop(printer: Statements, branch_depth_limit: int | None) -> None:
    """Put the printed lines into a loop of one iteration if they have too many exits for the target."""
    if branch_depth_limit is None or printer.exit_count <= branch_depth_limit // SHARE:
        return
    lines = [line._replace(depth=line.depth + 1) for line in printer.lines]
    if lines[printer.last_exit].depth == 1 and printer.last_exit:
        last = [line._replace(depth=2) for line in lines[printer.last_exit :]]
        lines[printer.last_exit :] = [Line(1, "if (gl_NumWorkGroups.x > 0u) {"), *last, Line(1, "}")]
    first = Line(0, "do {  // lavapipe nests the code after each `return` and fails at 80 levels, but not in a loop")
    printer.lines[:] = [first, *lines, Line(0, "} while (gl_NumWorkGroups.x == 0u);  // always false")]
