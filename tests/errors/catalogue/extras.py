"""What was found beside the plan's items: places, methods, calls of functions, names of later issues."""

from __future__ import annotations

from .case import (
    COMPILATION,
    FIELD,
    FUNC,
    INDEX,
    NAME,
    RUNTIME,
    SYNTAX,
    TYPE,
    UNSUPPORTED,
    Case,
    kernel,
    refused,
    refused_call,
    supported,
    warned,
)


def bad(
    name: str, error: str, message: str, *body: str, head: str = "", signature: str = "", returns: str = "None"
) -> Case:
    """A mistake in the body of a kernel; any remedy will do."""
    return refused(name, error, message, "", kernel(*body, head=head, signature=signature, returns=returns))


STATEMENTS = [
    bad("further/import_from", SYNTAX, "import", "«from math import sin"),
    bad("further/else_on_for_in_func", SYNTAX, "'else' clause", "g()", head="@ti.func\ndef g():\n    «for i in range(3):\n        pass\n    else:\n        pass\n"),
]  # fmt: skip

STRUCT = "S = ti.types.struct(a=ti.i32, v=ti.types.vector(3, ti.f32))\nf = S.field(shape=4)\n"

STRUCTS = [
    bad("further/struct_equality", TYPE, "`==` takes numbers", "s = S(1)", "x = «s == s", head=STRUCT),
    bad("further/struct_sum", TYPE, "`+` takes numbers", "s = S(1)", "x = «s + s", head=STRUCT),
    bad("further/struct_in_condition", TYPE, "`if` conditions must be a scalar", "s = S(1)", "if «s:", "    pass", head=STRUCT),
    bad("further/struct_as_number", TYPE, "used where a number", "s = S(1)", "x = «ti.cast(s, ti.f32)", head=STRUCT),
    bad("further/struct_as_index", TYPE, "indices must be integers", "s = S(1)", "x = f[«s]", head=STRUCT),
    bad("further/struct_augmented", TYPE, "is a struct; operators", "«f[0] += S(1)", head=STRUCT),
    bad("further/struct_and_number", TYPE, "values of one struct", "x = «S(1) if n > 0 else 3", head=STRUCT, signature="n: ti.i32"),
    bad("further/struct_assigned_number", TYPE, "Only dict or Struct", "s = S(1)", "«s = 3", head=STRUCT),
    bad("further/struct_of_other_members", TYPE, "Member mismatch", "s = S(1)", "«s = ti.Struct(z=1)", head=STRUCT),
    bad("further/struct_member_read", NAME, "has no member `vv`", "x = «f[0].vv", head=STRUCT),
    bad("further/struct_member_written", NAME, "has no member `z`", "s = S(1)", "«s.z = 3", head=STRUCT),
    bad("further/struct_keyword", NAME, "has no member `q`", "x = «S(q=1)", head=STRUCT),
    bad("further/struct_too_many", SYNTAX, "`S` has 2 members, found 3", "x = «S(1, 2, 3)", head=STRUCT),
    bad("further/struct_by_number", TYPE, "subscripted by the name", "x = «S(1)[n]", head=STRUCT, signature="n: ti.i32"),
    bad("further/struct_returned", TYPE, "The return type is `f32`, found `S`", "return «S(1)", head=STRUCT, returns="ti.f32"),
]  # fmt: skip

TYPES = [
    bad("further/and_of_floats", TYPE, "integers", "y = «x & 1", signature="x: ti.f32"),
    bad("further/matmul_shapes", TYPE, "@", "a = ti.Matrix([[x, 2.0], [3.0, 4.0]])", "b = «a @ ti.Vector([x, x, x])", signature="x: ti.f32"),
    bad("further/invert_float", TYPE, "integer", "a = «~x", signature="x: ti.f32"),
    bad("further/cross_of_two", TYPE, "cross", "a = ti.Vector([x, x, x, x])", "b = «a.cross(a)", signature="x: ti.f32"),
    bad("further/unpack_count", TYPE, "2", "«a, b = 1, 2, 3"),
]  # fmt: skip

INDEXING = [
    bad("further/vector_index_out_of_range", INDEX, "range", "a = ti.Vector([x, x])", "y = «a[2]", signature="x: ti.f32"),
    bad("further/matrix_index_count", INDEX, "2", "a = ti.Matrix([[x, x], [x, x]])", "y = «a[0, 0, 0]", signature="x: ti.f32"),
    bad("further/list_by_runtime_index", TYPE, "indexed at compile time", "l = [1, 2, 3]", "y = «l[n]", signature="n: ti.i32"),
    bad("further/ndarray_index_count", INDEX, "2", "y = «a[0]", signature="a: ti.types.ndarray()"),
]  # fmt: skip

