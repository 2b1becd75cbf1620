"""`ti.GUI` without a window: names, arguments, mistakes, images of all kinds, events, frames as files.

What it draws is compared in test_gui_pictures.py, a window in test_gui_window.py. Values are Taichi 1.7.4's, measured.
"""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from time import process_time

import numpy as np
import pytest
from PIL import Image

import shadesmith as ti
from shadesmith.runtime.gui import letters as gui_text
from shadesmith.runtime.gui.events import Delta, EType, Event

PUBLIC = """ALT BACKSPACE CAPSLOCK CTRL DOWN ESCAPE EXIT Event EventFilter LEFT LMB MMB MOTION MOVE PRESS RELEASE RETURN RIGHT
RMB SHIFT SPACE TAB UP WHEEL WidgetValue arrow arrow_field arrows button circle circles clear close contour cook_image
fps_limit get_bool_environ get_cursor_pos get_event get_events get_image get_key_event has_key_event is_pressed label
line lines point_field rect running set_image show slider text triangle triangles vector_field""".split()
"""Of `ti.GUI` in Taichi 1.7.4."""
PARAMETERS = {
    "circle": "pos color radius", "circles": "pos radius color palette palette_indices", "line": "begin end radius color",
    "lines": "begin end radius color", "triangle": "a b c color", "triangles": "a b c color",
    "rect": "topleft bottomright radius color", "text": "content pos font_size color",
    "arrow": "orig direction radius color kwargs", "arrows": "orig direction radius color kwargs",
    "point_field": "radius color bound", "arrow_field": "direction radius color bound kwargs",
    "vector_field": "vector_field arrow_spacing color", "contour": "scalar_field normalize", "set_image": "img",
    "show": "file", "clear": "color", "slider": "text minimum maximum step", "button": "text event_name", "label": "text",
    "get_event": "e_filter", "get_events": "e_filter", "is_pressed": "keys", "get_bool_environ": "key default",
    "__init__": "name res background_color show_gui fullscreen fast_gui",
}  # fmt: skip


def canvas(width: int = 16, height: int = 12, **options) -> ti.GUI:
    return ti.GUI("test", (width, height), show_gui=False, **options)


