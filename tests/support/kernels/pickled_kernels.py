"""Twenty kinds of kernels that are sent to other processes, with what each computes; `run` is called by both sides."""

import shadesmith as ti

BASE = 3
pair = ti.types.struct(a=ti.f32, v=ti.types.vector(2, ti.i32))
pack = ti.types.argpack(x=ti.types.ndarray(ti.i32, 1), n=ti.i32)


@ti.dataclass
class Ball:
    position: ti.math.vec2
    mass: ti.f32

    @ti.func
    def momentum(self, speed):
        return self.mass * speed


@ti.func
def square(x):
    return x * x


@ti.pyfunc
def cube(x):
    return x * x * x


@ti.real_func
def fib(n: ti.i32) -> ti.i32:
    return n if n < 2 else fib(n - 1) + fib(n - 2)


@ti.kernel
def number(n: ti.i32) -> ti.i32:
    return n + 1


@ti.kernel
def captured(n: ti.i32) -> ti.i32:
    return n + BASE


@ti.kernel
def calls(n: ti.i32) -> ti.i32:
    return square(n) + cube(n)


@ti.kernel
def recursive(n: ti.i32) -> ti.i32:
    return fib(n)


@ti.kernel
def array(x: ti.types.ndarray(ti.i32, 1)):
    for i in x:
        x[i] += i


@ti.kernel
def open_array(x: ti.types.ndarray()):
    for i in ti.grouped(x):
        x[i] = 5


@ti.kernel
def vectors(x: ti.types.ndarray(ti.types.vector(3, ti.f32), 1)) -> ti.f32:
    s = 0.0
    for i in x:
        s += x[i].sum()
    return s


@ti.kernel
def template(x: ti.template()):
    for i in x:
        x[i] += 2


@ti.kernel
def struct(p: pair) -> ti.f32:
    return p.a + p.v[1]


@ti.kernel
def dataclass(b: Ball) -> ti.f32:
    return b.momentum(2.0)


@ti.kernel
def packed(p: pack):
    for i in p.x:
        p.x[i] = p.n


@ti.kernel
def matrix(m: ti.math.mat2) -> ti.f32:
    return m.trace()


@ti.kernel
def several(n: ti.i32) -> (ti.i32, ti.f32):
    return n, n * 0.5


@ti.kernel(fast_math=False)
def exact(x: ti.f32) -> ti.f32:
    return x / 3


@ti.kernel
def wide(n: ti.i64) -> ti.i64:
    return n + ti.i64(1099511627776)


@ti.kernel
def static_loop() -> ti.i32:
    s = 0
    for i in ti.static(range(BASE)):
        s += i
    return s


@ti.kernel
def serial(x: ti.types.ndarray(ti.i32, 1)) -> ti.i32:
    ti.loop_config(serialize=True)
    for i in range(3):
        x[0] += i
    return x[0]


@ti.kernel
def draws() -> ti.i32:
    return ti.random(ti.i32) * 0


@ti.kernel
def loss(x: ti.types.ndarray(ti.f32, 1, needs_grad=True), y: ti.types.ndarray(ti.f32, 1, needs_grad=True)):
    for i in x:
        y[0] += x[i] * x[i]


@ti.data_oriented
class Counter:
    def __init__(self, step):
        self.step = step

    @ti.kernel
    def add(self, n: ti.i32) -> ti.i32:
        return n + self.step


def ints(*values):
    """Return an ndarray of i32."""
    x = ti.ndarray(ti.i32, len(values))
    for i, value in enumerate(values):
        x[i] = value
    return x


def after(kernel, *args):
    """Return the first argument's elements after a launch."""
    kernel(*args)
    return args[0].to_numpy().tolist()


def filled(value):
    """Return a field of two elements."""
    x = ti.field(ti.i32, 2)
    x.fill(value)
    return x


def gradient(kernel):
    """Return the gradient of the sum of squares of (1, 2)."""
    x, y = ti.ndarray(ti.f32, 2, needs_grad=True), ti.ndarray(ti.f32, 1, needs_grad=True)
    x[0], x[1], y.grad[0] = 1, 2, 1
    kernel(x, y)
    return x.grad.to_numpy().tolist()


def pack_filled(kernel):
    """Return the array of a pack after a launch."""
    x = ints(1, 2)
    kernel(pack(x=x, n=9))
    return x.to_numpy().tolist()


KINDS = {
    "number": (number, lambda k: k(4), 5),
    "captured": (captured, lambda k: k(4), 7),
    "calls": (calls, lambda k: k(2), 12),
    "recursive": (recursive, lambda k: k(10), 55),
    "array": (array, lambda k: after(k, ints(5, 5)), [5, 6]),
    "open array": (open_array, lambda k: after(k, ints(1, 2)), [5, 5]),
    "vectors": (vectors, lambda k: k(ti.Vector.ndarray(3, ti.f32, 2)), 0.0),
    "template": (template, lambda k: after(k, filled(1)), [3, 3]),
    "struct": (struct, lambda k: k(pair(a=1.5, v=[1, 2])), 3.5),
    "dataclass": (dataclass, lambda k: k(Ball(position=[1, 2], mass=4)), 8.0),
    "packed": (packed, pack_filled, [9, 9]),
    "matrix": (matrix, lambda k: k(ti.Matrix([[1.0, 2.0], [3.0, 4.0]])), 5.0),
    "several": (several, lambda k: tuple(k(3)), (3, 1.5)),
    "exact": (exact, lambda k: k(3.0), 1.0),
    "wide": (wide, lambda k: k(1), (1 << 40) + 1),
    "static loop": (static_loop, lambda k: k(), 3),
    "serial": (serial, lambda k: k(ints(1)), 4),
    "draws": (draws, lambda k: k(), 0),
    "gradient": (loss.grad, gradient, [2.0, 4.0]),
    "method": (Counter(5).add, lambda k: k(2), 7),
}
"""A kernel of each kind, a function that calls it, and what that returns."""


def run(name, kernel):
    """Return what a kernel of a kind computes."""
    return KINDS[name][1](kernel)


def run_all(arch, kernels):
    """Start a session, and return what each kernel computes."""
    ti.init(arch=getattr(ti, arch), log_level=ti.WARN)
    return {name: run(name, kernel) for name, kernel in kernels.items()}


def run_here(kernels):
    """Return what each kernel computes in the session that there is: that of the parent after a fork."""
    return {name: run(name, kernel) for name, kernel in kernels.items()}
