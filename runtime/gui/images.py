"""Input and output of pictures: arrays of any library as floats or bytes, and files.

In: fields, ndarrays, NumPy arrays and tensors, shape (width, height[, channels]), the origin at the bottom left, as in
Taichi; numbers from 0 to 1, or unsigned integers over their whole range. Out: NumPy arrays. In files the first row is
the top one: `upright` and `lying` convert. PNG files are written here; Pillow, if it is installed, reads and writes all
others.
"""

from __future__ import annotations

import os
import struct
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays.dense_array import DenseArray
from ..arrays.memory import Memory

Array = np.ndarray[Any, Any]

PNG_COLORS = {1: 0, 2: 4, 3: 2, 4: 6}
"""Type of colour in a PNG header by the number of channels."""
MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}
"""Pillow's names by the number of channels."""
PIECE_BYTES, ZLIB_HEADER = 1 << 19, b"\x78\x01"
"""Bytes of a picture that one core compresses at a time; header of compressed bytes, by RFC 1950."""
BAND = 64
"""Columns converted together, so that intermediate results stay in the cache."""


def look_at(values: Any) -> Array | None:
    """Return the values of an array of any library, to be read immediately; None for other objects.

    Memory that NumPy can access is not copied.
    """
    if isinstance(values, DenseArray):
        memory = values.memory
        if isinstance(memory, Memory) and not memory.mirrored:
            memory.refresh()
            return memory.view
        return values.to_numpy()
    if hasattr(values, "detach"):  # a torch tensor, perhaps on a GPU
        values = values.detach().cpu().numpy()
    elif hasattr(values, "__cuda_array_interface__") and hasattr(values, "get"):  # CuPy
        values = values.get()
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    if isinstance(values, np.ndarray) or hasattr(values, "__array_interface__") or hasattr(values, "__array__"):
        return np.asarray(values)
    return None


def image_of(image: Any, user: str) -> Array:
    """Return a picture as an array (width, height, channels); user: the caller, for errors.

    Raises: ValueError for what is not a picture: no array, signed integers, other shapes.
    """
    array = look_at(image)
    if array is None:
        kind = type(image).__name__
        raise ValueError(f"{user} takes a field, an ndarray, a NumPy array or a tensor, and a {kind} was given")
    if array.dtype.kind not in "fu":
        raise ValueError(
            f"Data type {array.dtype} not supported in {user}. "
            "Hint: give floats from 0 to 1, or unsigned integers over their whole range, such as `ti.u8` from 0 to 255"
        )
    if array.ndim == 4 and array.shape[3] == 1:  # a field of matrices with one column
        array = array[..., 0]
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in PNG_COLORS:
        raise ValueError(f"{user} takes shape (width, height) or (width, height, 1 to 4 channels); found {array.shape}")
    return array


def clear_picture(picture: Array, color: Array) -> None:
    """Set all of a picture of floats, (width, height, 4), to one colour (4,); 16 bytes at once are 8 times faster."""
    picture.view(np.complex128)[...] = color.astype(np.float32).view(np.complex128)


def fill_picture(picture: Array, image: Array) -> None:
    """Set a picture of floats, (width, height, 4), from an image of equal size and 1 to 4 channels; one is grey."""
    scale = np.float32(1) if image.dtype.kind == "f" else np.float32(1 / np.iinfo(image.dtype).max)
    channels = image.shape[2] if image.shape[2] > 1 else 4
    for part in _bands(len(picture)):
        # Channel by channel: a loop over three or four numbers inside the others costs three times as much.
        for channel in range(4):
            if channel >= channels:
                picture[part, :, channel] = 0
            elif image.dtype.kind == "f":
                picture[part, :, channel] = image[part, :, channel % image.shape[2]]
            else:
                values = image[part, :, channel % image.shape[2]]
                np.multiply(values, scale, out=picture[part, :, channel], casting="unsafe")


def to_bytes(image: Array) -> Array:
    """Return floats from 0 to 1, or unsigned integers over their whole range, as bytes, fractions dropped."""
    if image.dtype.kind == "u":
        highest: Array = (image >> ((image.dtype.itemsize - 1) * 8)).astype(np.uint8)
        return highest
    scaled = image * np.float32(255)
    np.fmax(scaled, 0, out=scaled)  # NaN becomes 0
    found: Array = np.minimum(scaled, 255, out=scaled).astype(np.uint8)
    return found


def upright(image: Array) -> Array:
    """Return a view (height, width, ...), first row on top, of a picture (width, height, ...)."""
    view: Array = image.swapaxes(0, 1)[::-1]
    return view


def lying(pixels: Array) -> Array:
    """Return a view (width, height, ...), origin at the bottom left, of what a file holds, (height, width, ...)."""
    view: Array = pixels[::-1].swapaxes(0, 1)
    return view


def picture_to_bytes(picture: Array) -> Array:
    """Return the colours of a picture (width, height, 4) as upright bytes (height, width, 3)."""
    width, height = picture.shape[:2]
    result = np.empty((height, width, 3), np.uint8)
    for part in _bands(width):
        found = to_bytes(picture[part])
        for channel in range(3):
            result[:, part, channel] = upright(found[:, :, channel])
    return result


