"""Pass `vector_atomics`: additions to neighbours in memory are one instruction on CUDA; sums are right everywhere."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti

N, M = 300, 7
CALL = re.compile(r"^ +(atomic\w+)\((?:\(float\d \*\))?&(\S+?)\(", re.MULTILINE)


def add_members(target, **options):
    """Return a kernel that adds to arrays of several layouts, and these arrays."""
    ti.init(arch=target, log_level=ti.ERROR, **options)
    v, m = ti.Vector.field(3, ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.ij, (M, 3)).place(v, m)
    a, b, c = ti.field(ti.f32), ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, M).place(a, b, c)  # cells of 12 bytes
    pair, quad = ti.Vector.field(2, ti.f32, M), ti.Matrix.field(2, 2, ti.f32, M)
    late, early = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, M).place(early, late)

    @ti.kernel
    def add(x: ti.types.ndarray(ti.f32, 1)):
        for p in x:
            i = p % M
            v[i, p % 3] += ti.Vector([x[p], 1.0, 2.0])
            m[i, p % 3] += 3.0
            a[i] += 1.0
            b[i] += x[p]
            c[i] += 2.0
            pair[i] += x[p]
            quad[i] += ti.Matrix([[1.0, x[p]], [x[p] + 1.0, 2.0]])
            late[i] += x[p]  # the higher address first
            early[i] += 1.0

    return add, {"v": v, "m": m, "a": a, "b": b, "c": c, "pair": pair, "quad": quad, "late": late, "early": early}


def expected(x):
    """Return the sums of each array."""
    result = {name: np.zeros(M) for name in ("a", "b", "c", "late", "early")}
    result |= {"v": np.zeros((M, 3, 3)), "m": np.zeros((M, 3)), "pair": np.zeros((M, 2)), "quad": np.zeros((M, 2, 2))}
    for p, value in enumerate(x):
        i = p % M
        result["v"][i, p % 3] += [value, 1, 2]
        result["m"][i, p % 3] += 3
        for name, term in (("a", 1), ("b", value), ("c", 2), ("late", value), ("early", 1), ("pair", value)):
            result[name][i] += term
        result["quad"][i] += [[1, value], [value + 1, 2]]
    return result


@pytest.mark.parametrize("n", [0, 1, N])
def test_sums(target: str, n: int) -> None:
    add, fields = add_members(getattr(ti, target))
    x = (np.arange(n) % 5 - 2).astype(np.float32)
    add(x)
    for name, sums in expected(x).items():
        assert np.array_equal(fields[name].to_numpy(), sums), name


def test_calls_of_cuda() -> None:
    add, _ = add_members(ti.python)
    x = np.zeros(3, np.float32)
    calls = CALL.findall(add.source(x, arch=ti.cuda).partition("__launch_bounds__")[2])
    assert calls == [
        ("atomic_add_float4", "v"), ("atomic_add_float3", "a"),
        ("atomic_add_float2", "pair"), ("atomic_add_float4", "quad"), ("atomic_add_float2", "early"),
    ]  # fmt: skip
    assert "    atomic_add_float2((float2 *)&early(i), {1.0f, x_p});" in add.source(x, arch=ti.cuda)
    assert "atomic_add_float" not in add.source(x, arch=ti.vulkan)
    assert "atomic_add_float" not in add_members(ti.python, passes="-vector_atomics")[0].source(x, arch=ti.cuda)


def test_vectors_whose_memory_is_no_float4_compile(target: str) -> None:
    """Vectors of a program with ndarrays of them are structs, and numbers in braces have the type of the elements."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    pair, quad = ti.Vector.field(2, ti.f32, M), ti.Vector.field(4, ti.f32, M)
    given = ti.ndarray(ti.math.vec4, M)

    @ti.kernel
    def add(x: ti.types.ndarray(ti.i32, 1), given: ti.types.ndarray(ti.math.vec4, 1)):
        for p in x:
            pair[x[p]] += ti.Vector([p, x[p]])
            quad[x[p]] += ti.Vector([p, 1, x[p], 0.5])
            quad[x[p]] += given[x[p]] * 0.0
            given[x[p]] += ti.Vector([1.0, 2.0, 3.0, p])

    x = np.arange(N, dtype=np.int32) % M
    add(x, given)
    sums = np.bincount(x, np.arange(N), M), np.bincount(x, x, M), np.bincount(x, minlength=M)
    assert np.array_equal(pair.to_numpy(), np.stack(sums[:2], 1))
    assert np.array_equal(quad.to_numpy(), np.stack([sums[0], sums[2], sums[1], 0.5 * sums[2]], 1))
    assert np.array_equal(given.to_numpy(), np.stack([sums[2], 2 * sums[2], 3 * sums[2], sums[0]], 1))


