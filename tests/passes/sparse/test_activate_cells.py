import pytest

from shadesmith.transpiler.ir.sparse import Deactivate
from shadesmith.transpiler.ir.statements import Array, If, StructFor
from shadesmith.transpiler.ir.types import f32
from shadesmith.transpiler.passes.sparse.activate_cells import activate_cells
from shadesmith.transpiler.passes.sparse.struct_for import struct_for


@pytest.fixture
def x(sketch) -> Array:
    """Return a field of eight blocks of four elements."""
    return sketch.field_below(("pointer", "block", 8), ("dense", "cells", 4))


def lines(sketch, *steps):
    """Return the statements that access cells, in order."""
    words = ("activate", "in cell", "global", "atomic", "if ", "for ")
    return [line.strip() for line in sketch.apply(*steps).splitlines() if any(word in line for word in words)]


def deactivate(sketch, cell=0):
    sketch.add(Deactivate(sketch.nodes["block"], [sketch.const(cell)]))


def test_a_store_activates_the_cell_and_reaches_it_by_its_number(sketch, x):
    sketch.store(sketch.ptr(x, sketch.arg("n")), sketch.arg("w"))
    text = "\n".join(lines(sketch, activate_cells))
    assert "block: u32 = activate block ($" in text and "ptr x ($" in text and "in cell $" in text


def test_reading_activates_nothing(sketch, x):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.read(x, 3))
    assert not activate_cells(sketch.kernel(), sketch.context)


def test_an_atomic_operation_activates(sketch, x):
    sketch.atomic("add", sketch.ptr(x, 3), sketch.arg("w"))
    found = lines(sketch, activate_cells)
    assert "activate block" in found[0] and "in cell" in found[1] and "atomic add" in found[2]


def test_what_is_read_before_it_is_stored_is_activated_first(sketch, x):
    place = sketch.ptr(x, sketch.arg("n"))
    sketch.store(place, sketch.op("mul", sketch.load(place), sketch.const(2.0, f32)))
    found = lines(sketch, activate_cells)
    assert "activate" in found[0] and "in cell" in found[1] and "global load" in found[2] and len(found) == 4


def test_two_stores_to_one_element_activate_once(sketch, x):
    n = sketch.arg("n")
    for value in (1.0, 2.0):
        sketch.store(sketch.ptr(x, n), sketch.const(value, f32))
    assert sum("activate" in line for line in lines(sketch, activate_cells)) == 1


def test_what_a_branch_activates_is_not_known_behind_it(sketch, x):
    n = sketch.arg("n")
    with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
        sketch.store(sketch.ptr(x, n), sketch.arg("w"))
    sketch.store(sketch.ptr(x, n), sketch.arg("w"))
    assert sum("activate" in line for line in lines(sketch, activate_cells)) == 2


def test_a_store_behind_a_deactivation_activates_again(sketch, x):
    sketch.store(sketch.ptr(x, 0), sketch.arg("w"))
    deactivate(sketch)
    sketch.store(sketch.ptr(x, 0), sketch.arg("w"))
    kinds = [line.split("= ")[-1].split()[0] for line in lines(sketch, activate_cells) if "activate" in line]
    assert kinds == ["activate", "deactivate", "activate"]


def over_cells(sketch, x, *body):
    """Add a loop over the cells of x that runs each part of the body with a pointer to the element of the iteration."""
    loop = sketch.add(StructFor(x, ["i"]))
    with sketch.into(loop.body):
        i = sketch.index(loop)
        for part in body:
            part(sketch.ptr(x, i))


def test_the_cell_of_the_iteration_is_looked_up_and_not_activated(sketch, x):
    over_cells(sketch, x, lambda place: sketch.store(place, sketch.arg("w")))
    text = sketch.apply(struct_for, activate_cells)
    assert ": u32 = cell block" in text and "in cell $" in text and " activate " not in text


def test_only_stores_after_a_branch_that_deactivates_activate_the_cell_of_the_iteration(sketch, x):
    def store(place):
        sketch.store(place, sketch.arg("w"))

    def maybe_deactivate(place):
        with sketch.into(sketch.add(If(sketch.arg("flag"))).then):
            deactivate(sketch)

    over_cells(sketch, x, store, maybe_deactivate, store)
    text = sketch.apply(struct_for, activate_cells)
    assert text.count("= activate ") == 1
    assert text.index("deactivate") < text.index("= activate ")


def test_a_serial_loop_that_deactivates_activates_from_its_begin(sketch, x):
    loop = sketch.loop(3, serialize=True)
    with sketch.into(loop.body):
        sketch.store(sketch.ptr(x, 0), sketch.arg("w"))
        deactivate(sketch)
    sketch.store(sketch.ptr(x, 0), sketch.arg("w"))
    assert sum(": u32 = activate" in line for line in lines(sketch, activate_cells)) == 2


def test_bits_without_a_pool_have_no_number(sketch):
    y = sketch.field_below(("bitmasked", "bits", 8), name="y")
    sketch.store(sketch.ptr(y, 3), sketch.arg("w"))
    text = sketch.apply(activate_cells)
    assert "activate bits ($" in text and "= activate" not in text and "in cell" not in text
