"""Measure two GPUs of one process against one: n-body, a 3-D stencil, copies between GPUs; and mixed launches.

    python benchmarks/several_gpus.py [--seconds 1.0]

With one GPU both sessions are on it: results are compared, speed is not. A row shows times, their ratio, and the goal.
"""

import argparse
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import shadesmith as ti

BODIES, POINTS, STEPS, COPIED_BYTES = 1_048_576, 1024, 10, 1 << 30
SPEEDUP, COPY_SHARE = 1.9, 0.9
THREADS, LAUNCHES = 4, 10_000

vec3 = ti.types.vector(3, ti.f32)


@ti.kernel
def attract(positions: ti.types.ndarray(vec3, 1), forces: ti.types.ndarray(vec3, 1), first: ti.i32, count: ti.i32):
    for k in range(count):
        here = positions[first + k]
        force = vec3(0)
        for j in range(positions.shape[0]):
            way = positions[j] - here
            distance = way.dot(way) + 1e-4
            force += way / (distance * ti.sqrt(distance))
        forces[k] = force


@ti.kernel
def begin(x: ti.types.ndarray(ti.f32, 3), first: ti.i32):
    for i, j, k in x:
        x[i, j, k] = ((i + first) * 7919 + j * 104729 + k * 1299709) % 1000 / 1000


@ti.kernel
def diffuse(old: ti.types.ndarray(ti.f32, 3), new: ti.types.ndarray(ti.f32, 3)):
    for i, j, k in ti.ndrange((1, old.shape[0] - 1), (1, old.shape[1] - 1), (1, old.shape[2] - 1)):
        around = old[i - 1, j, k] + old[i + 1, j, k] + old[i, j - 1, k] + old[i, j + 1, k]
        new[i, j, k] = 0.4 * old[i, j, k] + 0.1 * (around + old[i, j, k - 1] + old[i, j, k + 1])