def pack_picture(picture: Array) -> Array:
    """Return the colours of a picture as flat u32, upright: red * 65536 + green * 256 + blue."""
    colors = np.floor(np.clip(np.nan_to_num(picture[:, ::-1, :3]), 0, 1) * 255).astype(np.uint32)
    packed: Array = (colors @ np.array([1 << 16, 1 << 8, 1], np.uint32)).T.reshape(-1)
    return np.ascontiguousarray(packed)


def unpack_picture(packed: Array, picture: Array) -> None:
    """Set a picture from what `pack_picture` returned."""
    width, height = picture.shape[:2]
    colors = packed.reshape(height, width).T[:, ::-1]
    for channel, shift in enumerate((16, 8, 0)):
        picture[:, :, channel] = (colors >> shift & 0xFF) / np.float32(255)
    picture[:, :, 3] = 1


def _bands(width: int) -> list[slice]:
    return [slice(x, x + BAND) for x in range(0, width, BAND)]


def encode_png(pixels: Array) -> bytes:
    """Return a PNG of bytes, shape (height, width, 1 to 4 channels), first row on top."""
    height, width, channels = pixels.shape
    rows = np.empty((height, 1 + width * channels), np.uint8)
    rows[:, 0] = 0  # no filter
    rows[:, 1:] = pixels.reshape(height, width * channels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(kind)))

    header = struct.pack(">IIBBBBB", width, height, 8, PNG_COLORS[channels], 0, 0, 0)
    return b"".join((
        b"\x89PNG\r\n\x1a\n",
        chunk(b"IHDR", header),
        chunk(b"IDAT", _compress(memoryview(rows.data))),
        chunk(b"IEND", b""),
    ))  # fmt: skip


def _compress(rows: memoryview) -> bytes:
    """Return bytes compressed by zlib in pieces on several cores; the result does not depend on the number of cores.

    It uses the fastest level: the frame rate of a video matters more than 20 % of the file size.
    """
    count = max(1, PIECE_BYTES * len(rows) // rows.nbytes)
    pieces = [rows[start : start + count] for start in range(0, len(rows), count)]
    if len(pieces) == 1:
        return zlib.compress(rows, 1)

    def compress(number: int) -> bytes:
        packer = zlib.compressobj(1, wbits=-zlib.MAX_WBITS)
        end = zlib.Z_FINISH if number == len(pieces) - 1 else zlib.Z_SYNC_FLUSH  # so that pieces can be concatenated
        return packer.compress(pieces[number]) + packer.flush(end)

    with ThreadPoolExecutor(min(len(pieces), os.cpu_count() or 1)) as pool:
        packed = list(pool.map(compress, range(len(pieces))))
    return b"".join((ZLIB_HEADER, *packed, struct.pack(">I", zlib.adler32(rows))))


def write_file(filename: str | os.PathLike[str], pixels: Array) -> None:
    """Write bytes (height, width, 1 to 4 channels), first row on top; the suffix selects the format.

    Raises: RuntimeError for an unknown suffix, or if the file cannot be written; ImportError without Pillow.
    """
    path = Path(filename)
    try:
        if path.suffix.lower() == ".png":
            path.write_bytes(encode_png(pixels))
            return
        image = pillow(f"`{path}`: only .png files are written without it")
        kind = image.registered_extensions().get(path.suffix.lower())
        if kind not in image.SAVE:
            raise RuntimeError(f"Unknown image file suffix `{path.suffix}` of `{path}`. Hint: use .png, .jpg or .bmp")
        picture = image.fromarray(np.ascontiguousarray(pixels if pixels.shape[2] > 1 else pixels[:, :, 0]))
        has_alpha = kind not in ("JPEG", "BMP", "PPM")
        picture = picture if has_alpha or pixels.shape[2] in (1, 3) else picture.convert(MODES[pixels.shape[2] - 1])
        picture.save(path, kind, **({"quality": 95} if kind == "JPEG" else {}))
    except OSError as error:
        raise RuntimeError(f"Cannot write image file [{path}]: {error.strerror or error}") from None


def read_file(filename: str | os.PathLike[str], channels: int = 0) -> Array:
    """Return a picture's bytes, (height, width, channels), first row on top; channels: 0 for those of the file.

    Raises: RuntimeError if the file cannot be read as a picture; ImportError without Pillow.
    """
    image = pillow("pictures are read by it")
    if channels not in (0, *MODES):
        raise ValueError(f"`channels` is 0 for those of the file, or 1 to 4; found {channels}")
    try:
        with image.open(filename) as picture:
            if picture.mode.startswith("I"):  # 16 bits a channel, which Pillow would cut off at 255
                picture = image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
            if "transparency" in picture.info:
                picture = picture.convert("RGBA")
            pixels = np.array(picture.convert(MODES.get(channels) or _mode_of(picture)))
    except OSError as error:  # also files that are not pictures: PIL.UnidentifiedImageError
        raise RuntimeError(f"Cannot read image file [{filename}]: {error.strerror or error}") from None
    return pixels if pixels.ndim == 3 else pixels[:, :, None]


def _mode_of(picture: Any) -> str:
    """Return the mode with one byte per channel that keeps all channels of a picture."""
    if picture.mode in MODES.values():
        return str(picture.mode)
    return "L" if picture.mode in ("1", "F") else "RGB"


def pillow(purpose: str) -> Any:
    """Return the module `PIL.Image`. Raises: ImportError with the purpose and the package to install."""
    try:
        import PIL.Image
    except ImportError:
        raise ImportError(f"Pillow is not installed: {purpose}. Hint: `pip install shadesmith[image]`") from None
    return PIL.Image
