"""`ti.GUI`: a 2-D canvas in a window, or frames in PNG files if there is no display.

In: images and shapes in the unit square, origin at the bottom left, colours 0xRRGGBB. Out: a window (tkinter) or,
without a display, files `<title>-00000.png` in the folder `SHADESMITH_GUI_DIR` (default `frames`); after
`SHADESMITH_GUI_FRAMES` frames (default 3) `running` is False and the events contain Escape and the closing of the
window, so that a program's main loop ends. With `show_gui=False` nothing is shown; `get_image` and `show(file)` work.
"""

from __future__ import annotations

import os
import re
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from ..fields.field import MatrixField
from ..session.logging_levels import LOGGER
from . import events
from . import widgets as gui_widgets
from .arguments import (
    check_lengths,
    to_array,
    to_palette_colors,
    to_point,
    to_points,
    to_radii,
    to_rgba,
    to_size,
    to_switch,
)
from .canvas import paint
from .color_maps import colors_of, stretched
from .events import EType, is_held
from .images import clear_picture, fill_picture, image_of, pack_picture, picture_to_bytes, unpack_picture, write_file
from .letters import cover_text
from .raster import Coverage, cover_discs, cover_lines, cover_triangles
from .window import NoWindowError, Window, open_window

Array = np.ndarray[Any, Any]

SWITCHES = {"show_gui": "GUI_SHOW", "fullscreen": "GUI_FULLSCREEN", "fast_gui": "GUI_FAST"}
"""Environment variables, after `SHADESMITH_` or `TI_`, that override a program's arguments: 0 or 1."""
LONGEST_VECTOR = 0.1
"""Length of the longest vector of `vector_field`."""