LOOPS = [
    bad("further/runtime_step", TYPE, "step", "for i in range(0, 3, «n):", "    pass", signature="n: ti.i32"),
    bad("further/break_out_of_ndrange", SYNTAX, "Cannot break in the outermost loop", "for i, j in ti.ndrange(3, 3):", "    «break"),
    bad("further/range_of_literal", TYPE, "2.7", "for i in range(«2.7):", "    pass"),
    bad("further/loop_over_scalar", TYPE, "loop", "for i in «x:", "    pass", signature="x: ti.f32"),
]  # fmt: skip

FUNCTIONS = [
    bad("further/error_in_function", NAME, 'Name "y" is not defined', "x = g(1)", head="@ti.func\ndef g(n):\n    return n + «y\n"),
    bad("further/no_value_returned", TYPE, "return", "x = «g(1)", head="@ti.func\ndef g(n):\n    pass\n"),
    bad("further/static_assert", "TaichiCompilationError", "no", "«ti.static_assert(1 > 2, 'no')"),
]  # fmt: skip

DEFINITION = [
    refused("further/unresolved_annotation", SYNTAX, "annotation", "", "@ti.kernel\ndef k(«x: 'Nope'):\n    pass\nk(1)"),
    refused("further/unknown_return_type", SYNTAX, "return annotation", "", "@ti.kernel\ndef k() -> «str:\n    return 1\nk()"),
    bad("further/return_scalar_for_vector", TYPE, "return type", "return «1", returns="ti.math.vec2"),
    bad("further/return_of_wrong_length", TYPE, "vec", "return «ti.Vector([1.0, 2.0])", returns="ti.math.vec3"),
    bad("further/return_count", SYNTAX, "2 values", "«return 1, 2, 3", returns="(ti.i32, ti.i32)"),
    bad("further/plain_return", SYNTAX, "must return a value", "«return", returns="ti.i32"),
    refused("further/no_return", SYNTAX, "return statement", "", "@ti.kernel\n«def k() -> ti.i32:\n    x = 1\nk()"),
]  # fmt: skip

PLACES = [
    refused("further/tabs", NAME, '"y"', "", "@ti.kernel\ndef k():\n\tif 1:\n\t\tx =\t«y\nk()"),
    bad("further/letters_beyond_ascii", NAME, '"y"', "größe = 1", "ß = größe + «y"),
    bad("further/letters_of_three_bytes", NAME, '"y"', "print('日本', «y)"),
    bad("further/continued_line", NAME, '"y"', "x = 1 + \\", "    «y"),
    bad("further/open_parenthesis", NAME, '"y"', "x = (1 +", "     2 * (3 +", "  «y))"),
    refused("further/decorators_of_several_lines", NAME, '"y"', "", "def same(\n    f,\n):\n    return f\n@ti.kernel\n@same\ndef k():\n    x = «y\nk()"),
    refused("further/signature_of_several_lines", NAME, '"y"', "", "@ti.kernel\ndef k(\n    a: ti.i32,  # first\n    b: ti.i32,\n) -> None:\n    x = «y\nk(1, 2)"),
    refused("further/method_in_class", NAME, '"y"', "", "@ti.data_oriented\nclass A:\n    @ti.kernel\n    def k(self):\n        x = self.n + «y\na = A()\na.n = 3\na.k()"),
    refused("further/method_misses_member", NAME, "`m`", "", "@ti.data_oriented\nclass A:\n    @ti.kernel\n    def k(self):\n        x = «self.m\nA().k()"),
    refused("further/function_three_deep", NAME, '"y"', "", "@ti.func\ndef f(a):\n    return a + «y\n@ti.func\ndef g(a):\n    return f(a) * 2\n@ti.kernel\ndef k():\n    x = g(1)\nk()"),
    refused("further/nested_in_function", NAME, '"y"', "", "def make():\n        c = 3\n        @ti.kernel\n        def k():\n            x = c + «y\n        return k\nmake()()"),
]  # fmt: skip

LATER = [
    bad("further/frexp_of_text", TYPE, "str", "x = «ti.frexp('a')"),
    bad("further/global_thread_idx", SYNTAX, "parallel loop", "x = «ti.global_thread_idx()"),
]  # fmt: skip

