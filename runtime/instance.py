"""One compiled specialization: its module, its program on the device, and the buffers only it uses."""

from __future__ import annotations

import struct
import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ..transpiler.errors import ShadesmithWarning, TaichiRuntimeError
from ..transpiler.frontend.specialization import ScalarArgument, Specialization, StructArgument
from ..transpiler.ir.types import Scalar, Tensor
from .devices.device import GpuDevice
from .interop import checked_address, cupy_address, gradient_of, host_address, tensor_address
from .launcher import make_launcher
from .packing import fits_struct, flatten, flatten_struct, result_value, return_types
from .printing import Reports
from .session import Session
from .sparse_tree import Beside
from .staging import Stage, stage_arguments
from .stale_globals import watch
from .trees import depend_on_tree

if TYPE_CHECKING:
    from ..transpiler.backend.interface import BackendModule
    from ..transpiler.pipeline import Compilation

MIN_BUFFER_BYTES = 16


def _stay() -> None:
    """What retiring an instance does that no kernel launches."""


class Instance:
    """A specialization ready to run. launch: takes the kernel's arguments; module: its text; times: [s] a stage.

    retire: called before memory is freed whose address it holds; the kernel sets it so that it launches this no more.
    """

    def __init__(
        self, session: Session, specialization: Specialization, compilation: Compilation, kinds: Sequence[str]
    ) -> None:
        self.session = session
        self.specialization = specialization
        self.module: BackendModule = compilation.module
        self.captured = {path: found.value for path, found in compilation.captured.items()}
        self.times = compilation.times
        self.fields = compilation.fields
        self.retire: Callable[[], None] = _stay
        for field in self.fields:
            depend_on_tree(field, self)
        self.program = session.device.build(compilation.module)
        self._result = self._buffer(self.module.interface.result_size_bytes)
        self._temporaries = self._buffer(self.module.interface.temporaries_size_bytes)
        self._reports = self._find_reports()
        self._trees = {field.tree for field in self.fields if isinstance(field, Beside)}
        if not session.device.lazy_memory:  # its launches have not ended when they were started
            self._trees = set()
        self._return_types = return_types(specialization.definition.returns)
        self.launch = self._make_launch(kinds)
        if session.config.warn_stale_globals and compilation.captured:
            self.launch = watch(self.launch, self.module.kernel, compilation.captured)

    @property
    def source(self) -> str:
        """The emitted text that runs."""
        return self.module.source()

    def __repr__(self) -> str:
        return f"<{self.module.kernel}{tuple(map(str, self.specialization.arguments))} on {self.module.target}>"

    def accepts(self, position: int, value: Any) -> bool:
        """Tell whether a by-value argument can be converted to the parameter's type."""
        argument = self.specialization.arguments[position]
        if isinstance(argument, StructArgument):
            return fits_struct(argument.type, value)
        if not isinstance(argument, ScalarArgument):
            return True
        if isinstance(argument.type, Tensor):
            return _size_of(value) == argument.type.size and all(isinstance(n, Real) for n in flatten(value))
        assert isinstance(argument.type, Scalar)
        return isinstance(value, Real if argument.type.is_float else (Integral, np.bool_))

    def writes(self, position: int) -> bool:
        """Tell whether the kernel writes the array that is argument number `position`."""
        return any(array.parameter == position and array.written for array in self.module.interface.arrays)

    def _buffer(self, size_bytes: int) -> Any:
        return self.session.device.allocate(max(MIN_BUFFER_BYTES, size_bytes)) if size_bytes else None

    def _find_reports(self) -> Reports | None:
        interface = self.module.interface
        if not any(member.source == ("report",) for member in interface.members):
            return None
        return Reports(self.session, self.module, self.program.arguments)

    def _constants(self) -> dict[tuple[Any, ...], int]:
        constants: dict[tuple[Any, ...], int] = {}
        for slot, field in enumerate(self.fields):
            if field is not None:
                try:
                    constants["pointer", slot] = field.allocation.address
                except TaichiRuntimeError as error:
                    name = self.module.interface.arrays[slot].name
                    raise TaichiRuntimeError(f"`{name}` of kernel `{self.module.kernel}`: {error}") from None
                if self.module.interface.takes_strides(slot):
                    constants.update((("stride", slot, axis), step) for axis, step in enumerate(field.strides))
            if isinstance(field, Beside):
                constants["capacity", slot] = field.capacity
                constants.update({("shape", slot, axis): extent for axis, extent in enumerate(field.shape)})
        if self._result is not None:
            constants[("result",)] = self._result.address
        if self._temporaries is not None:
            constants[("temporaries",)] = self._temporaries.address
        if self._reports is not None:
            constants[("report",)] = self._reports.address
        return constants

    def _make_launch(self, kinds: Sequence[str]) -> Callable[..., Any]:
        hooks: dict[str, Any] = {
            "session": self.session,
            "host_address": host_address,
            "checked_address": checked_address,
            "tensor_address": tensor_address,
            "cupy_address": cupy_address,
            "gradient_of": gradient_of,
            "stage": self._stage,
            "flatten": flatten,
            "flatten_struct": self._flatten_struct,
            "seed": self.session.next_seed,
            "iteration_limit": self.session.device.capabilities.loop_iteration_limit,
        }
        if self.module.interface.results or "other" in kinds or self._reports is not None or self._trees:
            hooks["after"] = self._after
        if "torch" in kinds and self.session.device.name == "cuda":
            hooks["stream"] = cast(GpuDevice, self.session.device).torch_stream()
        raw = make_launcher(self.module, self.program, kinds, self._constants(), hooks)
        types = [a.type if isinstance(a, ScalarArgument) else None for a in self.specialization.arguments]
        if not any(isinstance(t, Scalar) and t.is_integral for t in types):
            return raw
        return _wrapping(raw, types, self.accepts)

    def _flatten_struct(self, value: Any, position: int) -> list[Any]:
        argument = self.specialization.arguments[position]
        assert isinstance(argument, StructArgument)
        return flatten_struct(argument.type, value)

    def _stage(self, arguments: Sequence[tuple[Any, int]], stream: int | None = None) -> Stage:
        """Make arrays ready that the launcher does not reach by itself; the stage says what `_after` has to do."""
        interface = self.module.interface
        requests = [(value, interface.arrays[slot], interface.takes_strides(slot)) for value, slot in arguments]
        return stage_arguments(self.session, requests, self, stream)

    def _after(self, staged: Stage | None = None) -> Any:
        if staged is not None:
            for action in staged.after:
                action()
        if self._reports is not None:
            self._reports.show()
        for tree in self._trees:
            tree.check()
        results = self.module.interface.results
        if not results:
            return None
        data = bytearray(self.module.interface.result_size_bytes)
        self.session.device.read(self._result, memoryview(data))
        values = [result_value(field, data, type) for field, type in zip(results, self._return_types, strict=True)]
        return values[0] if len(values) == 1 else tuple(values)


def _size_of(value: Any) -> int:
    try:
        return len(flatten(value))
    except TypeError:
        return -1


def _wrapping(raw: Callable[..., Any], types: Sequence[Any], accepts: Callable[[int, Any], bool]) -> Callable[..., Any]:
    """Return `raw` that takes integers out of range as Taichi does: modulo 2^bits, with a warning."""

    def launch(*args: Any) -> Any:
        try:
            return raw(*args)
        except struct.error:
            values = list(args)
            for position, kind in enumerate(types):
                if isinstance(kind, Scalar) and kind.is_integral and accepts(position, args[position]):
                    values[position] = kind(args[position])
                    if values[position] != args[position]:
                        fate = f"does not fit {kind} and wraps to {values[position]}"
                        note = f"argument {position}: {args[position]} {fate}"
                        warnings.warn(note, ShadesmithWarning, stacklevel=3)
            return raw(*values)

    return launch
