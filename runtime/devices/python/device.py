"""The interpreter as a device (`arch=ti.python`): needs only NumPy, and runs one thread after the other.

In: modules of target "python", which contain their kernel (`BackendModule.program`). Out: programs that unpack the
arguments and call `transpiler.backend.interpret.interpreter.run`. Memory is host memory, so addresses in the argument
block are addresses of this process, also those of NumPy arrays used in place.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ....transpiler.backend.interpret.interpreter import run
from ....transpiler.backend.interpret.texels import TexelArray
from ....transpiler.backend.module.interface import (
    PACK_CODES,
    ArrayBinding,
    BackendModule,
    Interface,
    ResultField,
    TreeAddress,
)
from ....transpiler.errors import TaichiRuntimeError
from ....transpiler.ir.statements import Parameter
from ....transpiler.ir.tasks import Kernel
from ....transpiler.ir.textures import DESCRIPTOR
from ....transpiler.ir.types import NUMPY, Struct, Tensor
from ...locks import new_lock
from ..calls import LockedCalls
from ..device import Launch
from ..host_arrays import view_address, view_strided
from ..host_memory import LAZY_BYTES, Budget
from ..host_textures import HoldsTextures
from ..timer import HostTimer, Timer
from .capabilities import PORTABLE


class PythonAllocation:
    """Bytes in a NumPy array."""

    __slots__ = ("address", "data", "is_lazy", "size_bytes")

    def __init__(self, size_bytes: int, is_lazy: bool = False) -> None:
        self.is_lazy = is_lazy
        self.data = np.zeros(size_bytes, np.uint8)
        self.address: int = self.data.ctypes.data
        self.size_bytes = size_bytes


class PythonProgram:
    """A kernel in final form and its argument block. is_whole: its tasks cannot be started one by one."""

    is_whole = True

    def __init__(self, module: BackendModule) -> None:
        self._module = module
        self.lock = new_lock()
        self.kernel: Kernel = module.program
        self.interface = module.interface
        self.arguments = bytearray(max(1, module.interface.args_size_bytes))

    def submit(self, counts: Sequence[int]) -> None:
        """Run all tasks now; the interpreter computes extents itself and ignores the counts."""
        values = unpack(self.interface, self.arguments)
        arrays = [self._array(slot, array, values) for slot, array in enumerate(self.interface.arrays)]
        parameters = [self._parameter(p, values) for p in self.kernel.parameters]
        slots = range(len(self.interface.textures))
        textures = [_texture(values["texture", slot]) for slot in slots]
        results = run(self.kernel, arrays, parameters, values.get(("seed",), 0), textures)
        if ("result",) in values:
            for result, place in zip(results, self.interface.results, strict=True):
                _write_result(values["result",], place, result)

    def submit_task(self, index: int, counts: Sequence[int]) -> None:
        """Run the kernel; see `MeasuredProgram`."""
        self.submit(counts)

    def instantiate(self) -> PythonProgram:
        """Return the same kernel with an argument block of its own."""
        return PythonProgram(self._module)

    def _array(self, slot: int, array: ArrayBinding, values: dict[tuple[Any, ...], Any]) -> np.ndarray[Any, Any]:
        shape = array.shape
        if shape is None:
            shape = tuple(values["shape", slot, axis] for axis in range(array.ndim))
        element = self.kernel.arrays[slot].element
        dtype = element.numpy if isinstance(element, Struct) else NUMPY[array.element]
        if array.place is not None:
            return _view_in_tree(values["pointer", array.place.slot], dtype, array.place, array.element_shape)
        address = values["gradient", slot] if ("gradient", slot) in values else values["pointer", slot]
        if not self.interface.takes_strides(slot):
            return view_address(address, dtype, shape + array.element_shape)
        size_bytes = element.size_bytes
        strides = [values["stride", slot, axis] * size_bytes for axis in range(array.ndim)]
        return view_strided(address, dtype, shape, strides, array.element_shape)

    @staticmethod
    def _parameter(parameter: Parameter, values: dict[tuple[Any, ...], Any]) -> Any:
        type_, position, first = parameter.type, parameter.position, parameter.component
        if not isinstance(type_, Tensor):
            return values["argument", position, first]
        components = [values["argument", position, first + k] for k in range(type_.size)]
        return np.array(components, type_.element.numpy).reshape(type_.shape)


def _texture(address: int) -> TexelArray:
    """Return the texture of a descriptor in memory."""
    return TexelArray(view_address(address, DESCRIPTOR, (1,))[0], view_address)


def _view_in_tree(
    address: int, dtype: np.dtype[Any], place: TreeAddress, element_shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return an array over the memory of its tree, with an axis for each index component."""
    extents = [*place.cells[:1], *(extent for _, extent, _, _ in place.digits)]
    strides = [*place.cells[1:], *(stride for _, _, _, stride in place.digits)]
    rows = [dtype.itemsize * prod(element_shape[axis + 1 :]) for axis in range(len(element_shape))]
    size = prod(element_shape) * dtype.itemsize
    size += sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
    memory = view_address(address + place.begin_bytes, np.dtype(np.uint8), (size,))
    view: np.ndarray[Any, Any] = np.ndarray((*extents, *element_shape), dtype, memory.data, 0, (*strides, *rows))
    return view


