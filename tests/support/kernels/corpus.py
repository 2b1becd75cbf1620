"""Kernels that together use every statement, type and helper the printers know: what `test_emitted_text.py` compiles.

Each function of `MAKERS` makes its fields in the current session and returns (kernel, arguments).
"""

import typing
from collections.abc import Callable
from typing import Any

import corpus_sparse

import shadesmith as ti

MAKERS: list[Callable[[], tuple[Any, tuple[Any, ...]]]] = []
LANGUAGES: dict[str, tuple[str, ...]] = {}
INTEGERS = [ti.i8, ti.i16, ti.i32, ti.i64, ti.u8, ti.u16, ti.u32, ti.u64]
REALS = [ti.f16, ti.f32, ti.f64]


def entry(function: Callable[[], tuple[Any, tuple[Any, ...]]]) -> Callable[[], tuple[Any, tuple[Any, ...]]]:
    MAKERS.append(function)
    return function


def only(*languages: str) -> Callable[[Any], Any]:
    """Say that a kernel can be had in these languages alone; in the others it must be refused."""

    def mark(function: Any) -> Any:
        LANGUAGES[function.__name__] = languages
        return function

    return mark


def is_in_hip(maker: Any) -> bool:
    """Return whether a kernel can be had in HIP: where CUDA C has it, except for atomic operations below 32 bits."""
    return "cuda" in LANGUAGES.get(maker.__name__, ("cuda",)) and maker is not small_atomics


@ti.func
def collatz(start):
    n = start
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n //= 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 200:
            return -1
    return steps


@ti.func
def sign_of(x):
    if x > 0:
        return 1
    elif x < 0:
        return -1
    return 0


@entry
def every_type() -> tuple[Any, tuple[Any, ...]]:
    fields = [ti.field(t, 8) for t in (*INTEGERS, ti.u1, *REALS)]

    @ti.kernel
    def copy_types(a: ti.i8, b: ti.u16, c: ti.u64, d: ti.f64, e: ti.u1, f: ti.f16):
        for i in range(8):
            for k in ti.static(range(len(fields))):
                fields[k][i] += a
                fields[k][i] = fields[k][i] * 2 + b
        fields[3][0] = c
        fields[11][1] = d
        fields[8][2] = e
        fields[9][3] = f

    return copy_types, (1, 2, 3, 4.0, True, 0.5)


@entry
def integer_operations() -> tuple[Any, tuple[Any, ...]]:
    fields = [ti.field(t, 8) for t in INTEGERS]

    @ti.kernel
    def integer_operators():
        for i in range(8):
            for k in ti.static(range(len(fields))):
                a, b = fields[k][i], fields[k][(i + 1) % 8]
                c = (a + b) * (a - b) ^ (a & b) | (a << 2) & ~b
                c += a // (b | 1) + a % (b | 1) - (a >> 1)
                c += ti.max(a, b) - ti.min(a, b) + abs(a) + ti.bit_shr(a, 1) + (-a)
                c += 1 if a < b <= 5 or not a == b else 2
                fields[k][i] = c

    return integer_operators, ()


@entry
def real_functions() -> tuple[Any, tuple[Any, ...]]:
    fields = [ti.field(t, 8) for t in REALS]

    @ti.kernel
    def real_operators():
        for i in range(8):
            for k in ti.static(range(len(fields))):
                a, b = fields[k][i], fields[k][(i + 1) % 8]
                c = ti.sin(a) + ti.cos(b) * ti.tan(a) - ti.asin(a) / (ti.acos(b) + 1)
                c += ti.atan2(a, b) + ti.tanh(a) + ti.exp(b) + ti.log(a) + ti.sqrt(a) + ti.rsqrt(b)
                c += ti.floor(a) + ti.ceil(b) + ti.round(a) + abs(b) + a**b + a**3 + a % b + a // b
                c += ti.max(a, b, 0.5) + ti.min(a, b) + ti.select(a > b, a, -b)
                fields[k][i] = c

    return real_operators, ()


@entry
def casts() -> tuple[Any, tuple[Any, ...]]:
    types = [*INTEGERS, ti.u1, *REALS]
    fields = [ti.field(t, 4) for t in types]

    @ti.kernel
    def casts_between_all():
        for i in range(4):
            for k in ti.static(range(len(types))):
                for l in ti.static(range(len(types))):
                    fields[l][i] = ti.cast(fields[k][i], types[l])
        fields[2][0] = ti.bit_cast(fields[10][0], ti.i32)
        fields[11][0] = ti.bit_cast(fields[3][0], ti.f64)
        fields[6][0] = ti.bit_cast(fields[10][1], ti.u32)

    return casts_between_all, ()


