"""Sessions on GPUs, on two of them where there are two: what belongs to which GPU, copies, pinned memory, threads."""

import numpy as np
import pytest
from several_sessions import LAUNCHES, add, closing_all, mixed_launches

import shadesmith as ti

pytestmark = pytest.mark.gpu


@pytest.fixture
def gpus():
    """Give sessions on two GPUs, or two sessions on one."""
    names = [device.name for device in ti.devices() if device.name.startswith("cuda:")]
    if not names:
        pytest.skip("there is no CUDA device")
    ending = closing_all()
    next(ending)
    yield [ti.Session(device=name, log_level=ti.WARN) for name in (names * 2)[:2]]
    next(ending, None)


def test_launches_of_four_threads(gpus):
    mixed_launches(*gpus, LAUNCHES)


def test_copies_are_in_order_with_launches_on_both(gpus):
    first, second = gpus
    with first:
        x = ti.ndarray(ti.i32, 1 << 22)
    with second:
        y = ti.ndarray(ti.i32, 1 << 22)
    for number in range(20):
        with first:
            add(x, 1)
        y.copy_from(x)
        with first:
            add(x, 1)
        with second:
            add(y, 100)
        assert (y[0], y[(1 << 22) - 1], x[5]) == (2 * number + 101, 2 * number + 101, 2 * number + 2)
    y[: 1 << 10].copy_from(x[1 << 10 : 2 << 10])
    assert (y[1023], y[1024]) == (40, 139)
    z = x.to(second)
    assert z.session is second and np.array_equal(z.to_numpy(), x.to_numpy())


def test_the_current_gpu_is_that_of_the_program_again(gpus):
    cupy = pytest.importorskip("cupy")
    before = cupy.cuda.runtime.getDevice()
    first, second = gpus
    with second:
        x = ti.ndarray(ti.i32, 10)
        add(x, 1)
        assert cupy.cuda.runtime.getDevice() == second.device.index
        assert x.to_numpy().tolist() == [1] * 10
    assert cupy.cuda.runtime.getDevice() == before
    x.fill(3)
    assert x[4] == 3 and cupy.cuda.runtime.getDevice() == before


def test_pinned_memory_is_used_in_place(gpus):
    first, second = gpus
    with first:
        x, y = ti.ndarray(ti.i32, 1000, pinned=True), ti.ndarray(ti.i32, 1000)
        add(x, 7)
        copies = first.device.copies_to_host
        assert x[999] == 7 and first.device.copies_to_host == copies
        x[3] = 1
        add(x, 1)
        y.copy_from(x)
        assert (y[3], y[4]) == (2, 8)
        cupy = pytest.importorskip("cupy")
        assert int(cupy.asarray(x).sum()) == 8 * 999 + 2
        for _ in range(50):
            z = ti.ndarray(ti.i32, 1000, pinned=True)
            add(z, 5)
            del z
        assert ti.ndarray(ti.i32, 1000, pinned=True).to_numpy().tolist() == [0] * 1000
    with ti.Session(ti.cpu, log_level=ti.WARN) as host:
        h = ti.ndarray(ti.i32, 1000, pinned=True)
        add(h, 9)
        y.copy_from(h)
        assert y[0] == 9 and h.to(second).to_numpy().tolist() == [9] * 1000
    host.close()


def test_cuda_vulkan_and_cpu_side_by_side(gpus):
    sessions = [gpus[0], *(ti.Session(arch, log_level=ti.WARN) for arch in (ti.cpu, ti.vulkan))]
    for left in sessions:
        with left:
            x = ti.ndarray(ti.i32, 100)
            add(x, 3)
        for right in sessions:
            if right is not left:
                y = x.to(right)
                with right:
                    add(y, 1)
                assert set(y.to_numpy().tolist()) == {4}
        assert set(x.to_numpy().tolist()) == {3}
