"""Printers record every function that their source calls; the names of helpers, headers and users depend on it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import corpus
import pytest

import shadesmith as ti
from shadesmith.transpiler.backend.assemble.files import FileAssembler

ARCHES = {"c": ti.cpu, "cuda": ti.cuda, "vulkan": ti.vulkan}
KEYWORDS = {"if", "for", "while", "switch", "return", "sizeof", "defined", "barrier", "unsigned", "uvec2"}
NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|^\s*#[^\n]*', re.DOTALL | re.MULTILINE)
CALLED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)\s*\(")


@pytest.fixture
def assembled(monkeypatch) -> Iterator[list[tuple[set[str], str]]]:
    """The functions that each assembled file calls and nobody recorded, and the printed source."""
    files: list[tuple[set[str], str]] = []
    original = FileAssembler._data

    def data(self, printed, functions, tasks):
        recorded_before = set(self.referenced)
        self.referenced.clear()
        result = original(self, printed, functions, tasks)
        source = "\n".join([*(t.body for t in tasks), *(f["source"].partition("{")[2] for f in result["functions"])])
        known = self.referenced | self.context.user_names | {*self.language.types.values(), *KEYWORDS}
        files.append((set(CALLED.findall(NOISE.sub("", source))) - known, source))
        self.referenced |= recorded_before
        return result

    monkeypatch.setattr(FileAssembler, "_data", data)
    yield files
    ti.reset()


@pytest.mark.sampled(6)
@pytest.mark.parametrize("language", ARCHES)
@pytest.mark.parametrize("maker", corpus.MAKERS, ids=lambda maker: maker.__name__)
def test_every_function_that_a_source_calls_was_recorded(maker, language: str, assembled) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    kernel, arguments = maker()
    if language not in corpus.LANGUAGES.get(maker.__name__, ARCHES):
        pytest.skip("the language lacks what the kernel needs")
    kernel.source(*arguments, arch=ARCHES[language])
    assert assembled or maker is corpus.nothing_to_do
    for unrecorded, source in assembled:
        assert not unrecorded, source
