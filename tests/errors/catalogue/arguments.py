"""Arguments and returns (22)."""

from __future__ import annotations

from .case import ARGUMENT, SYNTAX, TYPE, Case, kernel, refused, refused_call, supported

SCALARS = "@ti.kernel\ndef k(first: ti.i32, second: ti.f32):\n    pass\n"
GRID = "@ti.kernel\ndef k(grid: ti.types.ndarray(dtype=ti.f32, ndim=2)):\n    for I in ti.grouped(grid):\n        grid[I] = 1.0\n"
VECTORS = (
    "@ti.kernel\ndef k(pos: ti.types.ndarray(dtype=ti.math.vec3, ndim=1)):\n    for i in pos:\n        pos[i].x = 1.0\n"
)
READ_ONLY = "x = np.zeros((2, 2), np.float32)\nx.flags.writeable = False\n"

ON_CUDA = '''class Tensor:
    """A torch tensor on a GPU, as its protocol shows it."""
    __cuda_array_interface__ = {"shape": (2, 2), "typestr": "<f4", "data": (4096, False), "strides": None, "version": 3}
'''
NEEDS_GRAD = '''class Tensor:
    """A torch tensor that requires grad: torch refuses both protocols."""
    requires_grad = True
    @property
    def __cuda_array_interface__(self):
        raise RuntimeError("Can't get __cuda_array_interface__ on Variable that requires grad.")
    def __dlpack__(self):
        raise BufferError("Can't export tensors that require gradient.")
'''
TEMPLATE = "@ti.kernel\ndef k(options: ti.template()) -> ti.i32:\n    return options['n'] + 1\n"
RETURN_IN_IF = "@ti.func\ndef clip(a):\n    if a > 2:\n        return 2\n    return a\n"

CASES: list[Case] = [
    refused("arguments/missing_annotation", SYNTAX, "`x` has no annotation", "write a type", "@ti.kernel\ndef k(«x):\n    pass\nk(1)", "missing annotation"),
    refused("arguments/unknown_annotation", SYNTAX, "`x` is a `str`", "write a type", "@ti.kernel\ndef k(«x: str):\n    pass\nk('a')", "unknown annotation"),
    refused_call("arguments/wrong_count", SYNTAX, "takes 2, found 3", "k(first, second)", SCALARS + "«k(1, 2, 3)", "wrong count"),
    refused_call("arguments/unknown_keyword", SYNTAX, "Unexpected argument `secnd` of kernel `k`, did you mean `second`?", "k(first, second)", SCALARS + "«k(1, secnd=2)", "keyword unknown"),
    refused_call("arguments/duplicate", SYNTAX, "Multiple values for argument `first`", "k(first, second)", SCALARS + "«k(1, first=2)", "duplicate"),
    refused_call("arguments/wrong_dtype", ARGUMENT, "(`grid` of kernel `k`) needs dtype=f32, found dtype=f64", "x.astype(numpy.float32)", GRID + "«k(np.zeros((2, 2)))", "wrong dtype of ndarray"),
    refused_call("arguments/wrong_ndim", ARGUMENT, "needs ndim=2, found ndim=1", "reshape", GRID + "«k(np.zeros(2, np.float32))", "wrong ndim"),
    refused_call("arguments/wrong_element_shape", ARGUMENT, "(`pos` of kernel `k`) needs elements vector(3, f32), found f32 of shape (4, 2)", "(..., 3)", VECTORS + "«k(np.zeros((4, 2), np.float32))", "wrong element shape"),
    supported("arguments/non_contiguous", 8.0, GRID + "x = np.zeros((4, 4), np.float32)\nk(x[:, ::2])\nresult = float(x.sum())", "non-contiguous numpy"),
    refused_call("arguments/big_endian", ARGUMENT, "bytes in the other order", "newbyteorder", GRID + "«k(np.zeros((2, 2), '>f4'))", "big-endian numpy"),
    refused_call("arguments/objects", ARGUMENT, "dtype object", "astype", GRID + "«k(np.zeros((2, 2), object))", "object array"),
    refused_call("arguments/read_only", ARGUMENT, "read-only, and the kernel writes it", "x.copy()", GRID + READ_ONLY + "«k(x)", "read-only numpy to a written argument"),
    refused_call("arguments/tensor_on_another_device", ARGUMENT, "memory of a CUDA device", "ti.init(arch=ti.cuda)", ON_CUDA + GRID + "«k(Tensor())", "torch tensor on another device"),
    refused_call("arguments/tensor_that_requires_grad", ARGUMENT, "requires grad", "tensor.detach()", NEEDS_GRAD + GRID + "«k(Tensor())", "torch requires-grad in place"),
    supported("arguments/unhashable_template", 8, TEMPLATE + "result = k({'n': 3}) + k({'n': 3})", "template with unhashable"),
    supported("arguments/default_value", 5, "@ti.kernel\ndef k(n: ti.i32 = 4) -> ti.i32:\n    return n + 1\nresult = k()", "default value in kernel"),
    refused("arguments/starred", SYNTAX, "variable positional parameters (i.e., *x)", "name each parameter", "@ti.kernel\ndef k(*«x):\n    pass\nk(1)", "*args"),
    refused("arguments/double_starred", SYNTAX, "variable keyword parameters (i.e., **x)", "name each parameter", "@ti.kernel\ndef k(**«x):\n    pass\nk(x=1)", "**kwargs"),
    refused("arguments/return_without_annotation", SYNTAX, "must be annotated with a return type", "-> ti.f32", "@ti.kernel\ndef k():\n    «return 1\nk()", "return without annotation"),
    refused("arguments/return_type_mismatch", TYPE, "The return type is `i32`, found `vector(2, i32)`", "change the annotation", kernel("return «ti.Vector([1, 2])", returns="ti.i32"), "return type mismatch"),
    supported("arguments/return_in_runtime_if", 3, kernel("return clip(n) + clip(1)", head=RETURN_IN_IF, signature="n: ti.i32", returns="ti.i32"), "return in non-static if of a func"),
    supported("arguments/several_returns", 30, kernel("if n > 2:", "    return n * 10", "return 0", signature="n: ti.i32", returns="ti.i32"), "several returns in kernel"),
]  # fmt: skip
