"""What `make test` leaves to `make test-all`: tests marked `exhaustive`, and some cases of others.

A test with four cases or more runs two thirds of them on each target, one with twelve or more a third, and `sampled`
leaves more out:

    @pytest.mark.sampled(3)                           each target runs a third of the cases in `make test`
    @pytest.mark.parametrize("value", range(90))

Which third it is differs from target to target, so with three targets `make test` runs every case, but for tests that are
`sampled` by more than three. Every test runs at least one case on every target. The choice depends on the names of the
cases alone. Tests marked `one_target` run on the first target, with all their cases unless sampled.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from zlib import crc32

import pytest

SOME_CASES, MANY_CASES = 4, 12
"""A test with so many cases runs two thirds of them on each target, or a third."""


def mark_exhaustive(items: Iterable[pytest.Item], targets: list[str]) -> None:
    """Mark the cases of sampled tests that `make test` leaves out."""
    groups: dict[tuple[str, str], list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("one_target") is not None and _target(item) not in ("", targets[0]):
            item.add_marker(pytest.mark.exhaustive)
        if item.get_closest_marker("exhaustive") is None:
            groups[item.nodeid.partition("[")[0], _target(item)].append(item)
    for (_, target), cases in groups.items():
        mark = cases[0].get_closest_marker("sampled")
        if mark is None and (target == "" or len(cases) < SOME_CASES or cases[0].get_closest_marker("one_target")):
            continue
        shift = targets.index(target) if target in targets else 0
        numbers = [crc32(_case(case, target).encode()) + shift for case in cases]
        if mark is None and len(cases) < MANY_CASES:
            chosen = [case for case, n in zip(cases, numbers) if n % 3 != 0]
        else:
            chosen = [case for case, n in zip(cases, numbers) if n % (mark.args[0] if mark else 3) == 0]
        left_in = set(map(id, chosen or cases[:1]))
        for case in cases:
            if id(case) not in left_in:
                case.add_marker(pytest.mark.exhaustive)


def _target(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    params = callspec.params if callspec is not None else {}
    return str(params.get("target", params.get("device", "")))


def _case(item: pytest.Item, target: str) -> str:
    """Return the name of a case without its target."""
    words = item.nodeid.partition("[")[2].rstrip("]").split("-")
    return "-".join(word for word in words if word != target)
