"""What Taichi's pages on kernels and functions teach: arguments, results, globals, calls, and what is refused."""

import functools
from typing import Tuple  # noqa: UP035 - programs written for older Pythons spell it so

import numpy as np
import pytest

import shadesmith as ti

vec2i = ti.types.vector(2, ti.i32)
mat23 = ti.types.matrix(2, 3, ti.f32)


# --- kernels ----------------------------------------------------------------------------------------------------------


def test_kernel_takes_and_returns_a_scalar(target: str) -> None:
    @ti.kernel
    def inverse_square(x: ti.f32) -> ti.f32:
        return 1.0 / (x * x)

    assert inverse_square(2.0) == 0.25
    assert inverse_square(x=0.5) == 4.0


def test_loop_of_a_kernel_sums_in_parallel(target: str) -> None:
    @ti.func
    def inverse_square(x):
        return 1.0 / (x * x)

    @ti.kernel
    def partial_sum(n: int) -> float:
        total = 0.0
        for i in range(1, n + 1):
            total += inverse_square(n - i + 1.0)
        return total

    assert partial_sum(1000) == pytest.approx(sum(1 / (i * i) for i in range(1, 1001)), rel=1e-5)
    assert partial_sum(0) == 0.0 and partial_sum(-3) == 0.0


def test_python_types_in_annotations_are_the_default_types(target: str) -> None:
    @ti.kernel
    def add(a: int, b: float, c: bool) -> float:
        assert c.dtype == ti.u1
        return a + b + c

    assert add(1, 0.5, True) == 2.5


def test_kernel_may_not_call_a_kernel(target: str) -> None:
    @ti.kernel
    def inner() -> ti.i32:
        return 1

    @ti.kernel
    def outer() -> ti.i32:
        return inner()

    with pytest.raises(ti.TaichiCompilationError, match="Kernels cannot call other kernels"):
        outer()


def test_kernel_may_not_call_a_kernel_through_a_function(target: str) -> None:
    @ti.kernel
    def inner():
        pass

    @ti.func
    def between():
        inner()

    @ti.kernel
    def outer():
        between()

    with pytest.raises(ti.TaichiCompilationError, match="nested kernels are not allowed"):
        outer()


def test_arguments_of_a_kernel_need_annotations() -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="parameters must be type annotated"):

        @ti.kernel
        def add(a, b: ti.i32):
            pass


def test_a_result_needs_an_annotation(target: str) -> None:
    @ti.kernel
    def give():
        return 1

    with pytest.raises(ti.TaichiSyntaxError, match="must be annotated with a return type"):
        give()


def test_an_annotated_result_needs_a_return(target: str) -> None:
    @ti.kernel
    def give() -> ti.i32:
        pass

    with pytest.raises(ti.TaichiSyntaxError, match="does not have a return statement"):
        give()


def test_a_result_is_cast_to_its_annotation(target: str) -> None:
    @ti.kernel
    def cut() -> ti.i32:
        return 128.32

    @ti.kernel
    def cut_at_run_time(x: ti.f32) -> ti.i32:
        return x + 0.25

    assert cut() == 128
    assert cut_at_run_time(-2.5) == -2


def test_arguments_are_cast_to_their_annotation(target: str) -> None:
    @ti.kernel
    def half(n: ti.i32, x: ti.f32) -> ti.f32:
        return n / 2 + x

    assert half(7, 1) == 4.5
    with pytest.raises(ti.TaichiRuntimeTypeError):
        half(7.5, 1)


def test_several_results(target: str) -> None:
    @ti.kernel
    def ask(x: ti.f32) -> (ti.i32, ti.f32, vec2i):
        return int(x), x * 2, ti.Vector([1, x])

    whole, double, vector = ask(2.5)
    assert (whole, double) == (2, 5.0) and vector.to_list() == [1, 2]


def test_several_results_by_a_tuple_type(target: str) -> None:
    @ti.kernel
    def ask() -> tuple[ti.i32, ti.f32]:
        return 1.7, 2

    @ti.kernel
    def ask_older() -> Tuple[ti.i32, ti.f32]:  # noqa: UP006
        return 3, 4

    assert tuple(ask()) == (1, 2.0) and isinstance(ask()[1], float)
    assert tuple(ask_older()) == (3, 4.0)


