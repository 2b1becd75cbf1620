"""Pictures that `ti.GUI` of Taichi 1.7.4 and ours draw: `SCENES` by name; each draws on a canvas of `SIZE` cells.

tests/data/record_gui.py records them with Taichi, tests/api/test_gui_pictures.py compares.
"""

import numpy as np

SIZE = (64, 48)
BACKGROUND = 0x102030
COLUMNS = 8
"""Scenes in a row of the recorded sheet."""


def _random(*shape, seed=0):
    return np.random.default_rng(seed).random(shape)


def _colors(count, seed=1):
    return np.random.default_rng(seed).integers(0, 1 << 24, count)


def _image(channels, dtype):
    x, y = np.meshgrid(np.linspace(0, 1, SIZE[0]), np.linspace(0, 1, SIZE[1]), indexing="ij")
    image = np.stack([x, y, x * y, 1 - x], -1)[..., :channels] if channels else x * y
    kind = np.dtype(dtype)
    return (image * np.iinfo(kind).max).astype(kind) if kind.kind == "u" else image.astype(kind)


def _vectors(*shape):
    x, y = np.meshgrid(*(np.linspace(-1, 1, n) for n in shape), indexing="ij")
    return np.stack([-y, x], -1)


class Field:
    """What `GUI.vector_field` asks of a field."""

    def __init__(self, values):
        self.values, self.shape = values, values.shape[:2]

    def to_numpy(self):
        return self.values


