"""One function per compiled specialization: pack the arguments, compute the extents, submit.

The only file where speed outranks form: the function is written as Python text for exactly the arguments of the
specialization and compiled once, so a launch is straight-line code (benchmarks/launch.py measures it). The text holds
numbers and names made here, never text of a user's or of an archive.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from ...transpiler.backend.module.interface import PACK_CODES
from ...transpiler.errors import ShadesmithWarning
from ...transpiler.ir.ops import OPS
from ...transpiler.ir.types import SCALARS
from ...transpiler.options import MAX_ITERATIONS

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule, Expression, Member, TaskSource

MAX_SHIFT = 64
"""What is shifted by more is no extent, and would take as much memory as an archive says."""

Packed = tuple[Sequence[int], bytes, tuple[Any, ...]]
"""What a launcher submits: the count of each task, the packed arguments, and memory for `use_textures`."""


def pack_format(members: Sequence[Member], size_bytes: int) -> str:
    """Return the `struct` format of an argument block, padding written out."""
    text, position = "<", 0
    for member in members:
        text += "x" * (member.offset_bytes - position) + PACK_CODES[member.type]
        position = member.offset_bytes + member.size_bytes
    return text + "x" * (size_bytes - position)


class Pending(Protocol):
    """What a launcher asks of a session: what must happen before a launch, and the count of launches."""

    epoch: int
    pending: list[Callable[[], None]]

    def flush_pending(self) -> None:
        """Do what is pending."""


@dataclass(frozen=True, slots=True)
class LaunchHooks:
    """What the code of a launcher calls.

    session: its `pending` writes go first, and its `epoch` counts launches. held: whose memory lives as long as the
    launcher. host_address, checked_address, tensor_address, cupy_address, gradient_of: find the memory of an array as
    its library has it. stage: makes all arrays of kind "other" ready at once, given (argument, slot) pairs and a stream
    if there is one; returns a `staging.Stage`. flatten, flatten_struct: return the components of a tensor, and of a
    struct by its position. seed: gives the number of a launch that draws random numbers.
    stream: gives the stream to launch on, None for launches on none. after: called last, with the stage if there is
    one; gives the result. own: a lock that threads hold from before the stage until after `after`.
    """

    session: Pending
    held: Sequence[Any]
    host_address: Callable[..., int]
    checked_address: Callable[..., int]
    tensor_address: Callable[..., int]
    cupy_address: Callable[..., int]
    gradient_of: Callable[..., Any]
    stage: Callable[..., Any]
    flatten: Callable[[Any], list[Any]]
    flatten_struct: Callable[[Any, int], list[Any]]
    seed: Callable[[], int]
    iteration_limit: int | None
    stream: Callable[[], int] | None = None
    after: Callable[..., Any] | None = None
    own: AbstractContextManager[Any] | None = None

    @property
    def are_plain(self) -> bool:
        """Whether a launch only packs and submits: nothing is done after it, and no thread has to wait."""
        return self.after is None and self.own is None


def make_launcher(
    module: BackendModule,
    program: Any,
    argument_kinds: Sequence[str],
    constants: dict[tuple[Any, ...], int],
    hooks: LaunchHooks,
) -> Callable[..., Any]:
    """Return a function of the kernel's arguments that launches it.

    kinds: one an argument: "scalar", "tensor", "struct", "texture" (has .memory and .shape), "ndarray" (has
    .allocation, .shape and .strides), "numpy", "torch", "cupy" (memory used in place, found as the library has it),
    "other" (all of them are staged at once), "template". constants: values of members known now, by their source.
    """
    brings_arguments = program.lock is None and hooks.own is None
    writer = _Writer(module, argument_kinds, constants, brings_arguments, program.lock is not None)
    form = struct.Struct(pack_format(module.interface.members, module.interface.args_size_bytes))
    namespace = {
        **{name: getattr(hooks, name) for name in LaunchHooks.__slots__},
        "buffer": program.arguments,
        "lock": program.lock,
        "submit": getattr(program, "submit_held", program.submit),
        "use_textures": getattr(program, "use_textures", None),
        "pack": form.pack,
        "pack_into": form.pack_into,
        "too_many": _refuse,
        "too_long": _warn_of_turns,
    }
    text = writer.text(hooks)
    if writer.packs_once:
        form.pack_into(program.arguments, 0, *(constants[m.source] for m in module.interface.members))
    exec(compile(text, f"<launcher of {module.kernel}>", "exec"), namespace)
    launch: Callable[..., Any] = namespace.pop("launch")  # else it would keep itself, and all it knows, in a cycle
    return launch


def make_packer(
    module: BackendModule, argument_kinds: Sequence[str], constants: dict[tuple[Any, ...], int], hooks: LaunchHooks
) -> Callable[..., Packed]:
    """Return a function of the kernel's arguments that gives what its launcher would submit, and submits nothing."""
    kept = _Kept(module.interface.args_size_bytes)
    keep = make_launcher(module, kept, argument_kinds, constants, hooks)

    def pack(*args: Any) -> Packed:
        keep(*args)
        return kept.counts, kept.packed, kept.textures

    return pack


