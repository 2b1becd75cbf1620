"""Programs of the kinds at which Taichi 1.7.4 gives wrong gradients, refuses or crashes, and what we do.

`RIGHT` are right: the gradient of a tape equals finite differences. `REFUSED` end with an error that names the line. The
kinds: `while` loops, trip counts of run time, overwritten values, aliasing views, early returns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.sampled(2)  # the rest in `make test-all`

N = 6

RIGHT = {
    # --- while loops
    "while: Newton's method until it converges": """
@ti.kernel
def kernel():
    for i in x:
        r = x[i]
        while abs(r * r * r - x[i] - y[i]) > 1e-13: r -= (r * r * r - x[i] - y[i]) / (3 * r * r)
        loss[None] += r * r
""",
    "while: two variables that exchange their values": """
@ti.kernel
def kernel():
    for i in x:
        a, b, k = x[i], y[i], 0
        while k < 9:
            a, b = b, a * b + 0.1 * a
            k += 1
        loss[None] += a - b * b
""",
    "while: never entered": """
@ti.kernel
def kernel():
    for i in x:
        a = x[i] * y[i]
        while a > 100.0: a = ti.sin(a)
        loss[None] += a * a
""",
    "while: left in the middle": """
@ti.kernel
def kernel():
    for i in x:
        a = x[i]
        while True:
            a *= 1.0 + y[i]
            if a > 4.0: break
            a += 0.3 * x[(i + 1) % 6] * a
        loss[None] += a * y[i]
""",
    "while: in a while": """
@ti.kernel
def kernel():
    for i in x:
        a, k = x[i], 0
        while k < 3:
            b, m = y[i], 0
            while m <= k:
                b = ti.sin(b) * a
                m += 1
            a += b * b
            k += 1
        loss[None] += a
""",
    "while: left at once by one of two conditions": """
@ti.kernel
def kernel():
    for i in x:
        a, k = x[i], 0
        while k < 50 and a < 3.0:
            if i == 2 or k == 40: break
            a = a * a * 0.5 + a + y[i] * 0.2
            k += 1
        loss[None] += a ** 2
""",
    # --- trip counts of run time
    "run time: the trip count is an element": """
@ti.kernel
def kernel():
    for i in x:
        a = x[i]
        for j in range(count[i]): a = ti.cos(a) * y[j % 6]
        loss[None] += a
""",
    "run time: a triangle of loops": """
@ti.kernel
def kernel(n: int):
    for i in x:
        a = 1.0
        for j in range(n):
            for k in range(j, n): a += x[k % 6] * a * y[j % 6] * 0.1
        loss[None] += a

def run(): kernel(6)
""",
    "run time: a trip count that depends on a real number": """
@ti.kernel
def kernel():
    for i in x:
        a = y[i]
        for j in range(int(x[i] * 8)): a = a * (0.8 + 0.1 * x[i])
        loss[None] += a
""",
    "run time: more iterations than slots": """
@ti.kernel
def kernel(n: int):
    for i in x:
        a = x[i]
        for j in range(n): a = ti.sin(a + 0.01 * y[i])
        loss[None] += a

def run(): kernel(777)
""",
    "run time: the state is a vector and a matrix": """
@ti.kernel
def kernel(n: int):
    for i in x:
        v = ti.Vector([x[i], y[i], 1.0])
        m = ti.Matrix.identity(ti.f64, 3)
        for j in range(n):
            v = m @ v * 0.5 + v.cross(ti.Vector([0.1, 0.2, x[i]]))
            m[j % 3, (j + 1) % 3] += v[j % 3] * 0.1
        loss[None] += v.norm_sqr() + m.determinant()

def run(): kernel(70)
""",
    "run time: no iteration": """
@ti.kernel
def kernel(n: int):
    for i in x:
        a = x[i] * y[i]
        for j in range(n): a = a * a
        loss[None] += a * a

def run(): kernel(0)
""",
    "run time: a negative range": """
