"""Which cases of which tests run on which targets in `make test`; `make test-all` runs each case on each target.

| mark of the test           | targets that it is about      | each case runs on    | why                                    |
|----------------------------|-------------------------------|----------------------|----------------------------------------|
| none                       | all                           | one of them          | all targets share what it tests        |
| `targets("vulkan", "cuda")`| those                         | one of them          | elsewhere a pass, say, returns at once |
| `one_target`               | the first                     | it                   | no target is what it is about          |
| `all_targets`              | all, or those of `targets`    | every one of them    | targets differ in what it tests        |
| `sampled(n)`, added to one | as above                      | as above, if it is   | other cases repeat the fact            |
| of these, or alone         |                               | an n-th case         |                                        |
| `exhaustive`               |                               | none                 | many seeds, sizes, pairs of a feature  |

"One of them": the targets alternate, in an order of cases that depends on their names alone. So no column of a table of
types, say, is on one target. Of the targets of a test those count that the run has; if it has none of them, all of its
own do: the interpreter also compiles for CUDA.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import chain
from zlib import crc32

import pytest

Cases = dict[str, list[pytest.Item]]
"""The items of one test, by the name that a case has on all targets."""


def mark_exhaustive(items: Iterable[pytest.Item], targets: list[str]) -> None:
    """Mark what `make test` leaves to `make test-all`. targets: those of the run."""
    tests: dict[str, Cases] = defaultdict(lambda: defaultdict(list))
    for item in items:
        if item.get_closest_marker("exhaustive") is None:
            test, _, case = item.nodeid.partition("[")
            words = case.rstrip("]").split("-")
            tests[test]["-".join(word for word in words if word != _target(item))].append(item)
    for test, cases in tests.items():
        selected = set(_selected(test, cases, targets))
        for item in chain.from_iterable(cases.values()):
            if item not in selected:
                item.add_marker(pytest.mark.exhaustive)


def _selected(test: str, cases: Cases, targets: list[str]) -> Iterator[pytest.Item]:
    """Yield the items of a test that `make test` runs."""
    first = next(chain.from_iterable(cases.values()))
    is_about = _targets(first, targets)
    sampled = first.get_closest_marker("sampled")
    names = sorted(cases, key=lambda name: (crc32(name.encode()), name))
    for number, name in enumerate(names[:: sampled.args[0] if sampled else 1], crc32(test.encode())):
        has = list(dict.fromkeys(map(_target, cases[name])))
        on = [target for target in has if target in is_about] or has
        if first.get_closest_marker("all_targets") is None:
            on = [on[number % len(on)]]
        yield from (item for item in cases[name] if _target(item) in on)


def _targets(item: pytest.Item, targets: list[str]) -> list[str]:
    """Return those of the targets that a test is about; all of them if it is about none of these."""
    if item.get_closest_marker("one_target") is not None:
        return targets[:1]
    mark = item.get_closest_marker("targets")
    return [target for target in targets if mark is None or target in mark.args] or targets


def _target(item: pytest.Item) -> str:
    """Return the target that an item runs on, "" if the test has none."""
    callspec = getattr(item, "callspec", None)
    params = callspec.params if callspec is not None else {}
    return str(params.get("target", params.get("device", "")))