def test_what_is_not_joined() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    pair, other = ti.Vector.field(2, ti.f32, M), ti.Vector.field(2, ti.f64, M)
    sparse = ti.Vector.field(2, ti.f32)
    ti.root.pointer(ti.i, M).dense(ti.i, 4).place(sparse)

    @ti.kernel
    def add(given: ti.types.ndarray(ti.math.vec2, 1), k: ti.i32) -> ti.f32:
        s = 0.0
        for i in range(M):
            given[i] += 1.0  # its address is known at the launch only
            other[i] += 1.0  # f64
            sparse[i] += 1.0
            pair[0][k] += 1.0
            pair[0][0] += 1.0
            if i > 3:
                pair[0][1] += 1.0  # another block
            old = ti.atomic_add(pair[k], ti.Vector([1.0, 2.0]))  # the result is used
            s += old[0] + old[1]
        return s

    assert "atomic_add_float" not in add.source(np.zeros((3, 2), np.float32), 1, arch=ti.cuda)


@pytest.mark.parametrize("n", [0, 1, N])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_differences_are_sums_of_negative_numbers(target: str, n: int) -> None:
    """Of springs one end gets what the other loses."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    force = ti.Vector.field(3, ti.f32, M)
    pair, quad = ti.Vector.field(2, ti.f32, M), ti.Vector.field(4, ti.f32, M)

    @ti.kernel
    def add(x: ti.types.ndarray(ti.f32, 1), k: ti.f32):
        for p in x:
            a, b = p % M, (p * 3 + 1) % M
            f = ti.Vector([x[p], -2.0, x[p] - k])
            force[a] += f
            force[b] -= f
            pair[a].x -= x[p] + k
            pair[a].y += x[p]
            quad[b] -= ti.Vector([-x[p], 1.0, k, -k])

    x = np.random.default_rng(1).integers(-9, 9, n).astype(np.float32)
    add(x, 4.0)
    sums = {"force": np.zeros((M, 3)), "pair": np.zeros((M, 2)), "quad": np.zeros((M, 4))}
    for p, value in enumerate(x):
        a, b = p % M, (p * 3 + 1) % M
        sums["force"][a] += [value, -2, value - 4]
        sums["force"][b] -= [value, -2, value - 4]
        sums["pair"][a] += [-(value + 4), value]
        sums["quad"][b] -= [-value, 1, 4, -4]
    for array, name in ((force, "force"), (pair, "pair"), (quad, "quad")):
        assert np.array_equal(array.to_numpy(), sums[name]), name
    if target == "python" and n == 1:
        text = add.source(x, 4.0, arch=ti.cuda)
        assert "atomic_add_float3(&force(a), {x_p, -2.0f, x_p - args.k})" in text
        assert "atomic_add_float3(&force(b), {-x_p, 2.0f, -(x_p - args.k)})" in text
        assert "atomic_add_float2(&pair(a), {-(x_p + args.k), x_p})" in text
        assert "atomic_add_float4(&quad(b), {x_p, -1.0f, -args.k, args.k})" in text


@pytest.mark.parametrize("size", [2, 3, 4])
def test_vectors_that_are_computed_are_subtracted(target: str, size: int) -> None:
    """Such a vector is joined to a whole one: an instruction adds, so it is subtracted element by element."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x, force = ti.Vector.field(size, ti.f32, N), ti.Vector.field(size, ti.f32, M)

    @ti.kernel
    def pull(k: ti.f32):
        for p in x:
            f = k * (x[p] - x[(p + 1) % N]) + x[p]
            force[p % M] += f
            force[(p * 3 + 1) % M] -= f
            force[(p * 5 + 2) % M] -= f + x[p]

    numbers = np.random.default_rng(1).integers(-9, 9, (N, size)).astype(np.float32)
    x.from_numpy(numbers)
    pull(4.0)
    expected = np.zeros((M, size), np.float32)
    for p in range(N):
        f = 4 * (numbers[p] - numbers[(p + 1) % N]) + numbers[p]
        expected[p % M] += f
        expected[(p * 3 + 1) % M] -= f
        expected[(p * 5 + 2) % M] -= f + numbers[p]
    assert np.array_equal(force.to_numpy(), expected)


