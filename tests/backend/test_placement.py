"""Values are printed where they are used, unless that changes what they are or costs too much."""

import pytest

from shadesmith.transpiler.backend.print.placement import Placement, place
from shadesmith.transpiler.ir.functions import Call, Function
from shadesmith.transpiler.ir.statements import If, LocalStore, Rand
from shadesmith.transpiler.ir.types import f32, u1


def placed(sketch) -> Placement:
    return place([(sketch.body, [])], lambda operation: operation.op in ("add", "mul"))


def use(sketch, value, index=0):
    """Store a value in b."""
    return sketch.store(sketch.ptr(sketch.b, index), value)


def test_a_value_with_one_use_is_printed_inside_it(sketch):
    product = sketch.op("mul", sketch.arg("w"), sketch.arg("w"))
    use(sketch, product)
    assert product in placed(sketch).inline


def test_a_costly_value_with_two_uses_gets_a_name(sketch):
    root = sketch.op("sqrt", sketch.arg("w"))
    use(sketch, sketch.op("add", root, root))
    found = placed(sketch)
    assert root in found.used and root not in found.inline


@pytest.mark.parametrize(("copies", "uses", "repeated"), [(1, 2, True), (1, 3, False), (3, 3, True)])
def test_a_short_value_is_repeated_as_often_as_python_has_it(sketch, copies, uses, repeated):
    product = sketch.op("mul", sketch.arg("w"), sketch.arg("w"))
    product.copies = copies
    for _ in range(uses):
        use(sketch, product)
    assert (product in placed(sketch).inline) == repeated


def test_a_random_number_is_drawn_inside_the_store_that_follows(sketch):
    first, second = (sketch.add(Rand(type=f32)) for _ in range(2))
    use(sketch, sketch.op("add", sketch.op("mul", second, sketch.arg("w")), sketch.arg("w")))
    use(sketch, first)
    assert placed(sketch).direct == {second}


@pytest.mark.parametrize("op", ["logical_and", "select"])
def test_a_call_is_not_moved_where_it_may_not_be_evaluated(sketch, op):
    called = sketch.add(Rand(type=u1))
    values = [sketch.arg("flag"), called, *([sketch.arg("flag")] if op == "select" else [])]
    use(sketch, sketch.op("select", sketch.op(op, *values), sketch.arg("w"), sketch.arg("w")))
    assert not placed(sketch).direct


def test_two_calls_of_one_statement_are_called_in_order(sketch):
    numbers = [sketch.add(Rand(type=f32)) for _ in range(2)]
    use(sketch, sketch.op("add", *numbers))
    assert not placed(sketch).direct


def test_a_cheap_index_is_printed_at_each_use(sketch):
    index = sketch.op("add", sketch.arg("n"), sketch.const(1))
    use(sketch, sketch.arg("w"), index)
    use(sketch, sketch.arg("w"), index)
    assert index in placed(sketch).inline


def test_a_value_that_python_names_keeps_its_name(sketch):
    product = sketch.op("mul", sketch.arg("w"), sketch.arg("w"))
    product.name = "energy"
    use(sketch, product)
    assert product not in placed(sketch).inline


def test_a_value_that_nothing_uses_is_not_printed(sketch):
    product = sketch.op("mul", sketch.arg("w"), sketch.arg("w"))
    assert product not in placed(sketch).used


@pytest.mark.parametrize(("array", "moves"), [("b", True), ("a", False)])
def test_a_load_moves_behind_a_store_to_another_field_only(sketch, array, moves):
    value = sketch.read(sketch.a, 0)
    sketch.store(sketch.ptr(getattr(sketch, array), 1), sketch.arg("w"))
    use(sketch, value)
    assert (value in placed(sketch).inline) == moves


def test_a_load_stays_where_ndarrays_may_share_memory(sketch):
    value = sketch.read(sketch.p, 0)
    sketch.store(sketch.ptr(sketch.q, 0), sketch.arg("w"))
    use(sketch, value)
    assert value not in placed(sketch).inline


@pytest.mark.parametrize(("uses", "is_inline"), [(2, True), (3, False)])
def test_a_load_is_printed_twice_but_not_three_times(sketch, uses, is_inline):
    value = sketch.read(sketch.a, 0)
    for index in range(uses):
        use(sketch, value, index)
    assert (value in placed(sketch).inline) == is_inline


