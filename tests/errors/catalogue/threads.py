"""Threads that meet, or cannot: barriers, shared arrays, warps and subgroups."""

from __future__ import annotations

from .case import INDEX, SYNTAX, TYPE, UNSUPPORTED, Case, kernel, refused


def bad(name: str, error: str, message: str, *body: str, head: str = "") -> Case:
    """A kernel with this body."""
    return refused(f"threads/{name}", error, message, "", kernel(*body, head=head))


def threads(name: str, error: str, message: str, *body: str) -> Case:
    """A parallel loop of blocks of 32 threads with this body; `b` is a block, `w` warps, `s` subgroups."""
    head = "b, w, s = ti.simt.block, ti.simt.warp, ti.simt.subgroup"
    lines = ("ti.loop_config(block_dim=32)", "for i, j in a:", *(f"    {line}" for line in body))
    source = kernel(*lines, head=head, signature="a: ti.types.ndarray()")
    return refused(f"threads/{name}", error, message, "", source)


CASES = [
    threads("barrier_in_divergent_if", SYNTAX, "barrier in divergent control flow", "if a[i, j] > 0.0:", "    «b.sync()"),
    threads("barrier_in_else", SYNTAX, "barrier in divergent control flow", "if i > 2:", "    pass", "else:", "    «b.sync()"),
    threads("barrier_in_divergent_loop", SYNTAX, "barrier in divergent control flow", "for k in range(j):", "    «b.sync()"),
    threads("barrier_in_divergent_while", SYNTAX, "barrier in divergent control flow", "k = i", "while k > 0:", "    «b.sync()", "    k -= 1"),
    threads("barrier_after_divergent_break", SYNTAX, "barrier in divergent control flow", "for k in range(4):", "    if k > i:", "        break", "    «b.sync()"),
    threads("barrier_after_some_returned", SYNTAX, "may have ended", "if j > 1:", "    continue", "«b.sync()"),
    threads("barrier_by_a_changed_variable", SYNTAX, "barrier in divergent control flow", "k = 0", "if i > 2:", "    k = 1", "if k == 1:", "    «b.sync()"),
    threads("vote_in_divergent_if", SYNTAX, "barrier in divergent control flow", "if i > 2:", "    a[i, j] = «b.sync_any_nonzero(j)"),
    threads("vote_in_an_operand", SYNTAX, "cannot synchronize in a part", "if i > 2 and «b.sync_any_nonzero(j) == 1:", "    a[i, j] = 1.0"),
    threads("shared_float_shape", TYPE, "integer or a tuple of integers", "t = «b.SharedArray(1.5, ti.f32)"),
    threads("shared_run_time_shape", TYPE, "known at compile time", "t = «b.SharedArray(i, ti.f32)"),
    threads("shared_empty_shape", TYPE, "above 0", "t = «b.SharedArray((), ti.f32)"),
    threads("shared_dtype", TYPE, "numbers, vectors or matrices", "t = «b.SharedArray(4, 'f32')"),
    threads("shared_too_large", UNSUPPORTED, "bytes; a block", "t = «b.SharedArray((256, 256), ti.f32)", "t[0, 0] = 1.0"),
    threads("shared_together_too_large", UNSUPPORTED, "take 60,000 bytes (`t` 20,000, `u` 40,000)", "t = b.SharedArray(5000, ti.f32)", "u = b.SharedArray((5000, 2), ti.f32)", "t[i] = «u[j, 0]"),
    threads("shared_index_outside", INDEX, "out of range", "t = b.SharedArray(4, ti.f32)", "t[i] = «t[4]"),
    threads("shared_index_count", INDEX, "Shared array with dim 2", "t = b.SharedArray((4, 4), ti.f32)", "t[i, j] = «t[3]"),
    threads("shared_without_type", TYPE, "called without its argument `dtype`", "t = «b.SharedArray(4)"),
    threads("warp_without_mask", TYPE, "called without its argument `predicate`", "a[i, j] = «w.any_nonzero(1)"),
    threads("float_mask", TYPE, "mask of lanes is an integer", "a[i, j] = «w.any_nonzero(a[i, j], 1)"),
    threads("float_lane", TYPE, "integer to name lanes", "a[i, j] = «s.shuffle(j, 1.5)"),
    threads("bitwise_reduction_of_floats", TYPE, "takes integers", "a[i, j] = «s.reduce_xor(a[i, j])"),
    threads("reduction_of_a_vector", TYPE, "takes scalars", "v = «s.reduce_add(ti.Vector([1, 2]))"),
    bad("shared_array_outside_a_loop", SYNTAX, "parallel loop", "t = «ti.simt.block.SharedArray(4, ti.f32)", "for i in range(3):", "    t[i] = 1.0"),
    bad("shared_array_in_a_serial_loop", SYNTAX, "parallel loop", "ti.loop_config(serialize=True)", "for i in range(3):", "    t = «ti.simt.block.SharedArray(4, ti.f32)"),
    bad("barrier_outside_a_loop", SYNTAX, "needs a parallel loop", "«ti.simt.block.sync()"),
    bad("thread_outside_a_loop", SYNTAX, "needs a parallel loop", "x = «ti.simt.block.thread_idx()"),
    bad("warp_outside_a_loop", SYNTAX, "needs a parallel loop", "x = «ti.simt.warp.ballot(1)"),
    bad("block_dim_too_large", UNSUPPORTED, "at most 1024 threads", "«ti.loop_config(block_dim=2048)", "for i in range(3):", "    pass"),
    bad("parallelize_nothing", TYPE, "parallelize", "«ti.loop_config(parallelize=0)", "for i in range(3):", "    pass"),
    bad("block_local_of_a_number", TYPE, "takes fields", "«ti.block_local(3)"),
]  # fmt: skip
