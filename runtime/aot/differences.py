"""The differences of two modules: target, options, capabilities, required features, fields, kernels, and sources.

In: two archives. Out: `Differences`, as data and as lines for people.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...transpiler.backend.module.interface import BackendModule
from ..workbench.inspect.overview import difference
from .archive_data import Archive, Kernel


@dataclass(slots=True)
class Differences:
    """values: (place, one, other) of what is single; None where one lacks it. texts: unified differences by file.

    kernels: "only in the first", "only in the second" or what differs, by name.
    """

    values: list[tuple[str, Any, Any]] = field(default_factory=list)
    kernels: dict[str, list[str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)

    @property
    def are_none(self) -> bool:
        """Whether the modules are equal in all that matters."""
        return not (self.values or self.kernels or self.texts)

    def to_json(self) -> dict[str, Any]:
        """Return them as JSON-able data."""
        values = [{"place": place, "first": one, "second": other} for place, one, other in self.values]
        return {"same": self.are_none, "values": values, "kernels": self.kernels, "texts": self.texts}


def differences(first: Archive, second: Archive) -> Differences:
    """Return the differences of two modules."""
    found = Differences()
    for name in ("target", "shadesmith", "requires", "options", "capabilities", "trees", "fields", "graphs"):
        one, other = (getattr(archive.manifest, name) for archive in (first, second))
        found.values += _values(name, one, other)
    for name in sorted({*first.kernels, *second.kernels}):
        one, other = first.kernels.get(name), second.kernels.get(name)
        if one is None or other is None:
            found.kernels[name] = [f"only in {second.title if one is None else first.title}"]
        else:
            _compare_kernels(name, one, other, found)
    return found


def _values(place: str, one: Any, other: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield the differences, recursively in objects; of lists the items that only one has."""
    if one == other:
        return
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for name in sorted({*one, *other}):
            yield from _values(f"{place}.{name}", one.get(name), other.get(name))
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple) and not _are_numbers((*one, *other)):
        texts = [[json.dumps(item) for item in items] for items in (one, other)]
        left, right = ([t for t in mine if t not in yours] for mine, yours in (texts, texts[::-1]))
        yield place, [json.loads(t) for t in left] or None, [json.loads(t) for t in right] or None
    else:
        yield place, one, other


def _are_numbers(items: Sequence[Any]) -> bool:
    """Return whether a list is one value, such as a version or a shape."""
    return all(isinstance(item, int | float) for item in items)


def _compare_kernels(name: str, one: Kernel, other: Kernel, found: Differences) -> None:
    texts = [{file.name: file.text for file in kernel.module.files} for kernel in (one, other)]
    for file in sorted({*texts[0], *texts[1]}):
        before, after = (mine.get(file, "") for mine in texts)
        if before != after:
            found.texts[f"{name}/{file}"] = difference(before, after, (f"first/{name}/{file}", f"second/{name}/{file}"))
    differing = [
        word
        for word, is_same in {
            "text": texts[0] == texts[1],
            "binary": one.codes == other.codes,
            "parameters": one.stored.parameters == other.stored.parameters,
            "constants": one.stored.constants == other.stored.constants,
            "interface": one.module.interface == other.module.interface,
            "tasks": one.module.tasks == other.module.tasks,
            "options": one.module.options == other.module.options,
            "edited": one.stored.edited == other.stored.edited,
            "places in Python": _lines(one.module) == _lines(other.module),
        }.items()
        if not is_same
    ]
    if differing:
        found.kernels[name] = differing


def _lines(module: BackendModule) -> list[Any]:
    return [replace(file, text="") for file in module.files]
