"""Functions (14)."""

from __future__ import annotations

from .case import FUNC, SAME, SYNTAX, TYPE, Case, kernel, refused, refused_call, supported, warned

MUTUAL = FUNC + "f(n):\n    return «g(n)\n" + FUNC + "g(n):\n    return f(n)\n@ti.kernel\ndef k():\n    x = f(1)\nk()"
UNEQUAL = FUNC + "g(n):\n    if n > 1:\n        return ti.Vector([1, 2])\n    return 1\n"
BY_VALUE = (
    FUNC
    + "double(a):\n    «a *= 2\n"
    + "@ti.kernel\ndef k() -> ti.i32:\n    n = 3\n    double(n)\n    return n\nresult = k()"
)
UNDECORATED = "class Grid:\n    @ti.kernel\n    def k(self):\n        pass\n«Grid().k()"
CLASSMETHOD = """@ti.data_oriented
class Grid:
    size = 4
    @classmethod
    @ti.kernel
    def k(cls) -> ti.i32:
        return cls.size
result = Grid.k()"""
IN_A_LOOP = """result = []
for n in range(3):
    @ti.kernel
    def k() -> ti.i32:
        return n
    result.append(k())"""
WITHOUT_SOURCE = "space = {'ti': ti}\nexec('@ti.func\\ndef g(a):\\n    return a\\n', space)\ng = space['g']\n"

CASES: list[Case] = [
    refused("functions/direct_recursion", SYNTAX, "`g` calls itself", "ti.static", kernel("x = g(3)", head=FUNC + "g(n):\n    return «g(n)\n"), "recursion direct"),
    refused("functions/mutual_recursion", SYNTAX, "functions are inlined and cannot recurse", "ti.static", MUTUAL, "mutual"),
    refused("functions/kernel_in_kernel", SYNTAX, "Kernels cannot call other kernels", "decorate `g` with `@ti.func`", kernel("«g()", head="@ti.kernel\ndef g():\n    pass\n"), "call of a kernel in a kernel"),
    refused("functions/python_function", TYPE, "The Python function `choice` cannot be called with run-time values", "decorate it with `@ti.func`", kernel("x = «choice(n)", head="from random import choice\n", signature="n: ti.i32"), "call of a Python function"),
    refused_call("functions/func_from_python", SYNTAX, "cannot be called from Python-scope; `g` is a `ti.func`", "call it in a kernel", SAME + "«g(1)", "func called from Python scope"),
    refused("functions/wrong_count", TYPE, "`g` takes 1, found 2", "call it as `g(a)`", kernel("x = «g(1, 2)", head=SAME), "wrong count"),
    refused("functions/unknown_keyword", TYPE, "Unexpected argument `z` of `g`", "call it as `g(a)`", kernel("x = «g(z=1)", head=SAME), "unknown keyword"),
    refused("functions/returns_of_different_types", TYPE, "All `return`s of `g` need values of one shape", "in all", kernel("x = «g(n)", head=UNEQUAL, signature="n: ti.i32"), "func returns different types"),
    refused("functions/real_func_without_annotation", SYNTAX, "parameter `a` must be type annotated", "ti.i32", kernel("x = g(1)", head="@ti.real_func\ndef g(«a) -> ti.i32:\n    return a\n"), "real_func without annotation"),
    warned("functions/by_value_argument_changed", "`a` is a copy", "ti.template()", BY_VALUE, 3, "func modifies by-value argument (warning)"),
    refused_call("functions/class_without_data_oriented", SYNTAX, "Please decorate class Grid with @ti.data_oriented", "above `class Grid`", UNDECORATED, "call of a class without data_oriented"),
    supported("functions/classmethod_kernel", 4, CLASSMETHOD, "classmethod kernel"),
    supported("functions/kernels_made_in_a_loop", [0, 1, 2], IN_A_LOOP, "kernel defined in a loop with changing closure"),
    refused("functions/func_without_source", SYNTAX, "The source of `g` is not available", "linecache", kernel("x = «g(1)", head=WITHOUT_SOURCE), "func defined in `exec` without source"),
]  # fmt: skip
