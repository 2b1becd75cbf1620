"""Pass `expand_vectors`: a short operation on vectors is written out where it saves a function, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

N = 5


def kernel_of(arch, **options):
    """Return a kernel that converts one vector, and adds vectors often; its results as a list."""
    ti.init(arch=arch, log_level=ti.ERROR, **options)
    x, base, sums = ti.Vector.field(3, ti.f32, N), ti.Vector.field(3, ti.i32, N), ti.Vector.field(3, ti.f32, N)

    @ti.kernel
    def convert():
        for i in x:
            base[i] = int(x[i] - 0.5)
            a = x[i] + sums[i]
            b = a + x[i]
            sums[i] = (a + b) + x[i]

    def results():
        x.from_numpy(np.linspace(-9.7, 9.9, 3 * N, dtype=np.float32).reshape(N, 3))
        convert()
        return [base.to_numpy().tolist(), sums.to_numpy().tolist()]

    return convert, results


def test_a_function_that_is_used_once_is_written_out() -> None:
    text = kernel_of(ti.python)[0].source(arch=ti.cuda)
    assert "base(i) = {(int)(x_i.x - 0.5f), (int)(x_i.y - 0.5f), (int)(x_i.z - 0.5f)};" in text
    assert "ivec3_from" not in text and "operator-" not in text
    assert "operator+(vec3 a, vec3 b)" in text and "vec3 b = a + x_i;" in text, "one that is used often stays"
    whole = kernel_of(ti.python, passes="-expand_vectors")[0].source(arch=ti.cuda)
    assert "ivec3_from" in whole and "operator-" in whole


def test_languages_with_vectors_keep_them() -> None:
    assert "base(i) = ivec3(x_i - 0.5);" in kernel_of(ti.python)[0].source(arch=ti.vulkan)


@pytest.mark.one_target
def test_results_have_the_same_bits(target: str) -> None:
    found = [kernel_of(getattr(ti, target), passes=passes)[1]() for passes in ("", "-expand_vectors")]
    assert found[0] == found[1]
    assert found[0][0][0] == [-10, -8, -7], "towards 0"


def test_long_and_narrow_vectors_stay() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    wide, small = ti.Vector.field(6, ti.f32, N), ti.Vector.field(2, ti.i8, N)

    @ti.kernel
    def negate():
        for i in wide:
            wide[i] = 1.0 - wide[i]
            small[i] = small[i] - ti.cast(1, ti.i8)

    text = negate.source(arch=ti.cuda)
    assert "wide(i) = 1.0f - wide(i);" in text and "small(i) -= 1;" in text
