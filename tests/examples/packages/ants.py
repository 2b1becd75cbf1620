"""anco 1.1.0: ants between a nest and food; its random numbers differ from Taichi's, so sums are printed."""

import numpy as np
from anco import ImageSystem, PointTarget

n = 128
targets = [PointTarget(0, [32.0, 64.0], 8.0), PointTarget(1, [96.0, 64.0], 8.0)]
system = ImageSystem([n, n], np.ones((n, n)), targets, particle_number=20000, arch="cpu", create_window=False)
for _ in range(100):
    system.evolve_one_step()
where = system.particle_location.to_numpy()
print("mean place %.1f %.1f" % tuple(where.mean(0)))
print("mean distance %.1f" % np.hypot(*(where - where.mean(0)).T).mean())
print("chemicals %.0f" % system.concentration.to_numpy().sum())
