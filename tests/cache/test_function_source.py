"""The names in a function's source: its own is none of them, unless the body reads it."""

from __future__ import annotations

from shadesmith.runtime.cache.function_source import source_of


def fill(x):
    x[0] = 1.5


def twice(x):
    return twice if x else None


def inner_of_the_same_name(x):
    def fill(y):
        return y

    return fill(x)


def test_the_name_after_def_is_not_read():
    assert source_of(fill).chains == (("def",), ("x",))


def test_a_function_that_reads_its_own_name():
    assert ("twice",) in source_of(twice).chains


def test_functions_inside():
    assert ("fill",) in source_of(inner_of_the_same_name).chains
