"""`kernel.report()`: the stages of a compilation with their times, which add up to the whole."""

from __future__ import annotations

import pytest

import shadesmith as ti

COMPILERS = {
    "cpu": ["cc", "dlopen"],
    "vulkan": ["glslang", "pipelines"],
    "cuda": ["NVRTC", "cuModuleLoad"],
    "python": [],
}


@ti.func
def mandel(c, n):
    z = ti.Vector([0.0, 0.0])
    k = 0
    while z.norm() < 4 and k < n:
        z = ti.Vector([z[0] ** 2 - z[1] ** 2, 2 * z[0] * z[1]]) + c
        k += 1
    return k


@ti.kernel
def paint(x: ti.types.ndarray(dtype=ti.f32, ndim=2), n: ti.i32):
    for i, j in x:
        x[i, j] = mandel(ti.Vector([i / n, j / n]), n)


@pytest.mark.all_targets
def test_stages_add_up_to_the_whole(target: str) -> None:
    x = ti.ndarray(ti.f32, (8, 8))
    reports = [paint.report(x, 8) for _ in range(5)]
    report = max(reports, key=lambda r: sum(r.times.values()) / r.wall)  # others had to wait for other processes
    names = list(report.times)
    assert names[:2] == ["parse", "frontend"] and names[-len(COMPILERS[target]) - 1 :] == ["emit", *COMPILERS[target]]
    assert {"pass lower", "pass offload", "pass dead_code"} < set(names)
    assert all(time >= 0 for time in report.times.values())
    assert 0.95 * report.wall <= sum(report.times.values()) <= report.wall
    assert (report.kernel, report.target) == ("paint", {"cpu": "c"}.get(target, target))


def test_every_report_compiles_anew_and_no_launch_does(target: str) -> None:
    x = ti.ndarray(ti.f32, (4, 4))
    paint(x, 4)
    before = x.to_numpy().tolist()
    reports = [paint.report(x, 4) for _ in range(2)]
    for report in reports:
        for tool in COMPILERS[target][:1]:
            assert report.times[tool] > 1e-3
    assert len(paint.instances()) == 1 and x.to_numpy().tolist() == before


def test_the_table_names_stages_and_shares() -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    report = paint.report(ti.ndarray(ti.f32, (4, 4)), 4)
    lines = str(report).splitlines()
    assert lines[0].startswith("paint on ") and lines[-1].endswith("100.0%") and "pass fold" in report.times
    passes = [line for line in lines if line.startswith("pass ") or " other passes " in line]
    assert 1 <= len(passes) < 30 and all(" ms " in line for line in passes)
    assert lines.index(passes[-1]) < next(number for number, line in enumerate(lines) if line.startswith("emit "))


def test_kernels_without_effect_and_mistakes(target: str) -> None:
    @ti.kernel
    def nothing():
        pass

    assert nothing.report().wall > 0

    @ti.kernel
    def wrong(n: ti.i32):
        n.foo()

    with pytest.raises(ti.TaichiCompilationError):
        wrong.report(1)
