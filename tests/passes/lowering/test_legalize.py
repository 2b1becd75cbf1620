"""What no target has is written otherwise; what this target lacks is refused by name."""

import pytest

from shadesmith.transpiler.errors import UnsupportedError
from shadesmith.transpiler.ir.statements import AtomicOp
from shadesmith.transpiler.ir.types import f32, f64
from shadesmith.transpiler.passes.lowering.legalize import legalize

ALL = frozenset({"i32", "u32", "f32", "f64", "u1"})


@pytest.fixture(autouse=True)
def doubles(sketch):
    sketch.set_options(capabilities={"types": ALL})


def test_an_atomic_on_a_vector_is_one_for_each_element(sketch):
    vector = sketch.tensor([sketch.arg("w")] * 3, (3,), f32)
    sketch.atomic("add", sketch.ptr(sketch.v, 0), vector)
    assert sketch.apply(legalize).count("atomic add") == 3


@pytest.mark.parametrize(("exponent", "products"), [(1, 0), (2, 1), (3, 2), (5, 3), (16, 4), (31, 8), (32, 5)])
def test_a_constant_power_is_a_product(sketch, exponent, products):
    power = sketch.op("pow", sketch.arg("w"), sketch.const(exponent, f32))
    sketch.store(sketch.ptr(sketch.a, 0), power)
    text = sketch.apply(legalize)
    assert " pow " not in text and text.count(" mul ") == products


def test_a_negative_power_of_a_float_is_one_over_the_product(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("pow", sketch.arg("w"), sketch.const(-2, f32)))
    text = sketch.apply(legalize)
    assert text.index(" mul ") < text.index(" div ")


def test_the_power_of_one_half_is_a_root(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("pow", sketch.arg("w"), sketch.const(0.5, f32)))
    assert " sqrt " in sketch.apply(legalize)


@pytest.mark.parametrize(("exponent", "fast_math"), [(0.0, True), (33.0, True), (2.5, True), (17.0, False)])
def test_other_powers_stay(sketch, exponent, fast_math):
    sketch.set_options(fast_math=fast_math, capabilities={"types": ALL})
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("pow", sketch.arg("w"), sketch.const(exponent, f32)))
    assert " pow " in sketch.apply(legalize)


def test_a_type_that_the_target_lacks_is_refused_with_a_substitute(sketch):
    sketch.set_options("vulkan", capabilities={"types": ALL - {"f64"}})
    sketch.cast(sketch.arg("w"), f64)
    with pytest.raises(UnsupportedError, match="`f64` is not available on vulkan") as caught:
        sketch.apply(legalize)
    assert caught.value.hint.startswith("use `f32`")


def test_an_atomic_of_a_width_that_the_target_lacks_is_refused(sketch):
    sketch.set_options("vulkan", capabilities={"types": ALL, "atomic_bits": frozenset({64})})
    sketch.add(AtomicOp("add", sketch.ptr(sketch.a, 0), sketch.arg("w"), type=f32))
    with pytest.raises(UnsupportedError, match="atomic operations of 64 bits"):
        sketch.apply(legalize)


def test_an_atomic_that_the_target_has_itself_needs_no_width(sketch):
    native = {"types": ALL, "atomic_bits": frozenset(), "atomics": frozenset({("f32", "add")})}
    sketch.set_options("vulkan", capabilities=native)
    sketch.add(AtomicOp("sub", sketch.ptr(sketch.a, 0), sketch.arg("w"), type=f32))
    assert "atomic sub" in sketch.apply(legalize)
