"""Which cases of which tests run on which targets in `make test`; `make test-all` runs each case on each target.

| mark of the test           | targets that it is about      | each case runs on    | why                                    |
|----------------------------|-------------------------------|----------------------|----------------------------------------|
| none                       | all                           | one of them          | all targets share what it tests        |
| `targets("vulkan", "cuda")`| those                         | one of them          | elsewhere a pass, say, returns at once |
| the same with `only=True`  | those                         | one of them          | no other has what the test looks for   |
| `one_target`               | the first                     | it                   | no target is what it is about          |
| `all_targets`              | all, or those of `targets`    | every one of them    | targets differ in what it tests        |
| `sampled(n)`, added to one | as above                      | as above, if it is   | other cases repeat the fact            |
| of these, or alone         |                               | an n-th case         |                                        |
| `sampled(n, each="name")`  | as above                      | an n-th case of each | that parameter is what the test is     |
|                            |                               | value of it          | about, the others are its sizes, say   |
| `exhaustive`               |                               | none                 | many seeds, sizes, pairs of a feature  |

"One of them": the targets alternate, in an order of cases that depends on their names alone. So no column of a table of
types, say, is on one target. Of the targets of a test those count that the run has; if it has none of them, all of its
own do: the interpreter also compiles for CUDA. `make test-all` runs `only=True` on no other target, either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from zlib import crc32

import pytest
from _pytest.python import Metafunc

Cases = dict[str, list[object]]
"""The calls of one test (`CallSpec` of pytest), by the name that a case has on all targets."""


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: Metafunc) -> Iterator[None]:
    """Mark as exhaustive what `make test` leaves to `make test-all`, when all parameters of a test are known.

    Under `-m "not exhaustive"` no items are made of it: they would be two of three, and each worker collects all. One call
    stays in any case: pytest makes an item of it, and deselects that.
    """
    yield
    calls, definition, config = metafunc._calls, metafunc.definition, metafunc.config
    if not calls:
        return
    mark = definition.get_closest_marker("targets")
    if mark is not None and mark.kwargs.get("only"):
        calls = metafunc._calls = [call for call in calls if _target(call) in mark.args] or _skipped(calls)
    is_whole = definition.get_closest_marker("exhaustive") is not None
    if not is_whole:
        mark_exhaustive(definition, calls, config.getoption("--targets").split(","))
    if "not exhaustive" in config.option.markexpr:
        metafunc._calls = [call for call in calls if not is_whole and not _is_exhaustive(call)] or calls[:1]


def _skipped(calls: list) -> list:
    """Return one of the calls of a test, which is skipped."""
    calls[0].marks.append(pytest.mark.skip(reason="needs another target").mark)
    return calls[:1]


def mark_exhaustive(definition: pytest.Item, calls: list, targets: list[str]) -> None:
    """Mark all calls but those that `make test` makes. targets: those of the run."""
    cases: Cases = defaultdict(list)
    for call in calls:
        if not _is_exhaustive(call):
            words = call.id.split("-")
            cases["-".join(word for word in words if word != _target(call))].append(call)
    if cases:
        selected = {id(call) for call in _selected(definition, cases, targets)}
        for call in chain.from_iterable(cases.values()):
            if id(call) not in selected:
                call.marks.append(pytest.mark.exhaustive.mark)


def _is_exhaustive(call: object) -> bool:
    return any(mark.name == "exhaustive" for mark in call.marks)


def _selected(definition: pytest.Item, cases: Cases, targets: list[str]) -> Iterator[object]:
    """Yield the calls of a test that `make test` makes."""
    is_about = _targets(definition, targets)
    sampled = definition.get_closest_marker("sampled")
    names = sorted(cases, key=lambda name: (crc32(name.encode()), name))
    start = crc32(definition.nodeid.encode())
    for number, name in enumerate(_sampled(names, cases, sampled) if sampled else names, start):
        has = list(dict.fromkeys(map(_target, cases[name])))
        on = [target for target in has if target in is_about] or has
        if definition.get_closest_marker("all_targets") is None:
            on = [on[number % len(on)]]
        yield from (call for call in cases[name] if _target(call) in on)


def _sampled(names: list[str], cases: Cases, mark: pytest.Mark) -> list[str]:
    """Return every n-th case, with `each`: of each value of that parameter, in turn another one of those with the value."""
    (count,), each = mark.args, mark.kwargs.get("each")
    if each is None:
        return names[::count]
    groups: dict[int, list[str]] = {}
    for name in names:
        groups.setdefault(id(cases[name][0].params[each]), []).append(name)  # type: ignore[attr-defined]
    return [
        name for number, group in enumerate(groups.values()) for name in group[number % min(count, len(group)) :: count]
    ]


def _targets(definition: pytest.Item, targets: list[str]) -> list[str]:
    """Return those of the targets that a test is about; all of them if it is about none of these."""
    if definition.get_closest_marker("one_target") is not None:
        return targets[:1]
    mark = definition.get_closest_marker("targets")
    return [target for target in targets if mark is None or target in mark.args] or targets


def _target(call: object) -> str:
    """Return the target of a call, "" if the test has none."""
    return str(call.params.get("target", call.params.get("device", "")))
