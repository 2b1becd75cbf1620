"""Times of a kernel for the report page: those stored by searches, or measured now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...cache.compiler import compile_source
from ...launch.inspection import Inspection
from ...launch.kernel import Kernel
from ..edits.slots import slot_of
from ..edits.stored_tunings import flat, read_entries
from .report import Table

TITLE = "Times"
UNKNOWN = "Nothing was measured yet. `shadesmith report --bench` measures, and `shadesmith tune` stores its results."


def stored_times(inspections: Sequence[Inspection], edits_dir: str) -> Table:
    """Return the fastest values of tuning parameters that `kernel.tune` found, for each device and class of shapes."""
    rows: list[tuple[str, ...]] = []
    notes: list[str] = []
    for folder in dict.fromkeys(slot_of(inspection.specialization, edits_dir) for inspection in inspections):
        try:
            entries = read_entries(folder)
        except TaichiCompilationError as error:
            notes.append(str(error))
            continue
        for entry in entries:
            values = ", ".join(f"{name} = {value}" for name, value in flat(entry.best or {}).items())
            row = (entry.device, entry.shapes, entry.variant, values or "as written", f"{entry.ratio:.3g}")
            rows.append((*row, str(len(entry.trials))))
    header = ("device", "shapes", "variant", "fastest values", "time to the source's own", "trials")
    return Table(TITLE, header, tuple(rows), "\n".join(notes) or ("" if rows else UNKNOWN))


def measured_times(kernel: Kernel, arguments: Sequence[Any]) -> Table:
    """Time the generated source and its edits alternately, on copies of the arguments."""
    try:
        timing = kernel.bench(*arguments)
    except (TaichiCompilationError, TaichiRuntimeError) as error:
        return Table(TITLE, (), (), f"Not measured: {str(error).strip()}")
    header, *rows = timing.table()
    return Table(TITLE, header, tuple(rows), timing.title().removeprefix(f"{timing.kernel} "))


def compile_times(inspections: Sequence[Inspection]) -> Table:
    """Time the stages of the compiler, once for each target."""
    rows = []
    for inspection in inspections:
        times = compile_source(inspection.specialization).times
        rows.append((inspection.module.target, *(f"{1e3 * seconds:.2f} ms" for seconds in times.values())))
    return Table("Times of the compiler", ("target", "frontend", "passes", "emit"), tuple(rows))
