"""Passes `struct_for`, `legalize` and `bounds`."""

import pytest
from bare_targets import bare

from shadesmith.transpiler.errors import UnsupportedError
from shadesmith.transpiler.ir.statements import Cast, If, LoopIndex, StructFor
from shadesmith.transpiler.ir.types import f32, i32, i64
from shadesmith.transpiler.options import CompileOptions
from shadesmith.transpiler.passes import PassContext, Stage
from shadesmith.transpiler.passes.checks.bounds import bounds
from shadesmith.transpiler.passes.checks.check_wide_indices import check_wide_indices
from shadesmith.transpiler.passes.lowering.legalize import legalize
from shadesmith.transpiler.passes.sparse.struct_for import struct_for


def over(sketch, array):
    loop = sketch.add(StructFor(array, ["i", "j"][: array.ndim]))
    with sketch.into(loop.body):
        indices = [sketch.add(LoopIndex(loop, axis, type=i32)) for axis in range(array.ndim)]
        sketch.store(sketch.ptr(array, *indices), sketch.arg("w"))
    return loop


def test_loop_over_an_array_becomes_a_loop_over_its_shape(sketch):
    over(sketch, sketch.a)
    over(sketch, sketch.m)
    text = sketch.apply(struct_for, stage=Stage.TASKS)
    assert "over a" in text and "over m" in text and "shape m 1" in text and "const 8" in text and " in a " not in text


@pytest.fixture
def checked(sketch):
    sketch.context = PassContext(CompileOptions(check_out_of_bound=True), bare("c"))
    return sketch


def test_each_access_is_checked(checked):
    checked.store(checked.ptr(checked.m, checked.arg("n"), checked.arg("n")), checked.arg("w"))
    text = checked.apply(bounds)
    assert text.index("ptr m") < text.index("check m ($") < text.index("global store")


def test_an_index_is_checked_once_in_a_block_and_those_inside(checked):
    n = checked.arg("n")
    branch = checked.add(If(checked.arg("flag")))
    with checked.into(branch.then):
        checked.store(checked.ptr(checked.a, n), checked.arg("w"))
        inner = checked.add(If(checked.arg("flag")))
        with checked.into(inner.then):
            checked.store(checked.ptr(checked.a, n), checked.arg("w"))
    checked.store(checked.ptr(checked.a, n), checked.arg("w"))
    assert checked.apply(bounds).count("check a ($") == 2


def test_a_wide_index_is_checked_before_it_is_cut(checked):
    cut = checked.add(Cast(checked.const(2**32 + 1, i64), type=i32))
    checked.store(checked.ptr(checked.a, cut), checked.arg("w"))
    text = checked.apply(check_wide_indices)
    assert "4294967297" in text and text.index("check a ($") < text.index("global store")
    assert checked.apply(bounds).count("check a ($") == 1


def test_indices_that_cannot_be_wrong_are_not_checked(checked):
    over(checked, checked.m)
    loop = checked.loop(8)
    with checked.into(loop.body):
        checked.store(checked.ptr(checked.a, checked.index(loop)), checked.read(checked.b, 7))
    assert "check" not in checked.apply(bounds)


def test_constant_outside_a_shape_is_checked(checked):
    checked.store(checked.ptr(checked.a, 8), checked.arg("w"))
    assert "check a" in checked.apply(bounds)


def test_no_checks_unless_asked_for(sketch):
    sketch.store(sketch.ptr(sketch.a, 8), sketch.arg("w"))
    assert "check" not in sketch.apply(bounds)


def legal(sketch):
    types = frozenset({"i32", "u32", "f32", "f64", "u1"})
    sketch.context = PassContext(CompileOptions(), bare("vulkan", types=types))
    return sketch.apply(legalize)


def test_atomic_on_a_tensor_is_one_for_each_element(sketch):
    sketch.atomic("add", sketch.ptr(sketch.v, 0), sketch.arg("w"))
    text = legal(sketch)
    assert text.count("f32 = atomic add") == 3 and "f32[3] = atomic" not in text


@pytest.mark.parametrize(("exponent", "products"), [(1, 0), (2, 1), (3, 2), (4, 2), (-2, 1)])
def test_small_whole_powers_are_products(sketch, exponent, products):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("pow", sketch.arg("w"), sketch.const(exponent)))
    text = legal(sketch)
    assert text.count("mul $") == products and "pow" not in text and ("div" in text) == (exponent < 0)


def test_other_powers_stay(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("pow", sketch.arg("w"), sketch.const(0.3, f32)))
    sketch.store(sketch.ptr(sketch.a, 1), sketch.op("pow", sketch.arg("n"), sketch.const(-1)))
    assert legal(sketch).count("pow") == 2


def test_power_of_one_half_becomes_a_root(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("pow", sketch.arg("w"), sketch.const(0.5, f32)))
    text = legal(sketch)
    assert text.count("sqrt $") == 1 and "pow" not in text


def test_type_that_the_target_lacks_is_refused_with_a_remedy(sketch):
    sketch.context = PassContext(CompileOptions(), bare("vulkan"))
    with pytest.raises(
        UnsupportedError, match=r"`f64` is not available on vulkan[^\n]*shaderFloat64[^\n]*\nHint: use `f32`"
    ):
        sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("d"))
        sketch.apply(legalize)
