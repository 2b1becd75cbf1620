"""Several sessions in one process: which is current, what belongs to which, launches of several threads."""

import asyncio
import copy
import gc
import threading

import pytest
from several_sessions import LAUNCHES, add, closing_all, mixed_launches

import shadesmith as ti
from shadesmith.runtime.events import CALL_OBSERVERS
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.session import several


@pytest.fixture(autouse=True)
def closing():
    """Close what a test opens."""
    yield from closing_all()


def made(*archs):
    """Return a session for each architecture; those of a GPU are skipped where there is none."""
    try:
        return [ti.Session(arch, log_level=ti.WARN) for arch in archs]
    except ti.TaichiRuntimeError as error:
        pytest.skip(str(error))


def test_the_innermost_with_decides_and_the_default_session_remains():
    (inner,) = made(ti.python)
    assert not sessions.is_initialized()
    ti.init(ti.cpu, log_level=ti.WARN)
    default = ti.Session.current()
    x = ti.ndarray(ti.i32, 3)
    add(x, 1)
    with inner, inner as again:
        assert again is inner is ti.Session.current()
        y = ti.ndarray(ti.i32, 3)
        add(y, 2)
        with default:
            add(x, 3)
        add(y, 4)
    add(x, 5)
    assert ti.Session.current() is default
    assert (x.session, y.session) == (default, inner)
    assert x.to_numpy().tolist() == [9] * 3 and y.to_numpy().tolist() == [6] * 3
    assert len(add.instances()) == 1, "one for each session"


def test_threads_and_tasks_have_their_own():
    (inner,) = made(ti.python)
    ti.init(ti.python, log_level=ti.WARN)
    default, seen = ti.Session.current(), []
    with inner:
        thread = threading.Thread(target=lambda: seen.append(ti.Session.current()))
        thread.start()
        thread.join()

        async def ask():
            return ti.Session.current()

        assert asyncio.run(ask()) is inner
    assert seen == [default]


def test_arrays_of_another_session_are_refused_by_name():
    here, there = made(ti.cpu, ti.python)
    with there:
        x, f = ti.ndarray(ti.i32, 3), ti.field(ti.i32, 3)
        t = ti.field(ti.i32)
        ti.root.dense(ti.i, 3).place(t)

    @ti.kernel
    def captures():
        f[0] = 1

    @ti.kernel
    def takes(a: ti.template()):
        a[0] = 1

    calls = [(lambda: add(x, 1), "argument `x`"), (captures, "field `f`"), (lambda: takes(f), "argument `a`")]
    calls.append((lambda: takes(t), "argument `a`"))
    for call, what in calls:
        with (
            here,
            pytest.raises(ti.TaichiRuntimeError, match=rf"{what}.* belongs to session \d+ \(ti.python\), and") as e,
        ):
            call()
        assert f"is called in {here.name}" in str(e.value) and "x.to(session)" in str(e.value)
        with there:
            call()
    assert (x[0], f[0], t[0]) == (1, 1, 1), "Python may read it anywhere"
    f.fill(7)
    with here:
        f[1] = 8
    assert f.to_numpy().tolist() == [7, 8, 7]


def test_a_pack_cannot_hide_an_array_of_another_session():
    here, there = made(ti.cpu, ti.python)
    kind = ti.types.argpack(x=ti.types.ndarray(ti.i32, 1), n=ti.i32)

    @ti.kernel
    def scale(p: kind):
        for i in p.x:
            p.x[i] *= p.n

    with there:
        x = ti.ndarray(ti.i32, 2)
        pack = kind(x=x, n=2)
        scale(pack)
    with here, pytest.raises(ti.TaichiRuntimeError, match=r"belongs to session"):
        scale(pack)


def test_each_session_has_its_own_trees_below_the_root():
    one, two = made(ti.python, ti.python)
    with one:
        a = ti.field(ti.i32)
        block = ti.root.dense(ti.i, 4)
    with two:
        b = ti.field(ti.i32)
        ti.root.dense(ti.i, 2).place(b)
        b[1] = 5
    with one:
        block.place(a)
        a[3] = 7
    assert (a.session, b.session) == (one, two)
    assert a.to_numpy().tolist() == [0, 0, 0, 7] and b.to_numpy().tolist() == [0, 5]


