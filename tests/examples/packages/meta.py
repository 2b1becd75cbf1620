"""taichi-meta 0.1.1: kernels from strings, replaced while the program runs."""

import numpy as np
import taichi as ti
from taichi_meta import MetaKernelLoader

ti.init(arch=ti.cpu)
loader = MetaKernelLoader()
x = ti.ndarray(ti.f32, shape=10)
for factor in (1, 2):
    loader.compile_and_load(f"""
@ti.kernel
def add_base(x: ti.types.ndarray(), base: ti.f32):
    for i in range(x.shape[0]):
        x[i] += {factor} * base
""")
    x.from_numpy(np.arange(10, dtype=np.float32))
    loader[None].add_base(x, 5.0)
    print(f"Result: {x.to_numpy()}")
