"""Pass `staged_stores`: threads of GPUs store structs and matrices number by number; every number is stored, no other is."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.passes.tiles import staged_stores as staged

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

COUNTS = [staged.FEW, staged.FEW + 1, staged.FEW + 127, 2 * staged.FEW - 128]
DTYPES = [ti.f32, ti.i32, ti.u32, ti.f64, ti.i64]
MATRICES = ti.types.ndarray(ti.math.mat3, 1)
STAGED = "store neighbouring numbers (staged_stores)"


def start(target: str, **options: object) -> None:
    if target == "python":
        pytest.skip("the interpreter has no blocks of threads, and takes seconds for so many iterations")
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, **options)


def is_staged(kernel, *args) -> bool:
    return STAGED in kernel.source(*args, arch=ti.cuda) and STAGED in kernel.source(*args, arch=ti.vulkan)


def numbers(shape, dtype=np.float32):
    return np.random.default_rng(1).integers(0, 9, shape).astype(dtype)


@pytest.mark.parametrize("n", COUNTS)
def test_matrices(target: str, n: int) -> None:
    start(target)
    F = ti.Matrix.field(3, 3, ti.f32, n)

    @ti.kernel
    def double():
        for i in F:
            F[i] = F[i].transpose() * 2

    a = numbers((n, 3, 3))
    F.from_numpy(a)
    double()
    assert np.array_equal(F.to_numpy(), 2 * a.transpose(0, 2, 1))
    assert is_staged(double)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("length", [6, 8, 12])
def test_vectors(target: str, dtype, length: int) -> None:
    start(target)
    v = ti.Vector.field(length, dtype, 40_000)

    @ti.kernel
    def add():
        for i in v:
            v[i] += i

    add()
    assert np.array_equal(v.to_numpy(), np.arange(40_000)[:, None].repeat(length, 1))
    assert is_staged(add)


def test_members_that_are_stored_and_others(target: str) -> None:
    """An iteration that stores a part stores the rest again; a branch decides about a part; the types differ."""
    start(target)
    n = 40_001
    Particle = ti.types.struct(position=ti.math.vec3, velocity=ti.math.vec3, id=ti.i32)
    p = Particle.field(shape=n)

    @ti.kernel
    def move(dt: ti.f32):
        for i in p:
            p[i].position += dt * p[i].velocity
            if p[i].position.y < 4:
                p[i].velocity.y = -p[i].velocity.y
                p[i].position.y = 8 - p[i].position.y

    x, v, ids = numbers((n, 3)), numbers((n, 3)), np.arange(n, dtype=np.int32)
    p.from_numpy({"position": x, "velocity": v, "id": ids})
    move(2.0)
    x = x + 2 * v
    low = x[:, 1] < 4
    v[low, 1] *= -1
    x[low, 1] = 8 - x[low, 1]
    found = p.to_numpy()
    assert np.array_equal(found["position"], x) and np.array_equal(found["velocity"], v)
    assert np.array_equal(found["id"], ids)
    assert is_staged(move, 2.0)


def test_bits_of_numbers_that_are_none(target: str) -> None:
    start(target)
    n = 33_000
    Value = ti.types.struct(a=ti.types.vector(5, ti.f32), b=ti.u32)
    s = Value.field(shape=n)

    @ti.kernel
    def copy():
        for i in s:
            s[i].a = ti.Vector([s[i].a[4], s[i].a[3], s[i].a[2], s[i].a[1], s[i].a[0]])

    a = np.full((n, 5), [np.nan, -0.0, np.inf, 1e-42, -np.inf], np.float32)
    s.from_numpy({"a": a, "b": np.full(n, 0xFFFFFFFF, np.uint32)})
    copy()
    assert np.array_equal(s.to_numpy()["a"].view(np.uint32), a[:, ::-1].view(np.uint32))
    assert (s.to_numpy()["b"] == 0xFFFFFFFF).all()


@pytest.mark.parametrize("shape", [(200, 211), (256, 256), (1, 33_001), (33_001, 1)])
def test_two_axes(target: str, shape) -> None:
    start(target)
    F = ti.Matrix.field(2, 3, ti.i32, shape)

    @ti.kernel
    def fill():
        for i, j in F:
            for r, c in ti.static(ti.ndrange(2, 3)):
                F[i, j][r, c] = 100_000 * r + 10_000 * c + i - j

    fill()
    i, j = np.indices(shape)
    for r in range(2):
        for c in range(3):
            assert np.array_equal(F.to_numpy()[..., r, c], 100_000 * r + 10_000 * c + i - j)
    assert is_staged(fill)


@pytest.mark.parametrize("n", [1, 31, 128, 129, 1000])
def test_ndarrays(target: str, n: int) -> None:
    start(target)

    @ti.kernel
    def multiply(a: MATRICES, b: MATRICES):
        for i in a:
            a[i] = b[i] @ a[i]

    x, y = numbers((n, 3, 3)), numbers((n, 3, 3))
    a, b = ti.ndarray(ti.math.mat3, n), ti.ndarray(ti.math.mat3, n)
    a.from_numpy(x)
    b.from_numpy(y)
    multiply(a, b)
    assert np.array_equal(a.to_numpy(), y @ x)
    multiply(a, a)  # they may be one array
    assert np.array_equal(a.to_numpy(), (y @ x) @ (y @ x))
    assert is_staged(multiply, a, b)


@pytest.mark.parametrize("count", [0, 1, 127, 128, 1000, 40_000])
def test_a_number_of_iterations_that_a_launch_gives(target: str, count: int) -> None:
    start(target)
    v = ti.Vector.field(7, ti.i32, 40_000)

    @ti.kernel
    def fill(m: ti.i32):
        for i in range(m):
            for k in ti.static(range(7)):
                v[i][k] = i * 7 + k + 1

    fill(count)
    expected = np.arange(1, 280_001, dtype=np.int32)
    expected[7 * count :] = 0
    assert np.array_equal(v.to_numpy().ravel(), expected)
    assert is_staged(fill, count)


def test_several_arrays_and_a_function_with_a_loop(target: str) -> None:
    start(target)
    n = 32_900
    F, Q = ti.Matrix.field(3, 3, ti.f32, n), ti.Matrix.field(2, 3, ti.i32, n)

    @ti.real_func
    def power(a: ti.math.mat3, k: ti.i32) -> ti.math.mat3:
        result = a
        for j in range(1, 3):
            if j < k:
                result = result @ a
        return result

    @ti.kernel
    def both():
        for i in F:
            F[i] = power(F[i], i % 3)
            Q[i] += ti.cast(F[i][0, 0], ti.i32)

    a = numbers((n, 3, 3))
    F.from_numpy(a)
    both()
    expected = a.copy()
    expected[2::3] = a[2::3] @ a[2::3]
    assert np.array_equal(F.to_numpy(), expected)
    assert np.array_equal(Q.to_numpy(), expected[:, :1, :1].astype(np.int32).repeat(2, 1).repeat(3, 2))
    assert is_staged(both)


def refused(kernel, *args) -> None:
    kernel(*args)
    assert STAGED not in kernel.source(*args, arch=ti.cuda)


def test_what_stays(target: str) -> None:
    """Elements of others, atomic additions of several iterations, a small part, few iterations, orders that differ."""
    start(target)
    n = 40_000
    F, G = ti.Matrix.field(3, 3, ti.f32, n), ti.Matrix.field(3, 3, ti.f32, (200, 200))

    @ti.kernel
    def neighbour():
        for i in range(n - 1):
            F[i] = F[i + 1] * 0

    @ti.kernel
    def shifted():
        for i in range(n - 1):
            F[i + 1] = F[i + 1] + 1

    @ti.kernel
    def scattered():
        for i in F:
            F[i] = F[i] * 2
            F[i // 2] += 0.0

    @ti.kernel
    def part():
        for i in F:
            F[i][0, 0] += 1
            F[i][2, 2] += 1

    @ti.kernel
    def in_a_branch():
        for i in F:
            if F[i][0, 0] > 3:
                F[i] *= 0.5

    @ti.kernel
    def few():
        for i in range(staged.FEW - 1):
            F[i] *= 0.5

    @ti.kernel
    def every_second():
        for i in range(0, n, 2):
            F[i] *= 0.5

    @ti.kernel
    def uneven():
        for i in F:
            s = F[i]
            while s[0, 0] > 1:
                s *= 0.5
            F[i] = s

    @ti.kernel
    def transposed():
        for i, j in ti.ndrange(200, 199):
            G[i, j] *= 0.5

    @ti.kernel
    def one_after_the_other(a: MATRICES, b: MATRICES):
        for i in a:
            a[i] = a[i] + 1
            b[i] = b[i] * 2

    for kernel in (neighbour, shifted, scattered, part, in_a_branch, few, every_second, uneven, transposed):
        refused(kernel)
    a = ti.ndarray(ti.math.mat3, 300)
    a.fill(1)
    refused(one_after_the_other, a, a)
    assert (a.to_numpy() == 4).all()


def test_one_array_under_two_names(target: str) -> None:
    """What an iteration stores, it may load by the other name: in the next iteration of a loop inside, in a function."""
    start(target)
    n = 300
    found = ti.field(ti.f32, n)

    @ti.kernel
    def add(a: MATRICES, b: MATRICES):
        for i in a:
            for k in range(3):
                a[i] += b[i]

    @ti.kernel
    def add_while(a: MATRICES, b: MATRICES):
        for i in a:
            k = 0
            while k < 3:
                a[i] = a[i] + b[i]
                k += 1

    @ti.real_func
    def middle(b: MATRICES, i: ti.i32) -> ti.f32:
        return b[i][1, 1]

    @ti.kernel
    def read(a: MATRICES, b: MATRICES):
        for i in a:
            a[i] = a[i] * 2
            found[i] = middle(b, i)

    a = ti.ndarray(ti.math.mat3, n)
    a.fill(1)
    for kernel in (add, add_while):
        kernel(a, a)
        _, overlapping = kernel.source(a, a, arch=ti.cuda).split("if a and b overlap")
        assert STAGED not in overlapping
    refused(read, a, a)
    assert (a.to_numpy() == 128).all()
    assert (found.to_numpy() == 128).all()


def test_an_index_of_the_loop_inside_an_element(target: str) -> None:
    """Each iteration stores another number of its vector, and one of them only."""
    start(target)
    v = ti.Vector.field(9, ti.i32, (5000, 9))

    @ti.kernel
    def store():
        for i, j in v:
            v[i, j][j] = i + 1

    v.fill(-1)
    refused(store)
    expected = np.full((5000, 9, 9), -1, np.int32)
    expected[:, range(9), range(9)] = np.arange(1, 5001)[:, None]
    assert np.array_equal(v.to_numpy(), expected)


@pytest.mark.sampled(2, each="shape")
@pytest.mark.parametrize("shape", [33_001, (181, 190)])
@pytest.mark.parametrize("is_ndarray", [False, True])
def test_checked_indices(target: str, shape, is_ndarray: bool) -> None:
    """Where threads wait for one another, a checked index is moved inside; numbers of words are no such indices."""
    start(target, debug=True)
    F = ti.ndarray(ti.math.mat3, shape) if is_ndarray else ti.Matrix.field(3, 3, ti.f32, shape)

    @ti.kernel
    def add_to_field(a: ti.template()):
        for I in ti.grouped(a):
            a[I] += I[0]

    @ti.kernel
    def add_to_ndarray(a: ti.types.ndarray(ti.math.mat3)):
        for I in ti.grouped(a):
            a[I] += I[0]

    add = add_to_ndarray if is_ndarray else add_to_field
    add(F)
    rows = np.indices(F.shape)[0].astype(np.float32)
    assert np.array_equal(F.to_numpy(), np.broadcast_to(rows[..., None, None], (*F.shape, 3, 3)))
    assert is_staged(add, F)


def test_it_can_be_switched_off(target: str) -> None:
    start(target, passes="-staged_stores")
    F = ti.Matrix.field(3, 3, ti.f32, 40_000)

    @ti.kernel
    def one():
        for i in F:
            F[i] = ti.Matrix.one(ti.f32, 3, 3)

    refused(one)
    assert (F.to_numpy() == 1).all()


def test_what_is_printed() -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    Particle = ti.types.struct(position=ti.math.vec3, velocity=ti.math.vec3, mass=ti.f32)
    p = Particle.field(shape=1 << 16)

    @ti.kernel
    def fall(dt: ti.f32):
        for i in p:
            p[i].velocity += dt * ti.math.vec3(0, -9.8, 0)
            p[i].position += dt * p[i].velocity

    source = fall.source(0.1, arch=ti.cuda)
    for line in (
        "#define p_word(n) ((float *)args.p_data)[n]",
        "__shared__ float p_staged[BLOCK][7];",
        " p_i = p(i);",
        "p_i.position += args.dt * p_i.velocity;",
        "p_staged[thread][6] = p_i.mass;",
        "p_word(first * 7 + word) = p_staged[word / 7][word % 7];",
    ):
        assert line in source, source
