"""`ti.Texture`: texels that kernels sample, fetch, load and store, in a memory layout that the hardware chooses.

In: a format and a shape. Out: `Texture`, passed to kernels whose parameters are annotated `ti.types.texture` or
`ti.types.rw_texture`. Unlike an array it has no elements in Python scope: its texels are only copied as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...transpiler.ir.textures import ADDRESS_MODES, FORMATS, TexelFormat
from ...transpiler.lang.textures import Format, legacy_format
from ..devices.device import Allocation
from ..devices.textures import FILTERS, TextureMemory, TextureSpec
from ..session.allocation_handle import AllocationHandle
from ..session.session import Session, current
from ..session.tracebacks import hides_own_frames
from .dense_array import DenseArray, to_shape
from .memory import MAX_ITEMS, Array, Memory, bytes_of

MAX_AXES = 3


class Texture:
    """A texture on the device, initialized to zero.

    Args:
        fmt: of `ti.Format`.
        arr_shape, shape: (width,), (width, height) or (width, height, depth).
        filter: "linear" or "nearest"; None: linear if the device can interpolate the format, else nearest.
        address: mode of samples outside: "repeat", "mirrored_repeat", "clamp_to_edge" or "clamp_to_border", or one of
            these per axis.

    Taichi 1.2's parameters: `ti.Texture(ti.f32, 1, (n, m))`, `ti.Texture(dtype=ti.f32, num_channels=1, arr_shape=...)`.
    legacy_shape, dtype, num_channels, channel_format:
    Taichi 1.2's parameters: `ti.Texture(ti.f32, 1, (n, m))`, `ti.Texture(dtype=ti.f32, num_channels=1, arr_shape=...)`.
    Raises: TaichiRuntimeError before `ti.init()` and for an invalid format or shape; UnsupportedError naming the
    format that the device lacks.

    Example:
        >>> texture = ti.Texture(ti.Format.r32f, (4, 4))
        >>> texture.shape
        (4, 4)
    """

    __slots__ = (
        "__weakref__",
        "_handle",
        "_session",
        "fmt",
        "memory",
        "num_dims",
        "sampled_signature",
        "shape",
        "signature",
        "spec",
    )

    @hides_own_frames
    def __init__(
        self,
        fmt: Any = None,
        arr_shape: Any = None,
        legacy_shape: Any = None,
        *,
        dtype: Any = None,
        num_channels: int | None = None,
        channel_format: Any = None,
        shape: Any = None,
        filter: str | None = None,
        address: str | Sequence[str] = "repeat",
    ) -> None:
        session = current("Texture")
        if legacy_shape is not None:
            fmt, channel_format, num_channels, arr_shape = None, fmt, arr_shape, legacy_shape
        texel_format = _format_of(fmt, num_channels, channel_format if dtype is None else dtype)
        extents = _extents(arr_shape if shape is None else shape)
        self.spec = TextureSpec(texel_format, extents, _filter(filter), _modes(address, len(extents)))
        self._describe()
        self._session = session
        owner = f"texture of {texel_format.name}, shape {extents}"
        self._handle = AllocationHandle(_TextureAllocator(session, self.spec), self.spec.size_bytes, owner)
        self.memory: Any = self._handle.allocation
        """A `TextureMemory`, from which launches get descriptors."""
        session.register(self)

    def _describe(self) -> None:
        """Set the signatures: specializations with sampled textures differ only by the type of the values read."""
        texel_format, extents = self.spec.format, self.spec.shape
        self.fmt: Any = Format[texel_format.name]
        self.shape, self.num_dims = extents, len(extents)
        self.signature = f"texture({texel_format.name}, {len(extents)})"
        self.sampled_signature = f"texture({texel_format.element}, {len(extents)})"

    @property
    def session(self) -> Session:
        """The session that it belongs to."""
        return self._session

    @property
    def filter(self) -> str:
        """How it is sampled: "linear" or "nearest"."""
        return str(self.memory.filter)

    @property
    def address(self) -> tuple[str, ...]:
        """Address modes of samples outside, one per axis."""
        return self.spec.address_modes

    # --- texels

    @hides_own_frames
    def from_ndarray(self, ndarray: Any) -> None:
        """Copy the memory of an ndarray, byte by byte, as Taichi does: x varies fastest, whatever the array's axes are.

        Texel (x, y) is element y * width + x. `from_numpy` takes arrays by their indices instead.
        Raises: TaichiRuntimeError if it is not an array, or its size in bytes differs from that of the texels.
        """
        self._copy_memory(ndarray, "ndarray")

    @hides_own_frames
    def from_field(self, field: Any) -> None:
        """Copy the memory of a field likewise."""
        self._copy_memory(field, "field")

    @hides_own_frames
    def from_numpy(self, array: Any) -> None:
        """Set the texels from an array of shape (width, height, ..., channels): texel (x, y) is `array[x, y]`.

        It has the stored numbers: bytes for `rgba8`, not numbers from 0 to 1. The last axis may be left out for
        formats of one channel. Raises: TaichiRuntimeError if the shape differs.
        """
        values = array.to_numpy() if isinstance(array, DenseArray) else np.asarray(array)
        wanted = self._full_shape
        if values.shape not in (wanted, wanted if self.spec.format.channels > 1 else self.shape):
            raise TaichiRuntimeError(f"{self!r} takes an array of shape {wanted}, found shape {values.shape}")
        self._write(values.reshape(wanted))

    @hides_own_frames
    def to_numpy(self) -> Array:
        """Return the stored numbers, shape (width, height, ..., channels), without the last axis for one channel."""
        axes = self.num_dims
        values = self._read().transpose(*reversed(range(axes)), axes)
        return np.ascontiguousarray(values[..., 0] if self.spec.format.channels == 1 else values)

    def read_packed(self) -> Array:
        """Return the stored numbers in the packed order, shape (..., height, width, channels)."""
        return self._read()

    def empty_like(self) -> Texture:
        """Return a new texture of the same format and shape, initialized to zero."""
        return Texture(self.fmt, self.shape, filter=self.spec.filter, address=self.spec.address_modes)

    @hides_own_frames
    def from_image(self, image: Any) -> None:
        """Set the texels from a picture of Pillow's, as Taichi does.

        Texel (x, y) is the pixel in row y from the top and column x from the right; alpha is set to 0.
        Raises: TaichiRuntimeError if the format is not `rgba8` or the size differs.
        """
        self._check_picture("from_image")
        if not hasattr(image, "convert"):
            raise TaichiRuntimeError(
                f"from_image takes a picture of Pillow's, found a {type(image).__name__}",
                "`PIL.Image.open(path)`, or `from_numpy` for an array",
            )
        if tuple(image.size) != self.shape:
            raise TaichiRuntimeError(
                f"{self!r} takes a picture of {self.shape} pixels, found {tuple(image.size)}",
                f"`image.resize({self.shape})`",
            )
        pixels = np.asarray(image.convert("RGB"))  # (height, width, 3)
        texels = np.zeros((*pixels.shape[:2], 4), np.uint8)
        texels[..., :3] = pixels[:, ::-1]
        self._write(texels.transpose(1, 0, 2))

    @hides_own_frames
    def to_image(self) -> Any:
        """Return the texels as a picture of Pillow's, red, green and blue, in the orientation of `from_image`."""
        self._check_picture("to_image")
        try:
            from PIL import Image
        except ImportError as error:
            raise ImportError("Texture.to_image needs Pillow. Hint: `pip install pillow`") from error
        return Image.fromarray(np.ascontiguousarray(self._read()[:, ::-1, :3]))

    def _check_picture(self, name: str) -> None:
        if self.spec.format.name != "rgba8" or self.num_dims != 2:
            raise TaichiRuntimeError(
                f"{name} takes textures of ti.Format.rgba8 with 2 axes, found {self!r}", "use `from_numpy`, `to_numpy`"
            )

    @property
    def _full_shape(self) -> tuple[int, ...]:
        return (*self.shape, self.spec.format.channels)

    def _copy_memory(self, array: Any, kind: str) -> None:
        if not isinstance(array, DenseArray):
            raise TaichiRuntimeError(f"from_{kind} takes a {kind}, found a {type(array).__name__}", "`from_numpy`")
        element_bytes = array.element.size_bytes
        size_bytes = prod(array.shape) * element_bytes
        if size_bytes != self.spec.size_bytes:
            raise TaichiRuntimeError(
                f"{self!r} has {self.spec.size_bytes} bytes, the {kind} has {size_bytes}: {prod(array.shape)} elements "
                f"of {element_bytes}",
                f"a texel of {self.spec.format.name} is {self.spec.format.channels} x {self.spec.format.channel}",
            )
        memory: Any = array.memory
        if type(memory) is not Memory or memory.session is not self._session:
            self._send(np.ascontiguousarray(array.to_numpy()))
            return
        memory.refresh_lazily()
        memory.flush()
        self._session.device.copy_to_texture(memory.allocation, self._alive())
        if not memory.mirrored:  # the next write waits for the copy, as for a launch
            self._session.epoch += 1

    def _write(self, values: Array) -> None:
        """Set the texels from numbers of shape (width, height, ..., channels)."""
        axes = self.num_dims
        packed = values.transpose(*reversed(range(axes)), axes)
        self._send(np.ascontiguousarray(packed, self.spec.format.channel.numpy))

    def _send(self, packed: Array) -> None:
        """Set the texels from packed memory."""
        session = self._session
        memory = self._alive()
        stage = session.staging.acquire(self.spec.size_bytes)
        session.device.write(stage.allocation, bytes_of(packed))
        session.device.copy_to_texture(stage.allocation, memory)
        session.staging.release(stage)

    def _read(self) -> Array:
        """Return the texels, shape (..., height, width, channels)."""
        session, memory = self._session, self._alive()
        found = np.empty((*reversed(self.shape), self.spec.format.channels), self.spec.format.channel.numpy)
        stage = session.staging.acquire(self.spec.size_bytes)
        session.device.copy_from_texture(memory, stage.allocation)
        session.device.read(stage.allocation, bytes_of(found))
        session.staging.release(stage)
        return found

    # --- life

    def _alive(self) -> TextureMemory:
        if self._handle.is_released:
            raise _ended()
        memory: TextureMemory = self.memory
        return memory

    def end(self) -> None:
        """Free the memory because the session ends; any later use raises."""
        self._handle.release()
        self.memory = Ended()

    def __repr__(self) -> str:
        return f"<ti.Texture {self.spec.format.name}, shape {self.shape}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a texture cannot be pickled: it is memory of a device. Hint: `to_numpy()`")


