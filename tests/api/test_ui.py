"""`ti.ui` without a display: the canvas's pixels, frames as files, events, and widgets that keep their values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ti.ui.Window:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("SHADESMITH_GUI_DIR", str(tmp_path))
    monkeypatch.setenv("SHADESMITH_GUI_FRAMES", "2")
    ti.init(arch=ti.cpu)
    return ti.ui.Window("A window", (40, 20))


def pixel(window: ti.ui.Window, x: int, y: int) -> tuple[int, ...]:
    return tuple(np.round(window.get_image_buffer_as_numpy()[x, y, :3] * 255).astype(int))


def test_frames_are_saved_and_the_loop_ends(window: ti.ui.Window, tmp_path: Path) -> None:
    shown = 0
    while window.running:
        window.show()
        shown += 1
    assert shown == 2 and len(list(tmp_path.glob("A_window-*.png"))) == 2
    assert window.get_event(ti.ui.PRESS) and window.event is not None and window.event.key == ti.ui.ESCAPE
    assert window.get_window_shape() == (40, 20) and not window.is_pressed(ti.ui.SPACE)


@pytest.mark.parametrize("size", [(40, 20), (20, 10), (80, 60)])
def test_an_image_is_scaled_to_the_canvas(window: ti.ui.Window, size: tuple[int, int]) -> None:
    image = ti.Vector.field(3, ti.f32, shape=size)
    values = np.zeros((*size, 3), np.float32)
    values[: size[0] // 2] = (1, 0.5, 0)
    image.from_numpy(values)
    window.get_canvas().set_image(image)
    assert pixel(window, 0, 0) == (255, 128, 0) and pixel(window, 19, 19) == (255, 128, 0)
    assert pixel(window, 20, 0) == (0, 0, 0)


def test_shapes_are_drawn_in_the_unit_square(window: ti.ui.Window) -> None:
    canvas = window.get_canvas()
    canvas.set_background_color((0, 0, 1))
    canvas.circles(np.array([[0.25, 0.5]]), radius=0.1, color=(1, 0, 0))
    canvas.lines(np.array([[0.5, 0.25], [1.0, 0.25]]), width=0.15, color=(0, 1, 0))
    canvas.triangles(np.array([[0.5, 0.5], [1, 0.5], [1, 1]]), indices=np.array([0, 1, 2]), color=(1, 1, 1))
    assert pixel(window, 10, 10) == (255, 0, 0) and pixel(window, 30, 5) == (0, 255, 0)
    assert pixel(window, 38, 12) == (255, 255, 255) and pixel(window, 1, 1) == (0, 0, 255)


def test_contours_run_from_the_least_to_the_greatest(window: ti.ui.Window) -> None:
    heights = ti.field(ti.f32, shape=(40, 20))
    heights.from_numpy(np.linspace(3, 7, 800, dtype=np.float32).reshape(40, 20))
    window.get_canvas().contour(heights, cmap_name="gray", normalize=True)
    assert pixel(window, 0, 0) == (0, 0, 0) and pixel(window, 39, 19) == (255, 255, 255)
    with pytest.raises(ValueError, match="there are plasma, gray"):
        window.get_canvas().contour(heights, cmap_name="grey")


def test_widgets_keep_the_programs_values(window: ti.ui.Window) -> None:
    gui = window.get_gui()
    with gui.sub_window("Options", 0, 0, 0.3, 0.3) as options:
        options.text("hello")
        assert options.slider_float("speed", 0.5, 0, 1) == 0.5 and options.slider_int("count", 3, 0, 9) == 3
        assert options.checkbox("pause", True) is True and options.button("reset") is False
        assert options.color_edit_3("colour", (0.1, 0.2, 0.3)) == (0.1, 0.2, 0.3)


def test_three_dimensions_say_that_they_come_later(window: ti.ui.Window) -> None:
    for use in (lambda: ti.ui.Scene, lambda: ti.ui.make_camera, window.get_scene):
        with pytest.raises(AttributeError, match="scenes in three dimensions come with a later issue"):
            use()
