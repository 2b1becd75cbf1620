"""What `make test` selects: how many cases, and on which targets."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from samples import mark_exhaustive

MOST_CASES = 11_500
"""Cases of `make test`: it has 8 minutes on 2 cores, set-up included, and 15 to 20 cases take a second of processor time.

Who adds a test with many cases marks those that repeat a fact `exhaustive`, or the test `sampled(n)`.
"""

ALL = ["cpu", "vulkan", "python"]
MARKS = ("one_target", "targets", "all_targets")
"""One of these says on which targets a test runs that names one, as in `if target == "vulkan":`."""


class Definition:
    """As much of a test's definition in pytest as a choice looks at."""

    nodeid = "tests/test_file.py::test_it"

    def __init__(self, marks: tuple[pytest.MarkDecorator, ...]) -> None:
        self.marks = [mark.mark for mark in marks]

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)


def calls_of(count: int, targets: list[str]) -> list[SimpleNamespace]:
    """Return as much of pytest's calls of a test as a choice looks at: `count` cases on each target."""
    return [
        SimpleNamespace(id=f"{target}-{case}", params={"target": target}, marks=[])
        for target in targets
        for case in range(count)
    ]


def selected(count: int, *marks: pytest.MarkDecorator, targets: list[str] = ALL) -> list[str]:
    """Return the names of those of `count` cases that `make test` runs on a target."""
    calls = calls_of(count, targets)
    mark_exhaustive(Definition(marks), calls, targets)  # type: ignore[arg-type]
    return [call.id for call in calls if not call.marks]


def every(count: int, *targets: str) -> list[str]:
    return [f"{target}-{case}" for target in targets for case in range(count)]


def numbers(names: list[str]) -> list[int]:
    return sorted(int(name.split("-")[1]) for name in names)


def named(function: Callable[..., None]) -> set[object]:
    """Return the targets that are constants of a function, also in a tuple."""
    constants = function.__code__.co_consts
    inner = (part for constant in constants if isinstance(constant, (tuple, frozenset)) for part in constant)
    return {*constants, *inner} & set(ALL)


def test_a_test_that_names_a_target_says_on_which_it_runs(request: pytest.FixtureRequest) -> None:
    """Without a mark, `make test` might run its only case where the branch about that target is not taken."""
    items = [item for item in request.session.items if "target" in getattr(item, "fixturenames", ())]
    unmarked = {item.nodeid.partition("[")[0] for item in items if not any(map(item.get_closest_marker, MARKS))}
    named_in = {item.nodeid.partition("[")[0] for item in items if named(inspect.unwrap(item.function))}
    assert not unmarked & named_in


def test_make_test_has_no_more_cases(request: pytest.FixtureRequest) -> None:
    """Of a part of the tests it says nothing."""
    items = request.session.items
    cases = sum(not any(item.get_closest_marker(name) for name in ("exhaustive", "gpu")) for item in items)
    assert cases <= MOST_CASES


@pytest.mark.parametrize("count", [1, 2, 3, 4, 11, 100])
def test_each_case_runs_on_one_target_and_all_targets_run_as_many(count: int) -> None:
    names = selected(count)
    assert numbers(names) == list(range(count))
    on_targets = [sum(name.startswith(target) for name in names) for target in ALL]
    assert max(on_targets) - min(on_targets) <= 1


def test_targets_of_cases_that_follow_each_other_are_in_no_order() -> None:
    targets = [name.split("-")[0] for name in sorted(selected(60), key=lambda name: int(name.split("-")[1]))]
    assert len(set(zip(targets, targets[1:]))) == len(ALL) ** 2


def test_marks_name_the_targets_that_a_test_is_about() -> None:
    assert selected(9, pytest.mark.one_target) == every(9, "cpu")
    assert selected(9, pytest.mark.targets("vulkan", "cuda")) == every(9, "vulkan")
    names = selected(40, pytest.mark.targets("cpu", "vulkan"))
    assert numbers(names) == list(range(40)) and {name.split("-")[0] for name in names} == {"cpu", "vulkan"}
    assert selected(9, pytest.mark.targets("cuda")) == selected(9), "none of these runs"


def test_where_targets_differ_each_case_runs_on_all() -> None:
    assert selected(5, pytest.mark.all_targets) == every(5, *ALL)
    assert selected(5, pytest.mark.all_targets, pytest.mark.targets("cpu", "vulkan")) == every(5, "cpu", "vulkan")


@pytest.mark.parametrize("number", range(2, 9))
def test_of_sampled_tests_every_nth_case_runs(number: int) -> None:
    assert len(selected(number * 5, pytest.mark.sampled(number))) == 5
    assert len(selected(number * 5, pytest.mark.sampled(number), pytest.mark.one_target)) == 5
    assert len(selected(number * 5, pytest.mark.sampled(number), pytest.mark.all_targets)) == 5 * len(ALL)
    assert len(selected(1, pytest.mark.sampled(number))) == 1, "of each test something runs"


def test_a_sample_of_each_value_of_a_parameter_has_them_all() -> None:
    words = [(target, name, size) for name in "abcdefg" for size in (1, 7, 100) for target in ALL]
    calls = [
        SimpleNamespace(id=f"{target}-{name}-{size}", params={"target": target, "name": name, "size": size}, marks=[])
        for target, name, size in words
    ]
    mark_exhaustive(Definition((pytest.mark.sampled(3, each="name"),)), calls, ALL)  # type: ignore[arg-type]
    found = [call.params for call in calls if not call.marks]
    assert [each["name"] for each in found] == list("abcdefg"), "one of three each"
    assert {each["size"] for each in found} == {1, 7, 100} and {each["target"] for each in found} == set(ALL)


def test_exhaustive_calls_are_no_cases() -> None:
    calls = calls_of(9, ALL)
    for call in calls[::2]:
        call.marks.append(pytest.mark.exhaustive.mark)
    mark_exhaustive(Definition(()), calls, ALL)  # type: ignore[arg-type]
    left = [call for call in calls if not call.marks]
    assert left and len({call.id.split("-")[1] for call in left}) == len(left)


def test_no_item_of_an_exhaustive_call_runs(request: pytest.FixtureRequest) -> None:
    if "not exhaustive" in request.config.option.markexpr:
        assert not any(item.get_closest_marker("exhaustive") for item in request.session.items)


def test_a_run_of_one_target_has_all_cases() -> None:
    assert selected(9, targets=["vulkan"]) == every(9, "vulkan")
