"""Names and scope (14)."""

from __future__ import annotations

from .case import FIELD, INDEX, NAME, SYNTAX, TYPE, Case, kernel, method, refused, warned

STALE = """ti.init(arch=ti.python, log_level=ti.ERROR, warn_stale_globals=True)
n = 3
@ti.kernel
def k() -> ti.i32:
    return «n + 1
k()
n = 4
result = k()"""

CASES: list[Case] = [
    refused("names/undefined", NAME, 'Name "y" is not defined', "assign `y` before it is used", kernel("x = «y + 1"), "undefined name"),
    refused("names/defined_in_one_branch", NAME, 'Name "a" is not defined', "lives in the block", kernel("if n > 1:", "    a = 1", "b = «a", signature="n: ti.i32"), "name defined in one branch only"),
    refused("names/use_before_assignment", NAME, 'Name "later" is not defined', "before it is used", kernel("x = «later", "later = 1"), "use before assignment"),
    refused("names/loop_variable_after_loop", NAME, 'Name "i" is not defined', "ends with its loop", kernel("for i in range(3):", "    pass", "x = «i"), "loop variable after parallel loop"),
    refused("names/shadowed_builtin", TYPE, "`abs` is a variable", "another name", kernel("abs = n", "x = «abs(n)", signature="n: ti.i32"), "shadowed builtin called"),
    refused("names/misspelt_ti", NAME, "no attribute `sqr`", "did you mean `ti.sqrt`", kernel("x = «ti.sqr(2.0)"), "misspelt ti.* (did you mean)"),
    refused("names/field_typo", NAME, 'Name "pressur" is not defined', "did you mean `pressure`", kernel("x = «pressur[0]", head="pressure = ti.field(ti.f32, 4)\n"), "field name typo"),
    refused("names/closure_over_list", TYPE, "`rows` is a list from outside the kernel", "ti.field", kernel("«rows.append(3)", head="rows = [1, 2]\n"), "closure over mutable list"),
    refused("names/global_numpy_array", TYPE, "NumPy array", "ti.types.ndarray()", kernel("x = «g[n]", head="g = np.zeros(3)\n", signature="n: ti.i32"), "global numpy array used directly"),
    refused("names/global_object", TYPE, "`+` takes numbers, vectors and matrices, found a Python `object`", "number, a vector or a matrix", kernel("x = «g + 1", head="g = object()\n"), "global Python object"),
    refused("names/module_attribute", NAME, "module `math` has no attribute `sine`", "did you mean `math.sin", kernel("x = «math.sine(1.0)", head="import math\n"), "module attribute not found"),
    refused("names/global_scalar_assigned", NAME, '"c" is not a variable of this function', "field", kernel("«c += 1", head="c = 3\n"), "assigning to a global scalar"),
    warned("names/stale_global", "`n` was 3 when kernel `k` was compiled and is 4 now", "pass it as an argument", STALE, 4, "reading a global changed after compile (warning)"),
    refused("names/self_member", NAME, "has no attribute `masss`", "did you mean `self.mass`", method("x = «self.masss", head="def __init__(self):\n    self.mass = 3"), "`self` member missing"),
]  # fmt: skip

EXTRAS: list[Case] = [
    refused("names/add_to_field_name", NAME, '"f" is not a variable', "f[None]", kernel("«f += 3.0", head=FIELD)),
    refused("names/nonlocal_assignment", NAME, '"c" is not defined', "before it is used", "def make():\n    c = 3\n    @ti.kernel\n    def k():\n        «c += 1\n    return k\nmake()()"),
    refused("names/misspelt_math", NAME, "no attribute `clmp`", "did you mean `ti.math.clamp`", kernel("y = «ti.math.clmp(x, 0.0, 1.0)", signature="x: ti.f32")),
    refused("names/length_of_a_vector", NAME, "no attribute `length`", "write `v.norm()`", kernel("v = ti.Vector([x, 1.0])", "y = «v.length()", signature="x: ti.f32")),
    refused("names/transpose_as_in_numpy", NAME, "no attribute `T`", "write `m.transpose()`", kernel("m = ti.Matrix([[x, 1.0], [2.0, x]])", "y = «m.T", signature="x: ti.f32")),
    refused("names/loop_over_a_number", SYNTAX, "Cannot loop over a Python `int`", "for ... in range(...)", kernel("for i in «c:", "    pass", head="c = 3\n")),
    refused("names/loop_over_a_numpy_array", SYNTAX, "Cannot loop over a Python `ndarray`", "ti.types.ndarray()", kernel("for i in «c:", "    pass", head="c = np.zeros(3)\n")),
    refused("names/unknown_math", NAME, "module `ti.math` has no attribute `rot2`", "check the spelling", kernel("y = «ti.math.rot2(x)", signature="x: ti.f32")),
    refused("names/unknown_member_of_pack", NAME, "the argument pack `p` has no attribute `b`", "it has `a`", "P = ti.types.argpack(a=ti.i32)\n@ti.kernel\ndef k(p: P):\n    x = «p.b\nk(P(a=1))"),
    refused("names/list_that_grows_once", INDEX, "The list `a` has 1 item while the kernel is compiled", "appends once", kernel("a = []", "for i in range(3):", "    a.append(i)", "x = «a[1]")),
    refused("names/misspelt_local", NAME, '"velocty" is not defined', "did you mean `velocity`", kernel("velocity = 1.0", "x = «velocty * 2")),
    refused("names/defined_in_loop", NAME, 'Name "a" is not defined', "lives in the block", kernel("for i in range(3):", "    a = i", "x = «a")),
    refused("names/member_of_object", NAME, "no_such", "check the spelling", kernel("x = «t.no_such", head="class T: pass\nt = T()\n")),
    refused("names/misspelt_method", NAME, "nrom", ".norm`", kernel("y = «ti.Vector([x, x]).nrom()", signature="x: ti.f32")),
    refused("names/misspelt_field_method", NAME, "shpe", "shape", kernel("y = «f.shpe", head=FIELD)),
    refused("names/keyword_of_another_language", SYNTAX, "known", "", kernel("for i, j in «enumerate(f):", "    pass", head=FIELD)),
]  # fmt: skip
