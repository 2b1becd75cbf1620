"""Built-ins and atomics (10)."""

from __future__ import annotations

from .case import TYPE, UNSUPPORTED, Case, kernel, refused, supported
from .type_rules import NO_WIDE_ATOMICS

PICTURE = "@ti.kernel\ndef k(image: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.rgba8)):\n    «image.store(ti.Vector([0, 0]), ti.Vector([1.0, 0.0]))\nk(ti.Texture(ti.Format.rgba8, (4, 4)))"

CASES: list[Case] = [
    refused("builtins/math_of_wrong_type", TYPE, "the string 'a' cannot be used", "use a number", kernel("y = «ti.sin('a')"), "math function on wrong type"),
    refused("builtins/wrong_argument_count", TYPE, "`ti.sin` takes 1 argument, found 2", "ti.sin(x)", kernel("y = «ti.sin(1.0, 2.0)"), "wrong argument count"),
    supported("builtins/atomic_on_a_local", 33, kernel("s = n", "old = ti.atomic_add(s, 27)", "return s + old", signature="n: ti.i32", returns="ti.i32"), "atomic on a local"),
    refused("builtins/atomic_on_a_constant", TYPE, "cannot use a non-writable target as the first operand of 'atomic_add'", "element of an array", kernel("y = «ti.atomic_add(3, 1)"), "atomic on a constant"),
    refused("builtins/atomic_of_a_missing_type", UNSUPPORTED, "`atomic_add` of `f64` is not available", "use `f32`", kernel("for i in range(9):", "    «w[0] += 1.0", head=NO_WIDE_ATOMICS + "w = ti.field(ti.f64, 4)\n"), "atomic_add of f64 on device without it and without emulation"),
    refused("builtins/random_of_wrong_type", TYPE, "`ti.random` needs", "ti.random(ti.f32)", kernel("y = «ti.random(ti.math.vec2)"), "`ti.random` unsupported type"),
    refused("builtins/min_of_nothing", TYPE, "`min` takes at least one argument", "min(a, b)", kernel("y = «ti.min()"), "min() without arguments"),
    refused("builtins/inverse_of_non_square", TYPE, "`.inverse()` takes a square matrix, found `matrix(2, 3, f32)`", "(n, n)", kernel("a = ti.Matrix([[x, x, x], [x, x, x]])", "b = «a.inverse()", signature="x: ti.f32"), "matrix inverse of non-square"),
    refused("builtins/dot_of_unequal_lengths", TYPE, "`dot` takes two vectors of one length", "length", kernel("a = ti.Vector([x, x])", "b = «a.dot(ti.Vector([x, x, x]))", signature="x: ti.f32"), "dot of unequal lengths"),
    refused("builtins/image_store_channels", TYPE, "A texel is a vector of 4 numbers, found `vector(2, f32)`", "ti.Vector([r, g, b, a])", PICTURE, "image store of wrong channel count"),
]  # fmt: skip