def make_placeholder(axes: int, texel_format: TexelFormat) -> Texture:
    """Return a texture without memory, to compile a kernel before there is one to launch it with."""
    texture = Texture.__new__(Texture)
    texture.spec = TextureSpec(texel_format, (1,) * axes, None, ("repeat",) * axes)
    texture._describe()
    texture.memory = Ended()
    return texture


class Ended:
    """Replaces texture memory of a session that ended."""

    def __getattr__(self, name: str) -> NoReturn:
        raise _ended()


def _ended() -> TaichiRuntimeError:
    return TaichiRuntimeError(
        "this texture was made before the last `ti.init()` or `ti.reset()` and its memory is gone",
        "create textures again after `ti.init()`",
    )


class _TextureAllocator:
    """Allocates and frees a texture for its `AllocationHandle`."""

    __slots__ = ("_session", "_spec")

    def __init__(self, session: Session, spec: TextureSpec) -> None:
        self._session, self._spec = session, spec

    def allocate(self, size_bytes: int, owner: str, lazily: bool = False) -> Allocation:
        device = self._session.device
        texture: Any = self._session.obtain(lambda: device.make_texture(self._spec), owner)
        return texture  # type: ignore[no-any-return]  # a handle takes any object

    def release(self, allocation: Allocation) -> None:
        texture: Any = allocation
        if not self._session.is_closed:
            self._session.device.free_texture(texture)

    def register_handle(self, handle: AllocationHandle) -> None:
        self._session.register_handle(handle)


