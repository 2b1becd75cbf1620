"""What Taichi's pages on fields, ndarrays and NumPy arrays teach, as far as kernels meet them."""

import numpy as np
import pytest

import shadesmith as ti
import shadesmith.math as tm

# --- fields -----------------------------------------------------------------------------------------------------------


def test_a_field_without_axes_is_indexed_by_none(target: str) -> None:
    x = ti.field(ti.f32, shape=())

    @ti.kernel
    def change():
        x[None] = x[None] + 1.5

    x[None] = 1
    change()
    assert x[None] == 2.5 and x.shape == ()


def test_access_and_facts(target: str) -> None:
    x = ti.field(ti.i32, shape=(3, 4))
    x[1, 2] = 5
    x[2, 0] += 2
    assert x[1, 2] == 5 and x[2, 0] == 2 and x.shape == (3, 4) and x.dtype == ti.i32
    x.fill(7)
    assert (x.to_numpy() == 7).all()


def test_vector_and_matrix_fields(target: str) -> None:
    v = ti.Vector.field(n=3, dtype=ti.f32, shape=(2,))
    m = ti.Matrix.field(n=2, m=2, dtype=ti.i32, shape=())
    v[0] = [1, 2, 3]
    v[1][2] = 5
    v[1].x = 4
    m[None] = [[1, 2], [3, 4]]
    m[None][0, 1] = 9

    @ti.kernel
    def total() -> ti.f32:
        return v[0].sum() + v[1].z + v[1][0] * 10 + m[None][0, 1] * 100 + m[None].trace()

    assert total() == 6 + 5 + 40 + 900 + 5
    assert (v.n, m.n, m.m) == (3, 2, 2) and v[0].to_list() == [1, 2, 3]


def test_fill_of_vectors(target: str) -> None:
    v = ti.Vector.field(2, ti.f32, 3)
    v.fill(ti.Vector([1.0, 2.0]))

    @ti.kernel
    def change():
        for i in v:
            v[i].y += i
            v[i] *= 2

    change()
    assert v.to_numpy().tolist() == [[2, 4], [2, 6], [2, 8]]


def test_to_and_from_numpy(target: str) -> None:
    v = ti.Vector.field(2, ti.f32, (2, 3))
    values = np.arange(12, dtype=np.float32).reshape(2, 3, 2)
    v.from_numpy(values)
    copied = ti.Vector.field(2, ti.f32, (2, 3))
    copied.copy_from(v)
    assert np.array_equal(copied.to_numpy(), values)
    with pytest.raises(ValueError, match="shape"):
        v.from_numpy(values[:1])


def test_a_field_as_a_function_of_another(target: str) -> None:
    x, y = ti.field(ti.f32, 8), ti.field(ti.f32, 8)

    @ti.kernel
    def compute():
        for i in x:
            x[i] = i * 0.5
        for i in x:
            y[i] = x[7 - i] + x[i]

    compute()
    assert y.to_numpy().tolist() == [3.5] * 8


# --- ndarrays ---------------------------------------------------------------------------------------------------------


def test_ndarrays_begin_with_zero(target: str) -> None:
    a = ti.ndarray(dtype=ti.f64, shape=(4, 4))
    b = ti.ndarray(dtype=tm.vec3, shape=(2,))
    assert not a.to_numpy().any() and b.to_numpy().shape == (2, 3)
    assert a.shape == (4, 4) and b.element_shape == (3,) and a.dtype == ti.f64


def test_ndarrays_are_read_and_written_in_python(target: str) -> None:
    a = ti.ndarray(ti.i32, (2, 2))
    a[0, 1] = 5
    a.fill(3)
    a[1, 1] += 1
    copied = ti.ndarray(ti.i32, (2, 2))
    copied.copy_from(a)
    assert copied.to_numpy().tolist() == [[3, 3], [3, 4]] and copied[1, 1] == 4


def test_ndarrays_of_vectors(target: str) -> None:
    @ti.kernel
    def move(points: ti.types.ndarray(dtype=tm.vec2, ndim=1), by: tm.vec2):
        for i in points:
            points[i] += by * i
            points[i].x = -points[i].x

    points = ti.ndarray(tm.vec2, 3)
    move(points, tm.vec2(1, 2))
    assert points.to_numpy().tolist() == [[0, 0], [-1, 2], [-2, 4]]