def test_a_costly_value_does_not_move_into_a_loop(sketch):
    product = sketch.op("mul", sketch.arg("w"), sketch.arg("w"))
    with sketch.into(sketch.loop(4).body):
        use(sketch, product)
    assert product not in placed(sketch).inline


def test_a_load_does_not_move_across_a_call_that_writes(sketch):
    value = sketch.read(sketch.a, 0)
    sketch.add(Call(Function("f", [], [], writes=frozenset({sketch.b})), []))
    use(sketch, value)
    assert value not in placed(sketch).inline


def test_a_sum_with_the_element_itself_is_a_compound_store(sketch):
    pointer = sketch.ptr(sketch.a, 0)
    total = sketch.op("add", sketch.load(pointer), sketch.arg("w"))
    store = sketch.store(pointer, total)
    assert placed(sketch).compound == {store: total}


@pytest.mark.parametrize("first", ["other element", "other operand"])
def test_a_sum_with_something_else_is_no_compound_store(sketch, first):
    pointer = sketch.ptr(sketch.a, 0)
    load = sketch.read(sketch.a, 1) if first == "other element" else sketch.load(pointer)
    operands = (load, sketch.arg("w")) if first == "other element" else (sketch.arg("w"), load)
    sketch.store(pointer, sketch.op("add", *operands))
    assert placed(sketch).compound == {}


def test_a_variable_is_declared_by_its_first_store(sketch):
    variable = sketch.var("x", sketch.arg("w"))
    use(sketch, sketch.load(variable))
    (store,) = (s for s in sketch.body if isinstance(s, LocalStore))
    assert placed(sketch).declared_by_store == {variable: store}


def test_a_variable_that_both_branches_set_is_known_to_be_set(sketch):
    variable = sketch.var("x")
    branch = sketch.add(If(sketch.arg("flag")))
    branch.otherwise = type(branch.then)()
    for block, value in ((branch.then, 1.0), (branch.otherwise, 2.0)):
        with sketch.into(block):
            sketch.store(variable, sketch.const(value, f32))
    use(sketch, sketch.load(variable))
    found = placed(sketch)
    assert found.set_by_branches == {variable} and variable not in found.declared_by_store


def test_a_variable_that_is_never_read_is_dead(sketch):
    variable = sketch.var("x", sketch.arg("w"))
    assert variable in placed(sketch).dead


def test_a_random_number_that_is_only_stored_needs_no_name(sketch):
    drawn = sketch.add(Rand(type=f32))
    use(sketch, drawn)
    assert drawn in placed(sketch).direct


def test_a_random_number_is_drawn_in_the_declaration_that_follows(sketch):
    drawn = sketch.add(Rand(type=f32))
    doubled = sketch.op("mul", drawn, sketch.const(2.0, f32))
    doubled.name = "a"
    use(sketch, doubled)
    use(sketch, doubled, 1)
    assert drawn in placed(sketch).direct


def test_random_numbers_of_one_declaration_are_drawn_in_order_before_it(sketch):
    first, second = sketch.add(Rand(type=f32)), sketch.add(Rand(type=f32))
    product = sketch.op("mul", first, second)
    product.name = "a"
    use(sketch, product)
    use(sketch, product, 1)
    assert placed(sketch).direct == set()


def test_a_random_number_before_another_draw_keeps_its_place(sketch):
    first = sketch.add(Rand(type=f32))
    second = sketch.op("mul", sketch.add(Rand(type=f32)), sketch.const(2.0, f32))
    second.name = "b"
    use(sketch, second)
    use(sketch, second, 1)
    sum_ = sketch.op("add", first, sketch.const(1.0, f32))
    sum_.name = "a"
    use(sketch, sum_)
    use(sketch, sum_, 1)
    found = placed(sketch)
    assert first not in found.direct


def test_what_is_stored_and_used_again_is_read_back(sketch):
    pointer = sketch.ptr(sketch.a, 0)
    total = sketch.op("add", sketch.load(pointer), sketch.arg("w"))
    store = sketch.store(pointer, total)
    use(sketch, total)
    assert placed(sketch).read_back == {store: total}
