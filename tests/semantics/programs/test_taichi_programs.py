"""Programs as users of Taichi write them, each once wrong with us; what they give was checked against Taichi 1.7.4."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.gui.gui import GUI


def test_fields_and_ndarrays_are_filled_in_kernels_at_each_launch(target: str) -> None:
    x = ti.field(ti.f32, (2, 3))
    v = ti.Vector.field(2, ti.f32, 3)
    total = ti.field(ti.i32, ())

    @ti.kernel
    def clear_and_count(a: ti.types.ndarray(ti.f32, 1), s: ti.f32):
        x.fill(s)
        v.fill(1.5)
        total.fill(0)
        a.fill(val=s + 1)
        for i, j in x:
            x[i, j] += i
            total[None] += 1
        for i in v:
            v[i] += ti.Vector([i, 0])

    a = np.zeros(4, np.float32)
    for s in (1, 2, 3):
        clear_and_count(a, s)
        assert x.to_numpy().tolist() == [[s] * 3, [s + 1] * 3]
        assert v.to_numpy().tolist() == [[1.5, 1.5], [2.5, 1.5], [3.5, 1.5]]
        assert (total[None], a.tolist()) == (6, [s + 1] * 4)


def test_fill_inside_a_loop_stays_in_it(target: str) -> None:
    x = ti.field(ti.i32, 3)
    log = ti.field(ti.i32, (2, 3))

    @ti.kernel
    def fill_rows():
        ti.loop_config(serialize=True)
        for i in range(2):
            x.fill(i + 7)
            for j in range(3):
                log[i, j] = x[j] + j

    fill_rows()
    assert log.to_numpy().tolist() == [[7, 8, 9], [8, 9, 10]]


@pytest.mark.parametrize("name", ["to_numpy", "copy_from", "from_numpy"])
def test_methods_of_python_scope_are_refused_in_kernels(name: str) -> None:
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32, 3)

    @ti.kernel
    def wrong():
        getattr_of = (
            x.to_numpy if ti.static(name == "to_numpy") else x.copy_from if name == "copy_from" else x.from_numpy
        )
        getattr_of()

    with pytest.raises(ti.TaichiSyntaxError, match=f"`x.{name}\\(\\)` can be called in Python scope only"):
        wrong()


def test_a_cell_that_is_written_twice_with_one_value_is_written_right(target: str) -> None:
    x = ti.field(ti.f32, 6)

    @ti.kernel
    def serial():
        x[0] += 50
        x[0] -= 0
        x[1] = x[0]
        x[2] += x[1]
        x[2] *= 1
        x[2] += 0

    @ti.kernel
    def parallel():
        for i in range(6):
            x[i] += 2
            x[i] = x[i]

    serial()
    parallel()
    assert x.to_numpy().tolist() == [52, 52, 52, 2, 2, 2]


def test_matrices_that_kernels_return_keep_rows_and_columns(target: str) -> None:
    @ti.kernel
    def one(m: ti.types.matrix(2, 3, ti.f32)) -> ti.types.matrix(2, 3, ti.f32):
        return m * 2

    @ti.kernel
    def several() -> (ti.i32, ti.types.matrix(2, 2, ti.f32), ti.math.vec2):
        return 7, ti.Matrix([[1.0, 2.0], [3.0, 4.0]]), ti.math.vec2(5, 6)

    assert one(ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])).to_numpy().tolist() == [[2, 4, 6], [8, 10, 12]]
    number, matrix, vector = several()
    assert (number, matrix.to_numpy().tolist(), vector.to_numpy().tolist()) == (7, [[1, 2], [3, 4]], [5, 6])


def test_a_power_of_one_half_is_a_root(target: str) -> None:
    @ti.kernel
    def primes(n: ti.i32) -> ti.i32:
        count = 0
        for k in range(2, n):
            is_prime = True
            for d in range(2, int(k**0.5) + 1):
                if k % d == 0:
                    is_prime = False
                    break
            if is_prime:
                count += 1
        return count

    assert primes(1000) == 168


def test_a_power_of_infinity_compiles(target: str) -> None:
    @ti.kernel
    def grown(x: ti.f32) -> ti.f32:
        return x**ti.math.inf

    assert grown(2) == float("inf")


def test_casts_of_literals_wrap(target: str) -> None:
    @ti.kernel
    def narrowed() -> (ti.i32, ti.u32, ti.i32):
        return ti.cast(300, ti.u8), ti.cast(-1, ti.u32), ti.cast(200, ti.i8)

    assert narrowed() == (44, 2**32 - 1, -56)


def test_rot_by_axis_takes_an_axis_of_any_length(target: str) -> None:
    @ti.kernel
    def turned(axis: ti.math.vec3, angle: ti.f32) -> ti.math.mat4:
        return ti.math.rot_by_axis(axis, angle)

    long, unit = turned([0, 0, 5], 0.5).to_numpy(), turned([0, 0, 1], 0.5).to_numpy()
    assert long == pytest.approx(unit, abs=1e-6)
    assert long[0, :2] == pytest.approx([np.cos(0.5), np.sin(0.5)], abs=1e-6)


def test_the_product_of_two_vectors_is_their_dot_product(target: str) -> None:
    @ti.kernel
    def product() -> (ti.f32, ti.i32):
        v = ti.Vector([1.0, -2.0, 3.0])
        w = ti.Vector([1, 2])
        return v @ v, w @ ti.Vector([3, 4])

    assert product() == (14, 11)


def test_a_loop_until_escape_ends_without_a_display(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    monkeypatch.setenv("SHADESMITH_GUI_DIR", str(tmp_path))
    monkeypatch.setenv("SHADESMITH_GUI_FRAMES", "2")
    gui = GUI("Until Escape", (64, 32))
    frames = 0
    while not gui.get_event(ti.GUI.ESCAPE, ti.GUI.EXIT):
        gui.circle((0.5, 0.5), radius=2)
        gui.show()
        frames += 1
    assert frames == len(list(tmp_path.iterdir())) == 2


def test_texts_arrows_and_widgets_without_a_display(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)
    gui = GUI("Shapes", (100, 50))

    def drawn() -> int:
        count = int((gui.get_image()[:, :, :3] > 0).any(axis=2).sum())
        gui.clear()
        return count

    gui.text("I", (0.5, 0.5), font_size=14)
    assert drawn() >= 9
    gui.text("", (0.5, 0.5))
    gui.lines(np.zeros((0, 2)), np.zeros((0, 2)))
    assert drawn() == 0
    gui.arrow((0.1, 0.5), (0.5, 0.0))
    assert drawn() > 50
    gui.point_field(np.ones((4, 2)), color=0xFF0000)
    assert 8 <= drawn() <= 8 * 9
    gui.arrow_field(np.full((3, 3, 2), 0.1))
    gui.vector_field(np.ones((10, 10, 2)))
    assert drawn() > 50
    slider, label, button = gui.slider("Speed", 1, 10), gui.label("x"), gui.button("OK")
    assert (slider.value, label.value) == (1, 0) and isinstance(button, str)
    slider.value += 2
    assert slider.value == 3
    assert gui.get_key_event() is None


def test_a_scalar_annotation_of_a_function_goes_for_the_elements_of_its_vector(target: str) -> None:
    @ti.func
    def doubled(x) -> ti.f32:
        return ti.Vector([x, x + 1])

    @ti.kernel
    def halves() -> ti.math.vec2:
        return doubled(3) / 2

    assert halves().to_numpy().tolist() == [1.5, 2]


def test_a_vector_made_from_another_is_filled_by_itself(target: str) -> None:
    @ti.kernel
    def filled() -> (ti.math.vec3, ti.math.vec3):
        v = ti.Vector([1.0, 2.0, 3.0])
        w = v
        w.fill(4)
        return v, w

    assert [vector.to_numpy().tolist() for vector in filled()] == [[1, 2, 3], [4, 4, 4]]
