"""What Taichi's pages on meta-programming teach: templates, code for any dimension, `ti.static`, compile-time values."""

import itertools
import math

import numpy as np
import pytest

import shadesmith as ti

# --- templates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (4,), (3, 2), (2, 3, 2), (2, 1, 2, 2)], ids=str)
def test_one_kernel_for_fields_of_any_dimension(target: str, shape: tuple[int, ...]) -> None:
    x, y = ti.field(ti.f32, shape), ti.field(ti.f32, shape)

    @ti.kernel
    def copy(source: ti.template(), to: ti.template(), factor: ti.f32):
        for I in ti.grouped(source):  # noqa: E741
            to[I] = source[I] * factor

    values = np.arange(1, math.prod(shape) + 1, dtype=np.float32).reshape(shape)
    x.from_numpy(values)
    copy(x, y, 2.0)
    assert np.array_equal(y.to_numpy(), values * 2)


def test_shifted_access_in_any_dimension(target: str) -> None:
    @ti.kernel
    def differences(x: ti.template(), out: ti.template()):
        for I in ti.grouped(x):  # noqa: E741
            for axis in ti.static(range(len(x.shape))):
                shift = ti.Vector.unit(len(x.shape), axis)
                if I[axis] > 0:
                    out[I] += x[I] - x[I - shift]

    for shape in ((5,), (4, 3)):
        x, out = ti.field(ti.i32, shape), ti.field(ti.i32, shape)
        values = (np.arange(math.prod(shape), dtype=np.int32) ** 2).reshape(shape)
        x.from_numpy(values)
        differences(x, out)
        expected = np.zeros(shape, int)
        for axis in range(len(shape)):
            part = [slice(None)] * len(shape)
            part[axis] = slice(1, None)
            expected[tuple(part)] += np.diff(values, axis=axis)
        assert np.array_equal(out.to_numpy(), expected)


def test_each_template_argument_makes_an_instance(target: str) -> None:
    x, y = ti.field(ti.i32, 2), ti.field(ti.i32, 2)

    @ti.kernel
    def fill(field: ti.template(), n: ti.template()):
        for i in field:
            field[i] = n

    for _ in range(2):
        fill(x, 1)
        fill(y, 1)
        fill(x, 2)
    assert len(fill.instances()) == 3 and x[0] == 2 and y[0] == 1


def test_template_arguments_of_every_kind(target: str) -> None:
    @ti.func
    def negate(x):
        return -x

    @ti.kernel
    def use(x: ti.f32, what: ti.template()) -> ti.f32:
        found = x
        if ti.static(what is None):
            found = 0.0
        elif ti.static(isinstance(what, str)):
            found = ti.static(len(what))
        elif ti.static(isinstance(what, (tuple, list))):
            found = x * what[0] + what[1]
        elif ti.static(callable(what)):
            found = what(x)
        else:
            found = x + what
        return found

    cases = [(None, 0.0), ("four", 4.0), ((2, 1), 6.0), ([3, 1], 8.5), (negate, -2.5), (0.5, 3.0), (True, 3.5)]
    assert [use(2.5, what) for what, _ in cases] == [expected for _, expected in cases]


def test_a_template_value_is_a_constant(target: str) -> None:
    @ti.kernel
    def power(x: ti.f32, n: ti.template()) -> ti.f32:
        result = 1.0
        for _ in ti.static(range(n)):
            result *= x
        return result

    assert [power(2.0, n) for n in (0, 1, 5)] == [1.0, 2.0, 32.0]


def test_compile_time_facts_of_fields(target: str) -> None:
    field = ti.Matrix.field(3, 2, ti.f32, (5, 7))

    @ti.kernel
    def ask(field: ti.template()) -> ti.i32:
        ti.static_assert(field.dtype == ti.f32)
        ti.static_assert(len(field.shape) == 2)
        ti.static_assert(field.shape == (5, 7), "a shape is a tuple")
        return field.n * 1000 + field.m * 100 + field.shape[0] * 10 + field.shape[1]

    assert ask(field) == 3257


