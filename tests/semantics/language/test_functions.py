"""Functions of the emitted source compute what their statements in the place of the calls compute, bit by bit."""

from __future__ import annotations

import itertools
import re
from functools import cache

import numpy as np
import pytest

import shadesmith as ti

ROWS, COLUMNS = 7, 16
DATA = np.array([0.0, 1.25, -2.5, 3.0, -0.1, 7.5, -0.3], np.float32)
vec2, vec3 = ti.math.vec2, ti.math.vec3


@ti.dataclass
class Ball:
    center: vec3
    radius: ti.f32
    hit: ti.u1

    @ti.func
    def distance(self, p):
        return (p - self.center).norm() - self.radius

    @ti.func
    def move(self, by):
        self.center += by
        self.hit = self.radius > by.x
        self.radius *= 0.5

    @ti.func
    def shake(self, n: ti.template()):
        for _ in range(n):
            self.move(vec3(0.25, n, 0.5))


@ti.data_oriented
class Scaled:
    def __init__(self, factor):
        self.factor = factor
        self.cells = ti.field(ti.f32, ROWS)

    @ti.func
    def apply(self, i, x):
        self.cells[i] = self.cells[i] + self.factor * x
        return self.cells[i]


@ti.func
def lerp(a, b, t):
    return a + t * (b - a)


@ti.func
def clamped(x, low, high):
    if x < low:
        return low * 1.0
    if x > high:
        return high
    return x


@ti.func
def change(v: ti.template(), k):
    for c in range(2):
        v += k + c


@ti.func
def twice(v: ti.template(), k):
    change(v, k)
    change(v, 2 * k)


@ti.func
def only_reads(v: ti.template(), k):
    s = 0.0
    for c in range(2):
        s += v[(c + k) % 2]
    return s


@ti.func
def swap(a: ti.template(), b: ti.template()):
    t = a
    a = b
    b = t


@ti.func
def halves(x):
    x = x * 0.5
    if x < 0:
        x = -x
    return x, x + 1, ti.cast(x, ti.i32)


@ti.func
def kinds(x, which: ti.template()):
    if ti.static(which == 0):
        return ti.cast(x, ti.i32) // 3
    elif ti.static(which == 1):
        return x * 3
    return x


@ti.func
def search(x: ti.template(), n, what):
    for k in range(n):
        if x[k] == what:
            return k
    return -1


@ti.func
def collatz(start):
    n = start
    steps = 0
    while n > 1 and steps < 50:
        steps += 1
        if n % 2 == 0:
            n //= 2
            continue
        n = 3 * n + 1
    return steps


@ti.func
def signed(x) -> ti.i32:
    result = x
    if x > 2:
        result = x / 2
    return result


@ti.func
def sum_to(n: ti.template()):
    return 1 if ti.static(n <= 1) else sum_to(n - 1) * 2 + n


@ti.func
def choose(c, a, b):
    r = a
    if c:
        r = b
    return r


@ti.func
def power(x, n):
    r = x**2
    for _ in range(n):
        r *= x
    return r


@ti.func
def moved(ball, by):
    ball.move(by)
    return ball


@ti.func
def add_at(x: ti.template(), i, value):
    x[i % x.shape[0]] += value
    x[0] += 1.0


@ti.func
def nothing(x):
    y = x
    y += 1


@ti.func
def grown(n, by):
    m = n
    m += by
    m -= by
    return m


@ti.func
def types(x, n):
    a = ti.f64(x)
    b: ti.u8 = n
    c = ti.cast(x, ti.f64) * 3
    v = vec3(n, x, 1)
    v[1] += n
    w = ti.Vector([x, n])
    return a + b + c + v.y + w.sum() + v[0] * n


