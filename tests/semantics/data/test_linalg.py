"""`ti.linalg`: builders, sparse matrices and solvers against NumPy and SciPy; those that need no SciPy run without it."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.linalg.iterations import conjugate_gradients

needs_scipy = pytest.mark.skipif(importlib.util.find_spec("scipy") is None, reason="no SciPy is installed")


@ti.kernel
def assemble(A: ti.types.sparse_matrix_builder(), n: ti.i32):
    for i in range(n):
        A[i, i] += 3.0
        A[i, i] += 1
        if i + 1 < n:
            A[i, i + 1] -= 1.0 + 0 * i
            A[i + 1, i] += -1.0


def laplacian(n: int) -> np.ndarray:
    return 4 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)


def built(n: int, dtype: Any = ti.f32) -> Any:
    builder = ti.linalg.SparseMatrixBuilder(n, n, max_num_triplets=4 * n, dtype=dtype)
    assemble(builder, n)
    return builder.build()


def test_a_builder_counts_and_prints_its_triplets(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    builder = ti.linalg.SparseMatrixBuilder(2, 3, max_num_triplets=3)

    @ti.kernel
    def fill(A: ti.types.sparse_matrix_builder(), n: ti.i32):
        ti.loop_config(serialize=True)
        for i in range(n):
            A[i, i + 1] += 1.5 * i

    fill(builder, 2)
    builder.print_triplets()
    assert capsys.readouterr().out == "n=2, m=3, num_triplets=2 (max=3)\n[0, 1] = 0\n[1, 2] = 1.5\n"
    fill(builder, 2)
    with pytest.raises(ti.TaichiRuntimeError, match=r"4 triplets were appended.*max_num_triplets=4"):
        builder.print_triplets()


def test_other_changes_of_a_builder_are_refused() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    builder = ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=3)

    @ti.kernel
    def scale(A: ti.types.sparse_matrix_builder()):
        A[0, 0] *= 2.0

    with pytest.raises(ti.TaichiSyntaxError, match="entries by row and column"):
        scale(builder)


@needs_scipy
def test_matrices_compute_as_numpy(target: str) -> None:
    n = 5
    a, dense = built(n), laplacian(n)
    b = ti.linalg.SparseMatrix(n, n)
    triplets = ti.Vector.ndarray(3, ti.f32, 2)
    triplets.from_numpy(np.array([[0, 1, 2.5], [4, 0, -1]], np.float32))
    b.build_from_ndarray(triplets)
    other = b.to_scipy().toarray()
    assert other[0, 1] == 2.5 and other[4, 0] == -1 and np.count_nonzero(other) == 2
    assert a.shape == (n, n) and a[1, 1] == 4 and a[0, 1] == -1
    for found, expected in (
        (a + b, dense + other), (a - b, dense - other), (a * 2.0, dense * 2), (3.0 * a, dense * 3), (a * b, dense * other),
        (a @ b, dense @ other), (b.transpose(), other.T),
    ):  # fmt: skip
        assert np.allclose(found.to_scipy().toarray(), expected)
    a += b
    a[2, 0] = 7
    dense += other
    dense[2, 0] = 7
    x = np.arange(n, dtype=np.float32)
    field, array = ti.field(ti.f32, n), ti.ndarray(ti.f32, n)
    field.from_numpy(x)
    array.from_numpy(x)
    assert np.allclose(a @ x, dense @ x) and np.allclose(a @ field, dense @ x)
    assert np.allclose((a @ array).to_numpy(), dense @ x)
    for values, text in (([[1, -2.5], [0, 10]], "[   1, -2.5]\n[   0,   10]"), ([[1, 0], [0, 2]], "[1, 0]\n[0, 2]"),
                         ([[1 / 3, 0], [0, 123456789]], "[   0.3333,         0]\n[        0, 1.235e+08]")):  # fmt: skip
        assert str(ti.linalg.SparseMatrix(sm=np.array(values))) == text  # as Taichi prints them
    with pytest.raises(ti.TaichiRuntimeError, match="Dimension mismatch"):
        a @ np.ones(n + 1)
    with pytest.raises(ti.TaichiRuntimeError, match="row 9 of a triplet is outside"):
        triplets.from_numpy(np.array([[9, 1, 2.5], [4, 0, -1]], np.float32))
        b.build_from_ndarray(triplets)


@needs_scipy
@pytest.mark.parametrize("kind", ["LLT", "LDLT", "LU"])
def test_solvers(target: str, kind: str) -> None:
    n = 12
    for dtype, tolerance in ((ti.f32, 1e-6), (ti.f64, 1e-12)):
        a, solver = built(n, dtype), ti.linalg.SparseSolver(dtype, kind, "COLAMD" if kind == "LU" else "AMD")
        b = np.linspace(-1, 1, n).astype(dtype.numpy)
        solver.compute(a)
        assert solver.info()
        x = solver.solve(b)
        assert x.dtype == dtype.numpy and np.abs(laplacian(n) @ x - b).max() < tolerance
        vector = ti.ndarray(dtype, n)
        vector.from_numpy(b)
        assert np.allclose(solver.solve(vector).to_numpy(), x, rtol=1e-6 if dtype == ti.f32 else 1e-13)
        found, reached = ti.linalg.SparseCG(a, b, max_iter=200, atol=tolerance).solve()
        assert reached and np.abs(found - x).max() < 10 * tolerance
    singular = ti.linalg.SparseMatrix(sm=np.zeros((2, 2)), dtype=ti.f64)
    solver.compute(singular)
    assert not solver.info()
    with pytest.raises(ti.TaichiRuntimeError, match="singular|positive definite"):
        solver.solve(np.ones(2))


@needs_scipy
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
@pytest.mark.all_targets
def test_vectors_in_memory_of_the_device(target: str, dtype: Any) -> None:
    """On CUDA products and conjugate gradients stay there: cuSPARSE computes them by CuPy. Solutions come back there."""
    n, near = 40, 1e-5 if dtype == ti.f32 else 1e-11
    a, dense, b = built(n, dtype), laplacian(n), ti.ndarray(dtype, n)
    b.from_numpy(np.linspace(-1, 1, n).astype(dtype.numpy))
    start, solver = ti.ndarray(dtype, n), ti.linalg.SparseSolver(dtype, "LU")
    start.fill(0.25)
    solver.compute(a)
    for _ in range(2):
        product = a @ b
        assert isinstance(product, ti.Ndarray) and np.allclose(product.to_numpy(), dense @ b.to_numpy(), atol=near)
        x = solver.solve(b)
        assert isinstance(x, ti.Ndarray) and np.allclose(dense @ x.to_numpy(), b.to_numpy(), atol=near)
        for x0 in (None, start):
            found, reached = ti.linalg.SparseCG(a, b, x0, max_iter=400, atol=near / 100).solve()
            assert reached and isinstance(found, ti.Ndarray) is (target == "cuda")
            found = found.to_numpy() if target == "cuda" else found
            assert np.allclose(found, x.to_numpy(), atol=near)
        assert not ti.linalg.SparseCG(a, b, max_iter=1, atol=near).solve()[1]
        a, dense = a * 2.0, 2 * dense  # the copy on the device belongs to the old matrix
        solver.compute(a)


@needs_scipy
@pytest.mark.parametrize("n", [64, pytest.param(512, marks=pytest.mark.exhaustive)])
@pytest.mark.parametrize("kind", ["LLT", "LDLT", "LU", "CG"])
def test_poissons_equation(n: int, kind: str) -> None:
    """-laplace(u) = 1 in the unit square: A x = h * h. What is left of it is less than 1e-6 (f32) and 1e-12 (f64).

    As a part of b's length more is left by rounding x to its type, which is known for the x of long doubles.
    """
    ti.init(arch=ti.cpu, log_level=ti.ERROR)

    @ti.kernel
    def fill(A: ti.types.sparse_matrix_builder(), n: ti.i32):
        for i, j in ti.ndrange(n, n):
            row = i * n + j
            A[row, row] += 4.0
            for a, b in ti.static(((-1, 0), (1, 0), (0, -1), (0, 1))):
                if 0 <= i + a < n and 0 <= j + b < n:
                    A[row, row + a * n + b] += -1.0

    def rest_of(x: Any, b: float) -> Any:
        grid = np.pad(np.asarray(x, np.longdouble).reshape(n, n), 1)
        return 4 * grid[1:-1, 1:-1] - grid[:-2, 1:-1] - grid[2:, 1:-1] - grid[1:-1, :-2] - grid[1:-1, 2:] - b

    for dtype, tolerance, rounding in ((ti.f32, 1e-6, 1e-7), (ti.f64, 1e-12, 2e-16)):
        builder = ti.linalg.SparseMatrixBuilder(n * n, n * n, max_num_triplets=5 * n * n, dtype=dtype)
        fill(builder, n)
        matrix, b = builder.build(dtype=dtype), np.full(n * n, 1 / (n + 1) ** 2, dtype.numpy)
        wide = b.astype(np.float64)
        if kind == "CG":
            (x, reached), (in_f64, _) = (
                ti.linalg.SparseCG(matrix, right, max_iter=20 * n, atol=tolerance).solve() for right in (b, wide)
            )
            assert reached
        else:
            solver = ti.linalg.SparseSolver(dtype, kind)
            solver.compute(matrix)
            x, in_f64 = solver.solve(b), solver.solve(wide)
        if dtype == ti.f32:  # the matrix is; the solution is in f64 as the right-hand side is
            assert in_f64.dtype == np.float64
            assert np.linalg.norm(rest_of(in_f64, wide[0])) < tolerance * np.linalg.norm(wide)
        rest = rest_of(x, b[0])
        assert x.dtype == dtype.numpy and np.abs(rest).max() < tolerance
        # of 8 |x| an element has half a unit in the last place; sums of many steps drift from their residual
        limit, drift = (tolerance * b[0], 10) if kind == "CG" else (0, 1)
        assert np.linalg.norm(rest) / n < limit + drift * rounding * 8 * np.abs(x).max()


@needs_scipy
@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e45])
def test_iterations_in_f32_reach_residuals_of_f64(scale: float) -> None:
    """The f32 matrix is wrong by a thousandth of itself, or its condition is 1e7, where f64 takes 9,600 iterations."""
    from scipy import sparse

    rng = np.random.default_rng(3)
    n = 200
    dense = laplacian(n) + np.diag(np.linspace(0, 3, n))
    hard = np.diag(np.logspace(0, 7, n)) + 0.1 * np.diag(np.ones(n - 1), 1) + 0.1 * np.diag(np.ones(n - 1), -1)
    for matrix, error in ((dense, 0.0), (dense, 1e-3), (hard, 0.0)):
        wide = sparse.csr_array(matrix)
        narrow = sparse.csr_array(matrix * (1 + error * rng.random())).astype(np.float32)
        b = scale * rng.normal(size=n)
        x, is_reached = conjugate_gradients(wide, narrow, b, np.zeros(n), 1e-10, 12_000, np.dot)
        assert is_reached and np.linalg.norm(matrix @ x - b) <= 1.01e-10 * np.linalg.norm(b)


@needs_scipy
def test_matrices_and_vectors_of_any_kind_are_solved_on_the_host_or_the_device(target: str) -> None:
    """Several right-hand sides, no element but zeros, a start that is the solution, no step that is possible."""
    dense = np.array([[4.0, 1.0], [1.0, 3.0]])
    a, solver = ti.linalg.SparseMatrix(sm=dense, dtype=ti.f64), ti.linalg.SparseSolver(ti.f64, "LU")
    solver.compute(a)
    a[0, 0] = 8.0  # the factors are those of the matrix before
    right = ti.ndarray(ti.f64, (2, 3))
    right.from_numpy(np.arange(6.0).reshape(2, 3))
    assert np.allclose(dense @ solver.solve(right).to_numpy(), right.to_numpy(), atol=1e-14)
    assert np.allclose((a @ right).to_numpy(), (dense + np.diag([4, 0])) @ right.to_numpy())
    b = ti.ndarray(ti.f64, 2)
    b.from_numpy(np.array([9.0, 4.0]))
    exact = solver.solve(b)
    assert np.abs(dense @ exact.to_numpy() - b.to_numpy()).max() < 1e-14
    zeros = ti.linalg.SparseMatrix(2, 2, dtype=ti.f64)
    assert not (zeros @ b).to_numpy().any()
    solution = ti.ndarray(ti.f64, 2)
    solution.fill(1)
    for matrix, x0, steps, expected in (
        (ti.linalg.SparseMatrix(sm=np.diag([9.0, 4.0]), dtype=ti.f64), solution, 5, True),
        (ti.linalg.SparseMatrix(sm=np.eye(2), dtype=ti.f64), None, 0, False),
        (ti.linalg.SparseMatrix(sm=np.array([[0.0, 4.0], [-4.0, 0.0]]), dtype=ti.f64), None, 5, False),
    ):  # fmt: skip
        x, reached = ti.linalg.SparseCG(matrix, b, x0, max_iter=steps, atol=1e-12).solve()
        x = x if isinstance(x, np.ndarray) else x.to_numpy()
        assert reached is expected and np.isfinite(x).all()


@needs_scipy
def test_llt_tells_what_is_not_positive_definite() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    solver = ti.linalg.SparseSolver(ti.f32, "LLT")
    solver.compute(ti.linalg.SparseMatrix(sm=np.diag([1.0, -1.0])))
    assert not solver.info()
    with pytest.raises(ti.TaichiRuntimeError, match="not consistent with the SparseMatrix's dtype f64"):
        solver.compute(ti.linalg.SparseMatrix(sm=np.eye(2), dtype=ti.f64))
    with pytest.raises(ti.TaichiRuntimeError, match="The solver type QR with AMD"):
        ti.linalg.SparseSolver(ti.f32, "QR")


@pytest.mark.parametrize("solver", ["MatrixFreeCG", "MatrixFreeBICGSTAB"])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_solvers_without_a_matrix(target: str, solver: str) -> None:
    shape = (6, 4) if target != "python" else (3, 2)
    b, x, back = (ti.field(ti.f32, shape) for _ in range(3))
    skew = 0.0 if solver == "MatrixFreeCG" else 0.5

    @ti.kernel
    def multiply(v: ti.template(), out: ti.template()):
        for i, j in v:
            left = v[i - 1, j] if i > 0 else 0.0
            right = v[i + 1, j] if i + 1 < v.shape[0] else 0.0
            below = v[i, j - 1] if j > 0 else 0.0
            above = v[i, j + 1] if j + 1 < v.shape[1] else 0.0
            out[i, j] = 4.0 * v[i, j] - left * (1 + skew) - right * (1 - skew) - below - above

    operator = ti.linalg.LinearOperator(multiply)
    b.from_numpy(np.random.default_rng(1).random(shape).astype(np.float32))
    assert getattr(ti.linalg, solver)(operator, b, x, tol=1e-5, maxiter=200)
    multiply(x, back)
    assert np.abs(back.to_numpy() - b.to_numpy()).max() < 1e-4
    assert not getattr(ti.linalg, solver)(operator, b, ti.field(ti.f32, shape), tol=1e-6, maxiter=1)
    with pytest.raises(ti.TaichiTypeError, match="Dtype mismatch"):
        getattr(ti.linalg, solver)(operator, b, ti.field(ti.i32, shape))


def test_without_scipy_a_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    ti.init(arch=ti.python, log_level=ti.ERROR)
    monkeypatch.setitem(sys.modules, "scipy.io", None)
    with pytest.raises(ImportError, match="pip install scipy"):
        ti.linalg.SparseMatrix(2, 2)


def test_entries_of_a_builder_cannot_be_assigned_and_functions_may_add_them(target: str) -> None:
    builder = ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=4)

    @ti.func
    def put(A: ti.template(), i, value):
        A[i, i] += value

    @ti.kernel
    def fill(A: ti.types.sparse_matrix_builder(), value: ti.f32):
        for i in range(2):
            put(A, i, value)

    fill(builder, 2.5)
    assert sorted(zip(*(x.tolist() for x in builder._triplets()))) == [(0, 0, 2.5), (1, 1, 2.5)]

    @ti.kernel
    def store(A: ti.types.sparse_matrix_builder()):
        A[0, 0] = 1.0

    with pytest.raises(ti.TaichiTypeError, match="`A` has no elements to read or assign"):
        store(builder)
