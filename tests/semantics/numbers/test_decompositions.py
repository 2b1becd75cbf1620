"""`ti.svd`, `ti.polar_decompose`, `ti.eig`, `ti.sym_eig` and `ti.solve`: against NumPy, and Taichi's conventions."""

import numpy as np
import pytest
import small_matrices

import shadesmith as ti

COUNT = {"python": 60}
"""How many random matrices; the interpreter takes a sample."""

FUNCTIONS = ("svd", "polar_decompose", "sym_eig", "eig", "solve")


@pytest.mark.sampled(4)
@pytest.mark.parametrize("fast_math", [True, False], ids=["fast", "exact"])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_errors_are_within_the_limits(target: str, n: int, dtype: ti.types, fast_math: bool) -> None:
    ti.init(arch=getattr(ti, target), enable_fallback=False, fast_math=fast_math, log_level=ti.WARN)
    kernels = small_matrices.make_kernels(n, dtype)
    degenerate = small_matrices.degenerate_matrices(n, dtype)
    if target == "python":
        degenerate = degenerate[::3].copy()
    else:
        assert len(degenerate) >= 100
    for matrices, is_degenerate in (
        (small_matrices.random_matrices(n, COUNT.get(target, 10_000), dtype), False),
        (degenerate, True),
    ):
        for name in FUNCTIONS:
            if name != "eig" or n == 2:
                found = small_matrices.measure(name, kernels[name], matrices, is_degenerate)
                assert max(found.values()) <= small_matrices.LIMITS[dtype], (name, is_degenerate, found)


def run(function, matrix, dtype=ti.f64):
    """Return what a function gives for one matrix, as NumPy arrays."""
    n = len(matrix)
    out = ti.field(dtype, 3 * n * n * 4)
    shapes: list[tuple[int, ...]] = []

    def note(shape):
        shapes.append(shape)

    @ti.func
    def keep(result: ti.template(), position: ti.template()):
        for i in ti.static(range(result.n)):
            if ti.static(len(result.get_shape()) == 1):
                out[position + i] = result[i]
            else:
                for j in ti.static(range(result.m)):
                    out[position + i * result.m + j] = result[i, j]

    @ti.kernel
    def compute(a: ti.types.matrix(n, n, dtype)):
        results = function(a, dtype)
        for k in ti.static(range(len(results))):
            ti.static(note(results[k].get_shape()))
            keep(results[k], k * 4 * n * n)

    compute(ti.Matrix(matrix))
    found = out.to_numpy().reshape(3, -1)
    return [found[k, : int(np.prod(shape))].reshape(shape) for k, shape in enumerate(shapes)]


