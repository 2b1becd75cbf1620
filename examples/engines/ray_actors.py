"""Ray: actors with a session each share the bodies of an n-body simulation; one that is killed is made again.

    pip install "shadesmith[ray]"
    python -m shadesmith.examples.engines.ray_actors [--bodies 512] [--workers 2]

Each actor owns its bodies and gets the positions of all at each step. Their results are compared with one session's.
"""

import argparse

import numpy as np

import shadesmith as ti

vec3 = ti.types.vector(3, ti.f32)


@ti.kernel
def attract(all_of_them: ti.types.ndarray(vec3, 1), forces: ti.types.ndarray(vec3, 1), first: ti.i32):
    for k in forces:
        here = all_of_them[first + k]
        force = vec3(0)
        for j in range(all_of_them.shape[0]):
            way = all_of_them[j] - here
            distance = way.dot(way) + 1e-3
            force += way / (distance * ti.sqrt(distance))
        forces[k] = force


class Bodies:
    """The bodies of one rank, in a session of its own."""

    def __init__(self, rank: int, ranks: int, count: int, arch: str = "cpu") -> None:
        ti.init(arch=getattr(ti, arch), log_level=ti.WARN)
        self.first, self.end = count * rank // ranks, count * (rank + 1) // ranks
        self.positions = ti.ndarray(vec3, count)
        self.forces = ti.ndarray(vec3, self.end - self.first)

    def step(self, positions: np.ndarray, speeds: np.ndarray, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the positions and speeds of its bodies after a time. The state is the caller's, so none is lost."""
        self.positions.from_numpy(positions)
        attract(self.positions, self.forces, self.first)
        mine = slice(self.first, self.end)
        faster = speeds[mine] + np.float32(time) * self.forces.to_numpy()
        return positions[mine] + np.float32(time) * faster, faster


def begin(bodies: int) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and speeds at the start."""
    return np.random.default_rng(1).random((bodies, 3), np.float32), np.zeros((bodies, 3), np.float32)


def serial(bodies: int, steps: int, time: float) -> np.ndarray:
    """Return the positions that one session computes."""
    positions, speeds = begin(bodies)
    one = Bodies(0, 1, bodies)
    for _ in range(steps):
        positions, speeds = one.step(positions, speeds, time)
    ti.reset()
    return positions


def simulate(bodies: int, workers: int, steps: int, time: float, kill_at: int = -1) -> np.ndarray:
    """Return the positions that actors compute. kill_at: the step before which the last of them is killed."""
    import ray

    actor = ray.remote(num_cpus=0)(Bodies)
    actors = [actor.remote(rank, workers, bodies) for rank in range(workers)]
    positions, speeds = begin(bodies)
    for step in range(steps):
        if step == kill_at:
            ray.kill(actors[-1])
        state = ray.put(positions), ray.put(speeds)
        parts = [one.step.remote(*state, time) for one in actors]
        for rank, part in enumerate(parts):
            try:
                ray.get(part)
            except ray.exceptions.RayActorError:
                actors[rank] = actor.remote(rank, workers, bodies)
                parts[rank] = actors[rank].step.remote(*state, time)
        found = ray.get(parts)
        positions, speeds = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return positions


def main() -> None:
    """Simulate with Ray, also with a worker that is killed, and compare with one session."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bodies", type=int, default=512)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    import ray

    expected = serial(options.bodies, 5, 1e-3)
    ray.init(num_cpus=options.workers, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        for kill_at in (-1, 2):
            found = simulate(options.bodies, options.workers, 5, 1e-3, kill_at)
            error = np.max(np.abs(found - expected))
            assert error < 1e-6, error
            killed = "none killed" if kill_at < 0 else f"one killed before step {kill_at}"
            print(f"ray: {options.workers} actors, {options.bodies} bodies, {killed}, largest difference {error:.1e}")
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
