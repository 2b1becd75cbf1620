"""Loops over active cells: the pass is `struct_for`, the lists are built by `active_cells`."""

from shadesmith.transpiler.ir.statements import RangeFor, StructFor
from shadesmith.transpiler.passes.sparse.struct_for import struct_for


def over(sketch, array, **options):
    """Add a loop over the cells of an array that reads each."""
    loop = sketch.add(StructFor(array, ["i"], **options))
    with sketch.into(loop.body):
        i = sketch.index(loop)
        sketch.store(sketch.ptr(sketch.a, 0), sketch.read(array, i))
    return loop


def purposes(sketch):
    """Lower the kernel and return the purposes of its loops."""
    sketch.text = sketch.apply(struct_for)
    loops = [statement for statement in sketch.result.body if isinstance(statement, RangeFor)]
    return [loop.purpose or "the user's" for loop in loops]


def test_active_cells_of_a_pool_are_listed_before(sketch):
    over(sketch, sketch.field_below(("pointer", "block", 8), ("dense", "cells", 4)))
    assert purposes(sketch) == ["lists the active cells of block", "the user's"]
    assert "field block_list: list[i32" in sketch.text and "is_active block" in sketch.text
    assert "for list_index, i_inside in" in sketch.text and "count block listed" in sketch.text


def test_a_list_is_emptied_before_it_is_built(sketch):
    over(sketch, sketch.field_below(("pointer", "block", 8)))
    purposes(sketch)
    assert sketch.text.index("ptr block_listed") < sketch.text.index("global store") < sketch.text.index("for i in")


def test_a_second_loop_over_the_same_cells_uses_the_list(sketch):
    x = sketch.field_below(("pointer", "block", 8), ("dense", "cells", 4))
    over(sketch, x)
    over(sketch, x)
    assert purposes(sketch) == ["lists the active cells of block", "the user's", "the user's"]


def test_a_store_to_other_cells_rebuilds_the_list(sketch):
    x = sketch.field_below(("pointer", "block", 8), ("dense", "cells", 4))
    over(sketch, x)
    sketch.store(sketch.ptr(x, sketch.arg("n")), sketch.arg("w"))
    over(sketch, x)
    assert purposes(sketch) == ["lists the active cells of block", "the user's"] * 2


def test_a_store_to_the_cell_of_the_iteration_does_not(sketch):
    x = sketch.field_below(("pointer", "block", 8), ("dense", "cells", 4))
    loop = over(sketch, x)
    with sketch.into(loop.body):
        sketch.store(sketch.ptr(x, sketch.index(loop)), sketch.arg("w"))
    over(sketch, x)
    assert purposes(sketch) == ["lists the active cells of block", "the user's", "the user's"]


def test_pools_in_pools_are_listed_from_the_outside_in(sketch):
    over(sketch, sketch.field_below(("pointer", "outer", 4), ("dense", "middle", 2), ("pointer", "inner", 2)))
    assert purposes(sketch) == [
        "lists the active cells of outer",
        "lists the active cells of inner",
        "the user's",
    ]
    assert sketch.text.count("count outer listed") == 1 and sketch.text.count("count inner listed") == 1


def test_bits_in_a_pool_are_tested_in_the_loop(sketch):
    over(sketch, sketch.field_below(("pointer", "block", 8), ("bitmasked", "bits", 4)))
    assert purposes(sketch) == ["lists the active cells of block", "the user's"]
    assert sketch.text.index("for list_index") < sketch.text.index("is_active bits")


def test_bits_without_a_pool_are_tested_without_a_list(sketch):
    over(sketch, sketch.field_below(("dense", "rows", 2), ("bitmasked", "bits", 8)))
    assert purposes(sketch) == ["the user's"]
    assert "is_active bits" in sketch.text and "list" not in sketch.text


def test_a_loop_that_is_not_parallel_tests_each_cell(sketch):
    over(sketch, sketch.field_below(("pointer", "block", 8), ("dense", "cells", 4)), serialize=True)
    assert purposes(sketch) == ["the user's"]
    assert "is_active block" in sketch.text and "list" not in sketch.text


def test_lists_are_listed_in_pieces(sketch):
    over(sketch, sketch.field_below(("dense", "rows", 4), ("dynamic", "items", 100)))
    assert purposes(sketch) == ["lists the items of items in pieces of 32", "the user's"]
    assert (
        sketch.text.count("length items") == 2
        and "for piece in" in sketch.text
        and "for list_index, item in" in sketch.text
    )


def test_one_list_is_listed_by_an_iteration_per_piece(sketch):
    over(sketch, sketch.field_below(("dynamic", "items", 100)))
    assert purposes(sketch) == ["lists the items of items in pieces of 32", "the user's"]
    body = sketch.text.split("for piece in")[1]
    assert "for piece" not in body and "const 4" in sketch.text  # of four pieces at most


def test_indices_count_from_the_offset_of_the_field(sketch):
    x = sketch.field_below(("pointer", "block", 8), ("dense", "cells", 4))
    x.offset = (-16,)
    over(sketch, x)
    purposes(sketch)
    line = next(line for line in sketch.text.splitlines() if "cell index" in line)
    value = line.split("cell index ")[1]
    assert f"{value}: i32 = sub $" in sketch.text
