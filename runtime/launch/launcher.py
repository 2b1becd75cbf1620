"""One function per compiled specialization: pack the arguments, compute the extents, submit.

The only file where speed outranks form: the function is generated as Python source for exactly the arguments of the
specialization and compiled once, so a launch is straight-line code (benchmarks/launch.py measures it). The source holds
numbers and names made here, never strings of a user or of an archive.
"""

from __future__ import annotations

import operator
import struct
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from math import prod
from typing import TYPE_CHECKING, Any, Protocol

from ...transpiler.backend.module.divisors import packed_divisor
from ...transpiler.backend.module.interface import PACK_CODES, members_of
from ...transpiler.errors import ShadesmithWarning
from ...transpiler.ir.ops import OPS
from ...transpiler.ir.types import SCALARS
from ...transpiler.lazy_dataclasses import dataclass
from ...transpiler.options import MAX_ITERATIONS

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule, Expression, Member, TaskSource

MAX_SHIFT = 64
"""Upper bound of shifts: a larger one cannot give an extent, and an archive could make it allocate any memory."""

MAX_DIVISORS = 1024
"""Numbers of which a launcher remembers what is packed to divide by them."""

Packed = tuple[Sequence[int], bytes, tuple[Any, ...]]
"""What a launcher submits: iteration counts of the tasks, the packed arguments, and memory for `use_textures`."""


def pack_format(members: Sequence[Member], size_bytes: int) -> str:
    """Return the `struct` format of an argument block with explicit padding."""
    form, position = "<", 0
    for member in members:
        form += "x" * (member.offset_bytes - position) + PACK_CODES[member.type]
        position = member.offset_bytes + member.size_bytes
    return form + "x" * (size_bytes - position)


class Pending(Protocol):
    """What a launcher needs from a session: the actions that must precede a launch, and the launch counter."""

    epoch: int
    pending: list[Callable[[], None]]

    def flush_pending(self) -> None:
        """Run the pending actions."""


