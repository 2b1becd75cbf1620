"""Checks of what the offline cache gives."""

from __future__ import annotations

import json

from shadesmith.runtime.cache import compiler
from shadesmith.runtime.session import session as sessions


def find(specialization):
    """Return what a launch would be given: from the cache, or compiled and kept."""
    return compiler.find_or_compile(specialization, sessions.current().config)


def compare_compilations(kept, made) -> None:
    """Check that a compilation from the cache is what the compiler makes, objects of Python included."""
    assert kept.module.source() == made.module.source()
    ours, theirs = (json.dumps(module.to_json(), sort_keys=True) for module in (kept.module, made.module))
    assert ours == theirs
    assert len(kept.fields) == len(made.fields)
    for ours, theirs in zip(kept.fields, made.fields, strict=True):
        assert ours is theirs or (ours.address == theirs.address and ours.capacity == theirs.capacity)
    assert kept.warnings == made.warnings
    assert kept.captured.keys() == made.captured.keys()
    for path, found in kept.captured.items():
        value = made.captured[path].value
        assert found.value is value or (type(found.value), repr(found.value)) == (type(value), repr(value)), path
