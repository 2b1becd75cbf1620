"""Accesses outside sparse trees: their fields, their cells and their lists."""

from __future__ import annotations

import shadesmith as ti

from .rows import MANY, outside


def blocks_of(w, **how):
    """Return a field in a pointer node of 4 cells of 3 elements, and that node."""
    x = w.kept = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 3).place(x, **how)
    x[how.get("offset", 0) + 4] = 1
    return x, block


def lists_of(w):
    """Return a field in 3 lists of at most 8 items, and their node."""
    x = w.kept = ti.field(ti.i32)
    items = ti.root.dense(ti.i, 3).dynamic(ti.j, 8, chunk_size=4)
    items.place(x)
    return x, items


# --- fields


@outside("x", (12,), (12,))
def sparse_read(w):
    x, _ = blocks_of(w)

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return x[i]  # out

    return lambda: run(12)


@outside("x", (-1,), (12,))
def sparse_write(w):
    x, _ = blocks_of(w)

    @ti.kernel
    def run(i: ti.i32):
        x[i] = 9  # out

    return lambda: run(-1)


@outside("x", (MANY,), (12,))
def sparse_atomic_add(w):
    x, _ = blocks_of(w)

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return ti.atomic_add(x[i], 1)  # out

    return lambda: run(MANY)


@outside("x", (7,), (12,))
def sparse_with_an_offset_above(w):
    x, _ = blocks_of(w, offset=-5)

    @ti.kernel
    def run(i: ti.i32):
        x[i] += 9  # out

    return lambda: run(7)


@outside("x", (-6,), (12,))
def sparse_with_an_offset_below(w):
    x, _ = blocks_of(w, offset=-5)

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return x[i]  # out

    return lambda: run(-6)


@outside("x", (2**32 + 4,), (12,))
def sparse_with_a_wide_index(w):
    x, _ = blocks_of(w)

    @ti.kernel
    def run(i: ti.i64):
        x[i] = 9  # out

    return lambda: run(2**32 + 4)


@outside("x", (3, 4), (6, 4))
def sparse_second_axis(w):
    x = ti.field(ti.f32)
    ti.root.pointer(ti.ij, (3, 2)).bitmasked(ti.ij, (2, 2)).place(x)

    @ti.kernel
    def run(i: ti.i32, j: ti.i32):
        x[i, j] = 9.0  # out

    return lambda: run(3, 4)


@outside("x", (2,), (2,))
def component_of_a_sparse_field(w):
    x = ti.Vector.field(2, ti.f32)
    ti.root.pointer(ti.i, 4).place(x)

    @ti.kernel
    def run(k: ti.i32):
        x[1][k] = 9.0  # out

    return lambda: run(2)


@outside("x", (12,), (12,))
def part_of_a_sparse_field(w):
    x = ti.Vector.field(2, ti.f32)
    block = ti.root.pointer(ti.i, 4)
    for component in range(2):
        block.dense(ti.i, 3).place(x.get_scalar_field(component))

    @ti.kernel
    def run(i: ti.i32):
        x[i].y = 9.0  # out

    return lambda: run(12)


@outside("x", (2, 8), (3, 8))
def item_beyond_a_list(w):
    x, _ = lists_of(w)

    @ti.kernel
    def run(k: ti.i32):
        x[2, k] = 9  # out

    return lambda: run(8)


# --- cells


@outside("block", (4,), (4,))
def cell_activated(w):
    _, block = blocks_of(w)

    @ti.kernel
    def run(i: ti.i32):
        ti.activate(block, [i])  # out

    return lambda: run(4)


@outside("pixels", (1, 8), (6, 8))
def cell_activated_by_a_vector(w):
    x = w.kept = ti.field(ti.i32)
    pixels = ti.root.pointer(ti.ij, (2, 2)).bitmasked(ti.ij, (3, 4))
    pixels.place(x)

    @ti.kernel
    def run(i: ti.i32, j: ti.i32):
        ti.activate(pixels, ti.Vector([i, j]))  # out

    return lambda: run(1, 8)


@outside("block", (-1,), (4,))
def cell_deactivated(w):
    _, block = blocks_of(w)

    @ti.kernel
    def run(i: ti.i32):
        ti.deactivate(block, i)  # out

    return lambda: run(-1)