@dataclass(frozen=True, slots=True)
class LaunchHooks:
    """What the source of a launcher calls.

    Attributes:
        session: its `pending` writes run first, and its `epoch` counts launches.
        held: objects whose memory lives as long as the launcher.
        host_address, checked_address, tensor_address, cupy_address, gradient_of: return the address of an array, each
            for one library.
        stage: prepares all arrays of kind "other" at once, from (argument, array index) pairs and a stream if there is
            one; returns a `staging.StagedArguments`.
        flatten: returns the components of a tensor.
        flatten_struct: returns the components of a struct, given its parameter's position.
        accepts: takes a position and an argument, and returns whether it can be passed by value.
        sizes: number of elements of each argument that is a vector or matrix, else 0.
        seed: returns the number of a launch that draws random numbers.
        in_range: takes all arguments and returns them with numbers that fit; None if there are none that may need it.
        iteration_limit: iterations of serial loops after which the driver stops a thread, None if it has no limit.
        stream: returns the stream to launch on; None for launches without one.
        after: called last, with the staged arguments if there are some; returns the result.
        own: a lock held from before `stage` until after `after`.
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
    accepts: Callable[[int, Any], bool]
    sizes: Sequence[int]
    seed: Callable[[], int]
    iteration_limit: int | None
    in_range: Callable[..., Sequence[Any]] | None = None
    stream: Callable[[], int] | None = None
    after: Callable[..., Any] | None = None
    own: AbstractContextManager[Any] | None = None

    @property
    def are_plain(self) -> bool:
        """Whether a launch only packs and submits: nothing follows it, and no thread has to wait."""
        return self.after is None and self.own is None


def make_launcher(
    module: BackendModule,
    program: Any,
    argument_kinds: Sequence[str],
    constants: dict[tuple[Any, ...], int],
    hooks: LaunchHooks,
) -> Callable[..., Any]:
    """Return a function of the kernel's arguments that launches it.

    Args:
        module: the compiled kernel.
        program: what is submitted to.
        argument_kinds: one per argument: "scalar", "tensor", "struct", "texture" (has .memory and .shape), "ndarray"
            (has .allocation, .shape and .strides), "numpy", "torch", "cupy" (memory used in place, its address given by
            the library), "other" (all of them are staged at once), "template".
        constants: values of members that are known already, by their source.
        hooks: what the source calls.
    """
    generator = _LauncherSource(module, argument_kinds, constants, program, hooks)
    form = struct.Struct(pack_format(module.interface.members, module.interface.args_size_bytes))
    namespace = {
        "__name__": __name__,  # warnings look for the user's frame, above all of ours
        **{name: getattr(hooks, name) for name in LaunchHooks.__slots__},
        "buffer": program.arguments,
        "lock": program.lock,
        "submit": getattr(program, "submit_held", program.submit),
        "use_textures": getattr(program, "use_textures", None),
        "pack": form.pack,
        "pack_into": form.pack_into,
        "struct_error": struct.error,
        "as_integer": operator.index,
        "refuse_count": _refuse_count,
        "warn_of_iterations": _warn_of_iterations,
        "packed_divisor": packed_divisor,
        **{f"by{k}": {} for k in generator.divisors},
    }
    if generator.inlined is not None:
        namespace.update(generator.inlined.names)
    source = generator.source()
    if generator.packs_once:
        form.pack_into(program.arguments, 0, *(constants[m.source] for m in module.interface.members))
    exec(compile(source, f"<launcher of {module.kernel}>", "exec"), namespace)
    launch: Callable[..., Any] = namespace.pop("launch")  # else it would be in a reference cycle with its namespace
    return launch


def make_packer(
    module: BackendModule, argument_kinds: Sequence[str], constants: dict[tuple[Any, ...], int], hooks: LaunchHooks
) -> Callable[..., Packed]:
    """Return a function of the kernel's arguments that returns what its launcher would submit."""
    program = _CapturingProgram(module.interface.args_size_bytes)
    launch = make_launcher(module, program, argument_kinds, constants, hooks)

    def pack(*args: Any) -> Packed:
        launch(*args)
        return program.counts, program.packed, program.textures

    return pack


class _CapturingProgram:
    """A program that runs nothing and stores the launch that was submitted."""

    lock = None

    def __init__(self, size_bytes: int) -> None:
        self.arguments = bytearray(size_bytes)
        self.counts: Sequence[int] = ()
        self.packed = b""
        self.textures: tuple[Any, ...] = ()

    def use_textures(self, textures: tuple[Any, ...]) -> None:
        """Store the memory of textures."""
        self.textures = textures

    def submit(self, counts: Sequence[int], packed: bytes | None = None) -> None:
        """Store counts and arguments."""
        self.counts, self.packed = counts, bytes(self.arguments) if packed is None else packed