@entry
def atomics() -> tuple[Any, tuple[Any, ...]]:
    fields = [ti.field(t, 4) for t in (ti.i32, ti.u32, ti.i64, ti.u64, ti.f32, ti.f64)]

    @ti.kernel
    def atomics_of_all_types():
        for i in range(100):
            for k in ti.static(range(len(fields))):
                old = ti.atomic_add(fields[k][i % 4], 1)
                ti.atomic_sub(fields[k][0], old)
                ti.atomic_max(fields[k][1], i)
                ti.atomic_min(fields[k][2], i)
                ti.atomic_mul(fields[k][3], 2)
                if ti.static(k < 4):
                    ti.atomic_and(fields[k][1], 7)
                    ti.atomic_or(fields[k][1], 8)
                    fields[k][2] ^= 3

    return atomics_of_all_types, ()


@only("c", "cuda")
@entry
def small_atomics() -> tuple[Any, tuple[Any, ...]]:
    fields = [ti.field(t, 4) for t in (ti.i8, ti.u8, ti.i16, ti.u16, ti.f16)]

    @ti.kernel
    def atomics_on_small_types():
        for i in range(16):
            for k in ti.static(range(len(fields))):
                fields[k][i % 4] += 1
                ti.atomic_max(fields[k][0], 3)

    return atomics_on_small_types, ()


@entry
def random_numbers() -> tuple[Any, tuple[Any, ...]]:
    out = ti.field(ti.f32, 16)

    @ti.kernel
    def draw() -> ti.f32:
        total = 0.0
        for i in out:
            out[i] = ti.random() + ti.randn() + ti.cast(ti.random(ti.i32) % 6 + ti.random(ti.u32) % 2, ti.f32)
            total += ti.cast(ti.random(ti.f64), ti.f32)
        return total

    return draw, ()


@entry
def results() -> tuple[Any, tuple[Any, ...]]:
    @ti.kernel
    def several(n: ti.i32) -> ti.types.matrix(2, 3, ti.f32):
        if n < 0:
            return ti.Matrix.zero(ti.f32, 2, 3)
        m = ti.Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        return m * n

    return several, (3,)


@entry
def result_of_u64() -> tuple[Any, tuple[Any, ...]]:
    @ti.kernel
    def largest() -> ti.u64:
        return ti.u64(2**64 - 1)

    return largest, ()


@entry
def return_in_branches() -> tuple[Any, tuple[Any, ...]]:
    out = ti.field(ti.i32, 32)

    @ti.kernel
    def early(stop: ti.i32) -> ti.i32:
        for i in out:
            out[i] = collatz(i + 1) * sign_of(i - 4)
        ti.loop_config(serialize=True)
        for i in range(32):
            if out[i] == stop:
                return i
        if stop > 100:
            return -2
        return -1

    return early, (5,)


@entry
def return_ends_an_iteration() -> tuple[Any, tuple[Any, ...]]:
    out = ti.field(ti.i32, 32)

    @ti.kernel
    def bail(n: ti.i32):
        if n < 0:
            return
        for i in out:
            if out[i] > n:
                return
            for k in range(i):
                if k * k == out[i]:
                    return
            out[i] += 1
        out[0] = 3

    return bail, (5,)


@entry
def temporaries() -> tuple[Any, tuple[Any, ...]]:
    x = ti.Vector.field(3, ti.f32, 32)

    @ti.kernel
    def centre(n: ti.i32):
        total = ti.Vector([0.0, 0.0, 0.0])
        largest = 0.0
        for i in range(n):
            total += x[i]
            ti.atomic_max(largest, x[i].norm())
        mean = total / n
        for i in range(n):
            x[i] = (x[i] - mean) / largest

    return centre, (32,)


