"""Functions that call themselves are refused where a target has no call stack."""

import pytest

from shadesmith.transpiler.errors import UnsupportedError
from shadesmith.transpiler.ir.functions import Call, Function
from shadesmith.transpiler.ir.statements import Return
from shadesmith.transpiler.passes.lowering.recursion import recursion


def program(sketch, **calls):
    """Functions by name, each with the names of those it calls in order."""
    functions = {name: Function(name, [], []) for name in calls}
    for name, called in calls.items():
        with sketch.into(functions[name].body):
            for other in called.split():
                sketch.add(Call(functions[other], []))
            sketch.add(Return([]))
    sketch.functions = list(functions.values())
    sketch.set_options("vulkan", capabilities={"recursion": False})
    return sketch.kernel()


def test_functions_that_call_others_are_taken(sketch):
    kernel = program(sketch, start="left right", left="leaf", right="leaf", leaf="")
    assert not recursion(kernel, sketch.context)


@pytest.mark.parametrize(("calls", "chain"), [
    ({"fib": "fib"}, "fib -> fib"),
    ({"start": "even", "even": "odd", "odd": "even"}, "even -> odd -> even"),
    ({"start": "leaf last", "leaf": "", "last": "last"}, "last -> last"),
])  # fmt: skip
def test_a_circle_is_named(sketch, calls, chain):
    with pytest.raises(UnsupportedError, match=rf"calls itself \({chain}\); vulkan has no recursion"):
        recursion(program(sketch, **calls), sketch.context)


def test_targets_with_a_stack_take_it(sketch):
    kernel = program(sketch, fib="fib")
    sketch.set_options("c")
    assert not recursion(kernel, sketch.context)
