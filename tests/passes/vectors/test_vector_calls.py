"""Pass `vector_calls`: functions are inlined in loops of C that become vectors then; results do not change."""

from __future__ import annotations

import numpy as np
import pytest
from written_programs import write

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

N = 1003
INLINED = "always_inline)) float flux("
SOURCE = """
import shadesmith as ti
@ti.func
def flux(a, b):
    f = a * b
    if a > 0 and b < a:
        c = (a - b) / (a * a + 1)
        f += c * c + a * (c + b) - b * (c - a) + abs(c)
    elif b > 1:
        f = f - a * ti.sqrt(b) + (b - a) * (b + a) * a
    {use}
    return f
@ti.kernel
def fluxes(u: ti.types.ndarray(ti.f32, 1), v: ti.types.ndarray(ti.f32, 1), k: ti.types.ndarray(ti.i32, 1)):
    for i in range(1, u.shape[0] - 1):
        {store} = flux(u[i - 1], u[i]) - flux(u[i], u[i + 1])
"""


def made(path, use: str = "f += 1", store: str = "v[i]"):
    return write(path, SOURCE.replace("{use}", use).replace("{store}", store)).fluxes


def arrays(n: int = N) -> list:
    random = np.random.default_rng(n)
    u = (2 * random.standard_normal(n)).astype(np.float32)
    if n > 20:
        u[random.integers(0, n, 9)] = np.nan
        u[random.integers(0, n, 9)] = np.inf
    return [u, np.zeros(n, np.float32), random.permutation(n).astype(np.int32)]


@pytest.mark.parametrize("n", [2, 3, 17, N])
def test_results(tmp_path, n: int) -> None:
    results = []
    for arch in (ti.cpu, ti.python):
        ti.init(arch=arch, log_level=ti.ERROR, enable_fallback=False)
        values = arrays(n)
        made(tmp_path / f"{arch}.py")(*values)
        results.append(values[1])
    assert np.allclose(*results, rtol=1e-4, atol=1e-4, equal_nan=True)


def test_both_calls_are_inlined(tmp_path) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    assert INLINED in made(tmp_path / "inlined.py").source(*arrays())


@pytest.mark.parametrize(
    ("use", "store"),
    [
        ("f += 1", "v[k[i]]"),
        ("f += ti.sin(f)", "v[i]"),
        ("f += ti.random()", "v[i]"),
        ("for _ in range(int(f)): f += 1", "v[i]"),
    ],
)
def test_loops_without_vectors_call_as_gcc_likes(tmp_path, use: str, store: str) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    assert INLINED not in made(tmp_path / "plain.py", use, store).source(*arrays())
