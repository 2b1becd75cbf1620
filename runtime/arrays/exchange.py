"""Exchange of fields and ndarrays with other libraries: NumPy, DLPack, the CUDA array interface, torch, paddle.

In: an array. Out: `Exchange`, the base of all arrays. If the device computes in memory of this process (C, the
interpreter, lavapipe) or on a CUDA device, other libraries share the memory and keep it alive, also after `ti.reset()`;
on other devices they get copies. Earlier launches are finished, or ordered on the stream, when memory is exported;
later launches need a `ti.sync()`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from ctypes import c_char
from typing import Any, cast

import numpy as np

from ...transpiler.ir.types import Struct, Type
from ..devices.device import GpuDevice
from .foreign import LEGACY_STREAM, dense_strides, is_tensor
from .memory import Array, Memory

DLPACK_CPU = (1, 0)
DLPACK_CUDA = 2


class Exchange(ABC):
    """Protocols by which other libraries access an array. lease: keeps memory alive that was exported by address."""

    __slots__ = ()
    memory: Any
    element: Type
    shape: tuple[int, ...]
    lease: Any

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """Share the memory with NumPy if it is memory of this process, else copy it."""
        is_shared = copy is not True and is_in_host_memory(self.memory)
        if not is_shared and copy is False:
            raise ValueError(f"{self!r} lives on a device; reading it into NumPy makes a copy")
        values = share_with_host(self.memory) if is_shared else self.memory.read_all()
        if dtype is None or values.dtype == dtype:
            return values
        if copy is False:
            raise ValueError(f"{self!r} holds {values.dtype}, and {np.dtype(dtype)} needs a copy")
        return values.astype(dtype)

    def __dlpack_device__(self) -> tuple[int, int]:
        """Return kind and number of the device of the memory. Raises: BufferError if DLPack has no such device."""
        device = self.memory.session.device
        if is_on_cuda(self.memory):
            return DLPACK_CUDA, device.index
        if is_in_host_memory(self.memory):
            return DLPACK_CPU
        raise BufferError(f"{self!r} lives in memory that no other library reaches. Hint: use `x.to_numpy()`, a copy")

    def __dlpack__(self, **options: Any) -> Any:
        """Return a capsule that shares the memory; options: those of the protocol. Raises: BufferError."""
        if isinstance(self.element, Struct):
            raise BufferError(f"{self!r} holds structs, which DLPack does not know. Hint: pass a member, `x.name`")
        kind, _ = self.__dlpack_device__()
        shared = share_with_host(self.memory) if kind == DLPACK_CPU[0] else share_with_cupy(self.memory)
        return shared.__dlpack__(**options)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The memory's address and layout on a CUDA device, version 3 of the interface; absent on other devices."""
        memory = self.memory
        if not is_on_cuda(memory):
            raise AttributeError(f"{self!r} is not in memory of a CUDA device")
        memory.refresh_lazily()
        root, view = root_of(memory), memory.view
        assert root is not None
        self.lease = root.share()  # the consumer holds this object, and with it the memory
        dense = dense_strides(view.shape, view.dtype.itemsize)
        fields = {"descr": view.dtype.descr} if isinstance(self.element, Struct) else {}
        return {
            **fields,
            "shape": view.shape,
            "typestr": view.dtype.str,
            "data": (root.allocation.address + _offset_bytes(memory, root), False),
            "strides": None if view.strides == dense else view.strides,
            "version": 3,
            "stream": cast(GpuDevice, memory.session.device).stream or LEGACY_STREAM,
        }

    # --- copies

    def to_torch(self, device: Any = None) -> Any:
        """Return a copy as a torch tensor, on the CPU or on `device`. Raises: ImportError if torch is missing."""
        import torch  # type: ignore[import-not-found, unused-ignore]

        if device is not None and torch.device(device).type == "cuda" and is_on_cuda(self.memory):
            return _between_gpus(self.memory, lambda own: torch.empty_like(own, device=device).copy_(own))
        tensor = torch.from_numpy(self.memory.read_all())
        return tensor if device is None else tensor.to(device)

    def from_torch(self, tensor: Any) -> None:
        """Set all elements from a torch tensor of shape (*shape, *element shape), converting its number type.

        Raises: TypeError if it is not a tensor; ValueError if the shape differs.
        """
        if not is_tensor(tensor):
            raise TypeError(f"{self!r} takes a torch tensor, and a {type(tensor).__name__} was given")
        values = tensor.detach().resolve_conj().resolve_neg()
        if values.is_cuda and is_on_cuda(self.memory):
            self._check_shape(tuple(values.shape))
            _between_gpus(self.memory, lambda own: own.copy_(values.reshape(own.shape)))
            cast(Memory, root_of(self.memory)).forget()
            return
        values = values.cpu()
        self.from_numpy((values.float() if str(values.dtype) == "torch.bfloat16" else values).numpy())

    def to_paddle(self, place: Any = None) -> Any:
        """Return a copy as a paddle tensor, on `place`. Raises: ImportError if paddle is missing."""
        import paddle  # type: ignore[import-not-found, unused-ignore]

        return paddle.to_tensor(self.memory.read_all(), place=place)

    def from_paddle(self, tensor: Any) -> None:
        """Set all elements from a paddle tensor of shape (*shape, *element shape)."""
        self.from_numpy(tensor.detach().numpy())

    @abstractmethod
    def from_numpy(self, array: Any) -> None:
        """Set all elements from a NumPy array."""

    @abstractmethod
    def _check_shape(self, shape: tuple[int, ...]) -> None:
        """Check the shape of what is about to be stored. Raises: ValueError."""


