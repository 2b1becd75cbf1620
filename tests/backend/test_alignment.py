"""`alignas`: vectors that are only in fields of their own are loaded by one instruction; all others may start anywhere."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

N = 5


def declared(text: str, name: str) -> str:
    """Return what is between `struct` and its name, or the struct of CUDA that the name stands for."""
    for line in text.splitlines():
        if line.startswith(f"using {name} = "):
            return line.partition(" = ")[2].rstrip(";")
    (line,) = [line for line in text.splitlines() if line.startswith("struct ") and f" {name} {{" in line]
    return line.removeprefix("struct ").partition(f"{name} {{")[0].strip()


def copied(dtype, n: int, m: int = 0, **others) -> str:
    """Return the source of a kernel that copies one field of vectors or matrices, and reads others."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.Matrix.field(n, m, dtype, N) if m else ti.Vector.field(n, dtype, N)
    y = ti.field(ti.f32, N)

    @ti.kernel
    def copy(v: ti.types.ndarray(ti.types.vector(2, ti.f32), 1), s: ti.types.vector(2, ti.f32)):
        for i in x:
            x[i] = x[(i + 1) % N]
            if ti.static("ndarray" in others):
                y[i] = v[i].x
            if ti.static("argument" in others):
                y[i] = s.x

    vectors = ti.Vector.ndarray(2, ti.f32, N)
    return copy.source(vectors, ti.Vector([1.0, 2.0]), arch=ti.cuda)


@pytest.mark.parametrize(
    ("dtype", "n", "m", "name", "expected"),
    [
        (ti.f32, 2, 0, "vec2", "float2"),
        (ti.f32, 3, 0, "vec3", "float3"),
        (ti.f32, 4, 0, "vec4", "float4"),
        (ti.i32, 2, 0, "ivec2", "int2"),
        (ti.f64, 2, 0, "dvec2", "double2"),
        (ti.f64, 4, 0, "dvec4", "alignas(16)"),
        (ti.i64, 2, 0, "i64vec2", "alignas(16)"),
        (ti.f32, 2, 2, "mat2", "alignas(16)"),
        (ti.f32, 3, 3, "mat3", ""),
    ],
)
def test_fields_are_aligned_as_far_as_their_size_allows(dtype, n: int, m: int, name: str, expected: str) -> None:
    assert declared(copied(dtype, n, m), name) == expected


@pytest.mark.parametrize("where", ["ndarray", "argument"])
def test_a_type_that_may_start_anywhere_is_not_aligned(where: str) -> None:
    assert declared(copied(ti.f32, 2, **{where: True}), "vec2") == ""


def test_members_of_cells_are_not_aligned() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, v, m = ti.Vector.field(2, ti.f32, N), ti.Vector.field(2, ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, N).place(v, m)

    @ti.kernel
    def move():
        for i in x:
            x[i] += v[i] * m[i]

    assert declared(move.source(arch=ti.cuda), "vec2") == ""


@pytest.mark.one_target
def test_slices_of_ndarrays_start_between_whole_vectors(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    x = ti.Vector.field(2, ti.f32, N)

    @ti.kernel
    def take(v: ti.types.ndarray(ti.types.vector(2, ti.f32), 1)):
        for i in x:
            x[i] = 2 * v[i]

    memory = np.arange(2 * N + 1, dtype=np.float32)
    take(memory[1:].reshape(N, 2))  # at an odd multiple of 4 bytes
    assert np.array_equal(x.to_numpy(), 2 * memory[1:].reshape(N, 2))


# --- structs ----------------------------------------------------------------------------------------------------------


def of_structs(size: int, where: str = "") -> str:
    """Return the source of a kernel that changes a field of structs of some floats. where: another place of the type."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    Part = ti.types.struct(**{f"m{k}": ti.f32 for k in range(size)})
    Whole = ti.types.struct(first=ti.f32, part=Part)
    p, w = Part.field(shape=N), Whole.field(shape=N)
    array = ti.ndarray(Part, N) if where == "ndarray" else np.zeros(N, np.float32)

    @ti.kernel
    def change(a: ti.types.ndarray()):
        for i in p:
            p[i].m0 += p[i].m1
            if ti.static(where == "ndarray"):
                p[i].m0 += a[i].m0
            if ti.static(where == "member"):
                p[i].m0 += w[i].part.m0

    return change.source(array, arch=ti.cuda)


@pytest.mark.parametrize(("size", "bytes"), [(2, 8), (3, 0), (4, 16), (6, 8), (8, 16), (10, 8), (11, 0)])
def test_structs_of_fields_are_aligned_as_far_as_their_size_allows(size: int, bytes: int) -> None:
    text = of_structs(size)
    assert (f"struct alignas({bytes}) " in text) == (bytes > 0)
    assert "aligned(args" not in text


@pytest.mark.parametrize("where", ["ndarray", "member"])
def test_a_struct_that_may_start_anywhere_is_not_aligned_but_its_field_is(where: str) -> None:
    text = of_structs(4, where)
    assert "struct alignas(16)" not in text
    assert "#define p(i) aligned(args.p_data)[i]" in text