@pytest.fixture
def headless(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SHADESMITH_GUI_DIR", str(tmp_path))
    return tmp_path


def test_all_of_taichis_names() -> None:
    assert [name for name in PUBLIC if not hasattr(ti.GUI, name)] == []


@pytest.mark.parametrize("method", PARAMETERS)
def test_parameters_bear_taichis_names(method: str) -> None:
    found = list(inspect.signature(getattr(ti.GUI, method)).parameters)
    assert [name for name in found if name != "self"] == PARAMETERS[method].split()


def test_names_of_keys_and_kinds_of_events() -> None:
    assert (ti.GUI.CAPSLOCK, ti.GUI.SPACE, ti.GUI.EXIT, ti.GUI.CTRL) == ("Caps_Lock", " ", "WMClose", "Control")
    kinds = [ti.GUI.MOTION, ti.GUI.PRESS, ti.GUI.RELEASE]
    assert [int(kind) for kind in kinds] == [0, 1, 2] and [kind.name for kind in kinds] == ["Move", "Press", "Release"]
    assert repr(ti.GUI.PRESS) == "<EType.Press: 1>" and str(ti.GUI.PRESS) == "EType.Press"
    assert (ti.ui.PRESS, ti.ui.RELEASE, ti.ui.CAPSLOCK) == ("Press", "Release", "CapsLock")


def test_sizes_and_defaults() -> None:
    assert ti.GUI(show_gui=False).res == (512, 512) and ti.GUI(res=7, show_gui=False).res == (7, 7)
    gui = canvas(background_color=0x336699)
    assert gui.res == (16, 12) and gui.frame == 0 and gui.event is None and gui.running and gui.key_pressed == set()
    assert gui.img.shape == (16, 12, 4) and gui.img.dtype == np.float32 and gui.img.flags.c_contiguous
    assert np.allclose(gui.get_image(), [0.2, 0.4, 0.6, 1])
    for res in ("a", (1, 2, 3), (4.5, 3), 0, (3, -1), None):
        with pytest.raises(ValueError, match="`res` is a number of pixels"):
            ti.GUI(res=res, show_gui=False)


def test_showing_clears_the_canvas(tmp_path: Path) -> None:
    gui = canvas(background_color=0xFF)
    gui.clear(0xFF0000)
    assert (gui.get_image()[3, 4] == [1, 0, 0, 1]).all()
    gui.show(tmp_path / "red.png")
    assert (np.array(Image.open(tmp_path / "red.png")) == [255, 0, 0]).all()
    assert (gui.get_image()[3, 4] == [0, 0, 1, 1]).all() and gui.frame == 1 and gui.running


def test_hidden_canvases_write_nothing_and_go_on(headless: Path) -> None:
    gui = canvas()
    for _ in range(10):
        gui.show()
    assert gui.running and gui.frame == 10 and not list(headless.iterdir())
    gui.close()
    assert not gui.running


def test_frames_are_files_where_no_display_is(headless: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHADESMITH_GUI_FRAMES", "4")
    gui = ti.GUI("A title/1", (6, 5))
    shown = 0
    while gui.running:
        gui.set_image(np.full((6, 5), shown / 10))
        gui.show()
        shown += 1
    names = sorted(path.name for path in headless.iterdir())
    assert names == [f"A_title_1-0000{k}.png" for k in range(4)] and shown == 4
    assert [int(np.array(Image.open(headless / name)).max()) for name in names] == [0, 25, 51, 76]
    assert [event.key for event in gui.get_events()] == [gui.ESCAPE, gui.EXIT]


def test_files_do_not_count_as_frames(headless: Path) -> None:
    gui = ti.GUI("files", 8)
    for number in range(9):
        gui.show(str(headless / f"{number}.png"))
    assert gui.running and len(list(headless.iterdir())) == 9


@pytest.mark.parametrize("suffix", ["png", "jpg", "bmp"])
def test_files_of_several_formats(tmp_path: Path, suffix: str) -> None:
    gui = canvas()
    gui.circle((0.25, 0.75), 0xFF0000, 6)
    gui.show(str(tmp_path / f"a.{suffix}"))
    picture = np.array(Image.open(tmp_path / f"a.{suffix}"))
    assert picture.shape == (12, 16, 3) and picture[3, 4, 0] > 250 > 5 > picture[11, 15, 0]


def test_files_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="Unknown image file suffix `.xyz`"):
        canvas().show(str(tmp_path / "a.xyz"))
    with pytest.raises(RuntimeError, match="Cannot write image file .*: No such file or directory"):
        canvas().show(str(tmp_path / "none" / "a.png"))


@pytest.mark.parametrize("prefix", ["TI", "SHADESMITH"])
def test_switches_in_the_environment(monkeypatch: pytest.MonkeyPatch, headless: Path, prefix: str) -> None:
    monkeypatch.setenv(f"{prefix}_GUI_SHOW", "0")
    monkeypatch.setenv(f"{prefix}_GUI_FAST", "1")
    gui = ti.GUI("test", 4)
    gui.show()
    assert gui.fast_gui and not list(headless.iterdir())
    monkeypatch.setenv("NUMBER", "0")
    assert ti.GUI.get_bool_environ("NUMBER", True) is False and ti.GUI.get_bool_environ("NO_SUCH", True) is True


IMAGES = [(np.uint8, 77, 77 / 255), (np.uint16, 7700, 7700 / 65535), (np.uint32, 1 << 30, 0.25), (np.uint64, 1 << 62, 0.25),
          (np.float16, 0.25, 0.25), (np.float32, 0.3, 0.3), (np.float64, 0.3, 0.3), (np.float32, 1.5, 1.5)]  # fmt: skip


@pytest.mark.parametrize(("dtype", "value", "shown"), IMAGES)
@pytest.mark.parametrize("channels", [None, 1, 2, 3, 4])
def test_images_of_all_types_and_channels(dtype: type, value: float, shown: float, channels: int | None) -> None:
    gui = canvas(4, 3)
    gui.set_image(np.full((4, 3) if channels is None else (4, 3, channels), value, dtype))
    expected = [shown] * 4 if channels in (None, 1) else [shown] * channels + [0] * (4 - channels)
    assert np.allclose(gui.get_image(), expected, rtol=1e-6)
    assert np.array_equal(gui.cook_image(np.full((4, 3), value, dtype))[..., 0], np.full((4, 3), np.float32(shown)))


@pytest.mark.parametrize("make", [
    lambda: ti.field(ti.f32, (4, 3)), lambda: ti.field(ti.u8, (4, 3)), lambda: ti.field(ti.f32, (4, 3, 3)),
    lambda: ti.Vector.field(2, ti.f32, (4, 3)), lambda: ti.Vector.field(3, ti.f32, (4, 3)),
    lambda: ti.Vector.field(3, ti.u8, (4, 3)), lambda: ti.Vector.field(4, ti.u16, (4, 3)),
    lambda: ti.Matrix.field(3, 1, ti.f32, (4, 3)), lambda: ti.ndarray(ti.f32, (4, 3)),
    lambda: ti.Vector.ndarray(3, ti.f32, (4, 3)), lambda: ti.ndarray(ti.u8, (4, 3, 3)),
])  # fmt: skip
def test_images_of_fields_and_ndarrays(target: str, make) -> None:
    x = make()
    values = np.random.default_rng(0).random(x.to_numpy().shape)
    x.from_numpy((values if x.dtype == ti.f32 else values * 250).astype(x.to_numpy().dtype))
    gui, expected = canvas(4, 3), canvas(4, 3)
    gui.set_image(x)
    expected.set_image(x.to_numpy().reshape(4, 3, -1))
    x.fill(0)
    assert np.array_equal(gui.get_image(), expected.get_image())


def test_an_image_that_a_kernel_paints(target: str) -> None:
    pixels = ti.Vector.field(3, ti.f32, (8, 6))

    @ti.kernel
    def paint(t: ti.f32):
        for i, j in pixels:
            pixels[i, j] = ti.Vector([i / 8, j / 6, t])

    gui = canvas(8, 6)
    for t in (0.25, 0.5):
        paint(t)
        gui.set_image(pixels)
        assert np.allclose(gui.get_image()[6, 3], [0.75, 0.5, t, 0])


def test_what_looks_like_a_tensor() -> None:
    class Tensor:
        """As torch's: on another device, with a gradient."""

        def __init__(self, values: np.ndarray, there: bool) -> None:
            self.values, self.there = values, there

        def detach(self) -> Tensor:
            return self

        def cpu(self) -> Tensor:
            return Tensor(self.values, False)

        def numpy(self) -> np.ndarray:
            assert not self.there
            return self.values

    gui = canvas(4, 3)
    gui.set_image(Tensor(np.full((4, 3), 0.5, np.float32), True))
    assert (gui.get_image() == 0.5).all()


@pytest.mark.parametrize(("image", "sentence"), [
    (np.zeros((4, 3), np.int32), "Data type int32 not supported in GUI.set_image. Hint: give floats from 0 to 1, or unsig"),
    (np.zeros((4, 3), bool), "Data type bool not supported"), (np.zeros((4, 3), complex), "Data type complex128"),
    (np.zeros((3, 4)), "does not match GUI resolution: the image has \\(3, 4\\) pixels, the canvas of `test` \\(4, 3\\)"),
    (np.zeros((4, 3, 5)), "takes shape .* found \\(4, 3, 5\\)"), (np.zeros(4), "found \\(4,\\)"),
    ([[0.5] * 3] * 4, "and a list was given"), (None, "and a NoneType was given"), ("image.png", "and a str was given"),
])  # fmt: skip
def test_what_is_no_image_is_refused(image, sentence: str) -> None:
    gui = canvas(4, 3, background_color=0xFFFFFF)
    with pytest.raises(ValueError, match=sentence):
        gui.set_image(image)
    assert (gui.get_image() == 1).all()


def test_fast_gui_takes_vector_fields_only(target: str) -> None:
    gui = canvas(4, 3, fast_gui=True)
    good = ti.Vector.field(3, ti.f32, (4, 3))
    good.fill(0.5)
    gui.set_image(good)
    assert gui.get_image().tolist() == [0x7F7F7F] * 12
    for bad in (np.zeros((4, 3, 3)), ti.field(ti.f32, (4, 3)), ti.Vector.field(2, ti.f32, (4, 3))):
        with pytest.raises(ValueError, match="with `fast_gui=True`, GUI.set_image takes a `ti.Vector.field` of 3 or 4"):
            gui.set_image(bad)


def test_fast_gui_has_packed_colours_as_taichi(target: str, tmp_path: Path) -> None:
    gui = canvas(3, 2, fast_gui=True)
    image = ti.Vector.field(3, ti.f32, (3, 2))
    image.from_numpy(np.array([[[i / 4, j / 4, 0.9] for j in range(2)] for i in range(3)], np.float32))
    gui.set_image(image)
    assert gui.img.dtype == np.uint32
    assert gui.img.tolist() == [0x3FE5, 0x3F3FE5, 0x7F3FE5, 0xE5, 0x3F00E5, 0x7F00E5]  # Taichi 1.7.4's
    gui.img[1] = 0x102030
    gui.show(str(tmp_path / "a.png"))
    assert ti.tools.imread(str(tmp_path / "a.png"))[1, 1, :3].tolist() == [0x10, 0x20, 0x30]
    assert gui.img.tolist() == [0] * 6


def test_a_contour_is_stretched_and_coloured(target: str) -> None:
    x = ti.field(ti.f32, (3, 2))
    x.from_numpy(np.array([[0, 0], [0.5, 0.5], [1, 1]], np.float32))
    gui = canvas(5, 4)
    gui.contour(x)
    ends = np.round(gui.get_image()[[0, 2, 4], 1, :3] * 255).astype(int).tolist()
    assert ends == [[13, 8, 135], [204, 71, 120], [240, 249, 33]]
    x.from_numpy(np.array([[-7, -7], [0, 0], [7, 7]], np.float32))
    gui.contour(x, normalize=True)
    assert np.round(gui.get_image()[[0, 2, 4], 1, :3] * 255).astype(int).tolist() == ends
    x.fill(3)
    gui.contour(x, normalize=True)
    assert np.round(gui.get_image()[2, 2, :3] * 255).astype(int).tolist() == ends[0]
    for bad in (np.zeros((2, 2, 2)), np.zeros((0, 3))):
        with pytest.raises(ValueError, match="GUI.contour takes a field of numbers with two axes"):
            gui.contour(bad)


P = np.array([[0.2, 0.3], [0.6, 0.7], [0.9, 0.1]])


@pytest.mark.parametrize(("draw", "sentence"), [
    (lambda g: g.circles(np.zeros((3, 3))), "GUI.circles takes arrays of shape \\(n, 2\\); found \\(3, 3\\)"),
    (lambda g: g.circles(np.zeros(2)), "found \\(2,\\)"),
    (lambda g: g.circles(P, radius=np.ones(2)), "`radius` of GUI.circles is a number, or one for each of 3"),
    (lambda g: g.circles(P, color=np.zeros(2, int)), "`color` of GUI.circles is one colour, or one for each of 3"),
    (lambda g: g.circles(P, color=0.5), "is made of integers 0xRRGGBB; found float64"),
    (lambda g: g.circles(P, palette=[1, 2]), "palette must be used together with palette_indices"),
    (lambda g: g.circles(P, palette=[1, 2], palette_indices=[0, 2, 1]), "must not exceed the length of palette: .* 0 to 2"),
    (lambda g: g.circles(P, palette=[1, 2], palette_indices=[0, -1, 1]), "they go from -1 to 1, and it has 2 colours"),
    (lambda g: g.circles(P, palette=[1, 2], palette_indices=[0]), "integers, one for each of 3 circles"),
    (lambda g: g.lines(P, P[:2]), "GUI.lines takes arrays of equal lengths; found 3, 2"),
    (lambda g: g.triangles(P, P, P[:1]), "GUI.triangles takes arrays of equal lengths; found 3, 3, 1"),
    (lambda g: g.arrows(P, P[:1]), "GUI.arrows takes arrays of equal lengths; found 3, 1"),
    (lambda g: g.circle((0.5,)), "GUI.circle takes positions of two numbers; found \\(0.5,\\)"),
    (lambda g: g.point_field(np.ones(3)), "`radius` of GUI.point_field has two axes; found shape \\(3,\\)"),
    (lambda g: g.arrow_field(np.ones((3, 3))), "`direction` of GUI.arrow_field has shape \\(n, m, 2\\)"),
    (lambda g: g.vector_field(np.ones((3, 3, 3))), "GUI.vector_field takes a field of shape \\(n, m\\) of 2-vectors"),
    (lambda g: g.circles("abc"), "GUI.circles takes an array of numbers, and a str was given"),
])  # fmt: skip
def test_mistakes_of_drawing(draw, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        draw(canvas())


def test_places_come_from_fields_lists_and_vectors(target: str) -> None:
    x = ti.Vector.field(2, ti.f32, 3)
    x.from_numpy(P.astype(np.float32))
    indices = ti.field(ti.i32, 3)
    indices[1] = 1
    pictures = []
    for places, chosen in ((P, [0, 1, 0]), (x, indices), (P.tolist(), np.array([0, 1, 0]))):
        gui = canvas()
        gui.circles(places, radius=2, palette=[0xFF, 0xFF00], palette_indices=chosen)
        gui.line(ti.Vector([0.1, 0.2]), (0.8, 0.9))
        gui.circle(np.array([0.3, 0.3]), radius=2)
        pictures.append(gui.get_image())
    assert np.array_equal(pictures[0], pictures[1]) and np.array_equal(pictures[0], pictures[2])


@pytest.mark.filterwarnings("error")
def test_places_that_are_nowhere_draw_nothing() -> None:
    for far in (np.nan, np.inf, -np.inf, 1e30, -1e30, 1e8):
        gui = canvas(background_color=0x123456)
        blank = gui.get_image()
        gui.circles(np.array([[far, 0.5], [0.5, far]]), radius=3)
        gui.lines(np.array([[far, 0.5]]), np.array([[far, 0.7]]), radius=3)
        gui.triangle((far, 0.5), (far, 0.7), (far, 0.1))
        gui.arrow((far, 0.5), (far, -far))
        assert np.array_equal(gui.get_image(), blank), far
    for radius in (0, -2, np.nan):
        gui.circle((0.5, 0.5), radius=radius)
        gui.line((0.1, 0.1), (0.9, 0.9), radius=radius)
    assert np.array_equal(gui.get_image(), blank)


def test_nothing_is_drawn_of_no_shapes() -> None:
    gui, none = canvas(), np.zeros((0, 2))
    gui.circles(none, radius=np.zeros(0), color=np.zeros(0, int))
    gui.lines(none, none)
    gui.triangles(none, none, none)
    gui.arrows(none, none)
    gui.text("", (0.5, 0.5))
    gui.point_field(np.zeros((0, 3)))
    assert (gui.get_image() == [0, 0, 0, 1]).all()


def test_a_line_without_length_is_a_disc() -> None:
    gui = canvas()
    gui.line((0.5, 0.5), (0.5, 0.5), 2)
    assert 4 <= (gui.get_image()[:, :, 0] > 0).sum() <= 16 and np.isfinite(gui.get_image()).all()


def test_shapes_of_one_colour_are_those_of_many_equal_ones() -> None:
    places = np.random.default_rng(1).random((5000, 2))
    one, many = canvas(64, 48), canvas(64, 48)
    one.circles(places, radius=1.3, color=0x4488CC)
    many.circles(places, radius=1.3, color=np.full(5000, 0x4488CC))
    assert np.allclose(one.get_image(), many.get_image(), atol=1e-5)


def test_a_disc_larger_than_the_canvas_fills_it() -> None:
    gui = canvas()
    gui.circle((0.5, 0.5), 0xFF0000, 1e6)
    assert (gui.get_image() == [1, 0, 0, 1]).all()


@pytest.mark.parametrize("font", ["Pillow's", "blocks"])
def test_texts_stand_where_taichis_do(monkeypatch: pytest.MonkeyPatch, font: str) -> None:
    gui_text._font.cache_clear()
    if font == "blocks":
        monkeypatch.setitem(sys.modules, "PIL.ImageFont", None)
    boxes = {("H", 15): (15, 22, 42, 51), ("hello world", 15): (14, 76, 41, 52), ("H", 30): (16, 30, 30, 48)}
    for (content, size), (left, right, low, high) in boxes.items():
        gui = canvas(120, 60)
        gui.text(content, (0.1, 0.9), font_size=size, color=0xFF8000)
        x, y = np.nonzero(gui.get_image()[:, :, 0] > 0.3)
        near = 0.2 * (right - left) + 4
        assert abs(x.min() - left) <= 4 and abs(x.max() - right) <= (near if font == "Pillow's" else 2 * near)
        assert abs(y.min() - low) <= 4 and abs(y.max() - high) <= 4
    gui_text._font.cache_clear()


def test_texts_of_several_lines_and_letters() -> None:
    gui, other = canvas(80, 60), canvas(80, 60)
    gui.text("ab\ncd", (0.1, 0.9))
    x, y = np.nonzero(gui.get_image()[:, :, 0])
    assert y.max() - y.min() > 15
    other.text("é ß λ |", (0.1, 0.9))
    assert other.get_image()[:, :, 0].sum() > 10
    other.text("outside", (-3, 0.5))
    other.text(12.5, (0.5, 0.01), font_size=40)


def test_widgets_keep_the_programs_values() -> None:
    gui = canvas()
    slider, label = gui.slider("Speed", 1, 10, step=2), gui.label("Count")
    assert (slider.value, label.value) == (1.0, 0.0) and type(slider) is ti.GUI.WidgetValue
    slider.value = 4.5
    assert slider.value == 4.5
    assert gui.button("OK") == "WidgetButton_OK" and gui.button("OK", "go") == "go"


def test_limits_of_frames_a_second() -> None:
    gui = canvas()
    assert gui.fps_limit == pytest.approx(60)
    gui.fps_limit = 30
    assert gui.fps_limit == pytest.approx(30)
    gui.fps_limit = None
    assert gui.fps_limit is None


def test_a_program_ends_the_loop() -> None:
    gui = canvas()
    gui.running = False
    assert not gui.running
    with canvas() as other:
        assert other.running
    assert not other.running


def press(key: str, kind: EType = EType.Press) -> Event:
    return Event(kind, key=key)


def test_filters_of_events() -> None:
    event = Event(EType.Press, ["Shift"], (0.5, 0.5), "Control_L")
    yes = [(EType.Press,), ("Control_L",), ("Control",), ((EType.Press, "Control_L"),), ([EType.Press, "Control"],),
           (EType.Release, "Control"), ((EType.Press, "b"), (EType.Press, "Control"))]  # fmt: skip
    no = [(), (EType.Release,), ("Shift",), ("b",), ((EType.Release, "Control_L"),), ((EType.Press, "b"),)]
    assert [wanted for wanted in yes if not ti.GUI.EventFilter(*wanted).match(event)] == []
    assert [wanted for wanted in no if ti.GUI.EventFilter(*wanted).match(event)] == []
    for wanted in ((EType.Press,), ("a", "b"), (EType.Press, "a", "b")):
        with pytest.raises(ValueError, match="an event is chosen by a type, a key or a pair"):
            ti.GUI.EventFilter(wanted)


def test_events_are_taken_in_their_order() -> None:
    gui = canvas()
    assert (
        not gui.get_event() and not gui.has_key_event() and gui.get_key_event() is None and list(gui.get_events()) == []
    )
    gui._events.extend([press("a"), press("a", EType.Release), press("b"), press("c"), press("d")])
    assert gui.get_event((ti.GUI.PRESS, "b")) and gui.event.key == "b"
    assert gui.has_key_event() and gui.get_key_event().key == "c"
    assert not gui.get_event(ti.GUI.RELEASE) and gui.event.key == "b" and not gui.has_key_event()
    gui._events.extend([press("a"), press("b"), press("a", EType.Release)])
    assert [(event.key, event.type) for event in gui.get_events("a")] == [("a", EType.Press), ("a", EType.Release)]
    assert not gui.is_pressed("a", ti.GUI.LMB) and gui.get_cursor_pos() == (0.0, 0.0)


def test_an_event_of_nothing() -> None:
    event = ti.GUI.Event()
    assert event.type is None and event.key is None and event.delta == Delta(0, 0) and event.delta.y == event.delta[1]


def test_colours_to_and_from_numbers() -> None:
    assert ti.rgb_to_hex((1, 0.5, 0.25)) == 0xFF7F3F and ti.rgb_to_hex((2, -1, 0)) == 0xFF0000
    assert ti.rgb_to_hex(np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]])).tolist() == [1657983, 3368601]
    assert ti.hex_to_rgb(0x123456) == (0x12 / 255, 0x34 / 255, 0x56 / 255)


