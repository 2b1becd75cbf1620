"""Large matrices, constructors and operators of vectors where Taichi 1.7.4 has nothing to compare with."""

import numpy as np
import pytest

import shadesmith as ti


def test_select_of_scalars_by_vectors_keeps_types_apart(target: str) -> None:
    @ti.kernel
    def compute(v: ti.math.vec3) -> (ti.math.vec3, ti.math.ivec3):
        return ti.select(v > 0, 1.5, 0.0), ti.select(v > 0, 2, 0)

    floats, integers = compute(ti.Vector([1.0, -1.0, 2.0]))
    assert floats.to_list() == [1.5, 0, 1.5] and integers.to_list() == [2, 0, 2]


@pytest.mark.targets("cpu", "cuda", "python")
def test_matrices_of_16_rows(target: str, full: bool) -> None:
    """Taichi unrolls them, and warns; here they are structs that loops run over.

    Mesa's compiler takes 13 s for the sum of 16 rows on lavapipe, and 2 for 12, which are more than 32 elements, too.
    """
    rows = 12 if target == "vulkan" and not full else 16
    matrix = ti.types.matrix(rows, rows, ti.f32)
    field = ti.Matrix.field(rows, rows, ti.f32, shape=2)

    @ti.kernel
    def compute(a: matrix, i: int, j: int) -> float:
        for k in field:
            field[k] = a @ a.transpose() + k
        b = matrix(1.0)
        b[i, j] = a[j, i] * 2.0
        return b.sum() + (a * b).max()

    a = np.random.default_rng(1).random((rows, rows), np.float32)
    b = np.ones((rows, rows), np.float32)
    b[3, 5] = a[5, 3] * 2
    assert compute(ti.Matrix(a), 3, 5) == pytest.approx(b.sum() + (a * b).max(), rel=1e-5)
    assert np.allclose(field.to_numpy(), [a @ a.T, a @ a.T + 1], rtol=1e-5)


def test_vector_of_100_elements_by_run_time_index(target: str) -> None:
    @ti.kernel
    def compute(n: int) -> float:
        v = ti.Vector([0.0] * 100)
        for _ in range(1):
            for i in range(n):
                v[i] = i * 2.0
        return v.sum()

    assert compute(100) == 9900


@pytest.mark.parametrize("n", [1, 2, 5])
def test_rows_and_columns_of_one(target: str, n: int) -> None:
    vector = ti.types.vector(n, float)

    @ti.kernel
    def compute(v: vector) -> (ti.types.matrix(1, n, float), ti.types.matrix(n, 1, float)):
        return ti.Matrix.rows([v]), ti.Matrix.cols([v])

    rows, columns = compute(vector(*range(n)))
    assert rows.to_list() == [list(range(n))] and columns.to_list() == [[k] for k in range(n)]