def test_vectors_and_matrices_come_by_value_and_go_back(target: str) -> None:
    @ti.kernel
    def shift(m: mat23, v: vec2i) -> mat23:
        m[0, 0] += v[0]
        for i, j in ti.static(ti.ndrange(2, 3)):
            m[i, j] = m[i, j] * v[1]
        return m

    given = mat23([[1, 2, 3], [4, 5, 6]])
    assert shift(given, [10, 2]).to_list() == [[22, 4, 6], [8, 10, 12]]
    assert given.to_list() == [[1, 2, 3], [4, 5, 6]]


def test_a_result_may_be_a_vector_of_another_type_which_is_cast(target: str) -> None:
    @ti.kernel
    def give() -> vec2i:
        return ti.Vector([1.9, -1.9])

    assert give().to_list() == [1, -1]


def test_a_result_of_another_shape_is_refused(target: str) -> None:
    @ti.kernel
    def give() -> vec2i:
        return ti.Vector([1, 2, 3])

    with pytest.raises(ti.TaichiCompilationError):
        give()


def test_arrays_come_by_reference(target: str) -> None:
    @ti.kernel
    def add_one(x: ti.types.ndarray()):
        for i, j in x:
            x[i, j] += 1

    host = np.arange(6, dtype=np.float32).reshape(2, 3)
    own = ti.ndarray(ti.i32, (2, 2))
    add_one(host)
    add_one(own)
    assert host.tolist() == [[1, 2, 3], [4, 5, 6]] and own.to_numpy().tolist() == [[1, 1], [1, 1]]


def test_fields_come_by_reference_as_templates(target: str) -> None:
    x, y = ti.field(ti.f32, 4), ti.field(ti.i32, 3)

    @ti.kernel
    def fill(field: ti.template(), value: ti.i32):
        for i in field:
            field[i] = value * i

    fill(x, 2)
    fill(y, 3)
    assert x.to_numpy().tolist() == [0, 2, 4, 6] and y.to_numpy().tolist() == [0, 3, 6]


def test_template_without_brackets(target: str) -> None:
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def count(field: ti.template) -> ti.i32:
        return field.shape[0]

    assert count(x) == 4


def test_defaults_and_keywords_of_a_kernel(target: str) -> None:
    @ti.kernel
    def poly(x: ti.f32, a: ti.f32 = 2.0, b: ti.f32 = 1.0) -> ti.f32:
        return a * x + b

    assert [poly(3.0), poly(3.0, 4.0), poly(3.0, b=0.0), poly(b=5.0, x=1.0)] == [7.0, 13.0, 6.0, 7.0]


@pytest.mark.parametrize(
    ("arguments", "named"), [((), {}), ((1, 2, 3), {}), ((1,), {"c": 1}), ((1,), {"a": 1})], ids=str
)
def test_wrong_arguments_of_a_kernel(target: str, arguments: tuple, named: dict) -> None:
    @ti.kernel
    def add(a: ti.i32, b: ti.i32) -> ti.i32:
        return a + b

    with pytest.raises(ti.TaichiSyntaxError, match="add"):
        add(*arguments, **named)


def test_texts_are_no_arguments(target: str) -> None:
    @ti.kernel
    def add(a: ti.i32) -> ti.i32:
        return a

    with pytest.raises(ti.TaichiRuntimeTypeError):
        add("1")


# --- globals ----------------------------------------------------------------------------------------------------------

step = 1


def test_globals_are_constants_from_the_first_call_on(target: str) -> None:
    global step
    step = 1

    @ti.kernel
    def early() -> ti.i32:
        return step

    @ti.kernel
    def late() -> ti.i32:
        return step

    first = early()
    step = 2
    assert (first, early(), late()) == (1, 1, 2)
    assert early.captured() == {"step": 1} and late.captured() == {"step": 2}


def test_a_field_carries_what_changes(target: str) -> None:
    now = ti.field(ti.i32, ())

    @ti.kernel
    def ask() -> ti.i32:
        return now[None]

    found = []
    for value in (1, 7):
        now[None] = value
        found.append(ask())
    assert found == [1, 7]


