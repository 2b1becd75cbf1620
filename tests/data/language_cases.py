"""The pieces of code of `language.json`, generated: literals, casts, operators and functions of all types.

Used by `record_language.py` only; the test reads the recorded file. Each case is (group, code, prelude).
"""

TYPES = ["i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64", "f16", "f32", "f64"]
INTEGERS = [kind for kind in TYPES if kind[0] != "f" and kind != "u1"]
ARGUMENTS = {
    "a_i8": ["i8", -100], "b_i8": ["i8", 7], "a_i16": ["i16", -30000], "b_i16": ["i16", 11],
    "a_i32": ["i32", -2000000000], "b_i32": ["i32", 13], "a_i64": ["i64", -9000000000000000001], "b_i64": ["i64", 17],
    "a_u1": ["u1", 1], "b_u1": ["u1", 0], "a_u8": ["u8", 200], "b_u8": ["u8", 3], "a_u16": ["u16", 60000],
    "b_u16": ["u16", 5], "a_u32": ["u32", 4000000000], "b_u32": ["u32", 9], "a_u64": ["u64", 9100000000000000003],
    "b_u64": ["u64", 19], "a_f16": ["f16", -2.5], "b_f16": ["f16", 1.75], "a_f32": ["f32", -3.25], "b_f32": ["f32", 0.75],
    "a_f64": ["f64", 2.718281828459045], "b_f64": ["f64", 0.1],
}  # fmt: skip
DEFAULTS = [["i32", "f32"], ["i64", "f64"]]
IMPORTS = "import {ti} as ti\nimport {ti}.math as tm\nimport numpy as np\nimport math\n"

LITERALS = """0 1 -1 2 5 127 128 -128 -129 255 256 300 32767 32768 -32768 -32769 65535 65536 2147483647 2147483648
-2147483648 -2147483649 4294967295 4294967296 9223372036854775807 9223372036854775808 -9223372036854775808
18446744073709551615 18446744073709551616 0.0 0.1 1.0 2.0 -0.1 -2.0 1.5 0.3333333333333333 16777217.0 65504.0
65520.0 1e39 1.2345e300 1e-40 1e-310 math.inf -math.inf True False 1/3 2**40 -(1/3) 7//2 1<<20 ti.static(0.1)
np.float32(0.1) np.float64(0.1) np.int64(5) np.int8(5) np.uint64(5) np.bool_(True) np.int64(2**40) G_FLOAT G_INT""".split()
PRELUDE = "G_FLOAT = 0.1\nG_INT = 7"
OPERATORS = ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "<<", ">>", "<", "==")
AUGMENTED = ("+=", "-=", "*=", "/=", "//=", "%=", "**=", "&=", "|=", "^=", "<<=", ">>=")


def literals():
    """Literals that a type is called on, that an annotated variable gets, and that are cast."""
    for literal in LITERALS:
        for kind in [f"ti.{kind}" for kind in TYPES] + ["int", "float", "bool"]:
            yield f"r = {kind}({literal})", PRELUDE
    few = "-1 300 2147483648 9223372036854775808 0.1 2.0 -2.7 1e39 True np.float64(0.1)".split()
    for literal in few:
        yield f"r = {literal}; r = r + 0", PRELUDE
        for kind in [f"ti.{kind}" for kind in TYPES] + ["int", "float", "bool"]:
            yield f"r: {kind} = {literal}", PRELUDE
            yield f"r: {kind} = {literal}; r += 1", PRELUDE
            yield f"r = ti.cast({literal}, {kind})", PRELUDE
            yield f"c = {literal}; r = {kind}(c)", PRELUDE
            yield f"r = ti.Vector([{literal}, 1], dt={kind})", PRELUDE
            yield f"r = ti.types.vector(2, {kind})({literal})", PRELUDE
            yield f"r = ti.types.vector(2, {kind})({literal}, 1)", PRELUDE
            yield f"r = ti.Matrix([[{literal}, 1], [0, 1]], {kind})", PRELUDE


