"""An error carries its message, hint and location as fields; copies and pickles keep them."""

from __future__ import annotations

import ast
import copy
import logging
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import shadesmith as ti
from shadesmith.runtime.commands.screen import CommandError
from shadesmith.runtime.devices.compiler_messages import CompilerFailure
from shadesmith.runtime.devices.device import OutOfMemory
from shadesmith.runtime.gui.window import NoWindowError
from shadesmith.transpiler import errors
from shadesmith.transpiler.errors import NOWHERE, ReportedError, SourceLocation, SourceText
from shadesmith.transpiler.frontend.builders import calls as build_calls
from shadesmith.transpiler.frontend.context import handler_calls
from shadesmith.transpiler.frontend.library import methods as build_methods
from shadesmith.transpiler.lang import functions

SITE = SourceLocation(SourceText("x.py", 8, ("f(a)",)), 8, 1, 8, 5, "k")
PLACE = SourceLocation(SourceText("x.py", 3, ("b = a + 1",)), 3, 5, 3, 10, "f", SITE)
MAKERS: dict[type[ReportedError], Callable[[], ReportedError]] = {
    errors.NotYetError: lambda: errors.NotYetError("ti.x", "things", 3),
    OutOfMemory: lambda: OutOfMemory("gpu", 4, 1, 2),
    CompilerFailure: lambda: CompilerFailure("no", "log"),
    NoWindowError: lambda: NoWindowError("no display", expected=True),
    CommandError: lambda: CommandError("found", "remedy"),
}


def classes(base: type[ReportedError] = ReportedError) -> list[type[ReportedError]]:
    return [base, *(found for kind in base.__subclasses__() for found in classes(kind))]


@pytest.mark.parametrize("kind", sorted(set(classes()), key=lambda kind: kind.__name__))
@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_a_copy_has_the_same_text_and_fields(kind: type[ReportedError], again) -> None:
    error = MAKERS[kind]() if kind in MAKERS else kind("found", "remedy", PLACE)
    found = again(error)
    assert type(found) is kind and str(found) == str(error) and found.args == error.args
    assert vars(found) == vars(error)
    assert {"message", "hint", "location"} <= vars(found).keys()


def test_the_text_joins_the_fields() -> None:
    kind = ti.TaichiCompilationError
    assert str(kind("found")) == "found"
    assert str(kind("found", "remedy")) == "found. Hint: remedy"
    assert str(kind("is it so?", "remedy")) == "is it so? Hint: remedy"
    assert str(kind("One. Two.", "remedy")) == "One. Two.\nHint: remedy"
    assert str(kind("found:\n  a", "remedy")) == "found:\n  a\nHint: remedy"
    assert str(kind("found", "remedy", PLACE)) == f"\n{PLACE.describe()}\nfound\nHint: remedy"


def test_a_chain_of_calls_is_extended_at_its_start() -> None:
    first = SourceLocation(SourceText("y.py", 1, ()), 1, 1, 1, 2, "m")
    chained = PLACE.called_from(first)
    assert chained.call_site is not None and chained.call_site.call_site == first
    assert chained.describe() == f"{first.describe()}\n{PLACE.describe()}"


def test_an_error_in_a_kernel_has_fields() -> None:
    @ti.func
    def f(x):
        return x.missing

    @ti.kernel
    def k() -> int:
        return f(1)

    ti.init(arch=ti.python)
    with pytest.raises(ti.TaichiCompilationError) as caught:
        k()
    error = caught.value
    assert "\n" not in error.message and error.message in str(error)
    assert error.hint is not None and "Hint" not in error.hint
    assert error.location.function.endswith("f") and error.location.call_site.function.endswith("k")


def test_an_error_of_the_runtime_has_its_hint_apart() -> None:
    ti.init(arch=ti.python)
    x = ti.field(ti.f32, shape=3)
    with pytest.raises(ti.TaichiIndexError) as caught:
        x[7]
    assert "lies outside" in caught.value.message and "Hint" not in caught.value.message
    assert caught.value.hint == "indices of an axis run from 0 to its extent - 1" and caught.value.location is None


