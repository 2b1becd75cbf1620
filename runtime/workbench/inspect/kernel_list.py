"""`ti.kernels()` and `kernel.cache_info()`: the kernels of this process, their instances, and what the cache did.

In: the kernels that exist, the statistics of the cache. Out: printable lists. shadesmith's own kernels, which
`ti.algorithms` and `ti.linalg` launch, have the tag `builtin`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....transpiler.errors import PACKAGE
from ....transpiler.frontend.source.specialization import Argument, TemplateArgument
from ...launch.arguments.signatures import signature_of
from ...launch.instance import Instance
from ...launch.kernel import KERNELS, Kernel
from ...store.stats import COUNTS, Event

BUILTIN = "builtin"


@dataclass(frozen=True, slots=True)
class InstanceEntry:
    """A specialization that was compiled in the current session.

    signature: as `kernel.signature` shows it; of two that would read alike, each has a number behind it.
    variant: which source runs. tasks: the number of launches on the device for a call.
    """

    signature: str
    target: str
    variant: str
    tasks: int
    from_cache: bool

    def __str__(self) -> str:
        tasks = "1 task" if self.tasks == 1 else f"{self.tasks} tasks"
        how = ", from the cache" if self.from_cache else ""
        return f"{self.signature} on {self.target}, {self.variant}, {tasks}{how}"


@dataclass(frozen=True, slots=True)
class KernelEntry:
    """A kernel. tag: "builtin" for shadesmith's own, else "". kernel: the object."""

    name: str
    file: str
    line: int
    tag: str
    instances: tuple[InstanceEntry, ...]
    kernel: Kernel

    def __str__(self) -> str:
        where = BUILTIN if self.tag else f"{self.file}:{self.line}"
        head = f"{self.name}  [{where}]" + ("" if self.instances else "  not compiled")
        return "\n".join([head, *(f"    {instance}" for instance in self.instances)])


class KernelList(list[KernelEntry]):
    """Kernels, the user's in order of file and line, then the built-in ones; printable."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else "no kernels"


def kernels() -> KernelList:
    """Return all kernels of this process, each with its instances in the current session.

    Example:
        >>> @ti.kernel
        ... def fill(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] = i
        >>> any(entry.name == "fill" for entry in ti.kernels())
        True
    """
    entries = map(_entry, list(KERNELS))
    return KernelList(sorted(entries, key=lambda entry: (entry.tag, entry.file, entry.line, entry.name)))


def _entry(kernel: Kernel) -> KernelEntry:
    function = kernel.definition.function
    module = str(function.__globals__.get("__name__"))
    is_own = module.startswith(f"{PACKAGE}.") and not module.startswith(f"{PACKAGE}.examples")
    entries = [_instance_entry(kernel, instance, variant) for instance, variant in kernel.instances_with_variants()]
    return KernelEntry(
        kernel.definition.qualname.rpartition("<locals>.")[2], function.__code__.co_filename,
        function.__code__.co_firstlineno, BUILTIN if is_own else "", tuple(_distinguished(entries)), kernel,
    )  # fmt: skip


def _instance_entry(kernel: Kernel, instance: Instance, variant: str) -> InstanceEntry:
    arguments = [_present(argument) for argument in instance.arguments]
    module = instance.module
    signature = signature_of(kernel.definition, arguments)
    return InstanceEntry(signature, module.target, variant, len(module.tasks), "cache" in instance.times)


def _present(argument: Argument) -> Argument:
    """Return an argument with the object that an instance shows, if it still exists."""
    if not isinstance(argument, TemplateArgument):
        return argument
    found = getattr(argument.value, "object", lambda: None)()
    return argument if found is None else TemplateArgument(found)


def _distinguished(entries: Sequence[InstanceEntry]) -> list[InstanceEntry]:
    """Return entries of which no two have the same signature."""
    count, seen = Counter(entry.signature for entry in entries), Counter[str]()
    found = []
    for entry in entries:
        seen[entry.signature] += 1
        number = f" #{seen[entry.signature]}" if count[entry.signature] > 1 else ""
        found.append(replace(entry, signature=entry.signature + number))
    return found


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What the cache did for a kernel in this process.

    hits, misses: look-ups of its source and its IR. instances: compiled in the current session, each reused by all
    later calls with such arguments. events: the look-ups, with the reason of each.
    """

    kernel: str
    hits: int
    misses: int
    instances: int
    events: tuple[Event, ...]

    def __str__(self) -> str:
        instances = "1 instance" if self.instances == 1 else f"{self.instances} instances"
        head = f"{self.kernel}: {self.hits} hits, {self.misses} misses; {instances} in this session"
        return "\n".join([head, *(f"    {event}" for event in self.events)])


def cache_info(kernel: Kernel) -> CacheInfo:
    """Return what the cache did for a kernel; kernels of one name are counted together."""
    name = kernel.definition.name
    stems = {_stem(file.name) for instance in kernel.instances() for file in instance.module.files}
    events = tuple(
        event
        for event in COUNTS.snapshot().events
        if event.what == name or (event.stage == "binary" and _stem(event.what) in stems)
    )
    hits = sum(event.hit for event in events)
    return CacheInfo(name, hits, len(events) - hits, len(kernel.instances()), events)


def _stem(file: str) -> str:
    return file.rpartition(".")[0]