def test_globals_cannot_be_assigned(target: str) -> None:
    @ti.kernel
    def change():
        step += 1  # noqa: F823, F841

    with pytest.raises(ti.TaichiCompilationError, match="step"):
        change()


# --- functions --------------------------------------------------------------------------------------------------------


@ti.func
def add_pair(a, b):
    return a + b


def test_functions_take_any_type(target: str) -> None:
    @ti.kernel
    def use() -> ti.f32:
        v = add_pair(ti.Vector([1, 2]), ti.Vector([0.5, 0.5]))
        return add_pair(1, 2) + add_pair(0.5, 1) + v.sum()

    assert use() == 3 + 1.5 + 4.0


def test_functions_are_not_for_python() -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="cannot be called from Python-scope"):
        add_pair(1, 2)


def test_arguments_of_functions_are_copies(target: str) -> None:
    @ti.func
    def change(x):
        x = x + 100
        return x  # noqa: RET504

    @ti.kernel
    def use() -> (ti.i32, ti.i32):
        a = 1
        b = change(a)
        return a, b

    assert tuple(use()) == (1, 101)


def test_a_vector_argument_of_a_function_is_a_copy(target: str) -> None:
    @ti.func
    def change(v):
        v[0] = 100
        return v.sum()

    @ti.kernel
    def use() -> (ti.i32, ti.i32):
        a = ti.Vector([1, 2])
        b = change(a)
        return a[0], b

    assert tuple(use()) == (1, 102)


def test_template_arguments_of_functions_are_the_callers(target: str) -> None:
    @ti.func
    def change(x: ti.template(), by):
        x += by

    x = ti.field(ti.i32, 2)

    @ti.kernel
    def use() -> ti.i32:
        a = 1
        change(a, 5)
        change(x[1], 7)
        return a

    assert use() == 6 and x.to_numpy().tolist() == [0, 7]


@ti.func
def swap(a: ti.template(), b: ti.template()):
    old = a
    a = b
    b = old


@ti.func
def sort_two(a: ti.template(), b: ti.template()):
    if a > b:
        swap(a, b)


def test_references_to_parts_of_variables_through_several_functions(target: str) -> None:
    x = ti.Vector.field(2, ti.i32, ())

    @ti.kernel
    def use(n: ti.i32) -> ti.i32:
        v = ti.Vector([n + 2, n, n + 1])
        m = ti.Matrix([[n, 7], [8, 9]])
        a, b = 4, 3
        sort_two(v[0], v[1])
        sort_two(v.y, v.z)
        sort_two(a, b)
        sort_two(m[0, 1], m[0, 0])
        x[None] = ti.Vector([5, 2])
        sort_two(x[None][0], x[None].y)
        ti.atomic_add(v[0], 10)
        return (((v[0] * 10 + v[1]) * 10 + v[2]) * 10 + a) * 1000 + b * 100 + m[0, 0] * 10 + m[0, 1]

    assert use(1) == 11233471 and x[None].to_list() == [2, 5]


@pytest.mark.parametrize("argument", ["3", "n + 1", "i", "v.xy"])
def test_references_need_a_variable(target: str, define_kernel, argument: str) -> None:
    text = f"def use(n: ti.i32):\n    v = ti.math.ivec3(n)\n    for i in range(3):\n        change({argument})\n"

    @ti.func
    def change(x: ti.template()):
        x += 1

    with pytest.raises((ti.TaichiCompilationError, RuntimeError), match="given .* which is no variable and cannot"):
        define_kernel(text, change=change)(1)


def test_functions_with_some_arguments_given(target: str) -> None:
    ten_more = functools.partial(add_pair, 10)

    @ti.kernel
    def use(n: ti.i32) -> ti.i32:
        return ten_more(n) * 100 + functools.partial(add_pair, b=1)(n)

    assert use(2) == 1203


def test_annotated_arguments_of_functions_are_cast(target: str) -> None:
    @ti.func
    def cut(x: ti.i32) -> ti.f32:
        return x + 0.5

    @ti.kernel
    def use(x: ti.f32) -> ti.f32:
        return cut(x)

    assert use(2.9) == 2.5


