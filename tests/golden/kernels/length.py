import shadesmith as ti


def length(x: ti.f32, y: ti.f32) -> ti.f32:
    return ti.sqrt(x * x + y * y)


kernel, arguments = length, (ti.f32, ti.f32)