def powers():
    for kind in TYPES:
        for exponent in (-2, -1, 0, 1, 2, 3, 4, 5, 7, 8, 9, 10, 33):
            yield f"r = b_{kind} ** {exponent}", ""
            yield f"r = a_{kind} ** {exponent}", ""
            yield f"r = {exponent} ** b_{kind}", ""
        for exponent in ("2.0", "0.5", "True", "ti.u8(2)", "ti.i64(2)", "ti.f64(2.0)", "ti.f64(0.1)", "b_u8"):
            yield f"r = b_{kind} ** {exponent}", ""
            yield f"r = ti.pow(b_{kind}, {exponent})", ""
            yield f"r = {exponent} ** b_{kind}", ""
        yield f"r = pow(b_{kind}, 2)", ""
        yield f"r = ti.pow(b_{kind}, 2)", ""
        yield f"r = ti.Vector([b_{kind}, b_{kind}]) ** 2", ""
        yield f"r = ti.Vector([b_{kind}, b_{kind}]) ** 3.0", ""
        yield f"r = b_{kind}; r **= 2", ""
        yield f"r = b_{kind}; r **= 2.0", ""
        yield f"r = 2 ** ti.Vector([b_{kind}, b_{kind}])", ""


def unary():
    functions = """-{} +{} ~{} (not {}) abs({}) ti.abs({}) ti.floor({}) ti.ceil({}) ti.round({}) ti.floor({},ti.i32)
    ti.ceil({},ti.i64) ti.round({},ti.u8) ti.floor({},int) ti.sqrt(abs({})) ti.rsqrt(abs({})) ti.sin({}) ti.cos({})
    ti.tan({}) ti.exp({}) ti.log(abs({})) ti.tanh({}) tm.sign({}) tm.popcnt({}) tm.clz({}) tm.isnan({})
    tm.isinf({}) tm.fract({}) tm.degrees({}) tm.radians({}) tm.log2(abs({})) ti.zero({}) ti.one({}) int({}) float({})
    bool({}) round({}) ti.stop_grad({}) min({}) max({}) ti.acos({}) ti.asin({}) tm.vdir({})""".split()
    for kind in TYPES:
        for form in functions:
            for name in "ab":
                yield f"r = {form.format(f'{name}_{kind}')}", ""
        for other in TYPES:
            yield f"r = ti.{other}(b_{kind})", ""
            yield f"r = ti.cast(a_{kind}, ti.{other})", ""
            yield f"r = ti.bit_cast(a_{kind}, ti.{other})", ""
            yield f"r: ti.{other} = a_{kind}", ""
    for literal in ("1", "-5", "2.5", "True", "-7"):
        for form in functions:
            yield f"r = {form.format(literal)}", ""


def with_literals():
    for kind in TYPES:
        for operator in OPERATORS:
            for literal in ("2", "-3", "2.5", "True"):
                yield f"r = b_{kind} {operator} {literal}", ""
                yield f"r = {literal} {operator} b_{kind}", ""
            for cast in ("ti.u8(3)", "ti.f64(0.1)"):
                yield f"r = b_{kind} {operator} {cast}", ""
        for function in ("min", "max", "ti.min", "ti.max", "ti.atan2", "ti.raw_div", "ti.raw_mod", "tm.mod"):
            for literal in ("2", "2.5"):
                yield f"r = {function}(b_{kind}, {literal})", ""
                yield f"r = {function}({literal}, b_{kind})", ""


def augmented():
    for kind in TYPES:
        for operator in AUGMENTED:
            for other in ("b_i8", "b_u16", "b_i64", "a_u1", "b_f16", "b_f64"):
                yield f"r = b_{kind}; r {operator} {other}", ""
            for literal in ("3", "2.9", "True", "300"):
                yield f"r = b_{kind}; r {operator} {literal}", ""
        for other in ("i8", "u32", "f32", "f64"):
            yield f"r = ti.Vector([b_{kind}, b_{kind}]); r += b_{other}", ""
            yield f"r = ti.Vector([b_{kind}, b_{kind}]); r *= ti.Vector([b_{other}, b_{other}])", ""
            yield f"r = ti.Vector([b_{kind}, b_{kind}]); r[0] -= b_{other}", ""
            yield f"r = ti.Vector([b_{kind}, b_{kind}]); r[0] = a_{other}", ""