def _format_of(fmt: Any, num_channels: int | None, channel_format: Any) -> TexelFormat:
    try:
        if fmt is None and (num_channels is not None or channel_format is not None):
            return legacy_format(num_channels, channel_format)
    except TaichiCompilationError as error:
        raise TaichiRuntimeError(error.message, error.hint) from None
    texel_format = FORMATS.get(getattr(fmt, "name", "")) if isinstance(fmt, Format) else None
    if texel_format is None or texel_format.kind == "depth":
        found = f"ti.Format.{fmt.name}" if isinstance(fmt, Format) else repr(fmt)
        raise TaichiRuntimeError(f"a texture cannot have the format {found}", "`ti.Texture(ti.Format.rgba8, (n, m))`")
    return texel_format


def _extents(shape: Any) -> tuple[int, ...]:
    extents = to_shape(shape, _no_shape)
    if not 1 <= len(extents) <= MAX_AXES or any(extent < 1 for extent in extents) or prod(extents) > MAX_ITEMS:
        raise _no_shape(shape)
    return extents


def _no_shape(shape: Any) -> TaichiRuntimeError:
    return TaichiRuntimeError(
        f"{shape!r} is not a valid shape for a texture", f"1 to {MAX_AXES} extents above 0: (width, height)"
    )


def _filter(filter: str | None) -> str | None:
    if filter is not None and filter not in FILTERS:
        raise TaichiRuntimeError(f"filter={filter!r} is no filter", f"there are {', '.join(map(repr, FILTERS))}")
    return filter


def _modes(address: str | Sequence[str], axes: int) -> tuple[str, ...]:
    modes = (address,) * axes if isinstance(address, str) else tuple(address)
    if len(modes) != axes or any(mode not in ADDRESS_MODES for mode in modes):
        known = ", ".join(map(repr, ADDRESS_MODES))
        raise TaichiRuntimeError(f"address={address!r} is no address mode for {axes} axes", f"there are {known}")
    return modes
