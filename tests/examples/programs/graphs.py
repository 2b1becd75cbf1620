import taichi as ti, numpy as np
ti.init(arch=ti.cpu)
n, m = 500, 2000
r = np.random.RandomState(3)
src, dst = r.randint(0, n, m).astype(np.int32), r.randint(0, n, m).astype(np.int32); w = r.randint(1, 20, m).astype(np.int32)
arr = ti.types.ndarray(dtype=ti.i32, ndim=1)
@ti.kernel
def bellman(src: arr, dst: arr, w: arr, dist: arr) -> ti.i32:
    changed = 0
    for e in src:
        d = dist[src[e]] + w[e]
        if d < ti.atomic_min(dist[dst[e]], d): changed |= 1
    return changed
@ti.kernel
def cc(src: arr, dst: arr, label: arr) -> bool:
    change = False
    for e in range(src.shape[0]):
        a, b = label[src[e]], label[dst[e]]
        lo = min(a, b)
        if a != b:
            ti.atomic_min(label[src[e]], lo); ti.atomic_min(label[dst[e]], lo)
            change = True
    return change
dist = np.full(n, 10 ** 6, np.int32); dist[0] = 0
it = 0
while bellman(src, dst, w, dist): it += 1
label = np.arange(n, dtype=np.int32)
while cc(src, dst, label): pass
print('graph', dist[dist < 10 ** 6].sum(), (dist < 10**6).sum(), len(np.unique(label)))
# pagerank with CSR in fields, dynamic nodes
deg = ti.field(ti.i32, n); pr = ti.field(ti.f32, n); nxt = ti.field(ti.f32, n)
adj = ti.field(ti.i32); S = ti.root.dense(ti.i, n).dynamic(ti.j, 128, chunk_size=16); S.place(adj)
@ti.kernel
def build(src: arr, dst: arr):
    for e in src: 
        adj[dst[e]].append(src[e])
        deg[src[e]] += 1
@ti.kernel
def rank():
    for i in range(n):
        s = 0.0
        for k in range(adj[i].length()):
            j = adj[i, k]
            s += pr[j] / deg[j]
        nxt[i] = 0.15 / n + 0.85 * s
    for i in pr: pr[i] = nxt[i]
build(src, dst); pr.fill(1.0 / n)
for _ in range(20): rank()
print('pr %.5f %.6f' % (pr.to_numpy().sum(), pr.to_numpy().max()), int(np.argmax(pr.to_numpy())))