VALUE = FUNC + "g(a):\n    return a\n"

TREE = """f, g, h = ti.field(ti.f32), ti.field(ti.f32), ti.field(ti.f32)
block = ti.root.pointer(ti.ij, 4)
cells = block.dense(ti.ij, 2)
cells.place(f)
lists = ti.root.dense(ti.i, 4).dynamic(ti.j, 8)
lists.place(g, h)
"""

SPARSE = [
    bad("further/is_active_of_a_field", TYPE, "takes a node, found a field", "x = «ti.is_active(f, 0)", head=FIELD),
    bad("further/is_active_of_dense", TYPE, "found a dense node", "x = «ti.is_active(cells, [0, 0])", head=TREE),
    bad("further/is_active_of_a_list", TYPE, "found a dynamic node", "x = «ti.is_active(lists, [0])", head=TREE),
    bad("further/activate_a_field", TYPE, "found a field", "«ti.activate(f, [0, 0])", head=TREE),
    bad("further/activate_a_number", TYPE, "takes a node, found", "«ti.activate(3, [0, 0])", head=TREE),
    bad("further/activate_a_list", TYPE, "found a dynamic node", "«ti.activate(lists, [0])", head=TREE),
    bad("further/cell_of_one_index", INDEX, "`block` has 2 indices", "«ti.activate(block, 0)", head=TREE),
    bad("further/cell_of_three_indices", INDEX, "Indexed with 3", "«ti.deactivate(block, [0, 0, 0])", head=TREE),
    bad("further/cell_out_of_range", INDEX, "Index 4 of axis 1 of `block`", "«ti.activate(block, [0, 4])", head=TREE),
    bad("further/cell_by_float", TYPE, "integers", "«ti.activate(block, [x, 0])", head=TREE, signature="x: ti.f32"),
    bad("further/length_of_all_indices", INDEX, "Indexed with 2", "x = «ti.length(lists, [0, 0])", head=TREE),
    bad("further/append_too_few_values", TYPE, "each of the 2 fields", "«ti.append(lists, 0, 1.0)", head=TREE),
    bad("further/append_too_many_values", TYPE, "found 3", "«ti.append(lists, 0, [1.0, 2.0, 3.0])", head=TREE),
    bad("further/append_by_method_without_value", SYNTAX, "takes 1 argument", "«g[0].append()", head=TREE),
    bad("further/rescale_a_number", TYPE, "fields and nodes", "x = «ti.rescale_index(f, 3, [0, 0])", head=TREE),
]  # fmt: skip

