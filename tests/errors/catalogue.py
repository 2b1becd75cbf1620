"""Invalid programs: each with the class of its error, the place (`«` stands before it) and a part of the message.

A program is the body of a module after `import shadesmith as ti` and `ti.init`; the last statement provokes the error.
The groups follow the catalogue of bad inputs in the project's reliability plan.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    error: str
    message: str
    source: str


def kernel(
    name: str, error: str, message: str, *body: str, head: str = "", signature: str = "", returns: str = "None"
) -> Case:
    """A program whose kernel `k` has this body; arguments of the call are zeros or arrays by `signature`."""
    calls = {"": "", "x: ti.f32": "1.0", "n: ti.i32": "3", "a: ti.types.ndarray()": "np.zeros((4, 4), np.float32)"}
    lines = [*(head.splitlines()), "@ti.kernel", f"def k({signature}) -> {returns}:", *("    " + line for line in body)]
    return Case(name, error, message, "\n".join([*lines, f"k({calls[signature]})"]))


SYNTAX, NAME, TYPE, INDEX = "TaichiSyntaxError", "TaichiNameError", "TaichiTypeError", "TaichiIndexError"
FIELD = "f = ti.field(ti.f32, (4, 4))\n"

STATEMENTS = [
    kernel("try", SYNTAX, "try", "«try:", "    x = 1", "except ValueError:", "    pass"),
    kernel("with", SYNTAX, "with", "«with open('x') as g:", "    pass"),
    kernel("yield", SYNTAX, "yield", "«yield 1"),
    kernel("yield_from", SYNTAX, "yield", "«yield from [1]"),
    kernel("lambda", SYNTAX, "lambda", "g = «lambda x: x"),
    kernel("nested_def", SYNTAX, "function", "«def g():", "    pass"),
    kernel("class", SYNTAX, "class", "«class A:", "    pass"),
    kernel("import", SYNTAX, "import", "«import math"),
    kernel("import_from", SYNTAX, "import", "«from math import sin"),
    kernel("global", SYNTAX, "global", "«global q"),
    kernel("delete", SYNTAX, "del", "x = 1", "«del x"),
    kernel("raise", SYNTAX, "raise", "«raise ValueError"),
    kernel("for_else", SYNTAX, "'else' clause for 'for' not supported", "«for i in range(3):", "    pass", "else:", "    pass"),
    kernel("while_else", SYNTAX, "'else' clause for 'while' not supported", "x = 0", "«while x < 3:", "    x += 1", "else:", "    pass"),
    kernel("set_display", SYNTAX, "set", "x = «{1, 2}"),
    kernel("generator", SYNTAX, "generator", "x = sum(«(i for i in range(3)))"),
    kernel("f_string", SYNTAX, "f-string", "y = 1", "x = «f'{y}'"),
    kernel("star_assignment", SYNTAX, "starred", "a, «*b = 1, 2, 3"),
    kernel("else_on_for_in_func", SYNTAX, "'else' clause", "g()", head="@ti.func\ndef g():\n    for i in range(3):\n        pass\n    else:\n        pass\n"),
]  # fmt: skip

STRUCT = "S = ti.types.struct(a=ti.i32, v=ti.types.vector(3, ti.f32))\nf = S.field(shape=4)\n"

STRUCTS = [
    kernel("struct_equality", TYPE, "`==` takes numbers", "s = S(1)", "x = «s == s", head=STRUCT),
    kernel("struct_sum", TYPE, "`+` takes numbers", "s = S(1)", "x = «s + s", head=STRUCT),
    kernel("struct_in_condition", TYPE, "`if` conditions must be a scalar", "s = S(1)", "if «s:", "    pass", head=STRUCT),
    kernel("struct_as_number", TYPE, "stands where a number", "s = S(1)", "x = «ti.cast(s, ti.f32)", head=STRUCT),
    kernel("struct_as_index", TYPE, "indices must be integers", "s = S(1)", "x = f[«s]", head=STRUCT),
    kernel("struct_augmented", TYPE, "is a struct; operators", "«f[0] += S(1)", head=STRUCT),
    kernel("struct_and_number", TYPE, "values of one struct", "x = «S(1) if n > 0 else 3", head=STRUCT, signature="n: ti.i32"),
    kernel("struct_assigned_number", TYPE, "Only dict or Struct", "s = S(1)", "«s = 3", head=STRUCT),
    kernel("struct_of_other_members", TYPE, "Member mismatch", "s = S(1)", "«s = ti.Struct(z=1)", head=STRUCT),
    kernel("struct_member_read", NAME, "has no member `vv`", "x = «f[0].vv", head=STRUCT),
    kernel("struct_member_written", NAME, "has no member `z`", "s = S(1)", "«s.z = 3", head=STRUCT),
    kernel("struct_keyword", NAME, "has no member `q`", "x = «S(q=1)", head=STRUCT),
    kernel("struct_too_many", SYNTAX, "`S` has 2 members, found 3", "x = «S(1, 2, 3)", head=STRUCT),
    kernel("struct_by_number", TYPE, "subscripted by the name", "x = «S(1)[n]", head=STRUCT, signature="n: ti.i32"),
    kernel("struct_returned", TYPE, "The return type is `f32`, found `S`", "return «S(1)", head=STRUCT, returns="ti.f32"),
    kernel("part_of_tuple", TYPE, "A part of a tuple cannot be changed", "x = (S(1), S(2))", "«x[0].a = 3", head=STRUCT),
]  # fmt: skip

NAMES = [
    kernel("undefined", NAME, 'Name "y" is not defined', "x = «y + 1"),
    kernel("defined_in_branch", NAME, 'Name "a" is not defined', "if n > 1:", "    a = 1", "b = «a", signature="n: ti.i32"),
    kernel("used_before", NAME, 'Name "later" is not defined', "x = «later", "later = 1"),
    kernel("loop_variable_after", NAME, 'Name "i" is not defined', "for i in range(3):", "    pass", "x = «i"),
    kernel("defined_in_loop", NAME, 'Name "a" is not defined', "for i in range(3):", "    a = i", "x = «a"),
    kernel("misspelt_attribute", NAME, "sqr", "x = «ti.sqr(2.0)"),
    kernel("module_attribute", NAME, "no_such", "x = «math.no_such", head="import math\n"),
    kernel("global_array", TYPE, "numpy", "x = «g[n]", head="g = np.zeros(3)\n", signature="n: ti.i32"),
    kernel("global_object", TYPE, "object", "x = «g + 1", head="g = object()\n"),
    kernel("add_to_field_name", NAME, '"f" is not a variable', "«f += 3.0", head=FIELD),
    kernel("add_to_global_number", NAME, '"c" is not a variable', "«c += 1", head="c = 3\n"),
    kernel("member_of_self", NAME, "no_such", "x = «t.no_such", head="class T: pass\nt = T()\n"),
]  # fmt: skip

TYPES = [
    kernel("int_plus_string", TYPE, "str", "x = «n + 'a'", signature="n: ti.i32"),
    kernel("float_index", TYPE, "i32", "y = f[«x, 0]", head=FIELD, signature="x: ti.f32"),
    kernel("shift_by_float", TYPE, "integers", "y = «1 << x", signature="x: ti.f32"),
    kernel("and_of_floats", TYPE, "integers", "y = «x & 1", signature="x: ti.f32"),
    kernel("vectors_of_unequal_length", TYPE, "shape", "a = ti.Vector([n, 2])", "b = ti.Vector([n, 2, 3])", "c = «a + b", signature="n: ti.i32"),
    kernel("matrix_against_vector", TYPE, "shape", "a = ti.Vector([n, 2])", "b = ti.Matrix([[n, 2], [3, 4]])", "c = «a < b", signature="n: ti.i32"),
    kernel("variable_changes_shape", TYPE, "f32", "a = x", "«a = ti.Vector([x, x])", signature="x: ti.f32"),
    kernel("literal_too_large", TYPE, "range", "a = n + «1099511627776", signature="n: ti.i32"),
    kernel("complex_number", TYPE, "complex", "a = «1j"),
    kernel("none_in_expression", TYPE, "None", "a = «n + None", signature="n: ti.i32"),
    kernel("bit_cast_width", TYPE, "width", "a = «ti.bit_cast(x, ti.f64)", signature="x: ti.f32"),
    kernel("cast_to_no_type", TYPE, "type", "a = «ti.cast(x, 3)", signature="x: ti.f32"),
    kernel("matmul_shapes", TYPE, "@", "a = ti.Matrix([[x, 2.0], [3.0, 4.0]])", "b = «a @ ti.Vector([x, x, x])", signature="x: ti.f32"),
    kernel("invert_float", TYPE, "integer", "a = «~x", signature="x: ti.f32"),
    kernel("cross_of_two", TYPE, "cross", "a = ti.Vector([x, x, x, x])", "b = «a.cross(a)", signature="x: ti.f32"),
    kernel("dot_lengths", TYPE, "dot", "a = ti.Vector([x, x])", "b = «a.dot(ti.Vector([x, x, x]))", signature="x: ti.f32"),
    kernel("inverse_of_non_square", TYPE, "square", "a = ti.Matrix([[x, x, x], [x, x, x]])", "b = «a.inverse()", signature="x: ti.f32"),
    kernel("unpack_count", TYPE, "2", "«a, b = 1, 2, 3"),
    kernel("vector_condition", TYPE, "condition", "a = ti.Vector([n, n])", "if «a:", "    pass", signature="n: ti.i32"),
]  # fmt: skip

INDEXING = [
    kernel("too_few_indices", INDEX, "2", "x = «f[0]", head=FIELD),
    kernel("too_many_indices", INDEX, "2", "x = «f[0, 0, 0]", head=FIELD),
    kernel("index_of_a_scalar", TYPE, "subscript", "y = «x[0]", signature="x: ti.f32"),
    kernel("vector_index_out_of_range", INDEX, "range", "a = ti.Vector([x, x])", "y = «a[2]", signature="x: ti.f32"),
    kernel("matrix_index_count", INDEX, "2", "a = ti.Matrix([[x, x], [x, x]])", "y = «a[0, 0, 0]", signature="x: ti.f32"),
    kernel("unknown_swizzle", NAME, "q", "a = ti.Vector([x, x])", "y = «a.qq", signature="x: ti.f32"),
    kernel("list_by_runtime_index", TYPE, "static", "l = [1, 2, 3]", "y = «l[n]", signature="n: ti.i32"),
    kernel("ellipsis", TYPE, "...", "y = f[«..., 0]", head=FIELD),
    kernel("ndarray_index_count", INDEX, "2", "y = «a[0]", signature="a: ti.types.ndarray()"),
]  # fmt: skip

LOOPS = [
    kernel("range_of_float", TYPE, "integer", "for i in range(«x):", "    pass", signature="x: ti.f32"),
    kernel("range_step_zero", TYPE, "0", "for i in «range(0, 3, 0):", "    pass"),
    kernel("range_of_four", SYNTAX, "range", "for i in «range(0, 3, 1, 1):", "    pass"),
    kernel("runtime_step", TYPE, "step", "for i in range(0, 3, «n):", "    pass", signature="n: ti.i32"),
    kernel("break_in_parallel", SYNTAX, "Cannot break in the outermost loop", "for i in range(3):", "    if i > 1:", "        «break"),
    kernel("return_value_in_parallel", SYNTAX, "return", "for i in range(3):", "    «return i", returns="ti.i32"),
    kernel("break_out_of_ndrange", SYNTAX, "Cannot break in the outermost loop", "for i, j in ti.ndrange(3, 3):", "    «break"),
    kernel("range_of_literal", TYPE, "2.7", "for i in range(«2.7):", "    pass"),
    kernel("grouped_scalar", TYPE, "grouped", "for I in «ti.grouped(x):", "    pass", signature="x: ti.f32"),
    kernel("static_range_of_runtime", TYPE, "static", "for i in ti.static(«range(n)):", "    pass", signature="n: ti.i32"),
    kernel("loop_over_scalar", TYPE, "loop", "for i in «x:", "    pass", signature="x: ti.f32"),
    kernel("struct_for_rank", SYNTAX, "2", "for i, j, l in «f:", "    pass", head=FIELD),
    kernel("loop_variable_assigned", TYPE, "loop", "for i in range(3):", "    «i = 2"),
]  # fmt: skip

FUNCTIONS = [
    kernel("kernel_in_kernel", SYNTAX, "Kernels cannot call other kernels", "«g()", head="@ti.kernel\ndef g():\n    pass\n"),
    kernel("recursion", SYNTAX, "recursi", "x = g(3)", head="@ti.func\ndef g(n):\n    return «g(n)\n"),
    kernel("python_function", TYPE, "ti.func", "x = «g(n)", head="def g(n):\n    return n\n", signature="n: ti.i32"),
    kernel("wrong_count", TYPE, "argument", "x = «g(1, 2)", head="@ti.func\ndef g(n):\n    return n\n"),
    kernel("unknown_keyword", TYPE, "z", "x = «g(z=1)", head="@ti.func\ndef g(n):\n    return n\n"),
    kernel("error_in_function", NAME, 'Name "y" is not defined', "x = g(1)", head="@ti.func\ndef g(n):\n    return n + «y\n"),
    kernel("no_value_returned", TYPE, "return", "x = «g(1)", head="@ti.func\ndef g(n):\n    pass\n"),
    kernel("return_without_annotation", SYNTAX, "return", "«return 1"),
    kernel("static_assert", "TaichiCompilationError", "no", "«ti.static_assert(1 > 2, 'no')"),
    kernel("atomic_on_value", TYPE, "atomic", "y = «ti.atomic_add(3, 1)"),
    kernel("math_on_string", TYPE, "str", "y = «ti.sin('a')"),
    kernel("min_of_nothing", TYPE, "min", "y = «ti.min()"),
    kernel("sin_of_two", TYPE, "argument", "y = «ti.sin(1.0, 2.0)"),
]  # fmt: skip

DEFINITION = [
    Case("missing_annotation", SYNTAX, "annotation", "@ti.kernel\ndef k(«x):\n    pass\nk(1)"),
    Case("unknown_annotation", SYNTAX, "annotation", "@ti.kernel\ndef k(«x: str):\n    pass\nk('a')"),
    Case("unresolved_annotation", SYNTAX, "annotation", "@ti.kernel\ndef k(«x: 'Nope'):\n    pass\nk(1)"),
    Case("variable_arguments", SYNTAX, "variable positional", "@ti.kernel\ndef k(*«x):\n    pass\nk(1)"),
    Case("keyword_arguments", SYNTAX, "variable keyword", "@ti.kernel\ndef k(**«x):\n    pass\nk(x=1)"),
    Case("unknown_return_type", SYNTAX, "return annotation", "@ti.kernel\ndef k() -> «str:\n    return 1\nk()"),
    kernel("return_vector_for_scalar", TYPE, "return type", "return «ti.Vector([1, 2])", returns="ti.i32"),
    kernel("return_scalar_for_vector", TYPE, "return type", "return «1", returns="ti.math.vec2"),
    kernel("return_of_wrong_length", TYPE, "vec", "return «ti.Vector([1.0, 2.0])", returns="ti.math.vec3"),
    kernel("return_count", SYNTAX, "2 values", "«return 1, 2, 3", returns="(ti.i32, ti.i32)"),
    kernel("plain_return", SYNTAX, "must return a value", "«return", returns="ti.i32"),
    Case("no_return", SYNTAX, "return statement", "@ti.kernel\n«def k() -> ti.i32:\n    x = 1\nk()"),
]  # fmt: skip

PLACES = [
    Case("tabs", NAME, '"y"', "@ti.kernel\ndef k():\n\tif 1:\n\t\tx =\t«y\nk()"),
    kernel("letters_beyond_ascii", NAME, '"y"', "größe = 1", "ß = größe + «y"),
    kernel("letters_of_three_bytes", NAME, '"y"', "print('日本', «y)"),
    kernel("continued_line", NAME, '"y"', "x = 1 + \\", "    «y"),
    kernel("open_parenthesis", NAME, '"y"', "x = (1 +", "     2 * (3 +", "  «y))"),
    Case("decorators_of_several_lines", NAME, '"y"', "def same(\n    f,\n):\n    return f\n@ti.kernel\n@same\ndef k():\n    x = «y\nk()"),
    Case("signature_of_several_lines", NAME, '"y"', "@ti.kernel\ndef k(\n    a: ti.i32,  # first\n    b: ti.i32,\n) -> None:\n    x = «y\nk(1, 2)"),
    Case("method_in_class", NAME, '"y"', "@ti.data_oriented\nclass A:\n    @ti.kernel\n    def k(self):\n        x = self.n + «y\na = A()\na.n = 3\na.k()"),
    Case("method_misses_member", NAME, "`m`", "@ti.data_oriented\nclass A:\n    @ti.kernel\n    def k(self):\n        x = «self.m\nA().k()"),
    Case("function_three_deep", NAME, '"y"', "@ti.func\ndef f(a):\n    return a + «y\n@ti.func\ndef g(a):\n    return f(a) * 2\n@ti.kernel\ndef k():\n    x = g(1)\nk()"),
    Case("nested_in_function", NAME, '"y"', "def make():\n        c = 3\n        @ti.kernel\n        def k():\n            x = c + «y\n        return k\nmake()()"),
]  # fmt: skip

LATER = [
    kernel("frexp_of_text", TYPE, "str", "x = «ti.frexp('a')"),
    kernel("append", SYNTAX, "issue 4", "«ti.append(f, 0, 1)", head=FIELD),
    kernel("length", SYNTAX, "issue 4", "x = «ti.length(f, 0)", head=FIELD),
    kernel("is_active", SYNTAX, "issue 4", "x = «ti.is_active(f, 0)", head=FIELD),
    kernel("global_thread_idx", SYNTAX, "issue", "x = «ti.global_thread_idx()"),
]  # fmt: skip

FUNC = "@ti.func\ndef "
VALUE = FUNC + "g(a):\n    return a\n"

UNSEEN = [
    kernel("match", SYNTAX, "match", "«match n:", "    case 1:", "        pass", signature="n: ti.i32"),
    Case("nonlocal", SYNTAX, "nonlocal", "def make():\n    c = 3\n    @ti.kernel\n    def k():\n        «nonlocal c\n        c = 4\n    return k\nmake()()"),
    kernel("dict_comprehension", SYNTAX, "dict", "x = «{i: i for i in range(3)}"),
    kernel("spread_of_a_number", TYPE, "**", "x = g(**«n)", head=VALUE, signature="n: ti.i32"),
    kernel("starred_number", SYNTAX, "known", "x = g(«*n)", head=VALUE, signature="n: ti.i32"),
    kernel("method_of_a_scalar", TYPE, "norm", "y = «x.norm()", signature="x: ti.f32"),
    kernel("misspelt_method", NAME, "nrom", "y = «ti.Vector([x, x]).nrom()", signature="x: ti.f32"),
    kernel("len_of_scalar", TYPE, "len", "y = «len(x)", signature="x: ti.f32"),
    kernel("ragged_matrix", TYPE, "equal lengths", "a = «ti.Matrix([[x, x], [x]])", signature="x: ti.f32"),
    kernel("empty_vector", TYPE, "at least one", "a = «ti.Vector([])"),
    kernel("size_at_run_time", TYPE, "compile time", "a = «ti.Vector.zero(ti.f32, n)", signature="n: ti.i32"),
    kernel("modulo_of_vectors", TYPE, "shape", "a = «ti.Vector([n, 2]) % ti.Vector([n, 2, 3])", signature="n: ti.i32"),
    kernel("text_into_field", TYPE, "string", "f[0, 0] = «'a'", head=FIELD),
    kernel("text_as_index", TYPE, "string", "y = f[«'a', 0]", head=FIELD),
    kernel("vector_by_float", TYPE, "integers", "a = ti.Vector([x, x])", "y = a[«x]", signature="x: ti.f32"),
    kernel("return_of_text", TYPE, "string", "return «'a'", returns="ti.i32"),
    kernel("return_of_array", TYPE, "array", "return «a", signature="a: ti.types.ndarray()", returns="ti.f32"),
    kernel("member_of_python_object", TYPE, "cannot be assigned", "«t.m = n", head="class T: pass\nt = T()\n", signature="n: ti.i32"),
    kernel("member_of_module", TYPE, "cannot be assigned", "«ti.foo = 1"),
    kernel("swizzle_of_two_sets", SYNTAX, "mixes", "a = ti.Vector([x, x, x])", "y = «a.xg", signature="x: ti.f32"),
    kernel("swizzle_twice", SYNTAX, "twice", "a = ti.Vector([x, x, x])", "«a.xx = ti.Vector([x, x])", signature="x: ti.f32"),
    kernel("slice_of_field", SYNTAX, "slices", "y = f[«0:2, 0]", head=FIELD),
    kernel("negative_constant", INDEX, "negative", "y = «f[-1, 0]", head=FIELD),
    kernel("target_is_an_element", SYNTAX, "loop target", "for «f[0, 0] in range(3):", "    pass", head=FIELD),
    kernel("two_targets_of_range", SYNTAX, "1 indices", "for «i, j in range(3):", "    pass"),
    kernel("enumerate_at_run_time", SYNTAX, "known", "for i, j in «enumerate(f):", "    pass", head=FIELD),
    kernel("static_of_a_number", SYNTAX, "loop over", "for i in «ti.static(3):", "    pass"),
    kernel("block_dim_negative", TYPE, "block_dim", "«ti.loop_config(block_dim=-4)", "for i in range(3):", "    pass"),
    kernel("loop_config_unknown", SYNTAX, "block", "«ti.loop_config(block=3)", "for i in range(3):", "    pass"),
    kernel("keyword_of_sin", SYNTAX, "no argument", "x = «ti.sin(a=3.0)"),
    kernel("print_to_file", SYNTAX, "file", "print(1, file=«3)"),
    kernel("shapes_of_returns", TYPE, "one shape", "x = «g(n)", head=FUNC + "g(n):\n    if n > 1:\n        return ti.Vector([1, 2])\n    return 1\n", signature="n: ti.i32"),
    Case("mutual_recursion", SYNTAX, "recurs", FUNC + "f(n):\n    return «g(n)\n" + FUNC + "g(n):\n    return f(n)\n@ti.kernel\ndef k():\n    x = f(1)\nk()"),
    Case("two_deep_with_tabs", NAME, "ошибка", "@ti.func\ndef f(ä):\n\tß = ä *\\\n\t\t«ошибка\n\treturn ß\n@ti.func\ndef g(a):\n\treturn f(\n\t\ta)\n@ti.kernel\ndef k():\n\tx = g(1)\nk()"),
    Case("methods_two_deep", NAME, '"y"', "@ti.data_oriented\nclass A:\n    @ti.func\n    def f(self, a):\n        return a + «y\n    @ti.func\n    def g(self, a):\n        return self.f(a)\n    @ti.kernel\n    def k(self):\n        x = self.g(1)\nA().k()"),
    Case("chain_too_deep", SYNTAX, "nest more than", "@ti.func\ndef f(a):\n    return a\n" + "".join(f"@ti.func\ndef f{i}(a):\n    return {'f' if i == 0 else f'f{i - 1}'}(a)\n" for i in range(120)) + "@ti.kernel\ndef k():\n    x = f119(1)\nk()"),
    Case("async_kernel", SYNTAX, "async", "@ti.kernel\n«async def k():\n    pass\nk()"),
    kernel("init_in_kernel", SYNTAX, "cannot be called in a kernel", "«ti.init()"),
    kernel("field_made_in_kernel", SYNTAX, "cannot be called in a kernel", "x = «ti.field(ti.f32, 3)"),
    kernel("sync_in_kernel", SYNTAX, "cannot be called in a kernel", "«ti.sync()"),
]  # fmt: skip

CASES = [*STATEMENTS, *STRUCTS, *NAMES, *TYPES, *INDEXING, *LOOPS, *FUNCTIONS, *DEFINITION, *PLACES, *LATER, *UNSEEN]
