"""Kernels and threads of the tests of several sessions."""

import threading

import shadesmith as ti
from shadesmith.runtime.events import CALL_OBSERVERS
from shadesmith.runtime.session import several

THREADS = 4
LAUNCHES = 10_000


@ti.kernel
def add(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        x[i] += n


@ti.kernel
def total(x: ti.types.ndarray(ti.i32, 1)) -> ti.i64:
    s = ti.i64(0)
    for i in x:
        s += x[i]
    return s


def closing_all():
    """Close all sessions after a test: the body of a fixture."""
    ti.reset()
    yield
    for session in list(several.OTHERS):
        session.close()
    assert CALL_OBSERVERS == []
    ti.reset()


def mixed_launches(first, second, launches):
    """Launch from four threads in two sessions in turn; check all results."""
    errors, start = [], threading.Barrier(THREADS)

    def work(number):
        try:
            arrays = []
            for session in (first, second):
                with session:
                    arrays.append((session, ti.ndarray(ti.i32, 100 + number), ti.field(ti.i32, 4)))
            start.wait()
            for launch in range(launches // THREADS):
                session, x, f = arrays[(launch * 7 + number) // 3 % 2]
                with session:
                    add(x, number + 1)
                    if launch % 500 == 0:
                        f[number] += 1
                        assert total(x) == x[0] * x.shape[0]
            done = launches // THREADS
            mine = [sum((n * 7 + number) // 3 % 2 == k for n in range(done)) for k in range(2)]
            for (_, x, _), count in zip(arrays, mine, strict=True):
                assert x.to_numpy().tolist() == [count * (number + 1)] * x.shape[0]
        except BaseException as error:  # noqa: BLE001 - shown by the test
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