UNSEEN = [
    bad("further/spread_of_a_number", TYPE, "**", "x = g(**«n)", head=VALUE, signature="n: ti.i32"),
    bad("further/starred_number", SYNTAX, "known", "x = g(«*n)", head=VALUE, signature="n: ti.i32"),
    bad("further/method_of_a_scalar", TYPE, "norm", "y = «x.norm()", signature="x: ti.f32"),
    bad("further/len_of_scalar", TYPE, "len", "y = «len(x)", signature="x: ti.f32"),
    bad("further/ragged_matrix", TYPE, "equal lengths", "a = «ti.Matrix([[x, x], [x]])", signature="x: ti.f32"),
    bad("further/empty_vector", TYPE, "at least one", "a = «ti.Vector([])"),
    bad("further/size_at_run_time", TYPE, "compile time", "a = «ti.Vector.zero(ti.f32, n)", signature="n: ti.i32"),
    bad("further/text_into_field", TYPE, "string", "f[0, 0] = «'a'", head=FIELD),
    bad("further/text_as_index", TYPE, "string", "y = f[«'a', 0]", head=FIELD),
    bad("further/vector_by_float", TYPE, "integers", "a = ti.Vector([x, x])", "y = a[«x]", signature="x: ti.f32"),
    bad("further/return_of_text", TYPE, "string", "return «'a'", returns="ti.i32"),
    bad("further/return_of_array", TYPE, "array", "return «a", signature="a: ti.types.ndarray()", returns="ti.f32"),
    bad("further/member_of_python_object", TYPE, "cannot be assigned", "«t.m = n", head="class T: pass\nt = T()\n", signature="n: ti.i32"),
    bad("further/member_of_module", TYPE, "cannot be assigned", "«ti.foo = 1"),
    bad("further/target_is_an_element", SYNTAX, "loop target", "for «f[0, 0] in range(3):", "    pass", head=FIELD),
    bad("further/two_targets_of_range", SYNTAX, "1 indices", "for «i, j in range(3):", "    pass"),
    bad("further/enumerate_at_run_time", SYNTAX, "known", "for i, j in «enumerate(f):", "    pass", head=FIELD),
    bad("further/static_of_a_number", SYNTAX, "loop over", "for i in «ti.static(3):", "    pass"),
    bad("further/block_dim_negative", TYPE, "block_dim", "«ti.loop_config(block_dim=-4)", "for i in range(3):", "    pass"),
    bad("further/loop_config_unknown", SYNTAX, "block", "«ti.loop_config(block=3)", "for i in range(3):", "    pass"),
    bad("further/keyword_of_sin", SYNTAX, "no argument", "x = «ti.sin(a=3.0)"),
    bad("further/print_to_file", SYNTAX, "file", "print(1, file=«3)"),
    bad("further/shapes_of_returns", TYPE, "one shape", "x = «g(n)", head=FUNC + "g(n):\n    if n > 1:\n        return ti.Vector([1, 2])\n    return 1\n", signature="n: ti.i32"),
    refused("further/two_deep_with_tabs", NAME, "ошибка", "", "@ti.func\ndef f(ä):\n\tß = ä *\\\n\t\t«ошибка\n\treturn ß\n@ti.func\ndef g(a):\n\treturn f(\n\t\ta)\n@ti.kernel\ndef k():\n\tx = g(1)\nk()"),
    refused("further/methods_two_deep", NAME, '"y"', "", "@ti.data_oriented\nclass A:\n    @ti.func\n    def f(self, a):\n        return a + «y\n    @ti.func\n    def g(self, a):\n        return self.f(a)\n    @ti.kernel\n    def k(self):\n        x = self.g(1)\nA().k()"),
    refused("further/chain_too_deep", SYNTAX, "nest more than", "", "@ti.func\ndef f(a):\n    return a\n" + "".join(f"@ti.func\ndef f{i}(a):\n    return {'«' * (i == 21)}{'f' if i == 0 else f'f{i - 1}'}(a)\n" for i in range(120)) + "@ti.kernel\ndef k():\n    x = f119(1)\nk()"),
    bad("further/init_in_kernel", SYNTAX, "cannot be called in a kernel", "«ti.init()"),
    bad("further/field_made_in_kernel", SYNTAX, "cannot be called in a kernel", "x = «ti.field(ti.f32, 3)"),
    bad("further/sync_in_kernel", SYNTAX, "cannot be called in a kernel", "«ti.sync()"),
]  # fmt: skip

