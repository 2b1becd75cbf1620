"""Textures on CUDA: an array in the GPU's own order, texture objects for sampling and fetching, and a surface.

`tex*` reads through texture objects, which scale small integers to [0, 1] and decode sRGB; `surf*` loads and stores raw
texels, which the kernel's source converts.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from ....transpiler.errors import TaichiRuntimeError, UnsupportedError
from ..device import OutOfMemory, format_size
from ..textures import TextureSpec, choose_filter, lacks_format

ADDRESS_MODES = {
    "repeat": "cudaAddressModeWrap",
    "mirrored_repeat": "cudaAddressModeMirror",
    "clamp_to_edge": "cudaAddressModeClamp",
    "clamp_to_border": "cudaAddressModeBorder",
}
KINDS = {"float": "Float", "int": "Signed"}
"""Kinds of channels; all others are unsigned integers."""
LIMITS = ("1DWidth", "2DWidth 2DHeight", "3DWidth 3DHeight 3DDepth")
"""Suffixes of the attributes that limit extents, of textures and surfaces, by the number of axes."""


class Gpu(Protocol):
    """The part of the CUDA device that textures need."""

    runtime: Any
    index: int
    title: str
    used_bytes: int
    failure: tuple[type[Exception], ...]

    @property
    def cupy(self) -> Any:
        """CuPy."""

    def allocate(self, size_bytes: int, lazily: bool = False) -> Any:
        """Return zeroed memory."""

    def free(self, allocation: Any) -> None:
        """Free memory."""

    def ordered_stream(self) -> int:
        """Return the stream on which copies are ordered with launches."""

    def view(
        self, allocation: Any, offset_bytes: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any
    ) -> Any:
        """Return a CuPy array over part of an allocation. strides: [bytes]."""

    def synchronize(self) -> None:
        """Wait for all streams."""

    def describe(self, error: Exception) -> TaichiRuntimeError:
        """Return the error that names the kernels launched last."""


class CudaTexture:
    """An array and its texture and surface objects, which CuPy destroys with their Python objects.

    array: None after `free`.
    sampled, texels, storage: handles of the texture objects with normalised coordinates and with integer coordinates,
      and of the surface; 0 if a format has none.
    """

    __slots__ = ("_objects", "array", "filter", "sampled", "spec", "storage", "texels")

    address = 0

    def __init__(self, cupy: Any, spec: TextureSpec, where: str) -> None:
        self.spec = spec
        self.filter = choose_filter(spec, True, where)
        runtime, texture = cupy.cuda.runtime, cupy.cuda.texture
        bits = [spec.format.channel.bits] * spec.format.channels + [0] * (4 - spec.format.channels)
        kind = getattr(runtime, f"cudaChannelFormatKind{KINDS.get(spec.format.kind, 'Unsigned')}")
        channels = texture.ChannelFormatDescriptor(*bits, kind)
        flags = runtime.cudaArraySurfaceLoadStore if spec.format.is_storage else runtime.cudaArrayDefault
        extents = (*spec.shape, 0, 0)[:3]
        self.array = texture.CUDAarray(channels, *extents, flags)
        resource = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=self.array)
        modes = [getattr(runtime, ADDRESS_MODES[mode]) for mode in spec.address_modes]
        filter = runtime.cudaFilterModeLinear if self.filter == "linear" else runtime.cudaFilterModePoint
        border = [runtime.cudaAddressModeBorder] * len(modes)
        sampler = texture.TextureObject(resource, _descriptor(cupy, spec, modes, filter, 1))
        fetcher = texture.TextureObject(resource, _descriptor(cupy, spec, border, runtime.cudaFilterModePoint, 0))
        surface = texture.SurfaceObject(resource) if spec.format.is_storage else None
        self._objects: tuple[Any, ...] = (sampler, fetcher, surface)
        self.sampled, self.texels = int(sampler.ptr), int(fetcher.ptr)
        self.storage = int(surface.ptr) if surface is not None else 0

    def release(self) -> Any:
        """Return the objects and the array, and drop the references to them."""
        released, self._objects, self.array = (self._objects, self.array), (), None
        self.sampled = self.texels = self.storage = 0
        return released


def _descriptor(cupy: Any, spec: TextureSpec, modes: list[int], filter: int, normalized: int) -> Any:
    """Return the descriptor of how a texture object reads the array."""
    runtime = cupy.cuda.runtime
    is_scaled = spec.format.kind in ("unorm", "srgb")
    return cupy.cuda.texture.TextureDescriptor(
        addressModes=modes,
        filterMode=filter,
        readMode=runtime.cudaReadModeNormalizedFloat if is_scaled else runtime.cudaReadModeElementType,
        sRGB=int(spec.format.kind == "srgb"),
        borderColors=[0.0] * 4,
        normalizedCoords=normalized,
    )


def make_texture(device: Gpu, spec: TextureSpec) -> CudaTexture:
    """Make a texture of zeros. Raises: UnsupportedError naming the format or extent; OutOfMemory."""
    cupy = device.cupy
    if spec.format.channels == 3 or spec.format.is_swapped:
        raise lacks_format(spec, device.title)
    _check_extents(device, spec)
    try:
        texture = CudaTexture(cupy, spec, device.title)
    except device.failure as error:
        if "emoryAllocation" not in str(error) and "out of memory" not in str(error):
            raise device.describe(error) from error
        device.synchronize()
        cupy.get_default_memory_pool().free_all_blocks()
        texture = _make_again(device, spec)
    clear(device, texture)
    return texture


def _make_again(device: Gpu, spec: TextureSpec) -> CudaTexture:
    try:
        return CudaTexture(device.cupy, spec, device.title)
    except device.failure as error:
        free, total = device.runtime.memGetInfo()
        reason = f"the GPU has {format_size(total)}, shared with all that use it"
        where = f"GPU {device.index}"
        raise OutOfMemory(where, spec.size_bytes, device.used_bytes, free, reason) from error


def _check_extents(device: Gpu, spec: TextureSpec) -> None:
    """Raise UnsupportedError for a texture larger than the GPU's largest."""
    runtime = device.runtime
    uses = ("Texture", "Surface") if spec.format.is_storage else ("Texture",)
    names = LIMITS[len(spec.shape) - 1].split()
    most = [
        min(runtime.deviceGetAttribute(getattr(runtime, f"cudaDevAttrMax{use}{name}"), device.index) for use in uses)
        for name in names
    ]
    if any(extent > limit for extent, limit in zip(spec.shape, most, strict=True)):
        raise UnsupportedError(
            f"{device.title} has no textures of shape {spec.shape}; with {len(most)} axes they have at most "
            f"{tuple(most)} texels.",
            "use an ndarray, or several textures",
        )