@ti.kernel
def values(out: ti.types.ndarray(ti.f32, 2), data: ti.types.ndarray(ti.f32, 1)):
    for i in data:
        x = data[i]
        out[i, 0] = lerp(x, 2 * x, 0.25) + lerp(x, 1, x) + lerp(1, 2, 0.1)
        v = lerp(vec2(x, 1), vec2(i, x), 0.5)
        out[i, 1] = clamped(x, -1, 2) + clamped(x, -1, 2.5) + clamped(v.x, v.y, 3.5)
        a, b, c = halves(x)
        d, e, f = halves(i)
        out[i, 2] = a + 2 * b + 4 * c + 8 * d + 16 * e + 32 * f
        out[i, 3] = kinds(x, 0) + kinds(x, 1) + kinds(i, 2) + kinds(i + 1, 1)
        out[i, 4] = search(data, ROWS, x) + search(data, ROWS, 99.0) + search(data, i, 3.0)
        out[i, 5] = collatz(i) + collatz(i + 20) + collatz(27)
        out[i, 6] = signed(x) + signed(i) + signed(x * 3)
        out[i, 7] = sum_to(5) + sum_to(3)
        out[i, 8] = choose(x > 0, x, i) + choose(i > 2, i, x) + choose(True, x, 3)
        out[i, 9] = power(x, 3) + power(x, i % 3) + power(i, 2)
        out[i, 11] = grown(i - 3, 1.9) + 10 * grown(-i, -1.5) + 100 * grown(x, 1) + 1000 * grown(i, 2)
        out[i, 12] = types(0.1, 3) + types(0.3, 5) + types(x, i) + types(0.1, 200) + types(-2.5, 255)
        nothing(x)
        nothing(i)
        out[i, 10] = (-i + 3) // 2 + wrapped(-i, 4) + wrapped(i - 5, 4) + wrapped(i, 4)


@ti.func
def wrapped(i, n):
    q = i // n
    r = i % n
    return q * 10 + r


@ti.kernel
def references(out: ti.types.ndarray(ti.f32, 2), data: ti.types.ndarray(ti.f32, 1)):
    for i in data:
        x = data[i]
        change(x, i)
        out[i, 0] = x
        v = vec2(x, i)
        twice(v, 3)
        twice(v.x, 2)
        change(v[1], 0.5)
        out[i, 1] = v.x + 100 * v.y
        out[i, 2] = only_reads(v, i) + only_reads(v, 1)
        y = 2.0 * x
        swap(x, y)
        swap(v.x, v.y)
        swap(v.y, x)
        out[i, 3] = x + 3 * y + 5 * v.x + 7 * v.y
        ball = Ball(vec3(x, 1, i), 2.0, False)
        ball.shake(2)
        other = moved(ball, vec3(1, 2, x))
        ball.move(vec3(0.5, 0.5, 0.5))
        out[i, 4] = ball.distance(vec3(0.5, x, 1)) + other.distance(vec3(1.5, x, 2)) + 3 * other.hit + 7 * ball.hit
        out[i, 5] = ball.radius + other.radius + other.center.z
        for k in ti.static(range(3)):
            change(v, k * 0.5)
            out[i, 6 + k] = lerp(v[k % 2], k, 0.5) + clamped(x, 0, k)
        n = i
        change(n, 1)
        change(n, 2.7)
        out[i, 9] = n


scatter_cells = None


@ti.kernel
def arrays(out: ti.types.ndarray(ti.f32, 2), data: ti.types.ndarray(ti.f32, 1)):
    for i in data:
        add_at(scatter_cells, i + 1, 0.5)
        add_at(scatter_cells, i + 2, 2.0)
    first = lerp(scatter_cells[0], scatter_cells[1], 0.5)
    second = lerp(scatter_cells[2], 8.0, 0.5)
    for i in data:
        out[i, 0] = scatter_cells[i] + first + second
        out[i, 1] = first_scaled.apply(i, data[i]) + second_scaled.apply(i, 2.0)
        out[i, 2] = first_scaled.apply(i, 1) + second_scaled.cells[i]


first_scaled = second_scaled = None
KERNELS = [values, references, arrays]


