"""Loads and stores of texels: one `imageLoad` and one `imageStore` of a vec4."""

import shadesmith as ti

bytes_1d = ti.types.rw_texture(num_dimensions=1, num_channels=4, channel_format=ti.u8, lod=0)


def kernel(in_ten: bytes_1d, out_ten: bytes_1d, nsize: ti.i32, addend: ti.i32):
    for i in ti.ndrange(nsize):
        in_num = in_ten.load(ti.Vector([i]))
        sum_num = in_num + ti.cast(addend, ti.f32) / 255.0
        out_ten.store(ti.Vector([i]), sum_num)


arguments = [bytes_1d, bytes_1d, ti.i32, ti.i32]