# --- sharing


def root_of(memory: Any) -> Memory | None:
    """Return the memory that owns the allocation of a view, a member or a place; None for a split array."""
    while memory is not None and not isinstance(memory, Memory):
        memory = getattr(memory, "whole", None)
    return memory


def is_in_host_memory(memory: Any) -> bool:
    """Return whether an array is memory of this process with a layout that strides can express."""
    return root_of(memory) is not None and not memory.mirrored and memory.locate is None


def is_on_cuda(memory: Any) -> bool:
    """Return whether an array is memory of a CUDA device with a layout that strides can express."""
    return root_of(memory) is not None and memory.session.device.cuda_memory and memory.locate is None


def _offset_bytes(memory: Any, root: Memory) -> int:
    """Return the offset of the first element in the allocation; mirrors have the layout of the device's memory."""
    view: Array = memory.view
    return view.ctypes.data - root.view.ctypes.data if view.size else 0


def share_with_host(memory: Any) -> Array:
    """Return a NumPy array over memory of this process, after all launches so far.

    Raises: TaichiRuntimeError if the memory was freed.
    """
    memory.refresh_lazily()
    root, view = root_of(memory), memory.view
    assert root is not None
    if not view.size:
        return np.empty(view.shape, view.dtype)
    owned: Any = (c_char * root.allocation.size_bytes).from_address(root.allocation.address)
    owned.owner = root.share()
    shared: Array = np.ndarray(view.shape, view.dtype, owned, _offset_bytes(memory, root), view.strides)
    return shared


def share_with_cupy(memory: Any) -> Any:
    """Return a CuPy array over memory of a CUDA device. Raises: TaichiRuntimeError if it was freed."""
    memory.refresh_lazily()
    root = root_of(memory)
    assert root is not None
    root.share()
    return _cupy_array(memory, root)


def _cupy_array(memory: Any, root: Memory) -> Any:
    device, view = cast(GpuDevice, memory.session.device), memory.view
    return device.view(root.allocation, _offset_bytes(memory, root), view.shape, view.strides, view.dtype)


def _between_gpus(memory: Any, copy: Callable[[Any], Any]) -> Any:
    """Let torch copy from or to memory of a CUDA device on its stream, in order with launches before and after.

    copy: takes the memory as a tensor.
    """
    import torch

    memory.refresh_lazily()
    root, device = root_of(memory), cast(GpuDevice, memory.session.device)
    assert root is not None
    root.flush()
    result = copy(torch.from_dlpack(_cupy_array(memory, root)))  # torch's stream waits for CuPy's here
    device.join_stream(device.torch_stream()(), None)
    return result
