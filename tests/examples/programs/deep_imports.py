from taichi.lang.kernel_impl import kernel, func, data_oriented, pyfunc, real_func
from taichi.lang.impl import field, static, grouped, ndarray, one, zero
from taichi.lang.matrix import Matrix, Vector, MatrixField
from taichi.lang.struct import Struct, StructType
from taichi.lang.misc import init, cpu, loop_config, reset, i, j, ij
from taichi.lang.ops import atomic_add, atomic_max, bit_cast, cast, sqrt, floor, select, max, min, raw_mod, floordiv
from taichi.lang.snode import append, length, activate, deactivate, is_active, rescale_index, get_addr
from taichi.types.annotations import template
from taichi.types import ndarray as nd_t, vector, matrix, f32, i32, f64, u8, struct
from taichi.types.primitive_types import i64, u32, all_types, integer_types
from taichi.lang.util import to_numpy_type, to_taichi_type, cook_dtype, warning
from taichi.lang.exception import TaichiCompilationError, TaichiTypeError, TaichiRuntimeError
from taichi.lang.enums import Layout, AutodiffMode
from taichi.lang._ndrange import ndrange
from taichi.lang.simt import block, warp
from taichi.lang.mesh import Mesh as M_
from taichi._lib import core as _core
from taichi.lang import impl, ops
import taichi.math as tm
from taichi.math import vec3, mat2, dot as mdot
from taichi._snode.fields_builder import FieldsBuilder
import numpy as np

init(arch=cpu)
v3 = vector(3, f32)
x = Vector.field(3, dtype=f32, shape=(4, 5), layout=Layout.SOA)
s = Struct.field({"pos": v3, "id": i32}, shape=7)

@func
def norm2(a):
    return mdot(a, a)

@real_func
def fib(n: i32) -> i32:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a

@data_oriented
class Sim:
    def __init__(self, n):
        self.n = n
        self.acc = field(f64, shape=())

    @kernel
    def go(self, k: i32) -> f64:
        for q in range(self.n):
            self.acc[None] += norm2(vec3(q, k, 1)) * 0.5
        return self.acc[None]

@kernel
def fill():
    for I in grouped(x):
        x[I] = v3(I[0], I[1], I[0] * I[1])
    for q in s:
        s[q].pos = v3(q) * 2
        s[q].id = fib(q + 3)

fill()
print(x.to_numpy().sum(axis=(0, 1)), x.shape, x.n, x.m)
print(s.id.to_numpy(), s.pos.to_numpy()[3])
print(Sim(6).go(2), Sim(3).go(5))
print(to_numpy_type(f32), to_taichi_type(np.dtype("int64")), cook_dtype(float))
fb = FieldsBuilder()
y = field(i32)
fb.dense(i, 3).place(y)
t = fb.finalize()

@kernel
def gg() -> i32:
    for q in y:
        y[q] = raw_mod(-7 + q, 3) * 10 + floordiv(-7 + q, 3)
    return bit_cast(ops.cast(1.5, f32), i32)

print(gg(), y.to_numpy())
t.destroy()
print(issubclass(TaichiTypeError, TaichiCompilationError), all_types.__class__.__name__, len(integer_types))
