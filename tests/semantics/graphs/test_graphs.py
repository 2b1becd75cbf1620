"""`ti.graph`: a run equals the calls of its kernels one after the other, whatever changes between runs."""

import gc
import runpy
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

KIND = ti.graph.ArgKind
NUMBER = ti.graph.Arg(KIND.SCALAR, "n", ti.i32)
ARRAY = ti.graph.Arg(KIND.NDARRAY, "x", ti.f32, ndim=1)
FACTOR = ti.graph.Arg(KIND.SCALAR, "factor", ti.f32)


@ti.kernel
def add(n: ti.i32, x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in x:
        x[i] += n


@ti.kernel
def scale(factor: ti.f32, x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in x:
        x[i] *= factor


@ti.kernel
def draw(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in x:
        x[i] = ti.random()


def graph_of(*launches):
    builder = ti.graph.GraphBuilder()
    for kernel, *args in launches:
        builder.dispatch(kernel, *args)
    return builder.compile()


def array(*numbers):
    x = ti.ndarray(ti.f32, len(numbers))
    x.from_numpy(np.array(numbers, np.float32))
    return x


def test_a_graph_of_three_kernels_equals_three_calls(target):
    graph = graph_of((add, NUMBER, ARRAY), (scale, FACTOR, ARRAY), (add, NUMBER, ARRAY))
    x, y = array(1.0, 2.0, -3.5), array(1.0, 2.0, -3.5)
    graph.run({"n": 3, "factor": 0.5, "x": x})
    add(3, y)
    scale(0.5, y)
    add(3, y)
    assert x.to_numpy().tolist() == y.to_numpy().tolist() == [5.0, 5.5, 2.75]


def test_runs_follow_each_other_and_plain_calls(target):
    graph = graph_of((add, NUMBER, ARRAY), (scale, FACTOR, ARRAY))
    x, expected = array(1.0, 2.0), np.array([1.0, 2.0], np.float32)
    for number in range(40):
        graph.run({"n": number % 3, "factor": 0.75, "x": x})
        expected = (expected + np.float32(number % 3)) * np.float32(0.75)
        if number % 4 == 1:
            add(2, x)
            expected = expected + np.float32(2)
    np.testing.assert_allclose(x.to_numpy(), expected, rtol=1e-6)


def test_arguments_may_change_with_each_run(target):
    graph = graph_of((add, NUMBER, ARRAY), (scale, FACTOR, ARRAY))
    for size in (1, 7, 0, 130, 1000):
        x = array(*range(size))
        graph.run({"n": size, "factor": -2.0, "x": x})
        assert x.to_numpy().tolist() == [-2.0 * (k + size) for k in range(size)]


def test_a_task_without_turns_comes_back(target):
    graph = graph_of((add, NUMBER, ARRAY), (add, 1, ARRAY))
    empty, full = ti.ndarray(ti.f32, 0), array(1.0, 2.0)
    graph.run({"n": 1, "x": empty})
    graph.run({"n": 1, "x": full})
    graph.run({"n": 1, "x": empty})
    graph.run({"n": 2, "x": full})
    assert full.to_numpy().tolist() == [6.0, 7.0]


def test_what_python_writes_between_runs_is_seen(target):
    field = ti.field(ti.f32, 3)

    @ti.kernel
    def double():
        for i in field:
            field[i] *= 2

    graph = graph_of((double,), (double,))
    field[1] = 1.5
    graph.run({})
    assert field[1] == 6.0
    field[1] = 1.0
    field[2] = 3.0
    graph.run({})
    assert field.to_numpy().tolist() == [0.0, 4.0, 12.0]


def test_hundreds_of_launches_keep_their_order(target):
    graph = graph_of(*[(add, k % 5, ARRAY) if k % 2 else (scale, 0.5, ARRAY) for k in range(300)])
    x = array(8.0)
    graph.run({"x": x})
    expected = np.float32(8)
    for k in range(300):
        expected = np.float32(expected + k % 5) if k % 2 else np.float32(expected * 0.5)
    assert x.to_numpy()[0] == expected
    once = x.to_numpy()[0]
    x.fill(8.0)
    graph.run({"x": x})
    assert x.to_numpy()[0] == once


def test_only_what_changed_is_packed_again(target):
    graph = graph_of(*[(add, ti.graph.Arg(KIND.SCALAR, f"n{k}", ti.i32), ARRAY) for k in range(150)])
    x = array(0.0)
    numbers = {f"n{k}": k for k in range(150)}
    graph.run({"x": x, **numbers})
    graph.run({"x": x, **numbers, "n70": 10_000})
    assert x.to_numpy()[0] == 2 * 149 * 75 - 70 + 10_000


def test_each_run_draws_new_numbers_as_plain_calls_do(target):
    graph = graph_of((draw, ARRAY), (draw, ti.graph.Arg(KIND.NDARRAY, "y", ti.f32, ndim=1)))
    x, y = array(0.0, 0.0), array(0.0, 0.0)
    found = []
    for _ in range(3):
        graph.run({"x": x, "y": y})
        found += [x.to_numpy().tolist(), y.to_numpy().tolist()]
    arch = sessions.current().arch
    ti.init(arch=arch, log_level=ti.WARN)
    x = array(0.0, 0.0)
    called = []
    for _ in range(6):
        draw(x)
        called.append(x.to_numpy().tolist())
    assert found == called
    assert len({tuple(numbers) for numbers in found}) == 6


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_launches_that_share_memory_keep_their_order(target, seed):
    size = 64 if target == "python" else 40_000

    @ti.kernel
    def blend(x: ti.types.ndarray(dtype=ti.f32, ndim=1), y: ti.types.ndarray(dtype=ti.f32, ndim=1), a: ti.f32):
        for i in y:
            y[i] = y[i] * 0.5 + x[i] * a

    field = ti.field(ti.f32, size)

    @ti.kernel
    def through_field(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            field[i] = field[i] * 0.25 + x[i]
        for i in x:
            x[i] += field[(i * 5 + 1) % size]

    random = np.random.default_rng(seed)
    names = [f"x{k}" for k in range(6)]
    args = [ti.graph.Arg(KIND.NDARRAY, name, ti.f32, ndim=1) for name in names]
    launches = []
    for _ in range(100):
        k, m = random.integers(0, 6, 2)
        if random.random() < 0.15:
            launches.append((through_field, [int(k)], []))
        else:
            launches.append((blend, [int(k), int(m)], [float(np.float32(random.random()))]))
    graph = graph_of(*[(kernel, *[args[k] for k in arrays], *numbers) for kernel, arrays, numbers in launches])

    def results(run):
        field.fill(1.0)
        arrays = [array(*np.linspace(k, k + 1, size)) for k in range(6)]
        run(arrays, names)
        arrays[5] = arrays[0]
        run(arrays, names)
        run(arrays[::-1], names)
        return [x.to_numpy() for x in arrays] + [field.to_numpy()]

    def call(arrays, names):
        for kernel, numbers, rest in launches:
            kernel(*[arrays[k] for k in numbers], *rest)

    found = results(lambda arrays, names: graph.run(dict(zip(names, arrays))))
    for one, other in zip(found, results(call), strict=True):
        np.testing.assert_array_equal(one, other)


def test_vectors_matrices_and_structs_are_arguments(target):
    pair = ti.types.struct(a=ti.f32, b=ti.i32)

    @ti.kernel
    def move(by: ti.types.vector(2, ti.f32), turn: ti.types.matrix(2, 2, ti.f32), x: ti.types.ndarray(ndim=1)):
        for i in x:
            x[i] = turn @ x[i] + by

    @ti.kernel
    def count(pairs: ti.types.ndarray(dtype=pair, ndim=1)):
        for i in pairs:
            pairs[i].b += i

    by = ti.graph.Arg(KIND.MATRIX, "by", ti.types.vector(2, ti.f32))
    turn = ti.graph.Arg(KIND.MATRIX, "turn", ti.types.matrix(2, 2, ti.f32))
    graph = graph_of(
        (move, by, turn, ti.graph.Arg(KIND.NDARRAY, "x", ti.math.vec2, ndim=1)),
        (count, ti.graph.Arg(KIND.NDARRAY, "pairs", pair, ndim=1)),
    )
    x, pairs = ti.Vector.ndarray(2, ti.f32, 2), pair.ndarray(3)
    x.from_numpy(np.array([[1, 2], [3, 4]], np.float32))
    offset = ti.Vector([10.0, 20.0])
    values = {"by": offset, "turn": ti.Matrix([[0.0, -1.0], [1.0, 0.0]]), "x": x, "pairs": pairs}
    graph.run(values)
    assert x.to_numpy().tolist() == [[8.0, 21.0], [6.0, 23.0]]
    offset[0] = 0.0
    graph.run(values)
    assert x.to_numpy().tolist() == [[-21.0, 28.0], [-23.0, 26.0]]
    assert [pairs[k].b for k in range(3)] == [0, 2, 4]


def test_sequences_run_where_and_as_often_as_they_are_appended(target):
    builder = ti.graph.GraphBuilder()
    doubling = builder.create_sequential()
    doubling.dispatch(scale, 2.0, ARRAY)
    builder.append(doubling)
    builder.dispatch(add, NUMBER, ARRAY)
    builder.append(doubling)
    builder.append(doubling)
    x = array(1.0)
    graph = builder.compile()
    builder.dispatch(add, NUMBER, ARRAY)
    graph.run({"n": 1, "x": x})
    assert x.to_numpy()[0] == 12.0
    builder.compile().run({"n": 1, "x": x})
    assert x.to_numpy()[0] == 101.0


def test_values_given_to_dispatch_stay_and_templates_are_compiled_in(target):
    field = ti.field(ti.i32, 4)

    @ti.kernel
    def fill(where: ti.template(), value: ti.i32):
        for i in where:
            where[i] = value + i

    graph = graph_of((fill, field, NUMBER), (fill, field, 7))
    graph.run({"n": 1})
    assert field.to_numpy().tolist() == [7, 8, 9, 10]


def test_methods_are_dispatched_with_their_object(target):
    @ti.data_oriented
    class Counter:
        def __init__(self, step):
            self.step, self.total = step, ti.field(ti.i32, ())

        @ti.kernel
        def count(self, n: ti.i32):
            self.total[None] += n * self.step

    one, ten = Counter(1), Counter(10)
    graph = graph_of((one.count, NUMBER), (ten.count, NUMBER), (ten.count, 1))
    graph.run({"n": 3})
    assert (one.total[None], ten.total[None]) == (3, 40)


def test_specialisations_are_compiled_once_and_shared_with_calls(target):
    @ti.kernel
    def own(n: ti.i32, x: ti.types.ndarray()):
        for i in ti.grouped(x):
            x[i] += n

    wide = ti.graph.Arg(KIND.NDARRAY, "wide", ti.f32, ndim=2)
    graph = graph_of((own, NUMBER, ARRAY), (own, 2, ARRAY), (own, NUMBER, wide))
    compiled = sessions.current().compiled_functions
    assert len(own.instances()) == 2
    x, y = array(1.0), ti.ndarray(ti.f32, (2, 2))
    own(1, x)
    own(1, y)
    graph.run({"n": 1, "x": x, "wide": y})
    graph_of((own, 5, ARRAY)).run({"x": x})
    assert sessions.current().compiled_functions == compiled
    assert (x.to_numpy()[0], y.to_numpy()[1, 1]) == (10.0, 2.0)


def test_results_are_dropped_and_prints_shown(target, capsys):
    total = ti.field(ti.i32, ())

    @ti.kernel
    def give(n: ti.i32) -> ti.i32:
        total[None] += n
        return n

    @ti.kernel
    def tell(n: ti.i32):
        print("n is", n, "total", total[None])

    graph = graph_of((give, NUMBER), (tell, NUMBER), (give, NUMBER), (tell, 9))
    assert graph.run({"n": 4}) is None
    graph.run({"n": 5})
    told = capsys.readouterr().out.splitlines()
    assert told == ["n is 4 total 4", "n is 9 total 8", "n is 5 total 13", "n is 9 total 18"]


def test_a_failed_check_is_raised(target):
    ti.init(arch=sessions.current().arch, debug=True, log_level=ti.WARN)

    @ti.kernel
    def check(n: ti.i32):
        assert n > 3, "too small"

    graph = graph_of((check, NUMBER))
    graph.run({"n": 4})
    with pytest.raises(ti.TaichiAssertionError, match="too small"):
        graph.run({"n": 1})
    graph.run({"n": 5})


def test_the_same_kernel_on_two_arrays_and_one_array_twice(target):
    @ti.kernel
    def sum_to(x: ti.types.ndarray(dtype=ti.f32, ndim=1), y: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            y[i] = y[i] + x[i]

    other = ti.graph.Arg(KIND.NDARRAY, "y", ti.f32, ndim=1)
    graph = graph_of((sum_to, ARRAY, other), (sum_to, other, ARRAY), (sum_to, ARRAY, ARRAY))
    x, y = array(1.0), array(10.0)
    graph.run({"x": x, "y": y})
    assert (x.to_numpy()[0], y.to_numpy()[0]) == (24.0, 11.0)
    graph.run({"x": x, "y": x})
    assert x.to_numpy()[0] == 24.0 * 8


def test_parts_of_arrays_with_gaps_are_taken(target):
    graph = graph_of((add, NUMBER, ARRAY))
    x = array(*range(6))
    graph.run({"n": 10, "x": x[1:3]})
    graph.run({"n": 100, "x": x[::2]})
    graph.run({"n": 1000, "x": x})
    assert x.to_numpy().tolist() == [1100.0, 1011.0, 1112.0, 1003.0, 1104.0, 1005.0]


def test_long_arguments_change_between_runs(target):
    many = ti.types.vector(50, ti.f32)

    @ti.kernel
    def spread(v: many, x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            total = 0.0
            for k in ti.static(range(50)):
                total += v[k] * (k + 1)
            x[i] += total

    vectors = [ti.graph.Arg(KIND.MATRIX, f"v{k}", many) for k in range(3)]
    graph = graph_of(*[(spread, vectors[k % 3], ARRAY) for k in range(90)])
    x, weights = array(0.0), np.arange(1, 51)
    expected = 0.0
    for run in range(3):
        values = [np.full(50, k + 1.0 + run) for k in range(3)]
        graph.run({"x": x, **{f"v{k}": ti.Vector(values[k].tolist()) for k in range(3)}})
        expected += 30 * sum(float(value @ weights) for value in values)
    assert x.to_numpy()[0] == expected


# --- lifetime


def test_a_graph_keeps_no_array_alive(target):
    graph = graph_of((add, NUMBER, ARRAY))
    x = array(1.0, 2.0)
    graph.run({"n": 1, "x": x})
    used, gone = sessions.current().device.used_bytes, weakref.ref(x)
    ti.sync()
    del x
    gc.collect()
    assert gone() is None
    assert sessions.current().device.used_bytes < used
    for size in range(1, 20):
        y = array(*range(size))
        graph.run({"n": 1, "x": y})
        assert y.to_numpy().tolist() == [k + 1.0 for k in range(size)]


def test_a_captured_field_that_is_replaced(target):
    fields = {"x": ti.field(ti.f32, 3)}

    def make():
        x = fields["x"]

        @ti.kernel
        def raise_all(n: ti.i32):
            for i in x:
                x[i] += n

        return raise_all

    graph = graph_of((make(), NUMBER), (add, NUMBER, ARRAY))
    x = array(0.0)
    graph.run({"n": 2, "x": x})
    assert fields["x"].to_numpy().tolist() == [2.0, 2.0, 2.0]
    fields["x"] = ti.field(ti.f32, 3)
    gc.collect()
    graph.run({"n": 2, "x": x})
    assert x.to_numpy()[0] == 4.0


def test_a_tree_that_is_destroyed_stops_the_graph(target):
    builder = ti.FieldsBuilder()
    value = ti.field(ti.f32)
    builder.dense(ti.i, 4).place(value)
    tree = builder.finalize()

    @ti.kernel
    def raise_all(n: ti.i32):
        for i in value:
            value[i] += n

    graph = graph_of((raise_all, NUMBER))
    graph.run({"n": 2})
    assert value[3] == 2.0
    tree.destroy()
    with pytest.raises(ti.TaichiRuntimeError, match="destroy"):
        graph.run({"n": 2})


def test_a_graph_runs_in_the_next_session_too(target):
    graph = graph_of((add, NUMBER, ARRAY), (scale, FACTOR, ARRAY))
    old = array(1.0)
    graph.run({"n": 1, "factor": 2.0, "x": old})
    arch = sessions.current().arch
    ti.reset()
    with pytest.raises(ti.TaichiRuntimeError, match="ti.init"):
        graph.run({"n": 1, "factor": 2.0, "x": old})
    ti.init(arch=arch, log_level=ti.WARN)
    with pytest.raises(ti.TaichiRuntimeError, match="last `ti.init"):
        graph.run({"n": 1, "factor": 2.0, "x": old})
    x = array(1.0)
    graph.run({"n": 1, "factor": 2.0, "x": x})
    assert x.to_numpy()[0] == 4.0


def test_many_graphs_come_and_go(target):
    x = array(0.0)
    for number in range(60):
        graph = graph_of((add, number, ARRAY), (scale, 1.0, ARRAY))
        graph.run({"x": x})
        if number % 3:
            graph.run({"x": x})
        del graph
    assert x.to_numpy()[0] == sum(number * (2 if number % 3 else 1) for number in range(60))


def test_threads_share_a_graph(target):
    graph = graph_of(*[(add, NUMBER, ARRAY)] * 10)
    arrays = [array(0.0) for _ in range(4)]
    failures = []

    def work(number):
        try:
            for _ in range(15):
                graph.run({"n": number + 1, "x": arrays[number]})
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert [x.to_numpy()[0] for x in arrays] == [150.0 * (number + 1) for number in range(4)]


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_the_document_runs(target, tmp_path):
    if target == "python":
        pytest.skip("5,000 launches on 1,000 elements are too many for the interpreter")
    text = (Path(__file__).parents[3] / "docs" / "graphs.md").read_text()
    code = text.partition("```python\n")[2].partition("```")[0].replace("ti.gpu", f"ti.{target}")
    path = tmp_path / "document.py"
    path.write_text(code)
    names = runpy.run_path(str(path))
    lines = names["graph"].source().splitlines()
    shown = text.partition("```text\n")[2].partition("...")[0].splitlines()
    assert lines[: len(shown)] == shown
    names["velocities"].fill(1.0)
    names["graph"].run({"dt": 0.5, "x": names["positions"], "v": names["velocities"]})
    assert names["positions"][7] == pytest.approx(0.5 * (1 - 0.99**50) / 0.01, rel=1e-5)


def test_an_empty_graph_does_nothing(target):
    ti.graph.GraphBuilder().compile().run({"n": 1})
