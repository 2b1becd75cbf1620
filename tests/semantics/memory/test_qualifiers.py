"""`restrict`, `const`, `readonly` and `writeonly` stand where they are true, and arrays that overlap are computed right."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti

ARCHES = {"c": ti.cpu, "cuda": ti.cuda, "vulkan": ti.vulkan}
Array = ti.types.ndarray(ti.f32, 1)


@ti.kernel
def shift(a: Array, b: Array):
    for _ in range(1):
        for i in range(1, a.shape[0]):
            b[i] = a[i - 1] + 1.0
            b[i] += a[i]


@ti.kernel
def total(a: Array, b: Array) -> ti.f32:
    s = 0.0
    for i in a:
        s += a[i] * b[i]
    return s


def declared(source: str, language: str, name: str) -> str:
    """Return the declaration of an array in `Args`, of GLSL with that of its buffer reference."""
    line = re.search(rf"^ +(.*?)\b{name}_data;", source, re.MULTILINE)
    assert line is not None
    if language != "vulkan":
        return line[1].strip()
    block = re.search(rf"\)\s+([\w ]*)buffer {line[1].strip()} ", source)
    assert block is not None
    return block[1].strip()


@pytest.fixture
def python():
    ti.init(arch=ti.python, log_level=ti.ERROR)
    yield
    ti.reset()


EXPECTED = {
    "c": ("const float *restrict", "float *restrict", "float *restrict"),
    "cuda": ("const float *__restrict__", "float *__restrict__", "float *__restrict__"),
    "vulkan": ("restrict readonly", "restrict writeonly", "restrict"),
}
"""Of a field that is read, written, or both."""


@pytest.mark.parametrize("language", ARCHES)
def test_fields_share_no_memory(python: None, language: str) -> None:
    x, y, z = (ti.field(ti.f32, 8) for _ in range(3))

    @ti.kernel
    def step():
        for i in x:
            y[i] = x[i]
            z[i] = z[i] * 2.0

    source = step.source(arch=ARCHES[language])
    assert tuple(declared(source, language, name) for name in "xyz") == EXPECTED[language]


@pytest.mark.parametrize("language", ARCHES)
def test_of_ndarrays_nothing_is_promised_if_one_is_written(python: None, language: str) -> None:
    a, b = (ti.ndarray(ti.f32, 8) for _ in range(2))
    source = shift.source(a, b, arch=ARCHES[language])
    assert not re.search(r"\b(__)?restrict|\breadonly buffer|\bwriteonly", source.split("#define a(")[0])
    source = total.source(a, b, arch=ARCHES[language])
    assert {declared(source, language, name) for name in "ab"} == {EXPECTED[language][0]}


@pytest.mark.parametrize("n", [0, 1, 2, 33])
def test_an_array_passed_twice_is_read_as_it_was_written(target: str, n: int) -> None:
    given = np.arange(n, dtype=np.float32)
    a = ti.ndarray(ti.f32, max(n, 1))
    a.from_numpy(given if n else np.zeros(1, np.float32))
    shift(a, a)
    expected = given.copy()
    for i in range(1, n):
        expected[i] = expected[i - 1] + 1
        expected[i] += expected[i]
    if n:
        assert a.to_numpy().tolist() == expected.tolist()


@pytest.mark.all_targets
def test_overlapping_views_are_read_as_they_were_written(target: str) -> None:
    memory = np.arange(10, dtype=np.float32)
    expected = memory.copy()
    shift(memory[:8], memory[1:9])
    a, b = expected[:8], expected[1:9]
    for i in range(1, 8):
        b[i] = a[i - 1] + 1
        b[i] += a[i]
    if target != "vulkan" and target != "cuda":  # there both are copied
        assert memory.tolist() == expected.tolist()


def test_a_value_stored_is_read_back_from_memory_only_the_source_writes(target: str) -> None:
    x, y = (ti.field(ti.i32, 5) for _ in range(2))

    @ti.kernel
    def fill():
        for i in x:
            x[i] = i * 7 % 5
            y[i] = x[i] + x[i] * i

    fill()
    assert y.to_numpy().tolist() == [i * 7 % 5 * (1 + i) for i in range(5)]
