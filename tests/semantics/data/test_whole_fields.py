"""Fills and copies of whole fields: Python's the first time, by a kernel where other fields lie between, later."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.algorithms import kernels

TIMES = 3


def test_fields_of_one_node(target: str) -> None:
    v, m, h = ti.Vector.field(3, ti.f32), ti.field(ti.f32), ti.field(ti.i8)
    ti.root.dense(ti.ij, (13, 9)).place(v, m, h)
    for k in range(TIMES):
        v.fill([k, -0.5, np.inf])
        m.fill(k + 0.25)
        h.fill(-k)
        assert (v.to_numpy() == np.array([k, -0.5, np.inf])).all()
        assert (m.to_numpy() == k + 0.25).all() and (h.to_numpy() == -k).all()
    m.fill(float("nan"))
    assert np.isnan(m.to_numpy()).all() and (h.to_numpy() == 1 - TIMES).all()


def test_offsets_and_parts(target: str) -> None:
    a, v = ti.field(ti.i64), ti.Vector.field(2, ti.f64)
    ti.root.dense(ti.i, 11).place(a, v, offset=-5)
    struct = ti.types.struct(x=ti.math.vec3, k=ti.i32, r=ti.f16)
    aos, soa = struct.field(shape=7), struct.field(shape=7, layout=ti.Layout.SOA)
    for k in range(TIMES):
        a.fill(2**40 + k)
        v.fill(k)
        assert (a.to_numpy() == 2**40 + k).all() and (v.to_numpy() == k).all()
        for field in (aos, soa):
            field.k.fill(7)
            field.x.fill([1, k, 3])
            field.r.fill(0.5 * k)
            assert (field.x.to_numpy() == [1, k, 3]).all() and (field.r.to_numpy() == 0.5 * k).all()
            assert (field.k.to_numpy() == 7).all()


def test_only_active_elements(target: str) -> None:
    x, m = ti.field(ti.f32), ti.Matrix.field(2, 2, ti.i32)
    ti.root.pointer(ti.ij, 4).bitmasked(ti.ij, 4).place(x, m)
    d = ti.field(ti.i32)
    ti.root.dynamic(ti.i, 32, chunk_size=4).place(d)

    @ti.kernel
    def activate():
        for i in range(10):
            x[i, (3 * i) % 16] = 1.0
        for i in range(9):
            ti.append(d.parent(), [], i)

    activate()
    for k in range(1, TIMES + 1):
        x.fill(k)
        m.fill([[1, 2], [3, k]])
        d.fill(k)
        values = x.to_numpy()
        assert np.count_nonzero(values) == 10 and values.sum() == 10 * k
        assert m.to_numpy().sum(axis=(0, 1)).tolist() == [[10, 20], [30, 10 * k]]
        assert d.to_numpy().tolist() == [k] * 9 + [0] * 23


def test_copies(target: str) -> None:
    v, m = ti.Vector.field(3, ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.ij, (5, 6)).place(v, m)
    alone, double, shifted = ti.Vector.field(3, ti.f32, (5, 6)), ti.field(ti.f64, (5, 6)), ti.field(ti.f32)
    ti.root.dense(ti.ij, (5, 6)).place(shifted, ti.field(ti.f32), offset=(2, 3))
    rng = np.random.default_rng(0)
    for k in range(TIMES):
        values = rng.random((5, 6, 3)).astype(np.float32)
        alone.from_numpy(values)
        double.fill(k)
        v.copy_from(alone)
        m.copy_from(double)
        assert (v.to_numpy() == values).all() and (m.to_numpy() == k).all()
        shifted.copy_from(m)
        m.fill(9)
        alone.fill(0)
        alone.copy_from(v)
        assert (alone.to_numpy() == values).all() and (shifted.to_numpy() == k).all()


def test_a_tape_knows_what_it_replaces(target: str) -> None:
    x, y, loss = ti.field(ti.f32), ti.field(ti.f32), ti.field(ti.f32, (), needs_grad=True)
    ti.root.dense(ti.i, 8).place(x, y)
    for _ in range(TIMES):
        x.fill(2)
    w = ti.field(ti.f32, 8, needs_grad=True)
    w.fill(3)

    @ti.kernel
    def add():
        for i in x:
            loss[None] += w[i] * x[i]

    with ti.ad.Tape(loss):
        x.fill(5)
        add()
    assert loss[None] == 120 and (w.grad.to_numpy() == 5).all()


@pytest.mark.parametrize("arch", [ti.vulkan])
def test_the_first_fill_compiles_nothing(arch) -> None:
    ti.init(arch=arch, log_level=ti.ERROR)
    a, b = ti.field(ti.u16), ti.field(ti.u16)
    ti.root.pointer(ti.i, 10).dense(ti.i, 4).place(a, b)
    a[0], a[39] = 9, 9
    fill = kernels.fill_of(a.element)
    before = len(fill._launchers)
    a.fill(1)
    b.fill(2)
    assert len(fill._launchers) == before
    a.fill(3)
    assert len(fill._launchers) == before + 1
    for field, value in ((a, 3), (b, 2)):
        assert field.to_numpy().tolist() == [value] * 4 + [0] * 32 + [value] * 4


def test_another_session(target: str) -> None:
    """A field of a session that has ended refuses, also after its kernel was launched."""
    a, b = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, 4).place(a, b)
    for k in range(TIMES):
        a.fill(k)
    ti.reset()
    with pytest.raises(ti.TaichiRuntimeError):
        a.fill(1)