class GUI:
    """A canvas of `res` pixels (width, height).

    fullscreen: the window fills the screen, the canvas keeps its size. fast_gui: images are vector fields of three or
    four components only, as in Taichi; it is not faster here.
    name: the window's title. res: one number for a square. background_color: 0xRRGGBB. show_gui: False: no window, but
    the same pictures.

    Example:
        >>> gui = ti.GUI("dots", res=(64, 32), show_gui=False)
        >>> gui.circle((0.5, 0.5), color=0xFF0000, radius=5)
        >>> gui.get_image().shape
        (64, 32, 4)
    """

    Event = events.Event
    EventFilter = events.EventFilter
    WidgetValue = gui_widgets.WidgetValue
    SHIFT, ALT, CTRL, ESCAPE, RETURN, TAB = "Shift", "Alt", "Control", "Escape", "Return", "Tab"
    BACKSPACE, SPACE, CAPSLOCK = "BackSpace", " ", "Caps_Lock"
    UP, DOWN, LEFT, RIGHT = "Up", "Down", "Left", "Right"
    LMB, MMB, RMB, EXIT, WHEEL, MOVE = "LMB", "MMB", "RMB", "WMClose", "Wheel", "Motion"
    MOTION, PRESS, RELEASE = EType.Move, EType.Press, EType.Release

    def __init__(self, name: str = "shadesmith", res: int | tuple[int, int] = 512, background_color: int = 0x0,
                 show_gui: bool = True, fullscreen: bool = False, fast_gui: bool = False) -> None:  # fmt: skip
        given = {"show_gui": show_gui, "fullscreen": fullscreen, "fast_gui": fast_gui}
        switches = {switch: to_switch(SWITCHES[switch], value) for switch, value in given.items()}
        self.name = name
        self.res = to_size(res)
        self.fast_gui = switches["fast_gui"]
        self.background_color = background_color
        self.frame = 0
        self.event: events.Event | None = None
        self._picture: Array = np.empty((*self.res, 4), np.float32)
        self._color: Array | None = None  # of a cleared canvas that is not filled yet, since an image may cover it
        self._packed: tuple[Array, Array] | None = None  # of `img` with `fast_gui`, and as it was when it was made
        self._events: deque[events.Event] = deque()
        self._frame_seconds = 1 / 60
        self._stop = False
        self._folder = Path(os.environ.get("SHADESMITH_GUI_DIR", "frames"))
        self._frames_left = int(os.environ.get("SHADESMITH_GUI_FRAMES", "3"))
        self._saves_frames = switches["show_gui"]
        self._ends_after = self._frames_left if os.environ.get("SHADESMITH_GUI_END") else 0
        self._window: Window | None = None
        self.clear()
        if switches["show_gui"]:
            self._open(switches["fullscreen"])

    def _open(self, fullscreen: bool) -> None:
        try:
            self._window = open_window(self.name, self.res, fullscreen)
        except NoWindowError as error:
            log = LOGGER.info if error.expected else LOGGER.warning
            log("`%s` has no window: %s. Frames go to files in %s/", self.name, error, self._folder)
        else:
            weakref.finalize(self, self._window.close)

    def __enter__(self) -> GUI:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- the main loop

    @property
    def running(self) -> bool:
        """Whether the window is open; without a display, whether frames are left to save."""
        if self._window is not None:
            return not self._stop and self._window.is_open()
        return not self._stop and (self._frames_left > 0 or not self._saves_frames)

    @running.setter
    def running(self, value: bool) -> None:
        self._stop = not value

    @property
    def fps_limit(self) -> float | None:
        """Maximum frames per second of a window; None: no limit."""
        return 1 / self._frame_seconds if self._frame_seconds else None

    @fps_limit.setter
    def fps_limit(self, value: float | None) -> None:
        self._frame_seconds = 1 / value if value is not None else 0.0

    @property
    def key_pressed(self) -> set[str]:
        """Keys and buttons that are down."""
        return self._window.pressed if self._window is not None else set()

    def close(self) -> None:
        """Close the window and end `running`."""
        self._stop = True
        if self._window is not None:
            self._window.close()

    def show(self, file: str | os.PathLike[str] | None = None) -> None:
        """Show the canvas, or write it to `file`; then clear it to the background colour.

        Raises: RuntimeError if the program continues to show frames in a closed window, or a file cannot be written.
        """
        if file is not None:
            write_file(file, picture_to_bytes(self._canvas()))
        elif self._window is not None:
            self._events.extend(self._window.show(picture_to_bytes(self._canvas()), self._frame_seconds))
        elif self._saves_frames:
            self._save_frame()
        self.frame += 1
        self.clear()
        if self._window is None and 0 < self._ends_after <= self.frame:
            raise SystemExit(0)

    def _save_frame(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        stem = re.sub(r"\W+", "_", self.name).strip("_") or "frame"
        write_file(self._folder / f"{stem}-{self.frame:05d}.png", picture_to_bytes(self._canvas()))
        self._frames_left -= 1
        if self._frames_left <= 0:
            self._events.clear()
            self._events.extend(events.Event(EType.Press, key=key) for key in (self.ESCAPE, self.EXIT))

    # --- images

    @property
    def img(self) -> Array:
        """The canvas itself: floats, shape (width, height, 4).

        With `fast_gui=True` it is flat, from the top left pixel row by row: u32, red * 65536 + green * 256 + blue.
        """
        if not self.fast_gui:
            return self._canvas()
        if self._packed is None:
            packed = pack_picture(self._canvas())
            self._packed = packed, packed.copy()
        return self._packed[0]

    def _canvas(self) -> Array:
        """Return the picture, cleared, with what the program wrote to a packed one."""
        if self._packed is not None and not np.array_equal(*self._packed):
            unpack_picture(self._packed[0], self._picture)
            self._packed[1][:] = self._packed[0]
        if self._color is not None:
            clear_picture(self._picture, self._color)
            self._color = None
        return self._picture

    def clear(self, color: int | None = None) -> None:
        """Fill the canvas with `color`, or the background colour."""
        self._color, self._packed = to_rgba(self.background_color if color is None else color, 1, "clear")[0], None

    def set_image(self, img: Any) -> None:
        """Show an image of the canvas's size, (width, height[, channels]): a field, ndarray, NumPy array or tensor.

        Floats go from 0 to 1, unsigned integers over their whole range; one channel is grey, two are red and green.
        Raises: ValueError for other types, shapes and sizes.
        """
        if self.fast_gui and not (isinstance(img, MatrixField) and img.n in (3, 4) and img.m == 1):
            raise ValueError(
                "with `fast_gui=True`, GUI.set_image takes a `ti.Vector.field` of 3 or 4 components; "
                f"found {img if isinstance(img, MatrixField) else type(img).__name__}"
            )
        self._fill(self._image(img))

    def _fill(self, image: Array) -> None:
        fill_picture(self._picture, image)
        self._color = self._packed = None

    def cook_image(self, img: Any) -> Array:
        """Return an image as `set_image` shows it: floats, shape (width, height, 4)."""
        picture = np.empty_like(self._picture)
        fill_picture(picture, self._image(img))
        return picture

    def _image(self, img: Any) -> Array:
        image = image_of(img, "GUI.set_image")
        if image.shape[:2] != self.res:
            raise ValueError(
                f"Image resolution does not match GUI resolution: the image has {image.shape[:2]} pixels, "
                f"the canvas of `{self.name}` {self.res}"
            )
        return image

    def get_image(self) -> Array:
        """Return a copy of the canvas: floats, shape (width, height, 4); with `fast_gui=True` as `img`."""
        picture: Array = self.img.copy()
        return picture

    def contour(self, scalar_field: Any, normalize: bool = False) -> None:
        """Fill the canvas with a 2-D field of numbers as colours, stretched to its size.

        normalize: from the least number to the greatest, else from 0 to 1. Raises: ValueError for other shapes.
        """
        values = to_array(scalar_field, "contour")
        if values.ndim != 2 or 0 in values.shape:
            raise ValueError(f"GUI.contour takes a field of numbers with two axes; found shape {values.shape}")
        self._fill(colors_of(stretched(values.astype(float), self.res), normalize=normalize))

    # --- shapes

    def circle(self, pos: Any, color: int = 0xFFFFFF, radius: float = 1) -> None:
        """Draw one disc; radius in pixels."""
        self._draw_circles(to_point(pos, "circle"), radius, color, "circle")

    def circles(
        self, pos: Any, radius: Any = 1, color: Any = 0xFFFFFF, palette: Any = None, palette_indices: Any = None
    ) -> None:
        """Draw discs at `pos`, shape (n, 2); radius [pixels] and color one for all or one each.

        palette, palette_indices: colours, and the index of the colour of each disc.
        """
        points = to_points(pos, "circles")
        if palette is not None:
            color = to_palette_colors(palette, palette_indices, len(points))
        self._draw_circles(points, radius, color, "circles")

    def line(self, begin: Any, end: Any, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """Draw one line; radius [pixels]: half its width."""
        self._draw_lines(to_point(begin, "line"), to_point(end, "line"), radius, color, "line")

    def lines(self, begin: Any, end: Any, radius: Any = 1, color: Any = 0xFFFFFF) -> None:
        """Draw lines from `begin` to `end`, shapes (n, 2); radius [pixels] and color one for all or one each."""
        self._draw_lines(to_points(begin, "lines"), to_points(end, "lines"), radius, color, "lines")

    def triangle(self, a: Any, b: Any, c: Any, color: int = 0xFFFFFF) -> None:
        """Fill one triangle."""
        self._draw_triangles([to_point(corner, "triangle") for corner in (a, b, c)], color, "triangle")

    def triangles(self, a: Any, b: Any, c: Any, color: Any = 0xFFFFFF) -> None:
        """Fill triangles with corners `a`, `b`, `c`, shapes (n, 2); color one for all or one each."""
        self._draw_triangles([to_points(corners, "triangles") for corners in (a, b, c)], color, "triangles")

    def rect(self, topleft: Any, bottomright: Any, radius: float = 1, color: int = 0xFFFFFF) -> None:
        """Draw the outline of a rectangle."""
        (x0, y0), (x1, y1) = to_point(topleft, "rect")[0], to_point(bottomright, "rect")[0]
        corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], np.float32)
        self._draw_lines(corners, np.roll(corners, -1, 0), radius, color, "rect")

    def text(self, content: str, pos: Any, font_size: float = 15, color: int = 0xFFFFFF) -> None:
        """Draw a text with its top left corner at `pos`; font_size: height of a line [pixels]."""
        x, y = self._pixels(to_point(pos, "text"))[0].tolist()
        self._paint([cover_text(str(content), x, y, font_size, self.res)], color, 1, "text")

    def arrow(self, orig: Any, direction: Any, radius: float = 1, color: int = 0xFFFFFF, **kwargs: float) -> None:
        """Draw one arrow; tip_scale: length of the tip's sides relative to the arrow; angle: between them [degrees]."""
        self._draw_arrows(to_point(orig, "arrow"), to_point(direction, "arrow"), radius, color, "arrow", **kwargs)

    def arrows(self, orig: Any, direction: Any, radius: Any = 1, color: Any = 0xFFFFFF, **kwargs: float) -> None:
        """Draw arrows from `orig` to `orig + direction`, shapes (n, 2); tip_scale, angle: see `arrow`."""
        self._draw_arrows(to_points(orig, "arrows"), to_points(direction, "arrows"), radius, color, "arrows", **kwargs)

    def point_field(self, radius: Any, color: Any = 0xFFFFFF, bound: float = 0.5) -> None:
        """Draw a disc in each cell of a 2-D array of radii [pixels]; bound: position of corners in their cells."""
        radii = to_array(radius, "point_field")
        if radii.ndim != 2:
            raise ValueError(f"`radius` of GUI.point_field has two axes; found shape {radii.shape}")
        self._draw_circles(
            self._make_field_base(radii.shape[0], radii.shape[1], bound), radii.ravel(), color, "point_field"
        )

    def arrow_field(
        self, direction: Any, radius: Any = 1, color: Any = 0xFFFFFF, bound: float = 0.5, **kwargs: float
    ) -> None:
        """Draw an arrow in each cell of a 2-D array of vectors (parts of the canvas); bound: see `point_field`."""
        along = to_array(direction, "arrow_field")
        if along.ndim != 3 or along.shape[2] != 2:
            raise ValueError(f"`direction` of GUI.arrow_field has shape (n, m, 2); found {along.shape}")
        positions = self._make_field_base(along.shape[0], along.shape[1], bound)
        self._draw_arrows(positions, along.reshape(-1, 2), radius, color, "arrow_field", **kwargs)

    def vector_field(self, vector_field: Any, arrow_spacing: int = 5, color: Any = 0xFFFFFF) -> None:
        """Draw every `arrow_spacing`-th vector of a 2-D field of vectors, the longest a tenth of the canvas long."""
        vectors = to_array(vector_field, "vector_field")
        if vectors.ndim != 3 or vectors.shape[2] != 2:
            raise ValueError(f"GUI.vector_field takes a field of shape (n, m) of 2-vectors; found {vectors.shape}")
        axes = (np.arange(0, extent, arrow_spacing) / extent for extent in vectors.shape[:2])
        positions = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
        along = vectors[::arrow_spacing, ::arrow_spacing].reshape(-1, 2)
        longest = np.linalg.norm(along, axis=1).max(initial=0)
        along = along * (LONGEST_VECTOR / longest if longest > 0 else 0)
        self._draw_arrows(positions, along, 1, color, "vector_field")

    @staticmethod
    def _make_field_base(w: int, h: int, bound: float) -> Array:
        """Return positions of w times h cells in the unit square, (n, 2), the corners `bound` cells from the edges."""
        axes = ((bound + np.arange(n) * (1 if n == 1 else (n - 2 * bound) / (n - 1))) / n for n in (w, h))
        positions: Array = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
        return positions

    @staticmethod
    def _arrow_to_lines(
        orig: Array, major: Array, tip_scale: float = 0.2, angle: float = 45
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the starts and ends of the shafts of arrows, then of the sides of their tips."""
        end = orig + major
        yield orig, end
        back = -tip_scale * major
        cos, sin = np.cos(np.radians(angle)), np.sin(np.radians(angle))
        for sine in (-sin, sin):
            rotated = np.stack([back[:, 0] * cos - back[:, 1] * sine, back[:, 0] * sine + back[:, 1] * cos], 1)
            yield end, end + rotated

    def _draw_circles(self, pos: Array, radius: Any, color: Any, user: str) -> None:
        radii = to_radii(radius, len(pos), user)
        self._paint(cover_discs(self._pixels(pos), radii, self.res), color, len(pos), user)

    def _draw_lines(self, begin: Array, end: Array, radius: Any, color: Any, user: str) -> None:
        check_lengths(user, begin, end)
        radii = to_radii(radius, len(begin), user)
        coverage = cover_lines(self._pixels(begin), self._pixels(end), radii, self.res)
        self._paint(coverage, color, len(begin), user)

    def _draw_triangles(self, corners: list[Array], color: Any, user: str) -> None:
        check_lengths(user, *corners)
        positions = np.stack([self._pixels(corner) for corner in corners], 1)
        self._paint(cover_triangles(positions, self.res), color, len(positions), user)

    def _draw_arrows(
        self, orig: Array, direction: Array, radius: Any, color: Any, user: str, **tip: float
    ) -> None:  # fmt: skip
        check_lengths(user, orig, direction)
        with np.errstate(invalid="ignore", over="ignore"):
            lines = list(self._arrow_to_lines(orig, direction, **tip))
        for begin, end in lines:
            self._draw_lines(begin, end, radius, color, user)

    def _pixels(self, pos: Array) -> Array:
        """Return positions in the unit square in pixels."""
        with np.errstate(over="ignore"):
            return pos.astype(np.float32) * np.array(self.res, np.float32)

    def _paint(self, coverage: Iterable[Coverage], color: Any, count: int, user: str) -> None:
        with np.errstate(invalid="ignore", over="ignore"):  # positions that are not numbers are not drawn
            paint(self._canvas(), coverage, to_rgba(color, count, user))
        self._packed = None

    # --- widgets

    def slider(self, text: str, minimum: float, maximum: float, step: float = 1) -> gui_widgets.WidgetValue:
        """Return a slider, initially at its minimum; without a window only the program can move it."""
        widget = gui_widgets.WidgetValue(minimum)
        if self._window is not None:
            widget.shown_by(self._window.add_slider(text, minimum, maximum, step, widget.moved))
        return widget

    def label(self, text: str) -> gui_widgets.WidgetValue:
        """Return a label that shows `text` and a number."""
        widget = gui_widgets.WidgetValue(0)
        if self._window is not None:
            widget.shown_by(self._window.add_label(text))
        return widget

    def button(self, text: str, event_name: str | None = None) -> str:
        """Add a button; return the key of its press event."""
        name = event_name or f"WidgetButton_{text}"
        if self._window is not None:
            self._window.add_button(text, name)
        return name

    # --- events

    def get_events(self, *e_filter: Any) -> Iterator[events.Event]:
        """Yield the pending events; e_filter: only those of a type, a key, or a pair (type, key)."""
        chosen = events.EventFilter(*e_filter)
        self.has_key_event()  # collects those of the window
        while self._events:
            event = self._events.popleft()
            if not e_filter or chosen.match(event):
                yield event

    def get_event(self, *e_filter: Any) -> bool:
        """Take events up to the first that matches `e_filter` into `self.event`; return whether there was one."""
        for event in self.get_events(*e_filter):
            self.event = event
            return True
        return False

    def get_key_event(self) -> events.Event | None:
        """Take one event; None if there is none."""
        return self._events.popleft() if self.has_key_event() else None

    def has_key_event(self) -> bool:
        """Whether an event is pending."""
        if self._window is not None:
            self._events.extend(self._window.poll())
        return bool(self._events)

    def take_event(self, key: str) -> bool:
        """Take the oldest event of `key`, leaving all others; return whether there was one."""
        found = next((event for event in self._events if event.key == key), None) if self.has_key_event() else None
        if found is not None:
            self._events.remove(found)
        return found is not None

    def is_pressed(self, *keys: str) -> bool:
        """Whether one of the keys is down; `ti.GUI.CTRL` and the like match both keys of the name."""
        return any(is_held(key, self.key_pressed) for key in keys)

    def get_cursor_pos(self) -> tuple[float, float]:
        """Return the cursor in the unit square; (0, 0) without a window."""
        return self._window.cursor if self._window is not None else (0.0, 0.0)

    @staticmethod
    def get_bool_environ(key: str, default: bool) -> bool:
        """Return an environment variable, a number, as a boolean."""
        return bool(int(os.environ[key])) if key in os.environ else default
