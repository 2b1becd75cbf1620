"""Pass `flush_subnormals`: which stores it flushes, and which it leaves as they are."""

import pytest

import shadesmith as ti

F1 = ti.types.ndarray(ti.f32, 1)
F2 = ti.types.ndarray(ti.f32, 2)
V1 = ti.types.ndarray(ti.math.vec3, 1)
Body = ti.types.struct(x=ti.math.vec3, v=ti.math.vec3)
B1 = ti.types.ndarray(Body, 1)


@pytest.fixture(autouse=True)
def session() -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)


def stores(kernel: object, *arguments: object) -> list[str]:
    """Return the statements of C that flush what they store, without their comments."""
    lines = [line.split("  // ")[0].strip() for line in kernel.source(*arguments).split("\n")]
    return [line for line in lines if "flushed(" in line or "flushed_f" in line if " = " in line]


@ti.kernel
def scales(x: F1, a: ti.f32):
    for i in x:
        x[i] *= a


@ti.kernel
def pushes(x: F1, y: F1, a: ti.f32):
    for i in x:
        x[i] = x[i] * 0.5 + y[i] * a


@ti.kernel
def averages(x: F1, y: F1, a: ti.f32):
    for i in x:
        x[i] = a * x[i] + (1 - a) * y[i]
        y[i] -= 0.1 * x[i]


@ti.kernel
def chooses(x: F1, a: ti.f32):
    for i in x:
        v = x[i]
        if v > 0:
            v = v * a
        x[i] = v if v < 1 else 1.0


@ti.kernel
def divides(x: F1, a: ti.f32):
    for i in x:
        x[i] /= 1 + a


@ti.func
def damped(v: ti.f32, a: ti.f32) -> ti.f32:
    for _ in range(3):
        v = v * a if v > 0 else ti.sin(v) * ti.exp(a) * ti.cos(v) * ti.tanh(v)
    return v


@ti.kernel
def calls(x: F1, a: ti.f32):
    for i in x:
        x[i] = damped(x[i], a) + damped(x[i] + 1, a)


@pytest.mark.parametrize("kernel", [scales, pushes, averages, chooses, divides, calls])
def test_what_is_a_factor_of_itself_is_flushed(kernel) -> None:
    arrays = [ti.ndarray(ti.f32, 8) for name in ("x", "y") if name in kernel.__wrapped__.__code__.co_varnames[:2]]
    found = stores(kernel, *arrays, 0.5)
    assert [line.split(" ")[0] for line in found] == ["x(i)"]
    assert "a subnormal number would never decay to 0 (flush_subnormals)" in kernel.source(*arrays, 0.5)


def test_serial_loops_are_flushed_in_each_iteration() -> None:
    @ti.kernel
    def decay(x: F1):
        for i in x:
            for _ in range(1000):
                x[i] *= 0.9

    assert stores(decay, ti.ndarray(ti.f32, 8)) == ["x_i = flushed_f32(x_i * 0.9f);"]


def test_nested_loops_of_one_thread_are_flushed_once() -> None:
    @ti.kernel
    def decay(x: F1):
        ti.loop_config(serialize=True)
        for i in range(8):
            for _ in range(9):
                if x[i] < 1:
                    x[i + 8] *= 0.9
                x[i] = x[i + 8] * x[i]

    found = stores(decay, ti.ndarray(ti.f32, 16))
    assert len(found) == 2 and all(line.count("flushed") == 1 for line in found)


def test_vectors_and_members() -> None:
    @ti.kernel
    def vectors(v: V1, a: ti.f32):
        for i in v:
            v[i] *= a

    @ti.kernel
    def member(b: B1, a: ti.f32):
        for i in b:
            b[i].v *= a
            b[i].x += b[i].v * 0.1

    @ti.kernel
    def whole(b: B1, a: ti.f32):
        for i in b:
            body = b[i]
            body.v = body.v * a
            body.x += body.v * 0.1
            b[i] = body

    @ti.kernel
    def new(b: B1, a: ti.f32):
        for i in b:
            b[i] = Body(b[i].x + b[i].v * 0.1, b[i].v * a)

    assert [line.split(" ")[0] for line in stores(vectors, ti.ndarray(ti.math.vec3, 8), 0.5)] == ["v(i)"]
    b = ti.ndarray(Body, 8)
    assert stores(member, b, 0.5) == ["b(i).v = vec3_flushed(vec3_mul_vs(b(i).v, args.a));"]
    assert stores(whole, b, 0.5) == ["body.v = vec3_flushed(vec3_mul_vs(body.v, args.a));"]
    assert new.source(b, 0.5).count("vec3_flushed(vec3_mul_vs(") == 1