def _view(device: Gpu, texture: CudaTexture, allocation: Any) -> Any:
    """Return a CuPy array over packed texels, in the shape for copies of a CUDA array: channels combined with x."""
    format = texture.spec.format
    width, *others = texture.spec.shape
    shape, dtype = (*reversed(others), width * format.channels), np.dtype(format.channel.numpy)
    strides = tuple(dtype.itemsize * math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return device.view(allocation, 0, shape, strides, dtype)


def clear(device: Gpu, texture: CudaTexture) -> None:
    """Set all texels to zero: a new array is uninitialized."""
    size_bytes = texture.spec.size_bytes
    zeros = device.allocate(size_bytes)
    copy_in(device, zeros, texture)
    device.free(zeros)


def copy_in(device: Gpu, source: Any, texture: CudaTexture) -> None:
    """Set all texels from an allocation, in order with launches on the current stream."""
    try:
        device.ordered_stream()
        texture.array.copy_from(_view(device, texture, source), device.cupy.cuda.get_current_stream(device.index))
    except device.failure as error:
        raise device.describe(error) from error


def copy_out(device: Gpu, texture: CudaTexture, destination: Any) -> None:
    """Copy all texels into an allocation, in order with launches on the current stream."""
    try:
        device.ordered_stream()
        texture.array.copy_to(_view(device, texture, destination), device.cupy.cuda.get_current_stream(device.index))
    except device.failure as error:
        raise device.describe(error) from error