def test_svd_of_a_reflection_keeps_taichis_signs(target: str) -> None:
    u, s, v = run(ti.svd, [[1.0, 0.0], [0.0, -2.0]])
    assert np.diag(s).tolist() == [2.0, 1.0] and np.linalg.det(u) == -1 and np.linalg.det(v) == 1
    u, s, v = run(ti.svd, [[-1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    assert np.diag(s).tolist() == [3.0, 2.0, -1.0] and np.linalg.det(u) == 1 and np.linalg.det(v) == 1


def test_results_scale_exactly_with_powers_of_two(target: str) -> None:
    matrix = np.random.default_rng(5).standard_normal((3, 3))
    small, large = run(ti.svd, matrix), run(ti.svd, np.ldexp(matrix, 300))
    assert (small[0] == large[0]).all() and (small[2] == large[2]).all()
    assert (np.ldexp(small[1], 300) == large[1]).all()


def test_sym_eig_orders_as_taichi(target: str) -> None:
    assert run(ti.sym_eig, [[1.0, 0.0], [0.0, 2.0]])[0].tolist() == [2.0, 1.0]
    assert run(ti.sym_eig, np.diag([2.0, 3.0, 1.0]))[0].tolist() == [1.0, 2.0, 3.0]


def test_eig_has_taichis_format(target: str) -> None:
    values, vectors = run(ti.eig, [[3.0, -2.0], [4.0, -1.0]])
    assert np.allclose(values, [[1, 2], [1, -2]], rtol=1e-14)
    expected = [[0.40824829, 0.40824829], [0.40824829, -0.40824829], [0.81649658, 0.81649658], [0, 0]]
    assert np.allclose(vectors, expected, atol=1e-8)
    values, vectors = run(ti.eig, [[1.0, 2.0], [3.0, 4.0]])
    assert np.allclose(values, [[5.372281323269014, 0], [-0.3722813232690143, 0]], rtol=1e-14)
    expected = [[0.41597356, -0.82456484], [0, 0], [0.90937671, 0.56576746], [0, 0]]
    assert np.allclose(vectors, expected, atol=1e-8)


def test_eig_of_a_defective_matrix_gives_its_eigenvector_twice(target: str) -> None:
    values, vectors = run(ti.eig, [[1.0, 1.0], [0.0, 1.0]])
    assert values.tolist() == [[1, 0], [1, 0]] and np.abs(vectors).tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]


def test_polar_decomposition_of_a_reflection(target: str) -> None:
    u, p = run(ti.polar_decompose, [[0.0, 2.0], [1.0, 0.0]])
    assert u.tolist() == [[0, 1], [1, 0]] and p.tolist() == [[1, 0], [0, 2]]
    u, p = run(ti.polar_decompose, -np.eye(3))
    assert np.linalg.det(u) == 1 and np.allclose(np.sort(np.linalg.eigvalsh(p)), [-1, 1, 1])


def test_solve_takes_vectors_and_matrices(target: str) -> None:
    @ti.kernel
    def one(a: ti.math.mat3, b: ti.math.vec3) -> ti.math.vec3:
        return ti.solve(a, b)

    @ti.kernel
    def two(a: ti.math.mat2, b: ti.types.matrix(2, 3, float)) -> ti.types.matrix(2, 3, float):
        return ti.solve(a, b)

    @ti.kernel
    def four(a: ti.math.mat4, b: ti.math.vec4) -> ti.math.vec4:
        return ti.solve(a, b)

    random = np.random.default_rng(1)
    for kernel, n, shape in ((one, 3, (3,)), (two, 2, (2, 3)), (four, 4, (4,))):
        a, b = random.standard_normal((n, n)), random.standard_normal(shape)
        found = kernel(ti.Matrix(a), ti.Matrix(b) if len(shape) == 2 else ti.Vector(b)).to_numpy()
        assert np.allclose(found, np.linalg.solve(a, b), rtol=1e-4)


def test_solve_exchanges_rows(target: str) -> None:
    @ti.kernel
    def solve(a: ti.math.mat3, b: ti.math.vec3) -> ti.math.vec3:
        return ti.solve(a, b)

    a = [[0.0, 0.0, 2.0], [1.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
    assert solve(ti.Matrix(a), ti.Vector([2.0, 3.0, 8.0])).to_numpy().tolist() == [3, 2, 1]
    for singular in (np.zeros((3, 3)), np.ones((3, 3)), np.arange(9.0).reshape(3, 3)):
        assert np.isfinite(solve(ti.Matrix(singular), ti.Vector([1.0, -2.0, 3.0])).to_numpy()).all()


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
def test_subnormal_matrices_give_no_nan(target: str, dtype: ti.types) -> None:
    smallest = float(np.finfo(small_matrices.NUMPY[dtype]).smallest_subnormal)
    for function in (ti.svd, ti.polar_decompose, ti.sym_eig):
        for matrix in (np.full((3, 3), smallest), np.diag([smallest, 0, 0]), np.full((2, 2), smallest)):
            assert not any(np.isnan(result).any() for result in run(function, matrix, dtype))
    assert not any(np.isnan(result).any() for result in run(ti.eig, np.full((2, 2), smallest), dtype))


def test_type_of_the_result(target: str) -> None:
    """`dt`, else that of the matrix, else `default_fp`; literals of the functions do not widen it."""
    ti.init(arch=getattr(ti, target), enable_fallback=False, default_fp=ti.f64, log_level=ti.WARN)

    @ti.kernel
    def check(a: ti.types.matrix(2, 2, ti.f32), b: ti.types.matrix(2, 2, ti.i32)):
        for results in ti.static((ti.svd(a), ti.polar_decompose(a), ti.sym_eig(a), ti.eig(a))):
            for k in ti.static(range(len(results))):
                ti.static_assert(results[k].dtype == ti.f32)
        ti.static_assert(ti.svd(a, ti.f64)[1].dtype == ti.f64)
        ti.static_assert(ti.svd(b)[1].dtype == ti.f64)
        ti.static_assert(ti.solve(b, ti.Vector([1, 2])).dtype == ti.f64)

    check(ti.Matrix([[1.0, 2.0], [3.0, 4.0]]), ti.Matrix([[1, 2], [3, 4]]))


def test_a_call_at_the_top_of_a_kernel_is_serial(target: str) -> None:
    """Its loop is no loop over threads."""

    @ti.kernel
    def compute(a: ti.math.mat3) -> float:
        u, s, v = ti.svd(a)
        return (u @ s @ v.transpose() - a).norm()

    assert compute(ti.Matrix(np.random.default_rng(2).standard_normal((3, 3)))) < 1e-5


ERRORS = [
    ("ti.svd(ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))", "`ti.svd` takes matrices of 2x2 and 3x3, found 2x3"),
    ("ti.svd(ti.Vector([1.0, 2.0]))", "`ti.svd` takes matrices of 2x2 and 3x3, found a vector of 2 elements"),
    ("ti.eig(ti.Matrix.identity(float, 3))", "`ti.eig` takes matrices of 2x2, found 3x3"),
    ("ti.sym_eig(ti.Matrix.identity(float, 4))", "`ti.sym_eig` takes matrices of 2x2 and 3x3, found 4x4"),
    ("ti.polar_decompose(1.0)", "A vector or matrix is made from a list"),
    ("ti.svd(ti.Matrix.identity(float, 2), ti.i32)", "`dt` must be a floating-point type, found `i32`"),
    (
        "ti.solve(ti.Matrix.identity(float, 2), ti.Vector([1.0, 2.0, 3.0]))",
        "2 right-hand sides for 2 equations, found 3",
    ),
    ("ti.solve(ti.Matrix([[1.0, 2.0]]), ti.Vector([1.0]))", "takes a square matrix, found shape (1, 2)"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=[text for text, _ in ERRORS])
def test_wrong_shapes_are_refused_at_the_call(text: str, message: str, tmp_path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    file = tmp_path / "wrong.py"
    file.write_text(f"import shadesmith as ti\n\n@ti.kernel\ndef k():\n    x = {text}\n")
    space: dict = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    with pytest.raises(ti.TaichiCompilationError) as caught:
        space["k"]()
    assert message in str(caught.value) and "line 5, column 9" in str(caught.value)


def test_python_scope_refuses_as_taichi() -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="cannot be called from Python-scope"):
        ti.svd(ti.Matrix([[1.0, 2.0], [3.0, 4.0]]))
