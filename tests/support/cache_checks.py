"""Checks of what the offline cache gives."""

from __future__ import annotations

import json

from shadesmith.runtime.cache import compiler
from shadesmith.runtime.session import session as sessions


def find(specialization):
    """Return what a launch would be given: from the cache, or compiled and cached."""
    return compiler.find_or_compile(specialization, sessions.current().config)


def compare_compilations(cached, compiled) -> None:
    """Check that a compilation from the cache is what the compiler makes, objects of Python included."""
    assert cached.module.source() == compiled.module.source()
    first, second = (json.dumps(module.to_json(), sort_keys=True) for module in (cached.module, compiled.module))
    assert first == second
    assert len(cached.fields) == len(compiled.fields)
    for first, second in zip(cached.fields, compiled.fields, strict=True):
        assert first is second or (first.address == second.address and first.capacity == second.capacity)
    assert cached.warnings == compiled.warnings
    assert cached.captured.keys() == compiled.captured.keys()
    for path, found in cached.captured.items():
        value = compiled.captured[path].value
        assert found.value is value or (type(found.value), repr(found.value)) == (type(value), repr(value)), path
