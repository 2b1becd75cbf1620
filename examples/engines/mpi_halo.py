"""MPI: heat in two and three dimensions on several ranks, which exchange ghost cells with mpi4py.

    pip install "shadesmith[mpi]"      (and an MPI, for example Debian's openmpi-bin and libopenmpi-dev)
    mpirun -n 4 python -m shadesmith.examples.engines.mpi_halo [--size 48] [--arch cuda]

Rank 0 compares the result with that of one session. On CUDA, where MPI takes device memory (`--device-memory`), the
ghost cells go from GPU to GPU; else they pass through buffers of the host.
"""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from mpi4py import MPI

import shadesmith as ti
from shadesmith.examples.engines.devices import device_of_rank


@ti.kernel
def step2(old: ti.types.ndarray(ti.f32, 2), new: ti.types.ndarray(ti.f32, 2)):
    for i, j in ti.ndrange((1, old.shape[0] - 1), (1, old.shape[1] - 1)):
        around = old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]
        new[i, j] = 0.6 * old[i, j] + 0.1 * around


@ti.kernel
def step3(old: ti.types.ndarray(ti.f32, 3), new: ti.types.ndarray(ti.f32, 3)):
    for i, j, k in ti.ndrange((1, old.shape[0] - 1), (1, old.shape[1] - 1), (1, old.shape[2] - 1)):
        around = old[i - 1, j, k] + old[i + 1, j, k] + old[i, j - 1, k] + old[i, j + 1, k]
        new[i, j, k] = 0.4 * old[i, j, k] + 0.1 * (around + old[i, j, k - 1] + old[i, j, k + 1])


def exchange(comm: Any, block: Any, array: Any, on_device: bool) -> None:
    """Fill the ghost cells of an ndarray from the neighbours."""
    if on_device:
        import cupy

        values, empty, pack = cupy.asarray(array), cupy.empty, cupy.ascontiguousarray
        ti.sync()
    else:
        values, empty, pack = array, np.empty, lambda part: np.ascontiguousarray(part.to_numpy())
    requests, arrived, sent = [], [], []
    for item in block.exchanges:
        shape = tuple(s.stop - s.start for s in item.receive)
        arrived.append(empty(shape, np.float32))
        requests.append(comm.Irecv(arrived[-1], item.rank, item.receive_tag))
    for item in block.exchanges:
        sent.append(pack(values[item.send]))
    if on_device:
        cupy.cuda.get_current_stream().synchronize()
    requests += [comm.Isend(part, item.rank, item.send_tag) for part, item in zip(sent, block.exchanges, strict=True)]
    MPI.Request.Waitall(requests)
    for part, item in zip(arrived, block.exchanges, strict=True):
        if on_device:
            values[item.receive] = part
        else:
            array[item.receive].from_numpy(part)


def simulate(step: Callable[..., None], start: np.ndarray, steps: int, comm: Any, on_device: bool) -> np.ndarray:
    """Return the whole array after some steps, on rank 0; comm: the ranks that share it, None: this one alone."""
    rank, ranks = (0, 1) if comm is None else (comm.rank, comm.size)
    split = ti.tools.halo.Decomposition(start.shape, ranks)
    block = split.block(rank)
    pair = [ti.ndarray(ti.f32, block.shape) for _ in range(2)]
    for array in pair:
        array.from_numpy(block.scatter(start))
    for _ in range(steps):
        step(*pair)
        pair.reverse()
        if comm is not None:
            exchange(comm, block, pair[0], on_device)
    local, whole = pair[0].to_numpy(), np.zeros_like(start)
    parts = [local] if comm is None else comm.gather(local)
    for other, part in zip(split.blocks(), parts or [], strict=False):
        other.gather(part, whole)
    return whole


def main(arguments: Sequence[str] | None = None) -> None:
    """Compute on all ranks, and compare on rank 0."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=48)
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--arch", default="cpu")
    parser.add_argument("--device-memory", action="store_true", help="MPI takes memory of the GPU")
    options = parser.parse_args(arguments)
    comm = MPI.COMM_WORLD
    ti.init(device=device_of_rank(options.arch, comm.rank), log_level=ti.WARN)
    for step, axes in ((step2, 2), (step3, 3)):
        start = np.random.default_rng(axes).random((options.size,) * axes, np.float32)
        found = simulate(step, start, options.steps, comm, options.device_memory)
        if comm.rank == 0:
            error = np.max(np.abs(found - simulate(step, start, options.steps, None, False)))
            assert error < 1e-6, error
            print(f"mpi: {comm.size} ranks, {axes}-D stencil of {options.size}^{axes}, largest difference {error:.1e}")


if __name__ == "__main__":
    main()
