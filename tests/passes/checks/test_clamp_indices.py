"""Where threads wait for one another, a wrong index is moved inside: no thread may end before the barrier."""

from shadesmith.transpiler.ir.statements import Const
from shadesmith.transpiler.ir.threads import Barrier
from shadesmith.transpiler.passes import Stage
from shadesmith.transpiler.passes.checks.clamp_indices import clamp_indices
from shadesmith.transpiler.passes.tasks.offload import offload
from shadesmith.transpiler.passes.threads.check_threads import check_threads


def parallel(sketch, array, index, barrier=True, **options):
    """A parallel loop that reads an array at an index and waits; return the text after the pass."""
    sketch.set_options(**{"check_out_of_bound": True, **options})
    with sketch.into(sketch.loop(128).body):
        sketch.store(sketch.ptr(sketch.b, 0), sketch.read(array, sketch.arg("n") if index is None else index))
        if barrier:
            sketch.add(Barrier("block"))
    return sketch.apply(offload, check_threads, clamp_indices, stage=Stage.TASKS)


def test_an_index_is_bound_between_zero_and_the_last(sketch):
    text = parallel(sketch, sketch.a, None)
    assert text.index(" max ") < text.index(" min ") < text.index("ptr a")
    bounds = [s.value for s in sketch.result.tasks[0].body if isinstance(s, Const)]
    assert {0, 8} <= set(bounds)


def test_the_extent_of_an_ndarray_is_asked(sketch):
    assert "shape p 0" in parallel(sketch, sketch.p, None)


def test_a_constant_inside_stays(sketch):
    assert " min " not in parallel(sketch, sketch.a, 7)


def test_threads_that_do_not_wait_end_where_they_fail(sketch):
    assert " min " not in parallel(sketch, sketch.a, None, barrier=False)


def test_unchecked_accesses_stay(sketch):
    assert " min " not in parallel(sketch, sketch.a, None, check_out_of_bound=False)
