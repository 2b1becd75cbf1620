"""One compiled specialization: its module, its program on the device, and the buffers only it uses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast
from weakref import WeakSet, ref

from ...transpiler.errors import TaichiRuntimeTypeError, warn_user
from ...transpiler.frontend.source.specialization import (
    ScalarArgument,
    Specialization,
    StructArgument,
    TemplateArgument,
)
from ...transpiler.ir.types import Scalar, Tensor
from ...transpiler.lazy_dataclasses import dataclass
from ..arrays.interop import check_argument, checked_address, cupy_address, gradient_of, host_address, tensor_address
from ..arrays.memory import handle_of
from ..arrays.staging import StagedArguments, stage_arguments
from ..devices.device import GpuDevice
from ..fields.auxiliary_array import AuxiliaryArray
from ..fields.tree_memory import depend_on_tree
from ..loading import loader
from ..locks import new_lock
from ..session.allocation_handle import AllocationHandle
from ..session.programs import Code
from ..session.session import Session
from .access_sets import FindAccessSet, access_set_function
from .arguments.captured import Constants, captured_constants
from .arguments.identities import objects_in, weak_reference
from .arguments.owners import check_captured
from .arguments.packing import fits_struct, fitted, flatten, flatten_struct, is_number
from .arguments.results import Results
from .launcher import LaunchHooks, Packed, make_launcher, make_packer
from .stale_globals import watch

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule
    from .printing import Reports

    class _Printing(Protocol):
        def Reports(self, session: Session, module: BackendModule, arguments: Any) -> Reports: ...  # noqa: N802


_printing: Callable[[], _Printing] = loader(".printing", __package__)
_times = loader(".launch_times", __package__)
_watchdog = loader(".watchdog", __package__)

MIN_BUFFER_BYTES = 16


class Dependent(Protocol):
    """An object that stores launchers of instances; `drop` is called when one of these is invalidated."""

    def drop(self) -> None:
        """Forget all launchers; may be called at any time."""


Packer = tuple[Callable[..., Packed], FindAccessSet]
"""Functions of the kernel's arguments: what a launch would submit, and its access set."""


@dataclass(frozen=True, slots=True)
class Launcher:
    """A launchable specialization.

    launch: takes the kernel's arguments and launches it. make_packer: returns a function that packs them without
    launching; None if a launch does more than submit.
    """

    launch: Callable[..., Any]
    make_packer: Callable[[], Packer] | None = None