def choices():
    functions = [
        "min({}, {})", "max({}, {})", "ti.select({} > 2, {}, 1)", "({} if {} > 1 else 0)", "ti.select(True, {}, {})",
        "({} if b_i32 > 1 else {})", "({} and {})", "({} or {})", "{} < {} < 3", "0 <= {} != {}", "{} < {} <= 2.5 > 1",
        "ti.min({}, {}, 2)", "max({}, {}, 2.5)", "ti.Vector([{}, {}])", "ti.Vector([{}, {}]).sum()", "ti.Vector([{}, {}]).max()",
        "ti.Vector([{}, {}]).norm()", "ti.Vector([{}, 1]) + {}", "{} * ti.Vector([1, {}])", "tm.mix({}, {}, 0.5)",
        "tm.clamp({}, {}, 5)", "tm.step({}, {})", "tm.mod({}, {})", "tm.smoothstep({}, {}, 0.5)",
    ]  # fmt: skip
    for kind in TYPES:
        for other in ("i8", "u16", "i32", "u64", "u1", "f16", "f32"):
            for form in functions:
                yield f"r = {form.format(f'b_{kind}', f'b_{other}')}", ""


def atomics():
    names = ("add", "sub", "mul", "min", "max", "and", "or", "xor")
    for kind in TYPES:
        for name in names:
            for other in ("i8", "i32", "u32", "i64", "f32", "f64"):
                yield f"x = b_{kind}; r = ti.atomic_{name}(x, b_{other})", ""
                yield f"x = b_{kind}; ti.atomic_{name}(x, b_{other}); r = x", ""
            for literal in ("2", "1.5"):
                yield f"x = b_{kind}; ti.atomic_{name}(x, {literal}); r = x", ""


def matrices():
    kinds = ("u8", "i32", "u32", "f16", "f64", "u1")
    forms = [
        "V(a) + V(b)", "V(a) / V(b)", "V(a) // V(b)", "V(a) % V(b)", "V(a) < V(b)", "V(a) & V(b)", "V(a) << V(b)", "V(a).dot(V(b))",
        "V(a).outer_product(V(b))", "M(a) @ V(b)", "M(a) @ M(b)", "ti.max(V(a), V(b))", "ti.select(V(a) > 1, V(b), 0)",
        "ti.atan2(V(a), V(b))", "V(a) * b", "a - V(b)", "M(a) + M(b)", "V(a).cross(V(b))", "V(a) ** V(b)", "tm.mix(V(a), V(b), 0.25)",
        "tm.clamp(V(a), 0, V(b))", "tm.dot(V(a), V(b))", "tm.distance(V(a), V(b))", "tm.reflect(V(a), V(b))", "V(a) and V(b)",
        "V(a).normalized() + b", "tm.vec2(a, b)", "tm.ivec2(V(b))", "tm.vec3(V(a), b)", "ti.Matrix([[a, b], [b, a]])",
        "ti.Matrix.rows([V(a), V(b)])", "ti.Matrix.cols([V(a), V(b)])", "ti.Matrix.diag(2, a) + b", "M(a).determinant() + b",
        "M(a).inverse()", "M(a).trace() + b", "M(a).transpose() + b", "V(a).sum() * b", "V(a).norm_sqr() + b", "V(a).min() + b",
        "V(a).cast(ti.u8) + b", "-V(a) + b", "abs(V(a)) * b", "~V(a)", "not V(a)", "V(a).any()", "V(a).all()", "ti.Vector([a, 1, 2.5])",
        "ti.Vector([a, b], ti.f64)", "tm.length(V(a))", "tm.normalize(V(a))", "ti.zero(V(a)) + b", "ti.one(M(a)) * b",
    ]  # fmt: skip
    for kind in kinds:
        for other in kinds:
            for form in forms:
                if other != kind and "b" not in form.replace("abs", ""):
                    continue
                code = form.replace("abs", "@@").replace("V(a)", f"ti.Vector([b_{kind}, 1])")
                code = code.replace("V(b)", f"ti.Vector([b_{other}, 2])").replace(
                    "M(a)", f"ti.Matrix([[b_{kind}, 1], [0, 1]])"
                )
                code = code.replace("M(b)", f"ti.Matrix([[b_{other}, 2], [1, 0]])")
                code = _letter(_letter(code, "a", f"b_{kind}"), "b", f"b_{other}").replace("@@", "abs")
                yield f"r = {code}", ""


