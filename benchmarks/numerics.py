"""Errors of the mathematical functions on each target, in units in the last place (ulp), as a Markdown table.

    python benchmarks/numerics.py [--targets cpu,vulkan,python] [--write docs/numerics.md]

`accuracy.py` defines the arguments and the errors. A cell has the greatest error of 4,000 results with
`fast_math=False`, and after a slash that with `fast_math=True`, if it differs. ∞ stands for a wrong NaN, infinity or
sign of a zero, `*` for results that are right if subnormal numbers count as 0, on a device that cannot keep them.
`--write` puts the columns into the table of a document; columns of other machines stay.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import accuracy
import numpy as np

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

Column = dict[str, str]
"""The cells of a column by function."""

FIRST = "| function |"


def device_name(target: str) -> str:
    """Return the target, for Vulkan with its device, whose functions these are."""
    adapter = getattr(sessions.CURRENT.device, "adapter", None)
    return target if adapter is None else f"{target}, {adapter.name.split(' (')[0]}"


def measure(target: str, dtype: str, fast_math: bool) -> tuple[str, Column]:
    """Return the title of a column and the greatest error [ulp] of every function, with its `*` if it has one."""
    ti.init(
        arch=getattr(ti, target),
        default_fp=getattr(ti, dtype),
        fast_math=fast_math,
        enable_fallback=False,
        log_level=ti.ERROR,
    )
    errors: Column = {}
    is_flushing = not fast_math and accuracy.flushes_subnormals(dtype)
    for arity in (1, 2):
        rows = tuple(row for row in accuracy.ROWS if row.arity == arity)
        found = accuracy.evaluate(rows, dtype)
        for row in rows:
            true = accuracy.true_values(row, dtype)[1]
            error = number(float(accuracy.ulp_errors(found[row.name], true, row.any_zero).max()))
            if is_flushing and row.flushed is not None:
                lesser = number(float(accuracy.errors_where_flushed(row, dtype, found[row.name]).max()))
                error = error if lesser == error else f"{lesser}*"
            errors[row.name] = error
    return f"{device_name(target)} {dtype}", errors


def number(ulp: float) -> str:
    """Return an error as text: 0.50, 7.1e6, ∞."""
    if np.isinf(ulp):
        return "∞"
    return f"{ulp:.2f}".replace("0.00", "0") if ulp < 100 else f"{ulp:.0e}".replace("e+0", "e").replace("e+", "e")


def column(target: str, dtype: str) -> tuple[str, Column]:
    """Return the title and the cells of one target and type."""
    title, exact = measure(target, dtype, False)
    fast = measure(target, dtype, True)[1]
    cells = {}
    for row in accuracy.ROWS:
        both = dict.fromkeys((exact[row.name], fast[row.name]))
        cells[f"`{row.name}`"] = " / ".join(both)
    return title, cells


def table(columns: dict[str, Column]) -> list[str]:
    """Return the lines of a table."""
    lines = [f"{FIRST} {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    names = next(iter(columns.values()))
    return [
        *lines,
        *(f"| {name} | {' | '.join(cells.get(name, '') for cells in columns.values())} |" for name in names),
    ]


def merge(document: Path, columns: dict[str, Column]) -> None:
    """Replace the columns of these titles in the document's table, or add them at its right."""
    lines = document.read_text(encoding="utf-8").split("\n")
    begin = next(k for k, line in enumerate(lines) if line.startswith(FIRST))
    end = next(k for k in range(begin, len(lines)) if not lines[k].startswith("|"))
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[begin:end]]
    known = {
        title: {row[0]: row[position] for row in rows[2:]} for position, title in enumerate(rows[0]) if position > 0
    }
    names = dict.fromkeys([*next(iter(columns.values()))])
    merged = {title: {name: cells.get(name, "") for name in names} for title, cells in (known | columns).items()}
    document.write_text("\n".join([*lines[:begin], *table(merged), *lines[end:]]), encoding="utf-8")


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--targets", default="cpu,vulkan,python")
    parser.add_argument("--write", type=Path, help="a Markdown document with such a table")
    options = parser.parse_args()
    columns = dict(column(target, dtype) for target in options.targets.split(",") for dtype in accuracy.TYPES)
    print("\n".join(table(columns)))
    if options.write:
        merge(options.write, columns)


if __name__ == "__main__":
    main()