class _LauncherSource:
    """Generates the Python source of one launcher."""

    def __init__(
        self,
        module: BackendModule,
        argument_kinds: Sequence[str],
        constants: dict[tuple[Any, ...], int],
        program: Any,
        hooks: LaunchHooks,
    ) -> None:
        self.hooks = hooks
        self.module = module
        self.argument_kinds = argument_kinds
        self.constants = constants
        self.members = module.interface.members
        self.parameter_of_array = {index: a.parameter for index, a in enumerate(module.interface.arrays)}
        self.takes_strides = module.interface.takes_strides
        self.gradients = {member.source[1] for member in self.members if member.source[0] == "gradient"}
        self.divisors = {k for k, member in enumerate(self.members) if member.source[0] == "divisor"}
        self.objects: dict[int, str] = {}
        """Variable that holds the argument, or its gradient, by array index."""
        self.staged: dict[int, int] = {}
        """Position among the staged arrays, by array index."""
        self.packs_once = all(member.source in constants for member in self.members)
        self.locks = program.lock is not None
        self.brings_arguments = not self.locks and hooks.own is None
        is_alone = module.starts_one_task and hooks.are_plain and hooks.stream is None
        self.inlined = getattr(program, "inlined", None) if is_alone else None
        """What submits without a lock: nothing can come between the tasks, and a launch has its own argument block."""
        if self.inlined is not None:
            self.locks = False

    def source(self) -> str:
        """Return the definition of `launch`."""
        hooks = self.hooks
        lines = ["if session.pending: session.flush_pending()"]
        has_stream = hooks.stream is not None
        if has_stream:
            lines.append("s = stream()")
        work = self._by_value() + self._arrays(has_stream)
        if not self.packs_once:
            work += self._values()
        start = self._start(", s" if has_stream else "")
        work += _held("lock", start) if self.locks else start
        if hooks.after is not None:
            work.append(f"return after({'staged' if self.staged else ''})")
        lines += _held("own", work) if hooks.own is not None else work
        head = f"def launch({', '.join(f'p{k}' for k in range(len(self.argument_kinds)))}):"
        return "\n".join([head, *(f"    {line}" for line in lines)]) + "\n"

    def _values(self) -> list[str]:
        """Return lines that read the members that are neither given nor divisors; all extents of an array at once."""
        lines: list[str] = []
        shapes: dict[int, dict[int, int]] = {}
        for k, member in enumerate(self.members):
            match member.source:
                case ("shape", index, axis) if not self._is_constant(k) and self._is_own(index):
                    shapes.setdefault(index, {})[axis] = k
                case _ if not self._is_given(k) and k not in self.divisors:
                    lines.append(f"v{k} = {self._member(member)}")
        for index, axes in shapes.items():
            names = [
                f"v{axes[axis]}" if axis in axes else "_" for axis in range(self.module.interface.arrays[index].ndim)
            ]
            lines.append(f"{', '.join(names)}{',' if len(names) == 1 else ''} = {self.objects[index]}.shape")
        return lines

    def _is_own(self, index: int) -> bool:
        """Return whether an array is an ndarray of ours, whose shape has no axes of elements."""
        parameter = self.parameter_of_array[index]
        is_argument = parameter is not None and self.argument_kinds[parameter] == "ndarray"
        return is_argument and index not in self.gradients and index not in self.staged

    def _checks(self, counts: Sequence[tuple[str, bool]]) -> list[str]:
        """Return lines that compute and check the counts that are not known to be in range."""
        lines = []
        for index, (expression, bounded) in enumerate(counts):
            if not bounded:
                lines.append(f"c{index} = {expression}")
                name = self.module.tasks[index].name
                lines.append(f"if c{index} > {MAX_ITERATIONS}: refuse_count({name!r}, c{index})")
        for task in self.module.tasks:
            if task.serial_turns is not None:
                lines.append(f"count = {self._expression(task.serial_turns)}")
                lines.append(f"if count > iteration_limit: warn_of_iterations({task.name!r}, count, iteration_limit)")
        return lines

    def _start(self, stream: str) -> list[str]:
        """Return lines that pack, check and submit; until then no other thread may pack into the same buffer."""
        counts = [self._count(task) for task in self.module.tasks]
        names = [expression if bounded else f"c{index}" for index, (expression, bounded) in enumerate(counts)]
        numbers = f"({', '.join(names)}{',' if len(names) == 1 else ''})"
        values = ", ".join(map(self._value, range(len(self.members))))
        checks = self._textures() + self._integers_of_counts() + self._checks(counts)
        if self.inlined is not None:
            lines = self._inlined(values, checks, names)
        elif self.packs_once:
            lines = [*checks, f"submit({numbers}{stream})"]
        elif not self.brings_arguments:
            lines = [*self._packed(f"pack_into(buffer, 0, {values})"), *checks, f"submit({numbers}{stream})"]
        else:
            lines = [*self._packed(f"packed = pack({values})"), *checks, f"submit({numbers}, packed)"]
        return [*lines, "session.epoch += 1"]

    def _inlined(self, values: str, checks: Sequence[str], counts: Sequence[str]) -> list[str]:
        """Return the lines of a launch that contains those of `submit`; one that fails loses its argument block."""
        assert self.inlined is not None
        counted = [*checks, *(f"c{k} = {count}" for k, count in enumerate(counts) if count != f"c{k}")]
        take = ["try: taken = take()", "except IndexError: taken = new_block()"]
        if self.inlined.repeats:
            packed = [] if self.packs_once else self._packed(f"packed = pack({values})")
            own = [*take, "taken[3][:] = packed", "block = taken[1]"]
            own, end = (["block = arguments"], []) if self.packs_once else (own, ["give(taken)"])
            started = [*own, *self.inlined.lines, *end]
            return [*packed, *self.inlined.repeated("None" if self.packs_once else "packed", counted, started)]
        before, lines = self.inlined.before, self.inlined.lines
        if self.packs_once:
            return [*counted, "block = arguments", *before, *lines]
        pack = self._packed(f"pack_into(taken[0], 0, {values})")
        return [*take, *pack, *counted, "block = taken[1]", *before, *lines, "give(taken)"]

    def _integers_of_counts(self) -> list[str]:
        """Return the lines of `_integers` for what counts need."""
        tasks = self.module.tasks
        needed = {index for task in tasks for extent in task.extents or () for index in members_of(extent)}
        needed |= {index for task in tasks if task.serial_turns is not None for index in members_of(task.serial_turns)}
        return self._integers(needed)

    def _integers(self, needed: set[int]) -> list[str]:
        """Return lines that make numbers of other libraries, whose products wrap, Python's. needed: their members."""
        given = [k for k in sorted(needed) if self.members[k].source[0] == "argument" and not self._is_constant(k)]
        return [f"if {v}.__class__ is not int: {v} = as_integer({v})" for v in map(self._value, given)]

    def _packed(self, line: str) -> list[str]:
        """Return a line that packs, after which numbers out of range are fitted to their types and packed again."""
        lines = [*self._divisors(), line]
        if self.hooks.in_range is None:
            return lines
        given = ", ".join(f"p{k}" for k in range(len(self.argument_kinds)))
        again = [
            f"v{k} = {self._member(member)}"
            for k, member in enumerate(self.members)
            if member.source[0] == "argument" and not self._is_given(k)
        ]
        return [
            "try:",
            *(f"    {each}" for each in lines),
            "except (struct_error, OverflowError):",
            f"    {given}, = in_range({given})",
            *(f"    {more}" for more in (*self._by_value(), *again, *lines)),
        ]

    def _divisors(self) -> list[str]:
        """Return lines that compute what is packed for divisors, which are numbers of other members."""
        if not self.divisors:
            return []
        expressions = {k: self.module.interface.divisors[self.members[k].source[1]] for k in sorted(self.divisors)}
        read = {k: [*members_of(expression)] for k, expression in expressions.items()}
        numbers = {k: self._expression(expression) for k, expression in expressions.items()}
        keys = {k: self._value(used[0]) if len(used) == 1 else numbers[k] for k, used in read.items()}
        return [
            *self._integers({member for used in read.values() for member in used}),
            "try:",
            *(f"    v{k} = by{k}[{key}]" for k, key in keys.items()),
            "except KeyError:",
            *(f"    if len(by{k}) > {MAX_DIVISORS}: by{k}.clear()" for k in keys),
            *(f"    v{k} = by{k}[{key}] = packed_divisor({numbers[k]})" for k, key in keys.items()),
        ]

    def _textures(self) -> list[str]:
        """Return the line that passes the textures to a program that does not find them by its arguments."""
        textures = self.module.interface.textures
        if not textures or self.module.target != "vulkan":
            return []
        return [f"use_textures(({', '.join(f'p{texture.parameter}.memory' for texture in textures)},))"]

    def _by_value(self) -> list[str]:
        read = {member.source for member in self.members}
        lines = []
        for position, kind in enumerate(self.argument_kinds):
            size = self.hooks.sizes[position] if kind == "tensor" else int(kind == "scalar")
            if any(("argument", position, k) not in read for k in range(size)):  # packing does not check all numbers
                lines.append(f"if not accepts({position}, p{position}): raise TypeError")
            if kind == "tensor":
                lines.append(f"t{position} = flatten(p{position})")
                lines.append(f"if len(t{position}) != {size}: raise TypeError")
            elif kind == "struct":
                lines.append(f"t{position} = flatten_struct(p{position}, {position})")
        return lines

    def _arrays(self, has_stream: bool) -> list[str]:
        """Return lines that find the addresses of arrays of other libraries: `a` and the index of the array."""
        lines = []
        for index, array in enumerate(self.module.interface.arrays):
            if array.parameter is None:
                continue
            kind, strided = self.argument_kinds[array.parameter], self.takes_strides(index)
            given = self.objects[index] = f"p{array.parameter}"
            if index in self.gradients:
                given = self.objects[index] = f"g{index}"
                name = array.name.removesuffix("_grad")
                lines.append(f"g{index} = gradient_of(p{array.parameter}, {name!r}, {not strided})")
            if kind == "other":
                self.staged[index] = len(self.staged)
            elif kind == "numpy":
                function = "checked_address" if strided else "host_address"
                lines.append(f"a{index} = {function}({given}, {array.written})")
            elif kind == "torch":
                lines.append(f"a{index} = {f'tensor_address({given})' if array.written else f'{given}.data_ptr()'}")
            elif kind == "cupy":
                function = f"cupy_address({given})" if strided and array.written else f"{given}.data.ptr"
                lines.append(f"a{index} = {function}")
        if self.staged:
            pairs = ", ".join(f"({self.objects[index]}, {index})" for index in self.staged)
            lines.append(f"staged = stage([{pairs}]{', s' if has_stream else ''})")
            lines.append("arguments = staged.arguments")
        return lines

    def _is_constant(self, index: int) -> bool:
        return self.members[index].source in self.constants

    def _is_given(self, index: int) -> bool:
        """Return whether a member is a number that the launch is given."""
        source = self.members[index].source
        is_argument = source[0] == "argument" and not self._is_constant(index)
        return is_argument and self.argument_kinds[source[1]] not in ("tensor", "struct")

    def _value(self, index: int) -> str:
        """Return the variable with the value of a member."""
        return f"p{self.members[index].source[1]}" if self._is_given(index) else f"v{index}"

    def _member(self, member: Member) -> str:
        if member.source in self.constants:
            return str(self.constants[member.source])
        match member.source:
            case ("argument", position, component):
                has_components = self.argument_kinds[position] in ("tensor", "struct")
                return f"t{position}[{component}]" if has_components else f"p{position}"
            case ("pointer" | "gradient", index):
                address = "lowest" if self.module.interface.takes_begin(index) else "address"
                if index in self.staged:
                    return f"arguments[{self.staged[index]}].{address}"
                parameter = self.parameter_of_array[index]
                is_ndarray = parameter is not None and self.argument_kinds[parameter] == "ndarray"
                return f"{self.objects[index]}.allocation.{address}" if is_ndarray else f"a{index}"
            case ("shape", index, axis):
                return f"{self._shaped(index)}.shape[{axis}]"
            case ("stride", index, axis):
                return self._stride(index, axis)
            case ("begin", index):
                return f"{self._shaped(index)}.begin"
            case ("texture", index):
                texture = self.module.interface.textures[index]
                return f"p{texture.parameter}.memory.{'storage' if texture.storage else 'sampled'}"
            case ("texels", index):
                return f"p{self.module.interface.textures[index].parameter}.memory.texels"
            case ("texture_channels", index):
                return f"p{self.module.interface.textures[index].parameter}.spec.format.channels"
            case ("texture_shape", index, axis):
                return f"p{self.module.interface.textures[index].parameter}.shape[{axis}]"
            case ("seed",):
                return "seed()"
        raise ValueError(f"the launcher cannot compute member {member.name}")

    def _shaped(self, index: int) -> str:
        """Return the variable that has the shape of an array."""
        return f"arguments[{self.staged[index]}]" if index in self.staged else self.objects[index]

    def _stride(self, index: int, axis: int) -> str:
        """Return the distance of elements along an axis [elements], from each library's own unit."""
        parameter, array = self.parameter_of_array[index], self.module.interface.arrays[index]
        kind = "template" if parameter is None else self.argument_kinds[parameter]
        scalars = prod(array.element_shape)
        if kind == "torch":
            return f"{self.objects[index]}.stride({axis})" + (f" // {scalars}" if scalars > 1 else "")
        stride = f"{self._shaped(index)}.strides[{axis}]"
        if kind not in ("numpy", "cupy"):
            return stride
        scalar = SCALARS.get(array.element)  # None for a struct, whose NumPy array knows its size
        return f"{stride} // {f'{self._shaped(index)}.itemsize' if scalar is None else scalars * scalar.size_bytes}"

    def _count(self, task: TaskSource) -> tuple[str, bool]:
        """Return the number of iterations as a Python expression, and whether it is known to be in range."""
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
        source = self._expression(extent)
        return source if self._is_not_negative(extent) else f"max(0, {source})"

    def _is_not_negative(self, expression: Expression) -> bool:
        """Return whether an expression is at least 0 whatever the arguments are."""
        match expression:
            case ("const", value):
                return bool(int(value) >= 0)
            case ("member", index):
                return bool(self.members[index].source[0] == "shape")
            case ("max", *operands):
                return any(map(self._is_not_negative, operands))
            case ("add" | "mul" | "floordiv" | "min", *operands) | ("select", _, *operands):
                return all(map(self._is_not_negative, operands))
        return False

    def _expression(self, expression: Expression) -> str:
        match expression:
            case ("const", value):
                return str(int(value))
            case ("member", index):
                source = self.members[index].source
                return str(self.constants[source]) if source in self.constants else self._value(index)
            case ("max", value, ("const", 0)) | ("max", ("const", 0), value) if self._is_not_negative(value):
                return self._expression(value)
            case ("floordiv", value, ("const", by)) if by > 0:
                return f"({self._expression(value)} // {by})"
            case ("shl", value, by) if by[0] != "const" or by[1] > MAX_SHIFT:
                return f"({self._expression(value)} << min({self._expression(by)}, {MAX_SHIFT}))"
            case (op, *operands):
                return OPS[op].host.format(*map(self._expression, operands))
        raise ValueError(f"extent {expression!r}")


def _held(lock: str, lines: Sequence[str]) -> list[str]:
    """Return the lines inside a `with` statement that holds a lock."""
    return [f"with {lock}:", *(f"    {line}" for line in lines)]


def _warn_of_iterations(task: str, count: int, limit: int) -> None:
    warnings.warn(
        f"a thread of task `{task}` runs {count:,} iterations of serial loops; this driver (lavapipe) ends them "
        f"after {limit:,}, and the launch fails. Hint: use ti.cpu or a GPU, or make the outer loop parallel",
        ShadesmithWarning,
        stacklevel=3,
    )


def _refuse_count(task: str, count: int) -> None:
    raise OverflowError(
        f"the loop of task `{task}` has {count} iterations; a parallel loop takes at most {MAX_ITERATIONS}. "
        "Hint: split it into an outer range of launches or a serial inner loop"
    )
