"""Matrices and long vectors that GLSL loads by 16 bytes at a time, by a function in place of a macro."""

import numpy as np
import pytest

import shadesmith as ti


@pytest.mark.sampled(3, each="shape")
@pytest.mark.parametrize("element", ["f32", "i32", "u32"])
@pytest.mark.parametrize("shape", [(4, 4), (2, 4), (4, 2), (3, 4), (4, 3), (6, 6), (8,), (2, 6), (12, 1), (3, 3), (5,)])
def test_loads_of_whole_elements(target, shape, element):
    """By one index or two, also negative ones, in a function of two threads; the parts are in the order of rows."""
    kind, extent = getattr(ti, element), (3, 5)
    make = ti.Vector.field if len(shape) == 1 else ti.Matrix.field
    a, b = make(*shape, kind, extent, offset=(-1, 2)), make(*shape, kind, 15)
    out = ti.field(ti.f64 if element == "f32" else ti.i64, 15)
    values = (np.arange(15 * np.prod(shape)) % 101).reshape(*extent, *shape)
    numpy = {"f32": np.float32, "i32": np.int32, "u32": np.uint32}[element]
    a.from_numpy(values.astype(numpy))
    b.from_numpy((values * 2).reshape(15, *shape).astype(numpy))

    @ti.kernel
    def add():
        for i, j in a:
            k = (i + 1) * 5 + j - 2
            m = a[i, j] + b[14 - k]
            for p in ti.static(range(shape[0])):
                if ti.static(len(shape) == 1):
                    out[k] += (p + 1) * m[p]
                else:
                    for q in ti.static(range(shape[1])):
                        out[k] += (p * 7 + q + 1) * m[p, q]

    add()
    total = values.reshape(15, *shape) + (values * 2).reshape(15, *shape)[::-1]
    weights = (
        np.add.outer(np.arange(shape[0]) * 7, np.arange(shape[1])) + 1 if len(shape) == 2 else np.arange(shape[0]) + 1
    )
    assert np.array_equal(out.to_numpy(), (total * weights).reshape(15, -1).sum(axis=1))


def test_sources():
    """Fields that are loaded whole and not written; ndarrays may start anywhere."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    n = 70
    a, b, c = (ti.Matrix.field(4, 4, ti.f32, n) for _ in range(3))
    v, out = ti.Vector.field(8, ti.i32, n), ti.Vector.field(4, ti.f32, n)

    @ti.kernel
    def loads(m: ti.types.ndarray(ti.math.mat4, 1)):
        for i in out:
            p = ti.math.vec4(i)
            b[i] = b[i] + a[i]
            out[i] = a[n - 1 - i] @ p + c[i] @ p * c[i][0, 0] + m[i] @ p + v[i].sum()

    m = ti.Matrix.ndarray(4, 4, ti.f32, n)
    source = loads.source(m, arch=ti.vulkan)
    assert "mat4 a(int i) {\n    " in source and "int first = i * 4;" in source and "vec8 v(int i) {" in source
    assert "[[unroll]] for (int k = 0; k < 8; k++) {" in source and "GL_EXT_control_flow_attributes" in source
    assert all(f"#define {name}(i) args.{name}_data" in source for name in ("b", "c", "m"))
    assert "#define a(i) aligned(args.a_data)[i]" in loads.source(m, arch=ti.cuda)


def test_a_function_alone_asks_for_its_extension(target):
    n = 70
    v, out = ti.Vector.field(8, ti.i32, n), ti.field(ti.i32, n)
    v.from_numpy(np.arange(8 * n, dtype=np.int32).reshape(n, 8))

    @ti.kernel
    def last():
        for i in out:
            w = v[n - 1 - i]
            out[i] = w[7] - w[0]

    last()
    assert np.array_equal(out.to_numpy(), np.full(n, 7))
