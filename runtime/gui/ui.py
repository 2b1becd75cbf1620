"""`ti.ui`: a window with a 2-D canvas and widgets; `ti.GUI` draws it and, without a display, saves frames (see there).

In: images and shapes in the unit square, origin at the bottom left, colours as three floats from 0 to 1; sizes are
fractions of the window's height. Out: what `ti.GUI` shows. Scenes are in `scene.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ...transpiler.ir.types import f32
from .arguments import rgb_to_hex
from .color_maps import colors_of
from .events import EType, Event, without_side
from .gui import GUI
from .images import image_of, picture_to_bytes, write_file
from .scene import Camera, ProjectionMode, Scene  # noqa: F401 - names of `ti.ui`

Array = np.ndarray[Any, Any]

SHIFT, ALT, CTRL, ESCAPE, RETURN, TAB = GUI.SHIFT, GUI.ALT, GUI.CTRL, GUI.ESCAPE, GUI.RETURN, GUI.TAB
BACKSPACE, SPACE, CAPSLOCK = GUI.BACKSPACE, GUI.SPACE, "CapsLock"
UP, DOWN, LEFT, RIGHT = GUI.UP, GUI.DOWN, GUI.LEFT, GUI.RIGHT
LMB, MMB, RMB = GUI.LMB, GUI.MMB, GUI.RMB
PRESS, RELEASE = EType.Press.name, EType.Release.name

GREY = (0.5, 0.5, 0.5)


def make_camera() -> Camera:
    """Return a camera; Taichi's old name for `ti.ui.Camera()`.

    Example:
        >>> ti.ui.make_camera().curr_lookat.to_list()
        [0.0, 0.0, 1.0]
    """
    return Camera()


def check_ggui_availability() -> None:
    """Return, since a window always works: without a display it saves its frames.

    Example:
        >>> ti.ui.check_ggui_availability()
    """


class Window:
    """A window of `res` pixels (width, height).

    show_window: False draws and saves nothing; read the canvas by `get_image_buffer_as_numpy` or `save_image`.
    fps_limit: maximum frames per second. vsync and pos are accepted for compatibility.
    name: the title.

    Example:
        >>> window = ti.ui.Window("dots", (64, 32), show_window=False)
        >>> window.get_image_buffer_as_numpy().shape
        (64, 32, 4)
    """

    def __init__(self, name: str, res: tuple[int, int], vsync: bool = False, show_window: bool = True,
                 fps_limit: int = 1000, pos: tuple[int, int] = (100, 100)) -> None:  # fmt: skip
        self._gui = GUI(name, res, show_gui=show_window)
        self._gui.fps_limit = fps_limit
        self._canvas = Canvas(self._gui)
        self._widgets = Gui(self._gui)
        self._event: Event | None = None
        self._scene = Scene()

    @property
    def running(self) -> bool:
        """Whether the window is open; without a display, whether frames are left to save."""
        return self._gui.running

    @running.setter
    def running(self, value: bool) -> None:
        self._gui.running = value

    @property
    def event(self) -> Event | None:
        """The event that `get_event` took last."""
        return self._event

    @property
    def GUI(self) -> Gui:  # noqa: N802 - Taichi's name
        """The widgets, as `get_gui()`."""
        return self._widgets

    def get_canvas(self) -> Canvas:
        """Return the canvas."""
        return self._canvas

    def get_gui(self) -> Gui:
        """Return the widgets."""
        return self._widgets

    def get_window_shape(self) -> tuple[int, int]:
        """Return (width, height) in pixels."""
        return self._gui.res

    def show(self) -> None:
        """Show the canvas and start a new one."""
        self._gui.show()
        self._canvas.depths = np.zeros(self._gui.res, np.float32)

    def get_events(self, tag: str | None = None) -> list[Event]:
        """Return the presses and releases since the last call; tag: only those of a type (`ti.ui.PRESS`) or key."""
        return [_renamed(event) for event in self._gui.get_events(*_filters(tag))]

    def get_event(self, tag: str | None = None) -> bool:
        """Take one press or release into `self.event`; return whether there was one."""
        found = self._gui.get_event(*_filters(tag))
        if found and self._gui.event is not None:
            self._event = _renamed(self._gui.event)
        return found

    def is_pressed(self, *keys: str) -> bool:
        """Whether one of the keys is down."""
        return self._gui.is_pressed(*(GUI.CAPSLOCK if key == CAPSLOCK else key for key in keys))

    def get_cursor_pos(self) -> tuple[float, float]:
        """Return the cursor in the unit square; (0, 0) without a window."""
        return self._gui.get_cursor_pos()

    def get_image_buffer_as_numpy(self) -> Array:
        """Return the canvas as floats, shape (width, height, 4); the last is 1, as in Taichi."""
        picture = self._gui.get_image()
        picture[..., 3] = 1
        return picture

    def get_depth_buffer_as_numpy(self) -> Array:
        """Return the depths of the scenes drawn in this frame, shape (width, height), f32: 1 is nearest, 0 nothing."""
        depths: Array = self._canvas.depths.copy()
        return depths

    def get_depth_buffer(self, depth: Any) -> None:
        """Store what `get_depth_buffer_as_numpy` returns in a field or an ndarray of f32. Raises: RuntimeError."""
        if len(depth.shape) != 2 or depth.dtype != f32:
            raise RuntimeError("Only Support 2d-shape and ti.f32 data format.")
        depth.from_numpy(self._canvas.depths)

    def save_image(self, filename: str) -> None:
        """Write the canvas to a file; its suffix selects the format. Raises: RuntimeError if that fails."""
        write_file(filename, picture_to_bytes(self._gui.img))

    def destroy(self) -> None:
        """Close the window."""
        self._gui.close()

    def get_scene(self) -> Scene:
        """Return the scene of the window, which `canvas.scene` draws."""
        return self._scene


class Canvas:
    """What a window shows: images and shapes in the order of the calls.

    gui: what it draws on. `window.get_canvas()` returns it.

    Example:
        >>> window = ti.ui.Window("dots", (64, 32), show_window=False)
        >>> canvas = window.get_canvas()
        >>> canvas.circles(np.array([[0.5, 0.5]], np.float32), radius=0.1)
    """

    def __init__(self, gui: GUI) -> None:
        self._gui = gui
        self.depths: Array = np.zeros(gui.res, np.float32)

    def set_background_color(self, color: Any) -> None:
        """Fill the canvas now, and each new one, with `color`."""
        self._gui.background_color = _hex(color)
        self._gui.clear()

    def set_image(self, img: Any) -> None:
        """Fill the canvas with an image, (width, height[, channels]), scaled if its size differs."""
        image = image_of(img, "Canvas.set_image")
        columns, rows = (np.arange(size) * have // size for size, have in zip(self._gui.res, image.shape, strict=False))
        self._gui.set_image(image[columns[:, None], rows])

    def contour(self, scalar_field: Any, cmap_name: str = "plasma", normalize: bool = False) -> None:
        """Fill the canvas with a 2-D array of numbers as colours; normalize: from its least to its greatest.

        Raises: ValueError for an unknown colour map.
        """
        self.set_image(colors_of(np.asarray(_array(scalar_field), float), cmap_name, normalize))

    def vector_field(self, vector_field: Any, arrow_spacing: int = 5, scale: float = 0.1, width: float = 0.002,
                     color: Any = (0, 0, 0)) -> None:  # fmt: skip
        """Draw every `arrow_spacing`-th vector of a 2-D array; scale: length of the longest."""
        vectors = np.asarray(_array(vector_field), float)[..., :2]
        cells = np.stack(np.meshgrid(*((np.arange(n) + 0.5) / n for n in vectors.shape[:2]), indexing="ij"), -1)
        chosen = vectors[::arrow_spacing, ::arrow_spacing].reshape(-1, 2)
        longest = np.linalg.norm(chosen, axis=1).max(initial=0)
        if longest > 0:
            positions = cells[::arrow_spacing, ::arrow_spacing].reshape(-1, 2)
            self._gui.arrows(positions, chosen * (scale / longest), self._line_radius(width), _hex(color))

    def circles(self, centers: Any, radius: float, color: Any = GREY, per_vertex_color: Any = None,
                per_vertex_radius: Any = None) -> None:  # fmt: skip
        """Draw discs at `centers`, shape (n, 2); colours and radii one for all or one each."""
        radii = self._pixels(radius if per_vertex_radius is None else _array(per_vertex_radius))
        self._gui.circles(
            _points(centers), radii, _hex(color if per_vertex_color is None else _array(per_vertex_color))
        )

    def lines(self, vertices: Any, width: float, indices: Any = None, color: Any = GREY,
              per_vertex_color: Any = None) -> None:  # fmt: skip
        """Draw lines between each two vertices, taken by `indices` if given; a line takes its first vertex's colour."""
        pairs = _chosen(vertices, indices, 2)
        colors = _hex(color) if per_vertex_color is None else _hex(_chosen(per_vertex_color, indices, 2)[:, 0])
        self._gui.lines(pairs[:, 0, :2], pairs[:, 1, :2], self._line_radius(width), colors)

    def triangles(self, vertices: Any, color: Any = GREY, indices: Any = None, per_vertex_color: Any = None) -> None:
        """Fill triangles of each three vertices, by `indices` if given; colours of vertices are averaged."""
        corners = _chosen(vertices, indices, 3)
        colors = _hex(color) if per_vertex_color is None else _hex(_chosen(per_vertex_color, indices, 3).mean(1))
        self._gui.triangles(corners[:, 0, :2], corners[:, 1, :2], corners[:, 2, :2], colors)

    def scene(self, scene: Scene) -> None:
        """Draw a scene over what is there; its surfaces and lights are gone then."""
        pixels = np.array(self._gui.get_image()[..., :3], float)
        self.depths = np.maximum(self.depths, scene.draw(pixels))
        self._gui.set_image(pixels)

    def _line_radius(self, width: float) -> float:
        """Return the radius [pixels] of a line of some width whose edges are smoothed, nothing thinner than a pixel."""
        return max(1.0, width * self._gui.res[1]) / 2 + 0.5

    def _pixels(self, size: Any) -> Any:
        return np.asarray(size, float) * self._gui.res[1]


