"""Trees of nodes: offsets, order, trees that are complete, trees that were destroyed."""

from __future__ import annotations

from .case import INDEX, RUNTIME, SYNTAX, Case, kernel, refused, refused_call

MOVED = "f = ti.field(ti.f32, (4, 4), offset=(-2, 3))\n"
BUILT = (
    "f, builder = ti.field(ti.f32), ti.FieldsBuilder()\nbuilder.dense(ti.i, 4).place(f)\ntree = builder.finalize()\n"
)
DESTROYED = BUILT + "tree.destroy()\n"
GONE = "whose memory `destroy()` freed"
LAUNCHED = BUILT + "@ti.kernel\ndef k():\n    f[0] = 1\nk()\ntree.destroy()\n«k()"
COMPLETE = "f, g = ti.field(ti.f32), ti.field(ti.f32)\nnode = ti.root.dense(ti.i, 4)\nnode.place(f)\nf[0] = 1\n"

CASES: list[Case] = [
    refused("trees/constant_index_below_offset", INDEX, "Index -3 of axis 0 of `f` is out of range [-2, 2)", "its offset is -2", kernel("x = «f[-3, 3]", head=MOVED)),
    refused("trees/constant_index_beyond_offset", INDEX, "Index 7 of axis 1 of `f` is out of range [3, 7)", "its offset is 3", kernel("x = «f[0, 7]", head=MOVED)),
    refused_call("trees/index_below_offset_in_python", INDEX, "shape (4, 4) from offset (-2, 3), and index [-3, 3] lies outside", "from its offset to offset + extent - 1", MOVED + "«f[-3, 3]"),
    refused_call("trees/offset_of_a_place", RUNTIME, "must be the same (2 != 1)", "one offset for each axis", "«ti.root.dense(ti.ij, 4).place(ti.field(ti.f32), offset=3)"),
    refused_call("trees/offset_of_fractions", "TypeError", "an offset is an integer for each axis, and 0.5 was given", "`offset=(0, 1)`", "«ti.root.dense(ti.i, 4).place(ti.field(ti.f32), offset=0.5)"),
    refused_call("trees/order_of_an_axis_too_many", SYNTAX, "Invalid axis in order 'jk'", "each of the first 2 axes", "«ti.field(ti.f32, (4, 4), order='jk')"),
    refused_call("trees/node_added_to_a_complete_tree", RUNTIME, "ti.root => dense [4] belongs to a tree that has memory already", "before the first of them is read", COMPLETE + "«node.dense(ti.j, 3)"),
    refused_call("trees/field_added_to_a_complete_tree", RUNTIME, "takes no more nodes and fields", "before the first of them is read", COMPLETE + "«node.place(g)"),
    refused_call("trees/builder_used_after_finalize", RUNTIME, "FieldsBuilder finalized", "a new `ti.FieldsBuilder()`", BUILT + "«builder.dense(ti.i, 3)"),
    refused_call("trees/destroyed_twice", RUNTIME, "SNode tree has been destroyed", "a tree is destroyed once", DESTROYED + "«tree.destroy()"),
    refused_call("trees/destroyed_field_read", RUNTIME, GONE, "a new field in a new `ti.FieldsBuilder()`", DESTROYED + "«f[0]"),
    refused_call("trees/destroyed_field_filled", RUNTIME, GONE, "a new field in a new `ti.FieldsBuilder()`", DESTROYED + "«f.fill(1)"),
    refused_call("trees/destroyed_field_launched", RUNTIME, f"`f` of kernel `k`: this field was in a tree {GONE}", "a new field in a new", LAUNCHED),
]  # fmt: skip
