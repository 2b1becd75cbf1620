"""What Taichi's page on types teaches: default types, promotion, casts, vectors and matrices as types."""

import numpy as np
import pytest

import shadesmith as ti

vec3i = ti.types.vector(3, ti.i32)
vec4d = ti.types.vector(4, ti.f64)
mat43i = ti.types.matrix(4, 3, int)


def start_with(target: str, **options: object) -> None:
    """Begin a session on the same target with other options."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, **options)


# --- default types ----------------------------------------------------------------------------------------------------


def test_literals_have_the_default_types(target: str) -> None:
    @ti.kernel
    def ask() -> ti.i32:
        integer, real, flag = 1, 1.0, True
        ti.static_assert(integer.dtype == ti.i32)
        ti.static_assert(real.dtype == ti.f32)
        ti.static_assert(flag.dtype == ti.u1)
        return 1

    assert ask() == 1


@pytest.mark.parametrize("default", [ti.i32, ti.i64], ids=str)
def test_default_ip(target: str, default: object) -> None:
    start_with(target, default_ip=default)

    @ti.kernel
    def big(n: int) -> int:
        return n * 1_000_000 * 1_000_000

    expected = 10**12 if default is ti.i64 else int(np.int64(10**12).astype(np.int32))
    assert big(1) == expected


@pytest.mark.parametrize("default", [ti.f32, ti.f64], ids=str)
def test_default_fp(target: str, default: object) -> None:
    start_with(target, default_fp=default)

    @ti.kernel
    def third(x: float) -> float:
        return x / 3.0

    found = third(1.0)
    assert found == pytest.approx(1 / 3, rel=1e-15 if default is ti.f64 else 1e-6)
    assert (found == float(np.float32(found))) == (default is ti.f32)


def test_int_and_float_in_kernels_are_the_default_types(target: str) -> None:
    start_with(target, default_ip=ti.i64, default_fp=ti.f64)

    @ti.kernel
    def ask(x: ti.f32) -> ti.i32:
        whole, real = int(x), float(x)
        ti.static_assert(whole.dtype == ti.i64)
        ti.static_assert(real.dtype == ti.f64)
        return 1

    assert ask(1.0) == 1


def test_fields_of_int_and_float(target: str) -> None:
    start_with(target, default_fp=ti.f64)
    assert ti.field(float, ()).dtype == ti.f64 and ti.field(int, ()).dtype == ti.i32


def test_a_literal_beyond_the_default_type_is_refused(target: str) -> None:
    @ti.kernel
    def store() -> ti.i64:
        return 10_000_000_000

    with pytest.raises(ti.TaichiTypeError, match="exceeded the range of default_ip"):
        store()


def test_a_wide_type_takes_a_wide_literal(target: str) -> None:
    @ti.kernel
    def store() -> ti.i64:
        return ti.i64(10_000_000_000)

    assert store() == 10_000_000_000


# --- implicit casts ---------------------------------------------------------------------------------------------------

PROMOTIONS = [
    ("i32", "f32", "f32"), ("i64", "f32", "f32"), ("u8", "f64", "f64"), ("i8", "i32", "i32"), ("i32", "i64", "i64"),
    ("f32", "f64", "f64"), ("u8", "u32", "u32"), ("i32", "u32", "u32"), ("u8", "i8", "u8"), ("u8", "i16", "i16"),
    ("i64", "u64", "u64"), ("u1", "i32", "i32"), ("u1", "f32", "f32"), ("u32", "i64", "i64"),
]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "result"), PROMOTIONS)
def test_operands_are_promoted(target: str, left: str, right: str, result: str) -> None:
    a, b, c = (getattr(ti, name) for name in (left, right, result))

    @ti.kernel
    def ask() -> ti.i32:
        ti.static_assert((ti.cast(1, a) + ti.cast(1, b)).dtype == c)
        ti.static_assert((ti.cast(1, b) * ti.cast(1, a)).dtype == c)
        return 1

    assert ask() == 1


def test_a_comparison_is_a_u1(target: str) -> None:
    @ti.kernel
    def ask(x: ti.f32) -> ti.i32:
        ti.static_assert((x < 1).dtype == ti.u1)
        return (x < 1) * 4 + (x == 0.5) * 2 + (x != 0.5)

    assert ask(0.5) == 6


def test_shifts_keep_the_left_type(target: str) -> None:
    @ti.kernel
    def ask(n: ti.u8, by: ti.i64) -> ti.i32:
        ti.static_assert((n << by).dtype == ti.u8)
        return ti.cast(n << by, ti.i32)

    assert ask(129, 1) == 2


def test_a_variable_keeps_the_type_of_its_first_value(target: str) -> None:
    @ti.kernel
    def change() -> (ti.i32, ti.f32):
        a = 1
        a = 2.7
        b = 1.0
        b = 3
        return a, b / 2

    with pytest.warns(ti.ShadesmithWarning, match="may lose precision"):
        assert tuple(change()) == (2, 1.5)


def test_a_narrowing_store_is_toward_zero(target: str) -> None:
    x = ti.field(ti.i32, 4)

    @ti.kernel
    def store(a: ti.f32):
        x[0] = a
        x[1] = -a
        x[2] += a
        x[3] = a * 2

    store(1.75)
    assert x.to_numpy().tolist() == [1, -1, 1, 3]


def test_an_augmented_assignment_keeps_the_type(target: str) -> None:
    @ti.kernel
    def change() -> ti.f32:
        a = 10
        a /= 4
        a -= 0.5
        return a

    assert change() == 2.0


@pytest.mark.parametrize("dtype", [ti.i8, ti.u8, ti.i16, ti.u16], ids=str)
def test_small_integers_wrap_when_stored(target: str, dtype: object) -> None:
    x = ti.field(dtype, 2)

    @ti.kernel
    def store(n: ti.i32):
        x[0] = n
        x[1] = -n

    for n in (1, 127, 128, 255, 256, 40_000, 70_001):
        store(n)
        assert x.to_numpy().tolist() == np.array([n, -n]).astype(x.to_numpy().dtype).tolist()


# --- explicit casts ---------------------------------------------------------------------------------------------------


def test_cast(target: str) -> None:
    @ti.kernel
    def cast(x: ti.f32) -> (ti.i32, ti.f64, ti.i32):
        a = ti.cast(x, ti.i32)
        b = ti.cast(a, ti.f64)
        c = ti.cast(-x, int)
        return a, b, c

    assert tuple(cast(3.9)) == (3, 3.0, -3)


def test_types_as_functions(target: str) -> None:
    @ti.kernel
    def cast(x: ti.f32, n: ti.i32) -> (ti.i32, ti.f32, ti.i32, ti.f32, ti.i32):
        return int(x), float(n) / 2, ti.i64(x) * 2, ti.f32(n) / 4, bool(n) * 2 + bool(0.0)

    assert tuple(cast(-2.9, 3)) == (-2, 1.5, -4, 0.75, 2)


def test_casts_of_vectors(target: str) -> None:
    @ti.kernel
    def cast() -> (vec3i, ti.i32):
        u = ti.Vector([2.3, 4.7, -1.9])
        m = ti.Matrix([[1.5, 2.5], [3.5, 4.5]])
        return u.cast(int), ti.cast(m, ti.i32).sum() + int(u.cast(ti.f64).sum())

    vector, total = cast()
    assert vector.to_list() == [2, 4, -1] and total == 15


def test_bit_casts(target: str) -> None:
    @ti.kernel
    def cast(x: ti.f32) -> (ti.i32, ti.f32):
        bits = ti.bit_cast(x, ti.i32)
        return bits, ti.bit_cast(bits + 1, ti.f32)

    bits, following = cast(1.0)
    assert bits == 0x3F800000 and following == np.nextafter(np.float32(1), np.float32(2))


def test_bit_casts_need_one_size(target: str) -> None:
    @ti.kernel
    def cast(x: ti.f32) -> ti.i64:
        return ti.bit_cast(x, ti.i64)

    with pytest.raises((ti.TaichiCompilationError, RuntimeError)):
        cast(1.0)


# --- vectors and matrices as types ------------------------------------------------------------------------------------


def test_vector_types_make_vectors_of_their_type(target: str) -> None:
    @ti.kernel
    def make(x: ti.f32) -> (ti.i32, ti.f64):
        a = vec3i(x, 2, 3.9)
        b = vec4d([1, 2, 3, x])
        ti.static_assert(a.n == 3)
        return a[0] * 100 + a[1] * 10 + a[2], b.sum()

    whole, total = make(1.5)
    assert whole == 123 and total == 7.5


def test_vector_types_take_vectors_and_one_value_for_all(target: str) -> None:
    @ti.kernel
    def make() -> (ti.i32, ti.f64):
        a = vec3i(7)
        head = ti.Vector([1.0, 2.0])
        b = vec4d(head, 3, 4)
        return a.sum(), b[0] * 1000 + b[1] * 100 + b[2] * 10 + b[3]

    assert tuple(make()) == (21, 1234)


def test_matrix_types_make_matrices(target: str) -> None:
    @ti.kernel
    def make() -> ti.i32:
        m = mat43i([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]])
        k = mat43i(1.7)
        return m[3, 2] * 100 + m[1, 0] * 10 + k.sum()

    assert make() == 1200 + 40 + 12


def test_types_make_values_in_python_too(target: str) -> None:
    assert vec3i(1.7, 2, 3).to_list() == [1, 2, 3]
    assert vec4d(1).to_list() == [1.0] * 4
    assert mat43i(2).to_list() == [[2] * 3] * 4
    assert vec3i([4, 5, 6])[2] == 6


def test_types_make_fields_and_ndarrays(target: str) -> None:
    field = vec3i.field(shape=(2, 3))
    array = mat43i.ndarray(shape=5)
    assert (field.shape, field.n, field.dtype) == ((2, 3), 3, ti.i32)
    assert (array.shape, array.element_shape) == ((5,), (4, 3))
    assert field.to_numpy().shape == (2, 3, 3) and array.to_numpy().shape == (5, 4, 3)


def test_types_annotate_functions_and_kernels(target: str) -> None:
    @ti.func
    def double(v: vec3i) -> vec3i:
        return v * 2

    @ti.kernel
    def use(v: vec3i) -> vec3i:
        return double(v + 0.6)

    assert use([1, 2, 3]).to_list() == [2, 4, 6]
    with pytest.raises(ti.TaichiRuntimeTypeError):
        use([1, 2])


def test_vector_elements_promote_to_one_type(target: str) -> None:
    @ti.kernel
    def make(n: ti.i32) -> ti.f32:
        v = ti.Vector([n, 2.5, True])
        ti.static_assert(v[0].dtype == ti.f32)
        return v.sum()

    assert make(1) == 4.5


def test_an_element_type_may_be_named(target: str) -> None:
    @ti.kernel
    def make() -> ti.i32:
        v = ti.Vector([1.9, 2.9], dt=ti.i32)
        m = ti.Matrix([[1.9, 2], [3, 4]], dt=ti.i32)
        return v.sum() * 100 + m.sum()

    assert make() == 310


def test_a_vector_keeps_its_element_type(target: str) -> None:
    @ti.kernel
    def change() -> ti.i32:
        v = ti.Vector([1, 2])
        v[0] = 7.9
        v += ti.Vector([0.6, 0.6])
        return v[0] * 10 + v[1]

    assert change() == 72


def test_annotated_assignments_cast(target: str) -> None:
    @ti.kernel
    def make(n: ti.i32) -> (ti.f32, ti.i32, ti.i64):
        a: ti.f32 = n
        b: int = 2.9
        c: ti.i64 = n
        a = a / 2
        return a, b, c * 10_000_000 * 1000

    assert tuple(make(1)) == (0.5, 2, 10**10)


def test_a_type_known_at_compile_time_is_a_template(target: str) -> None:
    @ti.kernel
    def cut(x: ti.f32, dtype: ti.template()) -> ti.f32:
        return ti.cast(x, dtype) / 2

    assert cut(3.5, ti.i32) == 1.5 and cut(3.5, ti.f32) == 1.75


def test_numpy_numbers_are_arguments(target: str) -> None:
    @ti.kernel
    def add(a: ti.i32, b: ti.f32) -> ti.f32:
        return a + b

    assert add(np.int64(2), np.float64(0.5)) == 2.5 and add(np.uint8(200), np.float32(1)) == 201


def test_names_of_types() -> None:
    pairs = [("i8", "int8"), ("i16", "int16"), ("i32", "int32"), ("i64", "int64"), ("u1", "uint1"), ("u8", "uint8")]
    pairs += [("u16", "uint16"), ("u32", "uint32"), ("u64", "uint64"), ("f16", "float16"), ("f32", "float32")]
    for short, long in [*pairs, ("f64", "float64")]:
        assert getattr(ti, short) is getattr(ti, long) and getattr(ti.types, short) is getattr(ti, short)
        assert str(getattr(ti, short)) == short