class ObservedLaunches(Protocol):
    """The launches of one launcher, for an observer."""

    @property
    def program(self) -> Any:
        """The program that the launcher submits to."""

    def wrapped(self, launch: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that replaces `launch`."""


class LaunchObserver(Protocol):
    """Observes the launches of all kernels whose launchers are made while it is in `LAUNCH_OBSERVERS`."""

    def observe(
        self, instance: Instance, program: Any, compilation: Compilation, argument_kinds: Sequence[str]
    ) -> ObservedLaunches | None:
        """Return the observation of an instance's launches, which passes them to `program`; None to ignore them."""


LAUNCH_OBSERVERS: list[LaunchObserver] = []
"""Observers that are called when a launcher is made."""


class Instance:
    """A specialization ready to run. module: the compiled code; times: [s] per stage.

    It keeps no field and no template argument alive, but expires with the first of them that dies: `invalidate` is
    called, and with it the kernel's `on_invalidated`. The launcher, stored only by the kernel, holds their memory,
    so none is freed while a launch that uses it is running.
    """

    def __init__(
        self,
        session: Session,
        specialization: Specialization,
        compilation: Compilation,
        is_cacheable: bool = True,
        code: Code | None = None,
    ) -> None:
        """is_cacheable: the program may be stored in the cache. code: the module, if it is compiled already."""
        check_captured(compilation.module.interface, compilation.fields, specialization.definition.name, session)
        self.session = session
        self.definition = specialization.definition
        self.code = session.programs.find(compilation.module, is_cacheable) if code is None else code
        self.module: BackendModule = self.code.module
        self.captured = {path: found.value for path, found in compilation.captured.items()}
        self.times = compilation.times
        self.is_invalid = False
        self.on_invalidated: Callable[[Instance], None] | None = None
        self.dependents: WeakSet[Dependent] = WeakSet()
        self.arguments = specialization.arguments
        self._watched = self._watch(compilation.fields)
        self.program = self.code.program.instantiate()
        interface, returns = self.module.interface, specialization.definition.returns
        self._results = Results(session, interface, returns, self.module.kernel) if interface.results else None
        self._temporaries = self._buffer(self.module.interface.temporaries_size_bytes)
        self._reports = self._find_reports()
        trees = {field.tree for field in compilation.fields if isinstance(field, AuxiliaryArray)}
        ends = session.device.lazy_memory  # on other devices a launch is still running when it returns
        self._trees = [ref(tree) for tree in trees] if ends else []

    def _watch(self, fields: Sequence[Any]) -> list[Callable[[], Any]]:
        """Expire with any field or template argument; only the `repr` of the latter is stored."""
        expire = partial(_invalidate, ref(self))
        owners = [field.tree if isinstance(field, AuxiliaryArray) else field for field in fields if field is not None]
        watched = [weak_reference(owner, expire) for owner in owners]
        for field in fields:
            depend_on_tree(field, self)
        arguments = list(self.arguments)
        for position, argument in enumerate(arguments):
            if isinstance(argument, TemplateArgument):
                watched += [weak_reference(item, expire) for item in objects_in(argument.value)]
                arguments[position] = TemplateArgument(_Shown(argument.value))
        self.arguments = tuple(arguments)
        return watched

    def invalidate(self) -> None:
        """Never run again: memory whose address it holds is freed, or may be."""
        if not self.is_invalid:
            self.is_invalid = True
            for dependent in list(self.dependents):
                dependent.drop()
            if self.on_invalidated is not None:
                self.on_invalidated(self)

    @property
    def source(self) -> str:
        """The source that runs."""
        return self.module.source()

    def __repr__(self) -> str:
        return f"<{self.module.kernel}{tuple(map(str, self.arguments))} on {self.module.target}>"

    def accepts(self, position: int, value: Any) -> bool:
        """Return whether a by-value argument can be converted to the parameter's type."""
        argument = self.arguments[position]
        if isinstance(argument, StructArgument):
            return fits_struct(argument.type, value)
        if not isinstance(argument, ScalarArgument):
            return True
        if isinstance(argument.type, Tensor):
            element = argument.type.element
            return _size_of(value) == argument.type.size and all(is_number(element, n) for n in flatten(value))
        assert isinstance(argument.type, Scalar)
        return is_number(argument.type, value)

    def writes(self, position: int) -> bool:
        """Return whether the kernel writes the array that is argument number `position`."""
        return any(array.parameter == position and array.written for array in self.module.interface.arrays)

    def explain(self, args: Sequence[Any], positions: Sequence[int]) -> None:
        """Raise an error that names the parameter if an argument at one of these positions cannot be packed.

        Raises: TaichiRuntimeTypeError.
        """
        for position in positions:
            parameter = self.definition.flat_parameters[position]
            where = f"`{parameter.name}` of kernel `{self.definition.name}`"
            if not self.accepts(position, args[position]):
                error = TaichiRuntimeTypeError.get(position, parameter.annotation, type(args[position]))
                raise TaichiRuntimeTypeError(f"{error}: {where}", "convert the value before the call") from None
            if self.writes(position):
                check_argument(args[position], f"Argument {position} ({where})")

    def _buffer(self, size_bytes: int) -> Any:
        if not size_bytes:
            return None
        owner = f"temporaries of kernel `{self.module.kernel}`"
        return AllocationHandle(self.session, max(MIN_BUFFER_BYTES, size_bytes), owner)

    def _find_reports(self) -> Reports | None:
        interface = self.module.interface
        has_macros = any(site["kind"] == "macro" for site in interface.reports)  # whose source has the address
        if not has_macros and not any(member.source == ("report",) for member in interface.members):
            return None
        return _printing().Reports(self.session, self.module, self.program.arguments)

    def _constants(self, fields: Sequence[Any]) -> Constants:
        constants = captured_constants(self.module.interface, fields, self.module.kernel)
        if self._results is not None:
            constants[("result",)] = self._results.address
        if self._temporaries is not None:
            constants[("temporaries",)] = self._temporaries.allocation.address
        if self._reports is not None:
            constants[("report",)] = self._reports.address
        return constants

    def make_launch(self, compilation: Compilation, argument_kinds: Sequence[str], keeps: bool) -> Launcher:
        """Return a launcher. keeps: it keeps the fields themselves alive.

        The current observers see its launches; without observers a launch has no overhead.
        """
        program: Any = self.program
        if self.session.config.kernel_profiler:
            program = _times().timed(self, program)
        if self.session.config.watchdog:
            program = _watchdog().limited(self.session, self.module, program)
        observed: list[ObservedLaunches] = []
        for observer in LAUNCH_OBSERVERS:
            launches = observer.observe(self, program, compilation, argument_kinds)
            if launches is not None:
                program = launches.program
                observed.append(launches)
        constants = self._constants(compilation.fields)
        hooks = self._hooks(compilation, argument_kinds, keeps, program)
        launch = make_launcher(self.module, program, argument_kinds, constants, hooks)
        captured = [None if field is None else handle_of(field) for field in compilation.fields]
        config = self.session.config
        is_plain = hooks.are_plain and not (config.kernel_profiler or config.watchdog)  # a graph would not be timed
        packer = partial(self._make_packer, argument_kinds, constants, hooks, captured) if is_plain else None
        if self.session.config.warn_stale_globals and compilation.captured:
            launch, packer = watch(launch, self.module.kernel, compilation.captured), None
        for launches in observed:
            launch, packer = launches.wrapped(launch), None
        return Launcher(launch, packer)

    def _hooks(self, compilation: Compilation, argument_kinds: Sequence[str], keeps: bool, program: Any) -> LaunchHooks:
        fields = [field for field in compilation.fields if field is not None]
        has_results = bool(self.module.interface.results)
        has_end = has_results or "other" in argument_kinds or self._reports is not None or bool(self._trees)
        own: Any = None
        if has_end or (self._temporaries is not None and program.lock is None):
            own = self.session.lock if self._reports is not None else new_lock()
        on_stream = "torch" in argument_kinds and self.session.device.cuda_memory
        return LaunchHooks(
            session=self.session,
            held=[fields if keeps else None, *map(handle_of, fields)],
            host_address=host_address,
            checked_address=checked_address,
            tensor_address=tensor_address,
            cupy_address=cupy_address,
            gradient_of=gradient_of,
            stage=self._stage,
            flatten=flatten,
            flatten_struct=self._flatten_struct,
            accepts=self.accepts,
            sizes=[_tensor_size(argument) for argument in self.arguments],
            seed=self.session.next_seed,
            iteration_limit=self.session.device.capabilities.loop_iteration_limit,
            in_range=self._in_range(),
            stream=cast(GpuDevice, self.session.device).torch_stream() if on_stream else None,
            after=self._end(argument_kinds) if has_end else None,
            own=own,
        )

    def _make_packer(
        self,
        argument_kinds: Sequence[str],
        constants: Any,
        hooks: LaunchHooks,
        captured: Sequence[AllocationHandle | None],
    ) -> Packer:
        is_sparse = any(source[0] == "capacity" for source in constants)
        find_access_set = access_set_function(self.module.interface, captured, self._temporaries, is_sparse)
        return make_packer(self.module, argument_kinds, constants, hooks), find_access_set

    def _in_range(self) -> Callable[..., Sequence[Any]] | None:
        """Return the function that fits numbers to the types of parameters; None if the kernel takes none by value."""
        types = [a.type if isinstance(a, (ScalarArgument, StructArgument)) else None for a in self.arguments]
        if not any(types):
            return None
        return _fitting(types, [parameter.name for parameter in self.definition.flat_parameters], self.accepts)

    def _flatten_struct(self, value: Any, position: int) -> list[Any]:
        argument = self.arguments[position]
        assert isinstance(argument, StructArgument)
        return flatten_struct(argument.type, value)

    def _stage(self, arguments: Sequence[tuple[Any, int]], stream: int | None = None) -> StagedArguments:
        """Prepare arrays that the launcher cannot use directly; the result has the actions for `_after`."""
        interface = self.module.interface
        requests = [(value, interface.arrays[index], interface.takes_strides(index)) for value, index in arguments]
        return stage_arguments(self.session, requests, stream)

    def _end(self, argument_kinds: Sequence[str]) -> Callable[..., Any]:
        """Return the function that is called last: the shortest that does what launches of such arguments need."""
        if self._results is None or self._reports is not None or self._trees or "other" in argument_kinds:
            return self._after
        return self._results.read

    def _after(self, staged: StagedArguments | None = None) -> Any:
        if staged is not None:
            for action in staged.after:
                action()
        if self._reports is not None:
            self._reports.show()
        for found in self._trees:
            tree = found()
            if tree is not None:
                tree.check()
        return None if self._results is None else self._results.read()


class _Shown:
    """Replaces a template argument in the `repr` of an instance, and does not keep it alive.

    object: returns the argument, None once it is gone.
    """

    __slots__ = ("_text", "object")

    def __init__(self, value: object) -> None:
        self.object: Callable[[], object]
        try:
            self.object = ref(value)
        except TypeError:  # numbers, strings, tuples: they own no memory
            self.object = partial(_same, value if isinstance(value, (bool, int, float, str)) else None)
        self._text = repr(value) if isinstance(value, (int, float, str)) else f"a {type(value).__name__}"

    def __repr__(self) -> str:
        return self._text


def _same(value: object) -> object:
    return value


def _invalidate(instance: ref[Instance], reference: object) -> None:
    found = instance()
    if found is not None:
        found.invalidate()


def _size_of(value: Any) -> int:
    try:
        return len(flatten(value))
    except TypeError:
        return -1


def _tensor_size(argument: Any) -> int:
    is_tensor = isinstance(argument, ScalarArgument) and isinstance(argument.type, Tensor)
    return argument.type.size if is_tensor else 0


def _fitting(
    types: Sequence[Any], names: Sequence[str], accepts: Callable[[int, Any], bool]
) -> Callable[..., Sequence[Any]]:
    """Return the function that fits numbers to their types as Taichi does.

    Integers are taken modulo 2^bits, with a warning; floats that are too large become infinite.
    """

    def in_range(*args: Any) -> Sequence[Any]:
        values = list(args)
        for position, type in enumerate(types):
            if type is None or not accepts(position, args[position]):
                continue
            wrapped: list[str] = []
            values[position] = fitted(type, args[position], wrapped)
            for what in wrapped:
                warn_user(f"argument {position} (`{names[position]}`): {what}")
        return values

    return in_range
