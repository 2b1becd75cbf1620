"""Syntax and statements that kernels cannot hold (24)."""

from __future__ import annotations

from .case import SYNTAX, Case, kernel, refused, supported

ASYNC = "async def g():\n    pass\n@ti.kernel\n«async def k():\n    await g()\nk()"
NONLOCAL = (
    "def make():\n    c = 3\n    @ti.kernel\n    def k():\n        «nonlocal c\n        c = 4\n    return k\nmake()()"
)

CASES: list[Case] = [
    refused("syntax/try_except", SYNTAX, "no exceptions", "`if`", kernel("«try:", "    x = 1", "except ValueError:", "    pass"), "try/except"),
    refused("syntax/with", SYNTAX, "context managers", "leave out `with`", kernel("«with open('x') as g:", "    pass"), "with"),
    refused("syntax/async_def", SYNTAX, "`k` is `async`", "plain `def`", "@ti.kernel\n«async def k():\n    pass\nk()", "async def"),
    refused("syntax/await", SYNTAX, "cannot wait", "plain `def`", ASYNC.replace("«", "").replace("await", "«await"), "await"),
    refused("syntax/yield", SYNTAX, "generators", "array", kernel("«yield 1"), "yield"),
    refused("syntax/yield_from", SYNTAX, "generators", "array", kernel("«yield from [1]"), "yield from"),
    refused("syntax/lambda", SYNTAX, "lambda", "@ti.func", kernel("g = «lambda x: x"), "lambda in kernel"),
    refused("syntax/nested_def", SYNTAX, "cannot define functions", "@ti.func", kernel("«def g():", "    pass"), "nested def"),
    refused("syntax/class", SYNTAX, "cannot define classes", "outside the kernel", kernel("«class A:", "    pass"), "class in kernel"),
    refused("syntax/import", SYNTAX, "cannot import", "top of the file", kernel("«import math"), "import in kernel"),
    refused("syntax/global", SYNTAX, "`global` is not supported", "ti.field", kernel("«global q"), "global"),
    refused("syntax/nonlocal", SYNTAX, "`nonlocal` is not supported", "ti.field", NONLOCAL, "nonlocal"),
    refused("syntax/del", SYNTAX, "cannot be deleted", "leave out `del`", kernel("x = 1", "«del x"), "del"),
    refused("syntax/raise", SYNTAX, "kernels have no exceptions", "`assert`", kernel("«raise ValueError"), "raise"),
    refused("syntax/match", SYNTAX, "kernels cannot match the pattern of a class", "match a number", kernel("match n:", "    case «int(x):", "        pass", signature="n: ti.i32"), "match"),
    supported("syntax/walrus_in_condition", 8, kernel("r = 0", "if (d := n + 1) > 3:", "    r = d * 2", "return r", signature="n: ti.i32", returns="ti.i32"), "walrus in condition"),
    refused("syntax/star_assignment", SYNTAX, "starred", "name each variable", kernel("a, «*b = 1, 2, 3"), "star-assignment"),
    refused("syntax/else_on_for", SYNTAX, "'else' clause for 'for' not supported in Taichi kernels", "set a flag before `break`", kernel("«for i in range(3):", "    pass", "else:", "    pass"), "`else` on for"),
    refused("syntax/else_on_while", SYNTAX, "'else' clause for 'while' not supported in Taichi kernels", "set a flag before `break`", kernel("x = 0", "«while x < 3:", "    x += 1", "else:", "    pass"), "`else` on while"),
    refused("syntax/set_literal", SYNTAX, "A set is not supported", "(1, 2)", kernel("x = «{1, 2}"), "set literal"),
    refused("syntax/generator_expression", SYNTAX, "no generators", "ti.static", kernel("x = sum(«(i for i in range(3)))"), "generator expression"),
    refused("syntax/f_string_as_value", SYNTAX, "f-string", "`print` or `assert` only", kernel("x = «f'{n}'", signature="n: ti.i32"), "f-string outside print/assert"),
    refused("syntax/decorator_inside_kernel", SYNTAX, "cannot define functions", "outside", kernel("@ti.func", "«def g(a):", "    return a", "x = g(1)"), "decorator inside kernel"),
]  # fmt: skip
