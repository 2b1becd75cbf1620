"""Times of a kernel for the report page: those stored by searches, or measured now, as tables and charts."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from ....transpiler.backend.module.interface import PACK_CODES
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...cache.compiler import compile_source
from ...launch.inspection import Inspection
from ...launch.kernel import Kernel
from ..edits.slots import slot_of
from ..edits.stored_tunings import flat, read_entries
from ..measure.bench import Timing
from ..measure.replicas import packed_call
from ..measure.roofline import benched_ceilings, work_of_module
from ..measure.timing import in_words
from .charts import Bar, Point, bars, roofline, strips
from .report import Table

TITLE = "Times"
SHOWN_PASSES = 12
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


def measured_times(kernel: Kernel, arguments: Sequence[Any]) -> tuple[Table, tuple[str, ...]]:
    """Time the generated source and its edits alternately, on copies of the arguments. Returns a table, and charts."""
    try:
        timing = kernel.bench(*arguments)
    except (TaichiCompilationError, TaichiRuntimeError) as error:
        return Table(TITLE, (), (), f"Not measured: {str(error).strip()}"), ()
    header, *rows = timing.table()
    title = timing.title().removeprefix(f"{timing.kernel} ")
    chart = strips("Times of a launch, by round", [(row.name, row.times) for row in timing.rows], in_words)
    return Table(TITLE, header, tuple(rows), title), (chart, *_roofline(kernel, arguments, timing))


def _roofline(kernel: Kernel, arguments: Sequence[Any], timing: Timing) -> Sequence[str]:
    """Return the chart of all variants below what the device can do, none if the work cannot be counted."""
    variants = kernel.variants(*arguments)
    packed, counts = packed_call(variants, variants.generated)
    members = variants.generated.interface.members
    values = {
        member.source: struct.unpack_from(f"<{PACK_CODES[member.type]}", packed, member.offset_bytes)[0]
        for member in members
    }
    works = work_of_module(variants.session, variants.specialization, variants.generated, values, counts)
    moved, computed = sum(work.bytes for work in works), sum(work.operations for work in works)
    if not moved or not computed:
        return ()
    ceilings = benched_ceilings(variants.session)
    points = [Point(row.name, computed / moved, computed / max(row.median, 1e-12)) for row in timing.rows]
    exact = "" if all(work.is_exact for work in works) else ", counted as if all branches were taken"
    title = f"Roofline: {moved / 1e6:.4g} MB, {computed / 1e6:.4g} Mflop a launch{exact}"
    return [roofline(title, points, ceilings.bandwidth, ceilings.rate)]


def compile_times(inspections: Sequence[Inspection]) -> tuple[Table, tuple[str, ...]]:
    """Time the stages of the compiler for each target. Returns a table, and a chart of the passes for the first."""
    rows = []
    charts: list[str] = []
    for inspection in inspections:
        found = compile_source(inspection.specialization)
        rows.append((inspection.module.target, *(f"{1e3 * seconds:.2f} ms" for seconds in found.times.values())))
        if not charts:
            longest = sorted(found.passes.items(), key=lambda item: -item[1])[:SHOWN_PASSES]
            title = f"The {len(longest)} longest of {len(found.passes)} passes, {inspection.module.target}"
            charts.append(bars(title, [Bar(name, seconds) for name, seconds in longest], in_words))
    return Table("Times of the compiler", ("target", "frontend", "passes", "emit"), tuple(rows)), tuple(charts)