@ti.kernel
def kernel(n: int):
    for i in x:
        a = x[i]
        for j in range(3, n): a = a * a * y[i]
        loss[None] += a * a

def run(): kernel(-2)
""",
    # --- overwritten values
    "overwritten: a recursion over elements": """
@ti.kernel
def kernel():
    for _ in range(1):
        for i in range(5): x[i + 1] = ti.sin(x[i]) * x[i + 1] + y[i] * x[i]
        loss[None] += x[5] ** 2
""",
    "overwritten: a sweep of Gauss and Seidel": """
@ti.kernel
def kernel():
    for _ in range(1):
        for sweep in range(3):
            for i in range(1, 5): x[i] = 0.25 * (x[i - 1] + x[i + 1] + y[i] * x[i] * x[i])
        for i in range(6): loss[None] += x[i] ** 2
""",
    "overwritten: two elements change places": """
@ti.kernel
def kernel():
    for i in range(3):
        a = x[2 * i]
        x[2 * i] = x[2 * i + 1] * y[i]
        x[2 * i + 1] = a * a
        loss[None] += x[2 * i] ** 2 * x[2 * i + 1]
""",
    "overwritten: a prefix sum backwards": """
@ti.kernel
def kernel():
    for _ in range(1):
        for k in range(5): x[4 - k] = x[4 - k] + x[5 - k] * x[4 - k]
        loss[None] += x[0] * y[0]
""",
    "overwritten: a running maximum": """
@ti.kernel
def kernel():
    for i in y:
        best = -10.0
        for j in range(6):
            if x[j] * y[i] > best: best = x[j] * y[i]
        loss[None] += best ** 3
""",
    "overwritten: an element of a local vector": """
@ti.kernel
def kernel():
    for i in x:
        v = ti.Vector([x[i], y[i], 0.5])
        for j in range(8): v[j % 3] = v[(j + 1) % 3] * v[j % 3] + 0.2 * v[(j + 2) % 3]
        loss[None] += v.sum()
""",
    "overwritten: by the next launch": """
@ti.kernel
def kernel(t: int):
    for i in x: x[i] = x[i] * x[i] + 0.1 * y[i] * t

@ti.kernel
def measure():
    for i in x: loss[None] += x[i] ** 2

def run():
    for t in range(4): kernel(t)
    measure()
""",
    "overwritten: two arrays in turns": """
@ti.kernel
def step(a: ti.template(), b: ti.template()):
    for i in a: b[i] = a[i] * a[(i + 1) % 6] + 0.3 * a[i]

@ti.kernel
def measure():
    for i in x: loss[None] += x[i] ** 2 + y[i]

def run():
    for t in range(3):
        step(x, y)
        step(y, x)
    measure()
""",
    "overwritten: added to, then read": """
@ti.kernel
def kernel():
    for i in x:
        x[i] += y[i] * y[i]
        a = x[i] * x[i]
        x[i] += a
        loss[None] += x[i] * a
""",
    "overwritten: in one branch only": """
@ti.kernel
def kernel():
    for i in x:
        a = x[i]
        if i % 2 == 0: x[i] = a * y[i]
        else: y[i] = a * a
        loss[None] += x[i] * y[i] * a
""",
    "overwritten: filled from Python": """
@ti.kernel
def kernel():
    for i in x: loss[None] += x[i] ** 2 * y[i]

def run():
    kernel()
    x.fill(0.3)
    kernel()
""",
    "overwritten: a matrix by its own product": """
@ti.kernel
def kernel():
    for i in x:
        m = ti.Matrix([[x[i], 0.2], [0.1, y[i]]])
        for j in range(4): m = m @ m + ti.Matrix([[0.1, x[i]], [0.0, 0.2]])
        loss[None] += m.trace()
""",
    # --- aliasing views
    "aliasing: one field as two template arguments": """
@ti.kernel
def kernel(a: ti.template(), b: ti.template()):
    for i in a: loss[None] += a[i] * b[(i + 1) % 6] ** 2