def test_a_value_is_read_before_the_addition_to_it(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    pair = ti.Vector.field(2, ti.f32, 2)

    @ti.kernel
    def add():
        for i in range(1):
            k = i * 0
            pair[k][0] += 3.0
            pair[k][1] += pair[k][0] * 2.0
            t = 1.0
            pair[k + 1][0] += t
            t += 1.0
            pair[k + 1][1] += t

    add()
    assert pair.to_numpy().tolist() == [[3.0, 6.0], [1.0, 2.0]]


def test_a_remark_tells_of_a_layout_with_fewer_instructions() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    v, m, other = ti.Vector.field(3, ti.f32, (M, M)), ti.field(ti.f32, (M, M)), ti.field(ti.f32, (M, M + 1))

    @ti.kernel
    def add():
        for i, j in v:
            v[j, i] += 1.0
            m[j, i] += 1.0
            v[i, j // 2] += 1.0
            m[j, i // 2] += 1.0  # another place
            v[j, 0] += 1.0
            other[j, 0] += 1.0  # another shape

    remark = "one instruction if v and m shared cells: ti.root.dense(...).place(v, m)"
    assert add.source(arch=ti.cuda).count(remark) == 1 and remark not in add.source(arch=ti.vulkan)


@pytest.mark.parametrize("skipped", [0, 1, 2, 3])
def test_three_floats_are_added_at_any_address(target: str, skipped: int) -> None:
    """Which two of them are at a multiple of 8 bytes changes from element to element, and with where an array starts."""
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    whole = ti.Vector.field(3, ti.f32, 200)  # of which a block has no copy
    matrix = ti.Matrix.field(3, 3, ti.f32, M)

    @ti.kernel
    def add(x: ti.types.ndarray(ti.i32, 1), y: ti.types.ndarray(ti.math.vec3, 1)):
        for p in x:
            whole[x[p]] += ti.Vector([1.0, x[p], -2.0])
            y[x[p]] += ti.Vector([p, 1.0, 0.5])
            matrix[x[p]] += ti.Matrix([[1, 2, 3], [4, 5, 6], [7, 8, p]])

    x = np.arange(N, dtype=np.int32) % M
    memory = np.zeros(3 * M + 4, np.float32)
    y = memory[skipped : skipped + 3 * M].reshape(M, 3)
    add(x, y)
    sums, counts = np.bincount(x, np.arange(N), M), np.bincount(x, minlength=M)
    assert np.array_equal(whole.to_numpy()[:M], np.stack([counts, np.bincount(x, x, M), -2 * counts], 1))
    assert np.array_equal(y, np.stack([sums, counts, 0.5 * counts], 1))
    assert np.count_nonzero(memory) <= y.size
    assert np.array_equal(matrix.to_numpy().reshape(M, 9)[:, :8], np.outer(counts, range(1, 9)))
    assert np.array_equal(matrix.to_numpy()[:, 2, 2], sums)
    source = add.source(x, y, arch=ti.cuda)
    assert source.count("  atomic_add_float3(") == 5 and "  atomicAdd(&matrix" not in source
    assert "atomic_add_float" not in add.source(x, y, arch=ti.vulkan)


def test_ndarrays_get_no_remark_of_layouts() -> None:
    """`place` takes fields only."""
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def add(v: ti.types.ndarray(ti.math.vec3, 1), m: ti.types.ndarray(ti.f32, 1), n: ti.i32):
        for i in range(n):
            v[i // 2] += 1.0
            m[i // 2] += 1.0

    source = add.source(np.zeros((3, 3), np.float32), np.zeros(3, np.float32), 6, arch=ti.cuda)
    assert "atomic_add_float3(&v(" in source and "shared cells" not in source
