import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
near, hits = ti.field(ti.i32), ti.field(ti.i32, shape=100)
pairs = ti.root.dense(ti.i, 100).dynamic(ti.j, 64, chunk_size=16)
pairs.place(near)


def collide(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i, j in ti.ndrange(100, 100):
        if i != j and abs(x[i] - x[j]) < 0.1:
            near[i].append(j)
    for i, k in near:
        hits[near[i, k]] += near[i].length()


kernel, arguments = collide, ((ti.f32, 1),)