def run(): kernel(x, x)
""",
    "aliasing: a function gets one element by reference, twice": """
@ti.func
def mix(a, b): return a * b + ti.sin(b)

@ti.kernel
def kernel():
    for i in x: loss[None] += mix(x[i], x[i]) * mix(y[i], x[i])
""",
    "aliasing: a member and the whole": """
pairs = ti.Struct.field({"a": ti.f64, "b": ti.f64}, shape=6, needs_grad=True)

@ti.kernel
def kernel():
    for i in x: pairs[i].a = x[i] * y[i]
    for i in x: pairs[i].b = pairs[i].a * x[i]
    for i in x:
        p = pairs[i]
        loss[None] += p.a * p.b ** 2
""",
    # --- early returns
    "return: a function that returns early": """
@ti.func
def clipped(a, b):
    if a > 0.9: return 0.9 * b
    return a * b

@ti.kernel
def kernel():
    for i in x: loss[None] += clipped(x[i], y[i]) ** 2
""",
    "return: a function with declared types": """
@ti.real_func
def clipped(a: ti.f64, b: ti.f64) -> ti.f64:
    if a > 0.9: return 0.9 * b
    return a * b

@ti.kernel
def kernel():
    for i in x: loss[None] += clipped(x[i], y[i]) ** 2
""",
    "order: the place that an atomic addition returns is not needed": """
@ti.kernel
def kernel():
    for i in x:
        place = ti.atomic_add(count[0], 1)
        if place < 100: count[1] = place
        loss[None] += x[i] ** 2
""",
    "return: out of a loop of a function": """
@ti.func
def first_above(a, limit):
    r = a
    for j in range(20):
        r = r * 1.3 + 0.1 * r * r
        if r > limit: return r
    return -r

@ti.kernel
def kernel():
    for i in x: loss[None] += first_above(x[i], 3.0) * y[i]
""",
    "return: a kernel that returns before its loop": """
@ti.kernel
def kernel(n: int) -> int:
    if n == 3: return 1
    for i in x: loss[None] += x[i] ** 2 * y[i] * n
    return 2

def run():
    kernel(3)
    kernel(2)
""",
    "return: continue and break in a nest": """
@ti.kernel
def kernel():
    for i in x:
        a = x[i]
        for j in range(5):
            if j == 1: continue
            for k in range(4):
                if k > j: break
                if (j + k) % 3 == 2: continue
                a += ti.sin(a) * y[k] * 0.3
            if a > 6.0: break
            a *= 1.1
        loss[None] += a
""",
    "return: the parallel loop is left by continue": """
@ti.kernel
def kernel():
    for i in x:
        if i == 1 or i == 4: continue
        a = x[i]
        if y[i] > 0.8: continue
        loss[None] += a * a * y[i]
""",
    "return: operands that are not evaluated": """
@ti.kernel
def kernel():
    for i in x:
        a = ti.log(x[i]) if x[i] > 0.7 and ti.sqrt(x[i] - 0.7) > 0.1 else y[i] ** 2
        loss[None] += a * (x[i] if i > 2 else (y[i] if i == 0 else 1.0))
""",
}  # fmt: skip

REFUSED = {
    "overwritten: in a loop of run time": (r"line 5(.*\n)+.*trip count is known only at run time", """
@ti.kernel
def kernel(n: int):
    for _ in range(1):
        for i in range(1, n): x[i] = x[i] * x[i - 1] * x[i]

def run(): kernel(5)
"""),
    "overwritten: by another loop of the kernel": ("which line 5 overwrites in the same kernel", """
@ti.kernel
def kernel():
    for i in x: loss[None] += x[i] ** 2
    for i in x: x[i] = y[i]

def run(): kernel()
"""),
    "overwritten: without a tape": ("the kernel overwrites it", """
@ti.kernel
def kernel():
    for i in x: x[i] = x[i] * x[i]

def run(): kernel.grad()
"""),
    "aliasing: one ndarray as input and output": ("writes the same memory as `b`", """
