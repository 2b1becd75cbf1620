"""Programs with sparse fields that run under Taichi and here alike: each takes the module and gives what can be compared.

`tests/data/record_sparse.py` runs them under Taichi 1.7.4 (arch cpu) and keeps what they give in `tests/data/sparse.json`.
They keep clear of what Taichi gets wrong: cells of nested nodes are activated below active ones, and bitmasked nodes have
extents that are powers of two.
"""

from typing import Any

import numpy as np


class Probe:
    """Kernels that look at nodes: which cells a loop visits, which are active, how long lists are."""

    def __init__(self, ti: Any) -> None:
        count = ti.field(ti.i32, shape=())
        found = ti.field(ti.i32, shape=(512, 3))

        @ti.kernel
        def visit(cells: ti.template()):
            count[None] = 0
            for I in ti.grouped(cells):
                k = ti.atomic_add(count[None], 1)
                for axis in ti.static(range(len(cells.shape))):
                    found[k, axis] = I[axis]

        @ti.kernel
        def active_1(node: ti.template(), i: ti.i32) -> ti.i32:
            return ti.is_active(node, i)

        @ti.kernel
        def active_2(node: ti.template(), i: ti.i32, j: ti.i32) -> ti.i32:
            return ti.is_active(node, [i, j])

        @ti.kernel
        def activate_2(node: ti.template(), i: ti.i32, j: ti.i32):
            ti.activate(node, [i, j])

        @ti.kernel
        def deactivate_1(node: ti.template(), i: ti.i32):
            ti.deactivate(node, [i])

        @ti.kernel
        def deactivate_2(node: ti.template(), i: ti.i32, j: ti.i32):
            ti.deactivate(node, [i, j])

        self.count, self.found, self.visit_all = count, found, visit
        self.active_1, self.active_2 = active_1, active_2
        self.activate, self.deactivate_1, self.deactivate = activate_2, deactivate_1, deactivate_2

    def visited(self, cells: Any) -> list[list[int]]:
        """Return the indices of a loop over a field or node, sorted: their order is nobody's promise."""
        self.visit_all(cells)
        return sorted(self.found.to_numpy()[: self.count[None], : len(cells.shape)].tolist())

    def active(self, node: Any) -> list[Any]:
        """Return which cells of a node of one or two axes are active."""
        if len(node.shape) == 1:
            return [int(self.active_1(node, i)) for i in range(node.shape[0])]
        return [[int(self.active_2(node, i, j)) for j in range(node.shape[1])] for i in range(node.shape[0])]


def pointer_dense(ti: Any) -> list[Any]:
    """Reads leave cells inactive, writes activate; whole-field operations reach active cells only."""
    x, y = ti.field(ti.i32), ti.field(ti.f32)
    blocks = ti.root.pointer(ti.ij, (4, 3))
    cells = blocks.dense(ti.ij, (2, 3))
    cells.place(x, y)
    probe = Probe(ti)

    @ti.kernel
    def read(i: ti.i32, j: ti.i32) -> ti.i32:
        return x[i, j]

    @ti.kernel
    def write():
        x[0, 0] = 1
        y[7, 8] += 2

    @ti.kernel
    def add() -> ti.i32:
        return ti.atomic_add(x[4, 4], 0)

    message = [read(3, 3), x[3, 3], probe.active(blocks)]
    x[3, 3] = 5
    message += [probe.active(blocks), probe.visited(x), probe.visited(cells), probe.visited(blocks)]
    write()
    message += [add(), probe.active(blocks), probe.visited(y), x.to_numpy().tolist(), y.to_numpy().tolist()]
    x.fill(7)
    message += [probe.active(blocks), x.to_numpy().tolist(), y.to_numpy().tolist()]
    x.from_numpy(np.arange(72, dtype=np.int32).reshape(8, 9))
    message += [probe.active(blocks), x.to_numpy().tolist()]
    probe.deactivate(blocks, 1, 1)
    probe.deactivate(blocks, 1, 1)
    message += [probe.active(blocks), read(3, 3), x[3, 3], x.to_numpy().tolist()]
    probe.activate(blocks, 1, 1)
    message += [probe.active(blocks), read(3, 3), probe.visited(x)]
    blocks.deactivate_all()
    message += [probe.active(blocks), x.to_numpy().tolist(), probe.visited(x)]
    return message