@entry
def small_vectors() -> tuple[Any, tuple[Any, ...]]:
    v = ti.Vector.field(3, ti.f32, 8)
    w = ti.Vector.field(4, ti.i32, 8)
    u = ti.Vector.field(2, ti.f64, 8)

    @ti.kernel
    def vectors(k: ti.i32, offset: ti.types.vector(3, ti.f32)):
        for i in v:
            a = v[i] + offset
            a.xy = a.yx * 2
            a[k] = a.dot(offset) + a.norm() + a.norm_sqr() + a.sum() + a.max() - a.min()
            b = a.cross(offset).normalized()
            v[i] = ti.max(b, 0.0) + ti.sin(a) * ti.cast(w[i].xyz, ti.f32)
            w[i] = (w[i] << 1) // 3 % 7 & ti.Vector([1, 2, 3, 4])
            w[i].w += 1 if (w[i] > 2).any() and (w[i] < 9).all() else 0
            u[i] = u[i].yx * 0.5 + ti.cast(a.xz, ti.f64)

    return vectors, (1, ti.Vector([1.0, 2.0, 3.0]))


@entry
def matrices() -> tuple[Any, tuple[Any, ...]]:
    A = ti.Matrix.field(3, 3, ti.f32, 8)
    B = ti.Matrix.field(2, 3, ti.f32, 8)
    C = ti.Matrix.field(4, 4, ti.f32, 8)
    D = ti.Matrix.field(2, 2, ti.i32, 8)

    @ti.kernel
    def matrices_of_all_sizes(r: ti.i32, c: ti.i32):
        for i in A:
            A[i] = A[i] @ A[i].transpose() + A[i].inverse() * A[i].determinant()
            B[i] = B[i] @ A[i] - ti.Matrix([[1.0, 0.0, 0.0], [0.0, A[i].trace(), 1.0]])
            C[i][r, c] = C[i][c, r] + (C[i] @ ti.Vector([1.0, 2.0, 3.0, 4.0])).y
            C[i] += ti.Matrix.identity(ti.f32, 4)
            D[i] = D[i] @ D[i] + D[i].transpose() % 3
            A[i] *= ti.exp(A[i])
            A[i] += ti.Vector([1.0, 2.0, 3.0]).outer_product(ti.Vector([c, r, 0]))

    return matrices_of_all_sizes, (1, 2)


@entry
def large_tensors() -> tuple[Any, tuple[Any, ...]]:
    v = ti.Vector.field(7, ti.f32, 8)
    M = ti.Matrix.field(5, 6, ti.f64, 4)

    @ti.kernel
    def large(k: ti.i32):
        for i in v:
            a = v[i] * 2 + 1
            a[k] -= a[6]
            a[k + 1] = a.sum()
            v[i] = -a
        for i in M:
            M[i] += M[i] * 0.5
            M[i][k, 2] = M[i][0, k]

    return large, (3,)


@entry
def ndarrays() -> tuple[Any, tuple[Any, ...]]:
    vec3 = ti.types.vector(3, ti.f32)
    mat2 = ti.types.matrix(2, 2, ti.f32)

    @ti.kernel
    def arrays_of_tensors(
        a: ti.types.ndarray(vec3, 1),
        b: ti.types.ndarray(mat2, 2),
        c: ti.types.ndarray(ti.u8, 3),
        d: ti.types.ndarray(ti.i64, 0),
    ):
        for i in a:
            a[i] += ti.Vector([i, i, i]) * 0.5
            d[None] += i
        for i, j in b:
            b[i, j] = b[i, j] @ b[i, j]
        for I in ti.grouped(c):
            c[I] = c[I] + I.sum() + c.shape[1]

    return arrays_of_tensors, ()


@entry
def loops() -> tuple[Any, tuple[Any, ...]]:
    out = ti.field(ti.i32, (6, 7))

    @ti.kernel
    def loops_of_all_forms(n: ti.i32):
        for i, j in ti.ndrange((1, n), 7):
            for k in range(i, n):
                if k == j:
                    continue
                if k > 4:
                    break
                out[i, j] += k
        for i in range(n, 0, -2):
            for a, b in ti.ndrange(3, n):
                if a * b > 4:
                    break
                out[i - 1, 0] += 1
        for I in ti.grouped(out):
            out[I] += I[0] * I[1]
        for I in ti.grouped(ti.ndrange((0, 2), (1, 3), 2)):
            out[I[0], I[1]] += I[2]
        k = 0
        while True:
            k += 1
            if k % 3 == 0:
                continue
            if k > n:
                break
            out[0, 1] += k

    return loops_of_all_forms, (6,)


