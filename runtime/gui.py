"""`ti.GUI`: a 2-D canvas in a window where a display is, and frames in PNG files where none is.

In: images and shapes in the unit square, origin at the bottom left, colours 0xRRGGBB. Out: a window (tkinter) or,
without a display, files `<title>-00000.png` in the folder `SHADESMITH_GUI_DIR` (default `frames`); after
`SHADESMITH_GUI_FRAMES` frames (default 3) `running` is False and Escape and the closing of the window are among the
events, so that a program's main loop terminates.
"""

from __future__ import annotations

import os
import re
import struct
import zlib
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

from .gui_text import text_pixels
from .gui_widgets import WidgetValue
from .window import Event, open_window

Array = np.ndarray[Any, Any]


def encode_png(pixels: Array) -> bytes:
    """Return a PNG of an image of bytes, shape (height, width, 3), first row on top."""
    height, width, _ = pixels.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, width * 3)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(rows.tobytes(), 6))
        + chunk(b"IEND", b"")
    )


def to_bytes(image: Any) -> Array:
    """Return an image as bytes of shape (width, height, 3); floats are taken as 0 to 1, grey becomes RGB.

    Raises: ValueError if the shape is neither (width, height) nor (width, height, 1, 3 or 4).
    """
    array = _array(image)
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in (1, 3, 4):
        raise ValueError(f"an image has shape (width, height), or (width, height, 1, 3 or 4); found {array.shape}")
    array = np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array[:, :, :3]
    if array.dtype.kind == "f":
        array = np.nan_to_num(np.clip(array, 0, 1)) * 255 + 0.5
    return array.astype(np.uint8)


