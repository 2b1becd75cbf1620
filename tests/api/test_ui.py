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


def scene_of(res: tuple[int, int] = (200, 100), fov: float = 45) -> tuple[ti.ui.Window, ti.ui.Scene]:
    window, camera = ti.ui.Window("scene", res, show_window=False), ti.ui.Camera()
    camera.position(0, 0, 3)
    camera.lookat(0, 0, 0)
    camera.fov(fov)
    window.get_scene().set_camera(camera)
    return window, window.get_scene()


def test_matrices_of_a_camera_are_taichis() -> None:
    camera = ti.ui.make_camera()
    camera.position(1, 2, 3)
    camera.lookat(0.5, 0, 0)
    camera.fov(60)
    view = camera.get_view_matrix()
    assert np.allclose(view[1:3, :3], [[0, 0.83553165, 0.54944223], [-0.164399, -0.5419665, 0.8241633]], atol=1e-6)
    assert np.allclose(view[3], [-0.49319693, 0.04516399, -3.708735, 1], atol=1e-6)
    projection = camera.get_projection_matrix(2.0)
    assert np.allclose(projection[1:], [[0, 1.7320507, 0, 0], [0, 0, 1.0001e-4, -1], [0, 0, 0.10001, 0]], atol=1e-6)
    camera.projection_mode(ti.ui.ProjectionMode.Orthogonal)
    projection = camera.get_projection_matrix(2.0)
    assert np.allclose(projection[2:], [[0, 0, 1.0000999e-3, 0], [0, 0, 1.0001, 1]], atol=1e-6)


TAICHIS = [((200, 100), 45, 0.1, (0, 0, 0), (92, 107, 42, 57)), ((200, 100), 45, 0.4, (0, 0, 0), (68, 131, 18, 81)),
           ((100, 200), 45, 0.1, (0, 0, 0), (46, 53, 96, 103)), ((200, 100), 70, 0.2, (0.5, 0.3, -1), (102, 115, 48, 61))]  # fmt: skip
"""Size, angle, radius, position, and which pixels Taichi 1.7.4 sets: first and last column, first and last row."""


@pytest.mark.parametrize(("res", "fov", "radius", "place", "expected"), TAICHIS)
def test_a_particle_is_where_taichis_is(res: tuple, fov: float, radius: float, place: tuple, expected: tuple) -> None:
    window, scene = scene_of(res, fov)
    scene.ambient_light((0.2, 0.2, 0.2))
    scene.particles(np.array([place], np.float32), radius, color=(1, 1, 1))
    window.get_canvas().scene(scene)
    image = window.get_image_buffer_as_numpy()[..., :3]
    columns, rows = (np.flatnonzero((image > 0).any((axis, 2))) for axis in (1, 0))
    assert np.abs(np.subtract((columns[0], columns[-1], rows[0], rows[-1]), expected)).max() <= 1
    assert image.max() == pytest.approx(0.2, abs=0.01)


def test_what_is_nearer_covers_and_lights_fall() -> None:
    window, scene = scene_of((64, 64))
    square = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]], np.float32)
    scene.point_light((0, 0, 3), (1, 1, 1))
    scene.mesh(square, np.array([0, 1, 2, 0, 2, 3]), color=(0, 1, 0))
    scene.particles(np.array([[0, 0, -1], [0.5, 0.5, 0.4]], np.float32), 0.2, per_vertex_color=np.eye(3)[[0, 2]])
    scene.lines(np.array([[-0.5, -0.5, 0.5], [-0.5, 0.5, 0.5]], np.float32), 1, color=(1, 0, 1))
    window.get_canvas().scene(scene)
    image = window.get_image_buffer_as_numpy()[..., :3]
    assert image[32, 32, 1] > 0.98 and image[32, 32, 0] == 0  # the red ball is behind the square
    assert image[44, 44, 2] > 0.5 and image[44, 44, 1] == 0
    assert image[16, 32].tolist() == [1, 0, 1] and image[31, 31, 1] > image[14, 31, 1] > 0.5
    scene.mesh(square, np.array([0, 2, 1]), color=(1, 1, 1), two_sided=False)
    window.get_canvas().scene(scene)  # the lights went with the first picture
    assert window.get_image_buffer_as_numpy()[36, 28, :3].max() == 0


def test_meshes_by_instances_and_mistakes_of_scenes() -> None:
    window, scene = scene_of((64, 64))
    triangle = np.array([[-0.2, -0.2, 0], [0.2, -0.2, 0], [0, 0.2, 0]], np.float32)
    moved = np.tile(np.eye(4), (2, 1, 1))
    moved[:, 0, 3] = -0.5, 0.5
    scene.ambient_light((1, 1, 1))
    scene.mesh_instance(triangle, transforms=moved, color=(1, 1, 1))
    window.get_canvas().scene(scene)
    image = window.get_image_buffer_as_numpy()[..., 0]
    assert image[19, 30] == image[44, 30] == 1 and image[32, 30] == 0
    with pytest.raises(ValueError, match="an index of a scene is 9, and there are 3 vertices"):
        scene.mesh(triangle, np.array([0, 1, 9]))
    with pytest.raises(ValueError, match="positions of three numbers"):
        scene.particles(np.zeros((4, 2)), 0.1)
    scene.particles(np.array([[np.nan, 0, 0], [0, 0, 9], [1e30, 0, 0]]), 0.1)  # none is seen
    window.get_canvas().scene(scene)


def test_depths_are_taichis() -> None:
    """Numbers of Taichi 1.7.4's window on lavapipe: reversed depths, 0 where nothing is."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    window = ti.ui.Window("depth", (64, 48), show_window=False)
    canvas, scene, camera = window.get_canvas(), window.get_scene(), ti.ui.Camera()
    camera.position(0, 0, 3)
    camera.lookat(0, 0, 0)
    camera.fov(60)
    corners, faces, ball = ti.Vector.field(3, ti.f32, 4), ti.field(ti.i32, 6), ti.Vector.field(3, ti.f32, 1)
    corners.from_numpy(np.array([[-1, -1, 0], [1, -1, 0], [1, 1, -1], [-1, 1, -1]], np.float32))
    faces.from_numpy(np.array([0, 1, 2, 0, 2, 3], np.int32))
    ball[0] = [0.5, -0.2, 1.0]
    scene.set_camera(camera)
    scene.mesh(corners, faces)
    scene.particles(ball, 0.2)
    canvas.scene(scene)
    depths = window.get_depth_buffer_as_numpy()
    assert depths.shape == (64, 48) and depths.dtype == np.float32
    assert np.allclose(depths[24, [0, 16, 24, 32, 40]], [0, 0.0311, 0.0283, 0.0256, 0], atol=5e-5)
    assert np.allclose(depths.max(), 0.05544715, atol=1e-5) and tuple(np.argwhere(depths == depths.max())[0]) == (
        42,
        19,
    )
    stored = ti.field(ti.f32, (64, 48))
    window.get_depth_buffer(stored)
    assert (stored.to_numpy() == depths).all() and (window.get_image_buffer_as_numpy()[..., 3] == 1).all()
    with pytest.raises(RuntimeError, match="2d-shape and ti.f32"):
        window.get_depth_buffer(ti.field(ti.f64, (64, 48)))
    window.show()
    assert not window.get_depth_buffer_as_numpy().any()
