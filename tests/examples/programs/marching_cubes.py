import taichi as ti, numpy as np
ti.init(arch=ti.cpu, offline_cache=False)
R = 24
sdf = ti.field(float); ti.root.dense(ti.ijk, R).place(sdf)
rng = np.random.RandomState(0)
tab = ti.field(ti.i32, shape=(256, 5, 3))
cnt = ti.field(ti.i32, 256)
t = rng.randint(0, 12, (256, 5, 3)).astype(np.int32); c = np.array([bin(i).count('1') % 6 for i in range(256)], np.int32); c[0]=c[255]=0
tab.from_numpy(t); cnt.from_numpy(c)
EA = np.array([[0,0,0],[1,0,0],[0,1,0],[0,0,0],[0,0,1],[1,0,1],[0,1,1],[0,0,1],[0,0,0],[1,0,0],[1,1,0],[0,1,0]])
AX = [0,1,0,1,0,1,0,1,2,2,2,2]
verts = ti.Vector.field(3, float, 60000)
n = ti.field(ti.i32, ())
@ti.func
def inter(I, e):
    base = ti.Vector([0,0,0]); ax = 0
    for k in ti.static(range(12)):
        if k == e:
            base = I + ti.Vector([int(x) for x in EA[k]]); ax = AX[k]
    off = ti.Vector.unit(3, 0, int)
    if ax == 1: off = ti.Vector.unit(3, 1, int)
    elif ax == 2: off = ti.Vector([0, 0, 1])
    a, b = sdf[base], sdf[base + off]
    s = a / (a - b) if ti.abs(a - b) > 1e-6 else 0.5
    return base + ti.max(0.0, ti.min(1.0, s)) * off
@ti.kernel
def march() -> ti.i32:
    n[None] = 0
    for I in ti.grouped(ti.ndrange(*[R - 2] * 3)):
        id = 0
        for k in ti.static(range(8)):
            if sdf[I + ti.Vector([k & 1, k >> 1 & 1, k >> 2 & 1])] < 0: id |= 1 << k
        for f in range(cnt[id]):
            m = ti.atomic_add(n[None], 1)
            for d in ti.static(range(3)):
                verts[m * 3 + d] = inter(I, tab[id, f, d])
    return n[None]
@ti.kernel
def field():
    for I in ti.grouped(sdf):
        p = I / R - 0.5
        sdf[I] = ti.sqrt(p.dot(p)) - 0.3 + 0.05 * ti.sin(20 * p.x) * ti.cos(15 * p.y)
field(); m = march()
v = verts.to_numpy()[:m * 3]
print('mc', m, '%.3f %.3f' % (v.mean(), v.std()))
pw = ti.tools.PLYWriter(num_vertices=m*3, num_faces=m); pw.add_vertex_pos(*v.T); pw.add_faces(np.arange(m*3)); pw.export_ascii('mc.ply')
print(open('mc.ply').read().split('end_header')[0].count('property'))
