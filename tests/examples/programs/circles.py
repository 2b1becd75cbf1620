import taichi as ti
import taichi.math as tm
ti.init(arch=ti.cpu)
vec2 = tm.vec2

@ti.dataclass
class Circle:
    c: vec2
    r: ti.f32

    @ti.func
    def area(self):
        return tm.pi * self.r * self.r

    @ti.func
    def grow(self, k: ti.f32):
        self.r *= k
        self.c += vec2(k, -k)

    @ti.func
    def touches(self, other):
        return (self.c - other.c).norm() <= self.r + other.r

@ti.dataclass
class Pair:
    a: Circle
    b: Circle
    tag: ti.i32
    w: ti.types.matrix(2, 2, ti.f64)

pairs = Pair.field(shape=(3, 4))
box = ti.types.struct(lo=vec2, hi=vec2)
boxes = box.field(shape=12)

@ti.kernel
def build():
    for i, j in pairs:
        p = Pair(a=Circle(c=vec2(i, j), r=1 + j), b=Circle(vec2(2 * i, 0), 0.5))
        p.a.grow(1.25)
        p.tag = i * 10 + j
        p.w = ti.Matrix([[i, j], [j, -i]])
        p.w[0, 1] *= 2
        pairs[i, j] = p

@ti.kernel
def reduce() -> ti.f32:
    s = 0.0
    n = 0
    for I in ti.grouped(pairs):
        s += pairs[I].a.area()
        if pairs[I].a.touches(pairs[I].b):
            n += 1
            pairs[I].b.grow(0.5)
            pairs[I].tag = -pairs[I].tag
    print("touching", n)
    return s

@ti.kernel
def hull() -> box:
    h = box(lo=vec2(1e9), hi=vec2(-1e9))
    ti.loop_config(serialize=True)
    for i in range(12):
        p = pairs[i // 4, i % 4]
        boxes[i].lo = p.a.c - p.a.r
        boxes[i].hi = p.a.c + p.a.r
        h.lo = tm.min(h.lo, boxes[i].lo)
        h.hi = ti.max(h.hi, boxes[i].hi)
    return h

build()
print(f"{reduce():.3f}")
h = hull()
print(h.lo, h.hi)
print(pairs.tag.to_numpy().tolist(), pairs.w.to_numpy()[2, 3].tolist())
print(pairs[1, 2].a.r, pairs[1, 2].b.c, pairs[1, 2].w[0, 1])
d = boxes.to_numpy()
print({k: v.sum(0).tolist() for k, v in d.items()})
pairs[0, 0].a = Circle(vec2(9, 9), 2)
pairs[0, 1] = Pair(a=Circle(vec2(1, 1), 1), b=Circle(vec2(1, 1), 1), tag=77)
print(pairs[0, 0].a.c, pairs[0, 1].tag, pairs[0, 1].b.r)
c = Circle(c=vec2(1, 2), r=3)
print(c.c, c.r, c.to_dict())