def activation_by_parents(ti: Any) -> list[Any]:
    """`x.parent()` and `x.snode.parent()` are nodes; dense ones take (de)activation and do nothing."""
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.ij, 4)
    blocks.dense(ti.ij, 2).place(x)
    probe = Probe(ti)

    @ti.kernel
    def dense():
        ti.activate(x.parent(), [3, 7])
        ti.deactivate(x.snode.parent(), (3, 7))

    @ti.kernel
    def pointer():
        ti.activate(x.parent(2), [3, 0])
        ti.activate(x.snode.parent().parent(), ti.Vector([1, 2]))

    dense()
    message = [probe.active(blocks)]
    pointer()
    shapes = [list(node.shape) for node in (x, x.parent(), x.snode.parent(2), x.snode, blocks)]
    return [*message, probe.active(blocks), shapes, x.parent() == x.snode.parent(), str(x.parent()), repr(blocks)]


def nested_pointers(ti: Any) -> list[Any]:
    """Two levels of pointers: each has active cells of its own; a cell that comes back is empty."""
    x = ti.field(ti.i32)
    outer = ti.root.pointer(ti.ij, (2, 3))
    inner = outer.pointer(ti.ij, (3, 2))
    inner.dense(ti.ij, 2).place(x)
    probe = Probe(ti)
    x[0, 0], x[11, 11], x[5, 4] = 1, 2, 3
    message = [probe.active(outer), probe.active(inner), probe.visited(x), probe.visited(inner), probe.visited(outer)]
    probe.deactivate(inner, 5, 5)
    message += [probe.active(outer), probe.active(inner), x.to_numpy().tolist()]
    inner.deactivate_all()
    message += [probe.active(outer), probe.active(inner), x.to_numpy().tolist()]
    x[11, 10] = 4
    message += [probe.active(outer), probe.active(inner), x[11, 11]]
    outer.deactivate_all()
    message += [probe.active(outer), probe.visited(inner), x.to_numpy().tolist()]
    x[11, 10] = 5
    message += [probe.active(outer), probe.active(inner), x[11, 11], probe.visited(x)]
    return message


def bitmasked(ti: Any) -> list[Any]:
    """One bit a cell."""
    x, v = ti.field(ti.i32), ti.Vector.field(2, ti.f32)
    cells = ti.root.bitmasked(ti.ij, (4, 8))
    cells.place(x, v)
    probe = Probe(ti)
    x[1, 2] = 3
    v[3, 7] = [0, 0]
    message = [probe.active(cells), probe.visited(x), probe.visited(cells)]
    x.fill(2)
    message += [probe.active(cells), x.to_numpy().tolist()]
    probe.activate(cells, 0, 0)
    probe.deactivate(cells, 1, 2)
    message += [probe.active(cells), probe.visited(v), x.to_numpy().tolist()]
    cells.deactivate_all()
    return [*message, probe.active(cells), probe.visited(x), x.to_numpy().tolist(), v.to_numpy().tolist()]


def bitmasked_blocks(ti: Any) -> list[Any]:
    """Bits above dense cells, and bits below pointers."""
    a, q = ti.field(ti.i32), ti.field(ti.i32)
    blocks = ti.root.bitmasked(ti.i, 8)
    blocks.dense(ti.i, 3).place(a)
    outer = ti.root.pointer(ti.i, 4)
    bits = outer.bitmasked(ti.i, 8)
    bits.place(q)
    probe = Probe(ti)
    a[4], a[13] = 1, 2
    q[3], q[30], q[31] = 1, 2, 3
    message = [probe.visited(a), probe.visited(blocks), probe.active(blocks), a.to_numpy().tolist()]
    message += [probe.visited(q), probe.visited(bits), probe.visited(outer), probe.active(bits), probe.active(outer)]
    probe.deactivate_1(bits, 30)
    probe.deactivate_1(outer, 0)
    return [*message, probe.visited(q), probe.active(bits), probe.active(outer), q.to_numpy().tolist()]


def under_dense(ti: Any) -> list[Any]:
    """Pointers below dense nodes, fields at several levels, axes split over kinds."""
    a, b, c, m = (ti.field(ti.i32) for _ in range(4))
    top = ti.root.dense(ti.i, 3)
    blocks = top.pointer(ti.i, 3)
    blocks.dense(ti.i, 2).place(a)
    mixed = ti.root.pointer(ti.i, 3)
    mixed.place(b)
    mixed.dense(ti.i, 2).place(c)
    rows = ti.root.pointer(ti.i, 4)
    columns = rows.bitmasked(ti.j, 8)
    columns.place(m)
    probe = Probe(ti)
    a[7] = 1
    message = [probe.visited(a), probe.visited(blocks), probe.visited(top)]
    c[3] = 4
    message += [probe.visited(b), probe.visited(c)]
    b[2] = 1
    message += [probe.visited(b), probe.visited(c), c.to_numpy().tolist()]
    m[2, 3], m[0, 4], m[0, 0] = 1, 2, 3
    return [*message, probe.visited(m), probe.visited(rows), probe.visited(columns), m.to_numpy().tolist()]


