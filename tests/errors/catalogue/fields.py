"""Fields, layout, indexing (26)."""

from __future__ import annotations

from .case import COMPILATION, FIELD, INDEX, NAME, RUNTIME, SYNTAX, TYPE, Case, kernel, refused, refused_call, supported

AFTER_LAUNCH = """f, g = ti.field(ti.i32, 4), ti.field(ti.i32)
@ti.kernel
def k(x: ti.template()):
    for i in x:
        x[i] = 2
k(f)
ti.root.dense(ti.i, 8).place(g)
k(g)
result = int(g.to_numpy().sum())"""
VECTOR = "a = ti.Vector([x, x])"
SPARSE = """f = ti.field(ti.i32)
ti.root.bitmasked(ti.i, 8).place(f)
f[3] = 1
f[5] = 2
@ti.kernel
def k() -> ti.i32:
    total = 0
    for i in f:
        total += f[i]
    return total
result = k()"""
POINTER_UNDER_DENSE = """f = ti.field(ti.i32)
block = ti.root.dense(ti.i, 4).pointer(ti.i, 8)
block.place(f)
f[3] = 1
f[30] = 2
result = block.num_dynamically_allocated"""

CASES: list[Case] = [
    refused("fields/too_few_indices", INDEX, "dim 2 accessed with indices of dim 1", "`f` takes 2 indices", kernel("x = «f[0]", head=FIELD), "too few indexes"),
    refused("fields/too_many_indices", INDEX, "dim 2 accessed with indices of dim 3", "`f` takes 2 indices", kernel("x = «f[0, 0, 0]", head=FIELD), "too many"),
    refused("fields/constant_index_out_of_range", INDEX, "Index 4 of axis 1 of `f` is out of range [0, 4)", "the last index is 3", kernel("x = «f[0, 4]", head=FIELD), "constant index out of range"),
    refused("fields/negative_constant_index", INDEX, "Index -1 of axis 0 of `f` is negative", "f.shape[0] - 1", kernel("y = «f[-1, 0]", head=FIELD), "negative constant index"),
    refused("fields/float_index", TYPE, "indices must be integers, however 'f32' is provided", "ti.cast(x, ti.i32)", kernel("y = f[0, «x * 2]", head=FIELD, signature="x: ti.f32"), "float index"),
    refused("fields/index_of_a_scalar", TYPE, "scalar of type `f32` cannot be subscripted", "leave out the brackets", kernel("y = «x[0]", signature="x: ti.f32"), "index a scalar field"),
    refused("fields/not_placed", COMPILATION, "is not placed: it has neither shape nor memory", "ti.field(dtype, shape=n)", kernel("x = «f[0]", head="f = ti.field(ti.f32)\n"), "field not placed"),
    refused_call("fields/placed_twice", RUNTIME, "has been placed already", "place a field once", "f = ti.field(ti.f32)\nti.root.dense(ti.i, 4).place(f)\n«ti.root.dense(ti.i, 8).place(f)", "placed twice"),
    refused_call("fields/shape_of_zero", RUNTIME, "should be positive, got 0 in dimension 1", "at least 1", "«ti.field(ti.f32, (4, 0))", "shape 0"),
    refused_call("fields/negative_shape", RUNTIME, "should be positive, got -3 in dimension 0", "at least 1", "«ti.field(ti.f32, -3)", "shape negative"),
    refused_call("fields/shape_over_32_bits", RUNTIME, "at most 2147483647 can be indexed", "several axes", "«ti.field(ti.i8, 2**31)", "shape over 2^31"),
    supported("fields/place_after_launch", 16, AFTER_LAUNCH, "place after launch"),
    supported("fields/sparse", 3, SPARSE, "sparse on a backend without it"),
    supported("fields/pointer_under_dense", 2, POINTER_UNDER_DENSE, "pointer under dense misuse"),
    supported("fields/deactivate_on_dense", 1.0, kernel("f[0, 0] = 1.0", "ti.deactivate(f.parent(), [0, 0])", "return f[0, 0]", head=FIELD, returns="ti.f32"), "`deactivate` on dense"),
    refused("fields/append_to_non_dynamic", TYPE, "ti.append only works on dynamic nodes, found a dense node", "`.dynamic(ti.j, n)`", kernel("«ti.append(f.parent(), 0, 1)", head=FIELD), "append to non-dynamic"),
    refused("fields/length_of_non_dynamic", TYPE, "ti.length only works on dynamic nodes, found a dense node", "`.dynamic(ti.j, n)`", kernel("x = «ti.length(f.parent(), 0)", head=FIELD), "length of non-dynamic"),
    refused("fields/iterated_with_wrong_rank", SYNTAX, "`f` has 2 axes, the loop has 3 indices", "ti.grouped(f)", kernel("for i, j, l in «f:", "    pass", head=FIELD), "SNode iterated with wrong rank"),
    refused_call("fields/offset_of_wrong_rank", SYNTAX, "The dimensionality of shape and offset must be the same (2 != 1)", "one offset for each axis", "«ti.field(ti.f32, (4, 4), offset=(1,))", "offset wrong rank"),
    refused("fields/matrix_index_out_of_range", INDEX, "Index 2 of axis 1 of `matrix(2, 2, f32)` is out of range [0, 2)", "the last index is 1", kernel("m = ti.Matrix([[x, x], [x, x]])", "y = «m[0, 2]", signature="x: ti.f32"), "matrix index out of range (constant)"),
    supported("fields/dynamic_matrix_index", 40, kernel("m = ti.Matrix([[10, 20], [30, 40]])", "return m[n - 2, n - 2]", signature="n: ti.i32", returns="ti.i32"), "dynamic matrix index where not allowed"),
    refused("fields/swizzle_with_unknown_letter", NAME, "vec2 only has attributes=('x', 'y'), got=('x', 'z')", "choose from `xy`", kernel(VECTOR, "y = «a.xz", signature="x: ti.f32"), "swizzle with unknown letter"),
    refused("fields/mixed_swizzle_sets", SYNTAX, "mixes sets of components", "letters of one set", kernel("a = ti.Vector([x, x, x])", "y = «a.xg", signature="x: ti.f32"), "mixed swizzle sets"),
    refused("fields/slice", SYNTAX, "slices are not supported", "in a loop", kernel("y = f[«0:2, 0]", head=FIELD), "slice unsupported"),
    refused("fields/component_assigned_twice", SYNTAX, "`.xx` names a component twice", "assign each component once", kernel("a = ti.Vector([x, x, x])", "«a.xx = ti.Vector([x, x])", signature="x: ti.f32"), "assignment to swizzle twice the same"),
    refused("fields/ellipsis", TYPE, "`...` is not an index", "one index for each axis", kernel("y = f[«..., 0]", head=FIELD), "ellipsis"),
]  # fmt: skip