@pytest.mark.targets("cpu")
def test_large_images_and_many_circles_are_fast(target: str) -> None:
    if target != "cpu":
        pytest.skip("NumPy's work, the same for all targets")
    x = ti.Vector.field(3, ti.f32, (1920, 1080))
    gui, places = canvas(1920, 1080), np.random.default_rng(0).random((100_000, 2))

    def seconds(work) -> float:
        times = []
        for _ in range(5):
            start = process_time()
            work()
            times.append(process_time() - start)
        return min(times)

    assert seconds(lambda: (gui.set_image(x), gui.show())) < 1 / 30
    assert seconds(lambda: gui.circles(places, radius=1.5)) < 0.5  # 50 ms on a machine with nothing else to do


def test_alpha_of_the_canvas_is_taichis() -> None:
    """Colours are opaque, an image without alpha leaves 0, one number is for all four; Taichi 1.7.4 gave these."""
    gui = ti.GUI("alpha", (4, 4), show_gui=False, background_color=0x102030)

    def alpha() -> float:
        return round(float(gui.get_image()[2, 2, 3]), 3)

    found = [alpha()]
    gui.circle((0.5, 0.5), color=0xFF8000, radius=3)
    found.append(alpha())
    for shape in ((4, 4, 3), (4, 4, 4), (4, 4)):
        gui.set_image(np.full(shape, 0.25, np.float32))
        found.append(alpha())
    gui.clear(0x00FF00)
    assert [*found, alpha()] == [1, 1, 0, 0.25, 0.25, 1]
