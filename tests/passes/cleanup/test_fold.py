import shadesmith as ti
from shadesmith.transpiler.ir.statements import ArrayShape, ListInit, ListItem
from shadesmith.transpiler.ir.types import f32, i32, u32
from shadesmith.transpiler.passes.cleanup.dead_code import dead_code
from shadesmith.transpiler.passes.cleanup.fold import fold


def test_operations_on_constants_become_their_value(sketch):
    total = sketch.op("add", sketch.const(3), sketch.op("mul", sketch.const(4), sketch.const(5)))
    sketch.store(sketch.ptr(sketch.a, 0), total)
    text = sketch.apply(fold, dead_code)
    assert "const 23.0" in text and "mul" not in text


def test_integers_wrap_as_their_type_does(sketch):
    value = sketch.op("add", sketch.const(2**31 - 1), sketch.const(1))
    sketch.store(sketch.ptr(sketch.a, sketch.const(0)), sketch.op("sub", value, sketch.arg("n")))
    assert "const -2147483648" in sketch.apply(fold)


def test_integer_division_by_zero_is_left_to_the_device(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("floordiv", sketch.const(1), sketch.const(0)))
    assert "floordiv" in sketch.apply(fold)


def test_float_division_by_zero_gives_infinity(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.op("div", sketch.const(1.0, f32), sketch.const(0.0, f32)))
    assert "const inf" in sketch.apply(fold, dead_code)


def test_the_shape_of_a_field_is_a_constant_and_that_of_an_ndarray_is_not(sketch):
    for array in (sketch.a, sketch.m):
        sketch.store(sketch.ptr(sketch.a, 0), sketch.add(ArrayShape(array, 0, type=i32)))
    text = sketch.apply(fold)
    assert "const 8" in text and "shape m 0" in text and "shape a" not in text


def test_a_folded_value_keeps_its_python_name(sketch):
    value = sketch.op("add", sketch.const(1.0, f32), sketch.const(1.0, f32))
    value.name = "two"
    sketch.store(sketch.ptr(sketch.a, 0), value)
    assert "two: f32 = const 2.0" in sketch.apply(fold)


def test_bit_casts_and_casts_out_of_range(sketch):
    bits = sketch.bit_cast(sketch.const(1.0, f32), u32)
    sketch.store(sketch.ptr(sketch.a, 0), bits)
    assert "const 1065353216" in sketch.apply(fold)


def test_an_item_of_a_list(sketch):
    numbers = sketch.add(ListInit([sketch.const(4, i32), sketch.const(5, i32)], type=i32))
    item = sketch.add(ListItem(numbers, sketch.const(1, i32), type=i32))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.cast(item, f32))
    assert "const 5.0" in sketch.apply(fold)


def test_a_call_that_returns_a_number():
    """Its branch is decided by constants; what is left of the function is dropped."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.field(ti.f32, 8)
    h = 0.5

    @ti.func
    def weight(r):
        w = 0.0
        if r < h:
            w = (h - r) ** 3
        return w

    @ti.kernel
    def scale():
        for i in x:
            x[i] = weight(x[i]) / weight(0.25) + weight(0.75)

    x.fill(0.125)
    scale()
    assert x[3] == 3.375
    source = scale.source(arch=ti.cuda)
    assert source.count("float weight") == 1 and "weight_0_25" not in source
    assert "weight(x(i)) / h_" in source  # that is a constant by the name of `h`