def _letter(code, letter, name):
    """Replace an argument that is one letter."""
    import re

    return re.sub(rf"(?<![\w.]){letter}(?![\w.(])", name, code)


def aliases():
    """The vector and matrix types of `ti.math`."""
    for name in ("vec2", "vec3", "vec4", "ivec2", "ivec3", "ivec4", "uvec2", "uvec3", "uvec4", "mat2", "mat3", "mat4"):
        for value in (
            "1",
            "-1",
            "2.5",
            "0.1",
            "True",
            "b_i8",
            "a_u64",
            "a_i64",
            "b_f64",
            "a_u32",
            "2147483647",
            "4294967295",
        ):
            yield f"r = tm.{name}({value})", ""
        pre = f"@ti.dataclass\nclass S{{n}}:\n    p: tm.{name}\n"
        yield "s = S{n}(); r = s.p", pre
        yield "s = S{n}(); s.p += b_u8; r = s.p", pre
        pre = f"@ti.func\ndef f{{n}}(x: tm.{name}):\n    return x\n"
        yield f"r = f{{n}}(tm.{name}(3))", pre
        yield f"r = tm.{name}(3) + 1", ""
        yield f"r = tm.{name}(3) * 0.5", ""
        yield f"r = tm.{name}(3) / 2", ""
        yield f"r: tm.{name} = tm.{name}(2)", ""
    for name in ("eye(2)", "rotation2d(1.0)", "rotation3d(1.0, 0.5, 0.25)", "rot_by_axis(tm.vec3(1, 0, 0), 1.0)",
                 "rot_yaw_pitch_roll(1.0, 0.5, 0.25)", "translate(1, 2, 3)", "scale(1, 2, 3)", "pi", "e", "inf", "nan", "vdir(1.0)",
                 "cmul(tm.vec2(1, 2), tm.vec2(3, 4))", "cexp(tm.vec2(0, 1))", "clog(tm.vec2(1, 1))"):  # fmt: skip
        yield f"r = tm.{name}", ""
        yield f"r = tm.{name} * 1", ""