def test_compile_time_facts_of_arrays_and_vectors(target: str) -> None:
    @ti.kernel
    def ask(a: ti.types.ndarray(ndim=2)) -> ti.i32:
        v, m = ti.Vector([1, 2, 3]), ti.Matrix([[1, 2], [3, 4], [5, 6]])
        return a.shape[0] * 1000 + a.shape[1] * 100 + len(a.shape) * 10 + v.n + len(v) + m.n + m.m + len(m)

    assert ask(np.zeros((4, 2), np.float32)) == 4220 + 14


# --- static -----------------------------------------------------------------------------------------------------------


def test_static_if_leaves_out_what_does_not_apply(target: str) -> None:
    x = ti.field(ti.f32, 2)
    enabled = False

    @ti.kernel
    def run() -> ti.f32:
        found = 1.0
        if ti.static(enabled):
            found = x[7]  # would be out of range
        elif ti.static(len(x.shape) > 1):
            found = x[0, 0]
        else:
            found = 5.0
        return found

    assert run() == 5.0


def test_static_if_may_define_names_of_one_block(target: str) -> None:
    @ti.kernel
    def run(n: ti.template()) -> ti.i32:
        found = 0
        if ti.static(n > 2):
            a = ti.Vector([n, n])
            found = a.sum()
        else:
            a = n
            found = a
        return found

    assert run(3) == 6 and run(2) == 2


def test_static_ternary_and_logic(target: str) -> None:
    @ti.kernel
    def run(n: ti.template()) -> ti.i32:
        kind = 1 if ti.static(n is not None and n > 2) else 0
        return kind + (10 if ti.static(n is None or not n) else 20)

    assert [run(n) for n in (None, 0, 3)] == [10, 10, 21]


