"""Arrays of CuPy and torch on a GPU: used at their own address, on their current stream, without copies or waiting."""

from __future__ import annotations

import gc
import struct
import time
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.gpu

LONG = 1_000_000_000
"""Cycles of a GPU's clock: about 0.5 s."""
F32 = np.float32


@ti.kernel
def double(x: ti.types.ndarray()):
    for I in ti.grouped(x):
        x[I] = x[I] * 2 + 1


@ti.kernel
def total(x: ti.types.ndarray(dtype=ti.f32, ndim=1)) -> ti.f32:
    s = 0.0
    for i in x:
        s += x[i]
    return s


@ti.kernel
def add_into(x: ti.types.ndarray(dtype=ti.f32, ndim=1), y: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in x:
        y[i] += x[i]


@pytest.fixture
def cupy():
    """CuPy, with a session on the GPU; without checks, whose reports a launch waits for."""
    module = pytest.importorskip("cupy")
    ti.init(arch=ti.cuda, enable_fallback=False, debug=False, log_level=ti.WARN)
    yield module
    ti.reset()


@pytest.fixture
def torch(cupy: Any):
    """torch, with a session on the GPU."""
    module = pytest.importorskip("torch")
    if not module.cuda.is_available():
        pytest.skip("torch sees no GPU")
    return module


@pytest.fixture
def delay(cupy: Any):
    """A function that keeps CuPy's current stream busy for 0.5 s, also where other processes use the GPU and the host."""
    spin = cupy.RawKernel(
        'extern "C" __global__ void spin(long long n) { long long t = clock64(); while (clock64() - t < n) {} }', "spin"
    )
    spin((1,), (1,), (np.int64(1),))
    x = cupy.zeros(1, cupy.float32)
    x += 3  # CuPy compiles its kernels now, not during the delay
    x[:] = 3
    return lambda: spin((1,), (1,), (np.int64(LONG),))


@pytest.fixture
def counts(cupy: Any, monkeypatch: pytest.MonkeyPatch):
    """How often the functions of CUDA's runtime that copy or wait were called through our device."""
    found: dict[str, int] = {}

    def counting(name: str, function: Any) -> Any:
        def call(*args: Any) -> Any:
            found[name] = found.get(name, 0) + 1
            return function(*args)

        return call

    for name in ("memcpy", "memcpyAsync", "streamSynchronize", "deviceSynchronize", "eventSynchronize", "malloc"):
        monkeypatch.setattr(cupy.cuda.runtime, name, counting(name, getattr(cupy.cuda.runtime, name)))
    return found


def packed_address(kernel: Any, slot: int = 0) -> int:
    """Return the address of an array as the last launch packed it: what the kernel sees."""
    instance = kernel.instances()[-1]
    members = instance.module.interface.members
    offset = next(member.offset_bytes for member in members if member.source == ("pointer", slot))
    program = instance.program
    packed = program.arguments
    if program.inlined is not None:  # its launches have argument blocks of their own, which they give back
        given_back = program.inlined.names["give"].__self__
        packed = given_back[-1][0] if given_back else packed
    return struct.unpack_from("<Q", packed, offset)[0]


class Cuda:
    """Shows a CuPy array by `__cuda_array_interface__` alone, with changes."""

    def __init__(self, array: Any, **changes: Any) -> None:
        self.array, self.changes = array, changes

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        found = {**self.array.__cuda_array_interface__, **self.changes}
        return {name: value for name, value in found.items() if value != "left out"}


class DLPack:
    """Shows a CuPy array by DLPack alone."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


# --- in place


def test_a_cupy_array_is_used_at_its_own_address(cupy: Any) -> None:
    x = cupy.arange(1000, dtype=cupy.float32)
    double(x)
    assert packed_address(double) == x.data.ptr
    np.testing.assert_array_equal(cupy.asnumpy(x), np.arange(1000) * 2 + 1)
    double(x[100:200])
    assert packed_address(double) == x.data.ptr + 400


def test_a_tensor_is_used_at_its_own_address(torch: Any) -> None:
    x = torch.arange(1000, dtype=torch.float32, device="cuda")
    double(x)
    assert packed_address(double) == x.data_ptr()
    np.testing.assert_array_equal(x.cpu().numpy(), np.arange(1000) * 2 + 1)


@pytest.mark.parametrize(
    "changes", [{}, {"version": 2, "stream": "left out"}, {"strides": "left out"}, {"stream": None}]
)
def test_an_object_with_the_interface_is_used_at_its_own_address(cupy: Any, changes: dict[str, Any]) -> None:
    x = cupy.arange(10, dtype=cupy.float32)
    double(Cuda(x, **changes))
    assert packed_address(double) == x.data.ptr
    np.testing.assert_array_equal(cupy.asnumpy(x), np.arange(10) * 2 + 1)


def test_an_object_with_dlpack_is_used_at_its_own_address(cupy: Any) -> None:
    x = cupy.arange(10, dtype=cupy.float32)
    double(DLPack(x))
    assert packed_address(double) == x.data.ptr
    np.testing.assert_array_equal(cupy.asnumpy(x), np.arange(10) * 2 + 1)


LAYOUTS = {
    "columns": lambda x: x[:, ::2],
    "rows": lambda x: x[1::3],
    "transposed": lambda x: x.T,
    "backwards": lambda x: x[::-1, ::-2],
    "one": lambda x: x[2, 3],
    "empty": lambda x: x[:, 3:3],
}


@pytest.mark.parametrize("wrap", [lambda x: x, Cuda], ids=["cupy", "interface"])
@pytest.mark.parametrize("make", LAYOUTS.values(), ids=LAYOUTS)
def test_strides_are_used_in_place(cupy: Any, make: Any, wrap: Any) -> None:
    x, expected = cupy.arange(48, dtype=cupy.float32).reshape(6, 8), cupy.arange(48, dtype=cupy.float32).reshape(6, 8)
    double(wrap(make(x)))
    part = make(expected)
    part[...] = part * 2 + 1
    np.testing.assert_array_equal(cupy.asnumpy(x), cupy.asnumpy(expected))


def test_strides_of_dlpack_are_used_in_place(cupy: Any) -> None:
    x = cupy.zeros((6, 8), cupy.float32)
    double(DLPack(x[::2, 1:5]))
    double(DLPack(x.T))
    assert x.sum() == 3 * 4 * 3 + (48 - 12)


@pytest.mark.parametrize("make", [lambda x: x[:, ::2], lambda x: x.T, lambda x: x[1:3]])
def test_strided_tensors_are_used_in_place(torch: Any, make: Any) -> None:
    x = torch.arange(48, dtype=torch.float32, device="cuda").reshape(6, 8)
    expected = x.clone()
    double(make(x))
    make(expected).mul_(2).add_(1)
    assert torch.equal(x, expected)


def test_nothing_is_copied_and_nobody_waits(cupy: Any, counts: dict[str, int]) -> None:
    x, y = cupy.ones(1 << 20, cupy.float32), cupy.zeros(1 << 20, cupy.float32)
    add_into(x, y)
    counts.clear()
    for _ in range(10):
        add_into(x, y)
    assert counts == {}
    assert float(y.sum()) == 11 << 20


def test_a_profile_shows_no_copy_and_no_wait(torch: Any) -> None:
    from torch.profiler import ProfilerActivity, profile

    x = torch.ones(1 << 20, device="cuda")
    y = torch.zeros_like(x)
    add_into(x, y)
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        with torch.profiler.record_function("ours"):
            for _ in range(5):
                add_into(x, y)
    names = [event.name for event in profiler.events()]
    ours = next(event for event in profiler.events() if event.name == "ours")
    inside = [
        event.name
        for event in profiler.events()
        if ours.time_range.start <= event.time_range.start <= ours.time_range.end and event.device_type.name == "CPU"
    ]
    assert sum("add_into" in name for name in names) >= 5
    assert not [name for name in inside if "emcpy" in name or "Synchronize" in name]


# --- streams


def test_a_launch_follows_cupys_current_stream(cupy: Any, delay: Any) -> None:
    x, y = cupy.zeros(1 << 20, cupy.float32), cupy.zeros(1 << 20, cupy.float32)
    double(y)
    cupy.cuda.runtime.deviceSynchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        delay()
        x += 3
        begin = time.perf_counter()
        double(x)
        elapsed = time.perf_counter() - begin
        assert not stream.done  # our launch did not wait for what stands before it
        y = x - 1
    stream.synchronize()
    assert elapsed < 0.25  # half of the delay
    assert float(x.min()) == float(x.max()) == 7 and float(y.max()) == 6


def test_a_launch_follows_torchs_current_stream(torch: Any, cupy: Any) -> None:
    x = torch.zeros(1 << 20, device="cuda")
    double(x)
    x += 3
    y = x - 1  # torch's kernels are loaded now: loading may wait for what runs
    torch.cuda.synchronize()
    x.zero_()
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG)
        x += 3
        double(x)
        assert not stream.query()
        y = x - 1
    stream.synchronize()
    assert x.min().item() == x.max().item() == 7 and y.max().item() == 6


def test_our_own_arrays_are_ordered_between_torchs_stream_and_cupys(torch: Any, cupy: Any, delay: Any) -> None:
    field = ti.field(ti.f32, 1 << 16)

    @ti.kernel
    def fill(value: ti.f32):
        for i in field:
            field[i] = value

    @ti.kernel
    def add(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
        for i in x:
            x[i] += field[i]

    x = torch.zeros(1 << 16, device="cuda")
    fill(0)
    add(x)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    for turn in range(3):
        with torch.cuda.stream(stream):
            delay()  # on CuPy's stream, before the field is filled there
            fill(turn + 1)
            add(x)  # on torch's stream
            torch.cuda._sleep(LONG)
            add(x)
            fill(100)  # on CuPy's stream again: must not overtake
    torch.cuda.synchronize()
    assert x.min().item() == x.max().item() == 2 * (1 + 2 + 3)


def test_what_the_interface_says_is_waited_for_on_the_gpu(cupy: Any, delay: Any) -> None:
    x = cupy.zeros(1 << 20, cupy.float32)
    double(Cuda(x))
    cupy.cuda.runtime.deviceSynchronize()
    producer = cupy.cuda.Stream(non_blocking=True)
    with producer:
        delay()
        x[:] = 3
    double(Cuda(x, stream=producer.ptr))
    assert not producer.done
    with producer:
        y = x - 1  # the producer waits for us in turn
    producer.synchronize()
    assert float(y.min()) == float(y.max()) == 6


def test_the_kernel_can_be_captured_with_torch(torch: Any) -> None:
    x = torch.zeros(1000, device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        double(x)
    torch.cuda.synchronize()
    x.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        double(x)
    assert x.max().item() == 0
    for _ in range(3):
        graph.replay()
    assert x.min().item() == x.max().item() == 7


# --- what is refused


def test_memory_of_the_gpu_needs_a_session_there(cupy: Any) -> None:
    x = cupy.zeros(3, cupy.float32)
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    for argument in (x, Cuda(x), DLPack(x)):
        with pytest.raises(ti.TaichiRuntimeTypeError, match="memory of a CUDA device, and kernels run on ti."):
            double(argument)


def test_read_only_and_expanded_memory_is_not_written(cupy: Any, torch: Any) -> None:
    x = cupy.ones(4, cupy.float32)
    assert total(Cuda(x, data=(x.data.ptr, True))) == 4
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"\(`x` of kernel `double`\) .*is read-only"):
        double(Cuda(x, data=(x.data.ptr, True)))
    for expanded in (cupy.broadcast_to(x[:1], (4,)), torch.ones(1, device="cuda").expand(4)):
        assert total(expanded) == 4
        with pytest.raises(ti.TaichiRuntimeTypeError, match="is expanded"):
            double(expanded)
    with pytest.raises(ti.TaichiRuntimeTypeError, match="requires grad"):
        double(torch.ones(4, device="cuda", requires_grad=True))
    with pytest.raises(ti.TaichiRuntimeTypeError, match="masked"):
        double(Cuda(x, mask=Cuda(x)))


def test_a_tensor_of_another_gpu_is_refused(torch: Any) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("needs two GPUs")
    with pytest.raises(ti.TaichiRuntimeTypeError, match="memory of GPU 1, and kernels run on GPU 0"):
        double(torch.zeros(3, device="cuda:1"))


# --- our memory, seen by others

MAKERS = {
    "ndarray": lambda: ti.ndarray(ti.i32, (4, 3)),
    "vectors": lambda: ti.Vector.ndarray(3, ti.f32, 4),
    "field": lambda: ti.field(ti.f64, (4, 3)),
    "half": lambda: ti.ndarray(ti.f16, 5),
    "truth": lambda: ti.ndarray(ti.u1, 5),
    "part": lambda: ti.ndarray(ti.i32, (6, 5))[1::2, 1:4],
    "member": lambda: ti.types.struct(mass=ti.f32, place=ti.math.vec3).ndarray(4).place,
    "of_a_tree": lambda: _of_a_tree(),
}


def _of_a_tree() -> Any:
    x, y = ti.field(ti.i32), ti.field(ti.f32)
    ti.root.dense(ti.ij, (3, 4)).place(x, y)
    return x


def numbers_for(x: Any) -> np.ndarray:
    found = x.to_numpy()
    return (np.arange(found.size) % 2).reshape(found.shape).astype(found.dtype)


def views(cupy: Any, torch: Any, x: Any) -> list[Any]:
    return [cupy.asarray(x), cupy.from_dlpack(x), cupy.from_dlpack(torch.from_dlpack(x))]


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_cupy_and_torch_share_the_memory(cupy: Any, torch: Any, make: Any) -> None:
    x = make()
    values = numbers_for(x)
    for seen in views(cupy, torch, x):
        assert (seen.shape, seen.dtype) == (values.shape, values.dtype)
        x.from_numpy(values)
        np.testing.assert_array_equal(cupy.asnumpy(seen), values)
        seen[...] = cupy.asarray(1 - values if values.dtype != bool else ~values)
        np.testing.assert_array_equal(x.to_numpy(), cupy.asnumpy(seen))
    assert x.__dlpack_device__() == (2, 0)


def test_the_interface_says_where_the_memory_is(cupy: Any) -> None:
    x = ti.ndarray(ti.f32, (4, 6))
    interface = x[1:, ::2].__cuda_array_interface__
    assert interface["data"] == (x.allocation.address + 24, False)
    assert (interface["shape"], interface["strides"], interface["typestr"]) == ((3, 3), (24, 8), "<f4")
    assert interface["version"] == 3 and interface["stream"] == 1
    assert x.__cuda_array_interface__["strides"] is None


def test_single_elements_follow_what_others_write(cupy: Any) -> None:
    x = ti.ndarray(ti.f32, 1000)
    x[3] = 1
    seen = cupy.asarray(x)
    assert float(seen[3]) == 1
    for turn in range(3):
        seen[5] = turn
        assert x[5] == turn
        x[7] = turn + 10
        assert float(seen[7]) == turn + 10


def test_shared_memory_outlives_the_array_and_the_session(cupy: Any, torch: Any) -> None:
    x = ti.ndarray(ti.f32, 1 << 16)
    x.fill(5)
    seen = views(cupy, torch, x)
    del x
    gc.collect()
    ti.sync()
    others = [ti.ndarray(ti.f32, 1 << 16) for _ in range(4)]
    for other in others:
        other.fill(-1)
    ti.reset()
    ti.init(arch=ti.cuda, log_level=ti.WARN)
    others = [ti.ndarray(ti.f32, 1 << 16) for _ in range(4)]
    for other in others:
        other.fill(-1)
    for view in seen:
        assert float(view.min()) == float(view.max()) == 5


def test_what_is_shared_can_be_an_argument_at_its_own_address(cupy: Any) -> None:
    x = ti.ndarray(ti.f32, 100)
    double(cupy.asarray(x))
    assert packed_address(double) == x.allocation.address
    assert x[99] == 1


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_torch_copies_on_the_gpu(torch: Any, make: Any, counts: dict[str, int]) -> None:
    x = make()
    values = numbers_for(x)
    source = torch.from_numpy(values.copy()).cuda()
    counts.clear()
    x.from_torch(source)
    copy = x.to_torch(device="cuda")
    assert counts == {}
    assert copy.is_cuda and torch.equal(copy, source)
    source.zero_()
    np.testing.assert_array_equal(x.to_numpy(), values)
    np.testing.assert_array_equal(x.to_torch().numpy(), values)
    x.from_torch(torch.ones_like(source, dtype=torch.float64))
    assert (x.to_numpy() == 1).all()


def test_torch_copies_in_order_with_launches(torch: Any) -> None:
    x = ti.ndarray(ti.f32, 1 << 20)
    double(x)
    x.fill(0)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG)
        source = torch.full((1 << 20,), 3.0, device="cuda")
        x.from_torch(source)
    double(x)  # on CuPy's stream: waits for torch's
    with torch.cuda.stream(stream):
        copy = x.to_torch(device="cuda")
    stream.synchronize()
    assert copy.min().item() == copy.max().item() == 7


def test_shape_and_address_cost_little(cupy: Any) -> None:
    x = cupy.zeros(100, cupy.float32)
    for _ in range(100):
        double(x)
    begin = time.perf_counter()
    for _ in range(1000):
        double(x)
    assert (time.perf_counter() - begin) / 1000 < 50e-6
