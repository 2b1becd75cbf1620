"""Where the members of `Args`, results and temporaries lie, and by which texts a kernel reaches them."""

import pytest

from shadesmith.transpiler.backend.languages.common.target import Target
from shadesmith.transpiler.backend.languages.registry import LANGUAGES
from shadesmith.transpiler.backend.layout.declarations import array_type
from shadesmith.transpiler.backend.layout.layout import layout
from shadesmith.transpiler.ir.statements import Array, Parameter, Return, StructInit
from shadesmith.transpiler.ir.types import Struct, Tensor, f32, f64, i8, i32, u1
from shadesmith.transpiler.passes import Stage
from shadesmith.transpiler.passes.tasks.offload import offload


def laid_out(sketch, target="c", **options):
    sketch.apply(offload, stage=Stage.TASKS)
    return layout(sketch.result, Target(LANGUAGES[target]), **options)


def members(found):
    return [(m.name, m.type, m.offset_bytes, m.source) for m in found.interface.members]


@pytest.mark.parametrize("language", LANGUAGES)
def test_wide_members_come_first_so_that_there_are_no_gaps(sketch, language):
    sketch.store(sketch.ptr(sketch.a, sketch.arg("n")), sketch.cast(sketch.arg("d"), f32))
    found = laid_out(sketch, language)
    assert members(found) == [
        ("a_data", "u64", 0, ("pointer", 0)), ("d", "f64", 8, ("argument", 6, 0)), ("n", "i32", 16, ("argument", 3, 0)),
    ]  # fmt: skip
    assert found.interface.args_size_bytes == 24


def test_what_no_statement_uses_has_no_member(sketch):
    sketch.arg("n")
    assert members(laid_out(sketch)) == []
    names = [m.name for m in layout(sketch.result, Target(LANGUAGES["c"]), complete=True).interface.members]
    assert {"a_data", "n", "w", "flag", "d"} <= set(names)


def test_small_scalars_travel_as_32_bits(sketch):
    sketch.parameters.append(Parameter("small", i8, 7))
    sketch.var("x", sketch.arg("small"), i8)
    sketch.var("y", sketch.arg("flag"), u1)
    sketch.store(sketch.ptr(sketch.a, 0), sketch.cast(sketch.op("add", sketch.arg("small"), sketch.arg("flag")), f32))
    assert [m[1] for m in members(laid_out(sketch))] == ["u64", "u32", "i32"]


def test_a_vector_by_value_has_a_member_for_each_element(sketch):
    sketch.parameters.append(Parameter("v0", Tensor((3,), f32), 7))
    sketch.store(sketch.ptr(sketch.v, 0), sketch.arg("v0"))
    vector = members(laid_out(sketch))[1:]
    assert vector == [(f"v0[{k}]", "f32", 8 + 4 * k, ("argument", 7, k)) for k in range(3)]


def test_extents_of_ndarrays_are_members(sketch):
    from_shape = sketch.read(sketch.m, sketch.arg("n"), sketch.arg("n"))
    sketch.store(sketch.ptr(sketch.a, 0), from_shape)
    found = laid_out(sketch)
    assert ("shape", 2, 1) in [m[3] for m in members(found)]
    assert found.shapes[sketch.m, 1] == "args.m_n1"


def test_reading_is_told_from_writing(sketch):
    sketch.store(sketch.ptr(sketch.b, 0), sketch.read(sketch.a, 0))
    found = laid_out(sketch)
    assert [(slot.read, slot.written) for slot in found.interface.arrays[:2]] == [(True, False), (False, True)]
    assert [d.type for d in found.declarations] == ["const float *restrict", "float *restrict"]


def test_results_lie_in_order_and_aligned(sketch):
    sketch.returns = [f32, f64]
    sketch.add(Return([sketch.arg("w"), sketch.arg("d")]))
    found = laid_out(sketch)
    assert [(field.type, field.offset_bytes) for field in found.interface.results] == [("f32", 0), ("f64", 8)]
    assert found.interface.result_size_bytes == 16 and ("result",) in [m[3] for m in members(found)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_struct_named_as_the_result_leaves_its_member_the_name(sketch, language):
    struct = Struct("result", (("x", f32),))
    sketch.returns = [struct]
    sketch.add(Return([sketch.add(StructInit([sketch.arg("w")], type=struct))]))
    found = laid_out(sketch, language)
    assert "result" in [m[0] for m in members(found)] and found.structs.names[struct] == "result_"


def test_what_crosses_tasks_is_a_temporary(sketch):
    total = sketch.var("total", sketch.arg("w"))
    with sketch.into(sketch.loop(8).body):
        sketch.atomic("add", total, sketch.arg("w"))
    sketch.store(sketch.ptr(sketch.a, 0), sketch.load(total))
    found = laid_out(sketch)
    assert [d.name for d in found.temporaries.members] == ["total"] and ("temporaries",) in [
        m[3] for m in members(found)
    ]


def test_a_file_of_one_task_declares_the_temporaries_that_it_uses(sketch):
    numbers = [sketch.var(name, sketch.arg("w")) for name in ("first", "second", "third", "fourth")]
    with sketch.into(sketch.loop(8).body):
        for number in numbers:
            sketch.atomic("add", number, sketch.arg("w"))
    for k, number in enumerate(numbers):
        sketch.store(sketch.ptr(sketch.a, k), sketch.load(number))
    buffer = laid_out(sketch).temporaries
    first, second, third, fourth = buffer.offsets

    def declared(*used):
        return [f"{member.type} {member.name}" for member in buffer.members_for(set(used))]

    assert declared(first, second, third, fourth) == ["float first", "float second", "float third", "float fourth"]
    assert declared(second, third) == ["layout(offset = 4) float second", "float third"]
    assert declared(fourth, first) == ["float first", "layout(offset = 12) float fourth"]
    assert declared() == ["float first"]


def test_glsl_reaches_memory_by_buffer_references(sketch):
    sketch.store(sketch.ptr(sketch.a, 0), sketch.arg("w"))
    (reference,) = laid_out(sketch, "vulkan").references
    assert reference.element == "float" and reference.align == 4


def test_a_member_does_not_take_the_name_of_a_users_parameter(sketch):
    sketch.parameters[0] = Parameter("a_data", i32, 3)
    sketch.store(sketch.ptr(sketch.a, sketch.arg("a_data")), sketch.arg("w"))
    names = [m[0] for m in members(laid_out(sketch))]
    assert len(names) == len(set(names)) == 3


@pytest.mark.parametrize(("array", "wanted"), [
    (Array("x", f32, 2, 0), "ndarray[f32, 2]"),
    (Array("x", f32, 1, 0, strided=True), "ndarray[f32, 1, strided]"),
    (Array("x", f32, 2, 0, (512, 8), offset=(0, 1)), "field[f32, 512x8 from (0, 1)]"),
    (Array("x", f32, 0, 0, ()), "field[f32, 0-D]"),
])  # fmt: skip
def test_comments_say_what_an_array_is(array, wanted):
    assert array_type(array) == wanted