SEQUENCES = {
    "list": ([5, 3, 8], [5, 3, 8]),
    "tuple": ((5, 3), [5, 3]),
    "range": (range(6, 0, -2), [6, 4, 2]),
    "dict": ({4: "a", 2: "b"}, [4, 2]),
    "values": ({"a": 4, "b": 2}.values(), [4, 2]),
    "NumPy": (np.array([7, 1]), [7, 1]),
    "empty": ((), []),
    "generator of a function": (sorted({3, 1, 2}), [1, 2, 3]),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_static_loops_over_sequences(target: str, name: str) -> None:
    sequence, items = SEQUENCES[name]

    @ti.kernel
    def run() -> ti.i32:
        total = 0
        for item in ti.static(sequence):
            total = total * 10 + item
        return total

    assert run() == int("".join(map(str, items)) or 0)


def test_static_loops_over_pairs(target: str) -> None:
    table = {"a": 1, "b": 2}
    nested = [[1, 2], [3], []]

    @ti.kernel
    def run() -> ti.i32:
        total = 0
        for name, value in ti.static(table.items()):
            total += value * (10 if ti.static(name == "a") else 1)
        for k, (a, b) in ti.static(enumerate(zip([1, 2], (3, 4)))):
            total += 100 * k * a * b
        for row in ti.static(nested):
            for value in ti.static(row):
                total += 1000 * value
        for (a, b), c in ti.static([((1, 2), 3)]):
            total += 10_000 * (a + b + c)
        return total

    assert run() == 12 + 800 + 6000 + 60_000


def test_static_loops_over_ranges_of_several_axes(target: str) -> None:
    x = ti.field(ti.i32, (3, 3))

    @ti.kernel
    def stencil():
        for i, j in ti.static(ti.ndrange((0, 2), 3)):
            x[i, j] = i * 10 + j
        for I in ti.static(ti.grouped(ti.ndrange(1, (1, 3)))):  # noqa: E741
            x[I + ti.Vector([2, 0])] = I[1]

    stencil()
    assert x.to_numpy().tolist() == [[0, 1, 2], [10, 11, 12], [0, 1, 2]]


def test_static_loops_with_break_and_continue(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        total = 0
        for k in ti.static(range(8)):
            if k == n:
                continue
            if k > 2 * n:
                break
            total = total * 10 + k
        return total

    assert [run(n) for n in (0, 1, 3)] == [0, 2, 12456]


def test_static_slices_and_comprehensions(target: str) -> None:
    values = [1, 2, 3, 4, 5]

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        total = 0
        for value in ti.static(values[1::2]):
            total += value
        scaled = [n * value for value in values if value % 2]
        table = [[i * j for j in range(3)] for i in range(2)]
        vector = ti.Vector([v for v in ti.static(values[:3])])  # noqa: C416
        pairs = [a * b for a in values[:2] for b in values[-2:]]
        return total * 1000 + scaled[2] * 100 + table[1][2] * 10 + vector.sum() + len(pairs) + sum(pairs)

    assert run(2) == 6000 + 1000 + 20 + 6 + 4 + 27


def test_a_static_alias_of_fields(target: str) -> None:
    class Data:
        first = ti.field(ti.i32, 2)
        second = ti.field(ti.i32, 2)

    @ti.kernel
    def run():
        a, b = ti.static(Data.first, Data.second)
        c = ti.static(Data.first)
        for i in a:
            a[i] = i + 1
            b[i] = c[i] * 10

    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    Data.first, Data.second = ti.field(ti.i32, 2), ti.field(ti.i32, 2)
    run()
    assert Data.second.to_numpy().tolist() == [10, 20]


def test_static_values_fold(target: str) -> None:
    n = 5

    @ti.kernel
    def run() -> ti.i32:
        half, rest = ti.static(n // 2, n % 2)
        size = ti.static(max(n, 3) * 2 + len([1, 2]))
        return half * 1000 + rest * 100 + size

    assert run() == 2112


def test_static_needs_what_is_known(target: str) -> None:
    @ti.kernel
    def unroll(n: ti.i32):
        for _ in ti.static(range(n)):
            pass

    @ti.kernel
    def decide(n: ti.i32):
        if ti.static(n > 1):
            pass

    for kernel in (unroll, decide):
        with pytest.raises(ti.TaichiCompilationError):
            kernel(3)


def test_long_unrolled_loops_warn() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, unrolling_limit=32)

    @ti.kernel
    def run(n: ti.template()) -> ti.i32:
        total = 0
        for k, _ in ti.static(list(enumerate("x" * n))):  # a list of numbers alone would stay a loop
            total += k
        return total

    assert run(32) == 496
    with pytest.warns(ti.ShadesmithWarning, match="unrolling 33 iterations"):
        assert run(33) == 528


def test_matrices_are_indexed_statically(target: str) -> None:
    m = ti.Matrix.field(2, 3, ti.f32, ())

    @ti.kernel
    def fill():
        for i in ti.static(range(m.n)):
            for j in ti.static(range(m.m)):
                m[None][i, j] = i + j * 10

    fill()
    assert m[None].to_list() == [[0, 10, 20], [1, 11, 21]]


def test_functions_recur_at_compile_time(target: str) -> None:
    @ti.func
    def triangle(n: ti.template()):
        total = 0
        if ti.static(n > 0):
            total = triangle(n - 1) + n
        return total

    @ti.kernel
    def run() -> ti.i32:
        return triangle(10)

    assert run() == 55


def test_static_assert_and_print(target: str, capsys: pytest.CaptureFixture) -> None:
    x = ti.field(ti.f32, (2, 3))

    @ti.kernel
    def run(y: ti.template()):
        ti.static_print(x.shape, "is the shape")
        ti.static_assert(x.shape == y.shape, "shapes differ")

    run(ti.field(ti.i32, (2, 3)))
    assert "(2, 3) is the shape" in capsys.readouterr().out
    with pytest.raises(ti.TaichiCompilationError, match="shapes differ"):
        run(ti.field(ti.i32, 4))


def test_zero_and_one_of_a_type(target: str) -> None:
    @ti.func
    def total(values: ti.template()):
        found = ti.zero(values[0])
        for i in range(3):
            found += values[i]
        return found + ti.one(found)

    numbers, vectors = ti.field(ti.f32, 3), ti.Vector.field(2, ti.i32, 3)
    numbers.fill(0.5)
    vectors.fill(2)

    @ti.kernel
    def run() -> ti.f32:
        return total(numbers) * 10 + total(vectors).sum()

    assert run() == 25 + 14


# --- names of Python in kernels ---------------------------------------------------------------------------------------


def test_none_as_a_default(target: str) -> None:
    @ti.func
    def shifted(x, by: ti.template() = None):
        found = x
        if ti.static(by is not None):
            found += by
        return found

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        return shifted(n) * 100 + shifted(n, 5) * 10 + shifted(n, by=n)

    assert run(1) == 162


def test_functions_of_python_run_at_compile_time(target: str) -> None:
    def size(n: int, scale: int = 2) -> int:
        return n * scale

    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        return size(4) + size(n=1, scale=3) + math.sqrt(16.0) + np.float32(0.5) + x + math.floor(np.pi) + math.pi * 0

    assert run(1.0) == 8 + 3 + 4 + 0.5 + 1 + 3


def test_functions_of_python_take_no_run_time_values(target: str) -> None:
    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        return math.sin(x)

    with pytest.raises(ti.TaichiTypeError, match=r"ti\.sin"):
        run(1.0)


def test_builtins(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32, x: ti.f32) -> ti.f32:
        v = ti.Vector([n, 2, 5])
        a = abs(-n) + min(n, 2) + max(v) + sum(v) + len(v)
        b = pow(x, 2) + round(x) + int(x) + float(n)
        q, r = divmod(n, 2)
        c = any(v > 4) * 100 + all(v > 4) * 1000
        return a + b + c + q * 10 + r

    assert run(3, 1.5) == (3 + 2 + 5 + 10 + 3) + (2.25 + 2 + 1 + 3) + 100 + 11


def test_isinstance_of_values(target: str) -> None:
    @ti.func
    def kind(x: ti.template()):
        found = 0
        if ti.static(isinstance(x, ti.Matrix)):
            found = 1
        elif ti.static(isinstance(x, bool)):
            found = 2
        elif ti.static(isinstance(x, (int, float))):
            found = 3
        return found

    @ti.kernel
    def run() -> ti.i32:
        v = ti.Vector([1, 2])
        return kind(v) * 100 + kind(True) * 10 + kind(1.5)

    assert run() == 123


def test_membership(target: str) -> None:
    allowed = (2, 3, 5)

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        found = 0
        if n in allowed:
            found += 1
        if n not in [1, n + 1]:
            found += 10
        if n in {7, 8}:
            found += 100
        if n in range(0, 10, 4):
            found += 1000
        if ti.static(3 in allowed and "x" not in "abc" and 2 in {2: 3}):
            found += 10_000
        return found

    assert [run(n) for n in (1, 2, 8, 9)] == [10_000, 10_011, 11_110, 10_010]


def test_walrus(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        found = 0
        if (double := n * 2) > 4:
            found = double
        while (left := found - 3) > 0:
            found = left
        return found * 10 + double

    assert run(2) == 4 and run(5) == 20


def test_products_of_python_iterators(target: str) -> None:
    @ti.kernel
    def run() -> ti.i32:
        total = 0
        for a, b in ti.static(itertools.product((1, 2), repeat=2)):
            total = total * 10 + a * b
        for a, b in ti.static(zip(range(2), reversed([5, 6]))):
            total += a * b
        return total

    assert run() == 1224 + 5


def test_a_list_grows_at_compile_time(target: str) -> None:
    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        values = []
        for k in ti.static(range(4)):
            values.append(n + k)
        return values[0] * 1000 + values[3] * 100 + len(values)

    assert run(1) == 1404
