"""Types (28)."""

from __future__ import annotations

from .case import FIELD, NAME, TYPE, UNSUPPORTED, Case, kernel, refused, supported, warned

STRUCT = "S = ti.types.struct(mass=ti.f32, v=ti.math.vec3)\n"
WITHOUT = """from dataclasses import replace
from shadesmith.runtime.session import session
device = session.CURRENT.device
device.capabilities = replace(device.capabilities, {})
"""
HALF = "h = ti.field(ti.f16, 4)\n@ti.kernel\ndef k():\n    for i in range(9):\n        «h[0] += 1.0\nk.source(arch=ti.vulkan)"
NO_WIDE_ATOMICS = WITHOUT.format("atomic_bits=frozenset({32})")
NO_F64 = WITHOUT.format("types=device.capabilities.types - {'f64'}")

CASES: list[Case] = [
    refused("types/int_plus_string", TYPE, "the string 'a' with `i32`", "strings", kernel("x = «n + 'a'", signature="n: ti.i32"), "int + string"),
    refused("types/vector_plus_struct", TYPE, "found the struct `S`", "use the members", kernel("s = S(mass=1.0)", "y = «ti.Vector([x, x]) + s", head=STRUCT, signature="x: ti.f32"), "vector + scalar struct"),
    refused("types/float_index", TYPE, "indices must be integers, however 'f32' is provided", "ti.cast(x, ti.i32)", kernel("y = f[«x, 0]", head=FIELD, signature="x: ti.f32"), "f32 index"),
    warned("types/bool_arithmetic", "`+` of two truth values gives a truth value, not a count", "int(a) + int(b)", kernel("return «(n > 1) + (n > 2)", signature="n: ti.i32", returns="ti.i32"), 0, "bool arithmetic refused"),
    warned("types/narrowing_to_integer", "may lose precision: i32 <- f64", "ti.cast(value, ti.i32)", kernel("a = 1", "«a = y * 1.5", "return a", signature="y: ti.f64", returns="ti.i32"), 1, "i32 <- f64 implicit narrowing (warning or error as stated)"),
    supported("types/unsigned_negate", 2**32 - 3, kernel("return -u", signature="u: ti.u32", returns="ti.u32"), "unsigned negate"),
    refused("types/shift_by_float", TYPE, "`<<` takes integers only", "ti.cast(x, ti.i32)", kernel("y = «1 << x", signature="x: ti.f32"), "shift by float"),
    refused("types/bit_and_of_floats", TYPE, "`&` takes integers only", "ti.cast(x, ti.i32)", kernel("y = «x & x", signature="x: ti.f32"), "bit-and of floats"),
    refused("types/modulo_of_unequal_vectors", TYPE, "`%` takes vectors or matrices of one shape", "shape", kernel("a = «ti.Vector([n, 2]) % ti.Vector([n, 2, 3])", signature="n: ti.i32"), "`%` of vectors of unequal length"),
    refused("types/vector_against_matrix", TYPE, "`<` takes vectors or matrices of one shape", "shape", kernel("a = ti.Vector([n, 2])", "b = ti.Matrix([[n, 2], [3, 4]])", "c = «a < b", signature="n: ti.i32"), "compare vector to matrix"),
    refused("types/ternary_of_unequal_shapes", TYPE, "values of one shape", "same shape", kernel("y = «ti.Vector([x, x]) if x > 0 else ti.Vector([x, x, x])", signature="x: ti.f32"), "ternary of unequal types"),
    refused("types/variable_changes_type", TYPE, "`a` holds `f32`", "new name", kernel("a = x", "«a = ti.Vector([x, x])", signature="x: ti.f32"), "variable changes type"),
    refused("types/struct_member_unknown", NAME, "the struct `S` has no member `mas`", "did you mean `mass`", kernel("s = S(mass=1.0)", "y = «s.mas", head=STRUCT), "struct member unknown"),
    refused("types/struct_member_of_wrong_type", TYPE, "Cannot assign `vector(2, f32)` to a variable of type `f32`", "one element", kernel("s = S(mass=1.0)", "«s.mass = ti.Vector([x, x])", head=STRUCT, signature="x: ti.f32"), "struct member wrong type"),
    warned("types/missing_cast_to_u8", "may lose precision: u8 <- i32", "ti.cast(value, ti.u8)", kernel("«b[0] = n * 100", "return b[0]", head="b = ti.field(ti.u8, 2)\n", signature="n: ti.i32", returns="ti.i32"), 44, "missing cast to u8"),
    refused("types/literal_too_large", TYPE, "Integer literal 1099511627776 exceeded the range of default_ip: i32", "ti.i64(1099511627776)", kernel("a = n + «2**40", signature="n: ti.i32"), "overflowed literal 2**40 in i32"),
    refused("types/atomic_of_f16", UNSUPPORTED, "`atomic_add` of `f16` is not available on vulkan", "use `f32`", HALF, "f16 unsupported op"),
    refused("types/f64_missing_on_device", UNSUPPORTED, "`f64` is not available", "use `f32`", kernel("f[0, 0] = «ti.f64(x) * 2", head=NO_F64 + FIELD, signature="x: ti.f32"), "f64 not supported by device"),
    refused("types/i64_atomics_missing", UNSUPPORTED, "`atomic_add` of `i64` is not available", "use `i32`", kernel("for i in range(9):", "    «w[0] += 1", head=NO_WIDE_ATOMICS + "w = ti.field(ti.i64, 4)\n"), "i64 atomics missing"),
    refused("types/complex_number", TYPE, "`complex` cannot be used", "ti.math.cmul", kernel("a = «1j"), "complex number"),
    refused("types/none_in_expression", TYPE, "`None` with `i32`", "use a number", kernel("a = «n + None", signature="n: ti.i32"), "None in expression"),
    refused("types/string_in_expression", TYPE, "the string 'ab' with `i32`", "strings", kernel("a = «'ab' * n", signature="n: ti.i32"), "string in expression"),
    refused("types/list_of_mixed_types", TYPE, "the string 'a' cannot be used as a value", "use a number", kernel("a = «ti.Vector([n, 'a'])", signature="n: ti.i32"), "list of mixed types"),
    refused("types/tuple_as_value", TYPE, "Cannot assign `vector(2, f32)`", "one element", kernel("«f[0, 0] = (1, 2)", head=FIELD), "tuple as value"),
    refused("types/cast_to_no_type", TYPE, "`ti.cast` needs a number type", "ti.cast(x, ti.f32)", kernel("a = «ti.cast(x, 3)", signature="x: ti.f32"), "`ti.cast` to non-type"),
    refused("types/bit_cast_of_unequal_size", TYPE, "equal width, found f32 and f64", "ti.cast", kernel("a = «ti.bit_cast(x, ti.f64)", signature="x: ti.f32"), "bit_cast of unequal size"),
    refused("types/cast_to_quantised_type", TYPE, "`quant.int(bits=8, signed=True)` is a type of fields only", "BitpackedFields", kernel("a = «ti.cast(300, ti.types.quant.int(8))"), "cast to a quantised type"),
    refused("types/implicit_bool_of_vector", TYPE, "conditions must be a scalar", "`.any()` or `.all()`", kernel("a = ti.Vector([n, n])", "if «a:", "    pass", signature="n: ti.i32"), "implicit bool of a vector"),
]  # fmt: skip