def test_an_error_of_a_call_has_its_hint_apart() -> None:
    @ti.kernel
    def k(n: ti.i32):
        pass

    ti.init(arch=ti.python)
    for arguments, hint in (((), "call it as `k(n)`"), (("a",), "convert the value before the call")):
        with pytest.raises(ti.TaichiCompilationError if not arguments else ti.TaichiRuntimeTypeError) as caught:
            k(*arguments)
        assert caught.value.hint == hint and "Hint" not in caught.value.message
        assert str(caught.value).endswith(f". Hint: {hint}")


def _classes(kind: type[ReportedError]) -> set[str]:
    return {kind.__name__}.union(*map(_classes, kind.__subclasses__()))


def test_no_error_has_its_hint_in_the_message() -> None:
    """Calls of our error classes in the package whose strings contain "Hint: "."""
    names, root = _classes(ReportedError), Path(errors.__file__).parents[1]
    paths = [path for folder in ("runtime", "transpiler") for path in sorted((root / folder).rglob("*.py"))]
    texts = {path: path.read_text(encoding="utf-8") for path in paths}
    assert sum(text.count(f"{name}(") for text in texts.values() for name in names) > 100
    calls = [
        (path, node)
        for path, text in texts.items()
        if "Hint" in text  # to read all of them as Python takes 2 s
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
    ]
    strings = [(path, part) for path, node in calls for part in ast.walk(node) if isinstance(part, ast.Constant)]
    assert [(str(path), part.lineno) for path, part in strings if "Hint: " in str(part.value)] == []


# --- faults of shadesmith ---------------------------------------------------------------------------------------------


def broken(context, *values):
    return None + 1


@pytest.mark.parametrize("table, key", [(build_calls.FUNCTIONS, functions.zero), (build_methods.METHODS, "norm")])
def test_a_type_error_inside_a_handler_is_an_internal_error(monkeypatch, caplog, table, key) -> None:
    @ti.kernel
    def k() -> ti.f32:
        v = ti.Vector([1.0, 2.0])
        return ti.zero(v.norm())

    monkeypatch.setitem(table, key, broken)
    ti.init(arch=ti.python)
    with caplog.at_level(logging.DEBUG, "shadesmith"), pytest.raises(errors.InternalError) as caught:
        k()
    error = caught.value
    assert isinstance(error.__cause__, TypeError) and "TypeError: unsupported operand" in error.message
    assert error.location is not NOWHERE and "v.norm()" in error.location.python_line
    assert any(record.exc_info and record.exc_info[1] is error.__cause__ for record in caplog.records)


def handler(context, value, axis, /, other=None, *, name):
    return value, axis, other, name


@pytest.mark.parametrize(
    "arguments, named, text",
    [
        ((), {"name": 1}, "is called without its argument `axis`"),
        ((0,), {}, "is called without its argument `name`"),
        ((0, 1, 2), {"name": 1}, "takes at most 2 arguments, found 3"),
        ((0, 1), {"name": 1, "other": 2}, "is given the argument `other` twice"),
        ((0,), {"name": 1, "more": 2}, "takes no argument `more`"),
        ((0,), {"name": 1, "axis": 2}, "is given the argument `axis` twice"),
    ],
)
def test_arguments_are_compared_with_the_signature(arguments, named, text: str) -> None:
    with pytest.raises(handler_calls.ArgumentsError, match=text):
        handler_calls.call_handler(handler, ("context", "value"), arguments, named)


def test_arguments_that_fit_reach_the_handler() -> None:
    result = handler_calls.call_handler(handler, ("context", "value"), (0,), {"name": 1, "other": 2})
    assert result == ("value", 0, 2, 1)


def test_a_gradient_that_is_not_there_is_told() -> None:
    ti.init(arch=ti.python, log_level=ti.WARN)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def seed():
        for i in x:
            if ti.static(x.grad is not None):
                x.grad[i] = 0.0
            x[i] = 1.0

    @ti.kernel
    def use():
        for i in x:
            x.grad[i] = 1.0

    seed()
    with pytest.raises(ti.TaichiTypeError, match=r"`x` has no gradient\nHint: .*needs_grad=True"):
        use()
