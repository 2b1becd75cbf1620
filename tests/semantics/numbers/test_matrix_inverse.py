"""`inverse` and `determinant`: errors as NumPy's, which grow with the condition number and not with its square."""

import numpy as np
import pytest

import shadesmith as ti

NUMPY = {ti.f32: np.float32, ti.f64: np.float64}
ULPS = {"vulkan": 100}
COUNTS = {"python": 20}
"""Allowed error over the condition number, in units of rounding. Vulkan's fma() may round twice, and lavapipe's does."""


def matrices_with(spread: float, n: int, dtype: ti.types) -> np.ndarray:
    """Return 200 matrices with one singular value 1 and the others `spread`; for 1.0 random ones."""
    random = np.random.default_rng(n)
    left, right = (np.linalg.qr(random.standard_normal((200, n, n)))[0] for _ in range(2))
    found = (left * np.array([1.0] + [spread] * (n - 1))) @ right if spread < 1 else random.standard_normal((200, n, n))
    return found.astype(NUMPY[dtype])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-3])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
def test_errors_grow_with_the_condition_number(target: str, dtype: ti.types, n: int, spread: float) -> None:
    matrix = ti.types.matrix(n, n, dtype)

    @ti.kernel
    def compute(a: ti.types.ndarray(matrix), r: ti.types.ndarray(matrix), d: ti.types.ndarray(dtype)):
        for i in range(a.shape[0]):
            r[i] = a[i].inverse()
            d[i] = a[i].determinant()

    a = matrices_with(spread, n, dtype)[: COUNTS.get(target, 200)].copy()
    r, d = np.zeros_like(a), np.zeros(len(a), a.dtype)
    compute(a, r, d)
    ti.sync()
    wide = a.astype(np.float64)
    inverse, determinant = np.linalg.inv(wide), np.linalg.det(wide)
    allowed = ULPS.get(target, 4) * float(np.finfo(a.dtype).eps) * np.linalg.cond(wide)
    assert (np.abs(r - inverse).max((1, 2)) <= allowed * np.abs(inverse).max((1, 2))).all()
    assert (np.abs(d - determinant) <= allowed * np.abs(determinant)).all()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scale", [1e15, 1e11, 1.0, 1e-4, 1e-15])
def test_scale_does_not_matter(target: str, scale: float) -> None:
    @ti.kernel
    def inverse(a: ti.math.mat3) -> ti.math.mat3:
        return a.inverse()

    @ti.kernel
    def inverse_4(a: ti.math.mat4) -> ti.math.mat4:
        return a.inverse()

    for kernel, n in ((inverse, 3), (inverse_4, 4)):
        a = np.random.default_rng(3).standard_normal((n, n)) * scale
        assert np.allclose(kernel(ti.Matrix(a)).to_numpy() @ a, np.eye(n), atol=1e-5)


def test_usual_3x3_matrices_are_not_scaled() -> None:
    """No number waits for the largest of nine, nor for a division by it."""

    @ti.kernel
    def inverse(a: ti.math.mat3) -> ti.math.mat3:
        return a.inverse()

    ti.init(arch=ti.cpu)
    source = inverse.source(ti.Matrix(np.eye(3)))
    assert "largest = at_least_f32(fabsf(a.m[i][j]), largest);" in source
    assert "scale = largest > 1e-4f && largest < 1e12f ? 1.0f : 1.0f / largest;" in source


def test_rows_are_exchanged(target: str) -> None:
    @ti.kernel
    def compute(a: ti.math.mat4) -> (ti.math.mat4, float):
        return a.inverse(), a.determinant()

    a = np.eye(4)[[2, 0, 3, 1]] * [1.0, 2.0, 4.0, 8.0]
    inverse, determinant = compute(ti.Matrix(a))
    assert (inverse.to_numpy() == np.linalg.inv(a)).all() and determinant == round(np.linalg.det(a))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_singular_matrices(target: str, n: int) -> None:
    """The determinant is 0; the inverse holds no number, as 1 / 0 is none."""
    matrix = ti.types.matrix(n, n, float)

    @ti.kernel
    def compute(a: matrix) -> (matrix, float):
        return a.inverse(), a.determinant()

    for singular in (np.zeros((n, n)), np.ones((n, n))):
        inverse, determinant = compute(ti.Matrix(singular))
        assert determinant == 0 and not np.isfinite(inverse.to_numpy()).all()


def test_integer_determinants_are_exact(target: str) -> None:
    @ti.kernel
    def compute(a: ti.types.matrix(3, 3, int), b: ti.types.matrix(4, 4, int)) -> (int, int):
        return a.determinant(), b.determinant()

    a = [[12345, 3, -7], [2, -11, 5], [100, 7, 1]]
    b = [[1, 2, 3, 4], [5, 6, 7, 8], [2, 6, 4, 8], [3, 1, 1, 2]]
    assert compute(ti.Matrix(a), ti.Matrix(b)) == (round(np.linalg.det(a)), 72)


@pytest.mark.parametrize("name", ["inverse", "determinant", "trace"])
def test_shapes_that_are_not_square_are_refused(name: str, tmp_path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    file = tmp_path / "wrong.py"
    lines = ["import shadesmith as ti", "@ti.kernel", "def k(a: ti.types.matrix(2, 3, float)):", f"    x = a.{name}()"]
    file.write_text("\n".join(lines) + "\n")
    space: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    with pytest.raises(
        ti.TaichiTypeError, match=rf"`.{name}\(\)` takes a square matrix, found `matrix\(2, 3, f32\)`"
    ) as caught:
        space["k"](ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert "line 4, column 9" in str(caught.value)


def test_large_singular_matrices_have_the_determinant_0(target: str) -> None:
    """The product of the pivots before the zero overflows."""
    a, d = ti.Matrix.field(4, 4, ti.f32, 4), ti.field(ti.f32, 4)
    values = np.zeros((4, 4, 4), np.float32)
    for k in range(4):
        values[k] = np.diag([1e25] * 4)
        values[k, k, k] = 0.0
    a.from_numpy(values)

    @ti.kernel
    def measure():
        for i in a:
            d[i] = a[i].determinant()

    measure()
    assert d.to_numpy().tolist() == [0.0] * 4


def test_gcc_unrolls_the_elimination_of_4x4_matrices() -> None:
    """Then it makes lanes of vectors of the loop around: no loop is left in it, and no return before the end."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, b, d = ti.Matrix.field(4, 4, ti.f32, 16), ti.Matrix.field(4, 4, ti.f32, 16), ti.field(ti.f32, 16)

    @ti.kernel
    def invert():
        for i in a:
            b[i] = a[i].inverse()
            d[i] = a[i].determinant()

    source = invert.source(arch=ti.cpu)
    assert source.count("    #pragma GCC unroll 4\n    for (int k = 0; k < 4; k++) {\n") == 2
    function = source[source.index("mat4_determinant(") :]
    assert "        return" not in function[: function.index("\n}")]