def _write_result(address: int, place: ResultField, value: Any) -> None:
    """Write a kernel's result to its offset from `address`, a struct member by member."""
    if place.type not in NUMPY:
        for name, member in place.members:
            _write_result(address, member, value[name])
    else:
        view_address(address + place.offset_bytes, NUMPY[place.type], place.shape)[...] = value


class PythonDevice(HoldsTextures):
    """The interpreter. Launches have ended when `submit` returns."""

    name = "python"
    title = "the interpreter"
    driver = ""
    capabilities = PORTABLE
    host_memory = True
    index_limit = None
    cuda_memory = False
    survives_fork = True
    lazy_memory = True

    def lazy_bytes(self) -> int:
        """Return how much memory may be requested lazily, of which only part will be touched."""
        return self._budget.available_bytes(self.used_bytes - self._lazy_bytes) or LAZY_BYTES

    def __init__(self) -> None:
        self.copies_to_host = self.copies_to_device = 0
        self.used_bytes = self._lazy_bytes = 0
        self._budget = Budget("the host")

    def allocate(self, size_bytes: int, lazily: bool = False) -> PythonAllocation:
        """Return zeroed memory. Raises: OutOfMemory if the host has too little."""
        if not lazily:
            self._budget.check(size_bytes, self.used_bytes - self._lazy_bytes)
        try:
            allocation = PythonAllocation(size_bytes, lazily)
        except (MemoryError, ValueError) as error:
            raise self._budget.refusal(size_bytes, self.used_bytes - self._lazy_bytes) from error
        self.used_bytes += size_bytes
        self._lazy_bytes += size_bytes if lazily else 0
        return allocation

    def free(self, allocation: PythonAllocation) -> None:
        """Drop the bytes; NumPy frees them with the last view."""
        self.used_bytes -= allocation.size_bytes
        self._lazy_bytes -= allocation.size_bytes if allocation.is_lazy else 0
        allocation.size_bytes = 0
        allocation.data = np.empty(0, np.uint8)

    def read(self, allocation: PythonAllocation, destination: memoryview, offset_bytes: int = 0) -> None:
        """Copy to `destination`."""
        self.copies_to_host += 1
        destination[:] = allocation.data.data[offset_bytes : offset_bytes + len(destination)]

    def write(self, allocation: PythonAllocation, source: memoryview, offset_bytes: int = 0) -> None:
        """Copy from `source`."""
        self.copies_to_device += 1
        allocation.data.data[offset_bytes : offset_bytes + len(source)] = source

    def copy(self, source: PythonAllocation, destination: PythonAllocation, size_bytes: int) -> None:
        """Copy between two allocations."""
        destination.data[:size_bytes] = source.data[:size_bytes]

    def fill(self, allocation: PythonAllocation, pattern: bytes) -> None:
        """Repeat `pattern` over the memory; a remainder that is shorter than the pattern is unchanged."""
        whole = allocation.size_bytes - allocation.size_bytes % len(pattern)
        allocation.data[:whole].reshape(-1, len(pattern))[...] = np.frombuffer(pattern, np.uint8)

    def share(self, allocation: PythonAllocation) -> object:
        """Return an object that keeps the bytes valid."""
        return allocation.data

    def build(self, module: BackendModule, keep: bool = True) -> PythonProgram:
        """Return a program of the module's kernel. Raises: TaichiRuntimeError if the module was stored without it."""
        if module.program is None:
            raise TaichiRuntimeError(f"module `{module.kernel}` has no kernel that the interpreter could run")
        return PythonProgram(module)

    def load(self, module: BackendModule, codes: Sequence[bytes]) -> PythonProgram:
        """Raise TaichiRuntimeError: the interpreter runs no machine code."""
        raise TaichiRuntimeError(f"module `{module.kernel}` is compiled, and the interpreter runs no compiled code")

    def record(self, launches: Sequence[Launch]) -> LockedCalls:
        """Prepare launches to be started together."""
        return LockedCalls(launches)

    def synchronize(self) -> None:
        """Return at once."""

    def timer(self) -> Timer:
        """Return a timer of launches."""
        return HostTimer(self.synchronize)

    def close(self) -> None:
        """Do nothing: there are no resources."""


def open_device() -> PythonDevice:
    """Return the interpreter, which is always available."""
    return PythonDevice()


def unpack(interface: Interface, arguments: bytearray) -> dict[tuple[Any, ...], Any]:
    """Return the members of a packed argument block by their source."""
    return {
        member.source: struct.unpack_from("<" + PACK_CODES[member.type], arguments, member.offset_bytes)[0]
        for member in interface.members
    }
