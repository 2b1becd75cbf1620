"""Pass `wide_counters`: loops of C over neighbours in one axis count by 64 bits; results do not change."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

N = 200
WIDE = "for (long long i = "


@ti.kernel
def window(x: ti.template(), y: ti.template()):
    for i in range(4, N - 4):
        s = 0.0
        for k in ti.static(range(9)):
            s += x[i + k - 4]
        y[i] = s


@ti.kernel
def filtered(x: ti.template(), y: ti.template()):
    for i in range(2, N - 2):
        s = 0.0
        for k in range(-2, 3):
            s += x[i - k] * x[k + 2]
        y[i] = s


@ti.kernel
def clamped(x: ti.template(), y: ti.template()):
    for i in y:
        s = 0.0
        for k in ti.static(range(5)):
            s += x[ti.min(ti.max(i + k - 2, 0), N - 1)]
        y[i] = s


@ti.kernel
def differences(x: ti.template(), y: ti.template()):
    for i in range(1, N - 1):
        y[i - 1] = x[i + 1] - x[i]


KERNELS = [window, filtered, clamped, differences]


def start(arch=ti.cpu, **options) -> list:
    ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False, **options)
    x, y = ti.field(ti.f32, N), ti.field(ti.f32, N)
    x.from_numpy(np.random.default_rng(0).integers(-9, 9, N).astype(np.float32))
    return [x, y]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_results(target: str, kernel) -> None:
    results = []
    for arch in (getattr(ti, target), ti.python):
        fields = start(arch)
        kernel(*fields)
        results.append(fields[1].to_numpy())
    assert np.array_equal(*results)


@pytest.mark.parametrize("kernel", [window, filtered, differences], ids=lambda kernel: kernel.__name__)
def test_they_count_by_64_bits(kernel):
    assert WIDE in kernel.source(*start())


@pytest.mark.parametrize(
    "use", ["x[i] = i", "x[i * 2 % 9] = 1", "y[i] = x[i + 1] * i", "x[i - 100000] = 1", "x[n - i] = 1"]
)
def test_other_uses_have_32_bits(use, tmp_path, monkeypatch):
    (tmp_path / "counters_of_test.py").write_text(
        "import shadesmith as ti\n@ti.kernel\ndef count(x: ti.template(), y: ti.template(), n: ti.i32):\n"
        f"    for i in range(1, 90):\n        y[i] = x[i - 1]\n        {use}\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.reload(importlib.import_module("counters_of_test"))
    assert WIDE not in module.count.source(*start(), 100)


def test_an_index_that_is_only_that_of_elements_has_32_bits():
    @ti.kernel
    def double(x: ti.template(), y: ti.template()):
        for i in x:
            y[i] = 2 * x[i]

    assert WIDE not in double.source(*start())


def test_gpus_have_none():
    assert "long long" not in window.source(*start(ti.python), arch=ti.cuda)