def test_two_arrays_that_take_from_each_other() -> None:
    u, v = ti.field(ti.f32, (64, 64)), ti.field(ti.f32, (64, 64))

    @ti.kernel
    def copied():
        for i, j in ti.ndrange((1, 63), 64):
            v[i, j] = 0.5 * (u[i - 1, j] + u[i + 1, j])
        for i, j in u:
            u[i, j] = v[i, j]

    @ti.kernel
    def both():
        for i, j in ti.ndrange((1, 63), 64):
            v[i, j] = 0.5 * (u[i - 1, j] + u[i + 1, j])
        for i, j in ti.ndrange((1, 63), 64):
            u[i, j] = 0.5 * (v[i - 1, j] + v[i + 1, j])

    assert [line[:7] for line in stores(copied)] == ["v(i, j)"]
    assert [line[:7] for line in stores(both)] == ["v(i, j)", "u(i, j)"]


@ti.kernel
def adds_a_product(x: F1, y: F1, a: ti.f32):
    for i in x:
        y[i] += a * x[i]


@ti.kernel
def adds(x: F1, y: F1, a: ti.f32):
    for i in x:
        y[i] = y[i] + x[i] - a


@ti.kernel
def shifts(x: F1, y: F1, a: ti.f32):
    for i in x:
        x[i] = a * x[i] + 1.0


@ti.kernel
def copies(x: F1, y: F1, a: ti.f32):
    for i in x:
        y[i] = x[i] * a
        x[i] = max(x[i], a)


@ti.kernel
def moves(x: F1, y: F1, a: ti.f32):
    for i in x:
        y[i] -= a * x[i]
        x[i] += a * y[i]


@ti.kernel
def normalizes(x: F1, y: F1, a: ti.f32):
    for i in x:
        x[i] /= y[i]


@ti.kernel
def starts_from_0(x: F1, y: F1, a: ti.f32):
    for i in x:
        x[i] = 0.0
    for i in y:
        x[int(y[i])] += y[i]
    for i in x:
        x[i] *= a


@ti.kernel
def once(x: F1, y: F1, a: ti.f32):
    x[0] *= a


@pytest.mark.parametrize("kernel", [adds_a_product, adds, shifts, copies, moves, normalizes, starts_from_0, once])
def test_what_does_not_decay_stays(kernel) -> None:
    assert "flushed" not in kernel.source(ti.ndarray(ti.f32, 8), ti.ndarray(ti.f32, 8), 0.5)


def test_other_options_types_and_targets_stay() -> None:
    @ti.kernel
    def halves(x: ti.types.ndarray(ti.f16, 1), n: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] *= 2
            n[i] *= 2

    @ti.kernel(fast_math=False)
    def exact(x: F1, a: ti.f32):
        for i in x:
            x[i] *= a

    x = ti.ndarray(ti.f32, 8)
    assert "flushed" not in halves.source(ti.ndarray(ti.f16, 8), ti.ndarray(ti.i32, 8))
    assert "flushed" not in exact.source(x, 0.5)
    assert "flushed" not in scales.source(x, 0.5, arch=ti.cuda) + scales.source(x, 0.5, arch=ti.vulkan)
    ti.init(arch=ti.cpu, passes="-flush_subnormals")
    assert "flushed" not in scales.source(ti.ndarray(ti.f32, 8), 0.5)


def test_names_of_the_user_stay() -> None:
    @ti.kernel
    def scale(flushed_f32: F1):
        for flushed in flushed_f32:
            flushed_f32[flushed] *= 0.5

    x = ti.ndarray(ti.f32, 4)
    x.fill(2.0)
    scale(x)
    assert x.to_numpy().tolist() == [1.0] * 4
