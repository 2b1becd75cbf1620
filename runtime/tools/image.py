"""`ti.tools`: reading, writing, scaling and showing pictures, shape (width, height[, channels]), bottom left first."""

from __future__ import annotations

import os
import sys
from operator import index as as_index
from pathlib import Path
from typing import Any

import numpy as np

from ..gui.events import EType
from ..gui.images import encode_png, image_of, look_at, lying, read_file, to_bytes, upright, write_file
from ..gui.window import NoWindowError, open_window

Array = np.ndarray[Any, Any]


def cook_image_to_bytes(img: Any, user: str = "ti.tools.imwrite") -> Array:
    """Return a picture as `imwrite` stores it: bytes, shape (height, width, channels), first row on top.

    user: the caller, for errors. Raises: ValueError for what is not a picture, and for two channels, which may mean red
    and green, or grey and alpha.
    """
    image = image_of(img, user)
    if image.shape[2] == 2:
        raise ValueError(f"Image must be either RGB/RGBA or greyscale; found shape {image.shape}")
    return np.ascontiguousarray(upright(to_bytes(image)))


def imwrite(img: Any, filename: str | os.PathLike[str]) -> None:
    """Write a picture to a file; the suffix selects the format.

    img: field, ndarray, NumPy array or tensor, shape (width, height) or (width, height, 1, 3 or 4); floats are clipped
    to 0 and 1, unsigned integers use their whole range.

    filename: where; `.png` needs no other package.
    Raises: ValueError for what is not a picture; RuntimeError for an unknown suffix, or if the file cannot be written;
    ImportError for formats but PNG where Pillow is missing.

    Example:
        >>> ti.tools.imwrite(np.zeros((8, 4, 3), np.uint8), "black.png")
        >>> ti.tools.imread("black.png").shape
        (8, 4, 3)
    """
    write_file(filename, cook_image_to_bytes(img))


def imread(filename: str | os.PathLike[str], channels: int = 0) -> Array:
    """Return the picture of a file as bytes, shape (width, height, channels).

    channels: 1 (grey), 2 (grey and alpha), 3 or 4 convert; 0: those of the file.

    filename: of the picture.
    Raises: RuntimeError if the file cannot be read as a picture; ValueError for other channels; ImportError where
    Pillow is missing.

    Example:
        >>> ti.tools.imwrite(np.zeros((8, 4, 3), np.uint8), "black.png")
        >>> ti.tools.imread("black.png").shape
        (8, 4, 3)
    """
    return np.ascontiguousarray(lying(read_file(filename, channels)))


def imresize(img: Any, w: int, h: int | None = None) -> Array:
    """Return a picture scaled to (w, h) without smoothing, the picture itself if that is its size; h: w if not given.

    img: an array, shape (width, height) or (width, height, channels).
    Raises: ValueError for a size below 1, or for other objects than arrays of two or more axes.

    Example:
        >>> ti.tools.imresize(np.zeros((4, 2)), 8, 4).shape
        (8, 4)
    """
    image = look_at(img)
    if image is None or image.ndim < 2 or 0 in image.shape:
        raise ValueError(f"ti.tools.imresize takes a picture (width, height, ...); found {_shape_of(img)}")
    try:
        size = as_index(w), as_index(w if h is None else h)
    except TypeError:
        size = (0, 0)
    if min(size) < 1:
        raise ValueError(f"ti.tools.imresize takes a width and a height above 0, in pixels; found {w!r} and {h!r}")
    if image.shape[:2] == size:
        return image if isinstance(img, np.ndarray) else image.copy()
    columns, rows = (np.arange(wanted) * have // wanted for wanted, have in zip(size, image.shape))
    scaled: Array = image[columns[:, None], rows]
    return scaled


def imshow(img: Any, title: str = "imshow") -> None:
    """Show a picture in a window until it is closed or Escape is pressed; in a notebook, below the cell.

    img: as for `imwrite`. title: of the window.
    Raises: RuntimeError if there is no display; ValueError for what is not a picture.

    Example:
        >>> ti.tools.imshow(np.zeros((64, 64)))  # doctest: +SKIP
    """
    pixels = cook_image_to_bytes(img, "ti.tools.imshow")
    if _show_in_notebook(pixels):
        return
    height, width, channels = pixels.shape
    colors = np.ascontiguousarray(np.repeat(pixels, 3, axis=2) if channels == 1 else pixels[:, :, :3])
    try:
        window = open_window(title, (width, height), fullscreen=False)
    except NoWindowError as error:
        if os.environ.get("SHADESMITH_GUI_END"):  # of `shadesmith run --frames`
            folder = Path(os.environ.get("SHADESMITH_GUI_DIR", "frames"))
            folder.mkdir(parents=True, exist_ok=True)
            imwrite(img, str(folder / "imshow.png"))
            return
        raise RuntimeError(
            f"ti.tools.imshow opens a window, and none can be opened here: {error}. "
            "Hint: `ti.tools.imwrite(img, 'image.png')` writes a file"
        ) from None
    while window.is_open():
        if any(event.type == EType.Press and event.key == "Escape" for event in window.show(colors, 1 / 60)):
            window.close()


def _show_in_notebook(pixels: Array) -> bool:
    """Show a picture below the cell of a notebook; return False outside notebooks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipython is None or type(shell).__name__ != "ZMQInteractiveShell":
        return False
    ipython.display.display(ipython.display.Image(data=encode_png(pixels)))
    return True


def _shape_of(value: Any) -> str:
    return f"shape {value.shape}" if hasattr(value, "shape") else f"a {type(value).__name__}"