def run(target: str, inline: bool | str, debug: bool = False, kernels: list = KERNELS) -> list[np.ndarray]:
    global scatter_cells, first_scaled, second_scaled
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, fast_math=False, inline=inline, debug=debug)
    scatter_cells, first_scaled, second_scaled = ti.field(ti.f32, ROWS), Scaled(2.0), Scaled(3.5)
    results = []
    for kernel in kernels:
        out = np.zeros((ROWS, COLUMNS), np.float32)
        kernel(out, DATA)
        results.append(out)
    return results


@cache
def of_the_interpreter(kernels: tuple) -> list[np.ndarray]:
    """Return what the interpreter computes, once for all targets."""
    return run("python", True, kernels=list(kernels))


@pytest.mark.all_targets
@pytest.mark.sampled(2)
@pytest.mark.parametrize("inline, debug", [(True, False), ("auto", False), (False, False), ("auto", True)])
def test_functions_compute_what_their_statements_compute(
    target: str, inline: bool | str, debug: bool, full: bool
) -> None:
    """Mesa's compiler takes 10 s for the other two kernels under debug on lavapipe."""
    kernels = [arrays] if target == "vulkan" and debug and not full else KERNELS
    wanted = of_the_interpreter(tuple(kernels))
    for kernel, found, expected in zip(kernels, run(target, inline, debug, kernels), wanted, strict=True):
        np.testing.assert_allclose(found, expected, 1e-6, err_msg=f"{kernel} {inline} {debug}")


def test_functions_in_the_interpreter() -> None:
    for inline, debug in ((False, False), ("auto", False), ("auto", True)):
        for found, expected in zip(run("python", inline, debug), run("python", True), strict=True):
            np.testing.assert_array_equal(found, expected)


# --- what stays a function -------------------------------------------------------------------------------------------


def source(kernel, *arguments) -> str:
    return kernel.source(arch=ti.cc, *arguments) if arguments else kernel.source(arch=ti.cc)


def functions(kernel) -> list[str]:
    """Return the names of the user's functions in a kernel's source, in order."""
    head = r"^// test_functions\.py:\d+  def .*\n(?://.*\n)*static inline \w+ (\w+)\("
    return re.findall(head, source(kernel), re.MULTILINE)


@pytest.fixture
def x() -> ti.Field:
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-flush_subnormals")
    return ti.field(ti.f32, 8)


def test_a_function_keeps_its_name_and_its_parameters(x) -> None:
    @ti.kernel
    def k():
        for i in x:
            x[i] = lerp(x[i], 1.0, 0.5) + lerp(x[i], x[0], 0.25)

    assert "static inline float lerp(float a, float b, float t) { return a + t * (b - a); }  // :" in source(k)
    assert "x(i) = lerp(x(i), 1.0f, 0.5f) + lerp(x(i), x(0), 0.25f);" in source(k)


def test_a_short_function_that_is_called_once_is_inlined(x) -> None:
    @ti.kernel
    def k():
        for i in x:
            x[i] = lerp(x[i], 1.0, 0.5)

    assert functions(k) == [] and "0.5f * (1.0f - " in source(k)


def test_specializations_have_readable_names(x) -> None:
    y = ti.Vector.field(2, ti.f32, 8)

    @ti.kernel
    def k():
        for i in x:
            x[i] = lerp(x[i], 1.0, 0.5) + search(x, 8, 1.0) + lerp(x[0], x[1], x[i])
            y[i] = lerp(y[i], y[0], 0.25) + lerp(y[i], y[1], x[i])
            x[i] += search(other, 8, 1.0)

    other = ti.field(ti.f32, 8)
    assert sorted(functions(k)) == ["lerp", "lerp_vec2", "search", "search_other"]


