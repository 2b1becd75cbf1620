import taichi as ti, numpy as np
ti.init(arch=ti.cpu, debug=False)
n_in, n_h, B = 8, 16, 64
@ti.data_oriented
class Linear:
    def __init__(self, i, o, act=True, rng=np.random.RandomState(0)):
        self.i, self.o, self.act = i, o, act
        self.w = ti.field(ti.f32, shape=(o, i), needs_grad=True); self.b = ti.field(ti.f32, shape=o, needs_grad=True)
        self.out = ti.field(ti.f32, shape=(B, o), needs_grad=True)
        self.w.from_numpy((rng.randn(o, i) / np.sqrt(i)).astype(np.float32))
    def params(self): return [self.w, self.b]
    @ti.kernel
    def clear(self):
        for I in ti.grouped(self.out): self.out[I] = 0.; self.out.grad[I] = 0.
    @ti.kernel
    def mul(self, x: ti.template()):
        for b, o, i in ti.ndrange(B, self.o, self.i):
            self.out[b, o] += self.w[o, i] * x[b, i]
    @ti.kernel
    def bias(self, y: ti.template()):
        for b, o in self.out:
            v = self.out[b, o] + self.b[o]
            if ti.static(self.act): v = ti.tanh(v)
            y[b, o] = v
    def __call__(self, x, y):
        self.clear(); self.mul(x); self.bias(y)
x = ti.field(float, (B, n_in)); t = ti.field(float, (B, 1)); loss = ti.field(float, (), needs_grad=True)
h = ti.field(float, (B, n_h), needs_grad=True); y = ti.field(float, (B, 1), needs_grad=True)
l1, l2 = Linear(n_in, n_h), Linear(n_h, 1, False)
r = np.random.RandomState(1); xs = r.rand(B, n_in).astype(np.float32); x.from_numpy(xs); t.from_numpy(np.sin(xs.sum(1, keepdims=True)))
@ti.kernel
def mse():
    for i in range(B): loss[None] += (y[i, 0] - t[i, 0]) ** 2 / B
@ti.kernel
def sgd(p: ti.template(), lr: float):
    for I in ti.grouped(p): p[I] -= lr * p.grad[I]
for it in range(60):
    with ti.ad.Tape(loss):
        l1(x, h); l2(h, y); mse()
    for l in (l1, l2):
        for p in l.params(): sgd(p, 0.1)
print('opt %.4f %.4f' % (loss[None], l1.w.to_numpy().sum()))
@ti.kernel
def fwd():
    for i in range(B): loss[None] += ti.sin(x[i, 0]) * h[i, 1]
with ti.ad.Tape(loss): fwd()
print('%.4f' % h.grad[3, 1])