SCENES = {
    "circle 0.5": lambda gui: gui.circle((0.5, 0.5), radius=0.5),
    "circle 1": lambda gui: gui.circle((0.5, 0.5)),
    "circle 1.5": lambda gui: gui.circle((0.51, 0.49), radius=1.5, color=0xFF8000),
    "circle 10": lambda gui: gui.circle((0.53, 0.47), 0x068587, 10),
    "circle 40": lambda gui: gui.circle((0.1, 0.9), 0x068587, 40),
    "circle at corners": lambda gui: [gui.circle(p, 0xFFFFFF, 6) for p in ((0, 0), (1, 0), (0, 1), (1, 1))],
    "circles outside": lambda gui: gui.circles(np.array([[-0.05, 0.5], [1.02, 0.5], [5, 5], [0.5, -3]]), radius=6),
    "circles": lambda gui: gui.circles(_random(40, 2), radius=2.3, color=0xED553B),
    "circles f32": lambda gui: gui.circles(_random(40, 2).astype(np.float32), radius=2.3, color=0xED553B),
    "circles lots": lambda gui: gui.circles(_random(3000, 2), radius=1.2, color=0x44AACC),
    "circles radii": lambda gui: gui.circles(_random(40, 2), radius=_random(40, seed=5) * 8, color=0xED553B),
    "circles colors": lambda gui: gui.circles(_random(60, 2), radius=4, color=_colors(60)),
    "circles lots of colors": lambda gui: gui.circles(_random(2000, 2), radius=2.5, color=_colors(2000)),
    "circles radii and colors": lambda gui: gui.circles(
        _random(60, 2), radius=_random(60, seed=5) * 9, color=_colors(60)
    ),
    "circles palette": lambda gui: gui.circles(
        _random(60, 2), radius=4, palette=[0xFF0000, 0xFF00, 0xFF], palette_indices=np.arange(60) % 3
    ),
    "line": lambda gui: gui.line((0.2, 0.2), (0.8, 0.6), color=0xFF8000),
    "line thick": lambda gui: gui.line((0.2, 0.2), (0.8, 0.6), 5, 0xFF8000),
    "line thin": lambda gui: gui.line((0.2, 0.2), (0.8, 0.6), 0.4, 0xFF8000),
    "line steep": lambda gui: gui.line((0.4, 0.1), (0.5, 0.95), 2, 0xFF8000),
    "line back": lambda gui: gui.line((0.9, 0.7), (0.1, 0.9), 2, 0xFF8000),
    "line diagonal": lambda gui: gui.line((0.1, 0.1), (0.1 + 0.6 * 0.75, 0.7), 2.5),
    "line across the border": lambda gui: gui.line((-0.5, 0.3), (1.7, 0.8), 3),
    "lines straight": lambda gui: gui.lines(np.array([[0.1, 0.5], [0.5, 0.1]]), np.array([[0.9, 0.5], [0.5, 0.9]])),
    "lines": lambda gui: gui.lines(_random(30, 2), _random(30, 2, seed=2), radius=1, color=0x44AACC),
    "lines radii": lambda gui: gui.lines(_random(30, 2), _random(30, 2, seed=2), radius=_random(30, seed=3) * 4),
    "lines colors": lambda gui: gui.lines(_random(30, 2), _random(30, 2, seed=2), radius=2, color=_colors(30)),
    "triangle": lambda gui: gui.triangle((0.2, 0.2), (0.8, 0.3), (0.4, 0.9), 0xFF8000),
    "triangle on the grid": lambda gui: gui.triangle((0.25, 0.25), (0.75, 0.25), (0.25, 0.75), 0xFF8000),
    "triangle through centers": lambda gui: gui.triangle(
        (8.5 / 64, 8.5 / 48), (40.5 / 64, 8.5 / 48), (8.5 / 64, 40.5 / 48), 0xFF8000
    ),
    "triangles": lambda gui: gui.triangles(_random(9, 2), _random(9, 2, seed=2), _random(9, 2, seed=3), 0x44AACC),
    "triangles colors": lambda gui: gui.triangles(
        _random(9, 2), _random(9, 2, seed=2), _random(9, 2, seed=3), _colors(9)
    ),
    "triangles outside": lambda gui: gui.triangle((-0.5, -0.5), (1.5, 0.3), (0.4, 1.9), 0xFF8000),
    "rect": lambda gui: gui.rect((0.2, 0.8), (0.8, 0.3), 1, 0xFF8000),
    "rect thick": lambda gui: gui.rect((0.7, 0.3), (0.2, 0.9), 3, 0xFF8000),
    "arrow": lambda gui: gui.arrow((0.2, 0.2), (0.5, 0.5), 1, 0xFF8000),
    "arrow wide": lambda gui: gui.arrow((0.2, 0.2), (0.5, 0.5), 2, 0xFF8000, tip_scale=0.5, angle=30),
    "arrows": lambda gui: gui.arrows(_random(6, 2), _random(6, 2, seed=2) - 0.5, 1, _colors(6)),
    "point_field": lambda gui: gui.point_field(_random(8, 6) * 4, color=0xFF8000),
    "point_field bound": lambda gui: gui.point_field(_random(8, 6) * 4, bound=0),
    "arrow_field": lambda gui: gui.arrow_field(_vectors(6, 5) * 0.1, color=0xFF8000),
    "arrow_field bound": lambda gui: gui.arrow_field(_vectors(6, 5) * 0.1, bound=1, tip_scale=0.4),
    "vector_field": lambda gui: gui.vector_field(Field(_vectors(64, 48)), color=0xFF8000),
    "vector_field spacing": lambda gui: gui.vector_field(Field(_vectors(64, 48)), arrow_spacing=10),
    "image grey": lambda gui: gui.set_image(_image(0, np.float32)),
    "image 1": lambda gui: gui.set_image(_image(1, np.float64)),
    "image 2": lambda gui: gui.set_image(_image(2, np.float32)),
    "image 3": lambda gui: gui.set_image(_image(3, np.float32)),
    "image 4": lambda gui: gui.set_image(_image(4, np.float16)),
    "image u8": lambda gui: gui.set_image(_image(3, np.uint8)),
    "image u16": lambda gui: gui.set_image(_image(3, np.uint16)),
    "image u32": lambda gui: gui.set_image(_image(3, np.uint32)),
    "image beyond": lambda gui: gui.set_image(_image(3, np.float32) * 3 - 1),
    "image and shapes": lambda gui: (
        gui.set_image(_image(3, np.float32)),
        gui.circles(_random(20, 2), radius=3, color=_colors(20)),
        gui.line((0, 0), (1, 1), 2),
    ),
}
"""Text and `contour` are not among them: other fonts, and Taichi needs Matplotlib."""
