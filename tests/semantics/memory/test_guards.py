"""Accesses outside arrays on the CPU: near ones do no harm, far ones are errors, and the process lives on."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.host import guarded_memory, kernel_signals
from shadesmith.runtime.session import session

pytestmark = pytest.mark.skipif(not guarded_memory.has_guards(), reason="this system has no guards")


@pytest.fixture
def cpu() -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)


@ti.kernel
def store(x: ti.template(), k: ti.i32):
    x[k] = 7


@ti.kernel
def load(x: ti.template(), k: ti.i32) -> ti.f64:
    return ti.cast(x[k], ti.f64)


@ti.kernel
def store_all(x: ti.types.ndarray(), begin: ti.i32, end: ti.i32):
    for k in range(begin, end):
        x[k] = 7


@ti.kernel
def sweep_rows(x: ti.types.ndarray(ti.f32, 2)):
    for i, j in x:
        x[i + 1, j] += x[i - 1, j] + 1.0


@pytest.mark.parametrize("dtype", [ti.i8, ti.f32, ti.f64], ids=str)
@pytest.mark.parametrize("count", [1, 7, 4096])
def test_near_misses_do_no_harm(cpu: None, dtype: object, count: int) -> None:
    x, after = ti.field(dtype, count), ti.field(ti.f64, 3)
    for k in (-1, -64, count, count + 64):
        store(x, k)
        load(x, k)
    assert not x.to_numpy().any() and not after.to_numpy().any()
    store(x, count - 1)
    assert x[count - 1] == 7


def test_misses_by_a_row_do_no_harm(cpu: None) -> None:
    x = ti.ndarray(ti.f32, (1500, 1500))
    sweep_rows(x)
    assert (x.to_numpy()[2:] >= 1).all()


@pytest.mark.parametrize("k", [100_000, -100_000, 2**31 - 1, -(2**31)])
def test_far_store_names_kernel_array_and_distance(cpu: None, k: int) -> None:
    x = ti.field(ti.f32, 100, name="heat")
    store(x, 1)
    where = f"{k - 99:,} elements behind the end" if k > 0 else f"{-k:,} elements before the start"
    with pytest.raises(RuntimeError, match=f"kernel `store` wrote out of bounds: {where} of field `heat` .400 bytes."):
        store(x, k)
    assert x.to_numpy().sum() == 7
    store(x, 2)
    assert x[2] == 7


@pytest.mark.parametrize("k", [200_000, -(2**31)])
def test_far_load_is_an_error(cpu: None, k: int) -> None:
    x = ti.field(ti.f64, 10)
    with pytest.raises(RuntimeError, match="kernel `load` read out of bounds.*debug=True"):
        load(x, k)
    assert load(x, 3) == 0


def test_far_stores_of_all_threads_end_and_the_rest_is_stored(cpu: None) -> None:
    x, y = ti.ndarray(ti.i32, 1000), ti.ndarray(ti.i32, 1000)
    with pytest.raises(RuntimeError, match=r"wrote out of bounds.*an ndarray of i32, shape .1000,.*, and elsewhere"):
        store_all(x, 0, 50_000_000)
    assert (x.to_numpy() == 7).all() and not y.to_numpy().any()
    store_all(y, 0, 1000)
    assert (y.to_numpy() == 7).all()


def test_each_thread_gets_the_error_of_its_kernel(cpu: None) -> None:
    good, bad = ti.field(ti.i32, 100), ti.field(ti.i32, 100)
    outcomes: dict[str, int] = {"errors": 0, "good": 0}

    @ti.kernel
    def count(x: ti.template()):
        for k in x:
            x[k] += 1

    def launch_bad() -> None:
        for _ in range(50):
            try:
                store(bad, 1_000_000)
            except RuntimeError:
                outcomes["errors"] += 1

    def launch_good() -> None:
        for _ in range(200):
            count(good)
            outcomes["good"] += 1

    count(bad)
    store(bad, 0)
    threads = [threading.Thread(target=run) for run in (launch_bad, launch_good)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {"errors": 50, "good": 200}
    assert (good.to_numpy() == 200).all()


def test_freed_memory_is_zero_when_it_is_used_again(cpu: None) -> None:
    for size in (10, 5000, 300_000):
        for _ in range(3):
            x = ti.ndarray(ti.i32, size)
            assert not x.to_numpy().any()
            store_all(x, 0, size)
            del x


def test_arrays_start_in_different_pages_and_lines(cpu: None) -> None:
    kernel_signals.guards.trim()
    arrays = [ti.ndarray(ti.f32, size) for size in (100_000, 2_000_000) for _ in range(4)]
    starts = [x.allocation.address for x in arrays]
    assert np.diff(sorted(start % guarded_memory.PAGESIZE for start in starts)).min() == 512
    assert len({start % (1 << 15) // guarded_memory.PAGESIZE for start in starts[4:]}) == 4  # in large pages
    for x in arrays:
        store_all(x, 0, x.shape[0])
        assert (x.to_numpy() == 7).all()
        store(x, x.shape[0] + 16_000)
        store(x, -16_000)


def test_reports_count_what_was_requested(cpu: None) -> None:
    used = kernel_device().used_bytes
    x = ti.ndarray(ti.f32, 1000)
    assert kernel_device().used_bytes == used + 4000
    del x
    assert kernel_device().used_bytes == used


def kernel_device():
    """The device of the session."""
    return session.CURRENT.device


def test_exports_outlive_session_and_array(cpu: None) -> None:
    x = ti.ndarray(ti.i32, 100_000)
    store_all(x, 0, 100_000)
    exported = kernel_device().share(x.allocation)
    del x
    ti.reset()
    assert (np.asarray(exported).view(np.int32) == 7).all()


def test_more_arrays_than_guards(cpu: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert kernel_signals.guards is not None
    monkeypatch.setattr(kernel_signals.guards, "free", [])
    kernel_signals.guards.trim()
    monkeypatch.setattr(kernel_signals.guards, "free", [])
    arrays = [ti.ndarray(ti.i32, size) for size in (0, 1, 100, 70_000)]
    for x in arrays[1:]:
        store_all(x, -16, x.shape[0] + 16)
        assert (x.to_numpy() == 7).all()


FAULT = """
import ctypes, faulthandler, sys
import numpy as np
import shadesmith as ti
if sys.argv[1] == "faulthandler first":
    faulthandler.enable()