def with_offset(ti: Any) -> list[Any]:
    """Indices of fields begin at their offset, those of nodes at 0."""
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.ij, (4, 4))
    blocks.dense(ti.ij, (2, 2)).place(x, offset=(-4, -2))
    probe = Probe(ti)
    x[-4, -2], x[3, 5] = 5, 6
    return [probe.visited(x), probe.visited(blocks), probe.active(blocks), x.to_numpy().tolist(), x[-4, -2], x[-3, -2]]


def rescaled(ti: Any) -> list[Any]:
    """`ti.rescale_index` divides by the ratio of extents, axis by axis."""
    x, y = ti.field(ti.i32), ti.field(ti.i32, shape=(16, 32))
    blocks = ti.root.pointer(ti.ij, (4, 4))
    inner = blocks.pointer(ti.ij, (2, 2))
    inner.dense(ti.ij, (2, 4)).place(x)
    found = ti.Vector.field(2, ti.i32, shape=5)

    @ti.kernel
    def rescale():
        found[0] = ti.rescale_index(x, blocks, [9, 17])
        found[1] = ti.rescale_index(x, inner, ti.Vector([9, 17]))
        found[2] = ti.rescale_index(inner, blocks, ti.Vector([7, 3]))
        found[3] = ti.rescale_index(x, y, [15, 31])
        found[4] = ti.rescale_index(y, blocks, [15, 31])

    rescale()
    return found.to_numpy().tolist()


def dynamic(ti: Any) -> list[Any]:
    """One list: append gives the place, a write beyond the end makes it longer."""
    x = ti.field(ti.i32)
    items = ti.root.dynamic(ti.i, 100, chunk_size=8)
    items.place(x)
    probe = Probe(ti)

    @ti.kernel
    def append(value: ti.i32) -> ti.i32:
        return ti.append(items, [], value)

    @ti.kernel
    def length() -> ti.i32:
        return ti.length(x.parent(), [])

    @ti.kernel
    def empty():
        ti.deactivate(items, [])

    @ti.kernel
    def write(i: ti.i32):
        x[i] += 1

    message = [[append(k) for k in (4, 5, 6)], length(), x.to_numpy().tolist()]
    x[20] = 3
    message += [length(), x[19], x[20], x[99], probe.visited(x), probe.visited(items)]
    write(33)
    message += [length(), x[33], x[32], append(7), x[34]]
    empty()
    message += [length(), x.to_numpy().tolist(), probe.visited(x), append(8), x[0], x[1], length()]
    items.deactivate_all()
    return [*message, length(), x.to_numpy().tolist()]


def lists_under_dense(ti: Any) -> list[Any]:
    """A list in each cell."""
    n = 8
    x, count = ti.field(ti.i32), ti.field(ti.i32)
    lists = ti.root.dense(ti.i, n).dynamic(ti.j, 32, chunk_size=4)
    lists.place(x)
    ti.root.dense(ti.i, n).place(count)
    probe = Probe(ti)

    @ti.kernel
    def fill():
        for i in range(n):
            for j in range(i):
                ti.append(x.parent(), i, j * j)
            count[i] = ti.length(x.parent(), i)

    @ti.kernel
    def measure():
        for i in range(n):
            count[i] = ti.length(lists, [i])

    @ti.kernel
    def methods(i: ti.i32, value: ti.i32) -> ti.i32:
        return x[i].append(value)

    @ti.kernel
    def method_length(i: ti.i32) -> ti.i32:
        return x[i].length()

    @ti.kernel
    def method_deactivate(i: ti.i32):
        x[i].deactivate()

    fill()
    message = [count.to_numpy().tolist(), x.to_numpy().tolist(), probe.visited(x), probe.visited(lists)]
    message += [methods(3, 10), methods(0, 11), method_length(3), x[3, 3], x[0, 0]]
    method_deactivate(5)
    x[1, 9] = 4
    measure()
    message += [count.to_numpy().tolist(), x.to_numpy().tolist()]
    lists.deactivate_all()
    measure()
    return [*message, count.to_numpy().tolist(), x.to_numpy().tolist()]


