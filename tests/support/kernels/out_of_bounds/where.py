"""Accesses outside an array: by kind of access, axis, type of the index, function and control flow around it."""

from __future__ import annotations

import shadesmith as ti

from .rows import MANY, outside

# --- kinds of access


@outside("a", (4,), (4,))
def read(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.f32:
        return w.a[i]  # out

    return lambda: run(4)


@outside("a", (4,), (4,))
def write(w):
    @ti.kernel
    def run(i: ti.i32):
        w.a[i] = 9.0  # out

    return lambda: run(4)


@outside("a", (-1,), (4,))
def negative(w):
    @ti.kernel
    def run(i: ti.i32):
        w.a[i] = 9.0  # out

    return lambda: run(-1)


@outside("a", (MANY,), (4,))
def far(w):
    @ti.kernel
    def run(i: ti.i32):
        w.a[i] = 9.0  # out

    return lambda: run(MANY)


@outside("a", (2**31 - 1,), (4,))
def as_far_as_i32_goes(w):
    @ti.kernel
    def run(i: ti.i32):
        w.a[i] = 9.0  # out

    return lambda: run(2**31 - 1)


@outside("a", (4,), (4,))
def augmented(w):
    @ti.kernel
    def run(i: ti.i32):
        w.a[i] += 9.0  # out

    return lambda: run(4)


@outside("a", (4,), (4,))
def read_and_write_back(w):
    @ti.kernel
    def run(i: ti.i32):
        w.a[i] = w.a[i] * 2 + 1  # out

    return lambda: run(4)


@outside("b", (4,), (4,))
def atomic_add(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return ti.atomic_add(w.b[i], 1)  # out

    return lambda: run(4)


@outside("a", (-2,), (4,))
def atomic_min(w):
    @ti.kernel
    def run(i: ti.i32):
        ti.atomic_min(w.a[i], -7.0)  # out

    return lambda: run(-2)


@outside("b", (5,), (4,))
def atomic_or(w):
    @ti.kernel
    def run(i: ti.i32):
        w.b[i] |= 8  # out

    return lambda: run(5)


# --- axes


@outside("m", (3, 5), (4, 5))
def second_axis(w):
    """Linear addressing would stay inside the field."""

    @ti.kernel
    def run(i: ti.i32, j: ti.i32):
        w.m[i, j] = 9.0  # out

    return lambda: run(3, 5)


@outside("m", (1, -1), (4, 5))
def negative_second_axis(w):
    @ti.kernel
    def run(i: ti.i32, j: ti.i32) -> ti.f32:
        return w.m[i, j]  # out

    return lambda: run(1, -1)


@outside("t", (1, 2, 4), (2, 3, 4))
def third_axis(w):
    @ti.kernel
    def run(i: ti.i32, j: ti.i32, k: ti.i32):
        w.t[i, j, k] = 9  # out

    return lambda: run(1, 2, 4)


@outside("x", (0, 1, 0, 1, 0, 1, 0, 2), (2, 2, 2, 2, 2, 2, 2, 2))
def eighth_axis(w):
    x = ti.field(ti.i32, (2,) * 8)

    @ti.kernel
    def run(i: ti.i32):
        x[0, 1, 0, 1, 0, 1, 0, i] = 9  # out

    return lambda: run(2)


@outside("x", (1, 0, 3, 0), (2, 2, 3, 2))
def four_axes(w):
    x = ti.ndarray(ti.i32, (2, 2, 3, 2))

    @ti.kernel
    def run(x: ti.types.ndarray(), k: ti.i32):
        x[1, 0, k, 0] = 9  # out

    return lambda: run(x, 3)


# --- types of indices


@outside("a", (2**32,), (4,))
def index_of_64_bits(w):
    @ti.kernel
    def run(i: ti.i64):
        w.a[i] = 9.0  # out

    return lambda: run(2**32)


@outside("a", (2**32 + 1,), (4,))
def index_of_64_bits_known_early(w):
    @ti.kernel
    def run(n: ti.i32):
        k = ti.i64(1) << 32
        w.a[k + 1] = 9.0  # out

    return lambda: run(0)


@outside("a", (2**31 + 1,), (4,))
def huge_unsigned_index(w):
    @ti.kernel
    def run(i: ti.u32):
        w.a[i] = 9.0  # out

    return lambda: run(2**31 + 1)


@outside("m", (1, 2**63), (4, 5))
def huge_unsigned_index_of_64_bits(w):
    @ti.kernel
    def run(i: ti.u64) -> ti.f32:
        return w.m[1, i]  # out

    return lambda: run(2**63)


@outside("a", (-3,), (4,))
def narrow_index(w):
    @ti.kernel
    def run(i: ti.i8):
        w.a[i] = 9.0  # out

    return lambda: run(-3)


@outside("x", (1,), (1,))
def condition_as_index(w):
    x = ti.field(ti.i32, 1)

    @ti.kernel
    def run(i: ti.i32):
        x[i > 3] = 9  # out

    return lambda: run(4)


# --- functions


@outside("a", (5,), (4,), ("run", "store"))
def in_a_function(w):
    @ti.func
    def store(i):
        w.a[i + 1] = 9.0  # out

    @ti.kernel
    def run(i: ti.i32):
        store(i)

    return lambda: run(4)


@outside("a", (6,), (4,), ("run", "outer", "inner"))
def in_a_nested_function(w):
    @ti.func
    def inner(x: ti.template(), i):
        return x[i]  # out

    @ti.func
    def outer(i):
        return inner(w.a, i + 1) + 1

    @ti.kernel
    def run(i: ti.i32) -> ti.f32:
        return outer(i + 1)

    return lambda: run(4)


@outside("a", (8,), (4,))
def index_computed_in_a_function(w):
    @ti.func
    def twice(i):
        return 2 * i

    @ti.kernel
    def run(i: ti.i32):
        w.a[twice(i)] = 9.0  # out

    return lambda: run(4)


@outside("a", (4,), (4,))
def in_the_argument_of_a_call(w):
    @ti.func
    def plus(x):
        return x + 1

    @ti.kernel
    def run(i: ti.i32) -> ti.f32:
        return plus(w.a[i])  # out

    return lambda: run(4)


@outside("x", (4,), (4,), ("run", "store"))
def method_of_a_class(w):
    @ti.data_oriented
    class Cells:
        def __init__(self):
            self.x = ti.field(ti.i32, 4)

        @ti.func
        def store(self, i):
            self.x[i] = 9  # out

        @ti.kernel
        def run(self, i: ti.i32):
            self.store(i)

    cells = Cells()
    return lambda: cells.run(4)


# --- control flow


@outside("b", (4,), (4,))
def second_operand_of_and(w):
    @ti.kernel
    def run(i: ti.i32):
        if i > 3 and w.b[i] == 0:  # out
            w.a[0] = 9.0

    return lambda: run(4)


@outside("b", (4,), (4,))
def second_operand_of_or(w):
    @ti.kernel
    def run(i: ti.i32):
        if i < 4 or w.b[i] == 0:  # out
            w.a[0] = 9.0

    return lambda: run(4)


@outside("a", (4,), (4,))
def ternary(w):
    @ti.kernel
    def run(i: ti.i32) -> ti.f32:
        return w.a[i] if i > 3 else w.a[0]  # out

    return lambda: run(4)


@outside("b", (4,), (4,))
def condition_of_while(w):
    @ti.kernel
    def run() -> ti.i32:
        i = 0
        while w.b[i] >= 0:  # out
            i += 1
        return i

    return run


@outside("b", (4,), (4,))
def condition_of_elif(w):
    @ti.kernel
    def run(i: ti.i32):
        if i == 0:
            w.a[0] = 9.0
        elif w.b[i] == 2:  # out
            w.a[1] = 9.0

    return lambda: run(4)


@outside("b", (7,), (4,))
def bound_of_a_serial_loop(w):
    @ti.kernel
    def run(i: ti.i32):
        if i > 0:
            for k in range(w.b[i]):  # out
                w.a[k] = 9.0

    return lambda: run(7)


@outside("b", (7,), (4,))
def bound_of_a_parallel_loop(w):
    """The loop after it must not run with a bound that was never read."""

    @ti.kernel
    def run(i: ti.i32):
        for k in range(w.b[i]):  # out
            w.last[0] = 9

    return lambda: run(7)


@outside("a", (4,), (4,))
def serial_task_before_a_loop(w):
    @ti.kernel
    def run(i: ti.i32):
        w.a[i] = 9.0  # out
        for k in w.last:
            w.last[k] = 9

    return lambda: run(4)


@outside("a", (6,), (4,), k=6)
def parallel_loop(w):
    @ti.kernel
    def run():
        for k in range(6, 3, -1):
            w.a[k] = 9.0  # out

    return run


@outside("m", (0, 5), (4, 5), i=0, j=5)
def parallel_ndrange(w):
    @ti.kernel
    def run():
        for i, j in ti.ndrange(4, (5, 7)):
            w.m[i, j] = 9.0  # out

    return run


@outside("a", (4,), (4,), i=0, j=4)
def loop_over_another_array(w):
    @ti.kernel
    def run():
        for i, j in w.m:
            if j > 3:
                w.a[j] = 9.0  # out

    return run


@outside("a", (4,), (4,), i=0, j=4)
def loop_over_an_ndarray(w):
    x = ti.ndarray(ti.f32, (4, 5))

    @ti.kernel
    def run(x: ti.types.ndarray()):
        for i, j in x:
            if j > 3:
                w.a[j] = 9.0  # out

    return lambda: run(x)


@outside("a", (4,), (4,), i=2)
def serial_loop_in_a_parallel_one(w):
    @ti.kernel
    def run():
        for i in range(3):
            for k in range(i * 2 + 1):
                if k > 3:
                    w.a[k] = 9.0  # out

    return run


@outside("a", (4,), (4,))
def unrolled_loop(w):
    @ti.kernel
    def run(i: ti.i32):
        for k in ti.static(range(3)):
            if k == 2:
                w.a[i + k] = 9.0  # out

    return lambda: run(2)


@outside("a", (-4,), (4,))
def after_a_guard_that_is_wrong(w):
    @ti.kernel
    def run(i: ti.i32):
        if i >= 4:
            return
        w.a[i] = 9.0  # out

    return lambda: run(-4)