def test_a_closed_session_says_so_and_takes_no_other_with_it():
    one, two = made(ti.cpu, ti.python)
    with one:
        x = ti.ndarray(ti.i32, 2)
        add(x, 1)
    with two:
        y = ti.ndarray(ti.i32, 2)
        add(y, 1)
    one.close()
    one.close()
    with pytest.raises(ti.TaichiRuntimeError, match=r"session \d+ \(ti\.x64\) is closed"), one:
        pass
    with pytest.raises(ti.TaichiRuntimeError, match=r"belongs to session \d+ \(ti\.x64\), which is closed"):
        x.to_numpy()
    with two:
        with pytest.raises(ti.TaichiRuntimeError, match="which is closed"):
            add(x, 1)
        add(y, 1)
        two.close()
        with pytest.raises(ti.TaichiRuntimeError, match="is closed"):
            add(y, 1)
    assert "closed" in repr(two)


def test_without_other_sessions_calls_see_no_observer():
    ti.init(ti.python, log_level=ti.WARN)
    assert CALL_OBSERVERS == []
    (other,) = made(ti.python)
    assert len(CALL_OBSERVERS) == 1
    other.close()
    assert CALL_OBSERVERS == []


def test_a_forgotten_session_is_closed():
    (session,) = made(ti.python)
    with session:
        add(ti.ndarray(ti.i32, 2), 1)
    del session
    gc.collect()
    assert CALL_OBSERVERS == [] and not several.OTHERS


def test_copies_go_to_other_sessions_and_leave_the_array():
    here, there = made(ti.cpu, ti.python)
    kind = ti.types.struct(a=ti.f32, v=ti.types.vector(2, ti.i32))
    with here:
        arrays = [ti.ndarray(ti.f32, (2, 3)), ti.ndarray(ti.i32, ()), ti.ndarray(ti.f32, 0)]
        arrays += [ti.Vector.ndarray(3, ti.f64, 4), ti.field(ti.i64, (2, 2)), ti.field(ti.f32, 3, offset=-1)]
        arrays += [kind.field(shape=3), ti.Matrix.field(2, 2, ti.f32, shape=2, layout=ti.Layout.SOA)]
        arrays.append(ti.field(ti.f32))
        ti.root.dense(ti.i, 4).place(arrays[-1])  # its gradient exists, and is not placed
        assert str(arrays[-1].grad) == "<Field: Definition of this field is incomplete>"
        for number, array in enumerate(arrays):
            if isinstance(array, ti.StructField):
                array.a.fill(number)
                array.v.fill(number)
            else:
                array.fill(number)
    for array in arrays:
        copy = array.to(there)
        assert copy.session is there and array.session is here and array.to(here) is array
        assert copy.shape == array.shape and type(copy) is type(array)
        assert str(copy.to_numpy()) == str(array.to_numpy())
    with here:
        x = ti.ndarray(ti.f32, 3, needs_grad=True)
    x.grad.fill(2)
    assert x.to(there).grad.to_numpy().tolist() == [2, 2, 2]
    with pytest.raises(TypeError, match="takes a session or the name of a device"):
        x.to(3)


def test_devices_are_listed_and_are_contexts():
    names = [device.name for device in ti.devices()]
    assert {"cpu:0", "python:0"} <= {*names} and "cpu:0: " in str(ti.devices()[0])
    with ti.device("python") as session:
        x = ti.ndarray(ti.i32, 2)
    assert session is ti.device("python:0") is x.session
    session.close()
    assert ti.device("python:0") is not session
    ti.init(ti.python, default_fp=ti.f64, log_level=ti.WARN)
    assert ti.device("python:0") is ti.Session.current()
    with ti.device("cpu"):
        assert ti.field(float, 1).dtype is ti.f64, "options are those of the default session"
    for name in ("cuda:99", "nothing", "vulkan:no such"):
        with pytest.raises(ti.TaichiRuntimeError, match=rf"there is no device '{name}'.*'cpu:0'"):
            ti.device(name)
    with pytest.raises(TypeError, match="takes a name"):
        ti.device(0)


def test_devices_of_sessions_are_chosen_by_number_and_name():
    assert ti.Session(device="python").arch is ti.python
    assert ti.Session(ti.cpu, device=0).arch is ti.cpu
    with pytest.raises(ti.TaichiRuntimeError, match="ti.cpu has one device"):
        ti.Session(ti.cpu, device=1)
    with pytest.raises(ti.TaichiRuntimeError, match="is not one of arch"):
        ti.Session(ti.cpu, device="cuda:1")
    with pytest.raises(TypeError, match="`device` takes a number"):
        ti.Session(ti.cpu, device=1.5)
    ti.init(ti.python, device=0, log_level=ti.WARN)
    with pytest.raises(ti.TaichiRuntimeError, match="ti.python has one device"):
        ti.init(ti.python, device=2, enable_fallback=False)


