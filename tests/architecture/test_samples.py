"""What `make test` selects: how many cases, and on which targets."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest
from samples import mark_exhaustive

MOST_CASES = 16_000
"""Cases of `make test`: it has 8 minutes on 2 cores, set-up included, and 15 to 20 cases take a second of processor time.

Who adds a test with many cases marks those that repeat a fact `exhaustive`, or the test `sampled(n)`.
"""

ALL = ["cpu", "vulkan", "python"]


class Case:
    """As much of a `pytest.Item` as a choice looks at."""

    def __init__(self, function: Callable[..., None], target: str, case: int, marks: list[pytest.Mark]) -> None:
        self.nodeid = f"tests/test_file.py::{function.__name__}[{target}-{case}]"
        self.name, self.function = f"{target}-{case}", function
        self.callspec = SimpleNamespace(params={"target": target})
        self.marks = list(marks)
        self._fixtureinfo = SimpleNamespace(name2fixturedefs={})

    def get_closest_marker(self, name: str) -> pytest.Mark | None:
        return next((mark for mark in self.marks if mark.name == name), None)

    def add_marker(self, mark: pytest.MarkDecorator) -> None:
        self.marks.append(mark.mark)


def plain(target: str) -> None: ...


def names_one(target: str) -> None:
    lacks_vulkan(target)


def lacks_vulkan(target: str) -> None:
    if target == "vulkan":
        pytest.skip("has no such type")


def names_the_interpreter(target: str) -> None:
    if target == "python":
        pytest.skip("runs no source")


def selected(count: int, *marks: pytest.MarkDecorator, function: Callable[..., None] = plain) -> list[str]:
    """Return the names of those of `count` cases that `make test` runs on a target."""
    cases = [Case(function, target, case, [mark.mark for mark in marks]) for target in ALL for case in range(count)]
    mark_exhaustive(cases, ALL)  # type: ignore[arg-type]
    return [case.name for case in cases if case.get_closest_marker("exhaustive") is None]


def test_make_test_has_no_more_cases(request: pytest.FixtureRequest) -> None:
    """Of a part of the tests it says nothing."""
    items = request.session.items
    cases = sum(not any(item.get_closest_marker(name) for name in ("exhaustive", "gpu")) for item in items)
    assert cases <= MOST_CASES


@pytest.mark.parametrize("count", [1, 2, 3])
def test_few_cases_run_on_two_targets(count: int) -> None:
    names = selected(count)
    assert [sum(name.endswith(f"-{case}") for name in names) for case in range(count)] == [2] * count


@pytest.mark.parametrize("count", [4, 11, 12, 100])
def test_each_of_several_cases_runs_on_one_target(count: int) -> None:
    names = selected(count)
    assert sorted(int(name.split("-")[1]) for name in names) == list(range(count))
    on_targets = [sum(name.startswith(target) for name in names) for target in ALL]
    assert max(on_targets) - min(on_targets) <= 1


def test_marks_say_on_which_targets_all_cases_run() -> None:
    assert selected(2, pytest.mark.all_targets) == [f"{target}-{case}" for target in ALL for case in range(2)]
    assert selected(9, pytest.mark.targets("vulkan", "cuda")) == [f"vulkan-{case}" for case in range(9)]
    once = selected(40, pytest.mark.each_on_one_target, pytest.mark.targets("cpu", "vulkan"), function=names_one)
    assert sorted(int(name.split("-")[1]) for name in once) == list(range(40))
    assert {name.split("-")[0] for name in once} == {"cpu", "vulkan"}
    assert len(selected(1, pytest.mark.each_on_one_target)) == 1
    assert selected(9, pytest.mark.one_target) == [f"cpu-{case}" for case in range(9)]
    assert selected(1, pytest.mark.targets("cuda")) == selected(1), "none of these runs"


def test_a_test_whose_helper_names_a_target_runs_on_all() -> None:
    assert selected(1, function=names_one) == ["cpu-0", "vulkan-0", "python-0"]
    assert len(selected(9, function=names_one)) == 18


def test_the_interpreter_may_skip_what_is_told_of_others() -> None:
    names = selected(3, function=names_the_interpreter)
    assert sum(name.startswith("python") for name in names) == 3 and len(names) == 6
    others = [name.split("-")[1] for name in selected(20, function=names_the_interpreter) if name[0] != "p"]
    assert sorted(others, key=int) == [str(case) for case in range(20)]


def test_of_each_test_something_runs() -> None:
    for number in range(2, 60):
        assert selected(1, pytest.mark.sampled(number))
        assert selected(1, pytest.mark.sampled(number), pytest.mark.targets("vulkan")) == ["vulkan-0"]
