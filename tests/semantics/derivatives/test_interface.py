"""Taichi's names for derivatives, letter by letter: older spellings, enumerations, duals, methods, f16, textures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.compat import inner

pytestmark = pytest.mark.one_target

written = ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f, lod=0)
sampled = ti.types.texture(num_dimensions=2)


@pytest.fixture
def fields(target: str) -> dict[str, Any]:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, loss = ti.field(ti.f32, 3, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)
    x.fill(2.0)
    return {"x": x, "loss": loss}


def test_the_older_spelling_of_a_tape(fields: dict[str, Any], define_kernel: Any) -> None:
    x, loss = fields["x"], fields["loss"]
    square = define_kernel("def square():\n    for i in x: loss[None] += x[i] ** 2\n", **fields)
    for clear, expected in ((True, 4.0), (False, 8.0), (True, 4.0)):
        with ti.Tape(loss=loss, clear_gradients=clear):
            square()
        assert x.grad.to_numpy().tolist() == [expected] * 3


def test_enumerations_have_taichis_values() -> None:
    enums: Any = inner.member("lang", "enums")
    kinds, modes = enums.SNodeGradType, enums.AutodiffMode
    assert {kind.name: kind.value for kind in kinds} == {"PRIMAL": 0, "ADJOINT": 1, "DUAL": 2, "ADJOINT_CHECKBIT": 3}
    assert {mode.name: mode.value for mode in modes} == {"FORWARD": 0, "REVERSE": 1, "NONE": 2, "VALIDATION": 3}
    assert kinds is ti.ad.SNodeGradType


def test_a_gradient_for_a_method_is_a_method(fields: dict[str, Any]) -> None:
    x, loss = fields["x"], fields["loss"]

    @ti.data_oriented
    class Model:
        factor = 3.0

        @ti.kernel
        def measure(self, scale: ti.f32):
            for i in x:
                loss[None] += x[i] * scale * self.factor

        @ti.kernel
        def differentiate(self, scale: ti.f32):
            for i in x:
                x.grad[i] += 100 * scale * loss.grad[None]

        @ti.ad.grad_replaced
        def forward(self, scale: float) -> None:
            self.measure(scale)

        @ti.ad.grad_for(forward)
        def backward(self, scale: float) -> None:
            self.differentiate(scale)

        @ti.ad.no_grad
        def show(self) -> None:
            self.measure(1.0)

    model = Model()
    with ti.ad.Tape(loss):
        model.forward(2.0)
        model.show()
    assert x.grad.to_numpy().tolist() == [200.0] * 3
    with pytest.raises(RuntimeError, match="has a gradient already"):
        ti.ad.grad_for(Model.forward)(lambda: None)


def test_duals_of_fields_without_a_shape(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    placed, lazy, others = ti.field(ti.f32, needs_dual=True), ti.field(ti.f32), ti.Vector.field(2, ti.f32)
    ti.root.dense(ti.i, 3).place(placed, placed.dual)
    ti.root.dense(ti.i, 3).place(lazy, others)
    ti.root.lazy_dual()

    @ti.kernel
    def square():
        for i in placed:
            lazy[i] = placed[i] ** 2
            others[i] = [lazy[i], 3 * placed[i]]

    placed.fill(2.0)
    with ti.ad.FwdMode(loss=[lazy], param=placed, seed=[1.0, 0.0, 2.0]):
        square()
    assert lazy.dual.to_numpy().tolist() == [4.0, 0.0, 8.0]
    assert others.dual.to_numpy().tolist() == [[4.0, 3.0], [0.0, 0.0], [8.0, 6.0]]
    ti.ad.clear_all_gradients(ti.ad.SNodeGradType.DUAL)
    assert others.dual.to_numpy().tolist() == [[0.0, 0.0]] * 3


def test_gradients_of_half_numbers(fields: dict[str, Any], define_kernel: Any) -> None:
    half = ti.field(ti.f16, 3, needs_grad=True)
    half.fill(0.5)
    kernel = define_kernel(
        "def kernel():\n    for i in half: loss[None] += ti.f32(half[i]) ** 2 + ti.sin(half[i])\n",
        half=half,
        loss=fields["loss"],
    )
    with ti.ad.Tape(fields["loss"]):
        kernel()
    assert half.grad.to_numpy().dtype == np.float16
    assert half.grad.to_numpy() == pytest.approx(np.full(3, 1 + np.cos(0.5)), rel=2e-3)


def test_texels_are_constants_and_a_sample_at_a_position_that_varies_is_refused(fields: dict[str, Any]) -> None:
    x, loss = fields["x"], fields["loss"]
    image = ti.Texture(ti.Format.r32f, (4, 4))

    @ti.kernel
    def fill(t: written):
        for i, j in ti.ndrange(4, 4):
            t.store(ti.Vector([i, j]), ti.Vector([i + 0.5 * j, 0.0, 0.0, 0.0]))

    @ti.kernel
    def weigh(t: sampled):
        for i in x:
            loss[None] += t.fetch(ti.Vector([i, 2]), 0).x * x[i] ** 2

    @ti.kernel
    def look(t: sampled):
        for i in x:
            loss[None] += t.sample_lod(ti.Vector([x[i], 0.5]), 0.0).x

    fill(image)
    with ti.ad.Tape(loss):
        weigh(image)
    assert x.grad.to_numpy().tolist() == [4.0, 8.0, 12.0]
    with pytest.raises(ti.TaichiCompilationError, match="a sample of a texture has none"), ti.ad.Tape(loss):
        look(image)
