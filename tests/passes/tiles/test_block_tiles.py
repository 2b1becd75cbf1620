"""Pass `block_tiles`: what all threads of a block read in the same order is staged; results are those of plain loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [
    pytest.mark.sampled(3),  # the rest in `make test-all`
    pytest.mark.targets("vulkan", "cuda"),  # elsewhere the pass returns at once
]

Array = ti.types.ndarray(ti.f32, 1)


@ti.kernel
def pairs(x: Array, w: Array, out: Array, first: ti.i32):
    for i in out:
        s, least = 0.0, 1e9
        for j in range(first, x.shape[0]):
            if x[j] == 2.0:
                continue
            s += w[j] * (x[j] - i)
            if x[j] * i < least:
                least = x[j] * i + j
        out[i] = s + least


def expected(x, w, n, first):
    out = np.zeros(n)
    for i in range(n):
        s, least = 0.0, 1e9
        for j in range(first, len(x)):
            if x[j] == 2.0:
                continue
            s += w[j] * (x[j] - i)
            if x[j] * i < least:
                least = x[j] * i + j
        out[i] = s + least
    return out


@pytest.mark.parametrize(
    ("n", "m", "first"), [(1, 1, 0), (37, 129, 0), (30, 257, 5), (3, 0, 0), (5, 128, 200), (0, 9, 0)]
)
def test_results(target: str, n: int, m: int, first: int) -> None:
    x, w = (np.arange(m) * 7 % 5).astype(np.float32), (np.arange(m) % 3).astype(np.float32)
    out = np.zeros(n, np.float32)
    pairs(x, w, out, first)
    ti.sync()
    assert np.array_equal(out, expected(x, w, n, first))


def fields(arch, **options):
    """Return a kernel on fields of whole blocks, with a vector and a second loop, and the sums."""
    ti.init(arch=arch, log_level=ti.ERROR, **options)
    n = 128
    v, c, out = ti.Vector.field(2, ti.f32, n), ti.field(ti.i32, n), ti.field(ti.f32, 64)

    @ti.kernel
    def add():
        for i in v:
            v[i] = [i % 3, i % 5]
            c[i] = i % 4
        ti.loop_config(block_dim=32)
        for i in out:
            s = 0.0
            for j in range(n):
                s += v[j].dot(v[i]) + v[j].x
            for j in range(n):
                s += c[j] * j
            out[i] = s

    return add, out


def test_fields_of_whole_blocks(target: str) -> None:
    add, out = fields(getattr(ti, target))
    add()
    v = np.array([[i % 3, i % 5] for i in range(128)], float)
    sums = v @ v.sum(0) + v[:, 0].sum() + sum(j % 4 * j for j in range(128))
    assert np.array_equal(out.to_numpy(), sums[:64])


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros(3, np.float32)
    cuda = pairs.source(x, x, x, 0, arch=ti.cuda)
    assert "__shared__ float x_tile[BLOCK];" in cuda and "#pragma unroll 16" in cuda and "(block_tiles)" in cuda
    assert "shared float w_tile[BLOCK];" in pairs.source(x, x, x, 0, arch=ti.vulkan)
    assert "_tile[" not in pairs.source(x, x, x, 0, arch=ti.x64)
    assert "_tile[" not in fields(ti.python, passes="-block_tiles")[0].source(arch=ti.cuda)
    assert "_tile[" not in fields(ti.python, make_block_local=False)[0].source(arch=ti.cuda)
    whole = fields(ti.python)[0].source(arch=ti.cuda)
    assert whole.count("_tile[BLOCK_1]") == 2 and "min(" in cuda
    assert "min(" not in whole and "v_tile[thread] = v(j_tile + thread);" in whole
    assert 'static_assert(out_n0 % BLOCK_1 == 0, "each thread has an iteration")' in whole


def test_loops_that_stay() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    n = 1024
    a, b, out = ti.field(ti.f32, n), ti.field(ti.f32, (n, n)), ti.field(ti.f32, n)

    @ti.kernel
    def others(k: ti.i32):
        for i in out:
            if i > k:  # some threads only
                for j in range(n):
                    out[i] += a[j]
            for j in range(i):  # bounds of the thread
                out[i] += a[j]
            for j in range(n):  # another array at its index
                out[i] += a[j] * b[i, j]
            for j in range(n):  # some threads leave
                if a[j] > i:
                    break
                out[i] += a[j]
            for j in range(k):
                out[i] += a[j + 1]
            for j in range(100):  # short
                out[i] += a[j]

    @ti.kernel
    def written(k: ti.i32):
        for i in a:
            s = 0.0
            for j in range(n):
                s += a[j]
            a[i] = s

    @ti.kernel
    def left(k: ti.i32):
        for i in out:
            if i == k:
                continue
            for j in range(n):
                out[i] += a[j]

    for kernel in (others, written, left):
        assert "_tile[" not in kernel.source(3, arch=ti.cuda)


def test_a_store_before_the_loop_is_seen_through_another_name(target: str) -> None:
    """One thread, so that nothing races: the tile has what it stored."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def add(x: Array, y: Array, out: Array):
        for i in range(1):
            y[i] = 5.0
            s = 0.0
            for j in range(x.shape[0]):
                s += x[j]
            out[i] = s

    x, out = ti.ndarray(ti.f32, 3), ti.ndarray(ti.f32, 1)
    x.fill(1.0)
    add(x, x, out)
    assert out.to_numpy().tolist() == [7.0]