@ti.kernel
def kernel(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for i in a: b[i] = a[i] * a[i]

def run():
    a = ti.ndarray(ti.f64, 6, needs_grad=True)
    kernel(a, a)
    kernel.grad(a, a)
"""),
    "aliasing: views of one ndarray": ("writes the same memory as `b`", """
@ti.kernel
def kernel(a: ti.types.ndarray(), b: ti.types.ndarray()):
    for i in a: b[i] = a[i] * a[i]

def run():
    a = ti.ndarray(ti.f64, 6, needs_grad=True)
    kernel.grad(a[0:4], a[2:6])
"""),
    "order: a variable that all iterations assign": ("All iterations of the parallel loop assign `last`", """
@ti.kernel
def kernel():
    last = 0.0
    for i in x: last = x[i] * 2
    loss[None] += last

def run(): kernel()
"""),
    "order: what an atomic addition returns": ("depends on the order of the iterations", """
@ti.kernel
def kernel():
    for i in x:
        old = ti.atomic_add(y[0], x[i])
        loss[None] += old * x[i]

def run(): kernel()
"""),
    "order: an index that an atomic addition returns": ("what an atomic operation of this line returned", """
@ti.kernel
def kernel():
    for i in x:
        place = ti.atomic_add(count[0], 1)
        loss[None] += x[i] * y[place]

def run(): kernel()
"""),
    "random numbers": ("random number", """
@ti.kernel
def kernel():
    for i in x: loss[None] += x[i] ** 2 * ti.random()

def run(): kernel()
"""),
    "a function that calls itself": ("a `ti.real_func` that calls itself", """
@ti.real_func
def power(a: ti.f64, n: int) -> ti.f64:
    r = 1.0
    if n > 0: r = a * power(a, n - 1)
    return r

@ti.kernel
def kernel():
    for i in x: loss[None] += power(x[i], 3)

def run(): kernel()
"""),
}  # fmt: skip


@pytest.fixture
def names(target: str) -> dict[str, Any]:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    found = {name: ti.field(ti.f64, N, needs_grad=True) for name in "xy"}
    count = ti.field(int, N)
    count.from_numpy(np.array([0, 1, 2, 5, 3, 4], np.int32))
    return {**found, "count": count, "loss": ti.field(ti.f64, (), needs_grad=True)}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("program", RIGHT)
def test_a_program_is_right(program: str, names: dict[str, Any], define_program: Any) -> None:
    space = define_program(RIGHT[program], **names)
    run, x, y, loss = space.get("run", space.get("kernel")), names["x"], names["y"], names["loss"]
    numbers = np.random.default_rng(3)
    start, direction = numbers.uniform(0.4, 1.2, (2, N)), numbers.uniform(-1, 1, (2, N))

    def outcome(step: float) -> float:
        x.from_numpy(start[0] + step * direction[0])
        y.from_numpy(start[1] + step * direction[1])
        loss[None] = 0
        run()
        return float(loss[None])

    expected = (8 * (outcome(1e-5) - outcome(-1e-5)) - (outcome(2e-5) - outcome(-2e-5))) / 12e-5
    outcome(0.0)
    after = x.to_numpy().tolist()
    x.from_numpy(start[0])
    y.from_numpy(start[1])
    with ti.ad.Tape(loss):
        run()
    found = float(np.sum(x.grad.to_numpy() * direction[0]) + np.sum(y.grad.to_numpy() * direction[1]))
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-8)
    assert x.to_numpy().tolist() == after


@pytest.mark.sampled(3)
@pytest.mark.parametrize("program", REFUSED)
def test_a_program_is_refused_by_name(program: str, names: dict[str, Any], define_program: Any) -> None:
    message, text = REFUSED[program]
    space = define_program(text, **names)
    with pytest.raises((ti.TaichiCompilationError, ti.TaichiRuntimeError), match=message), ti.ad.Tape(names["loss"]):
        space["run"]()
