import taichi as ti
import numpy as np
ti.init(arch=ti.cpu)
rng = np.random.default_rng(5)
for dt, npd in ((ti.i32, np.int32), (ti.f32, np.float32), (ti.i64, np.int64)):
    for n in (1, 7, 100, 1023):
        keys = ti.field(dt, shape=n)
        vals = ti.field(ti.i32, shape=n)
        k = rng.permutation(n * 3)[:n].astype(npd) - n
        keys.from_numpy(k)
        vals.from_numpy(np.arange(n, dtype=np.int32))
        ti.algorithms.parallel_sort(keys, vals)
        o = np.argsort(k, kind="stable")
        print(dt, n, np.array_equal(keys.to_numpy(), k[o]), np.array_equal(vals.to_numpy(), o))
from taichi._kernels import blit_from_field_to_field
from taichi.algorithms._algorithms import parallel_sort as ps
a = ti.field(ti.f32, 33)
b = ti.field(ti.f32, 40)
a.from_numpy(rng.permutation(33).astype(np.float32))
ps(a)
print(a.to_numpy()[:5])
blit_from_field_to_field(b, a, 4, 33)
print(b.to_numpy()[:8])