def test_annotations_are_checked(target: str) -> None:
    @ti.kernel
    def take(a: ti.types.ndarray(dtype=ti.f32, ndim=2)):
        pass

    take(ti.ndarray(ti.f32, (2, 2)))
    for wrong in (ti.ndarray(ti.f32, 4), ti.ndarray(ti.i32, (2, 2)), ti.ndarray(tm.vec2, (2, 2))):
        with pytest.raises((ValueError, ti.TaichiRuntimeTypeError), match="a"):
            take(wrong)


def test_without_annotations_types_are_taken_as_they_come(target: str) -> None:
    @ti.kernel
    def double(a: ti.types.ndarray()):
        for I in ti.grouped(a):  # noqa: E741
            a[I] *= 2

    for dtype, shape in ((ti.i32, (3,)), (ti.f32, (2, 2)), (tm.vec3, (1, 2))):
        a = ti.ndarray(dtype, shape)
        a.fill(3)
        double(a)
        assert (a.to_numpy() == 6).all()
    assert len(double.instances()) == 3


def test_one_instance_for_arrays_of_one_type(target: str) -> None:
    @ti.kernel
    def fill(a: ti.types.ndarray(ndim=1)):
        for i in a:
            a[i] = i

    for n in (1, 7, 100):
        a = ti.ndarray(ti.f32, n)
        fill(a)
        assert a.to_numpy().tolist() == list(range(n))
    assert len(fill.instances()) == 1


def test_shapes_are_known_in_kernels(target: str) -> None:
    @ti.kernel
    def total(a: ti.types.ndarray(ndim=2)) -> ti.f32:
        found = 0.0
        for i, j in ti.ndrange(a.shape[0], a.shape[1]):
            found += a[i, j]
        n, m = a.shape
        return found * 100 + n * 10 + m

    assert total(np.ones((2, 3), np.float32)) == 623


# --- NumPy arrays -----------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::shadesmith.ShadesmithWarning")  # what is lost is what the test is about
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64", "float32", "float64"])
def test_numpy_arrays_are_changed_in_place(target: str, dtype: str) -> None:
    @ti.kernel
    def change(a: ti.types.ndarray()):
        for i, j in a:
            a[i, j] = a[i, j] * 2 + i

    a = np.arange(6, dtype=dtype).reshape(2, 3)
    change(a)
    assert a.tolist() == [[0, 2, 4], [7, 9, 11]]


def test_numpy_arrays_hold_vectors_and_matrices(target: str) -> None:
    @ti.kernel
    def norms(v: ti.types.ndarray(dtype=tm.vec3, ndim=1), m: ti.types.ndarray(dtype=tm.mat2, ndim=1)) -> ti.f32:
        found = 0.0
        for i in v:
            found += v[i].norm_sqr() + m[i].determinant()
        return found

    v, m = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([np.eye(2), 2 * np.eye(2)], np.float32)
    assert norms(v, m) == 55 + 1 + 4


def test_slices_of_numpy_arrays(target: str) -> None:
    @ti.kernel
    def fill(a: ti.types.ndarray()):
        for i in a:
            a[i] = 1

    a = np.zeros((3, 4), np.float32)
    fill(a[1])
    fill(a[:, 0])  # Taichi refuses gaps
    assert a.tolist() == [[1, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]]


def test_empty_arrays(target: str) -> None:
    @ti.kernel
    def count(a: ti.types.ndarray()) -> ti.i32:
        found = 0
        for _ in a:
            found += 1
        return found * 10 + a.shape[0]

    assert count(np.zeros(0, np.float32)) == 0


def test_types_that_kernels_lack_are_refused(target: str) -> None:
    @ti.kernel
    def take(a: ti.types.ndarray()):
        pass

    for wrong in (np.zeros(2, complex), np.array(["a"]), [1, 2, 3], 5):
        with pytest.raises((TypeError, ValueError, ti.TaichiRuntimeError)):
            take(wrong)
