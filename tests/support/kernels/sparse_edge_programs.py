"""More programs as in `sparse_programs.py`: kinds of fields, of elements and of nodes, in unusual places."""

from typing import Any

import numpy as np
from sparse_programs import Probe


def fields_with_offsets(ti: Any) -> list[Any]:
    """Two fields in the same cells count their elements from different indices."""
    x, y = ti.field(ti.i32), ti.Vector.field(2, ti.f32)
    blocks = ti.root.pointer(ti.ij, (2, 3))
    cells = blocks.dense(ti.ij, (2, 2))
    cells.place(x, offset=(-2, 10))
    cells.place(y)
    probe = Probe(ti)

    @ti.kernel
    def run():
        for i, j in x:
            x[i, j] += i + j
            y[i + 2, j - 10].x += x[i, j]

    x[-1, 12] = 5
    y[0, 0] = [1, 2]
    run()
    visited = [probe.visited(what) for what in (x, y, blocks, cells)]
    return [visited, x.to_numpy().tolist(), y.to_numpy().tolist()]


def gradients_beside(ti: Any) -> list[Any]:
    """`needs_grad` with `place(x, x.grad)` and `lazy_grad`: gradients are active where their fields are."""
    x, y = ti.field(ti.f32, needs_grad=True), ti.field(ti.f32, needs_grad=True)
    blocks = ti.root.pointer(ti.i, 4)
    blocks.dense(ti.i, 2).place(x, x.grad)
    blocks.bitmasked(ti.i, 2).place(y)
    ti.root.lazy_grad()
    probe = Probe(ti)

    @ti.kernel
    def run():
        for i in x:
            x.grad[i] += 2 * x[i] + 1
            y.grad[i] = x.grad[i]

    x[2] = 3.0
    y.grad[7] = 1.0
    run()
    visited = [probe.visited(field) for field in (x, x.grad, y, y.grad)]
    return [visited, x.grad.to_numpy().tolist(), y.grad.to_numpy().tolist()]


def components_apart(ti: Any) -> list[Any]:
    """Vectors whose components are in separate nodes."""
    x = ti.Vector.field(2, ti.f32)
    blocks = ti.root.pointer(ti.i, 4)
    for component in range(2):
        blocks.dense(ti.i, 2).place(x.get_scalar_field(component))
    probe = Probe(ti)

    @ti.kernel
    def run():
        for i in x:
            x[i] += ti.Vector([10, 20])
        x[7].y = 3.0

    x[3] = [1, 2]
    run()
    return [x.to_numpy().tolist(), probe.visited(blocks)]


def structs(ti: Any) -> list[Any]:
    """Structs in bits below a pool, and in lists."""
    particle = ti.types.struct(pos=ti.math.vec2, mass=ti.i32)
    x, y = particle.field(), particle.field()
    ti.root.pointer(ti.i, 3).bitmasked(ti.i, 2).place(x)
    lists = ti.root.pointer(ti.i, 3).dynamic(ti.j, 5, chunk_size=2)
    lists.place(y)
    probe = Probe(ti)

    @ti.kernel
    def run() -> ti.i32:
        for i in x:
            x[i].pos += ti.math.vec2(1, 2)
        x[0] = particle(pos=ti.math.vec2(7, 8), mass=9)
        ti.append(lists, 1, particle(pos=ti.math.vec2(1, 2), mass=3))
        y[2].append(particle(pos=ti.math.vec2(5, 6), mass=7))
        y[2].append(particle(pos=ti.math.vec2(5, 6), mass=7))
        return y[2].length()

    x[3].mass = 4
    message = [run(), probe.visited(x.mass), probe.visited(lists)]
    return [*message, *(field.to_numpy()[name].tolist() for field in (x, y) for name in ("pos", "mass"))]


def matrices(ti: Any) -> list[Any]:
    """Elements of matrices and vectors by indices that are known at run time, and whole-field operations."""
    x, v = ti.Matrix.field(2, 3, ti.f32), ti.Vector.field(3, ti.i32)
    ti.root.pointer(ti.ij, 2).dense(ti.ij, (1, 3)).place(x, v)

    @ti.kernel
    def run(n: ti.i32):
        x[1, 4][1, n] = 5.0
        v[1, 3].y += n
        v[1, 1] += ti.Vector([1, 2, 3])
        v[1, 1].zx = ti.Vector([8, 9])
        for I in ti.grouped(x):
            x[I] += ti.Matrix([[1, 2, 3], [4, 5, 6]])
            for k in ti.static(range(3)):
                v[I][k] += k

    run(2)
    message = [x.to_numpy().tolist(), v.to_numpy().tolist()]
    v.fill(3)
    message.append(v.to_numpy().tolist())
    v.from_numpy(np.arange(36).reshape(2, 6, 3).astype(np.int32))
    return [*message, v.to_numpy().tolist()]


def types_of_elements(ti: Any) -> list[Any]:
    """Elements of all sizes, alone in their cells and next to an f32."""
    message = []
    for name in ("u8", "i8", "i16", "u16", "u32", "i64", "u64", "f16", "f64"):
        x, y, z = ti.field(getattr(ti, name)), ti.field(ti.f32), ti.field(getattr(ti, name))
        ti.root.pointer(ti.i, 3).dense(ti.i, 3).place(x, y)
        ti.root.pointer(ti.i, 3).bitmasked(ti.i, 5).place(z)

        @ti.kernel
        def run(x: ti.template(), z: ti.template()):
            x[4] = x[4] + 3
            x[5] = 100
            z[13] = 7
            for i in x:
                x[i] = x[i] + 1
            for i in z:
                z[i] = z[i] + 1

        run(x, z)
        message += [x.to_numpy().tolist(), z.to_numpy().tolist(), float(x[5])]
    return message