def test_functions_give_several_results(target: str) -> None:
    @ti.func
    def split(x):
        return x // 10, x % 10, ti.Vector([x, -x])

    @ti.kernel
    def use(n: ti.i32) -> ti.i32:
        tens, ones, both = split(n)
        return tens * 1000 + ones * 100 + both[0] + both[1]

    assert use(47) == 4700


def test_functions_call_functions_three_deep(target: str) -> None:
    @ti.func
    def one(x):
        return x + 1

    @ti.func
    def two(x):
        return one(one(x))

    @ti.func
    def four(x):
        return two(two(x))

    @ti.kernel
    def use(n: ti.i32) -> ti.i32:
        return four(n) * four(0)

    assert use(1) == 20


def test_functions_return_from_anywhere(target: str) -> None:
    @ti.func
    def find(x):
        for i in range(10):
            if i * i >= x:
                return i
        return -1

    @ti.kernel
    def use(x: ti.i32) -> ti.i32:
        if x < 0:
            return -100
        return find(x)

    assert [use(x) for x in (-1, 0, 5, 81, 82)] == [-100, 0, 3, 9, -1]


def test_functions_without_end_are_refused(target: str) -> None:
    @ti.func
    def forever(x):
        return forever(x)

    @ti.kernel
    def use() -> ti.i32:
        return forever(1)

    with pytest.raises(ti.TaichiCompilationError, match="forever"):
        use()


def test_a_pyfunc_is_for_both_scopes(target: str) -> None:
    @ti.pyfunc
    def area(width, height):
        return width * height

    @ti.kernel
    def use(width: ti.f32) -> ti.f32:
        return area(width, 3)

    assert area(2, 3) == 6 and use(2.5) == 7.5


def test_keywords_and_defaults_of_functions(target: str) -> None:
    @ti.func
    def digits(a, b=2, c=3):
        return a * 100 + b * 10 + c

    @ti.kernel
    def use(n: ti.i32) -> (ti.i32, ti.i32, ti.i32):
        return digits(n), digits(n, c=n), digits(c=n, a=9, b=8)

    assert use(1) == (123, 121, 981)


@pytest.mark.parametrize("call", ["f()", "f(1, 2, 3)", "f(1, z=2)", "f(1, a=2)"])
def test_wrong_arguments_of_functions(target: str, call: str, define_kernel) -> None:
    kernel = define_kernel(f"def use() -> ti.i32:\n    return {call}\n", f=add_pair)
    with pytest.raises(ti.TaichiCompilationError):
        kernel()


def test_functions_take_a_spread_tuple(target: str) -> None:
    @ti.func
    def digits(a, b, *rest):
        total = a * 10 + b
        for value in ti.static(rest):
            total = total * 10 + value
        return total

    @ti.kernel
    def use(n: ti.i32) -> ti.i32:
        pair = (n, 2)
        return digits(*pair) + digits(*ti.static([1, 2, 3, 4])) + digits(*(n, n), n)

    assert use(1) == 12 + 1234 + 111


def test_functions_take_named_spreads(target: str) -> None:
    @ti.func
    def weigh(x, **weights):
        total = 0
        for name, weight in ti.static(weights.items()):
            total += x * weight if ti.static(name != "off") else 0
        return total

    @ti.kernel
    def use(n: ti.i32) -> ti.i32:
        return weigh(n, a=2, off=100, **{"b": 3})  # noqa: PIE804

    assert use(2) == 10


def test_a_function_in_a_list_or_dict_is_chosen_at_compile_time(target: str) -> None:
    @ti.func
    def double(x):
        return 2 * x

    @ti.func
    def square(x):
        return x * x

    listed, named = [double, square], {"double": double, "square": square}

    @ti.kernel
    def use(x: ti.i32, which: ti.template()) -> ti.i32:
        total = named[which](x)
        for function in ti.static(listed):
            total = total * 10 + function(x)
        return total

    assert use(3, "double") == 669 and use(3, "square") == 969


def test_kernels_in_closures(target: str) -> None:
    def make(factor):
        @ti.func
        def scaled(x):
            return x * factor

        @ti.kernel
        def run(x: ti.i32) -> ti.i32:
            return scaled(x) + factor

        return run

    two, five = make(2), make(5)
    assert (two(10), five(10), two(1)) == (22, 55, 4)
