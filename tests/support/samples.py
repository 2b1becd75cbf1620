"""What `make test` leaves to `make test-all`: tests marked `exhaustive`, and some cases of others.

A test with one to three cases runs each on two of the three targets; which one is left out differs from case to case.
One with four cases or more runs each on one target. Exceptions, from the narrowest to the widest:

    @pytest.mark.one_target                           on the first target only: no target is what it is about
    @pytest.mark.targets("vulkan", "cuda")            on these only: a pass for GPUs
    @pytest.mark.each_on_one_target                   also of one to three cases each on one target
    @pytest.mark.sampled(3)                           every third case on each target, other ones on each
    @pytest.mark.all_targets                          every case on every target: their difference is what it is about

A test whose code names a target, as in `if target == "vulkan":`, says what a target does: with one to three cases it
runs on all targets, with four or more two thirds of the cases on each, with twelve or more a third. If it names only the
interpreter, it runs nothing there, or less: then each case runs on one of the others, and the interpreter takes its part.

The choice depends on the names of the tests and of their cases alone.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import CodeType, FunctionType
from zlib import crc32

import pytest

SOME_CASES, MANY_CASES = 4, 12
"""A test with so many cases runs each on one target; one that names targets runs two thirds on each, or a third."""

PARTS = 3
"""Number of parts that the cases of a test are divided into, one for each target of `make test`."""

INTERPRETER = "python"
TARGETS = frozenset({"cpu", "vulkan", "cuda", INTERPRETER})
TESTS = str(Path(__file__).parents[1])


def mark_exhaustive(items: Iterable[pytest.Item], targets: list[str]) -> None:
    """Mark the cases of sampled tests that `make test` leaves out."""
    groups: dict[str, dict[str, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        if _target(item) in targets and _target(item) not in _targets(item, targets):
            item.add_marker(pytest.mark.exhaustive)
        if item.get_closest_marker("exhaustive") is None:
            groups[item.nodeid.partition("[")[0]][_target(item)].append(item)
    for test, on_targets in groups.items():
        chosen = {case for target, cases in on_targets.items() for case in _chosen(test, cases, target, targets)}
        everything = [case for cases in on_targets.values() for case in cases]
        for case in everything:
            if case not in (chosen or everything[:1]):
                case.add_marker(pytest.mark.exhaustive)


def _targets(item: pytest.Item, targets: list[str]) -> list[str]:
    """Return those of the targets on which a test is about something; all of them if it says none of these."""
    if item.get_closest_marker("one_target") is not None:
        return targets[:1]
    if item.get_closest_marker("all_targets") is not None:
        return targets
    mark = item.get_closest_marker("targets")
    return [target for target in targets if mark is None or target in mark.args] or targets


def _chosen(test: str, cases: list[pytest.Item], target: str, targets: list[str]) -> list[pytest.Item]:
    """Return the cases of a test that `make test` runs on a target."""
    first = cases[0]
    part = targets.index(target) if target in targets else 0
    numbers = [crc32(_case(case, target).encode()) + part for case in cases]
    named = _named(first)
    at_least = cases[:1] if named and first.get_closest_marker("targets") is None else []
    if first.get_closest_marker("all_targets") is not None:
        return cases
    sampled = first.get_closest_marker("sampled")
    if sampled is not None:
        return [case for case, n in zip(cases, numbers) if n % sampled.args[0] == 0] or at_least
    on = _targets(first, targets)
    if first.get_closest_marker("each_on_one_target") is not None and target in on:
        return [case for case in cases if (_number(test, case, target) + on.index(target)) % len(on) == 0]
    compilers = [name for name in targets if name != INTERPRETER]
    if target not in targets or len(on) < min(2, len(targets)):
        return cases
    if named == {INTERPRETER} and target in compilers:
        part = compilers.index(target)
        return [case for case in cases if (_number(test, case, target) + part) % len(compilers) == 0]
    if named:
        if len(cases) < SOME_CASES:
            return cases
        return [case for case, n in zip(cases, numbers) if (n % 3 == 0) == (len(cases) >= MANY_CASES)] or at_least
    if len(cases) < SOME_CASES:
        if len(on) < PARTS:
            return cases
        return [case for case in cases if (_number(test, case, target) + part) % PARTS != 0]
    in_turn = sorted(range(len(cases)), key=lambda number: (numbers[number], number))
    return [cases[number] for place, number in enumerate(in_turn) if (place + part) % PARTS == 0]


def _number(test: str, case: pytest.Item, target: str) -> int:
    return crc32((test + _case(case, target)).encode())


def _named(item: pytest.Item) -> set[str]:
    """Return the targets named in the code of a test, of its fixtures and of the functions of the tests they call."""
    functions = [getattr(item, "function", None)]
    for name, fixtures in getattr(item, "_fixtureinfo").name2fixturedefs.items():
        if name != "target":
            functions += [fixture.func for fixture in fixtures]
    seen: set[object] = set()
    return {name for function in functions for name in _names_in(function, seen)}


def _names_in(value: object, seen: set[object]) -> Iterator[str]:
    """Yield the targets that a function of the tests names, or a table that it reads."""
    value = inspect.unwrap(value) if isinstance(value, FunctionType) else value
    if not isinstance(value, FunctionType) or value in seen or not value.__code__.co_filename.startswith(TESTS):
        return
    seen.add(value)
    codes = list(_codes(value.__code__))
    for code in codes:
        yield from _strings(code.co_consts)
    for used in (value.__globals__.get(name) for code in codes for name in code.co_names):
        if type(used) is dict:
            yield from TARGETS.intersection(used)
        else:
            yield from _names_in(used, seen)


def _strings(constants: Iterable[object]) -> Iterator[str]:
    """Yield the targets among constants, and among those of tuples."""
    for constant in constants:
        if isinstance(constant, str):
            if constant in TARGETS:
                yield constant
        elif isinstance(constant, tuple | frozenset):
            yield from _strings(constant)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _target(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    params = callspec.params if callspec is not None else {}
    return str(params.get("target", params.get("device", "")))


def _case(item: pytest.Item, target: str) -> str:
    """Return the name of a case without its target."""
    words = item.nodeid.partition("[")[2].rstrip("]").split("-")
    return "-".join(word for word in words if word != target)
