import shadesmith as ti
from shadesmith.transpiler.ir.types import Tensor


def names(ψ: ti.types.ndarray(dtype=ti.math.vec3, ndim=1), float: ti.types.ndarray(dtype=ti.i32, ndim=1), step: ti.f32):
    for i in ψ:
        λ = ψ[i] * step
        length = λ.norm()
        distance = step - length
        if distance > 0.0:
            float[i] = ti.atomic_add(float[0], 1)
        ψ[i] += λ.zyx / max(distance, 1e-9)


kernel, arguments = names, ((Tensor((3,), ti.f32), 1), (ti.i32, 1), ti.f32)
