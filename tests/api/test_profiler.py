"""`ti.profiler`: times of kernels."""

from __future__ import annotations

import pytest

import shadesmith as ti


def test_times_of_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    ti.init(arch=ti.python, kernel_profiler=True, log_level=ti.ERROR)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def fill(a: ti.f32) -> ti.f32:
        for i in x:
            x[i] = a
        return a

    assert [fill(k) for k in range(3)] == [0, 1, 2]
    found = ti.profiler.query_kernel_profiler_info("fill")
    assert found.counter == 3 and 0 < found.min <= found.avg <= found.max
    assert ti.profiler.get_kernel_profiler_total_time() == pytest.approx(3 * found.avg / 1e3)
    ti.profiler.print_kernel_profiler_info()
    ti.profiler.print_kernel_profiler_info("trace")
    printed = capsys.readouterr().out
    assert "Kernel Profiler(count, default)" in printed and "3x |" in printed and "Number of records:   3" in printed
    ti.profiler.clear_kernel_profiler_info()
    assert ti.profiler.query_kernel_profiler_info("fill").counter == 0
    ti.profiler.print_kernel_profiler_info()
    with pytest.raises(ValueError, match="'count' or 'trace'"):
        ti.profiler.print_kernel_profiler_info("other")
    assert ti.profiler.set_kernel_profiler_toolkit("default") and not ti.profiler.set_kernel_profiler_toolkit("cupti")
    assert len(ti.profiler.get_predefined_cupti_metrics("global_access")) > 0
    with ti.profiler.collect_kernel_profiler_metrics():
        fill(1)
    assert ti.profiler.query_kernel_profiler_info("fill").counter == 1
    ti.profiler.clear_scoped_profiler_info()
    ti.profiler.print_scoped_profiler_info()


def test_without_the_option_there_are_no_times() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    with pytest.warns(ti.ShadesmithWarning, match="kernel_profiler=True"):
        assert ti.profiler.query_kernel_profiler_info("fill") is None
