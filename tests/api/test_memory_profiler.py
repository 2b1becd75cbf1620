"""`ti.profiler.print_memory_profiler_info`: who owns how much memory."""

from __future__ import annotations

import pytest

import shadesmith as ti


def test_owners_of_memory_by_name_and_size(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    heat = ti.field(ti.f32, shape=1 << 18, needs_grad=True)
    wind = ti.Vector.field(3, ti.f32, shape=(100, 30))
    table = ti.ndarray(ti.f64, (5, 2))
    named = ti.field(ti.i32, shape=3, name="told")
    u, v = ti.field(ti.f32), ti.field(ti.i32)
    ti.root.dense(ti.ij, (8, 4)).place(u, v)
    u[0, 0] = 1
    apart = ti.Vector.field(2, ti.f32, shape=7, layout=ti.Layout.SOA)
    apart[0] = [1, 2]
    waiting = ti.field(ti.f32)
    ti.root.dense(ti.i, 5).place(waiting)  # has no memory before it is used
    ti.profiler.print_memory_profiler_info()
    lines = capsys.readouterr().out.splitlines()
    rows = [line.split(maxsplit=1)[0] if "tree" not in line else line.split("  ")[0] for line in lines[2:-1]]
    assert rows == ["heat", "heat.grad", "wind", "u, v", "table", "apart.x, apart.y", "told"]
    assert lines[0] == f"memory on arch={ti.cfg.arch.name}"
    assert lines[1].split() == ["name", "kind", "element", "shape", "size"]
    assert lines[2].split() == ["heat", "field", "f32", "(262144,)", "1.0", "MiB"]
    assert lines[6].split() == ["table", "ndarray", "f64", "(5,", "2)", "80", "bytes"]
    assert lines[4].split() == ["wind", "field", "vector(3,", "f32)", "(100,", "30)", "35.2", "KiB"]
    assert len({*map(len, lines[1:-1])}) == 1
    assert lines[-1].startswith("4 fields, 1 ndarray, 2 trees: 2.0 MiB")
    del heat, wind, table, named, u, v, apart, waiting
    ti.sync()
    ti.profiler.print_memory_profiler_info()
    assert capsys.readouterr().out.splitlines()[-1].startswith("no arrays: 0 bytes")


def test_arrays_of_an_object(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    @ti.data_oriented
    class Particles:
        def __init__(self) -> None:
            self.place = ti.field(ti.f32, 3)

    particles = Particles()
    assert particles.place[0] == 0
    ti.profiler.print_memory_profiler_info()
    assert capsys.readouterr().out.splitlines()[2].startswith("particles.place  field")


def test_what_is_missing_says_so() -> None:
    ti.reset()
    with pytest.raises(ti.TaichiRuntimeError, match="init"):
        ti.profiler.print_memory_profiler_info()