def test_loops_of_a_task_share_tiles(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    a, b, out = ti.field(ti.f32, 300), ti.field(ti.f32, 300), ti.field(ti.f32, 20)

    @ti.kernel
    def add(n: ti.i32):
        for i in out:
            s = 0.0
            for j in range(n):
                s += a[j] * i
            for j in range(1, n):
                s += a[j] + b[j]
            out[i] = s

    a.fill(2.0)
    b.fill(3.0)
    add(300)
    assert np.array_equal(out.to_numpy(), 600 * np.arange(20) + 5 * 299)
    assert add.source(1, arch=ti.cuda).count("__shared__ float") == 2


def test_arrays_of_one_name_are_counted_separately(target: str) -> None:
    """Two shared arrays of a function that is called twice: 8 KB each."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.func
    def swapped(x):
        tile = ti.simt.block.SharedArray(2048, ti.f32)
        t = ti.simt.block.thread_idx()
        tile[t] = x
        ti.simt.block.sync()
        return tile[31 - t]

    @ti.kernel
    def run(out: ti.types.ndarray(ti.f32, 1)):
        ti.loop_config(block_dim=32)
        for i in range(32):
            out[i] = swapped(i * 1.0) + swapped(i * 2.0)

    out = np.zeros(32, np.float32)
    run(out)
    ti.sync()
    assert np.array_equal(out, 3.0 * np.arange(31, -1, -1))


Vectors = ti.types.ndarray(ti.math.vec3, 1)


Numbers = ti.types.ndarray(ti.i32, 1)


def test_elements_that_no_thread_reads_are_not_loaded(target: str) -> None:
    """A condition, or `continue`, keeps the index inside of an array; where the loop's bounds do, nothing is compared."""
    field = ti.field(ti.i32, 700)
    field.from_numpy(np.arange(700, dtype=np.int32))

    @ti.kernel
    def sums(a: Numbers, out: Numbers, first: ti.i32, last: ti.i32):
        for i in out:
            s = 0
            for j in range(last):
                if j < a.shape[0] and i != j:
                    s += a[j]
            for j in range(first, last):
                if j < 0 or j >= 700:
                    continue
                s += field[j]
            out[i] = s

    length = 15 if target == "python" else 150  # the interpreter has no tiles
    a, out = np.arange(130, dtype=np.int32), np.zeros(length, np.int32)
    sums(a, out, -9, 900)
    expected = [a.sum() - (i if i < 130 else 0) + np.arange(700).sum() for i in range(length)]
    assert out.tolist() == expected

    @ti.kernel
    def pairs_of(a: Numbers, out: Numbers):
        for i in out:
            s = 0
            for j in range(a.shape[0]):
                if i != j:
                    s += a[j]
            for j in range(650):
                if i != j:
                    s += field[j]
            out[i] = s

    ti.init(arch=ti.python, log_level=ti.ERROR)
    field = ti.field(ti.i32, 700)
    source = sums.source(a, out, 0, 9, arch=ti.cuda)
    assert "if (thread < args.a_n - j_tile) {" in source and "j_tile + thread < field_n" in source
    tests = [line for line in pairs_of.source(a, out, arch=ti.cuda).splitlines() if "if (" in line and "thread" in line]
    assert len(tests) == 2, tests


@pytest.mark.parametrize("dtype", [ti.f32, ti.i32, ti.f64])
def test_tiles_of_vectors_of_three(target: str, dtype) -> None:
    """In GLSL they have four numbers; what reads the vectors, or one number of them, sees three."""
    n = (1 if target == "python" else 4) * 128 + 5  # the interpreter takes 13 s for the squares of 517 vectors of f64
    given, found = (ti.Vector.field(3, dtype, n) for _ in range(2))
    values = np.random.default_rng(1).integers(-5, 5, (n, 3))
    given.from_numpy(values.astype({ti.f32: np.float32, ti.i32: np.int32, ti.f64: np.float64}[dtype]))

    @ti.kernel
    def combine():
        for i in given:
            s = given[i] * 0
            for j in range(n):
                s += given[j] * given[j].y - given[i]
                s[2] += given[j].z
            found[i] = s

    combine()
    expected = (values * values[:, 1:2]).sum(0) - n * values + values.sum(0) * [0, 0, 1]
    assert np.array_equal(found.to_numpy(), expected)


def test_the_source_of_a_tile_of_vectors() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def pull(position: Vectors, force: Vectors):
        for i in position:
            s = ti.Vector([0.0, 0.0, 0.0])
            for j in range(position.shape[0]):
                s += position[j] - position[i]
            force[i] = s

    x = np.zeros((2, 3), np.float32)
    shader, cuda = pull.source(x, x, arch=ti.vulkan), pull.source(x, x, arch=ti.cuda)
    assert "shared vec4 position_tile[BLOCK];" in shader and "position_tile[j].xyz - position_i" in shader
    assert "position_tile[thread] = vec4(position(j_tile + thread), 0.0);" in shader
    assert "__shared__ vec3 position_tile[BLOCK];" in cuda and "position_tile[j] - position_i" in cuda


def test_a_vector_made_of_a_shorter_one_names_it() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    u, v = ti.Vector.field(3, ti.f32, 9), ti.Vector.field(4, ti.f32, 9)
    w = ti.Vector.field(3, ti.i32, 9)

    @ti.kernel
    def extend(k: ti.i32):
        for i in u:
            v[i] = ti.Vector([u[i].x, u[i].y, u[i].z, 1.0])
        for i in u:
            v[i] = ti.Vector([u[i].x, u[i].y, 1.0, u[i].z])
        for i in u:
            v[i] = ti.Vector([w[i].x, w[i].y, w[i].z, 2.0])
        for i in u:
            v[i] = ti.Vector([u[i].y, u[i].x, u[i].z, 3.0])

    source = extend.source(0, arch=ti.vulkan)
    assert "v(i) = vec4(u(i), 1.0);" in source
    for own in ("u(i).x, u(i).y, 1.0, u(i).z", "u(i).y, u(i).x, u(i).z, 3.0"):
        assert f"v(i) = vec4({own});" in source, own
    assert "w(i).x" in source and "2.0);" in source


Body = ti.types.struct(pos=ti.math.ivec3, spin=ti.types.struct(axis=ti.math.ivec2, speed=ti.i32), acc=ti.math.ivec3)
Bodies = ti.types.ndarray(Body, 1)


@ti.kernel
def attract(bodies: Bodies, m: ti.i32, near: ti.i32):
    for i in bodies:
        a = ti.math.ivec3(0)
        for j in range(m):
            d = bodies[j].pos - bodies[i].pos
            if d.dot(d) < near:
                a += d * bodies[j].spin.speed
                a.x += bodies[j].spin.axis[1]
        bodies[i].acc = a


def accelerations(pos: np.ndarray, axis: np.ndarray, speed: np.ndarray, m: int, near: int) -> np.ndarray:
    d = pos[None, :m] - pos[:, None]
    is_near = (d * d).sum(2) < near
    found = (np.where(is_near[:, :, None], d, 0) * speed[None, :m, None]).sum(1)
    found[:, 0] += np.where(is_near, axis[None, :m, 1], 0).sum(1)
    return found


def random_bodies(bodies, n: int):
    rng = np.random.default_rng(n)
    members = {"pos": rng.integers(-4, 5, (n, 3)), "axis": rng.integers(-9, 9, (n, 2)), "speed": rng.integers(-9, 9, n)}
    members = {name: values.astype(np.int32) for name, values in members.items()}
    spin = {"axis": members["axis"], "speed": members["speed"]}
    bodies.from_numpy({"pos": members["pos"], "spin": spin, "acc": np.zeros((n, 3), np.int32)})
    return members


@pytest.mark.parametrize(("n", "m"), [(1, 1), (100, 100), (130, 129), (300, 0), (700, 600)])
def test_members_of_structs(target: str, n: int, m: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    bodies = Body.field(shape=n)

    @ti.kernel
    def of_field(m: ti.i32, near: ti.i32):
        for i in bodies:
            a = ti.math.ivec3(0)
            for j in range(m):
                d = bodies[j].pos - bodies[i].pos
                if d.dot(d) < near:
                    a += d * bodies[j].spin.speed
                    a.x += bodies[j].spin.axis[1]
            bodies[i].acc = a

    members = random_bodies(bodies, n)
    of_field(m, 30)
    assert np.array_equal(bodies.acc.to_numpy(), accelerations(*members.values(), m, 30))
    source = of_field.source(m, 30, arch=ti.cuda)
    for tile in ("ivec3 bodies_pos_tile", "ivec2 bodies_spin_axis_tile", "int bodies_spin_speed_tile"):
        assert f"__shared__ {tile}[BLOCK];" in source
    assert "memoryBarrierBuffer" not in of_field.source(m, 30, arch=ti.vulkan)


def test_members_of_an_ndarray_of_structs(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    bodies = ti.ndarray(Body, 200)
    members = random_bodies(bodies, 200)
    m = 20 if target == "python" else 150
    attract(bodies, m, 40)
    assert np.array_equal(bodies.to_numpy()["acc"], accelerations(*members.values(), m, 40))
    assert "__shared__ ivec3 bodies_pos_tile[BLOCK];" in attract.source(bodies, 150, 40, arch=ti.cuda)


@pytest.mark.parametrize("written", ["pos", "pos.x", "spin", "spin.speed", "all"])
def test_what_the_task_writes_of_a_struct_is_not_staged(written: str) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    bodies = Body.field(shape=1024)

    @ti.kernel
    def step():
        for i in bodies:
            s = ti.math.ivec3(0)
            for j in range(1024):
                s += bodies[j].pos * bodies[j].spin.speed
            q = bodies[0]
            if ti.static(written == "pos"):
                bodies[i].pos = q.pos
            elif ti.static(written == "pos.x"):
                bodies[i].pos.x = q.pos.y
            elif ti.static(written == "spin"):
                bodies[i].spin = q.spin
            elif ti.static(written == "spin.speed"):
                bodies[i].spin.speed = 1
            else:
                bodies[i] = q
            bodies[i].acc = s

    assert "_tile[" not in step.source(arch=ti.cuda)


def test_a_whole_struct_is_not_staged() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    bodies, out = Body.field(shape=1024), Body.field(shape=1024)

    @ti.kernel
    def copy():
        for i in out:
            s = bodies[0]
            for j in range(1024):
                b = bodies[j]
                if b.spin.speed > i:
                    s = b
            out[i] = s

    assert "_tile[" not in copy.source(arch=ti.cuda)


def test_a_driver_that_unrolls_no_loops_with_branches_gets_a_hint(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    device = ti.Session.current().device
    device.capabilities = replace(device.capabilities, leaves_known_counts=True)
    count = 16 if target == "python" else 256
    x, out = ti.field(ti.i32, 1024), ti.field(ti.i32, count)

    @ti.kernel
    def near(least: ti.i32):
        for i in out:
            s = 0
            for j in range(1024):
                if x[j] > least:
                    s += x[j]
            out[i] = s

    @ti.kernel
    def all_of():
        for i in out:
            s = 0
            for j in range(1024):
                s += x[j] * i
            out[i] = s

    x.from_numpy(np.arange(1024, dtype=np.int32))
    near(1000)
    assert out.to_numpy().tolist() == [sum(range(1001, 1024))] * count
    if target == "vulkan":
        assert "[[unroll]] for (int j = 0; j < BLOCK; j++) {" in near.source(1)
        assert "[[unroll]]" not in all_of.source()


@pytest.mark.parametrize("form", ["store", "atomic", "member"])
def test_what_iterations_have_stored_under_another_name(target: str, form: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    Pair = ti.types.struct(a=ti.i32, b=ti.i32)
    kind = Pair if form == "member" else ti.i32

    @ti.kernel
    def own(p: ti.types.ndarray(), q: ti.types.ndarray(), out: ti.types.ndarray(ti.i32, 1)):
        for i in out:
            if ti.static(form == "member"):
                q[i].a = 100 + i
            elif ti.static(form == "atomic"):
                ti.atomic_add(q[i], 100 + i)
            else:
                q[i] = 100 + i
            s = 0
            for j in range(1, p.shape[0]):
                if j == i:
                    if ti.static(form == "member"):
                        s += p[j].a
                    else:
                        s += p[j]
            out[i] = s

    x, out = ti.ndarray(kind, 200), ti.ndarray(ti.i32, 12)
    own(x, x, out)
    assert out.to_numpy().tolist() == [0, *range(101, 112)]


def test_whole_tiles_of_a_shorter_array(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    out = ti.field(ti.i32, 128)

    @ti.kernel
    def guarded(x: ti.types.ndarray(ti.i32, 1)):
        for i in out:
            s = 0
            for j in range(512):
                if j < 300 and i > 3:
                    s += x[j]
            out[i] = s

    x = ti.ndarray(ti.i32, 300)
    x.from_numpy(np.arange(300, dtype=np.int32))
    guarded(x)
    assert out.to_numpy().tolist() == [0] * 4 + [sum(range(300))] * 124
    assert "x_tile[BLOCK]" in guarded.source(x, arch=ti.cuda)


def test_bounds_near_the_largest_index(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)

    @ti.kernel
    def near(x: ti.types.ndarray(ti.i32, 1), out: ti.types.ndarray(ti.i32, 1)):
        for i in out:
            s = 0
            for j in range(2147483000, 2147483647):
                if j < x.shape[0]:
                    s += x[j]
                s += 1
            out[i] = s

    x, out = ti.ndarray(ti.i32, 8), ti.ndarray(ti.i32, 5)
    near(x, out)
    assert out.to_numpy().tolist() == [647] * 5


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_loop_that_also_loads_a_number(target: str) -> None:
    """The gradient of a sum over pairs loads that of the loss in the serial loop."""
    n = 1024
    x = ti.field(ti.f32, n, needs_grad=True)
    loss = ti.field(ti.f32, (), needs_grad=True)
    x.from_numpy(np.arange(n, dtype=np.float32) % 7)

    @ti.kernel
    def pairs():
        for i in range(n):
            s = 0.0
            for j in range(n):
                s += (x[i] - x[j]) ** 2
            loss[None] += s

    with ti.ad.Tape(loss):
        pairs()
    values = np.arange(n) % 7
    assert loss[None] == ((values[:, None] - values) ** 2).sum()
    assert np.array_equal(x.grad.to_numpy(), 4.0 * (n * values - values.sum()))
    assert "_tile[" in pairs.grad.source(arch=ti.cuda)
