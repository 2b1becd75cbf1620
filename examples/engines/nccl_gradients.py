"""Gradients of two sessions, summed: a line is fitted to points that are shared by the devices of one process.

    python -m shadesmith.examples.engines.nccl_gradients [--devices cuda:0,cuda:1] [--points 100000]

Each session computes the gradient of its points. On two GPUs NCCL sums them, called through CuPy on the memory of the
ndarrays; elsewhere they are copied to the first session and added there. With torch.distributed, pass
`torch.from_dlpack(x)`, which shares the memory too, to `dist.all_reduce`.
"""

import argparse
from typing import Any

import numpy as np

import shadesmith as ti

numbers = ti.types.ndarray(ti.f32, 1)
with_gradient = ti.types.ndarray(ti.f32, 1, needs_grad=True)


@ti.kernel
def loss(x: numbers, y: numbers, line: with_gradient, total: with_gradient):
    for i in x:
        total[0] += (line[0] * x[i] + line[1] - y[i]) ** 2 / x.shape[0]


@ti.kernel
def descend(line: numbers, gradient: numbers, rate: ti.f32):
    for i in line:
        line[i] -= rate * gradient[i]


@ti.kernel
def add(x: numbers, y: numbers):
    for i in x:
        x[i] += y[i]


class Part:
    """The points of one session, and its copy of the line."""

    def __init__(self, session: Any, points: np.ndarray) -> None:
        self.session = session
        with session:
            self.x, self.y = (ti.ndarray(ti.f32, len(points)) for _ in range(2))
            self.line, self.total = ti.ndarray(ti.f32, 2, needs_grad=True), ti.ndarray(ti.f32, 1, needs_grad=True)
        for array, column in ((self.x, 0), (self.y, 1)):
            array.from_numpy(np.ascontiguousarray(points[:, column]))

    def gradient(self) -> ti.Ndarray:
        """Return the gradient of the loss of its points."""
        with self.session:
            self.line.grad.fill(0)
            self.total.grad.fill(1)
            loss.grad(self.x, self.y, self.line, self.total)
        return self.line.grad


def nccl_of(parts: list[Part]) -> Any:
    """Return NCCL's communicators of the parts' GPUs, None where there are not several, or NCCL is missing."""
    gpus = [part.session.device.index for part in parts if part.session.arch is ti.cuda]
    if len(set(gpus)) < len(parts) or len(parts) == 1:
        return None
    import cupy

    return cupy.cuda.nccl.NcclCommunicator.initAll(gpus) if cupy.cuda.nccl.available else None


def all_reduce(gradients: list[ti.Ndarray], communicators: Any) -> None:
    """Set all gradients to their mean."""
    count = len(gradients)
    if communicators is None:
        first = gradients[0]
        with first.session:
            for other in gradients[1:]:
                add(first, other.to(first.session))
        for other in gradients[1:]:
            other.copy_from(first)
    else:
        import cupy

        nccl = cupy.cuda.nccl
        nccl.groupStart()
        for communicator, x in zip(communicators, gradients, strict=True):
            with x.session:
                stream, place = cupy.cuda.get_current_stream().ptr, x.allocation.address
                communicator.allReduce(place, place, x.shape[0], nccl.NCCL_FLOAT, nccl.NCCL_SUM, stream)
        nccl.groupEnd()
    for x in gradients:
        x.from_numpy(x.to_numpy() / np.float32(count))


def fit(sessions: list[Any], points: np.ndarray, steps: int) -> np.ndarray:
    """Return the line after some steps of gradient descent, with equal shares of the points for each session."""
    parts = [Part(session, share) for session, share in zip(sessions, np.split(points, len(sessions)), strict=True)]
    communicators = nccl_of(parts)
    for _ in range(steps):
        gradients = [part.gradient() for part in parts]
        all_reduce(gradients, communicators)
        for part, gradient in zip(parts, gradients, strict=True):
            with part.session:
                descend(part.line, gradient, 0.1)
    lines = [part.line.to_numpy() for part in parts]
    assert np.allclose(lines, lines[0], atol=1e-5)
    return lines[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="cpu,cpu")
    parser.add_argument("--points", type=int, default=100_000)
    options = parser.parse_args()
    sessions = [ti.Session(device=name, log_level=ti.WARN) for name in options.devices.split(",")]
    x = np.random.default_rng(1).random(options.points, np.float32)
    points = np.stack([x, 3 * x + 1], 1)
    found, expected = fit(sessions, points, 20), fit(sessions[:1], points, 20)
    error = np.max(np.abs(found - expected))
    assert error < 1e-3, error
    print(f"gradients: {len(sessions)} sessions, line {found.tolist()}, largest difference {error:.1e}")
