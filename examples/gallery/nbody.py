"""Two discs of bodies that attract each other pass, and draw out tails."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

N = 2400
STEPS, STEP = 270, 0.012
SOFTENING = 0.02


@ti.kernel
def kick(x: ti.types.ndarray(ti.math.vec3, 1), v: ti.types.ndarray(ti.math.vec3, 1), m: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        force = ti.math.vec3(0.0)
        for j in range(N):
            to = x[j] - x[i]
            inverse = ti.rsqrt(to.dot(to) + SOFTENING)
            force += m[j] * inverse**3 * to
        v[i] += STEP * force


@ti.kernel
def drift(x: ti.types.ndarray(ti.math.vec3, 1), v: ti.types.ndarray(ti.math.vec3, 1)):
    for i in x:
        x[i] += STEP * v[i]


def galaxies() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return positions, velocities, shape (n, 3), and masses of two discs, whose centres hold nearly all mass."""
    random = np.random.default_rng(2)
    x, v, m = np.zeros((N, 3)), np.zeros((N, 3)), np.full(N, 1e-5)
    for k, (centre, speed) in enumerate((((-1.1, -0.45, 0), (0.42, 0.02, 0)), ((1.1, 0.45, 0), (-0.42, -0.02, 0)))):
        part = slice(k * N // 2, (k + 1) * N // 2)
        r, angle = 0.12 + 0.75 * np.sqrt(random.random(N // 2)), 2 * np.pi * random.random(N // 2)
        x[part] = np.stack([r * np.cos(angle), r * np.sin(angle), 0.03 * random.normal(size=N // 2)], 1) + centre
        circular = np.sqrt(r**2 / (r**2 + SOFTENING) ** 1.5)[:, None]
        v[part] = circular * np.stack([-np.sin(angle), np.cos(angle), 0 * r], 1) + speed
        x[k * N // 2], v[k * N // 2], m[k * N // 2] = centre, speed, 1.0
    return x.astype(np.float32), v.astype(np.float32), m.astype(np.float32)


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    x, v, m = galaxies()
    for _ in range(STEPS):
        kick(x, v, m)
        drift(x, v)
    gui = ti.GUI("galaxies", res=(480, 400), background_color=0x05060D, show_gui=False)
    for part, colour in ((slice(0, N // 2), 0xFFC27A), (slice(N // 2, N), 0x8FC4FF)):
        gui.circles(x[part, :2] / np.array([6.0, 5.0]) + 0.5, radius=1.2, color=colour)
    return gui.get_image()[..., :3]


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "nbody.png")
