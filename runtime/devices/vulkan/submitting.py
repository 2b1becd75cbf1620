"""The function that records the launches of one Vulkan kernel: generated Python, since every launch runs it.

In: the tasks of a kernel, a queue or tape, and what the recording functions need. Out: `submit_held(counts)`. The
generated source holds numbers and names made here, never a user's; kernels whose tasks have the same shapes share it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import Any

from ....transpiler.backend.module.interface import TaskSource
from ....transpiler.lazy_dataclasses import dataclass
from .queue import EAGER_THREADS

STRIDED_GROUPS = 1024
"""Groups of a task whose trip count only the device knows; it has a grid-stride loop."""

Submit = Callable[[Sequence[int]], None]


@dataclass(frozen=True, slots=True)
class PushedArguments:
    """The push constants of a program. store: copies longer arguments to memory first, None if there are none."""

    layout: Any
    size_bytes: int
    values: Any
    store: Callable[[], None] | None


@dataclass(frozen=True, slots=True)
class TaskPipeline:
    """A task with its pipeline. most: groups of a row; fewer: returns groups per row, and rows, for more of them."""

    task: TaskSource
    pipeline: Any
    most: int
    fewer: Callable[[int], tuple[int, int]]


def make_submitter(
    queue: Any,
    kernel: str,
    functions: Sequence[Callable[..., None]],
    arguments: PushedArguments,
    tasks: Sequence[TaskPipeline],
    bind_textures: Callable[[Any], None] | None,
    null: Any,
    is_read: bool = False,
    repeats: Any = None,
) -> Submit:
    """Return `submit_held(counts)`, which records all tasks; the caller has held the lock since it packed arguments.

    functions: of the driver, for barriers, push constants, pipelines and dispatches. is_read: results are read after
    each launch, which submits it. repeats: starts launches that were seen before; None for a tape.
    For one parallel loop in groups of 128:

        def submit_held(counts):
            if repeats.is_on and queue.commands is None and repeats.submit(counts):
                c0, = counts
                if queue.recorded >= queue.limit or c0 >= 1048576: queue.offer()
                return
            commands = queue.commands or begin()
            push(commands, layout, 32, 0, 12, values)
            recorded = queue.recorded
            queue.recorded = recorded + 1
            c0, = counts
            if c0 == -1: c0 = 131072
            if c0 > 0:
                r0, g0 = 1, (c0 + 127) // 128
                if g0 > 65535: g0, r0 = fewer0(g0)
                if recorded: barrier(commands, stages, stages, 0, 1, memory, 0, null, 0, null)
                bind(commands, 1, p0)
                dispatch(commands, g0, r0, 1)
            remember(kernel)
            if queue.recorded >= queue.limit or c0 >= 1048576: queue.offer()

    There is a barrier before every dispatch but the first: to find out which need none costs as much, 0.8 us.
    """
    namespace = {
        **dict(zip(("barrier", "push", "bind", "dispatch"), functions, strict=True)),
        "queue": queue,
        "begin": getattr(queue, "begin", None),  # a tape is always open
        "store": arguments.store,
        "layout": arguments.layout,
        "values": arguments.values,
        "bind_textures": bind_textures,
        "stages": queue.stages,
        "memory": queue.barrier,
        "null": null,
        "remember": queue.recent.append,
        "kernel": kernel,
        "repeats": repeats,
        **{f"p{index}": task.pipeline for index, task in enumerate(tasks)},
        **{f"fewer{index}": task.fewer for index, task in enumerate(tasks)},
    }
    options = arguments.store is not None, bind_textures is not None, is_read, repeats is not None
    exec(_code_of(tuple(map(_shape, tasks)), arguments.size_bytes, *options), namespace)  # noqa: S102
    submit: Submit = namespace.pop("submit_held")  # else it would be in a reference cycle with its namespace
    return submit


Shape = tuple[int, int, bool]
"""Of a task: iterations of a group, most groups of a row, whether it is serial."""


def _shape(task: TaskPipeline) -> Shape:
    return task.task.iterations_per_block, task.most, task.task.kind == "serial"


@lru_cache(256)
def _code_of(
    shapes: tuple[Shape, ...], push_bytes: int, stores: bool, has_textures: bool, is_read: bool, repeats: bool
) -> CodeType:
    """Return the code that defines `submit_held`."""
    names = [f"c{index}" for index in range(len(shapes))]
    taken = [f"{', '.join(names)}{',' if len(names) == 1 else ''} = counts"] if names else []
    offer = _offer_line(shapes, names, is_read)
    lines = []
    if repeats:
        alone = "" if len(shapes) > 1 else "queue.commands is None and "  # else it is as many commands
        lines.append(f"if repeats.is_on and {alone}repeats.submit(counts):")
        lines += [f"    {line}" for line in (*taken, *_known(shapes), offer, "return")]
    lines.append("commands = queue.commands or begin()")
    if stores:
        lines += ["store()", "commands = queue.commands"]
    if push_bytes:
        lines.append(f"push(commands, layout, 32, 0, {push_bytes}, values)")
    if has_textures:
        lines.append("bind_textures(commands)")
    lines += ["recorded = queue.recorded", f"queue.recorded = recorded + {len(shapes)}"]  # Ctrl-C may interrupt
    lines += taken
    for index, shape in enumerate(shapes):
        lines += _task_lines(index, *shape, is_last=index == len(shapes) - 1)
    lines += ["remember(kernel)", offer]
    source = "\n".join(["def submit_held(counts):", *(f"    {line}" for line in lines)])
    return compile(source, "<launcher of Vulkan kernels>", "exec")


def _offer_line(shapes: tuple[Shape, ...], names: Sequence[str], is_read: bool) -> str:
    """Return the line that submits what was recorded, if it is much."""
    work = ["queue.recorded >= queue.limit"]
    if not is_read and not all(is_serial for _, _, is_serial in shapes):
        work.append(f"{' + '.join(names)} >= {EAGER_THREADS}")
    return f"if {' or '.join(work)}: queue.offer()"


def _unknown(iterations: int, most: int) -> int:
    """Return the trip count for which a task is started if only the device knows how many iterations it has."""
    return min(most, STRIDED_GROUPS) * iterations


def _known(shapes: tuple[Shape, ...]) -> list[str]:
    """Return the lines that replace unknown trip counts."""
    found = ((index, *shape) for index, shape in enumerate(shapes))
    return [f"if c{k} == -1: c{k} = {_unknown(size, most)}" for k, size, most, is_serial in found if not is_serial]


def _task_lines(index: int, iterations: int, most: int, is_serial: bool, is_last: bool) -> list[str]:
    """Return the lines that record one task."""
    count, groups, rows = f"c{index}", f"g{index}", f"r{index}"
    rounded = f"({count} + {iterations - 1}) // {iterations}" if iterations > 1 else count
    work = [
        f"{rows}, {groups} = 1, {rounded}",
        f"if {groups} > {most}: {groups}, {rows} = fewer{index}({groups})",
        "if recorded: barrier(commands, stages, stages, 0, 1, memory, 0, null, 0, null)",
        f"bind(commands, 1, p{index})",
        f"dispatch(commands, {groups}, {rows}, 1)",
        *([] if is_last else ["recorded += 1"]),
    ]
    known = [] if is_serial else [f"if {count} == -1: {count} = {_unknown(iterations, most)}"]
    return [*known, f"if {count} > 0:", *(f"    {line}" for line in work)]