@entry
def extent_on_device() -> tuple[Any, tuple[Any, ...]]:
    count = ti.field(ti.i32, ())
    out = ti.field(ti.f32, 64)

    @ti.kernel
    def as_many_as_counted():
        for i in range(count[None]):
            out[i] += 1.0
        for i in range(count[None] // 2, count[None]):
            out[i] *= 2.0

    return as_many_as_counted, ()


@entry
def high_ranks() -> tuple[Any, tuple[Any, ...]]:
    x = ti.field(ti.f32, (2, 3, 2, 2, 1, 2, 1, 3))
    s = ti.field(ti.f32, ())

    @ti.kernel
    def eight_axes():
        for a, b, c, d, e, f, g, h in x:
            x[a, b, c, d, e, f, g, h] = a + b + c + d + e + f + g + h
        s[None] = x[1, 1, 1, 1, 0, 1, 0, 2]

    return eight_axes, ()


@entry
def many_arguments() -> tuple[Any, tuple[Any, ...]]:
    M = ti.types.matrix(4, 4, ti.f32)

    @ti.kernel
    def over_128_bytes(a: M, b: M, c: M, x: ti.types.ndarray(ti.f32, 1), d: ti.u8, e: ti.f64):
        for i in x:
            x[i] += (a @ b + c)[0, 3] + d + e

    return over_128_bytes, ()


@entry
def constants() -> tuple[Any, tuple[Any, ...]]:
    out = ti.field(ti.f64, 16)
    big = ti.field(ti.u64, 4)
    small = ti.field(ti.i64, 4)

    @ti.kernel
    def odd_constants():
        out[0] = 1e-30
        out[1] = ti.math.inf
        out[2] = -ti.math.inf
        out[3] = ti.math.nan
        out[4] = 3
        out[5] = -0.0
        out[6] = ti.f64(0.1)
        out[7] = 1e38
        small[0] = -(2**63)
        small[1] = 2**63 - 1
        small[2] = -(2**31)
        big[0] = ti.u64(2**64 - 1)
        big[1] = ti.u32(2**32 - 1)

    return odd_constants, ()


@entry
def names() -> tuple[Any, tuple[Any, ...]]:
    buffer = ti.field(ti.f32, 8)
    texture = ti.field(ti.f32, 8)

    @ti.kernel
    def main(float: ti.f32, input: ti.i32, args: ti.i32, x: ti.types.ndarray(ti.f32, 1), double: ti.f32):
        for gl_index in buffer:
            vec3 = buffer[gl_index] * float
            struct = texture[gl_index] + input
            __restrict = vec3 + struct
            Args = __restrict * args
            index = Args + double
            int4 = index - 1
            task = int4 + x[gl_index]
            t0 = task * task
            threadIdx = t0 * t0 + task
            buffer[gl_index] = threadIdx + t0

    return main, (1.0, 2, 3)


@entry
def math_module() -> tuple[Any, tuple[Any, ...]]:
    tm = ti.math
    v = ti.Vector.field(3, ti.f32, 8)
    s = ti.field(ti.f32, 8)
    u = ti.field(ti.u32, 8)

    @ti.kernel
    def functions_of_ti_math():
        for i in v:
            a, b = v[i], v[i].zxy
            s[i] = tm.mix(s[i], 1.0, 0.25) + tm.clamp(s[i], 0.0, 1.0) + tm.smoothstep(0.0, 1.0, s[i])
            s[i] += tm.step(0.5, s[i]) + tm.fract(s[i]) + tm.sign(s[i]) + tm.degrees(s[i]) + tm.radians(s[i])
            s[i] += tm.distance(a, b) + tm.length(a) + tm.log2(s[i]) + tm.mod(s[i], 0.7) + tm.dot(a, b)
            v[i] = tm.reflect(a, b) + tm.refract(a, b, 0.5) + tm.cross(a, b) + tm.normalize(a) + tm.mix(a, b, 0.5)
            if tm.isnan(s[i]) or tm.isinf(s[i]):
                s[i] = 0.0
            u[i] = ti.cast(tm.popcnt(u[i]) + tm.clz(ti.cast(u[i], ti.i32)), ti.u32)

    return functions_of_ti_math, ()


@entry
def complex_numbers() -> tuple[Any, tuple[Any, ...]]:
    z = ti.Vector.field(2, ti.f32, 8)

    @ti.kernel
    def powers_of_complex_numbers():
        for i in z:
            z[i] = ti.math.cmul(z[i], ti.math.cconj(z[i])) + ti.math.cexp(ti.math.cinv(z[i]))

    return powers_of_complex_numbers, ()


@entry
def lazy_expressions() -> tuple[Any, tuple[Any, ...]]:
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def lazy(n: ti.i32):
        for i in range(16):
            if i < 8 and (x[i] > 0 or ti.atomic_add(x[0], 1) > 3) and not (i == 5):
                x[i % 8] += x[i] if i < 8 else collatz(i)
            y = 0 if i == 0 else n // i
            x[i % 8] = y if y > 2 else (-y if y < 0 else x[(i + 1) % 8])

    return lazy, (12,)


@entry
def nothing_to_do() -> tuple[Any, tuple[Any, ...]]:
    @ti.kernel
    def empty(n: ti.i32):
        for i in range(n):
            pass

    return empty, (3,)


@entry
def serial_loops() -> tuple[Any, tuple[Any, ...]]:
    x = ti.field(ti.f32, 16)

    @ti.kernel
    def serial() -> ti.f32:
        ti.loop_config(serialize=True)
        for i in range(1, 16):
            x[i] += x[i - 1]
            if x[i] > 50:
                break
        ti.loop_config(block_dim=64)
        for i in x:
            x[i] *= 0.5
        return x[15]

    return serial, ()


@ti.real_func
def clamp_bytes(a: ti.i8, b: ti.ref(ti.u8), keep: ti.u1) -> typing.Tuple[ti.i8, ti.u8, ti.u1]:  # noqa: UP006
    if keep:
        return a, b, not keep
    b += ti.u8(3)
    return -a, b, keep


@ti.real_func
def reached(
    place: ti.ref(ti.types.vector(3, ti.f32)), turned: ti.ref(ti.types.matrix(2, 5, ti.i32)), k: ti.i32, unused: ti.f32
) -> ti.types.vector(3, ti.f32):
    place[k % 3] += ti.random()
    place.y *= 2.0
    turned[k % 2, 1] = k
    turned += 1
    if k == 7:
        print("seven", place)
    assert k >= 0, f"{k} is negative"
    return place


@ti.real_func
def settle(x: ti.ref(ti.f64), out: ti.types.ndarray()):
    if x > 10.0:
        return
    for i in range(out.shape[0]):
        out[i] += ti.cast(x, ti.f32)
    x = -x


@entry
def called_functions() -> tuple[Any, tuple[Any, ...]]:
    @ti.kernel
    def calls_of_all_forms(out: ti.types.ndarray(dtype=ti.f32, ndim=1), n: ti.i32) -> ti.f64:
        x = ti.f64(n)
        settle(x, out)
        for i in out:
            place = ti.Vector([0.0, 1.0, 2.0])
            turned = ti.Matrix.zero(ti.i32, 2, 5)
            byte = ti.u8(i)
            a, b, c = clamp_bytes(ti.i8(i), byte, i > 2)
            pair = clamp_bytes(a, byte, c)
            sum = reached(place, turned, i, out[0])
            reached(place, turned, i + 1, 0.0)
            out[i] = sum.x + place.y + turned[1, 1] + b + byte + pair[1]
        return x

    return calls_of_all_forms, (ti.ndarray(ti.f32, 5), 3)


@ti.real_func
def ackermann(m: ti.i64, n: ti.i64) -> ti.i64:
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann(m - 1, 1)
    return ackermann(m - 1, ackermann(m, n - 1))


@ti.real_func
def down(n: ti.i32, seen: ti.ref(ti.i32)) -> ti.types.vector(2, ti.i32):
    seen += 1
    return ti.Vector([n, seen]) if n <= 0 else up(n - 2, seen)


@ti.real_func
def up(n: ti.i32, seen: ti.ref(ti.i32)) -> ti.types.vector(2, ti.i32):
    return down(n + 1, seen)


@only("c", "cuda")
@entry
def recursive_functions() -> tuple[Any, tuple[Any, ...]]:
    x = ti.Vector.field(2, ti.i32, shape=4)

    @ti.kernel
    def recursion(m: ti.i64):
        for i in x:
            seen = 0
            x[i] = down(i, seen) * ti.cast(ackermann(m, i), ti.i32) + seen

    return recursion, (2,)


MAKERS += corpus_sparse.MAKERS