class Gui:
    """Widgets of a window. Without a display a widget keeps the value that the program gives it.

    gui: the window's. `window.get_gui()` returns it.

    Example:
        >>> window = ti.ui.Window("dots", (64, 32), show_window=False)
        >>> window.get_gui().slider_float("speed", 0.5, minimum=0, maximum=1)
        0.5
    """

    def __init__(self, gui: GUI) -> None:
        self._gui = gui
        self._values: dict[str, Any] = {}

    @contextmanager
    def sub_window(self, name: str, x: float, y: float, width: float, height: float) -> Iterator[Gui]:
        """Group widgets: `with gui.sub_window(...) as w:`; they are below the canvas, whatever position is given."""
        self.begin(name, x, y, width, height)
        yield self
        self.end()

    def begin(self, name: str, x: float, y: float, width: float, height: float) -> None:
        """Start a group."""

    def end(self) -> None:
        """End a group."""

    def text(self, text: str, color: Any = None) -> None:
        """Show a text as a label."""
        if text not in self._values:
            self._values[text] = self._gui.label(text)

    def checkbox(self, text: str, old_value: bool) -> bool:
        """Return whether a box is ticked."""
        return bool(self.slider_int(text, int(old_value), 0, 1))

    def slider_int(self, text: str, old_value: int, minimum: int, maximum: int) -> int:
        """Return the value of a slider of integers."""
        return int(self._slider(text, old_value, minimum, maximum, 1))

    def slider_float(self, text: str, old_value: float, minimum: float, maximum: float) -> float:
        """Return the value of a slider."""
        return float(self._slider(text, old_value, minimum, maximum, (maximum - minimum) / 1000 or 1))

    def color_edit_3(self, text: str, old_value: Any) -> tuple[float, float, float]:
        """Return a colour chosen by three sliders."""
        red, green, blue = (
            self.slider_float(f"{text} {name}", value, 0.0, 1.0) for name, value in zip("rgb", old_value, strict=True)
        )
        return red, green, blue

    def button(self, text: str) -> bool:
        """Return whether a button was pressed since the last call."""
        if text not in self._values:
            self._values[text] = self._gui.button(text, f"button {text}")
        return self._gui.take_event(self._values[text])

    def _slider(self, text: str, old_value: float, minimum: float, maximum: float, step: float) -> float:
        if text not in self._values:
            self._values[text] = self._gui.slider(text, minimum, maximum, step)
            self._values[text].value = old_value
        return self._values[text].value  # type: ignore[no-any-return]


def _array(values: Any) -> Array:
    found: Array = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    return found


def _filters(tag: str | None) -> tuple[Any, ...]:
    types = {None: (EType.Press, EType.Release), PRESS: (EType.Press,), RELEASE: (EType.Release,)}
    return types.get(tag, ((EType.Press, tag), (EType.Release, tag)))


def _renamed(event: Event) -> Event:
    """Return an event of `ti.GUI` with the name of its key in `ti.ui`, which has no sides."""
    return replace(event, key=CAPSLOCK if event.key == GUI.CAPSLOCK else without_side(event.key))


def _points(values: Any) -> Array:
    return np.asarray(_array(values), float)[:, :2]


def _chosen(values: Any, indices: Any, count: int) -> Array:
    """Return values in groups of `count`, taken by `indices` if given."""
    found = _array(values)
    if indices is not None:
        found = found[_array(indices).ravel()]
    return found[: len(found) // count * count].reshape(-1, count, found.shape[-1])


def _hex(color: Any) -> Any:
    return rgb_to_hex(np.moveaxis(np.asarray(color, float)[..., :3], -1, 0))