class GUI:
    """A canvas of `res` pixels (width, height)."""

    SHIFT, ALT, CTRL, ESCAPE, RETURN, TAB = "Shift", "Alt", "Control", "Escape", "Return", "Tab"
    BACKSPACE, SPACE, CAPSLOCK = "BackSpace", " ", "Caps_Lock"
    UP, DOWN, LEFT, RIGHT = "Up", "Down", "Left", "Right"
    LMB, MMB, RMB, EXIT, WHEEL, MOVE = "LMB", "MMB", "RMB", "WMClose", "Wheel", "Motion"
    MOTION, PRESS, RELEASE = Event.MOTION, Event.PRESS, Event.RELEASE

    def __init__(self, name: str = "shadesmith", res: int | tuple[int, int] = 512, background_color: int = 0x0,
                 show_gui: bool = True, fullscreen: bool = False, fast_gui: bool = False) -> None:  # fmt: skip
        self.name = name
        self.res = (res, res) if isinstance(res, int) else (int(res[0]), int(res[1]))
        self.background_color = background_color
        self.frame = 0
        self.fps_limit: int | None = 60
        self.event: Event | None = None
        self._events: deque[Event] = deque()
        self._stop = False
        self._pixels: Array = np.empty((*self.res, 3), np.uint8)
        self._buttons = 0
        self.clear()
        self._window = open_window(name, self.res) if show_gui else None
        self._folder = Path(os.environ.get("SHADESMITH_GUI_DIR", "frames"))
        self._frames_left = int(os.environ.get("SHADESMITH_GUI_FRAMES", "3"))

    def __enter__(self) -> GUI:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def running(self) -> bool:
        """Whether the window is open; without a display, whether frames are left to save."""
        if self._window is not None:
            return not self._stop and self._window.is_open()
        return not self._stop and self._frames_left > 0

    @running.setter
    def running(self, value: bool) -> None:
        self._stop = not value

    def close(self) -> None:
        """Close the window and end `running`."""
        self._stop = True
        if self._window is not None:
            self._window.close()

    def clear(self, color: int | None = None) -> None:
        """Fill the canvas with `color`, or the background colour."""
        self._pixels[:] = _rgb(self.background_color if color is None else color)

    def set_image(self, img: Any) -> None:
        """Show an image of the canvas's size: NumPy array, field or ndarray, (width, height[, channels])."""
        pixels = to_bytes(img)
        if pixels.shape[:2] != self.res:
            raise ValueError(f"the image has {pixels.shape[:2]} pixels, the canvas of `{self.name}` {self.res}")
        self._pixels[:] = pixels

    def get_image(self) -> Array:
        """Return the canvas as floats, shape (width, height, 4)."""
        alpha = np.full((*self.res, 1), 255, np.uint8)
        return np.concatenate([self._pixels, alpha], axis=2).astype(np.float32) / 255

    def circle(self, pos: Any, color: int = 0xFFFFFF, radius: float = 1) -> None:
        """Draw one disc; radius in pixels."""
        self.circles(np.asarray(_numbers(pos), float)[None], radius, color)

    def circles(
        self, pos: Any, radius: Any = 1, color: Any = 0xFFFFFF, palette: Any = None, palette_indices: Any = None
    ) -> None:
        """Draw discs at `pos`, shape (n, 2); radius [pixels] and color one for all or one each."""
        points = np.asarray(_array(pos), float) * self.res
        if palette is not None:
            color = np.asarray(palette)[_array(palette_indices)]
        colors = _rgb(np.broadcast_to(np.asarray(color), len(points)))
        radii = np.broadcast_to(np.asarray(radius, float), len(points))
        reach = int(np.ceil(radii.max(initial=0)))
        base = np.floor(points).astype(int)
        for dx in range(-reach, reach + 1):
            for dy in range(-reach, reach + 1):
                cells = base + (dx, dy)
                inside = ((cells + 0.5 - points) ** 2).sum(1) <= np.maximum(radii, 0.71) ** 2
                self._plot(cells[inside], colors[inside])

    def line(self, begin: Any, end: Any, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """Draw one line."""
        self.lines(np.asarray([_numbers(begin)]), np.asarray([_numbers(end)]), radius, color)

    def lines(self, begin: Any, end: Any, radius: float = 1, color: Any = 0xFFFFFF) -> None:
        """Draw lines from `begin` to `end`, shapes (n, 2); radius [pixels]."""
        first, along = np.asarray(begin, float), np.asarray(end, float) - np.asarray(begin, float)
        counts = np.abs(along * self.res).max(axis=1, initial=0).astype(int) + 2
        line = np.repeat(np.arange(len(first)), counts)
        step = np.arange(len(line)) - np.repeat(np.cumsum(counts) - counts, counts)
        places = first[line] + along[line] * (step / (counts[line] - 1))[:, None]
        colors = np.broadcast_to(np.asarray(color), len(first))
        self.circles(places, max(0.71, radius * 0.5), colors[line])

    def triangle(self, a: Any, b: Any, c: Any, color: int = 0xFFFFFF) -> None:
        """Fill one triangle."""
        first, second, third = (np.asarray([_numbers(corner)]) for corner in (a, b, c))
        self.triangles(first, second, third, color)

    def triangles(self, a: Any, b: Any, c: Any, color: Any = 0xFFFFFF) -> None:
        """Fill triangles with corners `a`, `b`, `c`, shapes (n, 2)."""
        colors = np.broadcast_to(np.asarray(color), len(a))
        for corners, one in zip(np.stack([a, b, c], 1) * self.res, colors):
            low, high = np.floor(corners.min(0)).astype(int), np.ceil(corners.max(0)).astype(int) + 1
            cells = np.stack(np.meshgrid(*map(np.arange, low, high), indexing="ij"), -1).reshape(-1, 2)
            sides = [_side(corners[k], corners[(k + 1) % 3], cells + 0.5) for k in range(3)]
            inside = np.all(np.array(sides) >= 0, 0) | np.all(np.array(sides) <= 0, 0)
            self._plot(cells[inside], np.broadcast_to(_rgb(int(one)), (int(inside.sum()), 3)))

    def rect(self, topleft: Any, bottomright: Any, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """Draw the outline of a rectangle."""
        (x0, y0), (x1, y1) = _numbers(topleft), _numbers(bottomright)
        corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
        self.lines(corners, np.roll(corners, -1, 0), radius, color)

    def text(self, content: str, pos: Any, font_size: float = 15, color: int = 0xFFFFFF) -> None:
        """Write a text from its top left corner on; font size in pixels."""
        size = max(1, round(font_size / 7))
        x, y = np.asarray(_numbers(pos)) * self.res
        steps = np.stack(np.meshgrid(np.arange(size), np.arange(size)), -1).reshape(-1, 2)
        cells = (text_pixels(str(content))[:, None] * size + steps).reshape(-1, 2) * (1, -1) + (int(x), int(y) - 1)
        self._plot(cells, np.broadcast_to(_rgb(color), (len(cells), 3)))

    def arrow(self, orig: Any, direction: Any, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """Draw one arrow."""
        self.arrows(np.asarray([_numbers(orig)]), np.asarray([_numbers(direction)]), radius, color)

    def arrows(self, orig: Any, direction: Any, radius: float = 1, color: Any = 0xFFFFFF) -> None:
        """Draw arrows from `orig` to `orig + direction`, shapes (n, 2); radius [pixels]."""
        begin, along = np.asarray(orig, float), np.asarray(direction, float)
        across = np.stack([-along[:, 1], along[:, 0]], 1)
        tip = begin + along
        self.lines(begin, tip, radius, color)
        for side in (across, -across):
            self.lines(tip, tip - 0.15 * along + 0.15 * side, radius, color)

    def point_field(self, radius: Any, color: Any = 0xFFFFFF, bound: float = 0.5) -> None:
        """Draw a disc in each cell of a 2-D array of radii [pixels]; bound: place of the corners within their cells."""
        radii = _array(radius)
        self.circles(_grid(radii.shape[:2], bound), radii.ravel(), color)

    def arrow_field(self, direction: Any, radius: float = 1, color: Any = 0xFFFFFF, bound: float = 0.5) -> None:
        """Draw an arrow in each cell of a 2-D array of vectors (fractions of the canvas)."""
        along = _array(direction)
        self.arrows(_grid(along.shape[:2], bound), along.reshape(-1, 2), radius, color)

    def vector_field(self, vector_field: Any, arrow_spacing: int = 5, color: Any = 0xFFFFFF) -> None:
        """Draw every `arrow_spacing`-th vector of a 2-D array, the longest as long as the spacing."""
        vectors = _array(vector_field)[:, :, :2]
        places = _grid(vectors.shape[:2], 0.5).reshape(vectors.shape)[::arrow_spacing, ::arrow_spacing]
        chosen = vectors[::arrow_spacing, ::arrow_spacing]
        longest = np.linalg.norm(chosen, axis=2).max(initial=0)
        if longest > 0:
            scale = arrow_spacing / max(vectors.shape[:2]) / longest
            self.arrows(places.reshape(-1, 2), chosen.reshape(-1, 2) * scale, 1, color)

    def slider(self, text: str, minimum: float, maximum: float, step: float = 1) -> WidgetValue:
        """Return a slider, at first at its minimum; without a window only the program moves it."""
        widget = WidgetValue(minimum)
        if self._window is not None:
            widget.shown_by(self._window.add_slider(text, minimum, maximum, step, widget.moved))
        return widget

    def label(self, text: str) -> WidgetValue:
        """Return a label that shows `text` and a number."""
        widget = WidgetValue(0)
        if self._window is not None:
            widget.shown_by(self._window.add_label(text))
        return widget

    def button(self, text: str, event_name: str | None = None) -> str:
        """Add a button; return the key of the event that pressing it gives."""
        self._buttons += 1
        name = event_name or f"WidgetButton_{self._buttons}"
        if self._window is not None:
            self._window.add_button(text, name)
        return name

    def show(self, file: str | None = None) -> None:
        """Show the canvas, or write it to `file` (PNG); then clear it to the background colour."""
        if file is not None:
            self.save(Path(file))
        elif self._window is not None:
            self._events.extend(self._window.show(np.ascontiguousarray(self._upright()), self.fps_limit))
        else:
            self._folder.mkdir(parents=True, exist_ok=True)
            stem = re.sub(r"\W+", "_", self.name).strip("_") or "frame"
            self.save(self._folder / f"{stem}-{self.frame:05d}.png")
        self._frames_left -= 1
        self.frame += 1
        if self._window is None and self._frames_left <= 0:
            self._events.clear()
            self._events.extend(Event(Event.PRESS, key, (0.0, 0.0)) for key in (self.ESCAPE, self.EXIT))
        self.clear()

    def save(self, path: Path) -> None:
        """Write the canvas as a PNG. Raises: ValueError for another suffix."""
        if path.suffix.lower() != ".png":
            raise ValueError(f"`{path}`: frames are written as .png")
        path.write_bytes(encode_png(np.ascontiguousarray(self._upright())))

    def get_events(self, *filters: Any) -> list[Event]:
        """Return the events since the last call: those that match a filter (a type, a key, a pair) if one is given."""
        if self._window is not None:
            self._events.extend(self._window.poll())
        found = [e for e in self._events if not filters or any(e.matches(f) for f in filters)]
        self._events.clear()
        return found

    def get_event(self, *filters: Any) -> bool:
        """Take one event into `self.event`; return whether there was one."""
        if self._window is not None:
            self._events.extend(self._window.poll())
        while self._events:
            event = self._events.popleft()
            if not filters or any(event.matches(f) for f in filters):
                self.event = event
                return True
        return False

    def take_event(self, key: str) -> bool:
        """Take the oldest event of `key`, leaving all others; return whether there was one."""
        if self._window is not None:
            self._events.extend(self._window.poll())
        found = next((event for event in self._events if event.key == key), None)
        if found is not None:
            self._events.remove(found)
        return found is not None

    def has_key_event(self) -> bool:
        """Whether an event waits."""
        if self._window is not None:
            self._events.extend(self._window.poll())
        return bool(self._events)

    def get_key_event(self) -> Event | None:
        """Take one event; None where there is none."""
        return self._events.popleft() if self.has_key_event() else None

    def is_pressed(self, *keys: str) -> bool:
        """Whether one of the keys is down."""
        return self._window is not None and any(key in self._window.pressed for key in keys)

    def get_cursor_pos(self) -> tuple[float, float]:
        """Return the cursor in the unit square; (0, 0) without a window."""
        return self._window.cursor if self._window is not None else (0.0, 0.0)

    def _upright(self) -> Array:
        upright: Array = self._pixels.transpose(1, 0, 2)[::-1]
        return upright

    def _plot(self, cells: Array, colors: Array) -> None:
        inside = ((cells >= 0) & (cells < self.res)).all(1)
        self._pixels[cells[inside, 0], cells[inside, 1]] = colors[inside]


def _rgb(color: Any) -> Array:
    value = np.asarray(color).astype(np.int64)
    return np.stack([(value >> 16) & 255, (value >> 8) & 255, value & 255], -1).astype(np.uint8)


def _array(values: Any) -> Array:
    found: Array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    return found


def _grid(shape: tuple[int, ...], bound: float) -> Array:
    """Return the places of cells in the unit square, the corners `bound` cells from the edges, shape (n, 2)."""
    width, height = (bound + np.arange(n) * (1 if n == 1 else (n - 2 * bound) / (n - 1)) for n in shape)
    cells: Array = np.stack(np.meshgrid(width / shape[0], height / shape[1], indexing="ij"), -1)
    return cells.reshape(-1, 2)


def _numbers(pos: Any) -> list[float]:
    return [float(x) for x in pos]


def _side(a: Array, b: Array, points: Array) -> Array:
    result: Array = (b[0] - a[0]) * (points[:, 1] - a[1]) - (b[1] - a[1]) * (points[:, 0] - a[0])
    return result


def rgb_to_hex(c: Any) -> Any:
    """Return 0xRRGGBB of red, green and blue between 0 and 1 (numbers or arrays)."""
    red, green, blue = (np.clip(np.asarray(part) * 255, 0, 255).astype(np.int64) for part in c)
    result = (red << 16) + (green << 8) + blue
    return int(result) if np.ndim(result) == 0 else result


def hex_to_rgb(color: int) -> tuple[float, float, float]:
    """Return red, green and blue between 0 and 1 of 0xRRGGBB."""
    return ((color >> 16 & 255) / 255, (color >> 8 & 255) / 255, (color & 255) / 255)
