"""Loops and parallel rules (18)."""

from __future__ import annotations

from .case import FIELD, SYNTAX, TYPE, Case, kernel, refused, supported, warned, with_feature

NESTED = ("s = 0", "for i, j in f:", "    for a, b in g:", "        s += 1", "return s")

CASES: list[Case] = [
    refused("loops/range_of_float", TYPE, "bounds of a range must be integers, found `f32`", "ti.cast(x, ti.i32)", kernel("for i in range(«x):", "    pass", signature="x: ti.f32"), "range with float"),
    refused("loops/step_of_zero", TYPE, "step of a range cannot be 0", "1 or -1", kernel("for i in «range(0, 3, 0):", "    pass"), "range step 0"),
    refused("loops/range_of_four", SYNTAX, "Range should have 1 to 3 arguments, found 4", "range(begin, end, step)", kernel("for i in «range(0, 3, 1, 1):", "    pass"), "range of 4 arguments"),
    refused("loops/list_at_run_time", SYNTAX, "Cannot loop over a Python `list` at run time", "ti.static", kernel("for i in «[1, 2, 3]:", "    pass"), "iterating a list at run time"),
    refused("loops/break_in_outermost", SYNTAX, "Cannot break in the outermost loop", "ti.loop_config(serialize=True)", kernel("for i in range(3):", "    print(i)", "    if i > 1:", "        «break"), "break in outermost parallel loop"),
    Case("loops/continue_outside_loop", "SyntaxError", "'continue' not properly in loop", "", kernel("«continue"), "continue outside loop", "python"),
    refused("loops/return_in_parallel", SYNTAX, "A `return` inside a parallel loop cannot have a value", "serialize=True", kernel("for i in range(3):", "    «return i", returns="ti.i32"), "return in parallel loop"),
    refused("loops/endless_while", SYNTAX, "never ends", "if ...: break", kernel("i = 0", "«while True:", "    i += 1"), "while True without break"),
    supported("loops/nested_struct_for", 64, kernel(*NESTED, head=FIELD + "g = ti.field(ti.f32, (2, 2))\n", returns="ti.i32"), "nested struct-for"),
    supported("loops/struct_for_inside_if", 16, kernel("s = 0", "if n > 1:", "    for i, j in f:", "        s += 1", "return s", head=FIELD, signature="n: ti.i32", returns="ti.i32"), "struct-for inside if"),
    refused("loops/grouped_scalar", TYPE, "`ti.grouped` takes an array or an ndrange, found `f32`", "leave out `ti.grouped`", kernel("for I in «ti.grouped(x):", "    pass", signature="x: ti.f32"), "grouped on a scalar"),
    refused("loops/ndrange_of_float", TYPE, "ndrange should be an integer scalar", "ti.cast(x, ti.i32)", kernel("for i, j in «ti.ndrange(3, x):", "    pass", signature="x: ti.f32"), "ndrange of non-int"),
    refused("loops/static_range_of_runtime_value", TYPE, "`ti.static` needs a value known at compile time", "ti.template()", kernel("for i in ti.static(«range(n)):", "    pass", signature="n: ti.i32"), "static range of run-time value"),
    warned("loops/static_unroll_over_limit", "unrolling 50 iterations", "leave out `ti.static`", kernel("s = 0", "«for i, _ in ti.static(list(enumerate('x' * 50))):", "    s += i", "return s", returns="ti.i32"), 1225, "static unroll over limit"),
    refused("loops/loop_over_runtime_vector", TYPE, "Cannot loop over `vector(2, f32)` at run time", "ti.static", kernel("v = ti.Vector([x, x])", "for c in «v:", "    pass", signature="x: ti.f32"), "parallel loop over a runtime vector"),
    refused("loops/loop_variable_assigned", TYPE, "Loop variable `i` cannot be assigned", "k = i", kernel("for i in range(3):", "    «i = 2"), "loop variable assigned"),
    with_feature("ti.simt.block", refused("loops/barrier_in_divergent_flow", SYNTAX, "Barrier in divergent control flow", "all threads", kernel("ti.loop_config(block_dim=64)", "for i in range(64):", "    if i < 3:", "        «ti.simt.block.sync()"), "barrier in divergent flow")),
    with_feature("ti.simt.block", refused("loops/shared_array_outside_loop", SYNTAX, "A shared array belongs to the blocks of a parallel loop", "first line of the `for` loop", kernel("tile = «ti.simt.block.SharedArray((64,), ti.f32)"), "shared array outside a parallel loop")),
]  # fmt: skip
