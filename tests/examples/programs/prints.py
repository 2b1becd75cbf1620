import taichi as ti
import taichi.math as tm
ti.init(arch=ti.cpu)

@ti.dataclass
class Ray:
    o: tm.vec3
    d: tm.vec2
    hit: ti.i32

C = 3.25
NAME = "beam"

@ti.kernel
def show(a: ti.i32, b: ti.f32, c: ti.f64, u: ti.u8, big: ti.i64):
    print(a, b, c, u, big)
    print("a =", a, "b =", b, sep=" | ")
    print(a, end="; ")
    print(b, end="\n\n")
    print(f"{a} {b} {c}")
    print(f"{b:.3f} {b:.2e} {a:d}")
    print("{} and {:.4f} and {}".format(a, c, b))
    v = ti.Vector([1.5, 2.5, -0.125])
    m = ti.Matrix([[1, 2], [3, 4]])
    print(v, m)
    print(f"v={v} m={m}")
    print(f"{v:.2f}")
    r = Ray(o=tm.vec3(1, 2, 3), d=tm.vec2(0.5), hit=a)
    print(r.o, r.d, r.hit)
    print(C, NAME, True, None if False else "text")
    print(f"{C} {NAME}")
    print(b == 2.5, a > 100)
    print(tm.inf, -tm.inf)
    print(1e10, 1e-7, 123456789.0, 0.1)
    print(ti.cast(3, ti.f64) / 7, 1 / 3)
    print()
    print("tab\tquote\"done")
    print(ti.cast(-1, ti.u32), ti.cast(-1, ti.u64), ti.cast(200, ti.i8))
    print([a, b])
    print((a, a + 1, 2.5))

show(42, 2.5, 1.0 / 3.0, 200, 2**40)
ti.sync()