def test_options_and_decorators_decide(x) -> None:
    @ti.func(inline=True)
    def inlined(a):
        return a * a + 1

    @ti.func(inline=False)
    def called(a):
        return a * a + 2

    @ti.kernel
    def k():
        for i in x:
            x[i] = inlined(x[i]) + inlined(x[0]) + called(x[i])

    assert functions(k) == ["called"]
    ti.init(arch=ti.python, log_level=ti.ERROR, inline=True)
    assert functions(k) == ["called"]
    ti.init(arch=ti.python, log_level=ti.ERROR, inline=False)
    assert functions(k) == ["called"]
    with pytest.raises(TypeError, match="`inline` of a function is True, False or None"):
        ti.func(inline="yes")(lerp.function)
    with pytest.raises(ValueError, match="option `inline` of ti.init is one of 'auto', True, False"):
        ti.init(arch=ti.python, inline="always")


def test_a_function_that_cannot_be_one_warns(x) -> None:
    @ti.func(inline=False)
    def size(a):
        return a.n

    class Sized:
        n = 3

    @ti.kernel
    def k():
        for i in x:
            x[i] = size(Sized) + i

    with pytest.warns(match="`size` has `inline=False`, but this call is inlined"):
        k()


def test_atomics_whose_loop_decides_are_inlined(x) -> None:
    total = ti.field(ti.f32, ())

    @ti.func
    def add(i):
        x[i] += 1.0
        total[None] += x[i]

    @ti.kernel
    def k():
        for i in x:
            add(i)
            add(i)

    assert functions(k) == []


def test_python_functions_are_called_once_for_each_call(x) -> None:
    count = itertools.count()

    @ti.func
    def number(a):
        return a + ti.static(next(count))

    @ti.kernel
    def k():
        for i in x:
            x[i] = number(0.0) + 10 * number(0.0)

    k()
    assert x[3] in (1 * 10 + 0, 3 * 10 + 2)


def test_a_loop_of_a_function_is_parallel_at_the_top_of_a_kernel(x) -> None:
    @ti.func
    def fill(a: ti.template(), value):
        for i in a:
            a[i] = value + i

    @ti.kernel
    def k():
        fill(x, 1)
        fill(x, 2)

    assert functions(k) == [] and len(k.inspect(arch=ti.cc).module.tasks) == 2
    k()
    np.testing.assert_array_equal(x.to_numpy(), np.arange(8) + 2)


def test_recursion_is_refused(x) -> None:
    @ti.func
    def down(a):
        return down(a - 1) if a > 0 else a

    @ti.kernel
    def k():
        for i in x:
            x[i] = down(x[i])

    with pytest.raises(ti.TaichiSyntaxError, match=r"`down` calls itself \(down -> down\)"):
        k()


def test_a_constant_index_out_of_range_is_an_error_in_every_call(x) -> None:
    @ti.func
    def at(a: ti.template(), i):
        return a[i] * a[i]

    @ti.func
    def outer(i):
        return at(x, i) + at(x, 3)

    @ti.kernel
    def k(n: ti.template()):
        for i in x:
            x[i] = outer(2) + outer(n) + outer(i)

    k(7)
    for wrong in (8, -1):
        with pytest.raises(ti.TaichiIndexError, match="in at:"):
            k(wrong)


def test_an_error_in_a_function_shows_the_calls(x) -> None:
    @ti.func
    def inner(a):
        b = a + 1
        return b.missing

    @ti.func
    def outer(a):
        c = a
        return inner(c) + inner(a)

    @ti.kernel
    def k():
        for i in x:
            x[i] = outer(x[i])

    with pytest.raises(ti.TaichiCompilationError) as caught:
        k()
    text = str(caught.value)
    assert text.index("in k:") < text.index("in outer:") < text.index("in inner:")
    assert text.count("File ") == 3


def test_a_failing_check_in_a_function_names_function_and_call(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, debug=True)
    x = ti.field(ti.f32, 8)

    @ti.func
    def read(i, by):
        k = i + by
        assert k >= 0, "k is {}"
        return x[k]

    @ti.kernel
    def k():
        for i in range(1):
            x[i] = read(i, 0) + read(i, 9)

    with pytest.raises(Exception, match="with indices") as caught:
        k()
        ti.sync()
    text = str(caught.value)
    assert "in read:" in text and "in k:" in text and "read(i, 9)" in text