def test_misuse_is_refused():
    one, two = ti.Session(ti.python), ti.Session(ti.python)
    for duplicate in (copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"session \d+ .* cannot be copied or pickled"):
            duplicate(one)
    one.__enter__()
    two.__enter__()
    with pytest.raises(ti.TaichiRuntimeError, match=r"the `with` of session \d+ .* ends here"):
        one.__exit__(None, None, None)
    two.__exit__(None, None, None)
    one.__exit__(None, None, None)
    with pytest.raises(ti.TaichiRuntimeError, match=r"is not supported(?s:.*)Hint: `ti.devices\(\)` lists"):
        ti.Session(ti.metal)
    assert copy.deepcopy({"kernel": add})["kernel"] is add


def test_a_graph_takes_arrays_of_the_current_session():
    (other,) = made(ti.python)
    ti.init(ti.cpu, log_level=ti.WARN)
    arg = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.i32, ndim=1)
    builder = ti.graph.GraphBuilder()
    builder.dispatch(add, arg, ti.graph.Arg(ti.graph.ArgKind.SCALAR, "n", ti.i32))
    graph = builder.compile()
    x = ti.ndarray(ti.i32, 2)
    graph.run({"x": x, "n": 1})
    with other:
        y = ti.ndarray(ti.i32, 2)
        graph.run({"x": y, "n": 2})
    graph.run({"x": x, "n": 3})
    assert (x[0], y[0]) == (4, 2)
    with pytest.raises(ti.TaichiRuntimeError, match="this graph is called in"):
        graph.run({"x": y, "n": 2})


def test_a_session_has_a_limit_of_memory():
    session = ti.Session(ti.cpu, memory_limit_GB=1 / 1024)
    with session:
        x = ti.ndarray(ti.u8, 1 << 19)
        with pytest.raises(ti.TaichiRuntimeError, match=r"out of memory on session \d+ .* the limit of .* is 1\.0 MiB"):
            ti.field(ti.u8, (1 << 19) + 1)
        del x
        ti.field(ti.u8, 1 << 20)


def test_random_numbers_options_and_compiled_kernels_are_per_session():
    one = ti.Session(ti.python, random_seed=1, default_ip=ti.i64)
    two = ti.Session(ti.python, random_seed=1)

    @ti.kernel
    def draw() -> ti.f32:
        return ti.random()

    found = []
    for session in (one, two):
        with session:
            found.append([draw() for _ in range(3)])
            assert ti.Session.current().compiled_functions == 1
    assert found[0] == found[1]
    with one:
        assert ti.field(int, 1).dtype is ti.i64


@pytest.mark.exhaustive
@pytest.mark.parametrize("pair", [("cpu", "vulkan"), ("cpu", "python"), ("vulkan", "vulkan"), ("cpu", "cpu")])
def test_four_threads_launch_in_two_sessions(pair):
    first, second = made(*pair)
    mixed_launches(first, second, LAUNCHES if "python" not in pair else LAUNCHES // 20)


def test_four_threads_launch_in_two_sessions_briefly():
    mixed_launches(*made("cpu", "vulkan"), 400)


@pytest.mark.exhaustive
def test_the_validation_layer_is_silent(monkeypatch):
    from shadesmith.runtime.devices.vulkan.instance import VALIDATION_LAYER, layer_names, load_api

    if VALIDATION_LAYER not in layer_names(load_api()):
        pytest.skip("needs the validation layer")
    monkeypatch.setenv("SHADESMITH_VALIDATION", "1")
    first, second, third = made("vulkan", "cpu", "vulkan")
    mixed_launches(first, second, LAUNCHES)
    mixed_launches(first, third, LAUNCHES)
    devices = [session.device for session in (first, third)]
    for session in (first, second, third):
        session.close()
    assert [message for device in devices for message in device.messages] == []


def test_pinned_arrays_are_arrays(target):
    x, y = ti.ndarray(ti.i32, 100, pinned=True), ti.ndarray(ti.i32, 100)
    add(x, 3)
    assert x.to_numpy().tolist() == [3] * 100
    x[7] = 5
    add(x, 1)
    y.copy_from(x)
    x.fill(0)
    assert (y[7], y[8], x[7]) == (6, 4, 0)
    x.copy_from(y)
    assert x[7] == 6 and ti.ndarray(ti.f32, 0, pinned=True).shape == (0,)
    g = ti.ndarray(ti.f32, 3, needs_grad=True, pinned=True)
    g.grad.fill(2)
    assert g.grad[1] == 2
    used = ti.Session.current().device.used_bytes
    del x
    ti.sync()
    assert ti.Session.current().device.used_bytes < used
