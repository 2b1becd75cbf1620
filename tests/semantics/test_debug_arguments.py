"""Checks in kernels whose arguments do not fit into push constants: they reach the buffer of records through a pointer."""

import numpy as np
import pytest

import shadesmith as ti

Large = ti.types.matrix(6, 6, ti.f32)


def test_an_access_is_checked_beside_many_arguments(target: str) -> None:
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.ERROR)

    @ti.kernel
    def store(a: Large, b: Large, i: ti.i32, x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        x[i] = a[1, 2] + b[3, 4]

    values = np.arange(36.0).reshape(6, 6)
    x = ti.ndarray(ti.f32, 3)
    store(Large(values.tolist()), Large(values.tolist()), 1, x)
    assert x.to_numpy().tolist() == [0, 8 + 22, 0]
    with pytest.raises(ti.TaichiAssertionError, match="x"):
        store(Large(values.tolist()), Large(values.tolist()), 3, x)
