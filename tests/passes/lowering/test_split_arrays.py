import pytest

from shadesmith.transpiler.ir.statements import Alloca, Array
from shadesmith.transpiler.ir.types import Struct, Tensor, f32, i32
from shadesmith.transpiler.options import CompileOptions
from shadesmith.transpiler.passes.cleanup.dead_code import dead_code
from shadesmith.transpiler.passes.lowering.split_arrays import split_arrays


@pytest.fixture
def parts(sketch):
    """Return the sketch with a split vector field `u` (u_x, u_y) and a split struct field `s` (p like u, and n)."""
    sketch.arrays = [Array(name, f32, 1, 6 + k, (8,)) for k, name in enumerate(("u_x", "u_y", "s_p_x", "s_p_y"))]
    count = Array("s_n", i32, 1, 10, (8,))
    vec2 = Tensor((2,), f32)
    sketch.u = Array("u", vec2, 1, -1, (8,), parts=tuple(sketch.arrays[:2]))
    inner = Array("s_p", vec2, 1, -1, (8,), parts=tuple(sketch.arrays[2:]))
    struct = Struct("S", (("p", vec2), ("n", i32)))
    sketch.s = Array("s", struct, 1, -1, (8,), parts=(inner, count))
    sketch.arrays.append(count)
    make = sketch.kernel

    def kernel():
        made = make()
        made.arrays += sketch.arrays
        return made

    sketch.kernel = kernel
    return sketch


def lines(sketch):
    """Return the lines of the body that access memory or compute, without value numbers."""
    text = sketch.apply(split_arrays, dead_code)
    return [line.strip() for line in text.splitlines() if any(w in line for w in ("ptr", "global", "add", "tensor"))]


def count(sketch, word):
    return sum(word in line for line in lines(sketch))


def test_a_whole_element_is_read_part_by_part(parts):
    parts.store(parts.ptr(parts.v, 0), parts.tensor([parts.const(1.0, f32)] * 3, (3,), f32))
    pair = parts.read(parts.u, 3)
    parts.store(parts.ptr(parts.a, 0), parts.op("dot", pair, pair))
    text = "\n".join(lines(parts))
    assert "ptr u_x" in text and "ptr u_y" in text and "f32[2] = tensor" in text


def test_one_component_is_one_access(parts):
    parts.store(parts.element_ptr(parts.ptr(parts.u, 3), [parts.const(1)]), parts.arg("w"))
    text = "\n".join(lines(parts))
    assert "ptr u_y" in text and "u_x" not in text and "element_ptr" not in text


def test_a_sum_that_is_only_stored_is_computed_by_component(parts):
    total = parts.op("add", parts.read(parts.u, 1), parts.read(parts.u, 2))
    parts.store(parts.ptr(parts.u, 0), total)
    text = "\n".join(lines(parts))
    assert text.count(": f32 = add") == 2 and "f32[2]" not in text


def test_a_sum_with_a_name_or_another_use_stays_whole(parts):
    named = parts.op("add", parts.read(parts.u, 1), parts.read(parts.u, 2))
    named.name = "total"
    parts.store(parts.ptr(parts.u, 0), named)
    assert count(parts, "f32[2] = add") == 1 and count(parts, ": f32 = add") == 0


def test_components_of_a_value_are_stored_one_by_one(parts):
    pair = parts.var("pair", type=Tensor((2,), f32))
    assert isinstance(pair, Alloca)
    parts.store(parts.ptr(parts.u, 0), parts.load(pair))
    assert count(parts, "global store") == 2


def test_structs_are_split_through_all_levels(parts):
    value = parts.read(parts.s, 1)
    parts.store(parts.ptr(parts.s, 0), value)
    point = parts.member_ptr(parts.ptr(parts.s, 2), "p")
    parts.store(parts.element_ptr(point, [parts.const(0)]), parts.arg("w"))
    text = "\n".join(lines(parts))
    assert text.count("global load") == 3 and text.count("global store") == 4
    assert text.count("ptr s_p_x") == 3 and text.count("ptr s_n") == 2


def test_atomics_are_split_and_give_the_old_element(parts):
    old = parts.atomic("add", parts.ptr(parts.u, 0), parts.read(parts.u, 1))
    parts.store(parts.ptr(parts.u, 2), old)
    parts.atomic("add", parts.ptr(parts.u, 0), parts.read(parts.u, 1))
    assert count(parts, "atomic add") == 4 and count(parts, "global store") == 2


def test_a_component_chosen_at_run_time_is_accessed_alone(parts):
    index = parts.arg("n")
    place = parts.element_ptr(parts.ptr(parts.u, 0), [index])
    parts.store(place, parts.load(place))
    text = parts.apply(split_arrays, dead_code)
    assert text.count("if $") == 2 and text.count("global load") == 2 and text.count("global store") == 2


def test_a_kernel_without_parts_is_left_alone(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.read(sketch.a, 1))
    assert not split_arrays(sketch.kernel(), sketch.context)


def test_a_component_chosen_at_run_time_is_checked_once_before_the_branches(parts):
    parts.context.options = CompileOptions(check_out_of_bound=True)
    place = parts.element_ptr(parts.ptr(parts.u, 0), [parts.arg("n")])
    parts.store(place, parts.arg("w"))
    text = parts.apply(split_arrays, dead_code)
    assert text.count("check") == 1 and text.index("check") < text.index("if $")
