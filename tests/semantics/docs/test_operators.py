"""What Taichi's page on operators teaches: arithmetic, logic, bits, ternaries, atomics, and all of it by element."""

import math

import numpy as np
import pytest

import shadesmith as ti

vec2 = ti.types.vector(2, ti.f32)

# --- scalars ----------------------------------------------------------------------------------------------------------

INTEGERS = [(7, 3), (-7, 3), (7, -3), (-7, -3), (0, 5), (2**31 - 1, 10)]


@pytest.mark.parametrize(("a", "b"), INTEGERS)
def test_integer_arithmetic_is_pythons(target: str, a: int, b: int) -> None:
    out = ti.field(ti.i32, 8)

    @ti.kernel
    def compute(a: ti.i32, b: ti.i32):
        out[0] = a - b
        out[1] = -a + b
        out[2] = a // b
        out[3] = a % b
        out[4] = +a
        out[5] = a == b
        out[6] = a <= b
        out[7] = abs(a) + ti.abs(b)

    compute(a, b)
    expected = [a - b, -a + b, a // b, a % b, a, a == b, a <= b, abs(a) + abs(b)]
    assert out.to_numpy().tolist() == np.array(expected).astype(np.int32).tolist()


def test_true_division_of_integers_is_a_float(target: str) -> None:
    @ti.kernel
    def divide(a: ti.i32, b: ti.i32) -> ti.f32:
        return a / b

    assert divide(7, 2) == 3.5 and divide(-1, 4) == -0.25


@pytest.mark.parametrize(("a", "b"), [(7.5, 2.0), (-7.5, 2.0), (7.5, -2.0), (-7.5, -2.0)])
def test_floor_division_and_remainder_of_floats(target: str, a: float, b: float) -> None:
    @ti.kernel
    def compute(a: ti.f32, b: ti.f32) -> (ti.f32, ti.f32):
        return a // b, a % b

    assert tuple(compute(a, b)) == (a // b, a % b)


@pytest.mark.parametrize(("a", "b"), INTEGERS)
def test_raw_division_and_remainder_are_those_of_c(target: str, a: int, b: int) -> None:
    @ti.kernel
    def compute(a: ti.i32, b: ti.i32) -> (ti.i32, ti.i32):
        return ti.raw_div(a, b), ti.raw_mod(a, b)

    assert tuple(compute(a, b)) == (int(a / b), int(math.fmod(a, b)))


def test_powers(target: str) -> None:
    @ti.kernel
    def compute(n: ti.i32, x: ti.f32) -> (ti.i32, ti.f32, ti.f32, ti.f32):
        return n**3, x**2, ti.pow(x, 0.5), pow(x, n)

    assert tuple(compute(-5, 4.0)) == (-125, 16.0, pytest.approx(2.0), pytest.approx(4.0**-5, rel=1e-5))


def test_bits(target: str) -> None:
    out = ti.field(ti.i32, 7)

    @ti.kernel
    def compute(a: ti.i32, b: ti.i32):
        out[0] = a & b
        out[1] = a | b
        out[2] = a ^ b
        out[3] = ~a
        out[4] = a << 2
        out[5] = -a >> 1
        out[6] = ti.bit_shr(-a, 1)

    a, b = 0b1100, 0b1010
    compute(a, b)
    assert out.to_numpy().tolist() == [a & b, a | b, a ^ b, ~a, a << 2, -a >> 1, (2**32 - a) >> 1]


@pytest.mark.parametrize("text", ["x & 1", "x | 1", "x ^ 1", "~x", "x << 1", "x >> 1"])
def test_bits_of_floats_are_refused(target: str, define_kernel, text: str) -> None:
    kernel = define_kernel(f"def use(x: ti.f32) -> ti.f32:\n    return {text}\n")
    with pytest.raises((ti.TaichiCompilationError, ti.TaichiRuntimeError)):
        kernel(1.0)


def test_logic(target: str) -> None:
    @ti.kernel
    def decide(a: ti.i32, b: ti.i32) -> (ti.i32, ti.i32, ti.i32):
        return a > 0 and b > 0, a > 0 or b > 0, not a > 0

    for a in (0, 1):
        for b in (0, 1):
            assert tuple(decide(a, b)) == (a and b, a or b, int(not a))


def test_and_or_stop_early(target: str) -> None:
    x = ti.field(ti.i32, 2)

    @ti.kernel
    def count(n: ti.i32) -> ti.i32:
        total = 0
        if n != 0 and 10 // n > 1:
            total += 1
        if n < 2 and x[n] == 0:
            total += 10
        return total

    assert [count(n) for n in (0, 1, 5, 100)] == [10, 11, 1, 0]


def test_chained_comparisons(target: str) -> None:
    @ti.kernel
    def within(low: ti.i32, n: ti.i32, high: ti.i32) -> ti.i32:
        return low <= n < high

    assert [within(0, n, 3) for n in (-1, 0, 2, 3)] == [0, 1, 1, 0]


def test_ternary_computes_one_side(target: str) -> None:
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def pick(n: ti.i32) -> ti.f32:
        return x[n] if 0 <= n < 4 else -1.0

    x.from_numpy(np.arange(4, dtype=np.float32))
    assert [pick(n) for n in (-5, 0, 3, 4)] == [-1.0, 0.0, 3.0, -1.0]


def test_ternary_promotes(target: str) -> None:
    @ti.kernel
    def pick(n: ti.i32) -> ti.f32:
        return n if n > 0 else 0.5

    assert pick(3) == 3.0 and pick(0) == 0.5


def test_select_takes_values_and_vectors(target: str) -> None:
    @ti.kernel
    def pick(n: ti.i32) -> (ti.i32, vec2):
        condition = ti.Vector([1, 0])
        return ti.select(n > 0, 10, 20), ti.select(condition, ti.Vector([1.0, 2.0]), ti.Vector([-1.0, -2.0]))

    scalar, vector = pick(0)
    assert scalar == 20 and vector.to_list() == [1.0, -2.0]


def test_min_and_max_take_many_and_promote(target: str) -> None:
    @ti.kernel
    def compute(n: ti.i32, x: ti.f32) -> (ti.f32, ti.f32, ti.i32, ti.f32):
        return ti.max(n, x, 2), ti.min(n, x, 2), max(n, 5), min(x, n)

    assert tuple(compute(3, 3.5)) == (3.5, 2.0, 5, 3.0)


def test_functions_of_floats(target: str) -> None:
    out = ti.field(ti.f32, 14)

    @ti.kernel
    def compute(x: ti.f32):
        out[0] = ti.sin(x)
        out[1] = ti.cos(x)
        out[2] = ti.tan(x)
        out[3] = ti.asin(x)
        out[4] = ti.acos(x)
        out[5] = ti.atan2(x, 2)
        out[6] = ti.tanh(x)
        out[7] = ti.sqrt(x)
        out[8] = ti.rsqrt(x)
        out[9] = ti.exp(x)
        out[10] = ti.log(x)
        out[11] = ti.floor(x * 3)
        out[12] = ti.ceil(x * 3)
        out[13] = ti.round(x * 3)

    x = 0.625
    compute(x)
    expected = [math.sin(x), math.cos(x), math.tan(x), math.asin(x), math.acos(x), math.atan2(x, 2), math.tanh(x)]
    expected += [x**0.5, x**-0.5, math.exp(x), math.log(x), 1.0, 2.0, 2.0]
    assert np.allclose(out.to_numpy(), expected, rtol=1e-5)


def test_functions_of_integers_give_floats(target: str) -> None:
    @ti.kernel
    def compute(n: ti.i32) -> ti.f32:
        return ti.sqrt(n) + ti.exp(n - n)

    assert compute(9) == pytest.approx(4.0)


def test_rounding_to_a_type(target: str) -> None:
    @ti.kernel
    def compute(x: ti.f32) -> (ti.i32, ti.i32, ti.i32):
        a, b, c = ti.floor(x, ti.i32), ti.ceil(x, ti.i32), ti.round(x, dtype=ti.i32)
        ti.static_assert(a.dtype == ti.i32)
        return a, b, c

    assert tuple(compute(-2.5)) == (-3, -2, -2)


def test_python_scope_functions(target: str) -> None:
    assert ti.sqrt(4.0) == 2.0 and ti.max(1, 2, 3) == 3 and ti.abs(-2) == 2
    assert (ti.Vector([1, 2]) + ti.Vector([3, 4])).to_list() == [4, 6]


# --- random numbers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
def test_random_floats_are_uniform(target: str, dtype: object) -> None:
    x = ti.field(dtype, 10_000)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.random(dtype)

    fill()
    found = x.to_numpy()
    assert 0 <= found.min() and found.max() < 1 and len(np.unique(found)) > 9_900
    assert abs(found.mean() - 0.5) < 0.02 and abs(found.var() - 1 / 12) < 0.01


@pytest.mark.parametrize("dtype", [ti.i32, ti.u32, ti.i64, ti.u64], ids=str)
def test_random_integers_fill_their_type(target: str, dtype: object) -> None:
    x = ti.field(dtype, 4_096)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.random(dtype)

    fill()
    found = x.to_numpy()
    info = np.iinfo(found.dtype)
    share = (found.astype(np.float64) - info.min) / (float(info.max) - float(info.min))
    assert abs(share.mean() - 0.5) < 0.03 and share.min() < 0.01 and share.max() > 0.99


def test_random_normals(target: str) -> None:
    x = ti.field(ti.f32, 10_000)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = ti.randn()

    fill()
    found = x.to_numpy()
    assert abs(found.mean()) < 0.05 and abs(found.std() - 1) < 0.05 and np.isfinite(found).all()


def test_random_differs_from_call_to_call_and_repeats_with_the_seed(target: str) -> None:
    def draw(seed: int) -> list[float]:
        ti.init(arch=getattr(ti, target), random_seed=seed, log_level=ti.ERROR)

        @ti.kernel
        def one() -> ti.f32:
            return ti.random()

        return [one() for _ in range(4)]

    first = draw(7)
    assert len(set(first)) == 4 and draw(7) == first and draw(8) != first


# --- atomics ----------------------------------------------------------------------------------------------------------


def test_atomics_give_the_old_value(target: str) -> None:
    x = ti.field(ti.i32, 7)
    x.fill(6)
    old = ti.field(ti.i32, 7)

    @ti.kernel
    def change():
        old[0] = ti.atomic_add(x[0], 3)
        old[1] = ti.atomic_sub(x[1], 3)
        old[2] = ti.atomic_max(x[2], 10)
        old[3] = ti.atomic_min(x[3], 1)
        old[4] = ti.atomic_and(x[4], 3)
        old[5] = ti.atomic_or(x[5], 1)
        old[6] = ti.atomic_xor(x[6], 15)

    change()
    assert old.to_numpy().tolist() == [6] * 7 and x.to_numpy().tolist() == [9, 3, 10, 1, 2, 7, 9]


def test_augmented_assignment_is_atomic(target: str) -> None:
    total = ti.field(ti.i32, ())
    parity = ti.field(ti.i32, ())

    @ti.kernel
    def add(n: ti.i32):
        for i in range(n):
            total[None] += i
            parity[None] ^= 1

    add(1001)
    assert total[None] == 500500 and parity[None] == 1


def test_an_atomic_needs_a_place(target: str) -> None:
    @ti.kernel
    def add() -> ti.i32:
        return ti.atomic_add(1, 2)

    with pytest.raises(ti.TaichiTypeError, match="cannot use a non-writable target"):
        add()


# --- vectors and matrices ---------------------------------------------------------------------------------------------


def test_operators_are_element_by_element(target: str) -> None:
    out = ti.Matrix.field(2, 2, ti.f32, 6)

    @ti.kernel
    def compute():
        a = ti.Matrix([[1, 2], [3, 4]])
        b = ti.Matrix([[5.0, 6.0], [7.0, 8.0]])
        out[0] = a * b
        out[1] = a + 1
        out[2] = 1 / b
        out[3] = b // 2
        out[4] = a > 2
        out[5] = ti.max(a, ti.Matrix([[2, 2], [2, 2]]))

    compute()
    a, b = np.array([[1, 2], [3, 4]]), np.array([[5.0, 6.0], [7.0, 8.0]])
    expected = np.array([a * b, a + 1, 1 / b, b // 2, a > 2, np.maximum(a, 2)])
    assert np.allclose(out.to_numpy(), expected)


def test_matrix_products(target: str) -> None:
    @ti.kernel
    def compute() -> (vec2, ti.f32, ti.f32):
        m = ti.Matrix([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
        v = ti.Vector([1.0, -1.0])
        w = m @ v
        return m.transpose() @ w, v @ v, (m @ m.transpose()).trace()

    vector, dot, trace = compute()
    m, v = np.array([[1, 2], [3, 4], [5, 6]]), np.array([1, -1])
    assert vector.to_list() == (m.T @ (m @ v)).tolist() and dot == 2 and trace == np.trace(m @ m.T)


def test_functions_are_element_by_element(target: str) -> None:
    @ti.kernel
    def compute() -> (vec2, vec2):
        v = ti.Vector([1.0, 4.0])
        return ti.sqrt(v) + ti.sin(ti.Vector([0, 0])), ti.atan2(v, 1) * 0 + v**2

    first, second = compute()
    assert first.to_list() == pytest.approx([1.0, 2.0]) and second.to_list() == [1.0, 16.0]


def test_methods_of_vectors(target: str) -> None:
    out = ti.field(ti.f32, 8)

    @ti.kernel
    def compute():
        v, w = ti.Vector([3.0, 4.0, 12.0]), ti.Vector([1.0, 0.0, 2.0])
        out[0] = v.norm()
        out[1] = v.norm_sqr()
        out[2] = v.dot(w)
        out[3] = v.cross(w)[1]
        out[4] = v.outer_product(w)[2, 2]
        out[5] = v.normalized().norm()
        out[6] = v.max() * 100 + v.min()
        out[7] = (v > 3).any() * 10 + (v > 3).all()

    compute()
    v, w = np.array([3, 4, 12]), np.array([1, 0, 2])
    expected = [13, 169, v @ w, np.cross(v, w)[1], 24, 1, 1203, 10]
    assert np.allclose(out.to_numpy(), expected)


def test_methods_of_matrices(target: str) -> None:
    out = ti.field(ti.f32, 4)

    @ti.kernel
    def compute():
        m = ti.Matrix([[4.0, 1.0], [2.0, 3.0]])
        out[0] = m.determinant()
        out[1] = m.trace()
        out[2] = (m @ m.inverse() - ti.Matrix.identity(ti.f32, 2)).norm()
        out[3] = m.transpose()[0, 1]

    compute()
    assert np.allclose(out.to_numpy(), [10, 7, 0, 2], atol=1e-5)


@pytest.mark.parametrize("text", ["a + b", "a @ b", "a.dot(b)", "a * m"])
def test_shapes_that_do_not_fit_are_refused(target: str, define_kernel, text: str) -> None:
    names = "a, b, m = ti.Vector([1, 2]), ti.Vector([1, 2, 3]), ti.Matrix([[1, 2, 3], [4, 5, 6]])"
    kernel = define_kernel(f"def use():\n    {names}\n    c = {text}\n")
    with pytest.raises((ti.TaichiCompilationError, ti.TaichiRuntimeError)):
        kernel()


def test_slices_are_read_and_written(target: str) -> None:
    x = ti.Matrix.field(2, 3, ti.i32, ())

    @ti.kernel
    def run(row: ti.i32) -> ti.i32:
        v = ti.Vector([1, 2, 3, 4])
        v[1:3] = v[2:4]
        v[::2] += 10
        m = ti.Matrix([[1, 2, 3], [4, 5, 6]])
        m[:, 1:] = ti.Matrix([[10, 20], [30, 40]])
        m[row, :] = m[row, :] * 2
        x[None][0, :] = v[:3]
        x[None][:, 0] -= 1
        return v.sum() * 1000 + m.sum()

    assert run(0) == (11 + 3 + 14 + 4) * 1000 + (2 + 20 + 40 + 4 + 30 + 40)
    assert x[None].to_list() == [[10, 3, 14], [-1, 0, 0]]


def test_parts_of_vectors_are_added_to_atomically(target: str) -> None:
    x = ti.Vector.field(4, ti.i32, ())

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            x[None].xz += ti.Vector([1, i])
            x[None][1::2] -= 1

    run(1000)
    assert x[None].to_list() == [1000, -1000, 499500, -1000]


@pytest.mark.parametrize(
    "text", ["v[1:3] = ti.Vector([1, 2, 3])", "v[2:2] = 1", "v[0:n] = 1", "m[0:1] = 1", "m[5, :] = 1"]
)
def test_slices_that_do_not_fit_are_refused(target: str, define_kernel, text: str) -> None:
    names = "v, m = ti.Vector([1, 2, 3]), ti.Matrix([[1, 2, 3], [4, 5, 6]])"
    kernel = define_kernel(f"def use(n: ti.i32):\n    {names}\n    {text}\n")
    with pytest.raises((ti.TaichiCompilationError, ti.TaichiRuntimeError)):
        kernel(1)


def test_swap_needs_no_third_variable(target: str) -> None:
    @ti.kernel
    def swap() -> (ti.i32, ti.i32):
        a, b = 1, 2
        a, b = b, a
        return a, b

    assert tuple(swap()) == (2, 1)


def test_a_matrix_is_unpacked_with_to_list_and_vectors_directly(target: str) -> None:
    @ti.kernel
    def unpack() -> ti.i32:
        a, b, c = ti.Vector([1, 2, 3])
        return a * 100 + b * 10 + c

    assert unpack() == 123