SCOPE = [
    refused_call("further/index_in_python", INDEX, "lies outside", "from 0 to its extent - 1", FIELD + "«f[9, 9]"),
    refused_call("further/index_count_in_python", INDEX, "takes 2 indices, and 1 were given", "one index for each axis", FIELD + "«f[1]"),
    refused_call("further/unknown_option", "KeyError", "unrolling_limitt", "did you mean `unrolling_limit`", "«ti.init(unrolling_limitt=3)"),
    refused_call("further/shape_of_text", RUNTIME, "is not a shape for a field", "tuple of integers", "«ti.field(ti.f32, 'ab')"),
    refused_call("further/kernel_above_classmethod", SYNTAX, "ti.kernel decorates functions", "below `@classmethod`", "«ti.kernel(classmethod(print))"),
    refused("further/atomic_of_truth_values", UNSUPPORTED, "`atomic_add` of `u1`", "i32", kernel("for i in range(9):", "    «b[0] += True", head="b = ti.field(ti.u1, 4)\n")),
    refused("further/lambda_as_function", TYPE, "takes 1, found 2", "call it as", kernel("x = «g(1, 2)", head="g = ti.func(lambda a: a)\n")),
    refused("further/huge_vector", TYPE, "at most 65,536 numbers; this one has 4,194,304", "use a field or an ndarray", kernel("x = «ti.Vector.zero(ti.f32, 1 << 22)")),
    refused("further/huge_identity", TYPE, "at most 65,536 numbers; this one has 9,000,000", "use a field or an ndarray", kernel("x = «ti.Matrix.identity(ti.f32, 3000)")),
    refused("further/huge_unit", TYPE, "at most 65,536 numbers; this one has 4,194,304", "use a field or an ndarray", kernel("x = «ti.Vector.unit(1 << 22, 1)")),
    refused("further/huge_list", TYPE, "at most 65,536 numbers; this one has 100,000", "use a field or an ndarray", kernel("x = «ti.Vector([0.5] * 100000)")),
    refused("further/huge_local_list", TYPE, "at most 65,536 numbers; this one has 100,000", "use a field or an ndarray", kernel("«x = [0.5] * 100000")),
    refused("further/huge_type", TYPE, "at most 65,536 numbers; this one has 4,194,304", "use a field or an ndarray", kernel("x = «V(0.5)", head="V = ti.types.vector(1 << 22, ti.f32)\n")),
    refused("further/huge_member", TYPE, "at most 65,536 numbers; this one has 2,097,152", "use a field or an ndarray", kernel("x = «S(a=0.5)", head="S = ti.types.struct(a=ti.types.vector(1 << 21, ti.f32))\n")),
    refused("further/huge_element", TYPE, "at most 65,536 numbers; this one has 100,000", "use a field or an ndarray", kernel("«x = v[0]", head="v = ti.Vector.field(100000, ti.f32, 1)\n")),
    refused("further/huge_static_range", COMPILATION, "more than 65,536 items", "leave out `ti.static`", kernel("for i in «ti.static(range(1 << 40)):", "    f[0, 0] += i", head=FIELD)),
    refused("further/endless_iteration", COMPILATION, "more than 65,536 items", "leave out `ti.static`", kernel("for i in «ti.static(itertools.count()):", "    f[0, 0] += i", head="import itertools\n" + FIELD)),
    refused("further/huge_static_ndrange", COMPILATION, "more than 65,536 items", "leave out `ti.static`", kernel("for i, j in «ti.static(ti.ndrange(9999, 9999)):", "    f[0, 0] += i", head=FIELD)),
    refused("further/huge_comprehension", COMPILATION, "more than 65,536 items", "leave out `ti.static`", kernel("x = [0.5 for i in «range(1 << 22)]")),
    refused("further/await_in_function", SYNTAX, "`g` runs on the device and cannot wait", "plain `def`", kernel("x = g(1)", head="@ti.func\nasync def g(a):\n    return «await a\n")),
    refused("further/unknown_name_of_ours", NAME, '"sqrt" is not defined', "write `ti.sqrt`", kernel("x = «sqrt(2.0)")),
    refused("further/misspelt_builtin", NAME, '"rnage" is not defined', "did you mean `range`", kernel("for i in «rnage(3):", "    pass")),
    warned("further/narrowing_to_f32", "may lose precision: f32 <- f64", "ti.cast(value, ti.f32)", kernel("«f[0, 0] = y", "return f[0, 0]", head=FIELD, signature="y: ti.f64", returns="ti.f32"), 1.0),
    warned("further/narrowing_atomic", "Atomic add may lose precision: i32 <- f32", "ti.cast(value, ti.i32)", kernel("for i in range(4):", "    «c[None] += x * 0.5", head="c = ti.field(ti.i32, ())\n", signature="x: ti.f32")),
    warned("further/wrapped_literal", "300 does not fit `u8` and wraps to 44", "write `44`", kernel("«b[0] = 300", "return b[0]", head="b = ti.field(ti.u8, 2)\n", returns="ti.i32"), 44),
    warned("further/infinite_store", "may lose precision: i32 <- f32", "ti.cast", kernel("a = 1", "«a = ti.math.inf", head="")),
    supported("further/constants_that_fit", 7, kernel("b[0] = 3", "a = 1", "a = 4.0", "return b[0] + a", head="b = ti.field(ti.u8, 2)\n", returns="ti.i32")),
    supported("further/changed_copy_that_is_read", 6, kernel("return g(n)", head="@ti.func\ndef g(a):\n    while a < 6:\n        a += 1\n    return a\n", signature="n: ti.i32", returns="ti.i32")),
    supported("further/loop_ended_by_return", 5, kernel("i = n", "while True:", "    i += 1", "    if i > 4:", "        return i", signature="n: ti.i32", returns="ti.i32")),
    supported("further/list_grows_in_static", 1, "rows = []\n@ti.kernel\ndef k(n: ti.i32):\n    ti.static(rows.append(7))\nk(3)\nresult = len(rows)"),
    supported("further/own_list_grows", 3, kernel("l = [n]", "l.append(4)", "return l[0]", signature="n: ti.i32", returns="ti.i32")),
]  # fmt: skip

CASES = [
    *SCOPE, *STRUCTS, *STATEMENTS, *TYPES, *INDEXING, *LOOPS, *FUNCTIONS, *DEFINITION, *PLACES, *LATER, *SPARSE, *UNSEEN,
]  # fmt: skip