def kinds_in_one_cell(ti: Any) -> list[Any]:
    """A pool, bits, a field and a list in each cell of a pool, which goes and comes back."""
    a, b, c, d = (ti.field(ti.i32) for _ in range(4))
    top = ti.root.pointer(ti.i, 4)
    pool = top.pointer(ti.j, 4)
    pool.dense(ti.i, 2).place(a)
    bits = top.bitmasked(ti.j, 4)
    bits.place(b)
    top.place(c)
    lists = top.dynamic(ti.j, 8, chunk_size=4)
    lists.place(d)
    probe = Probe(ti)

    @ti.kernel
    def fill():
        a[3, 2] = 7
        b[2, 1] = 8
        c[0] = 9
        ti.append(lists, 2, 5)
        ti.append(lists, 2, 6)

    def state() -> list[Any]:
        visited = [probe.visited(what) for what in (a, b, c, d, pool, bits, top)]
        return [visited, *(field.to_numpy().tolist() for field in (a, b, c, d))]

    fill()
    message = [state()]
    probe.deactivate_1(top, 2)
    message.append(state())
    fill()
    return [*message, state()]


def deactivated_by_loops(ti: Any) -> list[Any]:
    """Loops that deactivate the cells they run over."""
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, 8)
    blocks.bitmasked(ti.i, 2).place(x)
    blocks.place(y)
    probe = Probe(ti)

    @ti.kernel
    def drop_blocks():
        for i in blocks:
            if i % 2 == 0:
                ti.deactivate(blocks, i)
            else:
                y[i] = i

    @ti.kernel
    def drop_bits():
        for i in x:
            if x[i] > 8:
                ti.deactivate(x.parent(), i)

    for i in range(0, 16, 3):
        x[i] = i + 1
    message = []
    for kernel in (drop_blocks, drop_bits):
        kernel()
        message += [x.to_numpy().tolist(), y.to_numpy().tolist(), probe.visited(blocks), probe.visited(x)]
    return message


def below_lists(ti: Any) -> list[Any]:
    """A dense node in the items of a list, which was not filled in order."""
    x = ti.field(ti.i32)
    items = ti.root.dynamic(ti.i, 6, chunk_size=2)
    cells = items.dense(ti.j, 2)
    cells.place(x)
    probe = Probe(ti)

    @ti.kernel
    def run() -> ti.i32:
        for i, j in x:
            x[i, j] += 1
        return ti.length(items, [])

    x[3, 1] = 2
    return [run(), x.to_numpy().tolist(), probe.visited(items), probe.visited(cells)]


def loops_over_several_nodes(ti: Any) -> list[Any]:
    """Loops over an inner node, over its blocks and over a field of fewer axes next to it."""
    x, y, z = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    blocks = ti.root.pointer(ti.ij, 3)
    cells = blocks.dense(ti.ij, 2)
    cells.place(x, y)
    blocks.dense(ti.i, 2).place(z)

    @ti.kernel
    def run():
        for i, j in blocks:
            z[2 * i, j] = 5
        for i, j in cells:
            y[i, j] = x[i, j] + 1
        for I in ti.grouped(z):
            z[I] += 1

    x[3, 4] = 1
    run()
    return [field.to_numpy().tolist() for field in (x, y, z)]


def copies(ti: Any) -> list[Any]:
    """A copy is of all elements, and activates all cells."""
    x, y, z = ti.field(ti.f32), ti.field(ti.f32, 8), ti.field(ti.f32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)
    ti.root.bitmasked(ti.i, 8).place(z)
    probe = Probe(ti)
    for i in range(8):
        y[i] = i + 1
    x[3], z[0] = 9, 5
    z.copy_from(x)
    message = [z.to_numpy().tolist(), probe.visited(z)]
    y.copy_from(x)
    message.append(y.to_numpy().tolist())
    x.copy_from(y)
    return [*message, x.to_numpy().tolist(), probe.visited(x)]


def atomics(ti: Any) -> list[Any]:
    """Atomic operations activate, and give the zero that was there."""
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, 4)
    blocks.dense(ti.i, 2).place(x)
    probe = Probe(ti)

    @ti.kernel
    def run() -> ti.i32:
        a = ti.atomic_max(x[3], 5)
        b = ti.atomic_min(x[5], -5)
        c = ti.atomic_or(x[0], 6)
        d = ti.atomic_sub(x[3], 2)
        return a + 10 * b + 100 * c + 1000 * d

    return [run(), x.to_numpy().tolist(), probe.active(blocks)]


def swaps(ti: Any) -> list[Any]:
    """Elements of two trees change places; one of them was not active."""
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)
    ti.root.bitmasked(ti.i, 8).place(y)
    probe = Probe(ti)

    @ti.kernel
    def run():
        x[4], y[4] = y[4], x[4]
        for i in x:
            y[i] = x[i]

    x[1], y[4] = 5, 6
    run()
    return [x.to_numpy().tolist(), y.to_numpy().tolist(), probe.visited(x), probe.visited(y)]


EDGE_PROGRAMS = (
    fields_with_offsets, gradients_beside, components_apart, structs, matrices, types_of_elements, kinds_in_one_cell,
    deactivated_by_loops, below_lists, loops_over_several_nodes, copies, atomics, swaps,
)  # fmt: skip