class _Kept:
    """A program that runs nothing and keeps what it was given."""

    lock = None

    def __init__(self, size_bytes: int) -> None:
        self.arguments = bytearray(size_bytes)
        self.counts: Sequence[int] = ()
        self.packed = b""
        self.textures: tuple[Any, ...] = ()

    def use_textures(self, textures: tuple[Any, ...]) -> None:
        """Keep the memory of textures."""
        self.textures = textures

    def submit(self, counts: Sequence[int], packed: bytes | None = None) -> None:
        """Keep counts and arguments."""
        self.counts, self.packed = counts, bytes(self.arguments) if packed is None else packed


class _Writer:
    """Writes the text of one launcher."""

    def __init__(
        self,
        module: BackendModule,
        argument_kinds: Sequence[str],
        constants: dict[tuple[Any, ...], int],
        brings_arguments: bool,
        locks: bool,
    ) -> None:
        self.brings_arguments, self.locks = brings_arguments, locks
        self.module = module
        self.argument_kinds = argument_kinds
        self.constants = constants
        self.members = module.interface.members
        self.parameter_of_slot = {slot: a.parameter for slot, a in enumerate(module.interface.arrays)}
        self.takes_strides = module.interface.takes_strides
        self.gradients = {member.source[1] for member in self.members if member.source[0] == "gradient"}
        self.given: dict[int, str] = {}
        """What the launcher calls the object of a slot: the argument, or its gradient."""
        self.staged: dict[int, int] = {}
        """Slots of arrays that are staged, with their numbers among these."""
        self.packs_once = all(member.source in constants for member in self.members)

    def text(self, hooks: LaunchHooks) -> str:
        """Return the definition of `launch`."""
        lines = ["if session.pending: session.flush_pending()"]
        has_stream = hooks.stream is not None
        if has_stream:
            lines.append("s = stream()")
        work = self._by_value() + self._arrays(has_stream)
        if not self.packs_once:
            work += [f"v{k} = {self._member(member)}" for k, member in enumerate(self.members)]
        start = self._start(", s" if has_stream else "")
        work += _held("lock", start) if self.locks else start
        if hooks.after is not None:
            work.append(f"return after({'staged' if self.staged else ''})")
        lines += _held("own", work) if hooks.own is not None else work
        head = f"def launch({', '.join(f'p{k}' for k in range(len(self.kinds)))}):"
        return "\n".join([head, *(f"    {line}" for line in lines)]) + "\n"

    def _checks(self, counts: Sequence[tuple[str, bool]]) -> list[str]:
        """Compute the counts that are not known to be in range, and check them."""
        lines = []
        for index, (expression, bounded) in enumerate(counts):
            if not bounded:
                lines.append(f"c{index} = {expression}")
                lines.append(f"if c{index} > {MAX_ITERATIONS}: too_many({self.module.tasks[index].name!r}, c{index})")
        for task in self.module.tasks:
            if task.serial_turns is not None:
                lines.append(f"turns = {self._expression(task.serial_turns)}")
                lines.append(f"if turns > iteration_limit: too_long({task.name!r}, turns, iteration_limit)")
        return lines

    def _start(self, stream: str) -> list[str]:
        """Pack, check and submit. Until then no other thread may pack into the same buffer."""
        counts = [self._count(task) for task in self.module.tasks]
        names = [expression if bounded else f"c{index}" for index, (expression, bounded) in enumerate(counts)]
        numbers = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
        values = ", ".join(f"v{k}" for k in range(len(self.members)))
        checks = self._checks(counts)
        checks = self._textures() + checks
        if self.packs_once:
            lines = [*checks, f"submit({numbers}{stream})"]
        elif not self.brings_arguments:
            lines = [f"pack_into(buffer, 0, {values})", *checks, f"submit({numbers}{stream})"]
        elif checks:
            lines = [f"packed = pack({values})", *checks, f"submit({numbers}, packed)"]
        else:
            lines = [f"submit({numbers}, pack({values}))"]
        return [*lines, "session.epoch += 1"]

    def _textures(self) -> list[str]:
        """Say which textures a launch is for, to a program that finds them otherwise than by its arguments."""
        textures = self.module.interface.textures
        if not textures or self.module.target != "vulkan":
            return []
        return [f"use_textures(({', '.join(f'p{texture.parameter}.memory' for texture in textures)},))"]

    def _by_value(self) -> list[str]:
        lines = []
        for position, kind in enumerate(self.argument_kinds):
            if kind == "tensor":
                lines.append(f"t{position} = flatten(p{position})")
            elif kind == "struct":
                lines.append(f"t{position} = flatten_struct(p{position}, {position})")
        return lines

    def _arrays(self, has_stream: bool) -> list[str]:
        """Find the addresses of arrays of other libraries: `a` and the number of the slot."""
        lines = []
        for slot, array in enumerate(self.module.interface.arrays):
            if array.parameter is None:
                continue
            kind, strided = self.argument_kinds[array.parameter], self.takes_strides(slot)
            given = self.given[slot] = f"p{array.parameter}"
            if slot in self.gradients:
                given = self.given[slot] = f"g{slot}"
                name = array.name.removesuffix("_grad")
                lines.append(f"g{slot} = gradient_of(p{array.parameter}, {name!r}, {not strided})")
            if kind == "other":
                self.staged[slot] = len(self.staged)
            elif kind == "numpy":
                function = "checked_address" if strided else "host_address"
                lines.append(f"a{slot} = {function}({given}, {array.written})")
            elif kind == "torch":
                lines.append(f"a{slot} = {f'tensor_address({given})' if array.written else f'{given}.data_ptr()'}")
            elif kind == "cupy":
                function = f"cupy_address({given})" if strided and array.written else f"{given}.data.ptr"
                lines.append(f"a{slot} = {function}")
        if self.staged:
            pairs = ", ".join(f"({self.given[slot]}, {slot})" for slot in self.staged)
            lines.append(f"staged = stage([{pairs}]{', s' if has_stream else ''})")
            lines.append("arguments = staged.arguments")
        return lines

    def _member(self, member: Member) -> str:
        if member.source in self.constants:
            return str(self.constants[member.source])
        match member.source:
            case ("argument", position, component):
                return f"t{position}[{component}]" if self.argument_kinds[position] in ("tensor", "struct") else f"p{position}"
            case ("pointer" | "gradient", slot):
                address = "lowest" if self.module.interface.takes_begin(slot) else "address"
                if slot in self.staged:
                    return f"arguments[{self.staged[slot]}].{address}"
                parameter = self.parameter_of_slot[slot]
                is_ours = parameter is not None and self.argument_kinds[parameter] == "ndarray"
                return f"{self.given[slot]}.allocation.{address}" if is_ours else f"a{slot}"
            case ("shape", slot, axis):
                return f"{self._shown(slot)}.shape[{axis}]"
            case ("stride", slot, axis):
                return self._stride(slot, axis)
            case ("begin", slot):
                return f"{self._shown(slot)}.begin"
            case ("texture", slot):
                texture = self.module.interface.textures[slot]
                return f"p{texture.parameter}.memory.{'storage' if texture.storage else 'sampled'}"
            case ("texels", slot):
                return f"p{self.module.interface.textures[slot].parameter}.memory.texels"
            case ("texture_channels", slot):
                return f"p{self.module.interface.textures[slot].parameter}.spec.format.channels"
            case ("texture_shape", slot, axis):
                return f"p{self.module.interface.textures[slot].parameter}.shape[{axis}]"
            case ("seed",):
                return "seed()"
        raise ValueError(f"member {member.name} has no source at launch")

    def _shown(self, slot: int) -> str:
        """Return what has the shape of an array."""
        return f"arguments[{self.staged[slot]}]" if slot in self.staged else self.given[slot]

    def _stride(self, slot: int, axis: int) -> str:
        """Return the distance of elements along an axis [elements], from what each library counts in."""
        parameter, array = self.parameter_of_slot[slot], self.module.interface.arrays[slot]
        kind = "template" if parameter is None else self.argument_kinds[parameter]
        scalars = prod(array.element_shape)
        if kind == "torch":
            return f"{self.given[slot]}.stride({axis})" + (f" // {scalars}" if scalars > 1 else "")
        text = f"{self._shown(slot)}.strides[{axis}]"
        if kind not in ("numpy", "cupy"):
            return text
        scalar = SCALARS.get(array.element)  # None for a struct, whose NumPy array knows its size
        return f"{text} // {f'{self._shown(slot)}.itemsize' if scalar is None else scalars * scalar.size_bytes}"

    def _count(self, task: TaskSource) -> tuple[str, bool]:
        """Return the number of iterations as Python text, and whether it is known to be in range."""
        if task.kind == "serial":
            return "1", True
        if task.extents is None:
            return "-1", True
        extents = [self._extent(extent) for extent in task.extents]
        if all(extent.lstrip("-").isdigit() for extent in extents):
            count = 1
            for extent in extents:
                count *= max(0, int(extent))
            return str(count), count <= MAX_ITERATIONS
        return " * ".join(extents), False

    def _extent(self, extent: Expression) -> str:
        text = self._expression(extent)
        if text.lstrip("-").isdigit() or (extent[0] == "member" and self.members[extent[1]].source[0] == "shape"):
            return text
        return f"max(0, {text})"

    def _expression(self, expression: Expression) -> str:
        match expression:
            case ("const", value):
                return str(int(value))
            case ("member", index):
                source = self.members[index].source
                return str(self.constants[source]) if source in self.constants else f"v{index}"
            case ("shl", value, by) if by[0] != "const" or by[1] > MAX_SHIFT:
                return f"({self._expression(value)} << min({self._expression(by)}, {MAX_SHIFT}))"
            case (op, *operands):
                return OPS[op].host.format(*map(self._expression, operands))
        raise ValueError(f"extent {expression!r}")


def _held(lock: str, lines: Sequence[str]) -> list[str]:
    """Return the lines with a lock held."""
    return [f"with {lock}:", *(f"    {line}" for line in lines)]


def _warn_of_turns(task: str, turns: int, limit: int) -> None:
    warnings.warn(
        f"a thread of task `{task}` runs {turns:,} iterations of serial loops; this driver (lavapipe) silently ends "
        f"them after {limit:,}. Hint: use ti.cpu or a GPU, or make the outer loop parallel",
        ShadesmithWarning,
        stacklevel=3,
    )


def _refuse(task: str, count: int) -> None:
    raise OverflowError(
        f"the loop of task `{task}` has {count} iterations; a parallel loop takes at most {MAX_ITERATIONS}. "
        "Hint: split it into an outer range of launches or a serial inner loop"
    )