@ti.kernel
def add(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        x[i] += n


def sync(sessions: Sequence[Any]) -> None:
    """Wait for all sessions."""
    for session in sessions:
        with session:
            ti.sync()


def best(run: Callable[[], None], sessions: Sequence[Any], seconds: float) -> float:
    """Return the shortest time of a run [s], with the end of its work."""
    run()
    sync(sessions)
    found, end = [], time.perf_counter() + seconds
    while len(found) < 3 or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        sync(sessions)
        found.append(time.perf_counter() - start)
    return min(found)


def bodies(sessions: Sequence[Any], seconds: float) -> tuple[float, np.ndarray]:
    """Return the time of all forces of BODIES bodies, shared by the sessions, and the forces."""
    start = np.random.default_rng(1).random((BODIES, 3), np.float32)
    count, parts = BODIES // len(sessions), []
    for number, session in enumerate(sessions):
        with session:
            positions, forces = ti.ndarray(vec3, BODIES), ti.ndarray(vec3, count)
            positions.from_numpy(start)
            parts.append((session, positions, forces, number * count))

    def run() -> None:
        for session, positions, forces, first in parts:
            with session:
                attract(positions, forces, first, count)

    spent = best(run, sessions, seconds)
    return spent, np.concatenate([forces.to_numpy() for _, _, forces, _ in parts])


def stencil(sessions: Sequence[Any], seconds: float) -> tuple[float, list[Any]]:
    """Return the time of STEPS steps on a cube, split along its first axis, and the blocks with their arrays."""
    split = ti.tools.halo.Decomposition((POINTS,) * 3, (len(sessions), 1, 1), ghost=1)
    parts = []
    for block, session in zip(split.blocks(), sessions, strict=True):
        with session:
            pair = [ti.ndarray(ti.f32, block.shape) for _ in range(2)]
            for array in pair:
                begin(array, block.begin[0] - block.owned[0].start)
            parts.append((session, block, pair))
    copies = [
        (
            parts[item.rank],
            block.rank,
            item,
            next(e for e in parts[item.rank][1].exchanges if e.send_tag == item.receive_tag),
        )
        for _, block, _ in parts
        for item in block.exchanges
    ]

    def run() -> None:
        for _ in range(STEPS):
            for session, _, pair in parts:
                with session:
                    diffuse(*pair)
                pair.reverse()
            for (_, _, theirs), rank, item, back in copies:
                parts[rank][2][0][item.receive].copy_from(theirs[0][back.send])

    for _ in range(2):
        run()
    sync(sessions)
    values = [pair[0] for _, _, pair in parts]
    kept = [(block, array.to_numpy()) for (_, block, _), array in zip(parts, values, strict=True)]
    return best(run, sessions, seconds), kept


def difference(one: list[Any], two: list[Any]) -> float:
    """Return the largest difference of two results, as a part of the largest number; of blocks or of whole arrays."""
    if isinstance(one, np.ndarray):
        return float(np.max(np.abs(one - two)) / np.max(np.abs(one)))
    whole = one[0][1]
    parts = [(array[block.owned], whole[block.begin[0] : block.end[0]]) for block, array in two]
    return max(float(np.max(np.abs(a[k] - b[k]))) for a, b in parts for k in range(len(a)))


def copies(first: Any, second: Any, seconds: float) -> tuple[float, float]:
    """Return the bandwidth of copies between two sessions, and that of the driver's own copy [GB/s]."""
    import cupy

    with first:
        x = ti.ndarray(ti.u8, COPIED_BYTES)
    with second:
        y = ti.ndarray(ti.u8, COPIED_BYTES)
    ours = COPIED_BYTES / best(lambda: y.copy_from(x), [first, second], seconds) / 1e9
    runtime, sizes = cupy.cuda.runtime, (x.session.device.index, y.session.device.index)
    with cupy.cuda.Device(sizes[1]):
        stream = cupy.cuda.Stream(non_blocking=True)

    def copy() -> None:
        with cupy.cuda.Device(sizes[1]):
            runtime.memcpyPeerAsync(
                y.allocation.address, sizes[1], x.allocation.address, sizes[0], COPIED_BYTES, stream.ptr
            )
            stream.synchronize()

    return ours, COPIED_BYTES / best(copy, [first, second], seconds) / 1e9


def mixed(sessions: Sequence[Any]) -> int:
    """Launch from four threads in all sessions in turn; return how many arrays are wrong."""
    wrong: list[Any] = []

    def work(number: int) -> None:
        try:
            arrays = []
            for session in sessions:
                with session:
                    arrays.append(ti.ndarray(ti.i32, 1000 + number))
            counts = [0] * len(sessions)
            for launch in range(LAUNCHES // THREADS):
                chosen = (launch * 7 + number) // 3 % len(sessions)
                counts[chosen] += 1
                with sessions[chosen]:
                    add(arrays[chosen], number + 1)
            wrong.extend(
                (number, x.session)
                for x, count in zip(arrays, counts, strict=True)
                if not np.all(x.to_numpy() == count * (number + 1))
            )
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for item in wrong:
        print("wrong:", item)
    return len(wrong)


def open_sessions() -> list[Any]:
    """Return a session for each of two GPUs, or two for the one there is."""
    gpus = [device.name for device in ti.devices() if device.name.startswith("cuda:")]
    if not gpus:
        raise SystemExit("there is no CUDA device")
    chosen = gpus[:2] if len(gpus) > 1 else gpus * 2
    print(f"{len(gpus)} GPUs: two sessions on {', '.join(chosen)}")
    return [ti.Session(device=name, log_level=ti.WARN) for name in chosen]


def main() -> int:
    """Print all rows; return the number of missed goals."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0)
    seconds = parser.parse_args().seconds
    both = open_sessions()
    are_two = both[0].device.index != both[1].device.index
    missed = mixed(both)
    print(f"{LAUNCHES} mixed launches of {THREADS} threads in two sessions: {missed} arrays are wrong")
    for name, measure in (
        ("n-body", bodies),
        ("3-D stencil", stencil),
    ):
        one, expected = measure(both[:1], seconds)
        two, found = measure(both, seconds)
        error = difference(expected, found)
        is_missed = error > 1e-5 or (are_two and one / two < SPEEDUP)
        missed += is_missed
        speed = f"{one / two:.2f} times, goal {SPEEDUP}" if are_two else "one GPU: no goal"
        print(
            f"{name:12} one {1e3 * one:8.2f} ms  two {1e3 * two:8.2f} ms  {speed}  largest difference {error:.1e}  "
            f"{'MISSED' if is_missed else 'ok'}",
            flush=True,
        )
    ours, drivers = copies(*both, seconds)
    is_missed = ours < COPY_SHARE * drivers
    missed += is_missed
    print(
        f"copy         {ours:.1f} GB/s, the driver's own {drivers:.1f} GB/s: {100 * ours / drivers:.0f} %, goal 90 %  "
        f"{'MISSED' if is_missed else 'ok'}"
    )
    return missed


if __name__ == "__main__":
    sys.exit(main())
