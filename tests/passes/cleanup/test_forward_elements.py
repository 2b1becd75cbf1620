from shadesmith.transpiler.ir.types import f32
from shadesmith.transpiler.passes.analysis import known_elements
from shadesmith.transpiler.passes.cleanup.common_subexpressions import common_subexpressions
from shadesmith.transpiler.passes.cleanup.dead_code import dead_code
from shadesmith.transpiler.passes.cleanup.forward_elements import forward_elements

PASSES = (forward_elements, dead_code)


def test_array_read_after_its_store_uses_the_value(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    sketch.store(sketch.ptr(sketch.b, 0), sketch.const(2.0, f32))
    sketch.store(sketch.ptr(sketch.b, 1), sketch.read(sketch.a, 0))
    assert "global load" not in sketch.apply(common_subexpressions, *PASSES)


def test_array_read_stays_when_another_array_may_be_the_same(sketch):
    sketch.store(sketch.ptr(sketch.p, 0), sketch.arg("w"))
    sketch.store(sketch.ptr(sketch.q, 0), sketch.const(2.0, f32))
    sketch.store(sketch.ptr(sketch.b, 1), sketch.read(sketch.p, 0))
    assert "global load" in sketch.apply(common_subexpressions, *PASSES)


def test_array_read_stays_when_a_loop_between_writes_it(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    with sketch.into(sketch.loop(4, serialize=True).body):
        sketch.store(sketch.ptr(sketch.a, sketch.arg("n")), sketch.const(1.0, f32))
    sketch.store(sketch.ptr(sketch.b, 1), sketch.read(sketch.a, 0))
    assert "global load" in sketch.apply(common_subexpressions, *PASSES)


def test_store_looks_only_at_cells_that_it_changes(sketch, monkeypatch):
    """Hundreds of stores to one array do not need hundreds of thousands of comparisons."""
    removed = []
    pop = known_elements._Group.pop
    monkeypatch.setattr(known_elements._Group, "pop", lambda group, key: removed.append(key) or pop(group, key))
    for k in range(300):
        sketch.store(sketch.ptr(sketch.p, k), sketch.arg("w"))
    sketch.apply(forward_elements)
    assert len(removed) <= 300


def test_store_at_a_run_time_index_forgets_all_cells_of_the_array(sketch):
    pointer = sketch.ptr(sketch.a, 0)
    sketch.store(pointer, sketch.arg("w"))
    sketch.store(sketch.ptr(sketch.a, sketch.arg("n")), sketch.op("neg", sketch.arg("w")))
    sketch.store(sketch.ptr(sketch.b, 0), sketch.load(pointer))
    assert sketch.apply(forward_elements).count("load $") == 1


def test_store_to_an_array_that_may_share_memory_forgets_too(sketch):
    pointer = sketch.ptr(sketch.p, 0)
    sketch.store(pointer, sketch.arg("w"))
    sketch.store(sketch.ptr(sketch.q, 1), sketch.op("neg", sketch.arg("w")))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(pointer))
    assert sketch.apply(forward_elements).count("load $") == 1