@outside("bits", (64,), (64,))
def bit_cleared(w):
    x = w.kept = ti.field(ti.i32)
    bits = ti.root.bitmasked(ti.i, 64)
    bits.place(x)

    @ti.kernel
    def run(i: ti.i32):
        ti.deactivate(bits, i)  # out

    return lambda: run(64)


@outside("block", (2**31 - 1,), (4,))
def cell_asked_for(w):
    _, block = blocks_of(w)

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return ti.is_active(block, [i])  # out

    return lambda: run(2**31 - 1)


@outside("bits", (-1,), (33,))
def bit_asked_for(w):
    x = w.kept = ti.field(ti.i32)
    bits = ti.root.bitmasked(ti.i, 33)
    bits.place(x)

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        found = 0
        if i < 4 and ti.is_active(bits, i):  # out
            found = 1
        return found

    return lambda: run(-1)


@outside("block", (2**32,), (4,))
def cell_with_a_wide_index(w):
    _, block = blocks_of(w)

    @ti.kernel
    def run(i: ti.i64):
        ti.activate(block, [i])  # out

    return lambda: run(2**32)


@outside("block", (12,), (4,))
def cell_by_the_index_of_a_field(w):
    """What `ti.rescale_index` is for."""
    x, block = blocks_of(w)

    @ti.kernel
    def run(i: ti.i32):
        inside = ti.rescale_index(x, block, [i])
        ti.activate(block, inside)
        ti.activate(block, [i + 1])  # out

    return lambda: run(11)


@outside("inner", (0, 9), (2, 9))
def cell_of_an_inner_node(w):
    x = w.kept = ti.field(ti.i32)
    inner = ti.root.pointer(ti.ij, (2, 3)).pointer(ti.j, 3)
    inner.place(x)

    @ti.kernel
    def run(j: ti.i32) -> ti.i32:
        return ti.is_active(inner, [0, j])  # out

    return lambda: run(9)


@outside("x_block", (4,), (4,))
def cell_of_a_node_without_a_name(w):
    x = w.kept = ti.field(ti.i32)
    ti.root.pointer(ti.i, 4).dense(ti.i, 2).place(x)

    @ti.kernel
    def run(i: ti.i32):
        ti.activate(x.parent(2), [i])  # out

    return lambda: run(4)


# --- lists


@outside("items", (3,), (3,))
def appended_to_a_list(w):
    _, items = lists_of(w)

    @ti.kernel
    def run(i: ti.i32):
        ti.append(items, [i], 9)  # out

    return lambda: run(3)


@outside("x_list", (-1,), (3,))
def appended_to_a_list_as_a_method(w):
    x, items = lists_of(w)

    @ti.kernel
    def run(i: ti.i32):
        x[i].append(9)  # out

    return lambda: run(-1)


@outside("items", (MANY,), (3,))
def length_of_a_list(w):
    _, items = lists_of(w)

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        return ti.length(items, i)  # out

    return lambda: run(MANY)


@outside("items", (4,), (3,))
def list_emptied(w):
    _, items = lists_of(w)

    @ti.kernel
    def run(i: ti.i32):
        ti.deactivate(items, [i])  # out

    return lambda: run(4)


# --- places in a program


@outside("block", (5,), (4,), ("run", "free"))
def cell_in_a_function(w):
    _, block = blocks_of(w)

    @ti.func
    def free(i):
        ti.deactivate(block, [i + 1])  # out

    @ti.kernel
    def run(i: ti.i32):
        free(i)

    return lambda: run(4)


@outside("x", (12,), (12,), ("run", "store"))
def sparse_write_in_a_real_function(w):
    x, _ = blocks_of(w)

    @ti.real_func
    def store(i: ti.i32):
        x[i] = 9  # out

    @ti.kernel
    def run(i: ti.i32):
        store(i)

    return lambda: run(12)


@outside("block", (4,), (4,), k=4)
def cell_in_a_parallel_loop(w):
    _, block = blocks_of(w)

    @ti.kernel
    def run():
        for k in range(4, 6):
            ti.activate(block, [k])  # out

    return run