def statics():
    """Values known at compile time, and types of indices, functions and structs."""
    for value in ("1", "0.1", "True", "2147483647", "2147483648", "1/3", "2**40", "-1"):
        yield f"r = ti.static({value})", ""
        yield f"r = ti.static({value}) + b_i8", ""
        yield f"r = ti.static({value}) * b_f64", ""
        yield f"c = ti.static({value}); r = ti.f64(c) if ti.static(isinstance({value}, float)) else ti.i64(c)", ""
        yield f"c = {value}; r = c", ""
        yield f"c = {value}; r = c * b_f64", ""
        yield f"r = [{value}, 1][0] + b_i8", ""
        yield f"r = {value} if b_i32 > 1 else 0", ""
        yield "r = G{n} + b_i8", f"G{{n}} = {value}"
    for loop in ("range(3)", "range(b_u8)", "range(b_i64)", "range(ti.i64(3))", "ti.ndrange(3)", "ti.ndrange(b_u8)",
                 "ti.static(range(3))", "range(ti.u8(3))", "range(2, b_i8)", "ti.ndrange((1, b_u64))"):  # fmt: skip
        yield f"r = 0\nfor k in {loop}:\n    r = k", ""
        yield f"c = ti.i64(0)\nfor k in {loop}:\n    c += ti.i64(k) + k * 0\nr = c", ""
    yield "r = ti.Vector([0, 0])\nfor I in ti.grouped(ti.ndrange(2, 3)):\n    r = I", ""
    for kind in TYPES:
        pre = f"@ti.func\ndef f{{n}}(x: ti.{kind}):\n    return x\n"
        back = f"@ti.func\ndef f{{n}}(x) -> ti.{kind}:\n    return x\n"
        real = f"@ti.real_func\ndef f{{n}}(x: ti.{kind}) -> ti.{kind}:\n    return x\n"
        pair = f"@ti.dataclass\nclass S{{n}}:\n    p: ti.{kind}\n    q: ti.types.vector(2, ti.{kind})\n"
        for value in ("1", "0.1", "-3", "300", "b_i8", "a_i32", "a_f32", "b_f64", "a_u64", "b_u1"):
            yield f"r = f{{n}}({value})", pre
            yield f"r = f{{n}}({value})", back
            yield f"r = f{{n}}({value})", real
            yield f"s = S{{n}}(p={value}); r = s.p", pair
            yield f"s = S{{n}}(p={value}); s.p += 1; r = s.p", pair
            yield f"s = S{{n}}(); s.p = {value}; r = s.p", pair
            yield f"s = S{{n}}(q=ti.Vector([{value}, 1])); r = s.q", pair
            yield f"s = S{{n}}(q=[{value}, 1]); r = s.q", pair
        yield f"r = ti.random(ti.{kind}) * 0", ""
        yield f"r = ti.Vector.zero(ti.{kind}, 2) + 1", ""
        yield f"r = ti.Matrix.one(ti.{kind}, 2, 2) * 2.5", ""
        yield f"r = ti.Vector.unit(3, 1, ti.{kind}) + b_i8", ""
        yield f"r = ti.Matrix.identity(ti.{kind}, 2)", ""
        yield f"x = b_{kind}; y = x; y = 300; r = y", ""
        yield f"x = b_{kind}; x = 2.9; r = x", ""
        yield f"x = b_{kind}; x = a_f64; r = x", ""
        yield f"x = b_{kind}; x = a_i64; r = x", ""
        yield f"x, y = b_{kind}, 1; r = x + y", ""
        yield f"r = 5\nif b_{kind} > 0:\n    r = b_{kind} * 3", ""
        yield f"r = 0\nwhile r < b_{kind}:\n    r += 1", ""
        yield f"r = -b_{kind} + (b_{kind} > 0)", ""
        yield f"r = (b_{kind} == b_{kind}) + 1", ""
        yield f"r = b_{kind} > 0 and 5 > b_{kind}", ""
    yield "r = ti.random() * 0", ""
    yield "r = ti.randn() * 0", ""
    yield "r = int(True) + True", ""
    yield "r = True + True", ""
    yield "r = (1 < 2) + (2 < 3)", ""
    yield "r = len(ti.Vector([1, 2])) + b_i8", ""


GROUPS = {
    "literals": literals, "powers": powers, "unary": unary, "with_literals": with_literals, "augmented": augmented, "choices": choices,
    "atomics": atomics, "matrices": matrices, "aliases": aliases, "statics": statics,
}  # fmt: skip


VALUED = ("literals", "powers", "aliases", "statics")
"""Groups whose values are recorded too; of the others only types are, since Taichi takes long, and some crash it."""


def cases(groups=()):
    """Return the cases of some groups, of all by default."""
    found = {}
    for name in groups or GROUPS:
        for code, prelude in GROUPS[name]():
            found[name, code, prelude] = None
    return list(found)


def signature():
    """Return the parameters of every kernel."""
    return ", ".join(f"{name}: ti.{kind}" for name, (kind, _) in ARGUMENTS.items())


def kernel_source(numbered, shapes, ti, stops=False):
    """Return the module whose kernel `k` runs cases, and stores their results. numbered: (number, code, prelude)."""
    import itertools

    preludes = dict.fromkeys(prelude.replace("{n}", str(number)) for number, _, prelude in numbered if prelude)
    lines = [IMPORTS.format(ti=ti), *preludes, "@ti.kernel"]
    lines += [f"def k({signature()}, real: ti.types.ndarray(), whole: ti.types.ndarray()):", "    for _ in range(1):"]
    position = 0
    for number, code, _ in numbered:
        lines.append("        if ti.static(True):")
        text = code.replace("{n}", str(number))
        lines += [f"            {line}" for part in text.split("; ") for line in part.split("\n")]
        if stops:
            lines += [f"            ti.static(note({number}, r))", "            ti.static(stop())"]
        for index in itertools.product(*map(range, shapes[number])) if number in shapes else ():
            item = f"r[{', '.join(map(str, index))}]" if index else "r"
            lines.append(f"            real[{position}] = ti.cast({item}, ti.f64)")
            lines.append(f"            whole[{position}] = ti.cast({item}, ti.i64)")
            position += 1
    return "\n".join(lines) + "\n"
