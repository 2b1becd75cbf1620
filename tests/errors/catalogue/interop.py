"""Arrays of other libraries, parts of ndarrays, gradients of arguments, older annotations."""

from __future__ import annotations

from .case import ARGUMENT, INDEX, TYPE, Case, refused, refused_call, supported

GRID = "@ti.kernel\ndef k(x: ti.types.ndarray(dtype=ti.f32, ndim=1)):\n    for i in x:\n        x[i] = 1.0\n"
READS = "@ti.kernel\ndef k(x: ti.types.ndarray(dtype=ti.f32, ndim=1)) -> ti.f32:\n    return x[0]\n"
GRADIENT = "@ti.kernel\ndef k(x: ti.types.ndarray()):\n    for i in x:\n        x.grad[i] = x[i]\n"
NEEDS = "@ti.kernel\ndef k(x: ti.types.ndarray(needs_grad=True)):\n    for i in x:\n        x[i] = 1.0\n"
VECTORS = "@ti.kernel\ndef k(x: ti.types.ndarray(element_dim=1)):\n    for i in x:\n        x[i] = x[i] + 1\n"
CLAMPED = "@ti.kernel\ndef k(x: ti.types.ndarray(dtype=ti.i32, ndim=1, boundary='clamp')) -> ti.i32:\n    return x[-5] + x[50]\n"
PART = "x = ti.ndarray(ti.f32, (4, 6))\n"

BROKEN = '''class Broken:
    """Claims to show its memory."""
    @property
    def __array_interface__(self):
        return {"shape": (3,), "typestr": "what", "data": (0, False), "version": 3}
'''
MASKED = """class Masked:
    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f4", "data": (4096, False), "version": 3, "mask": 1}
"""

CASES: list[Case] = [
    refused_call("interop/expanded", ARGUMENT, "is expanded: several elements share one address", "x.copy()", GRID + "«k(np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (4,), (0,)))"),
    refused_call("interop/number_of_numpy", ARGUMENT, "takes an array, and a float32 was given", "ti.ndarray(...)", GRID + "«k(np.float32(1))"),
    refused_call("interop/broken_protocol", ARGUMENT, "(`x` of kernel `k`) does not show its memory (TypeError", "numpy.array(x)", BROKEN + GRID + "«k(Broken())"),
    refused_call("interop/masked", ARGUMENT, "is a masked array", "two arrays", MASKED + GRID + "«k(Masked())"),
    refused_call("interop/read_only_part", ARGUMENT, "is read-only, and the kernel writes it", "x.copy()", GRID + "x = np.zeros(6, np.float32)\nx.flags.writeable = False\n«k(x[::2])"),
    supported("interop/read_only_part_read", 3.0, READS + "x = np.full(6, 3, np.float32)\nx.flags.writeable = False\nresult = k(x[::2])"),
    refused_call("interop/gradient_of_numpy", ARGUMENT, "argument `x` has no gradient, which the kernel uses", "needs_grad=True", GRADIENT + "«k(np.zeros(3, np.float32))"),
    refused_call("interop/gradient_missing", ARGUMENT, "(`x` of kernel `k`) needs an array with a gradient", "needs_grad=True", NEEDS + "«k(ti.ndarray(ti.f32, 3))"),
    refused("interop/gradient_of_integers", TYPE, "`x` has no gradient: its elements are i32", "floating-point", GRADIENT.replace("        x.grad[i]", "        «x.grad[i]") + "k(ti.ndarray(ti.i32, 3))"),
    refused_call("interop/elements_missing", ARGUMENT, "needs elements of shape vectors, found f32 of shape (3,)", "ti.Vector.ndarray", VECTORS + "«k(ti.ndarray(ti.f32, 3))"),
    supported("interop/constant_index_clamped", 50, CLAMPED + "result = k(np.array([10, 20, 40], np.int32))"),
    refused_call("interop/part_assigned", INDEX, "[1:, ::2] is a part of it", "`x[1:, ::2].fill(value)`", PART + "«x[1:, ::2] = 3"),
    refused_call("interop/part_outside", INDEX, "index 6 is out of bounds for axis 1 with size 6", "as in NumPy", PART + "«x[:, 6]"),
    refused_call("interop/part_of_a_field", INDEX, "is indexed by integers, and `slice(1, 3, None)` is a slice", "x.to_numpy()", "x = ti.field(ti.f32, 5)\n«x[1:3]"),
    refused_call("interop/member_of_structs", ARGUMENT, "is a member of one, with gaps between its elements", "pass the ndarray of structs", GRID + "x = ti.types.struct(a=ti.f32, b=ti.i32).ndarray(3)\n«k(x.a)"),
]  # fmt: skip
