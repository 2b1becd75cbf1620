"""An index may be any expression: accessors are macros, which must not take it apart."""

import numpy as np

import shadesmith as ti


def test_items_of_lists(target: str) -> None:
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 16).dynamic(ti.j, 64, chunk_size=16).place(x)

    @ti.kernel
    def fill():
        for i, j in ti.ndrange(16, 40):
            x[i, j] = 100 * i + j

    @ti.kernel
    def read(i: ti.i32, j: ti.i32) -> ti.i32:
        return x[i + 1, j + 17]

    fill()
    assert read(3, 4) == 421 and read(2, 22) == 339


def test_bits_in_cells_of_a_pool(target: str) -> None:
    x, found = ti.field(ti.i32), ti.field(ti.i32, shape=40)
    block = ti.root.pointer(ti.i, 4)
    bits = block.bitmasked(ti.j, 40)
    bits.place(x)

    @ti.kernel
    def ask(i: ti.i32):
        for j in found:
            found[j] = ti.is_active(bits, [i, j & 7])

    x[2, 1] = x[2, 6] = 1
    ask(2)
    assert found.to_numpy().tolist() == [int(j & 7 in (1, 6)) for j in range(40)]


def test_atomic_operations_without_an_instruction(target: str) -> None:
    x, count = ti.field(ti.f32), ti.field(ti.f32)
    blocks = ti.root.dense(ti.i, 3)
    blocks.place(count)
    blocks.dense(ti.j, 8).place(x)

    @ti.kernel
    def double():
        for i, j in ti.ndrange(3, 16):
            ti.atomic_mul(x[i, j & 5], 2.0)

    x.fill(1)
    double()
    assert np.array_equal(x.to_numpy(), np.tile([16, 16, 1, 1, 16, 16, 1, 1], (3, 1)))
    assert not count.to_numpy().any()
