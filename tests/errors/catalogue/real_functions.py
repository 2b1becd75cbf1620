"""Real functions and references: signatures, calls, results, what a reference may mean."""

from __future__ import annotations

from .case import FIELD, FUNC, NAME, SYNTAX, TYPE, Case, kernel, refused


def real(name: str, error: str, message: str, head: str, *body: str, signature: str = "") -> Case:
    """A program whose kernel calls the real function `head` defines; any remedy will do."""
    return refused(name, error, message, "", kernel(*body, head=f"@ti.real_func\ndef {head}\n", signature=signature))


REF = "g(v: ti.ref(ti.i32)):\n    v += 1"

CASES: list[Case] = [
    real("real_functions/without_annotation", SYNTAX, "must be type annotated", "g(a: ti.i32, «b):\n    pass", "g(1, 2)"),
    real("real_functions/with_strange_annotation", SYNTAX, "Invalid type annotation", "g(«a: str):\n    pass", "g('a')"),
    real("real_functions/with_ref_of_nothing", SYNTAX, "Invalid type annotation", "g(«a: ti.ref(str)):\n    pass", "g('a')"),
    real("real_functions/with_stars", SYNTAX, "functions do not support variable", "g(*«a):\n    pass", "g(1)"),
    real("real_functions/return_type", SYNTAX, "not a type of a function", "g() -> «str:\n    return 1", "g()"),
    real("real_functions/too_many", TYPE, "takes 1, found 2", "g(a: ti.i32):\n    pass", "«g(1, 2)"),
    real("real_functions/too_few", TYPE, "Missing argument `a`", "g(a: ti.i32):\n    pass", "«g()"),
    real("real_functions/unknown_keyword", TYPE, "Unexpected argument `b`", "g(a: ti.i32):\n    pass", "«g(a=1, b=2)"),
    real("real_functions/twice", TYPE, "Multiple values", "g(a: ti.i32):\n    pass", "«g(1, a=2)"),
    real("real_functions/vector_for_scalar", TYPE, "takes `i32`, found `vector(2, i32)`", "g(a: ti.i32):\n    pass", "«g(ti.Vector([1, 2]))"),
    real("real_functions/other_length", TYPE, "takes `vector(2, f32)`", "g(a: ti.math.vec2):\n    pass", "«g(ti.Vector([1.0, 2.0, 3.0]))"),
    real("real_functions/text", TYPE, "string", "g(a: ti.i32):\n    pass", "«g('a')"),
    real("real_functions/run_time_template", TYPE, "found a run-time i32", "g(a: ti.template()):\n    pass", "«g(n)", signature="n: ti.i32"),
    real("real_functions/number_for_array", TYPE, "takes an ndarray", "g(a: ti.types.ndarray()):\n    pass", "«g(3)"),
    real("real_functions/array_of_other_rank", TYPE, "takes an ndarray of ndim=1", "g(a: ti.types.ndarray(ndim=1)):\n    pass", "«g(a)", signature="a: ti.types.ndarray()"),
    real("real_functions/field_for_array", TYPE, "takes an ndarray", "g(a: ti.types.ndarray()):\n    pass\n" + FIELD, "«g(f)"),
    real("real_functions/without_return_type", SYNTAX, "A function with a return value must be annotated", "g(a: ti.i32):\n    «return a", "x = g(1)"),
    refused("real_functions/without_return", SYNTAX, "does not have a return statement", "", kernel("x = g()", head="@ti.real_func\n«def g() -> ti.i32:\n    x = 1\n")),
    real("real_functions/plain_return", SYNTAX, "must return a value", "g() -> ti.i32:\n    «return", "x = g()"),
    real("real_functions/count_of_results", SYNTAX, "returns 2 values, found 1", "g(a: ti.i32) -> (ti.i32, ti.f32):\n    «return a", "x, y = g(1)"),
    real("real_functions/shape_of_result", TYPE, "The return type is", "g(a: ti.f32) -> ti.math.vec2:\n    return «a", "x = g(1)"),
    real("real_functions/gives_nothing", TYPE, "returns no value", "g(a: ti.i32):\n    pass", "x = «g(1)"),
    real("real_functions/unpacks_too_many", TYPE, "Cannot unpack 2 values", "g() -> (ti.i32, ti.i32):\n    return 1, 2", "«x, y, z = g()"),
    real("real_functions/ref_of_constant", TYPE, "takes a variable", REF, "«g(3)"),
    real("real_functions/ref_of_expression", TYPE, "takes a variable", REF, "x = 1", "«g(x + 1)"),
    real("real_functions/ref_of_loop_index", TYPE, "takes a variable", REF, "for i in range(3):", "    «g(i)"),
    real("real_functions/ref_of_another_type", TYPE, "reference to `i32`, found a variable of type `f32`", REF, "x = 1.0", "«g(x)"),
    real("real_functions/ref_of_global_number", TYPE, "takes a variable", REF + "\nq = 3", "«g(q)"),
    real("real_functions/ref_of_shared_variable", TYPE, "share", REF, "s = 0", "for i in range(3):", "    «g(s)"),
    real("real_functions/ref_twice", TYPE, "twice", "g(a: ti.ref(ti.i32), b: ti.ref(ti.i32)):\n    a = b", "x = 1", "«g(x, x)"),
    real("real_functions/ref_of_whole_and_part", TYPE, "twice", "g(a: ti.ref(ti.math.ivec2), b: ti.ref(ti.i32)):\n    b = a.x", "v = ti.math.ivec2(1)", "«g(v, v.y)"),
    real("real_functions/error_in_real_function", NAME, 'Name "y" is not defined', "g(a: ti.i32) -> ti.i32:\n    return a + «y", "x = g(1)"),
    real("real_functions/template_without_end", SYNTAX, "256 different arguments", "g(n: ti.template()) -> ti.i32:\n    return «g(n + 1)", "x = g(1)"),
    refused("real_functions/error_two_deep", NAME, "in k:", "", "@ti.real_func\ndef f(a: ti.i32):\n    «nope(a)\n@ti.func\ndef g(a):\n    f(a)\n@ti.kernel\ndef k():\n    g(1)\nk()"),
    refused("real_functions/func_circle", SYNTAX, "(f -> g -> f)", "", FUNC + "f(n):\n    return «g(n)\n" + FUNC + "g(n):\n    return f(n)\n@ti.kernel\ndef k():\n    x = f(1)\nk()"),
]  # fmt: skip