ti.init(arch=ti.cpu, log_level="warn")
x = ti.field(ti.i32, 10, name="heat")
@ti.kernel
def store(k: ti.i32):
    x[k] = 7
@ti.kernel
def count() -> ti.i32:
    return x[1]
store(1)
if sys.argv[1] == "faulthandler later":
    faulthandler.enable()
count()
for _ in range(2):
    try:
        store(10_000_000)
    except RuntimeError as error:
        print("caught", "heat" in str(error))
print(count(), flush=True)
if sys.argv[1] != "survive":
    ctypes.string_at(8)
"""


@pytest.mark.parametrize("how", ["survive", "crash", "faulthandler first", "faulthandler later"])
def test_other_faults_are_left_to_others(tmp_path, how: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(FAULT)
    done = subprocess.run([sys.executable, program, how], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["caught", "True", "caught", "True", "7"], done.stderr
    if how == "survive":
        assert done.returncode == 0 and not done.stderr
    else:
        assert done.returncode == -11
        assert ("Segmentation fault" in done.stderr) == how.startswith("faulthandler")


UNREACHABLE = """
import shadesmith as ti
import numpy as np
ti.init(arch=ti.cpu, log_level="warn")
@ti.kernel
def write_code(x: ti.types.ndarray(ti.i32, 1)):
    x[0] = 7
write_code(np.zeros(4, np.int32))
import ctypes, mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
array = np.frombuffer(page, np.int32)
ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), 4096, 1)
write_code(array)
"""


def test_memory_that_cannot_be_written_names_the_kernel(tmp_path) -> None:
    program = tmp_path / "program.py"
    program.write_text(UNREACHABLE)
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "kernel `write_code` accessed memory that cannot be accessed" in done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_child_has_the_guards_too(cpu: None) -> None:
    x = ti.field(ti.i32, 10)
    store(x, 0)
    child = os.fork()
    if not child:
        try:
            store(x, 5_000_000)
        except RuntimeError:
            os._exit(3)
        os._exit(4)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    store(x, 1)
    assert x[1] == 7