def lists_of_structs(ti: Any) -> list[Any]:
    """Vectors and structs are appended whole; `x.append(value)` where the list is the field's one cell."""
    v = ti.Vector.field(2, ti.f32)
    ti.root.dynamic(ti.i, 16, chunk_size=4).place(v)
    Body = ti.types.struct(kind=ti.i32, at=ti.types.vector(2, ti.f32))
    bodies = Body.field()
    ti.root.dynamic(ti.i, 16).place(bodies)

    @ti.kernel
    def append() -> ti.i32:
        return (
            v.append(ti.Vector([1.0, 2.0])) + 10 * ti.append(v.parent(), [], ti.Vector([3.0, 4.0])) + 100 * v.length()
        )

    @ti.kernel
    def add(kind: ti.i32) -> ti.i32:
        return bodies.append(Body(kind=kind, at=[kind, 0.5]))

    @ti.kernel
    def empty() -> ti.i32:
        v.deactivate()
        return v.length()

    message = [append(), v.to_numpy().tolist(), add(3), add(4), bodies[1].kind, bodies[1].at[0], bodies[2].kind]
    return [*message, empty(), v.to_numpy().tolist()]


def pointer_lists(ti: Any) -> list[Any]:
    """Lists below pointers: they come and go with their cell."""
    x = ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, 4)
    lists = blocks.dynamic(ti.j, 16, chunk_size=4)
    lists.place(x)
    probe = Probe(ti)

    @ti.kernel
    def append(i: ti.i32, value: ti.i32) -> ti.i32:
        return ti.append(lists, i, value)

    @ti.kernel
    def length(i: ti.i32) -> ti.i32:
        return ti.length(lists, i)

    message = [[append(2, k) for k in range(6)], append(0, 9), [length(i) for i in range(4)], probe.active(blocks)]
    message += [probe.visited(x), probe.visited(blocks), x.to_numpy().tolist()]
    probe.deactivate_1(blocks, 2)
    return [
        *message,
        [length(i) for i in range(4)],
        probe.active(blocks),
        probe.visited(x),
        append(2, 1),
        x.to_numpy().tolist(),
    ]


def whole_trees(ti: Any) -> list[Any]:
    """`ti.deactivate_all_snodes` reaches all nodes; dense fields keep their values."""
    x, y, z = ti.field(ti.i32), ti.field(ti.i32), ti.field(ti.i32)
    blocks = ti.root.pointer(ti.i, 4)
    blocks.dense(ti.i, 2).place(x)
    bits = ti.root.bitmasked(ti.i, 8)
    bits.place(y)
    ti.root.dense(ti.i, 3).place(z)
    probe = Probe(ti)
    x[3] = y[3] = z[1] = 1
    message = [probe.active(blocks), probe.active(bits)]
    ti.deactivate_all_snodes()
    message += [probe.active(blocks), probe.active(bits), z[1]]
    return [*message, x.to_numpy().tolist(), y.to_numpy().tolist()]


def sums(ti: Any) -> list[Any]:
    """Many iterations add to few cells; a loop over active cells adds to a variable."""
    x, total = ti.field(ti.i32), ti.field(ti.i32, shape=())
    blocks = ti.root.pointer(ti.i, 8)
    blocks.dense(ti.i, 4).place(x)

    @ti.kernel
    def scatter():
        for i in range(10_000):
            x[i * i % 20] += i % 7

    @ti.kernel
    def gather():
        for i in x:
            total[None] += x[i] * (i + 1)

    scatter()
    gather()
    return [x.to_numpy().tolist(), total[None], Probe(ti).active(blocks)]


def grids(ti: Any) -> list[Any]:
    """`ti.sparse.grid` and `ti.sparse.usage`."""
    members = {"pos": ti.math.vec2, "mass": ti.f32, "near": ti.types.vector(20, ti.i32)}
    grid = ti.sparse.grid(members, shape=(8, 16))
    solid = ti.sparse.grid({"mass": ti.f32}, shape=(4, 4, 4))
    message = [ti.sparse.usage(grid), ti.sparse.usage(solid)]
    grid[0, 0].pos = ti.math.vec2(1.0, 2.0)
    grid[3, 5].mass = 1.0
    grid[3, 5].near[2] = 123
    solid[3, 2, 1].mass = 2.0
    message += [
        ti.sparse.usage(grid),
        ti.sparse.usage(solid),
        grid[0, 0].pos.to_list(),
        grid[3, 5].near[2],
        grid[7, 15].mass,
    ]
    return message


PROGRAMS = (
    pointer_dense, activation_by_parents, nested_pointers, bitmasked, bitmasked_blocks, under_dense, with_offset, rescaled,
    dynamic, lists_under_dense, lists_of_structs, pointer_lists, whole_trees, sums, grids,
)  # fmt: skip
